// Gathers the bytecode that the local chain is made of into one file:
//   node bundle.mjs OUT.json      →  { "Name": {"initcode": "0x…"} | {"runtime": "0x…"} , … }
// What others wrote comes from the npm packages pinned in ../package.json; what we wrote is compiled here.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const modules = path.join(here, '..', 'node_modules');
const read = (...parts) => fs.readFileSync(path.join(...parts), 'utf8');
const json = (...parts) => JSON.parse(read(modules, ...parts));
const hex = (text) => (text.startsWith('0x') ? text : `0x${text}`).toLowerCase();

/** Compiles with solc-js and returns {contract name: its output}, of some files only if asked; stops with the compiler's own words. */
function compiled(solc, sources, settings, readImport, files = ['*']) {
  const wanted = ['evm.bytecode.object', 'evm.bytecode.linkReferences'];
  const outputSelection = Object.fromEntries(files.map((file) => [file, { '*': wanted }]));
  const input = { language: 'Solidity', sources, settings: { ...settings, outputSelection } };
  const run = solc.compileStandardWrapper ?? solc.compile;
  const output = JSON.parse(readImport ? run(JSON.stringify(input), { import: readImport }) : run(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter((e) => e.severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((e) => e.formattedMessage).join('\n'));
  const contracts = Object.values(output.contracts).flatMap((file) => Object.entries(file));
  return Object.fromEntries(contracts.filter(([, contract]) => contract.evm?.bytecode?.object));
}

/** The same as {contract name: creation bytecode}. */
function compile(...given) {
  const creation = ([name, contract]) => [name, { initcode: hex(contract.evm.bytecode.object) }];
  return Object.fromEntries(Object.entries(compiled(...given)).map(creation));
}

/** What takes long to compile is kept in ../cache, named by what it is made of: settings and packages' versions. */
function keep(name, madeOf, make) {
  const key = createHash('sha256').update(JSON.stringify(madeOf)).digest('hex').slice(0, 16);
  const kept = path.join(here, '..', 'cache', `${name}-${key}.json`);
  if (fs.existsSync(kept)) return JSON.parse(fs.readFileSync(kept, 'utf8'));
  const found = make();
  fs.mkdirSync(path.dirname(kept), { recursive: true });
  const draft = `${kept}.${process.pid}`;
  fs.writeFileSync(draft, JSON.stringify(found));
  fs.renameSync(draft, kept);
  return found;
}

/** Reads what is imported, from the package that the start of its name stands for. */
function finder(roots) {
  return (name) => {
    const known = Object.keys(roots).find((start) => name.startsWith(start));
    if (known === undefined) return { error: `no such package: ${name}` };
    return { contents: read(roots[known], name.slice(known.length)) };
  };
}

/** Our own tokens. */
function ourTokens() {
  const sources = Object.fromEntries(['Token.sol', 'Tokens.sol'].map((f) => [f, { content: read(here, f) }]));
  const settings = { evmVersion: 'paris', optimizer: { enabled: true, runs: 200 } };
  const find = (name) => ({ contents: read(here, path.basename(name)) });
  return compile(require('solc'), sources, settings, find);
}

/**
 * Our own stand-ins for contracts that no package holds, all named StandIn…, each protocol in a folder of its own; and OpenZeppelin's
 * vault and proxy as they come.
 */
function standIns() {
  const folders = fs.readdirSync(here, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name).sort();
  const files = folders.flatMap((folder) => fs.readdirSync(path.join(here, folder)).sort().map((file) => path.posix.join(folder, file)));
  const sources = Object.fromEntries(files.filter((f) => f.endsWith('.sol')).map((f) => [f, { content: read(here, f) }]));
  const libraries = path.join(modules, '@uniswap', 'v4-core', 'lib');
  const uniswapV4 = { '@uniswap/v4-core/': path.join(modules, '@uniswap', 'v4-core'), '@uniswap/v4-periphery/': path.join(modules, '@uniswap', 'v4-periphery') };
  const usual = { ...uniswapV4, '@openzeppelin/contracts/': path.join(libraries, 'openzeppelin-contracts', 'contracts'), '@solmate/': path.join(libraries, 'solmate', 'src'), '': here };
  const upgradeable = { '@openzeppelin/contracts-upgradeable/': path.join(modules, '@openzeppelin', 'contracts-upgradeable'), '@openzeppelin/contracts/': path.join(modules, 'openzeppelin-5') };
  // what uses transient storage, or OpenZeppelin's upgradeable contracts, is compiled for the fork that they need
  const group = ({ content }) => (/ transient /.test(content) ? 'transient' : content.includes('contracts-upgradeable/') ? 'upgradeable' : 'usual');
  const built = (name, evmVersion, roots) => {
    const own = Object.fromEntries(Object.entries(sources).filter(([, source]) => group(source) === name));
    return compile(require('solc'), own, { evmVersion, optimizer: { enabled: true, runs: 200 } }, finder(roots));
  };
  const all = { ...built('transient', 'cancun', usual), ...built('upgradeable', 'cancun', upgradeable), ...built('usual', 'paris', usual) };
  return Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith('StandIn') || ['OpenZeppelinVault', 'OpenZeppelinProxy', 'BalancerV3Filler', 'UniswapV3Filler', 'AaveV3Keeper'].includes(name)));
}

/**
 * WETH9 as deployed on mainnet. The package's text differs from the verified source only in the word `emit`, which
 * compiler 0.4.19 does not know, and in white space; the latter shows in nothing but the source hash that the
 * compiler appends. The deployed hash is put in its place, and the chain's builder checks the code hash.
 */
function weth9() {
  const source = read(modules, 'canonical-weth', 'contracts', 'WETH9.sol')
    .replaceAll('emit ', '')
    .replace(/pragma solidity[^;]*;/, 'pragma solidity ^0.4.18;');
  const { WETH9 } = compile(require('solc-0.4.19'), { 'WETH9.sol': { content: source } }, { optimizer: { enabled: false, runs: 200 } });
  const sourceHash = 'deb4c2ccab3c2fdca32ab3f46728389c2fe2c165d5fafa07661e4e004f6c344a';
  const initcode = WETH9.initcode.replace(/(a165627a7a72305820)[0-9a-f]{64}(0029)$/, `$1${sourceHash}$2`);
  return { WETH9: { initcode } };
}

/** SushiSwap V2: its package has sources only. The router's library holds the pair's hash as a literal: it is set to what we compiled. */
function sushiV2() {
  const root = path.join(modules, '@sushiswap', 'core', 'contracts');
  const solc = require('solc-0.6.12');
  const settings = { optimizer: { enabled: true, runs: 200 } };
  const load = (name) => ({ content: read(root, name) });
  const patched = (change) => (name) => {
    try { return { contents: change(name, read(root, name)) }; } catch { return { error: `no such file: ${name}` }; }
  };
  const factoryFiles = ['uniswapv2/UniswapV2Factory.sol', 'uniswapv2/UniswapV2Pair.sol'];
  const core = compile(solc, Object.fromEntries(factoryFiles.map((f) => [f, load(f)])), settings, patched((_, text) => text));
  const pairHash = keccak(core.UniswapV2Pair.initcode);
  const patch = (name, text) => (name.endsWith('UniswapV2Library.sol') ? text.replace(/hex'[0-9a-f]{64}'/, `hex'${pairHash}'`) : text);
  const routerFile = 'uniswapv2/UniswapV2Router02.sol';
  const periphery = compile(solc, { [routerFile]: load(routerFile) }, settings, patched(patch));
  return { SushiV2Factory: core.UniswapV2Factory, SushiV2Pair: core.UniswapV2Pair, SushiV2Router: periphery.UniswapV2Router02 };
}

function keccak(hexText) {
  const { keccak256 } = require('js-sha3');
  return keccak256(Buffer.from(hexText.slice(2), 'hex'));
}

/** Uniswap V2 and V3 ship their creation bytecode. */
function uniswap() {
  const v2 = (pkg, name) => ({ initcode: hex(json('@uniswap', pkg, 'build', `${name}.json`).bytecode) });
  const artifact = (pkg, file) => json('@uniswap', pkg, 'artifacts', 'contracts', `${file}.sol`, `${path.basename(file)}.json`);
  const v3 = (pkg, file) => ({ initcode: hex(artifact(pkg, file).bytecode) });
  const descriptor = artifact('v3-periphery', 'NonfungibleTokenPositionDescriptor');
  return {
    UniswapV2Factory: v2('v2-core', 'UniswapV2Factory'),
    UniswapV2Pair: v2('v2-core', 'UniswapV2Pair'),
    UniswapV2Router02: v2('v2-periphery', 'UniswapV2Router02'),
    UniswapV3Factory: v3('v3-core', 'UniswapV3Factory'),
    UniswapV3Pool: v3('v3-core', 'UniswapV3Pool'),
    NFTDescriptor: v3('v3-periphery', 'libraries/NFTDescriptor'),
    NonfungibleTokenPositionDescriptor: { initcode: link(descriptor, '42b24a95702b9986e82d421cc3568932790a48ec') },
    NonfungiblePositionManager: v3('v3-periphery', 'NonfungiblePositionManager'),
    SwapRouter: v3('v3-periphery', 'SwapRouter'),
    QuoterV2: v3('v3-periphery', 'lens/QuoterV2'),
    TickLens: v3('v3-periphery', 'lens/TickLens'),
    SwapRouter02: v3('swap-router-contracts', 'SwapRouter02'),
  };
}

/** PancakeSwap V3's factory and pool ship their creation bytecode; who deploys pools, manages positions and routes is ours (`pancakeswap/`). */
function pancakeswap() {
  const v3 = (name) => ({ initcode: hex(json('@pancakeswap', 'v3-core', 'artifacts', 'contracts', `${name}.sol`, `${name}.json`).bytecode) });
  return { PancakeV3Factory: v3('PancakeV3Factory'), PancakeV3Pool: v3('PancakeV3Pool') };
}

/** Balancer's second vault and the factories of several generations ship their creation bytecode. */
function balancerV2() {
  const task = (folder, name) => {
    const artifact = json('@balancer-labs', 'v2-deployments', 'dist', 'tasks', folder, 'artifact', `${name}.json`);
    return { initcode: link(artifact, '469b58680774aac9ad66447efb4ef634756a2cc5') };
  };
  return {
    BalancerV2Vault: task('20210418-vault', 'Vault'),
    BalancerV2Authorizer: task('20210418-authorizer', 'Authorizer'),
    BalancerV2FeeProvider: task('20220725-protocol-fee-percentages-provider', 'ProtocolFeePercentagesProvider'),
    BalancerV2QueryProcessor: task('deprecated/20210727-meta-stable-pool', 'QueryProcessor'),
    BalancerV2WeightedV1: task('deprecated/20210418-weighted-pool', 'WeightedPoolFactory'),
    BalancerV2WeightedV2: task('20220908-weighted-pool-v2', 'WeightedPoolFactory'),
    BalancerV2WeightedV3: task('20230206-weighted-pool-v3', 'WeightedPoolFactory'),
    BalancerV2StableV1: task('deprecated/20210624-stable-pool', 'StablePoolFactory'),
    BalancerV2StableV2: task('20220609-stable-pool-v2', 'StablePoolFactory'),
    BalancerV2MetaStable: task('deprecated/20210727-meta-stable-pool', 'MetaStablePoolFactory'),
    BalancerV2ComposableV1: task('deprecated/20220906-composable-stable-pool', 'ComposableStablePoolFactory'),
    BalancerV2ComposableV2: task('20221122-composable-stable-pool-v2', 'ComposableStablePoolFactory'),
    BalancerV2ComposableV3: task('20230206-composable-stable-pool-v3', 'ComposableStablePoolFactory'),
    WstEthRateProvider: task('20210812-wsteth-rate-provider', 'WstETHRateProvider'),
  };
}

/** Balancer's third vault and its factories: sources only, and a minute or two of compiling. */
function balancerV3() {
  const prefix = '@balancer-labs/';
  const parts = [
    { runs: 500, files: ['Vault', 'VaultAdmin', 'VaultExtension'].map((name) => `${prefix}v3-vault/contracts/${name}.sol`) },
    {
      runs: 9999,
      files: ['v3-vault/contracts/ProtocolFeeController.sol', 'v3-pool-weighted/contracts/WeightedPoolFactory.sol', 'v3-pool-stable/contracts/StablePoolFactory.sol'].map((file) => prefix + file),
    },
  ];
  const packages = ['v3-vault', 'v3-interfaces', 'v3-solidity-utils', 'v3-pool-utils', 'v3-pool-weighted', 'v3-pool-stable'].map((name) => json('@balancer-labs', name, 'package.json').version);
  const versions = [require('solc').version(), json('openzeppelin-5', 'package.json').version, ...packages];
  const find = finder({ '@openzeppelin/contracts/': path.join(modules, 'openzeppelin-5'), [prefix]: path.join(modules, '@balancer-labs') });
  return keep('balancer-v3', [parts, versions], () => {
    const found = {};
    for (const { runs, files } of parts) {
      const settings = { viaIR: true, evmVersion: 'cancun', optimizer: { enabled: true, runs } };
      const wanted = files.map((file) => path.basename(file, '.sol'));
      const sources = Object.fromEntries(files.map((file) => [file, { content: find(file).contents }]));
      const all = compile(require('solc'), sources, settings, find, files);
      for (const name of wanted) found[name.startsWith('Vault') || name.startsWith('Protocol') ? `BalancerV3${name}` : `BalancerV3${name.replace('PoolFactory', '')}`] = all[name];
    }
    return found;
  });
}

/** Where Aave's libraries lie: ours to choose, since the pool is linked here. */
const AAVE_LIBRARIES = Object.fromEntries(['SupplyLogic', 'BorrowLogic', 'FlashLoanLogic', 'LiquidationLogic', 'PoolLogic'].map((name, k) => [name, `${'0'.repeat(34)}aa3e${(k + 1).toString().padStart(2, '0')}`]));

/** Aave's third version, with its wrapped tokens: sources only. */
function aaveV3() {
  const files = {
    AaveV3Pool: 'aave/contracts/instances/PoolInstance.sol',
    AaveV3AToken: 'aave/contracts/instances/ATokenInstance.sol',
    AaveV3DebtToken: 'aave/contracts/instances/VariableDebtTokenInstance.sol',
    AaveV3Rates: 'aave/contracts/misc/DefaultReserveInterestRateStrategyV2.sol',
    AaveV3AddressesProvider: 'aave/contracts/protocol/configuration/PoolAddressesProvider.sol',
    AaveV3AclManager: 'aave/contracts/protocol/configuration/ACLManager.sol',
    AaveV3Proxy: 'aave/contracts/misc/aave-upgradeability/InitializableImmutableAdminUpgradeabilityProxy.sol',
    AaveV3Rewards: 'aave/contracts/rewards/RewardsController.sol',
    AaveV3Oracle: 'aave/contracts/mocks/oracle/PriceOracle.sol',
    AaveV3WrappedToken: 'aave/contracts/extensions/stata-token/StataTokenV2.sol',
    TransparentProxy: '@openzeppelin/contracts/proxy/transparent/TransparentUpgradeableProxy.sol',
  };
  const roots = {
    'aave/': path.join(modules, '@aave-dao', 'aave-v3-origin', 'src'),
    'solidity-utils/': path.join(modules, '@bgd-labs', 'solidity-utils', 'src'),
    '@openzeppelin/contracts-upgradeable/': path.join(modules, '@openzeppelin', 'contracts-upgradeable'),
    '@openzeppelin/contracts/': path.join(modules, 'openzeppelin-5'),
  };
  const settings = {
    evmVersion: 'cancun',
    optimizer: { enabled: true, runs: 200 },
    remappings: ['openzeppelin-contracts/contracts/=@openzeppelin/contracts/', 'openzeppelin-contracts-upgradeable/contracts/=@openzeppelin/contracts-upgradeable/'],
  };
  const packages = ['@aave-dao/aave-v3-origin', '@bgd-labs/solidity-utils', '@openzeppelin/contracts-upgradeable', 'openzeppelin-5'].map((name) => json(name, 'package.json').version);
  const find = finder(roots);
  return keep('aave-v3', [files, settings, AAVE_LIBRARIES, require('solc').version(), packages], () => {
    const sources = Object.fromEntries(Object.values(files).map((file) => [file, { content: find(file).contents }]));
    const all = compiled(require('solc'), sources, settings, find);
    const linked = (name) => ({ initcode: linkAll(all[name].evm.bytecode, AAVE_LIBRARIES) });
    const contracts = Object.entries(files).map(([name, file]) => [name, linked(path.basename(file, '.sol'))]);
    const libraries = Object.keys(AAVE_LIBRARIES).map((name) => [`AaveV3${name}`, linked(name)]);
    return Object.fromEntries([...contracts, ...libraries]);
  });
}

/**
 * Morpho Blue, its adaptive curve and a MetaMorpho vault of release 1.0: sources only. The latter two are in a package that is not Morpho's;
 * its text differs from Morpho's own in the compiler's version, the paths of imports and line breaks.
 */
function morpho() {
  const copies = 'sphere-mezo-solidity-files/domains';
  const parts = [
    {
      solc: 'solc-0.8.19',
      settings: { viaIR: true, evmVersion: 'paris', optimizer: { enabled: true, runs: 999999 } },
      files: { MorphoBlue: '@morpho-org/morpho-blue/src/Morpho.sol', MorphoOracle: '@morpho-org/morpho-blue/src/mocks/OracleMock.sol' },
    },
    {
      solc: 'solc',
      settings: { viaIR: true, evmVersion: 'cancun', optimizer: { enabled: true, runs: 200 } },
      files: { MorphoAdaptiveCurve: `${copies}/morphoIrm/contracts/AdaptiveCurveIrm.sol`, MetaMorpho: `${copies}/metamorpho/contracts/MetaMorpho.sol` },
    },
  ];
  const find = finder({ '@openzeppelin/contracts/': path.join(modules, 'openzeppelin-5'), '@morpho-org/': path.join(modules, '@morpho-org'), 'sphere-mezo-solidity-files/': path.join(modules, 'sphere-mezo-solidity-files') });
  const packages = ['@morpho-org/morpho-blue', 'sphere-mezo-solidity-files', 'openzeppelin-5'].map((name) => json(name, 'package.json').version);
  return keep('morpho', [parts, packages], () => {
    const found = {};
    for (const { solc, settings, files } of parts) {
      const sources = Object.fromEntries(Object.values(files).map((file) => [file, { content: find(file).contents }]));
      const all = compile(require(solc), sources, settings, find, Object.values(files));
      for (const [name, file] of Object.entries(files)) found[name] = all[path.basename(file, '.sol')];
    }
    return found;
  });
}

/** Writes each library's address over its placeholders. */
function linkAll({ object, linkReferences }, libraries) {
  let code = hex(object.replace(/__\$[0-9a-f]{34}\$__/g, '0'.repeat(40)));
  for (const [name, places] of Object.values(linkReferences).flatMap((file) => Object.entries(file))) {
    for (const { start, length } of places) {
      const at = 2 + start * 2;
      code = code.slice(0, at) + libraries[name] + code.slice(at + length * 2);
    }
  }
  return code;
}

/** Writes the library's address over every placeholder of the artifact. */
function link({ bytecode, linkReferences = {} }, library) {
  let code = hex(bytecode);
  for (const file of Object.values(linkReferences)) {
    for (const { start, length } of Object.values(file).flat()) {
      const at = 2 + start * 2;
      code = code.slice(0, at) + library + code.slice(at + length * 2);
    }
  }
  return code;
}

/** Runtime code that lives at one address on every chain. Permit2's is a template: the chain id and the EIP-712 domain go in. */
function preinstalls() {
  const text = read(modules, '@eth-optimism', 'contracts-bedrock', 'src', 'libraries', 'Preinstalls.sol');
  const code = (name) => {
    const match = text.match(new RegExp(`bytes internal constant ${name} =\\s*hex"([0-9a-fA-F]+)"`));
    if (match === null) throw new Error(`Preinstalls.sol holds no ${name}`);
    return match[1].toLowerCase();
  };
  const word = (value) => value.replace(/^0x/, '').padStart(64, '0');
  const chainId = word('1');
  const domainType = `0x${Buffer.from('EIP712Domain(string name,uint256 chainId,address verifyingContract)').toString('hex')}`;
  const name = `0x${Buffer.from('Permit2').toString('hex')}`;
  const domain = keccak(`0x${keccak(domainType)}${keccak(name)}${chainId}${word('000000000022d473030f116ddee9f6b43ac78ba3')}`);
  const put = (body, byteOffset, value) => body.slice(0, byteOffset * 2) + value + body.slice(byteOffset * 2 + 64);
  const permit2 = put(put(code('Permit2TemplateCode'), 6945, chainId), 6983, domain);
  return {
    Permit2: { runtime: `0x${permit2}` },
    Multicall3: { runtime: `0x${code('MultiCall3Code')}` },
    Create2Deployer: { runtime: `0x${code('DeterministicDeploymentProxyCode')}` },
  };
}

try {
  const [out] = process.argv.slice(2);
  if (out === undefined) throw new Error('usage: node bundle.mjs OUT.json');
  const bundle = { ...uniswap(), ...pancakeswap(), ...balancerV2(), ...balancerV3(), ...aaveV3(), ...morpho(), ...preinstalls(), ...ourTokens(), ...standIns(), ...sushiV2(), ...weth9() };
  fs.writeFileSync(out, JSON.stringify(bundle));
} catch (error) {
  // Old compilers replace the handler of uncaught errors: say it ourselves.
  console.error(error.message);
  process.exitCode = 1;
}

// Compiles src/ and lens/ with the pinned compiler, and writes (or, with --check, compares)
// artifacts/ExecutionProxy.json: ABI, creation code, runtime code, code hash and CREATE2 address;
// artifacts/Lens.json: ABI, runtime code and code hash (the lens is never deployed);
// erc7730/: the address in the descriptors.
'use strict';
const fs = require('fs');
const path = require('path');
const { execFileSync } = require('child_process');
const solc = require('solc');

const ROOT = path.resolve(__dirname, '..');
const CAST = path.join(ROOT, 'node_modules', '.bin', 'cast');
const DEPLOYER = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
const SALT = '0x' + '00'.repeat(32);

function sourcesUnder(folder) {
  return fs.readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return sourcesUnder(name);
    return entry.name.endsWith('.sol') ? [name] : [];
  }).sort();
}

// Everything that the bytecode depends on besides src/ and the compiler. No metadata: the same source gives the same address.
// Few runs: what the optimiser inlines for more of them would not fit the chain's limit of 24,576 bytes.
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  viaIR: true,
  evmVersion: 'cancun',
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
};

/** Compiles sources, and returns the compiler's output. Throws on an error. */
function run(sources, settings) {
  const output = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity', sources, settings: { ...SETTINGS, ...settings } })));
  const faults = (output.errors ?? []).filter((e) => e.severity === 'error');
  if (faults.length) throw new Error(faults.map((e) => e.formattedMessage).join('\n'));
  return output;
}

/** Reads the sources under a folder. */
function read(folder) {
  return Object.fromEntries(sourcesUnder(folder).map((name) => [name, { content: fs.readFileSync(path.join(ROOT, name), 'utf8') }]));
}

/**
 * Compiles a contract. `change`, if given, edits the sources first and may say why it cannot, which is returned then; `optimizer` takes the
 * place of the usual settings.
 */
function compile(folder, contract, { change, optimizer = SETTINGS.optimizer } = {}) {
  const file = `${folder}/${contract}.sol`;
  const outputSelection = { [file]: { [contract]: ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } };
  const sources = read(folder);
  const refused = change?.(sources);
  if (refused) return refused;
  return run(sources, { optimizer, outputSelection }).contracts[file][contract];
}

// The lens has all the room it wants.
const LENS_OPTIMIZER = { enabled: true, runs: 1_000_000 };

const keccak = (hex) => execFileSync(CAST, ['keccak'], { input: hex, encoding: 'utf8' }).trim();

function proxyArtifact() {
  const { abi, evm } = compile('src', 'ExecutionProxy');
  const bytecode = '0x' + evm.bytecode.object;
  const deployedBytecode = '0x' + evm.deployedBytecode.object;
  const preimage = '0xff' + DEPLOYER.slice(2) + SALT.slice(2) + keccak(bytecode).slice(2);
  const address = '0x' + keccak(preimage).slice(-40);
  return {
    contractName: 'ExecutionProxy',
    compiler: solc.version(),
    settings: SETTINGS,
    address: execFileSync(CAST, ['to-check-sum-address', address], { encoding: 'utf8' }).trim(),
    create2: { deployer: DEPLOYER, salt: SALT },
    codeHash: keccak(deployedBytecode),
    codeSize: (deployedBytecode.length - 2) / 2,
    abi,
    bytecode,
    deployedBytecode,
  };
}

function lensArtifact() {
  const { abi, evm } = compile('lens', 'Lens', { optimizer: LENS_OPTIMIZER });
  const deployedBytecode = '0x' + evm.deployedBytecode.object;
  return {
    contractName: 'Lens',
    compiler: solc.version(),
    settings: { ...SETTINGS, optimizer: LENS_OPTIMIZER },
    codeHash: keccak(deployedBytecode),
    codeSize: (deployedBytecode.length - 2) / 2,
    abi,
    deployedBytecode,
  };
}

/** The descriptors that let a wallet show what is signed (ERC-7730), with the proxy's address in its place. */
function descriptors(address) {
  const read = (name) => JSON.parse(fs.readFileSync(path.join(ROOT, name), 'utf8'));
  const calldata = read('erc7730/calldata-braid.json');
  calldata.context.contract.deployments = [{ chainId: 1, address }];
  const eip712 = read('erc7730/eip712-braid-permit2.json');
  eip712.metadata.constants.proxy = address;
  return [['erc7730/calldata-braid.json', calldata], ['erc7730/eip712-braid-permit2.json', eip712]];
}

function main() {
  const proxy = proxyArtifact();
  for (const built of [proxy, lensArtifact()]) {
    keep(`artifacts/${built.contractName}.json`, JSON.stringify(built, null, 1) + '\n');
    console.log(`${built.contractName} ${built.address ?? '(never deployed)'}, ${built.codeSize} bytes, code hash ${built.codeHash}`);
  }
  for (const [name, descriptor] of descriptors(proxy.address)) keep(name, JSON.stringify(descriptor, null, 2) + '\n');
}

/** Writes a file, or compares it. */
function keep(name, text) {
  const file = path.join(ROOT, name);
  if (!process.argv.includes('--check')) {
    fs.writeFileSync(file, text);
  } else if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text) {
    console.error(`${name} is not what its source makes: run contracts/build.sh and commit it`);
    process.exit(1);
  }
}

module.exports = { SETTINGS, compile, read, run };
if (require.main === module) main();

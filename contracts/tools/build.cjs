// Compiles src/ with the pinned compiler, and writes (or, with --check, compares)
// artifacts/ExecutionProxy.json: ABI, creation code, runtime code, code hash and CREATE2 address.
'use strict';
const fs = require('fs');
const path = require('path');
const { execFileSync } = require('child_process');
const solc = require('solc');

const ROOT = path.resolve(__dirname, '..');
const ARTIFACT = path.join(ROOT, 'artifacts', 'ExecutionProxy.json');
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
const SETTINGS = {
  optimizer: { enabled: true, runs: 1_000_000 },
  viaIR: true,
  evmVersion: 'cancun',
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
};

function compile() {
  const outputSelection = { 'src/ExecutionProxy.sol': { ExecutionProxy: ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } };
  const sources = Object.fromEntries(
    sourcesUnder('src').map((name) => [name, { content: fs.readFileSync(path.join(ROOT, name), 'utf8') }]));
  const output = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity', sources, settings: { ...SETTINGS, outputSelection } })));
  const faults = (output.errors ?? []).filter((e) => e.severity === 'error');
  if (faults.length) throw new Error(faults.map((e) => e.formattedMessage).join('\n'));
  return output.contracts['src/ExecutionProxy.sol'].ExecutionProxy;
}

const keccak = (hex) => execFileSync(CAST, ['keccak'], { input: hex, encoding: 'utf8' }).trim();

function artifact() {
  const { abi, evm } = compile();
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

const built = artifact();
const text = JSON.stringify(built, null, 1) + '\n';
if (process.argv.includes('--check')) {
  if (!fs.existsSync(ARTIFACT) || fs.readFileSync(ARTIFACT, 'utf8') !== text) {
    console.error('artifacts/ExecutionProxy.json is not what src/ compiles to: run contracts/build.sh and commit it');
    process.exit(1);
  }
} else {
  fs.writeFileSync(ARTIFACT, text);
}
console.log(`ExecutionProxy ${built.address}, ${built.codeSize} bytes, code hash ${built.codeHash}`);

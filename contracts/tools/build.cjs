// Compiles src/ and lens/ with the pinned compiler, and writes (or, with --check, compares)
// artifacts/ExecutionProxy.json: ABI, creation code, runtime code, code hash and CREATE2 address;
// artifacts/Lens.json: ABI, runtime code and code hash (the lens is never deployed).
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
const SETTINGS = {
  optimizer: { enabled: true, runs: 1_000_000 },
  viaIR: true,
  evmVersion: 'cancun',
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
};

function compile(folder, contract) {
  const file = `${folder}/${contract}.sol`;
  const outputSelection = { [file]: { [contract]: ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } };
  const sources = Object.fromEntries(
    sourcesUnder(folder).map((name) => [name, { content: fs.readFileSync(path.join(ROOT, name), 'utf8') }]));
  const output = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity', sources, settings: { ...SETTINGS, outputSelection } })));
  const faults = (output.errors ?? []).filter((e) => e.severity === 'error');
  if (faults.length) throw new Error(faults.map((e) => e.formattedMessage).join('\n'));
  return output.contracts[file][contract];
}

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
  const { abi, evm } = compile('lens', 'Lens');
  const deployedBytecode = '0x' + evm.deployedBytecode.object;
  return {
    contractName: 'Lens',
    compiler: solc.version(),
    settings: SETTINGS,
    codeHash: keccak(deployedBytecode),
    codeSize: (deployedBytecode.length - 2) / 2,
    abi,
    deployedBytecode,
  };
}

for (const built of [proxyArtifact(), lensArtifact()]) {
  const name = `artifacts/${built.contractName}.json`;
  const text = JSON.stringify(built, null, 1) + '\n';
  const file = path.join(ROOT, name);
  if (!process.argv.includes('--check')) {
    fs.writeFileSync(file, text);
  } else if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text) {
    console.error(`${name} is not what its source compiles to: run contracts/build.sh and commit it`);
    process.exit(1);
  }
  console.log(`${built.contractName} ${built.address ?? '(never deployed)'}, ${built.codeSize} bytes, code hash ${built.codeHash}`);
}

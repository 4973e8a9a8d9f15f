// Gathers the bytecode that the differentials run against into one file: `node bytecode.mjs OUT.json`.
// The protocols' own comes from the local chain's bundle, the harness is compiled here.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const contracts = path.join(here, '..', '..', '..', '..', 'contracts');
const require = createRequire(path.join(contracts, 'package.json'));

function harness() {
  const input = {
    language: 'Solidity',
    sources: { 'Harness.sol': { content: fs.readFileSync(path.join(here, 'Harness.sol'), 'utf8') } },
    settings: { evmVersion: 'paris', optimizer: { enabled: true, runs: 200 }, outputSelection: { '*': { '*': ['evm.bytecode.object'] } } },
  };
  const output = JSON.parse(require('solc').compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter((e) => e.severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((e) => e.formattedMessage).join('\n'));
  const compiled = output.contracts['Harness.sol'];
  return Object.fromEntries(['Coin', 'Harness'].map((name) => [name, { initcode: `0x${compiled[name].evm.bytecode.object}` }]));
}

/** Vaults of others with constructors of ours. */
function vaults(file) {
  const libraries = path.join(contracts, 'node_modules', '@uniswap', 'v4-core', 'lib');
  const roots = { '@openzeppelin/contracts/': 'openzeppelin-contracts/contracts', '@solmate/': 'solmate/src' };
  const find = (name) => {
    if (name.startsWith('solady/')) return { contents: fs.readFileSync(path.join(contracts, 'node_modules', name), 'utf8') };
    const prefix = Object.keys(roots).find((known) => name.startsWith(known));
    return { contents: fs.readFileSync(path.join(libraries, roots[prefix], name.slice(prefix.length)), 'utf8') };
  };
  const input = {
    language: 'Solidity',
    sources: { [file]: { content: fs.readFileSync(path.join(here, file), 'utf8') } },
    settings: { evmVersion: 'cancun', optimizer: { enabled: true, runs: 200 }, outputSelection: { '*': { '*': ['evm.bytecode.object'] } } },
  };
  const output = JSON.parse(require('solc').compile(JSON.stringify(input), { import: find }));
  const errors = (output.errors ?? []).filter((e) => e.severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((e) => e.formattedMessage).join('\n'));
  return Object.fromEntries(Object.entries(output.contracts[file]).map(([name, contract]) => [name, { initcode: `0x${contract.evm.bytecode.object}` }]));
}

try {
  const [out] = process.argv.slice(2);
  if (out === undefined) throw new Error('usage: node bytecode.mjs OUT.json');
  execFileSync(process.execPath, ['--no-warnings', path.join(contracts, 'devnet', 'bundle.mjs'), out], { stdio: 'inherit' });
  const bundle = JSON.parse(fs.readFileSync(out, 'utf8'));
  fs.writeFileSync(out, JSON.stringify({ ...bundle, ...harness(), ...vaults('Vaults.sol') }));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

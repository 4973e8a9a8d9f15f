// Makes each mutant of tools/mutations.cjs, one at a time, and runs the tests against it: `node tools/mutate.cjs [fuzz] [NAME…]`.
// The artifact is overwritten and put back, so it runs in a copy of this folder (mutate.sh makes one). Prints who noticed each mutant; fails
// if one that is not known to be equivalent goes unnoticed. About ten seconds a mutant.
'use strict';
const fs = require('fs');
const path = require('path');
const { spawnSync } = require('child_process');
const { compile } = require('./build.cjs');
const { EQUIVALENT, MUTATIONS } = require('./mutations.cjs');

const ROOT = path.resolve(__dirname, '..');
const ARTIFACT = path.join(ROOT, 'artifacts', 'ExecutionProxy.json');
const FORGE = path.join(ROOT, 'node_modules', '.bin', 'forge');

/** Applies edits to sources; returns why they cannot be applied, or nothing. */
function edit(sources, edits) {
  for (const [file, from, to, times = 1] of edits) {
    const source = sources[`src/${file}`];
    const parts = source.content.split(from);
    if (parts.length - 1 !== times) return `found ${parts.length - 1} times: ${from}`;
    source.content = parts.join(to);
  }
  return undefined;
}

/** The names of the first tests that fail on the artifact as it stands. */
function failures(fuzz) {
  const selection = [
    fuzz ? '--match-test' : '--no-match-test', 'testFuzz',
    // the artifact's own test notices every mutant, those of the stand-ins never meet the proxy
    '--no-match-contract', 'ArtifactTest', '--no-match-path', 'test/StandIn*.t.sol', '--fail-fast',
  ];
  const run = spawnSync(FORGE, ['test', ...selection], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 });
  const failed = [...run.stdout.matchAll(/^\[FAIL[^\n]*\] (\w+)\(/gm)].map((found) => found[1]);
  if (run.status !== 0 && failed.length === 0) throw new Error(`the tests did not run: ${run.stdout.slice(-400)}${run.stderr.slice(-400)}`);
  return [...new Set(failed)];
}

function main() {
  const fuzz = process.argv[2] === 'fuzz';
  const wanted = process.argv.slice(fuzz ? 3 : 2);
  const original = fs.readFileSync(ARTIFACT, 'utf8');
  const survivors = [];
  const broken = failures(fuzz);
  if (broken.length) throw new Error(`these fail without any mutant: ${broken.join(', ')}`);
  try {
    for (const [name, edits] of MUTATIONS) {
      if (wanted.length && !wanted.some((start) => name.startsWith(`${start}-`))) continue;
      const built = compile('src', 'ExecutionProxy', { change: (sources) => edit(sources, edits) });
      if (typeof built === 'string') {
        survivors.push(name);
        console.log(`${name}: cannot be made: ${built}`);
        continue;
      }
      const mutant = JSON.parse(original);
      mutant.bytecode = `0x${built.evm.bytecode.object}`;
      mutant.deployedBytecode = `0x${built.evm.deployedBytecode.object}`;
      fs.writeFileSync(ARTIFACT, JSON.stringify(mutant, null, 1));
      const noticed = failures(fuzz);
      if (noticed.length) console.log(`${name}: noticed by ${noticed[0]}`);
      else if (EQUIVALENT[name]) console.log(`${name}: equivalent: ${EQUIVALENT[name]}`);
      else {
        survivors.push(name);
        console.log(`${name}: NOT NOTICED`);
      }
    }
  } finally {
    fs.writeFileSync(ARTIFACT, original);
  }
  console.log(`${survivors.length} not noticed`);
  process.exitCode = survivors.length ? 1 : 0;
}

main();

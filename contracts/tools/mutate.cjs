// Makes each mutant of tools/mutations.cjs, one at a time, and runs the tests against it: `node tools/mutate.cjs [fuzz] [NAME…]`.
// The artifact is overwritten and put back, so it runs in a copy of this folder (mutate.sh makes one). Prints who noticed each mutant; fails
// if one that is not known to be equivalent goes unnoticed. About seven seconds of one core a mutant: each is compiled hardly optimised, which
// takes half the time, and once more as it is deployed if no test notices it.
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

// As little as the compiler can do and still find room on the stack.
const QUICK = {
  enabled: true,
  runs: 1,
  details: {
    inliner: false,
    deduplicate: false,
    cse: false,
    constantOptimizer: false,
    yul: true,
    yulDetails: { stackAllocation: true, optimizerSteps: 'u:' },
  },
};

/** Puts a build in the artifact's place. */
function install(original, built) {
  const mutant = JSON.parse(original);
  mutant.bytecode = `0x${built.evm.bytecode.object}`;
  mutant.deployedBytecode = `0x${built.evm.deployedBytecode.object}`;
  fs.writeFileSync(ARTIFACT, JSON.stringify(mutant, null, 1));
}

/** The names of the first tests that fail on the artifact as it stands. */
function failures(fuzz) {
  // the artifact's own test notices every mutant, those of the stand-ins never meet the proxy
  const selection = fuzz
    ? ['--match-test', 'testFuzz|test_orders_among|test_swaps_along|test_baskets']
    : ['--no-match-test', 'testFuzz', '--no-match-contract', 'ArtifactTest|InvariantsTest', '--no-match-path', 'test/StandIn*.t.sol'];
  // a mutant may give all its gas to a contract that burns it: not so much of it, but where many orders run in one test
  const env = fuzz ? process.env : { ...process.env, FOUNDRY_GAS_LIMIT: String(2 ** 30) };
  const run = spawnSync(FORGE, ['test', ...selection, '--fail-fast'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28, env });
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
      const change = (sources) => edit(sources, edits);
      const built = compile('src', 'ExecutionProxy', { change, optimizer: QUICK });
      if (typeof built === 'string') {
        survivors.push(name);
        console.log(`${name}: cannot be made: ${built}`);
        continue;
      }
      install(original, built);
      let noticed = failures(fuzz);
      if (!noticed.length && !EQUIVALENT[name]) {
        install(original, compile('src', 'ExecutionProxy', { change }));
        noticed = failures(fuzz);
      }
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

// Shows that the proofs can fail: makes mutants of tools/mutations.cjs in which a property of symbolic/ does not hold, and asks halmos to refute it.
// `node tools/refute.cjs HALMOS`, in a copy of this folder (`symbolic.sh mutants` makes one). Mutants that do not touch each other share a build.
'use strict';
const fs = require('fs');
const path = require('path');
const { spawnSync } = require('child_process');
const { MUTATIONS } = require('./mutations.cjs');

const ROOT = path.resolve(__dirname, '..');
const GROUPS = [
  {
    '01-callback-hash-ignores-caller': ['check_nobody_but_the_named_pool_is_let_in', 'check_guard_lets_in_one_caller_with_one_set_of_terms'],
    '26-share-rounds-up': ['check_spend_keeps_the_sum', 'check_draw_keeps_the_sum'],
    '62-index-out-unchecked': ['check_accounts_stay_inside'],
    '66-take-unchecked': ['check_take_stays_inside'],
    '91-count-dropped': ['check_gain_is_the_lower'],
    '109-path-minimum-dropped': ['check_sale_keeps_its_minimum'],
    '120-buy-maximum-unchecked': ['check_purchase_keeps_its_maximum', 'check_purchase_of_two_hops_keeps_its_maximum'],
    '129-path-kind-unchecked': ['check_path_of_one_hop'],
    '134-tokens-unsorted': ['check_pool_is_the_one_of_its_factory'],
    '153-ether-from-anyone-at-rest': ['check_idle_ether_reverts'],
  },
  {
    '154-callback-hash-unchecked': ['check_idle_callbacks_revert'],
    '155-path-token-from-the-wrong-place': ['check_path_of_two_hops'],
  },
];

function apply(names) {
  for (const name of names) {
    const [, edits] = MUTATIONS.find(([found]) => found === name);
    for (const [file, from, to] of edits) {
      const place = path.join(ROOT, 'src', file);
      const source = fs.readFileSync(place, 'utf8');
      if (source.split(from).length !== 2) throw new Error(`${name}: cannot be made`);
      fs.writeFileSync(place, source.replace(from, () => to));
    }
  }
}

let held = 0;
fs.cpSync(path.join(ROOT, 'src'), path.join(ROOT, 'original'), { recursive: true });
for (const group of GROUPS) {
  fs.cpSync(path.join(ROOT, 'original'), path.join(ROOT, 'src'), { recursive: true });
  apply(Object.keys(group));
  const checks = Object.values(group).flat();
  const run = spawnSync(process.argv[2], [...process.argv.slice(3), '--match-test', `^(${checks.join('|')})`], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 });
  for (const [name, of] of Object.entries(group)) {
    for (const check of of) {
      const refuted = new RegExp(`\\[FAIL\\]\\S* ${check}\\(`).test(run.stdout);
      console.log(`${name}: ${check} ${refuted ? 'refuted' : 'HOLDS'}`);
      if (!refuted) ++held;
    }
  }
}
process.exitCode = held ? 1 : 0;

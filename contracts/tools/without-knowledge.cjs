// Compiles the proxy without the optimiser steps that use what is known of memory and storage (LoadResolver `L`, EqualStoreEliminator `E`), and
// runs the tests against that code: what they see does not hang on these steps. The artifact is put back. See docs/internals/security.md, "The compiler".
'use strict';
const fs = require('fs');
const path = require('path');
const { spawnSync } = require('child_process');
const { SETTINGS, compile } = require('./build.cjs');

const ROOT = path.resolve(__dirname, '..');
const ARTIFACT = path.join(ROOT, 'artifacts', 'ExecutionProxy.json');
const STEPS = 'dhfoDgvulfnTUtnIf[xa[r]scMcCTUtTOntnfDIulculVcul[j]Trpeulxa[r]cgvifMCTUca[r]SsTFOtfDnca[r]Iulc]jmul[jul]VcTOculjmul:fDnTOcmu';

const details = { yul: true, yulDetails: { stackAllocation: true, optimizerSteps: STEPS } };
const { evm } = compile('src', 'ExecutionProxy', { optimizer: { ...SETTINGS.optimizer, details } });
const original = fs.readFileSync(ARTIFACT, 'utf8');
try {
  const other = { ...JSON.parse(original), bytecode: `0x${evm.bytecode.object}`, deployedBytecode: `0x${evm.deployedBytecode.object}` };
  fs.writeFileSync(ARTIFACT, JSON.stringify(other, null, 1));
  console.log(`${evm.deployedBytecode.object.length / 2} bytes without L and E`);
  const args = ['test', '--no-match-contract', 'ArtifactTest', '--no-match-path', 'test/StandIn*.t.sol'];
  process.exitCode = spawnSync(path.join(ROOT, 'node_modules', '.bin', 'forge'), args, { cwd: ROOT, stdio: 'inherit' }).status;
} finally {
  fs.writeFileSync(ARTIFACT, original);
}

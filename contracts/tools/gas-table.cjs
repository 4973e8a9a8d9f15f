// Prints snapshots/proxy.json beside the peers' (and keeps it as snapshots/table.md), and fails above a single-purpose router or at or above
// the Universal Router.
'use strict';
const fs = require('fs');
const path = require('path');

const read = (name) => JSON.parse(fs.readFileSync(path.resolve(__dirname, '..', 'snapshots', `${name}.json`), 'utf8'));
const proxy = read('proxy');
const router = read('router');
const universal = read('universal-router');

const cell = (gas) => gas ?? '–';
const over = (gas, peer) => (peer ? (Number(gas) / Number(peer)).toFixed(3) : '–');

const rows = [
  '| whole transaction | proxy, gas | Router02 / SwapRouter02, gas | ratio | Universal Router, gas | ratio |',
  '| --- | ---: | ---: | ---: | ---: | ---: |',
];
const faults = [];
for (const [name, gas] of Object.entries(proxy)) {
  rows.push(`| ${name} | ${gas} | ${cell(router[name])} | ${over(gas, router[name])} | ${cell(universal[name])} | ${over(gas, universal[name])} |`);
  if (router[name] && Number(gas) > Number(router[name])) faults.push(`${name}: above the single-purpose router`);
  if (universal[name] && Number(gas) >= Number(universal[name])) faults.push(`${name}: not below the Universal Router`);
}
console.log(rows.join('\n'));
fs.writeFileSync(path.resolve(__dirname, '..', 'snapshots', 'table.md'), rows.join('\n') + '\n');
for (const fault of faults) console.error(fault);
process.exitCode = faults.length ? 1 : 0;

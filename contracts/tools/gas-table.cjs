// Prints snapshots/proxy.json beside the peers' and fails above the bar of 1.10 times a single-purpose router.
'use strict';
const fs = require('fs');
const path = require('path');

const BAR = 1.1;
const read = (name) => JSON.parse(fs.readFileSync(path.resolve(__dirname, '..', 'snapshots', `${name}.json`), 'utf8'));
const proxy = read('proxy');
const router = read('router');

let worst = 0;
console.log('| whole transaction | proxy, gas | Router02 / SwapRouter02, gas | ratio |\n| --- | ---: | ---: | ---: |');
for (const [name, gas] of Object.entries(proxy)) {
  const ratio = router[name] ? Number(gas) / Number(router[name]) : null;
  worst = Math.max(worst, ratio ?? 0);
  console.log(`| ${name} | ${gas} | ${router[name] ?? '–'} | ${ratio ? ratio.toFixed(3) : '–'} |`);
}
if (worst > BAR) {
  console.error(`above ${BAR} times the router: ${worst.toFixed(3)}`);
  process.exit(1);
}

// The two calls that forge makes of a compiler, answered by the WebAssembly build: `--version` and `--standard-json`.
'use strict';
const fs = require('fs');
const path = require('path');
const solc = require('solc');

const args = process.argv.slice(2);

// forge knows the names of native builds only
const version = () => solc.version().replace('Emscripten.clang', 'Linux.g++');

function searchFolders() {
  const given = args.flatMap((arg, i) => (arg === '--base-path' || arg === '--include-path' ? [args[i + 1]] : []));
  return [...given, process.cwd()];
}

function readImport(name) {
  for (const folder of searchFolders()) {
    const file = path.resolve(folder, name);
    if (fs.existsSync(file)) return { contents: fs.readFileSync(file, 'utf8') };
  }
  return { error: `no such file: ${name}` };
}

/** Compiles; the sources go in by the import callback, since the input itself is copied to the compiler's stack of 5 MB, four bytes a letter. */
function compile(input) {
  const given = new Map();
  for (const [name, { content }] of Object.entries(input.sources)) {
    given.set(name, content);
    input.sources[name] = { urls: [name] };
  }
  const find = (name) => (given.has(name) ? { contents: given.get(name) } : readImport(name));
  return solc.compile(JSON.stringify(input), { import: find });
}

if (args.includes('--version')) {
  console.log(`solc, the solidity compiler commandline interface\nVersion: ${version()}`);
} else if (args.includes('--standard-json')) {
  process.stdout.write(compile(JSON.parse(fs.readFileSync(0, 'utf8'))));
} else {
  console.error(`this compiler answers --version and --standard-json only, got: ${args.join(' ')}`);
  process.exitCode = 1;
}

// Checks that everything public has its NatSpec in the compiler's userdoc and devdoc: each contract under src/ and lens/ a notice, each function,
// error and event of an ABI a notice, each of their parameters and returns a description, and each field of a struct a `@param`.
// Prints what is missing, and fails if anything is. The fallback and `receive` have no signature, so the compiler keeps no documentation of them.
'use strict';
const { read, run } = require('./build.cjs');

const OUTPUTS = { '*': { '*': ['abi', 'userdoc', 'devdoc'], '': ['ast'] } };

/** Writes the type of a parameter as in a signature. */
function typeOf({ type, components }) {
  return type.startsWith('tuple') ? `(${components.map(typeOf).join(',')})${type.slice('tuple'.length)}` : type;
}

/** Returns the documentation of an item of the ABI. */
function documentationOf({ type, name, inputs }, { userdoc, devdoc }) {
  const signature = `${name}(${inputs.map(typeOf).join(',')})`;
  const [ofUser, ofDeveloper] = {
    function: [userdoc.methods?.[signature], devdoc.methods?.[signature]],
    event: [userdoc.events?.[signature], devdoc.events?.[signature]],
    // one signature may be declared more than once
    error: [userdoc.errors?.[signature]?.[0], devdoc.errors?.[signature]?.[0]],
  }[type];
  return { signature, notice: ofUser?.notice, params: ofDeveloper?.params ?? {}, returns: ofDeveloper?.returns ?? {} };
}

/** Returns what an item of the ABI lacks. */
function missingOfItem(item, contract) {
  const { signature, notice, params, returns } = documentationOf(item, contract);
  const missing = notice ? [] : [`${item.type} ${signature}: @notice`];
  item.inputs.filter(({ name }) => !params[name]).forEach(({ name }) => missing.push(`${item.type} ${signature}: @param ${name}`));
  (item.outputs ?? []).forEach(({ name }, index) => {
    if (!returns[name || `_${index}`]) missing.push(`${item.type} ${signature}: @return ${name || `number ${index}`}`);
  });
  return missing;
}

/** Returns what a contract's ABI lacks, and its own notice. */
function missingOfContract(contract) {
  const items = contract.abi.filter(({ type }) => ['function', 'event', 'error'].includes(type));
  const own = contract.userdoc.notice ? [] : ['@notice'];
  return [...own, ...items.flatMap((item) => missingOfItem(item, contract))];
}

/** Returns the fields of a struct that its documentation does not name. The compiler's devdoc has no structs. */
function missingOfStruct({ name, members, documentation }) {
  const text = documentation?.text ?? '';
  const named = new Set([...text.matchAll(/@param\s+(\w+)\s+\S/g)].map(([, field]) => field));
  const own = /@notice\s+\S/.test(text) ? [] : [`struct ${name}: @notice`];
  return [...own, ...members.filter((field) => !named.has(field.name)).map((field) => `struct ${name}: @param ${field.name}`)];
}

function structsOf({ nodes }) {
  return nodes.flatMap((node) => (node.nodeType === 'StructDefinition' ? [node] : node.nodes ? structsOf(node) : []));
}

/** Returns what the sources lack, each with its place. */
function missing(sources) {
  const { contracts, sources: asts } = run(sources, { outputSelection: OUTPUTS });
  const found = [];
  for (const [file, { ast }] of Object.entries(asts)) {
    const lacks = (place, list) => list.forEach((what) => found.push(`${place}: ${what}`));
    structsOf(ast).forEach((struct) => lacks(file, missingOfStruct(struct)));
    for (const [name, contract] of Object.entries(contracts[file] ?? {})) lacks(`${file} ${name}`, missingOfContract(contract));
  }
  return found;
}

const found = ['src', 'lens'].map(read).flatMap(missing);
found.forEach((what) => console.error(`no NatSpec: ${what}`));
process.exitCode = found.length ? 1 : 0;

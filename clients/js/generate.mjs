// Generates the types of the OpenAPI document: node generate.mjs DOCUMENT FILE
// Strings that must begin with 0x get viem's type for them, so that no caller has to cast.
import { writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const [document, file] = process.argv.slice(2);
const source = /^https?:/.test(document) ? new URL(document) : new URL(document, `file://${process.cwd()}/`);
const hex = ts.factory.createTypeReferenceNode("`0x${string}`");
const transform = ({ type, pattern }) => {
  if (!pattern?.startsWith("^0x")) return undefined;
  return Array.isArray(type) && type.includes("null") ? ts.factory.createUnionTypeNode([hex, ts.factory.createLiteralTypeNode(ts.factory.createNull())]) : hex;
};
await writeFile(file, astToString(await openapiTS(source, { transform })));

// The API's types by the names that its documentation uses; all of them are generated from the OpenAPI document.
import type { components } from "./generated.js";

type Schemas = components["schemas"];

export type Address = `0x${string}`;
export type QuoteBody = Schemas["QuoteBody"];
export type BuildBody = Schemas["BuildBody"];
export type Quote = Schemas["QuoteAnswer"];
export type Built = Schemas["BuildAnswer"];
export type Approval = Schemas["Approval"];
export type Simulation = Schemas["Simulation"];
export type Token = Schemas["TokenRow"];
export type Prices = Schemas["Prices"];
export type Network = Schemas["Network"];
export type Chain = Schemas["Chain"];
export type Protocol = Schemas["Family"];
export type Ready = Schemas["Ready"];
export type GasTier = Schemas["GasTier"];
export type FieldError = Schemas["FieldError"];
/** The body of an error answer (RFC 9457). */
export type ProblemBody = Schemas["ProblemBody"];
export type ProblemCode = Schemas["ProblemCode"];

/** A token and what is sold of it, in atomic units; the token alone where an exact amount is bought. */
export type Input = readonly [token: Address, amount: bigint] | readonly [token: Address] | QuoteBody["inputs"][number];
/** A token and its share of the value bought, in basis points (a number), or exactly how much to buy, in atomic units (a bigint). */
export type Output = readonly [token: Address, bought: number | bigint] | QuoteBody["outputs"][number];
/** What to swap: the API's own fields, with lists allowed for inputs and outputs. */
export type QuoteRequest = Omit<QuoteBody, "inputs" | "outputs"> & { inputs: readonly Input[]; outputs: readonly Output[] };
/** What may be said of a build besides its quote. */
export type BuildRequest = Omit<BuildBody, "quote_id">;

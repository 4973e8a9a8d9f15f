// The service's own types, generated from its OpenAPI document by `npm run types`.
import type { components } from "./generated";

type Schemas = components["schemas"];

export type Approval = Schemas["Approval"];
export type Build = Schemas["BuildAnswer"];
export type Certificate = Schemas["Certificate"];
export type Family = Schemas["Family"];
export type Health = Schemas["Health"];
export type Network = Schemas["Network"];
export type Path = Schemas["Path"];
export type PathStep = Schemas["PathStep"];
export type ProblemBody = Schemas["ProblemBody"];
export type Quote = Schemas["QuoteAnswer"];
export type QuoteBody = Schemas["QuoteBody"];
export type Ready = Schemas["Ready"];
export type Simulation = Schemas["Simulation"];
export type TokenRow = Schemas["TokenRow"];

/** The fields of a token that the page uses. One with a `pool_count` of 0 may be a copy of a better known one's symbol. */
export type Token = Pick<TokenRow, "address" | "symbol" | "name" | "decimals" | "pool_count">;

export type Tier = "slow" | "standard" | "fast" | "urgent";
export const TIERS: readonly Tier[] = ["slow", "standard", "fast", "urgent"];

/** Stands for native ether where a contract's address is expected. */
export const ETHER = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";

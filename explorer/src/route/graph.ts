// The route as a graph without circles: tokens as nodes, steps as links, widths as shares of the outputs' value.
import { atomic } from "../amounts";
import type { Path, PathStep, Quote } from "../api/types";

export type Node = {
  id: string;
  token: string;
  /** Value that passes through, as a share of the outputs' value: 0 to 1. */
  value: number;
  kind: "input" | "between" | "output";
};

export type Link = { step: PathStep; from: string; to: string; value: number };

export type Graph = { nodes: Node[]; links: Link[] };

type Places = { from: string; to: string }[];

/** Says whether one node leads to another over the links so far. */
function leads(from: string, to: string, links: Places): boolean {
  const open = [from];
  const seen = new Set<string>();
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === to) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    for (const link of links) if (link.from === at) open.push(link.to);
  }
  return false;
}

/** Puts every step between two nodes. A token that a route comes back to gets a node for each visit, so that no link leads back. */
function placed(steps: PathStep[]): Places {
  const visit = new Map<string, number>();
  const idOf = (token: string) => `${token}#${visit.get(token) ?? 0}`;
  const links: Places = [];
  for (const { token_in, token_out } of steps) {
    const from = idOf(token_in);
    if (leads(idOf(token_out), from, links)) visit.set(token_out, (visit.get(token_out) ?? 0) + 1);
    links.push({ from, to: idOf(token_out) });
  }
  return links;
}

const amount = (text: string) => Number(atomic(text) ?? 0n);

/** Values of the outputs at the quote's reference prices, as parts of their sum. */
function outputValues({ estimated_outputs }: Quote): Map<string, number> {
  const values = estimated_outputs.map(({ token, expected_amount, decimals, reference_price }) => {
    const price = Number(reference_price?.value ?? (estimated_outputs.length === 1 ? 1 : 0));
    return [token, (amount(expected_amount) / 10 ** decimals) * price] as const;
  });
  const sum = values.reduce((total, [, value]) => total + value, 0);
  return new Map(values.map(([token, value]) => [token, sum > 0 ? value / sum : 1 / values.length]));
}

/** Makes the graph of a quote. Values are found from the outputs back: what a node passes on is divided among what came in. */
export function graphOf(quote: Quote): Graph {
  const { steps }: Path = quote.path;
  const places = placed(steps);
  const final = outputValues(quote);
  const lastVisit = new Map(places.map(({ to }) => [tokenOf(to), to]));
  const indices = steps.map((_, at) => at);

  // what the taker brings joins what steps make of the same token
  const brought = new Map(quote.estimated_inputs.map(({ token, expected_amount }) => [`${token}#0`, amount(expected_amount)]));
  const isFinal = (id: string) => lastVisit.get(tokenOf(id)) === id;
  const known = new Map<string, number>();
  const nodeValue = (id: string): number => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const leaving = indices.filter((at) => places[at]!.from === id);
    const value = leaving.reduce((sum, at) => sum + linkValue(at), isFinal(id) ? (final.get(tokenOf(id)) ?? 0) : 0);
    known.set(id, value);
    return value;
  };
  const linkValue = (at: number): number => {
    const { to } = places[at]!;
    const arriving = indices.reduce((sum, other) => (places[other]!.to === to ? sum + amount(steps[other]!.amount_out) : sum), brought.get(to) ?? 0);
    return arriving > 0 ? (nodeValue(to) * amount(steps[at]!.amount_out)) / arriving : 0;
  };

  const kindOf = (id: string): Node["kind"] => {
    if (final.has(tokenOf(id)) && isFinal(id)) return "output";
    return brought.has(id) ? "input" : "between";
  };
  const ids = [...new Set(places.flatMap(({ from, to }) => [from, to]))];
  return {
    nodes: ids.map((id) => ({ id, token: tokenOf(id), value: nodeValue(id), kind: kindOf(id) })),
    links: indices.map((at) => ({ step: steps[at]!, ...places[at]!, value: linkValue(at) })),
  };
}

const tokenOf = (id: string) => id.split("#")[0]!;

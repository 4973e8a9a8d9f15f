// An agent's tool server (Model Context Protocol, over stdio): lets an agent look up tokens and prices, ask for quotes and make
// unsigned transactions. It signs and sends nothing: that is for the wallet of whoever runs the agent.
//
//   BRAID_API=http://127.0.0.1:8080 BRAID_KEY=… node examples/tool-server.mjs
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";
import { Braid, ETHER, Problem } from "braid-swap";

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/).describe("0x and 40 hex digits");
const token = address.describe(`contract address of a token; ${ETHER} for ether`);

const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
const server = new McpServer({ name: "braid", version: "1.0.0" });

/** Adds a tool whose answer is data; a problem of the service is an error of the tool, with code and fields. */
function tool(name, description, inputSchema, run) {
  const readOnlyHint = true;
  server.registerTool(name, { description, inputSchema, annotations: { readOnlyHint } }, async (args) => {
    try {
      return { content: [{ type: "text", text: JSON.stringify(await run(args)) }] };
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      const { code, message, errors, retryable, retryAfterS } = problem;
      const text = JSON.stringify({ code, message, errors, retryable, retryAfterS });
      return { content: [{ type: "text", text }], isError: true };
    }
  });
}

tool(
  "find_tokens",
  "Finds tokens by symbol, name or address. The first is the best known; a pool_count of 0 is a copy or cannot be traded.",
  { search: z.string().min(1) },
  async ({ search }) => (await braid.tokens(search)).slice(0, 10),
);

tool(
  "prices",
  "Prices of tokens in dollars and in ether. A token without a price is absent.",
  { tokens: z.array(token).min(1).max(100) },
  ({ tokens }) => braid.prices(tokens),
);

tool(
  "quote",
  "The best route for a swap, with expected and minimum amounts in atomic units, gas, what to approve or sign, and why. " +
    "The quote_id goes to build_transaction within two minutes.",
  {
    taker: address.describe("the account that holds the inputs and sends the transaction"),
    inputs: z.array(z.object({ token, amount: z.string().regex(/^[1-9][0-9]*$/).describe("atomic units, decimal") })).min(1).max(6),
    outputs: z.array(z.object({ token, ratio_bps: z.number().int().min(1).max(10_000) })).min(1).max(6).describe("the ratios sum to 10000"),
    slippage_tolerance_bps: z.number().int().min(0).max(5_000).optional().describe("default 100"),
  },
  async ({ taker, inputs, outputs, ...more }) => {
    const quote = await braid.quote({
      inputs: inputs.map(({ token, amount }) => [token, amount]),
      outputs: outputs.map(({ token, ratio_bps }) => [token, ratio_bps]),
      taker,
      explain: true,
      ...more,
    });
    const { quote_id, expires_at, estimated_outputs, costs, approvals, permit2, issues, warnings, certificate } = quote;
    const why = quote.explanation.words;
    return { quote_id, expires_at, estimated_outputs, costs, approvals, permit2, issues, warnings, certificate, why };
  },
);

tool(
  "build_transaction",
  "Turns a quote into an unsigned transaction, simulated on the newest block. Without a signature the approvals must be sent first.",
  {
    quote_id: z.string(),
    permit2_signature: z.string().regex(/^0x([0-9a-fA-F]{2})+$/).optional().describe("of the quote's permit2.eip712"),
  },
  ({ quote_id, ...more }) => braid.build(quote_id, { simulate: true, ...more }),
);

tool("service_status", "Whether quotes are answered, and on which block.", {}, () => braid.ready());

await server.connect(new StdioServerTransport());

// A chat bot: understands "swap 100 USDC to ETH", answers with a quote in words, and on "yes" with what the user's own wallet
// signs and sends. The bot holds an API key and earns a partner fee; it never holds a user's key or tokens.
//
//   BRAID_KEY=… PARTNER=0x… node examples/chat-bot.mjs 0xUSER      (then type)
import readline from "node:readline";
import { pathToFileURL } from "node:url";
import { formatUnits, parseUnits } from "viem";
import { Braid, ETHER, Problem } from "braid-swap";

/** What a token and an amount look like in a message. */
const ORDER = /^\s*(?:swap|sell)\s+([0-9]+(?:\.[0-9]+)?)\s+(\S+)\s+(?:to|for|into)\s+(\S+)\s*$/i;

export class ChatBot {
  /** `partner` is who earns the fee, `feeBps` how much of what is sold. */
  constructor({ braid, partner, feeBps = 25 }) {
    Object.assign(this, { braid, partner, feeBps, open: new Map() });
  }

  /** Answers one message of a user: `{text, permit, transaction}`, the latter two where there is something to sign or send. */
  async answer(user, message) {
    try {
      const order = ORDER.exec(message);
      if (order) return await this.#offer(user, ...order.slice(1));
      if (/^\s*(yes|go|ok)\s*$/i.test(message)) return await this.#confirm(user);
      if (/^\s*(no|cancel)\s*$/i.test(message)) return this.#forget(user);
      return { text: "Tell me what to swap, for example: swap 100 USDC to ETH" };
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      return { text: this.#sorry(problem) };
    }
  }

  /** The signature of the offer's typed data, once the user's wallet made it. */
  async signed(user, signature) {
    return this.#confirm(user, signature);
  }

  async #offer(user, amount, from, to) {
    const [sold, bought] = [await this.#token(from), await this.#token(to)];
    const unknown = sold ? (bought ? null : to) : from;
    if (unknown) return { text: `I do not know the token ${unknown}.` };
    const quote = await this.braid.quote({
      inputs: [[sold.address, parseUnits(amount, sold.decimals)]],
      outputs: [[bought.address, 10_000]],
      taker: user,
      include_usd_pricing: true,
      partner_fee: { partner_fee_bps: this.feeBps, partner_recipient: this.partner },
    });
    this.open.set(user, quote);
    const [output] = quote.estimated_outputs;
    const shown = (units) => `${formatUnits(BigInt(units), output.decimals)} ${output.symbol}`;
    const lines = [
      `${amount} ${sold.symbol} get you ${shown(output.expected_amount)}, at least ${shown(output.minimum_amount)}.`,
      `Fee ${this.feeBps / 100}%, included. Gas about ${formatUnits(BigInt(quote.costs.gas_cost_wei), 18)} ETH.`,
      ...quote.issues.balance.map(({ actual }) => `Your wallet holds ${formatUnits(BigInt(actual), sold.decimals)} ${sold.symbol} only.`),
      ...quote.warnings.map((warning) => `Mind: ${warning.message}.`),
      "Shall I prepare it? (yes or no)",
    ];
    return { text: lines.join("\n"), permit: quote.permit2 };
  }

  async #confirm(user, permit2_signature = null) {
    const quote = this.open.get(user);
    if (!quote) return { text: "There is nothing to confirm: tell me what to swap." };
    const built = await this.braid.build(quote.quote_id, { permit2_signature });
    this.open.delete(user);
    return { text: "Send this with your wallet.", approvals: built.approvals, transaction: built.rpc_transaction };
  }

  #forget(user) {
    this.open.delete(user);
    return { text: "Forgotten." };
  }

  #sorry({ code, message }) {
    const known = {
      QUOTE_EXPIRED: "That offer is too old: ask again.",
      QUOTE_STALE: "The market has moved: ask again.",
      AMOUNT_TOO_SMALL: "That is too little to swap.",
      INSUFFICIENT_LIQUIDITY: "The market cannot take that much.",
      NO_ROUTE_FOUND: "I find no way between these two.",
    };
    return known[code] ?? `That did not work: ${message}`;
  }

  /** The best known token of a symbol or an address. */
  async #token(name) {
    if (/^eth(er)?$/i.test(name)) return { address: ETHER, symbol: "ETH", decimals: 18 };
    const found = await this.braid.tokens(name);
    const exact = (token) => [token.symbol, token.address].some((text) => text.toLowerCase() === name.toLowerCase());
    return found.find(exact);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const user = process.argv[2];
  const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
  const bot = new ChatBot({ braid, partner: process.env.PARTNER });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { text, transaction } = await bot.answer(user, line);
    console.log(text);
    if (transaction) console.log(JSON.stringify(transaction, null, 1));
  }
}

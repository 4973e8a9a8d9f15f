// Braid's HTTP API for JavaScript: no dependency but `fetch`. The field names are those of the OpenAPI document.

/** What the service says is wrong: RFC 9457, with `code`, `errors` and `retryable`. */
export class Problem extends Error {
  constructor(status, body, retryAfterS) {
    super(`${status} ${body?.code ?? ""}: ${body?.detail ?? "no reason given"}`);
    const { code, errors = [], retryable = false } = body ?? {};
    Object.assign(this, { status, retryAfterS, body, code, errors, retryable });
  }
}

export const ETHER = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";

export class Braid {
  /** `base` is the service's address, `key` an API key; without one only reads, and quotes where the service allows it. */
  constructor({ base = "http://127.0.0.1:8080", key } = {}) {
    this.base = base.replace(/\/$/, "");
    this.headers = { "content-type": "application/json", ...(key ? { "x-api-key": key } : {}) };
  }

  async #call(path, body) {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(this.base + path, { ...init, headers: this.headers });
    const json = await answer.json().catch(() => null);
    if (!answer.ok) throw new Problem(answer.status, json, Number(answer.headers.get("retry-after") ?? 0));
    return json.data ?? json;
  }

  /** Inputs are `[token, amount]`, outputs `[token, ratioBps]`; amounts are BigInt in atomic units. */
  quote({ inputs, outputs, taker, ...more }) {
    return this.#call("/v1/quote", {
      inputs: inputs.map(([address, amount]) => ({ chain_id: 1, address, amount: String(amount) })),
      outputs: outputs.map(([address, ratio_bps]) => ({ chain_id: 1, address, ratio_bps })),
      taker,
      ...more,
    });
  }

  build(quoteId, more = {}) {
    return this.#call("/v1/build", { quote_id: quoteId, ...more });
  }

  async prices(tokens) {
    return this.#call(`/v1/prices?chain_id=1&addresses=${tokens.join(",")}`);
  }

  async balances(owner, tokens) {
    const { balances } = await this.#call("/v1/balances", { chain_id: 1, owner, tokens });
    return Object.fromEntries(Object.entries(balances).map(([token, amount]) => [token, BigInt(amount)]));
  }

  /** Tokens by symbol, name or address, the best known first. */
  async tokens(search) {
    const { tokens } = await this.#call(`/v1/tokens?chain_id=1&search=${encodeURIComponent(search)}`);
    return tokens;
  }

  async token(address) {
    const [token] = await this.tokens(address);
    return token;
  }

  ready() {
    return this.#call("/ready");
  }
}

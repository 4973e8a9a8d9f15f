const base = process.env["BRAID_API"] ?? "http://127.0.0.1:8080";
const headers = { "content-type": "application/json", "x-api-key": process.env["BRAID_KEY"] ?? "demo-key" };
async function read(response) {
    return response.ok ? { ok: true, answer: await response.json() } : { ok: false, problem: await response.json() };
}
export async function post(path, body) {
    return read(await fetch(base + path, { method: "POST", headers, body: JSON.stringify(body) }));
}
export async function get(path) {
    return read(await fetch(base + path, { headers }));
}
/** What a person is told of a problem. */
export function told(problem) {
    switch (problem.code) {
        case "RATE_LIMITED":
        case "OVERLOADED":
            return "come back later";
        case "VALIDATION_FAILED":
            return problem.errors.map(({ pointer, code, detail }) => `${pointer} ${code}: ${detail}`).join("; ");
        // @ts-expect-error: the document lists every code, and this is none
        case "NO_SUCH_CODE":
            return "";
        default:
            return problem.error.message;
    }
}
/** What a signer passes to `eth_signTypedData_v4`. */
export function toSign(quote) {
    if (quote.permit2 === null)
        return null;
    const { eip712 } = quote.permit2;
    const fields = (eip712.types[eip712.primaryType] ?? []).map(({ name, type }) => `${type} ${name}`);
    return { domain: eip712.domain, fields, json: JSON.stringify(eip712) };
}
export function summary(quote) {
    const gap = quote.certificate === null ? null : quote.certificate.gap_bps;
    const run = quote.simulation === null ? null : quote.simulation.status;
    const parts = quote.explanation === null ? [] : quote.explanation.marginal_prices.map(({ value }) => value);
    const allowed = quote.approvals[0]?.satisfied;
    return `${quote.costs.gas_priority} ${gap} ${run} ${parts.length} ${allowed}`;
}
export function fee(network, tier) {
    return network.gas_prices[tier].max_fee_per_gas;
}
async function main() {
    const quoted = await post("/v1/quote", {
        inputs: [{ chain_id: 1, address: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", amount: "1000000000" }],
        outputs: [{ chain_id: 1, address: "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", ratio_bps: 10000 }],
        taker: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        gas_priority: "fast",
        explain: true,
    });
    if (!quoted.ok)
        throw new Error(told(quoted.problem));
    const quote = quoted.answer.data;
    const built = await post("/v1/build", { quote_id: quote.quote_id });
    if (!built.ok)
        throw new Error(told(built.problem));
    const how = built.answer.data.authorization;
    const network = await get("/v1/network");
    if (!network.ok)
        throw new Error(told(network.problem));
    const signs = toSign(quote);
    console.log(`typed client: ${summary(quote)}; ${how}; signs ${signs?.fields.length ?? 0} fields; ${fee(network.answer.data, "urgent")} wei`);
    const wrong = await post("/v1/build", { quote_id: "none" });
    if (wrong.ok || wrong.problem.code !== "VALIDATION_FAILED")
        throw new Error("a wrong id was taken");
}
if (process.env["BRAID_API"] !== undefined)
    await main();

// The same request as code, to paste.
import { useState } from "preact/hooks";
import type { QuoteBody } from "../api/types";

/** Writes JSON so that a single-quoted word of a shell keeps it whole. */
const shellWord = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const indented = (text: string, by: string) => text.replaceAll("\n", `\n${by}`);

/** Writes a request in each language. */
export function snippets(body: QuoteBody, origin: string): [string, string][] {
  const json = JSON.stringify(body, null, 2);
  const curl = `curl -sS ${origin}/v1/quote \\
  -H 'content-type: application/json' \\
  -H "x-api-key: $BRAID_KEY" \\
  -d ${shellWord(json)}`;
  const typescript = `const answer = await fetch("${origin}/v1/quote", {
  method: "POST",
  headers: { "content-type": "application/json", "x-api-key": process.env.BRAID_KEY! },
  body: JSON.stringify(${indented(json, "  ")}),
});
if (!answer.ok) throw new Error((await answer.json()).detail);
const { data: quote } = await answer.json();
console.log(quote.quote_id, quote.estimated_outputs);`;
  const rust = `// reqwest with its feature "json", serde_json
let answer = reqwest::Client::new()
    .post("${origin}/v1/quote")
    .header("x-api-key", std::env::var("BRAID_KEY")?)
    .json(&serde_json::json!(${indented(json, "    ")}))
    .send()
    .await?;
let quote: serde_json::Value = answer.json().await?;
println!("{}", quote["data"]["estimated_outputs"]);`;
  return [["curl", curl], ["TypeScript", typescript], ["Rust", rust]];
}

export function Code({ body }: { body: QuoteBody }) {
  const [at, setAt] = useState(0);
  const [copied, setCopied] = useState("");
  const all = snippets(body, location.origin);
  const [name, text] = all[at]!;
  const copy = () =>
    navigator.clipboard.writeText(text).then(() => setCopied(`${name} copied.`), () => setCopied("The browser did not let the page copy. Select the text instead."));
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? all.length - 1 : 0;
    if (!step) return;
    const next = (at + step) % all.length;
    setAt(next);
    document.getElementById(`code-tab-${next}`)?.focus();
  };
  return (
    <section class="card" aria-labelledby="code-title">
      <h2 id="code-title">The same request as code</h2>
      <div class="tabs">
        <div role="tablist" aria-label="Language" onKeyDown={keys}>
          {all.map(([language], index) => (
            <button type="button" key={language} id={`code-tab-${index}`} role="tab" aria-selected={index === at} aria-controls="code-panel" tabIndex={index === at ? 0 : -1} onClick={() => setAt(index)}>
              {language}
            </button>
          ))}
        </div>
        <button type="button" class="chip" onClick={copy}>
          Copy
        </button>
      </div>
      <pre id="code-panel" role="tabpanel" aria-labelledby={`code-tab-${at}`} tabIndex={0}>
        <code>{text}</code>
      </pre>
      <p class="quiet" role="status">
        {copied}
      </p>
    </section>
  );
}

// The status of the service: block, pools, quarantine, nodes, latency.
import { useEffect, useState } from "preact/hooks";
import { api, timings } from "../api/client";
import type { Health } from "../api/types";
import { familyName } from "../families";
import { useFamilies } from "../form/settings";
import { freshness, lookNow, service } from "../service";
import { useStore } from "../store";
import { clean, short, words } from "../text";
import { useNow } from "./swap";

const WORDS = { fresh: "Ready", aging: "Degraded", stale: "Stale", syncing: "Syncing", stopping: "Stopping", gone: "Not there", unknown: "Not known yet" };

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function span(seconds: number): string {
  const parts: [number, string][] = [[Math.floor(seconds / 86_400), "d"], [Math.floor(seconds / 3_600) % 24, "h"], [Math.floor(seconds / 60) % 60, "min"], [Math.floor(seconds) % 60, "s"]];
  const first = parts.findIndex(([count]) => count > 0);
  return first < 0 ? "0 s" : parts.slice(first, first + 2).map(([count, unit]) => `${count} ${unit}`).join(" ");
}

/** Gives the median and the slowest of what this page waited for. */
function waited(path: string): { count: number; median: number; slowest: number } | null {
  const times = timings.filter((one) => one.path === path && one.ok).map(({ ms }) => ms).sort((a, b) => a - b);
  const [median, slowest] = [times[Math.floor(times.length / 2)], times.at(-1)];
  return median === undefined || slowest === undefined ? null : { count: times.length, median, slowest };
}

export function StatusView() {
  const now = useNow();
  const state = useStore(service);
  const families = useFamilies();
  const [health, setHealth] = useState<Health | null>(null);
  useEffect(() => {
    let gone = false;
    void api.health().then((answer) => gone || setHealth(answer), () => {});
    return () => void (gone = true);
  }, [state.ready?.block?.number]);
  const { ready, problem, heardAtMs } = state;
  const how = freshness(state);
  const age = ready?.block ? (ready.block.age_ms + (now - heardAtMs)) / 1_000 : null;
  return (
    <div class="status">
      <section class="card" aria-labelledby="status-title">
        <h2 id="status-title">
          <span class={`light ${how}`} aria-hidden="true" /> {WORDS[how]}
        </h2>
        {problem && (
          <p class="flaw" role="alert">
            {problem.message}{" "}
            <button type="button" class="link" onClick={lookNow}>
              Try again
            </button>
          </p>
        )}
        {!ready && !problem && <div class="skeleton" />}
        {ready && (
          <dl class="facts">
            <Fact name="Block">{ready.block ? ready.block.number.toLocaleString("en") : "none yet"}</Fact>
            <Fact name="Age">{age === null ? "–" : span(Math.max(age, 0))}</Fact>
            <Fact name="Pools">{ready.pools.toLocaleString("en")}</Fact>
            <Fact name="Excluded">{ready.quarantined.toLocaleString("en")}</Fact>
            <Fact name="Version">{health ? `${health.version}${health.commit ? ` (${health.commit.slice(0, 8)})` : ""}` : "–"}</Fact>
            <Fact name="Uptime">{health ? span(health.uptime_s) : "–"}</Fact>
          </dl>
        )}
        {ready?.catching_up && (
          <p>
            Catching up from block {ready.catching_up.from_block.toLocaleString("en")} to {ready.catching_up.to_block.toLocaleString("en")}.
          </p>
        )}
        {ready?.discovery && (
          <p>
            Searching for pools: block {ready.discovery.next_block.toLocaleString("en")} of {ready.discovery.to_block.toLocaleString("en")}.
          </p>
        )}
      </section>

      {ready && (
        <section class="card" aria-labelledby="parts-title">
          <h2 id="parts-title">Checks and nodes</h2>
          <ul class="chips plain">
            {Object.entries(ready.checks).filter(([, state]) => state !== "none").map(([name, state]) => (
              <li key={name} class={`badge ${state === "ok" ? "good" : "open"}`}>
                {words(name)}: {words(state)}
              </li>
            ))}
          </ul>
          <table>
            <thead>
              <tr>
                <th scope="col">Node</th>
                <th scope="col">State</th>
                <th scope="col">Score</th>
                <th scope="col">Newest block</th>
              </tr>
            </thead>
            <tbody>
              {ready.nodes.map((node) => (
                <tr key={node.name}>
                  <th scope="row">
                    {clean(node.name, 60)} {node.leads && <span class="badge good">asked first</span>}
                  </th>
                  <td>{words(node.status)}</td>
                  <td>{node.score}</td>
                  <td>{node.block?.toLocaleString("en") ?? "–"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}

      <section class="card" aria-labelledby="pools-title">
        <h2 id="pools-title">Pools by protocol</h2>
        {families.length === 0 && <p class="quiet">Not there yet.</p>}
        <ul class="bars plain">
          {families.map(({ name, products }) => {
            const pools = products.reduce((sum, { pools }) => sum + pools, 0);
            return (
              <li key={name}>
                <details>
                  <summary>
                    <span class={`dot family-${name}`} /> {familyName(name)} <strong>{pools.toLocaleString("en")}</strong>
                  </summary>
                  <ul>
                    {products.map(({ id, product, pools }) => (
                      <li key={id}>
                        {clean(product, 60)}: {pools.toLocaleString("en")}
                      </li>
                    ))}
                  </ul>
                </details>
              </li>
            );
          })}
        </ul>
      </section>

      <section class="card" aria-labelledby="quarantine-title">
        <h2 id="quarantine-title">Quarantine</h2>
        {ready && ready.quarantine.length === 0 ? (
          <p>Empty: no pool's model disagreed with the EVM.</p>
        ) : (
          <ul class="plain">
            {ready?.quarantine.map(({ pool, why, since_block, token, token_does }) => (
              <li key={pool}>
                <code title={pool}>{short(pool)}</code> since block {since_block.toLocaleString("en")}: {clean(why, 300)}
                {token && (
                  <>
                    {" "}
                    (token <code title={token}>{short(token)}</code> {clean(token_does, 200)})
                  </>
                )}
              </li>
            ))}
          </ul>
        )}
      </section>

      <section class="card" aria-labelledby="latency-title">
        <h2 id="latency-title">Latency, as this page sees it</h2>
        <table>
          <thead>
            <tr>
              <th scope="col">Request</th>
              <th scope="col">Answers</th>
              <th scope="col">Median</th>
              <th scope="col">Slowest</th>
            </tr>
          </thead>
          <tbody>
            {["/v1/quote", "/v1/build", "/v1/tokens", "/ready"].map((path) => {
              const times = waited(path);
              return (
                <tr key={path}>
                  <th scope="row">
                    <code>{path}</code>
                  </th>
                  <td>{times?.count ?? 0}</td>
                  <td>{times ? `${times.median.toFixed(0)} ms` : "–"}</td>
                  <td>{times ? `${times.slowest.toFixed(0)} ms` : "–"}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
    </div>
  );
}

// The page: its head, and one of two views.
import { useEffect, useState } from "preact/hooks";
import { blockCame } from "./quote/live";
import { freshness, lookNow, service } from "./service";
import { store, useStore } from "./store";
import { short } from "./text";
import { theme, turnTheme } from "./theme";
import { StatusView } from "./views/status";
import { SwapView } from "./views/swap";
import { account, disconnect } from "./wallet/account";

type View = "swap" | "status";
const view = store<View>("swap");

function Head() {
  const at = useStore(view);
  const state = useStore(service);
  const { address, wallet } = useStore(account);
  const dark = useStore(theme);
  const how = freshness(state);
  const block = state.ready?.block?.number;
  const word = { fresh: "", aging: "degraded", stale: "stale", syncing: "syncing", stopping: "stopping", gone: "not there", unknown: "…" }[how];
  return (
    <header class="head">
      <h1>
        <img src="/explorer/icon.svg" alt="" width="28" height="28" /> Braid
      </h1>
      <nav aria-label="Views">
        {(["swap", "status"] as const).map((name) => (
          <button type="button" key={name} class="tab" aria-current={name === at ? "page" : undefined} onClick={() => view.set(name)}>
            {name === "swap" ? "Swap" : "Status"}
          </button>
        ))}
        <a class="tab" href="/docs">
          API
        </a>
      </nav>
      <p class="head-block">
        <span class={`light ${how}`} aria-hidden="true" /> {block !== undefined && <>Block {block.toLocaleString("en")}</>} {word}
      </p>
      {address && (
        <button type="button" class="chip" title={`${wallet?.name}: ${address}`} onClick={disconnect}>
          {short(address)} <span class="unseen">Disconnect</span>
          <span aria-hidden="true">⏏</span>
        </button>
      )}
      <button type="button" class="icon" aria-label={dark === "dark" ? "Use light colours" : "Use dark colours"} onClick={turnTheme}>
        {dark === "dark" ? "☀" : "☾"}
      </button>
    </header>
  );
}

/** Says what is wrong with the service as a whole. */
function Banner() {
  const state = useStore(service);
  const how = freshness(state);
  if (how === "fresh" || how === "unknown") return null;
  const { ready, problem } = state;
  const text = {
    gone: `${problem?.message ?? "The service cannot be reached."} What you see is what it last said.`,
    stale: "The service's market is stale: it waits for its node, and refuses quotes until a block comes.",
    aging:
      ready?.checks.store === "full"
        ? "The service refuses quotes for now: its disk does not take them."
        : ready?.catching_up
          ? "The service is catching up with missed blocks."
          : "The service is degraded: its market is older than it should be, or its disk, key file or Redis server is at fault. Status says which.",
    syncing: "The service is reading its first market. Quotes come when that is done.",
    stopping: "The service was told to stop: it answers for a moment more.",
  }[how];
  return (
    <div class={`banner ${how}`} role="status">
      {text}{" "}
      {how === "gone" && (
        <button type="button" class="link" onClick={lookNow}>
          Try again
        </button>
      )}
    </div>
  );
}

export function App() {
  const at = useStore(view);
  const [seen, setSeen] = useState<number | null>(null);
  const { ready } = useStore(service);
  const block = ready?.block?.number ?? null;
  useEffect(() => {
    if (block !== null && block !== seen) {
      setSeen(block);
      if (at === "swap") blockCame();
    }
  }, [block]);
  return (
    <>
      <Head />
      <Banner />
      <main>{at === "swap" ? <SwapView /> : <StatusView />}</main>
      <footer class="quiet">
        Non-custodial: the proxy holds nothing between transactions. <a href="/docs">API reference</a> · <a href="/openapi.json">OpenAPI</a>
      </footer>
    </>
  );
}

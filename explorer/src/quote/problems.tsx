// Why there is no quote, and what to do about it.
import { openKey } from "../form/settings";
import { again, type Live } from "./live";

/** What to do about a problem with the API key, by the problem's code. */
const KEY_ADVICE: Record<string, string> = {
  API_KEY_INVALID: "The API key in the settings is not valid: it is mistyped, revoked or expired. Correct it, or delete it to ask without a key, which some services allow.",
  API_KEY_MISSING: "This service needs an API key. Give one in the settings of the swap.",
};

/** Says what to do about the API key, if that is the problem. */
export function keyAdvice(code: string): string | null {
  return KEY_ADVICE[code] ?? null;
}

const TITLES: Record<string, string> = {
  gone: "The service is not there",
  slow: "The service is slow",
  API_KEY_INVALID: "The API key is not valid",
  API_KEY_MISSING: "An API key is needed",
};

export function Problems({ state, now }: { state: Live; now: number }) {
  const { problem, pausedUntilMs } = state;
  if (!problem) return null;
  const waitS = Math.ceil((pausedUntilMs - now) / 1_000);
  const advice = keyAdvice(problem.code);
  return (
    <section class="card problem" role="alert">
      <h2>{TITLES[problem.code] ?? "No quote"}</h2>
      <p>{advice ?? problem.message}</p>
      {problem.fields.length > 0 && (
        <ul class="plain">
          {problem.fields.map(({ pointer, detail }) => (
            <li key={pointer + detail}>
              <code>{pointer}</code> {detail}
            </li>
          ))}
        </ul>
      )}
      <div class="chips">
        {(advice || waitS > 0) && (
          <button type="button" class="chip" onClick={openKey}>
            Open the API key
          </button>
        )}
        {waitS <= 0 && (
          <button type="button" class="chip" onClick={again}>
            Try again
          </button>
        )}
      </div>
      {waitS > 0 && <p>The page asks again in {waitS} s. An API key in the settings raises the limit.</p>}
      <p class="quiet">
        <code>{problem.code}</code>
        {problem.requestId && (
          <>
            {" "}
            · request <code class="breaks">{problem.requestId}</code>
          </>
        )}
      </p>
    </section>
  );
}

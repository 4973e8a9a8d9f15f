// Why there is no quote, and what to do about it.
import { fieldsOf, isOfKey, wordsOf } from "../api/words";
import { openKey } from "../form/settings";
import { again, type Live } from "./live";

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
  const fields = fieldsOf(problem);
  return (
    <section class="card problem" role="alert">
      <h2>{TITLES[problem.code] ?? "No quote"}</h2>
      <p>{wordsOf(problem)}</p>
      {fields.length > 0 && (
        <ul class="plain breaks">
          {fields.map(({ name, text }) => (
            <li key={name + text}>
              <strong>{name}</strong>
              {text && `: ${text}`}
            </li>
          ))}
        </ul>
      )}
      <div class="chips">
        {(isOfKey(problem.code) || waitS > 0) && (
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

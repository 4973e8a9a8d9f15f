import type { FieldError, ProblemBody, ProblemCode } from "./types.js";

/**
 * Why a call has no answer: one of the API's codes, or
 * - `NO_ANSWER`: nothing answered in time;
 * - `NOT_BRAID`: something else answered, a proxy for instance; or the quote is of something else than was asked for.
 */
export type FailureCode = ProblemCode | "NO_ANSWER" | "NOT_BRAID";

/** A call that failed. Every method of `Braid` throws this and nothing else; `outcome` turns it into a value. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: FailureCode;
  /** HTTP status, 0 without an answer. */
  readonly status: number;
  /** Every wrong field, with a JSON pointer into the request. */
  readonly errors: readonly FieldError[];
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** Seconds after which to try again, where the service said so. */
  readonly retryAfterS: number | null;
  /** The id of the request in the service's log. */
  readonly requestId: string | null;

  constructor(code: FailureCode, status: number, detail: string, more: Partial<Omit<Problem, "code" | "status">> = {}) {
    super(detail, { cause: more.cause });
    this.code = code;
    this.status = status;
    this.errors = more.errors ?? [];
    this.retryable = more.retryable ?? (status === 0 || status === 429 || status >= 500);
    this.retryAfterS = more.retryAfterS ?? null;
    this.requestId = more.requestId ?? null;
  }

  /** Whether an answer is a problem document. */
  static isIn(answer: Response): boolean {
    return (answer.headers.get("content-type") ?? "").startsWith("application/problem+json");
  }

  /** Reads an error answer, whose body was read to its end. */
  static of(answer: Response, bytes: Uint8Array): Problem {
    const waits = Number(answer.headers.get("retry-after") ?? "");
    const retryAfterS = waits > 0 ? waits : null;
    try {
      if (!Problem.isIn(answer)) throw new TypeError("another type of content");
      const body: ProblemBody = JSON.parse(new TextDecoder().decode(bytes));
      const { code, errors, retryable, request_id: requestId } = body;
      return new Problem(code, answer.status, body.error.message, { errors, retryable, retryAfterS, requestId });
    } catch (cause) {
      return new Problem("NOT_BRAID", answer.status, `${answer.status} without a problem document`, { retryAfterS, cause });
    }
  }
}

/** A call's answer or its problem, as a value to match on. */
export type Outcome<T> = { ok: true; value: T } | { ok: false; problem: Problem };

/** Waits for a call; gives its problem instead of throwing it. */
export async function outcome<T>(call: Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await call };
  } catch (problem) {
    if (problem instanceof Problem) return { ok: false, problem };
    throw problem;
  }
}

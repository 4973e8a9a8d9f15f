// The approvals that the taker must send before the swap.
import { atomic, grouped } from "../amounts";
import type { Approval, Quote } from "../api/types";
import { NOBODY } from "../form/request";
import { short, symbolOf } from "../text";

function Row({ quote, approval, once = false }: { quote: Quote; approval: Approval; once?: boolean }) {
  const token = quote.path.tokens.find(({ address }) => address === approval.token);
  const amount = atomic(approval.amount) ?? 0n;
  const nobody = quote.taker === NOBODY;
  const state = nobody ? "needed" : approval.satisfied === null ? "not read" : approval.satisfied ? "in place" : "missing";
  return (
    <li>
      <span class={`badge ${approval.satisfied ? "good" : "open"}`}>{state}</span>{" "}
      <code title={approval.spender}>{short(approval.spender)}</code> may take{" "}
      <span class="breaks">{once ? "any amount" : token ? grouped(amount, token.decimals) : amount.toString()}</span>{once && " of"} <bdi>{token ? symbolOf(token) : short(approval.token)}</bdi>
      {approval.requires_zero_reset && !approval.satisfied && approval.transactions.length > 1 && <>, through zero: this token asks for two transactions</>}
    </li>
  );
}

export function Approvals({ quote }: { quote: Quote }) {
  const { approvals, permit2, issues } = quote;
  return (
    <section class="card" aria-labelledby="approvals-title">
      <h2 id="approvals-title">Approvals</h2>
      {approvals.length === 0 && <p>None: ether needs no approval.</p>}
      {approvals.length > 0 && (
        <ul class="plain">
          {approvals.map((approval) => (
            <Row key={approval.token} quote={quote} approval={approval} />
          ))}
        </ul>
      )}
      {permit2 && permit2.approvals.length > 0 && (
        <>
          <p class="quiet">Or once for Permit2, and from then on a signature:</p>
          <ul class="plain">
            {permit2.approvals.map((approval) => (
              <Row key={approval.token} quote={quote} approval={approval} once />
            ))}
          </ul>
        </>
      )}
      {quote.taker !== NOBODY && issues.balance.map(({ token, actual, expected }) => {
        const known = quote.path.tokens.find(({ address }) => address === token);
        const text = (amount: string) => (known ? grouped(atomic(amount) ?? 0n, known.decimals) : amount);
        return (
          <p class="flaw" key={token}>
            The account holds {text(actual)} of {text(expected)} <bdi>{known ? symbolOf(known) : short(token)}</bdi>.
          </p>
        );
      })}
    </section>
  );
}

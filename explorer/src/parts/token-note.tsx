// Says which token a symbol stands for: anybody can give a token the symbol of another.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import { ETHER, type Token } from "../api/types";
import { short, symbolOf } from "../text";

/** Finds the better known token that has this one's symbol. */
function useTwin({ address, symbol, pool_count }: Token): Token | null {
  const [twin, setTwin] = useState<Token | null>(null);
  useEffect(() => {
    const own = new AbortController();
    setTwin(null);
    const isTwin = (row: Token) => row.address !== address && row.symbol.toLowerCase() === symbol.toLowerCase() && row.pool_count > 0;
    if (pool_count === 0) api.tokens(symbol.slice(0, 100), own.signal).then(({ tokens }) => setTwin(tokens.find(isTwin) ?? null), () => {});
    return () => own.abort();
  }, [address]);
  return twin;
}

export function TokenNote({ token }: { token: Token }) {
  const twin = useTwin(token);
  if (token.address === ETHER) return null;
  return (
    <p class="row-note">
      <code title={token.address}>{short(token.address)}</code>
      {token.pool_count === 0 && (
        <span class="warn-text">
          {" "}
          {twin ? (
            <>
              This is not the best known <bdi>{symbolOf(token)}</bdi>, which is <code title={twin.address}>{short(twin.address)}</code>.
            </>
          ) : (
            "No deep pool has this token."
          )}{" "}
          Check the address before you swap.
        </span>
      )}
    </p>
  );
}

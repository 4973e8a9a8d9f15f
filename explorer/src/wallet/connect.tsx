// Chooses among the wallets that announced themselves.
import { Dialog } from "../parts/dialog";
import { useStore } from "../store";
import { account, connect } from "./account";
import { wallets } from "./discovery";

export function ConnectDialog({ close }: { close: () => void }) {
  const found = useStore(wallets);
  const { problem, connecting } = useStore(account);
  return (
    <Dialog title="Connect a wallet" close={close}>
      {found.length === 0 && <p>No wallet announced itself in this browser. Install one as an extension and load the page again.</p>}
      <ul class="plain wallets">
        {found.map((wallet) => (
          <li key={wallet.id}>
            <button type="button" class="wallet" disabled={connecting} onClick={() => void connect(wallet).then((done) => done && close())}>
              {wallet.icon ? <img src={wallet.icon} alt="" width="28" height="28" /> : <span class="disc disc-0" aria-hidden="true" />}
              <bdi>{wallet.name}</bdi>
            </button>
          </li>
        ))}
      </ul>
      {problem && (
        <p class="flaw" role="alert">
          {problem}
        </p>
      )}
      <p class="quiet">The page never sees a key. It asks for signatures, and your wallet shows each.</p>
    </Dialog>
  );
}

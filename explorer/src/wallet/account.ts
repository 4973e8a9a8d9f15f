// The connected wallet: its account, its chain, what it holds.
import { createWalletClient, custom, defineChain, getAddress, publicActions, type Address } from "viem";
import { api } from "../api/client";
import { store } from "../store";
import type { Wallet } from "./discovery";
import { said } from "./errors";

/** The chain that Braid serves; the wallet has its own node for it. */
const ETHEREUM = defineChain({
  id: 1,
  name: "Ethereum",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [] } },
});

export type Account = {
  wallet: Wallet | null;
  address: Address | null;
  chainId: number | null;
  /** Atomic units by token, in the service's spelling of the address. */
  balances: Record<string, bigint>;
  problem: string | null;
  connecting: boolean;
};

const NOBODY: Account = { wallet: null, address: null, chainId: null, balances: {}, problem: null, connecting: false };
export const account = store<Account>(NOBODY);

/** Speaks to a wallet in the methods of the standards. */
export function clientOf({ wallet, address }: Account) {
  if (!wallet || !address) throw new Error("no wallet is connected");
  const client = createWalletClient({ account: address, chain: ETHEREUM, transport: custom(wallet.provider, { retryCount: 0 }), ccipRead: false });
  return client.extend(publicActions);
}

let leave: (() => void) | null = null;

function listen(wallet: Wallet): void {
  leave?.();
  const { provider } = wallet;
  const accounts = (list: readonly string[]) => {
    const first = list[0];
    if (!first) disconnect();
    else account.set((now) => ({ ...now, address: getAddress(first), balances: {} }));
  };
  const chain = (id: string) => account.set((now) => ({ ...now, chainId: Number(id) }));
  provider.on?.("accountsChanged", accounts);
  provider.on?.("chainChanged", chain);
  leave = () => {
    provider.removeListener?.("accountsChanged", accounts);
    provider.removeListener?.("chainChanged", chain);
  };
}

/** Asks a wallet for its account. */
export async function connect(wallet: Wallet): Promise<boolean> {
  account.set((now) => ({ ...now, connecting: true, problem: null }));
  try {
    const list = (await wallet.provider.request({ method: "eth_requestAccounts" })) as string[];
    const chainId = Number(await wallet.provider.request({ method: "eth_chainId" }));
    if (!list[0]) throw new Error("the wallet gave no account");
    account.set({ ...NOBODY, wallet, address: getAddress(list[0]), chainId });
    listen(wallet);
    return true;
  } catch (error) {
    account.set((now) => ({ ...now, connecting: false, problem: said(error) }));
    return false;
  }
}

/** Forgets the wallet; it keeps what it granted until its owner takes that back there. */
export function disconnect(): void {
  leave?.();
  leave = null;
  account.set(NOBODY);
}

/** Asks the wallet to change to Ethereum. */
export async function toEthereum(): Promise<void> {
  const { wallet } = account.get();
  try {
    await wallet?.provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: "0x1" }] });
    const chainId = Number(await wallet?.provider.request({ method: "eth_chainId" }));
    account.set((now) => ({ ...now, chainId, problem: null }));
  } catch (error) {
    account.set((now) => ({ ...now, problem: said(error) }));
  }
}

/** Reads what the account holds of some tokens. A read that fails leaves what was known. */
export async function readBalances(tokens: string[]): Promise<void> {
  const { address } = account.get();
  if (!address || tokens.length === 0) return;
  try {
    const { balances } = await api.balances(address, tokens.slice(0, 100));
    const read = Object.entries(balances).map(([token, amount]) => [token, BigInt(amount)] as const);
    account.set((now) => (now.address === address ? { ...now, balances: { ...now.balances, ...Object.fromEntries(read) } } : now));
  } catch {
    // what was known stays on the page
  }
}

// A viem wallet with a key of its own: PRIVATE_KEY signs, RPC_URL is the node that it sends to.
import { createWalletClient, http, publicActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { mainnet } from "viem/chains";

export function connect({ privateKey = process.env.PRIVATE_KEY, rpc = process.env.RPC_URL ?? "http://127.0.0.1:8545" } = {}) {
  const account = privateKeyToAccount(privateKey);
  return createWalletClient({ account, chain: mainnet, transport: http(rpc), pollingInterval: 200 }).extend(publicActions);
}

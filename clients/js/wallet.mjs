// A wallet with its own key that swaps with one signature: viem signs and sends, Braid does the rest.
import { createPublicClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { mainnet } from "viem/chains";

export class Wallet {
  constructor({ privateKey, rpc = "http://127.0.0.1:8545" }) {
    const shared = { chain: mainnet, transport: http(rpc) };
    this.account = privateKeyToAccount(privateKey);
    this.sender = createWalletClient({ account: this.account, ...shared });
    this.reader = createPublicClient(shared);
  }

  get address() {
    return this.account.address;
  }

  /** Sends a transaction as the API gives it and waits for its block. */
  async send({ to, data, value = "0", ...fees }) {
    const hash = await this.sender.sendTransaction({ to, data, value: BigInt(value), ...fees });
    const receipt = await this.reader.waitForTransactionReceipt({ hash, pollingInterval: 100 });
    if (receipt.status !== "success") throw new Error(`the transaction ${hash} reverted`);
    return receipt;
  }

  /** Sends what is missing; the last receipt, if anything was. */
  async approve(approvals) {
    let last = null;
    for (const approval of approvals) {
      if (approval.satisfied) continue;
      for (const call of approval.transactions) last = await this.send(call);
    }
    return last;
  }

  /** Signs the quote's typed data as it stands. */
  sign({ eip712: { types, domain, primaryType, message } }) {
    const { EIP712Domain, ...own } = types;
    return this.account.signTypedData({ domain, types: own, primaryType, message });
  }

  /** Brings a quote to the chain: by signature where it has something to sign, plainly otherwise. */
  async swap(braid, quote) {
    const permit = quote.permit2;
    if (permit) await this.approve(permit.approvals);
    const signature = permit ? await this.sign(permit) : null;
    const built = await braid.build(quote.quote_id, { permit2_signature: signature });
    return { built, receipt: await this.sendBuilt(built.rpc_transaction) };
  }

  /** Sends what a build returned, in JSON-RPC's names and hex. */
  sendBuilt({ to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas }) {
    const [limit, fee, tip] = [gas, maxFeePerGas, maxPriorityFeePerGas].map(BigInt);
    return this.send({ to, data, value, gas: limit, maxFeePerGas: fee, maxPriorityFeePerGas: tip });
  }
}

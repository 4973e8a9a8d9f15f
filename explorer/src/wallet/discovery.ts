// Finds the wallets of this browser by EIP-6963: each announces itself, none is guessed.
import type { EIP1193Provider } from "viem";
import { clean } from "../text";
import { store } from "../store";

export type Wallet = { id: string; name: string; icon: string | null; provider: EIP1193Provider };

export const wallets = store<Wallet[]>([]);

type Announced = { info?: { uuid?: unknown; name?: unknown; icon?: unknown; rdns?: unknown }; provider?: unknown };

/** Keeps an icon only where it is data: the page loads nothing from elsewhere. */
function iconOf(icon: unknown): string | null {
  return typeof icon === "string" && icon.startsWith("data:image/") && icon.length < 200_000 ? icon : null;
}

function heard(event: Event): void {
  const { info, provider } = ((event as CustomEvent<Announced>).detail ?? {}) as Announced;
  const able = provider && typeof (provider as EIP1193Provider).request === "function";
  if (!able || typeof info?.uuid !== "string") return;
  const wallet: Wallet = {
    id: info.uuid,
    name: clean(info.name, 32) || "A wallet without a name",
    icon: iconOf(info.icon),
    provider: provider as EIP1193Provider,
  };
  wallets.set((now) => [...now.filter(({ id }) => id !== wallet.id), wallet]);
}

/** Starts to listen, and asks the wallets to say who they are. */
export function discover(): void {
  window.addEventListener("eip6963:announceProvider", heard);
  window.dispatchEvent(new Event("eip6963:requestProvider"));
}

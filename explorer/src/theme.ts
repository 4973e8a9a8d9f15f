// Dark or light: the system's, until somebody chooses.
import { store } from "./store";

type Theme = "dark" | "light";
const KEY = "braid-theme";
const prefers = matchMedia("(prefers-color-scheme: dark)");

const chosen = (): Theme | null => {
  const kept = localStorage.getItem(KEY);
  return kept === "dark" || kept === "light" ? kept : null;
};

const now = (): Theme => chosen() ?? (prefers.matches ? "dark" : "light");

export const theme = store<Theme>(now());

function show(): void {
  document.documentElement.dataset["theme"] = now();
  theme.set(now());
}

/** Changes to the other colours and remembers it. */
export function turnTheme(): void {
  localStorage.setItem(KEY, now() === "dark" ? "light" : "dark");
  show();
}

prefers.addEventListener("change", show);
show();

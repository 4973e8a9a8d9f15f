// A dialog of the browser's own: it keeps the keyboard inside, closes on Escape, and gives the focus back.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Takes `null` for `close` while the dialog must stay: it then offers no way out. */
type Props = { title: string; close: (() => void) | null; children: ComponentChildren; wide?: boolean };

export function Dialog({ title, close, children, wide = false }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const left = useRef(false);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      left.current = true;
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  // a browser closes a dialog at the second Escape whatever the page says
  const closed = () => {
    if (left.current) return;
    if (close) close();
    else ref.current?.showModal();
  };
  const outside = (event: MouseEvent) => event.target === ref.current && close?.();
  return (
    <dialog ref={ref} class={wide ? "wide" : ""} aria-label={title} onCancel={(event) => (event.preventDefault(), close?.())} onClose={closed} onClick={outside}>
      <div class="dialog-body">
        <header class="dialog-head">
          <h2>{title}</h2>
          {close && (
            <button type="button" class="icon" aria-label="Close" onClick={close}>
              ×
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  );
}

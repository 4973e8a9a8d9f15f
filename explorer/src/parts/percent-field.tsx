// A field for a share in per cent.
import { useState } from "preact/hooks";

type Props = { label: string; bps: number; min: number; max: number; set: (bps: number) => void };

/**
 * Shows a share that is kept in basis points, and sets it at the end of the typing: nothing that is drawn before replaces what was typed. Who leaves
 * the field ends it in any case, because a browser tells of no change if the old value was typed again.
 */
export function PercentField({ label, bps, min, max, set }: Props) {
  const [draft, setDraft] = useState<string | null>(null);
  // ignores an empty field, and what is no number
  const typed = ({ currentTarget: field }: { currentTarget: HTMLInputElement }) => {
    setDraft(null);
    if (Number.isNaN(field.valueAsNumber)) field.value = String(bps / 100);
    else set(Math.round(field.valueAsNumber * 100));
  };
  return (
    <label class="share-number">
      <input type="number" min={min} max={max} step={0.01} aria-label={label} value={draft ?? bps / 100} onInput={(event) => setDraft(event.currentTarget.value)} onChange={typed} onBlur={() => setDraft(null)} />%
    </label>
  );
}

// The route as a picture: ribbons from token to token, as wide as what flows, coloured by protocol.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { atomic, brief, exact, percent } from "../amounts";
import type { PathStep, Quote } from "../api/types";
import { short, symbolOf } from "../text";
import { familyName, familyOf, productName } from "../families";
import { graphOf, type Link } from "./graph";
import { drawn, labelled, NODE, THINNEST, type Label, type PlacedLink, type PlacedNode } from "./layout";
import { sharesOf, type Shares } from "./shares";

function tokensOf(quote: Quote) {
  return new Map(quote.path.tokens.map((token) => [token.address, token]));
}

/** Writes an amount of a token of the route. */
export function amountOf(quote: Quote, address: string, amount: string, all = false): string {
  const token = tokensOf(quote).get(address);
  const value = atomic(amount);
  if (!token || value === null) return "unknown";
  return `${all ? exact(value, token.decimals) : brief(value, token.decimals)} ${symbolOf(token)}`;
}

/** Names a token of the route. */
export function nameIn(quote: Quote, address: string): string {
  const token = tokensOf(quote).get(address);
  return token ? symbolOf(token) : short(address);
}

/** Counts the steps of a route; each conversion of ether is one, here and in every list of steps. */
export function stepsText(steps: Pick<PathStep, "protocol">[]): string {
  const count = `${steps.length} ${steps.length === 1 ? "step" : "steps"}`;
  const wraps = steps.filter(({ protocol }) => protocol === "wrapped_ether").length;
  if (wraps === 0) return count;
  return steps.length === wraps ? `${count}, which only ${wraps === 1 ? "wraps or unwraps" : "wrap or unwrap"} ether` : `${count}, of which ${wraps} ${wraps === 1 ? "wraps or unwraps" : "wrap or unwrap"} ether`;
}

/** Says in one sentence what a step does. */
function sentence(quote: Quote, shares: Shares, step: PathStep): string {
  const number = step.id.replace(/^s/, "");
  const given = amountOf(quote, step.token_in, step.amount_in);
  const got = amountOf(quote, step.token_out, step.amount_out);
  return `Step ${number}: ${percent(shares.steps.get(step.id) ?? 0)} of the ${nameIn(quote, step.token_in)}, ${given} to ${got}, ${productName(step.protocol)}, pool ${short(step.pool)}`;
}

function Detail({ quote, shares, step }: { quote: Quote; shares: Shares; step: PathStep }) {
  const kept = shares.kept.get(step.token_in);
  const rows: [string, string][] = [
    [`Share of the ${nameIn(quote, step.token_in)}`, percent(shares.steps.get(step.id) ?? 0)],
    ...(kept ? [[`Kept of the ${nameIn(quote, step.token_in)}`, percent(kept.bps)] as [string, string]] : []),
    ["In", amountOf(quote, step.token_in, step.amount_in, true)],
    ["Out", amountOf(quote, step.token_out, step.amount_out, true)],
    ["Pool fee", step.fee_bps === null ? "varies" : percent(step.fee_bps)],
    ["Price impact", step.price_impact_bps === null ? "unknown" : percent(step.price_impact_bps)],
    ["Gas", step.gas_units.toLocaleString("en")],
  ];
  return (
    <div class="route-detail">
      <p>
        <strong>Step {step.id.replace(/^s/, "")}</strong> <span class={`dot family-${familyOf(step.protocol)}`} /> {productName(step.protocol)}{" "}
        <code class="breaks">{step.pool}</code>
      </p>
      <dl class="facts">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** About how wide a letter of a label is. */
const LETTER = 7.2;

/** Gap between neighbours of one colour. */
const GAP = 1;

type RibbonProps = { quote: Quote; shares: Shares; link: PlacedLink; chosen: boolean; stop: boolean; choose: (id: string | null) => void };

/** Draws a step. One of all ribbons is a stop of the Tab key; the arrow keys lead to the others. */
function Ribbon({ quote, shares, link, chosen, stop, choose }: RibbonProps) {
  const { step, path, width } = link;
  const family = familyOf(step.protocol);
  return (
    <g
      class={`ribbon family-${family}${chosen ? " chosen" : ""}`}
      role="img"
      tabIndex={stop ? 0 : -1}
      aria-label={sentence(quote, shares, step)}
      onMouseEnter={() => choose(step.id)}
      onFocus={() => choose(step.id)}
      onClick={() => choose(step.id)}
    >
      <path class="hit" d={path} stroke-width={Math.max(width, 14)} />
      <path class="flow" d={path} stroke-width={Math.max(width - GAP, THINNEST)} />
    </g>
  );
}

/** Names a ribbon where there is room; drawn after all ribbons, so that none covers it. */
function RibbonLabel({ link, shares, vertical }: { link: PlacedLink; shares: Shares; vertical: boolean }) {
  const { step, width, label } = link;
  const [name, share] = [productName(step.protocol), percent(shares.steps.get(step.id) ?? 0)];
  const texts = [`${name} · ${share}`, name, share];
  const text = vertical || width > 15 ? texts.find((text) => text.length * LETTER < label.room) : undefined;
  if (!text) return null;
  return (
    <text x={label.x} y={label.y} dy="0.35em" text-anchor={vertical ? "middle" : "start"} aria-hidden="true">
      {text}
    </text>
  );
}

function Place({ node, vertical, label, name }: { node: PlacedNode; vertical: boolean; label: Label | undefined; name: string }) {
  const box = vertical
    ? { x: node.across, y: node.along, width: Math.max(node.length, 2), height: NODE }
    : { x: node.along, y: node.across, width: NODE, height: Math.max(node.length, 2) };
  return (
    <g class={`place ${node.kind}`}>
      <rect {...box} rx="3">
        <title>{name}</title>
      </rect>
      {label && (
        <text x={label.x} y={label.y} text-anchor={label.anchor}>
          {name}
        </text>
      )}
    </g>
  );
}

/** Follows the width of an element. */
function useWidth() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => setWidth(ref.current?.clientWidth ?? 0), []);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(ref.current?.clientWidth ?? 0));
    if (ref.current) observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}

export function Picture({ quote }: { quote: Quote }) {
  const { ref, width } = useWidth();
  const [chosen, setChosen] = useState<string | null>(null);
  const graph = useMemo(() => graphOf(quote), [quote]);
  const shares = useMemo(() => sharesOf(quote), [quote]);
  const drawing = useMemo(() => (width > 0 ? drawn(graph, width) : null), [graph, width]);
  const placeName = (node: PlacedNode) => {
    const kept = node.kind === "output" ? shares.kept.get(node.token) : undefined;
    return kept ? `${nameIn(quote, node.token)} · ${percent(kept.bps)} kept` : nameIn(quote, node.token);
  };
  const labels = drawing && labelled(drawing, placeName);
  // until one is chosen: the trade that carries most
  const trades = graph.links.filter(({ step }) => step.protocol !== "wrapped_ether");
  const widest = (trades.length ? trades : graph.links).reduce<Link | undefined>((most, link) => (most && most.value >= link.value ? most : link), undefined);
  const step = quote.path.steps.find(({ id }) => id === chosen) ?? widest?.step;
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape") return setChosen(null);
    const { steps } = quote.path;
    const at = steps.findIndex(({ id }) => id === step?.id);
    const moves: Record<string, number> = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: steps.length - 1 };
    const next = steps[moves[event.key] ?? -1];
    if (!(event.target instanceof SVGElement) || moves[event.key] === undefined) return;
    event.preventDefault();
    if (next) ref.current?.querySelectorAll<SVGElement>(".ribbon")[steps.indexOf(next)]?.focus();
  };
  const families = [...new Set(quote.path.steps.map(({ protocol }) => familyOf(protocol)))];
  return (
    <div class="route" onKeyDown={keys}>
      <div ref={ref} class="route-box">
        {drawing && (
          <svg
            width={drawing.width}
            height={drawing.height}
            viewBox={`0 0 ${drawing.width} ${drawing.height}`}
            role="group"
            aria-label={`The route: ${stepsText(quote.path.steps)}. Widths are shares of the value.`}
          >
            {drawing.links.map((link) => (
              <Ribbon key={link.step.id} quote={quote} shares={shares} link={link} chosen={link.step.id === chosen} stop={link.step.id === step?.id} choose={setChosen} />
            ))}
            {drawing.links.map((link) => (
              <RibbonLabel key={link.step.id} link={link} shares={shares} vertical={drawing.vertical} />
            ))}
            {drawing.nodes.map((node) => (
              <Place key={node.id} node={node} vertical={drawing.vertical} label={labels?.get(node.id)} name={placeName(node)} />
            ))}
          </svg>
        )}
      </div>
      <ul class="legend" aria-label="Protocols of the route">
        {families.map((family) => (
          <li key={family}>
            <span class={`dot family-${family}`} /> {familyName(family)}
          </li>
        ))}
      </ul>
      {step && <Detail quote={quote} shares={shares} step={step} />}
      <p class="quiet">Point at a ribbon to read its step, or move to the picture with the Tab key and through its steps with the arrow keys.</p>
    </div>
  );
}

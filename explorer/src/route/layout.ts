// Places nodes and links. `along` is the direction of the route, `across` is where amounts show as widths.
import { sankey, type SankeyLink, type SankeyNode } from "d3-sankey";
import type { Graph, Link, Node } from "./graph";

export type PlacedNode = Node & { along: number; across: number; length: number };
export type PlacedLink = Link & { index: number; path: string; width: number; label: { x: number; y: number; room: number } };
export type Drawing = { width: number; height: number; vertical: boolean; nodes: PlacedNode[]; links: PlacedLink[] };

export const NODE = 14;

/** Below this share a link is drawn as thin as a line can be seen. */
export const THINNEST = 1.5;

/** A node, or a place on the way of a link that passes a layer. */
type Stop = { id: string; depth: number };
type Part = { link: number; from: string; to: string };
type N = SankeyNode<Stop, Part>;
type L = SankeyLink<Stop, Part>;

/** Splits links that pass layers at each of them, so that they are drawn beside what lies there and not behind it. */
function split(nodes: Node[], links: Link[]): { stops: Stop[]; parts: Part[] } {
  const depths = layersOf(nodes, links);
  const stops: Stop[] = nodes.map(({ id }) => ({ id, depth: depths.get(id)! }));
  const parts = links.flatMap(({ from, to }, link) => {
    const [first, last] = [depths.get(from)!, depths.get(to)!];
    const passed = Array.from({ length: Math.max(last - first - 1, 0) }, (_, at) => ({ id: `${link}@${first + 1 + at}`, depth: first + 1 + at }));
    stops.push(...passed);
    const ids = [from, ...passed.map(({ id }) => id), to];
    return ids.slice(1).map((id, at) => ({ link, from: ids[at]!, to: id }));
  });
  return { stops, parts };
}

/** Draws a graph into a box of a width; narrow boxes are drawn downwards. */
export function drawn({ nodes, links }: Graph, boxWidth: number): Drawing {
  const vertical = boxWidth < 560;
  const { stops, parts } = split(nodes, links);
  const depth = Math.max(2, 1 + Math.max(...stops.map((stop) => stop.depth)));
  const busiest = Math.max(...Array.from({ length: depth }, (_, layer) => stops.filter((stop) => stop.depth === layer).length));
  const leaving = Math.max(...stops.map(({ id }) => parts.filter((part) => part.from === id).length));
  const across = vertical ? boxWidth - 16 : Math.min(520, 150 + 46 * Math.max(busiest - 1, leaving / 2));
  const along = vertical ? Math.max(300, depth * 130) : boxWidth - 2;
  const margin = vertical ? { start: 26, end: 26 } : { start: 4, end: 4 };

  const layout = sankey<Stop, Part>()
    .nodeId((stop) => stop.id)
    .nodeWidth(NODE)
    // gaps take half of the room at most: the widths are what the picture shows
    .nodePadding(Math.min(vertical ? 26 : 30, (across - 32) / 2 / Math.max(busiest - 1, 1)))
    .nodeAlign((stop) => (stop as N).depth!)
    .iterations(32)
    .extent([[margin.start, 24], [along - margin.end, across - 8]]);
  const placed = layout({
    nodes: stops.map((stop) => ({ ...stop })),
    links: parts.map((part) => ({ ...part, source: part.from, target: part.to, value: Math.max(links[part.link]!.value, 1e-6) }) as unknown as L),
  });

  const point = (a: number, c: number) => (vertical ? `${c.toFixed(1)},${a.toFixed(1)}` : `${a.toFixed(1)},${c.toFixed(1)}`);
  const curve = (part: L) => {
    const [a0, a1] = [(part.source as N).x1!, (part.target as N).x0!];
    const bend = (a0 + a1) / 2;
    return `${point(a0, part.y0!)}C${point(bend, part.y0!)} ${point(bend, part.y1!)} ${point(a1, part.y1!)}`;
  };
  return {
    width: vertical ? boxWidth : along,
    height: vertical ? along : across,
    vertical,
    nodes: nodes.map((node, at) => {
      const { x0, y0, y1 } = placed.nodes[at]!;
      return { ...node, along: x0!, across: y0!, length: y1! - y0! };
    }),
    links: links.map((link, index) => {
      const own = placed.links.filter((part) => (part as unknown as Part).link === index);
      const [first] = own as [L];
      const [a0, a1, width] = [(first.source as N).x1!, (first.target as N).x0!, first.width ?? 0];
      return {
        ...link,
        index,
        path: `M${own.map(curve).join("L")}`,
        width: Math.max(width, THINNEST),
        // ribbons lie beside each other where they leave a token: there no label covers another
        label: vertical ? { x: first.y0!, y: a0 + 16, room: width } : { x: a0 + 8, y: first.y0!, room: a1 - a0 - 16 },
      };
    }),
  };
}

export type Label = { x: number; y: number; anchor: "start" | "middle" | "end" };

/** Estimates the width of a letter of a token's name, and the height of a line. */
const [LETTER, LINE] = [8.6, 16];

/**
 * Places the names of tokens beside their nodes. Where one would cover another, that of the smaller node goes to the node's other side, and is
 * left out where that is taken too.
 */
export function labelled({ nodes, width, height, vertical }: Drawing, nameOf: (node: PlacedNode) => string): Map<string, Label> {
  const taken: { left: number; right: number; y: number }[] = [];
  const labels = new Map<string, Label>();
  for (const node of [...nodes].sort((a, b) => b.length - a.length)) {
    const text = nameOf(node).length * LETTER;
    const late = node.along > (vertical ? height - 60 : width * 0.75);
    const sides = vertical ? [node.along - 7, node.along + NODE + 15] : [node.across - 7, node.across + node.length + 15];
    const middle = Math.min(Math.max(node.across + node.length / 2, text / 2), width - text / 2);
    const at: Omit<Label, "y"> = vertical ? { x: middle, anchor: "middle" } : late ? { x: node.along + NODE, anchor: "end" } : { x: node.along, anchor: "start" };
    const left = vertical ? middle - text / 2 : late ? at.x - text : at.x;
    const free = (y: number) => y > LINE / 2 && y <= height && taken.every((one) => one.right <= left || one.left >= left + text || Math.abs(one.y - y) >= LINE);
    const y = (vertical && late ? sides.reverse() : sides).find(free);
    if (y === undefined) continue;
    taken.push({ left, right: left + text, y });
    labels.set(node.id, { ...at, y });
  }
  return labels;
}

/** Gives each node its layer: one after the last node that leads to it; outputs that lead nowhere are in the last. */
function layersOf(nodes: Node[], links: Link[]): Map<string, number> {
  const depths = new Map(nodes.map(({ id }) => [id, 0]));
  // links are in the order of execution: whatever feeds a link comes before it
  for (const { from, to } of links) depths.set(to, Math.max(depths.get(to)!, depths.get(from)! + 1));
  const last = Math.max(...depths.values());
  for (const { id } of nodes) if (!links.some(({ from }) => from === id)) depths.set(id, last);
  return depths;
}

// Where nodes and links are drawn. `along` is the way of the route, `across` is where amounts show as widths.
import { sankey, sankeyJustify, type SankeyLink, type SankeyNode } from "d3-sankey";
import type { Graph, Link, Node } from "./graph";

export type PlacedNode = Node & { along: number; across: number; length: number };
export type PlacedLink = Link & { index: number; path: string; width: number; label: { x: number; y: number; room: number } };
export type Drawing = { width: number; height: number; vertical: boolean; nodes: PlacedNode[]; links: PlacedLink[] };

export const NODE = 14;

/** Below this share a link is drawn as thin as a line can be seen. */
export const THINNEST = 1.5;

type N = SankeyNode<Node, Link>;
type L = SankeyLink<Node, Link>;

/** Draws a graph into a box of a width; narrow boxes are drawn downwards. */
export function drawn({ nodes, links }: Graph, boxWidth: number): Drawing {
  const vertical = boxWidth < 560;
  const layers = new Map<string, number>();
  for (const link of links) layers.set(link.from, (layers.get(link.from) ?? 0) + 1);
  const busiest = Math.max(1, ...layers.values());
  const depth = Math.max(2, longest(graphKeys(nodes), links));
  const across = vertical ? boxWidth - 16 : Math.min(420, 150 + 22 * Math.max(busiest, nodes.length / 2));
  const along = vertical ? Math.max(300, depth * 130) : boxWidth - 2;
  const margin = vertical ? { start: 26, end: 26 } : { start: 4, end: 4 };

  const layout = sankey<Node, Link>()
    .nodeId((node) => node.id)
    .nodeWidth(NODE)
    .nodePadding(vertical ? 26 : 30)
    .nodeAlign(sankeyJustify)
    .iterations(32)
    .extent([[margin.start, 24], [along - margin.end, across - 8]]);
  const { nodes: placedNodes, links: placedLinks } = layout({
    nodes: nodes.map((node) => ({ ...node })),
    links: links.map((link) => ({ ...link, source: link.from, target: link.to, value: Math.max(link.value, 1e-6) }) as unknown as L),
  });

  const point = (a: number, c: number) => (vertical ? `${c.toFixed(1)},${a.toFixed(1)}` : `${a.toFixed(1)},${c.toFixed(1)}`);
  return {
    width: vertical ? boxWidth : along,
    height: vertical ? along : across,
    vertical,
    nodes: placedNodes.map((node: N) => ({ ...node, along: node.x0!, across: node.y0!, length: node.y1! - node.y0! })),
    links: placedLinks.map((link: L, index) => {
      const [source, target] = [link.source as N, link.target as N];
      const [a0, a1, c0, c1] = [source.x1!, target.x0!, link.y0!, link.y1!];
      const bend = (a0 + a1) / 2;
      return {
        ...(link as unknown as Link),
        index,
        path: `M${point(a0, c0)}C${point(bend, c0)} ${point(bend, c1)} ${point(a1, c1)}`,
        width: Math.max(link.width ?? 0, THINNEST),
        // ribbons lie beside each other where they leave a token: there no label covers another
        label: vertical ? { x: c0, y: a0 + 16, room: link.width ?? 0 } : { x: a0 + 8, y: c0, room: a1 - a0 - 16 },
      };
    }),
  };
}

const graphKeys = (nodes: Node[]) => nodes.map(({ id }) => id);

/** Counts the nodes of the longest way. */
function longest(ids: string[], links: Link[]): number {
  const depth = new Map(ids.map((id) => [id, 1]));
  // links are in the order of execution: whatever feeds a link comes before it
  for (const { from, to } of links) depth.set(to, Math.max(depth.get(to) ?? 1, (depth.get(from) ?? 1) + 1));
  return Math.max(1, ...depth.values());
}

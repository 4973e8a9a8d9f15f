// The route's graph: what flows is kept, and no link leads back.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, load } from "./load.mjs";

const { graphOf } = await load("/src/route/graph.ts");
const { drawn, labelled } = await load("/src/route/layout.ts");
const { divided, sharesOf } = await load("/src/route/shares.ts");
const { stepsText } = await load("/src/route/picture.tsx");
after(close);

const step = (id, token_in, token_out, amount_in, amount_out) => ({ id, after: [], protocol: "uniswap_v3", pool: id, token_in, token_out, amount_in: `${amount_in}`, amount_out: `${amount_out}`, share_bps: 1, fee_bps: null, gas_units: 1, price_impact_bps: null });
const output = (token, expected_amount, value = "1") => ({ token, expected_amount: `${expected_amount}`, decimals: 0, reference_price: { value } });
const quote = (inputs, steps, outputs) => ({ estimated_inputs: inputs.map((input) => ({ token: input[0], expected_amount: `${input[1] ?? 100}` })), estimated_outputs: outputs, path: { tokens: [], steps } });
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

test("a split that merges has the widths of its amounts", () => {
  const steps = [step("s1", "A", "B", 60, 30), step("s2", "A", "C", 40, 20), step("s3", "B", "C", 30, 60)];
  const { nodes, links } = graphOf(quote(["A"], steps, [output("C", 80)]));
  near(links[0].value, 0.75);
  near(links[1].value, 0.25);
  near(links[2].value, 0.75);
  const kinds = Object.fromEntries(nodes.map(({ token, kind }) => [token, kind]));
  assert.deepEqual(kinds, { A: "input", B: "between", C: "output" });
  near(nodes.find(({ token }) => token === "A").value, 1);
});

test("outputs are weighed by their prices, one that is passed through too", () => {
  const steps = [step("s1", "A", "B", 100, 100), step("s2", "B", "C", 50, 10)];
  const { links, nodes } = graphOf(quote(["A"], steps, [output("B", 50, "2"), output("C", 10, "10")]));
  near(links[0].value, 1);
  near(links[1].value, 0.5);
  assert.equal(nodes.find(({ token }) => token === "B").kind, "output");
});

test("an input that steps make too is not as wide before as after it joins", () => {
  const steps = [step("s1", "A", "B", 10, 25), step("s2", "B", "C", 100, 100)];
  const { links } = graphOf(quote(["A", ["B", 75]], steps, [output("C", 100)]));
  near(links[0].value, 0.25);
  near(links[1].value, 1);
});

test("a token that the route comes back to has a place for each visit", () => {
  const steps = [step("s1", "A", "B", 10, 10), step("s2", "B", "A", 5, 5), step("s3", "A", "C", 5, 5)];
  const { nodes, links } = graphOf(quote(["A"], steps, [output("C", 5)]));
  assert.equal(nodes.filter(({ token }) => token === "A").length, 2);
  const order = new Map(nodes.map(({ id }, at) => [id, at]));
  for (const { from, to } of links) assert.ok(order.get(from) < order.get(to));
});

test("every width of a box is drawn, within the box", () => {
  const steps = [step("s1", "A", "B", 60, 30), step("s2", "A", "C", 40, 20), step("s3", "B", "C", 30, 60)];
  const graph = graphOf(quote(["A"], steps, [output("C", 80)]));
  for (const width of [280, 400, 700, 1_200]) {
    const { nodes, links, height, vertical } = drawn(graph, width);
    assert.equal(vertical, width < 560);
    for (const node of nodes) assert.ok(node.across >= 0 && node.across + node.length <= (vertical ? width : height) + 1e-6);
    for (const link of links) assert.ok(!/NaN/.test(link.path) && link.width > 0);
  }
});

test("a link that passes a layer is drawn beside what lies there", () => {
  const steps = [step("s1", "A", "B", 50, 50), step("s2", "A", "C", 50, 50), step("s3", "B", "C", 50, 50)];
  const { nodes, links } = drawn(graphOf(quote(["A"], steps, [output("C", 100)])), 800);
  const passed = nodes.find(({ token }) => token === "B");
  // the points of the direct link's path at B's layer
  const points = links[1].path.match(/[\d.]+,[\d.]+/g).map((point) => point.split(",").map(Number));
  const beside = points.filter(([along]) => along >= passed.along - 0.1 && along <= passed.along + 14.1).map(([, across]) => across);
  assert.ok(beside.length >= 2, links[1].path);
  for (const across of beside) assert.ok(across - links[1].width / 2 >= passed.across + passed.length - 0.2 || across + links[1].width / 2 <= passed.across + 0.2, `${across}`);
});

const sum = (parts) => parts.reduce((total, part) => total + part, 0);

test("parts in basis points add up, whatever is divided", () => {
  assert.deepEqual(divided([1n, 1n, 1n]), [3_334, 3_333, 3_333]);
  assert.deepEqual(divided([0n, 0n]), [0, 0]);
  for (let count = 1; count <= 40; count += 1) {
    const amounts = Array.from({ length: count }, (_, at) => 7n ** BigInt(at % 9) * 10n ** BigInt(at) + 13n);
    assert.equal(sum(divided(amounts)), 10_000, `${count}`);
  }
});

test("an output that steps also spend has a kept part, which adds up with their shares", () => {
  // 300 of B are made: 100 of them go on to C, 200 are kept; the service's shares are those of the 100
  const onward = [[10, 1_000], [30, 3_000], [60, 6_000]].map(([amount, share_bps], at) => ({ ...step(`s${at + 2}`, "B", "C", amount, amount), share_bps }));
  const steps = [{ ...step("s1", "A", "B", 100, 300), share_bps: 10_000 }, ...onward];
  const { steps: shares, kept } = sharesOf(quote(["A"], steps, [output("B", 200), output("C", 100)]));
  assert.deepEqual(kept, new Map([["B", { amount: 200n, bps: 6_667 }]]));
  assert.equal(sum(onward.map(({ id }) => shares.get(id))) + kept.get("B").bps, 10_000);
  assert.equal(shares.get("s1"), 10_000);
  // nothing of C is spent and nothing of A is kept: their shares are the service's
  assert.equal(sharesOf(quote(["A"], onward, [output("C", 100)])).kept.size, 0);
});

test("a conversion of ether is a step wherever steps are counted", () => {
  const [swap, wrap] = [{ protocol: "uniswap_v3" }, { protocol: "wrapped_ether" }];
  assert.equal(stepsText([swap]), "1 step");
  assert.equal(stepsText([wrap, swap, swap]), "3 steps, of which 1 wraps or unwraps ether");
  assert.equal(stepsText([wrap, swap, wrap]), "3 steps, of which 2 wrap or unwrap ether");
  assert.equal(stepsText([wrap]), "1 step, which only wraps or unwraps ether");
});

test("no name of a token covers another, and every large node has its name", () => {
  const middle = Array.from({ length: 9 }, (_, at) => [step(`a${at}`, "A", `M${at}`, 10, 10), step(`b${at}`, `M${at}`, "Z", 10, at < 8 ? 1 : 92)]).flat();
  for (const width of [262, 320, 400, 1_200]) {
    const drawing = drawn(graphOf(quote(["A"], middle, [output("Z", 100)])), width);
    const labels = labelled(drawing, ({ token }) => `${token}NAME`);
    const boxes = [...labels.values()].map(({ x, y, anchor }) => ({ left: x - { start: 0, middle: 21, end: 42 }[anchor], y }));
    for (const [at, one] of boxes.entries()) {
      assert.ok(one.left >= 0 && one.left + 42 <= width + 8, `${one.left} of ${width}`);
      for (const other of boxes.slice(at + 1)) assert.ok(Math.abs(one.left - other.left) >= 42 || Math.abs(one.y - other.y) >= 14, `${width}: ${JSON.stringify([one, other])}`);
    }
    for (const token of ["A", "M8", "Z"]) assert.ok(labels.has(drawing.nodes.find((node) => node.token === token).id), `${token} at ${width}`);
  }
});

test("widths show amounts however many tokens lie beside each other", () => {
  const middle = Array.from({ length: 20 }, (_, at) => [step(`a${at}`, "A", `M${at}`, 10, 10), step(`b${at}`, `M${at}`, "Z", 10, at === 0 ? 81 : 1)]).flat();
  for (const width of [262, 700]) {
    const { links, nodes } = drawn(graphOf(quote(["A"], middle, [output("Z", 100)])), width);
    const [large, small] = [links[0], links[2]];
    near(large.value, 0.81);
    assert.ok(large.width > 10 * small.width, `${large.width} and ${small.width} at ${width}`);
    assert.ok(nodes.find(({ token }) => token === "A").length > 90, `${width}`);
  }
});

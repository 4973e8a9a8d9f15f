#!/usr/bin/env python3
"""Draws the documentation's figures into docs/figures/: of a swap, of a basket, of disturbed markets, and those of
docs/internals/certificate.md. Needs only Python 3.

    scripts/figures.py            draws them
    scripts/figures.py --check    checks that the committed figures are those that this script draws

The numbers are computed here from two pools; crates/routing/tests/it/certificate.rs checks the same claims on the same
pools with the solver. Those of apart.svg come from the solver: crates/routing/tests/it/apart.rs writes
docs/figures/apart.json and checks it.
"""
import json
import math
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs" / "figures"
GAMMA = 0.997
# Two pools of ether and dollars, by their reserves of each.
POOLS = [(1_000.0, 2_000_000.0), (600.0, 1_206_000.0)]
INK, BLUE, RED, GREEN, GREY = "#1f2933", "#1f6feb", "#c2410c", "#15803d", "#9aa5b1"


def out(pool, amount):
    return pool[1] * GAMMA * amount / (pool[0] + GAMMA * amount)


def best_trade(pool, price):
    """Returns the amount of ether at which the pool's marginal rate equals the price, and the profit of selling it."""
    amount = max(0.0, (math.sqrt(pool[0] * pool[1] * GAMMA / price) - pool[0]) / GAMMA)
    return amount, out(pool, amount) - price * amount


def bound(amount, price, gas=0.0):
    return price * amount + sum(max(0.0, best_trade(pool, price)[1] - gas) for pool in POOLS)


def least_bound(amount, gas=0.0):
    low, high = 1_000.0, 2_010.0
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if bound(amount, a, gas) <= bound(amount, b, gas) else (a, high)
    return bound(amount, (low + high) / 2, gas), (low + high) / 2


def best_split(amount):
    grid = [amount * k / 4_000 for k in range(4_001)]
    return max((out(POOLS[0], x) + out(POOLS[1], amount - x), x) for x in grid)


class Plot:
    """A pair of axes in a part of a picture."""

    def __init__(self, box, x, y, title, labels, log_x=False):
        self.left, self.top, self.width, self.height = box
        self.x, self.y, self.log_x = x, y, log_x
        self.parts = [
            f'<rect x="{self.left}" y="{self.top}" width="{self.width}" height="{self.height}" fill="none" stroke="{GREY}"/>',
            text(self.left + self.width / 2, self.top - 14, title, 14, "middle", "600"),
            text(self.left + self.width / 2, self.top + self.height + 40, labels[0], 12, "middle"),
            f'<g transform="rotate(-90 {self.left - 62} {self.top + self.height / 2})">'
            + text(self.left - 62, self.top + self.height / 2, labels[1], 12, "middle") + "</g>",
        ]

    def at(self, x, y):
        span = [math.log10(v) for v in (*self.x, x)] if self.log_x else [*self.x, x]
        across = (span[2] - span[0]) / (span[1] - span[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return self.left + across * self.width, self.top + (1 - up) * self.height

    def ticks(self, xs, ys, x_name=str, y_name=str):
        for x in xs:
            px, py = self.at(x, self.y[0])
            self.parts.append(f'<path d="M{px:.1f} {py:.1f}v5" stroke="{GREY}"/>' + text(px, py + 19, x_name(x), 11, "middle"))
        for y in ys:
            px, py = self.at(self.x[0], y)
            self.parts.append(f'<path d="M{px:.1f} {py:.1f}h{self.width}" stroke="#e4e7eb"/>'
                              + text(px - 7, py + 4, y_name(y), 11, "end"))

    def line(self, points, colour, dash=""):
        inside = [self.at(x, y) for x, y in points if self.y[0] <= y <= self.y[1]]
        path = " ".join(f"{'M' if k == 0 else 'L'}{x:.1f} {y:.1f}" for k, (x, y) in enumerate(inside))
        self.parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')

    def dot(self, x, y, colour, words, dx=8, dy=-8, anchor="start"):
        px, py = self.at(x, y)
        self.parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{colour}"/>'
                          + text(px + dx, py + dy, words, 12, anchor, "400", colour))

    def note(self, x, y, words, colour, anchor="start"):
        px, py = self.at(x, y)
        self.parts.append(text(px, py, words, 12, anchor, "400", colour))


def text(x, y, words, size, anchor="start", weight="400", colour=INK):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}" fill="{colour}">{words}</text>')


def picture(plots, width, height):
    body = "\n".join(part for plot in plots for part in plot.parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n{body}\n</svg>\n')


def thousands(value):
    return f"{value:,.0f}"


def two_pools():
    amount = 50.0
    best, share = best_split(amount)
    least, price = least_bound(amount)
    primal = Plot((90, 50, 360, 300), (0, amount), (90_000, 97_500), "Every route: how 50 ether are split",
                  ("ether through pool A (the rest through B)", "dollars received"))
    primal.ticks(range(0, 51, 10), range(90_000, 97_501, 1_500), y_name=thousands)
    primal.line([(amount * k / 200, out(POOLS[0], amount * k / 200) + out(POOLS[1], amount * (1 - k / 200)))
                 for k in range(201)], BLUE)
    primal.line([(0, least), (amount, least)], RED, "6 4")
    primal.dot(share, best, BLUE, f"best split: {best:,.2f}", 0, 22, "middle")
    primal.note(1, least + 190, f"least bound: {least:,.2f}", RED)
    dual = Plot((560, 50, 360, 300), (1_780, 2_000), (96_000, 103_500), "Every price: the bound that it gives",
                ("price of ether in dollars", "bound, dollars"))
    dual.ticks(range(1_780, 2_001, 44), range(96_000, 103_501, 1_500), y_name=thousands)
    dual.line([(1_780 + 220 * k / 200, bound(amount, 1_780 + 220 * k / 200)) for k in range(201)], RED)
    dual.line([(1_780, best), (2_000, best)], BLUE, "6 4")
    dual.dot(price, least, RED, f"at {price:,.1f}", 0, -12, "middle")
    dual.note(1_783, best - 260, "the best split", BLUE)
    return picture([primal, dual], 960, 420)


def gas():
    price_of_gas = 25.0  # dollars per swap
    sizes = [10 ** (-1 + 3.2 * k / 240) for k in range(241)]
    one = lambda a: max(out(pool, a) for pool in POOLS) - price_of_gas
    two = lambda a: best_split(a)[0] - 2 * price_of_gas
    per = lambda a: 2_000.0 * a / 1e4  # a basis point of the trade, in dollars
    lost = Plot((90, 50, 360, 300), (0.1, 150), (0, 60), "What the wrong number of pools costs",
                ("ether sold", "below the best, bps"), log_x=True)
    lost.ticks((0.1, 1, 10, 100), range(0, 61, 10))
    best = lambda a: max(one(a), two(a))
    lost.line([(a, (best(a) - one(a)) / per(a)) for a in sizes], BLUE)
    lost.line([(a, (best(a) - two(a)) / per(a)) for a in sizes], GREEN)
    lost.note(12.0, 40, "one pool", BLUE)
    lost.note(2.6, 40, "two pools", GREEN, "end")
    gap = Plot((560, 50, 360, 300), (0.1, 150), (0, 30), "How far the bound lies above the best route",
               ("ether sold", "gap, bps"), log_x=True)
    gap.ticks((0.1, 1, 10, 100), range(0, 31, 5))
    gap.line([(a, (least_bound(a, price_of_gas)[0] - best(a)) / per(a)) for a in sizes], RED)
    gap.note(3.0, 27, "a swap pays its gas whole or not at all,", INK)
    gap.note(3.0, 25.3, "prices alone let it pay a fraction: small", INK)
    gap.note(3.0, 23.6, "trades, and where a second pool begins to pay", INK)
    return picture([lost, gap], 960, 420)


def meaning():
    plot = Plot((130, 50, 700, 120), (0, 12), (0, 1), "What a certificate says of one quote", ("basis points below the bound", ""))
    plot.ticks(range(0, 13, 2), (), str)
    spans = [(0, 0.8, RED, "no route is worth more than the bound (0)"), (0.8, 12, GREY, "")]
    for low, high, colour, _ in spans:
        (x0, y0), (x1, y1) = plot.at(low, 0.72), plot.at(high, 0.28)
        plot.parts.append(f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}" fill="{colour}" opacity="0.35"/>')
    plot.note(0.05, 0.8, "the best route lies somewhere here", RED)
    plot.dot(0.8, 0.5, BLUE, "the quote: gap_bps = 0.8", 10, 4)
    plot.dot(9.0, 0.5, GREEN, "a simpler router", 10, 4)
    return picture([plot], 960, 240)


def boxes(width, height, places, arrows):
    """Draws boxes `(x, y, width, height, title, line below)` and arrows `(x, y, x, y, label, offset of the label)`."""
    write = '<text x="{:.0f}" y="{:.0f}" font-family="sans-serif" font-size="{}" font-weight="{}" text-anchor="middle" fill="{}">{}</text>'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<defs><marker id="tip" markerWidth="9" markerHeight="9" refX="8" refY="4" orient="auto"><path d="M0 0L9 4L0 8z" fill="{GREY}"/></marker></defs>']
    for x, y, w, h, title, below in places:
        parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="#f1f5f9" stroke="{GREY}"/>')
        parts.append(write.format(x + w / 2, y + h / 2 + (-3 if below else 5), 15, 600, INK, title))
        if below:
            parts.append(write.format(x + w / 2, y + h / 2 + 16, 12, 400, INK, below))
    for x0, y0, x1, y1, words, shift in arrows:
        parts.append(f'<path d="M{x0} {y0}L{x1} {y1}" stroke="{GREY}" stroke-width="1.5" fill="none" marker-end="url(#tip)"/>')
        parts.append(write.format((x0 + x1) / 2 + shift[0], (y0 + y1) / 2 + shift[1], 12, 400, BLUE, words))
    return "\n".join(parts + ["</svg>"]) + "\n"


def swap():
    places = [(30, 120, 150, 70, "Your wallet", "signs and sends"), (400, 30, 170, 70, "Braid", "market, routes"),
              (720, 30, 150, 70, "Ethereum node", ""), (400, 220, 170, 70, "Execution proxy", "no owner, holds nothing"),
              (720, 220, 150, 70, "Pools", "")]
    arrows = [(180, 135, 400, 55, "1  sell this, buy that", (-55, -14)), (400, 85, 185, 158, "2  amounts, route, transaction", (70, 22)),
              (720, 65, 570, 65, "blocks, logs", (0, -8)), (180, 180, 400, 255, "3  the signed transaction", (-55, 22)),
              (570, 245, 720, 245, "4  swaps", (0, -8)), (720, 272, 570, 272, "5  at least the minimum", (0, 20))]
    return boxes(900, 320, places, arrows)


def basket():
    places = [(30, 30, 140, 50, "5,000 USDC", ""), (30, 150, 140, 50, "100 LINK", ""), (330, 90, 110, 50, "WETH", ""),
              (600, 30, 140, 50, "WBTC, 60%", ""), (600, 150, 140, 50, "UNI, 40%", "")]
    arrows = [(170, 60, 330, 105, "", (0, 0)), (170, 45, 600, 45, "", (0, 0)), (170, 172, 330, 125, "", (0, 0)),
              (440, 105, 600, 62, "", (0, 0)), (440, 125, 600, 172, "", (0, 0))]
    return boxes(770, 230, places, arrows)


NAMES = ["WETH", "A", "B", "C", "D"]
PLACES = [(50, 150), (250, 150), (150, 275), (150, 40), (50, 335)]
WORDS = {
    "calm": "Calm: prices agree",
    "stale": "Stale: two pools that nobody traded with",
    "rebased": "Rebased: two pools whose balances moved",
    "shocked": "Shocked: half of a hub's pools followed",
    "dusted": "Dusted: tiny pools at absurd prices",
    "thin": "Thin: a twentieth of the depth",
}


def apart():
    markets = json.loads((FOLDER / "apart.json").read_text())
    parts, wide, high = [], 300, 440
    for index, market in enumerate(markets):
        left, top = 10 + index % 3 * (wide + 10), 10 + index // 3 * (high + 10)
        at = lambda token: (left + PLACES[token][0], top + 40 + PLACES[token][1])
        parts.append(f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" rx="8" fill="none" stroke="{GREY}"/>')
        parts.append(text(left + wide / 2, top + 24, WORDS[market["kind"]], 13, "middle", "600"))
        sold, ends = market["sold"], (NAMES[market["from"]], NAMES[market["to"]])
        parts.append(text(left + wide / 2, top + 44, f"{sold:g} {ends[0]} for {ends[1]}", 12, "middle"))
        seen = {}
        for pool in market["pools"]:
            ends = tuple(pool["coins"])
            pair = tuple(sorted(ends))
            rank = seen.get(pair, 0)
            seen[pair] = rank + 1
            (x0, y0), (x1, y1) = at(pair[0]), at(pair[1])
            length = math.hypot(x1 - x0, y1 - y0)
            many = sum(tuple(sorted(other["coins"])) == pair for other in market["pools"])
            bend = (-30, 30, 62, -62)[rank % 4] if many > 1 else 0
            mx, my = (x0 + x1) / 2 - (y1 - y0) / length * bend, (y0 + y1) / 2 + (x1 - x0) / length * bend
            used, apart_by = pool["percent"], abs(math.log(pool["tilt"])) > 0.01
            dust = pool["depth"] < 1
            colour = BLUE if used else (RED if apart_by else GREY)
            width = 1.5 + used / 10 if used else 1.2
            dash = ' stroke-dasharray="3 4"' if dust else ""
            parts.append(f'<path d="M{x0:.0f} {y0:.0f}Q{mx:.1f} {my:.1f} {x1:.0f} {y1:.0f}" fill="none" stroke="{colour}" '
                         f'stroke-width="{min(width, 14):.1f}" opacity="0.75"{dash}/>')
            cx, cy = (x0 + 2 * mx + x1) / 4, (y0 + 2 * my + y1) / 4
            words = ([f"{used}%"] if used else []) + ([f"×{pool['tilt']:.3g}"] if apart_by and not dust else [])
            if words:
                halo = ' stroke="white" stroke-width="3" paint-order="stroke"'
                parts.append(text(cx, cy + 4, " ".join(words), 10, "middle", "600", RED if apart_by else INK).replace("<text", f"<text{halo}"))
        for token in range(5):
            x, y = at(token)
            is_end = token in (market["from"], market["to"])
            parts.append(f'<circle cx="{x}" cy="{y}" r="17" fill="{"#dbeafe" if is_end else "#f1f5f9"}" stroke="{INK if is_end else GREY}"/>')
            parts.append(text(x, y + 4, NAMES[token], 10, "middle", "600"))
        plain, gap = (f'{market[key]:.1f} bps' for key in ("plain_gap_bps", "gap_bps"))
        parts.append(text(left + 120, top + high - 40, f"one price a token: {plain}", 12, "start", "400", RED))
        parts.append(text(left + 120, top + high - 20, f"certificate: {gap}", 12, "start", "600", BLUE))
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 910" width="940" height="910">\n'
            f'<rect width="940" height="910" fill="white"/>\n{body}\n</svg>\n')


PICTURES = {"apart.svg": apart, "two-pools.svg": two_pools, "gas.svg": gas, "meaning.svg": meaning, "swap.svg": swap, "basket.svg": basket}


def main(arguments):
    FOLDER.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, draw in PICTURES.items():
        file, drawn = FOLDER / name, draw()
        if arguments == ["--check"]:
            if not file.exists() or file.read_text(encoding="utf-8") != drawn:
                stale.append(name)
        else:
            file.write_text(drawn, encoding="utf-8")
    if stale:
        print(f"not as drawn by scripts/figures.py: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

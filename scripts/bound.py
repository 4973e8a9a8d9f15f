#!/usr/bin/env python3
"""Works certificates out again, without Braid.

    braid-lab bench --market MARKET.json --requests REQUESTS.json --witness WITNESS.jsonl
    scripts/bound.py MARKET.json WITNESS.jsonl

For each line of the witness (one solved request) this evaluates, at the dual prices that it names,

    price(input) * amount  +  sum over all pools of  max(0, best profit - gas)

over every pool of the market between tokens that the witness lists. By duality (docs/internals/certificate.md) that is an upper bound
on the value net of gas of every route, whatever the prices are. Nothing is taken from Braid but the prices and the caps:
pools are read from the market's own file, and the profit of each is worked out here, by another method than Braid's (the
exact staircase of gas instead of its convex hull), so the result is at most Braid's figure.

Pools of a kind without a formula here are listed in the witness as points of their exact curve: the bound has to hold what is
earned at the points, and no route may be worth more than what the chords allow, extended beyond their neighbours.

Prints one line of JSON a request and a summary; exits with 1 if a published bound is below what this script finds, or an
achieved value above it. Needs Python 3 and nothing else.
"""
import json
import math
import sys

# Relative room for the rounding of floating point in a sum of thousands of terms.
ROUNDING = 1e-9
# Ticks in one word of a V3 pool's bitmap, and how many words' edges are charged for.
WORD_TICKS = 256
WORD_EDGES = 6


def sqrt_price(tick):
    return math.exp(0.5 * tick * math.log(1.0001))


def profit_along(gamma, start, stretches, price_in, price_out, cap, gas):
    """The best profit net of gas of selling up to `cap` along stretches [(end root, liquidity, gas to pass its end)]."""
    best, taken, paid, root = 0.0, 0.0, 0.0, start
    # The root rate at which the marginal rate pays no more than the input costs.
    target = math.sqrt(price_in / (gamma * price_out))
    for end, liquidity, gas_after in stretches:
        stop = max(end, min(root, target))
        if liquidity > 0.0:
            room = gamma * cap - taken
            most = 1.0 / (room / liquidity + 1.0 / root) if math.isfinite(room) else 0.0
            stop = max(stop, most)
            here_in, here_out = liquidity * (1.0 / stop - 1.0 / root), liquidity * (root - stop)
            best = max(best, price_out * (paid + here_out) - price_in * (taken + here_in) / gamma - gas)
            if stop > end:
                return best
            taken, paid = taken + here_in, paid + here_out
        if root <= target or taken >= gamma * cap:
            return best
        gas += gas_after
        root = end
    return best


def v2_profit(pool, side, price_in, price_out, cap, gas):
    reserve_in, reserve_out = (float(pool["reserves"][k]) for k in (side, 1 - side))
    if reserve_in <= 0.0 or reserve_out <= 0.0:
        return 0.0
    gamma = 1.0 - pool.get("fee_bps", 30) / 1e4
    liquidity, start = math.sqrt(reserve_in) * math.sqrt(reserve_out), math.sqrt(reserve_out / reserve_in)
    return profit_along(gamma, start, [(start * 1e-12, liquidity, 0.0)], price_in, price_out, cap, gas["uniswap_v2"])


def v3_profit(pool, side, price_in, price_out, cap, gas):
    ticks = sorted((int(tick), int(net)) for tick, net in pool["ticks"])
    if not ticks:
        return 0.0
    tick, spacing = int(pool["tick"]), max(1, int(pool["tick_spacing"]))
    down = side == 0
    now = int(pool["sqrt_price_x96"]) / 2.0**96
    last = ticks[0][0] if down else ticks[-1][0]
    # What is passed on the way: (tick, net liquidity, gas).
    stops = [(t, net, gas["tick"]) for t, net in ticks if (t <= tick if down else t > tick)]
    stops.append((tick if down else tick + 1, 0, gas["tick_moved"]))
    compressed = tick // spacing
    word = (compressed if down else compressed + 1) // WORD_TICKS
    initialised = {t for t, _ in ticks}
    for k in range(WORD_EDGES):
        edge = ((word - k) * WORD_TICKS if down else (word + k) * WORD_TICKS + WORD_TICKS - 1) * spacing
        if edge not in initialised:
            stops.append((edge, 0, gas["word"]))
    stops = [stop for stop in stops if (stop[0] >= last if down else stop[0] <= last)]
    stops.sort(key=lambda stop: -stop[0] if down else stop[0])
    liquidity, stretches = int(pool["liquidity"]), []
    for at, net, units in stops:
        root = sqrt_price(at)
        end = min(root, now) if down else 1.0 / max(root, now)
        stretches.append((end, float(max(liquidity, 0)), units))
        liquidity += -net if down else net
    gamma = 1.0 - int(pool["fee_pips"]) / 1e6
    return profit_along(gamma, now if down else 1.0 / now, stretches, price_in, price_out, cap, gas["uniswap_v3"])


def sampled_profit(points, price_in, price_out, cap, gas_price):
    """Points (in, out, gas) of a concave curve from (0, 0) on: the largest profit at a point, which some trade makes, and under
    the extended chords, for the least gas, which none exceeds."""
    reached = [price_out * y - price_in * x - units * gas_price for x, y, units in points if x <= cap]
    least_gas = min(units for _, _, units in points) * gas_price
    points = [(0.0, 0.0)] + [(float(x), float(y)) for x, y, _ in points]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(points, points[1:])]
    best = 0.0
    for k, (a, b) in enumerate(zip(points, points[1:])):
        if a[0] >= cap:
            break
        # Above [a, b] lie the chord before it, extended forwards, and the chord after it, extended backwards.
        before = slopes[k - 1] if k > 0 else None
        after = slopes[k + 1] if k + 1 < len(slopes) else 0.0

        def above(x):
            from_after = b[1] - after * (b[0] - x)
            return from_after if before is None else min(a[1] + before * (x - a[0]), from_after)

        corners = [a[0], min(b[0], cap)]
        if before is not None and before > after:
            corners.append((b[1] - a[1] + before * a[0] - after * b[0]) / (before - after))
        best = max([best] + [price_out * above(x) - price_in * x for x in corners if a[0] <= x <= min(b[0], cap)])
    return max([0.0] + reached), max(0.0, best - least_gas)


def sound_pools(market):
    """The pools that some contract can be in, each once. Braid leaves the others out with a word."""
    seen, pools = set(), []
    for pool in market["pools"]:
        if pool["kind"] == "uniswap_v3":
            below = sum(int(net) for tick, net in pool["ticks"] if int(tick) <= int(pool["tick"]))
            if below != int(pool["liquidity"]):
                continue
        if pool["address"].lower() not in seen:
            seen.add(pool["address"].lower())
            pools.append(pool)
    return pools


def recompute(pools, line):
    """The bound at the line's prices, in wei: at least, and at most."""
    gas_price = float(line["gas_price_wei"])
    units = {name: units * gas_price for name, units in line["gas_units"].items()}
    price = {token.lower(): float(value) for token, value, _ in line["tokens"]}
    cap = {token.lower(): float("inf") if most is None else float(most) for token, _, most in line["tokens"]}
    source, target = line["token_in"].lower(), line["token_out"].lower()
    left_out = {pool.lower() for pool in line["left_out"]}
    total = price[source] * float(line["amount_in"])
    for pool in pools:
        tokens = [token.lower() for token in pool["tokens"]]
        profit_of = {"uniswap_v2": v2_profit, "uniswap_v3": v3_profit}.get(pool["kind"])
        if profit_of is None or len(tokens) != 2 or pool["address"].lower() in left_out:
            continue
        if any(token not in price for token in tokens):
            continue
        best = 0.0
        for side in (0, 1):
            sold, bought = tokens[side], tokens[1 - side]
            if sold != target and bought != source:
                best = max(best, profit_of(pool, side, price[sold], price[bought], cap[sold], units))
        total += best
    more = 0.0
    for curve in line["sampled"]:
        sold, bought = (token.lower() for token in curve["tokens"])
        if sold in price and bought in price and sold != target and bought != source:
            least, most = sampled_profit(curve["points"], price[sold], price[bought], cap[sold], gas_price)
            total += least
            more += most - least
    return total, total + more


def main(arguments):
    if len(arguments) != 2 or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        pools = sound_pools(json.load(file))
    checked = wrong = 0
    widest = 0.0
    with open(arguments[1], encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            bound, most = recompute(pools, line)
            room = ROUNDING * abs(bound)
            published, dual = float(line["upper_bound_value_wei"]), float(line["dual_bound_value_wei"])
            achieved = float(line["achieved_value_wei"])
            # The dual bound holds what is found here; the published one may be less, where counting pools closed it
            # further, but no route may be worth more than either.
            sound = bound <= dual + room and achieved <= min(published, most) + room
            looser = (dual - bound) / abs(bound) * 1e4 if bound else 0.0
            widest = max(widest, looser)
            checked += 1
            wrong += not sound
            print(json.dumps({"id": line["id"], "recomputed_wei": f"{bound:.0f}", "dual_wei": f"{dual:.0f}",
                              "published_wei": f"{published:.0f}", "achieved_wei": f"{achieved:.0f}", "sound": sound}))
    print(f"{checked} certificates worked out again, {wrong} wrong; Braid's dual bounds are up to {widest:.4f} bps looser",
          file=sys.stderr)
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

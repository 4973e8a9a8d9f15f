#!/usr/bin/env python3
"""Recomputes certificates without Braid.

    braid-lab bench --market MARKET.json --requests REQUESTS.json --witness WITNESS.jsonl
    scripts/bound.py MARKET.json WITNESS.jsonl

For each line of the witness (one solved request), this evaluates

    price(input) * amount  +  sum over all pools of  max(0, best profit - gas)

at the line's dual prices, over every pool of the market between tokens that the line lists. By duality
(docs/internals/certificate.md) that is an upper bound on the value net of gas of every route, whatever the prices are.
Only the prices, the caps, the gas units of steps and the points described below come from Braid. Pools are read from the
market's file, and the profit of each is computed here by another method than Braid's: with the exact step function of
gas instead of its convex hull. So the result is at most Braid's figure.

For pools of a kind without a formula here, the witness contains points of their exact curve. The bound must be at least
the profit at these points. No route may be worth more than the extensions of the chords beyond their neighbours allow.

Prints one line of JSON per request, and a summary. Exits with 1 if a published bound is below the result of this script,
or an achieved value above it. Needs only Python 3.
"""
import json
import math
import sys

# The relative tolerance for floating-point rounding in a sum of thousands of terms.
ROUNDING = 1e-9
# The ticks in one word of a V3 pool's bitmap, and the number of word boundaries whose gas is counted.
WORD_TICKS = 256
WORD_EDGES = 6


def sqrt_price(tick):
    return math.exp(0.5 * tick * math.log(1.0001))


def profit_along(gamma, start, stretches, price_in, price_out, cap, gas):
    """Returns the best profit net of gas of selling up to `cap` along stretches [(end root, liquidity, gas to cross it)]."""
    best, taken, paid, root = 0.0, 0.0, 0.0, start
    # The square root of the rate at which the marginal output is worth as much as the input.
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
    # What the price crosses on its way: (tick, net liquidity, gas).
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
    """Returns two profits from points (in, out, gas) of a concave curve that begins at (0, 0): the largest at a point,
    which a trade can make, and the largest below the extended chords with the least gas, which no trade exceeds."""
    reached = [price_out * y - price_in * x - units * gas_price for x, y, units in points if x <= cap]
    least_gas = min(units for _, _, units in points) * gas_price
    points = [(0.0, 0.0)] + [(float(x), float(y)) for x, y, _ in points]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(points, points[1:])]
    best = 0.0
    for k, (a, b) in enumerate(zip(points, points[1:])):
        if a[0] >= cap:
            break
        # Over [a, b] the curve is below the previous chord, extended forwards, and the next chord, extended backwards.
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
    """Returns the pools with possible states, each once. Braid reports the others as skipped."""
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
    """Returns the least and the largest value of the bound at the line's prices, in wei."""
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
            # The dual bound is at least the result of this script. The published bound may be lower, if counting
            # pools has reduced it further. No route may be worth more than either.
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

#!/usr/bin/env bash
# Tests the HTTP API from a user's side, on two local chains: the explorer in a real browser, the TypeScript and the Rust
# client with their examples, and the examples of the documentation. Beside them it sends generated requests, valid and
# invalid, and checks each answer against the OpenAPI document that the service serves.
# CASES is the minimum number of generated requests, and SEED their seed.
set -euo pipefail
cd "$(dirname "$0")/.."

cases="${CASES:-5000}"
seed="${SEED:-1}"
target="${CARGO_TARGET_DIR:-target}"
# One installation for each list of pinned versions, which all checkouts on this machine share.
pins=$(sha256sum scripts/schemathesis.txt | cut -c1-12)
tools="${XDG_CACHE_HOME:-$HOME/.cache}/braid/schemathesis-$pins"
work=$(mktemp -d)
running=()
finish() {
    for process in "${running[@]}"; do kill "$process" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap finish EXIT

if [ ! -e "$tools/complete" ]; then
    echo "Installing schemathesis into $tools."
    rm -rf "$tools"
    python3 -m venv "$tools" || { echo "python3 with venv is needed for this test (Debian: python3-venv)" >&2; exit 1; }
    "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps -r scripts/schemathesis.txt
    touch "$tools/complete"
fi

# Limits are not tested here.
export BRAID_RATE_LIMIT=100000000 BRAID_READ_RATE_LIMIT=100000000 BRAID_ANONYMOUS_RATE_LIMIT=100000000
# The explorer has a chain of its own, because its wallet is also the clients'.
mapfile -t ports < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
for one in held: print(one.getsockname()[1])')
demos=(clients explorer)
for at in 0 1; do
    mkdir "$work/${demos[at]}"
    DEMO_NODE_PORT=${ports[2 * at]} BRAID_PORT=${ports[2 * at + 1]} "$target/debug/braid-devnet" demo --block-time 1 \
        --logs "$work/${demos[at]}" >"$work/${demos[at]}.log" 2>&1 </dev/null &
    running+=($!)
done
ready() { python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$1/ready', timeout=2)" 2>/dev/null; }
for at in 0 1; do
    log="$work/${demos[at]}.log"
    for _ in $(seq 600); do
        kill -0 "${running[at]}" 2>/dev/null || { echo "the demo ended:" >&2; tail -5 "$log" >&2; exit 1; }
        ready "${ports[2 * at + 1]}" && break
        sleep 0.5
    done
    ready "${ports[2 * at + 1]}" || { echo "the demo was not ready in time:" >&2; tail -5 "$log" >&2; exit 1; }
done
base="http://127.0.0.1:${ports[1]}" node="http://127.0.0.1:${ports[0]}"

# The generated requests run beside everything else: most of the other tests wait for blocks.
checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance
checks+=,response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance
report="$work/report.txt"
# In a separate folder, because it writes files there.
(cd "$work" && exec "$tools/bin/schemathesis" run "$base/openapi.json" --checks "$checks" --phases examples,coverage,fuzzing \
    --generation-deterministic --seed "$seed" --max-examples "$((cases / 8))" --workers 1 --request-timeout 20 \
    --suppress-health-check all --warnings off --header 'X-API-Key: demo-key' --no-color) >"$report" 2>&1 &
generated=$!
running+=("$generated")

# Tests the explorer at the same time; its output follows at the end.
browser="$work/browser.txt"
(cd explorer && export BRAID_API="http://127.0.0.1:${ports[3]}" BRAID_KEY=demo-key RPC_URL="http://127.0.0.1:${ports[2]}" \
    && exec node --test --test-concurrency=1 --test-timeout=120000 test/browser/*.test.mjs) >"$browser" 2>&1 &
explored=$!
running+=("$explored")

# The client's types are generated from the document that the service serves.
export BRAID_API="$base" BRAID_KEY=demo-key RPC_URL="$node"
clients/js/build.sh "$base/openapi.json"
export BRAID_BIN; BRAID_BIN=$(realpath "$target/debug/braid")
(cd clients/js && node --test --test-concurrency=1 --test-timeout=300000 test/*.test.mjs)

# The Rust client's examples, with their own account. Each fails unless its swap succeeds, and the amount that the swap
# prints must be the amount that arrives.
rust() { PRIVATE_KEY=0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6 "$target/debug/examples/$1" "${@:2}"; }
usdc=0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48 weth=0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2 wbtc=0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599
ether=0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE
rust swap $ether 3000000000000000000 $usdc
holds() {
    curl -s "$RPC_URL" --json '{"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [{"to": "'"$1"'",
        "data": "0x70a0823100000000000000000000000090F79bf6EB2c4f870365E785982E1f101E93b906"}, "latest"]}' | jq -r .result
}
before=$(holds $weth)
said=$(rust swap $usdc 1000000000 $weth)
python3 -c 'import sys; after, before, said = sys.argv[1:]; got = int(after, 16) - int(before, 16)
sys.exit(0 if said.split()[0] == str(got) else f"received {got}, the Rust client said {said}")' "$(holds $weth)" "$before" "$said"
rust permit2 $usdc 500000000 $weth
before=$(holds $weth)
rust exact_output $usdc 100000000000000000 $weth "$work"
"$target/debug/braid" verify "$work/receipt.json" --market "$work/quote.market"
python3 -c 'import sys; after, before = sys.argv[1:]; got = int(after, 16) - int(before, 16)
sys.exit(0 if got >= 10**17 else f"received {got}, the Rust client bought 10^17")' "$(holds $weth)" "$before"
rust basket $ether:1000000000000000000 $usdc:1000000000 $weth=6000 $wbtc=4000

status=0
wait "$explored" || status=$?
cat "$browser"
[ "$status" -eq 0 ] || { echo "the explorer's tests failed" >&2; exit 1; }
wait "$generated" || status=$?
ran=$(grep -oE '[0-9,]+ generated' "$report" | tr -dc '0-9\n' | head -1)
if [ "$status" -ne 0 ]; then
    cat "$report"
    echo "schemathesis found faults (exit $status); repeat with SEED=$seed make test-api" >&2
    exit 1
fi
echo "${ran:-0} generated requests without a fault"
[ "${ran:-0}" -ge "$cases" ] || { echo "fewer than $cases requests were generated" >&2; tail -30 "$report" >&2; exit 1; }

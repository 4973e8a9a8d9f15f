#!/usr/bin/env bash
# Starts a local chain and the service on it, and runs `braid-lab soak` or `load` against the service, with the options
# that follow the seconds. Everything ends with this script.
# With two cores or more the service has the last one to itself: where the client shares it, the client's own work counts
# as the service's.
set -euo pipefail
cd "$(dirname "$0")/.."
what=$1 seconds=$2
shift 2
bin="${CARGO_TARGET_DIR:-target}/${PROFILE:-debug}"
node_port=${DEMO_NODE_PORT:-8545} port=${BRAID_PORT:-8080}
# by default mainnet's
block_time_s=${BLOCK_TIME_S:-12}
dir=$(mktemp -d)
beside=() alone=() threads=()
if command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then
    read -r last others < <(python3 -c 'import os; *others, last = sorted(os.sched_getaffinity(0)); print(last, *others)')
    beside=(taskset -c "${others// /,}") alone=(taskset -c "$last") threads=(--solve-threads 1)
fi
pids=()
finish() { kill "${pids[@]}" 2>/dev/null || true; wait "${pids[@]}" 2>/dev/null || true; rm -rf "$dir"; }
trap finish EXIT
"${beside[@]}" "${DEVNET:-$bin/braid-devnet}" chain --node-port "$node_port" --block-time "$block_time_s" >"$dir/chain.log" 2>&1 & pids+=($!)
until curl -s -o /dev/null "http://127.0.0.1:$node_port" --json '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'; do
    kill -0 "${pids[0]}" || { cat "$dir/chain.log"; exit 1; }
    sleep 0.2
done
# Calls are not limited.
"${alone[@]}" "$bin/braid" serve "${threads[@]}" --rpc-url "ws://127.0.0.1:$node_port" --listen "127.0.0.1:$port" --data-dir "$dir/data" --api-key soak-key \
    --rate-limit 4294967295 --log info,braid_server=warn >"$dir/serve.log" 2>&1 & pids+=($!)
until curl -sf -o /dev/null "http://127.0.0.1:$port/ready"; do
    kill -0 "${pids[1]}" || { cat "$dir/serve.log"; exit 1; }
    sleep 0.2
done
"${beside[@]}" "$bin/braid-lab" "$what" --url "http://127.0.0.1:$port" --key soak-key --process "${pids[1]}" --seconds "$seconds" "$@"

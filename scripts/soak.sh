#!/usr/bin/env bash
# Starts a local chain with a block every two seconds and the service on it, and runs `braid-lab soak` or `load` against
# the service. Everything ends with this script.
set -euo pipefail
cd "$(dirname "$0")/.."
what=$1 seconds=$2
bin="${CARGO_TARGET_DIR:-target}/${PROFILE:-debug}"
node_port=${DEMO_NODE_PORT:-8545} port=${BRAID_PORT:-8080}
dir=$(mktemp -d)
pids=()
finish() { kill "${pids[@]}" 2>/dev/null || true; wait "${pids[@]}" 2>/dev/null || true; rm -rf "$dir"; }
trap finish EXIT
"${DEVNET:-$bin/braid-devnet}" chain --node-port "$node_port" --block-time 2 >"$dir/chain.log" 2>&1 & pids+=($!)
until curl -s -o /dev/null "http://127.0.0.1:$node_port" --json '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'; do
    kill -0 "${pids[0]}" || { cat "$dir/chain.log"; exit 1; }
    sleep 0.2
done
# By default as many solves run at once as there are cores; calls are not limited.
"$bin/braid" serve --rpc-url "ws://127.0.0.1:$node_port" --listen "127.0.0.1:$port" --data-dir "$dir/data" --api-key soak-key \
    --rate-limit 4294967295 --log info,braid_server=warn >"$dir/serve.log" 2>&1 & pids+=($!)
until curl -sf -o /dev/null "http://127.0.0.1:$port/ready"; do
    kill -0 "${pids[1]}" || { cat "$dir/serve.log"; exit 1; }
    sleep 0.2
done
"$bin/braid-lab" "$what" --url "http://127.0.0.1:$port" --key soak-key --process "${pids[1]}" --seconds "$seconds"

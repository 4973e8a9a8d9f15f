#!/usr/bin/env python3
"""Writes the examples of the OpenAPI document from a running demo: real requests with their answers.

    make demo                      # in another terminal
    scripts/openapi-examples.py    # BRAID_API and BRAID_KEY select another service
    cargo run -p braid -- openapi > docs/openapi.json
"""
import json
import os
import pathlib
import urllib.request

API = os.environ.get("BRAID_API", "http://127.0.0.1:8080")
KEY = os.environ.get("BRAID_KEY", "demo-key")
FILE = pathlib.Path(__file__).parent.parent / "crates/server/src/openapi/examples.json"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
TAKER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data=data, headers={"content-type": "application/json", "x-api-key": KEY})
    return json.load(urllib.request.urlopen(request, timeout=60))


def main():
    quote = {
        "inputs": [{"chain_id": 1, "address": USDC, "amount": "10000000000"}],
        "outputs": [{"chain_id": 1, "address": WETH, "ratio_bps": 10000}],
        "taker": TAKER,
        "slippage_tolerance_bps": 50,
        "simulate": True,
        "include_usd_pricing": True,
        "explain": True,
    }
    quoted = call("/v1/quote", quote)
    build = {"quote_id": quoted["data"]["quote_id"], "permit2_signature": None, "simulate": True, "deadline": None}
    balances = {"chain_id": 1, "owner": TAKER, "tokens": [USDC, WETH]}
    spender = quoted["data"]["approvals"][0]["spender"]
    allowances = {"chain_id": 1, "owner": TAKER, "allowances": [{"token": USDC, "spender": spender}]}
    examples = {
        "quote": {"request": quote, "response": quoted},
        "stored_quote": {"response": call("/v1/quote/" + build["quote_id"])},
        "build": {"request": build, "response": call("/v1/build", build)},
        "chains": {"response": call("/v1/chains")},
        "protocols": {"response": call("/v1/protocols?chain_id=1")},
        "tokens": {"response": call("/v1/tokens?chain_id=1&search=usd&limit=2")},
        "prices": {"response": call(f"/v1/prices?chain_id=1&addresses={USDC},{WETH}")},
        "network": {"response": call("/v1/network?chain_id=1")},
        "balances": {"request": balances, "response": call("/v1/balances", balances)},
        "allowances": {"request": allowances, "response": call("/v1/allowances", allowances)},
        "health": {"response": call("/health")},
        "ready": {"response": call("/ready")},
    }
    FILE.write_text(json.dumps(examples, indent=1) + "\n")
    print(f"wrote {FILE}")


main()

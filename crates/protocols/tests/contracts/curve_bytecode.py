"""Compiles the Curve contracts that Vyper's own test suite carries: `python3 curve_bytecode.py OUT.json`.

The package and its source archive are installed by name and version into a temporary folder; nothing of them is kept but
the bytecode in OUT.json. The addresses that a contract wants built in are those of `Coin.vy` in the test.
"""

import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import venv

VYPER = "vyper==0.4.3"
FOLDER = "tests/functional/examples/thirdparty/curvefi"
# placeholders in the source, and where the test puts our coins
ADDRESSES = {
    "0x0000000000000000000000000000000000000001": "0x00000000000000000000000000000000000C0001",
    "0x0000000000000000000000000000000000000010": "0x00000000000000000000000000000000000C0010",
    "0x0000000000000000000000000000000000000011": "0x00000000000000000000000000000000000C0011",
}


def checksummed(address):
    """The address in the capitals that the compiler insists on."""
    from eth_hash.auto import keccak  # part of the compiler's own installation

    digits = address[2:].lower()
    nibbles = keccak(digits.encode()).hex()
    return "0x" + "".join(d.upper() if int(n, 16) >= 8 else d for d, n in zip(digits, nibbles))


def main(out):
    here = pathlib.Path(__file__).parent
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        venv.create(work / "venv", with_pip=True)
        tools = work / "venv" / "bin"
        pip = [tools / "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", VYPER, "eth-hash[pycryptodome]"], check=True)
        subprocess.run([*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", work, VYPER], check=True)
        with tarfile.open(next(work.glob("*.tar.gz"))) as archive:
            archive.extractall(work, filter="data")
        sources = next(work.glob("vyper-*")) / FOLDER
        code = "import sys; sys.path.insert(0, sys.argv[1]); import curve_bytecode as c; print(*map(c.checksummed, sys.argv[2:]))"
        run = [tools / "python", "-c", code, here, *ADDRESSES.values()]
        ours = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()

        def compile_(path):
            text = path.read_text()
            for theirs, address in zip(ADDRESSES, ours):
                text = text.replace(theirs, address)
            copy = work / path.name
            copy.write_text(text)
            run = [tools / "vyper", "-f", "bytecode", copy]
            return subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()

        names = ["CurveStableSwapNG", "CurveCryptoSwap2", "CurveCryptoMathOptimized3"]
        bundle = {name: compile_(sources / f"{name}.vy") for name in names}
        bundle["Coin"] = compile_(here / "Coin.vy")
    pathlib.Path(out).write_text(json.dumps(bundle))


if __name__ == "__main__":
    main(sys.argv[1])

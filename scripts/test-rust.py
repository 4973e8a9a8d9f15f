#!/usr/bin/env python3
"""Builds the workspace's tests and runs their binaries in parallel. Arguments are passed to `cargo test`, as in
`scripts/test-rust.py -p braid-ethereum`.

`cargo test` runs one binary after the other, but many of ours wait for nodes and processes. The output of each binary is
written to a file in TARGET/test-output. For each binary the last line of `cargo test` is printed, and for one that fails
the whole output at once. The failures are printed again at the end. JOBS is the number of binaries that run at a time; by
default, one more than there are processors.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

# The maximum time of a binary in seconds. The slowest one takes some minutes on two cores.
LIMIT_S = 1_800
ROOT = Path(__file__).resolve().parent.parent


def target_folder():
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")


def toolchain():
    """Returns the variables with which tests find cargo and its toolchain from any folder, as cargo itself sets them."""
    said = {}
    for variable, command in {"CARGO": "which cargo", "RUSTUP_TOOLCHAIN": "show active-toolchain"}.items():
        try:
            asked = subprocess.run(["rustup", *command.split()], cwd=ROOT, capture_output=True, text=True)
        except FileNotFoundError:
            return {"CARGO": "cargo"}
        if asked.returncode == 0:
            said[variable] = asked.stdout.split()[0]
    return said


def build(args):
    """Returns the test binaries with their names and the folders of their packages."""
    cargo = subprocess.Popen(
        ["cargo", "test", "--no-run", "--message-format=json-render-diagnostics", *args], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    binaries = []
    for line in cargo.stdout:
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            package = Path(message["manifest_path"]).parent
            target = message["target"]
            name = f"{package.relative_to(ROOT)} {target['name']}" + (" (unit tests)" if "test" not in target["kind"] else "")
            binaries.append((name, package, message["executable"]))
    if cargo.wait() != 0:
        sys.exit(cargo.returncode)
    return sorted(binaries)


class Run:
    """A test process."""

    def __init__(self, name, command, folder, env):
        self.name, self.command, self.folder, self.env = name, command, folder, env

    def go(self, output):
        began = time.monotonic()
        with open(output, "wb") as file:
            process = subprocess.Popen(self.command, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
            # A process that hangs becomes a failure with its output.
            limit = threading.Timer(LIMIT_S, process.send_signal, [signal.SIGKILL])
            limit.start()
            _, status, used = os.wait4(process.pid, 0)
            limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        self.code = process.returncode
        self.wall_s = time.monotonic() - began
        self.cpu_s = used.ru_utime + used.ru_stime
        self.text = Path(output).read_text(errors="replace")

    def summary(self):
        lines = [line for line in self.text.splitlines() if line.startswith("test result:")]
        return f"{self.name}: {self.wall_s:.1f} s, {self.cpu_s:.1f} s of processors\n" + "\n".join(lines)


def main():
    args = sys.argv[1:] or ["--workspace"]
    binaries = build(args)
    folder = target_folder() / "test-output"
    folder.mkdir(parents=True, exist_ok=True)
    times_file = folder / "times.json"
    times = json.loads(times_file.read_text()) if times_file.is_file() else {}
    # Property tests use the same cases everywhere. PROPTEST_RNG_SEED in the environment selects others.
    shared = {"PROPTEST_RNG_SEED": "1", **os.environ, **toolchain()}

    runs = []
    for name, package, executable in binaries:
        runs.append(Run(name, [executable], package, {**shared, "CARGO_MANIFEST_DIR": str(package)}))
    if not any(arg in ("--test", "--lib", "--bin", "--bins", "--tests") for arg in args):
        runs.append(Run("documentation", ["cargo", "test", "--doc", "--quiet", *args], ROOT, os.environ))
    # The longest first, so that none of them runs alone at the end. One that never ran counts as long.
    runs.sort(key=lambda run: -times.get(run.name, 1e9))

    jobs = int(os.environ.get("JOBS") or len(os.sched_getaffinity(0)) + 1)
    lock, failed, count, began = threading.Lock(), [], len(runs), time.monotonic()

    def work():
        while True:
            with lock:
                if not runs:
                    return
                run = runs.pop(0)
            output = folder / (run.name.replace("/", "-").replace(" ", "-") + ".txt")
            run.go(output)
            with lock:
                times[run.name] = round(run.wall_s, 1)
                if run.code != 0:
                    failed.append(run)
                    print(f"\n{run.text}\n", flush=True)
                print(run.summary(), flush=True)

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times_file.write_text(json.dumps(times, indent=1, sort_keys=True) + "\n")
    for run in failed:
        told = max(run.text.find("\nfailures:\n"), 0)
        print(f"\nFAILED: {run.name} (exit {run.code})\n{run.text[told:][-20000:]}", flush=True)
    print(f"Rust tests: {count} programs in {time.monotonic() - began:.0f} s, {len(failed)} failed.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

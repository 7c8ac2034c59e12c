"""What the programs of bench/ share: they run Tessera and its peers in turn.

Every engine is a process of its own that loads once and then answers requests (bench/workers/protocol.py). They take turns, round by round,
with a pause in between during which thread pools go to sleep, so that a change of the machine's speed affects all of them. A ratio is printed
only where the results agree: the logits of one prompt, compared with PyTorch's in double.
"""

import array
import functools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORKERS = ROOT / "bench" / "workers"
PAUSE = 0.3  # seconds: OpenMP's thread pools spin for 0.2 s after their work


class Worker:
    """One engine."""

    def __init__(self, name, command, env=None):
        self.key, self.times = name, {}
        begun = time.perf_counter()
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=dict(os.environ, **(env or {})))
        first = self.process.stdout.readline()
        if not first:
            raise RuntimeError(f"{name}: {self.process.stderr.read().strip().splitlines()[-1:]}")
        self.first_token = time.perf_counter() - begun
        said = json.loads(first)
        self.engine, self.load, self.keys = said["engine"], said.get("load"), said.get("keys")
        self.errors = {}

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.key} ended: {self.process.stderr.read().strip()[-300:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.key}: {answer['error']}")
        return answer

    def logits(self, ids):
        name = self.ask(do="logits", ids=ids)["file"]
        values = array.array("f")
        values.frombytes(pathlib.Path(name).read_bytes())
        os.unlink(name)
        return values

    def time(self, test, **request):
        time.sleep(PAUSE)
        self.times.setdefault(test, []).append(self.ask(**request)["seconds"])

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
        self.process.stderr.close()


class Process:
    """A process that answers each JSON line with a JSON line, and greets nobody: bench/kernels, and the peers' single ops."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, **(env or {})))

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "it ended"}

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


class Peaks:
    """The peak rates of multiply-adds and of reads, by bench/kernels, of which rates are shares. They change by a factor of 2 within minutes, so they
    are measured beside each test, best of three, which takes about a second; and the best so far counts, as in `tessera bench suite`."""

    def __init__(self, process, device=""):
        self.process, self.device, self.best = process, device, {}

    def measure(self):
        time.sleep(PAUSE)
        for what, unit in (("fma_f32", "gflops"), ("read", "gbytes")):
            answer = self.process.ask(peak=what, repeat=3, device=self.device)
            if unit not in answer:
                fail(f"the peak {what} can't be measured: {answer['error']}")
            self.best[unit] = max(answer[unit], self.best.get(unit, 0))
        return dict(self.best)

    def close(self):
        self.process.close()


def distance(got, wanted):
    """The root mean square of the differences, in units of the standard deviation of `wanted`."""
    n = len(wanted)
    if len(got) != n:
        return math.inf
    mean = sum(wanted) / n
    spread = sum((w - mean) ** 2 for w in wanted)
    apart = sum((g - w) ** 2 for g, w in zip(got, wanted))
    return math.sqrt(apart / spread) if math.isfinite(apart) else math.inf


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")), "?")
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "load_before": round(os.getloadavg()[0], 2)}


def say(**line):
    print(json.dumps(line), flush=True)


def start(name, command):
    """The engine, or None where it can't run, which is reported."""
    try:
        return Worker(name, command)
    except RuntimeError as error:
        say(engine=name, status="unsupported", reason=str(error)[:400])
        return None


def median(times):
    return statistics.median(times)


@functools.lru_cache(maxsize=None)
def opened(build, device):
    """What the library of a build opens for --device: {"device": its name in bench/kernels, "cpu": whether it is a CPU}."""
    done = subprocess.run([sys.executable, WORKERS / "device.py", build / "lib" / "libtessera.so", device], capture_output=True, text=True, check=False)
    if done.returncode:
        fail(done.stderr.strip())
    return json.loads(done.stdout)


def peaks_of(o):
    """The peaks of the device that --device names, as engines of ours are given it."""
    return Peaks(Process([o.build / "bench" / "kernels"]), opened(o.build, o.device)["device"])


def peaks(o):
    """The peaks of this device now, for programs that print no shares of them."""
    top = peaks_of(o)
    told = top.measure()
    top.close()
    return told


def fail(text):
    print(text, file=sys.stderr)
    sys.exit(2)

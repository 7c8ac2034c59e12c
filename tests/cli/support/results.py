"""Files of results as tessera bench writes them, made without measuring, with the right hash."""

import hashlib
import json
import random
import statistics

FMA, READ = 400e9, 40e9  # the peaks of the example's device


def device(**changes):
    return {"backend": "opencl", "platform": "Example Platform", "name": "Example Device", "vendor": "Example", "driver": "1.2", "version":
            "OpenCL 3.0", "type": "cpu", "compute_units": 2, "clock": 2.5e9, "memory": 8 << 30, "threads": None, "usable": True, "reason": "",
            **changes}


def model(name="shape:llama-15m", dtype="f32", **changes):
    return {"name": name, "dtype": dtype, "hash": hashlib.sha256(f"{name} {dtype}".encode()).hexdigest(), "parameters": 15_000_000,
            "bytes": 60_000_000, **changes}


def row(test, kind, samples, **changes):
    """A row with the figures of its samples."""
    unit = changes.get("unit", "tokens/s")
    ordered, lower = sorted(samples), unit == "s"

    def of_hundred(share):  # what so many in a hundred stay within
        at = -(-share * len(ordered) // 100) - 1
        return ordered[at] if lower else ordered[len(ordered) - 1 - at]
    figures = {"median": statistics.median(samples), "lowest": ordered[0], "highest": ordered[-1], "p90": of_hundred(90),
               "p99": of_hundred(99)} if samples else dict.fromkeys(("median", "lowest", "highest", "p90", "p99"))
    return {"device": 0, "model": None, "test": test, "kind": kind, "class": None, "scenario": None, "peer": None, "status": "ok" if samples else
            "error", "reason": "", "noisy": False, "unit": unit, "better": "lower" if lower else "higher", "samples": samples, **figures, "outliers":
            0, "warmup": 5, "tokens": None, "depth": None, "batch": None, "first_token": None, "per_token": None, "flops": None, "bytes": None,
            "roofline": None, "bound_by": None, "predicted": None, "launches": None, "gate": None, "quality": None, "peaks": None, "conditions":
            {"clock": [2.5e9, 2.5e9], "temperature": [None, None], "load": [0.1, 0.2], "steal": 0.01, "energy": None}, "memory": None, "kernels": [],
            **changes}


def job(test, rate, tokens, depth=0, batch=1, class_name="f32", seed=0, spread=0.01, runs=7, **changes):
    draw = random.Random(f"{test} {class_name} {batch} {seed}")
    samples = [rate * (1 + spread * draw.uniform(-1, 1)) for _ in range(runs)]
    prompt = test.startswith("pp")
    flops, read = 2 * 15e6 * tokens * batch, 60e6 * (1 if prompt else tokens)
    best = max(flops / FMA, read / READ)
    return row(test, "prompt" if prompt else "generate", samples, **{
        "model": 0, "class": class_name, "scenario": "single-stream" if batch == 1 else "offline", "tokens": tokens, "depth": depth, "batch": batch,
        "flops": flops, "bytes": read, "roofline": best / (tokens * batch / rate), "bound_by": "arithmetic" if prompt else "memory",
        "predicted": tokens * batch / best * 0.95, "launches": 40, "gate": {"error": 1e-6, "bound": 1e-3}, "kernels": [
            {"op": "linear", "variant": "packed", "tuning": "MR=6 (default)"}, {"op": "attention", "variant": "flash", "tuning": ""}],
        "peaks": {when: {"fma_f32": FMA, "read": READ} for when in ("before", "after")}, "memory": {"host": 1 << 28, "device": 70_000_000}, **changes})


def peaks(**changes):
    return [row("fma f32", "peak", [FMA, FMA * 0.99, FMA * 0.98], unit="FLOP/s", **changes),
            row("read", "peak", [READ, READ * 0.97, READ * 0.95], unit="B/s", **changes),
            row("launch batched", "peak", [5e-6, 6e-6, 7e-6], unit="s", **changes),
            row("fma f16", "peak", [], unit="FLOP/s", status="unsupported", reason="the device has no half precision", **changes)]


def served(rate, test="serve64+16", **changes):
    """The row of 16 requests to a scheduler of 8 slots; `changes` with requests=16 make it one of a newer file."""
    return row(test, "serve", [rate] * 5, **{"model": 0, "class": "f32", "scenario": "offline", "tokens": 16, "depth": 64, "batch": 8,
                                         "flops": 3.2e10, "bytes": 4e9, "roofline": 0.3, "bound_by": "arithmetic", **changes})


def jobs(factor=1.0, seed=0, **changes):
    """The example's jobs, `factor` times as fast."""
    return [job("pp512", 9000 * factor, 512, seed=seed, **changes), job("tg64", 400 * factor, 64, seed=seed, **changes),
            job("tg64@512", 350 * factor, 64, depth=512, seed=seed, **changes), job("tg64", 1800 * factor, 64, batch=8, seed=seed, **changes)]


def results(rows=None, devices=None, models=None, **changes):
    """The object without its hash; `changes` are members of suite, engine or host: suite_class="laptop"."""
    told = {"schema": 2, "suite": {"name": "suite", "version": 1, "class": "smoke", "began": "2026-01-02T03:04:05Z", "seconds": 60.5, "partial":
            False}, "engine": {"name": "tessera", "version": "1.0.0", "commit": "0123456789abcdef", "compiler": "GNU 12.2.0", "flags": "-O2",
                               "build_type": "Release"}, "host": {"os": "Linux", "kernel": "6.1", "cpu": "Example CPU", "cores": 2, "memory": 8 << 30,
                                                                  "governor": None, "load": [0.1, 0.2], "steal": 0.01},
            "devices": devices or [device()], "models": models or [model()], "rows": rows if rows is not None else peaks() + jobs()}
    for name, value in changes.items():
        part, member = name.split("_", 1)
        assert member in told[part], name
        told[part][member] = value
    return told


def write(path, told=None, **changes):
    """Writes results to a file, with the hash that fits."""
    text = json.dumps(told or results(**changes), indent=1)
    assert text.endswith("\n}")
    before = (text[:-2] + ",\n").encode()
    path.write_bytes(before + f' "hash": "{hashlib.sha256(before).hexdigest()}"\n}}\n'.encode())
    return path

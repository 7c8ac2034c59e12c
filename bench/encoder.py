#!/usr/bin/env python3
"""Measures sentence embeddings by all-MiniLM-L6-v2, from texts to unit vectors, with Tessera and its peers in turn.

    bench/encoder.py --model FOLDER --work FOLDER [--peers PYTHON] [--group f32,bf16,int8] [--rounds 3] [--budget 0.4] [--device D] [--build build/release]

tools/get-minilm unpacks the --model folder; the peers' own files are made in --work, once; tools/peers installs PYTHON. It measures batches of 1 and 32
texts of 16, 64 and 256 tokens, 64 texts of 8 to 248 tokens in one call, and one short sentence. It prints one JSON line per cell: sentences/s and the
ratio to the best peer (above 1: Tessera is faster); then the means, the time for mixed lengths beside the time for as many tokens at even lengths, the
time from start to first embedding, and memory. Vectors of f32 must have a cosine of 0.999999 to PyTorch's, or no ratio is printed; Tessera's vectors of
bf16 and of int8 must have 0.999; for peers' bf16 and int8 the cosine is only printed. After group f32, the others' cells have the ratio to
Tessera's own f32 of this run, too. If Tessera misses its bound, the exit code is 1.
"""

import argparse
import array

import math
import os
import pathlib
import subprocess
import sys

from duel import ROOT, WORKERS, fail, machine, median, peaks, say, start

WIDTH = 384
CELLS = [(batch, tokens) for batch in (1, 32) for tokens in (16, 64, 256)]
MIXED = 64
COSINE = {"f32": 0.999999, "bf16": 0.999, "int8": 0.999}
OURS = {}  # Tessera's time of each cell in f32


def peer(o, kind, file=""):
    return [o.peers, WORKERS / "encoder_peers.py", kind, o.model, o.work / file]


# The engines of each group; the first is Tessera.
GROUPS = {
    "f32": lambda o: {"Tessera": [o.peers, WORKERS / "encoder_tessera.py", o.library, o.device, o.model, "dtype=f32"],
                      "ort": peer(o, "ort", "minilm.onnx"), "openvino": peer(o, "openvino-f32", "minilm.onnx"),
                      "ct2": peer(o, "ct2-f32", "minilm-ct2"), "torch": peer(o, "torch-f32")},
    "bf16": lambda o: {"Tessera": [o.peers, WORKERS / "encoder_tessera.py", o.library, o.device, o.model, "dtype=bf16", "compute=bf16"],
                       "openvino": peer(o, "openvino-bf16", "minilm.onnx"), "torch": peer(o, "torch-bf16")},
    "int8": lambda o: {"Tessera": [o.peers, WORKERS / "encoder_tessera.py", o.library, o.device, o.model, "dtype=q8"],
                       "ort": peer(o, "ort", "minilm.int8.onnx"), "ct2": peer(o, "ct2-int8", "minilm-ct2"), "torch": peer(o, "torch-int8")},
}


def vectors(worker):
    name = worker.ask(do="vectors")["file"]
    values = array.array("f")
    values.frombytes(pathlib.Path(name).read_bytes())
    os.unlink(name)
    return values


def cosine(a, b):
    """The lowest cosine of all texts."""
    if len(a) != len(b) or not a:
        return -1.0
    return min(sum(x * y for x, y in zip(a[i:i + WIDTH], b[i:i + WIDTH])) / math.sqrt(sum(x * x for x in a[i:i + WIDTH]) *
               sum(y * y for y in b[i:i + WIDTH])) for i in range(0, len(a), WIDTH))


def expected(o):
    """PyTorch's vectors; computed once, and kept beside the peers' files."""
    path = o.work / "minilm-vectors.f32"
    if not path.exists():
        plain = start("torch", peer(o, "torch-f32"))
        if not plain:
            fail("PyTorch can't be started, and the other engines are compared with its vectors")
        path.write_bytes(vectors(plain).tobytes())
        plain.close()
    values = array.array("f")
    values.frombytes(path.read_bytes())
    return values


def requests(o):
    yield from ((f"batch {batch}, {tokens} tokens", {"do": "embed", "batch": batch, "tokens": tokens, "budget": o.budget}, batch)
                for batch, tokens in CELLS)
    yield "mixed", {"do": "mixed", "batch": MIXED, "budget": o.budget}, MIXED
    yield "one short sentence", {"do": "short", "runs": 100}, 1


def report(o, group, workers, able):
    ours = workers["Tessera"]
    ratios = []
    for name, request, batch in requests(o):
        mine = median(ours.times[name])
        line = {"group": group, "cell": name, "tessera": round(batch / mine, 1), "unit": "sentences/s"}
        rivals = {w.engine: median(w.times[name]) for w in able if w is not ours}
        if rivals:
            best = min(rivals, key=rivals.get)
            line.update(peers={e: round(batch / t, 1) for e, t in rivals.items()}, best=best, ratio=round(rivals[best] / mine, 3))
            if request["do"] == "embed":
                ratios.append(rivals[best] / mine)
        if group == "f32":
            OURS[name] = mine
        elif name in OURS:
            line.update(to_our_f32=round(OURS[name] / mine, 2))
        if name == "one short sentence":
            line.update(p50_ms={w.engine: round(median(w.times[name]) * 1e3, 2) for w in able})
        say(**line)
    if ratios:
        say(group=group, mean_ratio=round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 3), lowest_ratio=round(min(ratios), 3))
    sys.path.insert(0, str(WORKERS))
    import texts
    lengths = texts.mixed(MIXED)[1]
    for w in able:  # the time per token at batch 32, interpolated linearly between lengths
        by = {tokens: median(w.times[f"batch 32, {tokens} tokens"]) / 32 / tokens for tokens in (16, 64, 256)}
        even = sum(n * (by[16] if n <= 16 else by[64] if n <= 128 else by[256]) for n in lengths)
        say(group=group, engine=w.engine, mixed_ms=round(median(w.times["mixed"]) * 1e3, 1), of_its_tokens=round(median(w.times["mixed"]) / even, 2),
            of_the_longest=round(median(w.times["mixed"]) / (MIXED * max(lengths) * by[256]), 2), tokens=sum(lengths), longest=max(lengths))
    say(group=group, first_embedding_s={w.engine: round(w.first_token, 2) for w in workers.values()},
        peak_mib={w.engine: w.ask(do="memory")["bytes"] >> 20 for w in workers.values()})


def duel(o, group, truth):
    workers = {name: start(name, command) for name, command in GROUPS[group](o).items()
               if not o.only or name in ("Tessera", *o.only.split(","))}
    workers = {name: w for name, w in workers.items() if w}
    if "Tessera" not in workers:
        return False
    able = []
    for name, w in workers.items():
        got = vectors(w)
        least = cosine(got, truth)
        say(group=group, engine=w.engine, least_cosine=round(least, 7))
        if least >= COSINE[group] or (group != "f32" and name != "Tessera"):  # such a peer counts whatever its cosine is
            able.append(w)
    for _ in range(o.rounds):
        for name, request, _ in requests(o):
            for w in workers.values():
                w.time(name, **request)
    right = workers["Tessera"] in able
    if right:
        report(o, group, workers, able)
    for w in workers.values():
        w.close()
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--peers", default=sys.executable, help="python with the peers")
    parser.add_argument("--group", default=",".join(GROUPS))
    parser.add_argument("--only", help="measure only these engines, beside Tessera: ort,openvino,ct2,torch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.4, help="seconds for each cell in a round")
    parser.add_argument("--device", default="")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    o = parser.parse_args()
    o.library = o.build / "lib" / "libtessera.so"
    chosen = o.group.split(",")
    if not set(chosen) <= set(GROUPS):
        fail(f"--group {o.group}: groups are {', '.join(GROUPS)}")
    if not (o.work / "minilm-ct2").exists():
        o.work.mkdir(parents=True, exist_ok=True)
        subprocess.run([o.peers, WORKERS / "encoder_peers.py", "make", o.model, o.work], check=True)
    say(schema=1, bench="encoder", **machine(), peaks=peaks(o), rounds=o.rounds)
    truth = expected(o)
    return 0 if all([duel(o, group, truth) for group in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())

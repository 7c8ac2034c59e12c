#!/usr/bin/env python3
"""Measures translation, from ids to ids, with Tessera and CTranslate2 in turn.

    bench/translate.py --work FOLDER [--tiny FOLDER] [--peers PYTHON] [--group base-f32,..] [--torch] [--rounds 2] [--budget 0.5] [--device D]
                       [--build build/release]

In --work, a model with random weights in the shape of the base Transformer (width 512, 6 + 6 layers, vocabulary 32000) is made once; --tiny is a small
model of OpenNMT's as a CTranslate2 folder (letters in, letters out). Groups: base-f32, base-int8, tiny. `base` makes 25 tokens from each sentence of 20,
end token or not. Prints one JSON line per cell: target tokens/s and the ratio (above 1: Tessera is faster); then the geometric mean, the time from start
to first token, and memory. Before that, the greedy ids of eight sentences are compared: in f32 they must be CTranslate2's, except one in twenty, because
a random model's most likely tokens can be tied; in int8 each engine rounds in its own way, and the share of equal ids is only printed. If f32 misses,
the exit code is 1.
"""

import argparse
import math
import pathlib
import subprocess
import sys

from duel import ROOT, WORKERS, Worker, fail, machine, median, peaks, say

# sentences, beams, and whether these and the sentences' lengths change from call to call
CELLS = {"base": [(64, 1, "same"), (64, 4, "same"), (64, 1, "changing"), (64, 4, "changing"), (1, 1, "same"), (1, 4, "same")],
         "tiny": [(1, 1, "same"), (1, 4, "same"), (32, 1, "same"), (32, 4, "same")]}
SAME = 0.95
# name: (model, Tessera's dtype, CTranslate2's)
GROUPS = {"base-f32": ("base", "f32", "float32"), "base-int8": ("base", "q8", "int8"), "tiny": ("tiny", "f32", "float32")}


def engines(o, group):
    kind, ours, theirs = GROUPS[group]
    folder = o.tiny if kind == "tiny" else o.work / "base"
    yield "Tessera", [o.peers, WORKERS / "translate_tessera.py", o.build / "lib" / "libtessera.so", o.device, folder, kind, f"dtype={ours}"]
    yield "ct2", [o.peers, WORKERS / "translate_peers.py", "ct2", o.tiny if kind == "tiny" else o.work / "base-ct2", kind, f"dtype={theirs}"]
    if kind == "base":  # each thread has a batch of its own
        yield "ct2-inter", [o.peers, WORKERS / "translate_peers.py", "ct2", o.work / "base-ct2", kind, f"dtype={theirs}", "threads=1", "inter=0"]
    if kind == "tiny":  # too small for more than one thread
        yield "ct2-1", [o.peers, WORKERS / "translate_peers.py", "ct2", folder, kind, f"dtype={theirs}", "threads=1"]
    if o.torch and group == "base-f32":
        yield "torch", [o.peers, WORKERS / "translate_peers.py", "torch", folder, kind]


def alike(a, b):
    """The share of tokens before the first that differs, over all sentences."""
    total = sum(map(len, b))
    same = 0
    for x, y in zip(a, b):
        n = 0
        while n < min(len(x), len(y)) and x[n] == y[n]:
            n += 1
        same += n
    return same / total if total else 1.0


def title(batch, beams, shapes):
    return f"{batch} sentence{'s' if batch > 1 else ''}, beam {beams}" + (", shapes that change" if shapes == "changing" else "")


def report(group, workers):
    ours, ratios = workers["Tessera"], []
    for cell in CELLS[GROUPS[group][0]]:
        name = title(*cell)
        mine = median(ours.times[name])
        rivals = {w.engine: median(w.times[name]) for w in workers.values() if w is not ours}
        best = min(rivals, key=rivals.get)
        ratios.append(rivals[best] / mine)
        say(group=group, cell=name, tessera=round(1 / mine, 1), unit="target tokens/s", peers={e: round(1 / t, 1) for e, t in rivals.items()}, best=best,
            ratio=round(ratios[-1], 3))
    say(group=group, mean_ratio=round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 3), lowest_ratio=round(min(ratios), 3),
        first_token_s={w.engine: round(w.first_token, 2) for w in workers.values()},
        peak_mib={w.engine: w.ask(do="memory")["bytes"] >> 20 for w in workers.values()})


def duel(o, group):
    try:
        workers = {name: Worker(name, command) for name, command in engines(o, group)}
    except RuntimeError as error:
        say(group=group, status="unsupported", reason=str(error)[:300])
        return False
    share = alike(workers["Tessera"].ask(do="greedy")["ids"], workers["ct2"].ask(do="greedy")["ids"])
    right = share >= SAME or group == "base-int8"
    say(group=group, same_greedy_ids=round(share, 3), status="ok" if right else "failed-accuracy")
    for _ in range(o.rounds if right else 0):
        for batch, beams, shapes in CELLS[GROUPS[group][0]]:
            for w in workers.values():
                w.time(title(batch, beams, shapes), do="translate", batch=batch, beams=beams, shapes=shapes, budget=o.budget)
    if right:
        report(group, workers)
    for w in workers.values():
        w.close()
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--tiny", type=pathlib.Path)
    parser.add_argument("--peers", default=sys.executable, help="python with the peers")
    parser.add_argument("--group")
    parser.add_argument("--torch", action="store_true", help="also measure PyTorch")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--budget", type=float, default=0.5, help="seconds for each cell in a round")
    parser.add_argument("--device", default="")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    o = parser.parse_args()
    chosen = o.group.split(",") if o.group else [g for g in GROUPS if g != "tiny" or o.tiny]
    if not set(chosen) <= set(GROUPS) or ("tiny" in chosen and not o.tiny):
        fail(f"--group {o.group}: groups are {', '.join(GROUPS)}; tiny needs --tiny FOLDER")
    if not (o.work / "base-ct2").exists():
        subprocess.run([o.peers, WORKERS / "translate_peers.py", "make", o.work], check=True)
    say(schema=1, bench="translate", **machine(), peaks=peaks(o), rounds=o.rounds)
    return 0 if all([duel(o, group) for group in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())

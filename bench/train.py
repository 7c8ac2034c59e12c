#!/usr/bin/env python3
"""Measures training steps on random tokens with f32 parameters, including clipping and AdamW, with Tessera and PyTorch in turn.

    bench/train.py [--peers PYTHON] [--shape char-gpt,gpt-10m,gpt2-124m] [--rounds 3] [--steps N] [--only eager]
                   [--compute f32,bf16] [--device D] [--build build/release]

tools/peers installs PYTHON. --compute bf16 also measures Tessera with products of bf16, as "Tessera bf16". Prints one JSON line per shape: tokens/s of
each engine, the ratio of "Tessera" to the best peer (above 1: Tessera is faster), those of "Tessera bf16" to each other engine, the share of the cores'
peak (measured now) at 6 FLOP per parameter and token, the time of the first step including compilation, and peak memory. A loss must begin at the
logarithm of the vocabulary's size; an engine with another loss gets no ratio. If Tessera is slower than GOALS, or needs more memory than the leanest peer,
the exit code is 1.
"""

import argparse
import math
import pathlib
import sys

from duel import ROOT, WORKERS, machine, peaks, say, start

sys.path.insert(0, str(WORKERS))
from trainers import SHAPES  # pylint: disable=wrong-import-position

GOALS = {"char-gpt": 1.2, "gpt-10m": 1.0, "gpt2-124m": 1.1}
STEPS = {"char-gpt": 20, "gpt-10m": 2, "gpt2-124m": 2}  # steps per turn


def duel(o, shape, peak):
    ours = {"f32": "Tessera", "bf16": "Tessera bf16"}
    commands = {ours[compute]: [o.peers, WORKERS / "train_tessera.py", o.library, o.device, shape, compute] for compute in ["f32", *o.compute.split(",")]}
    commands |= {kind: [o.peers, WORKERS / "train_torch.py", kind, shape] for kind in o.only.split(",") if kind}
    workers = {name: start(name, command) for name, command in commands.items()}
    workers = {name: worker for name, worker in workers.items() if worker}
    losses, steps = {}, o.steps or STEPS[shape]
    for _ in range(o.rounds):
        for name, worker in workers.items():
            answer = worker.ask(do="train", steps=steps)
            worker.times.setdefault(shape, []).append(answer["seconds"])
            losses[name] = answer["loss"]
    vocab, *_, batch, tokens = SHAPES[shape]
    able = [name for name in workers if 0.8 < losses[name] / math.log(vocab) < 1.25]
    rate = {name: batch * tokens / min(workers[name].times[shape]) for name in workers}
    memory = {name: worker.ask(do="memory")["bytes"] >> 20 for name, worker in workers.items()}
    line = {"shape": shape, "batch": batch, "tokens": tokens, "rates": {name: round(rate[name], 1) for name in workers}, "unit": "tokens/s",
            "losses": {name: round(loss, 3) for name, loss in losses.items()}, "peak_mib": memory,
            "first_step_s": {name: round(worker.first_token, 2) for name, worker in workers.items()}}
    for worker in workers.values():
        worker.close()
    rivals = [name for name in able if name not in ours.values()]
    if "Tessera bf16" in able:
        line["bf16_to"] = {name: round(rate["Tessera bf16"] / rate[name], 3) for name in able if name != "Tessera bf16"}
    good = "Tessera" in able
    if good:
        line["share_of_peak"] = round(6 * o.parameters[shape] * rate["Tessera"] / peak["gflops"] / 1e9, 3)
    if good and rivals:
        best = max(rivals, key=rate.get)
        line.update(best=best, ratio=round(rate["Tessera"] / rate[best], 3), goal=GOALS[shape])
        good = rate["Tessera"] >= GOALS[shape] * rate[best] and memory["Tessera"] <= min(memory[name] for name in rivals)
    say(**line)
    return good


def parameters(shape):
    vocab, positions, layers, _, width, _, _ = SHAPES[shape]
    return (vocab + positions + 2) * width + layers * (12 * width * width + 13 * width)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=sys.executable, help="python with PyTorch")
    parser.add_argument("--shape", default=",".join(SHAPES))
    parser.add_argument("--only", default="eager,compile", help="measure only these modes of PyTorch: eager, compile, autocast (products in bf16); \"\" for none")
    parser.add_argument("--compute", default="f32", help="f32,bf16: also measure Tessera with products of bf16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=0, help="steps per turn")
    parser.add_argument("--device", default="")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    o = parser.parse_args()
    o.library = str(o.build / "lib" / "libtessera.so")
    o.parameters = {shape: parameters(shape) for shape in SHAPES}
    peak = peaks(o.build / "bench" / "kernels")
    say(schema=1, bench="train", **machine(), **peak)
    held = [duel(o, shape, peak) for shape in o.shape.split(",")]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())

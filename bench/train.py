#!/usr/bin/env python3
"""Measures training steps on random tokens with f32 parameters, including clipping and AdamW, with Tessera and PyTorch in turn.

    bench/train.py [--peers PYTHON] [--shape char-gpt,gpt-10m,gpt2-124m] [--rounds 3] [--steps N] [--only eager,compile,autocast]
                   [--compute f32,bf16] [--device D] [--build build/release]

tools/peers installs PYTHON. --compute bf16 also measures Tessera with products of bf16, as "Tessera bf16"; by default it does if
the device is a CPU with instructions for bf16, and PyTorch's autocast to bf16 runs there, too. Prints one JSON line per shape: tokens/s of each engine, the ratios of "Tessera"
and of "Tessera bf16" to each other engine (above 1: Tessera is faster), which of them have a goal (PyTorch eager; with bf16, autocast and our f32), the
share of the cores' peak at 6 FLOP per parameter and token, the time of the first step including compilation, and peak memory. The peak is measured
before and after each shape; the best so far counts. A loss must begin at the logarithm of the vocabulary's size; an engine with another loss gets no
ratio. If a ratio misses its goal, Tessera needs more memory than the leanest peer, or "Tessera" or "Tessera bf16" was asked for and has no ratio, the
exit code is 1.
"""

import argparse
import math
import pathlib
import sys

from duel import ROOT, WORKERS, machine, opened, peaks_of, say, start

sys.path.insert(0, str(WORKERS))
from trainers import SHAPES  # pylint: disable=wrong-import-position

EAGER = {"char-gpt": 1.6, "gpt-10m": 1.8, "gpt2-124m": 1.8}  # the least ratio of "Tessera" to PyTorch eager
BF16 = {"autocast": 1.3, "Tessera": 1.6}  # the least ratios of "Tessera bf16", on a CPU with instructions for bf16
STEPS = {"char-gpt": 20, "gpt-10m": 2, "gpt2-124m": 2}  # steps per turn


def has_bf16():
    """Whether the CPU has instructions for bf16."""
    return any(flag in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split() for flag in ("avx512_bf16", "avx_bf16", "amx_bf16"))


def ratios(shape, rate, able, bf16):
    """Those of Tessera to the other engines, those that have a goal as {engine to engine: [ratio, goal]}, and whether all of these are reached."""
    goals = {"Tessera": {"eager": EAGER[shape]}, "Tessera bf16": BF16 if bf16 else {}}
    line, judged = {}, {}
    for ours, key in (("Tessera", "to"), ("Tessera bf16", "bf16_to")):
        if ours in able:
            line[key] = {name: round(rate[ours] / rate[name], 3) for name in able if name != ours}
            judged |= {f"{ours} to {name}": [line[key][name], goal] for name, goal in goals[ours].items() if name in line[key]}
    return dict(line, goals=judged), all(ratio >= goal for ratio, goal in judged.values())


def duel(o, shape, top):
    ours = {"f32": "Tessera", "bf16": "Tessera bf16"}
    commands = {ours[compute]: [o.peers, WORKERS / "train_tessera.py", o.library, o.device, shape, compute] for compute in ["f32", *o.compute.split(",")]}
    asked = set(commands)
    commands |= {kind: [o.peers, WORKERS / "train_torch.py", kind, shape] for kind in o.only.split(",") if kind}
    top.measure()
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
    told, reached = ratios(shape, rate, able, o.bf16)
    if "Tessera" in able:
        told["share_of_peak"] = round(6 * o.parameters[shape] * rate["Tessera"] / top.measure()["gflops"] / 1e9, 3)
    say(**line, **told)
    rivals = [memory[name] for name in able if name not in ours.values()]
    return asked <= set(able) and reached and memory["Tessera"] <= min(rivals, default=memory["Tessera"])


def parameters(shape):
    vocab, positions, layers, _, width, _, _ = SHAPES[shape]
    return (vocab + positions + 2) * width + layers * (12 * width * width + 13 * width)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=sys.executable, help="python with PyTorch")
    parser.add_argument("--shape", default=",".join(SHAPES))
    parser.add_argument("--only", help="measure only these modes of PyTorch: eager, compile, autocast (products in bf16); \"\" for none")
    parser.add_argument("--compute", help="f32,bf16: also measure Tessera with products of bf16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=0, help="steps per turn")
    parser.add_argument("--device", default="")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    o = parser.parse_args()
    o.library = str(o.build / "lib" / "libtessera.so")
    o.bf16 = opened(o.build, o.device)["cpu"] and has_bf16()
    o.only = ("eager,compile,autocast" if o.bf16 else "eager,compile") if o.only is None else o.only
    o.compute = o.compute or ("f32,bf16" if o.bf16 else "f32")
    o.parameters = {shape: parameters(shape) for shape in SHAPES}
    top = peaks_of(o)
    say(schema=1, bench="train", **machine(), **top.measure())
    held = [duel(o, shape, top) for shape in o.shape.split(",")]
    top.close()
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Measures decoders with random weights, Tessera and its peers in turn: prefill of 512 tokens, decoding after 64 and 512 tokens (of a Q4_K_M file
after 64 and 2048; of llama-q8-8192 after 8192), the time from start to first token and what of it loading took, each the median of as many starts as
rounds, in turn, and memory.

    bench/decoder.py --models FOLDER [--peers PYTHON] [--group llama-f32,..] [--rounds 5] [--steps 32] [--device D] [--build build/release]

bench/models.py FOLDER makes the models, and bench/models.py FOLDER 1b that of 1b-q4_K_M; tools/peers installs PYTHON. A group is a model with a dtype
for its weights, and the peers that offer it; --group list names the groups. Of llama.cpp's two ways to run attention, the faster counts. Prints one
JSON line per test: both medians, their ratio (above 1: Tessera is faster) beside the goal, if there is one, the dtype in which each engine keeps keys
and values, and the share of the peaks, which are measured before and after each group; the best so far counts. Tessera keeps keys and values as it
does by default: for these models in f16 unless the weights are f32. llama.cpp has f16 in all groups, which is its default; PyTorch has the dtype that
it computes in, CTranslate2 f32. Where logits differ by more than the group's bound, in units of their deviation, no ratio is printed. If Tessera's do,
or a ratio misses its goal, the exit code is 1.
"""

import argparse
import dataclasses
import json
import mmap
import pathlib
import subprocess
import sys
import typing

from duel import ROOT, WORKERS, distance, fail, machine, median, peaks_of, say, start

IDS = list(range(5, 21))
KEY_BYTES = {"f32": 4, "f16": 2, "q8_0": 34 / 32}


@dataclasses.dataclass(frozen=True)
class Shape:
    width: int
    layers: int
    ffn: int
    vocab: int
    kv_width: int
    matrices: int = 3  # of the feed-forward part

    @property
    def layer_weights(self):
        return 2 * self.width * (self.width + self.kv_width) + self.matrices * self.width * self.ffn

    @property
    def weights(self):
        """Those that a step reads: the layers' matrices, and the head's."""
        return self.layers * self.layer_weights + self.width * self.vocab


LLAMA = Shape(768, 12, 2048, 32000, 768)
SHAPES = {"llama-110m": LLAMA, "llama-110m-16k": LLAMA, "gpt2-124m": Shape(768, 12, 3072, 50257, 768, 2),
          "llama-1b-q4_k_m.gguf": Shape(2048, 22, 5632, 32000, 256)}


@dataclasses.dataclass(frozen=True)
class Group:
    model: str  # in the folder of models: what Tessera runs, and whose logits are right
    per_weight: float  # bytes
    bound: float  # of the logits' distance
    options: tuple  # of Tessera's worker
    peers: typing.Callable
    depths: tuple = (64, 512)
    ours: str = ""  # another file of the same model, for Tessera
    goals: tuple = ()  # pairs (test, the least ratio to the best peer)

    def context(self):
        return max(1024, 2 * self.depths[-1])


def tessera(o, group):
    return [o.peers, WORKERS / "tessera.py", o.build / "lib" / "libtessera.so", o.device, o.models / (group.ours or group.model), f"context={group.context()}", *group.options]


def torch(o, model, dtype):
    return [o.peers, WORKERS / "pytorch.py", o.models / model, f"dtype={dtype}"]


def ct2(o, model, dtype):
    return [o.peers, WORKERS / "ct2.py", o.models / f"{model}-ct2", f"dtype={dtype}"]


def llamas(o, kind, model="llama-110m", context=1024):
    path = o.models / f"{model}-{kind}.gguf"
    return {f"llama.cpp {kind} flash {name}": [o.peers, WORKERS / "llamacpp.py", path, f"flash={flash}", "kv=f16", f"context={context}"]
            for flash, name in ((1, "on"), (0, "off"))}


GROUPS = {
    "llama-f32": Group("llama-110m", 4, 0.02, ("dtype=f32",),
                       lambda o: {**llamas(o, "f32"), "torch f32": torch(o, "llama-110m", "f32"), "ct2 f32": ct2(o, "llama-110m", "float32")},
                       goals=(("prefill 512", 1),)),
    "llama-f16": Group("llama-110m", 2, 0.02, ("dtype=f16",), lambda o: llamas(o, "f16")),
    "llama-bf16": Group("llama-110m", 2, 0.05, ("dtype=bf16",), lambda o: {**llamas(o, "bf16"), "torch bf16": torch(o, "llama-110m", "bf16")}),
    "llama-q8": Group("llama-110m", 34 / 32, 0.12, ("dtype=q8",),
                      lambda o: {**llamas(o, "q8_0"), "torch int8": torch(o, "llama-110m", "int8"), "ct2 int8": ct2(o, "llama-110m", "int8")}),
    "llama-q4": Group("llama-110m", 18 / 32, 0.6, ("dtype=q4",), lambda o: llamas(o, "q4_0"), ours="llama-110m-q4_0.gguf",
                      goals=(("decode at 512", 1.3),)),
    "llama-q8-8192": Group("llama-110m-16k", 34 / 32, 0.12, ("dtype=q8",), lambda o: llamas(o, "q8_0", context=16384), (8192,), goals=(("decode at 8192", 2),)),
    "gpt2-f32": Group("gpt2-124m", 4, 0.02, ("dtype=f32",), lambda o: {"torch f32": torch(o, "gpt2-124m", "f32"), "ct2 f32": ct2(o, "gpt2-124m", "float32")}),
    "gpt2-q8": Group("gpt2-124m", 34 / 32, 0.12, ("dtype=q8",), lambda o: {"torch int8": torch(o, "gpt2-124m", "int8"), "ct2 int8": ct2(o, "gpt2-124m", "int8")}),
    # 0.62: of q4_K and q6_K as they are mixed. Products are of int8 here as there, so logits are off as those of q8 are
    "1b-q4_K_M": Group("llama-1b-q4_k_m.gguf", 0.62, 0.12, (), lambda o: llamas(o, "q4_k_m", "llama-1b", 4096), (64, 2048),
                       goals=(("load", 1 / 1.5), ("prefill 512", 1.5), ("decode at 64", 1.15), ("decode at 2048", 1.3))),
}


def tests_of(group):
    return {"prefill 512": {"do": "prefill", "n": 512}, **{f"decode at {depth}": {"do": "decode", "context": depth} for depth in group.depths}}


def expected(o, model):
    """Logits of IDS by PyTorch in double, from a GGUF file by its dequantised weights in single precision; computed once, and kept beside the model."""
    path = o.models / f"{model.removesuffix('.gguf')}-logits.json"
    if not path.exists():
        made = subprocess.run([o.peers, "-c", "import json, pathlib, sys, torch\nfrom transformers import AutoModelForCausalLM as A\np = pathlib.Path(sys.argv[1])\n"
                               "m = A.from_pretrained(p.parent, gguf_file=p.name, dtype=torch.float32) if p.suffix else A.from_pretrained(p, dtype=torch.float64)\n"
                               "print(json.dumps(m.eval()(torch.tensor([json.loads(sys.argv[2])])).logits[0, -1].tolist()))",
                               o.models / model, json.dumps(IDS)], stdout=subprocess.PIPE, check=True)
        path.write_bytes(made.stdout)
    return json.loads(path.read_text())


def work(shape, test, tokens_at):
    """The operations of a test: a multiply-add counts as two."""
    n = 512 if test.startswith("prefill") else 1
    past = n * (n - 1) / 2 if n > 1 else tokens_at
    return 2 * (shape.layers * shape.layer_weights * n + shape.width * shape.vocab) + shape.layers * 4 * shape.width * past


def least_seconds(group, test, keys, steps, top):
    """What a test would take at the peaks: that of its multiply-adds for a prompt, else that of its weights, keys and values."""
    shape, depth = SHAPES[group.model], int(test.split()[-1]) + steps / 2
    flops = work(shape, test, depth) if test.startswith("prefill") else 0
    past = 0 if test.startswith("prefill") else 2 * shape.layers * shape.kv_width * depth * KEY_BYTES[keys]
    return max(flops / top["gflops"], (shape.weights * group.per_weight + past) / top["gbytes"]) * 1e-9


def compare(o, group, ours, rivals, top):
    """Prints what was measured. Returns whether Tessera's logits are right and the goals are reached."""
    bound, goals = GROUPS[group].bound, dict(GROUPS[group].goals)
    right = reached = True
    for worker in (ours, *rivals):
        if max(worker.errors.values()) > bound:
            right = right and worker is not ours
            say(group=group, engine=worker.engine, status="failed-accuracy", distance=worker.errors["logits"], bound=bound)
    able = [w for w in rivals if max(w.errors.values()) <= bound]
    for test in tests_of(GROUPS[group]):
        mine = median(ours.times[test])
        tokens = 512 if test.startswith("prefill") else 1
        least = least_seconds(GROUPS[group], test, ours.keys, o.steps, top)
        line = {"schema": 1, "group": group, "test": test, "tessera": round(tokens / mine, 1), "unit": "tokens/s",
                "roofline": round(least / mine, 3), "distance": round(ours.errors["logits"], 5), "spread": spread(ours.times[test]),
                "keys": {w.engine: w.keys for w in (ours, *able)}}
        if able:
            best = min(able, key=lambda w: median(w.times[test]))
            line["peers"] = {w.engine: round(tokens / median(w.times[test]), 1) for w in able}
            line["best"] = best.engine
            if right:
                line.update(ratio=round(median(best.times[test]) / mine, 3), **({"goal": goals[test]} if test in goals else {}))
                reached = reached and line["ratio"] >= line.get("goal", 0)
        say(**line)
    say(group=group, peak_mib={w.engine: w.ask(do="memory")["bytes"] >> 20 for w in (ours, *rivals)})
    return right and reached


def touch_memory():
    """Writes to 2 GiB and frees them: the host of a virtual machine takes free pages back within seconds, and needs up to 2 s per GiB to find others.
    An engine that starts next is given memory as fast as on a machine without a host, as it finds its file in the page cache."""
    with mmap.mmap(-1, 2 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        piece = bytes(1 << 20)
        while memory.tell() < len(memory):
            memory.write(piece)


def compare_starts(o, group, commands):
    """Starts every engine once per round, in turn. Prints medians of seconds, and the ratio of loading to the best peer. Returns whether its goal is
    reached."""
    first, load, ours = {}, {}, None
    for _ in range(o.rounds):
        for name, command in commands.items():
            touch_memory()
            if worker := start(name, command):
                ours = worker.engine if name == "Tessera" else ours
                first.setdefault(worker.engine, []).append(worker.first_token)
                load.setdefault(worker.engine, []).append(worker.load)
                worker.close()
    first, load = ({engine: round(median(times), 3) for engine, times in table.items()} for table in (first, load))
    line = {"group": group, "test": "load", "unit": "s", "first_token": first, "load": load}
    rivals = set(load) - {ours}
    if not ours or not rivals:
        say(**line)
        return bool(ours)
    best = min(rivals, key=load.get)
    goal = dict(GROUPS[group].goals).get("load")
    ratio = round(load[best] / load[ours], 3)
    say(**line, best=best, ratio=ratio, **({"goal": round(goal, 3)} if goal else {}))
    return ratio >= (goal or 0)


def spread(times):
    return round((max(times) - min(times)) / median(times), 3)


def duel(o, group, top):
    top.measure()
    tests = tests_of(GROUPS[group])
    commands = {"Tessera": tessera(o, GROUPS[group]), **GROUPS[group].peers(o)}
    quick = compare_starts(o, group, commands)
    ours, *rivals = (start(name, command) for name, command in commands.items())
    rivals = [w for w in rivals if w]
    if not ours:
        for w in rivals:
            w.close()
        return False
    wanted = expected(o, GROUPS[group].model)
    for worker in (ours, *rivals):
        worker.errors["logits"] = distance(worker.logits(IDS), wanted)
        for test in tests.values():  # warms up: kernels are built, memory is touched
            worker.ask(**test, **({"steps": 2} if test["do"] == "decode" else {}))
    for _ in range(o.rounds):
        for test, request in tests.items():
            for worker in (ours, *rivals):
                worker.time(test, **request, **({"steps": o.steps} if request["do"] == "decode" else {}))
    right = compare(o, group, ours, rivals, top.measure())
    for worker in (ours, *rivals):
        worker.close()
    return right and quick


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--peers", default=sys.executable, help="python with the peers")
    parser.add_argument("--group", default=",".join(GROUPS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--device", default="")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    o = parser.parse_args()
    if o.group == "list":
        print("\n".join(GROUPS))
        return 0
    chosen = o.group.split(",")
    if not set(chosen) <= set(GROUPS):
        fail(f"--group {o.group}: groups are {', '.join(GROUPS)}")
    top = peaks_of(o)
    say(schema=1, bench="decoder", **machine(), peaks=top.measure(), rounds=o.rounds, steps=o.steps)
    right = [duel(o, group, top) for group in chosen]
    top.close()
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Measures decoders with random weights, Tessera and its peers in turn: prefill of 512 tokens, decoding after 64 and 512 tokens, the time
from start to first token, and memory.

    bench/decoder.py --models FOLDER [--peers PYTHON] [--group llama-f32,..] [--rounds 5] [--steps 32] [--device D] [--build build/release]

bench/models.py makes FOLDER; tools/peers installs PYTHON. A group is a model with a dtype for its weights, and the peers that offer it;
--group list names the groups. Of llama.cpp's two ways to run attention, the faster counts. Prints one JSON line per test: both medians,
their ratio (above 1: Tessera is faster), and the share of the peaks that were measured at the start. Where logits differ by more than the
group's bound, in units of their deviation, no ratio is printed, and the exit code is 1.
"""

import argparse
import json
import pathlib
import sys

from duel import ROOT, WORKERS, distance, fail, machine, median, peaks, say, start

IDS = list(range(5, 21))


def tessera(o, model, *options):
    return [o.peers, WORKERS / "tessera.py", o.build / "lib" / "libtessera.so", o.device, o.models / model, *options]


def llama(o, kind, flash):
    return [o.peers, WORKERS / "llamacpp.py", o.models / f"llama-110m-{kind}.gguf", f"flash={flash}"]


def torch(o, model, dtype):
    return [o.peers, WORKERS / "pytorch.py", o.models / model, f"dtype={dtype}"]


def ct2(o, model, dtype):
    return [o.peers, WORKERS / "ct2.py", o.models / f"{model}-ct2", f"dtype={dtype}"]


def llamas(o, kind):
    return {f"llama.cpp {kind} flash on": llama(o, kind, 1), f"llama.cpp {kind} flash off": llama(o, kind, 0)}


# name: (stored bytes a weight, bound of the logits' distance, Tessera, peers)
GROUPS = {
    "llama-f32": (4, 0.02, lambda o: tessera(o, "llama-110m", "dtype=f32"),
                  lambda o: {**llamas(o, "f32"), "torch f32": torch(o, "llama-110m", "f32"), "ct2 f32": ct2(o, "llama-110m", "float32")}),
    "llama-f16": (2, 0.02, lambda o: tessera(o, "llama-110m", "dtype=f16"), lambda o: llamas(o, "f16")),
    "llama-bf16": (2, 0.05, lambda o: tessera(o, "llama-110m", "dtype=bf16"),
                   lambda o: {**llamas(o, "bf16"), "torch bf16": torch(o, "llama-110m", "bf16")}),
    "llama-q8": (34 / 32, 0.12, lambda o: tessera(o, "llama-110m", "dtype=q8"),
                 lambda o: {**llamas(o, "q8_0"), "torch int8": torch(o, "llama-110m", "int8"), "ct2 int8": ct2(o, "llama-110m", "int8")}),
    "llama-q4": (18 / 32, 0.6, lambda o: tessera(o, "llama-110m-q4_0.gguf", "dtype=q4"), lambda o: llamas(o, "q4_0")),
    "gpt2-f32": (4, 0.02, lambda o: tessera(o, "gpt2-124m", "dtype=f32"),
                 lambda o: {"torch f32": torch(o, "gpt2-124m", "f32"), "ct2 f32": ct2(o, "gpt2-124m", "float32")}),
    "gpt2-q8": (34 / 32, 0.12, lambda o: tessera(o, "gpt2-124m", "dtype=q8"),
                lambda o: {"torch int8": torch(o, "gpt2-124m", "int8"), "ct2 int8": ct2(o, "gpt2-124m", "int8")}),
}
TESTS = {"prefill 512": {"do": "prefill", "n": 512}, "decode at 64": {"do": "decode", "context": 64}, "decode at 512": {"do": "decode", "context": 512}}


def expected(o, model):
    """Logits of IDS by PyTorch in double; computed once, and kept beside the model."""
    path = o.models / f"{model}-logits.json"
    if not path.exists():
        import subprocess
        made = subprocess.run([o.peers, "-c", "import json, sys, torch\nfrom transformers import AutoModelForCausalLM as A\n"
                               "m = A.from_pretrained(sys.argv[1], dtype=torch.float64).eval()\n"
                               "print(json.dumps(m(torch.tensor([json.loads(sys.argv[2])])).logits[0, -1].tolist()))",
                               o.models / model, json.dumps(IDS)], stdout=subprocess.PIPE, check=True)
        path.write_bytes(made.stdout)
    return json.loads(path.read_text())


def work(model, test, tokens_at):
    """The operations of a test (a multiply-add counts as two), and the weights that a step reads: the layers' matrices, and the head for one row."""
    width, ffn, vocab, gated = (768, 2048, 32000, 3) if model == "llama-110m" else (768, 3072, 50257, 2)
    layers = 12 * (4 * width * width + gated * width * ffn)
    n = 512 if test.startswith("prefill") else 1
    past = n * (n - 1) / 2 if n > 1 else tokens_at
    return 2 * (layers * n + width * vocab) + 12 * 4 * width * past, layers + width * vocab


def compare(o, group, ours, rivals, top):
    per_weight, bound, *_ = GROUPS[group]
    model = "llama-110m" if group.startswith("llama") else "gpt2-124m"
    right = True
    for worker in (ours, *rivals):
        if max(worker.errors.values()) > bound:
            right = right and worker is not ours
            say(group=group, engine=worker.engine, status="failed-accuracy", distance=worker.errors["logits"], bound=bound)
    able = [w for w in rivals if max(w.errors.values()) <= bound]
    for test in TESTS:
        mine = median(ours.times[test])
        tokens = 512 if test.startswith("prefill") else 1
        flops, weights = work(model, test, int(test.split()[-1]) + o.steps / 2)
        least = max(flops / top["gflops"] if test.startswith("prefill") else 0, weights * per_weight / top["gbytes"]) * 1e-9
        line = {"schema": 1, "group": group, "test": test, "tessera": round(tokens / mine, 1), "unit": "tokens/s",
                "roofline": round(least / mine, 3), "distance": round(ours.errors["logits"], 5), "spread": spread(ours.times[test])}
        if able:
            best = min(able, key=lambda w: median(w.times[test]))
            line["peers"] = {w.engine: round(tokens / median(w.times[test]), 1) for w in able}
            line["best"] = best.engine
            if right:
                line["ratio"] = round(median(best.times[test]) / mine, 3)
        say(**line)
    say(group=group, first_token_s={w.engine: round(w.first_token, 2) for w in (ours, *rivals)},
        peak_mib={w.engine: w.ask(do="memory")["bytes"] >> 20 for w in (ours, *rivals)})
    return right


def spread(times):
    return round((max(times) - min(times)) / median(times), 3)


def duel(o, group, top):
    _, _, mine, theirs = GROUPS[group]
    ours = start("Tessera", mine(o))
    rivals = [w for w in (start(name, command) for name, command in theirs(o).items()) if w]
    if not ours:
        for w in rivals:
            w.close()
        return False
    wanted = expected(o, "llama-110m" if group.startswith("llama") else "gpt2-124m")
    for worker in (ours, *rivals):
        worker.errors["logits"] = distance(worker.logits(IDS), wanted)
        for test in TESTS.values():  # warms up: kernels are built, memory is touched
            worker.ask(**test, **({"steps": 2} if test["do"] == "decode" else {}))
    for _ in range(o.rounds):
        for test, request in TESTS.items():
            for worker in (ours, *rivals):
                worker.time(test, **request, **({"steps": o.steps} if request["do"] == "decode" else {}))
    right = compare(o, group, ours, rivals, top)
    for worker in (ours, *rivals):
        worker.close()
    return right


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
    top = peaks(o.build / "bench" / "kernels")
    say(schema=1, bench="decoder", **machine(), peaks=top, rounds=o.rounds, steps=o.steps)
    return 0 if all([duel(o, group, top) for group in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())

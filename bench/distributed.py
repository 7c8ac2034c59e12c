#!/usr/bin/env python3
"""Measures two ranks of one thread each beside one rank of two threads, and training beside PyTorch's DistributedDataParallel with gloo, in turn.

    bench/distributed.py [--shape char-gpt,gpt-10m] [--peers PYTHON] [--model FOLDER] [--split N] [--rounds 3] [--steps N] [--device D] [--build build/release]

tools/peers installs PYTHON, tools/get-minilm the --model of embeddings ("": none are measured). Training: random characters, an update of two batches
(one a rank), f32, AdamW, clipping. A rate is tokens/s of the updates after the first ones, as tessera train's log and PyTorch's ranks tell them; the best
of all rounds. Embeddings: the time of the whole command `tessera embed` for --lines lines. --split N: that of `tessera translate` and `generate --lines` for
N lines, two ranks with --split-layers. Prints a JSON line for each, with the ratios; the bytes of one rank and of two must be equal. If a ratio misses its
goal, the exit code is 1.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import string
import subprocess
import sys
import tempfile
import time

from duel import PAUSE, ROOT, WORKERS, fail, machine, median, say

sys.path.insert(0, str(WORKERS))
from trainers import SHAPES  # pylint: disable=wrong-import-position

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
STEPS = {"char-gpt": 120, "gpt-10m": 12}
GOALS = {"to_one_rank": 0.9, "to_ddp": 1.2, "embed": 0.95, "split": 0.8}
CHARACTERS = (string.ascii_letters + string.digits + " .\n")[:65]


def command(o, ranks, *arguments):
    """One rank of two threads, or two of one."""
    words = [str(o.build / "bin" / "tessera"), *map(str, arguments), "-q", "-t", str(2 // ranks), *(["-d", o.device] if o.device else [])]
    return words if ranks == 1 else [*MPIRUN, "-n", "2", *words]


def call(words, what, **options):
    time.sleep(PAUSE)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode:
        fail(f"{what}: {done.stderr.strip()[-400:]}")
    return done.stdout


def sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ---- training ----

def train(o, shape, steps, ranks, folder):
    """Tokens a second, and the hash of the weights."""
    vocab, _, layers, heads, width, batch, tokens = SHAPES[shape]
    text, out = folder / "text", folder / f"out{ranks}"
    draw = random.Random(0)
    text.write_text(CHARACTERS + "".join(draw.choices(CHARACTERS, k=400000)))
    assert len(CHARACTERS) == vocab
    every = max(1, steps // 6)
    settings = {"layers": layers, "heads": heads, "hidden_size": width, "ffn": 4 * width, "block_size": tokens, "per_device_train_batch_size": batch,
                "gradient_accumulation_steps": 2, "max_steps": steps, "logging_steps": every, "eval_steps": steps, "save_steps": steps, "eval_batches": 1,
                "sample_tokens": 1, "warmup_steps": 1}
    call(command(o, ranks, "train", text, "--recipe", "char-gpt", "-o", out, *[word for key in settings for word in ("--set", f"{key}={settings[key]}")]),
         f"tessera train on {ranks} ranks")
    rates = [line["tokens_per_second"] for line in map(json.loads, (out / "log.jsonl").read_text().splitlines()) if "tokens_per_second" in line]
    return median(rates[1:-1]), sha(out / "model.safetensors")


def measure_training(o, shape):
    steps = o.steps or STEPS[shape]
    rates, hashes = {"one": [], "two": [], "ddp": []}, set()
    for _ in range(o.rounds):
        for ranks, name in ((1, "one"), (2, "two")):
            with tempfile.TemporaryDirectory() as folder:
                rate, weights = train(o, shape, steps, ranks, pathlib.Path(folder))
            rates[name].append(rate)
            hashes.add(weights)
        if o.peers:
            rates["ddp"].append(float(call([o.peers, str(WORKERS / "train_ddp.py"), shape, str(steps)], "PyTorch").split()[-1]))
    best = {name: max(values) for name, values in rates.items() if values}
    line = {"shape": shape, "rates": {name: round(rate, 1) for name, rate in best.items()}, "unit": "tokens/s", "equal": len(hashes) == 1,
            "to_one_rank": round(best["two"] / best["one"], 3)}
    if "ddp" in best:
        line["to_ddp"] = round(best["two"] / best["ddp"], 3)
    say(**line)
    return line["equal"] and all(line[key] >= GOALS[key] for key in GOALS if key in line)


# ---- commands that work on lines ----

def write_lines(path, words, n, longest):
    draw = random.Random(0)
    path.write_text("".join(" ".join(draw.choices(words.split(), k=draw.randint(4, longest))) + "\n" for _ in range(n)))


def measure_command(o, test, lines, goal, together, *arguments):
    """The whole command, by one rank and by two, which get the arguments `together`; it writes to standard output or to `out`."""
    times, hashes = {1: [], 2: []}, set()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_lines(folder / "lines", *lines)
        for turn in range(o.rounds + 1):
            for ranks in (1, 2):
                begun = time.perf_counter()
                text = call(command(o, ranks, *arguments, *(together if ranks == 2 else ())), f"{test} on {ranks} ranks", cwd=folder)
                if turn:  # the first fills the caches
                    times[ranks].append(time.perf_counter() - begun - PAUSE)
                hashes.add(sha(folder / "out") if (folder / "out").exists() else text)
    line = {"test": test, "lines": lines[1], "seconds": {str(ranks): round(median(values), 2) for ranks, values in times.items()},
            "equal": len(hashes) == 1, "ratio": round(median([one / two for one, two in zip(times[1], times[2])]), 3)}
    say(**line)
    return line["equal"] and line["ratio"] >= goal


def measure_embeddings(o):
    lines = ("a model reads words and makes numbers of them", o.lines, 60)
    return measure_command(o, "embed", lines, GOALS["embed"], (), "embed", "-m", o.model, "-o", "out", "lines")


def measure_split(o):
    """Layers of the bundled models on two ranks, beside all layers on one."""
    split, goal = ("--split-layers",), GOALS["split"]
    german = ("der Hund sieht ein Haus und wir gehen heute nicht zum Bahnhof weil es regnet", o.split, 16)
    prompts = ("the king and my lord come to this house with all that we have", o.split, 8)
    return all([measure_command(o, "translate --split-layers", german, goal, split, "translate", "-f", "lines"),
                measure_command(o, "generate --lines --split-layers", prompts, goal, split, "generate", "-m", "shakespeare", "--lines", "-f", "lines", "-n", "64",
                                "--ignore-eos", "--temp", "0")])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="", help="python with PyTorch; none: training is measured without it")
    parser.add_argument("--shape", default=",".join(STEPS), help="\"\": no training")
    parser.add_argument("--model", default="", help="a folder of MiniLM")
    parser.add_argument("--lines", type=int, default=16000)
    parser.add_argument("--split", type=int, default=0, help="lines for the commands with --split-layers; 0: they are not measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=0, help="updates of a run")
    parser.add_argument("--device", default="")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    o = parser.parse_args()
    os.environ["TESSERA_TRANSPORT_PATH"] = str(o.build / "lib" / "tessera" / "transports")
    say(schema=1, bench="distributed", **machine())
    held = [measure_training(o, shape) for shape in o.shape.split(",") if shape]
    if o.model:
        held.append(measure_embeddings(o))
    if o.split:
        held.append(measure_split(o))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())

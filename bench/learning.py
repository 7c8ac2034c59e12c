#!/usr/bin/env python3
"""Compares what a model learns with PyTorch: trains the char-gpt recipe on one text with `tessera train` and with a loop in PyTorch, and scores
both models in the same way.

    bench/learning.py TEXT --peers PYTHON [--steps 2000] [--seed 1] [--build build/release] [--device D]

tools/peers installs PYTHON (torch, transformers). The first 90 % of TEXT are for training, the rest for scoring. Architecture, number and shape
of batches, schedule, AdamW and clipping are the same; each draws its own windows and initial weights. transformers scores both on the same
windows of the rest, in nats per character. Prints one JSON line; the exit code is 1 if Tessera's loss is above PyTorch's by more than 0.02.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
ALLOWED = 0.02


def split(text, folder):
    at = len(text) * 9 // 10
    for name, part in (("train.txt", text[:at]), ("rest.txt", text[at:])):
        (folder / name).write_text(part, encoding="utf-8")


def run_tessera(o, folder):
    begun = time.perf_counter()
    command = [o.build / "bin" / "tessera", "train", folder / "train.txt", "--validation", folder / "rest.txt", "--recipe", "char-gpt",
               "-o", folder / "tessera", "-q", "--set", f"max_steps={o.steps}", "--set", f"seed={o.seed}"]
    subprocess.run([str(part) for part in command + (["--device", o.device] if o.device else [])], check=True)
    return time.perf_counter() - begun


def rate_at(settings, steps, t):
    peak, last, warmup = settings["learning_rate"], settings["min_learning_rate"], settings["warmup_steps"]
    if t < warmup:
        return peak * (t + 1) / warmup
    return last + (peak - last) * (1 + math.cos(math.pi * (t - warmup) / max(1, steps - warmup))) / 2


def learn(o, folder):
    """Runs in PYTHON: trains with PyTorch, and prints the losses of both models."""
    import torch  # pylint: disable=import-outside-toplevel
    from torch.nn import functional as F  # pylint: disable=import-outside-toplevel
    from transformers import AutoModelForCausalLM, AutoTokenizer  # pylint: disable=import-outside-toplevel

    settings = json.loads((ROOT / "recipes" / "char-gpt.json").read_text())["training"]
    torch.manual_seed(o.seed)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    tokenizer = AutoTokenizer.from_pretrained(folder / "tessera")
    theirs = AutoModelForCausalLM.from_pretrained(folder / "tessera").eval()
    ours = type(theirs)(theirs.config)
    words = {name: torch.tensor(tokenizer((folder / name).read_text(encoding="utf-8"), add_special_tokens=False)["input_ids"])
             for name in ("train.txt", "rest.txt")}
    T, B, data = settings["block_size"], settings["per_device_train_batch_size"], words["train.txt"]
    flat = [p for p in ours.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": [p for p in ours.parameters() if p.dim() > 1], "weight_decay": settings["weight_decay"]},
                                   {"params": flat, "weight_decay": 0.0}], betas=(settings["adam_beta1"], settings["adam_beta2"]))

    def loss_of(model, ids):
        logits = model(ids[:, :-1]).logits
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    begun = time.perf_counter()
    ours.train()
    for t in range(o.steps):
        at = torch.randint(0, len(data) - T - 1, (B,)).tolist()
        for group in optimizer.param_groups:
            group["lr"] = rate_at(settings, o.steps, t)
        loss = loss_of(ours, torch.stack([data[i:i + T + 1] for i in at]))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(ours.parameters(), settings["max_grad_norm"])
        optimizer.step()
    seconds = time.perf_counter() - begun
    rest = words["rest.txt"]
    windows = rest[:(len(rest) - 1) // T * T + 1].unfold(0, T + 1, T)
    with torch.no_grad():
        scores = [sum(loss_of(model.eval(), part).item() * len(part) for part in windows.split(64)) / len(windows) for model in (theirs, ours)]
    print(json.dumps({"scores": scores, "seconds": seconds}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--device")
    parser.add_argument("--learn", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.learn:
        return learn(o, pathlib.Path(o.learn))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        split(o.text.read_text(encoding="utf-8"), folder)
        seconds = run_tessera(o, folder)
        answer = subprocess.run([o.peers, __file__, str(o.text), "--steps", str(o.steps), "--seed", str(o.seed), "--learn", name],
                                check=True, stdout=subprocess.PIPE, text=True).stdout
    answer = json.loads(answer.splitlines()[-1])
    tessera, torch = answer["scores"]
    print(json.dumps({"bench": "learning", "steps": o.steps, "seed": o.seed, "loss": {"Tessera": round(tessera, 4), "PyTorch": round(torch, 4)},
                      "seconds": {"Tessera": round(seconds, 1), "PyTorch": round(answer["seconds"], 1)}, "allowed": ALLOWED}))
    return int(tessera > torch + ALLOWED)


if __name__ == "__main__":
    sys.exit(main())

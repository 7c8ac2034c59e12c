#!/usr/bin/env python3
"""Models of two layers learn to copy, to sort and to add only from examples, and are right on examples that they never saw.

Each task has lines "question<TAB>answer" for a decoder of characters: it reads the question, writes the answer, and learns only from the answer.
The same model in PyTorch is right on all of 300 held-back examples after 60 (copy), 600 (add) and 700 (sort) steps.
"""

import json
import random

from support.command import DEVICE, has_device, main, run, skip

HELD = 200  # examples that are kept out of training
WANTED = 0.99
RECIPE = {
    "name": "tiny",
    "model": {"kind": "decoder", "layers": 2, "hidden_size": 64, "heads": 4, "ffn": 256, "positions": "learned", "max_positions": 32, "norm": "pre",
              "norm_type": "layer", "activation": "gelu", "tied": True},
    "tokenizer": {"type": "char"},
    "training": {"pack": False, "block_size": 24, "per_device_train_batch_size": 64, "learning_rate": 3e-3, "lr_scheduler_type": "cosine",
                 "warmup_steps": 50, "weight_decay": 0.1, "adam_beta1": 0.9, "adam_beta2": 0.98, "max_grad_norm": 1.0, "dropout": 0.0, "seed": 1,
                 "validation_split": 0, "save_steps": 0, "logging_steps": 50, "sample_tokens": 0},
}

if not has_device():
    skip(f"no device {DEVICE}")


def copy(chance):
    word = "".join(chance.choice("abcdefghij") for _ in range(6))
    return word + ">", word


def sort(chance):
    digits = [chance.choice("0123456789") for _ in range(6)]
    return "".join(digits) + ">", "".join(sorted(digits))


def add(chance):
    """The sum with its last digit first, as one adds by hand."""
    a, b = chance.randrange(100), chance.randrange(100)
    return f"{a:02}+{b:02}=", f"{a + b:03}"[::-1]


def learn(folder, task, steps, examples=12000):
    chance = random.Random(1)
    held = dict(task(chance) for _ in range(HELD))
    pairs = [pair for pair in (task(chance) for _ in range(examples)) if pair[0] not in held]
    data, recipe, out = folder / "pairs.tsv", folder / "recipe.json", folder / "out"
    data.write_text("".join(f"{question}\t{answer}\n" for question, answer in pairs))
    recipe.write_text(json.dumps(RECIPE))
    run("train", "-q", "-d", DEVICE, data, "-o", out, "--recipe", recipe, "--set", f"max_steps={steps}")
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in log if "loss" in line]
    told = run("generate", "-q", "-d", DEVICE, "-m", out, "--json", "--temperature", "0", "-n", "8", *held).text
    right = sum(entry["text"] == answer for entry, answer in zip(json.loads(told), held.values()))
    print(f"loss {losses[0]:.3f} to {losses[-1]:.4f}; {right} of {len(held)} right")
    assert right >= WANTED * len(held), [(q, a, entry["text"]) for (q, a), entry in zip(held.items(), json.loads(told)) if entry["text"] != a][:10]


def test_copy(folder):
    learn(folder, copy, 150)


def test_sort(folder):
    learn(folder, sort, 800)


def test_add(folder):
    learn(folder, add, 800)


main(globals())

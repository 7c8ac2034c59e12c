"""Runs of `tessera train` with a model so small that a step takes milliseconds, and the files that they write."""

import hashlib
import json
import random

from support import words
from support.command import equal

REFERENCE = ("-d", "reference", "-q")
SMALL = ("--set", "block_size=8", "--set", "per_device_train_batch_size=4", "--set", "learning_rate=0.01", "--set", "sample_tokens=4",
         "--set", "lr_scheduler_type=constant", "--set", "eval_batches=2", "--set", "save_total_limit=0", "--set", "dropout=0.1")


def make(folder):
    """A model that reads words, and some text for it."""
    model, _ = words.model(folder, "gpt2-tiny")
    rng = random.Random(1)
    (folder / "text.txt").write_text(" ".join(rng.choice(words.WORDS[:6]) for _ in range(2000)))
    return model, folder / "text.txt"


def command(model, text, out, steps, *more, device=REFERENCE):
    return ("train", text, "-o", out, "-m", model, *device, *SMALL, "--set", f"max_steps={steps}", *more)


def every(steps):
    return "--set", f"save_steps={steps}"


def result(out, step, model="model.safetensors"):
    """What must not differ between two runs: the model, and everything in the last checkpoint."""
    last = out / f"checkpoint-{step}"
    return [(out / model).read_bytes(), (last / model).read_bytes(), (last / "state.safetensors").read_bytes()]


def kept(out):
    """What all checkpoints of a run hold: of each file its size and hash, and the manifest without what a clock says."""
    return [{key: value for key, value in json.loads((path / "manifest.json").read_text()).items() if key != "seconds"} for path in checkpoints(out)]


def whole(checkpoint):
    files = json.loads((checkpoint / "manifest.json").read_text())["files"]
    for name, facts in files.items():
        data = (checkpoint / name).read_bytes()
        equal((len(data), hashlib.sha256(data).hexdigest()), (facts["size"], facts["sha256"]), f"{checkpoint.name}/{name}")
    assert {"state.safetensors", "manifest.json"} - set(files) == {"manifest.json"} and len(files) > 2, files


def checkpoints(out):
    found = [path for path in out.glob("checkpoint-*") if path.name[11:].isdigit()]
    return sorted(found, key=lambda path: int(path.name[11:]))


def lines_of_log(out):
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def steps_in(lines):
    return [line["step"] for line in lines if "loss" in line]

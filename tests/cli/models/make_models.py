#!/usr/bin/env python3
"""tools/make-models: what it refuses, and how it prepares texts before training."""

import importlib.machinery
import importlib.util
import json
import re
import shutil
import struct
import subprocess
import sys

from support.command import GOLDEN, SOURCE, equal, main, read_safetensors, run

TOOL = SOURCE / "tools" / "make-models"


def tool():
    """The functions of tools/make-models, as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("make_models", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_models", loader))
    loader.exec_module(module)
    return module


def call(*arguments):
    return subprocess.run([sys.executable, TOOL, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_inputs_are_named(_):
    done = call("--inputs")
    equal(done.returncode, 0, done)
    equal(len(re.findall(r"^\S+  [0-9a-f]{64}$", done.stdout, re.M)), 4)
    for word in ("CC BY 4.0", "CC BY 2.0", "PolyAI-LDN", "manythings.org", "karpathy"):
        assert word in done.stdout, done.stdout


def test_other_inputs_are_refused(folder):
    (folder / "data" / "deep").mkdir(parents=True)
    done = call("--data", folder / "data", "--only", "shakespeare", "--work", folder / "work", "--models", folder / "models")
    equal(done.returncode, 3, done)
    assert "has no input.txt; the SHA-256 must be 86c4e6aa" in done.stderr and "github.com/karpathy/char-rnn" in done.stderr, done.stderr
    (folder / "data" / "deep" / "input.txt").write_text("other text\n")
    done = call("--data", folder / "data", "--only", "shakespeare", "--work", folder / "work", "--models", folder / "models")
    equal(done.returncode, 3, done)
    assert re.search(r"deep/input.txt has SHA-256 [0-9a-f]{64}; the SHA-256 must be 86c4e6aa", done.stderr), done.stderr
    assert not (folder / "models").exists() and not (folder / "work").exists(), "something was made"
    equal([call().returncode, call("--data", folder, "--only", "none").returncode], [2, 2])


def test_pairs_with_a_sentence_in_common_stay_together(_):
    make = tool()
    make.HELD_BACK = 20
    pairs = [(f"Satz {i // 3}!", f"Sentence {i}.") for i in range(600)] + [(f"satz {i}", f"another {i}") for i in range(150)]
    train, validation, test = make.split_pairs(pairs)
    equal((len(validation), len(test)), (20, 20))
    equal(make.split_pairs(pairs), (train, validation, test), "the same sets in every run")
    sides = [{make.bare(sentence) for pair in part for sentence in pair} for part in (train, validation, test)]
    assert not (sides[0] & sides[1] or sides[0] & sides[2] or sides[1] & sides[2]), "a sentence is in two sets"


def test_weights_are_stored_as_halves(folder):
    make = tool()
    source = folder / "model.safetensors"
    shutil.copy(GOLDEN / "gpt2-tiny" / "model.safetensors", source)
    before = read_safetensors(source)
    model = folder / "m"
    model.mkdir()
    equal(make.store_f16(source, model / "model.safetensors"), sum(len(values) for _, values in before.values()))
    data = (model / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__")
    equal(set(header), set(before))
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = struct.unpack(f"<{(end - begin) // 2}e", data[begin:end])
        equal(entry["dtype"], "F16")
        assert all(abs(a - b) <= 2 ** -11 * max(abs(b), 2 ** -14) for a, b in zip(values, before[name][1])), name
    shutil.copy(GOLDEN / "gpt2-tiny" / "config.json", model)
    assert "F16" in run("info", "-m", model).text.upper(), "tessera reads it"


def test_recipes_and_cards_fit(_):
    make = tool()
    for name, model in make.MODELS.items():
        card = (make.RECIPES / f"{name}.md").read_text()
        assert "{inputs}" in card and "{commands}" in card and f"make-models --only {name}" in card, name
        for words in model["runs"].values():
            for word in words:
                if word.startswith("{recipes}"):
                    json.loads((make.RECIPES / word.split("/")[1]).read_text())


main(globals())

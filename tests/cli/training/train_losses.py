#!/usr/bin/env python3
"""tessera train: over what the numbers of the log are averaged, and what is drawn anew for each batch."""

import json
import math
import re

from support import words
from support.command import equal, main, refused, run
from support.runs import REFERENCE, SMALL, command, lines_of_log, make


def losses(folder, name, steps, *more):
    """The log of steps that all read the same batch, with a learning rate of 0."""
    model, data = folder / "gpt2-tiny", folder / "lines.txt"
    if not model.exists():
        words.model(folder, "gpt2-tiny")
        data.write_text("a poem\nwrite about the sea\nabout the river he sat on\nshe put money in the bank and write a poem\n")
    still = ("--set", "pack=false", "--set", "learning_rate=0", "--set", "validation_split=0", "--set", "logging_steps=1")
    told = run(*command(model, data, folder / name, steps, *still, "--validation", data, "--set", "eval_steps=1", *more))
    assert told.code == 0
    held = lines_of_log(folder / name)
    return [line["loss"] for line in held if "loss" in line], [line["eval_loss"] for line in held if "eval_loss" in line]


def test_each_batch_has_its_own_dropout(folder):
    still, seen = losses(folder, "still", 6, "--set", "dropout=0")
    equal(len(set(still)), 1, "without dropout the losses must be equal")
    for key in ("dropout", "activation_dropout"):
        more = ("--set", "dropout=0", "--set", f"{key}=0.3")
        drawn, validated = losses(folder, key, 6, *more)
        equal(len(set(drawn + still)), 7, f"{key}: each step must have its own mask")
        equal(validated, seen, f"{key}: validation must not drop anything")
        other, _ = losses(folder, f"{key}-seed", 6, *more, "--set", "seed=7")
        equal(len(set(drawn + other)), 12, f"{key}: the masks must depend on the seed")
        halves, _ = losses(folder, f"{key}-2", 3, *more, "--set", "gradient_accumulation_steps=2")
        means = [(drawn[i] + drawn[i + 1]) / 2 for i in (0, 2, 4)]
        assert all(abs(a - b) < 1e-6 for a, b in zip(halves, means)), f"{key}: each batch of an update must have its own mask: {halves} {means}"


def test_an_update_is_the_mean_of_its_batches(folder):
    """If all batches are the same, their number changes neither the norm nor the step."""
    more = ("--set", "dropout=0", "--set", "learning_rate=0.1", "--set", "optim=sgd", "--set", "max_grad_norm=0")
    seen = []
    for n in (1, 3):
        losses(folder, f"of{n}", 3, *more, "--set", f"gradient_accumulation_steps={n}")
        seen.append([(line["grad_norm"], line["loss"]) for line in lines_of_log(folder / f"of{n}") if "loss" in line])
    for one, three in zip(*seen):
        assert all(abs(a - b) < 1e-5 * a for a, b in zip(one, three)), seen


def test_shards_change_no_mean(folder):
    """Texts of unequal lengths, cut into parts: the loss is that of the whole batch, its tokens are all counted, and so is a last, smaller batch."""
    model, data = folder / "gpt2-tiny", folder / "texts.txt"
    words.model(folder, "gpt2-tiny")
    data.write_text("".join("write about the sea and the river and money in the bank"[:length] + "\n" for length in (5, 23, 35, 11, 19, 55)))
    seen = []
    for batches, shards in ((1, 1), (1, 2), (1, 4), (2, 2), (2, 4), (2, 8)):
        out = folder / f"{batches}-{shards}"
        run(*command(model, data, out, 6 // batches, "--set", "pack=false", "--set", "validation_split=0", "--set", "dropout=0", "--set", "logging_steps=1",
                     "--set", "block_size=16", "--set", "learning_rate=0.001", "--set", f"gradient_accumulation_steps={batches}",
                     "--set", f"shards={shards}"))
        seen.append([(line["loss"], line["grad_norm"], line["tokens"]) for line in lines_of_log(out) if "loss" in line])
    for k in (1, 2, 4, 5):
        for one, cut in zip(seen[k // 3 * 3], seen[k]):
            assert all(abs(a - b) <= 2e-5 * a for a, b in zip(one, cut)), (k, seen)


def test_validation_is_the_mean_of_its_tokens(folder):
    """The validation loss does not depend on how the texts are put into batches."""
    seen = [losses(folder, f"by{size}", 1, "--set", "dropout=0", "--set", "eval_batches=0", "--set", f"per_device_eval_batch_size={size}")[1]
            for size in (1, 2, 3, 4)]
    assert all(abs(a - seen[0][0]) < 1e-6 for (a,) in seen), seen


def test_a_part_of_a_validation_is_drawn_from_all(folder):
    """The shortest texts, and the first of a sorted file, say little of the others; and a run says that it measures only a part."""
    model, data = folder / "gpt2-tiny", folder / "begin.txt"
    words.model(folder, "gpt2-tiny")
    data.write_text("a poem\n" * 30)
    (folder / "all.txt").write_text("a poem\n" * 30 + "she put her money in the bank\n" * 30)
    seen = {}
    for name, batches in (("begin", 15), ("all", 30)):
        asked = command(model, data, folder / name, 1, "--set", "pack=false", "--set", "learning_rate=0", "--set", "dropout=0", "--set", "eval_batches=4",
                        "--set", "per_device_eval_batch_size=2", "--validation", folder / f"{name}.txt")
        told = run(*[word for word in asked if word != "-q"])
        assert f"a validation measures 4 of {batches} batches" in told.err, told
        seen[name] = [line["eval_loss"] for line in lines_of_log(folder / name) if "eval_loss" in line]
    assert len(seen["all"]) == 1 and abs(seen["all"][0] - seen["begin"][0]) > 1e-4, seen
    whole = (*[word for word in asked if word != "-q"], "--set", "eval_batches=30", "--dry-run")
    assert "a validation measures" not in run(*[folder / "o" if word == folder / "all" else word for word in whole]).err


def test_texts_that_lose_their_end_are_counted(folder):
    model, data = folder / "gpt2-tiny", folder / "lines.txt"
    words.model(folder, "gpt2-tiny")
    data.write_text("a poem\nshe put money in the bank and write a poem\nwrite a poem about the river he sat on about the sea\n")
    asked = [word for word in command(model, data, folder / "o", 1, "--set", "pack=false", "--set", "validation_split=0", "--dry-run") if word != "-q"]
    assert "too long for block_size, and lose their end: 2\n" in run(*asked).err
    assert "lose their end" not in run(*asked, "--set", "block_size=32").err


def test_a_decoder_learns_only_targets(folder):
    """Sources with their targets are packed neither by default nor where that is asked for."""
    model, data = folder / "gpt2-tiny", folder / "pairs.jsonl"
    words.model(folder, "gpt2-tiny")
    pairs = [("write a poem", "about the sea"), ("she put money in the bank", "her money"), ("he sat on", "the river")]
    data.write_text("".join(json.dumps({"source": a, "target": b}) + "\n" for a, b in pairs * 4))
    seen = []
    for more in ((), ("--set", "pack=false")):
        out = folder / f"out{len(more)}"
        run(*command(model, data, out, 2, "--set", "block_size=32", "--set", "dropout=0", "--set", "logging_steps=1", *more))
        run(*command(model, data, out, 4, "--set", "block_size=32", "--set", "dropout=0", "--set", "logging_steps=1", *more, "--resume"))
        seen.append([(line["loss"], line["tokens"]) for line in lines_of_log(out) if "loss" in line])
    equal(seen[0], seen[1])
    equal(len(seen[0]), 4)
    refused(3, "pairs.jsonl: line 1: a source and its target can't be packed", *command(model, data, folder / "packed", 1, "--set", "pack=true"))


def test_all_tokens_are_counted(folder):
    """The encoder's tokens are counted too: reversed pairs have as many."""
    pairs = [("a long way to the sea and on", "far"), ("the river", "a bank"), ("good poem", "money")]
    counts = []
    for name, order in (("there", 1), ("back", -1)):
        data = folder / f"{name}.tsv"
        data.write_text("".join("\t".join(pair[::order]) + "\n" for pair in pairs * 4))
        run("train", data, "-o", folder / name, "--recipe", "transformer-base", *REFERENCE, "--set", "tokenizer=char", "--set", "layers=1", "--set",
            "hidden_size=8", "--set", "heads=2", "--set", "block_size=64", "--set", "max_steps=1", "--set", "validation_split=0", "--set", "sample_tokens=0",
            "--set", "per_device_train_batch_size=12", "--set", "gradient_accumulation_steps=1")
        (line,) = [line for line in lines_of_log(folder / name) if "loss" in line]
        counts.append(line["tokens"])
    letters = sum(len(a) + len(b) + 2 for a, b in pairs * 4)  # each side ends with a token of its own
    equal(counts, [letters, letters])


def test_an_epoch_is_all_batches_once(folder):
    """However many batches one update takes."""
    model, text = make(folder)
    for epochs, n in ((1, 1), (1, 2), (2, 3), (0.5, 4)):
        told = run("train", text, "-m", model, *REFERENCE, *SMALL, "--set", f"num_train_epochs={epochs}", "--set", f"gradient_accumulation_steps={n}",
                   "--dry-run").text
        batches, steps = int(re.search(r"(\d+) batches an epoch", told)[1]), int(re.search(r"steps: (\d+)", told)[1])
        equal(steps, math.ceil(epochs * batches / n), told)


main(globals())

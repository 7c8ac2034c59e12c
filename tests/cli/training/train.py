#!/usr/bin/env python3
"""tessera train: a run can be resumed to the same bytes however it ended, nothing half-written is ever taken for complete, and each wrong
setting gives one message. The models are so small that a step takes milliseconds; other scripts check what models learn."""

import fcntl
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from support import words
from support.command import (BUILD, COMMAND, DEVICE, GOLDEN, SOURCE, change_json, copy_model, environment, equal, has_device, main, read_safetensors,
                             refused, run, start, write_safetensors)
from support.runs import REFERENCE, SMALL, checkpoints, command, every, lines_of_log, make, result, steps_in, whole


def test_twice_n_steps_are_n_and_n_more(folder):
    model, text = make(folder)
    run(*command(model, text, folder / "one", 12, *every(6)))
    run(*command(model, text, folder / "two", 6, *every(6)))
    run(*command(model, text, folder / "two", 12, *every(6), "--resume"))
    assert result(folder / "one", 12) == result(folder / "two", 12), "the resumed run gave other bytes"
    assert (folder / "one" / "model.safetensors").read_bytes() != (folder / "one" / "checkpoint-6" / "model.safetensors").read_bytes()
    for path in checkpoints(folder / "one") + checkpoints(folder / "two"):
        whole(path)
    equal(sorted(p.name for p in (folder / "one").iterdir()),
          sorted(["checkpoint-6", "checkpoint-12", "log.jsonl", "run.json", *(p.name for p in model.iterdir())]))
    # Resuming needs only OUT; a finished run stays as it is.
    before = result(folder / "two", 12)
    run("train", "-o", folder / "two", "--resume", *REFERENCE)
    assert result(folder / "two", 12) == before


def test_accumulation_and_another_optimizer_go_on_too(folder):
    model, text = make(folder)
    more = (*every(3), "--set", "gradient_accumulation_steps=3", "--set", "optim=sgd", "--set", "momentum=0.9")
    run(*command(model, text, folder / "one", 6, *more))
    run(*command(model, text, folder / "two", 3, *more))
    run(*command(model, text, folder / "two", 6, *more, "--resume"))
    assert result(folder / "one", 6) == result(folder / "two", 6)


def test_shards_of_parts_of_batches_go_on_too(folder):
    model, text = make(folder)
    more = (*every(3), "--set", "gradient_accumulation_steps=2", "--set", "shards=8", "--set", "max_grad_norm=0.1")
    run(*command(model, text, folder / "one", 6, *more))
    run(*command(model, text, folder / "two", 3, *more))
    run(*command(model, text, folder / "two", 6, *more, "--resume"))
    assert result(folder / "one", 6) == result(folder / "two", 6)
    refused(2, "shards=2: this run began with 8", *command(model, text, folder / "two", 7, *more, "--set", "shards=2", "--resume"))


def test_adapters_are_apart(folder):
    model, text = make(folder)
    more = (*every(2), "--set", "lora_rank=2", "--set", "lora_alpha=4")
    run(*command(model, text, folder / "one", 4, *more))
    run(*command(model, text, folder / "two", 2, *more))
    run(*command(model, text, folder / "two", 4, *more, "--resume"))
    name = "adapter_model.safetensors"
    assert result(folder / "one", 4, name) == result(folder / "two", 4, name)
    equal(sorted(p.name for p in (folder / "one").iterdir()),
          ["adapter_config.json", name, "checkpoint-2", "checkpoint-4", "log.jsonl", "run.json"])
    config = json.loads((folder / "one" / "adapter_config.json").read_text())
    equal((config["peft_type"], config["r"], config["lora_alpha"], config["base_model_name_or_path"]), ("LORA", 2, 4, str(model)))
    assert any(name.endswith("c_attn") for name in config["target_modules"]), config
    run("generate", "-m", model, "--lora", folder / "one", *REFERENCE, "-p", "write a", "-n", "3", "--temp", "0")
    whole(folder / "one" / "checkpoint-4")
    learned = read_safetensors(folder / "one" / name)
    assert all(name.endswith((".lora_A.weight", ".lora_B.weight")) for name in learned), list(learned)


def test_how_adapters_begin(folder):
    """A is drawn, each number of its own, with deviation 1 / sqrt(inputs); B is zero. The seed decides."""
    model, text = make(folder)
    more = (*every(0), "--set", "lora_rank=8", "--set", "learning_rate=0", "--set", "weight_decay=0")
    for seed in (1, 2):
        run(*command(model, text, folder / str(seed), 1, *more, "--set", f"seed={seed}"))
    one, two = (read_safetensors(folder / str(seed) / "adapter_model.safetensors") for seed in (1, 2))
    drawn = []
    for name, ((_, inputs), values) in one.items():
        if ".lora_B." in name:
            equal(set(values), {0.0}, name)
            continue
        assert len(set(values)) == len(values) and values != two[name][1], name
        drawn += [value * math.sqrt(inputs) for value in values]
    mean = sum(drawn) / len(drawn)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in drawn) / len(drawn))
    assert len(drawn) > 500 and abs(mean) < 5 / math.sqrt(len(drawn)) and abs(deviation - 1) < 5 / math.sqrt(2 * len(drawn)), (len(drawn), mean, deviation)


ENCODERS = GOLDEN.parent / "encoders"
MOODS = "text,label\n" + "the sea is good,happy\na bad poem,sad\n" * 10


def test_adapters_with_a_new_head_are_refused(folder):
    """The head would stay as it is drawn, and be lost at the end."""
    (folder / "moods.csv").write_text(MOODS)
    (folder / "words.conll").write_text(WORDS * 4)
    (folder / "lines.txt").write_text("the sea is good\na bad poem\n" * 10)
    out, lora = folder / "o", (*REFERENCE, *SMALL, "--set", "max_steps=1", "--set", "lora_rank=2")
    for data, model, task, lacks in (("moods.csv", "masked", "classify", "classifier of texts"), ("moods.csv", "classify", "classify", "classifier of texts"),
                                     ("words.conll", "masked", "classify-tokens", "classifier of words"),
                                     ("lines.txt", "classify", "fill-mask", "head that fills masks")):
        refused(2, f"lora_rank trains no new head, and {ENCODERS / model} lacks a {lacks}", "train", folder / data, "-m", ENCODERS / model, "-o", out, "--task", task,
                *lora)
    refused(2, "lora_rank needs --model", "train", folder / "lines.txt", "--recipe", "char-gpt", "-o", out, *lora)
    refused(2, "--head-only needs --model", "train", folder / "lines.txt", "--recipe", "char-gpt", "-o", out, *REFERENCE, "--head-only")
    refused(2, "head_only and lora_rank", "train", folder / "moods.csv", "-m", ENCODERS / "classify", "-o", out, "--task", "classify", "--head-only", *lora)
    equal(out.exists(), False, "a refused run left a folder")
    run("train", folder / "lines.txt", "-m", ENCODERS / "masked", "-o", folder / "masks", "--task", "fill-mask", *lora)
    equal(json.loads((folder / "masks" / "adapter_config.json").read_text())["task_type"], None)  # PEFT has no word for it
    run("fill-mask", "-m", ENCODERS / "masked", "--lora", folder / "masks", *REFERENCE, given="the [MASK] is good\n")
    head = folder / "head"
    run("train", folder / "moods.csv", "-m", ENCODERS / "masked", "-o", head, "--task", "classify", "--head-only", *REFERENCE, *SMALL, "--set", "max_steps=1")
    run("train", folder / "moods.csv", "-m", head, "-o", folder / "moods", *lora)
    equal(json.loads((folder / "moods" / "adapter_config.json").read_text())["base_model_name_or_path"], str(head))


def test_a_classifier_without_names_is_kept(folder):
    """Where a model's labels have their default names, those of the data may be their numbers. A classifier that is replaced is told of."""
    model = copy_model(ENCODERS / "classify", folder / "unnamed")
    change_json(model / "config.json", id2label={str(i): f"LABEL_{i}" for i in range(3)}, label2id=None)
    bare = copy_model(ENCODERS / "masked", folder / "bare")
    change_json(bare / "config.json", id2label={"0": "LABEL_0", "1": "LABEL_1"})
    (folder / "numbers.csv").write_text("text,label\n" + "the sea is good,0\na bad poem,1\n" * 10)
    (folder / "moods.csv").write_text(MOODS)

    def trained(data, model, out):
        said = run("train", folder / data, "-m", model, "-o", folder / out, "-d", "reference", *SMALL, "--task", "classify", "--set", "max_steps=1", "--set",
                   "learning_rate=0", "--set", "weight_decay=0").err
        return said, json.loads((folder / out / "config.json").read_text())["id2label"], read_safetensors(folder / out / "model.safetensors")

    said, labels, arrays = trained("numbers.csv", model, "kept")
    equal((labels, "takes its place" in said), ({str(i): f"LABEL_{i}" for i in range(3)}, False), said)
    equal(arrays["classifier.weight"], read_safetensors(model / "model.safetensors")["classifier.weight"])
    said, labels, arrays = trained("numbers.csv", bare, "new")
    equal((labels, "takes its place" in said), ({"0": "0", "1": "1"}, False), said)
    said, labels, arrays = trained("moods.csv", model, "replaced")
    equal(labels, {"0": "happy", "1": "sad"})
    assert f"the classifier of {model} knows none of the labels in the data: a new one takes its place" in said, said


def test_what_validations_decide_needs_them(folder):
    model, text = make(folder)
    out = folder / "o"
    for key, value in (("early_stopping_patience", 2), ("load_best_model_at_end", "true")):
        refused(2, f"{key} needs data to validate on, and validation_split=0 holds nothing back: give --validation FILE",
                *command(model, text, out, 1, "--set", "validation_split=0", "--set", f"{key}={value}"))
    run(*command(model, text, folder / "given", 1, "--set", "validation_split=0", "--set", "early_stopping_patience=2", "--validation", text))
    (folder / "words.conll").write_text("the DET\nsea NOUN\n\na DET\npoem NOUN\n\n" * 20)
    refused(2, "no label begins an entity", "train", folder / "words.conll", "-m", ENCODERS / "masked", "-o", out, *REFERENCE, *SMALL, "--task", "classify-tokens",
            "--set", "max_steps=1", "--set", "metric_for_best_model=f1")
    equal(out.exists(), False, "the run must be refused before its first step")


def test_the_head_alone(folder):
    model = copy_model(GOLDEN.parent / "encoders" / "classify", folder / "classify")
    (folder / "moods.csv").write_text("text,label\n" + "the sea is good,happy\na bad poem,sad\n\"good, very good\",happy\nthe bad sea,sad\n" * 10)
    out = folder / "o"
    run("train", folder / "moods.csv", "-m", model, "-o", out, *REFERENCE, "--task", "classify", "--head-only", "--set", "max_steps=8", "--set", "block_size=8",
        "--set", "learning_rate=0.05", "--set", "metric_for_best_model=accuracy", "--set", "load_best_model_at_end=true", *every(4))
    config = json.loads((out / "config.json").read_text())
    equal(config["id2label"], {"0": "happy", "1": "sad"})
    before, after = read_safetensors(model / "model.safetensors"), read_safetensors(out / "model.safetensors")
    for name in before:
        if "encoder" in name or "embeddings" in name:
            assert before[name] == after[name], f"{name} is not above the last hidden state"
    told = [line for line in lines_of_log(out) if "eval_loss" in line]
    assert told and all(0 <= line["eval_accuracy"] <= 1 for line in told), told
    assert "happy" in run("classify", "-m", out, *REFERENCE, given="the sea is good\n").text


WORDS = """-DOCSTART- O

anna B-PER
lives O
in O
paris B-LOC

the O
big O
dog O
sat O
on O
bob B-PER
green I-PER

london B-LOC
is O
small O

"""


TAGGER = [part for size in ("layers=1", "hidden_size=16", "heads=2", "ffn=32", "vocab_size=300", "dropout=0") for part in ("--set", size)]


def test_labels_of_words(folder):
    """Columns and lists teach the same; what was learned is what classify says; adapters learn, too."""
    (folder / "words.conll").write_text(WORDS * 8)
    texts = [[line.split() for line in text.splitlines()] for text in WORDS.split("\n\n")[1:] if text]
    (folder / "words.jsonl").write_text("".join(json.dumps({"tokens": [w for w, _ in t], "ner_tags": [k for _, k in t]}) + "\n" for t in texts) * 8)
    results = []
    for name in ("words.conll", "words.jsonl"):
        out = folder / f"{name}.out"
        run("train", folder / name, "--recipe", "tagger-mini", "-o", out, *REFERENCE, "--task", "classify-tokens", *TAGGER, "--validation", folder / "words.conll",
            "--set", "max_steps=40", "--set", "learning_rate=0.02", *every(20), "--set", "eval_steps=20")
        config = json.loads((out / "config.json").read_text())
        equal(config["architectures"], ["BertForTokenClassification"])
        equal(config["id2label"], {"0": "B-LOC", "1": "B-PER", "2": "I-PER", "3": "O"})
        told = [line for line in lines_of_log(out) if "eval_loss" in line]
        equal([(line["eval_accuracy"], line["eval_f1"]) for line in told][-1], (1.0, 1.0), told)
        equal(told[-1]["sample"], "london/B-LOC is/O small/O")
        results.append((out / "model.safetensors").read_bytes())
    assert results[0] == results[1], "lists and columns give other weights"
    said = run("classify", "-m", out, *REFERENCE, given="the big dog sat on bob green\n").text.split("\n")[0].split("\t")
    equal((said[0], said[1], said[3:]), ("bob green", "PER", ["19", "28"]))
    for name in ("words.conll", "words.jsonl"):
        scores = json.loads(run("evaluate", "-m", out, *REFERENCE, "--words", folder / name, "--json").text)
        equal([scores[key] for key in ("texts", "words", "right", "left_out", "accuracy")], [24, 112, 112, 0, 1.0])
        equal(scores["entities"], {"wanted": 32, "given": 32, "right": 32, "precision": 1.0, "recall": 1.0, "f1": 1.0})
    (folder / "other.conll").write_text(WORDS.replace("paris B-LOC", "paris B-PER"))
    equal(run("evaluate", "-m", out, *REFERENCE, "--words", folder / "other.conll").text,
          "accuracy       0.9286, 13 of 14 words\nF1             0.7500, precision 0.7500, recall 0.7500; 4 entities, 4 given, 3 right\n")
    (folder / "bad.conll").write_text("anna B-PER\n\nparis B-ORG\n")
    bad = run("evaluate", "-m", out, *REFERENCE, "--words", folder / "bad.conll", code=None)
    assert bad.code == 3 and "bad.conll: line 3: the label \"B-ORG\" is not one of the model's 4" in bad.err, bad
    more = folder / "more"
    run("train", folder / "words.conll", "-m", out, "-o", more, *REFERENCE, "--set", "max_steps=2", "--set", "lora_rank=2", *every(0))
    equal(json.loads((more / "adapter_config.json").read_text())["task_type"], "TOKEN_CLS")


def test_a_new_head_for_labels_of_words(folder):
    model = copy_model(GOLDEN.parent / "encoders" / "masked", folder / "masked")
    (folder / "words.conll").write_text(WORDS * 4)
    out = folder / "o"
    run("train", folder / "words.conll", "-m", model, "-o", out, *REFERENCE, "--task", "classify-tokens", "--head-only", "--set", "max_steps=4", *every(2))
    config = json.loads((out / "config.json").read_text())
    equal((config["architectures"], config["id2label"]["2"]), (["BertForTokenClassification"], "I-PER"))
    before, after = read_safetensors(model / "model.safetensors"), read_safetensors(out / "model.safetensors")
    assert all(before[name] == after[name] for name in before if "encoder" in name), "what is below the head has changed"
    refuse = run("train", folder / "words.conll", "-m", model, "-o", folder / "p", *REFERENCE, "--set", "metric_for_best_model=f1", code=None)
    assert refuse.code == 2 and "only classifiers of words have it" in refuse.err, refuse


def test_a_tagger_needs_the_layout_of_bert(folder):
    (folder / "words.conll").write_text(WORDS * 4)
    done = run("train", folder / "words.conll", "--recipe", "tagger-mini", "-o", folder / "o", *REFERENCE, "--task", "classify-tokens", *TAGGER, "--set", "norm=pre",
               code=None)
    assert done.code != 0 and "words are labelled by a model with BERT's layout alone" in done.err, done


def test_killed_before_it_has_begun(folder):
    """A run that was killed while it wrote run.json left nothing else; a file of somebody else is left alone."""
    model, text = make(folder)
    for name, begins in (("run.json.7-0.tmp", True), ("mine.tmp", False)):
        for more in ((), ("--resume",)):
            out = folder / "begun"
            out.mkdir()
            (out / ".lock").touch()
            (out / name).write_text('{"recipe"')
            done = run(*command(model, text, out, 2, *more), code=None)
            equal((done.code == 0, (out / name).exists()), (begins, not begins), (name, done))
            shutil.rmtree(out)


def test_killed_at_twenty_moments(folder):
    model, text = make(folder)
    steps, rng = 40, random.Random(7)
    begun = time.monotonic()
    run(*command(model, text, folder / "one", steps, *every(2)))
    took = min(time.monotonic() - begun, 2)
    out = folder / "two"
    going = command(model, text, out, steps, *every(2), "--resume")
    kills = 0
    while kills < 20:
        process = start(*going)
        time.sleep(rng.uniform(0, took * 0.6))
        process.kill()
        process.communicate()
        kills += 1
        for path in checkpoints(out) if out.is_dir() else []:
            whole(path)
    run(*going)
    assert result(folder / "one", steps) == result(out, steps), "a killed run gave other bytes"
    steps_said = steps_in(lines_of_log(out))
    equal(steps_said, sorted(set(steps_said)), "the log has a step twice")
    equal(steps_said, steps_in(lines_of_log(folder / "one")))
    assert not [p.name for p in out.iterdir() if p.name.endswith(".tmp")], "something is left"


def damage(path, how):
    data = bytearray(path.read_bytes()) if path.is_file() else b""
    if how == "flip":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    elif how == "cut":
        path.write_bytes(data[:-2])  # this cuts more than the end of a line
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()


def test_a_damaged_checkpoint_is_passed_over(folder):
    model, text = make(folder)
    run(*command(model, text, folder / "one", 9, *every(3)))
    rows = [("state.safetensors", "flip", "is damaged"), ("state.safetensors", "cut", "its manifest says"), ("model.safetensors", "gone", "cannot open"),
            ("manifest.json", "cut", "manifest.json"), ("manifest.json", "empty", "manifest.json"), ("manifest.json", "gone", "manifest.json"),
            ("config.json", "flip", "is damaged")]
    for number, (name, how, said) in enumerate(rows):
        out = folder / f"damaged{number}"
        shutil.copytree(folder / "one", out)
        damage(out / "checkpoint-9" / name, how)
        told = run("train", "-o", out, "--resume", *REFERENCE)
        assert "warning: " in told.err and said in told.err and "checkpoint-9" in told.err, told
        assert result(folder / "one", 9) == result(out, 9), f"{name} {how}"
    out = folder / "all"
    shutil.copytree(folder / "one", out)
    for path in checkpoints(out):
        damage(path / "state.safetensors", "flip")
    told = run("train", "-o", out, "--resume", *REFERENCE)
    equal(told.err.count("warning: "), 3, told)
    assert result(folder / "one", 9) == result(out, 9), "from the beginning"


def interrupted(folder, number, code):
    model, text = make(folder)
    out = folder / "two"
    process = start(*command(model, text, out, 100000, *every(50000), "--set", "logging_steps=1"))
    while process.poll() is None and not ((out / "log.jsonl").is_file() and len(steps_in(lines_of_log(out))) > 2):
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate()
    equal(process.returncode, code, err)
    (kept,) = checkpoints(out)
    whole(kept)
    step = int(kept.name[11:])
    assert f"stopped at step {step} of 100000".encode() in err and b"--resume" in err, err
    assert not (out / "model.safetensors").exists(), "an unfinished run must not look like a model"
    run(*command(model, text, out, step + 2, *every(50000), "--set", "logging_steps=1", "--resume"))
    run(*command(model, text, folder / "one", step + 2, *every(50000)))
    assert result(folder / "one", step + 2) == result(out, step + 2)


def test_ctrl_c_saves_and_leaves(folder):
    interrupted(folder, signal.SIGINT, 130)


def test_sigterm_saves_and_leaves(folder):
    interrupted(folder, signal.SIGTERM, 143)


def test_a_second_signal_leaves_at_once(folder):
    model, text = make(folder)
    process = start(*command(model, text, folder / "o", 100000, *every(50000)))
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode in (-signal.SIGINT, 130, 143), process.returncode


def test_two_at_once(folder):
    model, text = make(folder)
    out = folder / "o"
    process = start(*command(model, text, out, 100000, *every(50000)))
    while process.poll() is None and not (out / "log.jsonl").is_file():
        time.sleep(0.01)
    refused(3, "another process trains in this folder", "train", "-o", out, "--resume", *REFERENCE)
    process.kill()
    process.communicate()


def test_a_run_that_comes_too_late_removes_nothing(folder):
    """Of two new runs that start together, one gets the lock; the other must leave the folder to it."""
    model, text = make(folder)
    out = folder / "o"
    out.mkdir()
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = [path.stat().st_ino for path in (out, out / ".lock")]
        refused(3, "another process trains in this folder", *command(model, text, out, 1))
        equal([path.stat().st_ino for path in (out, out / ".lock") if path.exists()], before, "the other run's folder was removed")
        equal([path.name for path in out.iterdir()], [".lock"])
    run(*command(model, text, out, 1))


def limited(*arguments, limit):
    """Runs with files limited to `limit` bytes, which has the effect of a full disk without mounting one."""
    def before():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, env=environment(), preexec_fn=before, check=False)
    return done.returncode, done.stderr.decode()


def test_a_full_disk_loses_nothing(folder):
    model, text = make(folder)
    run(*command(model, text, folder / "one", 6, *every(3)))
    run(*command(model, text, folder / "two", 3, *every(3)))
    size = (folder / "two" / "checkpoint-3" / "state.safetensors").stat().st_size
    for limit in (size - 1, size // 2, 20000):
        code, err = limited(*command(model, text, folder / "two", 6, *every(3), "--resume"), limit=limit)
        equal(code, 3, err)
        assert len(err.splitlines()) == 1 and "step 6 could not be saved" in err and "checkpoint-3" in err and "cannot" in err, err
        equal([p.name for p in folder.glob("two/*checkpoint*")], ["checkpoint-3"], err)
        whole(folder / "two" / "checkpoint-3")
    run(*command(model, text, folder / "two", 6, *every(3), "--resume"))
    assert result(folder / "one", 6) == result(folder / "two", 6)


def test_a_disk_that_is_really_full(folder):
    model, text = make(folder)
    disk = folder / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True, check=False).returncode:
        print("       skipped: a file system can't be mounted here")
        return
    try:
        run(*command(model, text, disk / "o", 3, *every(3)))
        filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(filler, bytes(4096))
        except OSError:
            os.close(filler)
        refused(3, "No space left", *command(model, text, disk / "o", 6, *every(3), "--resume"))
        whole(disk / "o" / "checkpoint-3")
        (disk / "filler").unlink()
        run(*command(model, text, disk / "o", 6, *every(3), "--resume"))
        whole(disk / "o" / "checkpoint-6")
    finally:
        subprocess.run(["umount", disk], check=False)


def test_folders_that_are_refused(folder):
    model, text = make(folder)
    (folder / "file").write_text("x")
    (folder / "full").mkdir()
    (folder / "full" / "mine").write_text("x")
    (folder / "empty").mkdir()
    refused(3, "is not a folder", *command(model, text, folder / "file", 1))
    for more in ((), ("--resume",)):
        refused(3, "is not empty; give the name of a new folder", *command(model, text, folder / "full", 1, *more))
    refused(3, "Not a directory", *command(model, text, folder / "file" / "o", 1))
    equal([p.name for p in (folder / "full").iterdir()], ["mine"])
    run(*command(model, text, folder / "empty", 1))
    refused(3, "holds a run; continue it by --resume", *command(model, text, folder / "empty", 1))
    told = run(*(c for c in command(model, text, folder / "deep" / "new", 1, "--resume") if c != "-q"))
    assert "holds no run yet: a new one begins" in told.err, told
    if os.geteuid() != 0:
        (folder / "locked").mkdir(mode=0o500)
        refused(3, "Permission denied", *command(model, text, folder / "locked" / "o", 1))


def test_settings_that_are_refused(folder):
    model, text = make(folder)
    rows = [("learnig_rate=1", "learnig_rate: no such key; the nearest is learning_rate"), ("learning_rate", "--set learning_rate: it must be key=value"),
            ("=1", "it must be key=value"), ("learning_rate=fast", "learning_rate=fast: it must be a number from 0"), ("learning_rate=-1", "a number from 0"),
            ("learning_rate=nan", "a number from 0"), ("lr_scheduler_type=polynomial", "linear, cosine, constant, constant_with_warmup or inverse_sqrt"),
            ("max_steps=1.5", "a whole number"), ("max_steps=0", None), ("per_device_train_batch_size=0", "from 1"), ("bf16=maybe", "it must be true or false"),
            ("optim=lion", "it must be adamw or sgd"), ("min_learning_rate=1", "is above learning_rate"), ("seed=x", "a whole number"),
            ("metric_for_best_model=accuracy", "only classifiers"), ("block_size=100000", ""), ("nesterov=true", "momentum above 0"),
            ("kl_to=/nowhere", "/nowhere"), ("distill_from=/nowhere", "/nowhere"), ("label_smoothing_factor=1", "to 0.99")]
    for setting, said in rows:
        if said is not None:
            out = folder / "o"
            done = run(*command(model, text, out, 1, "--set", setting), code=3 if setting.startswith(("kl_to", "distill")) else 2)
            assert said in done.err and len(done.err.splitlines()) == 1, f"{setting}: {done}"
            shutil.rmtree(out, ignore_errors=True)
    refused(2, "-o OUT", "train", text, "-m", model)
    refused(2, "DATA", "train", "-o", folder / "o", "-m", model)
    refused(2, "--recipe NAME", "train", text, "-o", folder / "o", *REFERENCE)
    refused(2, "not both", "train", text, "-o", folder / "o", "-m", model, "--recipe", "char-gpt", *REFERENCE)
    refused(2, "--task sing", *command(model, text, folder / "o", 1, "--task", "sing"))
    refused(3, "/nowhere", *command("/nowhere", text, folder / "o", 1))
    equal((folder / "o").exists(), False, "a refused run left a folder")


def test_data_that_are_refused(folder):
    model, _ = make(folder)
    rows = [("empty.txt", b"", "empty.txt"), ("blank.txt", b" \n", "blank.txt"), ("bytes.txt", b"a poem\nabout \xff\xfe the sea\n", "bytes.txt"),
            ("lines.jsonl", b'{"text": "a poem"}\n{"txt": "the sea"}\n', "lines.jsonl"), ("broken.jsonl", b'{"text": "a poem"\n', "broken.jsonl")]
    for name, data, said in rows:
        (folder / name).write_bytes(data)
        refused(3, said, *command(model, folder / name, folder / "o", 1))
        equal((folder / "o").exists(), False, f"{name}: a run that never began left a folder")
    refused(3, "nothing.txt", *command(model, folder / "nothing.txt", folder / "o", 1))
    judge = GOLDEN.parent / "encoders" / "classify"
    for data, said in (("the cat,good\na dog,great\n", 'a.csv: line 3: the label "great" is not one of the model\'s 3'),
                       ('the cat,good\n"a dog,bad\n', "a.csv: line 3: a quote is opened, but not closed")):
        (folder / "a.csv").write_text("text,label\n" + data)
        refused(3, said, *command(judge, folder / "a.csv", folder / "o", 1))
    (folder / "pairs.tsv").write_text("das\tthe\nHaus house\n")
    small = ("--set", "layers=1", "--set", "hidden_size=8", "--set", "heads=2", "--set", "vocab_size=300", "--set", "max_steps=1")
    refused(3, "pairs.tsv", "train", folder / "pairs.tsv", "-o", folder / "o", "--recipe", "transformer-base", *REFERENCE, *small)
    (folder / "pairs.tsv").write_text("das\tthe\nHaus\thouse\n")
    refused(3, "heads 3 does not divide", "train", folder / "pairs.tsv", "-o", folder / "o", "--recipe", "transformer-base", *REFERENCE, *small, "--set", "heads=3")
    (folder / "empty").mkdir()
    refused(3, "nothing.txt", *command(model, folder / "nothing.txt", folder / "empty", 1))
    equal(list((folder / "empty").iterdir()), [], "a folder that was empty must be empty again")
    words.tokenizer(model, None, ("<end>", 5000))
    refused(3, "ids up to 5000", *command(model, folder / "text.txt", folder / "o", 1))
    equal((folder / "o").exists(), False)


def test_the_header_of_a_tsv_is_no_example(folder):
    data = folder / "moods.tsv"
    data.write_text("sentence\tlabel\n" + "the sea is good\thappy\na bad poem\tsad\n" * 10)
    made = ("train", data, "-m", GOLDEN.parent / "encoders" / "classify", "-o", folder / "o", *REFERENCE, *SMALL, "--set", "max_steps=1", "--task", "classify")
    refused(3, 'moods.tsv: line 1 has no column "text"; its columns are "sentence", "label"', *made)
    run(*made, "--set", "text_field=sentence")
    equal(json.loads((folder / "o" / "config.json").read_text())["id2label"], {"0": "happy", "1": "sad"})


def test_from_scratch_goes_on_too(folder):
    _, text = make(folder)
    small = ("--set", "layers=1", "--set", "hidden_size=8", "--set", "heads=2", "--set", "block_size=8", "--set", "lr_scheduler_type=constant",
             "--set", "eval_batches=1", "--set", "per_device_eval_batch_size=3", "--set", "sample_tokens=3")
    def made(out, steps, *more):
        return ("train", text, "-o", out, "--recipe", "char-gpt", *REFERENCE, *small, "--set", f"max_steps={steps}", *more)
    run(*made(folder / "one", 4, *every(2)))
    run(*made(folder / "two", 2, *every(2)))
    run(*made(folder / "two", 4, *every(2), "--resume"))
    assert result(folder / "one", 4) == result(folder / "two", 4)
    refused(2, "--set changes the model's keys", *made(folder / "two", 4, *every(2), "--resume", "--set", "layers=2"))
    said = run("generate", "-m", folder / "one", *REFERENCE, "-p", "a", "-n", "3", "--temp", "0")
    assert said.text, said


def test_what_may_differ_on_resume(folder):
    model, text = make(folder)
    out = folder / "o"
    run(*command(model, text, out, 2))
    refused(2, "seed=7: this run began with 42", *command(model, text, out, 2, "--set", "seed=7", "--resume"))
    refused(2, "compute=bf16: this run began with f32", *command(model, text, out, 2, "--set", "compute=bf16", "--resume"))
    best = ("--set", "load_best_model_at_end=true", *every(2))
    run(*command(model, text, folder / "best", 2, *best))
    refused(2, "save_steps=1: this run began with 2, and as it has no eval_steps", *command(model, text, folder / "best", 2, *best, *every(1), "--resume"))
    refused(2, "--task classify: this run began with generate", *command(model, text, out, 2, "--task", "classify", "--resume"))
    other = words.model(folder / "other", "gpt2-tiny")[0] if (folder / "other").mkdir() is None else None
    refused(2, "this run began with", *command(other, text, out, 2, "--resume"))
    told = run(*(c for c in command(model, text, out, 3, "--set", "logging_steps=7", "--resume") if c != "-q"))
    assert "goes on with changed settings: max_steps=3, logging_steps=7" in told.err, told
    (folder / "text.txt").write_text("a poem about the sea " * 400)
    refused(3, "text.txt", *command(model, text, out, 4, "--resume"))
    equal([p.name for p in checkpoints(out)], ["checkpoint-2", "checkpoint-3"])
    change_json(out / "run.json", format=2)
    refused(3, "run.json", "train", "-o", out, "--resume", *REFERENCE)


def test_kept_checkpoints(folder):
    model, text = make(folder)
    out = folder / "o"
    run(*command(model, text, out, 10, *every(1), "--set", "save_total_limit=3"))
    kept = [int(p.name[11:]) for p in checkpoints(out)]
    equal(kept[-3:], [8, 9, 10])
    assert len(kept) <= 4, kept
    for path in checkpoints(out):
        whole(path)


def test_the_best_is_the_result(folder):
    model, text = make(folder)
    out = folder / "o"
    run(*command(model, text, out, 200, *every(0), "--set", "learning_rate=0.3", "--set", "eval_steps=2", "--set", "early_stopping_patience=3",
                 "--set", "save_total_limit=1"))
    seen = [(line["eval_loss"], line["step"]) for line in lines_of_log(out) if "eval_loss" in line]
    best = min(seen, key=lambda pair: pair[0])[1]
    equal(seen[-1][1] - best, 6, f"three validations without a better one: {seen}")
    assert (out / "model.safetensors").read_bytes() == (out / f"checkpoint-{best}" / "model.safetensors").read_bytes(), "not the best"
    before = (out / "model.safetensors").read_bytes()
    run("train", "-o", out, "--resume", *REFERENCE)
    assert (out / "model.safetensors").read_bytes() == before, "a run that had ended early was started again"


def test_early_stopping_goes_on_counting(folder):
    """A resumed run knows how many validations brought no improvement: it ends at the same step as a run that was never stopped."""
    model, text = make(folder)
    more = (*every(0), "--set", "learning_rate=0.3", "--set", "eval_steps=2", "--set", "early_stopping_patience=3")
    run(*command(model, text, folder / "one", 200, *more))
    last = [line["step"] for line in lines_of_log(folder / "one") if "eval_loss" in line][-1]
    for before in (4, 2):  # stops before the end, after one or two validations that were worse
        out = folder / f"two{before}"
        run(*command(model, text, out, last - before, *more))
        run(*command(model, text, out, 200, *more, "--resume"))
        equal([line["step"] for line in lines_of_log(out) if "eval_loss" in line][-1], last)


def test_no_number(folder):
    model, text = make(folder)
    out = folder / "o"
    refused(5, "the loss is", *command(model, text, out, 500, *every(1), "--set", "learning_rate=1000", "--set", "optim=sgd", "--set", "max_grad_norm=0"))
    told = run("train", "-o", out, "--resume", *REFERENCE, code=5)
    assert "step " in told.err and "the last good checkpoint is" in told.err, told
    whole(checkpoints(out)[-1])
    refused(5, "there is no checkpoint yet: start again in a new folder, with a lower learning_rate",
            *command(model, text, folder / "unsaved", 500, *every(0), "--set", "learning_rate=1000", "--set", "optim=sgd", "--set", "max_grad_norm=0"))


def test_a_plan_writes_nothing(folder):
    model, text = make(folder)
    told = run("train", text, "-m", model, *REFERENCE, *SMALL, "--set", "num_train_epochs=1", "--dry-run").text
    for word in ("parameters", "memory: ", "MiB", "steps: ", "batches: 4 x 8 tokens"):
        assert word in told, told
    equal(sorted(p.name for p in folder.iterdir()), sorted([model.name, "text.txt"]))
    refused(2, "leave out --resume", "train", text, "-m", model, *REFERENCE, "--dry-run", "--resume")


def test_a_plan_says_how_many_ranks_can_share_an_update(folder):
    model, text = make(folder)
    for settings, said in (((), "shards: 1 an update, for 1 rank; --set shards=4 is for up to 4"),  # one batch of 4 sequences
                           (("per_device_train_batch_size=12",), "shards: 1 an update, for 1 rank; --set shards=8 is for up to 8"),
                           (("per_device_train_batch_size=1",), "shards: 1 an update, for 1 rank"),
                           (("shards=2",), "shards: 2 an update, for up to 2 ranks; --set shards=4 is for up to 4"),
                           (("gradient_accumulation_steps=60",), "shards: 4 an update, for up to 4 ranks"),
                           (("gradient_accumulation_steps=8", "shards=16"), "shards: 16 an update, for up to 16 ranks")):
        sets = [word for setting in settings for word in ("--set", setting)]
        told = run("train", text, "-m", model, *REFERENCE, *SMALL, "--set", "max_steps=1", *sets, "--dry-run").text
        assert said in told.splitlines(), (said, told)


def test_the_shards_of_the_recipes_are_those_of_the_docs(_):
    table = re.findall(r"^\| ([a-z, -]+) \| (\d+) of (\d+) sequences \| (\d) \|", (SOURCE / "docs" / "distributed.md").read_text(), re.M)
    told = {name: tuple(map(int, numbers)) for names, *numbers in table for name in names.split(", ")}
    recipes = {path.stem: json.loads(path.read_text())["training"] for path in (SOURCE / "recipes").glob("*.json")}
    given = {name: (recipe.get("gradient_accumulation_steps", 1), recipe["per_device_train_batch_size"]) for name, recipe in recipes.items()}
    equal(told, {name: (batches, rows, math.gcd(8, batches)) for name, (batches, rows) in given.items()})


def test_a_plan_builds_nothing(folder):
    """With empty caches, no program is built, from source or from binaries, and the sizes are those of the real run."""
    layer = BUILD / "tests" / "count_layer.so"
    if not has_device() or not layer.exists():
        print(f"       SKIP: no device {DEVICE}, or {layer.name} is not built")
        return
    model, text = make(folder)
    env = environment(OPENCL_LAYERS=layer, COUNT_LAYER_REPORT="1")
    empty = dict(env, TESSERA_CACHE=str(folder / "cache"), POCL_CACHE_DIR=str(folder / "pocl"))
    (folder / "pocl").mkdir()
    for more in ((), ("--set", "bf16=true"), ("--set", "lora_rank=2"), ("--set", "gradient_checkpointing=true"), ("--set", f"kl_to={model}")):
        told = run("train", text, "-m", model, "-d", DEVICE, *SMALL, "--set", "max_steps=1", "--dry-run", *more, env=empty)
        assert "count_layer: 0 sources, 0 binaries" in told.err and "memory: " in told.text, told
        assert "building" not in told.err, told
    planned = [line for line in told.text.splitlines() if line.startswith("memory: ")]
    went = run("train", text, "-m", model, "-o", folder / "o", "-d", DEVICE, *SMALL, "--set", "max_steps=1", *more, env=env)
    assert "count_layer: 0 sources, 0 binaries" not in went.err, "the layer does not count"
    equal([line.removeprefix("tessera: ") for line in went.err.splitlines() if "memory: " in line], planned)


def test_the_log(folder):
    model, text = make(folder)
    out = folder / "o"
    told = run(*(c for c in command(model, text, out, 25, "--set", "kl_to=uniform", "--set", "kl_weight=0.1", *every(10)) if c != "-q"))
    held = lines_of_log(out)
    assert "run" in held[0] and held[0]["run"]["steps"] == 25, held[0]
    equal(steps_in(held), [1, 10, 20, 25])
    for line in held[1:]:
        if "loss" in line:
            assert set(line) == {"step", "loss", "kl", "lr", "grad_norm", "tokens", "tokens_per_second", "seconds"}, line
    equal([line["step"] for line in held if "eval_loss" in line], [10, 20, 25])
    equal(held[-2]["tokens"] if "tokens" in held[-2] else held[-1]["tokens"], 25 * 4 * 8)
    assert "step 10/25  loss " in told.err and "tokens/s" in told.err and "left" in told.err and "\033" not in told.err, told


def test_a_prompt_is_translated(folder):
    (folder / "pairs.tsv").write_text("das Haus\tthe house\nein Mann\ta man\ndas ist gut\tthis is good\n" * 5)
    tiny = ("--set", "layers=1", "--set", "hidden_size=8", "--set", "heads=2", "--set", "vocab_size=300", "--set", "max_steps=1", "--set", "block_size=16")
    for prompt, wanted in (("gut ist", "gut ist -> "), ("", " -> ")):
        out = folder / f"out{len(prompt)}"
        run("train", folder / "pairs.tsv", "-o", out, "--recipe", "transformer-base", *REFERENCE, *tiny, "--set", f"sample_prompt={prompt}")
        (told,) = [line["sample"] for line in lines_of_log(out) if "sample" in line]
        assert wanted in told and told.split(" -> ")[0] in ("gut ist", "das Haus", "ein Mann", "das ist gut"), told


def test_a_prompt_that_the_tokenizer_lacks(folder):
    """The run says so, once and at its beginning; it goes on, as only its samples are affected."""
    (folder / "pairs.tsv").write_text("das Haus\tthe house\nein Mann\ta man\ndas ist gut\tthis is good\n" * 5)
    (folder / "text.txt").write_text("a bad poem about the sea. " * 40)  # a single line
    tiny = ("--set", "layers=1", "--set", "hidden_size=8", "--set", "heads=2", "--set", "max_steps=2", "--set", "block_size=16", "--set", "eval_steps=1",
            "--set", "tokenizer=char", "--set", "sample_tokens=2", "--set", "ffn=16")
    cases = (("text.txt", "char-gpt", "☃", "reads <|endoftext|> in their place (1 of 1 tokens)"),
             ("text.txt", "char-gpt", "a ☃ poem", "reads <|endoftext|> in their place (1 of 8 tokens)"),
             ("text.txt", "char-gpt", "a poem", None), ("text.txt", "char-gpt", "", None), ("text.txt", "char-gpt", None, None),
             ("pairs.tsv", "transformer-base", "das ☃", "reads <unk> in their place (1 of 5 tokens)"), ("pairs.tsv", "transformer-base", "das", None))
    for i, (data, recipe, prompt, wanted) in enumerate(cases):
        asked = ("--set", f"sample_prompt={prompt}") if prompt is not None else ()
        told = run("train", folder / data, "-o", folder / str(i), "--recipe", recipe, *REFERENCE, *tiny, *asked)
        said = [line for line in told.err.splitlines() if "sample_prompt" in line]
        assert len(said) == bool(wanted) and all(wanted in line for line in said), f"{prompt!r}: {told}"
        equal(len([line for line in lines_of_log(folder / str(i)) if "sample" in line]), 2, prompt)
    model, text = make(folder)
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    change_json(model / "tokenizer.json", model={key: value for key, value in tokenizer["model"].items() if key != "unk_token"})
    refused(3, 'sample_prompt: model WordLevel: "snowman" is not in the vocabulary', *command(model, text, folder / "o", 1, "--set", "sample_prompt=a snowman"))
    run(*command(model, text, folder / "o", 1, "--set", "sample_prompt=a poem"))


def test_how_many_characters_a_vocabulary_may_have(folder):
    """A limit holds where it is given, by --set or by the recipe; the default is one of pieces, not of characters."""
    (folder / "text.txt").write_text("a bad poem about the sea. " * 40)  # 13 characters, and one special token
    (folder / "many.txt").write_text("".join(chr(0x4E00 + i) for i in range(8300)))
    tiny = ("--set", "layers=1", "--set", "hidden_size=8", "--set", "heads=2", "--set", "max_steps=1", "--set", "block_size=16", "--set", "sample_tokens=0",
            "--set", "validation_split=0", "--set", "per_device_train_batch_size=1")
    own = {name: folder / f"{name}.json" for name in ("without", "with", "in_model")}
    own["without"].write_text(json.dumps({"tokenizer": {"type": "char"}}))
    own["with"].write_text(json.dumps({"tokenizer": {"type": "char", "vocab_size": 13}}))
    own["in_model"].write_text(json.dumps({"model": {"tokenizer": "char", "vocab_size": 12}}))

    def trained(name, data, recipe, *more):
        return ("train", folder / data, "-o", folder / name, "--recipe", recipe, *REFERENCE, *tiny, *more)
    small = "the text has 13 different characters, 14 tokens with the special ones; a vocabulary of {} is too small"
    refused(3, small.format(10), *trained("o", "text.txt", "char-gpt", "--set", "vocab_size=10"))
    refused(3, small.format(13), *trained("o", "text.txt", own["with"]))
    refused(3, small.format(12), *trained("o", "text.txt", own["in_model"]))
    for name, data, recipe, more, size in (("enough", "text.txt", "char-gpt", ("--set", "vocab_size=14"), 14),
                                           ("more", "text.txt", own["with"], ("--set", "vocab_size=0"), 14),
                                           ("default", "many.txt", own["without"], (), 8301)):
        run(*trained(name, data, recipe, *more))
        equal(json.loads((folder / name / "config.json").read_text())["vocab_size"], size, name)
    refused(3, "own tokens: leave vocab_size out", *trained("o", "text.txt", "gpt-small", "--set", f"tokenizer={folder / 'enough'}", "--set", "vocab_size=14"))


def distance_of_itself(folder, data, model, name, *more, teacher=None):
    """Each way to train with a teacher model, with the model itself (or what computes the same) as the teacher: the two do not differ."""
    for key in ("distill_from", "kl_to"):
        out = folder / f"{name}-{key}"
        run("train", data, "-m", model, "-o", out, *REFERENCE, *SMALL, "--set", "dropout=0", "--set", "max_steps=1", "--set", "sample_tokens=0", "--set",
            f"{key}={teacher or model}", "--set", "kl_weight=0.5", *more)
        (first,) = [line for line in lines_of_log(out) if "loss" in line]
        assert abs(first["kl"]) < 1e-5, f"a model is as far from itself as {first}"


def test_a_teacher(folder):
    model, text = make(folder)
    distance_of_itself(folder, text, model, "generate")
    for teacher, why in ((GOLDEN / "mistral", "logits, the model that learns"),
                         (GOLDEN.parent / "encoders" / "classify", "it is not a decoder without an encoder")):
        refused(2, why, *command(model, text, folder / "o", 1, "--set", f"distill_from={teacher}"))
    tiny = ("--set", "layers=1", "--set", "hidden_size=8", "--set", "heads=2", "--set", "vocab_size=300", "--set", "max_steps=1", "--set", "sample_tokens=0")
    (folder / "pairs.tsv").write_text("das Haus\tthe house\nein Mann\ta man\ndas ist gut\tthis is good\n" * 5)
    for data, recipe in ((text, "bert-mini"), (folder / "pairs.tsv", "transformer-base")):
        run("train", data, "-o", folder / recipe, "--recipe", recipe, *REFERENCE, *tiny, "--set", "block_size=16")
        distance_of_itself(folder, data, folder / recipe, f"again-{recipe}")
    (folder / "moods.csv").write_text("text,label\n" + "the sea is good,happy\na bad poem,sad\n" * 10)
    run("train", folder / "moods.csv", "-m", GOLDEN.parent / "encoders" / "classify", "-o", folder / "moods", *REFERENCE, *SMALL, "--set", "max_steps=1",
        "--task", "classify")
    distance_of_itself(folder, folder / "moods.csv", folder / "moods", "classify")


def turned(model, folder):
    """The same classifier with its labels in another order."""
    copy = copy_model(model, folder)
    labels = list(json.loads((model / "config.json").read_text())["id2label"].values())
    order = [len(labels) - 1, *range(len(labels) - 1)]
    arrays = read_safetensors(model / "model.safetensors")
    for name in ("classifier.weight", "classifier.bias"):
        shape, values = arrays[name]
        width = len(values) // len(labels)
        arrays[name] = shape, [value for i in order for value in values[i * width:(i + 1) * width]]
    write_safetensors(copy / "model.safetensors", arrays)
    change_json(copy / "config.json", id2label={str(i): labels[k] for i, k in enumerate(order)}, label2id=None)
    return copy


def test_a_teacher_has_the_same_labels_in_any_order(folder):
    (folder / "moods.csv").write_text("text,label\n" + "the sea is good,good\na bad poem,bad\n" * 10)
    (folder / "words.conll").write_text(WORDS * 4)
    for name, data in (("classify", "moods.csv"), ("tokens", "words.conll")):
        model, teacher = ENCODERS / name, turned(ENCODERS / name, folder / f"{name}-turned")
        distance_of_itself(folder, folder / data, model, name, teacher=teacher)
        change_json(teacher / "config.json", id2label={str(i): f"other {i}" for i in range(3 if name == "classify" else 6)})
        refused(2, f'{teacher} lacks the label "{"good" if name == "classify" else "O"}" of the model that learns', "train", folder / data, "-m", model, "-o",
                folder / "o", *REFERENCE, *SMALL, "--set", "max_steps=1", "--set", f"distill_from={teacher}")


def test_a_teacher_has_the_same_tokens(folder):
    model, text = make(folder)
    teacher = folder / "teacher"
    shutil.copytree(model, teacher)
    distance_of_itself(folder, text, model, "same", teacher=teacher)
    held = json.loads((teacher / "tokenizer.json").read_text())
    vocab = held["model"]["vocab"]
    vocab["poem"], vocab["sea"] = vocab["sea"], vocab["poem"]
    (teacher / "tokenizer.json").write_text(json.dumps(held))
    refused(2, f'{teacher} has the token "sea" with id {vocab["sea"]}, the model that learns has "poem"; the teacher must have the same vocabulary',
            *command(model, text, folder / "o", 1, "--set", f"distill_from={teacher}"))


def same_on_threads(folder, steps, *more):
    model, text = make(folder)
    for threads in (1, 2):
        run(*command(model, text, folder / str(threads), steps, *every(0), "-t", threads, *more, device=("-d", DEVICE, "-q")))
    assert result(folder / "1", steps) == result(folder / "2", steps), "threads change the bytes"


def test_the_same_bytes_on_one_and_two_threads(folder):
    if has_device():
        same_on_threads(folder, 100)


def test_bf16(folder):
    if has_device():
        same_on_threads(folder, 10, "--set", "bf16=true")


if __name__ == "__main__":
    only = sys.argv[1:]
    main({name: test for name, test in globals().items() if name.startswith("test_") and (not only or any(o in name for o in only))})

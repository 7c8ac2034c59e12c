#!/usr/bin/env python3
"""tessera train: every key has an effect. The list of keys is the command's own (`tessera help train`), so a new key needs a row here. Each row changes one
key of a run of a few steps and names where the effect must be visible: in the weights, in the log, in the files, or in the plan.
"""

import json
import re

from support.command import GOLDEN, copy_model, equal, main, run
from support.runs import lines_of_log, make

BASE = {"block_size": 8, "per_device_train_batch_size": 4, "learning_rate": 0.01, "max_steps": 4, "save_steps": 2, "save_total_limit": 0, "eval_batches": 2,
        "eval_steps": 2, "sample_tokens": 3, "lr_scheduler_type": "constant_with_warmup", "logging_steps": 2,
        "gradient_accumulation_steps": 1}
SGD = {"optim": "sgd", "learning_rate": 0.1}
HIGH = {"learning_rate": 0.5, "max_steps": 12, "eval_steps": 1}
TINY = {"layers": 1, "hidden_size": 8, "heads": 2, "vocab_size": 300}
PAIRS = "das Haus\tthe house\nein Mann geht\ta man goes\ndas ist gut\tthis is good\n" * 6
MOODS = "text,label,other,mark\n" + "the sea is good,happy,a bad poem,b\na bad poem,sad,in the river,a\nthe bad sea,sad,she sat,a\n" * 8


def text_of(folder):
    model, text = (folder / "gpt2-tiny", folder / "text.txt") if (folder / "text.txt").exists() else make(folder)
    return text, ("-m", model)


def scratch(recipe, kind="txt"):
    """A model from scratch, on data of this kind."""
    def begin(folder):
        data = folder / f"data.{kind}"
        data.write_text(PAIRS if kind == "tsv" else "a bad poem about the sea and the river. " * 60)
        return data, ("--recipe", recipe, *sets(TINY if recipe != "bahdanau" else {"hidden_size": 8, "vocab_size": 300}))
    return begin


def moods(folder):
    data, model = folder / "moods.csv", folder / "model"
    data.write_text(MOODS)
    if not model.exists():
        copy_model(GOLDEN.parent / "encoders" / "classify", model)
    return data, ("-m", model, "--task", "classify")


def records(folder):
    data = folder / "pairs.jsonl"
    data.write_text("".join(json.dumps({"source": a, "target": b, "other": b[::-1], "more": a[::-1]}) + "\n" for a, b in
                            (line.split("\t") for line in PAIRS.splitlines())))
    return data, scratch("transformer-base")(folder)[1]


CHARS, PIECES, MASKS = scratch("char-gpt"), scratch("gpt-small"), scratch("bert-mini")
PAIRED, RECURRENT = scratch("transformer-base", "tsv"), scratch("bahdanau", "tsv")

# key: (what is trained, settings of both runs, the value in the second run, where the effect is
# visible)
ROWS = {
    "learning_rate": (text_of, {}, 0.02, "weights"),
    "min_learning_rate": (text_of, {"lr_scheduler_type": "cosine"}, 0.005, "weights"),
    "lr_scheduler_type": (text_of, {}, "linear", "weights"),
    "warmup_steps": (text_of, {}, 2, "weights"),
    "warmup_ratio": (text_of, {}, 0.5, "weights"),
    "max_steps": (text_of, {}, 5, "weights"),
    "num_train_epochs": (text_of, {"max_steps": -1, "num_train_epochs": 0.1}, 0.2, "weights"),
    "per_device_train_batch_size": (text_of, {}, 3, "weights"),
    "per_device_eval_batch_size": (text_of, {"eval_batches": 1}, 2, "log"),
    "gradient_accumulation_steps": (text_of, {}, 2, "weights"),
    "shards": (text_of, {}, 4, "weights"),
    "block_size": (text_of, {}, 4, "weights"),
    "target_block_size": (PAIRED, {}, 2, "weights"),
    "pack": (CHARS, {}, "false", "weights"),
    "optim": (text_of, {}, "sgd", "weights"),
    "weight_decay": (text_of, {}, 0.1, "weights"),
    "adam_beta1": (text_of, {}, 0.5, "weights"),
    "adam_beta2": (text_of, {}, 0.9, "weights"),
    "adam_epsilon": (text_of, {}, 0.01, "weights"),
    "momentum": (text_of, SGD, 0.5, "weights"),
    "nesterov": (text_of, SGD | {"momentum": 0.5}, "true", "weights"),
    "max_grad_norm": (text_of, SGD, 0.01, "weights"),
    "dropout": (text_of, {}, 0.3, "weights"),
    "activation_dropout": (text_of, {}, 0.3, "weights"),
    "bpe_dropout": (PIECES, {"validation_split": 0}, 0.3, "weights"),
    "label_smoothing_factor": (text_of, {}, 0.1, "weights"),
    "mlm_probability": (MASKS, {}, 0.5, "weights"),
    "kl_to": (text_of, {}, "uniform", "weights"),
    "distill_from": (text_of, {}, GOLDEN / "gpt2-tiny", "weights"),
    "kl_weight": (text_of, {"kl_to": "uniform"}, 0.1, "weights"),
    "temperature": (text_of, {"distill_from": GOLDEN / "gpt2-tiny", "learning_rate": 0.1}, 3, "weights"),
    "lora_rank": (text_of, {}, 2, "files"),
    "lora_alpha": (text_of, {"lora_rank": 2}, 32, "weights"),
    "bf16": (text_of, {}, "true", "weights"),
    "compute": (text_of, {}, "bf16", "warnings"),
    "gradient_checkpointing": (CHARS, {"layers": 4}, "true", "plan"),
    "seed": (text_of, {}, 7, "weights"),
    "validation_split": (text_of, {}, 0.3, "weights"),
    "eval_steps": (text_of, {}, 1, "log"),
    "eval_batches": (text_of, {}, 1, "log"),
    "early_stopping_patience": (text_of, HIGH, 1, "weights"),
    "metric_for_best_model": (moods, {"learning_rate": 0.05, "eval_steps": 1}, "accuracy", "best"),
    "load_best_model_at_end": (text_of, HIGH, "true", "weights"),
    "sample_prompt": (text_of, {}, "poem about", "log"),
    "sample_tokens": (text_of, {}, 1, "log"),
    "logging_steps": (text_of, {}, 1, "log"),
    "save_steps": (text_of, {}, 3, "files"),
    "save_total_limit": (text_of, {"save_steps": 1, "validation_split": 0}, 1, "files"),
    "text_field": (moods, {}, "other", "weights"),
    "label_field": (moods, {}, "mark", "labels"),
    "source_field": (records, {}, "more", "weights"),
    "target_field": (records, {}, "other", "weights"),
    # of an architecture
    "kind": (CHARS, {}, "encoder", "weights"),
    "layers": (CHARS, {}, 2, "weights"),
    "encoder_layers": (PAIRED, {}, 2, "weights"),
    "hidden_size": (CHARS, {}, 16, "weights"),
    "heads": (CHARS, {}, 4, "weights"),
    "kv_heads": (CHARS, {}, 1, "weights"),
    "ffn": (CHARS, {}, 16, "weights"),
    "positions": (CHARS, {}, "alibi", "weights"),
    "max_positions": (CHARS, {}, 24, "weights"),
    "attention": (MASKS, {}, "causal", "weights"),
    "norm": (CHARS, {}, "post", "weights"),
    "norm_type": (CHARS, {}, "rms", "weights"),
    "activation": (CHARS, {}, "relu", "weights"),
    "gated": (CHARS, {}, "true", "weights"),
    "tied": (CHARS, {}, "false", "weights"),
    "bias": (CHARS, {}, "false", "weights"),
    "embed_size": (RECURRENT, {}, 4, "weights"),
    "attention_size": (RECURRENT, {}, 4, "weights"),
    "tokenizer": (CHARS, {}, "bpe", "weights"),
    "vocab_size": (PIECES, {}, 280, "weights"),
}


def sets(values):
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def facts(out, told):
    """All results of a run, except for times."""
    names = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    log = [{k: v for k, v in line.items() if k not in ("seconds", "tokens_per_second", "run")} for line in lines_of_log(out)]
    files = [p for p in (out / "model.safetensors", out / "adapter_model.safetensors") if p.exists()]
    last = max(out.glob("checkpoint-*"), key=lambda p: int(p.name[11:]))
    config = json.loads((out / "config.json").read_text()) if (out / "config.json").exists() else {}
    return {"weights": [p.read_bytes() for p in files], "log": log, "files": names, "plan": re.findall("memory: .*", told),
            "warnings": re.findall("products are formed in f32", told), "best": json.loads((last / "manifest.json").read_text())["best"], "labels": config.get("id2label")}


def trained(folder, name, begin, values):
    data, how = begin(folder)
    out = folder / name
    told = run("train", data, "-o", out, *how, "-d", "reference", *sets(BASE | values))
    return facts(out, told.err)


def test_the_rows_are_the_keys(folder):
    told = run("help", "train").text.split("keys of --set")[1]
    keys = re.findall(r"^  (\w+) ", told, re.M)
    assert len(keys) > 60, told
    equal(sorted(ROWS), sorted(keys))


def test_each_key_does_something(folder):
    known, silent = {}, []  # runs with the same start are made only once
    for number, (key, (begin, both, value, where)) in enumerate(ROWS.items()):
        own = folder / str(id(begin))
        own.mkdir(exist_ok=True)
        what = (id(begin), repr(both))
        if what not in known:
            known[what] = trained(own, f"base{number}", begin, both)
        with_it = trained(own, f"with{number}", begin, both | {key: value})
        if with_it[where] == known[what][where]:
            silent.append(f"{key}={value} changes no {where}")
    equal(silent, [])


def test_the_same_settings_give_the_same(folder):
    """Otherwise the test above could not fail."""
    for number, begin in enumerate((text_of, moods, PAIRED)):
        own = folder / str(number)
        own.mkdir()
        equal(trained(own, "one", begin, {"dropout": 0.1}), trained(own, "two", begin, {"dropout": 0.1}))


main(globals())

#!/usr/bin/env python3
"""transformers opens the folders that `tessera train` writes: every class in the table of families and each recipe, shrunk and trained for two
steps, must load with no array missing or left over, give the same logits, and tokenize texts into the same ids.

The run trains the tokenizer, and puts a new head on an encoder. Skipped without torch, transformers and safetensors.
"""

import json

from support.command import equal, main, refused, run
from support.hugging_face import hf, load_file, np, torch

DEVICE = "reference"
TINY = ("layers=2", "hidden_size=32", "heads=4", "ffn=48", "vocab_size=300", "block_size=16", "max_positions=24", "max_steps=2",
        "warmup_steps=0", "per_device_train_batch_size=2", "gradient_accumulation_steps=1", "learning_rate=0.02", "eval_steps=0",
        "save_steps=0", "eval_batches=1", "sample_tokens=0")
LINES = [f"{who} {what} the {which} {thing}." for who in ("She", "The cat", "Nobody", "A man") for what in ("saw", "wants", "has not")
         for which in ("small", "old", "green") for thing in ("house", "book", "word")]
ABSENT = ("final_logits_bias", "embed_positions")  # arrays that a class makes itself, which files need not have


def data(folder, kind):
    """A file of data for the kind of model, and the rest of the command line."""
    if kind == "classifier":
        path = folder / "reviews.csv"
        path.write_text("text,label\n" + "".join(f"{line},{('bad', 'good', 'so-so')[i % 3]}\n" for i, line in enumerate(LINES)))
        return path, ("--task", "classify")
    if kind == "translator":
        path = folder / "pairs.tsv"
        path.write_text("".join(f"{line}\t{line.lower()[::-1]}\n" for line in LINES))
        return path, ()
    path = folder / "text.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path, ()


def trained(folder, kind, recipe, *sets):
    path, more = data(folder, kind)
    out = folder / "out"
    settings = [word for pair in (*TINY, *sets) for word in ("--set", pair)]
    run("train", "-q", path, "-o", out, "-d", DEVICE, "--recipe", recipe, *settings, *more)
    return out


def ours(out, folder, kind, ids, target):
    inputs = {"input_ids": ids.tolist()} | ({"decoder_input_ids": target.tolist()} if kind == "translator" else {})
    (folder / "in.json").write_text(json.dumps(inputs))
    run("dump", "-q", "-m", out, "-d", DEVICE, "--inputs", folder / "in.json", "-o", folder / "out.safetensors")
    return load_file(folder / "out.safetensors")["logits"]


def same_as_transformers(out, folder, kind, name):
    chance = np.random.default_rng(0)
    config = json.loads((out / "config.json").read_text())
    equal(config["architectures"], [name], out)
    model, info = getattr(hf, name).from_pretrained(out, output_loading_info=True)
    left = {key: [x for x in what if not any(a in x for a in ABSENT)] for key, what in info.items() if what}
    assert not any(left.values()), f"{name}: {left}"
    ids, target = chance.integers(5, config["vocab_size"], (2, 11)), chance.integers(5, config["vocab_size"], (2, 7))
    more = {"decoder_input_ids": torch.tensor(target)} if kind == "translator" else {}
    with torch.no_grad():
        wanted = model.double().eval()(input_ids=torch.tensor(ids), **more).logits.numpy()
    got = ours(out, folder, kind, ids, target)
    error = np.abs(got - wanted).max()
    assert got.shape == wanted.shape and error < 1e-4, f"{name}: shapes {got.shape} {wanted.shape}, error {error:.2e}"
    assert wanted.std() > 0.01, f"{name}: the logits' deviation {wanted.std():.2e} is too small for a comparison"
    same_texts(out)
    return model


def same_texts(out):
    tokenizer = hf.AutoTokenizer.from_pretrained(out)
    for line in LINES[:3]:
        wanted = tokenizer(line).input_ids
        got = [int(x) for x in run("tokenize", "-m", out, given=line + "\n").text.split()]
        equal(got, wanted, f"{out} {line}")
        equal(tokenizer.decode(wanted, skip_special_tokens=True).strip(), line, out)


def check(kind, recipe, name, *sets):
    def test(folder):
        out = trained(folder, kind, recipe, *sets)
        if name:
            return same_as_transformers(out, folder, kind, name)
        equal(json.loads((out / "config.json").read_text())["model_type"] in ("tessera", "bahdanau"), True, out)
        assert "transformers has no class" in (out / "README.md").read_text(), "the card must say so"
        ids = np.random.default_rng(0).integers(3, 24, (2, 11))
        assert np.isfinite(ours(out, folder, kind, ids, ids[:, :7])).all()
    return test


test_gpt2 = check("decoder", "char-gpt", "GPT2LMHeadModel")
test_gpt2_small = check("decoder", "gpt-small", "GPT2LMHeadModel", "tied=false")
test_opt = check("decoder", "char-gpt", "OPTForCausalLM", "norm=post", "activation=relu")
test_llama = check("decoder", "gpt-small", "LlamaForCausalLM", "positions=rotary", "norm_type=rms", "gated=true", "activation=silu",
                   "bias=false", "kv_heads=2")
test_gpt_neox = check("decoder", "gpt-small", "GPTNeoXForCausalLM", "positions=rotary")
test_starcoder2 = check("decoder", "gpt-small", "Starcoder2ForCausalLM", "positions=rotary", "kv_heads=2", "bias=false")
test_bloom = check("decoder", "gpt-small", "BloomForCausalLM", "positions=alibi", "ffn=128")
test_bert = check("encoder", "bert-mini", "BertForMaskedLM")
test_marian = check("translator", "transformer-base", "MarianMTModel", "encoder_layers=1")
test_pegasus = check("translator", "transformer-base", "PegasusForConditionalGeneration", "norm=pre")
test_bart = check("translator", "transformer-base", "BartForConditionalGeneration", "positions=learned")
test_mbart = check("translator", "transformer-base", "MBartForConditionalGeneration", "positions=learned", "norm=pre")
test_tessera = check("decoder", "char-gpt", None, "positions=none", "norm=post")
test_tessera_encoder = check("encoder", "bert-mini", None, "positions=alibi", "norm=pre")
test_tessera_translator = check("translator", "transformer-base", None, "positions=rotary", "encoder_layers=1")


def test_bahdanau(folder):
    path, _ = data(folder, "translator")
    settings = [word for pair in TINY if pair.split("=")[0] not in ("layers", "heads", "ffn") for word in ("--set", pair)]
    run("train", "-q", path, "-o", folder / "out", "-d", DEVICE, "--recipe", "bahdanau", *settings, "--set", "embed_size=16", "--set",
        "attention_size=20")
    ids = np.random.default_rng(0).integers(3, 24, (2, 11))
    assert np.isfinite(ours(folder / "out", folder, "translator", ids, ids[:, :7])).all()


def test_classifier(folder):
    model = same_as_transformers(trained(folder, "classifier", "bert-mini"), folder, "classifier", "BertForSequenceClassification")
    equal(model.config.id2label, {0: "bad", 1: "good", 2: "so-so"}, "labels in the order of their bytes")


def test_a_head_on_a_model(folder):
    """A BERT without a classifier is trained on the labels of the data; its pooler and classifier are new."""
    base = folder / "base"
    run("train", "-q", data(folder, "encoder")[0], "-o", base, "-d", DEVICE, "--recipe", "bert-mini",
        *[word for pair in TINY for word in ("--set", pair)])
    path, more = data(folder, "classifier")
    settings = [word for pair in TINY[5:] if not pair.startswith("max_positions") for word in ("--set", pair)]
    run("train", "-q", path, "-o", folder / "out", "-d", DEVICE, "-m", base, *more, "--head-only", *settings)
    same_as_transformers(folder / "out", folder, "classifier", "BertForSequenceClassification")
    old, new = (load_file(folder / name / "model.safetensors") for name in ("base", "out"))
    inner = [name for name in new if name.startswith("bert.encoder.")]
    assert inner and all((old[name] == new[name]).all() for name in inner), "only the head was trained"


def test_generation_ends_where_the_tokenizer_says(folder):
    out = trained(folder, "translator", "transformer-base", "encoder_layers=1")
    settings = json.loads((out / "generation_config.json").read_text())
    equal((settings["eos_token_id"], settings["decoder_start_token_id"], settings["bad_words_ids"]), (0, 2, [[2]]), out)
    model = hf.MarianMTModel.from_pretrained(out)
    ids = hf.AutoTokenizer.from_pretrained(out)(LINES[0], return_tensors="pt").input_ids
    wanted = model.generate(ids, max_new_tokens=12, num_beams=1)[0].tolist()
    got = run("translate", "-q", "-m", out, "-d", DEVICE, "--num-beams", 1, "--max-length", 12, given=LINES[0] + "\n").text
    equal(got.strip(), hf.AutoTokenizer.from_pretrained(out).decode(wanted, skip_special_tokens=True).strip(), out)


def test_refusals(folder):
    path, _ = data(folder, "decoder")
    cases = (("heads=5", 3, "does not divide hidden_size"), ("positions=everywhere", 2, "none, learned, rotary, sinusoidal or alibi"),
             ("attention=bidirectional", 3, "sees the token that it is to predict"), ("layers=-2", 2, "a whole number"),
             ("kv_heads=3", 3, "does not divide heads"), ("max_positions=4", 3, "block_size"), ("layer=3", 2, "the nearest is layers"),
             ("tokenizer=words", 3, "neither bpe nor char"))
    for change, code, says in cases:
        refused(code, says, "train", "-q", path, "-o", folder / "out", "-d", DEVICE, "--recipe", "char-gpt", "--set", change)
        assert not (folder / "out").exists(), f"{change}: a folder was left"


main(globals())

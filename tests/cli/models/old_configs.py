#!/usr/bin/env python3
"""Folders as programs of their own and old releases of transformers wrote them: configs without model_type, heads that no family has, num_labels
beside the names of fewer labels. What transformers loads gives the same numbers; what would change a number without a word is refused."""

import json
import shutil

from support.command import GOLDEN, change_json, copy_model, equal, main, read_safetensors, refused, run, write_safetensors
from support.encoders import ENCODERS, LINES, REFERENCE, joined

CLASSIFY = ENCODERS / "classify"
HEADS = {"my_head.weight": ([2, 16], [0.5] * 32), "my_head.bias": ([2], [1, 2]), "crf.transitions": ([3, 3], [1] * 9), "log_sigma": ([1], [0])}


def with_arrays(source, folder, changes, **config):
    """A copy of a model with other arrays; None removes one, and a key of its config."""
    model = copy_model(source, folder)
    arrays = {**read_safetensors(source / "model.safetensors"), **changes}
    write_safetensors(model / "model.safetensors", {name: array for name, array in arrays.items() if array})
    change_json(model / "config.json", **config)
    return model


def labels(model, quiet=True):
    return run("classify", "-m", model, "-d", "reference", *(["-q"] if quiet else []), "-k", 9, "--json", given=joined(LINES))


def test_heads_that_no_family_has(folder):
    """They are left out, are told once, and change nothing."""
    model = with_arrays(CLASSIFY, folder / "m", HEADS)
    told = labels(model, quiet=False)
    equal(told.text, labels(CLASSIFY).text)
    said = [line for line in told.err.splitlines() if "my_head" in line]
    equal(len(said), 1, told.err)
    for part in ("no part that is served reads the tensors of ", "my_head", "crf", "log_sigma"):
        assert part in said[0] and said[0].count(part) == 1, said
    for line in run("info", model).text.splitlines():
        if line.startswith("left out"):
            equal(sorted(line.split(None, 2)[2].split(", ")), ["crf", "log_sigma", "my_head"])
            break
    else:
        raise AssertionError(run("info", model))
    assert "left out" not in run("info", CLASSIFY).text
    many = {f"head_{i:04}.weight": ([1], [i]) for i in range(300)}
    left = json.loads(run("info", "--json", with_arrays(CLASSIFY, folder / "many", many)).text)["left out"]
    assert left.startswith("head_0000, head_0001, ") and left.endswith(", ...") and len(left) < 320, left
    value = {"v_head.summary.weight": ([1, 24], [1] * 24), "v_head.summary.bias": ([1], [1])}     # of a model that learned from rewards
    for name in ("llama-tiny", "gpt2-tiny"):
        equal(json.loads(run("info", "--json", with_arrays(GOLDEN / name, folder / name, value)).text)["left out"], "v_head")


def test_arrays_that_may_change_a_number(folder):
    """In the model's body, in heads that its family has, in files whose names have no prefix: all are refused."""
    cases = ((CLASSIFY, "bert.encoder.layer.0.attention.self.my_gate.weight"), (CLASSIFY, "bert.encoder.layer.2.output.dense.weight"),
             (CLASSIFY, "bert.my_norm.weight"), (CLASSIFY, "classifier.dense.weight"), (CLASSIFY, "cls.predictions.bias"),
             (ENCODERS / "sentence", "my_head.weight"), (ENCODERS / "sentence", "embeddings.my_norm.weight"),
             (GOLDEN / "llama-tiny", "lm_head.bias"), (GOLDEN / "llama-tiny", "model.norm.bias"), (GOLDEN / "llama-tiny/bare", "v_head.weight"),
             (GOLDEN / "t5-tiny", "my_head.weight"), (GOLDEN / "bart", "final_logits_bias.weight"), (GOLDEN / "opt", "model.encoder.norm.weight"),
             (GOLDEN / "bert/mlm", "cls.predictions.transform.my_norm.weight"), (GOLDEN / "electra/cls", "generator_lm_head.scale"))
    for i, (source, name) in enumerate(cases):
        refused(3, f'tensor "{name}" is not part of a ', "info", with_arrays(source, folder / str(i), {name: ([2], [1, 2])}))


def test_the_output_matrix_of_gemma_3_by_its_older_name(folder):
    """transformers 4.50 wrote language_model.lm_head.weight beside the texts' arrays of a model that reads images, too."""
    source = GOLDEN / "gemma3-odd"
    arrays = read_safetensors(source / "model.safetensors")
    (embed,) = (name for name in arrays if name.endswith("embed_tokens.weight"))
    assert embed.startswith("language_model."), embed

    def dumped(model):
        run("dump", *REFERENCE, "-q", "-m", model, "--ids", "3,4,5,6", "-o", folder / "o.safetensors")
        return read_safetensors(folder / "o.safetensors")["logits"]

    wanted = dumped(source)
    tied = with_arrays(source, folder / "tied", {"language_model.lm_head.weight": arrays[embed]})
    equal(dumped(tied) == wanted, True)
    other = (arrays[embed][0], [2 * number for number in arrays[embed][1]])
    apart = with_arrays(source, folder / "apart", {"language_model.lm_head.weight": other})
    assert dumped(apart) != wanted, "the output matrix of the file is not read"


def test_no_model_type(folder):
    """The classes tell the family; else the keys and arrays do, where they are those of one family alone."""
    for i, source in enumerate((CLASSIFY, GOLDEN / "gpt2-tiny", GOLDEN / "distilbert/cls", GOLDEN / "xlm-roberta/cls", GOLDEN / "llama-tiny", GOLDEN / "gemma3_text",
                                GOLDEN / "jina_bert-odd/base", GOLDEN / "t5-encoder/vectors", GOLDEN / "marian", GOLDEN / "deberta_v2/mlm")):
        wanted = json.loads(run("info", "--json", source).text)
        got = json.loads(run("info", "--json", with_arrays(source, folder / str(i), {}, model_type=None)).text)
        equal(got.pop("model_type"), "missing; told by its architectures")
        equal({**got, "path": 0}, {**wanted, "path": 0}, source)
    for i, source in enumerate((CLASSIFY, GOLDEN / "gpt2-tiny", GOLDEN / "distilbert/cls", GOLDEN / "bart", GOLDEN / "electra/mlm")):
        wanted = json.loads(run("info", "--json", source).text)
        got = json.loads(run("info", "--json", with_arrays(source, folder / f"a{i}", {}, model_type=None, architectures=None)).text)
        equal(got.pop("model_type"), "missing; told by the names of its tensors")
        equal({**got, "path": 0}, {**wanted, "path": 0}, source)
    for name, config in (("classes", dict(model_type=None)), ("arrays", dict(model_type=None, architectures=None))):
        model = with_arrays(CLASSIFY, folder / name, {}, **config)
        told = labels(model, quiet=False)
        equal(told.text, labels(CLASSIFY).text)
        said = [line for line in told.err.splitlines() if "model_type" in line]
        assert len(said) == 1 and "it is a model of the family bert" in said[0], told.err
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): array
           for name, array in read_safetensors(CLASSIFY / "model.safetensors").items()}
    model = with_arrays(CLASSIFY, folder / "oldest", HEADS, model_type=None, architectures=None)
    write_safetensors(model / "model.safetensors", {**old, **HEADS})
    equal(labels(model).text, labels(CLASSIFY).text)


def test_what_tells_no_family(folder):
    cases = ((GOLDEN / "llama-tiny", dict(architectures=None), "are those of several families: llama, mistral, gemma, "),
             (ENCODERS / "sentence", dict(architectures=None), "are those of several families: bert, roberta, "),
             (GOLDEN / "llama-labels/cls", dict(architectures=None), "are those of no family that is served"),
             (CLASSIFY, dict(architectures=None, hidden_size=17), "are those of no family that is served"),
             (CLASSIFY, dict(architectures=["MyBert"]), 'names MyBert, which is of no family that is served; if it is, add "model_type" to it'),
             (CLASSIFY, dict(architectures=["BertGenerationEncoder"]), "names BertGenerationEncoder"),
             (CLASSIFY, dict(architectures=["GPT2LMHeadModel"]), '" is missing'))
    for i, (source, config, fragment) in enumerate(cases):
        refused(3, fragment, "info", with_arrays(source, folder / str(i), {}, model_type=None, **config))
    refused(3, '"model_type" is a whole number', "info", with_arrays(CLASSIFY, folder / "n", {}, model_type=7))
    (folder / "n/config.json").write_text("[1]")
    refused(3, "an object was expected", "info", folder / "n")
    shutil.copy(CLASSIFY / "config.json", folder / "n/config.json")
    change_json(folder / "n/config.json", model_type="", architectures=[7, "BertForMaskedLM"])
    run("info", folder / "n")


def test_other_names_of_bloom_s_sizes(folder):
    """As the published models have them. Where a size stands under both names, transformers takes these."""
    wanted = json.loads(run("info", "--json", GOLDEN / "bloom").text)
    for i, config in enumerate((dict(hidden_size=None, n_embed=24, n_head=None, num_attention_heads=6), dict(n_layer=None, num_hidden_layers=2),
                                dict(hidden_size=64, n_embed=24, n_head=4, num_attention_heads=6, n_layer=3, num_hidden_layers=2))):
        model = with_arrays(GOLDEN / "bloom", folder / str(i), {}, **config)
        equal({**json.loads(run("info", "--json", model).text), "path": 0}, {**wanted, "path": 0}, config)
        logits = []
        for path in GOLDEN / "bloom", model:
            run("dump", "-d", "reference", "-q", "-m", path, "--ids", "5,6,7,8,9", "-o", folder / "o.safetensors")
            logits.append(read_safetensors(folder / "o.safetensors")["logits"])
        equal(logits[0] == logits[1], True, f"{config} gives other logits")
    refused(3, '"n_head" is missing', "info", with_arrays(GOLDEN / "bloom", folder / "none", {}, n_head=None))


def test_num_labels(folder):
    """Where they differ, num_labels says how many there are, and the names are not read, as in transformers."""
    first = json.loads(labels(CLASSIFY).text.splitlines()[0])
    for i, config in enumerate((dict(id2label={"0": "a", "1": "b"}, num_labels=3), dict(id2label=None, num_labels=3), dict(id2label={}, num_labels=3),
                                dict(id2label=None))):
        model = with_arrays(CLASSIFY, folder / str(i), {}, **config)
        told = json.loads(labels(model).text.splitlines()[0])
        names = {"good": "LABEL_0", "bad": "LABEL_1", "so so": "LABEL_2"}
        wanted = json.dumps(first)
        for old, new in names.items():
            wanted = wanted.replace(f'"{old}"', f'"{new}"')
        equal(told, json.loads(wanted))
    arrays = read_safetensors(CLASSIFY / "model.safetensors")
    model = with_arrays(CLASSIFY, folder / "oldest", {"classifier.weight": ([2, 16], arrays["classifier.weight"][1][:32]),
                                                      "classifier.bias": ([2], arrays["classifier.bias"][1][:2])}, id2label=None)
    equal({one["label"] for one in json.loads(labels(model).text.splitlines()[0])["labels"]}, {"LABEL_0", "LABEL_1"}, "two labels need no names")
    refused(3, "classifier.weight", "info", with_arrays(CLASSIFY, folder / "two", {}, id2label={"0": "a", "1": "b", "2": "c"}, num_labels=2))


main(globals())

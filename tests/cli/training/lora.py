#!/usr/bin/env python3
"""--lora and tessera merge: compares adapters as PEFT writes them with weights that are merged here; adapters that are not supported, or do not belong
to the model, are refused."""

import json
import math
import os
import re
import shutil
import sys

from support.adapter import array_of, header, make_adapter, read, write, write_adapter
from support.command import GOLDEN, PLAY, change_json, copy_model, equal, main, refused, run
from support.encoders import LINES, SENTENCE, copy_model_deep, joined, own_folder, paths

REFERENCE = ("-d", "reference")
IDS = ("--ids", "1,2,3,4,5,6,7,8,9,10,11,12")
# The modules that PEFT would adapt, and whether the array is [inputs, outputs] (Conv1D).
MODELS = {
    "gpt2-tiny": (["transformer.h.0.attn.c_attn", "transformer.h.1.mlp.c_proj", "transformer.h.0.mlp.c_fc"], True),
    "gpt_neox": (["gpt_neox.layers.0.attention.query_key_value", "gpt_neox.layers.1.mlp.dense_h_to_4h"], False),
    "llama-tiny": (["model.layers.0.self_attn.q_proj", "model.layers.1.self_attn.v_proj", "model.layers.0.mlp.down_proj"], False),
}


def adapter(folder, model, modules=None, **settings):
    """A folder for this model's modules, and {module: (A, B)}."""
    names, across = MODELS[model.name]
    return make_adapter(folder, model, modules or names, across, **settings)


def merged(folder, model, *adapters):
    """The model with (matrices, rank, scale) added by this script."""
    copy_model(model, folder)
    arrays, across = read(model / "model.safetensors"), MODELS[model.name][1]
    for matrices, rank, scale in adapters:
        for module, (a, b) in matrices.items():
            shape, values = arrays[array_of(arrays, module)]
            outputs, inputs = shape[::-1] if across else shape
            for n in range(outputs):
                for k in range(inputs):
                    values[k * outputs + n if across else n * inputs + k] += scale * sum(b[n * rank + j] * a[j * inputs + k]
                                                                                        for j in range(rank))
    write(folder / "model.safetensors", arrays)
    return folder


def logits(folder, model, *arguments):
    run("dump", "-q", *REFERENCE, "-m", model, *IDS, *arguments, "-o", folder / "o.safetensors")
    return read(folder / "o.safetensors")["logits"][1]


def near(got, wanted, what, bound=1e-5):
    equal(len(got), len(wanted), what)
    worst, largest = max(abs(a - b) for a, b in zip(got, wanted)), max(map(abs, wanted))
    assert worst <= bound * largest, f"{what}: off by {worst} of {largest}"


def test_logits_are_those_of_merged_weights(folder):
    for name in MODELS:
        model = GOLDEN / name
        lora, matrices = adapter(folder / f"{name}.lora", model)
        wanted = logits(folder, merged(folder / name, model, (matrices, 3, 2)))
        got = logits(folder, model, "--lora", lora)
        near(got, wanted, name)
        base = logits(folder, model)
        assert max(abs(a - b) for a, b in zip(got, base)) > 1e-2 * max(map(abs, base)), "the adapter changes too little to be tested"


def test_a_gguf_file_takes_the_same_adapters(folder):
    """Its arrays have other names, and Llama's queries and keys other rows. What it has in another form is refused."""
    more = {"llama-tiny": ["model.layers.1.self_attn.k_proj", "model.layers.1.self_attn.q_proj", "model.layers.0.mlp.gate_proj", "lm_head"], "gpt2-tiny": [],
            "phi3": ["model.layers.0.self_attn.qkv_proj", "model.layers.1.mlp.gate_up_proj", "model.layers.1.self_attn.o_proj"],
            "gemma": ["model.layers.1.self_attn.q_proj", "model.layers.0.self_attn.k_proj", "model.layers.0.mlp.up_proj"],
            "qwen3": ["model.layers.1.self_attn.q_proj", "model.layers.0.self_attn.v_proj"]}
    for name, modules in more.items():
        model = GOLDEN / name
        names, across = MODELS.get(name, ([], False))
        lora, _ = make_adapter(folder / f"{name}.gguf.lora", model, names + modules, across)
        wanted, base = logits(folder, model, "--lora", lora), logits(folder, model / "model.gguf")
        near(logits(folder, model / "model.gguf", "--lora", lora), wanted, name)
        assert max(abs(a - b) for a, b in zip(wanted, base)) > 1e-2 * max(map(abs, base)), f"{name}: the adapter changes too little to be tested"
    neox = GOLDEN / "gpt_neox"
    for i, module in enumerate(MODELS["gpt_neox"][0]):  # of each head: its query, its key, its value; in the GGUF file all queries come first
        lora, _ = make_adapter(folder / f"neox{i}", neox, [module], False)
        if "query_key_value" in module:
            refused(3, f'belongs to "{module}.weight", which {neox}/model.gguf lacks or holds in another form', "dump", *REFERENCE, "-m", neox / "model.gguf", *IDS,
                    "--lora", lora, "-o", folder / "o.safetensors")
        else:
            near(logits(folder, neox / "model.gguf", "--lora", lora), logits(folder, neox, "--lora", lora), module)


def test_what_a_gguf_file_holds_in_another_form_is_not_replaced(folder):
    """Norms of Gemma, to which 1 is added there, and the rows of Llama's queries."""
    for name, array in (("gemma", "model.norm.weight"), ("llama-tiny", "model.layers.0.self_attn.q_proj.weight")):
        model = GOLDEN / name
        lora, _ = make_adapter(folder / name, model, ["model.layers.0.mlp.up_proj"], False)
        held = read(lora / "adapter_model.safetensors")
        held[f"base_model.model.{array}"] = read(model / "model.safetensors")[array]
        write(lora / "adapter_model.safetensors", held)
        logits(folder, model, "--lora", lora)
        refused(3, f'tensor "base_model.model.{array}" replaces one that {model}/model.gguf holds in another form', "dump", *REFERENCE, "-m", model / "model.gguf",
                *IDS, "--lora", lora, "-o", folder / "o.safetensors")


def test_several_add_up_and_rslora_scales_by_the_root(folder):
    model = GOLDEN / "gpt2-tiny"
    one, first = adapter(folder / "one", model)
    two, second = adapter(folder / "two", model, rank=4, seed=2, use_rslora=True)
    wanted = logits(folder, merged(folder / "both", model, (first, 3, 2), (second, 4, 6 / 2)))
    near(logits(folder, model, "--lora", one, "--lora", two), wanted, "two adapters")


def test_names_of_a_bare_base_model(folder):
    model = copy_model(GOLDEN / "gpt2-tiny", folder / "gpt2-tiny")
    arrays = read(model / "model.safetensors")
    write(model / "model.safetensors", {name.removeprefix("transformer."): held for name, held in arrays.items() if name != "lm_head.weight"})
    lora, matrices = adapter(folder / "lora", model)
    near(logits(folder, model, "--lora", lora), logits(folder, merged(folder / "m", model, (matrices, 3, 2))), "without transformer.")


def test_arrays_that_were_trained_whole(folder):
    model = GOLDEN / "llama-tiny"
    lora, matrices = adapter(folder / "lora", model, modules_to_save=["norm"])
    held = read(lora / "adapter_model.safetensors")
    arrays = read(model / "model.safetensors")
    shape, values = arrays["model.norm.weight"]
    held["base_model.model.model.norm.weight"] = shape, [2 * v for v in values]
    write(lora / "adapter_model.safetensors", held)
    wanted = merged(folder / "m", model, (matrices, 3, 2))
    arrays = read(wanted / "model.safetensors")
    arrays["model.norm.weight"] = held["base_model.model.model.norm.weight"]
    write(wanted / "model.safetensors", arrays)
    near(logits(folder, model, "--lora", lora), logits(folder, wanted), "a norm of the adapter's")
    near(logits(folder, model / "model.gguf", "--lora", lora), logits(folder, wanted), "a norm of the adapter's, for a GGUF file")
    run("merge", model, "--lora", lora, "-o", folder / "out")
    equal(read(folder / "out" / "model.safetensors")["model.norm.weight"], arrays["model.norm.weight"])


def test_arrays_of_modules_that_peft_wraps(folder):
    """Where target_modules names the output matrix, PEFT saves the matrix, too; with bias "all" the biases: both as base_layer's."""
    for name, module, kind in (("llama-tiny", "lm_head", "weight"), ("gpt2-tiny", "transformer.h.0.attn.c_attn", "bias")):
        model = GOLDEN / name
        base, (lora, matrices) = copy_model(model, folder / "base" / name), adapter(folder / f"{name}.lora", model, [module])
        held, arrays = read(lora / "adapter_model.safetensors"), read(model / "model.safetensors")
        array = array_of(arrays, module).removesuffix("weight") + kind
        shape, values = arrays[array]
        arrays[array] = held[f"base_model.model.{module}.base_layer.{kind}"] = shape, [v + i % 3 / 10 for i, v in enumerate(values)]
        write(lora / "adapter_model.safetensors", held)
        write(base / "model.safetensors", arrays)
        wanted = logits(folder, merged(folder / "wanted" / name, base, (matrices, 3, 2)))
        got = logits(folder, model, "--lora", lora)
        near(got, wanted, name)
        near(logits(folder, model / "model.gguf", "--lora", lora), wanted, f"{name}, GGUF")
        run("merge", model, "--lora", lora, "-o", folder / f"{name}.out")
        equal(logits(folder, folder / f"{name}.out"), got, f"{name}, merged")


def renamed(source, folder, old, new):
    """A copy of a folder whose arrays have another beginning of their names."""
    shutil.copytree(source, folder)
    for path in folder.glob("*.safetensors"):
        write(path, {re.sub("^" + re.escape(old), new, name): held for name, held in read(path).items()})
    return folder


def test_both_names_of_gemma_3(folder):
    """transformers 5 has its modules under other names than the files, which PEFT's adapters have, and some files."""
    module, base = "{}layers.0.self_attn.q_proj {}layers.1.mlp.down_proj", "base_model.model."
    model, prefix, other = copy_model(GOLDEN / "gemma3-odd", folder / "gemma3"), "language_model.model.", "model.language_model."
    old, _ = make_adapter(folder / "old", model, module.format(prefix, prefix).split(), False)
    new = renamed(old, folder / "new", base + prefix, base + other)
    wanted, plain = logits(folder, model, "--lora", old), logits(folder, model)
    assert max(abs(a - b) for a, b in zip(wanted, plain)) > 1e-2 * max(map(abs, plain)), "the adapter changes too little to be tested"
    files = renamed(model, folder / "in", prefix, other)
    for part in "vision_tower.", "multi_modal_projector.":
        files = renamed(files, folder / part, part, "model." + part)
    assert any(name.startswith("model.vision_tower.") for name in read(files / "model.safetensors"))
    equal(logits(folder, files), plain, "files with the other names")
    for lora, held in ((new, model), (old, files), (new, files)):
        equal(logits(folder, held, "--lora", lora), wanted, f"{lora.name} for {held.name}")
    texts = GOLDEN / "gemma3_text"
    old, _ = make_adapter(folder / "old.texts", texts, module.format("model.", "model.").split(), False)
    for begin in other, prefix:
        lora = renamed(old, folder / begin, base + "model.", base + begin)
        for held in texts, texts / "model.gguf":
            equal(logits(folder, held, "--lora", lora), logits(folder, held, "--lora", old), f"{begin} for {held.name}")


def test_parts_that_are_not_computed(folder):
    """PEFT's "all-linear" adapts what reads images, too. Its arrays are left out, but merge would lose them."""
    def for_images(source, name, begin, alone=False):
        lora = shutil.copytree(source, folder / name)
        held = {} if alone else read(lora / "adapter_model.safetensors")
        for part, shape in (("A", [3, 8]), ("B", [8, 3])):
            held[f"base_model.model.{begin}vision_tower.encoder.layers.0.self_attn.q_proj.lora_{part}.weight"] = shape, [0.1] * 24
        write(lora / "adapter_model.safetensors", held)
        return lora

    for model, module in (GOLDEN / "gemma3-odd", "language_model.model."), (GOLDEN / "gemma3_text" / "model.gguf", "model."):
        source = model.parent if model.suffix else model
        lora, _ = make_adapter(folder / f"{source.name}.lora", source, [module + "layers.0.self_attn.q_proj"], False)
        for begin in "", "model.":
            both = for_images(lora, f"{source.name}.{begin}both", begin)
            equal(logits(folder, model, "--lora", both), logits(folder, model, "--lora", lora), f"{source.name}, {begin}")
            assert f"{begin}vision_tower" in json.loads(run("info", "--json", model, "--lora", both).text)["left out"]
        refused(3, 'q_proj.lora_A.weight", belong to parts of the model that are not served', "dump", *REFERENCE, "-m", model, *IDS, "--lora",
                for_images(lora, f"{source.name}.images", "", alone=True), "-o", folder / "o.safetensors")
    refused(3, "belongs to a part that is not served, and would be lost", "merge", GOLDEN / "gemma3-odd", "--lora", folder / "gemma3-odd.both", "-o",
            folder / "out")
    assert not (folder / "out").exists()


def test_a_copy_of_a_tied_matrix_is_trained_alone(folder):
    """As PEFT trains modules_to_save: where the output matrix is the embedding, the other of both stays as it was."""
    for name, module, embed, across in (("gpt2-tiny", "transformer.h.0.mlp.c_fc", "transformer.wte.weight", True),
                                        ("gemma", "model.layers.0.mlp.up_proj", "model.embed_tokens.weight", False)):
        plain, _ = make_adapter(folder / f"{name}.plain", GOLDEN / name, [module], across)
        source = copy_model(GOLDEN / name, folder / name)
        arrays = read(source / "model.safetensors")
        shape, values = arrays[embed]
        arrays.pop("lm_head.weight", None)
        doubled, tripled = (shape, [2 * v for v in values]), (shape, [v if i % 3 else 3 * v for i, v in enumerate(values)])
        cases = {"embedding": ({embed: doubled}, {}, doubled, arrays[embed]), "head": ({"lm_head.weight": tripled}, {}, arrays[embed], tripled),
                 "both": ({embed: doubled, "lm_head.weight": tripled}, {}, doubled, tripled),
                 "tying": ({embed: doubled}, {"ensure_weight_tying": True}, doubled, doubled)}
        for copies in False, True:    # files may hold the matrix twice
            base = copy_model(source, folder / f"{name}.{copies}")
            write(base / "model.safetensors", {**arrays, **({"lm_head.weight": arrays[embed]} if copies else {})})
            for case, (changed, settings, embedding, head) in cases.items():
                what = f"{name}.{copies}.{case}"
                lora, wanted = shutil.copytree(plain, folder / f"{what}.lora"), copy_model(base, folder / f"{what}.wanted")
                write(lora / "adapter_model.safetensors",
                      {**read(lora / "adapter_model.safetensors"), **{f"base_model.model.{array}": held for array, held in changed.items()}})
                change_json(lora / "adapter_config.json", modules_to_save=list(changed), **settings)
                write(wanted / "model.safetensors", {**arrays, embed: embedding, "lm_head.weight": head})
                change_json(wanted / "config.json", tie_word_embeddings=False)
                expected, got = logits(folder, wanted, "--lora", plain), logits(folder, base, "--lora", lora)
                near(got, expected, what)
                if name == "gemma" and not copies:
                    near(logits(folder, GOLDEN / name / "model.gguf", "--lora", lora), expected, f"{what}, GGUF")
                run("merge", base, "--lora", lora, "-o", folder / f"{what}.out")
                equal(logits(folder, folder / f"{what}.out"), got, f"{what}, merged")
        lora, _ = write_adapter(folder / f"{name}.pair", {"lm_head": shape})
        write(source / "model.safetensors", {**arrays, "lm_head.weight": arrays[embed]})
        change_json(source / "config.json", tie_word_embeddings=False)
        equal(logits(folder, folder / f"{name}.False", "--lora", lora), logits(folder, source, "--lora", lora), f"{name}, a pair for the output matrix")


def test_merge(folder):
    for name in MODELS:
        model = copy_model(GOLDEN / name, folder / "source" / name)
        (model / "README.md").write_text("a card\n")
        (model / "pytorch_model.bin").write_bytes(b"other weights")
        for place, file in ("additional_chat_templates", "tool_use.jinja"), ("mine", "notes.txt"):
            (model / place).mkdir()
            (model / place / file).write_text("{{ tools }}")
        lora, matrices = adapter(folder / f"{name}.lora", model)
        out = folder / f"{name}.out"
        run("merge", model, "--lora", lora, "-o", f"{out}/")
        equal({path.name for path in out.iterdir()}, {path.name for path in model.iterdir()} - {"pytorch_model.bin", "mine"})
        equal((out / "additional_chat_templates" / "tool_use.jinja").read_text(), "{{ tools }}")
        for path in out.iterdir():
            if path.is_file() and path.name != "model.safetensors":
                equal(path.read_bytes(), (model / path.name).read_bytes(), path.name)
        got, wanted = read(out / "model.safetensors"), read(merged(folder / name, model, (matrices, 3, 2)) / "model.safetensors")
        equal(set(got), set(wanted))
        for array, (shape, values) in wanted.items():
            equal(got[array][0], shape)
            near(got[array][1], values, array, 1e-6)
        for settings in [("--dtype", "q8"), ("--dtype", "bf16")] if name == "gpt_neox" else [()]:  # the same bytes, in whatever way the adapters are given
            equal(logits(folder, out, *settings), logits(folder, model, "--lora", lora, *settings), f"{name} {settings}")


def test_merge_of_a_sentence_encoder(folder):
    """Its modules lie in folders, and in old ones the transformer, too."""
    lora, _ = make_adapter(folder / "lora", SENTENCE, ["encoder.layer.0.attention.self.query", "encoder.layer.1.output.dense"], False)
    for model in (copy_model_deep(SENTENCE, folder / "flat"), own_folder(copy_model_deep(SENTENCE, folder / "inner"))):
        embed = lambda name, *options: run("embed", "-m", name, *REFERENCE, "-q", *options, given=joined(LINES)).text
        out, wanted = folder / f"{model.name}.out", embed(model, "--lora", lora)
        assert embed(model) != wanted, "the adapter changes nothing"
        run("merge", model, "--lora", lora, "-o", out)
        equal(paths(out), paths(model))
        equal(embed(out), wanted, model.name)
    for name, place in (f"{model / '0_Transformer'}/", None), (".", model / "0_Transformer"):
        out = folder / f"again{name == '.'}"
        run("merge", name, "--lora", lora, "-o", out, cwd=place)
        equal(paths(out), paths(model))
        equal(embed(out), wanted, f"{name} from {place}")


def test_merge_refuses_and_leaves_nothing(folder):
    model = GOLDEN / "gpt2-tiny"
    lora, _ = adapter(folder / "lora", model)
    taken = folder / "taken"
    taken.mkdir()
    refused(3, "exists", "merge", model, "--lora", lora, "-o", taken)
    refused(2, "merge needs MODEL, --lora FOLDER and -o FOLDER", "merge", model, "-o", folder / "x")
    refused(2, "give only one model", "merge", model, model, "--lora", lora, "-o", folder / "x")
    refused(3, "no such folder", "merge", model, "--lora", folder / "none", "-o", folder / "x")
    refused(3, "this is a file; a LoRA adapter is a folder", "merge", model, "--lora", lora / "adapter_model.safetensors", "-o", folder / "x")
    refused(3, "make a folder beside it", "merge", model, "--lora", lora, "-o", folder / "none" / "x")
    equal(sorted(path.name for path in folder.iterdir()), ["lora", "taken"])
    run("quantize", PLAY, "-o", folder / "q8")
    lora, _ = make_adapter(folder / "play", PLAY, ["transformer.h.0.mlp.c_fc"], True)
    refused(3, "holds blocks already", "merge", folder / "q8", "--lora", lora, "-o", folder / "x")


def test_beside_blocks(folder):
    """A folder that tessera quantize wrote stays in blocks, and gives what its numbers give with the adapters added to them; one that replaces a
    matrix turns this one into floats. The output matrix, too, which has no place for a product beside it."""
    run("quantize", PLAY, "-o", folder / "q8")
    kept = lambda *options: json.loads(run("info", "--json", folder / "q8", *options).text)
    modules = [f"transformer.h.{layer}.{module}" for layer, module in ((0, "attn.c_attn"), (0, "attn.c_proj"), (1, "mlp.c_fc"), (2, "mlp.c_proj"))]
    shape = lambda module: header(PLAY / "model.safetensors")[0][f"transformer.{module}.weight"]["shape"]
    one, _ = make_adapter(folder / "one", PLAY, modules, True, size=0.05)
    held = read(one / "adapter_model.safetensors")
    inputs, outputs = shape("h.1.attn.c_attn")
    held["base_model.model.transformer.h.1.attn.c_attn.weight"] = [outputs, inputs], [(i * 7 % 13 - 6) / 100 for i in range(outputs * inputs)]
    shutil.copytree(one, folder / "two")
    write(folder / "two" / "adapter_model.safetensors", held)
    three, _ = write_adapter(folder / "three", {"transformer.wte": shape("wte"), "transformer.h.0.attn.c_attn": shape("h.0.attn.c_attn")[::-1]}, size=0.05)
    base = logits(folder, folder / "q8", "--compute", "f32")
    blocks = int(re.match(r"q8_0 \((\d+)\)", kept()["matrices kept as"])[1])
    for lora, floats in ((one, 0), (folder / "two", 1), (three, 1)):
        told = kept("--lora", lora)["matrices kept as"]
        assert f"q8_0 ({blocks - floats})" in told, told
        got = logits(folder, folder / "q8", "--lora", lora, "--compute", "f32")
        near(got, logits(folder, folder / "q8", "--lora", lora, "--dtype", "f32"), lora.name)
        near(logits(folder, folder / "q8", "--lora", lora, "--dtype", "q8", "--compute", "f32"), got, f"{lora.name}, q8", 0.05)
        assert max(abs(a - b) for a, b in zip(got, base)) > 1e-2 * max(map(abs, base)), "the adapter changes too little to be tested"


def test_what_does_not_fit_is_refused(folder):
    model = GOLDEN / "gpt2-tiny"
    lora, _ = adapter(folder / "lora", model)
    config, held = json.loads((lora / "adapter_config.json").read_text()), read(lora / "adapter_model.safetensors")
    stem = "base_model.model.transformer.h.0.attn.c_attn.lora_"
    a, b = held[stem + "A.weight"], held[stem + "B.weight"]

    def settings(**changes):
        return {"config": {key: value for key, value in {**config, **changes}.items() if value != "gone"}}

    def arrays(**changes):
        return {"arrays": {key: value for key, value in {**held, **{stem + k: v for k, v in changes.items()}}.items() if value}}

    other = {name.replace("c_attn", "c_bttn"): value for name, value in held.items()}
    cases = [
        (settings(r=0), '"r" must be a whole number'), (settings(r="gone"), '"r" must be a whole number'), (settings(r=2), "r is 2"),
        (settings(r=True), '"r" must be'), (settings(lora_alpha="six"), '"lora_alpha" must be a number'),
        (settings(peft_type="LOHA"), "LOHA"), (settings(peft_type="gone"), '"peft_type" is missing'), (settings(use_dora=True), "use_dora"),
        (settings(use_rslora=1), "use_rslora"), (settings(alpha_pattern={"c_attn": 3}), "alpha_pattern"),
        (settings(layer_replication=[[0, 1]]), "layer_replication"), (settings(init_lora_weights="pissa"), "pissa"),
        ({"config": []}, "an object was expected"), ({"config": None}, "the folder is not a LoRA adapter"),
        ({"arrays": None}, "adapter_model.safetensors: no such file"), ({"arrays": {}}, "holds no tensor"),
        ({"arrays": other}, "does not have; the adapter was made for another model"),
        (arrays(**{"A.weight": ([3, a[0][1] - 1], a[1][:-3])}), "has shape [3, "),
        (arrays(**{"B.weight": ([3, len(b[1]) // 3], b[1])}), "has shape [3, "), (arrays(**{"A.weight": ([len(a[1])], a[1])}), "has shape ["),
        (arrays(**{"B.weight": None}), "is there without"), (arrays(**{"A.weight": None}), "is there without"),
        (arrays(**{"A.weight": (a[0], [float("nan")] + a[1][1:])}), "holds a NaN"),
        (arrays(**{"magnitude_vector": ([1], [1.0])}), "of a kind that is not served"),
        ({"arrays": {**held, "transformer.wte.weight": ([1], [1.0])}}, 'begin with "base_model.model."'),
        ({"arrays": {**held, "base_model.model.score.weight": ([1], [1.0])}}, 'the adapter brings tensor "base_model.model.score.weight", which '),
        ({"arrays": {**held, "base_model.model.transformer.wte.weight": ([1], [1.0])}}, "the model's tensor has another shape"),
    ]
    for number, (change, fragment) in enumerate(cases):
        broken = folder / str(number)
        shutil.copytree(lora, broken)
        if "config" in change:
            (broken / "adapter_config.json").write_text(json.dumps(change["config"]))
            if change["config"] is None:
                (broken / "adapter_config.json").unlink()
        if "arrays" in change:
            (broken / "adapter_model.safetensors").unlink()
            if change["arrays"] is not None:
                write(broken / "adapter_model.safetensors", change["arrays"])
        refused(3, fragment, "dump", *REFERENCE, "-m", model, "--lora", broken, *IDS, "-o", folder / "o.safetensors")
    (lora / "adapter_model.safetensors").write_bytes(b"\x00" * 7)
    refused(3, "adapter_model.safetensors", "dump", *REFERENCE, "-m", model, "--lora", lora, *IDS, "-o", folder / "o.safetensors")


def test_transformers_gives_what_the_merged_folder_gives(folder):
    os.environ.update(TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"{error.name} is missing", file=sys.stderr)
        return
    for name in MODELS:
        model = GOLDEN / name
        lora, _ = adapter(folder / f"{name}.lora", model)
        run("merge", model, "--lora", lora, "-o", folder / name)
        official = transformers.AutoModelForCausalLM.from_pretrained(folder / name).eval()
        with torch.no_grad():
            wanted = official(torch.tensor([[int(i) for i in IDS[1].split(",")]])).logits.flatten().tolist()
        near(logits(folder, model, "--lora", lora), wanted, name)


main(globals())

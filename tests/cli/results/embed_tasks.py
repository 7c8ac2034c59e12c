#!/usr/bin/env python3
"""Compares jina-embeddings-v3's adapters by task with a float64 computation of the published formulas (tests/golden/models/make_jina3.py), and checks
what is done without a task, with an unknown one, and with damaged files."""

import json
import math
import shutil

from support.command import GOLDEN, change_json, equal, main, read_safetensors, refused, run, write_safetensors
from support.encoders import CLASSIFY, REFERENCE, SENTENCE, joined, npy, vectors, written

MODEL = GOLDEN / "jina_tasks/model"
EXPECTED = json.loads((GOLDEN / "jina_tasks/expected.json").read_text())
LINES = EXPECTED["lines"]
BOUND = 2e-6    # f32 against float64: two layers of width 16, whose adapters are as large as the weights
NAMES = list(EXPECTED["adapter"])


def embedded(*arguments, model=MODEL, lines=None):
    return vectors(run("embed", "-m", model, *REFERENCE, *arguments, given=joined(lines or LINES)).text)


def near(got, wanted, what=""):
    worst = max(abs(a - b) for x, y in zip(got, wanted, strict=True) for a, b in zip(x, y, strict=True))
    assert worst <= BOUND, f"{what}: off by {worst}"


def distance(a, b):
    return max(abs(x - y) for one, other in zip(a, b, strict=True) for x, y in zip(one, other, strict=True))


def test_every_task(folder):
    near(embedded(), EXPECTED["none"], "none")
    near(embedded("--task", ""), EXPECTED["none"], "none asked for")
    for name in NAMES:
        near(embedded("--task", name), EXPECTED["encode"][name], f"{name}, as encode(task=)")
        near(embedded("--task", name, "--prompt", ""), EXPECTED["adapter"][name], f"{name} without its instruction")
        near(embedded("--task", name, "--prompt-text", "about "), embedded("--task", name, "--prompt", "retrieval.passage"), name)
    near(embedded("--prompt", "retrieval.query"), embedded(lines=["find : " + line for line in LINES]), "a prompt without its adapter")
    every = [EXPECTED["none"], *(EXPECTED["adapter"][name] for name in NAMES)]
    assert min(distance(a, b) for i, a in enumerate(every) for b in every[:i]) > 1e-2, "tasks differ by far more than the bound"


def test_kept_in_other_dtypes(folder):
    """W + s B A is rounded as any weight is: the result is that of a model whose matrices are the sums."""
    arrays = {}
    for name, (shape, values) in read_safetensors(MODEL / "model.safetensors").items():
        if ".lora_" not in name:
            arrays[name.replace(".parametrizations.weight.original", ".weight")] = [shape, list(values)]
    held = json.loads((MODEL / "config.json").read_text())
    task, rank, scale = 1, held["lora_rank"], held["lora_alpha"] / held["lora_rank"]
    whole = read_safetensors(MODEL / "model.safetensors")
    for name, ((rows, columns), _) in [(n, a) for n, a in whole.items() if n.endswith(".original")]:
        (_, r, _), a = whole[name.replace("original", "0.lora_A")]
        b = whole[name.replace("original", "0.lora_B")][1]
        linear = r == rank
        size = rows * rank if not linear else rank * columns
        left, right = (b, a) if linear else (a, b)          # [rows, rank] by [rank, columns]
        left, right = left[task * rows * rank:(task + 1) * rows * rank], right[task * rank * columns:(task + 1) * rank * columns]
        assert size * len(NAMES) == len(a), name
        matrix = arrays[name.replace(".parametrizations.weight.original", ".weight")][1]
        for i in range(rows):
            for k in range(columns):
                matrix[i * columns + k] += scale * sum(left[i * rank + j] * right[j * columns + k] for j in range(rank))
    model = shutil.copytree(MODEL, folder / "sums")
    write_safetensors(model / "model.safetensors", arrays)
    refused(2, "its files hold no adapters by task", "embed", "-m", model, *REFERENCE, "--task", NAMES[1], given="sea\n")
    for dtype in "f32", "f16":
        got, wanted = embedded("--dtype", dtype, "--task", NAMES[1], "--prompt", ""), embedded("--dtype", dtype, model=model)
        assert distance(got, wanted) < (1e-5 if dtype == "f32" else 2e-3), (dtype, distance(got, wanted))


def test_what_is_said(folder):
    told = run("embed", "-m", MODEL, "-d", "reference", given="sea\n").err
    assert f"has adapters for the tasks {', '.join(NAMES)}; none is taken: --task NAME takes one" in told, told
    assert "none is taken" not in run("embed", "-m", MODEL, "-d", "reference", "--task", "", given="sea\n").err
    equal(json.loads(run("info", "--json", MODEL).text)["adapters by task"], ", ".join(NAMES))
    refused(2, f'has no adapter for the task "retrieval"; it has those for {", ".join(NAMES)}', "embed", "-m", MODEL, *REFERENCE, "--task", "retrieval", given="a")
    for model in SENTENCE, CLASSIFY:
        refused(2, 'has no adapter for the task "separation"; its files hold no adapters by task', "embed", "-m", model, *REFERENCE, "--task", "separation", given="a")
    refused(3, "which the new folder would lack", "quantize", MODEL, "-o", folder / "q")
    (folder / "t.txt").write_text("the cat\n" * 40)
    refused(3, "which the new folder would lack", "train", folder / "t.txt", "--model", MODEL, "-o", folder / "out", "--task", "fill-mask", lines=None)


def test_the_folder_s_own_task(folder):
    """model_args of sentence_bert_config.json are what sentence-transformers gives the model: its adapter, but no instruction."""
    model = shutil.copytree(MODEL, folder / "m")
    (model / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32, "model_args": {"default_task": NAMES[0]}}))
    near(embedded(model=model), EXPECTED["adapter"][NAMES[0]])
    near(embedded("--task", "", model=model), EXPECTED["none"])
    near(embedded("--task", NAMES[3], model=model), EXPECTED["encode"][NAMES[3]])
    (model / "sentence_bert_config.json").write_text(json.dumps({"model_args": {"default_task": "retrieval"}}))
    refused(3, 'has no adapter for the task "retrieval"', "embed", "-m", model, *REFERENCE, given="a")


def test_configs_of_other_years(folder):
    """What tells the family: the model type of XLM-RoBERTa with rotary positions, or a class. The base of the angles is then another by default."""
    for i, changes in enumerate(({"model_type": None}, {"model_type": None, "architectures": ["XLMRobertaLoRA"]}, {"model_type": "jina_embeddings_v3"})):
        model = shutil.copytree(MODEL, folder / str(i))
        change_json(model / "config.json", **changes)
        near(embedded("--task", NAMES[4], model=model), EXPECTED["encode"][NAMES[4]], changes)
    change_json(model / "config.json", rotary_emb_base=None)
    other = embedded(model=model)
    assert distance(other, EXPECTED["none"]) > 1e-3
    change_json(model / "config.json", rotary_emb_base=10000.0)
    equal(embedded(model=model), other)
    change_json(model / "config.json", position_embedding_type="absolute")
    refused(3, '"position_embedding_type" is "absolute"', "embed", "-m", model, *REFERENCE, given="a")


def test_search(folder):
    corpus = written(folder, joined(LINES))
    run("embed", "-m", MODEL, *REFERENCE, "--task", "retrieval.passage", "-o", folder / "v.npy", corpus)
    (_, width), values = npy(folder / "v.npy")
    query = [x / math.sqrt(sum(y * y for y in EXPECTED["encode"]["retrieval.query"][2])) for x in EXPECTED["encode"]["retrieval.query"][2]]
    wanted = sorted((-sum(a * b for a, b in zip(query, values[i * width:(i + 1) * width])), i + 1) for i in range(len(LINES)))
    told = run("search", LINES[2], "-m", MODEL, *REFERENCE, "--task", "retrieval.query", "--index", folder / "v.npy").text
    rows = [line.split("\t") for line in told.splitlines()]
    equal([int(row[1]) for row in rows], [i for _, i in wanted])
    assert all(abs(float(row[0]) + cosine) < 1e-5 for row, (cosine, _) in zip(rows, wanted)), told


def test_damaged(folder):
    def changed(name, shape=None, remove=False):
        def change(model):
            arrays = read_safetensors(model / "model.safetensors")
            held = arrays.pop(name)
            if not remove:
                arrays[name] = shape, held[1][:math.prod(shape)]
            write_safetensors(model / "model.safetensors", arrays)
        return change

    def config(**changes):
        return lambda model: change_json(model / "config.json", **changes)

    fc1 = "roberta.encoder.layers.0.mlp.fc1.parametrizations.weight."
    cases = [(config(lora_adaptations=None), '"lora_adaptations" must list 1 to'), (config(lora_adaptations=[]), '"lora_adaptations" must list 1 to'),
             (config(lora_adaptations=[*NAMES[:4], 3]), "number 5 is not a task's name"), (config(lora_adaptations=[*NAMES[:4], NAMES[0]]), "twice"),
             (config(lora_adaptations=NAMES[:4], task_instructions=None), "don't fit it"), (config(lora_rank=2), "don't fit it"),
             (config(lora_rank=0), '"lora_rank"'), (config(lora_alpha="1"), '"lora_alpha"'), (config(task_instructions=[]), '"task_instructions" must be an object'),
             (config(task_instructions={"retrieval": ""}), "is not one of the tasks"), (config(task_instructions={NAMES[0]: 1}), "is not a text"),
             (changed(fc1 + "0.lora_A", remove=True), f'is there without "{fc1}0.lora_A"'), (changed(fc1 + "0.lora_B", remove=True), f'is there without "{fc1}0.lora_B"'),
             (changed(fc1 + "0.lora_B", [5, 24, 2]), "don't fit it"), (changed(fc1 + "original", remove=True), 'mlp.fc1.weight" is missing'),
             (changed("roberta.embeddings.word_embeddings.parametrizations.weight.0.lora_A", [5, 39, 3]), "don't fit it")]
    for i, (change, said) in enumerate(cases):
        model = shutil.copytree(MODEL, folder / str(i))
        change(model)
        refused(3, said, "embed", "-m", model, *REFERENCE, given="a")
    model = shutil.copytree(MODEL, folder / "none")
    arrays = read_safetensors(model / "model.safetensors")
    name = fc1 + "0.lora_B"
    arrays[name] = arrays[name][0], [*arrays[name][1][:-1], math.nan]
    write_safetensors(model / "model.safetensors", arrays)
    near(embedded(model=model), EXPECTED["none"], "the adapter of another task is damaged")
    refused(3, "holds a NaN or an infinity at element 359", "embed", "-m", model, *REFERENCE, "--task", NAMES[-1], given="a")
    modules = json.loads((SENTENCE / "modules.json").read_text())
    modules[0]["type"] = "custom_st.Transformer"
    other = shutil.copytree(SENTENCE, folder / "other")
    (other / "modules.json").write_text(json.dumps(modules))
    refused(3, 'module "custom_st.Transformer" is not served', "embed", "-m", other, *REFERENCE, given="a")


main(globals())

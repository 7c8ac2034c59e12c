#!/usr/bin/env python3
"""--dtype q8 and q4, --compute, and tessera quantize: their error on models with known results is bounded, the same blocks give the same bytes
wherever they come from, and damaged files and wrong requests are refused."""

import json
import math
import random
import re
import shutil
import struct
import subprocess
import sys

from support.command import (DEVICE, GOLDEN, PLAY, SHARED, SOURCE, change_json, copy_model, equal, has_device, main, read_safetensors, refused, run,
                             write_safetensors)
from support.encoders import LINES, SENTENCE, copy_model_deep, joined, own_folder, paths

REFERENCE = ("-d", "reference")
IDS = ("--ids", "1,2,3,4,5,6,7,8,9,10,11,12")
WIDE = GOLDEN / "gpt_neox"  # rows of 32 and 56: both kinds
BLOCK = {"q8": 34, "q4": 18}

# The root mean square error of the logits, divided by the root mean square of the official implementation's logits, for tiny random weights.
# Measured worst of gpt_neox, llama, llama3 and mistral (always llama3): 0.027 and 0.036 (q8), 0.25 and 0.26 (q4); the bound is half as much
# again.
WORST = {("q8", "f32"): 0.04, ("q8", "int8"): 0.054, ("q4", "f32"): 0.38, ("q4", "int8"): 0.39}


def dump(folder, model, *arguments, device=REFERENCE, ids=IDS):
    path = folder / "o.safetensors"
    run("dump", *device, "-m", model, "-q", *ids, *arguments, "-o", path)
    return path.read_bytes()


def quantized(folder, model=PLAY, dtype="q8"):
    run("quantize", model, "-o", folder / dtype, "--dtype", dtype)
    return folder / dtype


def header(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + size]), data[8 + size:], size


def wanted_logits(model, name):
    held, data, _ = header(model / "expected.safetensors")
    entry = held[name + ".logits"]
    begin, end = entry["data_offsets"]
    kind = {"F32": "f", "F64": "d"}[entry["dtype"]]
    return struct.unpack(f"<{math.prod(entry['shape'])}{kind}", data[begin:end])


def test_error_on_models_with_known_results(folder):
    models = [WIDE] + [SHARED / "golden" / name for name in ("llama", "llama3", "mistral") if (SHARED / "golden" / name).is_dir()]
    for model in models:
        case = json.loads((model / "cases.json").read_text())["cases"][0]
        ids = ("--ids", ",".join(map(str, case["input_ids"][0])))
        wanted = wanted_logits(model, case["name"])[:len(case["input_ids"][0]) * json.loads((model / "config.json").read_text())["vocab_size"]]
        scale = math.sqrt(sum(w * w for w in wanted))
        for (dtype, compute), bound in WORST.items():
            dump(folder, model, "--dtype", dtype, "--compute", compute, ids=ids)
            got = read_safetensors(folder / "o.safetensors")["logits"][1]
            equal(len(got), len(wanted))
            off = math.sqrt(sum((a - b) ** 2 for a, b in zip(got, wanted))) / scale
            print(f"       {model.name} {dtype} {compute}: {off:.5f}")
            assert 0 < off < bound, f"{model.name} {dtype} {compute}: {off}"


def same_bytes(folder, device, dtypes, computes):
    for dtype in dtypes:
        stored = quantized(folder, dtype=dtype)
        for compute in computes:
            one = dump(folder, PLAY, "--dtype", dtype, "--compute", compute, device=device)
            equal(dump(folder, stored, "--compute", compute, device=device) == one, True, f"{dtype} {compute}")
        exact = dump(folder, stored, "--compute", "f32", device=device)
        equal(dump(folder, stored, "--dtype", "f32", device=device) == exact, True, f"{dtype}: what its blocks hold, as f32")
        shutil.rmtree(stored)


def test_the_same_bytes_from_the_folder_and_from_the_original(folder):
    same_bytes(folder, REFERENCE, ("q8", "q4"), ("auto", "f32", "int8"))


def test_the_same_bytes_on_a_device(folder):
    if has_device():
        same_bytes(folder, ("-d", DEVICE), ("q8",), ("auto",))


def test_what_auto_says_of_weights_in_bf16(folder):
    """Without a device, nothing is faster at products of bf16."""
    said = run("info", PLAY, "--dtype", "bf16").out.decode()
    assert "f32 of bf16" in said, said


def test_the_loss_that_is_told_is_the_measured_one(_):
    """Help and `info` name what q8 costs; the figure stands in the column of docs/performance.md for q8 weights and products of int8."""
    lines = (SOURCE / "docs" / "performance.md").read_text().splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith("| perplexity | f32 |")]
    column = [cell.strip() for cell in lines[at].split("|")].index("q8, int8 products")
    (measured,) = [line.split("|")[column] for line in lines[at + 2:at + 6] if line.startswith("| SmolLM2-135M-Instruct |")]
    (percent,) = re.findall(r"\(\+([\d.]+) %\)", measured)
    for told in (run("generate", "--help").text, run("info", PLAY, "--dtype", "q8").text, run("info", PLAY, "--dtype", "q8", "--compute", "int8").text):
        equal(re.findall(r"perplexity\s+by\s+([\d.]+)\s+%", told), [percent], told)


def test_alone_and_in_a_batch(folder):
    for device in [REFERENCE] + ([("-d", DEVICE)] if has_device() else []):
        for dtype in ("q8", "q4"):
            dump(folder, PLAY, "--dtype", dtype, "--ids", "20,30,40", device=device)
            both = read_safetensors(folder / "o.safetensors")["logits"]
            dump(folder, PLAY, "--dtype", dtype, device=device)
            alone = read_safetensors(folder / "o.safetensors")["logits"]
            equal(both[1][:len(alone[1])] == alone[1], True, dtype)


def test_what_the_folder_holds(folder):
    for dtype, bytes_a_block in BLOCK.items():
        stored = quantized(folder, dtype=dtype)
        config = json.loads((stored / "config.json").read_text())
        # beside layers of 4 bits, the vocabulary's matrix has 8
        others = {"transformer.wte.weight": "q8"} if dtype == "q4" else {}
        equal(config.pop("quantization_config"), {"quant_method": "tessera", "version": 2, "dtype": dtype, "tensors": others})
        equal(config, json.loads((PLAY / "config.json").read_text()))
        for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
            equal((stored / name).read_bytes(), (PLAY / name).read_bytes(), name)
        old, new = header(PLAY / "model.safetensors")[0], header(stored / "model.safetensors")[0]
        equal(set(old) - {"__metadata__"}, set(new) - {"__metadata__"})
        width = config["n_embd"]
        equal((new["transformer.wte.weight"]["dtype"], new["transformer.wte.weight"]["shape"]),
              ("U8", [config["vocab_size"], width // 32 * BLOCK["q8"]]))
        equal(new["transformer.h.0.attn.c_attn.weight"]["shape"], [3 * width, width // 32 * bytes_a_block], "outputs first")
        equal(new["transformer.wpe.weight"]["dtype"], old["transformer.wpe.weight"]["dtype"])
        told = json.loads(run("info", stored, "--json").text)
        equal((told["kept"], told["compute"]), (dtype + "_0", "int8"))
        original = json.loads(run("info", PLAY, "--dtype", dtype, "--json").text)["matrices kept as"]
        equal("q8_0 (1: the vocabulary)" in original, dtype == "q4", original)
    equal(sorted(p.name for p in folder.iterdir()), ["q4", "q8"], "nothing is left beside them")
    run("generate", *REFERENCE, "-m", folder / "q4", "-p", "ROMEO:", "-n", "3", "--temp", "0")


def test_rows_that_are_no_multiple_of_32_stay(folder):
    stored = quantized(folder, model=WIDE)
    types = {name: entry["dtype"] for name, entry in header(stored / "model.safetensors")[0].items() if name != "__metadata__"}
    assert types["gpt_neox.layers.0.attention.query_key_value.weight"] == "U8", types
    assert types["gpt_neox.layers.0.mlp.dense_4h_to_h.weight"] == "F32", types
    told = json.loads(run("info", WIDE, "--dtype", "q8", "--json").text)
    assert "not multiples of 32" in told["matrices kept as"], told
    equal(dump(folder, stored, ids=("--ids", "1,2,3")) == dump(folder, WIDE, "--dtype", "q8", ids=("--ids", "1,2,3")), True)
    refused(3, "no matrix can be quantised", "quantize", GOLDEN / "llama-tiny", "-o", folder / "tiny")


def random_weights(model, resize):
    """Replaces a model's arrays by random ones, whose dimensions `resize` makes of the name and the old ones."""
    chance, arrays = random.Random(11), {}
    for name, (shape, _) in read_safetensors(model / "model.safetensors").items():
        shape = resize(name, shape)
        arrays[name] = shape, [chance.gauss(1 if len(shape) == 1 and name.endswith("weight") else 0, 0.3) for _ in range(math.prod(shape))]
    write_safetensors(model / "model.safetensors", arrays)


def wide_encoder(folder):
    """The tiny sentence encoder with random rows of 32 and 64, an old tokenizer, and vectors that are normalised first tokens."""
    model = copy_model_deep(SENTENCE, folder)
    random_weights(model, lambda name, shape: [shape[0] if "embeddings.weight" in name else {16: 32, 24: 64}[shape[0]], *({16: 32, 24: 64}[n] for n in shape[1:])])
    change_json(model / "config.json", hidden_size=32, intermediate_size=64)
    change_json(model / "1_Pooling" / "config.json", word_embedding_dimension=32, pooling_mode_mean_tokens=False, pooling_mode_cls_token=True)
    shutil.rmtree(model / "2_Dense")
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"), ("3_Normalize", "Normalize"))
    (model / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models." + kind, "path": path} for path, kind in kinds]))
    vocabulary = json.loads((model / "tokenizer.json").read_text())["model"]["vocab"]
    (model / "vocab.txt").write_text("".join(piece + "\n" for piece in sorted(vocabulary, key=vocabulary.get)))
    (model / "tokenizer.json").unlink()
    return model


def test_encoders_keep_their_modules_and_an_old_tokenizer(folder):
    for model in (wide_encoder(folder / "flat"), own_folder(wide_encoder(folder / "inner"))):
        embed = lambda name, *options: run("embed", "-m", name, *REFERENCE, "-q", *options, given=joined(LINES)).text
        wanted, held = embed(model, "--dtype", "q8"), paths(model)
        (model / "onnx").mkdir()  # another form of the same weights, and what no module is made of
        (model / "onnx" / "model.onnx").write_text("weights")
        (model / "pytorch_model.bin").write_text("weights")
        stored = quantized(folder / model.name, model=model)
        equal(paths(stored), held)
        equal(embed(stored), wanted, model.name)
        (stored / "modules.json").unlink()
        bare = next(stored.rglob("model.safetensors")).parent
        assert embed(bare) != wanted, "without its modules the vectors are the same, so nothing was tested"


def test_biases_by_distance_stay_numbers(folder):
    """T5 with 32 heads: the rows of its biases are as long as a block."""
    model = copy_model(GOLDEN / "t5-tiny", folder / "t5")
    sizes = {24: 32, 40: 64}

    def resize(name, shape):
        if "relative" in name:
            return [shape[0], 32]
        if name.split(".")[-2] in ("q", "k", "v"):
            return [64, 32]
        return [32, 64] if name.split(".")[-2] == "o" else [sizes.get(n, n) for n in shape]
    random_weights(model, resize)
    change_json(model / "config.json", d_model=32, d_kv=2, num_heads=32, d_ff=64)
    for dtype in ("q8", "q4"):
        stored = quantized(folder, model=model, dtype=dtype)
        types = {name: entry["dtype"] for name, entry in header(stored / "model.safetensors")[0].items() if name != "__metadata__"}
        equal({types[name] for name in types if "relative" in name}, {"F32"})
        equal(types["encoder.block.0.layer.0.SelfAttention.q.weight"], "U8")
        equal(dump(folder, stored) == dump(folder, model, "--dtype", dtype), True, dtype)


def test_a_slash_behind_the_new_folder(folder):
    stored = quantized(folder)
    run("quantize", PLAY, "-o", f"{folder}/again//")
    equal((folder / "again" / "model.safetensors").read_bytes() == (stored / "model.safetensors").read_bytes(), True)
    refused(3, "again exists; give the name of a new folder", "quantize", PLAY, "-o", f"{folder}/again/")
    equal(sorted(path.name for path in folder.iterdir()), ["again", "q8"])


def test_gguf_blocks(folder):
    told = json.loads(run("info", GOLDEN / "gpt_neox" / "model.gguf", "--dtype", "q4", "--json").text)
    equal(told["kept"] in ("q4_0", "f32"), True)
    refused(3, "run the model as it is, with --dtype q8", "quantize", WIDE / "model.gguf", "-o", folder / "out")
    equal(list(folder.iterdir()), [])


def test_mxfp4(folder):
    """Blocks in two arrays, as gpt-oss is published, and the same in a GGUF file."""
    model = GOLDEN / "gpt_oss-mxfp4"
    for dtype in ((), ("--dtype", "q8"), ("--dtype", "q4")):
        equal(dump(folder, model, *dtype), dump(folder, model / "model.gguf", *dtype))
    equal(dump(folder, model, "--compute", "f32"), dump(folder, model, "--dtype", "f32"))
    equal("mxfp4 (4)" in run("info", model).text, True)
    refused(3, "is quantised already", "quantize", model, "-o", folder / "again")
    other = copy_model(GOLDEN / "gpt_oss", folder / "other")
    change_json(other / "config.json", quantization_config={"quant_method": "mxfp4"})
    refused(3, "says mxfp4, but no tensor", "info", other)


def test_refused(folder):
    refused(2, "--dtype q5: give f32, f16, bf16, q8 or q4", "info", PLAY, "--dtype", "q5")
    refused(2, "--compute int4: give auto, f32, f16, bf16 or int8", "info", PLAY, "--compute", "int4")
    refused(2, "int8 products need weights kept as q8 or q4", "info", PLAY, "--compute", "int8")
    refused(2, "give q8 or q4", "quantize", PLAY, "-o", folder / "x", "--dtype", "f16")
    refused(2, "quantize needs MODEL and -o FOLDER", "quantize", PLAY)
    (folder / "here").mkdir()
    refused(3, "exists; give the name of a new folder", "quantize", PLAY, "-o", folder / "here")
    refused(3, "make a folder beside it", "quantize", PLAY, "-o", folder / "no" / "where")
    stored = quantized(folder)
    refused(3, "is quantised already", "quantize", stored, "-o", folder / "again")
    equal(sorted(p.name for p in folder.iterdir()), ["here", "q8"])


def damaged(folder, source, code, fragment, change):
    broken = copy_model(source, folder / "broken")
    change(broken)
    refused(code, fragment, "generate", *REFERENCE, "-m", broken, "--ids", "1", "-n", "1")
    shutil.rmtree(broken)


def set_method(**changes):
    def change(model):
        config = json.loads((model / "config.json").read_text())["quantization_config"]
        config.update(changes)
        change_json(model / "config.json", quantization_config={k: v for k, v in config.items() if v is not None})
    return change


def set_bytes(name, at, data):
    def change(model):
        held, _, size = header(model / "model.safetensors")
        with open(model / "model.safetensors", "r+b") as file:
            file.seek(8 + size + held[name]["data_offsets"][0] + at)
            file.write(data)
    return change


def test_damaged_folders(folder):
    q8 = quantized(folder)
    damaged(folder, q8, 3, "in version 3 of that layout", set_method(version=3))
    damaged(folder, q8, 3, "in version 0 of that layout", set_method(version=None))
    damaged(folder, q8, 3, "\"dtype\" is \"q5\"; it must be q8 or q4", set_method(dtype="q5"))
    damaged(folder, q8, 3, "\"dtype\" is missing", set_method(dtype=None))
    damaged(folder, q8, 3, "\"tensors\" must be an object", set_method(tensors="q8"))
    damaged(folder, q8, 3, "lists tensor \"lm_head.weight\", but", set_method(tensors={"lm_head.weight": "q8"}))
    damaged(folder, q8, 3, "\"transformer.wte.weight\" is \"q5\"; it must be q8 or q4", set_method(tensors={"transformer.wte.weight": "q5"}))
    damaged(folder, q8, 3, "bytes, which are not q4 blocks of 18", set_method(tensors={"transformer.wte.weight": "q4"}))
    damaged(folder, q8, 3, "has \"group\", which this version", set_method(group=64))
    damaged(folder, q8, 3, "\"quantization_config\"", set_method(quant_method="gptq"))
    damaged(folder, q8, 3, "bytes, which are not q4 blocks of 18", set_method(dtype="q4"))
    damaged(folder, q8, 3, "has shape [1024, 204]", lambda model: change_json(model / "config.json", quantization_config=None))
    damaged(folder, q8, 3, "no tensor", lambda model: shutil.copy(PLAY / "model.safetensors", model / "model.safetensors"))
    damaged(folder, q8, 3, "holds a NaN or an infinity", set_bytes("transformer.h.1.mlp.c_fc.weight", 34 * 7, b"\x00\x7c"))
    damaged(folder, q8, 3, "", lambda model: (model / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:-100]))


def test_folders_of_version_1(folder):
    """They have no "tensors": all blocks are of one dtype."""
    q8 = quantized(folder)
    wanted = dump(folder, q8)
    set_method(version=1, tensors=None)(q8)
    equal(dump(folder, q8) == wanted, True)


def test_transformers_refuses_it_by_name(folder):
    try:
        import transformers  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        return print("       SKIP: transformers is not installed")
    stored = quantized(folder)
    code = "import sys, transformers; transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(stored)], capture_output=True, text=True, check=False)
    assert done.returncode != 0, "transformers took it"
    assert "tessera" in done.stderr and "quantization type" in done.stderr, done.stderr
    return None


main(globals())

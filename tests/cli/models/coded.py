#!/usr/bin/env python3
"""Models that other programs have quantised (tests/golden/coded): GPTQ, AWQ, FP8, compressed-tensors, bitsandbytes. The numbers are compared in
tests/model/coded.c; here, what is said of them, --dtype and adapters, and that each damaged file or foreign format gets one sentence."""

import json
import random
import struct

from support.adapter import header, make_adapter
from support.command import GOLDEN, change_json, copy_model, equal, main, refused, run

CODED = GOLDEN.parent / "coded"
REFERENCE, IDS = ("-d", "reference"), ("--ids", "3,4,5,6,7,8")
NAMES = sorted(path.name for path in CODED.iterdir() if path.is_dir())
LAYER = "model.layers.0.self_attn.q_proj"
BERT = "bert.encoder.layer.0.attention.self.query"
ACTIVATIONS = "; the method quantises activations, too, which stay floats here"
# Arrays without which a model is whole: scales of activations, zeros for models without biases, groups that lie in their order
OPTIONAL = {".input_scale", ".bias", ".weight_format"}


def dump(folder, model, *arguments):
    path = folder / "o.safetensors"
    run("dump", *REFERENCE, "-m", model, "-q", *IDS, *arguments, "-o", path)
    return path.read_bytes()


def rewrite(model, change):
    """Gives the arrays {name: (dtype, shape, bytes)} of a model to a function, and writes what it left."""
    path = model / "model.safetensors"
    held, begin = header(path)
    data = path.read_bytes()[begin:]
    arrays = {name: (e["dtype"], e["shape"], bytearray(data[e["data_offsets"][0]:e["data_offsets"][1]])) for name, e in held.items()}
    change(arrays)
    entries, body = {}, b""
    for name, (dtype, shape, content) in arrays.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    text = json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def settings(model, **changes):
    config = json.loads((model / "config.json").read_text())["quantization_config"] | changes
    change_json(model / "config.json", quantization_config={k: v for k, v in config.items() if v is not None})


def test_what_is_said(folder):
    for name, stored, became in (("gptq-4", "gptq 4 bits", "7 as q4_0, exactly"), ("awq-4", "awq 4 bits", "7 as q8_0, exactly"),
                                 ("fp8-tiles", "fp8 8 bits", "7 as bf16, rounded"), ("int8", "compressed-tensors 8 bits", "7 as q8_0, exactly"),
                                 ("nf4", "bitsandbytes 4 bits", "7 as f32, rounded"), ("gptq-8", "gptq 8 bits", "8 as q8_0, exactly")):
        model = CODED / name
        assert f"(safetensors, {stored})" in run("info", model).text, name
        told = run("generate", *REFERENCE, "-m", model, "--ids", "3", "-n", "2").err
        more = ACTIVATIONS if stored.startswith("fp8") else ""
        equal(told.count(f"matrices of {stored} are read: {became}{more}\n"), 1, told)


def test_activations_stay_floats(folder):
    """Methods that quantise what products read: the sentence about the matrices says that this is not done, and no other's does."""
    for name in "fp8-rows", "bnb-int8":
        equal(run("generate", *REFERENCE, "-m", CODED / name, "--ids", "3", "-n", "1").err.count(ACTIVATIONS), 1, name)
    model = copy_model(CODED / "int8", folder / "w8a8")
    group = json.loads((model / "config.json").read_text())["quantization_config"]["config_groups"]["group_0"]
    for activations, count in (None, 0), ({"dynamic": True, "num_bits": 8, "strategy": "token", "type": "int"}, 1):
        settings(model, config_groups={"group_0": group | {"input_activations": activations}})
        equal(run("generate", *REFERENCE, "-m", model, "--ids", "3", "-n", "1").err.count(ACTIVATIONS), count, activations)


def test_older_configs(folder):
    """compressed-tensors had another key once; transformers once said torch_dtype."""
    model = copy_model(CODED / "pack-4", folder / "old")
    wanted = dump(folder, model)
    config = json.loads((model / "config.json").read_text())
    change_json(model / "config.json", quantization_config=None, compression_config=config["quantization_config"])
    equal(dump(folder, model) == wanted, True)
    model = copy_model(CODED / "fp8-tiles", folder / "older")
    for dtype, stored in (("bfloat16", "bf16"), ("float16", "f16"), ("float32", "f32"), (None, "f32")):
        change_json(model / "config.json", dtype=None, torch_dtype=dtype)
        told = run("generate", *REFERENCE, "-m", model, "--ids", "3", "-n", "1").err
        assert f": 7 as {stored}, rounded{ACTIVATIONS}\n" in told, told


def test_dtypes(folder):
    """Blocks hold the numbers themselves; --dtype rounds or quantises them as those of any model."""
    for name in ("gptq-4", "awq-4", "pack-4", "gptq-8"):
        equal(dump(folder, CODED / name, "--compute", "f32") == dump(folder, CODED / name, "--dtype", "f32"), True, name)
    for name in ("nf4", "gptq-4-order", "fp8-tiles"):
        kept = dump(folder, CODED / name)
        for dtype in ("f16", "q8", "q4"):
            equal(dump(folder, CODED / name, "--dtype", dtype) == kept, name == "nf4" and dtype[0] == "q", f"{name} {dtype}")


def test_adapters(folder):
    """They are added to the numbers. A folder with them is not written."""
    lora, _ = make_adapter(folder / "lora", CODED / "fp8-rows", (LAYER,), False)
    equal(dump(folder, CODED / "fp8-rows", "--lora", lora) == dump(folder, CODED / "fp8-rows"), False)
    refused(3, "is quantised, and such matrices are not written", "merge", CODED / "fp8-rows", "--lora", lora, "-o", folder / "merged")
    refused(3, "is quantised already", "quantize", CODED / "gptq-4", "-o", folder / "again")


def test_latent_attention_and_experts(folder):
    """DeepSeek V3 as it is published: e4m3 with a scale for each tile. The numbers are those of the model in floats."""
    draw, tile = random.Random(3), 4
    table = [(-1) ** (code >> 7) * ((code & 7) / 8 * 2.0 ** -6 if not code & 0x78 else (1 + (code & 7) / 8) * 2.0 ** ((code >> 3 & 15) - 7)) for code in range(256)]
    coded, plain = (copy_model(GOLDEN / "deepseek_v3-odd", folder / name) for name in ("coded", "plain"))
    matrices = {name: e["shape"] for name, e in header(plain / "model.safetensors")[0].items() if name.endswith("_proj.weight")}
    equal(len(matrices), 36)
    codes = {name: [draw.randrange(0x38) | draw.randrange(2) << 7 for _ in range(rows * columns)] for name, (rows, columns) in matrices.items()}
    scales = {name: [struct.unpack("<f", struct.pack("<f", draw.uniform(0.2, 0.8)))[0] for _ in range(-(-rows // tile) * -(-columns // tile))]
              for name, (rows, columns) in matrices.items()}

    def write_codes(arrays):
        for name, (rows, columns) in matrices.items():
            arrays[name] = "F8_E4M3", [rows, columns], bytes(codes[name])
            arrays[name + "_scale_inv"] = "F32", [-(-rows // tile), -(-columns // tile)], struct.pack(f"<{len(scales[name])}f", *scales[name])

    def write_floats(arrays):
        for name, (rows, columns) in matrices.items():
            across = -(-columns // tile)
            numbers = [table[code] * scales[name][i // columns // tile * across + i % columns // tile] for i, code in enumerate(codes[name])]
            arrays[name] = "F32", [rows, columns], struct.pack(f"<{len(numbers)}f", *numbers)

    rewrite(coded, write_codes)
    rewrite(plain, write_floats)
    change_json(coded / "config.json", quantization_config={"quant_method": "fp8", "weight_block_size": [tile, tile], "activation_scheme": "dynamic"})
    equal(dump(folder, coded) == dump(folder, plain), True)


def test_tiles_without_a_size_and_scales_of_caches(folder):
    """FP8 folders that name no tile have tiles of 128 x 128, as in transformers; and scales that calibration wrote for queries, keys and values in FP8
    concern no number that is computed here."""
    model = copy_model(CODED / "fp8-tiles", folder / "coded")
    rows, columns = header(model / "model.safetensors")[0][LAYER + ".weight"]["shape"]

    def one_tile(arrays):
        for name in [name for name in arrays if name.endswith(".weight_scale_inv")]:
            arrays[name] = "F32", [1, 1], struct.pack("<f", 0.25)

    def beside(arrays):
        for end in ".q_proj.output_scale", ".k_proj.output_scale", ".prob_output_scale", ".kv_scale":
            arrays[LAYER.removesuffix(".q_proj") + end] = "F32", [1], struct.pack("<f", 3)

    def two_tiles(arrays):
        arrays[LAYER + ".weight_scale_inv"] = "F32", [2, 1], struct.pack("<2f", 0.25, 0.25)

    assert 1 < rows <= 128 and columns <= 128, (rows, columns)
    rewrite(model, one_tile)
    settings(model, weight_block_size=[128, 128])
    wanted = dump(folder, model)
    settings(model, weight_block_size=None)  # leaves the key out
    rewrite(model, beside)
    equal(dump(folder, model) == wanted, True)
    rewrite(model, two_tiles)
    refused(3, "one for each group or tile of config.json", "info", model)
    model = copy_model(CODED / "int8", folder / "int8")
    wanted = dump(folder, model)
    rewrite(model, beside)
    equal(dump(folder, model) == wanted, True)


def test_scaled_activations(folder):
    """AutoAWQ divides the results of some families' activations; computing without that would give other numbers."""
    model = copy_model(CODED / "awq-4", folder / "awq")
    rewrite(model, lambda arrays: arrays.update({"model.layers.0.mlp.act.scales": ("F32", [2], struct.pack("<2f", 1, 2))}))
    refused(3, "mlp.act.scales\" divides the result of an activation", "info", model)


def test_missing_and_misshapen_arrays(folder):
    for name in NAMES:
        model = copy_model(CODED / name, folder / name)
        original = (model / "model.safetensors").read_bytes()
        stem = BERT if name.startswith("bert") else LAYER
        parts = [array for array in header(model / "model.safetensors")[0] if array.startswith(stem + ".")]
        equal(len(parts) >= 2, True, name)
        for array in parts:
            end = array.removeprefix(stem)
            if end in OPTIONAL or (end == ".g_idx" and name != "gptq-4-order"):
                continue
            rewrite(model, lambda arrays: arrays.pop(array))
            refused(3, "tensor \"", "info", model)
            (model / "model.safetensors").write_bytes(original)
            if name in ("nf4", "fp4-nested") and "map" not in end:  # runs of numbers, of any shape
                continue
            rewrite(model, lambda arrays: arrays.update({array: (arrays[array][0], [*reversed(arrays[array][1]), 1, 1], arrays[array][2])}))
            refused(3, array, "info", model)
            (model / "model.safetensors").write_bytes(original)


def test_damaged_numbers(folder):
    def put(end, at, code, value):
        return lambda arrays: struct.pack_into(code, arrays[LAYER + end][2], at, value)

    def swap(arrays, old, new):
        for name, (_, _, content) in arrays.items():
            if name.startswith(LAYER + ".weight.quant_state"):
                content[:] = content.replace(old, new, 1)

    for name, fragment, change in (
            ("gptq-4", ".g_idx\"[5] is 2; there are 2 groups", put(".g_idx", 20, "<i", 2)),
            ("gptq-4-order", ".g_idx\"[0] is -1; there are 2 groups", put(".g_idx", 0, "<i", -1)),
            ("pack-4-order", ".weight_g_idx\"[1] is 5; there are 5 groups", put(".weight_g_idx", 4, "<i", 5)),
            ("gptq-4", ".weight\": the scale of row 3, column 0 is infinite or NaN", put(".scales", 6, "<H", 0x7e00)),
            ("awq-4", "the scale of row 1, column 32 is infinite or NaN", put(".scales", 2 * 65, "<H", 0x7c00)),
            ("fp8-rows", "the scale of row 2, column 0 is infinite or NaN", put(".weight_scale", 8, "<f", float("nan"))),
            ("fp8-rows", "holds a NaN or an infinity at element 21", put(".weight", 21, "<B", 0x7f)),
            ("int8", "the scale of row 0, column 0 is infinite or NaN", put(".weight_scale", 0, "<H", 0x7fc0)),
            ("nf4", "the scale of row 3, column 4 is infinite or NaN", put(".weight.absmax", 4, "<f", float("inf"))),
            ("fp4-nested", "the scale of row 0, column 0 is infinite or NaN", put(".weight.nested_absmax", 0, "<f", float("nan"))),
            ("bnb-int8", "the scale of row 0, column 0 is infinite or NaN", put(".SCB", 0, "<f", float("inf"))),
            ("bnb-int8", "a layout for one kind of GPU", put(".weight_format", 0, "<B", 1)),
            ("pack-8", "weight_shape are read", put(".weight_shape", 8, "<q", 1 << 40)),
            ("nf4", ".absmax\" is F32 [7]; one for each block is needed", lambda arrays: swap(arrays, b"64", b"32")),
            ("fp4-nested", ".nested_absmax\" is F32 [4]; one for each block is needed", lambda arrays: swap(arrays, b"16", b"99")),
            ("nf4", ".weight\" is U8 [200, 1]; half a byte for each element", lambda arrays: swap(arrays, b"[20, 20]", b"[20, 90]")),
            ("nf4", "1 to 16777216 of each are read", lambda arrays: swap(arrays, b"[20, 20]", b"[20, -2]")),
            ("nf4", "bitsandbytes__nf4", lambda arrays: arrays[LAYER + ".weight.quant_state.bitsandbytes__nf4"][2].__setitem__(0, 0x5b))):
        model = copy_model(CODED / name, folder / "model")
        rewrite(model, change)
        refused(3, fragment, "generate", *REFERENCE, "-q", "-m", model, "--ids", "3", "-n", "1")
        for path in model.iterdir():
            path.unlink()
        model.rmdir()


def test_what_is_not_read(folder):
    for number, (name, fragment, changes) in enumerate((
            ("gptq-4", "the GPTQ format \"marlin\" is not read; gptq and gptq_v2 are", {"checkpoint_format": "marlin"}),
            ("gptq-4", "the GPTQ format \"marlin\" is not read", {"is_marlin_format": True}),
            ("gptq-4", "\"bits\"", {"bits": 16}),
            ("gptq-4", "\"quant_method\" is \"quanto\", which is not read; awq, bitsandbytes, compressed-tensors, fp8, gptq, mxfp4 and tessera are",
             {"quant_method": "quanto"}),
            ("gptq-3", "needs another number of groups", {"group_size": 16}),
            ("awq-4", "AWQ is read in the version gemm, with 4 bits and zero points; this is gemv, 4 bits", {"version": "gemv"}),
            ("awq-4", "without zero points", {"zero_point": False}),
            ("awq-4", "I32 [6, 8] is needed", {"group_size": 16}),
            ("fp8-tiles", "\"fmt\" is \"e5m2\", which is not read; e4m3 is", {"fmt": "e5m2"}),
            ("fp8-tiles", "a list of two positive whole numbers", {"weight_block_size": [24]}),
            ("fp8-tiles", "one for each group or tile of config.json", {"weight_block_size": None}),
            ("int8", "\"format\" is nvfp4-pack-quantized, which is not read; pack-quantized, int-quantized", {"format": "nvfp4-pack-quantized"}),
            ("int8", "\"sparsity_config\" is sparse-24-bitmask", {"sparsity_config": {"format": "sparse-24-bitmask"}}),
            ("int8", "\"transform_config\" is set", {"transform_config": {"config_groups": {"a": {}}}}),
            ("bnb-int8", "says gptq, but no tensor", {"quant_method": "gptq"}))):
        model = copy_model(CODED / name, folder / str(number))
        settings(model, **changes)
        refused(3, fragment, "info", model)


main(globals())

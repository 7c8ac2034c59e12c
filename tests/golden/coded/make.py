#!/usr/bin/env python3
"""Makes the goldens of quantised matrices: for each format a tiny model in the files that its program writes, with what the model computes in
float64 from the numbers that the format's definition gives.

    python3 make.py [NAME...]       (needs torch, transformers, safetensors, numpy)
    python3 make.py --compare       (compressed-tensors and bitsandbytes, too: their own results, and transformers', against these numbers)

Codes, scales and zero points are drawn, not found by quantising: so every code occurs. Packing and the numbers (`w`) are written here in NumPy
from the formats' definitions, apart from Tessera's readers. Each folder has config.json and model.safetensors; cases.json and
expected.safetensors with the logits and hidden states, and under "numbers.NAME" some of the matrices.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers as tr
from safetensors.torch import load_file, save_file

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "models"))
from make import Exact64, randomize  # noqa: E402

LLAMA = dict(vocab_size=32, hidden_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, intermediate_size=96,
             max_position_embeddings=32, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
ODD = dict(LLAMA, hidden_size=20, intermediate_size=28, vocab_size=29)
BERT = dict(vocab_size=29, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, max_position_embeddings=24)
SHOWN = ("q_proj", "down_proj", "lm_head", "query", "output.dense")


def words(codes, bits, axis):
    """Packs codes along an axis as one run of bits, the lowest first, in int32."""
    codes = np.moveaxis(codes.astype(np.uint64), axis, -1)
    n = -(-codes.shape[-1] * bits // 32)
    run = np.zeros((*codes.shape[:-1], n * 32), np.uint64)
    for bit in range(bits):
        run[..., bit:codes.shape[-1] * bits:bits] = codes >> np.uint64(bit) & np.uint64(1)
    packed = (run.reshape(*run.shape[:-1], n, 32) << np.arange(32, dtype=np.uint64)).sum(-1).astype(np.uint32)
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(packed.view(np.int32), -1, axis)))


def halves(rng, *shape, dtype=torch.float16):
    return torch.from_numpy(rng.uniform(0.004, 0.02, shape) * rng.choice([-1, 1], shape, p=[0.1, 0.9])).to(dtype)


def exact(t):
    return t.double().numpy()


# ---- each gives the arrays of a matrix [outputs, inputs] by the ends of their names, and its numbers in float64 ----

def gptq(rng, o, i, bits, group, sym, v2=False, act=False, index=True):
    group = i if group < 0 else group
    groups, half = -(-i // group), 1 << bits - 1
    g = np.arange(i) // group
    if act:
        g = rng.permutation(g)
    q = rng.integers(0, 2 * half, (o, i))
    z = np.full((o, groups), half) if sym else rng.integers(1, 2 * half, (o, groups))
    s = halves(rng, groups, o)
    out = {".qweight": words(q.T, bits, 0), ".qzeros": words((z if v2 else z - 1).T, bits, 1), ".scales": s}
    if index:
        out[".g_idx"] = torch.from_numpy(g.astype(np.int32))
    return out, (q - z[:, g]) * exact(s).T[:, g]


def awq(rng, o, i, group):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    q, z, s = rng.integers(0, 16, (i, o)), rng.integers(0, 16, (i // group, o)), halves(rng, i // group, o)
    mixed = lambda a: words(a.reshape(a.shape[0], -1, 8)[..., order].reshape(a.shape), 4, 1)
    g = np.arange(i) // group
    return {".qweight": mixed(q), ".qzeros": mixed(z), ".scales": s}, ((q - z[g]) * exact(s)[g]).T


def e4m3(rng, o, i):
    codes = rng.integers(0, 256, (o, i)).astype(np.uint8)
    codes[codes & 127 == 127] = 0  # NaN
    codes[codes & 127 > 0x58] &= 0xbf  # not too large
    sign, exponent, mantissa = np.where(codes & 128, -1.0, 1.0), codes >> 3 & 15, codes & 7
    value = sign * np.where(exponent, (1 + mantissa / 8) * 2.0 ** (exponent.astype(float) - 7), mantissa / 8 * 2.0 ** -6)
    return torch.from_numpy(codes).view(torch.float8_e4m3fn), value


def spread(s, o, i, tile):
    return np.repeat(np.repeat(s, tile[0], 0), tile[1], 1)[:o, :i]


def fp8(rng, o, i, tile=None, one=False, name=".weight_scale", dtype=torch.float32):
    codes, value = e4m3(rng, o, i)
    if tile:
        s = halves(rng, -(-o // tile[0]), -(-i // tile[1]), dtype=dtype)
        return {".weight": codes, name: s}, value * spread(exact(s), o, i, tile)
    s = halves(rng, 1 if one else o, 1, dtype=dtype)
    return {".weight": codes, name: s.reshape(()) if one else s, ".input_scale": torch.tensor(0.5)}, value * exact(s)


def int8(rng, o, i, zero=False, group=0, dtype=torch.bfloat16):
    q = rng.integers(-128, 128, (o, i))
    group = group or i
    s = halves(rng, o, i // group, dtype=dtype) / 16
    out = {".weight": torch.from_numpy(q.astype(np.int8)), ".weight_scale": s}
    z = np.zeros((o, i // group), int)
    if zero:
        z = rng.integers(-128, 128, z.shape)
        out[".weight_zero_point"] = torch.from_numpy(z.astype(np.int8))
    return out, (q - spread(z, o, i, (1, group))) * spread(exact(s), o, i, (1, group))


def packed(rng, o, i, bits, group=0, zero=False, act=False, dtype=torch.bfloat16):
    half, group = 1 << bits - 1, group or i
    g = np.arange(i) // group
    if act:
        g = rng.permutation(g)
    q, s = rng.integers(-half, half, (o, i)), halves(rng, o, i // group, dtype=dtype)
    z = rng.integers(-half, half, s.shape) if zero else np.zeros(s.shape, int)
    out = {".weight_packed": words(q + half, bits, 1), ".weight_scale": s, ".weight_shape": torch.tensor([o, i])}
    if zero:
        out[".weight_zero_point"] = words(z + half, bits, 0)
    if act:
        out[".weight_g_idx"] = torch.from_numpy(g.astype(np.int32))
    return out, (q - z[:, g]) * exact(s)[:, g]


# The normal distribution's quantiles (arXiv:2305.14314, appendix E), and a sign with a 3-bit float
NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
       0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
       0.7229568362236023, 1.0]
FP4 = [0.0, 0.005208333333333333, 0.6666666666666666, 1.0, 0.3333333333333333, 0.5, 0.16666666666666666, 0.25]


def nibbles(rng, o, i, kind, block, nested=0, dtype="float32"):
    q = rng.integers(0, 16, o * i)
    high = np.append(q, 0)[:-(-q.size // 2) * 2].reshape(-1, 2)
    table = torch.tensor(NF4 if kind == "nf4" else FP4 + [-v for v in FP4], dtype=torch.float32)
    blocks = -(-q.size // block)
    state = {"quant_type": kind, "blocksize": block, "dtype": dtype, "shape": [o, i]}
    out = {".weight": torch.from_numpy((high[:, 0] << 4 | high[:, 1]).astype(np.uint8)[:, None]), ".weight.quant_map": table}
    if nested:
        codes = rng.integers(0, 256, blocks)
        map_, outer = torch.linspace(-1, 1, 256), torch.from_numpy(rng.uniform(0.1, 0.2, -(-blocks // nested)).astype(np.float32))
        offset = 0.4
        absmax = exact(map_)[codes] * exact(outer)[np.arange(blocks) // nested] + offset
        out |= {".weight.absmax": torch.from_numpy(codes.astype(np.uint8)), ".weight.nested_absmax": outer, ".weight.nested_quant_map": map_}
        state |= {"nested_blocksize": nested, "nested_dtype": "float32", "nested_offset": offset}
    else:
        scale = torch.from_numpy(rng.uniform(0.1, 0.4, blocks).astype(np.float32))
        absmax, out[".weight.absmax"] = exact(scale), scale
    text = json.dumps(state).encode()
    out[f".weight.quant_state.bitsandbytes__{kind}"] = torch.from_numpy(np.frombuffer(text, np.uint8).copy())
    return out, (exact(table)[q] * absmax[np.arange(q.size) // block]).reshape(o, i)


def bnb8(rng, o, i):
    q, s = rng.integers(-127, 128, (o, i)), torch.from_numpy(rng.uniform(0.2, 1, o).astype(np.float32))
    out = {".weight": torch.from_numpy(q.astype(np.int8)), ".SCB": s, ".weight_format": torch.tensor(0, dtype=torch.uint8)}
    return out, q * exact(s)[:, None] / 127


# ---- the models ----

def config_groups(**weights):
    return {"config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}, "quantization_status": "compressed", "ignore": ["lm_head"],
            "quant_method": "compressed-tensors"}


def of_gptq(bits, group, sym=True, v2=False, act=False, **more):
    return dict(quant_method="gptq", bits=bits, group_size=group, sym=sym, desc_act=act, checkpoint_format="gptq_v2" if v2 else "gptq", **more)


AWQ = dict(quant_method="awq", bits=4, group_size=32, zero_point=True, version="gemm")
# name: (config, quantization_config, how a matrix is made, dtype of the model, the dtype that Tessera is to keep it in)
MODELS = {
    "gptq-4": (LLAMA, of_gptq(4, 32), lambda r, o, i: gptq(r, o, i, 4, 32, True), "float32", "q4_0"),
    "gptq-4-order": (LLAMA, of_gptq(4, 32, False, True, True), lambda r, o, i: gptq(r, o, i, 4, 32, False, True, True), "float32", "f32"),
    "gptq-4-zeros": (LLAMA, of_gptq(4, 128, False), lambda r, o, i: gptq(r, o, i, 4, 128, False), "float32", "q8_0"),
    "gptq-2": (LLAMA, of_gptq(2, 64, False, True), lambda r, o, i: gptq(r, o, i, 2, 64, False, True), "float32", "q4_0"),
    "gptq-3": (LLAMA, of_gptq(3, 32, False), lambda r, o, i: gptq(r, o, i, 3, 32, False, index=False), "float32", "q4_0"),
    "gptq-8": (LLAMA, of_gptq(8, -1, lm_head=True), lambda r, o, i: gptq(r, o, i, 8, -1, True), "float32", "q8_0"),
    "awq-4": (LLAMA, AWQ, lambda r, o, i: awq(r, o, i, 32), "float32", "q8_0"),
    "fp8-tiles": (LLAMA, dict(quant_method="fp8", fmt="e4m3", activation_scheme="dynamic", weight_block_size=[24, 40]),
                  lambda r, o, i: fp8(r, o, i, (24, 40), name=".weight_scale_inv"), "bfloat16", "bf16"),
    "fp8-rows": (ODD, dict(quant_method="fp8", activation_scheme="static", modules_to_not_convert=["lm_head"]),
                 lambda r, o, i: fp8(r, o, i, one=o == 28), "float32", "f32"),
    "int8": (LLAMA, config_groups(num_bits=8, type="int", strategy="channel", symmetric=True) | {"format": "int-quantized"},
             lambda r, o, i: int8(r, o, i), "float32", "q8_0"),
    "int8-zeros": (ODD, config_groups(num_bits=8, type="int", strategy="group", group_size=4, symmetric=False) | {"format": "int-quantized"},
                   lambda r, o, i: int8(r, o, i, True, 4), "float32", "f32"),
    "pack-4": (LLAMA, config_groups(num_bits=4, type="int", strategy="group", group_size=32, symmetric=True) | {"format": "pack-quantized"},
               lambda r, o, i: packed(r, o, i, 4, 32), "float32", "q4_0"),
    "pack-4-zeros": (ODD, config_groups(num_bits=4, type="int", strategy="group", group_size=4, symmetric=False) | {"format": "pack-quantized"},
                     lambda r, o, i: packed(r, o, i, 4, 4, True), "float16", "f16"),
    "pack-8": (ODD, config_groups(num_bits=8, type="int", strategy="channel", symmetric=True) | {"format": "pack-quantized"},
               lambda r, o, i: packed(r, o, i, 8), "float32", "f32"),
    "float8": (ODD, config_groups(num_bits=8, type="float", strategy="block", block_structure=[8, 12], symmetric=True) |
               {"format": "float-quantized"}, lambda r, o, i: fp8(r, o, i, (8, 12), dtype=torch.bfloat16), "float32", "f32"),
    "nf4": (ODD, dict(quant_method="bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type="nf4", llm_int8_skip_modules=["lm_head"]),
            lambda r, o, i: nibbles(r, o, i, "nf4", 64), "float32", "f32"),
    "fp4-nested": (LLAMA, dict(load_in_4bit=True, bnb_4bit_quant_type="fp4", bnb_4bit_use_double_quant=True),
                   lambda r, o, i: nibbles(r, o, i, "fp4", 64, 16), "float32", "f32"),
    "bnb-int8": (ODD, dict(quant_method="bitsandbytes", load_in_8bit=True), bnb8, "float32", "f32"),
    "bert-int8": (BERT, config_groups(num_bits=8, type="int", strategy="channel", symmetric=True) | {"format": "int-quantized"},
                  lambda r, o, i: int8(r, o, i), "float32", "q8_0"),
    "int8-scales": (dict(LLAMA, hidden_size=32, intermediate_size=32),
                    config_groups(num_bits=8, type="int", strategy="channel", symmetric=True) | {"format": "int-quantized"},
                    lambda r, o, i: int8(r, o, i, dtype=torch.float32), "float32", "f32"),
    "pack-4-order": (ODD, config_groups(num_bits=4, type="int", strategy="group", group_size=4, symmetric=False, actorder="group") |
                     {"format": "pack-quantized"}, lambda r, o, i: packed(r, o, i, 4, 4, True, True), "float32", "f32"),
}


def is_quantised(name, settings):
    return name.endswith(".weight") and ("_proj" in name or ".encoder.layer" in name and "LayerNorm" not in name or
                                         name == "lm_head.weight" and settings.get("lm_head", False))


def make(name, seed):
    sizes, settings, matrix, dtype, _ = MODELS[name]
    rng = np.random.default_rng(seed)
    bert = name.startswith("bert")
    config = tr.BertConfig(**sizes) if bert else tr.LlamaConfig(**sizes)
    config._attn_implementation = "eager"
    kind = tr.BertForMaskedLM if bert else tr.LlamaForCausalLM
    model = kind(config).eval()
    randomize(model, seed)
    arrays, numbers, state = {}, {}, {}
    narrow = getattr(torch, dtype)
    for key, t in model.state_dict().items():
        if not is_quantised(key, settings):
            arrays[key] = t.to(narrow).contiguous().clone()
            state[key] = arrays[key].double()
            continue
        parts, w = matrix(rng, *t.shape)
        arrays |= {key.removesuffix(".weight") + end: part.contiguous() for end, part in parts.items()}
        if name == "gptq-4":  # older files have biases that the model does not have
            arrays[key.removesuffix(".weight") + ".bias"] = torch.zeros(t.shape[0], dtype=torch.float16)
        state[key] = torch.from_numpy(w).to(narrow).double() if narrow != torch.float32 else torch.from_numpy(w)
        if key.removesuffix(".weight").endswith(SHOWN):
            numbers["numbers." + key] = torch.from_numpy(w).float()
    for tied in ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"):  # as transformers saves it
        if bert:
            arrays.pop(tied, None)
    with Exact64():
        whole = kind(config).double().eval()
        whole.load_state_dict(state)
        whole.tie_weights()
        ids = torch.from_numpy(rng.integers(3, sizes["vocab_size"], (2, 7)))
        with torch.no_grad():
            r = whole(input_ids=ids, output_hidden_states=True)
    assert r.logits.dtype == torch.float64
    expected = {"all.logits": r.logits.float(), **{f"all.hidden.{n}": h.float() for n, h in enumerate(r.hidden_states)}, **numbers}
    out = HERE / name
    out.mkdir(exist_ok=True)
    text = config.to_dict() | {"architectures": [kind.__name__], "dtype": dtype, "quantization_config": settings}
    (out / "config.json").write_text(json.dumps(text, indent=1, sort_keys=True) + "\n")
    (out / "cases.json").write_text(json.dumps({"cases": [{"name": "all", "input_ids": ids.tolist()}], "generate": []}) + "\n")
    save_file(arrays, out / "model.safetensors", metadata={"format": "pt"})
    save_file({k: v.contiguous() for k, v in expected.items()}, out / "expected.safetensors")
    print(f"{name}: {sum(f.stat().st_size for f in out.iterdir()) // 1024} KB, logits up to {r.logits.abs().max():.3g}")


# ---- what other packages make of the same files ----

def by_compressed_tensors(settings, parts):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationScheme
    if ".weight_g_idx" in parts:
        return None  # groups by g_idx were given up in 0.20
    weights = settings["config_groups"]["group_0"]["weights"]
    scheme = QuantizationScheme(targets=["Linear"], weights=weights)
    state = {k.removeprefix("."): v.float() if k == ".weight_scale" else v for k, v in parts.items() if k != ".input_scale"}
    return BaseCompressor.get_value_from_registry(settings["format"]).decompress(state, scheme)["weight"]


def by_bitsandbytes(settings, parts):
    import bitsandbytes.functional as F
    if ".SCB" in parts:
        return F.int8_vectorwise_dequant(parts[".weight"], parts[".SCB"])
    state = F.QuantState.from_dict({k.removeprefix(".weight."): v for k, v in parts.items() if k != ".weight"}, torch.device("cpu"))
    return F.dequantize_4bit(parts[".weight"], state)


def by_transformers(settings, parts):
    """transformers' dequantisation, which takes weights of whole tiles only, so the rest is filled up; without tiles, torch's e4m3."""
    from transformers.integrations.finegrained_fp8 import _dequantize_fp8_weight
    scale = parts.get(".weight_scale_inv")
    if scale is None:
        return parts[".weight"].float() * parts[".weight_scale"]
    tile, (o, i) = settings["weight_block_size"], parts[".weight"].shape
    full = torch.zeros(scale.shape[0] * tile[0], scale.shape[1] * tile[1])
    full[:o, :i] = parts[".weight"].float()
    return _dequantize_fp8_weight(full.to(torch.float8_e4m3fn), scale, tile, torch.float32)[:o, :i]


OTHERS = {"compressed-tensors": by_compressed_tensors, "bitsandbytes": by_bitsandbytes, "fp8": by_transformers}


def compare(name):
    settings, folder = MODELS[name][1], HERE / name
    other = OTHERS.get(settings.get("quant_method", "bitsandbytes"))
    arrays, expected = load_file(folder / "model.safetensors"), load_file(folder / "expected.safetensors")
    worst = None
    for key, w in expected.items():
        if not key.startswith("numbers.") or not other:
            continue
        stem = key.removeprefix("numbers.").removesuffix(".weight")
        got = other(settings, {k.removeprefix(stem): v for k, v in arrays.items() if k.startswith(stem + ".")})
        if got is not None:
            worst = max(worst or 0, ((got.double() - w.double()).abs().max() / w.double().abs().max()).item())
    print(f"{name}: " + ("not compared" if worst is None else f"off by at most {worst:.2g} of the largest number"))
    assert worst is None or worst < 1e-6, name


if __name__ == "__main__":
    wanted = [a for a in sys.argv[1:] if a != "--compare"]
    for seed, name in enumerate(MODELS, 700):
        if not wanted or name in wanted:
            compare(name) if "--compare" in sys.argv else make(name, seed)

#!/usr/bin/env python3
"""Makes the golden MiniCPMs, which transformers has no class for: their own code (modeling_minicpm.py) lies beside the models. So this file
computes them itself, in float64, by the formulas of that code: Llama with three factors,

    embedding * scale_emb      x + branch * scale_depth / sqrt(layers)      lm_head(norm(x) / (hidden_size / dim_model_base))

and, as MiniCPM 4 has it, longrope whose original length is the whole context: frequencies are divided by the short factors, and the
attention factor sqrt(1 + log(1) / log(original length)) is 1. GGUF files are as llama.cpp's converter writes them: embedding_scale,
residual_scale = scale_depth / sqrt(layers), logit_scale = hidden_size / dim_model_base, rows of queries and keys in pairs.

    python3 make_minicpm.py       (needs numpy)

Source: Hu et al. 2024, arXiv:2404.06395; MiniCPM Team 2025, arXiv:2506.07900.
"""
import json
import math
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "cli"))

from support.gguf import write_gguf     # noqa: E402  # pylint: disable=wrong-import-position

GGUF_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
              "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
              "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def draw(c, seed):
    g, C, D = np.random.default_rng(seed), c["hidden_size"], c["hidden_size"] // c["num_attention_heads"]
    H, G, F = c["num_attention_heads"], c["num_key_value_heads"], c["intermediate_size"]
    arrays = {"model.embed_tokens": g.normal(size=(c["vocab_size"], C)), "model.norm": 1 + 0.3 * g.normal(size=C)}
    for i in range(c["num_hidden_layers"]):
        shapes = {"self_attn.q_proj": (H * D, C), "self_attn.k_proj": (G * D, C), "self_attn.v_proj": (G * D, C), "self_attn.o_proj": (C, H * D),
                  "mlp.gate_proj": (F, C), "mlp.up_proj": (F, C), "mlp.down_proj": (C, F)}
        arrays |= {f"model.layers.{i}.{name}": 0.4 * g.normal(size=shape) for name, shape in shapes.items()}
        arrays |= {f"model.layers.{i}.{name}": 1 + 0.3 * g.normal(size=C) for name in ("input_layernorm", "post_attention_layernorm")}
    if not c.get("tie_word_embeddings", True):
        arrays["lm_head"] = 0.4 * g.normal(size=(c["vocab_size"], C))
    return {name: value.astype(np.float32) for name, value in arrays.items()}


def forward(c, arrays, ids):
    """(hidden states, logits) of one sequence."""
    w = {name: value.astype(np.float64) for name, value in arrays.items()}
    T, H, G, L = len(ids), c["num_attention_heads"], c["num_key_value_heads"], c["num_hidden_layers"]
    D, branch = c["hidden_size"] // H, c["scale_depth"] / math.sqrt(L)
    norm = lambda x, name: x / np.sqrt((x * x).mean(-1, keepdims=True) + c["rms_norm_eps"]) * w[name]
    silu = lambda x: x / (1 + np.exp(-x))
    factors = np.array(c.get("rope_scaling", {}).get("short_factor", [1] * (D // 2)))
    angles = np.arange(T)[:, None] * c["rope_theta"] ** (-np.arange(0, D, 2) / D) / factors
    cos, sin = (np.concatenate([f(angles)] * 2, -1) for f in (np.cos, np.sin))
    rotate = lambda x: x * cos + np.concatenate([-x[..., D // 2:], x[..., :D // 2]], -1) * sin
    heads = lambda x, n: x.reshape(T, n, D).transpose(1, 0, 2)
    x = w["model.embed_tokens"][ids] * c["scale_emb"]
    hidden = [x]
    for i in range(L):
        at = f"model.layers.{i}."
        n = norm(x, at + "input_layernorm")
        q, k, v = (heads(n @ w[at + f"self_attn.{part}_proj"].T, count) for part, count in (("q", H), ("k", G), ("v", G)))
        q, k, v = rotate(q), np.repeat(rotate(k), H // G, 0), np.repeat(v, H // G, 0)
        scores = np.where(np.tril(np.ones((T, T), bool)), q @ k.transpose(0, 2, 1) / math.sqrt(D), -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        a = (p / p.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(T, -1)
        x = x + a @ w[at + "self_attn.o_proj"].T * branch
        n = norm(x, at + "post_attention_layernorm")
        x = x + (silu(n @ w[at + "mlp.gate_proj"].T) * (n @ w[at + "mlp.up_proj"].T)) @ w[at + "mlp.down_proj"].T * branch
        hidden.append(x)
    hidden[-1] = norm(x, "model.norm")
    return hidden, hidden[-1] / (c["hidden_size"] / c["dim_model_base"]) @ w.get("lm_head", w["model.embed_tokens"]).T


def write_safetensors(path, arrays):
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, value in sorted(arrays.items()):
        data = np.ascontiguousarray(value).astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


def gguf_of(path, c, arrays):
    meta, named = {"general.architecture": "minicpm", "minicpm.context_length": c["max_position_embeddings"], "minicpm.embedding_length": c["hidden_size"],
                   "minicpm.block_count": c["num_hidden_layers"], "minicpm.feed_forward_length": c["intermediate_size"],
                   "minicpm.rope.dimension_count": c["hidden_size"] // c["num_attention_heads"], "minicpm.rope.freq_base": float(c["rope_theta"]),
                   "minicpm.attention.head_count": c["num_attention_heads"], "minicpm.attention.head_count_kv": c["num_key_value_heads"],
                   "minicpm.attention.layer_norm_rms_epsilon": c["rms_norm_eps"], "minicpm.embedding_scale": float(c["scale_emb"]),
                   "minicpm.residual_scale": c["scale_depth"] / math.sqrt(c["num_hidden_layers"]),
                   "minicpm.logit_scale": c["hidden_size"] / c["dim_model_base"]}, {}
    for name, value in arrays.items():
        heads = {"q": c["num_attention_heads"], "k": c["num_key_value_heads"]}.get(name.removesuffix("_proj")[-1]) if name.endswith("_proj") else None
        if heads:
            value = value.reshape(heads, 2, -1, value.shape[1]).swapaxes(1, 2).reshape(value.shape)
        for old, new in GGUF_NAMES.items():
            name = name.replace(old, new)
        named[name.replace("model.layers.", "blk.") + ".weight"] = value.shape, 0, np.ascontiguousarray(value).astype("<f4").tobytes()
    for kind in ("long", "short") if "rope_scaling" in c else ():
        factors = np.array(c["rope_scaling"][f"{kind}_factor"], np.float32)
        meta["minicpm.rope.scaling.type"] = "longrope"
        named[f"rope_factors_{kind}.weight"] = factors.shape, 0, factors.tobytes()
    write_gguf(path, meta, named)


def make(name, seed, **changes):
    c = dict(model_type="minicpm", architectures=["MiniCPMForCausalLM"], auto_map={"AutoModelForCausalLM": "modeling_minicpm.MiniCPMForCausalLM"},
             vocab_size=31, hidden_size=16, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3, intermediate_size=20,
             max_position_embeddings=24, hidden_act="silu", rms_norm_eps=1e-5, rope_theta=10000.0, bos_token_id=1, eos_token_id=2, scale_emb=3,
             scale_depth=1.4, dim_model_base=6, attention_bias=False, attention_dropout=0.0, initializer_range=0.1, use_cache=True,
             torch_dtype="float32", transformers_version="4.36.0") | changes
    out, arrays, expected = HERE / name, draw(c, seed), {}
    out.mkdir(exist_ok=True)
    ids = np.random.default_rng(seed).integers(3, c["vocab_size"], (2, 11))
    found = [forward(c, arrays, row) for row in ids]
    for i in range(c["num_hidden_layers"] + 1):
        expected[f"odd.hidden.{i}"] = np.stack([hidden[i] for hidden, _ in found])
    expected["odd.logits"] = np.stack([logits for _, logits in found])
    write_safetensors(out / "model.safetensors", {key + ".weight": value for key, value in arrays.items()})
    write_safetensors(out / "expected.safetensors", expected)
    (out / "config.json").write_text(json.dumps(c, indent=2) + "\n")
    (out / "cases.json").write_text(json.dumps({"cases": [{"name": "odd", "input_ids": ids.tolist()}], "generate": []}) + "\n")
    gguf_of(out / "model.gguf", c, arrays)


if __name__ == "__main__":
    make("minicpm", 904, tie_word_embeddings=False)
    make("minicpm4", 905, scale_emb=12, scale_depth=0.7, rope_theta=77.0, mup_denominator=5, rms_norm_eps=1e-2,
         rope_scaling={"rope_type": "longrope", "short_factor": [1.5, 2.5], "long_factor": [3.0, 4.0], "original_max_position_embeddings": 24})

#!/usr/bin/env python3
"""Makes the golden encoders of Jina Embeddings 2, which transformers has no class for: their own code lies beside the models. So this
file computes them itself, in float64, as the paper and that code define them: BERT without positions, whose scores have a bias
-slope |i - j| (ALiBi in both directions), and whose feed-forward part is norm(x + W (act(gate x) * (up x)) + b), the gates first.

    python3 make_jina2.py       (needs torch, safetensors, numpy, gguf)

Source: Guenther et al. 2023, arXiv:2310.19923; Press, Smith, Lewis 2021, arXiv:2108.12409, for the slopes.
"""
import json
import math

import torch
from safetensors.numpy import save_file

from make import HERE
from make_source import batches, save, write_encoder_gguf


class Config:
    def __init__(self, **values):
        self.__dict__.update(values)


def slopes(heads):
    """2^(-8 k / n), k = 1 .. n, for the largest power of two n; then every second of those of 2n."""
    n = 2 ** int(math.log2(heads))
    first = [2 ** (-8 * (k + 1) / n) for k in range(n)]
    return torch.tensor((first + [2 ** (-8 * (k + 1) / (2 * n)) for k in range(0, 2 * n, 2)])[:heads], dtype=torch.float64)


def draw(config, seed):
    g, C, F = torch.Generator().manual_seed(seed), config.hidden_size, config.intermediate_size
    arrays = {}

    def add(name, *shape, scale=0.3):
        arrays[name] = torch.randn(*shape, generator=g) * scale

    def dense(name, outputs, inputs, bias=True):
        add(name + ".weight", outputs, inputs)
        if bias:
            add(name + ".bias", outputs)

    def norm(name):
        add(name + ".weight", C)
        arrays[name + ".weight"] += 1
        add(name + ".bias", C)

    add("embeddings.word_embeddings.weight", config.vocab_size, C)
    add("embeddings.token_type_embeddings.weight", 2, C)
    norm("embeddings.LayerNorm")
    for i in range(config.num_hidden_layers):
        at = f"encoder.layer.{i}."
        for part in "query", "key", "value":
            dense(at + "attention.self." + part, C, C)
        dense(at + "attention.output.dense", C, C)
        norm(at + "attention.output.LayerNorm")
        dense(at + "mlp.gated_layers", 2 * F, C, bias=False)
        dense(at + "mlp.wo", C, F)
        norm(at + "mlp.layernorm")
    dense("pooler.dense", C, C)
    return arrays


def forward(config, arrays, ids, mask, types):
    w = {name: value.double() for name, value in arrays.items()}
    linear = lambda name, x: x @ w[name + ".weight"].T + w.get(name + ".bias", 0)
    norm = lambda name, x: torch.nn.functional.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], config.layer_norm_eps)
    act = {"geglu": torch.nn.functional.gelu, "reglu": torch.relu}[config.feed_forward_type]
    B, T, H, D = *ids.shape, config.num_attention_heads, config.hidden_size // config.num_attention_heads
    place = torch.arange(T, dtype=torch.float64)
    bias = -slopes(H)[:, None, None] * (place[None, :] - place[:, None]).abs()
    hidden_from = torch.where(mask[:, None, None, :] == 0, -math.inf, 0.0).double()
    x = norm("embeddings.LayerNorm", w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][types])
    states, maps = [x], []
    for i in range(config.num_hidden_layers):
        at = f"encoder.layer.{i}."
        q, k, v = (linear(at + "attention.self." + part, x).view(B, T, H, D).transpose(1, 2) for part in ("query", "key", "value"))
        maps.append(torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(D) + bias + hidden_from, -1))
        a = (maps[-1] @ v).transpose(1, 2).reshape(B, T, -1)
        x = norm(at + "attention.output.LayerNorm", x + linear(at + "attention.output.dense", a))
        gate, up = linear(at + "mlp.gated_layers", x).chunk(2, -1)
        x = norm(at + "mlp.layernorm", x + linear(at + "mlp.wo", act(gate) * up))
        states.append(x)
    return states, maps, torch.tanh(linear("pooler.dense", x[:, 0]))


def make(name, seed, **changed):
    config = Config(**dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=6, intermediate_size=20,
                           max_position_embeddings=64, type_vocab_size=2, layer_norm_eps=1e-12, feed_forward_type="geglu") | changed)
    out, expected, listing = HERE / name, {}, {"cases": []}
    arrays = draw(config, seed)
    (out / "base").mkdir(parents=True, exist_ok=True)
    save_file({k: v.numpy().copy() for k, v in arrays.items()}, str(out / "base/model.safetensors"), metadata={"format": "pt"})
    (out / "base/config.json").write_text(json.dumps(config.__dict__ | dict(
        model_type="bert", architectures=["JinaBertModel"], attn_implementation="torch", emb_pooler="mean", hidden_act="gelu", pad_token_id=0,
        position_embedding_type="alibi", attention_probs_dropout_prob=0.0), indent=2, sort_keys=True) + "\n")
    g = torch.Generator().manual_seed(seed)
    for case, ids, mask in batches(g, config.vocab_size, 40):
        types = torch.randint(0, 2, ids.shape, generator=g)
        states, maps, pooled = forward(config, arrays, ids, mask, types)
        expected[f"{case}.base.pooled"] = pooled
        for i, h in enumerate(states):
            expected[f"{case}.hidden.{i}"] = h * mask[..., None]
        for i, a in enumerate(maps if case != "long" else []):
            expected[f"{case}.attn.{i}"] = a * mask[:, None, :, None]
        listing["cases"].append({"name": case, "input_ids": ids.tolist(), "attention_mask": mask.tolist(), "token_type_ids": types.tolist()})
    if config.feed_forward_type == "geglu":
        write_encoder_gguf(out / "model.gguf", "jina-bert-v2", config, {k: v.numpy().copy() for k, v in arrays.items() if "pooler" not in k})
    save(out, expected, listing)


if __name__ == "__main__":
    make("jina_bert", 900)
    make("jina_bert-odd", 901, hidden_size=18, num_attention_heads=3, intermediate_size=14, layer_norm_eps=0.06, feed_forward_type="reglu",
         num_hidden_layers=1)

#!/usr/bin/env python3
"""Makes the tiny golden encoder-decoder of gated recurrent units with additive attention, in numpy float64 from its formulas:

    python3 make_recurrent.py       (needs safetensors, numpy)

    r, z = sigmoid(W x + b + U h + c), n = tanh(W x + b + r (U h + c)), h' = (1 - z) n + z h       gates stacked r, z, n
    h_j = [forward_j; backward_j]      s_0 = tanh(init(backward_0))
    e_j = v . tanh(w(s_{t-1}) + u h_j)      a = softmax(e)      c = sum_j a_j h_j
    s_t = decoder([y_t; c], s_{t-1})      logits_t = output([s_t; c; y_t])

Sizes are multiples of 16, which the rows for CPUs take. The case "long" has more target tokens than a session's states begin with.
"""
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

NAME, GAP, STEPS = "bahdanau-wide", 1e-3, 24
EMBED, ENCODER, DECODER, ATTENTION, SOURCE, TARGET = 12, 16, 32, 20, 31, 23
BOS, EOS, PAD = 1, 2, 0
rng = np.random.default_rng(7)


def randn(*shape):
    return (rng.standard_normal(shape) * 0.35).astype(np.float32)


weights = {"src_embed.weight": randn(SOURCE, EMBED), "tgt_embed.weight": randn(TARGET, EMBED)}
for cell, inputs, size in [("encoder.forward", EMBED, ENCODER), ("encoder.backward", EMBED, ENCODER),
                           ("decoder", EMBED + 2 * ENCODER, DECODER)]:
    weights.update({f"{cell}.weight_ih": randn(3 * size, inputs), f"{cell}.weight_hh": randn(3 * size, size),
                    f"{cell}.bias_ih": randn(3 * size), f"{cell}.bias_hh": randn(3 * size)})
weights.update({"init.weight": randn(DECODER, ENCODER), "init.bias": randn(DECODER), "attention.w.weight": randn(ATTENTION, DECODER),
                "attention.w.bias": randn(ATTENTION), "attention.u.weight": randn(ATTENTION, 2 * ENCODER), "attention.v": randn(ATTENTION),
                "output.weight": randn(TARGET, DECODER + 2 * ENCODER + EMBED), "output.bias": randn(TARGET)})
W = {k: v.astype(np.float64) for k, v in weights.items()}


def unit(cell, x, h):
    n = len(h)
    a, b = W[cell + ".weight_ih"] @ x + W[cell + ".bias_ih"], W[cell + ".weight_hh"] @ h + W[cell + ".bias_hh"]
    r, z = (1 / (1 + np.exp(-(a[i * n:i * n + n] + b[i * n:i * n + n]))) for i in range(2))
    return (1 - z) * np.tanh(a[2 * n:] + r * b[2 * n:]) + z * h


def encode(ids):
    x, out = W["src_embed.weight"][ids], np.zeros((len(ids), 2 * ENCODER))
    for cell, places, first in [("encoder.forward", range(len(ids)), 0), ("encoder.backward", range(len(ids) - 1, -1, -1), ENCODER)]:
        h = np.zeros(ENCODER)
        for j in places:
            out[j, first:first + ENCODER] = h = unit(cell, x[j], h)
    return out, np.tanh(W["init.weight"] @ out[0, ENCODER:] + W["init.bias"])


def step(h, s, token):
    e = np.tanh(W["attention.w.weight"] @ s + W["attention.w.bias"] + h @ W["attention.u.weight"].T) @ W["attention.v"]
    a = np.exp(e - e.max())
    a /= a.sum()
    y = W["tgt_embed.weight"][token]
    s = unit("decoder", np.concatenate([y, a @ h]), s)
    return s, a, W["output.weight"] @ np.concatenate([s, a @ h, y]) + W["output.bias"]


expected, cases, generate = {}, [], []
for name, sources, targets in [("t1", [1], 1), ("odd", [7], 5), ("pad_right", [9, 4, 1], 6), ("long", [5], 300)]:
    B, S = len(sources), max(sources)
    ids, mask = np.zeros((B, S), int), np.zeros((B, S), int)
    starts = rng.integers(3, TARGET, (B, targets))
    starts[:, 0] = BOS
    hidden, attn = np.zeros((B, S, 2 * ENCODER)), np.zeros((B, targets, S))
    states, logits = np.zeros((B, targets, DECODER)), np.zeros((B, targets, TARGET))
    for b, n in enumerate(sources):
        ids[b, :n], mask[b, :n] = rng.integers(3, SOURCE, n), 1
        h, s = encode(ids[b, :n])
        hidden[b, :n] = h
        for t in range(targets):
            s, attn[b, t, :n], logits[b, t] = step(h, s, starts[b, t])
            states[b, t] = s
    cases.append({"name": name, "input_ids": ids.tolist(), "attention_mask": mask.tolist(), "decoder_input_ids": starts.tolist()})
    expected.update({f"{name}.enc.hidden": hidden, f"{name}.dec.hidden": states, f"{name}.attn": attn, f"{name}.logits": logits})
while len(generate) < 3:
    ids = rng.integers(3, SOURCE, 3 + 4 * len(generate))
    h, s = encode(ids)
    token, out, rows = BOS, [], []
    for _ in range(STEPS):
        s, _, row = step(h, s, token)
        token = int(row.argmax())
        rows.append(row)
        out.append(token)
    best = np.sort(np.stack(rows), 1)
    if (best[:, -1] - best[:, -2]).min() < GAP:
        continue
    name = f"greedy.{len(generate)}"
    expected[name + ".logits"] = np.stack(rows)
    generate.append({"name": name, "mode": "greedy", "input_ids": ids.tolist(), "ids_without_eos_stop": out})

folder = Path(__file__).parent / NAME
folder.mkdir(exist_ok=True)
save_file(weights, str(folder / "model.safetensors"))
save_file({k: np.ascontiguousarray(v.astype(np.float32)) for k, v in expected.items()}, str(folder / "expected.safetensors"))
config = dict(model_type="bahdanau", embed_size=EMBED, encoder_size=ENCODER, decoder_size=DECODER, attention_size=ATTENTION,
              src_vocab_size=SOURCE, tgt_vocab_size=TARGET, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS)
(folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
(folder / "cases.json").write_text(json.dumps({"cases": cases, "generate": generate}) + "\n")

#!/usr/bin/env python3
"""Makes the goldens of this folder: single operators in numpy float64, each written from its formula (include/tessera/op.h), nothing shared
with Tessera. Inputs are float32; results are rounded to float32 once.

    python3 tests/golden/ops/make.py        # needs numpy; the same bytes every time

index.json: operator -> cases (settings, tensor names); <operator>.safetensors: <case>.<tensor>.
"""
import json
import struct
from math import erf, sqrt
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
rng = np.random.default_rng(20)
index, tensors = {}, {}


def randn(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def case(op, name, inputs, y, **settings):
    index.setdefault(op, {"file": f"{op}.safetensors", "cases": []})
    index[op]["cases"].append({"name": name, **settings, "inputs": list(inputs), "outputs": ["y"]})
    store = tensors.setdefault(op, {})
    for key, value in {**inputs, "y": np.asarray(y, np.float64).astype(np.float32)}.items():
        store[f"{name}.{key}"] = np.ascontiguousarray(value)


def f64(*arrays):
    return [a.astype(np.float64) for a in arrays]


def visible(B, T, S, causal=0, window=0, past=None, len=None):
    see = np.ones((B, T, S), bool)
    for b in range(B):
        for t in range(T):
            at = t + (past[b] if past else 0)
            for s in range(S):
                see[b, t, s] = ((not len or s < len[b]) and (not causal or s <= at) and (not window or at - s < window))
    return see


def masked_softmax(x, see):
    x = np.where(see, x, -np.inf)
    e = np.exp(x - np.maximum(x.max(-1, keepdims=True), -1e300))
    total = e.sum(-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


for m, k, n, ta, tb in [(1, 1, 1, 0, 0), (3, 7, 5, 0, 0), (3, 7, 5, 1, 0), (3, 7, 5, 0, 1), (3, 7, 5, 1, 1), (2, 257, 3, 0, 1)]:
    a, b = randn(*((k, m) if ta else (m, k))), randn(*((n, k) if tb else (k, n)))
    A, B = f64(a, b)
    case("matmul", f"{m}x{k}x{n}.{ta}{tb}", {"a": a, "b": b}, (A.T if ta else A) @ (B.T if tb else B), trans_a=ta, trans_b=tb)
a, b = randn(2, 3, 4, 5), randn(1, 3, 5, 2)
case("matmul", "broadcast", {"a": a, "b": b}, np.einsum("bhmk,bhkn->bhmn", np.float64(a), np.repeat(np.float64(b), 2, 0)), trans_a=0, trans_b=0)

for name, x in [("plain", randn(3, 17, scale=3)), ("huge", randn(2, 5, scale=300)), ("equal", np.full((2, 9), 88.5, np.float32)), ("one", randn(4, 1))]:
    case("softmax", name, {"x": x}, masked_softmax(np.float64(x), np.ones(x.shape, bool)))
for name, B, T, S, how in [("causal", 2, 7, 7, dict(causal=1)), ("cached", 2, 3, 11, dict(causal=1, past=[8, 2], len=[11, 5])),
                           ("window", 1, 9, 9, dict(causal=1, window=4)), ("padding", 3, 4, 9, dict(len=[9, 3, 1])),
                           ("nothing", 2, 3, 6, dict(len=[0, 6]))]:
    x = randn(B, T, S, scale=2)
    case("masked_softmax", name, {"x": x}, masked_softmax(np.float64(x), visible(B, T, S, **how)), **how)

for c, eps, shift, scale in [(1, 1e-5, 0, 1), (7, 1e-5, 0.5, 2), (65, 2.0**-16, 100, 1), (16, 2.0**-20, 0, 1e-3)]:
    x, w, b = randn(3, c, scale=scale) + np.float32(shift), randn(c), randn(c)
    X, W, Bi = f64(x, w, b)
    e = float(np.float32(eps))
    mean = X.mean(-1, keepdims=True)
    case("layernorm", f"c{c}", {"x": x, "weight": w, "bias": b}, (X - mean) / np.sqrt(((X - mean)**2).mean(-1, keepdims=True) + e) * W + Bi, eps=eps)
    case("rmsnorm", f"c{c}", {"x": x, "weight": w}, X / np.sqrt((X * X).mean(-1, keepdims=True) + e) * W, eps=eps)

special = np.float32([0, -0.0, 1, -1, 1e-30, -1e-30, 4, -4, 9, -9, 40, -40, 1e4, -1e4])
with np.errstate(over="ignore"):
    for name, x in [("special", special), ("random", randn(5, 13, scale=3))]:
        X = np.float64(x)
        case("relu", name, {"x": x}, np.maximum(X, 0))
        case("silu", name, {"x": x}, X * (1 / (1 + np.exp(-X))))
        case("sigmoid", name, {"x": x}, 1 / (1 + np.exp(-X)))
        case("tanh", name, {"x": x}, np.tanh(X))
        case("gelu_erf", name, {"x": x}, 0.5 * X * (1 + np.vectorize(erf)(X / sqrt(2))))
        case("gelu_tanh", name, {"x": x}, 0.5 * X * (1 + np.tanh(sqrt(2 / np.pi) * (X + 0.044715 * X**3))))

for interleaved in (0, 1):
    for H, T, D, rotary, first in [(1, 1, 2, 2, 0), (3, 5, 8, 8, 3), (2, 4, 10, 6, 1000)]:
        x, positions = randn(2, H, T, D), np.arange(first, first + T, dtype=np.int64)
        turned = np.float64(x)
        for p in range(rotary // 2):
            angle = positions * 10000.0**(-2 * p / rotary)
            i, j = (2 * p, 2 * p + 1) if interleaved else (p, p + rotary // 2)
            z = (np.float64(x[..., i]) + 1j * np.float64(x[..., j])) * np.exp(1j * angle)
            turned[..., i], turned[..., j] = z.real, z.imag
        case("rope", f"{H}x{T}x{D}.{interleaved}", {"x": x, "positions": positions}, turned, theta=10000.0, rotary_dim=rotary, interleaved=interleaved)

table, ids = randn(11, 6), np.array([[0, 10, 3], [3, 3, 7]], np.int64)
case("embedding", "plain", {"table": table, "ids": ids}, np.float64(table)[ids])

for name, B, H, G, T, S, D, E, how in [
        ("one", 1, 1, 1, 1, 1, 1, 1, {}), ("plain", 2, 2, 2, 5, 7, 4, 3, {}), ("causal", 1, 2, 2, 6, 6, 8, 8, dict(causal=1)),
        ("cached", 2, 2, 1, 2, 9, 4, 4, dict(causal=1, past=[7, 3], len=[9, 5])), ("gqa", 2, 6, 2, 4, 4, 8, 8, dict(causal=1)),
        ("window", 1, 2, 2, 9, 9, 4, 4, dict(causal=1, window=3)), ("nothing", 2, 2, 2, 3, 5, 4, 4, dict(len=[0, 4]))]:
    q, k, v = randn(B, H, T, D), randn(B, G, S, D), randn(B, G, S, E)
    scale = 2.0**-round(np.log2(D) / 2)
    y = np.zeros((B, H, T, E))
    see = visible(B, T, S, **how)
    for b in range(B):
        for h in range(H):
            g = h // (H // G)
            y[b, h] = masked_softmax(np.float64(q[b, h]) @ np.float64(k[b, g]).T * scale, see[b]) @ np.float64(v[b, g])
    case("attention", name, {"q": q, "k": k, "v": v}, y, heads=H, kv_heads=G, scale=scale, **how)

# own generator: what stands above keeps its bytes
rng = np.random.default_rng(21)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


for name, B, T, E, reverse, length in [("one", 1, 1, 1, 0, None), ("steps", 2, 5, 7, 0, None), ("reverse", 2, 5, 7, 1, None),
                                       ("padded", 3, 4, 6, 0, [4, 0, 2]), ("padded-reverse", 3, 4, 6, 1, [4, 0, 2])]:
    gates, state, w, b = randn(B, T, 3 * E), randn(B, E), randn(3 * E, E), randn(3 * E)
    X, H, W, Bi = f64(gates, state, w, b)
    y = np.zeros((B, T, E))
    for i in range(B):
        h, n = H[i], length[i] if length else T
        for t in (reversed(range(n)) if reverse else range(n)):
            gh = W @ h + Bi
            r, z = sigmoid(X[i, t, :E] + gh[:E]), sigmoid(X[i, t, E:2 * E] + gh[E:2 * E])
            h = (1 - z) * np.tanh(X[i, t, 2 * E:] + r * gh[2 * E:]) + z * h
            y[i, t] = h
    case("gru_cell", name, {"gates": gates, "state": state, "w": w, "b": b}, y, reverse=reverse, **({"len": length} if length else {}))

for kind, name in enumerate(["mean", "first", "max", "last"]):
    for length in (None, [5, 0, 2]):
        x = randn(3, 5, 4)
        y = np.zeros((3, 4))
        for i in range(3):
            part = np.float64(x[i, :length[i] if length else 5])
            y[i] = [lambda p: p.mean(0), lambda p: p[0], lambda p: p.max(0), lambda p: p[-1]][kind](part) if len(part) else 0
        case("pool", name + (".padded" if length else ""), {"x": x}, y, kind=kind, **({"len": length} if length else {}))

names = {"float32": "F32", "int64": "I64"}
for op, store in tensors.items():
    header, blob = {}, b""
    for key, value in store.items():
        data = value.tobytes()
        header[key] = {"dtype": names[value.dtype.name], "shape": list(value.shape), "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (HERE / f"{op}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + blob)
(HERE / "index.json").write_text(json.dumps(index, indent=1) + "\n")

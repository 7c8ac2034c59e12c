#!/usr/bin/env python3
"""The logits of a tiny Llama whose matrices are blocks, for every type of blocks, against the same model in float64 on the numbers that the blocks stand
for, by a bound that is computed beside it.

The numbers are those of tests/cli/support/blocks.py, which equal those of the gguf package to the last bit (tests/golden/blocks), and are exact in f32. What
is left is rounding. With unit u = 2^-24, each operation's result r (of a row: an element) is off by at most

    linear       u sum_k |s_k|, with s_k the sum of the first k products: they are added by fma, k upwards (docs/design.md, "Same bytes")
    rms_norm     u |r| (C/2 + 15): half of the C + 3 roundings of the mean of squares, a root and a division within 3 and 2.5 ulp, two products
    rope         u (2 |angle| + 10) (|x| + |x'|): the angle is a rounded number times a place, sine and cosine are within 4 ulp
    attention    a score by its sum and two roundings; a probability by u (|score - largest| + 8): a difference and exp within 4 ulp; a result by T + 6
                 roundings of its terms
    silu(g) up   16 u |r|: exp within 4 ulp, a sum, a division, a product
    residual     u |r|; and u |r| again where a norm reads it, which may have another rounding of it

The reference device computes in double and rounds each result once, so its bound is u |r| for all of them, and for rope what a rounded number times a
place is off by: a thousandth of the others'. A logit l is off by the sum over all operations of |dl/dr| times that: the derivatives come from a backward
pass in float64. Products of two such errors are left out: they are below 1e-3 of the bound, for which 1 % is added; float64's own roundings are below
2^-20 of it.

A wrong scale of one block and two exchanged parts of one byte are found by both bounds: they are planted.

Without --compute f32, products are of bytes: each block of 32 numbers of a row of x, whose largest magnitude is a, becomes whole multiples of the step
a/127 before a matrix reads it. That is one more operation, once for all matrices that read the row. It is off by half a step at most, and by 1400 u of
a step: three roundings of a code of at most 127, and 8 u of the step. If all halves of a step had the worst sign, logits could be off by half of the
largest or more, a bound that finds nothing. So the rounded parts are taken as drawn, evenly over a step: the variance of a logit is the sum of
(dl/dx step)^2 / 12, and DEVIATIONS of its root are added to the bound. That finds a damage of all blocks of a matrix, and a wrong scale of one block
of the last one.
"""

import json
import math
import struct

from support.command import ALL, DEVICE, GOLDEN, equal, has_device, main, read_safetensors, run, skip
from support.gguf import write_gguf

try:
    import numpy as np
    from support.blocks import TYPES, unpacked
except ImportError:
    skip("numpy is missing")

C, F, V, H, G, D, L, T = 256, 256, 48, 4, 2, 64, 2, 4   # rows of blocks of 256 have no fewer numbers
EPS, THETA, U = 1e-5, 10000.0, 2.0 ** -24
IDS = [3, 17, 40, 9]
SHAPES = {"attn_q": (H * D, C), "attn_k": (G * D, C), "attn_v": (G * D, C), "attn_output": (C, H * D), "ffn_gate": (F, C), "ffn_up": (F, C), "ffn_down": (C, F)}
NAMES = ["token_embd", "output", *(f"blk.{i}.{name}" for i in range(L) for name in SHAPES)]
ON_DEVICES = TYPES if ALL else ("q8_0", "q4_K")     # each type takes kernels of its own, which are built first
OF_BYTES = ("q4_K", "q6_K", "q8_0")     # those that most files have
DEVIATIONS = 6      # which one logit of 5e8 reaches
SPREAD = 0.06   # of the numbers: about 1 / sqrt(C), so that rows keep their size
# What a block's halves are so that its numbers have that spread about 0, before each is varied; of mxfp4 the exponent
HALVES = {"q4_0": (0.013,), "q4_1": (0.013, -0.0975), "q5_0": (0.0065,), "q5_1": (0.0065, -0.1), "q8_0": (8e-4,), "q2_K": (7e-3, 1.05e-2), "q3_K": (1.4e-3,),
          "q4_K": (4e-4, 3e-3), "q5_K": (2e-4, 3e-3), "q6_K": (4.5e-5,), "iq4_nl": (9e-4,), "iq4_xs": (5e-5,), "mxfp4": ()}


def draw(kind, count, g):
    _, numbers, size, places, *_ = TYPES[kind]
    out = g.integers(0, 256, (count // numbers, size), dtype=np.uint8)
    for place, value in zip(places, HALVES[kind]):
        varied = value * (0.7 + 0.6 * g.random(len(out)))
        out[:, place:place + 2] = varied.astype(np.float16).view(np.uint8).reshape(-1, 2)
    if kind == "mxfp4":
        out[:, 0] = g.integers(120, 123, len(out))
    return out.tobytes()


def draw_model(kind):
    """{name: bytes} of the matrices, and {name: f32 numbers} of the norms."""
    g = np.random.default_rng(7)
    matrices = {name: draw(kind, math.prod(SHAPES.get(name.split(".")[-1], (V, C))), g) for name in NAMES}
    norms = {name: (0.8 + 0.4 * g.random(C)).astype(np.float32)
             for name in ("output_norm", *(f"blk.{i}.{part}_norm" for i in range(L) for part in ("attn", "ffn")))}
    return matrices, norms


def write(path, kind, matrices, norms):
    meta = {"general.architecture": "llama", "llama.context_length": 64, "llama.embedding_length": C, "llama.block_count": L, "llama.feed_forward_length": F,
            "llama.attention.head_count": H, "llama.attention.head_count_kv": G, "llama.attention.layer_norm_rms_epsilon": EPS, "llama.vocab_size": V,
            "llama.rope.freq_base": THETA}
    arrays = {f"{name}.weight": (SHAPES.get(name.split(".")[-1], (V, C)), TYPES[kind][0], data) for name, data in matrices.items()}
    arrays |= {f"{name}.weight": ((C,), 0, values.tobytes()) for name, values in norms.items()}
    return write_gguf(path, meta, arrays)


class Pass:
    """A forward pass in float64, whose steps note their local bounds and how derivatives go back through them."""

    def __init__(self):
        # (value, its inputs, what gives their derivatives from its own, the step to which it is rounded, its local bounds: of devices, of the reference)
        self.steps = []

    def note(self, value, inputs, back, local, more=0, step=0):
        self.steps.append((value, inputs, back, step, local, U * np.abs(value) + more))
        return value

    def linear(self, x, w):
        products = x[:, None, :] * w[None]
        local = U * np.abs(np.cumsum(products, -1)).sum(-1)
        return self.note(x @ w.T, (x,), lambda d: (d @ w,), local)

    def norm(self, x, w):
        x = self.note(x + 0, (x,), lambda d: (d,), U * np.abs(x))
        r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
        y = x * r * w
        return self.note(y, (x,), lambda d: (r * (d * w) - x * r ** 3 * (d * w * x).mean(-1, keepdims=True),), U * np.abs(y) * (C / 2 + 15))

    def rope(self, x):
        """Pairs (2i, 2i + 1), in which GGUF files have the rows."""
        heads = x.reshape(T, -1, D // 2, 2)
        angle = (np.arange(T)[:, None] * THETA ** (-np.arange(0, D, 2) / D))[:, None, :]
        cos, sin = np.cos(angle), np.sin(angle)
        turn = lambda v, s: np.stack([v[..., 0] * cos - v[..., 1] * s * sin, v[..., 1] * cos + v[..., 0] * s * sin], -1)
        size = np.abs(heads).sum(-1)
        each = lambda x: np.repeat(x[..., None], 2, -1).reshape(T, -1)
        back = lambda d: (turn(d.reshape(len(d), *heads.shape), -1).reshape(d.shape),)
        return self.note(turn(heads, 1).reshape(x.shape), (x,), back, each(U * (2 * angle + 10) * size), each(U * angle * size))

    def attention(self, q, k, v):
        qs, ks, vs = (x.reshape(T, -1, D).transpose(1, 0, 2) for x in (q, np.repeat(k.reshape(T, G, D), H // G, 1), np.repeat(v.reshape(T, G, D), H // G, 1)))
        sums = np.cumsum(qs[:, :, None, :] * ks[:, None], -1)
        seen = np.tril(np.ones((T, T), bool))
        scores = np.where(seen, sums[..., -1] / math.sqrt(D), -np.inf)
        largest = scores.max(-1, keepdims=True)
        p = np.exp(scores - largest)
        p /= p.sum(-1, keepdims=True)
        y = p @ vs
        off = np.where(seen, U * (np.abs(sums).sum(-1) / math.sqrt(D) + 2 * np.abs(scores)), 0)    # of a score
        off = np.where(seen, off + U * (np.abs(scores - largest) + 8), 0)                          # of its probability, relative
        local = np.einsum("hts,htsd->htd", p * off, np.abs(vs[:, None] - y[:, :, None])) + U * (T + 6) * (p @ np.abs(vs))
        joined = lambda x: x.transpose(0, 2, 1, 3).reshape(len(x), T, -1)
        shared = lambda x: joined(x.reshape(len(x), G, H // G, T, D).sum(2))

        def back(d):
            dy = d.reshape(len(d), T, H, D).transpose(0, 2, 1, 3)
            dp = dy @ vs.transpose(0, 2, 1)
            ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / math.sqrt(D)
            return joined(ds @ ks), shared(ds.transpose(0, 1, 3, 2) @ qs), shared(p.transpose(0, 2, 1) @ dy)
        flat = lambda x: x.transpose(1, 0, 2).reshape(T, -1)
        return self.note(flat(y), (q, k, v), back, flat(local))

    def gated(self, g, u):
        s = 1 / (1 + np.exp(-g))
        return self.note(g * s * u, (g, u), lambda d: (d * u * s * (1 + g * (1 - s)), d * g * s), 16 * U * np.abs(g * s * u))

    def add(self, x, y):
        return self.note(x + y, (x, y), lambda d: (d, d), U * np.abs(x + y))

    def bounds(self, logits):
        """Of each of the last token's logits: on devices, on the reference."""
        derivative = {id(logits): np.zeros((V, T, V))}
        derivative[id(logits)][:, T - 1] = np.eye(V)
        bounds, variance = np.zeros((2, V)), np.zeros(V)
        for value, inputs, back, step, *local in reversed(self.steps):
            d = derivative.pop(id(value))
            variance += ((d * step) ** 2).sum((1, 2)) / 12
            bounds += [(np.abs(d) * one).sum((1, 2)) for one in local]
            for x, dx in zip(inputs, back(d), strict=True):
                derivative[id(x)] = derivative.get(id(x), 0) + dx
        return bounds * 1.01 + DEVIATIONS * np.sqrt(variance)


class OfBytes(Pass):
    """The same with products of bytes."""

    def __init__(self):
        super().__init__()
        self.rounded = {}   # by a row's id: the row, which thus keeps its id, and the rounded one

    def linear(self, x, w):
        if id(x) not in self.rounded:
            step = np.repeat(np.abs(x.reshape(T, -1, 32)).max(-1), 32, -1) / 127
            self.rounded[id(x)] = x, self.note(x + 0, (x,), lambda d: (d,), 1400 * U * step, 1400 * U * step, step)
        return super().linear(self.rounded[id(x)][1], w)


def compute(kind, matrices, norms, how=Pass):
    """The pass and the logits, [T, V]."""
    w = {name: unpacked(kind, data).astype(np.float64).reshape(SHAPES.get(name.split(".")[-1], (V, C))) for name, data in matrices.items()}
    n, run_ = {name: values.astype(np.float64) for name, values in norms.items()}, how()
    x = w["token_embd"][IDS]
    for i in range(L):
        at = f"blk.{i}."
        rows = run_.norm(x, n[at + "attn_norm"])
        q, k, v = (run_.linear(rows, w[at + "attn_" + part]) for part in "qkv")
        x = run_.add(x, run_.linear(run_.attention(run_.rope(q), run_.rope(k), v), w[at + "attn_output"]))
        rows = run_.norm(x, n[at + "ffn_norm"])
        x = run_.add(x, run_.linear(run_.gated(run_.linear(rows, w[at + "ffn_gate"]), run_.linear(rows, w[at + "ffn_up"])), w[at + "ffn_down"]))
    return run_, run_.linear(run_.norm(x, n["output_norm"]), w["output"])


def told(folder, model, device, *products):
    path = folder / "o.safetensors"
    run("dump", "-d", device, "-q", "-m", model, *products, "--kv-dtype", "f32", "--ids", ",".join(map(str, IDS)), "-o", path)
    shape, values = read_safetensors(path)["logits"]
    equal(shape[-2:], [T, V])
    return np.array(values, np.float64).reshape(T, V)[-1]


F32 = ("--compute", "f32")


def share(got, wanted, bound):
    """How much of the bound is used, by the logit that uses most of it."""
    return float((np.abs(got - wanted) / bound).max())


def plants(kind, matrices):
    """Damages of one block each: (what, a model with it). One in the middle of a layer, whose way to the logits is the longest, and one in the last matrix."""
    _, numbers, size, places, codes, _ = TYPES[kind]
    for name, block in ("blk.0.ffn_up", 37), ("blk.0.attn_v", 21), ("output", 6):
        at = block * size
        for what, change in (("its scale", lambda b: scale(kind, b, places)), ("two parts of one byte", lambda b: exchange(kind, b, codes, size))):
            held = bytearray(matrices[name])
            held[at:at + size] = change(bytes(held[at:at + size]))
            yield f"{name}, {what}", matrices | {name: bytes(held)}


def scale(kind, block, places):
    """Twice as much."""
    b = bytearray(block)
    if kind == "mxfp4":
        b[0] += 1
    else:
        struct.pack_into("<e", b, places[0], struct.unpack_from("<e", b, places[0])[0] * 2)
    return b


def exchange(kind, block, codes, size):
    """The nibbles of the byte where that changes most: what takes high nibbles for low ones changes all of them."""
    before, best = unpacked(kind, block), (0.0, block)
    for at in range(codes, min(size, codes + 64)):
        b = bytearray(block)
        b[at] = b[at] >> 4 | (b[at] & 15) << 4
        best = max(best, (float(np.abs(unpacked(kind, bytes(b)) - before).max()), bytes(b)))
    return best[1]


def check(folder, kind):
    matrices, norms = draw_model(kind)
    numbers = unpacked(kind, matrices["blk.0.ffn_up"])
    assert 0.5 * SPREAD < numbers.std() < 2 * SPREAD and abs(numbers.mean()) < SPREAD, (kind, numbers.std(), numbers.mean())
    passed, logits = compute(kind, matrices, norms)
    wanted, bounds = logits[-1], passed.bounds(logits)
    path = write(folder / "m.gguf", kind, matrices, norms)
    own = DEVICE != "reference" and kind in ON_DEVICES and has_device()
    for device, bound in (("reference", bounds[1]), *([(DEVICE, bounds[0])] if own else [])):
        used = share(told(folder, path, device, *F32), wanted, bound)
        print(f"{kind:7} on {device}: {used:.4f} of the bound, which is {bound.max() / np.abs(wanted).max():.1e} of the largest logit")
        assert used <= 1, f"{kind} on {device}: {used} times the bound"
    for i, (what, damaged) in enumerate(plants(kind, matrices)):
        got = told(folder, write(folder / "d.gguf", kind, damaged, norms), "reference", *F32) if i < 2 else compute(kind, damaged, norms)[1][-1]
        used = [share(got, wanted, bound) for bound in bounds]
        print(f"{kind:7} {what}: {used[0]:.1f} and {used[1]:.0f} times the bounds")
        assert min(used) > 1, f"{kind}, {what}: not found, {used} of the bounds"


def spoiled(kind, matrices):
    """Damages that are larger than what products of bytes lose: of all blocks of a matrix; and of one in the last matrix."""
    _, _, size, places, codes, _ = TYPES[kind]
    for name in "blk.0.ffn_up", "blk.0.attn_v", "output":
        held = np.frombuffer(matrices[name], np.uint8).reshape(-1, size)
        exchanged = held.copy()
        exchanged[:, codes:codes + 64] = held[:, codes:codes + 64] >> 4 | held[:, codes:codes + 64] << 4
        yield f"{name}, all scales", matrices | {name: b"".join(bytes(scale(kind, bytes(block), places)) for block in held)}
        yield f"{name}, two parts of all bytes", matrices | {name: exchanged.tobytes()}
    yield next((what, damaged) for what, damaged in plants(kind, matrices) if what == "output, its scale")


def check_bytes(folder, kind):
    matrices, norms = draw_model(kind)
    (passed, logits), exact = compute(kind, matrices, norms, OfBytes), compute(kind, matrices, norms)
    wanted, bounds, narrow = logits[-1], passed.bounds(logits), exact[0].bounds(exact[1])
    path = write(folder / "m.gguf", kind, matrices, norms)
    for i, device in enumerate([DEVICE, "reference"]):
        if i == 0 and (device == "reference" or not has_device()):
            continue
        got = told(folder, path, device)
        used = share(got, wanted, bounds[i])
        print(f"{kind:7} of bytes on {device}: {used:.4f} of the bound, which is {bounds[i].max() / np.abs(wanted).max():.1e} of the largest logit")
        assert used <= 1 < share(got, wanted, narrow[i]), f"{kind} on {device}: {used} times the bound; or products were not of bytes"
    for i, (what, damaged) in enumerate(spoiled(kind, matrices)):
        got = told(folder, write(folder / "d.gguf", kind, damaged, norms), "reference") if i < 2 else compute(kind, damaged, norms)[1][-1]
        used = [share(got, wanted, bound) for bound in bounds]
        print(f"{kind:7} of bytes, {what}: {used[0]:.1f} and {used[1]:.1f} times the bounds")
        assert min(used) > 1, f"{kind}, {what}: not found, {used} of the bounds"


def test_numbers_are_those_of_the_gguf_package(_):
    data = (GOLDEN.parent / "blocks" / "blocks.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + size])
    for kind in TYPES:
        blocks, values = (data[8 + size + begin:8 + size + end] for begin, end in (head[f"{kind}.{part}"]["data_offsets"] for part in ("blocks", "values")))
        equal(unpacked(kind, blocks).tobytes() == values, True, kind)
    equal({name.split(".")[0] for name in head if name != "__metadata__"}, set(TYPES))


def test_the_bound_holds_for_errors_of_its_size(_):
    """Every operation's result is moved by its local bound, up or down at random: the logits stay within what is derived, and use some of it."""
    g = np.random.default_rng(1)
    matrices, norms = draw_model("q4_K")
    for how, least in (Pass, 0.01), (OfBytes, 0.1):
        passed, logits = compute("q4_K", matrices, norms, how)
        bounds = passed.bounds(logits)

        class Moved(how):
            which = 0

            def note(self, value, inputs, back, local, more=0, step=0):
                drawn = g.uniform(-0.5, 0.5, value.shape) * step
                return value + drawn + g.choice([-1, 1], value.shape) * (local, U * np.abs(value) + more)[self.which]

        for Moved.which, bound in enumerate(bounds):
            used = [share(compute("q4_K", matrices, norms, Moved)[1][-1], logits[-1], bound) for _ in range(5)]
            print(f"{how.__name__}: up to {max(used):.4f} of the bound")
            assert least < max(used) < 1, used


for one in TYPES:
    globals()[f"test_{one}"] = lambda folder, kind=one: check(folder, kind)
for one in OF_BYTES:
    globals()[f"test_{one}_of_bytes"] = lambda folder, kind=one: check_bytes(folder, kind)

main(globals())

#!/usr/bin/env python3
"""What the weights of a file in Q4_K_M take on a device, as the device reports it when they are loaded and a token has been computed: at most 2 % more
than in the file. The rows have lengths of real models; layouts are padded to whole tiles, which in small matrices is more than that."""

import math

from support import binding  # noqa: F401  # pylint: disable=unused-import
from support.blocks import TYPES
from support.command import DEVICE, has_device, main
from support.gguf import write_gguf

import tessera_cl as t

C, F, V, HEADS, KV, LAYERS = 1024, 2816, 8000, 16, 4, 2


def kind_of(name, layer):
    """As llama.cpp's Q4_K_M has it: more bits for values and for what reads the feed-forward part, in every second layer here."""
    return "q6_K" if name in ("attn_v", "ffn_down") and layer % 2 == 0 else "q4_K"


def write_model(path):
    """A Llama whose blocks are all 0: its file, and the bytes of its matrices."""
    matrices = {"token_embd": ("q4_K", V, C), "output": ("q6_K", V, C)}
    vectors = ["output_norm"]
    for layer in range(LAYERS):
        shapes = {"attn_q": (C, C), "attn_k": (C // HEADS * KV, C), "attn_v": (C // HEADS * KV, C), "attn_output": (C, C), "ffn_gate": (F, C), "ffn_up": (F, C),
                  "ffn_down": (C, F)}
        matrices |= {f"blk.{layer}.{name}": (kind_of(name, layer), *shape) for name, shape in shapes.items()}
        vectors += [f"blk.{layer}.attn_norm", f"blk.{layer}.ffn_norm"]
    arrays, total = {}, 0
    for name, (kind, *shape) in matrices.items():
        number, numbers, size = TYPES[kind][:3]
        data = bytes(math.prod(shape) // numbers * size)
        arrays[f"{name}.weight"], total = (shape, number, data), total + len(data)
    arrays |= {f"{name}.weight": ((C,), 0, bytes(4 * C)) for name in vectors}
    meta = {"general.architecture": "llama", "llama.context_length": 64, "llama.embedding_length": C, "llama.block_count": LAYERS,
            "llama.feed_forward_length": F, "llama.attention.head_count": HEADS, "llama.attention.head_count_kv": KV,
            "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.vocab_size": V}
    return write_gguf(path, meta, arrays), total


def test_of_q4_k_m(folder):
    path, stored = write_model(folder / "m.gguf")
    devices = ["reference"] + [DEVICE] * (DEVICE != "reference" and has_device())
    if len(devices) == 1:
        print(f"       SKIP: no device {DEVICE} beside the reference")
    for device in devices:
        with t.Model(path, device) as model:
            with model.session() as session:
                session.prefill([3, 17])
            taken = model.memory.weights
        print(f"{device}: {taken / stored:.4f} of the file's bytes")
        assert stored <= taken <= 1.02 * stored, (device, taken, stored)


main(globals())

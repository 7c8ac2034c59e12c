#!/usr/bin/env python3
"""Makes blocks.safetensors: ggml's quantised blocks and the numbers they stand for.

    pip install gguf safetensors numpy
    python3 make_blocks.py

For each type: "<type>.blocks", uint8 [blocks, bytes], and "<type>.values", float32 [blocks, elements], as the numpy
definitions of the gguf package (the one llama.cpp's converters use) unpack them. The bytes are random (seeded), so that
every field takes every value; only the scales are chosen: of halves, ordinary ones of both signs, zero, the largest, and
subnormals; of MXFP4's exponents the least, the greatest that give finite numbers, and others.
"""

import pathlib

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize
from safetensors.numpy import save_file

SCALES_AT = {  # bytes at which a half lies
    "Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    "Q2_K": [80, 82], "Q3_K": [108], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [],
}


def main():
    rng = np.random.default_rng(20)
    tensors = {}
    for name, places in SCALES_AT.items():
        elements, size = GGML_QUANT_SIZES[Type[name]]
        count = 24 if elements == 32 else 8
        blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
        for place in places:
            scales = rng.normal(0, 0.1, count).astype(np.float16)
            scales[:4] = [0, 3e-7, -6e-5, 65504]
            blocks[:, place:place + 2] = rng.permutation(scales).view(np.uint8).reshape(count, 2)
        if name == "MXFP4":
            blocks[:, 0] = rng.permutation(np.r_[0, 1, 2, 3, 251, 252, rng.integers(110, 140, count - 6)])
        values = dequantize(blocks, Type[name]).astype(np.float32)
        assert values.shape == (count, elements) and np.isfinite(values).all()
        key = name[:3].lower() + name[3:] if name.endswith("_K") else name.lower()  # as everywhere else: q4_K, iq4_nl
        tensors[f"{key}.blocks"], tensors[f"{key}.values"] = blocks, values
    save_file(tensors, pathlib.Path(__file__).with_name("blocks.safetensors"))


if __name__ == "__main__":
    main()

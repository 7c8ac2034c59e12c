"""The numbers that ggml's blocks stand for, in f32, as llama.cpp's own Python package (gguf) unpacks them; in NumPy."""

import numpy as np

CODES = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)    # of iq4_nl and iq4_xs
HALVES_OF_E2M1 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.float32)              # twice the 4-bit floats


def half(blocks, at):
    """The f16 at this byte of each block, [n, 1]."""
    return np.ascontiguousarray(blocks[:, at:at + 2]).view(np.float16).astype(np.float32)


def nibbles(data):
    """[n, 32]: the low halves of 16 bytes, then the high ones."""
    return np.concatenate([data & 15, data >> 4], 1)


def bits_of(data):
    """[n, 32]: the bits of 4 bytes, the lowest first."""
    return np.unpackbits(np.ascontiguousarray(data), axis=1, bitorder="little")


def q4_0(b):
    return half(b, 0) * (nibbles(b[:, 2:]).astype(np.float32) - 8)


def q4_1(b):
    return half(b, 0) * nibbles(b[:, 4:]).astype(np.float32) + half(b, 2)


def q5_0(b):
    return half(b, 0) * ((nibbles(b[:, 6:]) | bits_of(b[:, 2:6]) << 4).astype(np.float32) - 16)


def q5_1(b):
    return half(b, 0) * (nibbles(b[:, 8:]) | bits_of(b[:, 4:8]) << 4).astype(np.float32) + half(b, 2)


def q8_0(b):
    return half(b, 0) * b[:, 2:].view(np.int8).astype(np.float32)


def iq4_nl(b):
    return half(b, 0) * CODES[nibbles(b[:, 2:])]


def mxfp4(b):
    e = b[:, :1].astype(np.int32)
    scale = np.where(e < 2, np.uint32(0x00200000) << np.minimum(e, 1).astype(np.uint32), (np.maximum(e, 1) - 1).astype(np.uint32) << np.uint32(23))
    return scale.astype(np.uint32).view(np.float32) * HALVES_OF_E2M1[nibbles(b[:, 1:])]


def shifted(data, shifts, mask):
    """[n, groups, len(shifts), width] of data [n, groups, width]."""
    return data[:, :, None, :] >> np.array(shifts, np.uint8)[None, None, :, None] & mask


def q2_K(b):
    scales, n = b[:, :16], len(b)
    d, least = half(b, 80) * (scales & 15).astype(np.float32), half(b, 82) * (scales >> 4).astype(np.float32)
    q = shifted(b[:, 16:80].reshape(n, 2, 32), (0, 2, 4, 6), 3).reshape(n, 16, 16).astype(np.float32)
    return (d[:, :, None] * q - least[:, :, None]).reshape(n, 256)


def q3_K(b):
    n, packed = len(b), b[:, 96:108]
    low = (packed[:, None, :8] >> np.array([0, 4], np.uint8)[None, :, None]).reshape(n, 16) & 15
    high = (packed[:, None, 8:] >> np.array([0, 2, 4, 6], np.uint8)[None, :, None]).reshape(n, 16) & 3
    scales = ((low | high << 4).astype(np.int8) - 32).astype(np.float32)
    q = shifted(b[:, 32:96].reshape(n, 2, 32), (0, 2, 4, 6), 3).reshape(n, 16, 16).astype(np.int8)
    above = (b[:, None, :32] >> np.arange(8, dtype=np.uint8)[None, :, None] & 1).reshape(n, 16, 16)
    return (half(b, 108)[:, :, None] * scales[:, :, None] * (q - ((above ^ 1) << 2).astype(np.int8)).astype(np.float32)).reshape(n, 256)


def scales_and_mins(packed):
    """Of q4_K and q5_K: eight scales and eight minima of 6 bits each in 12 bytes."""
    d, m, top = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    return (np.concatenate([d & 63, top & 15 | d >> 2 & 48], 1).astype(np.float32), np.concatenate([m & 63, top >> 4 | m >> 2 & 48], 1).astype(np.float32))


def q4_K(b):
    n = len(b)
    scale, least = scales_and_mins(b[:, 4:16])
    q = shifted(b[:, 16:].reshape(n, 4, 32), (0, 4), 15).reshape(n, 8, 32).astype(np.float32)
    return ((half(b, 0) * scale)[:, :, None] * q - (half(b, 2) * least)[:, :, None]).reshape(n, 256)


def q5_K(b):
    n = len(b)
    scale, least = scales_and_mins(b[:, 4:16])
    q = shifted(b[:, 48:].reshape(n, 4, 32), (0, 4), 15).reshape(n, 8, 32)
    high = b[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[None, :, None] & 1
    return ((half(b, 0) * scale)[:, :, None] * (q | high << 4).astype(np.float32) - (half(b, 2) * least)[:, :, None]).reshape(n, 256)


def q6_K(b):
    n = len(b)
    low = shifted(b[:, :128].reshape(n, 2, 64), (0, 4), 15).reshape(n, 8, 32)
    high = shifted(b[:, 128:192].reshape(n, 2, 32), (0, 2, 4, 6), 3).reshape(n, 8, 32)
    q = ((low | high << 4).astype(np.int8) - 32).reshape(n, 16, 16).astype(np.float32)
    return ((half(b, 208) * b[:, 192:208].view(np.int8).astype(np.float32))[:, :, None] * q).reshape(n, 256)


def iq4_xs(b):
    n = len(b)
    low = (b[:, 4:8, None] >> np.array([0, 4], np.uint8)).reshape(n, 8) & 15
    high = (np.ascontiguousarray(b[:, 2:4]).view(np.uint16) >> np.arange(0, 16, 2, dtype=np.uint16)).astype(np.uint8) & 3
    scale = half(b, 0) * ((low | high << 4).astype(np.int8) - 32).astype(np.float32)
    q = shifted(b[:, 8:].reshape(n, 8, 16), (0, 4), 15).reshape(n, 8, 32)
    return (scale[:, :, None] * CODES[q]).reshape(n, 256)


# ggml's number of a type, numbers and bytes of a block, the bytes where its halves lie, where its codes begin, and how it is unpacked
TYPES = {"q4_0": (2, 32, 18, (0,), 2, q4_0), "q4_1": (3, 32, 20, (0, 2), 4, q4_1), "q5_0": (6, 32, 22, (0,), 6, q5_0), "q5_1": (7, 32, 24, (0, 2), 8, q5_1),
         "q8_0": (8, 32, 34, (0,), 2, q8_0), "q2_K": (10, 256, 84, (80, 82), 16, q2_K), "q3_K": (11, 256, 110, (108,), 32, q3_K),
         "q4_K": (12, 256, 144, (0, 2), 16, q4_K), "q5_K": (13, 256, 176, (0, 2), 48, q5_K), "q6_K": (14, 256, 210, (208,), 0, q6_K),
         "iq4_nl": (20, 32, 18, (0,), 2, iq4_nl), "iq4_xs": (23, 256, 136, (0,), 8, iq4_xs), "mxfp4": (39, 32, 17, (), 1, mxfp4)}


def unpacked(kind, data):
    """f32 [numbers] of bytes."""
    return TYPES[kind][5](np.frombuffer(data, np.uint8).reshape(-1, TYPES[kind][2])).reshape(-1)

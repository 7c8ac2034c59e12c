"""Writes GGUF files of version 3."""

import math
import struct


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value_of(value):
    """A metadata value with its type: a bool, an integer, a real number, a text, or a list of one of these."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    kind = struct.unpack("<I", value_of(value[0])[:4])[0]
    return struct.pack("<IIQ", 9, kind, len(value)) + b"".join(value_of(item)[4:] for item in value)


def write_gguf(path, meta, arrays):
    """`arrays`: name to (shape, ggml's number of the type, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(arrays), len(meta)) + b"".join(text(key) + value_of(value) for key, value in meta.items())
    data = b""
    for name, (shape, kind, content) in arrays.items():
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, len(data))
        data += content + bytes(-len(content) % 32)
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def floats(shape, values):
    assert math.prod(shape) == len(values)
    return tuple(shape), 0, struct.pack(f"<{len(values)}f", *values)

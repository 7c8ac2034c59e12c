#!/usr/bin/env python3
"""Encoders and encoder-decoders in which one array is missing or has another shape: each is refused with one message that names the array.
An array that is missing from a head must not be ignored silently."""

import json
import struct

from support.command import GOLDEN, copy_model, main, refused, run

OWN = ("m2m_100", "electra/mlm", "mpnet/cls", "albert-groups/mlm", "bert/mlm", "bert/cls", "modernbert/mlm", "modernbert/cls",
       "gpt_oss", "gpt_oss-mxfp4")
# Arrays that published files of these families may have or not have, with the same results: they are
# mostly 0, or computed.
OPTIONAL = ("final_logits_bias", "embed_positions.weight")


def read(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + size]), data[8 + size:]


def write(path, header, body):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def without(header, body, name):
    """A file without one array; the others are moved together."""
    begin, end = header[name]["data_offsets"]
    kept = {}
    for other, entry in header.items():
        if other != name:
            kept[other] = dict(entry)
            if other != "__metadata__" and entry["data_offsets"][0] >= end:
                kept[other]["data_offsets"] = [at - (end - begin) for at in entry["data_offsets"]]
    return kept, body[:begin] + body[end:]


def try_all(source, folder):
    model = copy_model(source, folder)
    path = model / "model.safetensors"
    header, body = read(path)
    run("info", model)
    for name in header:
        if name == "__metadata__" or name.endswith(OPTIONAL):
            continue
        # If a weight is missing, the message may name its bias, which then belongs to nothing.
        write(path, *without(header, body, name))
        refused(3, "tensor \"", "info", model)
        shape = header[name]["shape"]
        write(path, {**header, name: {**header[name], "shape": [*reversed(shape), 1]}}, body)
        refused(3, name, "info", model)


def test_our_own(folder):
    for name in OWN:
        try_all(GOLDEN / name, folder / name.replace("/", "-"))


main(globals())

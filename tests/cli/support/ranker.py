"""A tiny cross-encoder."""

import json
import shutil
import struct

from support.command import SOURCE, change_json, read_safetensors


def cross_encoder(folder):
    """The classifier with its first label alone."""
    shutil.copytree(SOURCE / "tests" / "golden" / "encoders" / "classify", folder)
    arrays = read_safetensors(folder / "model.safetensors")
    for name in ("classifier.weight", "classifier.bias"):
        shape, values = arrays[name]
        arrays[name] = [1, *shape[1:]], values[:len(values) // shape[0]]
    header, data = {}, b""
    for name, (shape, values) in arrays.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += struct.pack(f"<{len(values)}f", *values)
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
    change_json(folder / "config.json", id2label={"0": "score"}, label2id={"score": 0}, problem_type="regression")
    return folder

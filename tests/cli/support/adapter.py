"""LoRA adapters as PEFT writes them, of random numbers; and files of f32 arrays."""

import json
import math
import random
import struct

from support.command import equal


def header(path):
    """({name: entry}, where the values begin)"""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return {name: entry for name, entry in json.loads(data[8:8 + size]).items() if name != "__metadata__"}, 8 + size


def read(path):
    """{name: (shape, values)} of f32 arrays."""
    data = path.read_bytes()
    entries, start = header(path)
    arrays = {}
    for name, entry in entries.items():
        begin, end = entry["data_offsets"]
        arrays[name] = entry["shape"], list(struct.unpack(f"<{(end - begin) // 4}f", data[start + begin:start + end]))
    return arrays


def write(path, arrays):
    entries, data = {}, b""
    for name, (shape, values) in arrays.items():
        equal(len(values), math.prod(shape), name)
        entries[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def array_of(arrays, module):
    """The model's array for a module; in files of a base model the first part of the name is missing."""
    return module + ".weight" if module + ".weight" in arrays else module.split(".", 1)[1] + ".weight"


def make_adapter(folder, model, modules, across, **settings):
    """Makes a folder for these modules, whose arrays are [inputs, outputs] where `across` (Conv1D); returns it and {module: (A, B)}."""
    entries, _ = header(model / "model.safetensors")
    shapes = {module: entries[array_of(entries, module)]["shape"] for module in modules}
    return write_adapter(folder, {module: shape[::-1] if across else shape for module, shape in shapes.items()}, fan_in_fan_out=across, **settings)


def write_adapter(folder, shapes, rank=3, seed=1, alpha=6, size=0.3, **settings):
    """The same for modules of shapes (outputs, inputs)."""
    folder.mkdir()
    chance, made, held = random.Random(seed), {}, {}
    for module, (outputs, inputs) in shapes.items():
        a, b = ([chance.uniform(-size, size) for _ in range(n)] for n in (rank * inputs, outputs * rank))
        made[module] = a, b
        held[f"base_model.model.{module}.lora_A.weight"] = [rank, inputs], a
        held[f"base_model.model.{module}.lora_B.weight"] = [outputs, rank], b
    write(folder / "adapter_model.safetensors", held)
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": alpha, "lora_dropout": 0.0, "bias": "none",
              "fan_in_fan_out": False, "target_modules": sorted({name.split(".")[-1] for name in made}), "use_dora": False,
              "use_rslora": False, "alpha_pattern": {}, "rank_pattern": {}, "modules_to_save": None, "init_lora_weights": True, **settings}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder, made

"""A small model of random weights."""

import json
import math
import random

from support.adapter import write
from support.command import PLAY, change_json, copy_model


def small(folder, width=24, layers=2):
    """The bundled model's tokenizer, and random weights: many tokens a second on one processor."""
    copy_model(PLAY, folder, without=["model.safetensors"])
    change_json(folder / "config.json", n_embd=width, n_layer=layers, n_head=3, n_inner=2 * width, dtype="float32")
    config, chance = json.loads((folder / "config.json").read_text()), random.Random(5)
    shapes = {"wte.weight": [config["vocab_size"], width], "wpe.weight": [config["n_positions"], width], "ln_f.weight": [width], "ln_f.bias": [width]}
    for i in range(layers):
        for name, inner in (("attn.c_attn", [width, 3 * width]), ("attn.c_proj", [width, width]), ("mlp.c_fc", [width, 2 * width]), ("mlp.c_proj", [2 * width, width])):
            shapes |= {f"h.{i}.{name}.weight": inner, f"h.{i}.{name}.bias": inner[1:]}
        shapes |= {f"h.{i}.{name}.{part}": [width] for name in ("ln_1", "ln_2") for part in ("weight", "bias")}
    write(folder / "model.safetensors", {"transformer." + name: (shape, [chance.gauss(0, 0.3) for _ in range(math.prod(shape))]) for name, shape in shapes.items()})
    return folder

#!/usr/bin/env python3
"""bench/serve_load.py: a short load on tessera serve, with clients that hang up and wrong requests; with ci/test --all as long as the promise is."""

import json
import math
import os
import random
import subprocess
import sys

from support.adapter import write
from support.command import ALL, BUILD, PLAY, SOURCE, change_json, copy_model, environment, equal, main
from support.server import skip_without_server


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


def test_answers_are_those_of_requests_alone(folder):
    clients, seconds = (64, 300) if ALL else (12, 6)
    few = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"  # AddressSanitizer keeps what was freed
    done = subprocess.run([sys.executable, SOURCE / "bench" / "serve_load.py", "-m", small(folder / "small"), "--device", "reference", "--build", BUILD, "--slots", "5", "--step-tokens", "16",
                           "--clients", str(clients), "--seconds", str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(ASAN_OPTIONS=few), check=False)
    equal((done.returncode, done.stderr.decode()), (0, ""), done.stdout)
    told = json.loads(done.stdout)
    equal(told["faults"], 0)
    for kind in ("whole", "streams", "hung up"):
        assert told[kind] > 0, told


skip_without_server()
main(globals())

#!/usr/bin/env python3
"""Makes <golden>/bare of golden models of this folder: the same weights as a bare base model (LlamaModel, ...), whose names leave out
the model's prefix and which has no head. What it gives must be the hidden states of <golden>/expected.safetensors.

    python3 make_bare.py       (needs torch, transformers)
"""
import json
from pathlib import Path

import torch
import transformers as tr

HERE = Path(__file__).parent
NAMES = ["llama-tiny", "qwen2-window", "gpt_neox", "gpt2-tiny", "t5-tiny", "marian-apart"]

for name in NAMES:
    model = tr.AutoModel.from_pretrained(HERE / name, dtype=torch.float32)
    model.save_pretrained(HERE / name / "bare")
    for f in (HERE / name / "bare").iterdir():
        f.chmod(0o644)
    config = json.loads((HERE / name / "bare/config.json").read_text())
    print(name, config["architectures"], config.get("tie_word_embeddings"), [f.name for f in (HERE / name / "bare").iterdir()])

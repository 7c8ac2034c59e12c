#!/usr/bin/env python3
"""Writes expected.json: conversations with SmolLM2-135M-Instruct, answered greedily by transformers in f32.

    make_smollm2.py FOLDER        the folder that tools/get-smollm2 unpacks

Needs torch, transformers, gguf and accelerate. Run from this folder.
"""
import json
import pathlib
import sys

import torch
import transformers

MOST = 60
CONVERSATIONS = [
    (None, ["What is the capital of France?", "And of Italy?", "Which of them is larger?"]),
    ("Answer in one short sentence.", ["Why is the sky blue?", "Say it for a child, please: \"warum?\" äöü €"]),
]


def main():
    folder = pathlib.Path(sys.argv[1])
    (file,) = folder.glob("*.gguf")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=file.name, dtype=torch.float32).eval()
    out = []
    for system, turns in CONVERSATIONS:
        messages = [] if system is None else [{"role": "system", "content": system}]
        answers = []
        for turn in turns:
            messages.append({"role": "user", "content": turn})
            ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
            made = model.generate(**ids, max_new_tokens=MOST, do_sample=False, eos_token_id=tokenizer.eos_token_id)
            answers.append(tokenizer.decode(made[0, ids["input_ids"].shape[1]:], skip_special_tokens=True))
            messages.append({"role": "assistant", "content": answers[-1]})
        out.append({"system": system, "turns": turns, "answers": answers})
    with open("expected.json", "w", encoding="utf-8") as file:
        json.dump({"most": MOST, "conversations": out}, file, ensure_ascii=False, indent=1)
        file.write("\n")


main()

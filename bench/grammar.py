#!/usr/bin/env python3
"""Measures what a JSON schema and a grammar cost a decode step, with a vocabulary of 128k tokens: the same model writes with one and without, in turns.

    bench/grammar.py [--rounds 5] [--steps 96] [--width 768] [--layers 12] [--device D] [--build build/release]

The model is a Llama with random weights in q8, its tokenizer is made up: bytes, words with and without a space before them, numbers, and signs of
JSON with what stands beside them. All three draw from the 40 likeliest tokens. The schema's masks are computed in the same run: none is there before. Prints
one JSON line: milliseconds a token of each (medians), and the ratios to the text without a grammar."""

import argparse
import itertools
import json
import pathlib
import re
import statistics
import struct
import subprocess
import tempfile

import numpy as np

V = 131072
SCHEMA = {"type": "object", "properties": {
    "title": {"type": "string", "minLength": 40}, "year": {"type": "integer", "minimum": 1900, "maximum": 2100}, "tags": {
        "type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 3, "maxItems": 5}, "at": {"type": "string", "format": "date-time"},
    "text": {"type": "string"}}, "required": ["title", "year", "tags", "at", "text"]}
# No text is shorter than the steps that are measured, and each word is in states of its own.
GRAMMAR = 'root ::= "[" word (", " word){99} "]"\nword ::= "\\"" [^"\\\\]{3,9} "\\""\n'


def characters():
    """GPT-2's character for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return {byte: chr(byte if byte in plain else next(others)) for byte in range(256)}


def words():
    """Made up, the short ones first."""
    parts = [a + b for a in "b c d f g l m n p r s t v st tr".split() for b in "a e i o u an en in on er al".split()]
    for n in itertools.count(1):
        yield from map("".join, itertools.product(parts, repeat=n))


def tokenizer(folder):
    of_byte = characters()
    spelled = dict.fromkeys(of_byte.values())
    signs = ['"', '":', '": "', '",', '", "', '"}', '{"', '["', '"]', "},", "}}", "]}", "\n  ", ", ", '\\"', '."', '?"']
    more = (text for word in words() for text in (" " + word, word, word.capitalize(), " " + word.capitalize(), word + '",'))
    for text in itertools.chain(signs, (str(i) for i in range(1000)), more):
        spelled["".join(of_byte[byte] for byte in text.encode())] = None
        if len(spelled) == V - 1:
            break
    vocabulary = {piece: i for i, piece in enumerate(spelled)}
    vocabulary["<s>"] = V - 1
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [{"id": V - 1, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                                            "special": True}], "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}))


def weights(folder, width, layers):
    draw, inner = np.random.default_rng(1), width * 8 // 3 // 32 * 32
    shapes = {"model.embed_tokens.weight": (V, width), "lm_head.weight": (V, width), "model.norm.weight": (width,)}
    for i in range(layers):
        shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in {
            "self_attn.q_proj": (width, width), "self_attn.k_proj": (width, width), "self_attn.v_proj": (width, width), "self_attn.o_proj": (width, width),
            "mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width), "mlp.down_proj": (width, inner), "input_layernorm": (width,),
            "post_attention_layernorm": (width,)}.items()}
    header, at = {}, 0
    for name, shape in shapes.items():
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for shape in shapes.values():
            file.write((draw.standard_normal(shape, dtype=np.float32) / 30 if len(shape) > 1 else np.ones(shape)).astype(np.float16).tobytes())
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers,
        "num_attention_heads": width // 64, "num_key_value_heads": width // 64, "vocab_size": V, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
        "hidden_act": "silu", "tie_word_embeddings": False, "bos_token_id": V - 1, "eos_token_id": V - 1, "torch_dtype": "float16"}))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--steps", type=int, default=96)
    options.add_argument("--width", type=int, default=768)
    options.add_argument("--layers", type=int, default=12)
    options.add_argument("--device", default="")
    options.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    o = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tokenizer(folder)
        weights(folder, o.width, o.layers)
        (folder / "schema").write_text(json.dumps(SCHEMA))
        (folder / "grammar").write_text(GRAMMAR)
        ways = {"free": (), "schema": ("--json-schema", folder / "schema"), "grammar": ("--grammar", folder / "grammar")}
        times = {way: [] for way in ways}
        for number in range(o.rounds + 1):
            for way, more in ways.items():
                done = subprocess.run([o.build / "bin" / "tessera", "generate", "-m", folder, *(("-d", o.device) if o.device else ()), "--dtype", "q8", "--ids",
                                       "5,6,7,8", "-n", str(o.steps), "-s", str(number), "--temp", "1", "--top-k", "40", "--ignore-eos", "--speculate", "0", *more],
                                      capture_output=True, text=True, check=True)
                if number:  # the first builds kernels
                    times[way].append(1000 / float(re.search(r"decode \d+ tokens, ([\d.]+) tokens/s", done.stderr)[1]))
    medians = {way: round(statistics.median(all_), 3) for way, all_ in times.items()}
    print(json.dumps({"vocabulary": V, "ms": medians, "ratios": {way: round(statistics.median(a / b for a, b in zip(times[way], times["free"])), 3)
                                                                for way in ("schema", "grammar")}}))


if __name__ == "__main__":
    main()

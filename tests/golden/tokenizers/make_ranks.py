#!/usr/bin/env python3
"""Makes ranks.json in this folder: what tiktoken 0.14.0 and mistral-common 1.13.1 give for a small vocabulary.

    python3 make_ranks.py

"tiktoken" and "tekken" are the two files, of the pieces of byte.json; "cases" has per encoding the ids of each line with special tokens as
text and as tokens, "tekken_ids" those of Mistral's class with <s> before them, "decoded" the text of the latter.
"""
import base64
import json
import tempfile
from pathlib import Path

import tiktoken
from make_tokenizers import LINES, O200K, Q
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

HERE = Path(__file__).resolve().parent
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
MARKED = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}%s]%s[\p{Ll}\p{Lm}\p{Lo}\p{M}%s]%s%s"
BEHIND = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEKKEN = MARKED % ("", "*", "", "+", "|") + MARKED % ("", "+", "", "*", r"|\p{N}") + BEHIND
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
KIMI = (r"[\p{Han}]+|" + "".join(MARKED % (r"&&[^\p{Han}]", a, r"&&[^\p{Han}]", b, ENDING) for a, b in ("*+", "+*")) + r"\p{N}{1,3}" +
        BEHIND.replace("/", ""))
OWN = ["<|endoftext|>x<|im_start|> <|begin_of_text|>", "a\n  ", "XMLHttp camelCase SHOUT e\u0301 ʰAb ǅx", "漢字。かな カナ 中ab文", "[INST] x [/INST]<s>", "//x/\n"]
LLAMA3 = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>", "<|finetune_right_pad_id|>",
          "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>"]
LLAMA3 += [f"<|reserved_special_token_{2 + i}|>" for i in range(244)]
CL100K_SPECIAL = {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}


def pieces():
    """The bytes of each piece of byte.json, the 256 bytes first."""
    vocab = json.loads((HERE / "byte.json").read_text())["model"]["vocab"]
    kept = [b for b in list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))]
    others = [b for b in range(256) if b not in kept]
    byte = {chr(b): b for b in kept} | {chr(256 + i): b for i, b in enumerate(others)}
    ranked = [bytes(byte[c] for c in piece) for piece, _ in sorted(vocab.items(), key=lambda p: p[1]) if piece != "<s>"]
    return [bytes([b]) for b in range(256)] + [p for p in ranked if len(p) > 1]


def main():
    ranks = pieces()
    n = len(ranks)
    merges = {p: i for i, p in enumerate(ranks)}
    qwen = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + [f"<|extra_{i}|>" for i in range(205)]
    kimi = ["[BOS]", "[EOS]"] + [f"<|reserved_token_{163586 + i}|>" for i in range(254)]
    encodings = {
        "gpt2": (GPT2, {"<|endoftext|>": 50256}),
        "cl100k_base": (CL100K, CL100K_SPECIAL),
        "o200k_base": (O200K, {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}),
        "llama3": (Q % "{1,3}", {s: n + i for i, s in enumerate(LLAMA3)}),
        "qwen": (Q % "", {s: n + i for i, s in enumerate(qwen)}),
        "kimi": (KIMI, {s: n + i for i, s in enumerate(kimi)}),
    }
    lines = LINES + OWN
    cases = {}
    for name, (pattern, special) in encodings.items():
        e = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=merges, special_tokens=special)
        cases[name] = {"text": [e.encode(s, disallowed_special=()) for s in lines], "special": [e.encode(s, allowed_special="all") for s in lines],
                       "specials": special if len(special) < 9 else {s: special[s] for s in list(special)[:13] + list(special)[-1:]}}
    config = {"pattern": TEKKEN, "num_vocab_tokens": n, "default_vocab_size": 24 + n - 2, "default_num_special_tokens": 24, "version": "v3"}
    vocab = [{"rank": i, "token_bytes": base64.b64encode(p).decode(), "token_str": None if i > 127 else p.decode()} for i, p in enumerate(ranks)]
    tekken = json.dumps({"config": config, "vocab": vocab})
    with tempfile.NamedTemporaryFile("w", suffix="tekken.json") as file:
        file.write(tekken)
        file.flush()
        t = Tekkenizer.from_file(file.name)
    ids = [t.encode(s, True, False) for s in lines]
    out = {"lines": lines, "tiktoken": "".join(f"{base64.b64encode(p).decode()} {i}\n" for i, p in enumerate(ranks)), "tekken": tekken, "cases": cases,
           "tekken_ids": ids, "decoded": [t.decode(i) for i in ids], "tekken_specials": [t.id_to_piece(i) for i in range(24)]}
    (HERE / "ranks.json").write_text(json.dumps(out, ensure_ascii=False, indent=None, separators=(",", ":")) + "\n")


main()

#!/usr/bin/env python3
"""Makes trained.json: what BpeTrainer of Hugging Face's tokenizers 0.23.3 learns from small texts with many ties.

    python3 make_trained.py

A case: the text, the options, the merges and the pieces by id. Each text is given as a file, so it is taken line by line.
"""
import json
import random
import tempfile
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

HERE = Path(__file__).resolve().parent
VERSE = """From fairest creatures we desire increase,
That thereby beauty's rose might never die,

  But as the riper should by time decease,\r
His tender heir might bear his memory: 1609 naïve 日本 日本語 👍👍\t\tI'll we've
"""


def letters(seed, alphabet, n):
    random.seed(seed)
    return "".join(random.choice(alphabet) for _ in range(n))


CASES = [
    {"text": VERSE, "vocab_size": 400, "specials": ["<|endoftext|>"]},
    {"text": VERSE, "vocab_size": 256, "specials": []},
    {"text": VERSE, "vocab_size": 300, "specials": ["</s>", "<unk>", "he", "!"]},  # two of them are pieces, too
    {"text": VERSE, "vocab_size": 1000, "specials": [], "min_frequency": 2},
    {"text": letters(1, "ab", 400), "vocab_size": 330, "specials": []},
    {"text": letters(2, "ab", 120), "vocab_size": 5000, "specials": ["ab"]},
    {"text": letters(3, "ab \n", 600), "vocab_size": 5000, "specials": []},
    {"text": "a" * 77 + "\n" + "aaaa aaa aaaaa", "vocab_size": 5000, "specials": []},
]


def learn(case):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_bytes(case["text"].encode())
        t.train([str(path)], trainers.BpeTrainer(vocab_size=case["vocab_size"], special_tokens=case["specials"], show_progress=False,
                                                 min_frequency=case.get("min_frequency", 0), initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(t.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    return dict(case, merges=[" ".join(m) for m in model["merges"]], pieces=pieces[256:], first=pieces[:8])


(HERE / "trained.json").write_text(json.dumps([learn(c) for c in CASES], ensure_ascii=False, indent=0).replace('",\n"', '","') + "\n")

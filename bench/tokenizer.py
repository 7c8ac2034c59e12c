#!/usr/bin/env python3
"""Loads a large tokenizer.json with Tessera and with Hugging Face's tokenizers, in turn, encodes lines of text, and compares the ids that they give.

    bench/tokenizer.py [--peers PYTHON] [--rounds N] [--tessera FILE] [--model FOLDER]...

Without --model, two are made up: a Unigram of 250,000 pieces with scores of 16 digits, as XLM-R has them, and a BPE of 128,000 pieces. The time
is that of a process which loads the tokenizer and encodes one word, less that of the same process without a tokenizer (`tessera help`,
`import tokenizers`). Lines are encoded one by one on one thread: for tokenizers the calls of `encode` alone are timed, for Tessera a process less
one that encodes one word, with reading the file and printing the ids in it. Lines are neither padded nor truncated, whatever the file asks
for. --text: lines to encode in place of words that are made up. --peers: a Python that has tokenizers. Prints JSON lines: seconds of both, and
peer / Tessera.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

LETTERS = "abcdefghijklmnopqrstuvwxyzäöüéèàñçабвгдежзийклмнопрстуфхцчшщъыьэюя的一是不了人我在有他这中大来上国"
TOKEN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
PEER = """import sys, time, tokenizers
t = tokenizers.Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
t.no_padding()
t.no_truncation()
lines = [line.rstrip("\\n") for line in open(sys.argv[2], encoding="utf-8", newline="\\n")]
begun = time.perf_counter()
ids = [t.encode(line).ids for line in lines]
print(time.perf_counter() - begun)
for line in ids:
    print(*line)
"""


def parts(model, pre, decoder, added):
    return {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None, "pre_tokenizer": pre, "decoder": decoder,
            "added_tokens": [dict(TOKEN, id=i, content=text) for i, text in added], "model": model}


def unigram(chance, count=250_000):
    vocab = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]
    vocab += [[c, -8.5 - chance.random()] for c in sorted(set(LETTERS + "▁.,!?0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
    seen = {piece for piece, _ in vocab}
    while len(vocab) < count:
        letters = LETTERS[:26] if chance.random() < 0.7 else LETTERS
        piece = chance.choice(["▁", ""]) + "".join(chance.choices(letters, k=chance.randint(2, 9)))
        if piece not in seen:
            seen.add(piece)
            vocab.append([piece, -9 - 7 * chance.random()])
    space = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}
    return parts({"type": "Unigram", "unk_id": 3, "vocab": vocab}, space, space, [(i, vocab[i][0]) for i in range(4)])


def bpe(chance, count=128_000):
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]  # the bytes that stand for themselves
    base = [chr(b) for b in shown] + [chr(256 + i) for i in range(256 - len(shown))]
    vocab, merges, pieces = {c: i for i, c in enumerate(base)}, [], base[:]
    while len(vocab) < count:
        a, b = chance.choice(pieces), chance.choice(base if chance.random() < 0.6 else pieces[:4000])
        if len(a + b) < 14 and a + b not in vocab:
            vocab[a + b] = len(vocab)
            merges.append(f"{a} {b}")
            pieces.append(a + b)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return parts({"type": "BPE", "vocab": vocab, "merges": merges}, level, level, [])


def lines(chance):
    words = ["".join(chance.choices(LETTERS[:34], k=chance.randint(1, 12))) for _ in range(3000)]
    return [" ".join(chance.choices(words, k=chance.randint(1, 30))) for _ in range(1000)] + ["a" * n for n in range(1, 200)]


def timed(command):
    begun = time.perf_counter()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench/tokenizer.py: {command[0]}: {done.stderr.strip()[-300:]}")
    return time.perf_counter() - begun, done.stdout.splitlines()


def measure(folder, options, word, text):
    engines = {"tessera": ((options.tessera, "tokenize", "-m", folder), (options.tessera, "help")),
               "tokenizers": ((options.peers, "-c", PEER, folder), (options.peers, "-c", "import tokenizers"))}
    ids = [timed((*load, text))[1][name == "tokenizers":] for name, (load, _) in engines.items()]
    different = sum(a != b for a, b in zip(*ids)) + abs(len(ids[0]) - len(ids[1]))
    loads, encodes = ({name: [] for name in engines} for _ in range(2))
    for _ in range(options.rounds):
        for name, (load, nothing) in engines.items():
            alone, (all_of, told) = timed((*load, word))[0], timed((*load, text))
            loads[name].append(alone - timed(nothing)[0])
            encodes[name].append(float(told[0]) if name == "tokenizers" else all_of - alone)
    result = {"tokenizer": folder.name, "lines_that_differ": different, "megabytes": round(text.stat().st_size / 1e6, 2)}
    for what, seconds in (("load", loads), ("encode", encodes)):
        median = {name: statistics.median(all) for name, all in seconds.items()}
        result[what] = {name: round(value, 3) for name, value in median.items()}
        if not different:
            result[what]["ratio"] = round(median["tokenizers"] / median["tessera"], 2)
    print(json.dumps(result), flush=True)
    return different == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    parser.add_argument("--tessera", default=pathlib.Path(__file__).resolve().parents[1] / "build" / "release" / "bin" / "tessera", metavar="FILE")
    parser.add_argument("--text", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--model", action="append", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        (place / "word").write_text("hello\n")
        (place / "text").write_text("\n".join(20 * lines(chance)) + "\n", encoding="utf-8")
        folders = options.model or [place / "unigram-250k", place / "bpe-128k"]
        for folder, make in zip(folders, () if options.model else (unigram, bpe)):
            folder.mkdir()
            (folder / "tokenizer.json").write_text(json.dumps(make(chance), ensure_ascii=False), encoding="utf-8")
        same = [measure(folder, options, place / "word", options.text or place / "text") for folder in folders]
    sys.exit(0 if all(same) else 1)


main()

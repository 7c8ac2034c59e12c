#!/usr/bin/env python3
"""Makes the goldens of unknown characters: what sentencepiece 0.2.3 gives.

    python3 make_unknown.py       # writes unknown_*.model, characters.bin and unknown.json beside itself

Each model has no bytes and an unk_surface of its own: what llama2.c's training gives (a raw string of Python, with backslashes), nothing,
and a word. characters.bin is a vocabulary of characters in llama2.c's format; its ids, bos first, are those of a SentencePiece model of
type char. unknown.json has the lines, and for each file the ids and the text that they are decoded to.
"""
import io
import json
import struct
from pathlib import Path

import sentencepiece

HERE = Path(__file__).resolve().parent
TEXT = ["the darling buds of may", "and summers lease hath all too short a date", "so long lives this and this gives life to thee"]
LINES = ["", "the may", "the Xmay", "Ä", "XY buds ZZ of", "X may", "may X", "日本 語", "a \U0001f600", "the\nmay", "so  long"]
SURFACES = {"llama2c": r" \342\201\207 ", "none": "", "word": "\u2581?\u00e9 "}


def train(kind, **options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXT), model_writer=out, model_type=kind, normalization_rule_name="identity",
                                             num_threads=1, minloglevel=2, **options)
    return sentencepiece.SentencePieceProcessor(model_proto=out.getvalue()), out.getvalue()


def cases(sp, bos=()):
    ids = [list(bos) + sp.encode(line) for line in LINES]
    odd = [[0, 5], [5, 0], [0, 0, 5, 6], [1, 0, 5], [5, 2, 0]]
    return {"ids": ids, "decoded": [sp.decode(i) for i in ids], "odd": odd, "odd_decoded": [sp.decode(i) for i in odd]}


def main():
    found = {"lines": LINES}
    for name, surface in SURFACES.items():
        sp, model = train("bpe", vocab_size=64, unk_surface=surface)
        (HERE / f"unknown_{name}.model").write_bytes(model)
        found[name] = cases(sp)
    sp, _ = train("char", vocab_size=32, hard_vocab_limit=False, remove_extra_whitespaces=False)
    pieces = [({sp.bos_id(): "\n<s>\n", sp.eos_id(): "\n</s>\n"}.get(i, sp.id_to_piece(i)).replace("▁", " ").encode(), sp.get_score(i))
              for i in range(sp.get_piece_size())]
    data = struct.pack("<i", max(len(p) for p, _ in pieces)) + b"".join(struct.pack("<fi", score, len(p)) + p for p, score in pieces)
    (HERE / "characters.bin").write_bytes(data)
    found["characters"] = {"vocabulary": len(pieces), **cases(sp, [1])}
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in found.items())
    (HERE / "unknown.json").write_text("{\n" + rows + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

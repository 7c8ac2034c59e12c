#!/usr/bin/env python3
"""Makes ties.json: small Unigram models in which cuts of a text have the same score but for a float's last bit, beside user-defined
pieces of several lengths, and the ids that SentencePiece 0.2.3 gives.

    python3 make_ties.py        # writes ties.json beside itself"""
import json
import random
import struct
from pathlib import Path

import sentencepiece

HERE = Path(__file__).resolve().parent


def field(number, payload):
    return bytes([number << 3 | 2, len(payload)]) + payload


def piece(text, score, kind):
    return field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + bytes([0x18, kind]))


def model(scores, user):
    """<unk>, <s>, </s>, the pieces, and one that is user-defined; a Unigram model without a character map."""
    normal = b"".join(piece(text, score, 1) for text, score in scores.items())
    special = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3)
    no = bytes([3 << 3, 0, 4 << 3, 0, 5 << 3, 0])  # dummy prefix, extra spaces, escapes
    return special + normal + (piece(user, 0, 4) if user else b"") + field(2, bytes([3 << 3, 1])) + field(3, field(1, b"identity") + no)


def main():
    draw, cases = random.Random(3), []
    for number in range(160):
        user = ("", "zz", "z", "\u65e5z")[number % 4]
        score = struct.unpack("<f", struct.pack("<f", -draw.uniform(1, 12)))[0]
        scores = {"x": -draw.uniform(1, 12), "y": -draw.uniform(1, 12), "_": score, "__": 2 * score, "x_": -draw.uniform(5, 12), "_y": -draw.uniform(5, 12)}
        text = "".join(draw.choice("xy_") for _ in range(24)) + "___" + draw.choice("xy")
        text = text[:6] + user + text[6:]
        data = model(scores, user)
        cases.append({"model": data.hex(), "text": text, "ids": sentencepiece.SentencePieceProcessor(model_proto=data).encode(text)})
    rows = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    (HERE / "ties.json").write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main()

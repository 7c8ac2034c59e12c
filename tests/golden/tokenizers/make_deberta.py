#!/usr/bin/env python3
"""Makes deberta.json: what transformers' fast tokenizers of DeBERTa v2 and v3 give for 200 texts and some pairs.

    python3 make_deberta.py [RULE]      # needs transformers 4.57, tokenizers, sentencepiece and protobuf

RULE is a normalization rule of SentencePiece, for a look at a larger character map.

The SentencePiece model is a small one with the special pieces and the kind of normalization that DeBERTa's have. Its tokenizer.json is
written twice: by transformers 4, whose converter most files on the hub come from (DebertaV2TokenizerFast), and in the form of transformers
5, whose class takes another normalizer. A case holds the file, the ids of each text with the special tokens around them and what these
decode to, and the ids and segments of pairs.
"""
import io
import json
import random
import sys
import tempfile
from pathlib import Path

import sentencepiece
from tokenizers import Regex, Tokenizer, normalizers
from transformers import DebertaV2TokenizerFast

from make_encoders import HERE, LINES, MORE, TEXT, rules

SPECIAL = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"]
PLAIN = TEXT.replace("\n", " ").split()
ODD = (["\x00", "\t", "\n", "\r", "\r\n", "\x01", "\x08", "\x0b", "\x0c", "\x1f", "\x7f", "\x80", "\x85", "\x9f", "\u00a0", "\u00ad", "\u1680", "\u2003",
        "\u200b", "\u200d", "\u200e", "\u2028", "\u2029", "\u202f", "\u2060", "\u3000", "\ufeff", "\ufffd", "\u2581", "  ", "   "] +
       ["\u0301", "e\u0301", "\u00e9", "\ufb01", "\u2460", "\u00bd", "\uff21", "\uff22", "\u0130", "\u1e9e", "\uac00", "\u1100\u1161", "\u4e2d", "\u6587", "\u0e33",
        "\u05e9\u05c1", "\u0627\u0644", "\u0915\u094d\u0937", "\U0001f468\u200d\U0001f469", "\U0001f600", "\U0002b740", "\U000e0041"] +
       list(".,;:!?'\"()-_/\\@#$%&*+=<>[]{}|~^`") + SPECIAL)


def texts():
    g, made = random.Random(5), LINES + MORE
    while len(made) < 200:
        parts = [g.choice(PLAIN if g.random() < 0.5 else ODD) for _ in range(g.randrange(1, 12))]
        made.append("".join(p + g.choice(["", " "]) for p in parts))
    return made


def model():
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT.split("\n")), model_writer=out, num_threads=1, minloglevel=2, hard_vocab_limit=False, vocab_size=160,
        model_type="unigram", pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]",
        **(dict(normalization_rule_name=sys.argv[1]) if len(sys.argv) > 1 else dict(normalization_rule_tsv=rules())))
    return out.getvalue()


def case(name, made, lines):
    tokenizer = Tokenizer.from_str(made.to_str())       # as it is read from its file
    pairs = [(lines[i], lines[-1 - i]) for i in range(0, 40, 2)]
    rows = [tokenizer.encode(line) for line in lines]
    both = [tokenizer.encode(a, b) for a, b in pairs]
    return {"name": name, "file": json.loads(tokenizer.to_str()), "ids": [r.ids for r in rows],
            "decoded": [tokenizer.decode(r.ids, skip_special_tokens=True) for r in rows],
            "pairs": [{"text": pair, "ids": r.ids, "type_ids": r.type_ids} for pair, r in zip(pairs, both)]}


def main():
    lines, cases = texts(), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spm.model"
        path.write_bytes(model())
        for name, how in (("transformers 4", {}), ("lower case, punctuation apart", dict(do_lower_case=True, split_by_punct=True))):
            cases.append(case(name, DebertaV2TokenizerFast(str(path), **how).backend_tokenizer, lines))
    later = Tokenizer.from_str(json.dumps(cases[0]["file"]))
    later.normalizer = normalizers.Sequence([normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC(),
                                             normalizers.Strip(left=False, right=True)])
    cases.append(case("transformers 5", later, lines))
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in cases)
    (HERE / "deberta.json").write_text('{"lines": ' + json.dumps(lines, ensure_ascii=False) + ',\n"cases": [\n' + text + "]}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

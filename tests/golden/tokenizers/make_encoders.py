#!/usr/bin/env python3
"""Makes encoders.json, unigram.model and unigram_map.model: WordPiece and Unigram, as tokenizers 0.23.3 and sentencepiece 0.2.3 have them.

    python3 make_encoders.py [SHARED]     # SHARED: the folder with data/tokenizers, for t5-small and sentencepiece's test model

A case holds a whole tokenizer.json ("file") or parts that replace those of an earlier one ("base", a case's number), and what the lines
become. The character map is a small one of its own, so that the files stay small."""
import base64
import io
import json
import sys
import tempfile
from pathlib import Path

import sentencepiece
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from make_tokenizers import BROKEN, HERE, LINES, TEXT, with_odd_pieces

MORE = ["The DAY's\tSUMMER\u2028heaven", "m\u00fcde na\u00efve \u0130I\u0307 \u1e9e", "\u4e2dand\u6587 \uac00\u1100\u1161 \U0002b740\U0002b830x", "\u2e43a\u166db\u111c9c\u07fd \u0e33\u0300",
        "\ufffd\u200b a\u00adb \ufeff", "\ufb01\u2460\u00bd \uff21\uff22 \u3371", "e\u0301e\u0323\u0307 o\u0307\u0323", "\u0928\u093f \u0e01\u0e33 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u0915\u094d\u0937", "the" * 30,
        "aaaaaaaaaaa ------- .......", "<unk><unk>x <s>", "\u2581 \u2581the", "a \r\n\r\n b", "don't , it 's a n't . do not ! ?", "[MASK] [mask]"]
RULES = "20\t9\n20\tA\n20\tD\n20\tD A\n20\t3000\n\t200B\n31\t2460\n66 69\tFB01\n41\tFF21\n42\tFF22\nE9\t65 301\n31 2044 32\tBD\nAC00\t1100 1161\n78\t1F468 200D\n"


def rules():
    lines = [("\t".join(reversed(rule.split("\t")))) for rule in RULES.strip("\n").split("\n")]
    file = tempfile.NamedTemporaryFile("w", suffix=".tsv", delete=False)
    file.write("\n".join(lines) + "\n")
    file.close()
    return file.name


def sentencepiece_model(**options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXT.split("\n")), model_writer=out, num_threads=1, minloglevel=2, hard_vocab_limit=False, **options)
    return out.getvalue()


def map_of(model):
    """The precompiled character map in a model: normalizer_spec is field 3, the map its field 2."""
    def fields(data):
        at = 0
        while at < len(data):
            key, at = varint(data, at)
            if key & 7 == 2:
                n, at = varint(data, at)
                yield key >> 3, data[at:at + n]
                at += n
            elif key & 7 == 0:
                _, at = varint(data, at)
            else:
                at += 8 if key & 7 == 1 else 4

    def varint(data, at):
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value, at
    return dict(fields(dict(fields(model))[3])).get(2, b"")


def word_piece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(TEXT.split("\n") + ["\u4e2d \u6587 , \u2e43 . ! ? ' - _"],
                          trainers.WordPieceTrainer(vocab_size=300, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    doc = json.loads(t.to_str())
    doc["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    return doc


def unigram(charsmap):
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(TEXT.split("\n"), trainers.UnigramTrainer(vocab_size=200, show_progress=False, special_tokens=["<s>", "<unk>"], unk_token="<unk>"))
    doc = json.loads(t.to_str())
    vocab = {piece: score for piece, score in doc["model"]["vocab"]}  # training's ties differ from run to run; the order here doesn't
    doc["model"]["vocab"] = [["<s>", 0.0], ["<unk>", 0.0]] + sorted(([p, round(s, 4)] for p, s in vocab.items() if p not in ("<s>", "<unk>")), key=lambda x: (-x[1], x[0]))
    doc["model"]["unk_id"] = 1
    doc["added_tokens"] = [{"id": 0, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}]
    doc["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    return doc


def cases(charsmap):
    yield None, word_piece()
    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    for change in ({"lowercase": False}, {"strip_accents": False}, {"lowercase": False, "strip_accents": True}, {"clean_text": False, "handle_chinese_chars": False}):
        yield 0, {"normalizer": {**bert, **change}}
    yield 0, {"model+": {"max_input_chars_per_word": 5}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False}}
    yield 0, {"pre_tokenizer": {"type": "WhitespaceSplit"}, "model+": {"continuing_subword_prefix": "a"}, "decoder": {"type": "WordPiece", "prefix": "a", "cleanup": True}}
    number = yield None, unigram(charsmap)
    yield number, {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}}
    yield number, {"normalizer": None, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False}]}}
    vocab = [["<unk>", 0.0]] + [[f"<0x{b:02X}>", 0.0] for b in range(256)] + [["\u2581the", -3.0], ["\u2581", -2.0], ["t", -4.5], ["h", -4.5], ["e", -4.0], ["ee", -8.0], ["eee", -12.0], ["a", -1.5], ["a", -4.25]]
    yield number, {"model": {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": True}, "added_tokens": [],
                   "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}]}}


def results(text, lines):
    t = Tokenizer.from_str(text)
    rows = [t.encode(line) for line in lines]
    return {"ids": [r.ids for r in rows], "decoded": [t.decode(r.ids, skip_special_tokens=True) for r in rows]}


def from_model(model, lines):
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    broken = [bytes.fromhex(h) for h in BROKEN + ["61ffe3808020ef", "efbfbd", "c3a9cc81ff"]]
    return {"ids": [sp.encode(line) for line in lines], "decoded": [sp.decode(sp.encode(line)) for line in lines],
            "broken": [{"hex": b.hex(), "ids": sp.encode(b), "decoded": sp.decode(sp.encode(b))} for b in broken]}


def main():
    lines = LINES + MORE
    tsv = rules()
    mapped = sentencepiece_model(vocab_size=120, model_type="unigram", normalization_rule_tsv=tsv)
    plain = sentencepiece_model(vocab_size=420, model_type="unigram", byte_fallback=True, normalization_rule_name="identity", user_defined_symbols=["<tok>"])
    sp = sentencepiece.SentencePieceProcessor(model_proto=plain)
    long = [sp.id_to_piece(i) for i in range(260, len(sp)) if len(sp.id_to_piece(i)) > 1 and "t" not in sp.id_to_piece(i)]
    plain = with_odd_pieces(plain, long[:2])
    (HERE / "unigram_map.model").write_bytes(mapped)
    (HERE / "unigram.model").write_bytes(plain)
    docs, rows, walk, number = [], [], cases(map_of(mapped)), None
    base, parts = next(walk)
    while True:
        doc = dict(parts) if base is None else {**docs[base], **parts}
        if "model+" in doc:
            doc["model"] = {**doc["model"], **doc.pop("model+")}
        number = len(docs)
        docs.append(doc)
        rows.append({**({"file": doc} if base is None else {"base": base, "with": parts}), **results(json.dumps(doc), lines)})
        try:
            base, parts = walk.send(number)
        except StopIteration:
            break
    out = {"lines": lines, "cases": rows, "unigram.model": from_model(plain, lines), "unigram_map.model": from_model(mapped, lines)}
    if len(sys.argv) > 1:
        shared = Path(sys.argv[1]) / "data/tokenizers"
        out["t5-small"] = results((shared / "t5-small/tokenizer.json").read_text(), lines)  # another spelling of the scores is parsed to others
        out["test_model"] = from_model((shared / "sentencepiece/test_model.model").read_bytes(), lines)
    text = ",\n".join(json.dumps(k) + ": " + ("[\n" + ",\n".join(json.dumps(v, ensure_ascii=False) for v in out[k]) + "]" if k in ("cases", "lines")
                                               else json.dumps(out[k], ensure_ascii=False)) for k in out)
    (HERE / "encoders.json").write_text("{\n" + text + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes the tokenizer goldens in this folder: what Hugging Face's tokenizers 0.23.3 and sentencepiece 0.2.3 give.

    python3 make_tokenizers.py        # writes byte.json, char.json, small.model, small.bin, expected.json beside itself

byte.json and char.json are whole tokenizer.json files; a case of expected.json replaces some of their top-level parts
("with"; "model+" replaces parts of the model) and gives per line the ids with special tokens and their decoded text
without them. small.bin is llama2.c's
format; its ids are found by the plain quadratic search of that program, written here again.
"""
import io
import json
import struct
from pathlib import Path

import sentencepiece
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).resolve().parent
TEXT = """Shall I compare thee to a summer's day? Thou art more lovely and more temperate: rough winds do shake the darling
buds of May, and summer's lease hath all too short a date: sometime too hot the eye of heaven shines, and often is his
gold complexion dimm'd; and every fair from fair sometime declines, by chance, or nature's changing course untrimm'd."""
LINES = ["", " ", "The summer's day", "  two  spaces \n\n and\tlines\r\n", "I'm WE'LL it'S ſ'ſ", "12345 + 3.14 = ½ ٣", "<s>a <tok> b</s>",
         "tok atok tok", "naïve e\u0301\u0316 ÅÉ ﬁ İΣ ẞ", "日本語 😀👍🏽", "a\u00a0b\u3000c\u200d ▁d", "... --- !?", "hereXthere", "x<tok>b the summer", "x" * 40]
BROKEN = ["ff", "61ff62", "c328", "e282ace2", "f09f98", "c0af", "eda080", "f4908080", "00"]
Q = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
MARKED = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]%s[\p{Ll}\p{Lm}\p{Lo}\p{M}]%s(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
O200K = MARKED % ("*", "+") + MARKED % ("+", "*") + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"  # tiktoken's
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def byte_json():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(TEXT.split("\n"), trainers.BpeTrainer(vocab_size=320, show_progress=False, special_tokens=["<s>"],
                                                                 initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return json.loads(t.to_str())


def char_json():
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    t.train_from_iterator(TEXT.split("\n"), trainers.BpeTrainer(vocab_size=340, show_progress=False, special_tokens=special))
    doc = json.loads(t.to_str())
    doc["added_tokens"] = doc["added_tokens"][:3]
    doc["model"].update(byte_fallback=True, fuse_unk=True)
    doc["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                                                             {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
    doc["pre_tokenizer"] = None
    doc["post_processor"] = json.loads(processors.TemplateProcessing(single="<s> $A", pair="<s> $A </s> $B:1 </s>:1",
                                                                     special_tokens=[("<s>", 1), ("</s>", 2)]).__getstate__())
    doc["decoder"] = json.loads(decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                                   decoders.Strip(" ", 1, 0)]).__getstate__())
    return doc


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def added(doc, *tokens):
    first = max(doc["model"]["vocab"].values()) + 1
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return doc["added_tokens"] + [{**flags, "id": first + i, **t} for i, t in enumerate(tokens)]


def cases(byte, char):
    yield "byte", {}
    yield "char", {}
    for name, digits in (("llama3", "{1,3}"), ("qwen2", "")):
        yield "byte", {"pre_tokenizer": sequence(split(Q % digits), BYTES), "normalizer": {"type": "NFC"}}
    yield "byte", {"pre_tokenizer": sequence(split(Q % "{1,3}" + "|never"), BYTES)}  # the same by PCRE2
    yield "byte", {"pre_tokenizer": {**BYTES, "add_prefix_space": True, "use_regex": True}}
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            yield "byte", {"pre_tokenizer": sequence(split("[aeiou]+|(?=[A-Z])", behavior, invert), BYTES)}
    yield "byte", {"pre_tokenizer": sequence(split(" ", "Removed", kind="String"), {"type": "Digits", "individual_digits": True}, BYTES)}
    for step in ({"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Contiguous"},
                 {"type": "Digits", "individual_digits": False}):
        yield "byte", {"pre_tokenizer": sequence(step, BYTES)}
    for form in ("NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"):
        yield "byte", {"normalizer": {"type": form}}
    yield "byte", {"normalizer": {"type": "Sequence", "normalizers": [
        {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": " {2,}|s+"}, "content": "_"}]}}
    for scheme in ("always", "first", "never"):
        for whole in (True, False):
            step = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": whole}
            yield "char", {"normalizer": None, "decoder": step, "pre_tokenizer": sequence(split("X", "Isolated"), step)}
    step = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    yield "char", {"normalizer": {"type": "Strip", "strip_left": True, "strip_right": False}, "decoder": step, "pre_tokenizer": step}
    yield "char", {"normalizer": None, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
                   "decoder": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}}
    yield "char", {"model+": {"byte_fallback": False}, "decoder": None}
    yield "char", {"model+": {"byte_fallback": False, "fuse_unk": False}}
    yield "char", {"model+": {"byte_fallback": False, "unk_token": None}}
    tokens = [{"content": "<tok>", "lstrip": True, "rstrip": True}, {"content": "tok", "single_word": True},
              {"content": "</s>", "special": True}, {"content": "É", "normalized": True}]
    yield "byte", {"added_tokens": added(byte, *tokens[:3]), "normalizer": {"type": "Lowercase"}}
    yield "char", {"added_tokens": added(char, *tokens[:2])}
    yield "byte", {"post_processor": {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["a", 65], "trim_offsets": True,
                                      "add_prefix_space": False}}
    yield "byte", {"post_processor": {"type": "BertProcessing", "cls": ["<s>", 0], "sep": ["a", 65]}}
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocab = {"<unk>": 0, **{c: i + 1 for i, c in enumerate(letters)}, **{c + "</w>": i + 27 for i, c in enumerate(letters)}}
    merges = [["t", "h"], ["th", "e</w>"], ["d", "a"], ["da", "y</w>"], ["e", "r"]]
    vocab.update({a + b: 53 + i for i, (a, b) in enumerate(merges)})
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": "</w>",
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": [" ".join(m) for m in merges]}
    yield "byte", {"model": model, "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "normalizer": {"type": "Lowercase"},
                   "decoder": {"type": "BPEDecoder", "suffix": "</w>"}}
    words = {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "The": 1, "day": 2, "summer": 3, "'": 4, "s": 5}}
    yield "byte", {"model": words, "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "decoder": None}
    yield "byte", {"pre_tokenizer": sequence(split(O200K), BYTES)}


def from_library(base, parts):
    parts = dict(parts)
    if "model+" in parts:
        parts["model"] = {**base["model"], **parts.pop("model+")}
    t = Tokenizer.from_str(json.dumps({**base, **parts}))
    rows = [t.encode(line) for line in LINES]
    pair = t.encode(LINES[2], LINES[6])
    return {"ids": [r.ids for r in rows], "decoded": [t.decode(r.ids, skip_special_tokens=True) for r in rows],
            "pair": {"ids": pair.ids, "type_ids": pair.type_ids}}


def small_model(**options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT.split("\n")), model_writer=out, vocab_size=320, model_type="bpe", byte_fallback=True,
        normalization_rule_name="identity", num_threads=1, minloglevel=2, **options)
    return out.getvalue()


def with_odd_pieces(model, unused_pieces=("\u2581the", "me", "\u2581and")):
    """A piece across the user-defined one, which must never come out, and pieces that are only there to be split again.
    Edits the protobuf by hand: each piece is field 1 with its text first and, below 128 bytes, one byte of length."""
    unused = b"\x18\x05"
    for text in unused_pieces:
        text = text.encode("utf-8")
        body = b"\x0a" + bytes([len(text)]) + text + b"\x15"
        start = model.index(body) - 2
        end = start + 2 + model[start + 1]
        model = model[:start] + b"\x0a" + bytes([model[start + 1] + len(unused)]) + model[start + 2:end] + unused + model[end:]
    text, end = b"<tok>b", end + len(unused)
    return model[:end] + b"\x0a" + bytes([2 + len(text)]) + b"\x0a" + bytes([len(text)]) + text + model[end:]


def small_bin(sp):
    """Pieces as llama2.c's export.py writes them."""
    pieces = []
    for i in range(sp.get_piece_size()):
        text = {sp.bos_id(): "\n<s>\n", sp.eos_id(): "\n</s>\n"}.get(i, sp.id_to_piece(i)).replace("▁", " ")
        pieces.append((text.encode("utf-8"), sp.get_score(i)))
    data = struct.pack("<i", max(len(p) for p, _ in pieces))
    return pieces, data + b"".join(struct.pack("<fi", score, len(p)) + p for p, score in pieces)


def llama2c(pieces, text):
    ids = {p: i for i, (p, _) in enumerate(pieces)}
    tokens = [1] + ([ids[b" "]] if text else [])
    for c in text:
        c = c.encode("utf-8")
        tokens += [ids[c]] if c in ids else [b + 3 for b in c]
    while True:
        best = (-1e10, -1, -1)
        for i in range(len(tokens) - 1):
            both = ids.get(pieces[tokens[i]][0] + pieces[tokens[i + 1]][0], -1)
            if both >= 0 and pieces[both][1] > best[0]:
                best = (pieces[both][1], both, i)
        if best[1] < 0:
            return tokens
        tokens[best[2]:best[2] + 2] = [best[1]]


def save(name, value):
    rows = ",\n".join(json.dumps(k) + ": " + ("[\n" + ",\n".join(json.dumps(v, ensure_ascii=False) for v in value[k]) + "]"
                                               if k in ("cases", "lines") else json.dumps(value[k], ensure_ascii=False)) for k in value)
    (HERE / name).write_text("{\n" + rows + "\n}\n", encoding="utf-8")


def main():
    byte, char = byte_json(), char_json()
    save("byte.json", byte)
    save("char.json", char)
    model = with_odd_pieces(small_model(user_defined_symbols=["<tok>"]))
    (HERE / "small.model").write_bytes(model)
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces, data = small_bin(sentencepiece.SentencePieceProcessor(model_proto=small_model()))
    (HERE / "small.bin").write_bytes(data)
    bases = {"byte": byte, "char": char}
    ids = [sp.encode(line) for line in LINES]
    broken = [{"hex": h, "ids": sp.encode(bytes.fromhex(h)), "decoded": sp.decode(sp.encode(bytes.fromhex(h)))} for h in BROKEN]
    save("expected.json", {
        "lines": LINES,
        "cases": [{"base": base, "with": parts, **from_library(bases[base], parts)} for base, parts in cases(byte, char)],
        "sentencepiece": {"ids": ids, "decoded": [sp.decode(i) for i in ids], "broken": broken},
        "llama2c": {"vocabulary": len(pieces), "ids": [llama2c(pieces, line) for line in LINES]}})


if __name__ == "__main__":
    main()

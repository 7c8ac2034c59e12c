#!/usr/bin/env python3
"""Makes components.json: every component of tokenizer.json, and every value of its fields, as tokenizers 0.23.3 has it.

    python3 make_components.py              # writes components.json beside itself
    python3 make_components.py --show NAME  # prints what the library gives in the cases whose names contain NAME

A case replaces parts of one of the "bases". Per text it has a hash (FNV-1a, 32 bits) of the ids, of their texts without and
with special tokens, and where "pairs" is true of the text's pair with the next one; of a decoder's case, of the texts of
"ids". null: the library panics. In a "plain" case the names of special tokens are text. "refused": what Tessera's message must
name. In the base "bytes", the last character of each word has an id of its own, so that ids tell where the words end."""
import itertools
import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer, pre_tokenizers

HERE = Path(__file__).resolve().parent
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TEXTS = [
    "", " ", "  ", "\n", "\r\n", "a", "Hello, world!", "The fox's 12345 jumps; isn't it?", "\u00c9l corri\u00f3: \u00bfqu\u00e9? \u00d1",
    "Gr\u00f6\u00dfe \u1e9e ss SS \ufb01 fi st \ufb06", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0401", "\u0393\u03b5\u03b9\u03ac \u03a3\u03b1\u03c2 \u03a3",
    "\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd", "\u0645\u0631\u062d\u0628\u0627 \u0661\u0662\u0663 \u064e", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0967\u0968", "\u0e01\u0e33\u0e25\u0e31\u0e07\u0e44\u0e17\u0e22",
    "\u4f60\u597d\uff0c\u4e16\u754c\uff01 \u3005\u3006\u3007", "\u30c6\u30b9\u30c8\u3042\u3044\u30fc\uff76", "\ud55c\uad6d \u1100\u1161", "\u0130I\u0131i \u01c5",
    "def f(x):\n\treturn x**2  # c\n\n\n  y", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea \u2764\ufe0f", "a\u0000b\u0007\u001b\u007f\u0085\u009f",
    "e\u0301\u0316 \u212b A\u030a", "l1\r\nl2\rl3\n\n l4 \r\n", "a\u00a0b\u2003c\u3000d\u200be\ufefff\u202fg\u2028h\u180ei", " lead", "trail ", "x" * 120, "\u00bd\u2167\u2461\u00b2 \u24d0\U0001d7dc",
    "\uff21\uff42 \u33ab \u210c \u32ff \U00010799 \U0001fbf3 a\u0898 b\u1cf2 a\u1dea\ua82c", "I'm WE'LL it'S \u017f'\u017f don't", "... --- !? \u00ab\u201cq\u201d\u00bb $+<=>^`|~", "a_b-c.d/e\\f@g#h%i&j*k(l)m[n]o{p}", "<s>a<tok> b</s>[CLS]</w>##ing \u2581d",
    "\ufffd\ue000\U0010ffff", "aA1XMLHttp camelCase 0x1F", "1234567890 1,234.56", "\u0301a\u200d\u200c\u00ad", "pLa {x} a{1 ]b ^c- aab abab foo\u0301 foo AaBbCc k\u212a",
]
ADDED = ["a<tok>b <tok> c", "<tok><tok>", "x <tok>  y", "atok tok toktok tok.", "\u00c9a e\u0301a \u00c9a", "  <tok>  ", "<s><tok></s>", "tok\u0301 tok_ tok1", "\u65e5tok\u672c",
         "\n<tok>\n", "ab", "abc", "abcd", "<tok", ""]
PLAIN = ["a end a", "end", "aend enda", "a{b", "a {", "#1", "a#1b #1", "a [] []", "[]", "fox", "a fox end"]
PATTERNS = r"""
\p{N}{1,3}+~a{2}?~a{2,3}?~a{,2}~\pL~\h+~\H~\v~a(?i)b|c~x(?i)X|y~(x(?i)X|y)z?|Q~a|(?i)b|c~(?i)th(?-i)e~(?i-m:a)b~(?i)'s~(?i)k~(?i)[a-z]+~(?i)[^a]~(?i)ж+~(?i)é~(?i)[é]~(?i:x|\p{Ll})+~(?i)\p{Lu}+
(?m).~(?m:.+)~.~(?im)a.~\R~\N+~\O+~\Qa~\i~\u0041~\x{41}~\xA~\07~\cA~\e~\a~[\b]~[[:alpha:]]+~[[:punct:]]+~[[:space:]]+~[[:^digit:]]~[^[:punct:][:space:]]+~[a[bc]]+~[a-z&&[^aeiou]]+~[^a-z&&[^aeiou]]+~[a&&b&&c]~[\S&&[^a]]+
\p{Han}+~[\p{Han}]+~\p{^L}+~\P{^L}+~\p{Letter}~\p{uppercase letter}~\p{Alphabetic}+~\p{Emoji}~\p{Extended_Pictographic}~\p{Hira}~\p{Hiragana}|\p{Katakana}~\p{Hangul}+~\p{Thai}~\p{Devanagari}+~\p{Arabic}+~\p{Greek}+~\p{Cyrillic}
\p{Common}+~\p{Inherited}~[\p{Latin}\p{M}]+~\p{White_Space}~\p{Punct}+~\p{P}~\p{ P }~\p{l}~\p{LC}~\p{Any}+~\p{ASCII}+~\p{Zzzz}~\p{Uppercase}~\p{Lowercase}~\p{Lm}|\p{Nl}|\p{No}|\p{Sk}|\p{Sc}|\p{Cf}|\p{Zs}~\p{Lu}\p{Ll}*
\bfoo\b~\b~\B~\b\w~\w+~\W~[\W]~[^\W]~\w+|[^\w\s]+~\s+~\S+~[^\S\n]+~\d+~\D+~\d{2}~[\s\S]~^~$~^.*$~\s+$~\A.~.\z~.\Z~a\Kb~\K~(?<=a|bc)x~(?<!a)x~(?<=\s)\S~(?<!\w)\w{3}~a(?=b)~(?>a+)a~(?>\s+)\S~(a)\1~(\w)\1~(a|b)(c)?\2
(?<n>a)(b)~(?#c)a~(?x) a b # c~(?-x) ~a**~a++b~a?+~a{2}{2}~a{2}+~a{2,}+a~a{2,3}+a~x{2,}~x{3}~x{2,5}?~(?:ab)+?~{~}~]~a{x}~a{1~a|~|a~(|a)b~()~[]a]~[--a]~[a\-c]~[\]a]~[a&b]~[a-]~[-a]~[^-a]~[a\]b\-c^]~a-z~\.~\-\/\#\ ~ {2,}~[\t\n\r\f\v]
[一-龥぀-ゟ゠-ヿ]+~[\u4e00-\u9fff]~\x{1F600}~[\x{1F300}-\x{1FAFF}]+~é~[é-ü]+~[^\p{L}\p{N}\s]
[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\s+
""".strip().replace("\n", "~").split("~") + [""]
REFUSED = {r"(?i)ss": "one character may stand", r"(?i)\u00df": "one character may stand", r"(?i)[à-ɏ]": "stands for several", r"\X": "this escape", r"\G.": "this escape",
           r"\y": "this escape", r"(?<a>x)\k<a>": "this escape", r"\C-a": "this escape", r"\M-a": "this escape", r"(?~ab)": "this kind of group",
           r"(?W)x": "this kind of group", r"(?y{g})a": "this kind of group", r"a{3,1}": "this repeat", r"\101": "reference to a group", r"(?<=a+)x": "lookbehind",
           r"[&&a]": "empty side of &&", r"\p{Blank}": r"\p{Blank}", r"\p{InGreek_and_Coptic}": r"\p{InGreek_and_Coptic}", r"[[:upper:]]": "this bracket",
           r"(?i)[\p{Lu}]": "property of case", r"(?i)[\w&&[^\d]]?s": "set of letters", r"(?i)[[:alpha:]]": "set of letters"}


def byte_level(**fields):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False, **fields}


def file(model, **parts):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": None, "model": model, **parts}


def bases():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {c: i for i, c in enumerate(alphabet)} | {c + "</w>": 256 + i for i, c in enumerate(alphabet)}
    bpe = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": "</w>", "fuse_unk": False,
           "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": []}
    yield "bytes", file(bpe, pre_tokenizer=byte_level(), decoder=byte_level())
    merges = [["t", "h"], ["th", "e</w>"], ["e", "r"], ["f", "o"], ["fo", "x</w>"], ["t", "##h"], ["th", "##e"], ["f", "##o"], ["##o", "##x"]]
    pieces = ["<unk>", *LETTERS, *(c + "</w>" for c in LETTERS), *("##" + c for c in LETTERS), *("<0x%02X>" % b for b in range(256))]
    pieces += [p for a, b in merges if (p := a + b.removeprefix("##")) not in pieces]
    yield "merges", file({**bpe, "vocab": {p: i for i, p in enumerate(pieces)}, "merges": merges}, normalizer={"type": "Lowercase"},
                         pre_tokenizer={"type": "Whitespace"})
    words = ["[UNK]", *LETTERS, *("##" + c for c in LETTERS), "the", "##ox", "fox", "##s"]
    yield "pieces", file({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                          "vocab": {p: i for i, p in enumerate(words)}}, normalizer={"type": "Lowercase"},
                         pre_tokenizer={"type": "BertPreTokenizer"}, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})
    yield "words", file({"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "The": 2, "fox": 3, "'": 4}},
                        pre_tokenizer={"type": "Whitespace"})
    scored = [["<unk>", 0.0], *([c, -3 - i / 10] for i, c in enumerate(LETTERS)), ["the", -2.0], ["th", -2.5], ["\u2581", -2.0], ["\u2581the", -2.2], ["fox", -4.0]]
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    yield "scores", file({"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": scored}, normalizer={"type": "Lowercase"},
                         pre_tokenizer=space, decoder=space)
    yield "scores and bytes", file({"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": scored + [["<0x%02X>" % b, -9.0] for b in range(256)]},
                                   pre_tokenizer=space, decoder={"type": "Sequence", "decoders": [{"type": "ByteFallback"}, space]})
    yield "decoders", file({"type": "WordLevel", "unk_token": "<unk>", "vocab": {p: i for i, p in enumerate(DECODED)}},
                           added_tokens=[token(DECODED.index("<s>"), "<s>", special=True)])


DECODED = ["<unk>", "a", "\u2581b", "\u2581", "\u2581\u2581c", " ", "  ", " x", "x ", "</w>", "d</w>", "e</w>f</w>", "##g", "h##", "\u0120i", "\u0120", "\u010a", "<0xE2>", "<0x96>", "<0x81>", "<0x41>", "<0x00>",
           "<0xFF>", "<0x0a>", "<0xZZ>", "\u00e9", "\u65e5\u672c", ".", "?", "'", "n't", "'s", "|", "<pad>", "\n", "\u00c3", "\u00a9", "_", "ab_", "do", "not", "<s>"]


def token(number, content, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False, **flags}


def normalizers():
    for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"):
        yield {"type": form}
    for left, right in itertools.product((False, True), repeat=2):
        yield {"type": "Strip", "strip_left": left, "strip_right": right}
    for clean, chinese, accents, lower in itertools.product((False, True), (False, True), (None, False, True), (False, True)):
        yield {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": accents, "lowercase": lower}
    yield {"type": "Prepend", "prepend": "\u2581"}
    for pattern in ({"String": " "}, {"String": "\r\n"}, {"Regex": r"\s+"}, {"Regex": "^"}, {"Regex": "$"}, {"Regex": "x*"}, {"String": ""}, {"Regex": r"(\w)\1"}):
        for content in ("_", "", "$0\\1"):
            yield {"type": "Replace", "pattern": pattern, "content": content}
    yield {"type": "Sequence", "normalizers": []}
    yield {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "Strip", "strip_left": True, "strip_right": True}]}


def split(pattern, behavior, invert):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def steps():
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            for pattern in ({"Regex": "[aeiou]+|(?=[A-Z])"}, {"String": " "}, {"Regex": r"\s"}, {"String": ""}, {"Regex": "x*"}):
                yield split(pattern, behavior, invert)
        yield {"type": "Punctuation", "behavior": behavior}
    for name in ("Punctuation", "Whitespace", "WhitespaceSplit", "BertPreTokenizer", "FixedLength"):
        yield {"type": name}
    for delimiter in "x. \u65e5":
        yield {"type": "CharDelimiterSplit", "delimiter": delimiter}
    for individual in (False, True):
        yield {"type": "Digits", "individual_digits": individual}
    for length in (1, 2, 5, 1000):
        yield {"type": "FixedLength", "length": length}
    for replacement, scheme, whole in itertools.product("\u2581 _", ("always", "first", "never"), (False, True)):
        yield {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": whole}
    yield {"type": "Metaspace", "replacement": "\u2581"}
    yield {"type": "Metaspace", "replacement": "\u2581", "str_rep": "\u2581", "add_prefix_space": True}


def decoders():
    yield None
    for name in ("Fuse", "ByteFallback"):
        yield {"type": name}
    yield byte_level()
    for replacement, scheme in itertools.product("\u2581_ ", ("always", "first", "never")):
        yield {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": True}
    for prefix, cleanup in itertools.product(("##", "", "\u2581"), (False, True)):
        yield {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup}
    for suffix in ("</w>", "x"):
        yield {"type": "BPEDecoder", "suffix": suffix}
    for content, start, stop in itertools.product(" \u2581x", range(3), range(3)):
        yield {"type": "Strip", "content": content, "start": start, "stop": stop}
    replace = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 1}
    for pattern in ({"String": "\u2581"}, {"Regex": "[a-c]"}, {"Regex": "^"}, {"Regex": "$"}, {"String": ""}):
        yield {"type": "Replace", "pattern": pattern, "content": "zz"}
    for list_of in ([], [replace, {"type": "ByteFallback"}, {"type": "Fuse"}, {**strip, "stop": 0}], [{"type": "Fuse"}, {"type": "ByteFallback"}],
                    [strip, {"type": "Fuse"}, strip], [{"type": "Fuse"}, {"type": "WordPiece", "prefix": "##", "cleanup": True}],
                    [{"type": "Fuse"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}], [{"type": "BPEDecoder", "suffix": "</w>"}, {"type": "Fuse"}, strip],
                    [{"type": "Sequence", "decoders": [replace]}, {"type": "Fuse"}]):
        yield {"type": "Sequence", "decoders": list_of}


def processors():
    marks = {name: {"id": name, "ids": ids, "tokens": [name] * len(ids)} for name, ids in (("[CLS]", [512]), ("[SEP]", [513]), ("both", [513, 512, 1]))}
    a, b = ({"Sequence": {"id": name, "type_id": i}} for i, name in enumerate("AB"))
    cls, sep, both = ({"SpecialToken": {"id": name, "type_id": i}} for i, name in enumerate(("[CLS]", "[SEP]", "both")))

    def template(single, pair):
        return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": marks}
    yield {"type": "BertProcessing", "sep": ["[SEP]", 513], "cls": ["[CLS]", 512]}
    yield {"type": "RobertaProcessing", "sep": ["[SEP]", 513], "cls": ["[CLS]", 512], "trim_offsets": True, "add_prefix_space": False}
    yield {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    for single, pair in (([cls, a, sep], [cls, a, sep, b, sep]), ([a, cls, a], [a, b, a]), ([cls], [b, a]), ([], []), ([a, both], [both, a, b])):
        yield template(single, pair)
    yield {"type": "Sequence", "processors": []}
    yield {"type": "Sequence", "processors": [byte_level(), template([cls, a], [cls, a, b])]}


def models():
    for unk, fuse, fallback, whole, suffix, prefix in itertools.product((None, "<unk>"), (False, True), (False, True), (False, True), (None, "</w>"), (None, "##")):
        if prefix and suffix:
            continue
        fields = {"unk_token": unk, "fuse_unk": fuse, "byte_fallback": fallback, "ignore_merges": whole, "end_of_word_suffix": suffix, "continuing_subword_prefix": prefix}
        yield "merges", {**fields, "merges": [m for m in dict(bases())["merges"]["model"]["merges"] if (m[1][:2] == "##") == bool(prefix)]}
    for longest, prefix in itertools.product((100, 5, 1), ("##", "", "@@")):
        yield "pieces", {"max_input_chars_per_word": longest, "continuing_subword_prefix": prefix}
    yield "words", {}
    for base, unk, fallback in itertools.product(("scores", "scores and bytes"), (0, 3), (False, True)):
        yield base, {"unk_id": unk, "byte_fallback": fallback}


def added():
    contents = ("<tok>", "tok", "\u00c9a", "ab", "abc")
    for word, left, right, normal, special in itertools.product((False, True), repeat=5):
        flags = {"single_word": word, "lstrip": left, "rstrip": right, "normalized": normal, "special": special}
        for normalizer in (None, {"type": "Lowercase"}, {"type": "NFD"}, {"type": "Prepend", "prepend": "\u2581"}):
            yield {"added_tokens": [token(512 + i, c, **flags) for i, c in enumerate(contents)], "normalizer": normalizer}


def plain():
    contents = ("end", "{", "#1", "[]", "fox")
    pieces = {"vocab": {p: i for i, p in enumerate(["[UNK]", *LETTERS, *("##" + c for c in LETTERS), "fox"])}}
    merges = {"vocab": {p: i for i, p in enumerate(["<unk>", *LETTERS, "th", "fo"])}, "merges": [["t", "h"], ["f", "o"]], "end_of_word_suffix": None}
    for base, step, fields in (("words", "WhitespaceSplit", {}), ("merges", "WhitespaceSplit", {**merges, "ignore_merges": True}), ("merges", None, merges),
                               ("merges", None, {**merges, "unk_token": "<unk>"}), ("scores", None, {}), ("scores and bytes", "WhitespaceSplit", {}),
                               ("pieces", "WhitespaceSplit", pieces)):
        model = {**dict(bases())[base]["model"], **fields}
        own = [p for p, _ in model["vocab"]] if model["type"] == "Unigram" else list(model["vocab"])
        new = [c for c in contents if c not in own]
        tokens = [token(own.index(c) if c in own else len(own) + new.index(c), c, special=c != "{", single_word=c in "{#1") for c in contents]
        yield base, {"added_tokens": tokens, "normalizer": None, "pre_tokenizer": step and {"type": step}, "model+": fields}


REFUSALS = [("bytes", {"normalizer": {"type": "Prepend", "prepend": ""}}, "normalizer Prepend"),
            ("bytes", {"normalizer": {"type": "Other"}}, "normalizer \"Other\""),
            ("bytes", {"pre_tokenizer": {"type": "UnicodeScripts"}}, "pre_tokenizer \"UnicodeScripts\""),
            ("bytes", {"pre_tokenizer": {"type": "FixedLength", "length": 0}}, "pre_tokenizer FixedLength: \"length\""),
            ("bytes", {"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "often"}}, "\"often\""),
            ("bytes", {"pre_tokenizer": {"type": "Punctuation", "behavior": "Sideways"}}, "\"Sideways\""),
            ("bytes", {"decoder": {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}}, "decoder \"CTC\""),
            ("bytes", {"decoder": {"type": "BPEDecoder", "suffix": ""}}, "decoder BPEDecoder: \"suffix\""),
            ("bytes", {"model+": {"dropout": 0.5}}, "model BPE: \"dropout\""),
            ("bytes", {"model+": {"type": "Other"}}, "model \"Other\""),
            ("merges", {"model+": {"unk_token": "<nope>"}}, "model BPE: \"unk_token\""),
            ("bytes", {"post_processor": {"type": "Sequence", "processors": [{"type": "BertProcessing", "sep": ["a", 64], "cls": ["b", 65]}] * 2}}, "\"BertProcessing\"")]


def cases():
    for one in normalizers():
        after = None if one["type"] == "ByteLevel" else byte_level()
        yield "normalizer", {"base": "bytes", "with": {"normalizer": one, "pre_tokenizer": after}}
    for one in steps():
        yield "pre_tokenizer", {"base": "bytes", "with": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [one, byte_level()]}}}
    for prefix, regex in itertools.product((False, True), repeat=2):
        yield "pre_tokenizer", {"base": "bytes", "with": {"pre_tokenizer": byte_level(add_prefix_space=prefix, use_regex=regex)}}
    for pattern in [*PATTERNS, *REFUSED]:
        step = {"type": "Sequence", "pretokenizers": [split({"Regex": pattern}, "Isolated", False), byte_level()]}
        refused = {"refused": REFUSED[pattern]} if pattern in REFUSED else {}
        yield "pattern", {"base": "bytes", "with": {"pre_tokenizer": step}, **refused}
    for base, fields in models():
        yield "model", {"base": base, "with": {"model+": fields}}
    for parts in added():
        yield "added", {"base": "bytes", "with": parts, "texts": "added"}
    for base, parts in plain():
        yield "plain", {"base": base, "with": parts, "texts": "plain", "plain": True}
    marks = [token(512, "[CLS]", special=True), token(513, "[SEP]", special=True)]
    for one in processors():
        yield "post_processor", {"base": "bytes", "with": {"added_tokens": marks, "post_processor": one}, "texts": "added", "pairs": True}
    for one in decoders():
        yield "decoder", {"base": "decoders", "with": {"decoder": one}, "decodes": True}
    for base, parts, name in REFUSALS:
        yield "refused", {"base": base, "with": parts, "refused": name}


def fnv(text):
    value = 0x811C9DC5
    for byte in text.encode("utf-8"):
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def words(ids):
    return " ".join(map(str, ids))


def panics(error):
    return type(error).__name__ == "PanicException"


def decoded(t, ids):
    return "".join("\n" + t.decode(ids, skip_special_tokens=skip) for skip in (True, False))


def result(t, text, following):
    try:
        ids = t.encode(text).ids
        out = words(ids) + decoded(t, ids)
        if following is None:
            return out
        pair = t.encode(text, following)
        return out + "\n" + words(pair.ids) + "\n" + words(pair.type_ids)
    except BaseException as error:  # a panic of the library
        if not panics(error):
            raise
        return None


def text_of(t, ids):
    try:
        return decoded(t, ids)
    except BaseException as error:
        if not panics(error):
            raise
        return None


def drops(t, case):
    """Whether the library drops special tokens: it looks for their contents, but decodes their normalized forms."""
    tokens = case["with"].get("added_tokens", [])
    return all(not a["special"] or t.decode([a["id"]]) == "" for a in tokens)


def results(t, case, texts, ids):
    if case.get("decodes"):
        return [text_of(t, row) for row in ids]
    rows = texts[case.get("texts", "all")]
    t.encode_special_tokens = case.get("plain", False)
    if not drops(t, case):
        return [None for _ in rows]
    return [result(t, text, rows[(i + 1) % len(rows)] if case.get("pairs") else None) for i, text in enumerate(rows)]


def with_parts(base, parts):
    parts = dict(parts)
    if "model+" in parts:
        parts["model"] = {**base["model"], **parts.pop("model+")}
    return {**base, **parts}


def main():
    show = sys.argv[2] if len(sys.argv) > 2 else None
    draw, files = random.Random(5), dict(bases())
    texts = {"all": TEXTS, "added": ADDED, "plain": PLAIN}
    ids = [[i] for i in range(len(DECODED))] + [[draw.randrange(len(DECODED)) for _ in range(draw.randrange(1, 12))] for _ in range(60)] + [[]]
    out = []
    for number, (kind, case) in enumerate(cases()):
        name = f"{number} {kind} {json.dumps(case['with'], ensure_ascii=False)[:120]}"
        if "refused" not in case:
            got = results(Tokenizer.from_str(json.dumps(with_parts(files[case["base"]], case["with"]))), case, texts, ids)
            if show and show in name:
                print(name, *map(repr, got), sep="\n    ")
            case["hashes"] = [None if g is None else fnv(g) for g in got]
        out.append(case)
    if show:
        return
    rows = ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in out)
    head = ",\n".join(f"{json.dumps(k)}:{json.dumps(v, ensure_ascii=False, separators=(',', ':'))}" for k, v in (("bases", files), ("texts", texts), ("ids", ids)))
    (HERE / "components.json").write_text("{" + head + ',\n"cases":[\n' + rows + "\n]}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

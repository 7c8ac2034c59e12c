#!/usr/bin/env python3
"""Makes deepseek.json: how DeepSeek's tokenizers cut texts, as Hugging Face's tokenizers 0.23.3 do it.

    python3 make_deepseek.py

`tokenizer` is a whole tokenizer.json whose merges reach across words, numbers and scripts, so that every cut shows in the ids. A case
has the name of a split pattern in GGUF files, the same as a pre_tokenizer, and the ids of each line.
"""
import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = Path(__file__).resolve().parent
LINES = ["", " ", "The summer's day, and 12345 + 3.14 = 1/2", "  two  spaces \n\n and\tlines\r\n", "x = foo(bar)[1]; // don't\n", "trailing   ",
         "naïve Straße ΑΒΓ жизнь ½ ٣٤", "日本語のテキスト 漢字カナ", "中文，标点。“引号” ‘a’", "한국어 문장 123", "a\u00a0b\u3000c ﬁ Ａｂ！", "😀👍 e\u0301 ʹ",
         "#include <a.h>\n\n\tint x;", "1234567 12 3", "Ⴀა Ა ﬓ 𐐀𐐨"]
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def cased():
    """The letters that DeepSeek's pattern lists: as characters, because tokenizers' own engine has no such escapes."""
    source = (HERE / "../../../src/text/load/gguf.c").read_text()
    body = source[source.index("#define CASED"):source.index("static const char line_ends")]
    text = "".join(part for i, part in enumerate(body.split('"')) if i % 2).replace("\\\\", "\\")
    while "\\x{" in text:
        at = text.index("\\x{")
        end = text.index("}", at)
        text = text[:at] + chr(int(text[at + 3:end], 16)) + text[end + 1:]
    return text


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


CASES = {
    "deepseek-llm": ["[\r\n]", f"\\s?[{cased()}]+", "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+", "\\s+$", "[一-龥\u0800-一가-\uD7FF]+", "\\p{N}+"],
    "deepseek-coder": ["[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥\u0800-一가-\uD7FF]+", "\\p{N}"],
    "deepseek-v3": ["\\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
                    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
                    "\\s*[\r\n]+|\\s+(?!\\S)|\\s+"],
}


def main():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(LINES * 3, trainers.BpeTrainer(vocab_size=900, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    base, cases = json.loads(t.to_str()), []
    for name, patterns in CASES.items():
        parts = {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [*map(split, patterns), BYTES]}}
        cut = Tokenizer.from_str(json.dumps({**base, **parts}))
        cases.append({"pre": name, "with": parts, "ids": [cut.encode(line).ids for line in LINES]})
    assert all(a["ids"] != b["ids"] for a, b in zip(cases, cases[1:]))
    (HERE / "deepseek.json").write_text(json.dumps({"lines": LINES, "tokenizer": base, "cases": cases}, ensure_ascii=False, indent=None,
                                                   separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

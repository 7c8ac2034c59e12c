#!/usr/bin/env python3
"""Makes pre.json in this folder: how llama.cpp cuts texts by each name of tokenizer.ggml.pre.

    python3 make_pre.py LLAMA_CPP     # its source tree, of llama-cpp-python 0.3.36; needs g++

The names and their patterns are read from src/llama-vocab.cpp, and its own functions (src/unicode.cpp) cut the lines. The lines have none
of what its engine takes otherwise than the models' tokenizers do: capitals within words, marks, capitals and numbers outside ASCII, U+017F
as an s, spaces above U+2000. Two names are left out: "whitespace", which llama.cpp cuts before it asks a pattern (tests/text/gguf_pre.c), and
"kimi-k2", whose words llama.cpp does not end where capitals begin (ranks.json has its pattern).
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LINES = ["The summer's day", "  two  spaces   and\ttabs\t\t", "I'm WE'LL it'S don't o'clock", "12345 + 3.14 = ½ ٣ 1234567", "日本語の文。カタカナ、漢字。",
         "中文分词测试：今天很好，走！", "한국어 문장을 나눕니다.", "съешь ещё этих мягких булок.", "مرحبا بالعالم ١٢", "straße, größer", "for (i=0;i<n;++i){a[i]+=b;} // x/\n",
         "SELECT * FROM t WHERE a='b' AND c<>\"d\";", "SHOUT Word small", "😀👍 x~y `z` $1.00 a_b", "a\u00a0b  x", "... --- !? ***///", "\r\n\r\n  \r\n x\n\n",
         "a\n  ", " \n ", "tab\t\tend\t", "ends    ", "0 00 000 0000 00000", "''''s 's'S", "<sentinel:12>IMGIMGABZ", "e ʰabc", "ㄅㄆ「x」…", "x" + " " * 9 + "y"]
MAIN = """
#include "unicode.h"
#include <cstdio>
#include <iostream>
#include <iterator>
int main() {
    std::string all((std::istreambuf_iterator<char>(std::cin)), {});
    size_t at = 0;
    auto next = [&] { const size_t end = all.find('\\0', at); std::string s = all.substr(at, end - at); at = end + 1; return s; };
    while (at < all.size()) {
        std::vector<std::string> patterns(std::stoi(next()));
        for (auto & p : patterns) p = next();
        for (const auto & word : unicode_regex_split(next(), patterns, false)) { fwrite(word.data(), 1, word.size(), stdout); putchar(1); }
        putchar(2);
    }
}
"""


def patterns(source):
    """{type: [pattern]} of the switch in llm_tokenizer_bpe."""
    start = source.index("switch (vocab.get_pre_type())")
    found, cases = {}, []
    for line in source[start:source.index("std::vector<std::string> regex_exprs;", start)].split("\n"):
        case = re.match(r"\s*case LLAMA_VOCAB_PRE_TYPE_(\w+):", line)
        text = re.match(r'\s*"((?:[^"\\]|\\.)*)",', line)
        cases = cases + [case[1]] if case else ["DEFAULT"] if "default:" in line else [] if "break;" in line else cases
        if text:
            value = re.sub(r"\\(.)", lambda k: {"n": "\n", "r": "\r", '"': '"', "\\": "\\"}.get(k[1], k[0]), text[1])
            for name in cases:
                found.setdefault(name, []).append(value)
    return found


def names(source):
    """{type: [name]}"""
    found = {"DEFAULT": ["default"]}
    for case in re.finditer(r'((?:tokenizer_pre == "[^"]+"[\s|]*)+)\)\s*\{\s*pre_type = LLAMA_VOCAB_PRE_TYPE_(\w+);',
                            source[source.index("tokenizer_pre.empty()"):]):
        found.setdefault(case[2], []).extend(n for n in re.findall(r'"([^"]+)"', case[1]) if n not in ("default", "whitespace", "kimi-k2"))
    return {kind: own for kind, own in found.items() if own}


def main():
    folder = pathlib.Path(sys.argv[1]) / "src"
    source = (folder / "llama-vocab.cpp").read_text()
    of, types = patterns(source), names(source)
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "main.cpp").write_text(MAIN)
        program = f"{place}/main"
        subprocess.run(["g++", "-O1", "-std=c++17", f"-I{folder}", f"{place}/main.cpp", folder / "unicode.cpp", folder / "unicode-data.cpp", "-o", program],
                       check=True)
        asked = "".join("\0".join([str(len(of[kind])), *of[kind], line, ""]) for kind in types for line in LINES)
        told = subprocess.run([program], input=asked.encode(), capture_output=True, check=True).stdout.decode().split("\2")
    rows = [{"names": own, "words": [[w for w in told[i * len(LINES) + k].split("\1") if w] for k in range(len(LINES))]}
            for i, own in enumerate(types.values())]
    (HERE / "pre.json").write_text(json.dumps({"lines": LINES, "rows": rows}, ensure_ascii=False, separators=(",", ":")) + "\n")


main()

#!/usr/bin/env python3
"""Writes cases.json: pairs of lines, and what sacrebleu says of each case.

A case is a handful of lines made of words, or of odd pieces (entities that 13a unescapes, signs, numbers with stops and dashes,
white space of Unicode, empty lines), and a changed copy of them. Needs sacrebleu. Run from this folder: python3 make.py
"""
import json
import pathlib
import random

WORDS = "the cat sat on mat a dog I . , was is".split()
PIECES = [*"abcXYZ.,-!?'\"()[]{}<>&;:/\\@#$%^*_+=|~`0123456789", "  ", " ", " ", "\t", "&quot;", "&amp;", "&lt;", "&gt;", "&amp;lt;", "&amp;quot;",
          "<skipped>", "<skip<skipped>ped>", "é", "ß", "日本", "\u00a0", "\u3000", "\u2028", "\u200b", "\x1c", "\x85", "\u0301", "😀", "1,000.5", "3-4",
          "a-b", "U.S.", "...", ".,.,", "the", "cat", "..", "--", "1-", "-1", "1.", ".1", ",5", "\x00", "٣", "9.é", "é.9", "\u180e"]


def line(chance):
    kind = chance.random()
    if kind < 0.08:
        return " " * chance.randrange(3)
    if kind < 0.5:
        return " ".join(chance.choice(WORDS) for _ in range(chance.randrange(12)))
    return "".join(chance.choice(PIECES) + " " * (chance.random() < 0.3) for _ in range(chance.randrange(20)))


def changed(chance, text):
    if chance.random() < 0.3:
        return line(chance)
    characters = list(text)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(characters) + 1)
        characters[at:at + chance.randrange(2)] = [chance.choice(PIECES)]
    return "".join(characters)


def case(chance, lines):
    references = [line(chance) for _ in range(lines)]
    return [changed(chance, text) for text in references], references


def told(hypotheses, references):
    """The lines that sacrebleu prints, without its version."""
    from sacrebleu import BLEU, CHRF
    found = []
    for metric in (BLEU(force=True), CHRF()):
        score = metric.corpus_score(hypotheses, [references])
        signature = str(metric.get_signature())
        found.append(score.format(signature=signature[:signature.index("|version:")]))
    return found


def main():
    chance = random.Random(3)
    cases = []
    for lines in [1] * 12 + [2] * 6 + [5] * 4 + [30] * 2:
        hypotheses, references = case(chance, lines)
        cases.append({"hypotheses": hypotheses, "references": references, "told": told(hypotheses, references)})
    same = ["It's 1,000.50 &amp; more."]
    for hypotheses, references in ((same, same), ([""], same), (same, [""]), ([""], [""]), (["a"], ["b"]), (["a b c"], ["a b c"])):
        cases.append({"hypotheses": hypotheses, "references": references, "told": told(hypotheses, references)})
    pathlib.Path("cases.json").write_text(json.dumps(cases, indent=0) + "\n")


if __name__ == "__main__":
    main()

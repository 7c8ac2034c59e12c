#!/usr/bin/env python3
"""Makes squad.json: answers, right answers, and the exact match and F1 of SQuAD 2.0's evaluation, of which `squad` is a transcription
(https://worksheets.codalab.org/rest/bundles/0x6b567e1cf2e041ec80d7098f031c5c9e/contents/blob/). Where every question has an answer,
torchmetrics' SQuAD, which follows the evaluation of SQuAD 1.1, must agree.

    python3 make_squad.py       (needs torchmetrics)
"""
import collections
import json
import random
import re
import string
from pathlib import Path

WORDS = ("the", "The", "THE", "a", "A", "an", "An", "anna", "theatre", "cat", "Cat", "cats", "Zürich", "zürich", "ÉCOLE", "école", "1", "1984", "42%",
         "U.S.", "us", "Denver's", "it's", "state-of-the-art", "the—cat", "a's", "东京", "東京", "é", "café", "café", "(the)", "“the”", "$5.00",
         "a-b", "a/the", "x_the_y", "ß", "\u00a0", "\u3000", "\u2028", "\x1d", "²", "the²", "Ⅷ", "...", "-", "—", "\t", "the\n", "İzmir", "ǅ", "ﬁ")


def normalized(text):
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(right, given):
    right, given = normalized(right).split(), normalized(given).split()
    if not right or not given:
        return float(right == given)
    same = sum((collections.Counter(right) & collections.Counter(given)).values())
    if not same:
        return 0.0
    precision, recall = same / len(given), same / len(right)
    return 2 * precision * recall / (precision + recall)


def squad(given, wanted):
    """The exact match and F1 of each answer."""
    exact, f1s = [], []
    for answer, right in zip(given, wanted):
        right = [r for r in right if normalized(r)] or [""]
        exact.append(max(int(normalized(r) == normalized(answer)) for r in right))
        f1s.append(max(f1(r, answer) for r in right))
    return exact, f1s


def told(given, wanted):
    """What tessera evaluate --answers prints as JSON, without the file."""
    exact, f1s = squad(given, wanted)
    mean = lambda values: 100 * sum(values) / len(values) if values else None
    some, none = ([i for i, right in enumerate(wanted) if bool(right) == which] for which in (True, False))
    part = lambda which: {"questions": len(which), "exact_match": mean([exact[i] for i in which]), "f1": mean([f1s[i] for i in which])}
    return {"questions": len(given), "exact": sum(exact), "exact_match": mean(exact), "f1": mean(f1s), "answerable": part(some),
            "unanswerable": part(none)}


def answer(chance, most=6):
    return chance.choice(("", " ", "  ")) + " ".join(chance.choice(WORDS) for _ in range(chance.randrange(most))) + chance.choice(("", ".", ","))


def changed(chance, text):
    """The same words in part, in another order or by other letters."""
    words = text.split(" ")
    for _ in range(chance.randrange(3)):
        at = chance.randrange(len(words) + 1)
        words[at:at + chance.randrange(2)] = [chance.choice(WORDS)] * chance.randrange(2)
    return chance.choice((str, str.upper, str.title))(" ".join(words))


def case(chance, n, answerable=False):
    given = [answer(chance) for _ in range(n)]
    wanted = [[chance.choice((changed(chance, g), answer(chance))) for _ in range(chance.randrange(answerable, 4))] for g in given]
    if answerable:
        wanted = [[r if normalized(r) else "cat" for r in right] for right in wanted]
    return given, wanted


def check_with_torchmetrics(given, wanted):
    from torchmetrics.functional.text import squad as metric

    ours = told(given, wanted)
    theirs = metric([{"prediction_text": g, "id": str(i)} for i, g in enumerate(given)],
                    [{"answers": {"text": right, "answer_start": [0] * len(right)}, "id": str(i)} for i, right in enumerate(wanted)])
    for name, key in (("exact_match", "exact_match"), ("f1", "f1")):
        assert abs(float(theirs[key]) - ours[name]) < 1e-4, (given, wanted, theirs, ours)


if __name__ == "__main__":
    chance = random.Random(7)
    for n in [1] * 200 + [40] * 50:
        check_with_torchmetrics(*case(chance, n, True))
    cases = [case(chance, n, answerable) for n in (1, 1, 1, 2, 5, 40) for answerable in (False, True)]
    cases += [(["", "the", "cat", ""], [[], [], [], ["cat"]]), (["the"], [["The"]]), (["cat"], [["", "a"]]),
              (["cat cat the dog", "cat"], [["cat dog dog"], ["cat cat bird", "x"]])]
    rows = [{"given": g, "wanted": w, "each": list(zip(*squad(g, w))), "told": told(g, w)} for g, w in cases]
    path = Path(__file__).parent / "squad.json"
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")

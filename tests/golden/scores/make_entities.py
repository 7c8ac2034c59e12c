#!/usr/bin/env python3
"""Makes entities.json: the F1 that seqeval 1.2 gives for labels of words in its strict mode with IOB2, among them labels that break the
scheme (an I without a B before it, a change of kind).

    python3 make_entities.py       (needs seqeval)
"""
import json
import random
import warnings
from pathlib import Path

from seqeval.metrics import f1_score
from seqeval.scheme import IOB2

LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-MISC", "I-MISC"]


def case(g):
    wanted = [[g.randrange(len(LABELS)) for _ in range(g.randrange(1, 14))] for _ in range(g.randrange(1, 5))]
    given = [[k if g.random() < 0.8 else g.randrange(len(LABELS)) for k in text] for text in wanted]
    named = [[[LABELS[k] for k in text] for text in texts] for texts in (wanted, given)]
    return {"wanted": wanted, "given": given, "f1": float(f1_score(*named, mode="strict", scheme=IOB2))}


def main():
    g = random.Random(9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [case(g) for _ in range(40)]
    rows = ",\n".join(map(json.dumps, cases))
    Path(__file__).with_name("entities.json").write_text(f'{{"labels": {json.dumps(LABELS)},\n"cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()

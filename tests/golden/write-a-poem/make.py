#!/usr/bin/env python3
"""Writes expected.json beside it: what examples/write_a_poem.c computes, in double precision and plain Python.

    python3 make.py

Row vectors: q = x wq. scores = q kT; probabilities = softmax(scores / sqrt(2)) by row; output = probabilities v.
Masked: keys after the query left out. Two heads: column h of q, k and v, each divided by sqrt(1), no output matrix.
"""

import json
import math
import pathlib

X = [[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]]
WQ = [[0.54, -0.17], [0.59, 0.65]]
WK = [[-0.15, -0.34], [0.14, 0.42]]
WV = [[0.62, 0.61], [-0.52, 0.13]]
WORDS = ["write", "a", "poem"]


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def turned(a):
    return [list(column) for column in zip(*a)]


def scaled(a, factor):
    return [[x * factor for x in row] for row in a]


def softmax(rows, masked=False):
    out = []
    for i, row in enumerate(rows):
        seen = row[:i + 1] if masked else row
        powers = [math.exp(x - max(seen)) for x in seen] + [0.0] * (len(row) - len(seen))
        out.append([p / sum(powers) for p in powers])
    return out


def main():
    q, k, v = product(X, WQ), product(X, WK), product(X, WV)
    alike, scores = product(X, turned(X)), product(q, turned(k))
    tables = {"x": X, "q": q, "k": k, "v": v,
              "parameter_free.similarities": alike,
              "parameter_free.divided_by_row_sum": [[x / sum(row) for x in row] for row in alike],
              "parameter_free.probabilities": softmax(alike),
              "parameter_free.output": product(softmax(alike), X),
              "unmasked.scores": scores,
              "unscaled.probabilities": softmax(scores)}
    similarity = scaled(scores, 1 / math.sqrt(2))
    for name, masked in (("unmasked", False), ("masked", True)):
        weights = softmax(similarity, masked)
        for i, word in enumerate(WORDS):
            tables[f"{name}.{word}"] = [[*q[i], *k[j], similarity[i][j], weights[i][j], *v[j]] for j in range(len(WORDS))]
        tables[f"{name}.output"] = tables[f"{name}.fused"] = product(weights, v)
    columns = []
    for h in range(2):
        qh, kh, vh = ([[row[h]] for row in a] for a in (q, k, v))
        tables[f"two_heads.probabilities.{h}"] = softmax(product(qh, turned(kh)))
        columns.append([row[0] for row in product(tables[f"two_heads.probabilities.{h}"], vh)])
    tables["two_heads.output"] = turned(columns)
    lines = ",\n".join(f' "{name}": {json.dumps(table)}' for name, table in tables.items())
    (pathlib.Path(__file__).parent / "expected.json").write_text("{\n" + lines + "\n}\n")


main()

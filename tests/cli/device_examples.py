#!/usr/bin/env python3
"""The programs of examples/, as the build made them, on the device that is tested; what they print is checked."""

import json
import re
import subprocess

from support.command import BUILD, DEVICE, PATIENCE, SHARED, SOURCE, Result, environment, equal, main

WORDS = ["write", "a", "poem"]
HALF_ULP = 2**-24  # 24.1137 is the square sum of 4.41 and -2.16, which are rounded before anything is computed


def example(name, *arguments, code=0):
    """Runs an example in the build folder; its exit code must be `code`."""
    done = subprocess.run([BUILD / "examples" / name, *map(str, arguments)], capture_output=True, env=environment(), timeout=PATIENCE, check=False)
    result = Result(done)
    equal(result.code, code, result)
    return result


def tables(text):
    """What stands under each line that is a bare name: {name: rows of numbers}."""
    told, name = {}, None
    for line in text.split("\n"):
        if re.fullmatch(r"[a-z0-9_.]+", line):
            name = line
            told[name] = []
        elif name and line.startswith("  ") and line.split()[0] in WORDS:
            equal(line.split()[0], WORDS[len(told[name])], line)
            told[name].append([float(x) for x in line.split()[1:]])
        elif not line:
            name = None
    return told


def same(got, wanted, what):
    equal([len(row) for row in got], [len(row) for row in wanted], what)
    for a, b in zip(sum(got, []), sum(wanted, [])):
        assert abs(a - b) <= 1e-6 + HALF_ULP * abs(b), f"{what}: {a}, wanted {b}"


def test_write_a_poem(_):
    told = tables(example("write_a_poem", DEVICE, 8).text)
    wanted = json.loads((SOURCE / "tests" / "golden" / "write-a-poem" / "expected.json").read_text())
    equal(set(told), set(wanted), "the tables")
    for name, rows in wanted.items():
        same(told[name], rows, name)
    assert any(x < 0 for row in told["parameter_free.divided_by_row_sum"] for x in row), "why softmax"
    for name in told:
        if "probabilities" in name:
            assert all(x >= 0 for row in told[name] for x in row), name
            same([[sum(row)] for row in told[name]], [[1]] * 3, name + ": sums")


def test_write_a_poem_beside_the_published_numbers(_):
    path = SHARED / "golden" / "write-a-poem" / "example.json"
    if not path.exists():
        print(f"SKIP: {path} is not there; set TESSERA_SHARED to the folder that holds golden/write-a-poem")
        return
    golden = json.loads(path.read_text())
    told = tables(example("write_a_poem", DEVICE, 8).text)
    for name in ("x", "q", "k", "v"):
        same(told[name], golden[name], name)
    for part in ("similarities", "divided_by_row_sum", "probabilities", "output"):
        same(told[f"parameter_free.{part}"], golden["parameter_free"][part], part)
    for kind in ("unmasked", "masked"):
        same(told[f"{kind}.output"], golden[kind]["output"], kind)
        for i, word in enumerate(WORDS):
            rows = [[*golden["q"][i], *golden["k"][j], golden[kind]["scaled_scores"][i][j], golden[kind]["probabilities"][i][j], *golden["v"][j]]
                    for j in range(len(WORDS))]
            same(told[f"{kind}.{word}"], rows, word)
    for h in range(2):
        same(told[f"two_heads.probabilities.{h}"], golden["two_heads"]["probabilities"][h], f"head {h}")
    same(told["two_heads.output"], golden["two_heads"]["output"], "two heads")


def test_write_a_poem_without_a_device(_):
    told = example("write_a_poem", "no such device", code=1)
    assert told.err.startswith("write_a_poem: ") and "no such device" in told.err, told


main(globals())

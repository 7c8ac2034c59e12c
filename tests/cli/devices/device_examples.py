#!/usr/bin/env python3
"""Runs the programs of examples/ from the build folder on the tested device, and checks what they print."""

import json
import re
import subprocess

from support.command import BUILD, DEVICE, SHARED, SOURCE, Result, environment, equal, larger, main, run
from support.words import model

WORDS = ["write", "a", "poem"]
MODELS_ON = DEVICE if DEVICE == "pocl" else "reference"  # Intel's compiler takes seconds per model; there, device_text and tests/model suffice
HALF_ULP = 2**-24  # 24.1137 is the square sum of 4.41 and -2.16, which are rounded before anything is computed


def example(name, *arguments, code=0, given=""):
    """Runs an example in the build folder; its exit code must be `code`."""
    env = environment(TESSERA_DEVICE=MODELS_ON)
    done = subprocess.run([BUILD / "examples" / name, *map(str, arguments)], capture_output=True, input=given.encode(), env=env, check=False)
    result = Result(done)
    equal(result.code, code, result)
    return result


def tables(text):
    """The numbers printed below each line that is only a name: {name: rows of numbers}."""
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


@larger("golden/write-a-poem/example.json")
def test_write_a_poem_beside_the_published_numbers(_):
    golden = json.loads((SHARED / "golden" / "write-a-poem" / "example.json").read_text())
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


def test_bank(folder):
    encoder, config = model(folder, "bert-tiny/pre")
    lines = example("bank", encoder).text.strip().split("\n")
    equal(len(lines), 2 + config["num_hidden_layers"])
    equal(lines[1], "layer  0: cosine 1.0000, the same numbers")
    for layer, line in enumerate(lines[2:], 1):
        told = re.fullmatch(r"layer  (\d): cosine (0\.\d{4})", line)
        assert told and int(told[1]) == layer and float(told[2]) < 0.9999, line
    vocabulary = encoder / "tokenizer.json"
    vocabulary.write_text(vocabulary.read_text().replace('"bank"', '"shore"'))
    assert "is not a token" in example("bank", encoder, code=1).err


def test_embed_search(folder):
    encoder, _ = model(folder, "bert-tiny/pre")
    lines = ["he sat on the bank of the river", "write a poem about the sea", "she put her money in the bank", "das Haus ist a sea"]
    (folder / "lines").write_text("\n".join(lines) + "\n")
    for line in lines:
        told = [shown.split("  ") for shown in example("embed_search", encoder, folder / "lines", line).text.strip().split("\n")]
        equal(told[0], ["1.0000", line])
        near = [float(cosine) for cosine, _ in told]
        equal((len(told), near), (3, sorted(near, reverse=True)))
    (folder / "lines").write_text("")
    equal(example("embed_search", encoder, folder / "lines", "a poem").text, "")
    example("embed_search", encoder, folder / "nothing", "a poem", code=2)
    assert "none" in example("embed_search", folder / "none", folder / "lines", "a poem", code=1).err


def test_translate(folder):
    translator, _ = model(folder, "pegasus")
    given = ["das Haus ist", "", "a poem about the sea"]
    told = example("translate", translator, given="\n".join(given) + "\n").text.split("\n")
    equal(len(told), len(given) + 1, told)
    for line, answer in zip(given, told):
        assert re.fullmatch(r"-?\d+\.\d{3}\t.*", answer), answer
        equal(answer == "0.000\t", not line)
        equal(example("translate", translator, given=line + "\n").text, answer + "\n", "alone")
    assert "encoder-decoder" in example("translate", model(folder, "bert-tiny/pre")[0], code=1, given="a\n").err


def test_translate_by_the_bundled_model(_):
    told = example("translate", given="Wo ist der Bahnhof?\n").text
    assert re.fullmatch(r"-0\.\d{3}\t.*station\?\n", told), told


@larger("data/models/aren-transliteration")
def test_translate_as_it_was_published(_):
    path = SHARED / "data" / "models" / "aren-transliteration"
    pairs = [line.split("\t") for line in (path / "expected.txt").read_text().split("\n") if "\t" in line and line[0] != "#"]
    told = example("translate", path, given="".join(f"{source}\n" for source, *_ in pairs)).text.split("\n")
    equal([line.split("\t")[1] for line in told[:-1]], [target for _, target, *_ in pairs])


def test_branches(_):
    told = example("branches", "ROMEO:\nI").text
    shares = [float(share) for share in re.findall(r"^ *([0-9.]+) %  ROMEO:\nI", told, re.M)]
    assert len(shares) == 4 and shares == sorted(shares, reverse=True) and 0 < shares[-1] and sum(shares) <= 100, told
    ways = re.split(r"^ *[0-9.]+ %  ", told, flags=re.M)[1:]
    greedy = run("generate", "-d", MODELS_ON, "-m", SOURCE / "models" / "shakespeare", "--temp", "0", "-n", "24", "--echo", "-q", "ROMEO:\nI").text
    assert ways[0].startswith(greedy.rstrip("\n")), (ways[0], greedy)


def test_learn(folder):
    small, _ = model(folder, "gpt2-tiny")
    told = example("learn", folder / "new", "write a poem write a poem write a", 40, small).text
    losses = [float(x) for x in re.findall(r"^ *\d+  loss ([0-9.]+)", told, re.M)]
    assert len(losses) == 40 and losses[-1] < 0.8 * losses[0], losses
    assert (folder / "new" / "config.json").is_file() and (folder / "new" / "tokenizer.json").is_file()
    again = example("learn", folder / "new", "write a poem", 1, small, code=1).err
    assert "new" in again and "exist" in again, again


def test_examples_are_short(_):
    for name in ("branches", "learn", "embed_search", "translate"):
        lines = (SOURCE / "examples" / f"{name}.c").read_text().split("\n")
        assert len(lines) <= 100, f"{name}.c has {len(lines)} lines"


main(globals())

#!/usr/bin/env python3
"""Type hints are complete: mypy --strict has nothing to say about the package, and infers what a program gets."""

import importlib.util
import re
import subprocess
import sys

from support import binding  # noqa: F401  # pylint: disable=unused-import
from support.command import SOURCE, main

if importlib.util.find_spec("mypy") is None:
    print("SKIP: mypy is not installed")
    sys.exit(77)

PROGRAM = """
from tessera_cl import Answerer, Classifier, CrossEncoder, Embedder, FillMask, Model, Ranker, Translator, explain, train
with Model("shakespeare", dtype="q8") as model:
    reveal_type(model.generate("To be"))
    reveal_type(model.generate(["To be"]))
    reveal_type(model.generate("To be", stream=True))
    reveal_type(model.generate("To be", temperature=0.5))
    model.generate("To be", tempreature=0.5)
reveal_type(Embedder().encode(["a"]))
reveal_type(Translator().translate_batch(["a"])[0].hypotheses)
reveal_type(train(data=["a.txt"], output="out").finished)
reveal_type(CrossEncoder("a").predict([("a", "b")]))
reveal_type(CrossEncoder("a").predict(("a", "b")))
reveal_type(Classifier("a")("a"))
reveal_type(Classifier("a")(["a"]))
reveal_type(Answerer("a")("a", "b"))
reveal_type(Answerer("a")(["a"], ["b"]))
reveal_type(FillMask("a")("a"))
reveal_type(FillMask("a")(["a"]))
reveal_type(Translator("a", "cpu", "q8").translate("a", target_prefix="b", beam_size=2, length_penalty=1.0))
reveal_type(explain("a", dtype="q8", compute="int8")[0].op)
Embedder("a", compute="f32", kv_dtype=None, context=8, lora=["a"], task="a", progress=lambda done, total: False)
Embedder("a", compue="f32")
Classifier("a", compue="f32")
CrossEncoder("a", compue="f32")
Answerer("a", compue="f32")
Ranker("a", compue="f32")
Translator("a", compue="f32")
explain("a", compue="f32")
Translator().translate("a", lenght_penalty=1.0)
"""
MISSPELT = re.compile("tempreature|compue|lenght_penalty")
# Part of what mypy says of each line, as regular expressions: what it writes as `A | B` now was `Union[A, B]` in older versions.
WANTED = ["Generation", r"list\[tessera_cl\._generate\.Generation\]", r"Iterator\[tessera_cl\._generate\.Token\]", "Generation", "ndarray", r"list\[str\]", "bool", "ndarray",
          r"\](,| \|) numpy\.ndarray\[", r'"list\[tessera_cl\._texts\.Label\]"', r'"list\[list\[tessera_cl\._texts\.Label\]\]"',
          r'"list\[tessera_cl\._texts\.Answer\]"', r'"list\[list\[tessera_cl\._texts\.Answer\]\]"', r'"list\[list\[tessera_cl\._texts\.Filled\]\]"',
          r'"list\[list\[list\[tessera_cl\._texts\.Filled\]\]\]"', '"str"', '"str"']


def mypy(folder, *arguments):
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), *map(str, arguments)], cwd=SOURCE / "python",
                          capture_output=True, text=True, check=False)


def test_types(folder):
    done = mypy(folder, "tessera_cl")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    said = mypy(folder, folder / "program.py").stdout.splitlines()
    revealed = [line.replace("builtins.", "") for line in said if "Revealed type" in line]
    assert len(revealed) == len(WANTED) and all(re.search(part, line) for part, line in zip(WANTED, revealed)), "\n".join(said)
    assert not [line for line in revealed if "Any" in line and "ndarray" not in line], "\n".join(revealed)
    errors = [(int(number), what) for number, what in re.findall(r"program\.py:(\d+): error: (.*)", "\n".join(said))]
    misspelt = {number: found[0] for number, line in enumerate(PROGRAM.splitlines(), 1) if (found := MISSPELT.search(line))}
    assert {number for number, _ in errors} == set(misspelt), "\n".join(said)
    assert all(any(n == number and name in what for n, what in errors) for number, name in misspelt.items()), "\n".join(said)


main(globals())

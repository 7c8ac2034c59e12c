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
from tessera_cl import CrossEncoder, Embedder, Model, Translator, train
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
"""
# Part of what mypy says of each line, as regular expressions: what it writes as `A | B` now was `Union[A, B]` in older versions.
WANTED = ["Generation", r"list\[tessera_cl\._generate\.Generation\]", r"Iterator\[tessera_cl\._generate\.Token\]", "Generation", "ndarray", r"list\[str\]", "bool", "ndarray",
          r"\](,| \|) numpy\.ndarray\["]


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
    errors = [line for line in said if ": error: " in line]
    assert errors and all("program.py:8: " in line for line in errors) and "tempreature" in errors[0], "\n".join(said)


main(globals())

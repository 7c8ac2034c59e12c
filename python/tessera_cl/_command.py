"""The commands of a wheel: each runs the program of its name in this package."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import NoReturn

from . import _drivers


def _run(name: str) -> NoReturn:
    _drivers.make_known()
    program = str(pathlib.Path(__file__).parent / "bin" / name)
    try:
        os.execv(program, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: {program} can't be run: {error}")


def tessera() -> NoReturn:
    _run("tessera")


def get_minilm() -> NoReturn:
    _run("tessera-get-minilm")


def get_smollm2() -> NoReturn:
    _run("tessera-get-smollm2")

#!/usr/bin/env python3
"""Each error that tests plant into kernels still changes one: those tests take turns, so a run that leaves them out must say it, too."""

from support.command import main
from support.plants import ERRORS, plant


def test_each_error_changes_a_kernel(folder):
    for error in ERRORS:
        plant(folder / error, error)


main(globals())

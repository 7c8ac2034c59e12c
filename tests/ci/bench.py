#!/usr/bin/env python3
"""Every program of bench/ starts: a name that it takes from another program, and that this one no longer has, is found here and not on the day
when somebody measures."""

import os
import subprocess

from support.command import SOURCE, equal, main


def programs():
    return sorted(path for path in (SOURCE / "bench").iterdir() if path.is_file() and os.access(path, os.X_OK))


def test_each_program_tells_what_it_does(folder):
    found = programs()
    equal(len(found) > 20, True, f"{len(found)} programs in bench/")
    for path in found:
        done = subprocess.run([path, "--help"], cwd=folder, capture_output=True, text=True, check=False)
        equal((done.returncode, done.stderr), (0, ""), path.name)
        equal(path.name in done.stdout, True, f"{path.name} --help names itself: {done.stdout[:200]!r}")
    equal(list(folder.iterdir()), [], "files that --help made")


main(globals())

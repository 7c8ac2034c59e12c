#!/usr/bin/env python3
"""bench/scale --reckon: docs/scale.md has what it prints, and a network that is twice as slow makes no step faster."""

import subprocess

from support.command import SOURCE, equal, main


def reckoned(*options):
    done = subprocess.run([SOURCE / "bench" / "scale", "--reckon", *options], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""))
    return [line for line in done.stdout.splitlines() if line]


def shares(lines):
    """The numbers of the first table."""
    rows = [line.split("|")[3:-1] for line in lines if line.startswith("|") and line.endswith("% |")]
    return [float(cell.strip(" %")) for row in rows[:17] for cell in row]


def test_the_document_has_what_is_reckoned(_):
    text = (SOURCE / "docs" / "scale.md").read_text().splitlines()
    missing = [line for line in reckoned() if line not in text]
    equal(missing, [], "bench/scale --reckon prints lines that docs/scale.md does not have")


def test_what_is_slower_takes_longer(_):
    usual = shares(reckoned())
    equal(len(usual), 17 * 5)
    for option in (("--latency", "1000"), ("--message", "100"), ("--host-link", "5"), ("--add", "2"), ("--tflops", "200")):
        slower = shares(reckoned(*option))
        assert all(a <= b for a, b in zip(slower, usual)) and slower != usual, option


main(globals())

#!/usr/bin/env python3
"""The profile for the Phoronix Test Suite (tools/phoronix): its command is installed, measures, and writes the line that the suite reads."""

import os
import re
import subprocess
import xml.etree.ElementTree as xml

from support.command import BUILD, SOURCE, environment, equal, main, run

PROFILE = SOURCE / "tools" / "phoronix" / "tessera-1.0.0"
TINY = ("--shape", "tiny", "-p", "8", "-n", "0", "-r", "2")  # the later --shape counts


def installed(folder, path, code=0):
    """The environment of a test whose home is the folder, after its installation."""
    env = environment(HOME=folder, LOG_FILE=folder / "log", PATH=path, TESSERA_DEVICE="reference")
    done = subprocess.run(["/bin/sh", PROFILE / "install.sh"], env=env, cwd=folder, capture_output=True, text=True, check=False)
    equal(done.returncode, code, done.stderr)
    return env, done.stderr


def measured(env, folder, code, *arguments):
    """What the installed command writes to the log."""
    done = subprocess.run([folder / "tessera-bench", *arguments], env=env, cwd=folder, capture_output=True, text=True, check=False)
    equal((done.returncode, (folder / "test-exit-status").read_text()), (code, f"{code}\n"), done.stderr)
    return (folder / "log").read_text()


def test_a_rate(folder):
    env, _ = installed(folder, f"{BUILD / 'bin'}:{os.environ['PATH']}")
    log = measured(env, folder, 0, *TINY)
    hint = xml.parse(PROFILE / "results-definition.xml").findtext("ResultsParser/LineHint")
    assert re.fullmatch(re.escape(hint) + r"\d+(\.\d+)?\n", log) and float(log[len(hint):]) > 0, log
    equal((folder / "pts-test-version").read_text().strip(), run("--version").text.split()[1])
    equal(measured(env, folder, 1, *TINY, "--nosuch"), "", "a measurement that fails has no rate")


def test_the_options_of_the_profile(folder):
    """Each is one that the command takes: with --help it measures nothing."""
    found = [entry.findtext("Value").split() for entry in xml.parse(PROFILE / "test-definition.xml").iter("Entry")]
    equal(len(found), 5)
    for options in found:
        assert "usage: tessera bench" in run("bench", *options, "--help").text, options


def test_without_tessera(folder):
    (folder / "bin").mkdir()
    _, said = installed(folder, folder / "bin", 2)
    assert "tessera is not installed" in said, said
    equal(((folder / "install-exit-status").read_text(), (folder / "tessera-bench").exists()), ("2\n", False))


main(globals())

#!/usr/bin/env python3
"""tools/mutate skips a bug that this machine's CPU can't show, and says so."""

import pathlib
import re
import shutil
import subprocess

from support.command import SOURCE, equal, main


def mutated(folder, *heads, options=()):
    """What tools/mutate says in a tree that holds nothing but itself and bugs with these first lines: it can't be built."""
    for part in ("tools", "tests/mutants"):
        (folder / part).mkdir(parents=True)
    shutil.copy(SOURCE / "tools" / "mutate", folder / "tools")
    subprocess.run(["git", "init", "-q", folder], check=True)
    for i, head in enumerate(heads):
        (folder / "tests" / "mutants" / f"bug{i}.patch").write_text(f"{head}\n")
    return subprocess.run([folder / "tools" / "mutate", *options], cwd=folder, capture_output=True, text=True, check=False)


def test_a_flag_that_the_cpu_does_not_have(folder):
    for i, kind in enumerate(("tests: ^none$", "tests: ^none$; only: a/b", "verify: linear,matmul")):
        done = mutated(folder / str(i), f"# a bug; {kind}; cpu: no_such_flag")
        equal((done.returncode, done.stderr), (0, ""), done)
        equal(done.stdout.split("\n"), ["SKIPPED             bug0: this CPU has no no_such_flag", "0 mutants, 0 survived, 0 could not be judged, 1 skipped", ""])


def test_what_the_cpu_has_is_not_skipped(folder):
    flags = re.findall(r"^(?:flags|Features)\s*:\s*(\S+)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    for i, end in enumerate(["", *(f"; cpu: {flag}" for flag in flags[:1])]):
        done = mutated(folder / str(i), f"# a bug; tests: ^none${end}", "# another; verify: linear; cpu: no_such_flag")
        assert done.returncode == 1 and "tools/mutate: the tree can't be configured" in done.stderr, done
        equal(re.findall(r"^SKIPPED +(\w+)", done.stdout, re.M), ["bug1"], done)


def test_patches_of_other_cpus_are_checked_too(folder):
    done = mutated(folder, "# a bug; tests: ^none$; cpu: no_such_flag", options=["--check"])
    assert done.returncode == 1 and "bug0.patch no longer applies" in done.stdout, done


def test_a_first_line_that_says_no_test(folder):
    done = mutated(folder, "# a bug; cpu: avx2")
    assert done.returncode == 1 and "its first line is not" in done.stderr, done


main(globals())

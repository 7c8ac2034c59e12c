#!/usr/bin/env python3
"""Each shell script of ci/, tools/ and examples/ prints what it does with --help, and refuses an option that it doesn't have, before it does anything, also
where it is called from its own folder. Copies are run, which can do little, away from the tree."""

import shutil
import subprocess

from support.command import SOURCE, environment, equal, main


def scripts():
    for path in sorted([*(SOURCE / "ci").iterdir(), *(SOURCE / "tools").iterdir(), *(SOURCE / "examples").glob("*/run.sh")]):
        if path.is_file() and path.read_bytes().split(b"\n")[0].endswith(b"sh"):
            yield path


def called(folder, script, option):
    place = folder / script.parent.name
    place.mkdir(exist_ok=True)
    shutil.copy(script, place)
    env = environment(HOME=folder, XDG_CACHE_HOME=None, TESSERA="/nonexistent")
    done = subprocess.run([f"./{script.name}", option], cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    equal([path.name for path in place.iterdir()], [script.name], f"{script} {option} made something: {done}")
    shutil.rmtree(place)
    return done


def test_help(folder):
    found = list(scripts())
    assert len(found) >= 13, found
    for script in found:
        done = called(folder, script, "--help")
        equal((done.returncode, done.stderr), (0, ""), script)
        assert script.name in done.stdout.split("\n")[0] and "#" not in done.stdout, (script, done.stdout)


def test_an_unknown_option(folder):
    for script in scripts():
        done = called(folder, script, "--no-such-option")
        equal((done.returncode, done.stdout), (2, ""), script)
        assert script.name in done.stderr.split("\n")[0], (script, done.stderr)


main(globals())

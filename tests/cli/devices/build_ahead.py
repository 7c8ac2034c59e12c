#!/usr/bin/env python3
"""The helper builds the kernels of the next token while the command builds those of the prompt. Whatever becomes of the helper, the text is
the same."""

import pathlib

from support.command import BUILD, PLAY, environment, equal, has_device, main, run, skip

TEXT = ("generate", "-d", "pocl", "-m", PLAY, "-q", "--temp", "0", "-n", "6", "ROMEO:")
REAL = BUILD / "libexec" / "tessera" / "probe"


class Helper:
    """A helper that notes how it was called, and does something else in place of building a chain."""

    def __init__(self, folder, instead=None):
        self.folder, self.log = pathlib.Path(folder), pathlib.Path(folder) / "calls"
        self.path = self.folder / "helper"
        other = f'if [ "$1" = --chain ]; then {instead}; fi\n' if instead else ""
        self.path.write_text(f'#!/bin/sh\necho "$1" >> {self.log}\n{other}exec {REAL} "$@"\n')
        self.path.chmod(0o755)

    def run(self, cache, **more):
        """The text of a run, and how many chains it gave to the helper."""
        self.log.write_text("")
        place = environment(TESSERA_CACHE=self.folder / cache, POCL_CACHE_DIR=self.folder / cache / "pocl", TESSERA_PROBE=self.path, **more)
        done = run(*TEXT, env=place)
        equal(done.err, "")
        return done.out, self.log.read_text().splitlines().count("--chain")


def test_once_and_never_again(folder):
    helper = Helper(folder)
    text, chains = helper.run("cold")
    equal(chains, 1)
    equal(helper.run("cold"), (text, 0), "a second run finds everything built")
    equal(helper.run("one core", POCL_MAX_PTHREAD_COUNT=1), (text, 0))
    equal(helper.run("launches", TESSERA_CHAIN=0), (text, 0))


def test_whatever_becomes_of_the_helper(folder):
    text, _ = Helper(folder).run("cold")
    ways = {"fails": "exit 3", "crashes": "kill -SEGV $$", "hangs": "exec sleep 100", "says nothing": "cat > /dev/null; exit 0"}
    for name, instead in ways.items():
        helper = Helper(folder, instead)
        equal(helper.run(name, TESSERA_PROBE_SECONDS=3), (text, 1), name)


if not has_device("pocl"):
    skip("pocl is not here")
main(globals())

#!/usr/bin/env python3
"""Builders, which are helpers, build the kernels of the prompt and of the next token side by side. Whatever becomes of them, the text is the
same."""

import pathlib

from support.command import BUILD, PLAY, environment, equal, has_device, main, run, skip, slow, slowness

TEXT = ("generate", "-d", "pocl", "-m", PLAY, "-q", "--temp", "0", "-n", "6", "ROMEO:")
REAL = BUILD / "libexec" / "tessera" / "probe"


class Helper:
    """A helper that notes how it was called, and does something else in place of building chains."""

    def __init__(self, folder, instead=None):
        self.folder, self.log = pathlib.Path(folder), pathlib.Path(folder) / "calls"
        self.path = self.folder / "helper"
        other = f'if [ "$1" = --build ]; then {instead}; fi\n' if instead else ""
        self.path.write_text(f'#!/bin/sh\necho "$1" >> {self.log}\n{other}exec {REAL} "$@"\n')
        self.path.chmod(0o755)

    def run(self, cache, **more):
        """The text of a run, and how many builders it started."""
        self.log.write_text("")
        place = environment(**{"TESSERA_CACHE": self.folder / cache, "POCL_CACHE_DIR": self.folder / cache / "pocl", "TESSERA_PROBE": self.path, **more})
        done = run(*TEXT, env=place)
        equal(done.err, "")
        return done.out, self.log.read_text().splitlines().count("--build")


def test_once_and_never_again(folder):
    helper = Helper(folder)
    text, builders = helper.run("cold")
    equal(builders, 2, "one starts its compiler while the driver is tried, one after that")
    equal(helper.run("cold"), (text, 0), "a second run finds everything built")
    equal(helper.run("cold", TESSERA_CACHE=pathlib.Path(folder) / "other"), (text, 2), "the driver is tried again")
    equal(helper.run("one core", POCL_MAX_PTHREAD_COUNT=1)[0], text)
    equal(helper.run("launches", TESSERA_CHAIN=0), (text, 0))
    equal(helper.run("no cache", POCL_KERNEL_CACHE=0), (text, 0))


def test_known_driver(folder):
    """Where the driver was tried before, builders start when there is something to build."""
    helper = Helper(folder)
    equal(run("devices", env=environment(TESSERA_CACHE=pathlib.Path(folder) / "cache", POCL_CACHE_DIR=pathlib.Path(folder) / "cache" / "pocl", TESSERA_PROBE=helper.path)).code, 0)
    text, builders = helper.run("cache")
    equal(builders, 2)
    equal(helper.run("cache"), (text, 0))


@slow
def test_whatever_becomes_of_the_builders(folder):
    text, _ = Helper(folder).run("cold")
    ways = {"fails": "exit 3", "crashes": "kill -SEGV $$", "hangs": "exec sleep 100", "says nothing": "cat > /dev/null; exit 0",
            "answers before it is asked": "echo pass; echo pass; exec sleep 100", "lies": "while read line; do echo pass; done"}
    for name, instead in ways.items():
        helper = Helper(folder, instead)
        equal(helper.run(name, TESSERA_PROBE_SECONDS=round(3 + 3 * slowness()))[0], text, name)


def programs(folder, *arguments, **more):
    """What a command writes to stdout with empty caches, and how many chains it had built."""
    cache = pathlib.Path(folder) / f"cache of {arguments[0]}{len(more)}"
    done = run(*arguments, env=environment(**{"TESSERA_CACHE": cache, "POCL_CACHE_DIR": cache / "pocl", **more}))
    equal(done.code, 0, done.err)
    return done.out, len(list(cache.glob("pocl/*/*/tsr_chain")))


@slow
def test_translation_is_announced(folder):
    """A search's decoder is built while the encoder is, once for its first step and all others."""
    text = ("translate", "-q", "-d", "pocl", "--num-beams", "4", "Guten Morgen, meine Damen und Herren.")
    said, chains = programs(folder, *text)
    equal(chains, 2, "the encoder's and the decoder's")
    equal(programs(folder, *text, TESSERA_CHAIN=0), (said, 0))
    equal(programs(folder, *text, TESSERA_PROBE="/bin/false", TESSERA_TRUST_DRIVERS=1), (said, 2), "built here")


def test_training_is_announced(folder):
    """All plans of a training are built side by side, before its first step."""
    data = pathlib.Path(folder) / "text.txt"
    data.write_text("To be, or not to be, that is the question.\n" * 200)
    train = ("train", "-q", "-d", "pocl", data, "--recipe", "char-gpt", "--set", "max_steps=1", "-o")
    _, chains = programs(folder, *train, pathlib.Path(folder) / "out")
    equal(chains, 5, "the step's, the norm's, the update's, the validation's and the sample's")
    equal(programs(folder, *train, pathlib.Path(folder) / "launches", TESSERA_CHAIN=0)[1], 0)
    model = [(pathlib.Path(folder) / name / "model.safetensors").read_bytes() for name in ("out", "launches")]
    equal(model[0] == model[1], True, "the same weights")


if not has_device("pocl"):
    skip("pocl is not here")
main(globals())

#!/usr/bin/env python3
"""Kernels with errors that begin at some size: the self-test finds them, and the text is the same as without the errors.

Each error is an edit of a copy of cl/ (support/plants.py), read through TESSERA_KERNEL_PATH. Env: as support/command.py says.
"""

import re

from support.command import DEVICE, GOLDEN, PLAY, environment, equal, has_device, main, run, skip
from support.plants import plant

LONG = "KING HENRY:\n" + "I will not yield to kiss the ground before young Malcolm's feet, and to be baited with the rabble's curse. " * 6


def generate(folder, kernels, *arguments):
    """The text that these kernels give, and all warnings."""
    env = environment(TESSERA_KERNEL_PATH=kernels, TESSERA_CACHE=folder / "cache")
    return run("generate", "-d", DEVICE, "--temp", "0", "-n", "8", *arguments, env=env)


def check(folder, error, row, prompt=LONG):
    """The variant is refused by its self-test, and the text is that of correct kernels."""
    wanted = run("generate", "-d", DEVICE, "--temp", "0", "-n", "8", "-q", prompt).out
    got = generate(folder, plant(folder, error), prompt)
    equal(got.out, wanted, "the text changed in silence" if "self-test" not in got.err else "the text")
    assert re.search(rf"{row}\S* on .*: self-test: .*another variant is used", got.err), got


def test_a_linear_layer_that_loses_its_last_input_behind_512(folder):
    check(folder, "linear without its last input behind 512", "linear/packed")


def test_attention_that_is_wrong_from_key_128(folder):
    check(folder, "attention from key 128", "attention/(flash|decode)")


def test_an_embedding_that_is_wrong_from_id_100(folder):
    check(folder, "embed from id 100", "embed/lanes")


def test_an_embedding_that_is_wrong_for_the_last_id(folder):
    check(folder, "embed of the last id", "embed/lanes")


def test_plain_rows_that_are_wrong_leave_the_device_without_one(folder):
    """Where the plain variant is wrong too, nothing on this device can run the op: the op is refused by name, and there is no text."""
    env = environment(TESSERA_KERNEL_PATH=plant(folder, "embed and its plain rows from id 100"), TESSERA_CACHE=folder / "cache")
    got = run("generate", "-d", DEVICE, "--temp", "0", "-n", "8", LONG, env=env, code=4)
    equal(got.out, b"")
    assert re.search(r"no kernel variant serves it.*plain: self-test", got.err), got


def test_a_chain_that_loses_its_last_items_gives_way_to_single_launches(folder):
    wanted = run("generate", "-d", DEVICE, "--temp", "0", "-n", "8", "-q", LONG).out
    got = generate(folder, plant(folder, "a chain without its last items"), LONG)
    equal(got.out, wanted, "the text changed in silence" if "self-test" not in got.err else "the text")
    if DEVICE == "pocl":
        assert re.search(r"as one of many kernels in a launch, on .*: self-test: .*; each kernel is launched by itself", got.err), got


def test_a_verdict_holds_as_far_as_it_was_tested(folder):
    """Kernels that were tested for a small model are tested again for a larger one, but not for a smaller one."""
    env = environment(TESSERA_CACHE=folder, TESSERA_CHAIN=0)

    def tested(model):
        run("explain", "-q", "-d", DEVICE, "--dtype", "f32", model, env=env)
        files = {path: path.read_bytes()[80:].split(b"\n")[0].split() for path in (folder / "opencl").glob("*.test")}
        return {path: [int(n) for n in reach] for path, reach in files.items()}

    small = tested(GOLDEN / "gpt2-tiny")
    large = tested(PLAY)
    again = tested(GOLDEN / "gpt2-tiny")
    grown = [path for path in small if large[path] != small[path]]
    assert grown and all(a <= b for path in small for a, b in zip(small[path], large[path])), (small, large)
    equal({path: again[path] for path in large}, large, "a smaller model must not be tested again")


if DEVICE == "fpga":
    skip("the planted rows are made for CPUs")
if not has_device():
    skip(f"{DEVICE} is not here")
main(globals())

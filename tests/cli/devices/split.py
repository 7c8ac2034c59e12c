#!/usr/bin/env python3
"""A model split over two devices gives the same text as each of them: pocl's two CPU devices, and pocl with the reference."""

from support.command import PLAY, environment, equal, has_device, main, run, skip

BOTH = environment(POCL_DEVICES="basic pthread")
ASKED = ("generate", "-m", PLAY, "--temp", "0", "-n", "24", "--print-ids", "ROMEO:")


def test_two_devices_of_pocl(_):
    alone = run(*ASKED, "-d", "basic", env=BOTH).out
    equal(run(*ASKED, "-d", "pthread", env=BOTH).out, alone)
    split = run(*ASKED, "-d", "basic,pthread", env=BOTH)
    equal(split.out, alone)
    assert " + " in split.err, split.err


def test_a_device_and_the_reference(_):
    equal(run(*ASKED, "-d", "reference,pocl").out, run(*ASKED, "-d", "reference").out)


if not has_device("pocl"):
    skip("pocl is not installed")
main(globals())

#!/usr/bin/env python3
"""A model split over two devices gives the same text as each of them: pocl's two CPU devices, and pocl with the reference."""

import json

from support.command import BUILD, COMMAND, PLAY, environment, equal, has_device, main, run, skip
from support.ranks import SPLIT, has_mpi, ranks

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


def test_a_kind_named_once_for_each_rank(folder):
    """With `cpu,cpu` the second rank has the second CPU."""
    if not has_mpi():
        return
    env = environment(POCL_DEVICES="basic basic", OPENCL_LAYERS=BUILD / "tests" / "name_layer.so")
    for names, wanted in (("cpu,cpu", "AB"), ("cpu", "AB")):
        ranks(2, COMMAND, *ASKED, *SPLIT, "-d", names, f"--profile={folder / 'profile'}", env=env)
        used = ["".join(sorted({row["device"][-1] for row in json.loads((folder / name).read_text())})) for name in ("profile", "profile.rank1")]
        equal("".join(used), wanted, names)


if not has_device("pocl"):
    skip("pocl is not installed")
main(globals())

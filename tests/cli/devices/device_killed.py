#!/usr/bin/env python3
"""A first run that is killed repeatedly at random moments leaves caches that the next run can use: the text is right, and no entry is half-written."""

import random
import signal
import time

from support.command import CASES, DEVICE, GOLDEN, environment, equal, has_device, main, run, skip, start

TINY = ("generate", "-d", DEVICE, "-m", GOLDEN / "gpt2-tiny", "--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9", "-n", "24")
TIMES = {"smoke": 3, "some": 10, "all": 30}[CASES]


def test_killed_at_any_moment(folder):
    wanted = run(*TINY).out  # and the time that a run takes with these caches
    fresh = environment(TESSERA_CACHE=folder / "tessera", POCL_CACHE_DIR=folder / "pocl", XDG_CACHE_HOME=folder / "xdg")
    begun = time.monotonic()
    equal(run(*TINY, env=environment(TESSERA_CACHE=folder / "first", POCL_CACHE_DIR=folder / "first-pocl")).out, wanted, "cold")
    whole = time.monotonic() - begun
    random.seed(3)
    for _ in range(TIMES):
        process = start(*TINY, env=fresh)
        time.sleep(random.uniform(0, whole))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    told = run(*TINY, env=fresh)
    equal(told.out, wanted, "after the kills")
    # Two runs killed while the driver was building are taken for crashes of the driver; any other warning is about what they left.
    warnings = [line for line in told.err.splitlines() if "warning" in line and "the last two runs ended" not in line]
    assert not warnings, warnings
    again = run(*TINY, env=fresh)
    equal(again.out, wanted, "from the cache")
    assert "building" not in again.err, again


def test_damaged_entries_are_made_again(folder):
    place = environment(TESSERA_CACHE=folder)
    wanted = run(*TINY, env=place).out
    entries = [path for path in folder.rglob("*") if path.is_file()]
    assert entries, "the cache is empty"
    for cut in (lambda data: data[:len(data) // 2], lambda data: b"", lambda data: data[:-1] + bytes([data[-1] ^ 1])):
        for path in entries:
            path.write_bytes(cut(path.read_bytes()))
        told = run(*TINY, env=place)
        equal(told.out, wanted)
        assert "damaged" in told.err, told
        equal(run(*TINY, "-q", env=place).err, "")


if not has_device():
    skip(f"no device {DEVICE}")
main(globals())

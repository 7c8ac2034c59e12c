#!/usr/bin/env python3
"""Drivers that abort, crash or hang. Each driver is tried in a process of its own before it is loaded. A driver that dies there is listed with the
reason, the other drivers are used, and the reference needs none of them. A driver that dies later is reported by the run that dies, and the next
run repairs what it can."""

import json
import os
import signal

from support.command import GOLDEN, equal, main, refused, run, skip, start
from support.planted import PLANTED, VENDORS, dying, planted, wait_for

TINY = ("-m", GOLDEN / "gpt2-tiny", "--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9", "-n", "4")
TEXT = "52 52 52 52 \n"
POCL = "Portable Computing Language"


def devices(env):
    return json.loads(run("devices", "--json", env=env).text)


def opencl(env):
    return [device for device in devices(env)["devices"] if device["backend"] == "opencl"]


def loads(folder):
    log = folder / "log"
    return log.read_text().splitlines().count("load") if log.exists() else 0


def test_a_driver_that_dies_before_it_lists_its_devices(folder):
    for where in ("load", "platforms", "devices"):
        for how, said in (("abort", "SIGABRT"), ("segv", "SIGSEGV"), ("exit", "exit code 1")):
            place = folder / f"{where}-{how}"
            place.mkdir()
            env = planted(place, f"{where}:{how}")
            told = devices(env)
            equal([device["backend"] for device in told["devices"]], ["reference"], f"{where} {how}")
            notes = [note for note in told["notes"] if "planted.icd" in note]
            assert len(notes) == 1 and said in notes[0] and "the last words" in notes[0], told["notes"]
            if how == "abort":
                equal(run("generate", *TINY, env=env).text, TEXT)


def test_a_driver_that_hangs(folder):
    env = planted(folder, "platforms:hang", TESSERA_PROBE_SECONDS="1")
    notes = devices(env)["notes"]
    assert any("planted.icd" in note and "1 s" in note for note in notes), notes
    before = loads(folder)
    equal(run("generate", *TINY, env=env).text, TEXT)
    equal(loads(folder), before, "the next run must not wait again for the driver that hung")


def test_a_driver_that_computes_without_end(folder):
    notes = devices(planted(folder, "platforms:spin", TESSERA_PROBE_SECONDS="1"))["notes"]
    assert any("planted.icd" in note and "1 s" in note for note in notes), notes


def test_a_driver_that_is_slow_because_the_machine_is_busy(folder):
    (device,) = opencl(planted(folder, "platforms:starved", TESSERA_PROBE_SECONDS="3"))
    assert device["usable"], device


def test_a_driver_that_dies_at_its_first_build_or_run(folder):
    for where, how, said in (("context", "exit", "exit code 1"), ("build", "abort", "SIGABRT"), ("launch", "segv", "SIGSEGV")):
        place = folder / where
        place.mkdir()
        env = planted(place, f"{where}:{how}")
        (device,) = opencl(env)
        assert POCL in device["platform"] and not device["usable"] and said in device["reason"], device
        assert "the last words" in device["reason"], device
        refused(4, said, "generate", "-d", "pocl", *TINY, env=env)
        told = run("generate", *TINY, env=env)
        equal(told.text, TEXT)
        assert "the slow reference runs" in told.err, told


def test_a_good_driver_beside_one_that_dies(folder):
    env = planted(folder, "load:abort", beside=VENDORS.read_text(), TESSERA_CACHE=os.environ.get("TESSERA_CACHE", folder / "cache"))
    (device,) = opencl(env)
    assert device["usable"], device
    told = run("generate", "-d", "pocl", *TINY, env=env)
    equal(told.text, TEXT)
    assert POCL in told.err


def test_a_driver_seen_fine_is_not_tried_again(folder):
    env = planted(folder)
    assert opencl(env)[0]["usable"]
    equal(loads(folder), 2, "loads of the first run: tried, then used")
    assert opencl(env)[0]["usable"]
    equal(loads(folder), 3, "loads with those of the second run")
    os.utime(PLANTED)  # it looks like another driver
    opencl(env)
    equal(loads(folder), 5, "loads with those of the third run")


def test_the_reference_loads_no_driver(folder):
    env = planted(folder)
    for command in (("generate", "-d", "reference", *TINY), ("cache",), ("info", GOLDEN / "gpt2-tiny")):
        run(*command, env=env)
    run("generate", *TINY, env=dict(env, TESSERA_DEVICE="reference"))
    equal(loads(folder), 0, "loads of the driver")


def test_a_driver_that_dies_later_is_tried_again(folder):
    env = planted(folder)
    assert opencl(env)[0]["usable"], "the driver must work at first"
    now = dict(env, PLANTED="devices:abort")
    told = run("devices", env=now, code=-signal.SIGABRT)
    assert "tessera: crashed (SIGABRT)" in told.err, told
    told = devices(now)
    assert any("SIGABRT" in note and "planted.icd" in note for note in told["notes"]), told["notes"]
    equal([path.name for path in (folder / "cache").rglob("driver.*")], [], "markers that were left behind")


def test_a_run_that_was_killed_is_not_a_crash(folder):
    env = planted(folder, "build:slow", TESSERA_TRUST_DRIVERS="1")
    process = start("generate", "-d", "pocl", *TINY, env=env)
    other = start("generate", "-d", "pocl", *TINY, env=env)
    wait_for(folder / "log", "build", times=2)
    process.kill()
    process.communicate()
    told = run("devices", env=dict(env, PLANTED=""))
    assert "an earlier run ended in the middle of" in told.err and "warning" not in told.err, told
    equal(run("devices", env=dict(env, PLANTED="")).err, "", "it must be reported once; the other process still runs")
    other.kill()
    other.communicate()


def test_two_runs_that_end_in_the_same(folder):
    """We cannot see an abort that LLVM catches, only that the run ended. After the second such run pocl's cache is cleared, unless a run between them
ended well."""
    env = planted(folder, "build:slow", TESSERA_TRUST_DRIVERS="1", POCL_CACHE_DIR=None)
    builds = 0

    def killed():
        nonlocal builds
        builds += 1
        process = start("generate", "-d", "pocl", *TINY, env=env)
        wait_for(folder / "log", "build", times=builds)
        process.kill()
        return process.communicate()[1].decode()

    def well():
        nonlocal builds
        told = run("generate", "-d", "pocl", *TINY, env=dict(env, PLANTED=""))
        equal(told.text, TEXT)
        builds = (folder / "log").read_text().splitlines().count("build")
        for path in (folder / "cache" / "opencl").iterdir():  # so that the next run builds kernels
            if not path.name.startswith("driver."):
                path.unlink()
        return told.err

    theirs = folder / "cache" / "pocl" / "damaged"
    killed()
    assert "an earlier run ended in the middle of building" in well()
    killed()
    theirs.parent.mkdir(exist_ok=True)
    theirs.touch()
    assert "the last two" not in killed() and theirs.exists(), "a run that ended well lay between them"
    told = well()
    assert "the last two runs ended in the middle of building" in told and f"the kernels in {theirs.parent} are built again" in told, told
    assert not theirs.exists()
    assert "earlier" not in well() and not list((folder / "cache").rglob("driver.*"))


def damaged(folder):
    """Halves every object of pocl's kernel cache."""
    objects = list(folder.rglob("*.so"))
    assert objects, f"no object in {folder}"
    for path in objects:
        path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])


def test_a_damaged_object_in_the_drivers_cache(folder):
    own = dying(TESSERA_CACHE=folder / "own", POCL_CACHE_DIR=None, TESSERA_CHAIN="0")
    equal(run("generate", "-d", "pocl", *TINY, env=own).text, TEXT)
    damaged(folder / "own" / "pocl")
    told = run("generate", "-d", "pocl", *TINY, env=own, code=None)
    assert told.code != 0 and "tessera: crashed (SIG" in told.err, told
    told = run("generate", "-d", "pocl", *TINY, env=own)
    equal(told.text, TEXT, "the run after")
    assert f"the kernels in {folder}/own/pocl are built again" in told.err, told
    equal(run("generate", "-d", "pocl", "-q", *TINY, env=own).err, "")
    theirs = dict(own, POCL_CACHE_DIR=str(folder / "theirs"))
    (folder / "own" / "pocl").rename(folder / "theirs")
    damaged(folder / "theirs")
    assert run("generate", "-d", "pocl", *TINY, env=theirs, code=None).code != 0
    told = run("generate", "-d", "pocl", *TINY, env=theirs, code=None)
    assert told.code != 0 and f"remove {folder}/theirs" in told.err, told


if not VENDORS.exists():
    skip(f"{VENDORS} is missing (Debian: apt-get install pocl-opencl-icd)")
main(globals())

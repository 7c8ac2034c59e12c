#!/usr/bin/env python3
"""ci/limit and ci/counts.awk: they distinguish a test that hangs, one that computes endlessly, a slow one and one that fails. And how a script of tests ends."""

import json
import os
import signal
import subprocess
import sys
import time

from support.command import SOURCE, equal, main

SLEEP = f"sleep 1001.{os.getpid()}"  # a mark that only this run has
LIMIT = SOURCE / "ci" / "limit"
SLOW = "import time\nfor _ in range(30):\n    end = time.process_time() + 0.02\n    while time.process_time() < end: pass\n    time.sleep(0.1)"
POLLS = "import time\nwhile True: time.sleep(0.05)"
SPINS = "while True: pass"


def limited(*command, cpu=60, idle=1):
    return subprocess.run([LIMIT, "--cpu", str(cpu), "--idle", str(idle), *command], capture_output=True, text=True, check=False)


def python(code, **limits):
    return limited(sys.executable, "-c", code, **limits)


def gone(mark):
    """Whether no process has `mark` in its command line."""
    return subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).returncode == 1


def test_a_hang(_):
    for command in ([*SLEEP.split()], ["sh", "-c", f"{SLEEP} & wait"], ["sh", "-c", f"setsid {SLEEP} & wait"]):
        done = limited(*command)
        assert done.returncode == 124 and "\nTIMED OUT: it hangs: in 1 s it used 0." in done.stdout, done
        assert SLEEP in done.stdout and gone(SLEEP), done
    done = python(POLLS, idle=4)
    assert done.returncode == 124 and "TIMED OUT: it hangs" in done.stdout, done


def test_no_end(_):
    done = python(SPINS, cpu=1)
    assert done.returncode == 124 and "\nTIMED OUT: it used more than 1 s of processor time" in done.stdout, done
    done = limited("sh", "-c", f"for i in 1 2 3; do {sys.executable} -c 'sum(range(20000000))'; done; sleep 2; {SLEEP}", cpu=0.5, idle=60)
    assert done.returncode == 124 and "more than 0.5 s" in done.stdout, f"processes that have ended count, too: {done}"


def test_slow_is_not_late(_):
    begun = time.monotonic()
    done = python(SLOW, cpu=30, idle=1)
    assert (done.returncode, done.stdout) == (0, ""), done
    assert time.monotonic() - begun > 3, "longer than --idle, which is what this is about"


def test_suspended_is_not_a_hang(_):
    process = subprocess.Popen([LIMIT, "--cpu", "30", "--idle", "1", sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True, start_new_session=True)
    time.sleep(1)
    both = [process.pid, *map(int, subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, check=False).stdout.split())]
    equal(len(both), 2)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in both:
            os.kill(pid, number)
        time.sleep(2)
    equal((process.communicate()[0], process.returncode), ("", 0))


def test_it_ends_as_the_test_did(_):
    for code in (0, 1, 77):
        assert limited("sh", "-c", f"exit {code}").returncode == code
    for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM):
        assert limited("sh", "-c", f"kill -{int(number)} $$").returncode == -number
    assert limited("sh", "-c", f"{SLEEP} & exit 3").returncode == 3 and gone(SLEEP), "processes that outlive a test are killed"


def test_ended_from_outside(_):
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)):
        process = subprocess.Popen([LIMIT, *SLEEP.split()])
        while gone(f"^{SLEEP}"):
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait() == code
        end = time.monotonic() + 30
        while not gone(f"^{SLEEP}") and time.monotonic() < end:
            time.sleep(0.05)
        assert gone(f"^{SLEEP}"), "the test outlived ci/limit"


def test_how_kernels_are_not_optimised(folder):
    """ci/limit tells each test what it sets for a test whose name TESSERA_TEST_OPTIMISED does not match."""
    wanted = {"TESSERA_CACHE": f"{folder}/unoptimised", "POCL_CACHE_DIR": f"{folder}/unoptimised/pocl", "POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable"}
    env = {name: value for name, value in os.environ.items() if name not in (*wanted, "TESSERA_UNOPTIMISED", "TESSERA_TEST_OPTIMISED")}

    def found(names, **given):
        code = "import json, os, sys; print(json.dumps({name: os.environ.get(name) for name in sys.argv[1:]}))"
        done = subprocess.run([LIMIT, "--name", "cli.train", sys.executable, "-c", code, *names], env=dict(env, **given), capture_output=True, text=True,
                              check=False)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    told = "".join(f"{name}={value}\n" for name, value in wanted.items()).strip()
    for other in ("verify", "cli.tr", "none"):
        equal(found(["TESSERA_UNOPTIMISED", *wanted], TESSERA_CACHE=str(folder), TESSERA_TEST_OPTIMISED=other), {"TESSERA_UNOPTIMISED": told, **wanted})
    for own in ("verify|cli.train", ".*", ""):
        equal(found(["TESSERA_UNOPTIMISED", *wanted], TESSERA_CACHE=str(folder), TESSERA_TEST_OPTIMISED=own),
              {"TESSERA_UNOPTIMISED": told, **dict.fromkeys(wanted), "TESSERA_CACHE": str(folder)})
    equal(found(["TESSERA_UNOPTIMISED"]), {"TESSERA_UNOPTIMISED": None})
    assert "TESSERA_CACHE must be, too" in found(wanted, TESSERA_TEST_OPTIMISED="none")


def test_the_summary(folder):
    """The counts that ci/test makes from a run of ctest with one test of each kind."""
    tests = {"good": ["true"], "wrong": ["false"], "hangs": [LIMIT, "--idle", "1", *SLEEP.split()], "spins": [LIMIT, "--cpu", "1", sys.executable, "-c", SPINS],
             "slow": [LIMIT, "--idle", "1", sys.executable, "-c", SLOW], "left": ["sh", "-c", "echo SKIP: no device; exit 77"]}
    (folder / "CTestTestfile.cmake").write_text("".join(
        f'add_test({name} {" ".join(f"[==[{word}]==]" for word in command)})\nset_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)\n'
        for name, command in tests.items()))
    subprocess.run(["ctest", "--test-dir", folder], capture_output=True, check=False)
    counted = subprocess.run(["awk", "-f", SOURCE / "ci" / "counts.awk", folder / "Testing" / "Temporary" / "LastTest.log"],
                             capture_output=True, text=True, check=True).stdout.splitlines()
    assert counted[0] == "2 1 2 1", counted
    assert sorted(counted[1].split()) == ["hangs", "spins"], counted
    assert counted[2:] == ["     1  no device"], counted


def test_how_a_script_ends(folder):
    """A test that skips the rest of its script does not hide that one before it has failed."""
    kinds = {"good": "pass", "bad": "assert 0", "skips": "skip('no device')", "never": "open('ran', 'w')"}
    for names, code in ((["good", "good"], 0), (["good", "skips", "never"], 77), (["bad", "good"], 1), (["bad", "skips", "never"], 1), (["good", "bad", "skips"], 1)):
        tests = ", ".join(f"'test_{i}': lambda folder: test_{name}()" for i, name in enumerate(names))
        script = "from support.command import main, skip\n" + "".join(f"def test_{name}():\n    {body}\n" for name, body in kinds.items())
        done = subprocess.run([sys.executable, "-c", f"{script}main({{{tests}}})"], cwd=folder, capture_output=True, text=True, check=False)
        equal((done.returncode, "SKIP: no device" in done.stdout, (folder / "ran").exists()), (code, "skips" in names, False), (names, done))


main(globals())

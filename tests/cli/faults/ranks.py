#!/usr/bin/env python3
"""Ranks: each exchange of the transport mpi, and what happens when a rank goes away. tests/ranks/exchange.c is the program that they run."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from support.command import ALL, BUILD, PATIENCE, SOURCE, Result, environment, equal, main, run, slowness
from support.ranks import LIMITED, PLUGIN, need_mpi, own_lines, ranks

EXCHANGE, PROBE = BUILD / "tests" / "ranks" / "exchange", BUILD / "bench" / "probe"
LATE = BUILD / "tests" / "ranks" / "late.so"


def running():
    """Processes of the program that were left behind."""
    left = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(EXCHANGE).encode() in path.read_bytes().split(b"\0")[:1]:
                left.append(path.parent.name)
        except OSError:
            pass
    return left


def is_stopped(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def one_stops(n, *arguments):
    """n ranks, of which one stops itself: what the others say, and the seconds from then on until all have ended."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        begun, done = time.monotonic(), pool.submit(ranks, n, EXCHANGE, "stop", *arguments, code=5)
        while not done.done() and not any(map(is_stopped, running())):
            time.sleep(0.02)
        if not done.done():
            begun = time.monotonic()
        return own_lines(done.result().err), time.monotonic() - begun


def test_every_exchange_arrives_for_any_number_of_ranks(folder):
    for n in (1, 2, 3, 5):
        result = ranks(n, EXCHANGE, "all")
        by = "none" if n == 1 else "mpi"  # one rank needs no transport
        equal(sorted(result.text.splitlines()), [f"rank {i} of {n} by {by}: all right" for i in range(n)])


def test_an_exchange_that_is_begun_ends_later(folder):
    """A wait with a limit ends before a rank that is late has come to the exchange; the next one ends with it."""
    for name in ("mpi", "limited"):
        equal(sorted(ranks(3, EXCHANGE, "begun", name, env=limits(1000, 4)).text.splitlines()), [f"rank {i} of 3 by {name}: all right" for i in range(3)])


def test_the_default_deadline(_):
    """By default, too, a rank that is stopped ends the run within 30 s: 5 s are for noticing and ending."""
    (seconds,) = re.findall(r"gives no sign of life for so long \(default: (\d+)\)", " ".join(run("help", "train").text.split()))
    assert int(seconds) + 5 < 30, seconds
    equal(re.findall(r"may give no sign of life; 0: (\d+) ", (SOURCE / "include/tessera/ranks.h").read_text()), [seconds])
    if not ALL:
        return
    said, took = one_stops(2, "mpi", 0)
    assert took < 30 * slowness() and any(f"gave no sign of life for {seconds} s" in line for line in said), (took, said)


def test_slow_work_is_no_failure(folder):
    equal(len(ranks(2, EXCHANGE, "slow").text.splitlines()), 2)


def test_a_run_that_is_suspended_goes_on(folder):
    """All ranks are stopped for longer than the deadline, as by a job scheduler."""
    equal(len(ranks(3, EXCHANGE, "suspended").text.splitlines()), 3)


def test_a_rank_that_ends_tells_the_others_why(folder):
    """And with which status: whether it was its device."""
    for mode, status, why in (("leave", "peer", "the disk is full"), ("device", "device", "a kernel does not build")):
        for transport in ("mpi", "limited"):
            said = own_lines(ranks(3, EXCHANGE, mode, transport, env=limits(1000, 1), code=5).err)
            assert said and all(line.startswith(f"failed: {status}: rank 1 on ") and line.endswith(f" ended: {why}") for line in said), said
    equal(running(), [])


def test_a_rank_that_is_stopped_ends_the_run(folder):
    said, took = one_stops(3)
    assert said and all("failed: peer: rank 1 on " in line and "gave no sign of life for 2 s: the run ends" in line for line in said), said
    assert took < 30 * slowness(), took
    equal(running(), [])


def test_a_rank_that_stops_while_it_joins_or_parts_ends_the_run(folder):
    for call, told in (("MPI_Init_thread", "transport mpi does not start: not all ranks joined within 2 s: start all of them again"),
                       ("MPI_Comm_idup", "transport mpi does not start: not all of the 3 ranks joined within 2 s: start all of them again"),
                       ("MPI_Finalize", "not all of the 3 ranks ended within 2 s: this one ends without them, and what it did is complete")):
        said = own_lines(ranks(3, EXCHANGE, "all", code=5, options=["-x", f"LD_PRELOAD={LATE}", "-x", f"LATE_IN={call}"]).err)
        assert said and all(line == f"failed: peer: {told}" for line in said), (call, said)
        equal(running(), [])


def test_a_rank_that_is_killed_ends_the_run(folder):
    result = ranks(3, EXCHANGE, "kill", code=None)
    assert result.code != 0 and "rank 1" in result.err, result
    equal(running(), [])
    # where the launcher leaves the other ranks alone, they notice it themselves
    said = own_lines(ranks(3, EXCHANGE, "kill", code=None, options=["--enable-recovery"]).err)
    equal(len(said), 2)
    assert all("failed: peer: rank 1 on " in line for line in said), said
    # over TCP, MPI notices it, too, and may end ranks that have said nothing
    for options in ((), ("--enable-recovery",)):
        result = ranks(3, EXCHANGE, "kill", code=None, options=[*options, "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"])
        said = own_lines(result.err)
        assert (options or result.code != 0) and all("failed: peer: rank 1 on " in line for line in said), result
        equal(running(), [])


def test_a_call_of_mpi_that_fails_names_a_rank(folder):
    """MPI doesn't say which rank is the cause: rank 0, whose call fails, waits until another rank has noticed who is gone."""
    options = ["--enable-recovery", "-x", f"LD_PRELOAD={LATE}", "-x", "FAILS_IN=MPI_Ibarrier"]
    said = own_lines(ranks(3, EXCHANGE, "kill", code=None, options=options).err)
    equal(len(said), 2)
    assert all(line.startswith("failed: peer: rank 1 on ") for line in said), said
    # nobody is gone: it tells the others of its own failure
    said = own_lines(ranks(2, EXCHANGE, "all", code=None, options=options).err)
    equal(len(said), 2)
    assert all(line.startswith(f"failed: peer: rank 0 on {os.uname().nodename} ended: MPI_Ibarrier failed: ") for line in said), said
    equal(running(), [])


def limits(latency_us, gbits):
    return dict(environment(), LIMITED_LATENCY_US=str(latency_us), LIMITED_GBITS=str(gbits))


def test_a_network_that_is_made_slower(folder):
    """bench/scale predicts the steps of such networks: what they carry arrives, never earlier than it may, and not much later where the processes
    have the machine for themselves, as they have in one of several attempts if it is not busy all the time."""
    for n in (2, 3):
        result = ranks(n, EXCHANGE, "all", "limited", env=limits(2000, 4))
        equal(sorted(result.text.splitlines()), [f"rank {i} of {n} by limited: all right" for i in range(n)])
    for n, latency, gbits in ((2, 4000, 0.5), (4, 1000, 1)):
        for _ in range(5):
            measured = json.loads(ranks(n, PROBE, LIMITED, 1, env=limits(latency, gbits)).text)
            assert latency <= measured["latency_us"] and latency <= measured["gather_us"], measured
            if measured["latency_us"] < 3 * latency and measured["gather_us"] < 4 * latency and gbits / 3 < measured["gbits"] < 1.02 * gbits:
                break
        else:
            assert slowness() > 1.3, measured
    said = ranks(2, EXCHANGE, "all", "limited", env=limits(-1, 1), code=5).err
    assert "LIMITED_LATENCY_US and LIMITED_GBITS must be numbers from 0 on" in said, said
    equal(running(), [])


def test_built_against_mpich(folder):
    """The same files against the other MPI that distributions have."""
    if not shutil.which("mpicc.mpich") or not shutil.which("mpirun.mpich"):
        print("       SKIP: there is no mpicc.mpich or mpirun.mpich (Debian: libmpich-dev, mpich)")
        return
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"]  # as cmake/mpi.cmake
    subprocess.run(["mpicc.mpich", "-std=c11", "-O1", "-D_GNU_SOURCE", '-DTESSERA_VERSION="0"', *warnings, "-shared", "-fPIC", "-fvisibility=hidden",
                    f"-I{SOURCE}/src", f"-I{SOURCE}/include", *sorted((SOURCE / "src" / "transports" / "mpi").glob("*.c")),
                    SOURCE / "src/base/system/posix/threads.c", "-o", folder / "mpi.so"], check=True)
    env = dict(environment(), TESSERA_TRANSPORT_PATH=str(folder))
    # once a rank has ended with an error, its launcher kills the others, which may not have said anything
    for what, fails in (("all", False), ("leave", True), ("stop", True), ("kill", True)):
        done = Result(subprocess.run(["mpirun.mpich", "-n", "3", str(EXCHANGE), what], capture_output=True, env=env, timeout=PATIENCE, check=False))
        equal((done.code != 0, done.text.count(": all right")), (fails, 0 if fails else 3), done)
        assert all(line.startswith("failed: peer: rank 1 on ") for line in own_lines(done.err)), done
    equal(running(), [])


def test_a_transport_that_is_missing_is_named(folder):
    env = environment(OMPI_COMM_WORLD_SIZE=4, TESSERA_TRANSPORT_PATH=folder)
    few = ("generate", "-q", "-d", "reference", "-n", "2", "--temp", "0", "To be")
    # a process that is alone needs no transport, and commands for one process don't look for the others
    alone = run(*few, env=environment(TESSERA_TRANSPORT_PATH=folder)).text
    equal(run(*few, "--transport", "none", env=env).text, alone)
    equal(alone, run(*few, env=environment(TESSERA_TRANSPORT_PATH=PLUGIN.parent)).text)
    equal(run("tokenize", given="To be", env=env).text, run("tokenize", given="To be").text)
    (folder / "broken.so").write_text("no library")
    done = Result(subprocess.run([str(EXCHANGE)], capture_output=True, env=env, check=False))
    equal(done.code, 5)
    assert "there is no transport mpi (found: " in done.err and "broken.so: it can't be loaded" in done.err, done


need_mpi()
main(globals())

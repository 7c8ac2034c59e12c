#!/usr/bin/env python3
"""Whole commands in which one OpenCL call fails: each call, before or after it is made, with codes of all kinds. The process must give the same
result, or one message and exit code 4 (5 where the driver has no host memory); never a signal, a broken heap, a hang, or a half-written file.

Only a few calls of each kind are tried; with ci/test --all every call, for at most three minutes, and then it prints how many were tried.
"""

import ctypes.util
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from support.command import ALL, BUILD, COMMAND, DEVICE, GOLDEN, SOURCE, environment, equal, has_device, main, run, skip
from support.runs import checkpoints, command, every, make, result, whole

MINUTES = 3
LAYER = BUILD / "tests" / "count_layer.so"
CODES = (-5, -4, -14, -6, -36, -59, -9999)
PATIENCE = 120
HOST_MEMORY = -6
ENCODER = SOURCE / "tests" / "golden" / "encoders" / "sentence"
TRANSLATOR = SOURCE / "tests" / "golden" / "translate"
STEPS = 2
scratch = pathlib.Path(tempfile.mkdtemp(prefix="tessera-faults-"))


class Case:
    """A command, the files that it may leave in `out`, and those that must be the same as without a fault."""

    def __init__(self, name, *arguments, given=b"", out=None, check=None, chain=None):
        self.name, self.arguments, self.given, self.out, self.check, self.chain = name, arguments, given, out, check, chain

    def environment(self, **changes):
        """The heap is checked at each free, and freed memory is overwritten; a build with sanitizers has its own allocator."""
        sanitized = "TESSERA_SANITIZE_FLAGS" in os.environ and os.environ["TESSERA_SANITIZE_FLAGS"]
        heap = {} if sanitized else {"LD_PRELOAD": ctypes.util.find_library("c_malloc_debug") or "libc_malloc_debug.so.0", "MALLOC_CHECK_": "3",
                                     "MALLOC_PERTURB_": "165"}
        return environment(TESSERA_CACHE=scratch / "cache", TESSERA_CHAIN=self.chain, **heap, **changes)

    def run(self, out, **changes):
        arguments = [str(out) if word == "OUT" else str(word) for word in self.arguments]
        done = subprocess.run([COMMAND, *arguments], input=self.given, capture_output=True, env=self.environment(**changes), timeout=PATIENCE, check=False)
        return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def cases(folder):
    model, text = make(folder)
    on = ("-d", DEVICE)
    tiny = ("generate", "-m", GOLDEN / "gpt2-tiny", *on, "--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9", "-n", "4")
    train = command(model, text, "OUT", STEPS, *every(1), device=(*on, "-q"))
    return (Case("generate", *tiny), Case("generate, launch by launch", *tiny, chain=0),
            Case("embed", "embed", "-m", ENCODER, *on, given=b"a good poem\nthe sea\n"),
            Case("translate", "translate", "-m", TRANSLATOR, *on, "-q", given=b"one\ntwo lines\n"),
            Case("train", *train, out="folder", check=lambda out, sound: trained(train, out, sound)),
            Case("export", "kernels", "export", "-m", GOLDEN / "gpt2-tiny", "-o", "OUT", *on, "-q", out="folder", check=exported))


def trained(train, out, sound):
    """A training run that failed can be resumed, and ends with the same bytes as one that did not fail."""
    for path in checkpoints(out) if out.is_dir() else []:
        whole(path)
    run(*[str(out) if word == "OUT" else word for word in train], "--resume")
    assert result(out, STEPS) == result(sound, STEPS), "the resumed run gave other bytes"


def exported(out, sound):
    if out.exists():
        equal(sorted(path.name for path in out.iterdir()), sorted(path.name for path in sound.iterdir()), "files of the folder")
        for path in sound.iterdir():
            equal((out / path.name).read_bytes(), path.read_bytes(), path.name)


def counts(case, sound):
    """The calls that a run makes, and its output."""
    log = scratch / "log"
    log.unlink(missing_ok=True)
    code, printed, told = case.run(sound, OPENCL_LAYERS=LAYER, COUNT_LAYER_IN="tessera", COUNT_LAYER_LOG=log)
    equal(code, 0, f"{case.name}: {told}")
    lines = [line.split() for line in log.read_text().splitlines()]
    return {name: int(n) for _, name, n in lines if int(n)}, printed


def plan(number, cases, made):
    """(call, n, code, when), the most different first. Without ci/test --all, each kind of call fails once, in one of the cases; calls that run kernels
fail twice."""
    chosen = []
    for place, (name, n) in enumerate(sorted(made.items())):
        ran = name.startswith(("clEnqueue", "clWait", "clFinish", "clFlush"))
        few = {max(1, n // 2)} if (place + number) % cases == 0 else {n} if ran and (place + number) % cases == 1 else set()
        for at in range(1, n + 1) if ALL else few:
            for when in ("before", "after") if ALL else ("before", "after")[(place + number) % 2:][:1]:
                chosen.append((min(at - 1, n - at), name, at, CODES[(place + at + number) % len(CODES)], when))
    return [entry[1:] for entry in sorted(chosen)]


def judge(case, fault, out, sound, printed):
    """None, or a message about what was wrong with how the process ended."""
    call, at, number, when = fault
    try:
        code, got, told = case.run(out, OPENCL_LAYERS=LAYER, COUNT_LAYER_IN="tessera", COUNT_LAYER_FAULT=f"{call} {at} {number} {when}")
    except subprocess.TimeoutExpired:
        return f"no end within {PATIENCE} s"
    if "ERROR: " in told or "runtime error:" in told or "free(): " in told:
        return f"a report of a broken heap: {told[-1500:]}"
    said = [line for line in told.splitlines() if line.startswith("tessera: ") and not line.startswith(("tessera: warning: ", "tessera: device: "))]
    if code == 0:
        if got != printed:
            return f"exit code 0 and another result: {got[:300]!r}, {told}"
    elif code not in ((4, 5) if number == HOST_MEMORY else (4,)):
        return f"exit code {code}: {told}"
    elif not printed.startswith(got) and case.name != "train":
        return f"it failed, and what it printed is not the beginning of the result: {got[:300]!r}"
    elif not said or not (str(number) in told or call.endswith("Info") or (call == "clWaitForEvents" and "(-14)" in told)):
        return f"no sentence with the code: {told}"
    if case.out and list(pathlib.Path(out.parent).glob(f"{out.name}*tmp*")):
        return "a temporary file is left"
    if case.check and code != 0:
        case.check(out, sound)
    return None


def try_all(case, plans, sound, printed, wrong, end):
    """Takes faults from the list until the list is empty or the time is up."""
    while plans and time.monotonic() < end:
        try:
            fault = plans.pop(0)
        except IndexError:
            return
        out = scratch / f"out-{case.name.split(',')[0]}-{threading.get_ident()}"
        try:
            why = judge(case, fault, out, sound, printed)
        except AssertionError as error:
            why = str(error)
        if why:
            wrong.append(f"{case.name}: {' '.join(map(str, fault))}: {why}")
        shutil.rmtree(out, ignore_errors=True)


def test_every_call_that_fails_is_a_sentence(folder):
    begun, wrong, tried, planned = time.monotonic(), [], 0, 0
    everything = cases(folder)
    for i, case in enumerate(everything):
        sound = folder / f"sound-{i}"
        made, printed = counts(case, sound)
        assert sum(made.values()) > 20, f"{case.name}: the loader ignored the layer: {made}"
        if sound.exists():
            shutil.rmtree(sound)
        equal(case.run(sound)[1], printed, f"{case.name}, with the layer and without")
        plans = plan(i, len(everything), made)
        planned += len(plans)
        share = (begun + 60 * MINUTES - time.monotonic()) / (len(everything) - i)
        before = len(plans)
        workers = [threading.Thread(target=try_all, args=(case, plans, sound, printed, wrong, time.monotonic() + share)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        tried += before - len(plans)
        # The faults must not have damaged the caches.
        code, again, told = case.run(folder / f"again-{i}")
        equal((code, again), (0, printed), f"{case.name}, after the faults: {told}")
        assert "warning" not in told, f"{case.name}, after the faults: {told}"
    print(f"       {tried} of {planned} faults were tried in {time.monotonic() - begun:.0f} s", flush=True)
    assert not wrong, f"{len(wrong)} of {tried} faults:\n" + "\n".join(wrong[:40])


if not has_device():
    skip(f"no device {DEVICE}")
if not LAYER.exists():
    skip(f"{LAYER} is not built")
try:
    main(globals())
finally:
    shutil.rmtree(scratch, ignore_errors=True)

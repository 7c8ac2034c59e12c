#!/usr/bin/env python3
"""Memory stays flat: a long-running process uses no more at its end than soon after its start. 2,000 steps of training, and 10,000 on the
device, with a checkpoint and a validation every 25, and a million lines through tokenize, embed, classify and fill-mask; in the short form a tenth of it. tests/long
does the same for generated tokens, and for what is opened and closed.

The resident memory of the process is watched after the first fifth of its work: its largest value in the last fifth may exceed that of the second
fifth only by SLACK, the noise of an allocator.
"""

import os
import subprocess
import threading
import time

from support.command import ALL, COMMAND, DEVICE, GOLDEN, environment, equal, has_device, main
from support.runs import command, every, make

SANITIZED = bool(os.environ.get("TESSERA_SANITIZE_FLAGS"))  # freed memory is held back, and the leak checker finds memory that is not freed
PART = 500 if SANITIZED else 1 if ALL else 10
SLACK = 256 << 10  # how much more memory a process may have at the end
DEVICE_SLACK = 1 << 20  # a driver's threads have arenas of their own; a leak of 175 bytes per step is as much in the long form
LINES_SLACK = 1 << 20  # windows grow while the rate is being measured; a leak of 16 bytes per line is 960 KiB in the short form, 3.8 MiB in AGAIN of it
# On a busy machine windows and arenas grow late, once; a leak grows with the work. What exceeded the slack (of lines, half of it) is done again, so many times
# longer.
AGAIN = 1 if ALL else 4
ENCODERS = GOLDEN.parent / "encoders"


def resident(pid):
    """Bytes; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return next((int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS")), 0)
    except OSError:
        return 0


def flat(samples, what, slack, again=False):
    """Whether the memory stayed flat, from pairs (work done, bytes): the largest of the second fifth of the work, and of the last fifth. Where it did not,
    the test fails, unless it is done `again`."""
    if SANITIZED:
        return True
    most = max(work for work, _ in samples)
    part = lambda low, high: max((size for work, size in samples if low * most <= work <= high * most), default=0)
    # Behind the last of its work a process writes its results and ends, which may take memory once.
    early, late = part(0.2, 0.4), max((size for work, size in samples if 0.8 * most <= work < most), default=0) or part(0.8, 1)
    print(f"       {what}: {early / 2**20:.2f} MiB after a fifth, {late / 2**20:.2f} at the end, {len(samples)} samples", flush=True)
    assert len(samples) >= 5 and early and late, f"{what}: too few samples: {samples}"
    assert again or late <= early + slack, f"{what}: the process has {(late - early) / 2**20:.2f} MiB more at its end"
    return late <= early + slack


def watched(process, work):
    samples = []
    while process.poll() is None:
        size = resident(process.pid)
        if size:
            samples.append((work(), size))
        time.sleep(0.004)
    return samples


def steps(folder, n, slack, *more):
    n //= PART
    if not flat(steps_taken(folder / "once", n, more), f"{n} steps", slack, again=True):
        n *= AGAIN
        flat(steps_taken(folder / "again", n, more), f"{n} steps", slack)


def steps_taken(folder, n, more):
    folder.mkdir()
    model, text = make(folder)
    out = folder / "out"
    log = out / "log.jsonl"
    process = subprocess.Popen([COMMAND, *map(str, command(model, text, out, n, *every(25), "--set", "save_total_limit=2", "--set", "logging_steps=5", *more))],
                               env=environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    samples = watched(process, lambda: log.stat().st_size if log.exists() else 0)
    equal(process.wait(), 0, process.stderr.read())
    return [sample for sample in samples if sample[0]]


def lines(folder, name, *arguments, text="a poem about the sea"):
    """The lines are written into a pipe, so that the lines taken from it are the work done."""
    n = 1000000 // PART
    if not flat(lines_taken(folder, n, arguments, text), f"{name}, {n} lines", LINES_SLACK // 2, again=True):
        n *= AGAIN
        flat(lines_taken(folder, n, arguments, text), f"{name}, {n} lines", LINES_SLACK)


def lines_taken(folder, n, arguments, text):
    done = 0
    piece = ((text + "\n") * 1000).encode()
    process = subprocess.Popen([COMMAND, *map(str, arguments)], env=environment(), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)

    def feed():
        nonlocal done
        try:
            for done in range(0, n, 1000):
                process.stdin.write(piece)
            process.stdin.close()
        except BrokenPipeError:
            pass
    feeder = threading.Thread(target=feed)
    feeder.start()
    samples = watched(process, lambda: done)
    feeder.join()
    equal(process.wait(), 0, process.stderr.read())
    return samples


def on_device():
    return DEVICE if has_device() else "reference"


def test_training(folder):
    steps(folder, 2000, SLACK)


def test_training_on_the_device(folder):
    if has_device():
        steps(folder, 10000, DEVICE_SLACK, "-d", DEVICE)


def test_tokenize(folder):
    lines(folder, "tokenize", "tokenize", "-m", ENCODERS / "sentence")


def test_embed(folder):
    lines(folder, "embed", "embed", "-q", "-m", ENCODERS / "sentence", "-d", on_device(), "-o", "vectors.npy")


def test_classify(folder):
    lines(folder, "classify", "classify", "-q", "-m", ENCODERS / "classify", "-d", on_device())


def test_fill_mask(folder):
    lines(folder, "fill-mask", "fill-mask", "-q", "-m", ENCODERS / "masked", "-d", on_device(), text="the [MASK]")


main(globals())

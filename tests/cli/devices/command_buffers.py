#!/usr/bin/env python3
"""Launches recorded in command buffers: the same results as without, and few calls for a token."""

import pathlib

from support.command import BUILD, PLAY, environment, equal, has_device, main, run, skip, slow

LAYERS = BUILD / "tests"


def looking_like_a_gpu(log, recorded):
    """pocl as a GPU with pocl's own extensions, of which cl_khr_command_buffer is one."""
    log.unlink(missing_ok=True)
    return environment(OPENCL_LAYERS=f"{LAYERS / 'gpu_layer.so'}:{LAYERS / 'count_layer.so'}", TSR_GPU_EXTENSIONS=1, COUNT_LAYER_IN="tessera",
                       COUNT_LAYER_LOG=log, TESSERA_COMMAND_BUFFERS=recorded)


def counts(log):
    return {call: int(n) for word, call, n in (line.split() for line in log.read_text().splitlines()) if word == "calls"}


def both(folder, *asked, **given):
    """What the command calls with every kernel enqueued by itself, and with recorded launches. On a busy machine the runs that are timed may take so
    long that none is recorded; then it is tried again."""
    log = pathlib.Path(folder) / "calls"
    alone = run(*asked, **given, env=looking_like_a_gpu(log, 0))
    before = counts(log)
    equal(before["clEnqueueCommandBufferKHR"], 0)
    for _ in range(5):
        recorded = run(*asked, **given, env=looking_like_a_gpu(log, 1))
        equal(recorded.out, alone.out, asked)
        after = counts(log)
        if after["clEnqueueCommandBufferKHR"]:
            break
    return before, after


def test_generate(folder):
    tokens = 100
    before, after = both(folder, "generate", "-m", PLAY, "-d", "pocl", "--seed", "1", "-n", str(tokens), "ROMEO:")
    assert after["clEnqueueCommandBufferKHR"] > 0.3 * tokens, after  # behind a run that took too long, the next ones are not recorded
    assert after["clEnqueueNDRangeKernel"] < 0.7 * before["clEnqueueNDRangeKernel"], (before, after)


@slow
def test_translate(folder):
    before, after = both(folder, "translate", "-m", PLAY.parent / "translate-de-en", "-d", "pocl", "--beam-size", "2", given="Wo ist der Bahnhof, bitte? Ich möchte nach Hause fahren.")
    assert after["clEnqueueNDRangeKernel"] < before["clEnqueueNDRangeKernel"], (before, after)


if not has_device("pocl"):
    skip("pocl is not installed")
main(globals())

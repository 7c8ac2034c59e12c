#!/usr/bin/env python3
"""Decoding on a device that is apart from the host's cores, greedy or sampled: a step starts before the last step's ids are known, which stay
on the device; the text is that of step after step, wherever it ends."""

import json
import pathlib
import re

from support.command import BUILD, PLAY, environment, equal, has_device, main, run, skip, slow

LAYERS = BUILD / "tests"
PROMPTS = ("KING", "O, what a rogue and peasant slave am I", "", "Enter\n")


class Gpu:
    """pocl as a GPU; counts the calls that a command makes there."""

    def __init__(self, folder, **layer):
        self.log = pathlib.Path(folder) / "calls"
        self.layer = {"OPENCL_LAYERS": f"{LAYERS / 'gpu_layer.so'}:{LAYERS / 'count_layer.so'}"} | layer

    def __call__(self, *asked, **options):
        return self.command("generate", "-q", "--temp", "0", "--speculate", "0", *asked, **options)

    def command(self, name, *asked, **options):
        self.log.unlink(missing_ok=True)
        return run(name, "--device", "pocl", *asked, **options,
                   env=environment(COUNT_LAYER_IN="tessera", COUNT_LAYER_LOG=self.log, **self.layer))

    def calls(self, name):
        return next(int(n) for word, call, n in (line.split() for line in self.log.read_text().splitlines()) if (word, call) == ("calls", name))


def on_cores(*asked):
    return run("generate", "-d", "pocl", "-q", "--temp", "0", "--speculate", "0", *asked).out


def both(gpu, *asked):
    """What the command writes, which is the same on cores; and how many steps took their ids on the device."""
    got = gpu(*asked)
    equal(got.out, on_cores(*asked), asked)
    return got.out, gpu.calls("clEnqueueCopyBuffer")


def test_one_text(folder):
    for layer in ({}, {"TSR_GPU_EXTENSIONS": 1}):  # without and with command buffers
        _, copies = both(Gpu(folder, **layer), "-m", PLAY, "-n", "60", "--ignore-eos", "ROMEO:")
        assert 50 <= copies < 60, copies
    cpu = Gpu(folder, OPENCL_LAYERS=LAYERS / "count_layer.so")
    cpu("-m", PLAY, "-n", "20", "ROMEO:")
    equal(cpu.calls("clEnqueueCopyBuffer"), 0, "a CPU gains nothing")


def test_sampled_texts(folder):
    gpu, reads = Gpu(folder), {}
    for settings in (("--temp", "0"), ("--temp", "0.8", "--seed", "3", "--min-p", "0.02")):
        asked = ("-q", "-m", PLAY, "-n", "50", "--speculate", "0", "--ignore-eos", *settings, "ROMEO:", "KING")
        gpu.command("generate", *asked)  # self-tests read, too: later steps, of more keys, choose and prove other kernels
        equal(gpu.command("generate", *asked).out, run("generate", "-d", "pocl", *asked).out, settings)
        assert 40 <= gpu.calls("clEnqueueCopyBuffer") < 50, settings
        reads[settings] = gpu.calls("clEnqueueReadBuffer")
    equal(len(set(reads.values())), 1, reads)  # a token is one read, drawn or not


@slow
def test_texts_that_end_at_different_steps(folder):
    out, copies = both(Gpu(folder), "-m", PLAY, "-n", "40", "--json", *PROMPTS)
    assert copies >= 30, copies
    text = json.loads(out)[0]["text"]
    for size in (3, 4, 9):  # the stop text ends one sequence while the next step is under way
        both(Gpu(folder), "-m", PLAY, "-n", "40", "--json", "--stop", text[10:10 + size], *PROMPTS)


def test_ends(folder):
    gpu = Gpu(folder)
    for n in (0, 1, 2, 3, 5):
        both(gpu, "-m", PLAY, "-n", str(n), "ROMEO:")
    both(gpu, "-m", PLAY, "-c", "24", "--ignore-eos", "ROMEO:")
    # So many texts that their keys and values, whose memory then grows and is copied, are not small.
    _, copies = both(gpu, "-m", PLAY, "-n", "300", "--ignore-eos", *["ROMEO:"] * 4)
    assert copies > 250, copies


def test_what_needs_the_ids_here(folder):
    gpu = Gpu(folder)
    for options in (("--temp", "0", "--repeat-penalty", "1.2"), ("--temp", "0.8", "--logprobs", "2", "--json"), ("--temp", "0.8", "--top-k", "0")):
        gpu.command("generate", "-q", "-m", PLAY, "-n", "20", *options, "ROMEO:")
        equal(gpu.calls("clEnqueueCopyBuffer"), 0, options)


def test_guessed_tokens(folder):
    """A text that repeats itself takes fewer steps, and is the same."""
    gpu, text = Gpu(folder), "KING HENRY: once more unto the breach, dear friends, once more; " * 2 + "KING HENRY: once more"
    for settings in (("--temp", "0"), ("--temp", "0.3", "--seed", "3")):
        asked = ("-m", PLAY, "-n", "150", "--ignore-eos", *settings, text)
        wanted = gpu.command("generate", "-q", *asked, "--speculate", "0")
        ahead = gpu.calls("clEnqueueCopyBuffer")
        got = gpu.command("generate", *asked)
        equal(got.out, wanted.out, settings)
        found = re.search(r"; (\d+) of (\d+) guessed tokens were right$", got.err, re.M)
        if settings[1] == "0":  # a drawn text may repeat itself less
            right, guessed = map(int, found.groups())
            assert 20 < right <= guessed and gpu.calls("clEnqueueCopyBuffer") < ahead - 20, (right, guessed, ahead)


@slow
def test_the_benchmark(folder):
    gpu, gates, results = Gpu(folder), [], pathlib.Path(folder) / "run.json"
    for tokens in (20, 40):
        gpu.command("bench", "-m", PLAY, "-p", "0", "-n", tokens, "-d", "0", "-b", "1,3", "-r", "2", "-o", results)
        rows = [row for row in json.loads(results.read_text())["rows"] if row["kind"] == "generate"]
        runs = sum(row["warmup"] + len(row["samples"]) for row in rows)
        equal(len(rows), 2)
        gates.append(gpu.calls("clEnqueueCopyBuffer") - runs * (tokens - 1))
    equal(gates[0], gates[1], "all steps of a run but its first took their ids on the device; the gates do not depend on them")


def test_a_translation(folder):
    asked = ("translate", "-m", PLAY.parent / "translate-de-en", "-d", "pocl", "-q", "--beam-size", "1")
    text = "Wo ist der Bahnhof, bitte?\nIch möchte nach Hause fahren.\nDanke."
    env = environment(OPENCL_LAYERS=LAYERS / "gpu_layer.so")
    equal(run(*asked, given=text, env=env).out, run(*asked, given=text).out)


def test_a_failure_ends_what_is_under_way(folder):
    for call in ("clEnqueueCopyBuffer", "clEnqueueReadBuffer", "clWaitForEvents"):
        gpu = Gpu(folder, COUNT_LAYER_FAULT=f"{call} 9 -5 after")
        got = gpu("-m", PLAY, "-n", "40", "ROMEO:", code=None)
        equal((got.code, len(got.err.strip().splitlines())), (4, 1), got)


if not has_device("pocl"):
    skip("pocl is not installed")
main(globals())

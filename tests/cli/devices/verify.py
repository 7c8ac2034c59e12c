#!/usr/bin/env python3
"""tessera verify: what it runs, what it prints about what it did not run, what it times, and what it prints when it is interrupted."""

import collections
import json
import math
import re
import shutil
import signal
import time

from support.command import BUILD, DEVICE, SOURCE, environment, equal, has_device, main, refused, run, slowness, start

LINEAR = {"linear/packed", "linear/packed_few", "linear/cached", "linear/plain"}


def test_interrupted(_):
    """An interrupted run ends at once, and never looks like a pass."""
    for number in (signal.SIGINT, signal.SIGTERM):
        process = start("verify", "-d", "reference")
        time.sleep(1)
        process.send_signal(number)
        begun = time.monotonic()
        out, err = process.communicate(timeout=60)
        took = time.monotonic() - begun
        equal(process.returncode, 128 + number, err)
        assert re.search(rb"interrupted after \d+ of \d\d ops: \d+ ok, 0 missed, 0 failed to run\n$", err), err
        assert b"variants skipped" not in out, out
        assert took < 5 * slowness(), f"{took} s"


def test_interrupted_json(_):
    """What was found before is printed."""
    told, wait = [], 1
    while not told:
        process = start("verify", "-d", "reference", "--json", "-q")
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        equal(process.returncode, 128 + signal.SIGINT, err)
        told, wait = json.loads(out or "[]"), 2 * wait
    equal({r["device"] for r in told}, {"Tessera / reference"})


def test_a_device_that_does_not_open_ends_nothing(_):
    """The others are verified, and each result says by its device whose it is."""
    if DEVICE != "pocl" or not has_device():
        print(f"not on {DEVICE}: the layer is for pocl")
        return
    env = environment(OPENCL_LAYERS=BUILD / "tests" / "count_layer.so", COUNT_LAYER_IN="tessera", COUNT_LAYER_FAULT="clCreateContext 1 -2 before",
                      POCL_DEVICES="basic pthread")
    for options in ((), ("--bench", "--seconds", "0.001")):
        done = run("verify", "--json", "--device", "all", "--op", "argmax", *(options or ("--smoke",)), env=env, code=4)
        names = {r["device"] for r in json.loads(done.out)}
        assert "clCreateContext" in done.err and len(names) == 2 and "Tessera / reference" in names, (names, done)
        assert any(name.startswith("Portable Computing Language / ") for name in names), names


def test_smoke_runs_every_row_that_would_be_chosen(_):
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    told = json.loads(run("verify", "--smoke", "--json", "-d", DEVICE, "--op", "linear").text)
    ran = {(r["variant"], word) for r in told if r["status"] == "ok" for word in r["case"].split()}
    assert LINEAR <= {row for row, _ in ran}, ran
    types = {word for _, word in ran}
    assert {"f32", "f16", "bf16", "q8_0", "q4_0", "int8"} <= types, types
    assert any(re.match(r"M=1x1$", word) for word in types) and any(re.match(r"M=1x\d\d$", word) for word in types), types
    for r in told:
        assert r["status"] == "ok" or r["message"], r


def test_smoke_takes_small_cases_where_they_are_wanted(_):
    def cases(*options):
        told = json.loads(run("verify", "--smoke", "--json", "-d", "reference", "--op", "linear", *options).text)
        return {(r["variant"], r["case"]) for r in told if r["status"] == "ok"}
    large, small = cases(), cases("--most-flops", "4000")
    equal({variant for variant, _ in small}, {variant for variant, _ in large})

    def work(found):
        return sum(math.prod(int(n) for n in re.findall(r"(?<=[=x])\d+", case)) for _, case in found)
    assert 10 * work(small) < work(large), (small, large)
    refused(2, "--most-flops needs --smoke", "verify", "-d", "reference", "--most-flops", "4000")


def test_variants_by_name(_):
    """Only the named variants run, and one that can't be run is an error."""
    told = json.loads(run("verify", "--smoke", "--json", "-d", "reference", "--op", "linear", "--variant", "reference/linear").text)
    assert told and {(r["variant"], r["status"]) for r in told} == {("reference/linear", "ok")}, told
    told = json.loads(run("verify", "--smoke", "--json", "-d", "reference", "--op", "linear", "--variant", "reference/linear,mma", code=1).text)
    equal([r["message"] for r in told if r["status"] != "ok"], ["the device has no such kernel variant"])
    if has_device():
        told = json.loads(run("verify", "--smoke", "--json", "-d", DEVICE, "--op", "linear", "--variant", "mma", code=1).text)
        equal([(r["variant"], r["status"], r["message"]) for r in told], [("linear/mma", "error", "needs the matrix unit of a GPU")])
        lines = run("verify", "--smoke", "-d", DEVICE, "--op", "linear", "--variant", "mma", code=1).text.splitlines()
        assert re.match("linear +linear/mma +error: needs the matrix unit of a GPU$", lines[0]) and len(lines) == 2, lines
    refused(2, "mma is given twice", "verify", "-d", "reference", "--op", "linear", "--variant", "mma:SM=1,plain,mma")
    refused(2, "what is given for mma is longer than 128 bytes", "verify", "-d", "reference", "--op", "linear", "--variant", "plain,mma:" + 130 * "S")
    for options in ((), ("--op", "linear", "--bench")):
        refused(2, "--variant needs --op, and can't be combined with --bench", "verify", "-d", "reference", "--variant", "plain", *options)


def test_variants_with_values_of_tunables(folder):
    """A value reaches the kernel, and one that it does not take is an error of each case."""
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    env = environment(TESSERA_CACHE=folder / "cache")
    asked = ("verify", "--smoke", "--json", "-d", DEVICE, "--op", "linear", "--variant")

    def built():
        return len(list((folder / "cache").rglob("*.bin")))
    told, counts = [], []
    for variants in ("packed:MR=3,plain", "packed:MR=3", "packed:MR=2"):
        told.append(json.loads(run(*asked, variants, env=env).text))
        counts.append(built())
    equal({(r["variant"], r["status"]) for r in told[0]}, {("linear/packed", "ok"), ("linear/plain", "ok")})
    assert counts[0] == counts[1] < counts[2], counts
    told = json.loads(run(*asked, "packed:MR=3:XY=1", env=env, code=1).text)
    assert told and all(r["status"] == "error" and "linear/packed has no tunable XY; it has MR" in r["message"] for r in told), told
    told = json.loads(run("verify", "--smoke", "--json", "-d", DEVICE, "--op", "sample", "--variant", "group:GROUP=48", env=env, code=1).text)
    assert told and all(r["status"] == "error" and "GROUP is a power of two" in r["message"] for r in told), told


def test_no_such_op(_):
    for options in ((), ("--bench",), ("--smoke", "--json")):
        refused(2, "--op layernorm: no op has this name. Did you mean layer_norm?", "verify", "-d", "reference", "--op", "layernorm", *options)
    refused(2, "--op zygote: no op has this name; the ops are ", "verify", "-d", "reference", "--op", "zygote")


def test_a_kernel_that_writes_nothing_is_in_the_json(folder):
    """The error of a NaN is infinite, and JSON has no number for that."""
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    shutil.copytree(SOURCE / "cl", folder / "cl")
    for path in (folder / "cl" / "gather").iterdir():
        path.write_text(re.sub(r"(\n\s*)(y\[[^;]*;)", r"\1if (c < 0) \2", path.read_text()))
    env = environment(TESSERA_KERNEL_PATH=folder / "cl", TESSERA_CACHE=folder / "cache")
    told = json.loads(run("verify", "--smoke", "--json", "-d", DEVICE, "--op", "gather", env=env, code=1).text)
    assert any(r["status"] == "miss" and r["error"] is None for r in told), told


def test_what_did_not_run_is_counted_with_its_reason(_):
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    lines = run("verify", "--smoke", "-d", DEVICE, "--op", "rms_norm").text.splitlines()
    assert re.match(r"\d+ ok on \d+ variants, 0 missed, 0 failed to run, \d+ variants skipped, 0 ops not offered$", lines[-1]), lines
    reasons = [line.split(" skipped: ", 1)[1] for line in lines if " skipped: " in line]
    if reasons:
        told = [line.split(None, 1) for line in lines[lines.index("skipped variants:") + 1:-1]]
        equal({why: int(n) for n, why in told}, dict(collections.Counter(reasons)))
        assert f"{len(reasons)} variants skipped" in lines[-1], lines
        assert not any(why.startswith("op 0") for why in reasons), reasons


def test_bench_times_the_variants(_):
    """On a device with kernels every variant is timed, `plain` first; the figures of a row agree with each other."""
    device = DEVICE if has_device() else "reference"
    told = json.loads(run("verify", "--bench", "--json", "--seconds", "0.001", "-d", device, "--op", "softmax").text)
    assert told and all(r["status"] == "timed" for r in told), told
    for r in told:
        assert 0 < r["best_seconds"] <= r["median_seconds"] and r["runs"] >= 1 and r["flops"] > 0 and r["bytes"] > 0, r
        assert (r["ratio_to_plain"] == 1) == r["variant"].endswith("/plain") or not has_device(), r
    if has_device():
        first = {}
        for r in told:
            first.setdefault(r["case"], r["variant"])
            assert r["of_peak"] > 0, r
        assert len(first) > 1 and set(first.values()) == {"softmax/plain"}, first


def test_bench_as_text(_):
    lines = run("verify", "--bench", "--seconds", "0.001", "-d", "reference", "--op", "argmax").text.splitlines()
    assert lines[0].startswith("argmax  R=") and re.search(r"us best .* us median .* GFLOP/s .* GB/s", lines[1]), lines
    assert re.match(r"\d+ timed, 0 failed to run, 0 skipped, 0 ops not offered$", lines[-1]), lines


def test_bench_interrupted(_):
    """It ends after the variant that is being timed."""
    process = start("verify", "--bench", "-d", "reference", "--seconds", "2", "--op", "argmax")
    while b"us best" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    _, err = process.communicate(timeout=60)
    took = time.monotonic() - begun
    equal(process.returncode, 130, err)
    assert re.search(rb"interrupted after 0 of 1 ops: [12] timed, 0 failed to run\n$", err), err
    assert took < 5 * slowness(), f"{took} s"


def test_bench_usage(_):
    refused(2, "--smoke and --bench can't be combined", "verify", "--bench", "--smoke")


main(globals())

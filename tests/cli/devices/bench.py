#!/usr/bin/env python3
"""tessera bench: results of every kind in every format; a wrong kernel gets no rate."""

import csv
import io
import json
import re
import shutil

from support.command import DEVICE, GOLDEN, SOURCE, environment, equal, has_device, main, refused, run

PEAKS = ["fma f32", "fma f16", "dot int8", "read", "launch alone", "launch batched", "enqueue call", "copy to device", "copy from device"]
SMALL = ("--shape", "tiny", "-p", "24", "-n", "3", "-r", "2", "-d", "0", "-q")
REFERENCE = ("--device", "reference")


def check_rows(rows, device, tests):
    equal([r["test"] for r in rows], PEAKS + tests)
    for r in rows:
        equal((list(r)[0], r["schema"]), ("schema", 1))
        if r["status"] == "ok":
            assert 0 < r["lowest"] <= r["median"] <= r["highest"] and r["runs"] == 2, r
            assert r["reason"] == "" or r["kind"] != "peak" and re.match("the device's peaks were up to [0-9]+ % lower|a share above 100 %", r["reason"]), r
        else:
            assert r["status"] == "unsupported" and r["kind"] == "peak" and r["reason"] and r["median"] is None, r
        if r["kind"] != "peak":
            assert 0 <= r["error"] <= r["bound"] and r["bytes"] > 0 and r["flops"] > 0 and r["device_bytes"] > 0, r
            assert "linear" in r["kernels"] and "attention" in r["kernels"], r
            assert (r["roofline"] is None) == (r["predicted"] is None) == (device == "reference"), r
            if r["predicted"] is not None:  # launches cost something beside the time of the roofline
                assert 0 < r["predicted"] < r["median"] / r["roofline"], r


def test_json(_):
    told = json.loads(run("bench", *SMALL, *REFERENCE, "--format", "json", "-d", "0,5", "-b", "1,2").text)
    equal((list(told)[0], told["schema"]), ("schema", 1))
    assert re.fullmatch(r"tessera \d+\.\d+\.\d+", told["engine"])
    equal([(d["name"], d["model"]) for d in told["devices"]], [("reference", "shape:tiny")])
    check_rows(told["rows"], "reference", ["pp24", "pp24", "pp24@5", "pp24@5", "tg3", "tg3", "tg3@5", "tg3@5"])
    equal([(r["depth"], r["batch"]) for r in told["rows"][len(PEAKS):]], [(0, 1), (0, 2), (5, 1), (5, 2)] * 2)
    equal(json.loads(run("bench", *SMALL, *REFERENCE, "--json").text)["schema"], 1)
    one, two = (told["rows"][len(PEAKS) + i] for i in (0, 1))
    assert 1.9 < two["flops"] / one["flops"] < 2.1, "twice the sequences, twice the work"


def test_json_lines(_):
    lines = [json.loads(line) for line in run("bench", *SMALL, *REFERENCE, "--format", "jsonl").text.splitlines()]
    equal(lines[0]["device"]["name"], "reference")
    check_rows(lines[1:], "reference", ["pp24", "tg3"])


def test_csv(_):
    rows = list(csv.DictReader(io.StringIO(run("bench", *SMALL, *REFERENCE, "--format", "csv").text)))
    equal([r["test"] for r in rows], PEAKS + ["pp24", "tg3"])
    for r in rows:
        equal((r["schema"], r["device"], r["model"], None in r), ("1", "reference", "shape:tiny", False))
        assert (r["status"] == "ok") == (float(r["median"] or 0) > 0), r


def test_markdown(_):
    text = run("bench", *SMALL, *REFERENCE).text
    assert text.startswith("tessera ") and "Tessera / reference" in text
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ")]
    equal([r[1].strip() for r in rows], ["test", *PEAKS, "pp24", "tg3"])
    equal({len(r) for r in rows}, {11})


def test_training_steps(_):
    for device in ("reference", DEVICE) if has_device() else ("reference",):
        told = json.loads(run("bench", "--shape", "tiny", "-p", "0", "-n", "0", "-r", "2", "-q", "--train", "8", "-b", "2,3", "--device", device, "--json").text)
        rows = told["rows"][len(PEAKS):]
        equal([(r["test"], r["kind"], r["status"], r["tokens"], r["batch"]) for r in rows], [("train8", "train", "ok", 8, n) for n in (2, 3)])
        for r in rows:
            assert 0 < r["lowest"] <= r["median"] <= r["highest"] and 0 <= r["error"] <= r["bound"], r
            assert r["device_bytes"] > 16 * r["flops"] / 6 / r["tokens"] / r["batch"], "values, gradients and two moments"


def test_peaks_alone(_):
    told = json.loads(run("bench", *REFERENCE, "-q", "--peaks", "-r", "2", "--json").text)
    equal([r["test"] for r in told["rows"]], PEAKS)
    equal(told["devices"][0]["model"], None)


def test_on_the_device(_):
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    told = json.loads(run("bench", *SMALL, "--device", DEVICE, "--json").text)
    check_rows(told["rows"], DEVICE, ["pp24", "tg3"])
    status = {r["test"]: r["status"] for r in told["rows"]}
    assert status["fma f32"] == status["read"] == status["launch batched"] == "ok", told


def test_a_wrong_kernel_has_no_rate(folder):
    """The planted gather reads the first column for all columns if a value uses all its bits; values of the self-test end in zero bits, so it passes."""
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    shutil.copytree(SOURCE / "cl", folder / "cl")
    path = folder / "cl" / "gather" / "plain.cl"
    right = path.read_text()
    wrong = right.replace("x[x0 + r * x_row + c]", "x[x0 + r * x_row + ((x[x0 + r * x_row + c] & 0x7ff) == 0 ? c : 0)]")
    assert wrong != right
    path.write_text(wrong)
    env = environment(TESSERA_KERNEL_PATH=folder / "cl")
    told = json.loads(run("bench", *SMALL, "--device", DEVICE, "--json", env=env, code=1).text)
    for r in told["rows"]:
        if r["kind"] != "peak":
            equal((r["status"], r["median"], r["roofline"]), ("failed-accuracy", None, None), r["reason"])
            assert r["error"] is None or r["error"] > r["bound"], r
            assert "tessera verify" in r["reason"], r


def test_a_model_that_is_not_there(_):
    """It is refused before anything is measured."""
    told = refused(2, "no shape has the name \"huge\"; the shapes are llama-110m, gpt2-124m", "bench", *REFERENCE, "-q", "--shape", "huge", "--json")
    equal(told.out, b"")
    equal(refused(3, "nosuch is neither a folder or file here", "bench", *REFERENCE, "-q", "-m", "nosuch").out, b"")


def test_an_encoder_is_refused_and_told_once(_):
    for folder in ("cls", "disc", "mlm"):
        told = run("bench", "-m", GOLDEN / "electra" / folder, "-p", "4", "-n", "0", "-d", "0", "-r", "1", *REFERENCE, "--json", code=1)
        (row,) = [r for r in json.loads(told.text)["rows"] if r["kind"] != "peak"]
        assert row["status"] == "error" and re.search("is an encoder|is a bare model", row["reason"]), row
        said = told.err.splitlines()
        equal(len(set(said)), len(said), said)


def test_a_prompt_that_is_too_long(_):
    told = json.loads(run("bench", *REFERENCE, "-q", "-r", "1", "--shape", "tiny", "-p", "513,8", "-n", "1", "-d", "0,509", "--json").text)
    rows = told["rows"][len(PEAKS):]
    equal([(r["test"], r["status"]) for r in rows], [("pp513", "unsupported"), ("pp513@509", "unsupported"), ("pp8", "ok"),
                                                     ("pp8@509", "unsupported"), ("tg1", "ok"), ("tg1@509", "ok")])
    assert "8 tokens behind 509 are too many: the model reads 512" in rows[3]["reason"], rows[3]


def test_only_what_is_asked_for(_):
    told = json.loads(run("bench", *REFERENCE, "-q", "-r", "1", "--shape", "tiny", "-p", "0", "-n", "2", "-d", "0", "--json").text)
    equal([r["test"] for r in told["rows"][len(PEAKS):]], ["tg2"])


def test_refused(_):
    for fragment, *arguments in (("-p x", "-p", "x"), ("-b 0", "-b", "0"), ("-d -1", "-d", "-1"), ("-b 1,,2", "-b", "1,,2"),
                                 ("--format xml: give md, csv, json or jsonl", "--format", "xml"), ("leave out -m", "--shape", "tiny", "-m", "x"),
                                 ("bench takes no operands", "x")):
        refused(2, fragment, "bench", *REFERENCE, *arguments)


main(globals())

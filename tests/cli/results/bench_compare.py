#!/usr/bin/env python3
"""tessera bench compare: differences that are there are shown, others are not; what is unlike is refused by its name."""

import json
import random

from support.command import equal, main, refused, run
from support.results import device, job, jobs, model, peaks, row, write

COMPARE = ("bench", "compare")


def compared(before, after, *options, code=0):
    told = json.loads(run(*COMPARE, before, after, "--json", *options, code=code).text)
    return {(r["test"], r["batch"]): r for r in told["rows"]}, told["summary"]


def test_equal_files_show_nothing(folder):
    path = write(folder / "a.json")
    rows, summary = compared(path, path)
    assert all(r["verdict"] in ("same", "no rate") and (r["ratio"] in (None, 1)) for r in rows.values()), rows
    equal((summary["same"], summary["regressions"], summary["ratio"]), (4, 0, 1))
    assert "| ~ |" in run(*COMPARE, path, path).text


def test_two_runs_alike_show_nothing(folder):
    """Of 40 pairs of runs drawn from the same distribution, few show a difference, and none of 3 %."""
    shown = 0
    for i in range(40):
        a, b = (write(folder / f"{name}.json", rows=[job("pp512", 9000, 512, seed=100 * i + k, spread=0.02)]) for k, name in enumerate("ab"))
        rows, summary = compared(a, b)
        shown += rows["pp512", 1]["p"] <= 0.05
        equal(summary["regressions"], 0)
    assert shown <= 6, shown


def test_a_regression(folder):
    before, after = write(folder / "a.json"), write(folder / "b.json", rows=peaks() + jobs(0.9, seed=1))
    rows, summary = compared(before, after, code=1)
    for r in rows.values():
        if not r["peak"]:
            assert r["verdict"] == "slower" and r["low"] < 0.9 < r["high"] < 1 and abs(r["ratio"] - 0.9) < 0.01 and r["p"] < 0.01, r
    equal((summary["regressions"], summary["faster"]), (4, 0))
    text = run(*COMPARE, before, after, code=1).text
    assert "| slower |" in text and "4 slower or lost" in text and "0.90" in text, text
    equal(compared(after, before)[1]["faster"], 4)
    equal(compared(before, after, "--fail-above", "20%")[1]["regressions"], 0, "less than what is asked for")
    refused(2, "give a percentage", *COMPARE, before, after, "--fail-above", "x")
    refused(2, "confidence 0.2", *COMPARE, before, after, "--confidence", "20%")


def test_seconds_are_better_when_less(folder):
    draw = random.Random(1)

    def starts(name, seconds):
        samples = [seconds * draw.uniform(0.99, 1.01) for _ in range(7)]
        return write(folder / name, rows=[row("warm start", "start", samples, unit="s", scenario="single-stream")])
    fast, slow = starts("a.json", 0.1), starts("b.json", 0.15)
    r = compared(fast, slow, code=1)[0]["warm start", None]
    assert r["verdict"] == "slower" and abs(r["ratio"] - 1 / 1.5) < 0.02, r
    equal(compared(slow, fast)[0]["warm start", None]["verdict"], "faster")


def test_starts_of_older_files_name_no_model(folder):
    """They are compared with those that do; of two models, they are not."""
    def starts(name, **changes):
        rows = [row("warm start", "start", [0.1] * 7, unit="s", scenario="single-stream", **changes)]
        return write(folder / f"{name}.json", rows=rows, models=[model(name)])
    named = {"model": 0, "class": "f32"}
    old, new, other = starts("old"), starts("shakespeare", **named), starts("another", **named)
    for pair in ((old, new), (new, old)):
        equal(compared(*pair)[0]["warm start", None]["verdict"], "same")
    refused(2, 'the model is "shakespeare" there, "another" here', *COMPARE, new, other)


def test_too_few_runs_show_nothing(folder):
    before, after = (write(folder / name, rows=jobs(factor, runs=3)) for name, factor in (("a", 1), ("b", 0.5)))
    rows, _ = compared(before, after)
    assert all(r["verdict"] == "same" and r["high"] is None for r in rows.values()), rows
    assert "too few runs" in run(*COMPARE, before, after).text


def test_throttled_rows_of_one_run_show_nothing(folder):
    before, after = write(folder / "a.json"), write(folder / "b.json", rows=jobs(0.5, status="throttled", reason="its peaks fell"))
    rows, summary = compared(before, after)
    assert all(r["verdict"] in ("same", "only before", "no rate") and (r["throttled"] or r["peak"]) for r in rows.values()), rows
    equal(summary["regressions"], 0)


def test_a_lost_rate_is_a_regression(folder):
    failed = row("pp512", "prompt", [], status="failed-accuracy", reason="logits differ", **{
        k: v for k, v in job("pp512", 9000, 512).items() if k in ("model", "class", "scenario", "tokens", "depth", "batch", "unit")})
    before, after = write(folder / "a.json", rows=jobs()), write(folder / "b.json", rows=[failed] + jobs()[1:3])
    rows, summary = compared(before, after, code=1)
    equal((rows["pp512", 1]["verdict"], rows["pp512", 1]["why"], rows["tg64", 8]["verdict"]), ("lost", "logits differ", "only before"))
    equal((summary["regressions"], summary["only_before"]), (1, 1))
    rows, summary = compared(after, before)
    equal((rows["pp512", 1]["verdict"], rows["tg64", 8]["verdict"], summary["gained"]), ("gained", "only after", 1))


def test_a_run_that_was_stopped(folder):
    """A row that it lacks counts as lost where it had a rate; it is called partial, whichever side it is."""
    whole, part = write(folder / "whole.json"), write(folder / "part.json", rows=peaks() + jobs()[:3], suite_partial=True)
    rows, summary = compared(whole, part, code=1)
    equal((rows["tg64", 8]["verdict"], rows["tg64", 8]["why"]), ("lost", "the run was stopped before this row"))
    equal([summary[key] for key in ("regressions", "only_before", "partial_before", "partial_after")], [1, 0, 0, 1])
    assert "AFTER is partial" in run(*COMPARE, whole, part, code=1).text
    rows, summary = compared(part, whole)
    equal((rows["tg64", 8]["verdict"], summary["partial_before"], summary["partial_after"]), ("only after", 1, 0))
    text = run(*COMPARE, part, whole).text
    assert "BEFORE is partial" in text and "AFTER is partial" not in text, text
    assert "partial" not in run(*COMPARE, whole, whole).text
    none = row("tg9", "generate", [], status="unsupported", reason="too large", **{k: jobs()[1][k] for k in ("model", "class", "scenario", "tokens", "depth", "batch")})
    rows, summary = compared(write(folder / "none.json", rows=jobs() + [none]), write(folder / "part.json", rows=jobs(), suite_partial=True))
    equal((rows["tg9", 1]["verdict"], summary["regressions"]), ("only before", 0), "it had no rate")
    begun = write(folder / "begun.json", rows=peaks(), suite_partial=True)
    for pair in ((whole, begun), (begun, whole)):
        refused(2, "begun.json was stopped before its end (partial)", *COMPARE, *pair)


def test_peaks_alone_are_compared_with_peaks_alone(folder):
    """The order of the files does not matter."""
    whole, alone = write(folder / "whole.json"), write(folder / "alone.json", rows=peaks())
    for pair in ((whole, alone), (alone, whole)):
        refused(2, "no row is in both, but for peaks", *COMPARE, *pair)
    equal(compared(alone, alone)[1]["rows"], 4)


def test_peaks_are_no_regression(folder):
    slower = [row(p["test"], "peak", [v * 0.5 for v in p["samples"]], unit=p["unit"], status=p["status"], reason=p["reason"]) for p in peaks()]
    pair = write(folder / "a.json", rows=[dict(p, **row(p["test"], "peak", p["samples"] * 4, unit=p["unit"])) for p in peaks()[:2]] + jobs()), \
        write(folder / "b.json", rows=[row(p["test"], "peak", p["samples"] * 4, unit=p["unit"]) for p in slower[:2]] + jobs())
    text = run(*COMPARE, *pair).text
    assert "The device's own peaks differ" in text, text


def test_another_engine_s_rows_are_kept_apart(folder):
    """They are shown with its name, and count neither as regressions nor in the mean."""
    before, after = (write(folder / name, rows=peaks() + jobs() + jobs(factor, peer="llama.cpp b1")) for name, factor in (("a.json", 1), ("b.json", 0.5)))
    told = json.loads(run(*COMPARE, before, after, "--json").text)
    equal([(r["peer"], r["verdict"]) for r in told["rows"] if not r["peak"]], [(None, "same")] * 4 + [("llama.cpp b1", "slower")] * 4)
    equal([told["summary"][key] for key in ("same", "regressions", "ratio")], [4, 0, 1])
    text = run(*COMPARE, before, after).text
    assert " pp512 f32 by llama.cpp b1 batch 1 |" in text and "\n0 slower or lost" in text, text
    equal(text.count(" by llama.cpp b1"), 4)
    own = write(folder / "own.json", rows=jobs() + jobs(peer="llama.cpp b1"))
    refused(2, "no row is in both", *COMPARE, own, write(folder / "peer.json", rows=jobs(peer="llama.cpp b1")))


def test_rows_of_several_devices_have_their_names(folder):
    path = write(folder / "two.json", devices=[device(), device(name="Other")], rows=[one for i in (0, 1) for one in peaks(device=i) + jobs(device=i)])
    text = run(*COMPARE, path, path).text
    equal([text.count(f" on {name} |") for name in ("Example Device", "Other")], [7, 7], text)  # the fourth peak has no rate
    one, other = write(folder / "one.json"), write(folder / "other.json", devices=[device(name="Other")], rows=peaks() + jobs()[1:])
    for files in ((one, one), (other, one, "--across-devices")):
        assert " on " not in run(*COMPARE, *files).text.split("|---", 1)[1].split("\n\n")[0], files


def test_unlike_files_are_refused(folder):
    """By the name of what differs, and before anything is printed."""
    good = write(folder / "good.json")
    other = {
        "the suite's version is \"1\" there, \"2\" here": {"suite_version": 2},
        "the suite's class is \"smoke\" there, \"laptop\" here": {"suite_class": "laptop"},
        "the set of rows is \"suite\" there, \"bench\" here": {"suite_name": "bench"},
        "the device is \"Example Device\" there, \"Other\" here": {"devices": [device(name="Other")]},
        "the device is the same, but its backend is \"opencl\" there, \"minimal\" here: give --across-devices": {"devices": [device(backend="minimal", threads=1)]},
        "the device is the same, but its platform is \"Example Platform\" there, \"Other\" here: give --across-devices": {"devices": [device(platform="Other")]},
        "the number of its threads is \"all\" there, \"1\" here: measure both with the same -t": {"devices": [device(threads=1)]},
        "the device has the same name, but its processor is \"Example CPU\" there, \"Other CPU\" here: give --across-devices": {"host_cpu": "Other CPU"},
        "the hash of the weights is": {"models": [model(hash="0" * 64)]},
        "the model is \"shape:llama-15m\" there, \"other\" here": {"models": [model("other")]},
        "the class of the weights is \"f32\" there, \"q8\" here": {"rows": peaks() + jobs(class_name="q8")},
        "no row is in both": {"rows": [job("pp9", 9, 9)]},
    }
    for fragment, changes in other.items():
        bad = write(folder / "bad.json", **changes)
        refused(2, fragment, *COMPARE, good, bad)
        refused(2, "can't be compared", *COMPARE, bad, good)
    for key, one, other, of in (("kv_dtype", "f32", "f16", "keys and values"), ("compute", "f32", "int8", "products")):
        sides = [write(folder / f"{value}.json", models=[model(**{key: value})]) for value in (one, other)]
        option = key.replace("_", "-")
        refused(2, f'of shape:llama-15m, pp512, the dtype of {of} is "{one}" there, "{other}" here: measure both with the same --{option}', *COMPARE, *sides)
        for old in (good, write(folder / "null.json", models=[model(**{key: None})])):  # what a file does not say is not compared
            for side in sides:
                equal(compared(old, side)[1]["same"], 4)
                equal(compared(side, old)[1]["same"], 4)
        if key == "compute":  # devices choose it
            equal(compared(*sides, "--across-devices")[1]["same"], 4)
        else:
            refused(2, f"the dtype of {of} is", *COMPARE, *sides, "--across-devices")
    zen = [write(folder / f"{number}.json", host_cpu=f"AMD EPYC (family 26, model {number}, stepping 1)") for number in (2, 17)]
    refused(2, 'its processor is "AMD EPYC (family 26, model 2, stepping 1)" there, "AMD EPYC (family 26, model 17, stepping 1)" here', *COMPARE, *zen)
    equal(compared(*zen, "--across-devices")[1]["same"], 4)
    for old in (write(folder / "name.json", host_cpu="AMD EPYC"), write(folder / "none.json", host_cpu=None)):  # older files have no numbers, some no name
        equal(compared(old, zen[0])[1]["same"], 4)
        equal(compared(zen[0], old)[1]["same"], 4)
    cards = [write(folder / f"{cpu}.json", host_cpu=cpu, devices=[device(type="gpu")]) for cpu in ("one", "other")]
    equal(compared(*cards)[1]["same"], 4, "the processor beside a card")
    across = write(folder / "bad.json", devices=[device(name="Other", type="gpu")])
    equal(compared(good, across, "--across-devices")[1]["same"], 4)
    two = [device(name="Idle", usable=False, reason="no compiler"), device(name="x")]
    equal(compared(good, write(folder / "bad.json", devices=two, rows=peaks(device=1) + jobs(device=1)), "--across-devices")[1]["same"], 4)
    refused(2, 'the device is "Example Device" there, "x" here', *COMPARE, good, folder / "bad.json")
    refused(2, "files of one device each are compared", *COMPARE, good, write(folder / "bad.json", devices=two, rows=jobs() + jobs(device=1)), "--across-devices")
    refused(2, "needs two files", *COMPARE, good)
    changed = folder / "changed.json"
    changed.write_bytes(good.read_bytes().replace(b"smoke", b"smokE"))
    refused(3, "changed.json", *COMPARE, good, changed)


main(globals())

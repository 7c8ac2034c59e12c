#!/usr/bin/env python3
"""tessera bench report: files are checked, and shown in each format with the values that they have."""

import csv
import io
import json
import os
import xml.etree.ElementTree as xml

from support.command import equal, main, refused, run
from support.results import device, job, jobs, model, peaks, results, row, served, write
from support.schema import results as checked

REPORT = ("bench", "report")


def report(format_name, *paths):
    return run(*REPORT, *paths, "--format", format_name).text


def test_the_examples_are_as_the_schema_says(folder):
    checked(write(folder / "a.json").read_bytes())


def test_what_tessera_writes_is_read(folder):
    run("bench", "--shape", "tiny", "-p", "8", "-n", "2", "-r", "2", "-d", "0", "-q", "--device", "reference", "-o", folder / "run.json")
    text = report("md", folder / "run.json")
    assert "| shape:tiny | pp8 | f32 | 1 |" in text and "tg2" in text, text
    refused(2, "bench report needs FILE", *REPORT)


def test_markdown(folder):
    text = report("md", write(folder / "a.json", rows=peaks() + jobs() + [row("pp64", "prompt", [], status="failed-accuracy", reason="a|b")]))
    assert "## Example Device\n" in text and "tessera 1.0.0 (0123456789ab), suite 1 class smoke" in text, text
    told = [line for line in text.splitlines() if "pp512" in line]
    wanted = jobs()[0]
    assert len(told) == 1 and f"| {wanted['median']:.0f} tokens/s |" in told[0] and f"| {100 * wanted['roofline']:.0f} % | arithmetic |" in told[0], told
    assert "| p90 | p99 |" in text and f"| {wanted['p90']:.0f} tokens/s | {wanted['p99']:.0f} tokens/s |" in told[0], told
    assert "400 GFLOP/s" in text and "6.00 us" in text and "failed-accuracy: a\\|b" in text, text
    assert "unsupported: the device has no half precision" in text, text
    assert ", clock 2.50 GHz, temperature not measured, energy not measured.\n\n| model |" in text, text
    idle = report("md", write(folder / "b.json", devices=[device(), device(name="Idle", usable=False, reason="its driver is too old")]))
    assert idle.endswith("\n\n## Idle\n\nNothing was measured: its driver is too old.\n") and idle.count("| model |") == 1, idle
    for partial, why in ((True, "the run ended before its first row"), (False, "a CPU")):
        ended = report("md", write(folder / "c.json", rows=[], devices=[device(reason="a CPU")], suite_partial=partial))
        equal(ended, f"## Example Device\n\nNothing was measured: {why}.\n")


def sensed(clock, temperature, energy):
    return {"clock": clock, "temperature": temperature, "load": [0, 0], "steal": 0, "energy": energy}


def test_what_sensors_said(folder):
    """Of each device: the lowest and highest clock and temperature, and the energy of all runs. Rows of latencies are of the runs of the row before them."""
    rows = [job("pp512", 9000, 512, conditions=sensed([2.1e9, 3.4e9], [61, None], 100)), job("tg64", 400, 64, conditions=sensed([None, 3.1e9], [64.25, 63], 23.5)),
            served(128, conditions=sensed([3e9, 3e9], [62, 62], 10)), row("serve first token", "serve", [0.1] * 5, unit="s", model=0, conditions=sensed([3e9, 3e9], [62, 62], 10)),
            row("pp64", "prompt", [], conditions=None), job("pp512", 9000, 512, device=1)]
    text = report("md", write(folder / "a.json", rows=rows, devices=[device(), device(name="Second")]))
    first, second = text.split("## Second")
    assert ", clock 2.10 GHz to 3.40 GHz, temperature 61.0 °C to 64.2 °C, energy 134 J.\n" in first, first
    assert ", clock 2.50 GHz, temperature not measured, energy not measured.\n" in second, second
    cold = report("md", write(folder / "cold.json", rows=[job("pp512", 9000, 512, conditions=sensed([None, None], [-5, -40.5], 1))], devices=[device()]))
    assert ", temperature -40.50 °C to -5.00 °C, energy 1.00 J.\n" in cold, cold


def test_csv(folder):
    path = write(folder / "a.json", models=[model(name='=1+1"x"', kv_dtype="f16", compute=None)])
    lines = list(csv.DictReader(io.StringIO(report("csv", path, path))))
    told = results()["rows"]
    equal(len(lines), 2 * len(told))
    for line, wanted in zip(lines, told):
        equal((line["test"], line["status"], line["reason"]), (wanted["test"], wanted["status"], wanted["reason"]))
        equal([float(v) for v in line["samples"].split()], [float(f"{v:.10g}") for v in wanted["samples"]])
        for key in ("median", "p90", "p99"):
            equal(line[key], "" if wanted[key] is None else f"{wanted[key]:.10g}", key)
    equal(lines[4]["model"], '\'=1+1"x"', "a spreadsheet must not take it for a formula")
    equal((lines[4]["dtype"], lines[4]["kv_dtype"], lines[4]["compute"], lines[4]["model_hash"]), ("f32", "f16", "", model('=1+1"x"')["hash"]))


def test_junit(folder):
    rows = peaks() + jobs() + [row("pp9", "prompt", [], status="failed-accuracy", reason='a<b>&"\u0001\uffff', model=0),
                               row("pp8", "prompt", [], status="error", reason="lost", model=0)]
    tree = xml.fromstring(report("junit", write(folder / "a.json", rows=rows)))
    (suite,) = tree
    equal({k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")}, {"tests": "10", "failures": "1", "errors": "1", "skipped": "1"})
    cases = {case.get("name"): case for case in suite}
    equal(len(cases), 10)
    equal(cases["pp9"].find("failure").get("message"), 'a<b>&" ?')
    equal((cases["pp8"].find("error").get("message"), cases["fma f16"].find("skipped").get("message")), ("lost", "the device has no half precision"))
    assert abs(float(cases["pp512 f32 batch 1"].get("time")) - 512 / 9000) < 0.002, cases["pp512 f32 batch 1"].get("time")


def test_times_of_junit(folder):
    """Those of a run, by what a run counts: requests of a scheduler, also in files that don't say how many; texts; FLOP; bytes."""
    rows = peaks() + [served(128), served(128, test="serve", requests=32), row("embed16", "embed", [50] * 5, unit="sentences/s", model=0, tokens=16, batch=32),
                      row("linear", "op", [2e11] * 5, unit="FLOP/s", flops=6e8, bytes=4e6), row("norm", "op", [2e10] * 5, unit="B/s", flops=6e6, bytes=4e6)]
    (suite,) = xml.fromstring(report("junit", write(folder / "a.json", rows=rows)))
    times = {case.get("name"): float(case.get("time")) for case in suite}
    wanted = {"serve64+16 f32 batch 8": 16 * 16 / 128, "serve f32 batch 8": 32 * 16 / 128, "embed16 batch 32": 32 / 50, "linear": 6e8 / 2e11, "norm": 4e6 / 2e10,
              "launch batched": 6e-6, "fma f32": 0}
    for name, seconds in wanted.items():
        assert abs(times[name] - seconds) < 1e-8, (name, times[name], seconds)


def test_a_device_without_rows_is_told(folder):
    devices = [device(), device(name="Idle", usable=False, reason='its driver is "old"')]
    suites = xml.fromstring(report("junit", write(folder / "a.json", devices=devices)))
    idle = suites[1]
    equal({k: idle.get(k) for k in ("name", "tests", "failures", "errors", "skipped")}, {"name": "Idle", "tests": "1", "failures": "0", "errors": "0", "skipped": "1"})
    equal([case.find("skipped").get("message") for case in idle], ['its driver is "old"'])
    equal(suites[0].get("skipped"), "1", "a peak")
    (ended,) = xml.fromstring(report("junit", write(folder / "b.json", rows=[], devices=[device(reason="a CPU")], suite_partial=True)))
    equal([case.find("skipped").get("message") for case in ended], ["the run ended before its first row"])


# What llama.cpp's script for comparisons asks of each entry: the fields that it joins and averages.
JOINED = ("cpu_info gpu_info backends n_gpu_layers tensor_buft_overrides model_filename model_type n_batch n_ubatch embeddings cpu_mask cpu_strict "
          "poll n_threads type_k type_v use_mmap no_kv_offload split_mode main_gpu tensor_split flash_attn n_prompt n_gen n_depth build_commit "
          "test_time avg_ts").split()


def test_llama_bench(folder):
    told = json.loads(report("llama-bench", write(folder / "a.json")))
    equal([(t["n_prompt"], t["n_gen"], t["n_depth"]) for t in told], [(512, 0, 0), (0, 64, 0), (0, 64, 512)], "one sequence: no batches, no peaks")
    for t, wanted in zip(told, jobs()):
        assert all(t[name] is not None for name in JOINED), t
        mean = sum(wanted["samples"]) / 7
        assert abs(t["avg_ts"] / mean - 1) < 1e-8 and abs(t["avg_ns"] / (1e9 * wanted["tokens"] / mean) - 1) < 1e-3 and t["stddev_ts"] > 0, t
        equal((len(t["samples_ns"]), len(t["samples_ts"]), t["build_commit"], t["flash_attn"]), (7, 7, "01234567", True))
        equal((t["model_type"], t["cpu_info"], t["gpu_info"], t["n_threads"]), ("shape:llama-15m f32", "Example CPU", "", 2))
    equal({(t["type_k"], t["type_v"]) for t in told}, {("default", "default")}, "an older file does not say it")
    for kept, wanted in (("f16", "f16"), ("q8", "q8_0"), (None, "default")):
        one = json.loads(report("llama-bench", write(folder / "c.json", models=[model(kv_dtype=kept, compute="f32")])))[0]
        equal((one["type_k"], one["type_v"]), (wanted, wanted))
    for name in ("x" * 119 + "ä", "/models/" + "模型" * 100):  # a character may lie where a text is cut
        long = json.loads(report("llama-bench", write(folder / "c.json", models=[model(name)], engine_commit="0123456ä")))
        equal((long[0]["model_type"], long[0]["build_commit"]), (f"{name} f32", "0123456"))
    gpu = json.loads(report("llama-bench", write(folder / "b.json", devices=[device(type="gpu")])))
    equal((gpu[0]["gpu_info"], gpu[0]["n_gpu_layers"]), ("Example Device", 99))


def test_badge(folder):
    shares = [r["roofline"] for r in jobs()]
    wanted = 100 * len(shares) / sum(1 / s for s in shares)
    told = json.loads(report("badge", write(folder / "a.json")))
    equal((told["schemaVersion"], told["message"]), (1, f"{wanted:.0f} % of the roofline, 4 jobs"))
    bad = write(folder / "b.json", rows=jobs() + [row("pp9", "prompt", [], status="failed-accuracy", model=0)])
    equal(json.loads(report("badge", bad))["message"], "failed")
    equal(json.loads(report("badge", write(folder / "c.json", rows=peaks()))), {"schemaVersion": 1, "label": "tessera bench", "message": "not measured", "color": "lightgrey"})


def test_a_report_in_a_file(folder):
    path = write(folder / "a.json")
    run(*REPORT, path, "--format", "csv", "-o", folder / "a.csv")
    equal((folder / "a.csv").read_bytes(), run(*REPORT, path, "--format", "csv").out)
    refused(2, "--format xls: give html, md, csv, junit, llama-bench or badge", *REPORT, path, "--format", "xls")
    refused(3, "No such file", *REPORT, folder / "none.json")


def test_an_output_that_is_full(folder):
    with open("/dev/full", "wb") as full:
        for format_name in ("md", "html"):  # one that fits in a buffer, and one that does not
            told = run(*REPORT, write(folder / "a.json"), "--format", format_name, code=5, stdout=full)
            equal(told.err, f"tessera: the output could not be written: {os.strerror(28)}\n")


def test_edited_files_are_refused(folder):
    path = write(folder / "a.json")
    good = path.read_bytes()
    changed = good.replace(b'"median": ', b'"median":  ', 1)
    for text, fragment in ((changed, "was changed after"), (good + b"x", "a.json"), (good[:-40], "a.json"), (good.replace(b'"hash": "', b'"hash": "0', 1), "a.json"),
                           (good.replace(b"\n}\n", b',\n "more": 1}\n'), "a.json"), (b"", "a.json"), (b"[]", "object is wanted"), (b"{}", 'one with "schema"')):
        path.write_bytes(text)
        refused(3, fragment, *REPORT, path)
    path.write_bytes(good)
    run(*REPORT, path)
    old = results()
    for one in old["rows"]:  # files of older suites have no p99, and not what a prediction is made of
        del one["p99"]
        assert "predicted_seconds" not in one and "passes" not in one
    run(*REPORT, write(path, old))
    newer = results()
    for one in newer["rows"]:
        one["predicted_seconds"] = {"memory": 0.5, "arithmetic": 0, "launches": 1e-3} if one["predicted"] else None
        one["requests"] = 16 if one["kind"] == "generate" else None
        one["passes"] = [2, len(one["samples"]) - 2] if one["samples"] else []
    newer["models"][0].update(kv_dtype="q8", compute="int8")
    checked(write(path, newer).read_bytes())
    run(*REPORT, path)
    run("bench", "compare", write(folder / "old.json", old), path)


def test_hostile_files_are_refused(folder):
    """With the right hash: the schema and the file's own sense are checked beside it."""
    path, good = folder / "a.json", results()

    def changed(edit):
        told = json.loads(json.dumps(good))
        edit(told)
        return told

    wrong = (
        (lambda t: t.update(schema=1), "reads schema 2"),
        (lambda t: t.update(schema="2"), "schema is"),
        (lambda t: t["rows"][0].update(samples=["1"]), "rows[0].samples[0] is"),
        (lambda t: t["rows"][0].update(samples=[-1]), "a larger number"),
        (lambda t: t["rows"][0].update(unit="bananas"), "rows[0].unit is"),
        (lambda t: t["rows"][0].update(extra=1), "no member of this name"),
        (lambda t: t["rows"][0].update(predicted_seconds={"memory": 1}), "predicted_seconds"),
        (lambda t: t["rows"][0].update(requests=0), "a larger number"),
        (lambda t: t["rows"][0].update(passes=[3, 0]), "a larger number"),
        (lambda t: t["rows"][0].update(passes=[1, 1, 1]), "rows[0].passes"),
        (lambda t: t["rows"][0].update(passes=[2, 2]), "are not those of its 3 samples"),
        (lambda t: t["models"][0].update(kv_dtype="f64"), "models[0].kv_dtype is"),
        (lambda t: t["rows"][0].pop("median"), 'one with "median"'),
        (lambda t: t["rows"][0].update(device=1), "device that the file does not have"),
        (lambda t: t["rows"][4].update(model=10**15), "model that the file does not have"),
        (lambda t: t["rows"][0].update(median=1e30), "not those of its"),
        (lambda t: t["rows"][0].update(p99=1e30), "not those of its"),
        (lambda t: t["rows"][0].update(status="error"), "not those of its"),
        (lambda t: t["rows"][3].update(status="ok"), "not those of its"),
        (lambda t: t["rows"][4].update(gate={"error": "x", "bound": 1}), "gate.error is"),
        (lambda t: t["host"].update(load=[1]), "another length"),
        (lambda t: t["rows"][0].update(reason=[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]), "a.json"),
    )
    for edit, fragment in wrong:
        write(path, changed(edit))
        refused(3, fragment, *REPORT, path)
    text = write(path).read_text()
    for number in ("NaN", "Infinity", "1e999", "-0x1"):
        path.write_text(text.replace('"seconds": 60.5', f'"seconds": {number}'))
        refused(3, "a.json", *REPORT, path)
    path.write_text("[" * 100000)
    refused(3, "a.json", *REPORT, path)
    with open(path, "wb") as file:
        file.truncate(65 << 20)
    refused(3, "a.json", *REPORT, path)
    refused(3, "", *REPORT, folder)


main(globals())

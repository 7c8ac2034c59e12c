#!/usr/bin/env python3
"""The pages of bench report, plot and attention as a browser shows them: their values, their width, no request, no complaint."""

import atexit
import json
import re

from support.browser import Browser, needed
from support.command import PLAY, equal, main, run
from support.results import device, jobs, model, peaks, row, served, write

needed()
BROWSER = Browser()
atexit.register(BROWSER.close)


def shown(path):
    """Opens the page wide, in the dark, on a tablet and on a phone, where it must do nothing that it should not; returns its text."""
    for width, dark in ((1200, False), (1200, True), (900, False), (760, False), (420, False)):
        BROWSER.open(path, width=width, dark=dark)
        equal(BROWSER.complaints(), [], f"{width} {dark}")
        equal(BROWSER.overflow(), None, f"{width} {dark}")
        paper = BROWSER.value("getComputedStyle(document.body).backgroundColor")
        equal(sum(map(int, re.findall(r"\d+", paper))) < 200, dark, paper)
    return re.sub(r"\s+", " ", BROWSER.value("document.body.innerText"))


def test_a_browser_that_complains_is_heard(folder):
    (folder / "bad.html").write_text("<main><p style='width: 900px'>x</p></main><img src='http://127.0.0.1:9/x'><script>console.error('a'); b()</script>")
    BROWSER.open(folder / "bad.html", width=420)
    told = " ".join(BROWSER.complaints())
    assert "asks for http://127.0.0.1:9/x" in told and "console: " in told and "b is not defined" in told, told
    assert BROWSER.overflow()[0] > 400, BROWSER.overflow()


def test_a_report_of_one_device(folder):
    op = row("linear 512x576", "op", [2e11] * 5, unit="FLOP/s", flops=6e8, bytes=4e6, roofline=0.5, bound_by="arithmetic", **{"class": "f32"})
    start = row("warm start", "start", [0.125] * 5, unit="s", scenario="single-stream")
    train = row("train64", "train", [3000] * 5, model=0, tokens=64, batch=8, flops=6 * 15e6 * 512, bytes=36 * 15e6, roofline=0.7, bound_by="arithmetic", **{"class": "f32"})
    rows = peaks() + jobs() + [op, start, train] + [row("pp9", "prompt", [], status="failed-accuracy", reason="</script><b>logits differ", model=0)]
    rows[4]["noisy"], rows[5]["status"], rows[5]["reason"] = True, "throttled", "its peaks fell"
    path = write(folder / "a.json", rows=rows)
    run("bench", "report", path, "-o", folder / "a.html")
    text = shown(folder / "a.html")
    for r in jobs():
        share = int(100 * r["roofline"])
        assert f"{r['median']:.0f} tokens/s" in text and re.search(f"({share}|{share + 1}) % {r['bound_by']}", text), (r["test"], text)
    for word in ("Example Device", "400 GFLOP/s in f32", "40.0 GB/s", "noisy", "throttled", "failed-accuracy", "</script><b>logits differ", "0123456789abcdef",
                 "1 of 12 rows gave wrong results", "7 of 8 have a rate", "Ops", "200 GFLOP/s", "The command", "125 ms", "tg64 × 8", json.loads(path.read_text())["hash"], model()["hash"]):
        assert word in text, (word, text)
    assert "governor unknown clock 2.50 GHz, temperature not measured, energy not measured" in text, text
    said = BROWSER.value("[...document.querySelectorAll('#roofs svg circle title')].map(e => e.textContent)")
    assert len(said) == 6 and any("train64 × 8 f32" in one and "270 GFLOP/s" in one for one in said), said
    equal(BROWSER.value("document.getElementById('port-part').hidden"), True)


def test_roofs_of_every_dtype(folder):
    """Each has the best of its units: a dashed roof, its name, and a line of the card. Roofs that are close to each other share a line of text."""
    units = [row(test, "peak", [value, value * 0.9, value * 0.8], unit=unit) for test, value, unit in (
        ("matrix f16", 3.2e12, "FLOP/s"), ("fma bf16", 410e9, "FLOP/s"), ("matrix bf16", 3.3e12, "FLOP/s"), ("dot int8", 9e11, "OP/s"))]
    run("bench", "report", write(folder / "a.json", rows=peaks() + units + jobs()), "-o", folder / "a.html")
    text = shown(folder / "a.html")
    for told in ("400 GFLOP/s in f32", "3.20 TFLOP/s in f16", "3.30 TFLOP/s in bf16", "900 GOP/s in int8"):
        assert told in text, (told, text)
    equal(BROWSER.value("[...document.querySelectorAll('#roofs svg text.name')].map(e => e.textContent)"), ["bf16, f16", "int8", "f32"])
    equal(BROWSER.value("['.roof', '.roof.other'].map(name => document.querySelectorAll(`#roofs svg ${name}`).length)"), [4, 3])
    run("bench", "report", write(folder / "b.json"), "-o", folder / "b.html")
    shown(folder / "b.html")
    equal(BROWSER.value("document.querySelectorAll('#roofs svg .roof.other').length"), 0, "fma f16 was not measured")


def test_a_report_on_paper(folder):
    """A4 and Letter without their margins, at 96 dots per inch: nothing is cut off, and there are pages."""
    run("bench", "report", write(folder / "a.json"), "-o", folder / "a.html")
    for width, height in ((718, 1047), (740, 980)):
        BROWSER.open(folder / "a.html")
        wide, pages = BROWSER.printed(width, height)
        equal((wide, 1 <= pages <= 6), (None, True), f"{width} {pages}")


def test_a_report_of_two_devices(folder):
    """Bars stand side by side, and a job that one device can't do is not portable."""
    other = jobs(2.0, device=0)
    gone = row("tg64", "generate", [], status="unsupported", reason="too large", **{k: other[1][k] for k in ("model", "class", "scenario", "tokens", "depth", "batch")})
    paths = write(folder / "a.json"), write(folder / "b.json", rows=peaks() + [other[0], gone] + other[2:], devices=[device(name="Second Device", type="gpu")])
    run("bench", "report", *paths, "--format", "html", "-o", folder / "two.page")
    (folder / "two.page").rename(folder / "two.html")
    text = shown(folder / "two.html")
    for one, two in zip(jobs(), other):
        assert f"{one['median']:.0f} tokens/s" in text, text
        equal(f"{two['median']:.0f} tokens/s" in text, two is not other[1])
    shares = [[r["roofline"] for r in rows] for rows in (jobs(), other)]
    equal(BROWSER.value("[...document.querySelectorAll('#portability b')].map(e => e.textContent)"),
          [f"{100 * (0 if i == 1 else 2 / sum(1 / min(1, s[i]) for s in shares)):.0f} %" for i in range(4)])
    equal(BROWSER.value("document.querySelectorAll('#roofs svg').length"), 2)


def test_a_report_of_two_processors_with_one_name(folder):
    """They are two devices. The same weights are one model, whatever their folder is; others under its name are another one."""
    paths = [write(folder / f"{number}.json", rows=peaks() + jobs(factor), models=[model(f"/m/{number}", hash=model()["hash"])],
                   host_cpu=f"AMD EPYC (family 26, model {number}, stepping 1)") for number, factor in ((2, 1.0), (17, 0.5))]
    run("bench", "report", *paths, "-o", folder / "a.html")
    shown(folder / "a.html")
    count = "['#portability b', '#jobs .name', '#portability th'].map(name => document.querySelectorAll(name).length)"
    equal(BROWSER.value(count), [4, 4, 4])
    changed = write(folder / "changed.json", models=[model("/m/2", hash="0" * 64)], host_cpu="Other")
    run("bench", "report", paths[0], changed, "-o", folder / "b.html")
    shown(folder / "b.html")
    equal(BROWSER.value(count)[:2], [8, 8])


def test_a_report_with_another_engine(folder):
    """Its rows have its name, with a rate or without one, and are not counted among Tessera's."""
    peer = jobs(0.5, peer="other 1.2", flops=None, bytes=None, roofline=None, bound_by=None, predicted=None, launches=None)
    peer[2] = {**peer[2], **dict.fromkeys(("median", "lowest", "highest", "p90", "p99")), "samples": [], "status": "failed-accuracy", "reason": "its logits differ"}
    rows = [r for pair in zip(jobs(), peer) for r in pair]
    run("bench", "report", write(folder / "a.json", rows=peaks() + rows), "-o", folder / "a.html")
    text = shown(folder / "a.html")
    for words in ("4 of 4 have a rate", "failed-accuracy by other 1.2 its logits differ", "tg64@512 by other 1.2 f32 failed-accuracy"):
        assert words in text, (words, text)
    assert "gave wrong results" not in text, text


def test_requests_of_a_scheduler(folder):
    """A run is 16 of them, in files that say so and in older ones: 32 GFLOP in two seconds."""
    for path in write(folder / "old.json", rows=peaks() + [served(128)]), write(folder / "new.json", rows=peaks() + [served(128, requests=16)]):
        run("bench", "report", path, "-o", folder / "a.html")
        shown(folder / "a.html")
        said = BROWSER.value("[...document.querySelectorAll('#roofs svg circle title')].map(e => e.textContent)")
        assert len(said) == 1 and "serve64+16 × 8" in said[0] and ", 16.0 GFLOP/s" in said[0], said


def test_a_report_of_devices_without_rows(folder):
    devices = [device(), device(name="Idle", usable=False, reason="its driver is <b>old")]
    run("bench", "report", write(folder / "a.json", devices=devices), "-o", folder / "a.html")
    text = shown(folder / "a.html")
    assert "Not measured Idle: its driver is <b>old" in text and "1 device," in text, text
    run("bench", "report", write(folder / "b.json", rows=[], devices=[device(reason="a CPU")], suite_partial=True), "-o", folder / "b.html")
    assert "Example Device: the run ended before its first row" in shown(folder / "b.html")
    run("bench", "report", write(folder / "c.json"), "-o", folder / "c.html")
    assert "Not measured" not in shown(folder / "c.html")


def test_a_report_of_no_rows(folder):
    run("bench", "report", write(folder / "a.json", rows=[]), "-o", folder / "a.html")
    assert "Benchmark" in shown(folder / "a.html")


def test_a_report_of_a_real_run(folder):
    run("bench", "--shape", "tiny", "-p", "8", "-n", "2", "-r", "2", "-d", "0", "-q", "--device", "reference", "-o", folder / "run.json")
    run("bench", "report", folder / "run.json", "-o", folder / "a.html")
    assert "pp8" in shown(folder / "a.html")


def test_a_plot(folder):
    (folder / "log.jsonl").write_text("".join(json.dumps({"step": i, "loss": 5 - i / 10, "lr": 1e-3}) + "\n" for i in range(1, 31)))
    run("plot", folder / "log.jsonl", "-o", folder / "plot.html")
    text = shown(folder / "plot.html")
    assert "log.jsonl" in text and "30" in text, text
    assert BROWSER.value("document.querySelectorAll('svg path.curve').length") == 2


def test_attention(folder):
    run("attention", "-m", PLAY, "-d", "reference", "To be, or not to be", "-o", folder / "attention.html")
    text = shown(folder / "attention.html")
    assert "shakespeare" in text and "Every layer and head" in text, text
    assert BROWSER.value("document.querySelectorAll('#grid button').length") > 1


main(globals())

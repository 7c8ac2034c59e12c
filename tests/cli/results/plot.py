#!/usr/bin/env python3
"""tessera plot: the curves that it draws, read back from the page; damaged logs; refusals."""

import json
import re
import shutil
import subprocess

from support.command import equal, main, refused, run


def page(folder, *logs):
    result = run("plot", *logs, "-o", folder / "page.html")
    text = (folder / "page.html").read_text()
    assert not re.search(r"(src|href)\s*=|@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg)", text), "the page requests something from outside"
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1)
    assert "<" not in data, "a script element could end early"
    return json.loads(data)["runs"], result.err


def log(path, *rows, end=""):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows) + end)
    return path


def step(number, **fields):
    return {"step": number, **fields}


def test_series(folder):
    rows = [step(i, loss=5 - i / 10, lr=i / 1000, grad_norm=1.5, tokens_per_second=1000 + i, epoch=0.1) for i in range(1, 31)]
    rows.insert(10, step(10, eval_loss=4.5))
    rows.append(step(30, eval_loss=3.25))
    (run_,), err = page(folder, log(folder / "log.jsonl", *rows))
    equal((run_["name"], sorted(run_["series"])), ("log.jsonl", ["eval_loss", "grad_norm", "loss", "lr", "tokens_per_second"]))
    equal(run_["series"]["eval_loss"], [[10, 30], [4.5, 3.25]])
    equal(run_["series"]["loss"][0], list(range(1, 31)))
    equal(run_["series"]["loss"][1], [5 - i / 10 for i in range(1, 31)])
    assert "left out" not in err, err


def test_other_names_and_numbers_that_are_none(folder):
    path = log(folder / "l", '{"step": 1, "loss": null, "learning_rate": 0.5}', '{"step": 2, "loss": 1}', '{"step": 3, "loss": "2"}')
    (run_,), _ = page(folder, path)
    equal(run_["series"], {"lr": [[1], [0.5]], "loss": [[2], [1]]})


def test_several_runs_are_told_apart(folder):
    paths = [log(folder / name / "log.jsonl", step(1, loss=1)) for name in ("a", "b")] + [log(folder / "a" / "other", step(1, loss=2))]
    runs, err = page(folder, *paths)
    equal([run_["name"] for run_ in runs], ["a/log.jsonl", "b/log.jsonl", "other"])
    assert "3 runs" in err, err


def test_a_run_that_went_on_from_a_checkpoint(folder):
    rows = [step(i, loss=1.0) for i in (10, 20, 30, 40)] + [step(40, eval_loss=1.0)] + [step(i, loss=2.0) for i in (30, 40, 50)]
    (run_,), _ = page(folder, log(folder / "l", *rows))
    equal(run_["series"]["loss"], [[10, 20, 30, 40, 50], [1, 1, 2, 2, 2]])
    assert "eval_loss" not in run_["series"], "it was measured after the checkpoint, and is not part of the run"


def test_damage_is_skipped(folder):
    path = log(folder / "l", step(1, loss=3), '{"step": 2, "lo', "", "[1]", {"event": "start"}, step(4, loss=2), end='{"step": 5, "loss"')
    (run_,), err = page(folder, path)
    equal(run_["series"]["loss"], [[1, 4], [3, 2]])
    assert "the last line is damaged and was left out" in err and "2 lines are not JSON objects and were left out; the first is line 2" in err, err
    (run_,), err = page(folder, log(folder / "m", step(1, loss=3), end=json.dumps(step(2, loss=2))))
    equal(run_["series"]["loss"], [[1, 2], [3, 2]], "a last line without a line end may be complete")
    assert "left out" not in err, err


def test_long_runs_are_thinned(folder):
    n = 10000
    (run_,), _ = page(folder, log(folder / "l", *(step(i, loss=float(i)) for i in range(n))))
    steps, values = run_["series"]["loss"]
    assert len(steps) == len(values) and 3000 < len(steps) <= 4000, len(steps)
    equal((steps[:2], values[:2], steps[-1]), ([2, 5], [1, 4], n - 1))


def test_names_that_look_like_markup(folder):
    (run_,), _ = page(folder, log(folder / "<script>", step(1, loss=1)))
    equal(run_["name"], "<script>")


def test_a_browser_draws_it(folder):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        print("SKIP: no browser to draw the page of tessera plot (Debian: apt-get install chromium)")
        return
    paths = [log(folder / f"{name}.jsonl", *(step(i, loss=9 - i / 10 + k, lr=0.1) for i in range(1, 51)), step(50, eval_loss=2)) for k, name in enumerate("ab")]
    page(folder, *paths)
    told = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'browser'}", "--virtual-time-budget=5000", "--dump-dom",
                           f"file://{folder / 'page.html'}"], capture_output=True, text=True, check=False).stdout
    equal(re.findall(r"<h2>(.*?)</h2>", told), ["Loss", "Learning rate"], told[-2000:])
    equal((told.count('class="curve"'), told.count('class="thin"'), told.count('class="point"')), (4, 2, 2), "one curve per run and chart, the raw loss, and the validation loss")
    rows = re.findall(r"<tr><td><button.*?</span>(.*?)</button></td><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>", told)
    equal(rows, [("a.jsonl", "50", "4", "2", "2 (step 50)"), ("b.jsonl", "50", "5", "2", "2 (step 50)")])
    assert "NaN" not in told.split("</script>")[0] and "Infinity" not in told.split("<script")[0]


def test_refused(folder):
    good = log(folder / "good", step(1, loss=1))
    empty = log(folder / "empty")
    other = log(folder / "other", {"event": "start"}, step(1, accuracy=1))
    binary = folder / "binary"
    binary.write_bytes(bytes(range(256)) * 20)
    out = folder / "page.html"
    for code, fragment, *arguments in (
            (2, "plot needs LOG", "-o", out),
            (2, "plot needs -o", good),
            (3, "No such file", folder / "nothing", "-o", out),
            (3, "empty: no line is a step of a training run", empty, "-o", out),
            (3, "other: no line is a step", good, other, "-o", out),
            (3, "binary: no line is a step", binary, "-o", out),
            (3, "", folder, "-o", out)):
        refused(code, fragment, "plot", *arguments)
        assert not out.exists(), "half a page was left"
    unwritable = folder / "no" / "page.html"
    result = run("plot", "-q", good, "-o", unwritable, code=3)
    assert str(unwritable.parent) in result.err, result


main(globals())

#!/usr/bin/env python3
"""tools/pictures --run: the chart of the README has the values of a file of results, for light and dark pages."""

import subprocess
import xml.etree.ElementTree as xml

from support.command import SOURCE, equal, main
from support.results import jobs, peaks, write

SVG = "{http://www.w3.org/2000/svg}"


def draw(folder, rows, code=0):
    path = write(folder / "run.json", rows=peaks() + rows)
    done = subprocess.run([SOURCE / "tools" / "pictures", "--run", path, "--out", folder], capture_output=True, text=True, check=False)
    equal(done.returncode, code, done.stderr)
    return done.stderr


def chart(folder, theme):
    """Widths of the bars, those that are pale, and all words."""
    root = xml.parse(folder / f"jobs-{theme}.svg").getroot()
    bars = root.findall(f"{SVG}rect")[1::2]  # each lies on what is behind it
    return [float(b.get("width")) for b in bars], [b.get("opacity") is not None for b in bars], [t.text for t in root.findall(f"{SVG}text")]


def test_ratios_to_a_peer(folder):
    own, peer = jobs(1.5), jobs(1.0, peer="other & 1.2")
    peer[1]["noisy"] = True
    peer[2] = {**peer[2], "status": "failed-accuracy", "samples": [], "median": None}
    draw(folder, [r for pair in zip(own, peer) for r in pair])
    for theme in ("light", "dark"):
        widths, pale, words = chart(folder, theme)
        equal((words[0], pale), ("times as fast as other & 1.2", [False, True, False]))
        told = [own[i]["median"] / peer[i]["median"] for i in (0, 1, 3)]
        equal(widths, [round(400 * ratio / max(told), 1) for ratio in told])
        for i, name in ((0, "llama-15m pp512 f32"), (1, "llama-15m tg64 f32"), (3, "llama-15m tg64 f32 \u00d7 8")):
            assert name in words and f"{own[i]['median'] / peer[i]['median']:.2f}{' noisy' * (i == 1)}" in words, words
        assert "Example Device (Example Platform 1.2), 2 cores of Example CPU, 2026-01-02" in words, words
    light, dark = ((folder / f"jobs-{theme}.svg").read_text() for theme in ("light", "dark"))
    assert "#1b1f24" in light and "#1b1f24" not in dark


def test_shares_of_the_roofline(folder):
    draw(folder, jobs())
    widths, _, words = chart(folder, "light")
    assert "roofline" in words[0] and f"{100 * jobs()[0]['roofline']:.0f} %" in words and len(widths) == 4, words
    assert "no job with a rate" in draw(folder, [], code=1)


main(globals())

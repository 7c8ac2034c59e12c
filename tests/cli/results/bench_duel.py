#!/usr/bin/env python3
"""tessera bench duel: builds take turns, their runs are compared, and what can't be run is refused."""

import json
import os
import shutil
import signal
import time

from support.command import COMMAND, environment, equal, main, refused, run, start
from support.results import jobs, peaks, write

DUEL = ("bench", "duel", "-q", "--rounds", "5")
ROWS = ("--device", "reference", "--shape", "tiny", "-p", "8", "-n", "0", "-r", "1", "-d", "0")


def script(path, lines):
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return path


def test_the_warm_up_shows_what_can_t_be_compared(folder):
    """Before any round is run; nothing is left."""
    (folder / "temporary").mkdir()
    env = environment(TMPDIR=folder / "temporary")
    unlike = script(folder / "unlike", f'echo >> "{folder}/turns"\nfor last; do :; done\ncp "{write(folder / "a.json")}" "$last"')
    refused(2, "the set of rows is", *DUEL, "--against", unlike, "--", *ROWS, env=env)
    equal((folder / "turns").read_text(), "\n", "its turns")
    refused(3, "/true bench wrote no results: is it a tessera?", *DUEL, "--against", shutil.which("true"), "--", *ROWS, env=env)
    kept = folder / "kept"
    kept.mkdir()
    write(kept / "other-00.json", suite_name="bench")  # of a duel that was killed
    refused(3, "wrote no results", *DUEL, "--against", shutil.which("true"), "-o", kept, "--", *ROWS, env=env)
    equal((os.listdir(folder / "temporary"), os.listdir(kept)), ([], []))


def test_this_build_against_itself(folder):
    """Both get the same arguments, as often."""
    kept = folder / "kept"
    other = script(folder / "other", f'echo "$*" >> "{folder}/turns"\nexec "{COMMAND}" "$@"')
    told = json.loads(run(*DUEL, "--against", other, "--json", "-o", kept, "--", *ROWS, code=None).text)
    (row,) = [r for r in told["rows"] if not r["peak"]]
    equal((row["test"], row["values_before"], row["values_after"], row["by_runs"]), ("pp8", 5, 5, True))
    assert row["low"] <= row["ratio"] <= row["high"] and 0 < row["p"] <= 1, row
    equal(sorted(path.name for path in kept.iterdir()), sorted(f"{side}-{i:02}.json" for side in ("other", "this") for i in range(1, 6)))
    turns = (folder / "turns").read_text().splitlines()
    equal(turns, [f"bench {' '.join(ROWS)} -q -o {kept}/other-{i:02}.json" for i in range(6)], "a warm-up and five rounds")


def prepared(folder, factor, code):
    """What a duel says of runs of this build that are `factor` times as fast as the other's. Its last process is the other build's, which puts prepared
    files in the place of all."""
    files, kept = folder / f"prepared{factor}", folder / f"kept{factor}"
    files.mkdir()
    for i in range(1, 6):
        write(files / f"other-{i:02}.json", rows=peaks() + jobs(seed=i))
        write(files / f"this-{i:02}.json", rows=peaks() + jobs(factor, seed=i + 5))
    other = script(folder / f"other{factor}", f"""for last; do :; done
case "$last" in
*-00.json) exec "{COMMAND}" "$@" ;;
*-05.json) cp "{files}"/*.json "{kept}" ;;
esac""")
    told = json.loads(run(*DUEL, "--against", other, "--json", "-o", kept, "--", *ROWS, code=code).text)
    rows = [r for r in told["rows"] if not r["peak"]]
    equal([(r["test"], r["values_before"], r["values_after"], r["by_runs"]) for r in rows], [(r["test"], 5, 5, True) for r in jobs()])
    return rows, told["summary"]


def test_a_slower_build_is_found(folder):
    """By a tenth in all rows; two builds that are equally fast, and a faster one, give no regression."""
    rows, summary = prepared(folder, 0.9, 1)
    equal(([r["verdict"] for r in rows], summary["regressions"]), (["slower"] * 4, 4))
    assert all(r["low"] < 0.9 < r["high"] < 0.95 for r in rows), rows
    rows, summary = prepared(folder, 1, 0)
    equal(([r["verdict"] for r in rows], summary["regressions"]), (["same"] * 4, 0))
    equal(prepared(folder, 1.1, 0)[1]["faster"], 4)


def test_its_folder(folder):
    """It lies in TMPDIR, however long that is, and goes with the command, also when a run is stopped."""
    place, turns = folder / ("long" * 20), folder / "turns"
    place.mkdir()
    other = script(folder / "other", f"""for last; do :; done
echo "$last" >> "{turns}"
test $(wc -l < "{turns}") = 1 && exec "{COMMAND}" "$@"
touch "$last"
exec sleep 1000""")
    process = start(*DUEL, "--against", other, "--", *ROWS, env=environment(TMPDIR=place))
    while not turns.exists() or len(turns.read_text().splitlines()) < 2:  # the second is in round 1
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate()
    equal(process.returncode, 128 + signal.SIGINT)
    assert all(path.startswith(f"{place}/tessera-duel-") for path in turns.read_text().splitlines()), turns.read_text()
    equal(os.listdir(place), [], "its folder is left")


def test_refusals(folder):
    refused(2, "needs --against", *DUEL)
    refused(3, "No such file", *DUEL, "--against", folder / "none")
    refused(2, "--rounds", *DUEL, "--rounds", "4", "--against", COMMAND)
    broken = script(folder / "broken", "exit 7")
    env = environment(TMPDIR=folder / "temporary")
    (folder / "temporary").mkdir()
    refused(5, "bench ended with exit code 7", *DUEL, "--against", broken, "--", "--peaks", env=env)
    equal(os.listdir(folder / "temporary"), [], "its folder is left")


main(globals())

#!/usr/bin/env python3
"""tessera bench duel: builds take turns, their runs are compared, and what can't be run is refused."""

import json
import os
import signal
import time

from support.command import COMMAND, environment, equal, main, refused, run, start
from support.results import jobs, peaks, write

DUEL = ("bench", "duel", "-q", "--rounds", "5")


def actor(folder, name, factor, code=0):
    """A command that notes its turn and its arguments, and writes the next of its files to -o."""
    for i in range(12):
        write(folder / f"{name}-{i}.json", rows=peaks() + jobs(factor * (1 + 0.002 * (i % 5)), seed=i))
    script = folder / name
    script.write_text(f"""#!/bin/sh
n=$(grep -c '^{name} ' "{folder}/turns" 2>/dev/null)
echo "{name} $*" >> "{folder}/turns"
for last; do :; done
cp "{folder}/{name}-$((n % 12)).json" "$last"
exit {code}
""")
    script.chmod(0o755)
    return script


def test_turns_and_a_real_build(folder):
    """Both builds get the same arguments, as often; files that are not alike are refused."""
    other = actor(folder, "other", 1)
    refused(2, "the set of rows is", *DUEL, "--against", other, "--", "--device", "reference", "--shape", "tiny", "-p", "8", "-n", "0", "-r", "1", "-d", "0")
    turns = (folder / "turns").read_text().splitlines()
    equal(len(turns), 6, "a warm-up and five rounds")
    assert all(turn.startswith("other bench --device reference --shape tiny -p 8 -n 0 -r 1 -d 0 -q -o ") for turn in turns), turns


def test_this_build_against_itself(folder):
    kept = folder / "kept"
    told = json.loads(run(*DUEL, "--against", COMMAND, "--json", "-o", kept, "--", "--device", "reference", "--shape", "tiny", "-p", "8", "-n", "0",
                          "-r", "1", "-d", "0", code=None).text)
    (row,) = [r for r in told["rows"] if not r["peak"]]
    equal((row["test"], row["values_before"], row["values_after"], row["by_runs"]), ("pp8", 5, 5, True))
    assert row["low"] <= row["ratio"] <= row["high"] and 0 < row["p"] <= 1, row
    equal(sorted(path.name for path in kept.iterdir()), sorted(f"{side}-{i:02}.json" for side in ("other", "this") for i in range(1, 6)))


def test_its_folder(folder):
    """It lies in TMPDIR, however long that is, and goes with the command, also when a run is stopped."""
    place, turns, other = folder / ("long" * 20), folder / "turns", folder / "other"
    place.mkdir()
    other.write_text(f"""#!/bin/sh
for last; do :; done
cp "{write(folder / 'a.json')}" "$last"
echo "$last" >> "{turns}"
test $(wc -l < "{turns}") = 1 || exec sleep 1000
""")
    other.chmod(0o755)
    process = start(*DUEL, "--against", other, "--", "--device", "reference", "--shape", "tiny", "-p", "8", "-n", "0", "-r", "1", "-d", "0",
                    env=environment(TMPDIR=place))
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
    broken = folder / "broken"
    broken.write_text("#!/bin/sh\nexit 7\n")
    broken.chmod(0o755)
    env = environment(TMPDIR=folder / "temporary")
    (folder / "temporary").mkdir()
    refused(5, "bench ended with exit code 7", *DUEL, "--against", broken, "--", "--peaks", env=env)
    equal(os.listdir(folder / "temporary"), [], "its folder is left")


main(globals())

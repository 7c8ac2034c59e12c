#!/usr/bin/env python3
"""bench/distributed.py and the measuring half of bench/scale run to their end with the fewest rounds and steps, and print what they say they print. How fast
it is, and whether their goals are met, is not judged here."""

import json
import subprocess
import sys

from support.command import ALL, BUILD, DEVICE, SOURCE, environment, equal, main
from support.ranks import need_mpi

FEWEST = ("--rounds", "1", "--steps", "4", "--device", DEVICE, "--build", BUILD)


def measured(name, *options):
    """The JSON lines behind the first one, which describes the machine, and the other lines."""
    done = subprocess.run([sys.executable, SOURCE / "bench" / name, *FEWEST, *options], capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode in (0, 1), f"bench/{name}: {done}"  # 1: a goal is missed
    lines = done.stdout.splitlines()
    first, *told = [json.loads(line) for line in lines if line.startswith("{")]
    equal((first["schema"], first["bench"]), (1, name.removesuffix(".py")))
    return told, [line for line in lines if line and not line.startswith("{")]


def test_distributed(_):
    if not ALL:
        return
    (trained, translated, generated), _ = measured("distributed.py", "--shape", "char-gpt", "--split", "3")
    equal((trained["shape"], sorted(trained["rates"]), trained["unit"]), ("char-gpt", ["one", "two"], "tokens/s"))
    assert min(trained["rates"].values()) > 0 and trained["to_one_rank"] > 0, trained
    equal([line["test"] for line in (translated, generated)], ["translate --split-layers", "generate --lines --split-layers"])
    for line in (trained, translated, generated):
        assert line["equal"], f"two ranks gave other bytes: {line}"
    for line in (translated, generated):
        equal((line["lines"], sorted(line["seconds"])), (3, ["1", "2"]))
        assert line["ratio"] > 0, line


def test_scale(_):
    if not ALL:
        return
    rows, table = measured("scale", "--batches", "2", "--settings", "100:1,1000:4")
    equal([(row["shape"], row["ranks"], row["batches"], row["latency_us"], row["gbits"]) for row in rows],
          [("char-gpt", 2, 2, 100, 1), ("char-gpt", 2, 2, 1000, 4)])
    for row in rows:
        assert row["megabytes"] > 0 and row["measured_ms"] > 0 and row["predicted_ms"] > 0 and 0 <= row["waiting"] <= 1, row
        assert row["network"]["latency_us"] >= row["latency_us"], row
    equal(len(table), 2 + len(rows))
    assert table[0].startswith("| ranks | latency, rate |") and table[2].startswith("| 2 | 100 us, 1 Gb/s |"), table


need_mpi()
main(globals())

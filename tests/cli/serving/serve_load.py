#!/usr/bin/env python3
"""bench/serve_load.py: a short load on tessera serve, with clients that hang up and wrong requests; with ci/test --all as long as the promise is."""

import json
import os
import subprocess
import sys

from support.command import ALL, BUILD, SOURCE, environment, equal, main
from support.server import skip_without_server
from support.small import small


def load(folder, *options):
    """What it prints for clients that find nothing wrong."""
    clients, seconds = (64, 300) if ALL else (12, 6)
    few = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"  # AddressSanitizer keeps what was freed
    done = subprocess.run([sys.executable, SOURCE / "bench" / "serve_load.py", "-m", small(folder / "small"), "--device", "reference", "--build", BUILD, "--step-tokens", "16",
                           "--clients", str(clients), "--seconds", str(seconds), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(ASAN_OPTIONS=few), check=False)
    equal((done.returncode, done.stderr.decode()), (0, ""), done.stdout)
    told = json.loads(done.stdout)
    equal(told["faults"], 0)
    for kind in ("whole", "streams", "hung up"):
        assert told[kind] > 0, told
    return told


def test_answers_are_those_of_requests_alone(folder):
    equal(load(folder, "--slots", "5")["put_back"], 0)


def test_answers_are_those_of_requests_alone_with_little_memory(folder):
    put_back = load(folder, "--slots", "12", "--kv-tokens", "96")["put_back"]  # serve_pages.py is sure to have some
    assert put_back or not ALL, put_back


skip_without_server()
main(globals())

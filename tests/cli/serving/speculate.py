#!/usr/bin/env python3
"""Guessed tokens: answers are the same with and without, over HTTP and of tessera generate, and what was guessed is counted."""

import re

from support.command import PLAY, equal, main, refused, run
from support.server import REFERENCE, Server

TEXT = "my lord, my lord, my lord, my lord, my lord"
ASKED = {"prompt": TEXT, "max_tokens": 24, "temperature": 0, "ignore_eos": True}
REQUESTS = [ASKED | more for more in (
    {"logprobs": 2},
    {"temperature": 0.4, "top_k": 20, "seed": 1, "n": 2, "max_tokens": 12},
    {"stop": ["lord, my lord, my l"]},
    {"temperature": 0.4, "frequency_penalty": 0.1, "seed": 2, "max_tokens": 8},
    {"grammar": 'root ::= ("my lord, and " | "my lady, and ")+ "!"', "max_tokens": 16},
    {"prompt": "ROMEO:", "temperature": 1.5, "seed": 3, "max_tokens": 4})]
COUNTERS = [f"spec_decode_num_{name}_total" for name in ("drafts", "draft_tokens", "accepted_tokens")]


def test_a_server(_):
    answers, counts = {}, {}
    for n in (0, 7):
        with Server("--speculate", n, "--slots", 3) as server:
            answers[n] = [server.fine("/v1/completions", asked)["choices"] for asked in REQUESTS]
            chunks = server.events("/v1/completions", ASKED)
            equal("".join(chunk["choices"][0]["text"] for chunk in chunks), answers[n][0][0]["text"])
            counts[n] = [server.metric(name) for name in COUNTERS]
            steps, tokens = server.metric("steps_total"), server.metric("generation_tokens_total")
            if n:
                assert steps < tokens - counts[n][2] / 2, (steps, tokens, counts)
    equal(answers[7], answers[0])
    equal(counts[0], [0, 0, 0])
    drafts, drafted, accepted = counts[7]
    assert 5 < accepted <= drafted <= 7 * drafts, counts


def test_generate(_):
    asked = ("generate", *REFERENCE[:2], "-m", PLAY, "-n", "24", "--temp", "0", "--ignore-eos", TEXT)
    plain, guessed = run(*asked, "--speculate", "0"), run(*asked, "--speculate", "7")
    equal(guessed.out, plain.out)
    assert "guessed" not in plain.err, plain
    right, of = map(int, re.search(r"tokens/s; (\d+) of (\d+) guessed tokens were right$", guessed.err, re.M).groups())
    assert 3 < right <= of, guessed
    refused(2, "--speculate", *asked, "--speculate", "8")


main(globals())

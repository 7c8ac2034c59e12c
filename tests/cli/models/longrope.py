#!/usr/bin/env python3
"""Longrope: the context that is asked for chooses the factors, so a text's continuation depends neither on other texts nor on how many tokens are
wanted. The golden model's original length is 8, its context 48."""

import json

from support.command import GOLDEN, equal, main, run

SHORT, LONG = "5,6,7", "9,4,17,21,11,8,14,6,12,25,19"


def generated(*arguments):
    """What --json tells of each prompt: tokens with log-probabilities, or the score of a hypothesis."""
    return json.loads(run("generate", "-q", "-d", "reference", "-m", GOLDEN / "phi3-longrope-odd", "--temp", 0, "--ignore-eos", "--json", *arguments).text)


def test_alone_as_in_company(folder):
    for search in ("--logprobs", 3), ("--num-beams", 3):
        alone = [generated("--ids", ids, "-n", 4, *search)[0] | {"prompt": i} for i, ids in enumerate((SHORT, LONG))]
        equal([told | {"prompt": i} for i, told in enumerate(generated("--ids", SHORT, "--ids", LONG, "-n", 4, *search))], alone, search)


def test_fewer_tokens_are_the_first_of_more(folder):
    for context in (), ("-c", 8):
        few, more = (generated("--ids", SHORT, "-n", n, "--logprobs", 3, *context)[0]["tokens"] for n in (2, 5))
        equal(more[:2], few, context)


def test_the_context_chooses(folder):
    for search in ("--logprobs", 3), ("--num-beams", 3):
        found = {context: generated("--ids", SHORT, "-n", 3, *search, "-c", context) for context in (6, 8, 9, 48)}
        equal(found[6], found[8], "both are short")
        equal(found[9], found[48], "both are long")
        assert found[8] != found[9], "the context changes nothing"


main(globals())

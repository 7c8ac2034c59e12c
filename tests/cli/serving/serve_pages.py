#!/usr/bin/env python3
"""tessera serve: an answer has the same bytes alone, in a batch of 32, behind a beginning that was in memory, and after its request was put back for
want of memory; what does not fit at all is refused; the metrics count all of this."""

import json
import threading

from support.command import equal, main
from support.server import Server, skip_without_server, until
from support.small import small

SPEECH = "KING RICHARD:\nNow is the winter of our discontent\nMade glorious summer by this sun of York;\n"
PATH = "/v1/completions"


def asked(i):
    """Request i: prompts that begin alike, of which every fourth one has another beginning; drawn, greedy, with log-probabilities, scored, with penalties."""
    prompt = (f"{i}. " if i % 4 == 3 else "") + SPEECH + "And all the clouds that lour'd upon our house\n"[:3 * i % 40]
    more = ({"temperature": 0}, {"temperature": 0.9, "top_k": 20}, {"temperature": 1, "logprobs": 2}, {"echo": True, "logprobs": 1, "temperature": 0},
            {"frequency_penalty": 0.7, "temperature": 0.8})[i % 5]
    return {"prompt": prompt, "max_tokens": 40 + i % 30, "seed": i, "ignore_eos": True, **more}


def choices(server, i):
    return json.dumps(server.fine(PATH, asked(i))["choices"])


def at_once(server, numbers):
    """The answers to requests that come at the same time."""
    got = {}
    threads = [threading.Thread(target=lambda i=i: got.update({i: choices(server, i)})) for i in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [got.get(i) for i in numbers]


def test_bytes_are_those_of_each_request_alone(folder):
    model, numbers = small(folder / "small"), range(32)
    with Server("--slots", "1", "--queue", "40", "-c", "256", model=model) as server:
        alone = [choices(server, i) for i in numbers]
        hits = server.metric("prefix_cache_hits")
        assert hits > 0, "later prompts begin like earlier ones"
    for slots, tokens in (("32", "8192"), ("32", "512"), ("3", "256")):
        with Server("--slots", slots, "--queue", "40", "-c", "256", "--kv-tokens", tokens, model=model) as server:
            equal(at_once(server, numbers), alone, f"{slots} slots, {tokens} tokens")
            put_back, hits = server.metric("num_preemptions_total"), server.metric("prefix_cache_hits")
            assert (put_back > 0) == (tokens != "8192") and hits > 0, (slots, tokens, put_back, hits)
            equal(server.metric("requests_finished_total"), 32, "each has finished once")
            equal(server.metric("requests_failed_total"), 0)
            until(lambda: server.metric("kv_cache_usage_perc") == 0, "all pages are free")
            for i in (0, 2):  # behind what memory has of it
                again = server.fine(PATH, asked(i))
                equal(json.dumps(again["choices"]), alone[i])
                assert tokens == "256" or again["usage"]["prompt_tokens_details"]["cached_tokens"] > 0, again["usage"]


def test_what_does_not_fit(folder):
    model = small(folder / "small")
    with Server("--slots", "2", "-c", "256", "--kv-tokens", "64", model=model) as server:
        ids = [5 + i % 90 for i in range(65)]
        server.wrong(400, "a prompt of 65 tokens was given; the memory for keys and values holds 64 tokens (--kv-tokens)", PATH, {"prompt": ids, "max_tokens": 1}, "prompt")
        full = server.fine(PATH, {"prompt": ids[:20], "max_tokens": 200, "ignore_eos": True})
        equal((full["choices"][0]["finish_reason"], full["usage"]["completion_tokens"]), ("length", 44))


skip_without_server()
main(globals())

#!/usr/bin/env python3
"""Vectors over HTTP by models that say how one is made in other ways than a sentence-transformers folder does, or not at all: bare decoders,
--pooling, adapters by task; requests for so many texts that they run in pieces."""

import concurrent.futures
import contextlib
import functools
import json
import shutil
import socket

from support import words
from support.command import GOLDEN, PLAY, change_json, equal, main, refused, run
from support.encoders import CLASSIFY, SENTENCE, joined
from support.ranker import cross_encoder
from support.server import REFERENCE, Server, skip_without_server, until, value
from support.small import small

TASKS = GOLDEN / "jina_tasks/model"
EXPECTED = json.loads((GOLDEN / "jina_tasks/expected.json").read_text())
BOUND = 2e-6    # as in tests/cli/results/embed_tasks.py


def near(got, wanted, what=""):
    worst = max(abs(a - b) for x, y in zip(got, wanted, strict=True) for a, b in zip(x, y, strict=True))
    assert worst <= BOUND, f"{what}: off by {worst}"


def served(server, texts, **body):
    return [one["embedding"] for one in server.fine("/v1/embeddings", {"input": texts, **body})["data"]]


def test_tasks(_):
    """By the names of models, and by the field that Jina's own interface has."""
    texts = EXPECTED["lines"]
    with Server("-m", f"{TASKS}+task:retrieval.query", "-m", f"passages={TASKS}+task:retrieval.passage", model=f"jina={TASKS}") as server:
        equal([model["id"] for model in server.fine("/v1/models")["data"]], ["jina", "retrieval.query", "passages"])
        near(served(server, texts), EXPECTED["none"])
        near(served(server, texts, task=None), EXPECTED["none"])
        near(served(server, texts, model="retrieval.query"), EXPECTED["encode"]["retrieval.query"])
        near(served(server, texts, model="passages"), EXPECTED["encode"]["retrieval.passage"])
        near(served(server, texts, model="jina", task="retrieval.query"), EXPECTED["encode"]["retrieval.query"])
        near(served(server, texts, task="retrieval.passage"), EXPECTED["encode"]["retrieval.passage"])
        server.wrong(400, "start the server with -m MODEL+task:separation, too", "/v1/embeddings", {"input": "sea", "task": "separation"}, "task")
        server.wrong(400, "the name of a task", "/v1/embeddings", {"input": "sea", "task": 3}, "task")
    with Server(model=f"{TASKS}+task:separation") as server:
        near(served(server, texts, model="separation"), EXPECTED["encode"]["separation"])
    refused(2, "a model has one task", "serve", *REFERENCE, "-m", f"{TASKS}+task:separation+task:classification")
    refused(2, 'has no adapter for the task "x"', "serve", *REFERENCE, "-m", f"{TASKS}+task:x")


def test_prompts(_):
    """By their names in the model's files, and as texts; more of them than embedders are kept, also in requests that run side by side."""
    texts = ["the cat sat", "anna lives in london"]
    with Server(model=SENTENCE) as server:
        plain = served(server, texts)
        equal(served(server, texts, prompt_name="query"), embedded(SENTENCE, texts, "--prompt", "query"))
        assert served(server, texts, prompt_name="query") != plain
        for nothing in {"prompt_name": ""}, {"prompt_name": "document"}, {"prompt_name": None}, {"prompt": ""}, {"prompt": None}:
            equal(served(server, texts, **nothing), plain, nothing)
        prompts = [f"{one} {other} " for one in ("the", "cat", "how", "anna") for other in ("lives", "on", "you")]
        wanted = {prompt: embedded(SENTENCE, texts, "--prompt-text", prompt) for prompt in prompts}
        equal(len({str(rows) for rows in wanted.values()}), len(prompts), "each changes the vectors")
        for prompt in prompts + prompts[:2]:
            equal(served(server, texts, prompt=prompt), wanted[prompt], prompt)
        with concurrent.futures.ThreadPoolExecutor(len(prompts)) as pool:
            for prompt, rows in zip(prompts, pool.map(lambda prompt: served(server, texts * 1000, prompt=prompt), prompts), strict=True):
                equal(rows == wanted[prompt] * 1000, True, prompt)
        wrong = functools.partial(server.wrong, 400)
        wrong('has no prompt "passage"; it has query, document', "/v1/embeddings", {"input": "a", "prompt_name": "passage"}, "prompt_name")
        wrong("give one of them", "/v1/embeddings", {"input": "a", "prompt_name": "query", "prompt": "a"}, "prompt")
        for field, value in (("prompt", 3), ("prompt_name", ["query"]), ("prompt", "a\0b")):
            wrong(f"{field}: a text", "/v1/embeddings", {"input": "a", field: value}, field)
        served(server, texts, prompt="a" * 16384)
        wrong("prompt: at most 16384 bytes", "/v1/embeddings", {"input": "a", "prompt": "a" * 16385}, "prompt")
    with Server("-m", f"{TASKS}+task:retrieval.query", model=f"jina={TASKS}") as server:
        told = functools.partial(served, server, EXPECTED["lines"], task="retrieval.query")
        equal(told(prompt=""), told(prompt_name=""))
        assert told(prompt="") != told(), "the instruction is left out"


def test_files_that_change_while_they_are_served(folder):
    """The embedder of a new prompt is made of the model's files: other files would give other vectors."""
    model = folder / "model"
    shutil.copytree(SENTENCE, model)
    with Server(model=model) as server:
        wanted = served(server, ["the cat"], prompt="a ")
        (model / "modules.json").unlink()
        equal(served(server, ["the cat"], prompt="a "), wanted, "kept")
        server.wrong(503, "have changed since the server started: start it again", "/v1/embeddings", {"input": "the cat", "prompt": "the "}, None)


def embedded(model, texts, *options):
    return [json.loads(line)["embedding"] for line in run("embed", "-m", model, *REFERENCE, *options, given=joined(texts)).text.splitlines()]


def bare_decoder(folder):
    """A Qwen3Model without modules.json, with words."""
    model = shutil.copytree(GOLDEN / "qwen3-vectors/vectors", folder / "bare")
    (model / "modules.json").unlink()
    shutil.rmtree(model / "1_Pooling")
    words.tokenizer(model, None, None, json.loads((model / "config.json").read_text())["vocab_size"])
    return model


TEXTS = ["the sea", "she put her money in the bank", "a poem about the river", "money"]


def test_bare_decoders(folder):
    """The last token's state, as embed gives it; beside a model that writes and one that gives vectors."""
    model = bare_decoder(folder)
    wanted = embedded(model, TEXTS)
    equal(wanted, embedded(model, TEXTS, "--pooling", "last"))
    with Server("-m", SENTENCE, "-m", model) as server:
        equal(served(server, TEXTS, model="bare"), wanted)
        equal(served(server, ["the cat"]), embedded(SENTENCE, ["the cat"]))
        equal(len(served(server, TEXTS, model="bare", dimensions=5)[0]), 5)
        server.wrong(404, '"bare" gives vectors; one that writes text', "/v1/completions", {"prompt": "the", "model": "bare"}, "model")
        equal(server.fine("/v1/completions", {"prompt": "ROMEO:", "max_tokens": 1})["model"], "shakespeare")
    change_json(model / "config.json", architectures=["Qwen3ForCausalLM"], tie_word_embeddings=False)
    refused(3, "without an output matrix", "serve", *REFERENCE, "-m", model, lines=None)


def test_poolings(folder):
    """Of any decoder, and in place of what the files say."""
    texts = ["the cat sat", "anna lives in london"]
    for kind in "cls", "last", "sqrt-mean":
        with Server("--pooling", kind, "-m", SENTENCE, "-m", CLASSIFY) as server:
            for model in PLAY, SENTENCE, CLASSIFY:
                equal(served(server, texts, model=model.name), embedded(model, texts, "--pooling", kind), (kind, model.name))
            server.wrong(404, "no model here writes text", "/v1/completions", {"prompt": "x"}, "model")
    model = bare_decoder(folder)
    with Server("--pooling", "mean", model=model) as server:
        equal(served(server, TEXTS), embedded(model, TEXTS, "--pooling", "mean"))
        assert served(server, TEXTS) != embedded(model, TEXTS)
    refused(2, "give --rank or --pooling", "serve", *REFERENCE, "-m", PLAY, "--rank", "--pooling", "last")
    refused(2, "median", "serve", *REFERENCE, "-m", PLAY, "--pooling", "median")
    refused(3, "needs an encoder", "serve", *REFERENCE, "-m", GOLDEN / "bart", "--pooling", "mean", lines=None)


def test_metrics(folder):
    """Of models that give vectors, or ranks: requests, tokens and whole times. The other times are those of text."""
    with Server("-m", f"ranks={cross_encoder(folder / 'cross')}", model=SENTENCE) as server:
        asked = {SENTENCE.name: ("/v1/embeddings", {"input": TEXTS}), "ranks": ("/rerank", {"query": "the sea", "documents": TEXTS})}
        for model, (path, body) in asked.items():
            tokens = sum(server.fine(path, body)["usage"]["prompt_tokens"] for _ in range(3))
            metrics = server.fine("/metrics").decode()
            names = ("prompt_tokens_total", "requests_finished_total", "e2e_request_latency_seconds_count", "requests_failed_total", "num_requests_running",
                     "num_requests_waiting", "time_to_first_token_seconds_count", "generation_tokens_total", "prefix_cache_queries")
            equal([value(metrics, name, model) for name in names], [tokens, 3, 3, 0, 0, 0, 0, 0, 0], model)
            assert tokens > 0 < value(metrics, "e2e_request_latency_seconds_sum", model), metrics


def test_requests_that_run_in_pieces_wait_in_the_queue(folder):
    """Between two pieces a request waits again: --queue bounds those that do, and the metrics show them."""
    body = json.dumps({"input": ["to be or not to be, that is " * 9] * 1024}).encode()
    with Server("--queue", "4", "--pooling", "mean", model=small(folder / "small", width=12, layers=1)) as server:
        waiting = lambda: server.metric("num_requests_waiting")
        with contextlib.ExitStack() as clients:
            def ask():
                client = clients.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                client.sendall(b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            for _ in range(3):
                ask()
            until(lambda: waiting() >= 2, "they have come")
            until(lambda: server.metric("num_requests_running") == 1, "one of them runs")
            served(server, ["a"])  # so the engine has read them
            until(lambda: waiting() >= 2, "one of them runs, and two wait")
            # One may be refused while the first is between two pieces, and waits itself.
            until(lambda: ask() or all(waiting() >= 4 for _ in range(3)), "one runs, and four wait")
            for path, one in (("/v1/embeddings", {"input": "a"}), ("/attention", {"content": "a"})):
                until(lambda path=path, one=one: server.ask(path, one)[0] == 503, "no fifth may wait")
        until(lambda: waiting() == 0, "those whose clients have left don't")
        served(server, ["a"])


skip_without_server()
main(globals())

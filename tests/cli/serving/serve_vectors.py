#!/usr/bin/env python3
"""Vectors over HTTP by models that say how one is made in other ways than a sentence-transformers folder does: adapters by task."""

import json

from support.command import GOLDEN, equal, main, refused
from support.server import REFERENCE, Server, skip_without_server

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


skip_without_server()
main(globals())

#!/usr/bin/env python3
"""tessera rerank by language models: compares scores with those of the official code (tests/golden/ranks)."""

import json
import shutil

from support.command import GOLDEN, equal, main, refused, run
from support.server import Server

RANKS = GOLDEN.parent / "ranks"
REFERENCE = ("-d", "reference", "-q")
EXPECTED = json.loads((RANKS / "expected.json").read_text())


def scores(model, *options):
    given = "".join(text + "\n" for text in EXPECTED["texts"])
    lines = run("rerank", *REFERENCE, "-m", model, "--json", "--context", EXPECTED["most"], *options, EXPECTED["query"], given=given).text.splitlines()
    found = {hit["line"]: hit["score"] for hit in map(json.loads, lines)}
    return [found[i + 1] for i in range(len(EXPECTED["texts"]))], [json.loads(line)["score"] for line in lines]


def check(got, name):
    for a, b in zip(got[0], EXPECTED[name], strict=True):
        assert abs(a - b) < 2e-6, (name, got, EXPECTED[name])
    equal(got[1], sorted(got[1], reverse=True))


def test_language_models(folder):
    for name in ("qwen3", "labels", "gemma"):
        check(scores(RANKS / name), name)
    check(scores(RANKS / "qwen3", "--instruction", "cats"), "told")


def test_a_server(folder):
    with Server("--rank", model=RANKS / "qwen3") as server:
        found = server.fine("/v1/rerank", {"query": EXPECTED["query"], "documents": [text for text in EXPECTED["texts"] if len(text) < 100]})["results"]
    wanted = [score for text, score in zip(EXPECTED["texts"], EXPECTED["qwen3"], strict=True) if len(text) < 100]
    for one in found:
        assert abs(one["relevance_score"] - wanted[one["index"]]) < 2e-6, (found, wanted)
    equal(len(found), len(wanted))


def test_tokens_that_a_folder_names(folder):
    shutil.copytree(RANKS / "qwen3", folder / "judge")
    shutil.copytree(RANKS / "judge", folder / "judge", dirs_exist_ok=True)
    check(scores(folder / "judge"), "judge")
    (folder / "judge/1_LogitScore/config.json").write_text("{}")
    refused(3, 'needs a config.json with "true_token_id"', "rerank", *REFERENCE, "-m", folder / "judge", "q", "text")


def test_what_is_refused(folder):
    refused(3, "which does not rank texts", "rerank", *REFERENCE, "-m", GOLDEN.parents[2] / "models/shakespeare", "q", "text")
    refused(3, "ranking needs a cross-encoder, whose classifier has one", "rerank", *REFERENCE, "-m", GOLDEN.parent / "encoders/classify", "q", "text")
    refused(2, "the words around them are", "rerank", *REFERENCE, "-m", RANKS / "qwen3", "--context", "20", "q", "text")
    refused(2, "reads no instruction", "rerank", *REFERENCE, "-m", RANKS / "gemma", "--instruction", "x", "q", "text")


main({name: test for name, test in globals().items() if name.startswith("test_")})

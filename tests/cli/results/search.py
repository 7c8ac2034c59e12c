#!/usr/bin/env python3
"""tessera search, rerank and cluster: by vectors and scores of tiny encoders."""

import json
import math

from support.command import equal, main, refused, run
from support.encoders import CLASSIFY, EXPECTED, LINES, REFERENCE, WITH, embedded, joined, written
from support.ranker import cross_encoder
from support.server import Server


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def test_search(folder):
    path, index = written(folder, joined(LINES)), folder / "E.npy"
    rows = embedded(folder, joined(LINES))
    (query,) = EXPECTED["sentence"]["query"][3:4]  # the model names a prompt for queries
    wanted = sorted(range(len(rows)), key=lambda i: (-round(cosine(rows[i], query), 5), i))
    told = run("search", *WITH, LINES[3], "--index", index, "--lines", path, "-k", 4).text.splitlines()
    for line, i in zip(told, wanted[:4], strict=True):
        score, number, text = line.split("\t", 2)
        equal([int(number), text], [i + 1, LINES[i]])
        assert abs(float(score) - cosine(rows[i], query)) < 1e-5
    objects = [json.loads(line) for line in run("search", *WITH, LINES[3], "--index", index, "--lines", path, "-k", 4, "--json").text.splitlines()]
    equal([f"{one['cosine']:.6f}\t{one['line']}\t{one['text']}" for one in objects], told)
    (bare,) = run("search", *WITH, LINES[3], "-i", index, "-k", 1, "--json").text.splitlines()
    equal({**json.loads(bare), "text": LINES[wanted[0]]}, objects[0], "without --lines only the text is missing")
    top = run("search", *WITH, LINES[3], "--prompt", "", "-i", index, "-k", 1).text
    equal(top, "1.000000\t4\n")
    equal(len(run("search", *WITH, "x", "-i", index, "-k", 1000).text.splitlines()), len(LINES))
    refused(3, "has 2 texts", "search", *WITH, "x", "-i", index, "--lines", written(folder, "a\nb\n", "two"))
    latin = folder / "latin"
    latin.write_bytes(b"the cat\nGr\xf6\xdfe\n")
    run("embed", *WITH, "-o", folder / "latin.npy", latin, code=1)
    found = run("search", *WITH, "the cat", "--prompt", "", "-i", folder / "latin.npy", "--lines", latin, code=1)
    equal(found.out.splitlines()[0], b"1.000000\t1\tthe cat", "hits are shown where a text is not UTF-8")
    equal(len(found.out.splitlines()), 2)
    for command in ("search", *WITH, "x", "-i", index, "--lines", latin), ("cluster", *WITH, "-k", 1, index, "--lines", latin):
        told = run(*command, code=3)
        assert told.out == b"" and "has 2 texts" in told.err, told
    refused(3, "is not an .npy file", "search", *WITH, "x", "-i", path)
    run("embed", "-m", CLASSIFY, *REFERENCE, "-o", folder / "wide.npy", given="a")
    refused(2, "must come from the same model", "search", *WITH, "x", "-i", folder / "wide.npy")
    refused(2, "one question", "search", *WITH, "-i", index)
    run("embed", *WITH, "-o", folder / "none.npy", given="")
    equal(run("search", *WITH, "x", "-i", folder / "none.npy").out, b"")


def test_rerank(folder):
    """Scores are those of classify --pair after a sigmoid; the best come first, and of equal ones the earlier line."""
    ranker = cross_encoder(folder / "cross")
    texts = ["the cat sat", "anna lives in london", "", "a big red mat", "how are you", "the cat sat"]
    lines = run("classify", *REFERENCE, "-m", ranker, "--pair", "-f", "-", given="".join(f"where is anna\t{text}\n" for text in texts)).text.splitlines()
    scores = [1 / (1 + math.exp(-float(line.split("\t")[1]))) for line in lines]
    order = sorted(range(len(texts)), key=lambda i: (-scores[i], i))
    asked = ("rerank", *REFERENCE, "-m", ranker, "where is anna")
    for given in (texts, ("-f", written(folder, joined(texts)))):
        told = [line.split("\t") for line in run(*asked, *given).text.splitlines()]
        equal([(int(line), text) for _, line, text in told], [(i + 1, texts[i]) for i in order])
        assert all(abs(float(score) - scores[i]) < 1e-5 for (score, _, _), i in zip(told, order)), (told, scores)
    best = [json.loads(line) for line in run(*asked, "-k", 2, "--json", given=joined(texts)).text.splitlines()]
    equal([(one["line"], one["text"]) for one in best], [(i + 1, texts[i]) for i in order[:2]])
    equal(run(*asked, given="").out, b"")
    many = run(*asked, "-k", 3, given=joined(texts * 1000)).text.splitlines()
    equal([int(line.split("\t")[1]) - 1 for line in many], sorted(range(6000), key=lambda i: (-scores[i % len(texts)], i))[:3])
    refused(3, "a classifier of 3 labels; ranking needs a cross-encoder", "rerank", *REFERENCE, "-m", CLASSIFY, "a", "b")
    refused(2, "needs -m MODEL", "rerank", *REFERENCE, "a", "b")
    refused(2, "needs a question", "rerank", *REFERENCE, "-m", ranker)


def test_prompts_of_a_cross_encoder(folder):
    """sentence-transformers puts the default prompt of a folder that it saved as a cross-encoder before the first text of each pair."""
    ranker, texts = cross_encoder(folder / "cross"), ["the cat sat", "anna lives in london", "a big red mat", "how are you"]
    asked = lambda question, *options: run("rerank", "-m", ranker, *REFERENCE, *options, question, *texts).text  # noqa: E731
    plain, told = asked("where is anna"), asked("anna lives: where is anna")
    assert plain != told, "the prompt changes nothing"
    (ranker / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.base.modules.transformer.Transformer", "path": ""}]))
    settings = {"model_type": "CrossEncoder", "prompts": {"q": "anna lives: ", "other": "how "}, "default_prompt_name": "q"}
    written(ranker, json.dumps(settings), "config_sentence_transformers.json")
    equal(asked("where is anna"), told)
    equal(asked("where is anna", "--prompt", ""), plain)
    equal(asked("where is anna", "--prompt", "other"), asked("how where is anna", "--prompt", ""))
    equal(asked("is anna", "--prompt-text", "anna lives: where "), told)
    pairs = joined(f"where is anna\t{text}" for text in texts)
    labelled = run("classify", "-m", ranker, *REFERENCE, "--pair", given=pairs).text
    refused(2, 'has no prompt "x"; it has q, other', "rerank", "-m", ranker, *REFERENCE, "--prompt", "x", "a", "b")
    refused(2, "give one of them", "rerank", "-m", ranker, *REFERENCE, "--prompt", "q", "--prompt-text", "x", "a", "b")
    forward = {"method": "forward", "method_output_name": "logits"}
    for modalities in {"text": forward}, {"text": forward, "message": forward}:
        written(ranker, json.dumps({"modality_config": modalities}), "sentence_bert_config.json")
        if "message" not in modalities:
            equal(asked("where is anna"), told)
    for command in (("rerank", "a", "b"), ("classify", "--pair", "a", "b")):
        refused(3, "puts pairs of texts into the tokenizer's chat template", *command, "-m", ranker, *REFERENCE)
    run("classify", "-m", ranker, *REFERENCE, "a")
    (ranker / "sentence_bert_config.json").unlink()
    with Server(model=ranker) as server:
        found = server.fine("/v1/rerank", {"query": "where is anna", "documents": texts})["results"]
    wanted = [line.split("\t") for line in told.splitlines()]
    for one, (score, line, _) in zip(found, wanted, strict=True):
        assert one["index"] == int(line) - 1 and abs(one["relevance_score"] - float(score)) < 2e-6, (found, told)
    written(ranker, json.dumps(dict(settings, model_type="SentenceTransformer")), "config_sentence_transformers.json")
    equal(asked("where is anna"), plain, "what was saved as another kind of model has no prompts for pairs")
    equal(run("classify", "-m", ranker, *REFERENCE, "--pair", given=pairs.replace("where", "anna lives: where")).text, labelled)
    written(ranker, json.dumps(dict(settings, default_prompt_name="nobody")), "config_sentence_transformers.json")
    refused(3, "not one of its prompts", "rerank", "-m", ranker, *REFERENCE, "a", "b")


def test_cluster(folder):
    lines = [f"{animal} {i}" for i in range(6) for animal in ("cat cat cat", "paris london", "how are you")]
    path = written(folder, joined(lines))
    told = run("cluster", *WITH, "-k", 3, "--seed", 7, path)
    equal(told.out, run("cluster", *WITH, "-k", 3, "--seed", 7, path).out)
    rows = [line.split("\t") for line in told.text.splitlines()]
    equal([row[3] for row in rows], lines)
    equal(sorted(row[0] for row in rows if row[2] == "*"), sorted({row[0] for row in rows}))
    embedded(folder, joined(lines))
    equal(run("cluster", *WITH, "-k", 3, "--seed", 7, folder / "E.npy", "--lines", path).out, told.out)
    numbers = run("cluster", *REFERENCE, "-k", 3, "--seed", 7, folder / "E.npy").text.splitlines()
    equal([row.split("\t")[3] for row in numbers], [str(i + 1) for i in range(len(lines))])
    centres = [row.split("\t") for row in run("cluster", *WITH, "-k", 3, "--seed", 7, "--centres", path).text.splitlines()]
    equal([(c[0], c[2]) for c in centres], [(str(i), next(r[3] for r in rows if r[0] == str(i) and r[2])) for i in range(len(centres))])
    equal(sum(int(c[1]) for c in centres), len(lines))
    together = run("cluster", *WITH, "--threshold", "0.95", path).text.splitlines()
    equal(len(together), len(lines))
    for options, told in ((("-k", 3, "--seed", 7), rows), (("--threshold", "0.9999"), None)):
        told = told or [line.split("\t") for line in run("cluster", *WITH, *options, path).text.splitlines()]
        objects = [json.loads(line) for line in run("cluster", *WITH, *options, path, "--json").text.splitlines()]
        equal([[str(one["cluster"]), f"{one['cosine']:.6f}", "*" if one["nearest"] else "", one["text"]] for one in objects], told)
        equal([one["line"] for one in objects], [i + 1 for i in range(len(lines))])
    objects = [json.loads(line) for line in run("cluster", *WITH, "-k", 3, "--seed", 7, "--centres", "--json", path).text.splitlines()]
    equal([[str(one["cluster"]), str(one["size"]), one["text"]] for one in objects], centres)
    equal([lines[one["line"] - 1] for one in objects], [centre[2] for centre in centres])
    equal([{**one, "text": lines[one["line"] - 1]} for one in (json.loads(line) for line in run("cluster", *REFERENCE, "-k", 3, "--seed", 7, "--centres", "--json", folder / "E.npy").text.splitlines())],
          objects, "of an .npy file only the texts are missing")
    refused(2, "ask for fewer clusters", "cluster", *WITH, "-k", 19, path)
    refused(2, "either -k K or --threshold C", "cluster", *WITH, path)
    refused(2, "either -k K or --threshold C", "cluster", *WITH, "-k", 2, "--threshold", 0.5, path)
    refused(2, "--lines is for the vectors", "cluster", *WITH, "-k", 2, "--lines", path, path)
    equal(run("cluster", *WITH, "--threshold", 0.5, given="").out, b"")


main(globals())

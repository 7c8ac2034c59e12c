#!/usr/bin/env python3
"""Compares tessera classify and fill-mask on tiny encoders with the official implementation."""

import json
import math
import re

from support.command import GOLDEN, change_json, copy_model, equal, main, read_safetensors, refused, run, write_safetensors
from support.encoders import CLASSIFY, EXPECTED, LINES, MASKED, NEXT, REFERENCE, SENTENCE, TOKENS, close, joined, written
from support.ranker import cross_encoder


def labels(line):
    return {entry["label"]: entry["score"] for entry in json.loads(line)["labels"]}


def test_classify(folder):
    golden, names = EXPECTED["classify"], ["good", "bad", "so so"]
    for problem in ("single", "multiple", "regression"):
        model = copy_model(CLASSIFY, folder / problem)
        change_json(model / "config.json", problem_type=golden["problem_types"][problem])
        told = run("classify", "-m", model, *REFERENCE, "-k", 9, "--json", given=joined(LINES)).text.splitlines()
        for line, wanted in zip(told, golden[problem], strict=True):
            close([labels(line)[name] for name in names], wanted, problem)
    told = run("classify", "-m", CLASSIFY, *REFERENCE, given=joined(LINES)).text.splitlines()
    equal([line.split("\t")[0] for line in told], [names[max(range(3), key=row.__getitem__)] for row in golden["single"]])
    told = run("classify", "-m", CLASSIFY, *REFERENCE, "-k", 2, "anna", "bob").text.splitlines()
    equal(len(told), 4)
    assert float(told[0].split("\t")[1]) > float(told[1].split("\t")[1])
    pairs = joined("\t".join(pair) for pair in golden["pairs"])
    for line, wanted in zip(run("classify", "-m", CLASSIFY, *REFERENCE, "-k", 3, "--json", "--pair", given=pairs).text.splitlines(), golden["of_pairs"], strict=True):
        close([labels(line)[name] for name in names], wanted)
    for line, wanted in zip(run("classify", "-m", NEXT, *REFERENCE, "-k", 2, "--json", "--next-sentence", given=pairs).text.splitlines(), golden["next"], strict=True):
        close([labels(line)[name] for name in ("next", "random")], wanted)
    one = run("classify", "-m", CLASSIFY, *REFERENCE, "-k", 3, "--json", "--pair", *golden["pairs"][0]).text
    close([labels(one)[name] for name in names], golden["of_pairs"][0])
    odd = run("classify", "-m", CLASSIFY, *REFERENCE, "--pair", given="a\tb\nno tab\na\tb\n", code=1)
    equal([line != "" for line in odd.text.splitlines()], [True, False, True])
    for said, code, *arguments in (("has no classifier", 3, "-m", SENTENCE), ("has no next-sentence head", 3, "-m", CLASSIFY, "--next-sentence"),
                                   ("needs -m MODEL", 2), ("two for each pair", 2, "-m", CLASSIFY, "--pair", "a"), ("not both", 2, "-m", CLASSIFY, "-f", "x", "a"),
                                   ("--pair needs", 2, "-m", TOKENS, "--pair", "a", "b")):
        refused(code, said, "classify", *REFERENCE, *arguments)


def test_one_label(folder):
    """Of one label the score is its probability by itself, whatever kind of classification the config names."""
    model = cross_encoder(folder / "m")

    def scores(problem):
        change_json(model / "config.json", problem_type=problem)
        told = run("classify", "-m", model, *REFERENCE, "--json", given=joined(LINES)).text.splitlines()
        ranked = run("rerank", "-m", model, *REFERENCE, "--json", "anna", given=joined(LINES)).text
        return [labels(line)["score"] for line in told], ranked
    raw, _ = scores("regression")
    probabilities, ranked = scores("single_label_classification")
    close(probabilities, [1 / (1 + math.exp(-x)) for x in raw])
    equal((probabilities, ranked), scores("multi_label_classification"))


def test_a_decoder_s_classifier_reads_the_last_token_before_padding(folder):
    """As transformers, which takes every pad_token_id at the end of a text for padding, also one that the text or the tokenizer's template has."""
    model = copy_model(GOLDEN.parent / "ranks/labels", folder / "m")

    def scores(*arguments):
        lines = run("classify", "-m", model, *REFERENCE, "--json", *arguments).text.splitlines()
        return [labels(line)["LABEL_0"] for line in lines]
    plain = scores("the cat", "<pad>", "the", "cat")
    equal(scores("the cat<pad>", "<pad><pad>", "the<pad><pad><pad>", "cat"), plain)
    assert scores("the<pad> cat")[0] != plain[0], "padding inside a text stays"
    pair = scores("--pair", "the", " cat")
    end = {"SpecialToken": {"id": "<pad>", "type_id": 0}}
    one, other = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    template = {"type": "TemplateProcessing", "single": [one, end], "pair": [one, other, end], "special_tokens": {"<pad>": {"id": "<pad>", "ids": [1], "tokens": ["<pad>"]}}}
    change_json(model / "tokenizer.json", post_processor=template)
    equal((scores("the cat", "<pad>", "the", "cat"), scores("--pair", "the", " cat")), (plain, pair))
    change_json(model / "config.json", pad_token_id=None)
    assert scores("the cat")[0] != plain[0], "without pad_token_id every token counts"


def test_a_long_text_loses_the_end_that_the_tokenizer_names(folder):
    """truncation_side: the texts are cut by hand here, to the 32 tokens that the models read, of which 2 are around a text and 3 around a pair."""
    words = ("the cat sat on a mat paris is big how are you anna lives in london red dog green bob " * 2).split()
    text, short = " ".join(words), "red green dog"

    def told(model, *texts, **sides):
        change_json(model / "tokenizer_config.json", **sides)
        return json.loads(run("classify", "-m", model, *REFERENCE, "--json", *texts).text)
    model, tokens = copy_model(CLASSIFY, folder / "m"), copy_model(TOKENS, folder / "t")
    equal(len(words), 40)
    for side, cut in ("right", lambda n: words[:n]), ("left", lambda n: words[-n:]):
        equal(told(model, text, truncation_side=side)["labels"], told(model, " ".join(cut(30)))["labels"], side)
        for pair, wanted in ((text, short), (" ".join(cut(26)), short)), ((short, text), (short, " ".join(cut(26)))), ((text, text), (" ".join(cut(14)), " ".join(cut(15)))):
            equal(told(model, "--pair", *pair)["labels"], told(model, "--pair", *wanted)["labels"], (side, pair))
        spans, kept = told(tokens, text, truncation_side=side)["spans"], " ".join(cut(30))
        shift = text.rindex(kept) if side == "left" else 0
        assert spans, side
        equal(spans, [one | {key: one[key] + shift for key in ("begin", "end")} for one in told(tokens, kept)["spans"]], side)
    change_json(model / "tokenizer_config.json", truncation_side="middle")
    refused(3, 'tokenizer_config.json: "truncation_side" is "middle"; it must be "left" or "right"', "classify", "-m", model, *REFERENCE, text)


def test_spans(_):
    golden = EXPECTED["tokens"]
    told = run("classify", "-m", TOKENS, *REFERENCE, "--json", given=joined(golden["lines"])).text.splitlines()
    for line, text, wanted in zip(told, golden["lines"], golden["spans"], strict=True):
        spans = json.loads(line)["spans"]
        equal([(s["label"], s["begin"], s["end"]) for s in spans], [(s["label"], s["begin"], s["end"]) for s in wanted], text)
        close([s["score"] for s in spans], [s["score"] for s in wanted], text)
        equal([s["text"] for s in spans], [text.encode()[s["begin"]:s["end"]].decode() for s in wanted])
    blocks = run("classify", "-m", TOKENS, *REFERENCE, given=joined(golden["lines"])).text
    equal([len(block.splitlines()) for block in blocks.split("\n\n")][:1], [0] if not golden["spans"][0] else [len(golden["spans"][0])])
    equal(sum(line == "" for line in blocks.splitlines()), len(golden["lines"]))
    for odd in (b"\xff\xfe anna \x80\n", b"anna\0bob\n", "\u00c5nna \u0e01\u0e33 \ufb01x\n".encode(), b"anna " * 300):
        run("classify", "-m", TOKENS, *REFERENCE, "--encoding", "utf-8", given=odd)


def test_names_of_spans(folder):
    """A span has the name of its label without what stands up to the first "-"; only "B-" begins a span beside one of the same label."""
    golden, model = EXPECTED["tokens"], copy_model(TOKENS, folder / "m")
    names = json.loads((model / "config.json").read_text())["id2label"]

    def spans(**new):
        change_json(model / "config.json", id2label={i: new.get(name.replace("-", "_"), name) for i, name in names.items()})
        told = run("classify", "-m", model, *REFERENCE, "--json", given=joined(golden["lines"])).text.splitlines()
        return [[(s["label"], s["begin"], s["end"]) for s in json.loads(line)["spans"]] for line in told]
    wanted = [[(s["label"].replace("MISC", "MISC-A"), s["begin"], s["end"]) for s in one] for one in golden["spans"]]
    assert any(label == "MISC-A" for one in wanted for label, *_ in one), wanted
    equal(spans(MISC="S-MISC-A"), wanted)
    line = golden["lines"].index("red green red green")
    equal(wanted[line], [("PER", 0, 3), ("PER", 4, 9), ("PER", 10, 13), ("PER", 14, 19)])
    equal(spans(B_PER="S-PER")[line], [("PER", 0, 19)], "neighbours with the same label")


def test_labels_of_equal_scores_keep_their_order(folder):
    model = copy_model(CLASSIFY, folder / "m")
    path = model / "model.safetensors"
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[:8], "little")
    zeroed = 0
    for name, entry in json.loads(data[8:8 + size]).items():
        if "classifier" in name or "score" in name:
            begin, end = entry["data_offsets"]
            data[8 + size + begin:8 + size + end] = bytes(end - begin)
            zeroed += 1
    assert zeroed, "no classifier"
    path.write_bytes(data)
    names = json.loads((model / "config.json").read_text()).get("id2label")
    told = run("classify", "-m", model, *REFERENCE, "-k", 9, "anna").text.splitlines()
    wanted = [names[str(i)] for i in range(len(told))] if names else [f"LABEL_{i}" for i in range(len(told))]
    equal([line.split("\t")[0] for line in told], wanted)
    equal(len({line.split("\t")[1] for line in told}), 1, told)


def test_fill_mask(_):
    golden = EXPECTED["masked"]
    told = run("fill-mask", "-m", MASKED, *REFERENCE, "-k", 4, "--json", *golden["lines"]).text.splitlines()
    for line, wanted in zip(told, golden["masks"], strict=True):
        for got, mask in zip(json.loads(line)["masks"], wanted, strict=True):
            equal([c["id"] for c in got], [c[0] for c in mask])
            close([c["probability"] for c in got], [c[2] for c in mask])
    told = run("fill-mask", "-m", MASKED, *REFERENCE, "-k", 2, given=joined(golden["lines"])).text
    equal([len(block.splitlines()) for block in told.split("\n\n")], [2] * 4)
    odd = run("fill-mask", "-m", MASKED, *REFERENCE, "-k", 1, "no mask", "a [MASK]", code=1)
    assert "line 1: it has no [MASK]" not in odd.out.decode() and len(odd.text.splitlines()) == 1, odd
    refused(2, "--context 4: fill-mask cuts no text", "fill-mask", "-m", MASKED, *REFERENCE, "-c", 4, "a [MASK]")
    refused(3, "has no masked LM head", "fill-mask", "-m", SENTENCE, *REFERENCE, "a [MASK]")
    refused(2, "the number must be", "fill-mask", "-m", MASKED, *REFERENCE, "-k", 1000, "a [MASK]")
    refused(2, "needs -m MODEL", "fill-mask", *REFERENCE, "a [MASK]")


def test_a_text_that_would_lose_a_mask_is_named(folder):
    """By its line, in whatever window it is; it gets nothing, and the other lines are filled."""
    lines = ["anna [MASK]"] * 50
    lines[39] = "[MASK] " + "a " * 40 + "[MASK]"
    done = run("fill-mask", "-m", MASKED, "-d", "reference", "-k", 1, "--json", "-f", written(folder, joined(lines)), code=1)
    told = [json.loads(line) for line in done.text.splitlines()]
    equal([line["line"] for line in told], list(range(1, 51)))
    equal([len(line["masks"]) for line in told], [1] * 39 + [0] + [1] * 10)
    equal(len({json.dumps(line["masks"]) for line in told}), 2)
    assert "line 40: it has 44 tokens, and one of its masks lies past the 32 that the model reads; shorten it" in done.err, done
    assert "1 line could not be used" in done.err, done


def overflowing(source, folder, word):
    """A model in which the vector of this word overflows: half of it comes with the word, and half with every token."""
    model = copy_model(source, folder)
    arrays = read_safetensors(model / "model.safetensors")
    number = json.loads((model / "tokenizer.json").read_text())["model"]["vocab"][word]
    for ending, row in ("word_embeddings.weight", number), ("token_type_embeddings.weight", 0):
        (name,) = (name for name in arrays if name.endswith(ending))
        shape, values = arrays[name]
        arrays[name] = shape, (*values[:row * shape[1]], *[3e38] * shape[1], *values[(row + 1) * shape[1]:])
    write_safetensors(model / "model.safetensors", arrays)
    return model


def test_a_failure_says_in_which_lines_it_was(folder):
    """Of windows with 32 texts and more, the second begins with line 33."""
    for source, command, line in (CLASSIFY, "classify", "anna"), (MASKED, "fill-mask", "anna [MASK]"):
        lines = [line] * 39 + [line + " green"] + [line] * 10
        done = run(command, "-m", overflowing(source, folder / command, "green"), *REFERENCE, "-f", written(folder, joined(lines)), code=4)
        assert re.search(r"^tessera: lines 33 to (48|50): the (scores|logits) of text 8 (of \d+ )?are not finite", done.err), done


main(globals())

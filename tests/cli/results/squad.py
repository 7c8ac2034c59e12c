#!/usr/bin/env python3
"""tessera evaluate --answers: compares exact match and F1 with those of SQuAD's evaluation for what tessera answer gives."""

import importlib.util
import json

from support.command import GOLDEN, equal, main, refused, run

ANSWERS = GOLDEN.parent / "answers"
REFERENCE = ("-d", "reference", "-q", "-m", ANSWERS / "word_piece")
EXPECTED = json.loads((ANSWERS / "expected.json").read_text())
SPEC = importlib.util.spec_from_file_location("make_squad", GOLDEN.parent / "scores" / "make_squad.py")
SQUAD = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SQUAD)
QUESTIONS = list(zip(EXPECTED["questions"], EXPECTED["contexts"]))


def lines(path, objects):
    path.write_text("".join(json.dumps(o) + "\n" for o in objects))
    return path


def answered(folder, *more):
    path = lines(folder / "asked", [{"question": q, "context": c} for q, c in QUESTIONS])
    found = [json.loads(line)["answers"] for line in run("answer", *REFERENCE, "-f", path, "--json", *more).text.splitlines()]
    return [answers[0]["text"] if answers else "" for answers in found]


def right_answers(given):
    """Some equal, some in part, some with more than one, some of other words."""
    kinds = (lambda a: [a], lambda a: ["Nothing", f"the {a.upper()}!"], lambda a: [f"{a} and more words"], lambda a: ["zebra"])
    return [kinds[i % len(kinds)](answer) for i, answer in enumerate(given)]


def evaluated(path, *more):
    told = json.loads(run("evaluate", *REFERENCE, "--json", "--answers", path, *more).text)
    equal((told.pop("schema"), told.pop("file")), (1, str(path)))
    return told


def same(got, want):
    if isinstance(want, dict):
        equal(got.keys(), want.keys())
        for key in want:
            same(got[key], want[key])
    else:
        assert got == want or abs(got - want) < 1e-9, (got, want)


def objects(wanted, form):
    return [{"question": q, "context": c, "answers": form(right)} for (q, c), right in zip(QUESTIONS, wanted)]


FORMS = (lambda right: right, lambda right: {"text": right, "answer_start": [0] * len(right)}, lambda right: [{"text": r, "answer_start": 0} for r in right])


def test_every_form_of_the_file(folder):
    given = answered(folder)
    wanted = right_answers(given)
    want = SQUAD.told(given, wanted)
    assert 0 < want["exact"] < len(given) and want["f1"] > want["exact_match"], want
    for form in FORMS:
        same(evaluated(lines(folder / "data.jsonl", objects(wanted, form))), want)
    for value in (objects(wanted, FORMS[0]), {"data": objects(wanted, FORMS[1])}):
        (folder / "data.json").write_text(json.dumps(value, indent=1))
        same(evaluated(folder / "data.json"), want)
    shown = run("evaluate", *REFERENCE, "--answers", folder / "data.json").text
    equal(shown, f"exact match    {want['exact_match']:.2f}, {want['exact']} of {len(given)} questions\nF1             {want['f1']:.2f}\n")


def test_the_published_form_and_questions_without_answers(folder):
    given = answered(folder, "--no-answer")
    wanted = [[] if i % 2 else right for i, right in enumerate(right_answers(given))]
    want = SQUAD.told(given, wanted)
    assert want["unanswerable"]["questions"] and want["answerable"]["questions"], want
    articles = [{"title": str(i), "paragraphs": [{"context": c, "qas": [{"id": str(i), "question": q, "is_impossible": not right, "answers": [
        {"text": r, "answer_start": 0} for r in right]}]}]} for i, ((q, c), right) in enumerate(zip(QUESTIONS, wanted))]
    path = folder / "dev.json"
    path.write_text(json.dumps({"version": "v2.0", "data": articles}))
    same(evaluated(path), want)
    same(evaluated(lines(folder / "data.jsonl", objects(wanted, FORMS[1]))), want)
    shown = run("evaluate", *REFERENCE, "--answers", path).text.splitlines()
    equal([line.split("  ")[0] for line in shown], ["exact match", "F1", "with answers", "without"])


def test_options_of_answers(folder):
    for more in (("--longest", "3"), ("--context", "40")):
        given = answered(folder, *more)
        wanted = [[answer] for answer in answered(folder)]
        same(evaluated(lines(folder / "data.jsonl", objects(wanted, FORMS[0])), *more), SQUAD.told(given, wanted))


def test_refused(folder):
    good = {"question": "q", "context": "a text", "answers": ["a text"]}
    for wrong, told in (({"question": "q", "context": "c"}, 'line 2: "answers" must be a list of texts, or SQuAD\'s {"text": [...], "answer_start": [...]}'),
                        (good | {"answers": [1]}, 'line 2: "answers" must be a list of texts'),
                        (good | {"answers": {"texts": []}}, 'line 2: "answers" must be a list of texts'),
                        (good | {"context": None}, 'line 2 is not a JSON object with the texts "question" and "context"')):
        refused(3, told, "evaluate", *REFERENCE, "--answers", lines(folder / "data", [good, wrong]))
    (folder / "data").write_text(json.dumps(good) + "\n{")
    refused(3, "line 2 is not a JSON object", "evaluate", *REFERENCE, "--answers", folder / "data")
    (folder / "data").write_text(json.dumps({"data": [{"paragraphs": [{"context": "c", "qas": [{"question": "q"}]}]}]}))
    refused(3, 'question 1: "answers" must be', "evaluate", *REFERENCE, "--answers", folder / "data")
    for empty in ("", "[]", '{"data": []}'):
        (folder / "data").write_text(empty)
        refused(3, "data has no questions", "evaluate", *REFERENCE, "--answers", folder / "data")
    refused(2, "evaluate --answers needs -m MODEL", "evaluate", "--answers", folder / "data")
    refused(3, "nowhere: No such file", "evaluate", *REFERENCE, "--answers", folder / "nowhere")
    refused(3, "does not answer questions", "evaluate", "-d", "reference", "-q", "-m", GOLDEN.parent / "encoders/classify", "--answers", lines(folder / "d", [good]))
    refused(2, "only one of", "evaluate", *REFERENCE, "--answers", folder / "data", "--labelled", folder / "data")


main({name: test for name, test in globals().items() if name.startswith("test_")})

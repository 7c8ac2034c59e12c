#!/usr/bin/env python3
"""tessera answer: compares answers with those of transformers' pipeline (tests/golden/answers), and checks what it refuses."""

import json
import shutil

from support.command import GOLDEN, equal, main, refused, run

ANSWERS = GOLDEN.parent / "answers"
REFERENCE = ("-d", "reference", "-q")
OPTIONS = {"top_k": "--top-k", "max_answer_len": "--longest", "max_seq_len": "--context", "doc_stride": "--stride"}
EXPECTED = json.loads((ANSWERS / "expected.json").read_text())


def questions(folder):
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps({"question": q, "context": c}) + "\n" for q, c in zip(EXPECTED["questions"], EXPECTED["contexts"])))
    return path


def options(setting):
    return [word for key, value in setting.items() for word in ((OPTIONS[key], str(value)) if key in OPTIONS else ("--no-answer",))]


def check(got, wanted, what):
    equal(len(got), len(wanted), what)
    for a, b in zip(got, wanted):
        equal((a["text"], a["begin"], a["end"]), (b["text"], b["begin"], b["end"]), what)
        assert abs(a["score"] - b["score"]) < 2e-5, (what, a, b)


def test_answers_of_the_pipeline(folder):
    path = questions(folder)
    for name, cases in EXPECTED["models"].items():
        for case in cases:
            lines = run("answer", *REFERENCE, "-m", ANSWERS / name, "-f", path, "--json", *options(case["setting"])).text.splitlines()
            equal(len(lines), len(case["answers"]))
            for i, (line, wanted) in enumerate(zip(lines, case["answers"])):
                found = json.loads(line)
                equal(found["line"], i + 1)
                check(found["answers"], wanted, (name, case["setting"], i))


def test_a_tokenizer_without_cls_token(folder):
    """The token that says that there is no answer is then what the tokenizer puts first: the default of each class of tokenizers."""
    for name, (_, _, case, *_) in EXPECTED["models"].items():
        model = shutil.copytree(ANSWERS / name, folder / name)
        (model / "tokenizer_config.json").write_text('{"model_max_length": 96}')
        lines = run("answer", *REFERENCE, "-m", model, "-f", questions(folder), "--json", *options(case["setting"])).text.splitlines()
        for i, (line, wanted) in enumerate(zip(lines, case["answers"], strict=True)):
            check(json.loads(line)["answers"], wanted, (name, i))


def test_a_question_and_a_file(folder):
    context, wanted = EXPECTED["contexts"][0], EXPECTED["models"]["word_piece"][1]["answers"][0]
    (folder / "text").write_text(context)
    model = ("-m", ANSWERS / "word_piece")
    lines = run("answer", *REFERENCE, *model, "-k", "4", EXPECTED["questions"][0], folder / "text").text.splitlines()
    equal([line.split("\t")[0] for line in lines], [a["text"] for a in wanted])
    equal([line.split("\t")[2:] for line in lines], [[str(a["begin"]), str(a["end"])] for a in wanted])
    equal(run("answer", *REFERENCE, *model, "-k", "4", EXPECTED["questions"][0], given=context).text.splitlines(), lines)


def test_bad_input(folder):
    (folder / "lines").write_text('{"question": "a", "context": "b"}\nnothing\n{"question": 1, "context": "x"}\n')
    model = ("-m", ANSWERS / "word_piece")
    found = run("answer", "-d", "reference", *model, "-f", folder / "lines", "--json", code=1)
    equal([json.loads(line)["answers"] is None for line in found.text.splitlines()], [False, True, True])
    assert 'line 2: it is not a JSON object with the texts "question" and "context"' in found.err, found.err
    refused(2, "answer needs -m MODEL", "answer", "q", folder / "lines")
    refused(2, "a question and a file, or -f FILE, not both", "answer", *model, "-f", folder / "lines", "q")
    refused(2, "it must be 5 to 96", "answer", *REFERENCE, *model, "q", folder / "lines", "--context", "4")
    refused(3, "does not answer questions", "answer", *REFERENCE, "-m", GOLDEN.parent / "encoders/classify", "q", folder / "lines")
    refused(3, "use tessera answer", "classify", *REFERENCE, *model, "a text")


def test_other_commands_know_the_model(folder):
    model = ("-m", ANSWERS / "word_piece")
    (folder / "labelled.csv").write_text("text,label\na text,begin\n")
    (folder / "words.jsonl").write_text('{"tokens": ["a", "text"], "tags": ["begin", "end"]}\n')
    refused(2, "gives where an answer begins and ends; accuracy and F1 need", "evaluate", *REFERENCE, *model, "--labelled", folder / "labelled.csv")
    refused(3, "answers questions: use tsr_answer_questions", "evaluate", *REFERENCE, *model, "--words", folder / "words.jsonl")
    refused(3, "answers questions, which Tessera does not train", "train", *REFERENCE, *model, folder / "words.jsonl", "-o", folder / "out")
    equal(json.loads(run("cache", "warm", *REFERENCE, *model, "--json").text)["commands"], ["answer"])


main({name: test for name, test in globals().items() if name.startswith("test_")})

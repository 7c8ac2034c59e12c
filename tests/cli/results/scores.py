#!/usr/bin/env python3
"""tessera evaluate: compares BLEU and chrF with sacrebleu's own output, and accuracy and F1 with counts that are made here."""

import importlib.util
import json
import os
import random

from support.command import GOLDEN, SOURCE, equal, main, refused, run

SCORES = GOLDEN.parent / "scores"
CLASSIFIER = GOLDEN.parent / "encoders" / "classify"
TRANSLATOR = SOURCE / "models" / "translate-de-en"
REFERENCE = ("-d", "reference", "-q")
LABELS = ["good", "bad", "so so"]


def write_lines(path, lines):
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return path


def scored(folder, hypotheses, references, *arguments):
    files = "--hypotheses", write_lines(folder / "h", hypotheses), "--references", write_lines(folder / "r", references)
    return run("evaluate", "-q", *files, *arguments).text


def without_version(line):
    head, tail = line.split("|version:tessera-", 1)
    return head + tail[tail.index(" ="):]


def test_goldens_of_sacrebleu(folder):
    for case in json.loads((SCORES / "cases.json").read_text()):
        lines = scored(folder, case["hypotheses"], case["references"]).splitlines()
        equal([without_version(line) for line in lines[:2]], case["told"], case)
        exact = sum(a == b for a, b in zip(case["hypotheses"], case["references"]))
        equal(lines[2:], [f"exact = {exact} of {len(case['references'])} lines"])


def test_sacrebleu_itself(folder):
    try:
        import sacrebleu  # noqa: F401
    except ImportError:
        print("not compared with sacrebleu: it is missing")
        return
    spec = importlib.util.spec_from_file_location("make", SCORES / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for lines in [1] * 10 + [7] * 10 + [300] * 10:
        hypotheses, references = make.case(chance, lines)
        got = scored(folder, hypotheses, references).splitlines()[:2]
        equal([without_version(line) for line in got], make.told(hypotheses, references), (hypotheses, references))


def test_one_metric_and_json(folder):
    lines = ["the cat sat on the mat ."]
    equal([line.split("|")[0] for line in scored(folder, lines, lines, "--metric", "chrf").splitlines()], ["chrF2", "exact = 1 of 1 lines"])
    told = json.loads(scored(folder, lines, lines, "--json"))
    equal((told["schema"], told["lines"], told["exact"], told["bleu"]["hyp_len"], told["bleu"]["brevity_penalty"]), (1, 1, 1, 7, 1.0))
    assert abs(told["bleu"]["score"] - 100) < 1e-9 and abs(told["chrf"]["score"] - 100) < 1e-9, told
    assert told["bleu"]["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:tessera-"), told
    assert told["chrf"]["signature"].startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:tessera-"), told
    assert "bleu" not in json.loads(scored(folder, lines, lines, "--json", "--metric", "chrf"))


def test_a_translator(folder):
    """Scoring the translations of --parallel gives the same as scoring the output of tessera translate."""
    sources = ["Tom ging nicht weg.", "", "Wie groß ist Ihr Haus?", "Du bist reich, oder?"]
    references = ["Tom didn't leave.", "", "How big is your house?", "You're rich, aren't you?"]
    search = "--num-beams", "1"
    pairs = write_lines(folder / "pairs.tsv", [f"{a}\t{b}" for a, b in zip(sources, references)])
    noted = write_lines(folder / "noted.tsv", [f"{a}\t{b}\tCC BY\t7" for a, b in zip(sources, references)])
    translations = run("translate", *REFERENCE, *search, "-f", write_lines(folder / "s", sources)).text.splitlines()
    for path in (pairs, noted):
        equal(run("evaluate", *REFERENCE, *search, "--parallel", path, "-m", TRANSLATOR).text, scored(folder, translations, references))


# ---- labels ----

TEXTS = ["i like it", "it was bad", "the day", "of the day", "a", "so so", "was it", "the the the", "he said", "hello", "no", "yes"]


def given_labels(folder):
    out = run("classify", *REFERENCE, "-m", CLASSIFIER, "-f", write_lines(folder / "texts", TEXTS)).text
    return [line.split("\t")[0] for line in out.splitlines()]


def evaluated(path, *arguments):
    return json.loads(run("evaluate", *REFERENCE, "-m", CLASSIFIER, "--json", "--labelled", path, *arguments).text)


def check_labels(told, wanted, given):
    n = len(wanted)
    equal((told["texts"], told["right"]), (n, sum(a == b for a, b in zip(wanted, given))))
    f1s, weighted, counted = [], 0.0, 0
    for entry, name in zip(told["labels"], LABELS):
        truth, guess = wanted.count(name), given.count(name)
        right = sum(a == b == name for a, b in zip(wanted, given))
        f1 = 2 * right / (truth + guess) if truth + guess else 0.0
        equal((entry["label"], entry["texts"], entry["given"], entry["right"]), (name, truth, guess, right))
        for key, value in (("precision", right / guess if guess else 0.0), ("recall", right / truth if truth else 0.0), ("f1", f1)):
            assert abs(entry[key] - value) < 1e-12, (entry, key, value)
        f1s.append(f1)
        weighted += f1 * truth / n
        counted += truth + guess > 0
    for key, value in (("accuracy", told["right"] / n), ("micro_f1", told["right"] / n), ("macro_f1", sum(f1s) / counted), ("weighted_f1", weighted)):
        assert abs(told[key] - value) < 1e-12, (told, key, value)


def test_labels(folder):
    given = given_labels(folder)
    chance = random.Random(1)
    wanted = [chance.choice(LABELS) for _ in TEXTS]
    table = folder / "t.csv"
    table.write_text("label,text\n" + "".join(f'{label},"{text}"\r\n' for label, text in zip(wanted, TEXTS)))
    told = evaluated(table)
    check_labels(told, wanted, given)
    equal((told["schema"], told["file"]), (1, str(table)))
    numbers = write_lines(folder / "t.jsonl", [json.dumps({"sentence": text, "gold": LABELS.index(label)}) for label, text in zip(wanted, TEXTS)])
    again = evaluated(numbers, "--text-field", "sentence", "--label-field", "gold")
    equal({**again, "file": 0}, {**told, "file": 0})
    tabs = write_lines(folder / "t.tsv", ["text\tlabel", *(f"{text}\t{label}" for label, text in zip(wanted, TEXTS))])
    equal({**evaluated(tabs), "file": 0}, {**told, "file": 0})
    lines = run("evaluate", *REFERENCE, "-m", CLASSIFIER, "--labelled", table).text.splitlines()
    equal(lines[0], f"accuracy       {told['accuracy']:.4f}, {told['right']} of {len(TEXTS)} texts")
    equal([line.split("  ")[0] for line in lines[-3:]], LABELS)


def test_labels_from_a_pipe(folder):
    """The file is read once; and a name that is not UTF-8 is in the JSON."""
    for rows in (["text\tlabel", "i like it\tgood", "so so\tbad"], ['{"text": "i like it", "label": "good"}', '{"text": "so so", "label": 1}']):
        path = write_lines(folder / os.fsdecode(b"caf\xe9"), rows)
        told = evaluated(path)
        equal((told["texts"], told["file"]), (2, f"{folder}/caf\ufffd"))
        piped = run("evaluate", *REFERENCE, "-m", CLASSIFIER, "--json", "--labelled", "/dev/stdin", given=path.read_bytes()).text
        equal({**json.loads(piped), "file": 0}, {**told, "file": 0})
    refused(3, "/dev/stdin is empty; it needs a header", "evaluate", *REFERENCE, "-m", CLASSIFIER, "--labelled", "/dev/stdin")


def test_all_right_and_a_label_that_never_is(folder):
    given = given_labels(folder)
    table = write_lines(folder / "t.tsv", ["text\tlabel", *(f"{text}\t{label}" for label, text in zip(given, TEXTS))])
    told = evaluated(table)
    check_labels(told, given, given)
    equal((told["accuracy"], told["macro_f1"]), (1.0, 1.0))


def test_the_bundled_intents(folder):
    wanted = {"My card still hasn't come.": "card_arrival", "How do I change my PIN?": "change_pin", "I want to close my account.": "terminate_account",
              "Why was I charged for taking out cash?": "cash_withdrawal_charge"}
    table = write_lines(folder / "t.tsv", ["text\tcategory", *(f"{text}\t{label}" for text, label in wanted.items())])
    told = json.loads(run("evaluate", *REFERENCE, "-m", "intents", "--json", "--labelled", table, "--label-field", "category").text)
    equal((told["right"], len(told["labels"])), (len(wanted), 77))


# ---- what is refused ----

def test_refused(folder):
    good = write_lines(folder / "good", ["a", "b"])
    short = write_lines(folder / "short", ["a"])
    empty = write_lines(folder / "empty", [])
    bad = folder / "bad"
    bad.write_bytes(b"a\n\xff\n")
    no_tab = write_lines(folder / "no_tab", ["a\tb", "c"])
    meh = write_lines(folder / "meh", ["text,label", "a,good", "b,meh"])
    ragged = write_lines(folder / "ragged", ["text,label", "a,good", "b"])
    header = write_lines(folder / "header", ["text,label"])
    number = write_lines(folder / "number", ["text,label", "a,3"])
    real = write_lines(folder / "real", ['{"text": "a", "label": 1.5}'])
    for code, fragment, *arguments in (
            (2, "evaluate needs --perplexity FILE, --labelled FILE"),
            (2, "only one of", "--perplexity", good, "--parallel", good),
            (2, "--hypotheses and --references must be given together", "--hypotheses", good),
            (2, "evaluate needs", "--references", good),
            (2, "--metric ter: ter is not a metric", "--metric", "ter", "--hypotheses", good, "--references", good),
            (2, "--metric bleu,: ", "--metric", "bleu,", "--hypotheses", good, "--references", good),
            (3, "good has 2 lines and", "--hypotheses", good, "--references", short),
            (3, "bad: line 2 is not UTF-8 (byte 0xff)", "--hypotheses", bad, "--references", good),
            (3, "bad: line 2 is not UTF-8 (byte 0xff)", "--hypotheses", good, "--references", bad),
            (3, "there are no lines", "--hypotheses", empty, "--references", empty),
            (3, "No such file", "--hypotheses", folder / "nothing", "--references", good),
            (3, "no_tab: line 2 has no TAB", "--parallel", no_tab),
            (3, "empty is empty", "--parallel", empty),
            (2, "needs -m MODEL", "--labelled", meh),
            (3, 'text 2 has the label "meh"', "--labelled", meh, "-m", CLASSIFIER),
            (3, "3: good, bad, so so", "--labelled", meh, "-m", CLASSIFIER),
            (3, 'text 1 has the label "3"', "--labelled", number, "-m", CLASSIFIER),
            (3, "row 2: it has 1 field", "--labelled", ragged, "-m", CLASSIFIER),
            (3, "has no column label", "--labelled", good, "-m", CLASSIFIER, "--text-field", "a"),
            (3, 'line 1: "label" is not a string', "--labelled", real, "-m", CLASSIFIER),
            (3, "header has a header and no texts", "--labelled", header, "-m", CLASSIFIER),
            (3, "No such file", "--labelled", folder / "nothing", "-m", CLASSIFIER),
            (2, "--labelled -: standard input and output cannot be used for FILE here", "--labelled", "-", "-m", CLASSIFIER),
            (2, "gives a label a word", "--labelled", meh, "-m", GOLDEN.parent / "encoders" / "tokens"),
            (3, "", "--labelled", meh, "-m", SOURCE / "models" / "shakespeare")):
        refused(code, fragment, "evaluate", *REFERENCE, *arguments)


main(globals())

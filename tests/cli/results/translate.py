#!/usr/bin/env python3
"""tessera translate: lines in, lines out, whatever the lines are; beam search, results, splitting, exit codes. Also generate with an encoder-decoder."""

import json
import os
import random
import subprocess
import threading

from support.command import COMMAND, SHARED, SOURCE, change_json, copy_model, environment, equal, larger, main, refused, run

TINY = SOURCE / "tests" / "golden" / "translate"  # it writes a line in capitals, and reads 40 tokens
REFERENCE = ("-d", "reference")
LONG = "this is a very long line. it has several sentences, and it is longer than the model reads! yes."


def translate(*arguments, **options):
    return run("translate", *REFERENCE, "-m", TINY, "-q", *arguments, **options)


def cases():
    return json.loads((TINY / "cases.json").read_text())["cases"]


def test_as_the_official_implementation(folder):
    wanted = cases()
    lines = "".join(case["line"] + "\n" for case in wanted)
    equal(translate(given=lines).text, "".join(case["texts"][0] + "\n" for case in wanted))
    (folder / "lines.txt").write_text(lines)
    rows = translate("--num-beams", "4", "--n-best", "4", "--early-stopping", "false", "-f", folder / "lines.txt").text.splitlines()
    equal(len(rows), 4 * len(wanted))
    for i, case in enumerate(wanted):
        for k in range(4):
            text, score = rows[4 * i + k].split("\t")
            equal(text, case["texts"][k], case["line"])
            assert abs(float(score) - case["scores"][k]) <= 1e-4 + 5e-5 * abs(case["scores"][k]), (case, rows[4 * i + k])


def test_a_line_in_a_line_out(_):
    equal(translate("one", "two").text, "ONE\nTWO\n")
    equal(translate(given="").text, "")
    equal(translate(given="\n").text, "\n")
    equal(translate(given="\n\none\n \t \n\ntwo").text, "\n\nONE\n\n\nTWO\n")
    equal(translate(given="one\r\ntwo\r\n").text, "ONE\nTWO\n")
    equal(translate("--n-best", "2", "--num-beams", "2", given="\none\n").text.split("\n")[:2], ["", ""])
    equal(len(translate("--n-best", "3", given="\none\n\n").text.splitlines()), 9)


def test_any_bytes(_):
    got = translate("--encoding", "utf-8", given=b"one\na\0b\n\xff\xfe\xc3\nunknown: \xe4\xbd\xa0\ntwo\n").out.split(b"\n")
    equal((len(got), got[0], got[4], got[5]), (6, b"ONE", b"TWO", b""))
    for line in got:
        line.decode()


def test_long_lines(_):
    equal(translate(LONG).text, LONG.upper() + "\n")
    spaced = LONG.replace(". it", ".  it")
    equal(translate(spaced).text, spaced.upper() + "\n")
    words = " ".join(random.Random(3).choice(["one", "two", "seven"]) for _ in range(60))
    equal(translate("a", words, "b").text, f"A\n{words.upper()}\nB\n")
    assert len(translate("x" * 1000).text) > 500, "it can only be cut between characters"
    said = run("translate", *REFERENCE, "-m", TINY, LONG).err
    assert "1 lines were longer than the model can read, and were split" in said, said


def test_the_length_that_a_tokenizer_names(folder):
    copy_model(TINY, folder / "model")
    (folder / "model" / "tokenizer_config.json").write_text('{"model_max_length": 12}')
    got = run("translate", *REFERENCE, "-m", folder / "model", "--no-split", code=1, given="one\none, two, three!\n")
    assert "line 2 has 17 tokens" in got.err and "reads 12" in got.err, got


def test_no_split(_):
    got = run("translate", *REFERENCE, "-m", TINY, "--no-split", code=1, given=f"one\n{LONG}\ntwo\n")
    equal(got.text, "ONE\n\nTWO\n")
    assert "line 2 has " in got.err and "1 of 3 lines have no translation" in got.err, got
    equal(run("translate", *REFERENCE, "-m", TINY, "--no-split", "-q", code=1, given=LONG).text, "\n")


def test_any_batch_and_beams(_):
    lines = "".join(case["line"] + "\n" for case in cases())
    whole = translate("--n-best", "4", given=lines).text
    for batch in (1, 2, 7, 64):
        equal(translate("--n-best", "4", "--batch-size", batch, given=lines).text, whole, f"batch {batch}")
    best = "".join(line.split("\t")[0] + "\n" for line in whole.splitlines()[::4])
    equal(translate("--num-beams", "1", given=lines).text, best, "an easy task: greedy finds the same")
    equal(translate("--beam-size", "1", "--n-best", "1", "one").text.split("\t")[0], "ONE")


def test_options_of_the_search(_):
    equal(translate("--max-new-tokens", "2", "one").text, "ON\n")
    assert translate("--min-new-tokens", "12", "one").text.startswith("ONE"), "more follows"
    assert len(translate("--min-new-tokens", "12", "one").text) >= 12
    equal(translate("--target-prefix", "TW", "one").text[:2], "TW")
    assert "E" not in translate("--suppress", "39", "three").text
    one = float(translate("--n-best", "1", "one").text.split("\t")[1])
    half = float(translate("--n-best", "1", "--length-penalty", "0", "one").text.split("\t")[1])
    assert abs(half - 4 * one) < 1e-5, "four tokens, including the end token"
    covered = float(translate("--n-best", "1", "--coverage-penalty", "1", "one").text.split("\t")[1])
    assert covered <= one, "source tokens that are not covered must lower the score"


def test_settings_of_the_folder(folder):
    copy_model(TINY, folder / "model")
    change_json(folder / "model" / "generation_config.json", num_beams=2, max_length=4, bad_words_ids=[[VOCAB("W")]])
    run_it = lambda *a: run("translate", *REFERENCE, "-m", folder / "model", "-q", *a)
    equal(run_it("three").text, "THR\n")
    refused(2, "--n-best 3: there are only 2 beams", "translate", *REFERENCE, "-m", folder / "model", "--n-best", "3", "one")
    assert "W" not in run_it("-n", "8", "two").text
    change_json(folder / "model" / "generation_config.json", bad_words_ids=[[500]])
    refused(3, "bad_words_ids", "translate", *REFERENCE, "-m", folder / "model", "one")
    change_json(folder / "model" / "generation_config.json", bad_words_ids=None, early_stopping="maybe")
    refused(3, "early_stopping", "translate", *REFERENCE, "-m", folder / "model", "one")


def VOCAB(piece):
    return json.loads((TINY / "tokenizer.json").read_text())["model"]["vocab"][piece]


def test_refused(folder):
    refused(2, "name no languages", "translate", *REFERENCE, "-m", TINY, "--from", "de", "--to", "en", "one")
    refused(2, "--n-best 5: there are only 4 beams", "translate", *REFERENCE, "-m", TINY, "--n-best", "5", "one")
    refused(2, "--early-stopping soon", "translate", *REFERENCE, "-m", TINY, "--early-stopping", "soon", "one")
    refused(2, "not both", "translate", *REFERENCE, "-m", TINY, "-f", folder / "x", "one")
    refused(3, "No such file", "translate", *REFERENCE, "-m", TINY, "-f", folder / "nothing.txt")
    refused(3, "is not an encoder-decoder", "translate", *REFERENCE, "-m", SOURCE / "models" / "shakespeare", "one")
    refused(2, "token id 900", "translate", *REFERENCE, "-m", TINY, "--suppress", "900", "one")
    refused(2, "the target prefix has", "translate", *REFERENCE, "-m", TINY, "--target-prefix", "a" * 60, "one")


def test_languages(folder):
    pairs = {"translation_en_to_de": {"prefix": "to german. "}, "translation_en_to_fr": {"prefix": "to french. "}}
    copy_model(TINY, folder / "model")
    change_json(folder / "model" / "config.json", task_specific_params=pairs)
    run_it = lambda *a: run("translate", *REFERENCE, "-m", folder / "model", "-q", *a).text
    equal(run_it("--from", "en", "--to", "de", "one"), "TO GERMAN. ONE\n", "the encoder reads the prefix, too")
    equal(run_it("--source-lang", "en", "--target-lang", "fr", "one"), "TO FRENCH. ONE\n")
    equal(run_it("one"), "ONE\n")
    refused(2, "en-de, en-fr", "translate", *REFERENCE, "-m", folder / "model", "--from", "de", "--to", "en", "one")


@larger("data/models/aren-transliteration")
def test_aren(_):
    """A published CTranslate2 model and the tests that come with it."""
    folder = SHARED / "data" / "models" / "aren-transliteration"
    rows = [line.split("\t") for line in (folder / "expected.txt").read_text().splitlines() if not line.startswith("#")]
    for beams in (1, 4):
        got = run("translate", *REFERENCE, "-q", "-m", folder, "--num-beams", beams, *[row[0] for row in rows]).text
        equal(got.splitlines(), [row[1] for row in rows], f"{beams} beams")


def test_lines_as_they_come(_):
    """A line is translated before the next one arrives."""
    process = subprocess.Popen([COMMAND, "translate", *REFERENCE, "-m", str(TINY), "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment())
    stop = threading.Timer(120, process.kill)
    stop.start()
    for word in (b"one", b"two"):
        process.stdin.write(word + b"\n")
        process.stdin.flush()
        equal(process.stdout.readline(), word.upper() + b"\n")
    process.stdin.close()
    equal(process.wait(), 0)
    stop.cancel()


def test_memory_stays(folder):
    """Four times as many lines take the same memory."""
    if os.environ.get("TESSERA_SANITIZE_FLAGS"):
        return  # sanitizers do not give freed memory back
    def peak(n):
        chosen = random.Random(1)
        (folder / "lines.txt").write_text("".join(chosen.choice("abcde") * chosen.randint(0, 3) + "\n" for _ in range(n)))
        with open(folder / "lines.txt", "rb") as given:
            process = subprocess.Popen([COMMAND, "translate", *REFERENCE, "-m", str(TINY), "-q", "--num-beams", "1", "-n", "4"],
                                       stdin=given, stdout=subprocess.PIPE, env=environment())
            lines = sum(1 for _ in process.stdout)
            _, status, usage = os.wait4(process.pid, 0)
        equal((lines, status), (n, 0))
        return usage.ru_maxrss
    small, large = peak(2000), peak(8000)
    assert large < small + 2048, f"{small} KiB for 2000 lines, {large} KiB for 8000"


def test_generate(_):
    wanted = cases()[:3]
    for case in wanted:
        got = run("generate", *REFERENCE, "-m", TINY, "-q", "--num-beams", "4", case["line"]).text
        equal(got, case["texts"][0] + "\n")
        equal(run("generate", *REFERENCE, "-m", TINY, "-q", case["line"]).text, case["texts"][0] + "\n", "greedy")
    told = json.loads(run("generate", *REFERENCE, "-m", TINY, "-q", "--json", "--num-beams", "4", "--n-best", "4",
                          *[case["line"] for case in wanted]).text)
    equal([t["text"] for t in told], [text for case in wanted for text in case["texts"]])
    equal([t["prompt"] for t in told], [0] * 4 + [1] * 4 + [2] * 4)
    printed = run("generate", *REFERENCE, "-m", TINY, "-q", "--num-beams", "2", "--n-best", "2", wanted[0]["line"]).text
    assert printed.startswith("--- 1.1  score ") and "\n--- 1.2  score " in printed, printed
    drawn = run("generate", *REFERENCE, "-m", TINY, "-q", "--temp", "0.1", "-s", "3", "one").text
    equal(drawn, "ONE\n")
    refused(2, "the prompt has", "generate", *REFERENCE, "-m", TINY, LONG)


BUNDLED = {  # from transformers' MarianMTModel of models/translate-de-en in float32: the two best of beam 4, with scores
    "Wo ist der Bahnhof?": [("Where's the station?", -0.22220), ("Where is the station?", -0.28797)],
    "Du bist reich, oder?": [("You're rich, aren't you?", -0.12223), ("You are rich, aren't you?", -0.18106)],
    "Ich hätte gern einen Kaffee.": [("I'd like to have a coffee.", -0.26543), ("I'd like a coffee.", -0.30994)],
}


def test_bundled_model(_):
    rows = run("translate", *REFERENCE, "-q", "--n-best", "2", given="".join(line + "\n" for line in BUNDLED)).text.splitlines()
    wanted = [pair for best in BUNDLED.values() for pair in best]
    equal(len(rows), len(wanted))
    for row, (text, score) in zip(rows, wanted):
        got, got_score = row.split("\t")
        equal(got, text)
        assert abs(float(got_score) - score) <= 1e-4, (row, score)


main(globals())

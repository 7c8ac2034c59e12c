#!/usr/bin/env python3
"""tessera tokenize: lines to ids and back; refuses lines that are not lists of ids, and ids that the model does not have."""

from support.command import GOLDEN, PLAY, SHARED, copy_model, equal, larger, main, refused, run

LINES = ["KING HENRY: once more", "", "  two  spaces ", "tab\there", "été 🙂 naïve", "e\u0301 \u200d", "<|endoftext|>x", "\ufeffbom", "a\x01b", "x" * 3000]


def test_round_trip(folder):
    text = "".join(line + "\n" for line in LINES).encode()
    ids = run("tokenize", "--no-special", given=text)
    equal(ids.err, "")
    equal(ids.out.count(b"\n"), len(LINES))
    assert set(ids.text) <= set("0123456789 \n")
    equal(ids.text.splitlines()[1], "")
    equal(run("tokenize", "--decode", given=ids.out).out, text)
    (folder / "lines").write_bytes(text)
    equal(run("tokenize", "--no-special", folder / "lines", cwd=folder).out, ids.out)
    equal(run("tokenize", "--no-special", "-m", "shakespeare", "-", given=text).out, ids.out)
    equal(run("tokenize", "--no-special", "-m", PLAY, given=text[:-1]).out, ids.out, "a last line without a line end")


def test_special_tokens(_):
    equal(run("tokenize", given="<|endoftext|>\n").text, "0\n")
    as_text = run("tokenize", "--no-parse-special", given="<|endoftext|>\n")
    assert as_text.text.split() != ["0"] and len(as_text.text.split()) > 1
    equal(run("tokenize", "--decode", given=as_text.out).text, "<|endoftext|>\n")
    equal(run("tokenize", "--decode", given="0 33\n").text, "<|endoftext|>A\n")
    equal(run("tokenize", "--decode", "--no-special", given="0 33\n").text, "A\n")
    equal(run("tokenize", "--decode", given="33,34 35\n").text, "ABC\n")


def test_bytes_that_are_no_text(_):
    equal(run("tokenize", "--encoding", "utf-8", given=b"\xff\n\xc3\nok\n").out.count(b"\n"), 3)
    equal(run("tokenize", given=b"a\0b\n").out.count(b"\n"), 1)
    equal(run("tokenize", given=b"").out, b"")


def test_bad_ids(_):
    """A line that fails leaves an empty line; the others are still read, and the exit code shows the failure."""
    for bad, why in (("x", "x: give token ids"), ("1024", "1024"), ("99999999999", "99999999999"), ("-1", "-1")):
        result = run("tokenize", "--decode", given=f"33\n{bad}\n34\n", code=1)
        equal(result.text, "A\n\nB\n")
        assert why in result.err and "1 of 3 lines failed" in result.err, result.err


def test_a_tokenizer_alone(folder):
    """A tokenizer.json, or a folder with one, is enough; no model is needed."""
    (folder / "t").mkdir()
    (folder / "t" / "tokenizer.json").write_bytes((PLAY / "tokenizer.json").read_bytes())
    ids = run("tokenize", given="To be\n").text
    for place in (folder / "t", folder / "t" / "tokenizer.json"):
        equal(run("tokenize", "-m", place, given="To be\n").text, ids)


def test_no_tokenizer(folder):
    refused(3, "tokenizer", "tokenize", "-m", GOLDEN / "gpt2-tiny", given="x\n")
    refused(3, "No such file", "tokenize", folder / "nothing")
    model = copy_model(PLAY, folder / "m")
    (model / "tokenizer.json").write_text('{"version": "1.0"')
    refused(3, "tokenizer.json", "tokenize", "-m", model, given="x\n")


@larger("data/models/stories260k")
def test_llama2c(_):
    model = SHARED / "data" / "models" / "stories260k" / "checkpoint_legacy.bin"
    ids = run("tokenize", "--no-special", "-m", model, given="Once upon a time\n")
    equal(run("tokenize", "--decode", "-m", model, given=ids.out).text.strip(), "Once upon a time")


main(globals())

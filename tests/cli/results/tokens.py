#!/usr/bin/env python3
"""tessera tokenize: lines to ids and back; refuses lines that are not lists of ids, and ids that the model does not have."""

import json

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
    equal(run("tokenize", "--decode", given=b"33,34 35\r\n\r\n33\r\n").text, "ABC\n\nA\n")


def test_bytes_that_are_no_text(_):
    equal(run("tokenize", "--encoding", "utf-8", given=b"\xff\n\xc3\nok\n").out.count(b"\n"), 3)
    equal(run("tokenize", given=b"a\0b\n").out.count(b"\n"), 1)
    equal(run("tokenize", given=b"").out, b"")


def test_bad_ids(_):
    """A line that fails leaves an empty line; the others are still read, and the exit code shows the failure."""
    for bad, why in (("x", "x: give token ids"), ("1024", "1024"), ("99999999999", "99999999999"), ("-1", "-1"), ("33\0 34", "it has a 0 byte")):
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


def tokenizer(folder, model, normalizer=None, words=None):
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer,
                                                       "pre_tokenizer": words, "post_processor": None, "decoder": None, "model": model}))
    return folder


def with_config(folder, tokenizer_class, model_type, **fields):
    (folder / "config.json").write_text(json.dumps({"model_type": model_type, "vocab_size": 8}))
    (folder / "tokenizer_config.json").write_text(json.dumps(fields | ({"tokenizer_class": tokenizer_class} if tokenizer_class else {})))


def test_what_tokenizer_config_says_of_the_steps(folder):
    """do_lower_case and its kin, and add_prefix_space, replace what tokenizer.json has, as in the classes of transformers that read them."""
    pieces = {piece: i for i, piece in enumerate(("[UNK]", "hello", "Hello", "\u00e9", "e", "\u65e5\u672c", "\u65e5", "\u672c"))}
    bert = tokenizer(folder / "bert", {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": pieces},
                     {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": False}, {"type": "BertPreTokenizer"})
    for name, kind, fields, ids in (("BertTokenizer", "bert", {}, "2 3 6 7"), ("BertTokenizer", "bert", {"do_lower_case": True}, "1 4 6 7"),
                                    ("BertTokenizerFast", "bert", {"do_lower_case": True, "strip_accents": False}, "1 3 6 7"),
                                    ("ElectraTokenizer", "electra", {"strip_accents": True, "do_lower_case": None}, "2 4 6 7"),
                                    ("MPNetTokenizer", "mpnet", {"tokenize_chinese_chars": False, "do_lower_case": False}, "2 3 5"),
                                    (None, "distilbert", {"do_lower_case": True, "strip_accents": None}, "1 4 6 7"),
                                    ("PreTrainedTokenizerFast", "bert", {"do_lower_case": True, "tokenize_chinese_chars": False}, "2 3 6 7")):
        with_config(bert, name, kind, **fields)
        equal(run("tokenize", "-m", bert, given="Hello \u00e9 \u65e5\u672c\n").text, ids + "\n", (name, fields))
    with_config(bert, "BertTokenizer", "bert", do_lower_case="yes")
    refused(3, '"do_lower_case"', "tokenize", "-m", bert, given="a")
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
             "byte_fallback": False, "vocab": {"a": 0, "\u0120": 1, "\u0120a": 2}, "merges": ["\u0120 a"]}
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    plain, several = tokenizer(folder / "plain", model, words=step), tokenizer(folder / "several", model, words={"type": "Sequence", "pretokenizers": [step]})
    for model, name, kind, prefix, ids in ((plain, "GPT2Tokenizer", "gpt2", True, "2"), (plain, "GPT2TokenizerFast", "gpt2", False, "0"), (plain, None, "gpt_neox", True, "2"),
                                           (plain, "RobertaTokenizer", "roberta", True, "2"), (plain, "PreTrainedTokenizerFast", "gpt2", True, "0"),
                                           (several, "GPT2Tokenizer", "gpt2", True, "0")):
        with_config(model, name, kind, add_prefix_space=prefix)
        equal(run("tokenize", "-m", model, given="a\n").text, ids + "\n", (model, name, prefix))


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

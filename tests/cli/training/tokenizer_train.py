#!/usr/bin/env python3
"""tessera tokenizer train: what it writes; a second run gives the same bytes; its merges are those of the tokenizers library, where that is installed; what it refuses."""

import json

from support.command import SOURCE, equal, main, refused, run

TEXT = (SOURCE / "README.md").read_text() + (SOURCE / "docs" / "design.md").read_text()


def write(folder, text=TEXT, name="text"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_bpe(folder):
    text, out = write(folder), folder / "tokenizer.json"
    told = run("tokenizer", "train", "--vocab-size", 600, "--special", "<|endoftext|>", "--end", "<|endoftext|>", "-o", out, text)
    assert "600 tokens" in told.err, told.err
    first = out.read_bytes()
    equal(len(json.loads(first)["model"]["merges"]), 600 - 257)
    run("tokenizer", "train", "--type", "bpe", "--vocab-size", 600, "--special", "<|endoftext|>", "--end", "<|endoftext|>", "-o", out, text)
    equal(out.read_bytes(), first, "again")
    lines = "".join(TEXT.splitlines(keepends=True)[:50])
    ids = run("tokenize", "-m", out, given=lines)
    assert all(line.split()[-1] == "0" for line in ids.text.splitlines())
    equal(run("tokenize", "--decode", "--no-special", "-m", out, given=ids.out).text, lines)


def test_merges_equal_the_library(folder):
    try:
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    except ImportError:
        print("    the tokenizers library is not installed: not compared")
        return
    text, more, out = write(folder), write(folder, TEXT[::-1], "more"), folder / "tokenizer.json"
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False)
    for size, specials in ((700, []), (2500, ["</s>", "the", " o"])):
        library = Tokenizer(models.BPE())
        library.pre_tokenizer = bytes_
        library.train([str(text), str(more)], trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False,
                                                                  initial_alphabet=bytes_.alphabet()))
        wanted = json.loads(library.to_str())["model"]
        run("tokenizer", "train", "--vocab-size", size, *(x for s in specials for x in ("--special", s)), "-o", out, text, more)
        got = json.loads(out.read_text())["model"]
        equal(got["vocab"], wanted["vocab"])
        equal([m.split(" ") for m in got["merges"]], [list(m) for m in wanted["merges"]])
        equal(Tokenizer.from_file(str(out)).encode(TEXT[:999]).ids, library.encode(TEXT[:999]).ids)


def test_characters(folder):
    text, bare, out = write(folder, "naïve 日本\n"), folder / "bare.json", folder / "tokenizer.json"
    run("tokenizer", "train", "--type", "char", "-o", bare, text)
    equal(json.loads(bare.read_text())["model"]["unk_token"], "", "Hugging Face's library needs a text")
    equal(run("tokenize", "-m", bare, given="an\n").text, "2 4\n")
    refused_line = run("tokenize", "-m", bare, given="xyz\n", code=1)
    assert '"x" is not in the vocabulary' in refused_line.err, refused_line.err
    run("tokenizer", "train", "--type", "char", "--special", "<unk>", "--unknown", "<unk>", "-o", out, text)
    equal(run("tokenize", "-m", out, given="xan\n").text, "0 3 5\n")
    try:
        from transformers import PreTrainedTokenizerFast
    except ImportError:
        return
    loaded = PreTrainedTokenizerFast(tokenizer_file=str(out))
    equal(loaded("xan日")["input_ids"], [0, 3, 5, 8])
    equal(loaded.decode([3, 5, 2, 8]), "an 日")
    equal(PreTrainedTokenizerFast(tokenizer_file=str(bare))("an")["input_ids"], [2, 4])


def test_fewer_pairs_than_asked_for(folder):
    told = run("tokenizer", "train", "--vocab-size", 900, "-o", folder / "t.json", write(folder, "ab ab ab"))
    assert "no more pairs" in told.err and "258 tokens" in told.err, told.err


def test_refusals(folder):
    text, out = write(folder, "ab\n"), folder / "tokenizer.json"
    for code, why, arguments in (
        (2, "give what to do", ()),
        (2, "tokenizer learn: unknown", ("learn",)),
        (2, "no text file", ("train", "-o", out)),
        (2, "-o tokenizer.json", ("train", text)),
        (2, "bpe or char", ("train", "--type", "words", "-o", out, text)),
        (2, "at least 257", ("train", "--vocab-size", "256", "--special", "<s>", "-o", out, text)),
        (2, "given twice", ("train", "--special", "<s>", "--special", "<s>", "-o", out, text)),
        (2, "a minimum frequency of 3 was given", ("train", "--type", "char", "--min-frequency", "3", "-o", out, text)),
        (2, "not one of the special tokens", ("train", "--end", "</s>", "-o", out, text)),
        (3, "is empty", ("train", "-o", out, text, write(folder, "", "empty"))),
        (3, "line 2: byte 3 of it (0xff)", ("train", "-o", out, write(folder, b"ok\nab\xffc\n", "bytes"))),
        (3, "NUL", ("train", "--type", "char", "-o", out, write(folder, b"a\0", "nul"))),
        (3, "No such file", ("train", "-o", out, folder / "nothing")),
        (3, "a folder", ("train", "-o", out, folder)),
        (3, "nowhere", ("train", "-o", folder / "nowhere" / "t.json", text)),
    ):
        refused(code, why, "tokenizer", *arguments)
    equal(out.exists(), False)


main(globals())

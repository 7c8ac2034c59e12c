#!/usr/bin/env python3
"""tessera evaluate: compares the perplexity by sliding windows with sums over `tessera dump`'s logits, and with transformers."""

import json
import math
import os
import struct

from support import words as tiny
from support.command import PLAY, copy_model, equal, main, read_safetensors, refused, run
from support.encoders import TOKENS

os.environ.update(TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1")
REFERENCE = ("-d", "reference", "-q")
LINE = "Before we proceed any further, hear me speak. Speak, speak: you are all resolved rather to die than to famish?"
SPEECH = "KING HENRY:\nOnce more unto the breach, dear friends, once more;\nOr close the wall up with our English dead.\n"  # like the plays that the model knows
WINDOW, STRIDE = 12, 5


def evaluate(path, *arguments, **options):
    return json.loads(run("evaluate", *REFERENCE, "--json", "--perplexity", path, *arguments, **options).text)


def written(folder, text=LINE, name="text"):
    path = folder / name
    path.write_bytes(text.encode())
    return path


def windows(n, size, stride):
    """(begin, first scored, end), as on Hugging Face's page about perplexity."""
    done = 1
    for begin in range(0, n, stride):
        end = min(begin + size, n)
        yield begin, done, end
        done = end
        if end == n:
            return


def nats(row, target):
    top = max(row)
    return math.log(sum(math.exp(x - top) for x in row)) + top - row[target]


def by_dump(folder, ids, size, stride, model=PLAY):
    total = 0.0
    for begin, first, end in windows(len(ids), size, stride):
        run("dump", *REFERENCE, "-m", model, "--ids", ",".join(map(str, ids[begin:end])), "-o", folder / "o.safetensors")
        (_, _, V), logits = read_safetensors(folder / "o.safetensors")["logits"]
        for t in range(first, end):
            at = (t - 1 - begin) * V
            total += nats(logits[at:at + V], ids[t])
    return total


def encoded(text):
    return [int(word) for word in run("tokenize", "-q", "-m", PLAY, given=text).text.replace(",", " ").split()]


def check(told, total, n, text):
    equal(told["tokens"], n)
    equal(told["bytes"], len(text.encode()))
    assert abs(told["loss"] - total / n) < 2e-5, (told, total / n)
    assert math.isclose(told["perplexity"], math.exp(told["loss"]), rel_tol=1e-9)
    assert math.isclose(told["bits_per_byte"], told["loss"] * n / math.log(2) / len(text.encode()), rel_tol=1e-9)


def test_one_window(folder):
    ids = encoded(LINE)
    told = evaluate(written(folder), "-m", PLAY)
    equal((told["schema"], told["windows"]), (1, 1))
    equal(list(told)[0], "schema")
    check(told, by_dump(folder, ids, len(ids), 1), len(ids) - 1, LINE)


def test_sliding_windows(folder):
    ids = encoded(LINE)
    told = evaluate(written(folder), "-m", PLAY, "--window", WINDOW, "--stride", STRIDE)
    equal((told["window"], told["stride"], told["windows"]), (WINDOW, STRIDE, len(list(windows(len(ids), WINDOW, STRIDE)))))
    check(told, by_dump(folder, ids, WINDOW, STRIDE), len(ids) - 1, LINE)
    speech = written(folder, SPEECH, "speech")
    assert evaluate(speech, "-m", PLAY, "--window", WINDOW, "--stride", STRIDE)["loss"] > evaluate(speech, "-m", PLAY)["loss"], "less context, higher loss"
    equal(evaluate(written(folder), "-m", PLAY, "--window", WINDOW)["stride"], WINDOW // 2)
    equal(evaluate(written(folder), "-m", PLAY, "-c", WINDOW)["window"], WINDOW)


def test_a_first_token_of_its_own(folder):
    """If the tokenizer puts a beginning-of-sequence token first, the text's own first token is scored too."""
    model = copy_model(PLAY, folder / "m")
    bos = encoded("a")[0]
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    name = next(piece for piece, i in tokenizer["model"]["vocab"].items() if i == bos)
    tokenizer["post_processor"] = {"type": "TemplateProcessing", "special_tokens": {name: {"id": name, "ids": [bos], "tokens": [name]}}, "pair": [],
                                   "single": [{"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]}
    (model / "tokenizer.json").write_text(json.dumps(tokenizer))
    ids = [bos, *encoded(LINE)]
    check(evaluate(written(folder), "-m", model), by_dump(folder, ids, len(ids), 1), len(ids) - 1, LINE)


def test_the_length_of_a_window_chooses_its_frequencies(folder):
    """Of dynamic scaling and longrope, as in transformers: also where a window is read in parts, and where a text or the last window is short."""
    dynamic, longrope = (tiny.model(folder, name)[0] for name in ("llama-dynamic", "phi3-longrope-odd"))  # original lengths of 16 and 8
    for model, n, *sizes in ((dynamic, 50, 40, 16), (dynamic, 30, 64, 32), (longrope, 6, 48, 24), (longrope, 30, 48, 24), (longrope, 19, 12, 6)):
        text = " ".join(tiny.WORDS[i * i % 19] for i in range(n))
        told = evaluate(written(folder, text), "-m", model, "--window", sizes[0], "--stride", sizes[1])
        check(told, by_dump(folder, tiny.ids(text), *sizes, model), n - 1, text)


def test_as_transformers(folder):
    try:
        import torch
        import transformers as hf
    except ImportError:
        print("not compared with transformers: it is missing")
        return
    text = (LINE + "\n\nAll:\nSpeak, speak.\n") * 4
    model = hf.AutoModelForCausalLM.from_pretrained(PLAY, dtype=torch.float32)
    ids = torch.tensor(hf.AutoTokenizer.from_pretrained(PLAY)(text)["input_ids"])
    total, n = 0.0, 0
    with torch.no_grad():
        for begin, first, end in windows(len(ids), WINDOW, STRIDE):
            logits = model(ids[None, begin:end]).logits[0].double()
            total += torch.nn.functional.cross_entropy(logits[first - 1 - begin:-1], ids[first:end], reduction="sum").item()
            n += end - first
    check(evaluate(written(folder, text), "-m", PLAY, "--window", WINDOW, "--stride", STRIDE), total, n, text)


def test_from_standard_input(folder):
    told = [evaluate(path, "-m", PLAY, given=LINE) for path in ("-", written(folder))]
    equal({key: told[0][key] for key in ("loss", "tokens", "bytes")}, {key: told[1][key] for key in ("loss", "tokens", "bytes")})
    text = run("evaluate", *REFERENCE, "-m", PLAY, "--perplexity", written(folder)).text
    for word in ("loss", "perplexity", "bits a byte", "tokens", "windows", "time"):
        assert f"\n{word}" in "\n" + text, text


def test_what_json_cannot_express(folder):
    """An infinite perplexity is null, and bytes of a file's name that are not UTF-8 are U+FFFD."""
    model = copy_model(PLAY, folder / "m")
    data = bytearray((model / "model.safetensors").read_bytes())
    (size,) = struct.unpack("<Q", data[:8])
    begin, end = json.loads(data[8:8 + size])["transformer.ln_f.weight"]["data_offsets"]
    data[8 + size + begin:8 + size + end] = b"\xff\x7b" * ((end - begin) // 2)  # the largest number of f16
    (model / "model.safetensors").write_bytes(data)
    told = evaluate(written(folder, name=os.fsdecode(b"caf\xe9")), "-m", model)
    equal((told["perplexity"], told["file"]), (None, f"{folder}/caf\ufffd"))
    assert told["loss"] > 1000, told


def test_refused(folder):
    bad = folder / "bad"
    bad.write_bytes(b"ok\n\xff\xfe")
    empty = written(folder, "", "empty")
    good = written(folder)
    for code, fragment, *arguments in (
            (3, "bad: line 2 is not UTF-8 (byte 0xff): give its encoding with --encoding", "--perplexity", bad),
            (3, "bad: byte 3 (0xff) does not begin a UTF-8 character", "--encoding", "utf-8", "--perplexity", bad),
            (3, "empty: the text is empty", "--perplexity", empty),
            (3, "the text has 1 token; at least two", "--perplexity", written(folder, "a", "a")),
            (3, "nothing", "--perplexity", folder / "nothing"),
            (3, "it is a folder", "--perplexity", folder),
            (2, "evaluate needs --perplexity"),
            (2, "evaluate takes no operands", "--perplexity", good, "x"),
            (2, "give a whole number", "--perplexity", good, "--window", "1"),
            (2, "a window of 9999 tokens", "--perplexity", good, "--window", "9999"),
            (2, "a stride of 12 tokens was asked for; with a window of 12 it must be 1 to 11", "--perplexity", good, "--window", "12", "--stride", "12")):
        refused(code, fragment, "evaluate", *REFERENCE, "-m", PLAY, *arguments)


def test_without_a_tokenizer(folder):
    model = copy_model(PLAY, folder / "m", without=("tokenizer.json", "tokenizer_config.json"))
    refused(3, "has no tokenizer", "evaluate", *REFERENCE, "-m", model, "--perplexity", written(folder))


def test_a_model_that_writes_from_a_source(folder):
    """It has no probability of a text alone."""
    refused(3, "(marian) writes from a source, and perplexity is of a text alone; score its translations (tessera evaluate --parallel)",
            "evaluate", *REFERENCE, "-m", "translate-de-en", "--perplexity", written(folder))


def test_options_of_words(folder):
    """--words heeds --context, and names of fields that are --labelled's defaults; it refuses --encoding, and names a bad file once."""
    words = "the cat sat on a mat red dog".split()
    path = written(folder, json.dumps({"text": words, "label": ["O"] * len(words)}) + "\n", "words.jsonl")
    of = ("evaluate", *REFERENCE, "-m", TOKENS, "--words")
    fields = ("--text-field", "text", "--label-field", "label", "--json")
    for options, judged in ((), 8), (("--context", 6), 4):  # of 6 tokens, two are around the text
        scores = json.loads(run(*of, path, *fields, *options).text)
        equal((scores["words"], scores["left_out"]), (judged, 8 - judged), options)
    refused(3, 'words.jsonl: line 1: no list "tokens"', *of, path)
    refused(2, "--encoding latin-1: evaluate --words reads UTF-8 alone", *of, path, *fields, "--encoding", "latin-1")
    latin = folder / "latin.txt"
    latin.write_bytes("caf\u00e9 O\n".encode("latin-1"))
    said = refused(3, "latin.txt: line 1: byte 4", *of, latin).err
    equal(said.count("latin.txt"), 1, said)


main(globals())

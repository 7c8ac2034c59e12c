#!/usr/bin/env python3
"""Compares tessera embed on tiny encoders with the official implementation; and checks what it does with odd lines, tables, JSON lines and
long texts."""

import json
import math
import os
import shutil
import signal
import struct
import subprocess
import time

from support import words
from support.command import COMMAND, GOLDEN, change_json, environment, equal, main, read_safetensors, refused, run, write_safetensors
from support.encoders import CLASSIFY, EXPECTED, LINES, REFERENCE, SENTENCE, TOKENS, WITH, change_json_list, close, copy_model_deep, embedded, joined, npy, vectors, written


def test_golden_vectors_in_each_format(folder):
    path = written(folder, joined(LINES))
    for got, wanted in zip(vectors(run("embed", *WITH, path).text), EXPECTED["sentence"]["vectors"], strict=True):
        close(got, wanted)
    for got, wanted in zip(vectors(run("embed", *WITH, "--prompt", "query", given=joined(LINES)).text), EXPECTED["sentence"]["query"], strict=True):
        close(got, wanted)
    told = run("embed", *WITH, "--format", "text", "-", given=joined(LINES)).text.splitlines()
    for line, wanted in zip(told, EXPECTED["sentence"]["vectors"], strict=True):
        close([float(x) for x in line.split(" ")], wanted)
    rows = embedded(folder, joined(LINES))
    equal([list(row) for row in rows], [[struct.unpack("<f", struct.pack("<f", float(x)))[0] for x in line.split(" ")] for line in told])
    for name, first in (("a.jsonl", '{"line":1,"embedding":['), ("a.txt", "-"), ("a.tsv", b"\x93NUMPY")):
        run("embed", *WITH, "-o", folder / name, path)
        assert (folder / name).read_bytes().startswith(first.encode() if isinstance(first, str) else first), name


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def test_the_bundled_encoder_in_q8(folder):
    """Beside f32. Measured: 0.999990 at least; with q4 weights 0.99965 at most, so a loss of that size is found."""
    path = written(folder, joined(["My card still hasn't come.", "How do I change my PIN?", "Why was I charged twice for one payment?", "I want to close my account"]))
    whole, rounded = (vectors(run("embed", "-m", "intents", *REFERENCE, "--dtype", dtype, path).text) for dtype in ("f32", "q8"))
    for a, b in zip(whole, rounded, strict=True):
        assert 0.99995 < cosine(a, b) < 1 - 1e-7, cosine(a, b)


def test_tokens_of_each_layer(folder):
    golden = EXPECTED["sentence"]["tokens"]
    for layer, wanted in ((("--layer", "0"), "table"), (("--layer", 1), "first"), ((), "last")):
        told = json.loads(run("embed", *WITH, "--tokens", *layer, given=golden["text"]).text)
        equal(told["ids"], golden["ids"])
        equal(told["tokens"][1], "the")
        for got, row in zip(told["vectors"], golden[wanted], strict=True):
            close(got, row, wanted)
    run("embed", *WITH, "--tokens", "-o", folder / "t.npy", given="a\n\nthe cat\n")
    equal(npy(folder / "t.npy")[0], (3 + 2 + 4, 16))
    run("embed", *WITH, "--tokens", "-o", folder / "t.npy", given="")
    equal(npy(folder / "t.npy")[0], (0, 16))
    told = run("embed", *WITH, "--tokens", "--format", "text", given="a\nthe cat\n").text.splitlines()
    equal([line.split("\t")[:2] for line in told], [["1", "[CLS]"], ["1", "a"], ["1", "[SEP]"], ["2", "[CLS]"], ["2", "the"], ["2", "cat"], ["2", "[SEP]"]])
    refused(2, "has 2 layers", "embed", *WITH, "--tokens", "--layer", "3", given="a")
    refused(2, "--layer needs --tokens", "embed", *WITH, "--layer", "1", given="a")


def test_rows_out_are_lines_in(folder):
    odd = {b"": 0, b"\n": 1, b"a": 1, b"a\n": 1, b"a\nb": 2, b"a\n\n": 2, b"\n\n\n": 3, b"a\r\nb\r\n": 2, b"\0\n": 1, b"a\0b\nc\n": 2,
           b"\xff\xfe\x80\n\xc3\n": 2, b"\xef\xbb\xbfa\n": 1, b"\xed\xa0\x80\n": 1, b"a\x0bb\x0cc\x85\n": 1, "a\u2028b\n".encode(): 1}
    alone = embedded(folder, "a")[0]
    for text, n in odd.items():
        rows = embedded(folder, text, *(("--encoding", "utf-8") if b"\xff" in text or b"\xed" in text or b"\x85" in text else ()))
        equal(len(rows), n, text)
        assert all(math.isfinite(x) for row in rows for x in row), text
        if text.startswith((b"a\n", b"a\r", b"\xef")):
            equal(rows[0], alone, text)
    text = b"the cat\n" + b"a dog " * 175000 + b"\nanna\n"  # 1 MB between
    rows = embedded(folder, text)
    equal([len(rows), rows[0], rows[2]], [3, embedded(folder, "the cat")[0], embedded(folder, "anna")[0]])
    told = run("embed", "-m", SENTENCE, "-d", "reference", given=text)
    assert "1 of 3 texts were longer than 24 tokens and were cut" in told.err, told
    rows = embedded(folder, joined(f"the cat {i}" for i in range(4200)))  # two windows
    equal([len(rows), rows[4199]], [4200, embedded(folder, "the cat 4199")[0]])


def test_a_giant_line_stays_in_bounds(folder):
    with open(folder / "giant", "wb") as file:
        for _ in range(40):
            file.write(b"\xe4\xb8\xad" * 350000)
        file.write(b"\nthe cat\n")
    told = run("embed", "-m", SENTENCE, "-d", "reference", folder / "giant")
    equal(len(told.text.splitlines()), 2)
    equal(vectors(told.text)[1], vectors(run("embed", *WITH, given="the cat").text)[0])
    assert "1 line longer than 16 MiB" in told.err and "1 of 2 texts were longer" in told.err, told.err


def test_tables(folder):
    table = 'id,"the text",n\r\n1,"a ""cat"", and\r\n\na dog",x\r\n2,anna,"y"\r\n3,,z\r\n4,"bob"\r\n'
    rows = embedded(folder, table, "--column", "the text")
    equal(rows, [embedded(folder, line)[0] for line in ('a "cat", and  a dog\n', "anna\n", "\n", "bob\n")])
    equal(embedded(folder, "x\ttext\n1\ta,b\n2\tc\td\n", "--column", "text"), [embedded(folder, "a,b")[0], embedded(folder, "c")[0]])
    equal(embedded(folder, "text\n\na\n", "--column", "text"), [embedded(folder, "\n")[0], embedded(folder, "a")[0]])
    short = run("embed", "-m", SENTENCE, "-d", "reference", "--column", "b", given="a,b\n1\n2,anna\n\n3,bob\n", code=1)
    assert "row 1: it has 1 field; b is field 2" in short.err and "2 rows could not be used" in short.err, short.err
    equal([v is None for v in vectors(short.text)], [True, False, True, False])
    rows = embedded(folder, "a,b\n1\n2,anna\n", "--column", "b", code=1)
    equal([rows[0], rows[1]], [(0.0,) * 6, embedded(folder, "anna")[0]])
    for text, said in (("a,b\n", None), ("", "is empty"), ("a,c\n1,2\n", "no column b; its header names: a, c"), ("b,b\n", "more than one column b"),
                       ('a,b\n1,"x\n2,y\n', "row 1: the quote that begins a field is never closed")):
        if said:
            refused(3, said, "embed", *WITH, "--column", "b", "-o", folder / "none.npy", given=text)
            assert not list(folder.glob("none*")), list(folder.iterdir())
        else:
            equal(run("embed", *WITH, "--column", "b", given=text).out, b"")


def test_fields(folder):
    good = [{"t": "the cat"}, {"t": "", "x": [1]}, {"x": {"t": "no"}, "t": "anna\u0000 \u00fc"}]
    text = "\n".join(map(json.dumps, good)) + "\n"
    equal(embedded(folder, text, "--field", "t")[0], embedded(folder, "the cat")[0])
    equal(len(embedded(folder, text, "--field", "t")), 3)
    equal(embedded(folder, '{"id": 14695981039346656037, "t": "the cat"}\n', "--field", "t"), embedded(folder, "the cat"), "ids that are hashes have 64 bits")
    bad = [b"{", b"[]", b"{}", b'{"t": 3}', b'{"t": "\xff"}', b"", b'{"t": "a"', b'"t"', b'{"t":"a"} x', b'{"t":1,"t":"a"}', b"[" * 100000, b"\0"]
    told = run("embed", "-m", SENTENCE, "-d", "reference", "--field", "t", given=b'{"t":"a"}\n' + b"\n".join(bad) + b'\n{"t":"a"}\n', code=1)
    lines = vectors(told.text)
    equal([len(lines), lines[0], set(map(str, lines[1:-1]))], [len(bad) + 2, lines[-1], {"None"}])
    assert f"{len(bad)} lines could not be used" in told.err and told.err.count("tessera: line ") == 10, told.err
    refused(2, "only one of them", "embed", *WITH, "--field", "t", "--column", "t")


def test_files_are_whole_or_not_there(folder):
    (folder / "inner").mkdir()
    for name in ("E.npy", "E.jsonl", "link.npy", "link.jsonl"):
        out = folder / name
        if out.stem == "link":
            out.symlink_to(folder / "inner" / name)
        out.write_text("before")
        refused(3, "its header names", "embed", *WITH, "-o", out, "--column", "x", given="a\nb\n")
        process = subprocess.Popen([COMMAND, "embed", *map(str, WITH), "-o", str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        process.stdin.write(b"the cat\n" * 500)
        process.stdin.flush()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate()
        equal(process.returncode, 130)
        equal([out.read_text(), sorted(p.name for p in folder.rglob("*.tmp"))], ["before", []])
    refused(3, "not a regular file", "embed", *WITH, "-o", folder, "--format", "jsonl", given="a")
    refused(3, "which is never replaced", "embed", *WITH, "-o", folder, "--format", "npy", given="a")
    refused(2, "needs -o FILE", "embed", *WITH, "--format", "npy", given="a")
    refused(2, "npy, jsonl or text", "embed", *WITH, "--format", "csv", given="a")
    refused(3, "No such file", "embed", *WITH, folder / "nothing")
    run("embed", *WITH, "-o", "/dev/full", given="a", code=3)


def test_links_and_permissions_stay(folder):
    for name in ("E.npy", "E.jsonl"):
        target, link = folder / f"real.{name}", folder / name
        target.write_text("before")
        target.chmod(0o640)
        link.symlink_to(target.name)
        run("embed", *WITH, "-o", link, given="the cat\n")
        assert link.is_symlink() and target.read_bytes() != b"before", f"{name}: the link was replaced"
        equal(target.stat().st_mode & 0o777, 0o640, name)
        link.unlink()
        link.symlink_to("nothing")
        refused(3, "No such file", "embed", *WITH, "-o", link, given="the cat\n")
        equal(link.is_symlink(), True, name)


def test_lines_come_as_they_are_made(_):
    process = subprocess.Popen([COMMAND, "embed", *map(str, WITH)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
    for i in range(3):
        process.stdin.write(b"the cat\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line.startswith(b'{"line":%d,' % (i + 1)), line
    process.stdin.close()
    equal(process.wait(), 0)


def test_memory_does_not_grow(folder):
    """A third of the lines takes as much memory as all of them."""
    def most(n):
        path = written(folder, "a %d\n" * n % tuple(range(n)))
        code = "import resource,subprocess,sys;subprocess.run(sys.argv[1:],check=True);print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        done = subprocess.run(["python3", "-c", code, COMMAND, "embed", *map(str, WITH), "-o", str(folder / "E.npy"), str(path)],
                              stdout=subprocess.PIPE, env=environment(), check=True)
        equal(npy(folder / "E.npy")[0], (n, 6))
        return int(done.stdout)
    if os.environ.get("TESSERA_SANITIZE_FLAGS"):
        return  # sanitizers do not give freed memory back
    few, many = most(5000), most(15000)
    assert many < few + 6000, f"{few} KiB, then {many} KiB"


def test_prompts_and_lengths(folder):
    model = copy_model_deep(SENTENCE, folder / "m")
    config = model / "config_sentence_transformers.json"
    change_json(config, default_prompt_name="query")
    for got, wanted in zip(vectors(run("embed", "-m", model, *REFERENCE, given=joined(LINES)).text), EXPECTED["sentence"]["query"], strict=True):
        close(got, wanted)
    plain = vectors(run("embed", "-m", model, *REFERENCE, "--prompt", "", given=joined(LINES)).text)
    close(plain[3], EXPECTED["sentence"]["vectors"][3])
    refused(2, 'has no prompt "passage"; it has query, document', "embed", "-m", model, *REFERENCE, "--prompt", "passage", given="a")
    change_json(model / "sentence_bert_config.json", max_seq_length=5, do_lower_case=True)
    change_json_list(model / "tokenizer.json", lambda t: t["normalizer"].update(lowercase=False))   # so that it counts
    told = run("embed", "-m", model, "-d", "reference", "--prompt", "", given="the CAT sat on the mat\n")
    equal(vectors(told.text), vectors(run("embed", *WITH, "-c", 5, given="the cat sat on the mat").text))
    assert "1 of 1 texts were longer than 5 tokens" in told.err


def stretch(model, rows):
    """Gives a model more positions by repeating its table."""
    path = model / "model.safetensors"
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header, body, new = json.loads(data[8:8 + size]), data[8 + size:], b""
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            part = body[begin:end]
            if name.endswith("position_embeddings.weight"):
                part *= rows // entry["shape"][0]
                entry["shape"][0] = rows
            entry["data_offsets"] = [len(new), len(new) + len(part)]
            new += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + new)
    change_json(model / "config.json", max_position_embeddings=rows)


def test_long_texts_in_a_batch(folder):
    model = copy_model_deep(SENTENCE, folder / "m")
    stretch(model, 2048)
    change_json(model / "sentence_bert_config.json", max_seq_length=2048)
    for n in (300, 1100):
        text = joined(f"{word} " * n for word in ("cat", "dog", "a"))
        rows = vectors(run("embed", "-m", model, *REFERENCE, given=text).text)
        equal(rows[1], vectors(run("embed", "-m", model, *REFERENCE, given="dog " * n).text)[0])
    model = copy_model_deep(TOKENS, folder / "t")
    stretch(model, 1024)
    for n in (300, 600):
        told = run("classify", "-m", model, *REFERENCE, "--json", given=joined(["anna " * n] * 4)).text.splitlines()
        equal([len(told), len(set(line.split(",", 1)[1] for line in told))], [4, 1])


def test_a_plain_encoder_is_pooled_by_the_mean(folder):
    told = run("embed", "-m", CLASSIFY, "-d", "reference", given="the cat")
    assert "has no modules.json: each vector is the mean of the last hidden states, and is not normalised" in told.err, told.err
    (vector,) = vectors(told.text)
    tokens = json.loads(run("embed", "-m", CLASSIFY, *REFERENCE, "--tokens", given="the cat").text)["vectors"]
    close(vector, [sum(column) / len(tokens) for column in zip(*tokens)])
    model = copy_model_deep(SENTENCE, folder / "m")
    modules = json.loads((model / "modules.json").read_text())
    for mode, pick in (("cls_token", lambda rows: rows[0]), ("max_tokens", lambda rows: [max(c) for c in zip(*rows)]), ("lasttoken", lambda rows: rows[-1])):
        (model / "modules.json").write_text(json.dumps(modules[:2]))
        (model / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_mean_tokens": False, "pooling_mode_" + mode: True}))
        rows = json.loads(run("embed", "-m", model, *REFERENCE, "--tokens", given="anna lives").text)["vectors"]
        close(vectors(run("embed", "-m", model, *REFERENCE, given="anna lives").text)[0], pick(rows), mode)


def test_a_decoder_that_gives_vectors(folder):
    """In a sentence-transformers folder, as Qwen3-Embedding is: the last token's, which the tokenizer adds."""
    golden = GOLDEN / "qwen3-vectors"
    ids = json.loads((golden / "cases.json").read_text())["cases"][0]["input_ids"][1]
    (_, rows, width), hidden = read_safetensors(golden / "expected.safetensors")["short.hidden.2"]
    equal(rows, len(ids))
    wanted = hidden[(2 * rows - 1) * width:2 * rows * width]
    model = shutil.copytree(golden / "vectors", folder / "qwen")
    words.tokenizer(model, None, ("<end>", ids[-1]))
    held = json.loads((model / "tokenizer.json").read_text())
    held["model"]["vocab"] = {"<unk>": 3, "<end>": ids[-1]} | {f"w{i}": i for i in range(4, 61) if i != ids[-1]}
    (model / "tokenizer.json").write_text(json.dumps(held))
    got = vectors(run("embed", "-m", model, *REFERENCE, given=" ".join(f"w{i}" for i in ids[:-1]) + "\n").text)[0]
    length = math.sqrt(sum(value * value for value in wanted))
    assert max(abs(a - b / length) for a, b in zip(got, wanted)) < 1e-5, (got, wanted)
    assert "(encoder)" in run("info", model).text
    (model / "modules.json").unlink()
    bare_decoder(model, " ".join(f"w{i}" for i in ids[:-1]) + "\n", [hidden[(rows + i) * width:(rows + i + 1) * width] for i in range(rows)])


def pooled(rows, kind):
    """The pooling of this name, computed here."""
    columns = list(zip(*rows))
    weights = [i + 1 if kind == "weighted-mean" else 1 for i in range(len(rows))]
    divisor = math.sqrt(len(rows)) if kind == "sqrt-mean" else sum(weights)
    return {"cls": rows[0], "last": rows[-1], "max": [max(c) for c in columns]}.get(kind) or \
        [sum(w * x for w, x in zip(weights, c)) / divisor for c in columns]


POOLINGS = ("mean", "cls", "last", "max", "sqrt-mean", "weighted-mean")


def bare_decoder(model, line, states):
    """A Qwen3Model without modules.json: its last token's state, as transformers computed it, or what is asked for."""
    held = json.loads((model / "config.json").read_text())
    equal(held["architectures"], ["Qwen3Model"])
    told = run("embed", "-m", model, "-d", "reference", given=line)
    assert "has no modules.json: each vector is the last hidden state of the last token, and is not normalised" in told.err, told.err
    most = max(abs(x) for row in states for x in row)
    for kind in (None, *POOLINGS):
        got = vectors(run("embed", "-m", model, *REFERENCE, *(["--pooling", kind] if kind else []), given=line).text)[0]
        wanted = pooled(states, kind or "last")
        assert max(abs(a - b) for a, b in zip(got, wanted, strict=True)) < 1e-5 * most, (kind, got, wanted)
    assert "(decoder)" in run("info", model).text, "what isn't asked for vectors is what it was"
    refused(3, "without an output matrix", "generate", "-m", model, *REFERENCE, "--ids", "4", "-n", "1")
    change_json(model / "config.json", architectures=["Qwen3ForCausalLM"])
    refused(2, "no file says how one is made of its hidden states: choose a pooling", "embed", "-m", model, *REFERENCE, given=line)
    got = vectors(run("embed", "-m", model, *REFERENCE, "--pooling", "last", given=line).text)[0]
    assert max(abs(a - b) for a, b in zip(got, states[-1], strict=True)) < 1e-5 * most
    change_json(model / "config.json", architectures=["Qwen3Model"], is_causal=False)
    refused(3, '"is_causal" is false', "info", model)
    both_sides = vectors(run("embed", "-m", model, *REFERENCE, "--pooling", "cls", given=line).text)[0]
    assert max(abs(a - b) for a, b in zip(both_sides, states[0], strict=True)) > 1e-2 * most, "the first token sees those behind it"


def test_poolings_that_are_asked_for(folder):
    """They replace those of the files; what comes behind them stays."""
    line = "anna lives in london"
    for model in (CLASSIFY, SENTENCE):
        told = json.loads(run("embed", "-m", model, *REFERENCE, "--tokens", given=line).text)["vectors"]
        steps = model == SENTENCE     # a dense layer and a norm
        for kind in POOLINGS:
            got = vectors(run("embed", "-m", model, *REFERENCE, "--pooling", kind, given=line).text)[0]
            if not steps:
                close(got, pooled(told, kind), kind)
        if steps:
            close(vectors(run("embed", "-m", model, *REFERENCE, "--pooling", "mean", given=line).text)[0],
                  vectors(run("embed", "-m", model, *REFERENCE, given=line).text)[0])
    model = copy_model_deep(SENTENCE, folder / "m")
    modules = json.loads((model / "modules.json").read_text())
    (model / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}))
    (model / "modules.json").write_text(json.dumps([*modules[:2], modules[-1]]))
    told = json.loads(run("embed", "-m", model, *REFERENCE, "--tokens", given=line).text)["vectors"]
    got = vectors(run("embed", "-m", model, *REFERENCE, "--pooling", "last", given=line).text)[0]
    length = math.sqrt(sum(x * x for x in told[-1]))
    close(got, [x / length for x in told[-1]], "one in place of two")
    dense = json.loads((model / "2_Dense/config.json").read_text())
    (model / "modules.json").write_text(json.dumps(modules))
    change_json(model / "2_Dense/config.json", in_features=2 * dense["in_features"])
    weights = read_safetensors(model / "2_Dense/model.safetensors")
    wide = {name: ([shape[0], 2 * shape[1]], values * 2) if len(shape) == 2 else (shape, values) for name, (shape, values) in weights.items()}
    write_safetensors(model / "2_Dense/model.safetensors", wide)
    run("embed", "-m", model, *REFERENCE, given=line)
    refused(2, "the model pools in 2 ways side by side", "embed", "-m", model, *REFERENCE, "--pooling", "mean", given=line)
    refused(2, "median", "embed", *WITH, "--pooling", "median", given=line)
    refused(3, "needs an encoder", "embed", "-m", GOLDEN / "bart", *REFERENCE, "--pooling", "mean", given=line)


def test_prompts_as_texts(folder):
    """What is put before each text, where the files list no prompt: E5's "query: "."""
    asked = ("embed", "-m", CLASSIFY, *REFERENCE)
    equal(run(*asked, "--prompt-text", "the cat ", given="lives in paris").text, run(*asked, given="the cat lives in paris").text)
    equal(run(*asked, "--prompt-text", "", given="lives").text, run(*asked, given="lives").text)
    prompts = json.loads((SENTENCE / "config_sentence_transformers.json").read_text())["prompts"]
    name, text = next((name, text) for name, text in prompts.items() if text)
    equal(run("embed", *WITH, "--prompt-text", text, given="paris").text, run("embed", *WITH, "--prompt", name, given="paris").text)
    refused(2, "give one of them", "embed", *WITH, "--prompt-text", text, "--prompt", name, given="paris")
    run("embed", "-q", *WITH, "-o", folder / "v.npy", given="paris\nanna\n")
    (folder / "lines.txt").write_text("paris\nanna\n")
    told = run("search", "paris", *WITH, "--index", folder / "v.npy", "--lines", folder / "lines.txt", "--prompt-text", "")
    assert told.text.splitlines()[0].endswith("paris"), told.text


main(globals())

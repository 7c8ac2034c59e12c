#!/usr/bin/env python3
"""tools/convert-torch: what it makes is what the pickle held; each bad folder gives its sentence and exit code."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file
except ImportError as error:
    print(f"SKIP: {error.name} is missing (pip install torch safetensors)")
    sys.exit(77)

SOURCE = pathlib.Path(os.environ.get("TESSERA_SOURCE", pathlib.Path(__file__).resolve().parents[2]))


def run(*arguments):
    done = subprocess.run([sys.executable, SOURCE / "tools" / "convert-torch", *arguments], capture_output=True, text=True)
    return done.returncode, done.stderr


def expect(result, code, fragment):
    assert result[0] == code and fragment in result[1], f"wanted {code} and {fragment!r}, got {result}"


def folder(name):
    path = pathlib.Path(name)
    path.mkdir()
    (path / "config.json").write_text("{}")
    return path


class Program:
    """Unpickling it would run a program."""

    def __reduce__(self):
        return os.mkdir, ("was-run",)


def whole_model():
    path, tied, base = folder("whole"), torch.randn(10, 4), torch.randn(6, 6)
    state = {"lm_head.weight": tied, "wte.weight": tied, "strided": torch.randn(3, 5).t(), "part1": base[:3], "part2": base[2:],
             "half": torch.randn(3).half(), "brain": torch.randn(4).bfloat16(), "empty": torch.zeros(0, 2)}
    torch.save(state, path / "pytorch_model.bin")
    (path / "tokenizer.json").write_text("{}")
    expect(run("whole", "out"), 0, "lm_head.weight is wte.weight; stored once")
    made = load_file("out/model.safetensors")
    assert set(made) == set(state) - {"lm_head.weight"}
    assert all(made[name].dtype == state[name].dtype and torch.equal(made[name], state[name]) for name in made)
    with safe_open("out/model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}
    assert sorted(os.listdir("out")) == ["config.json", "model.safetensors", "tokenizer.json"]
    expect(run("whole", "out"), 2, "out is there already")
    (path / "config.json").write_text('{"tie_word_embeddings": false}')
    expect(run("whole", "untied"), 0, "8 tensors")


def shards():
    path = folder("shards")
    torch.save({"p": torch.ones(2)}, path / "1.bin", _use_new_zipfile_serialization=False)
    torch.save({"q": torch.zeros(2)}, path / "2.bin")
    index = path / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": {"p": "1.bin", "q": "2.bin"}}))
    expect(run("shards", "joined"), 0, "2 tensors")
    assert set(load_file("joined/model.safetensors")) == {"p", "q"}
    for bad, fragment in ("../1.bin", "not a plain file name"), ("3.bin", "which is not in its folder"):
        index.write_text(json.dumps({"weight_map": {"p": bad}}))
        expect(run("shards", "none"), 3, fragment)


def refusals():
    expect(run("absent", "none"), 2, "absent is no folder")
    expect(run("absent"), 2, "usage")
    path = folder("bad")
    expect(run("bad", "none"), 3, "neither pytorch_model.bin nor")
    (path / "pytorch_model.bin").write_bytes(b"junk")
    expect(run("bad", "none"), 3, "pytorch_model.bin cannot be read")
    torch.save({"a": Program()}, path / "pytorch_model.bin")
    expect(run("bad", "none"), 3, "holds more than tensors")
    assert not os.path.exists("was-run")
    torch.save([1, 2], path / "pytorch_model.bin")
    expect(run("bad", "none"), 3, "no dictionary of tensors")
    torch.save({"a": torch.ones(2, 2).to_sparse()}, path / "pytorch_model.bin")
    expect(run("bad", "none"), 3, "a is sparse")
    (path / "config.json").unlink()
    expect(run("bad", "none"), 3, "no config.json")
    assert not os.path.exists("none") and not any(name.endswith(".tmp") for name in os.listdir("."))


with tempfile.TemporaryDirectory() as temporary:
    os.chdir(temporary)
    whole_model()
    shards()
    refusals()
    os.chdir("/")

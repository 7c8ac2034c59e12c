#!/usr/bin/env python3
"""tools/convert-torch: the output has what the pickle had; each bad folder gives its message and exit code."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
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

SOURCE = pathlib.Path(os.environ.get("TESSERA_SOURCE", pathlib.Path(__file__).resolve().parents[3]))


TOOL = str(SOURCE / "tools" / "convert-torch")
LOADER = importlib.machinery.SourceFileLoader("convert_torch_tool", TOOL)
sys.dont_write_bytecode = True
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(tool)


def run(*arguments):
    """Runs the tool in this process, because each start of PyTorch takes seconds; returns its exit code and its messages."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = tool.main([str(argument) for argument in arguments])
    return code, said.getvalue()


def as_a_command():
    done = subprocess.run([sys.executable, TOOL, "absent", "none"], capture_output=True, text=True)
    expect((done.returncode, done.stderr), 2, "convert-torch: absent is not a folder")


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
    expect(run("whole", "out"), 2, "out exists already")
    (path / "config.json").write_text('{"tie_word_embeddings": false}')
    expect(run("whole", "untied"), 0, "8 tensors")


def names_of(state, config="{}"):
    """Converts a state and returns the names that are written. `state` maps names to tensors; equal tensors need not share memory."""
    with tempfile.TemporaryDirectory() as place:
        path = folder(pathlib.Path(place) / "in")
        (path / "config.json").write_text(config)
        torch.save(state, path / "pytorch_model.bin")
        result = run(path, pathlib.Path(place) / "out")
        assert result[0] == 0, result
        made = load_file(pathlib.Path(place) / "out" / "model.safetensors")
    for name, tensor in made.items():
        wanted = [t for n, t in state.items() if t.shape == tensor.shape and torch.equal(t, tensor)]
        assert wanted, f"{name} has what no tensor of the file had"
    return set(made)


def families():
    """Encoders and encoder-decoders as in published files, including old ones."""
    words, bias = torch.randn(9, 4), torch.randn(9)
    bert = {"bert.embeddings.position_ids": torch.arange(5)[None], "bert.embeddings.word_embeddings.weight": words,
            "bert.embeddings.LayerNorm.gamma": torch.randn(4), "bert.embeddings.LayerNorm.beta": torch.randn(4),
            "cls.predictions.bias": bias, "cls.predictions.decoder.weight": words, "cls.predictions.decoder.bias": bias}
    wanted = {"bert.embeddings.word_embeddings.weight", "bert.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.bias",
              "cls.predictions.bias"}
    assert names_of(bert) == wanted
    assert names_of({f"module.{name}": tensor for name, tensor in bert.items()}) == wanted
    assert names_of({name: tensor.clone() for name, tensor in bert.items()}) == wanted  # tied, but each written separately
    encoder = {"model.shared.weight": words, "model.encoder.embed_tokens.weight": words, "lm_head.weight": words,
               "model.decoder.embed_tokens.weight": words, "final_logits_bias": bias[None], "model.encoder.layers.0.x": bias}
    assert names_of(encoder) == {"model.shared.weight", "final_logits_bias", "model.encoder.layers.0.x"}
    positions = {**encoder, "model.encoder.embed_positions.weight": torch.randn(5, 4)}
    assert "model.encoder.embed_positions.weight" in names_of(positions, '{"model_type": "bart"}')
    assert names_of(positions, '{"model_type": "marian"}') == names_of(encoder)
    head = torch.randn(9, 4)
    t5 = {"shared.weight": words, "encoder.embed_tokens.weight": words.clone(), "decoder.embed_tokens.weight": words,
          "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": torch.randn(4, 2),
          "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": torch.randn(4, 2), "lm_head.weight": words}
    bias_name = "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    assert names_of(t5) == {"shared.weight", bias_name}
    # Untied by the config: the head is kept even if it is equal; the tables are still shared.
    for last in words, words.clone(), head:
        assert names_of({**t5, "lm_head.weight": last}, '{"tie_word_embeddings": false}') == \
            {"shared.weight", bias_name, "lm_head.weight"}
    assert names_of({**t5, "lm_head.weight": head}) == {"shared.weight", bias_name, "lm_head.weight"}


def modules():
    path = folder("sentences")
    torch.save({"embeddings.x": torch.ones(3)}, path / "pytorch_model.bin")
    (path / "modules.json").write_text(json.dumps([{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Dense"}]))
    (path / "config_sentence_transformers.json").write_text("{}")
    for name in "1_Pooling", "2_Dense":
        folder(path / name)
    torch.save({"linear.weight": torch.ones(2, 3)}, path / "2_Dense" / "pytorch_model.bin")
    expect(run("sentences", "embeds"), 0, "1 tensors")
    assert set(load_file("embeds/2_Dense/model.safetensors")) == {"linear.weight"}
    assert os.path.isfile("embeds/1_Pooling/config.json") and os.path.isfile("embeds/config_sentence_transformers.json")
    (path / "modules.json").write_text('[{"path": "../bad"}]')
    expect(run("sentences", "none"), 3, "is not a plain folder name")
    (path / "modules.json").write_text('[1]')
    expect(run("sentences", "none"), 3, "is not a list of modules")
    twice = folder("twice")
    torch.save({"LayerNorm.gamma": torch.ones(2), "LayerNorm.weight": torch.ones(2)}, twice / "pytorch_model.bin")
    expect(run("twice", "none"), 3, "LayerNorm.weight occurs twice")


def companions():
    """The files of tokenizers and the chat templates that tessera reads go along."""
    path, text = folder("companions"), (SOURCE / "src/model/tokens/tokens.c").read_text()
    lists = re.findall(r"tsri_model_tokenizer_(?:files|settings)\[\] = {(.+?)};", text, re.S)
    files = [name for names in lists for name in re.findall('"([^"]+)"', names)]
    assert "tokenizer.json" in files and "additional_chat_templates/tool_use.jinja" in files, files
    for name in files:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(name)
    torch.save({"x": torch.ones(3)}, path / "pytorch_model.bin")
    expect(run("companions", "accompanied"), 0, "1 tensors")
    for name in files:
        assert pathlib.Path("accompanied", name).is_file(), name


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
    expect(run("absent", "none"), 2, "absent is not a folder")
    expect(run("absent"), 2, "usage")
    path = folder("bad")
    expect(run("bad", "none"), 3, "no pytorch_model.bin and no")
    (path / "pytorch_model.bin").write_bytes(b"junk")
    expect(run("bad", "none"), 3, "pytorch_model.bin cannot be read")
    torch.save({"a": Program()}, path / "pytorch_model.bin")
    expect(run("bad", "none"), 3, "contains more than tensors")
    assert not os.path.exists("was-run")
    torch.save([1, 2], path / "pytorch_model.bin")
    expect(run("bad", "none"), 3, "does not contain a dictionary of tensors")
    torch.save({"a": torch.ones(2, 2).to_sparse()}, path / "pytorch_model.bin")
    expect(run("bad", "none"), 3, "a is sparse")
    (path / "config.json").unlink()
    expect(run("bad", "none"), 3, "no config.json")
    assert not os.path.exists("none") and not any(name.endswith(".tmp") for name in os.listdir("."))


def old_configs():
    """A model_type that is missing is added where something tells it; else a warning says that it is missing. Nothing else changes."""
    known = set()
    for path in (SOURCE / "src/model/arch").rglob("*.c"):
        known.update(re.findall(r'\.name = "([^"]+)"', path.read_text()))
    assert set(tool.TYPES.values()) <= known and set(tool.PREFIXES) <= known
    bert, other = "bert.embeddings.word_embeddings.weight", "roberta.embeddings.word_embeddings.weight"
    cases = (("c1", {"architectures": ["XLMRobertaForMaskedLM"], "x": [1.5, "ö"]}, other, "xlm-roberta", 'by its architectures it is "xlm-roberta"'),
             ("c2", {"architectures": [3, "T5WithLMHeadModel"]}, "shared.weight", "t5", '"t5", which is added'),
             ("c3", {"model_type": ""}, bert, "bert", 'by the names of its tensors it is "bert"'),
             ("c4", {"architectures": ["MyBertModel"]}, bert, None, 'has no "model_type", and neither'),
             ("c5", {"architectures": ["BertGenerationEncoder"]}, bert, None, 'has no "model_type", and neither'),
             ("c6", {}, other, None, 'has no "model_type", and neither'),
             ("c7", {"model_type": "mine", "num_labels": 3, "id2label": {"0": "a"}}, bert, "mine", '"num_labels" 3, and 1 names in "id2label"'))
    for name, config, tensor, wanted, said in cases:
        path = folder(name)
        (path / "config.json").write_text(json.dumps(config))
        torch.save({tensor: torch.ones(2, 3)}, path / "pytorch_model.bin")
        code, told = run(name, name + "-out")
        assert code == 0 and said in told and told.count("model_type") <= 2 and told.count("config.json") == 1, told
        got = json.loads(pathlib.Path(name + "-out/config.json").read_text())
        assert got.get("model_type") == wanted and {**got, "model_type": 0} == {**config, "model_type": 0}, got
        if wanted == config.get("model_type"):
            assert pathlib.Path(name + "-out/config.json").read_bytes() == (path / "config.json").read_bytes()


with tempfile.TemporaryDirectory() as temporary:
    os.chdir(temporary)
    as_a_command()
    whole_model()
    families()
    modules()
    companions()
    shards()
    refusals()
    old_configs()
    os.chdir("/")

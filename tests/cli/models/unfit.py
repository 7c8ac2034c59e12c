#!/usr/bin/env python3
"""Models that the command must refuse: exit code 3, one message that names file and field, and nothing on stdout.
The numbers are those of the list of bad inputs that the readers' own tests cover completely."""

import json
import pickle
import shutil
import struct

from support.command import GOLDEN, PLAY, change_json, copy_model, main, read_safetensors, refused, run, write_safetensors

LLAMA, GPT2 = GOLDEN / "llama-tiny", GOLDEN / "gpt2-tiny"

# changes of config.json, and what the message must name
LLAMA_CONFIG = (
    ({"hidden_size": "24"}, "hidden_size"),  # 41
    ({"num_hidden_layers": 2.5}, "num_hidden_layers"),
    ({"rms_norm_eps": "small"}, "rms_norm_eps"),
    ({"num_hidden_layers": 0}, "num_hidden_layers"),  # 42
    ({"num_hidden_layers": -1}, "num_hidden_layers"),
    ({"num_hidden_layers": 1025}, "num_hidden_layers"),
    ({"num_attention_heads": 0}, "num_attention_heads"),
    ({"vocab_size": 2**24 + 1}, "vocab_size"),
    ({"hidden_size": 2**40}, "hidden_size"),
    ({"num_attention_heads": 3, "head_dim": None}, "3 attention heads"),  # 43: three heads, two key/value heads
    ({"num_key_value_heads": 3}, "3 key/value heads do not divide"),
    ({"head_dim": 7}, "7 rotary dimensions"),  # 44
    ({"rms_norm_eps": -1e-6}, "rms_norm_eps"),  # 45
    ({"rope_parameters": {"rope_theta": -1.0, "rope_type": "default"}}, "rope_theta"),
    ({"vocab_size": 60}, "60"),  # 46
    ({"intermediate_size": 41}, "41"),  # 47
    ({"hidden_size": None}, "hidden_size"),  # 48
    ({"model_type": "mamba"}, "mamba"),
    ({"model_type": None, "architectures": None}, "model_type"),
    ({"hidden_act": "swoosh"}, "swoosh"),
    ({"rope_parameters": {"rope_theta": 1e4, "rope_type": "spiral"}}, "spiral"),
    ({"eos_token_id": 61}, "eos_token_id"),  # 50
    ({"bos_token_id": -2}, "bos_token_id"))


def info(path, fragment):
    return refused(3, fragment, "info", path)


def changed(folder, source, number, **changes):
    model = copy_model(source, folder / str(number))
    change_json(model / "config.json", **changes)
    return model


def test_config_values(folder):
    for number, (changes, fragment) in enumerate(LLAMA_CONFIG):
        told = info(changed(folder, LLAMA, number, **changes), fragment)
        assert "config.json" in told.err or "safetensors" in told.err, told


def test_config_texts(folder):
    model = copy_model(LLAMA, folder / "m")
    text = (LLAMA / "config.json").read_text()
    for damaged in ("", "[]", text[:-20], text.replace('"vocab_size": 61', '"vocab_size": NaN'), text.replace('"vocab_size": 61', '"vocab_size": 61, "vocab_size": 61'),
                    '{"a":' * 100 + "1" + "}" * 100, "\xff" + text):
        (model / "config.json").write_text(damaged, encoding="latin-1")
        info(model, "config.json")
    (model / "config.json").unlink()
    info(model, "config.json")


def test_too_long_a_context(_):
    refused(2, "48", "generate", "-d", "reference", "-m", LLAMA, "-c", 2**30, "--ids", "1")


def safetensors(folder, data):
    model = copy_model(GPT2, folder, without=("model.safetensors",))
    (model / "model.safetensors").write_bytes(data)
    return model


def test_safetensors(folder):
    whole = (GPT2 / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", whole[:8])
    header, data = json.loads(whole[8:8 + size]), whole[8 + size:]

    def made(changed_header):
        text = json.dumps(changed_header).encode()
        return struct.pack("<Q", len(text)) + text + data

    wte = header["transformer.wte.weight"]
    rows, columns = wte["shape"]
    cases = ((whole[:7], "model.safetensors"), (whole[:-1], "model.safetensors"), (whole[:8 + size // 2], "model.safetensors"), (whole + b"x", "model.safetensors"),
             (struct.pack("<Q", 2**64 - 1) + whole[8:], "model.safetensors"), (b"", "model.safetensors"),
             (made({**header, "transformer.wte.weight": {**wte, "shape": [columns, rows]}}), "transformer.wte.weight"),
             (made({**header, "transformer.wte.weight": {**wte, "dtype": "F33"}}), "F33"),
             (made({**header, "transformer.wte.weight": {**wte, "data_offsets": [wte["data_offsets"][0], 2**60]}}), "transformer.wte.weight"),
             (made({name: entry for name, entry in header.items() if name != "transformer.h.1.attn.c_attn.weight"}), "model.safetensors"))
    for number, (damaged, fragment) in enumerate(cases):
        info(safetensors(folder / str(number), damaged), fragment)


def test_weights_that_are_no_numbers(folder):
    data = bytearray((GPT2 / "model.safetensors").read_bytes())
    data[-4:] = struct.pack("<f", float("nan"))
    refused(3, "holds a NaN or an infinity", "generate", "-d", "reference", "-m", safetensors(folder / "m", data), "--ids", "1")


def test_a_missing_shard(folder):
    model = copy_model(GPT2, folder / "m")
    whole = (model / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", whole[:8])
    names = [name for name in json.loads(whole[8:8 + size]) if name != "__metadata__"]
    (model / "model.safetensors").rename(model / "model-00001-of-00002.safetensors")
    index = model / "model.safetensors.index.json"
    for second, fragment in (("model-00002-of-00002.safetensors", "model-00002-of-00002.safetensors"), ("../outside.safetensors", "../outside"), ("/etc/passwd", "/etc/passwd"),
                             ("model-00001-of-00002.safetensors", None)):
        index.write_text(json.dumps({"metadata": {}, "weight_map": {name: second if name == names[0] else "model-00001-of-00002.safetensors" for name in names}}))
        if fragment:
            info(model, fragment)
        else:
            run("info", model)


def test_an_index_that_lists_more_than_the_shards_have(folder):
    """Of a model whose output matrix is its embedding, transformers' map may list it, and count it in total_size; what the model needs must be there."""
    model, shard = copy_model(GPT2, folder / "m"), "model-00001-of-00001.safetensors"
    names = list(read_safetensors(model / "model.safetensors"))
    assert "lm_head.weight" not in names, names
    (model / "model.safetensors").rename(model / shard)
    index = model / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 12345}, "weight_map": dict.fromkeys([*names, "lm_head.weight"], shard)}))
    told = [run("generate", "-d", "reference", "-q", "-m", path, "--ids", "1,2,3", "--temp", "0", "-n", "4").text for path in (GPT2, model)]
    assert told[0] == told[1], told
    arrays = read_safetensors(model / shard)
    write_safetensors(model / shard, {name: array for name, array in arrays.items() if name != "transformer.h.1.ln_2.weight"})
    info(model, 'tensor "transformer.h.1.ln_2.weight" is missing')


def test_other_formats(folder):
    model = copy_model(GPT2, folder / "pickle", without=("model.safetensors",))
    with open(model / "pytorch_model.bin", "wb") as file:
        pickle.dump({"a": 1}, file)
    info(model, "tools/convert-torch")
    info(model / "pytorch_model.bin", "tools/convert-torch")
    for magic in (b"lmgg", b"fmgg", b"tjgg", b"algg"):
        (folder / "old.bin").write_bytes(magic + bytes(64))
        info(folder / "old.bin", "tools/convert-torch")
    (folder / "text.bin").write_text("hello, I am no model\n" * 10)
    info(folder / "text.bin", "text.bin")
    (folder / "empty.gguf").write_bytes(b"")
    info(folder / "empty.gguf", "empty.gguf")
    (folder / "nothing").mkdir()
    info(folder / "nothing", "has no weights")
    info("/dev/zero", "/dev/zero")


def test_gguf(folder):
    whole = (GPT2 / "model.gguf").read_bytes()
    path = folder / "m.gguf"
    for damaged in (b"GGUX" + whole[4:], b"GGUF" + struct.pack("<I", 1) + whole[8:], b"GGUF" + struct.pack(">I", 3) + whole[8:], b"GGUF" + struct.pack("<I", 99) + whole[8:],
                    whole[:16] + struct.pack("<Q", 2**62) + whole[24:], whole[:8] + struct.pack("<Q", 2**62) + whole[16:], whole[:20], whole[:200], whole[:-1],
                    whole[:24] + struct.pack("<Q", 2**63) + whole[32:]):
        path.write_bytes(damaged)
        info(path, "m.gguf")
    shutil.copy(GPT2 / "model.gguf", path)
    run("info", path)


def test_names(folder):
    info("org/name", "hf download org/name")
    info("./nothing", "there is no such folder or file")
    info(folder / "nothing", "there is no such folder or file")
    info("nosuchmodel", "nor a bundled model")
    info("shakespear", 'Did you mean shakespeare?')
    refused(3, "hf download org/name", "generate", "-d", "reference", "-m", "org/name", "x")


def test_tokenizers(folder):
    model = copy_model(PLAY, folder / "m")
    held = json.loads((PLAY / "tokenizer.json").read_text())

    def encodes(fragment, **changes):
        damaged = json.loads(json.dumps(held))
        damaged["model"].update(changes)
        (model / "tokenizer.json").write_text(json.dumps(damaged))
        refused(3, fragment, "tokenize", "-m", model, given="x\n")

    vocab = held["model"]["vocab"]
    encodes("tokenizer.json", vocab={**vocab, "A": -1})  # 68
    encodes("tokenizer.json", vocab={**vocab, "A": vocab["B"]})
    encodes("tokenizer.json", vocab={**vocab, "A": 2**40})
    encodes("tokenizer.json", merges=[["A", "never seen"]])  # 69
    encodes("tokenizer.json", merges="A B")
    encodes("vocab_size 1024", vocab={**vocab, "one too many": 2000})
    (model / "tokenizer.json").write_text(json.dumps({**held, "model": {**held["model"], "type": "Wordy"}}))
    refused(3, 'model "Wordy" is not supported', "tokenize", "-m", model, given="x\n")
    assert "unsupported: " in run("info", model).text
    (model / "tokenizer.json").write_bytes(b'{"model": "\xff"}')
    refused(3, "tokenizer.json", "tokenize", "-m", model, given="x\n")


def test_folders_that_are_links(folder):
    (folder / "blobs").mkdir()
    (folder / "snapshot").mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(GPT2 / name, folder / "blobs" / name)
        (folder / "snapshot" / name).symlink_to(f"../blobs/{name}")
    (folder / "link").symlink_to("snapshot")
    run("info", folder / "link")
    (folder / "blobs" / "model.safetensors").unlink()
    info(folder / "link", "model.safetensors")


main(globals())

#!/usr/bin/env python3
"""tessera info, devices and cache: the lists, as text and as JSON."""

import json
import os
import struct

from support.command import GOLDEN, PLAY, SHARED, copy_model, environment, equal, larger, main, refused, run

DEVICE_KEYS = {"index", "backend", "platform", "device", "type", "vendor", "driver", "version", "c_version", "usable", "default", "reason", "score",
               "emulator", "needs_bundle", "compute_units", "clock_mhz", "memory", "max_allocation", "local_memory", "max_work_group",
               "subgroup_sizes", "fp16", "bf16", "fp64", "int_dot", "command_buffers", "compiler"}


def test_bundled_models(_):
    told = json.loads(run("info", "--json").text)
    assert {"name": "shakespeare", "path": str(PLAY)} in told, told
    assert f"shakespeare          {PLAY}\n" in run("info").text


def test_keys_and_values_are_halves_where_they_are_many(_):
    """Of 12 layers, 12 heads of 64 and a context of 2048 they would be 144 MiB in f32."""
    for bytes_each, *options in ((4,), (2, "--dtype", "q8"), (2, "--dtype", "f16"), (4, "--dtype", "q8", "-c", "512"), (4, "--dtype", "q8", "--kv-dtype", "f32"),
                                 (2, "--kv-dtype", "f16"), (34 / 32, "--kv-dtype", "q8")):
        told = json.loads(run("info", "--json", "shape:llama-110m", *options).text)
        equal(told["kv_bytes_per_token"], 12 * 2 * told["kv_heads"] * 64 * bytes_each, options)


def test_a_folder(_):
    told = json.loads(run("info", "--json", "shakespeare").text)
    for key, value in {"format": "safetensors", "architecture": "gpt2", "stored": "f16", "layers": 6, "width": 192, "heads": 6, "kv_heads": 6,
                       "head_size": 32, "ffn": 768, "vocab": 1024, "context": 512, "parameters": 2964480, "has_tokenizer": True}.items():
        equal(told[key], value, key)
    equal(told["kv_bytes_per_token"], 2 * 6 * 192 * 4)
    # a product takes 2 M N K per matrix: 4 C C and 8 C C per layer, and V C for the output
    equal(told["flops_per_token"], 2.0 * (6 * 12 * 192 * 192 + 1024 * 192))
    equal(told["flops_per_past_token"], 6.0 * 4 * 192)
    equal(told["flops_at_context"], 6.0 * 4 * 192 * 512)
    text = run("info", PLAY).text
    assert "6 layers, width 192, 6 heads of 32" in text and "BPE, 767 merges" in text, text
    equal(run("info", "-m", PLAY).text, text)


def test_attention_at_a_full_context_heeds_windows(_):
    """A pair of tokens takes 2 * 4 * 12 FLOP a layer in all models. Of 48 earlier tokens, a window of 5 leaves 4, one of 6 leaves 5. In a text of 48, windows of 4 to each
    side leave 7 * 48 - 12 pairs."""
    for model, layers, pairs in (("qwen2-window", 2, 48 + 4), ("gemma3_text", 3, 48 + 5 + 5), ("modernbert/cls", 4, (2 * 48 * 48 + 2 * (7 * 48 - 12)) / 48)):
        told = json.loads(run("info", "--json", GOLDEN / model).text)
        equal((told["context"], told["flops_per_past_token"], told["flops_at_context"]), (48, 96.0 * layers, 96.0 * pairs), model)


def test_a_model_without_tokenizer(_):
    told = json.loads(run("info", "--json", GOLDEN / "llama-tiny").text)
    equal((told["has_tokenizer"], told["architecture"], told["kv_heads"]), (False, "llama", 2))
    assert "none: use --ids and --print-ids" in run("info", GOLDEN / "llama-tiny").text


def gguf(path, words, merges, C=4, kinds=lambda name: None):
    """A GPT-2 of one layer, width C, 2 heads, context 8, with a vocabulary of its own: in float32, or zeros of the kind of a matrix (ggml's number,
    the numbers and the bytes of a block)."""
    text = lambda s: struct.pack("<Q", len(s.encode())) + s.encode()
    u32 = lambda v: struct.pack("<II", 4, v)
    string = lambda v: struct.pack("<I", 8) + text(v)
    strings = lambda v: struct.pack("<IIQ", 9, 8, len(v)) + b"".join(map(text, v))
    F, V = 16, len(words)
    held = {"general.architecture": string("gpt2"), "gpt2.context_length": u32(8), "gpt2.embedding_length": u32(C), "gpt2.block_count": u32(1),
            "gpt2.feed_forward_length": u32(F), "gpt2.attention.head_count": u32(2),
            "gpt2.attention.layer_norm_epsilon": struct.pack("<If", 6, 1e-5), "tokenizer.ggml.model": string("gpt2"),
            "tokenizer.ggml.pre": string("gpt-2"), "tokenizer.ggml.tokens": strings(words),
            "tokenizer.ggml.token_type": struct.pack(f"<IIQ{V}i", 9, 5, V, *[3 if w.startswith("<|") else 1 for w in words]),
            "tokenizer.ggml.merges": strings(merges), "tokenizer.ggml.bos_token_id": u32(0), "tokenizer.ggml.eos_token_id": u32(0)}
    shapes = {"token_embd.weight": (C, V), "position_embd.weight": (C, 8), "output_norm.weight": (C,), "output_norm.bias": (C,)}
    for part, shape in {"attn_norm": (C,), "attn_qkv": (C, 3 * C), "attn_output": (C, C), "ffn_norm": (C,), "ffn_up": (C, F), "ffn_down": (F, C)}.items():
        shapes[f"blk.0.{part}.weight"], shapes[f"blk.0.{part}.bias"] = shape, shape[-1:]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(held)) + b"".join(text(k) + v for k, v in held.items())
    data = b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        kind, numbers, size = (len(shape) > 1 and kinds(name)) or (0, 1, 4)
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        block = bytes(count // numbers * size) if kind else struct.pack(f"<{count}f", *[((i * 37 + len(name)) % 19 - 9) / 10 for i in range(count)])
        data += block + bytes(-len(block) % 32)
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def test_gguf(folder):
    model = gguf(folder / "m.gguf", ["<|endoftext|>", "a", "b", "\u0120", "ab"], ["a b"])
    told = json.loads(run("info", "--json", model).text)
    for key, value in {"format": "GGUF", "architecture": "gpt2", "stored": "f32", "layers": 1, "width": 4, "heads": 2, "ffn": 16, "vocab": 5, "context": 8,
                       "has_tokenizer": True}.items():
        equal(told[key], value, key)
    equal(run("tokenize", "-m", model, given="ab ba\n").text, "4 3 2 1\n")
    said = run("generate", "-d", "reference", "-q", "-m", model, "--temp", "0", "-n", "3", "--ignore-eos", "ab").text
    assert set(said) <= set("ab \n<|endoftxt>"), said


def test_tokenizers_of_models(folder):
    """`models` says of which models only ids are taken."""
    words = ["<|endoftext|>", "a", "b", "\u0120", "ab"]
    gguf(folder / "full.gguf", words, ["a b"])
    newer = gguf(folder / "newer.gguf", words, ["a b"])
    newer.write_bytes(newer.read_bytes().replace(b"gpt-2", b"gpt-9"))
    copy_model(GOLDEN / "gpt2-tiny", folder / "none")
    env = environment(TESSERA_MODELS=folder)
    rows = {model["name"]: model for model in json.loads(run("models", "--json", env=env).text)}
    equal([(rows[name]["served"], rows[name]["has_tokenizer"]) for name in ("full.gguf", "newer.gguf", "none")], [(True, True), (True, False), (True, False)])
    equal([name for name in ("full.gguf", "newer.gguf", "none") if "tokenizer_unsupported" in rows[name]], ["newer.gguf"])
    why = rows["newer.gguf"]["tokenizer_unsupported"]
    assert 'tokenizer.ggml.pre "gpt-9" is not supported' in why, why
    lines = {line.split()[0]: line for line in run("models", env=env).text.splitlines()}
    assert lines["full.gguf"].endswith(" gpt2, f32") and lines["newer.gguf"].endswith(f" gpt2, f32; ids only: {why}"), lines
    assert lines["none"].endswith("; ids only: it has no tokenizer"), lines


def test_gguf_of_several_types(folder):
    """The type of most bytes is named, though the largest matrix has another; a type that is not read is told with those that are."""
    words = ["<|endoftext|>", "a", "b", "\u0120", "ab"]
    mixed = gguf(folder / "mixed.gguf", words, ["a b"], 32, lambda name: (8, 32, 34) if "qkv" in name else (1, 1, 2))
    equal(json.loads(run("info", "--json", mixed).text)["stored"], "f16")
    coarse = gguf(folder / "coarse.gguf", words, ["a b"], 256, lambda name: (21, 256, 110) if "qkv" in name else None)
    refused(3, "\"blk.0.attn_qkv.weight\" is stored as iq3_s; weights are read from f32, f16, bf16, f64, q4_0, q4_1, q5_0, q5_1, q8_0, q4_K, q5_K, q6_K, "
            "q2_K, q3_K, iq4_nl, iq4_xs and mxfp4",
            "info", coarse)


def test_gguf_of_each_block_type(folder):
    """What the blocks hold is tested in tests/tensor/blocks.c."""
    for name, kind, numbers, size in (("q4_0", 2, 32, 18), ("q4_1", 3, 32, 20), ("q5_0", 6, 32, 22), ("q5_1", 7, 32, 24), ("q8_0", 8, 32, 34),
                                      ("q2_K", 10, 256, 84), ("q3_K", 11, 256, 110), ("q4_K", 12, 256, 144), ("q5_K", 13, 256, 176),
                                      ("q6_K", 14, 256, 210), ("iq4_nl", 20, 32, 18), ("iq4_xs", 23, 256, 136), ("mxfp4", 39, 32, 17)):
        of = lambda matrix: None if "ffn_down" in matrix else (kind, numbers, size)
        model = gguf(folder / f"{name}.gguf", ["<|endoftext|>", "a", "b", "\u0120", "ab"], ["a b"], 256, of)
        equal(json.loads(run("info", "--json", model).text)["stored"], name)
        run("generate", "-d", "reference", "-q", "-m", model, "--temp", "0", "-n", "1", "ab")


@larger("data/models/stories260k")
def test_llama2c(_):
    told = json.loads(run("info", "--json", SHARED / "data" / "models" / "stories260k" / "checkpoint_legacy.bin").text)
    equal((told["format"], told["layers"], told["heads"], told["kv_heads"], told["has_tokenizer"]), ("llama2.c", 5, 8, 4, True))


def test_devices(_):
    told = json.loads(run("devices", "--json").text)
    equal(set(told), {"devices", "notes"})
    for index, device in enumerate(told["devices"]):
        equal(set(device), DEVICE_KEYS)
        equal(device["index"], index)
        assert device["type"] in ("cpu", "gpu", "accelerator", "other") and device["reason"] and device["memory"] > 0, device
        assert not (device["default"] and (device["emulator"] or device["needs_bundle"] or not device["usable"])), device
    equal(sum(device["default"] for device in told["devices"]), 1)
    equal(told["devices"][-1]["backend"], "reference")
    text = run("devices").text
    for device in told["devices"]:
        assert f"{device['platform']} / {device['device']}" in text
    equal(text.count("(default)"), 1)


def test_cache(folder):
    place = environment(TESSERA_CACHE=folder / "c")
    for option in ("-d", "reference"), ("--dtype", "q8"), ("-c", "8"), ("-t", "2"), ("--kernels", "linear=plain"), ("--lora", folder):
        refused(2, "takes no model, no device and no option of them", "cache", "clear", *option)
    told = lambda *words: json.loads(run("cache", *words, "--json", env=place).text)
    none = {"bytes": 0, "cleared": False, "files": []}
    equal(told(), {"folder": str(folder / "c"), **none, "tuned": none})
    kernel, driver, tuned, foreign = (folder / "c" / name for name in ("opencl/x.bin", "pocl/a/b", "tuned/opencl-x.tsv", "notes/mine"))
    for path, text in ((kernel, "12345"), (driver, "123"), (tuned, "12"), (foreign, "1")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    listed = lambda *paths: [{"path": str(path), "bytes": path.stat().st_size} for path in paths]
    equal(told("list"), {"folder": str(folder / "c"), "bytes": 8, "cleared": False, "files": listed(kernel, driver),
                         "tuned": {"bytes": 2, "cleared": False, "files": listed(tuned)}})
    text = run("cache", env=place).text
    assert "2 files, 0.0 MiB in " in text and f"1 file of tuned values in {folder / 'c' / 'tuned'}\n" in text and "mine" not in text, text
    refused(2, "--tuned is an option of cache clear; cache list was given", "cache", "--tuned", env=place)
    text = run("cache", "clear", env=place).text
    assert "2 files, 0.0 MiB removed from " in text and "1 file of tuned values left in " in text and "cache clear --tuned" in text, text
    equal([path.exists() for path in (kernel, driver, tuned, foreign)], [False, False, True, True])
    equal(told("list")["files"], [])
    assert "1 file of tuned values removed from " in run("cache", "clear", "--tuned", env=place).text
    equal([path.exists() for path in (tuned, foreign)], [False, True], "what Tessera did not write stays")
    refused(3, "there is no cache folder that can be written", "cache", env=environment(TESSERA_CACHE="/dev/null/x", XDG_CACHE_HOME=None, HOME=None))


def test_a_name_is_listed_once(folder):
    """Of two models with one name, the one that the name opens is listed."""
    own = copy_model(GOLDEN / "gpt2-tiny", folder / "mine" / "shakespeare")
    env = environment(TESSERA_MODELS=f"{folder / 'mine'}:{PLAY.parent}")
    told = {}
    for model in json.loads(run("info", "--json", env=env).text):
        assert model["name"] not in told, f"{model['name']} is listed twice"
        told[model["name"]] = model["path"]
    equal(told["shakespeare"], str(own))
    equal(json.loads(run("info", "--json", "shakespeare", env=env).text)["path"], str(own))


def test_a_name_that_is_not_utf8(folder):
    os.symlink(PLAY, os.fsencode(folder) + b"/b\xff")
    env = environment(TESSERA_MODELS=folder)
    assert "b\ufffd" in [model["name"] for model in json.loads(run("info", "--json", env=env).text)]


main(globals())

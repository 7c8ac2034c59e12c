#!/usr/bin/env python3
"""Models by name: folders of GGUF files, and the caches of Hugging Face, llama.cpp and Ollama, which are made here from small models."""

import json

from support.command import GOLDEN, PLAY, environment, equal, main, refused, run
from support.gguf import floats, write_gguf

TINY = GOLDEN / "gpt2-tiny"
GGUF = TINY / "model.gguf"
VARIABLES = dict.fromkeys(("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "LLAMA_CACHE", "OLLAMA_MODELS", "XDG_CACHE_HOME"))


def home(folder, **changes):
    return environment(**{**VARIABLES, "HOME": folder, **changes})


def opened(name, **options):
    """The file or folder that a name opens."""
    return run("info", "-m", name, **options).text.split("\n")[0].split(maxsplit=1)[1].rpartition(" (")[0]


def link(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source)
    return target


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def hub(cache):
    """Three repositories: one with two revisions, one of GGUF files, one of which only the config is there."""
    tiny, quants, part = cache / "models--org--tiny", cache / "models--org--tiny-GGUF", cache / "models--part"
    for commit in ("aaa", "bbb"):
        for name in ("config.json", "model.safetensors"):
            link(TINY / name, tiny / "snapshots" / commit / name)
    write(tiny / "refs/main", "aaa")
    write(tiny / "refs/v1", "bbb\n")
    for name in ("tiny-Q8_0.gguf", "tiny-Q4_K_M.gguf"):
        link(GGUF, quants / "snapshots/ccc" / name)
    link(TINY / "config.json", part / "snapshots/ddd/config.json")
    write(part / "refs/main", "ddd")
    return tiny / "snapshots", quants / "snapshots/ccc"


def ollama(store):
    blob = link(GGUF, store / "blobs/sha256-12ab")
    layers = {"layers": [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:00"},
                         {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:12ab"}]}
    for name in ("registry.ollama.ai/library/tiny/latest", "registry.ollama.ai/me/mine/1b", "hf.co/you/yours/Q8_0"):
        write(store / "manifests" / name, json.dumps(layers))
    return blob


def test_a_folder_of_gguf_files(folder):
    link(GGUF, folder / "m-Q8_0.gguf")
    link(GGUF, folder / "mmproj-f16.gguf")
    write(folder / "README.md", "two")
    equal(opened(folder), f"{folder}/m-Q8_0.gguf")
    link(GGUF, folder / "m-f16.gguf")
    refused(2, "Give the path of one of m-Q8_0.gguf, m-f16.gguf", "info", "-m", folder)
    link(GGUF, folder / "m.q4_k_m.gguf")
    link(GGUF, folder / "m-Q4_K_S.gguf")
    equal(opened(folder), f"{folder}/m.q4_k_m.gguf")


def adapter(path):
    """A GGUF file as llama.cpp's convert_lora_to_gguf.py writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_gguf(path, {"general.architecture": "gpt2", "general.type": "adapter", "adapter.type": "lora"},
                      {"blk.0.attn_qkv.weight.lora_a": floats((2, 4), [0] * 8)})


def test_a_folder_with_a_tokenizer(folder):
    """Where a tokenizer is enough, it is the folder's own, whatever GGUF files are there."""
    for config in (True, False):
        top = folder / str(config)
        link(PLAY / "tokenizer.json", top / "tokenizer.json")
        if config:
            link(TINY / "config.json", top / "config.json")
        for names in (["sub/lora.gguf"], ["a.gguf", "b.gguf"]):
            for name in names:
                link(GGUF, top / name)
            equal(run("tokenize", "-m", top, given="hello\n").text, run("tokenize", "-m", PLAY / "tokenizer.json", given="hello\n").text, top)
        refused(2, "Give the path of one of a.gguf, b.gguf, sub/lora.gguf", "info", "-m", top)
        (top / "tokenizer.json").unlink()
        refused(2, "Give the path of one of a.gguf, b.gguf, sub/lora.gguf", "tokenize", "-m", top, given="hello\n")


def test_adapters_beside_a_model(folder):
    """They are no models, so none is chosen."""
    top, env = folder / ".cache/huggingface/hub/models--org--one/snapshots/aaa", home(folder)
    adapter(top / "one-lora-Q4_K_M.gguf")
    adapter(top / "sub/one-lora-F16.gguf")
    refused(3, "has no weights", "info", "-m", top)
    link(GGUF, top / "one-Q8_0.gguf")
    for name in ("org/one", top):
        equal(opened(name, env=env), f"{top}/one-Q8_0.gguf", name)
    link(TINY / "config.json", top / "config.json")
    equal(opened(top), f"{top}/one-Q8_0.gguf")
    equal(opened("org/one:Q8_0", env=env), f"{top}/one-Q8_0.gguf")


def test_gguf_files_in_folders(folder):
    """As large repositories have them: a folder for each quantisation, whose files may be parts and need not name it."""
    top, env = folder / ".cache/huggingface/hub/models--org--big/snapshots/aaa", home(folder)
    write(top.parents[1] / "refs/main", "aaa")
    link(GGUF, top / "Q4_K_M/big-7B-00001-of-00002.gguf")
    refused(3, "hf download org/big --include '*Q8_0*'", "info", "-m", "org/big:Q8_0", env=env)
    for name in ("org/big", "org/big:q4_k_m", top):
        equal(opened(name, env=env), f"{top}/Q4_K_M/big-7B-00001-of-00002.gguf", name)
    link(GGUF, top / "big-Q8_0.gguf")
    link(GGUF, top / "big-Q6_K/big-Q6_K.gguf")
    link(GGUF, top / "big-Q6_K/mmproj-f16.gguf")
    link(TINY / "config.json", top / "config.json")  # these repositories have it, too
    write(top / "big-Q6_K/README.md", "two")
    link(GGUF, top / ".cache/hidden-Q4_K_M.gguf")
    link(GGUF, top / "deep/er/big-Q2_K.gguf")
    files = {"Q4_K_M": "Q4_K_M/big-7B-00001-of-00002.gguf", "Q8_0": "big-Q8_0.gguf", "Q6_K": "big-Q6_K/big-Q6_K.gguf"}
    equal(opened("org/big", env=env), f"{top}/{files['Q4_K_M']}", "the usual one of several")
    for quant, file in files.items():
        equal(opened(f"org/big:{quant}", env=env), f"{top}/{file}", quant)
    rows = [model for model in json.loads(run("models", "--json", env=env).text) if model["place"] == "Hugging Face"]
    equal({row["name"]: row["path"] for row in rows}, {f"org/big:{quant}": f"{top}/{file}" for quant, file in files.items()})
    assert all(row["served"] for row in rows), rows
    (top / files["Q4_K_M"]).unlink()
    refused(2, "Give the path of one of big-Q6_K/big-Q6_K.gguf, big-Q8_0.gguf", "info", "-m", "org/big", env=env)


def test_quantisations_of_the_same_name(folder):
    """Unsloth has two files of a quantisation; the other is named with its UD-."""
    top, env = folder / ".cache/huggingface/hub/models--org--two/snapshots/aaa", home(folder)
    link(GGUF, top / "two-UD-Q4_K_M.gguf")
    equal(opened("org/two:Q4_K_M", env=env), f"{top}/two-UD-Q4_K_M.gguf", "it is the only one")
    link(GGUF, top / "two-Q4_K_M.gguf")
    link(GGUF, top / "UD-Q2_K_XL/two-UD-Q2_K_XL.gguf")
    for name, file in (("org/two", "two-Q4_K_M.gguf"), ("org/two:Q4_K_M", "two-Q4_K_M.gguf"), ("org/two:ud-q4_k_m", "two-UD-Q4_K_M.gguf"),
                       ("org/two:Q2_K_XL", "UD-Q2_K_XL/two-UD-Q2_K_XL.gguf"), ("org/two:UD-Q2_K_XL", "UD-Q2_K_XL/two-UD-Q2_K_XL.gguf")):
        equal(opened(name, env=env), f"{top}/{file}", name)
    names = [model["name"] for model in json.loads(run("models", "--json", env=env).text) if model["place"] == "Hugging Face"]
    equal(sorted(names), ["org/two:Q4_K_M", "org/two:UD-Q2_K_XL", "org/two:UD-Q4_K_M"])
    link(GGUF, top / "three-Q4_K_M.gguf")
    refused(2, "Give the path of one of three-Q4_K_M.gguf, two-Q4_K_M.gguf", "info", "-m", "org/two:Q4_K_M", env=env)


def listed(env, place):
    return {model["name"]: model for model in json.loads(run("models", "--json", env=env).text) if model["place"] == place}


def test_incomplete_downloads(folder):
    """What is in a cache without its weights, or whose blobs are gone, gets the command that downloads it."""
    cache, env = folder / ".cache/huggingface/hub", home(folder)
    hub(cache)
    link(TINY / "config.json", cache / "models--org--part/snapshots/eee/config.json")
    link(folder / "blobs/gone", cache / "models--org--gone-GGUF/snapshots/fff/gone-Q4_K_M.gguf")
    link(folder / "blobs/gone", folder / ".cache/llama.cpp/org_less_less-Q8_0.gguf")
    commands = {"part": "hf download part", "org/part": "hf download org/part", "org/gone-GGUF:Q4_K_M": "hf download org/gone-GGUF --include '*Q4_K_M*'",
                "org/less:Q8_0": "hf download org/less --include '*Q8_0*'"}
    rows = listed(env, "Hugging Face") | listed(env, "llama.cpp")
    for name, command in commands.items():
        refused(3, f'; get it with "{command}"', "info", "-m", name, env=env)
        assert not rows[name]["served"] and rows[name]["why"].endswith(f'; get it with "{command}"'), rows[name]
    refused(3, 'get it with "hf download org/part --revision eee"', "generate", "-d", "reference", "-m", "org/part@eee", "x", env=env)
    refused(3, 'get it with "hf download org/part"', "quantize", "-m", "org/part", "-o", folder / "out", env=env)
    assert "get it with" not in run("info", "-m", cache / "models--org--part/snapshots/eee", env=env, code=3).err, "a path is nobody's name"


def test_the_command_is_told_of_the_model_alone(folder):
    """Not where files of an adapter are missing, but of the model's parts."""
    cache, env = folder / ".cache/huggingface/hub", home(folder)
    hub(cache)
    missing = run("info", "-m", "org/tiny", "--lora", folder / "none", env=env, code=3).err
    assert f"{folder}/none" in missing and "get it with" not in missing, missing
    link(TINY / "config.json", cache / "models--org--shards/snapshots/aaa/config.json")
    write(cache / "models--org--shards/snapshots/aaa/model.safetensors.index.json", json.dumps({"weight_map": {"a": "model-1.safetensors"}}))
    refused(3, '; get it with "hf download org/shards"', "info", "-m", "org/shards", env=env)
    half = cache / "models--org--half/snapshots/aaa/half-Q8_0-00001-of-00002.gguf"
    half.parent.mkdir(parents=True)
    write_gguf(half, {"general.architecture": "gpt2", "split.count": 2, "split.no": 0}, {})
    link(half, folder / ".cache/llama.cpp/org_part_part-Q8_0-00001-of-00002.gguf")
    for name, command in (("org/half", "org/half"), ("org/half:Q8_0", "org/half --include '*Q8_0*'"), ("org/part:Q8_0", "org/part --include '*Q8_0*'")):
        refused(3, f'; get it with "hf download {command}"', "info", "-m", name, env=env)


def test_what_is_gone_in_one_place(folder):
    """The next one that has the model whole gives it; if none does, the first one's failure is told."""
    snapshot, cached = folder / ".cache/huggingface/hub/models--you--yours/snapshots/aaa", folder / ".cache/llama.cpp/you_yours_yours-Q8_0.gguf"
    store, env = folder / ".ollama/models", home(folder)
    blob = ollama(store)
    hugging_face = link(folder / "gone", snapshot / "yours-Q8_0.gguf")
    equal(opened("you/yours:Q8_0", env=env), str(blob), "after Hugging Face")
    link(folder / "gone", cached)
    equal(opened("you/yours:Q8_0", env=env), str(blob), "after llama.cpp")
    own = store / "manifests/registry.ollama.ai/you/yours/Q8_0"
    write(own, json.dumps({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:00"}]}))
    equal(opened("you/yours:Q8_0", env=env), str(blob), "after Ollama's own host")
    write(own, "{")
    equal(opened("you/yours:Q8_0", env=env), str(blob), "after a damaged manifest")
    cached.unlink()
    link(GGUF, cached)
    equal(opened("you/yours:Q8_0", env=env), str(cached), "llama.cpp comes before Ollama")
    cached.unlink()
    blob.unlink()
    refused(3, f"{hugging_face} is gone; get it with \"hf download you/yours --include '*Q8_0*'\"", "info", "-m", "you/yours:Q8_0", env=env)
    hugging_face.unlink()
    refused(3, f"{own}", "info", "-m", "you/yours:Q8_0", env=env)
    own.unlink()
    refused(3, f"{blob}, which {store}/manifests/hf.co/you/yours/Q8_0 names, is gone; get it with \"ollama pull hf.co/you/yours:Q8_0\"", "info", "-m",
            "you/yours:Q8_0", env=env)


def test_snapshots_without_a_main_revision(folder):
    cache, env = folder / ".cache/huggingface/hub", home(folder)
    for commit in ("aaa", "bbb"):
        for name in ("config.json", "model.safetensors"):
            link(TINY / name, cache / "models--org--two/snapshots" / commit / name)
    link(GGUF, cache / "models--org--two/snapshots/ccc/m-Q8_0.gguf")
    rows = listed(env, "Hugging Face")
    equal(set(rows), {"org/two@aaa", "org/two@bbb", "org/two@ccc:Q8_0"})
    for name, row in rows.items():
        equal(opened(name, env=env), row["path"], name)


def test_revisions_beside_main(folder):
    """Those whose files are not main's are listed, too, by names that open them."""
    cache, env = folder / ".cache/huggingface/hub", home(folder)
    for commit in ("aaa", "bbb", "ccc"):
        for name in ("config.json", "model.safetensors"):
            link(TINY / name, cache / "models--org--tiny/snapshots" / commit / name)
    for commit in ("aaa", "bbb"):
        link(GGUF, cache / "models--org--tiny-GGUF/snapshots" / commit / "tiny-Q8_0.gguf")
    for repository, refs in (("tiny", {"main": "aaa", "same": "aaa", "v1": "bbb", "refs/pr/1": "ccc", "gone": "ddd"}), ("tiny-GGUF", {"main": "aaa", "v1": "bbb"})):
        for name, commit in refs.items():
            write(cache / f"models--org--{repository}/refs" / name, commit)
    rows = listed(env, "Hugging Face")
    equal(set(rows), {"org/tiny", "org/tiny@v1", "org/tiny@refs/pr/1", "org/tiny-GGUF:Q8_0", "org/tiny-GGUF@v1:Q8_0"})
    for name, row in rows.items():
        equal(opened(name, env=env), row["path"], name)


def test_the_size_of_a_folder_with_modules(folder):
    """The folders of sentence-transformers' modules belong to the model; others don't."""
    top, env = folder / ".cache/huggingface/hub/models--org--vectors/snapshots/aaa", home(folder)
    sizes = {"README.md": 1, "0_Transformer/config.json": 20, "0_Transformer/model.safetensors": 300, "1_Pooling/config.json": 4000,
             "2_Dense/model.safetensors": 50000, "onnx/model.onnx": 600000}
    for name, size in sizes.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(bytes(size))
    modules = json.dumps([{"path": name, "type": ""} for name in ("0_Transformer", "1_Pooling", "2_Dense", "")])
    write(top / "modules.json", modules)
    equal(listed(env, "Hugging Face")["org/vectors"]["bytes"], 54321 + len(modules))


def test_the_size_of_a_split_file(folder):
    """All its parts that are there."""
    top, env = folder / ".cache/huggingface/hub/models--org--big/snapshots/aaa", home(folder)
    sizes = {"1-of-00003": 300, "2-of-00003": 70, "3-of-00003": 5, "1-of-00002": 1000}
    for part, size in sizes.items():
        path = top / ("Q4_K_M" if part.endswith("3") else "Q8_0") / f"big-0000{part}.gguf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"GGUF" + bytes(size - 4))
    rows = listed(env, "Hugging Face")
    equal({name: row["bytes"] for name, row in rows.items()}, {"org/big:Q4_K_M": 375, "org/big:Q8_0": 1000})


def test_hugging_face(folder):
    snapshots, quants = hub(folder / ".cache/huggingface/hub")
    env = home(folder)
    for name, path in (("org/tiny", snapshots / "aaa"), ("org/tiny@v1", snapshots / "bbb"), ("org/tiny@bbb", snapshots / "bbb"),
                       ("org/tiny-GGUF", quants / "tiny-Q4_K_M.gguf"), ("org/tiny-GGUF:q8_0", quants / "tiny-Q8_0.gguf")):
        equal(opened(name, env=env), str(path), name)
    for name, command in (("org/none", "hf download org/none"), ("org/tiny@v2", "hf download org/tiny --revision v2"),
                          ("org/tiny-GGUF:Q6_K", "hf download org/tiny-GGUF --include '*Q6_K*'"), ("org/tiny@../../x", "no such folder")):
        refused(3, command, "info", "-m", name, env=env)
    for variable, below in (("HF_HUB_CACHE", "."), ("HUGGINGFACE_HUB_CACHE", "."), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")):
        snapshots, _ = hub(folder / variable / below)
        equal(opened("org/tiny", env=home("/nonexistent", **{variable: folder / variable})), str(snapshots / "aaa"), variable)
    snapshots, _ = hub(folder / "of" / "HF")
    for variables in {"HF_HUB_CACHE": "~/of/HF", "HUGGINGFACE_HUB_CACHE": "/nonexistent"}, {"HUGGINGFACE_HUB_CACHE": "~/of/HF", "HF_HOME": "/nonexistent"}:
        equal(opened("org/tiny", env=home(folder, **variables)), str(snapshots / "aaa"), variables)
    equal(opened("org/tiny", env=home(folder, HF_HOME="~/HF_HOME")), str(folder / "HF_HOME/hub/models--org--tiny/snapshots/aaa"))


def test_a_misspelled_path(folder):
    """What begins with a folder that is here is a path, and no repository."""
    link(TINY, folder / "models/tiny")
    env = home(folder)
    for name in ("models/tyny", "models/tiny-GGUF:Q8_0"):
        refused(3, f"{name}: there is no such folder or file", "info", "-m", name, env=env, cwd=folder)
    refused(3, "hf download runs/final", "info", "-m", "runs/final", env=env, cwd=folder)
    snapshots, _ = hub(folder / ".cache/huggingface/hub")
    (folder / "org").mkdir()
    equal(opened("org/tiny", env=env, cwd=folder), str(snapshots / "aaa"), "a repository that is in the cache")


def test_llama_cpp_and_ollama(folder):
    cached = link(GGUF, folder / "cpp/org_tiny-GGUF_tiny-Q8_0.gguf")
    blob = ollama(folder / "ollama")
    env = home(folder, LLAMA_CACHE=folder / "cpp", OLLAMA_MODELS=folder / "ollama")
    for name, path in (("org/tiny-GGUF", cached), ("org/tiny-GGUF:Q8_0", cached), ("tiny", blob), ("tiny:latest", blob), ("me/mine:1b", blob),
                       ("you/yours:Q8_0", blob), ("hf.co/you/yours:Q8_0", blob)):
        equal(opened(name, env=env), str(path), name)
    refused(3, "ollama pull tiny:2b", "info", "-m", "tiny:2b", env=env)
    blob.unlink()
    commands = {"tiny:latest": "ollama pull tiny:latest", "me/mine:1b": "ollama pull me/mine:1b", "you/yours:Q8_0": "ollama pull hf.co/you/yours:Q8_0"}
    rows = listed(env, "Ollama")
    equal(set(rows), set(commands))
    for name, command in commands.items():
        refused(3, f'; get it with "{command}"', "info", "-m", name, env=env)
        assert not rows[name]["served"] and rows[name]["why"].endswith(f'; get it with "{command}"'), rows[name]


def test_repositories_of_llama_cpp(folder):
    """Names of repositories may have "_". A manifest tells where they end; without one, the last "-GGUF" does."""
    cache, env = folder / "cpp", home(folder, LLAMA_CACHE=folder / "cpp")
    files = {"o_x/Qwen_Qwen3-GGUF:Q4_K_M": "o_x_Qwen_Qwen3-GGUF_Qwen_Qwen3-Q4_K_M.gguf", "me/a_b:Q8_0": "me_a_b_a-Q8_0.gguf",
             "me/a_b_c:Q8_0": "me_a_b_c_a-Q8_0.gguf", "you/Qwen_Qwen3-gguf:Q4_K_M": "you_Qwen_Qwen3-gguf_Qwen_Qwen3-Q4_K_M.gguf",
             "you/plain:Q8_0": "you_plain_plain_two-Q8_0.gguf"}
    for name in files.values():
        link(GGUF, cache / name)
        write(cache / f"{name}.json", "{}")
    for repository in ("o_x=Qwen_Qwen3-GGUF=Q4_K_M", "me=a_b=latest", "me=a_b_c=Q8_0", "me=a=latest", "no"):
        write(cache / f"manifest={repository}.json", "{}")
    rows = listed(env, "llama.cpp")
    equal({name: row["path"] for name, row in rows.items()}, {name: str(cache / file) for name, file in files.items()})
    for name, file in files.items():
        if name != "me/a_b:Q8_0":  # files of me/a_b_c begin like those of me/a_b, too
            equal(opened(name, env=env), str(cache / file), name)


def test_names_with_two_slashes(folder):
    """What isn't there gets the command that downloads it."""
    env = home(folder)
    for name, command in (("org/name@refs/pr/1", "hf download org/name --revision refs/pr/1"),
                          ("org/name@refs/pr/1:Q8_0", "hf download org/name --revision refs/pr/1 --include '*Q8_0*'"),
                          ("hf.co/org/name:Q4_K_M", "ollama pull hf.co/org/name:Q4_K_M"), ("hf.co/org/name", "ollama pull hf.co/org/name")):
        refused(3, f'get it with "{command}"', "info", "-m", name, env=env)
    for name in ("a/b/c", "a/b/c@d", "hf.co/a/b/c", "org/@v1", "org/name@v1/../.."):
        refused(3, f"{name}: there is no such folder or file", "info", "-m", name, env=env, cwd=folder)


def test_ollamas_adapters(folder):
    """A model with ADAPTER in its Modelfile isn't the model that it was made from."""
    store, env = folder / ".ollama/models", home(folder)
    ollama(store)
    for name, order in ("after", 1), ("before", -1):
        layers = [{"mediaType": f"application/vnd.ollama.image.{kind}", "digest": "sha256:12ab"} for kind in ("model", "adapter")]
        path = store / "manifests/registry.ollama.ai/library" / name / "latest"
        write(path, json.dumps({"layers": layers[::order]}))
        refused(3, f"{path} adds a LoRA adapter to its model, which is not served", "info", "-m", name, env=env)
    rows = listed(env, "Ollama")
    equal({name for name, row in rows.items() if row["served"]}, {"tiny:latest", "me/mine:1b", "you/yours:Q8_0"})
    equal({name for name, row in rows.items() if "adds a LoRA adapter" in row.get("why", "")}, {"after:latest", "before:latest"})


def test_manifests_that_are_refused(folder):
    """They are listed with what opening them says."""
    store, env = folder / ".ollama/models", home(folder)
    manifests = store / "manifests/registry.ollama.ai/library"
    layers = [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:00"}]
    for name, text in (("damaged", "{"), ("empty", json.dumps({"layers": layers}))):
        write(manifests / name / "latest", text)
    rows = listed(env, "Ollama")
    equal(set(rows), {"damaged:latest", "empty:latest"})
    for name, row in rows.items():
        assert not row["served"] and row["bytes"] == 0 and row["path"] == str(manifests / name.replace(":", "/")), row
        refused(3, row["why"], "info", "-m", name, env=env)
    assert rows["empty:latest"]["why"].endswith("names no GGUF file of a model"), rows
    text = run("models", env=env).text
    equal(text.count(" Ollama        no: "), 2, text)


def test_models(folder):
    hub(folder / ".cache/huggingface/hub")
    link(GGUF, folder / ".cache/llama.cpp/org_tiny-GGUF_tiny-Q8_0.gguf")
    ollama(folder / ".ollama/models")
    link(GGUF, folder / "mine/some.gguf")
    link(GGUF, folder / ".local/share/tessera/models/other.gguf")
    env = dict(home(folder), TESSERA_MODELS=str(folder / "mine"))
    env.pop("XDG_DATA_HOME", None)
    rows = {(model["place"], model["name"]): model for model in json.loads(run("models", "--json", env=env).text)}
    equal({key for key in rows if key[0] != "bundled"},
          {("own", "some.gguf"), ("own", "other.gguf"), ("Hugging Face", "org/tiny"), ("Hugging Face", "org/tiny-GGUF:Q8_0"), ("Hugging Face", "org/tiny-GGUF:Q4_K_M"), ("Hugging Face", "part"),
           ("Hugging Face", "org/tiny@v1"), ("llama.cpp", "org/tiny-GGUF:Q8_0"), ("Ollama", "tiny:latest"), ("Ollama", "me/mine:1b"), ("Ollama", "you/yours:Q8_0")})
    equal({key[1] for key, model in rows.items() if not model["served"]}, {"part"})
    assert "model.safetensors" in rows["Hugging Face", "part"]["why"], rows
    equal(rows["Ollama", "tiny:latest"]["bytes"], GGUF.stat().st_size)
    assert ("bundled", "shakespeare") in rows and rows["bundled", "shakespeare"]["path"] == str(PLAY), rows
    for (place, name), model in rows.items():
        if model["served"] and place != "llama.cpp":  # Hugging Face's cache has the same name, and comes first
            equal(opened(name, env=env), model["path"], name)
    text = run("models", env=env).text
    assert len(text.splitlines()) == len(rows) and " Ollama        gpt2, f32; ids only: it has no tokenizer\n" in text and "no: " in text, text


main(globals())

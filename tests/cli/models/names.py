#!/usr/bin/env python3
"""Models by name: folders of GGUF files, and the caches of Hugging Face, llama.cpp and Ollama, which are made here from small models."""

import json

from support.command import GOLDEN, PLAY, environment, equal, main, refused, run

TINY = GOLDEN / "gpt2-tiny"
GGUF = TINY / "model.gguf"
VARIABLES = dict.fromkeys(("HF_HUB_CACHE", "HF_HOME", "LLAMA_CACHE", "OLLAMA_MODELS", "XDG_CACHE_HOME"))


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


def test_hugging_face(folder):
    snapshots, quants = hub(folder / ".cache/huggingface/hub")
    env = home(folder)
    for name, path in (("org/tiny", snapshots / "aaa"), ("org/tiny@v1", snapshots / "bbb"), ("org/tiny@bbb", snapshots / "bbb"),
                       ("org/tiny-GGUF", quants / "tiny-Q4_K_M.gguf"), ("org/tiny-GGUF:q8_0", quants / "tiny-Q8_0.gguf")):
        equal(opened(name, env=env), str(path), name)
    for name, command in (("org/none", "hf download org/none"), ("org/tiny@v2", "hf download org/tiny --revision v2"),
                          ("org/tiny-GGUF:Q6_K", "hf download org/tiny-GGUF --include '*Q6_K*'"), ("org/tiny@../../x", "no such folder")):
        refused(3, command, "info", "-m", name, env=env)
    for variable, below in (("HF_HUB_CACHE", "."), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")):
        snapshots, _ = hub(folder / variable / below)
        equal(opened("org/tiny", env=home("/nonexistent", **{variable: folder / variable})), str(snapshots / "aaa"), variable)


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
    refused(3, "ollama pull tiny:latest", "info", "-m", "tiny:latest", env=env)


def test_models(folder):
    hub(folder / ".cache/huggingface/hub")
    link(GGUF, folder / ".cache/llama.cpp/org_tiny-GGUF_tiny-Q8_0.gguf")
    ollama(folder / ".ollama/models")
    env = home(folder)
    listed = {(model["place"], model["name"]): model for model in json.loads(run("models", "--json", env=env).text)}
    equal({key for key in listed if key[0] != "bundled"},
          {("Hugging Face", "org/tiny"), ("Hugging Face", "org/tiny-GGUF:Q8_0"), ("Hugging Face", "org/tiny-GGUF:Q4_K_M"), ("Hugging Face", "part"),
           ("llama.cpp", "org/tiny-GGUF:Q8_0"), ("Ollama", "tiny:latest"), ("Ollama", "me/mine:1b"), ("Ollama", "you/yours:Q8_0")})
    equal({key[1] for key, model in listed.items() if not model["served"]}, {"part"})
    assert "model.safetensors" in listed["Hugging Face", "part"]["why"], listed
    equal(listed["Ollama", "tiny:latest"]["bytes"], GGUF.stat().st_size)
    assert ("bundled", "shakespeare") in listed and listed["bundled", "shakespeare"]["path"] == str(PLAY), listed
    for (place, name), model in listed.items():
        if model["served"] and place != "llama.cpp":  # Hugging Face's cache has the same name, and comes first
            equal(opened(name, env=env), model["path"], name)
    text = run("models", env=env).text
    assert len(text.splitlines()) == len(listed) and " Ollama        gpt2, f32\n" in text and "no: " in text, text


main(globals())

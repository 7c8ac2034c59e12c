#!/usr/bin/env python3
"""Whole commands in which one call fails: each allocation, and each call on a file. The process must end by itself, with a correct exit code, after
one message; its output must be complete or absent; every checkpoint must be complete.

ci/test --all tries as many calls as its time allows; without --all, some of each command's calls are tried. They are spread evenly, and
are other calls for each commit.
"""

import os
import shutil
import subprocess
import sys
import time
import zlib

from support import words
from support.command import ALL, BUILD, COMMAND, GOLDEN, SOURCE, environment, main, run, skip
from support.runs import checkpoints, command, every, make, whole

LAYER = BUILD / "tests" / "host_layer.so"
SANITIZED = bool(os.environ.get("TESSERA_SANITIZE_FLAGS"))
TRIES = 100000 if ALL else 5  # faults of one kind in one command
SECONDS = 2 if ALL else 0.3  # seconds that one kind may take in one command
TRIES_OF_JSON = 100000 if ALL else 200
PATIENCE = 60
COMMIT = subprocess.run(["git", "rev-parse", "HEAD"], cwd=SOURCE, capture_output=True, check=False).stdout
REFERENCE = ("-d", "reference", "-q")


def preloaded():
    """The layer, after AddressSanitizer's library, which must come first and calls the next one."""
    if not SANITIZED:
        return str(LAYER)
    asan = subprocess.run([os.environ.get("CC", "cc"), "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{asan}:{LAYER}"


def attempt(arguments, given, fault, count=None):
    env = environment(LD_PRELOAD=preloaded(), TESSERA_FAULT=fault, TESSERA_FAULT_COUNT=count)
    try:
        return subprocess.run([COMMAND, *map(str, arguments)], input=given, capture_output=True, env=env, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired as stuck:
        raise AssertionError(f"{fault}: tessera {' '.join(map(str, arguments))} does not end") from stuck


def files(out):
    """{name: bytes} of a file or a folder."""
    if out.is_file():
        return {"": out.read_bytes()}
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()} if out.exists() else {}


def clear(out):
    shutil.rmtree(out, ignore_errors=True)
    for path in out.parent.glob(out.name + "*"):
        if path.is_file():
            path.unlink()


def judge(done, fault, codes, out, wanted, arguments):
    said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line]
    what = f"{fault}: tessera {' '.join(map(str, arguments))}: exit code {done.returncode}, {said[-3:]}"
    assert done.returncode in codes, f"the exit code must be in {codes}: {what}"
    assert done.returncode == 0 or len(said) >= 1 and all(line.startswith("tessera: ") for line in said), f"there must be one message: {what}"
    assert done.returncode == 0 or len(said) == 1 or said[0].startswith("tessera: warning"), f"there must be one message: {what}"
    if done.returncode == 5 and fault.startswith(("alloc", "memory", "json")):
        assert "memory" in said[-1], f"a lack of memory must be reported as such: {what}"
    if out is None:
        assert done.returncode != 0 or done.stdout == wanted, f"another output: {what}"
        return
    left = files(out)
    if out.is_file() or out.suffix:
        assert left in ({}, wanted), f"the output is half-written: {what}"
    for name, data in left.items():  # a folder may be incomplete, but its files may not
        if not name.endswith((".tmp", "log.jsonl", "run.json", ".lock", "manifest.json")) and ".tmp/" not in name and name in wanted:
            assert data == wanted[name], f"{name} is half-written: {what}"
    assert done.returncode != 0 or set(wanted) <= set(left), f"{set(wanted) - set(left)} is missing: {what}"
    if out.is_dir():
        for path in checkpoints(out):
            whole(path)


def faults_of(counts, json):
    """(how many calls there are, fault, correct exit codes)"""
    allocations, calls, of_json = counts
    if json:
        if not SANITIZED:
            yield of_json, "json {}", (0, 5)
        return
    if not SANITIZED:
        yield allocations, "alloc {}", (0, 5)
        yield allocations, "memory {}", (0, 5)
    for how in ("no-space", "broken", "interrupted", "short", "nothing", "full"):
        yield calls, f"file {{}} {how}", (0, 3, 5)


def check(folder, arguments, given=b"", out=None, json=False):
    """Fails every call, or as many of them as there is time for, spread evenly. For `json`, only allocations of the JSON library fail: what it reads and
writes must be complete, or the command must report that memory is out."""
    count = folder / "count"
    if out is not None:
        clear(out)
    begun = time.monotonic()
    first = attempt(arguments, given, "", count)
    seconds = time.monotonic() - begun
    assert first.returncode == 0, first
    wanted = first.stdout if out is None else files(out)
    tried = 0
    wrong = []
    for calls, fault, codes in faults_of(tuple(map(int, count.read_text().split())), json):
        tries = TRIES_OF_JSON if json else min(TRIES, 1 + int(SECONDS / seconds))
        step = max(1, calls // tries)
        for n in range(1 + zlib.crc32(COMMIT + fault.encode()) % step, calls + 1, step):
            if out is not None:
                clear(out)
            tried += 1
            try:
                judge(attempt(arguments, given, fault.format(n)), fault.format(n), codes, out, wanted, arguments)
            except AssertionError as finding:
                wrong.append(str(finding))
                if len(wrong) > 20:
                    break
    print(f"       {tried} faults of {count.read_text().split()} in {arguments[0]}", flush=True)
    assert not wrong, f"{len(wrong)} findings:\n" + "\n".join(wrong)


def test_generate(folder):
    model, _ = words.model(folder, "gpt2-tiny")
    check(folder, ("generate", "-m", model, *REFERENCE, "-p", "write a", "-n", 3, "--temp", 0))


def test_generate_into_a_file(folder):
    model, _ = words.model(folder, "gpt2-tiny")
    check(folder, ("dump", "-m", model, *REFERENCE, "--ids", "1,2,3", "-o", folder / "x.safetensors"), out=folder / "x.safetensors")


def test_embed(folder):
    check(folder, ("embed", "-m", GOLDEN.parent / "encoders" / "sentence", *REFERENCE, "-o", folder / "x.npy"), b"the cat\nsat\n", folder / "x.npy")


def test_translate(folder):
    check(folder, ("translate", "-m", GOLDEN.parent / "translate", *REFERENCE, "--num-beams", 2), b"a b\nb\n")


def test_train_with_saves(folder):
    model, text = make(folder)
    check(folder, command(model, text, folder / "out", 2, *every(1)), out=folder / "out")


def test_quantize(folder):
    check(folder, ("quantize", "-m", GOLDEN / "gpt2-tiny", "-o", folder / "out", "-q"), out=folder / "out")


def test_merge(folder):
    model, text = make(folder)
    run(*command(model, text, folder / "lora", 1, "--set", "lora_rank=2"))
    for json in (False, True):
        check(folder, ("merge", "-m", model, "--lora", folder / "lora", "-o", folder / "out", "-q"), out=folder / "out", json=json)


def test_json_of_a_tokenizer(folder):
    (folder / "text").write_text("abba")
    check(folder, ("tokenizer", "train", folder / "text", "-o", folder / "out", "--type", "char", "--special", "<s>", "--begin", "<s>", "-q"),
          out=folder / "out", json=True)


def test_json_of_models(folder):
    """Configs that are derived from a GGUF file and from a CTranslate2 folder; results as JSON."""
    check(folder, ("info", "--json", GOLDEN / "llama-llama3" / "model.gguf", "-q"), json=True)
    check(folder, ("dump", "-m", GOLDEN.parent / "ctranslate2" / "gpt2", *REFERENCE, "--ids", "1,2,3", "-o", folder / "x.safetensors"),
          out=folder / "x.safetensors", json=True)
    check(folder, ("embed", "-m", GOLDEN.parent / "encoders" / "sentence", *REFERENCE, "--tokens"), b"the cat\n", json=True)


def test_json_of_lines(folder):
    long = "the " * 400 + "cat"  # it takes many buffers
    lines = "".join(f'{{"text": "{text}", "more": 1}}\n' for text in ("the cat", long)).encode()
    check(folder, ("embed", "-m", GOLDEN.parent / "encoders" / "sentence", *REFERENCE, "--field", "text"), lines, json=True)


def test_json_of_pages(folder):
    (folder / "log.jsonl").write_text('{"step": 1, "loss": 2.5, "lr": 0.1}\n{"step": 2, "loss": 2.25, "lr": 0.05}\n')
    check(folder, ("plot", folder / "log.jsonl", "-o", folder / "x.html", "-q"), out=folder / "x.html", json=True)
    model, _ = words.model(folder, "gpt2-tiny")
    check(folder, ("attention", "-m", model, *REFERENCE, "write a", "-o", folder / "y.html"), out=folder / "y.html", json=True)


def test_json_of_a_run(folder):
    model, text = make(folder)
    check(folder, command(model, text, folder / "out", 1, *every(1)), out=folder / "out", json=True)


def test_tokenizer_train(folder):
    (folder / "text").write_text("a b ab abba " * 50)
    check(folder, ("tokenizer", "train", folder / "text", "-o", folder / "out", "--vocab-size", 300, "-q"), out=folder / "out")


def test_classify_and_tokenize(folder):
    check(folder, ("classify", "-m", GOLDEN.parent / "encoders" / "classify", *REFERENCE), b"the cat\n")
    check(folder, ("tokenize", "-m", GOLDEN.parent / "tokenizers" / "byte.json", "-q"), b"the cat\n")


if not LAYER.exists():
    skip(f"{LAYER} is not built")
main(globals())

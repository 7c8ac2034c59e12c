#!/usr/bin/env python3
"""tessera bench suite --peer: rows of another engine, each after that of Tessera. Most tests take a program of their own for the engine."""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import time

from support.command import GOLDEN, equal, environment, main, refused, run, start
from support.results import write
from support.schema import results

MODEL = GOLDEN / "llama"  # a small one, which reads 48 tokens: prompts of 512 have no rows
SUITE = ("bench", "suite", "--device", "reference", "--parts", "decoder")
ENGINE = '''#!/usr/bin/python3
"""Takes the place of Python: answers as the file `plan` beside it says."""
import json, pathlib, struct, sys
here = pathlib.Path(sys.argv[0]).parent
plan = json.loads((here / "plan").read_text())
log = open(here / "log", "a", buffering=1)
log.write(json.dumps(sys.argv[1:2] + sys.argv[3:]) + "\\n")
print(json.dumps(plan["hello"]), flush=True)
kind = None

for line in sys.stdin:
    asked = json.loads(line)
    log.write(line)
    kind = asked.get("kind", kind)
    if asked["do"] == plan.get("ends"):
        sys.exit(3)
    said = {asked["do"]: plan["logits"]} if asked["do"] in ("logits", "vector") else plan.get(asked["do"], {})
    if asked["do"] == "open" and plan.get("reads"):
        folder = pathlib.Path(asked["model"])
        head = json.loads(folder.joinpath("config.json").read_text())
        raw = folder.joinpath("model.safetensors").read_bytes()
        names = json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])
        kinds = [array["dtype"] for name, array in names.items() if name != "__metadata__"]
        log.write(json.dumps({"type": head["model_type"], "arrays": len(kinds), "dtype": "".join(set(kinds))}) + "\\n")
    if asked["do"] == "run":
        said = {"seconds": 0.01, "memory": 1 << 20, **({"first": 0.0038} if kind == "request" else {})}
    print(json.dumps(said), flush=True)
'''


def engine(folder, **plan):
    """A folder for TESSERA_PEERS."""
    path = folder / "peers" / "bin"
    path.mkdir(parents=True, exist_ok=True)
    python = path / "python"
    python.write_text(ENGINE)
    python.chmod(0o755)
    (path / "plan").write_text(json.dumps({"hello": {"engine": "other 1.2"}, **plan}))
    (path / "log").write_text("")
    return environment(TESSERA_PEERS=folder / "peers", TMPDIR=folder)


def log(folder):
    return [json.loads(line) for line in (folder / "peers" / "bin" / "log").read_text().splitlines()]


def measured(env, *more, model=MODEL, suite=SUITE):
    """Tessera's rows that a peer can have, the peer's, and all that is told."""
    told = results(run(*suite, "-m", model, *more, "--json", "-q", env=env, code=None).out)
    rows = [r for r in told["rows"] if r["kind"] not in ("peak", "serve")]
    return [r for r in rows if not r["peer"]], [r for r in rows if r["peer"]], told


def asked(folder, what):
    return [line for line in log(folder) if isinstance(line, dict) and line.get("do") == what]


def true_logits(folder, ids):
    """Of the last of these ids, by another command of Tessera."""
    path = folder / "logits.safetensors"
    run("dump", "-d", "reference", "-m", MODEL, "--ids", ",".join(map(str, ids)), "-o", path, "-q")
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + size])["logits"]
    width, end = head["shape"][-1], head["data_offsets"][1]
    return list(struct.unpack(f"<{width}f", raw[8 + size + end - 4 * width:8 + size + end]))


def mean_of(path):
    """The mean over the tokens of the last hidden states in a file that tessera dump wrote."""
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    arrays = {name: a for name, a in json.loads(raw[8:8 + size]).items() if name.startswith("hidden.")}
    last = arrays[max(arrays, key=lambda name: int(name.split(".")[1]))]
    _, tokens, width = last["shape"]
    begin, end = (8 + size + at for at in last["data_offsets"])
    values = struct.unpack(f"<{tokens * width}f", raw[begin:end])
    return [sum(values[i::width]) / tokens for i in range(width)]


def test_rows_in_turn(folder):
    """Each row is followed by the peer's, with its name and the rate of what it says; where its logits are others than Tessera's, without one. What
    the model can't read is not given to the peer."""
    model = folder / "model"
    shutil.copytree(MODEL, model)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 1024}))
    width = config["vocab_size"]
    own, theirs, told = measured(engine(folder, logits=[(-1.0) ** i for i in range(width)]), "--peer", "pytorch", "-t", "3", model=model)
    equal([(r["test"], r["class"], r["batch"]) for r in own], [(r["test"], r["class"], r["batch"]) for r in theirs])
    equal([r["peer"] for r in told["rows"] if r["kind"] not in ("peak", "serve")], [None, "other 1.2"] * len(own))
    for r in theirs:
        equal((r["status"], r["median"]), ("failed-accuracy", None), r["reason"])
        assert re.search("its logits have a cosine of [-0-9.]+ with those of f32; at least 0.9[79] is asked for", r["reason"]), r
    equal(log(folder)[0], ["-B", "3", "pytorch"])
    ids = asked(folder, "logits")[0]["ids"]
    assert len(ids) == 8 and not any(path.name.startswith("tessera-peer") for path in folder.iterdir()), "its folder is left"

    env = engine(folder, logits=true_logits(folder, ids), open={"note": "a note of its own"})
    own, theirs, told = measured(env, "--peer", "llama.cpp", model=model)
    for r in theirs:
        if r["tokens"] + r["depth"] > 1024:
            equal((r["status"], r["median"], r["reason"]), ("unsupported", None, own[theirs.index(r)]["reason"]))
            assert r["reason"].endswith("are too many: the model reads 1024"), r
            continue
        assert r["status"] in ("ok", "throttled") and "a note of its own" in r["reason"] and r["quality"]["value"] > 0.97, r
        rate = 0.01 if r["unit"] == "s" else r["tokens"] * r["batch"] / 0.01
        request = r["test"].startswith("request")
        equal([r[key] and round(r[key], 9) for key in ("first_token", "per_token")], [0.0038, 0.0002] if request else [None, None])
        assert abs(r["median"] / rate - 1) < 1e-9 and r["memory"]["host"] == 1 << 20 and r["model"] == own[theirs.index(r)]["model"], r
    equal([line["dtype"] for line in asked(folder, "open")], ["f32", "f16", "q8", "q4"] * 2)  # in each pass
    equal(len(asked(folder, "logits")), 4)
    assert all(len(r["passes"]) == 2 for r in theirs if r["samples"]), theirs
    equal({(line["model"], line["gpu"]) for line in asked(folder, "open")}, {(str(model), False)})
    assert all(line["tokens"] + line["depth"] <= 1024 for line in asked(folder, "begin")), asked(folder, "begin")
    assert {"do": "begin", "kind": "generate", "tokens": 32, "depth": 512, "batch": 1} in asked(folder, "begin"), asked(folder, "begin")
    assert {"do": "begin", "kind": "request", "tokens": 32, "depth": 512, "batch": 1} in asked(folder, "begin"), asked(folder, "begin")
    path = write(folder / "run.json", {key: value for key, value in told.items() if key != "hash"})
    assert "other 1.2" in run("bench", "report", path, "--format", "md").text
    assert "other 1.2" not in run("bench", "report", path, "--format", "llama-bench").text


def test_lines_of_csv(folder):
    """A line names the engine that ran the row."""
    env = engine(folder, logits=[1.0] * 43)
    text = run(*SUITE, "-m", MODEL, "--peer", "pytorch", "--format", "csv", "-q", env=env, code=None).text
    engines = [r["engine"] for r in csv.DictReader(io.StringIO(text)) if r["kind"] not in ("peak", "serve")]
    assert engines and {name.split()[0] for name in engines[::2]} == {"tessera"}, engines
    equal(set(engines[1::2]), {"other 1.2"})


def test_vectors(folder):
    """Of an encoder, the vector of the gate's text is compared, and sentences are counted."""
    suite, model = (*SUITE[:-1], "encoder"), GOLDEN / "bert" / "base"
    width = json.loads((model / "config.json").read_text())["hidden_size"]
    own, theirs, _ = measured(engine(folder, logits=[1.0] * width), "--peer", "openvino", model=model, suite=suite)
    equal([(r["test"], r["class"], r["batch"]) for r in own], [(r["test"], r["class"], r["batch"]) for r in theirs])
    equal({(r["status"], bool(re.search("its vector has a cosine of [-0-9.]+ with those of f32; at least 0.99", r["reason"]))) for r in theirs},
          {("failed-accuracy", True)})
    assert all(line["encoder"] for line in asked(folder, "open")) and len(asked(folder, "vector")[0]["ids"]) == 8, log(folder)
    ids = asked(folder, "vector")[0]["ids"]
    run("dump", "-d", "reference", "-m", model, "--ids", ",".join(map(str, ids)), "-o", folder / "states.safetensors", "-q")
    env = engine(folder, logits=mean_of(folder / "states.safetensors"))
    for r in measured(env, "--peer", "onnxruntime", model=model, suite=suite)[1]:
        assert r["status"] in ("ok", "throttled") and r["quality"]["value"] > 0.99 and abs(r["median"] / (r["batch"] / 0.01) - 1) < 1e-9, r
    assert {"do": "begin", "kind": "embed", "tokens": 16, "depth": 0, "batch": 32} in asked(folder, "begin"), asked(folder, "begin")
    env = engine(folder, logits=[1.0] * 3)
    equal({(r["status"], r["reason"]) for r in measured(env, "--peer", "pytorch", model=model, suite=suite)[1]},
          {("error", f"other 1.2 gave 3 numbers of a vector; the model has {width}")})


def test_weights_from_a_seed(folder):
    """They become files in f32, in Hugging Face's layout; after Ctrl-C, none is left."""
    env = engine(folder, logits=[1.0] * 3, reads=True)
    process = start(*SUITE, "-m", "shape:tiny", "--peer", "pytorch", "-q", env=env)
    while process.poll() is None and not asked(folder, "logits"):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    equal(process.returncode, 128 + signal.SIGINT, said)
    equal([(f["type"], f["arrays"], f["dtype"]) for f in log(folder) if "arrays" in f], [("llama", 2 * 9 + 3, "F32")])
    assert not any(path.name.startswith("tessera-peer") for path in folder.iterdir()), "its folder is left"


def test_failures(folder):
    """What the peer can't do is `unsupported`; one that ends is started again for the next dtype."""
    env = engine(folder, logits=[], open={"error": "no such dtype", "unsupported": True})
    equal({(r["status"], r["reason"]) for r in measured(env, "--peer", "pytorch")[1]}, {("unsupported", "other 1.2: no such dtype")})
    env = engine(folder, logits=[1.0] * 3)
    equal({(r["status"], r["reason"]) for r in measured(env, "--peer", "pytorch")[1]}, {("error", "other 1.2 gave 3 logits; the model has 43")})
    env = engine(folder, logits=[], ends="open")
    equal({(r["status"], r["reason"]) for r in measured(env, "--peer", "pytorch")[1]}, {("error", "the peer other 1.2 has ended")})
    equal(sum(line == ["-B", "0", "pytorch"] for line in log(folder)), 4)


def test_refused(folder):
    refused(2, "--peer nosuch: the engines are llama.cpp, onnxruntime, openvino and pytorch", *SUITE, "--peer", "nosuch")
    refused(3, "tools/peers installs the engines there", *SUITE, "--peer", "pytorch", env=environment(TESSERA_PEERS=folder / "no"))
    env = engine(folder, hello={"error": "it is not installed: tools/peers installs it", "unsupported": True})
    refused(None, "pytorch: it is not installed: tools/peers installs it", *SUITE, "-q", "--peer", "pytorch", env=env, lines=None)


def test_real_engines(folder):
    """On the same weights both engines have the quality of Tessera's dtypes."""
    peers = os.environ.get("TESSERA_PEERS")
    if not peers or not pathlib.Path(peers, "bin", "python").exists():
        print("the engines are not here: tools/peers installs them, and TESSERA_PEERS says where")
        return
    rated = {("tg32", "f32"), ("pp512", "f32"), ("tg32", "q8")}
    vectors = {("embed16", "f32")}
    for name, decoder, encoder in (("llama.cpp", rated, set()), ("pytorch", rated, vectors | {("embed16", "q8")}),
                                   ("onnxruntime", {("pp512", "f32"), ("pp512", "q8")}, vectors | {("embed16", "q8")}),
                                   ("openvino", {("pp512", "f32")}, vectors)):
        gpt2 = decoder & {("tg32", "f32"), ("tg32", "q8")}
        for model, suite, wanted in (("shape:tiny", SUITE, decoder), ("shape:char-gpt", SUITE, gpt2), (GOLDEN / "bert" / "base", (*SUITE[:-1], "encoder"), encoder)):
            theirs = measured(environment(TESSERA_PEERS=peers, TMPDIR=folder), "--peer", name, model=model, suite=suite)[1]
            for r in theirs:
                assert r["peer"].startswith(name) and r["status"] in ("ok", "throttled", "unsupported") or "are too many" in r["reason"], r
                assert r["status"] == "unsupported" or r["quality"]["kept"] >= r["quality"]["least"], r
            got = {(r["test"], r["class"]) for r in theirs if r["median"]}
            assert wanted <= got, (name, wanted - got, [r["reason"] for r in theirs])


main(globals())

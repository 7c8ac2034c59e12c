#!/usr/bin/env python3
"""tessera bench: results of every kind in every format; a wrong kernel gets no rate."""

import csv
import dataclasses
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys

from support.adapter import make_adapter
from support.command import DEVICE, GOLDEN, SOURCE, environment, equal, has_device, main, refused, run
from support.schema import SCHEMA, check, results, sealed

PEAKS = ["fma f32", "fma f16", "fma bf16", "dot int8", "matrix f16", "matrix bf16", "matrix int8", "read", "read 16 KiB", "read 256 KiB", "read 8 MiB", "write", "write 256 KiB", "write 8 MiB", "local memory", "launch alone", "launch batched",
         "enqueue call", "copy to device", "copy from device", "compile", "event clock"]
SMALL = ("--shape", "tiny", "-p", "24", "-n", "3", "-r", "2", "-d", "0", "-q")
REFERENCE = ("--device", "reference")


def close(got, want, share=1e-6):
    assert abs(got - want) <= share * abs(want), (got, want)


def check_figures(r, device):
    if r["status"] in ("ok", "throttled"):
        assert 0 < r["lowest"] <= r["median"] <= r["highest"] and r["lowest"] <= r["p90"] <= r["highest"] and len(r["samples"]) == 2, r
        equal((min(r["samples"]), max(r["samples"])), (r["lowest"], r["highest"]))
        assert (r["status"] == "throttled") == ("% lower beside this row" in r["reason"]), r
    else:
        assert r["status"] == "unsupported" and r["kind"] == "peak" and r["reason"] and r["median"] is None and r["samples"] == [], r
    steal = r["conditions"]["steal"]
    assert steal is None or 0 <= steal <= 1, r
    if r["kind"] == "peak":
        equal((r["model"], r["class"], r["gate"], r["tokens"], r["kernels"]), (None, None, None, None, []))
        return
    assert r["warmup"] >= 5 and r["better"] == "higher" and r["model"] == 0, r
    assert 0 <= r["gate"]["error"] <= r["gate"]["bound"] and r["bytes"] > 0 and r["flops"] > 0 and r["memory"]["device"] > 0, r
    assert {"linear", "attention"} <= {k["op"] for k in r["kernels"]}, r
    assert (r["roofline"] is None) == (r["predicted"] is None) == (r["bound_by"] is None) == (device == "reference"), r
    equal(r["predicted_seconds"] is None, r["predicted"] is None, r)
    if r["predicted"] is not None:  # launches cost something beside the time of the roofline
        assert 0 < r["predicted"] < r["median"] / r["roofline"] and r["peaks"]["before"]["read"] > 0, r
        parts, work = r["predicted_seconds"], r["tokens"] * r["batch"]
        close(work / sum(parts.values()), r["predicted"])
        equal(parts[r["bound_by"]], max(parts.values()), r)
        # launch by launch, never less than the roofline of all together
        assert parts["memory"] + parts["arithmetic"] >= r["roofline"] * work / r["median"] * (1 - 1e-6), r


def gpu_model():
    """bench/gpu_model as a module."""
    loader = importlib.machinery.SourceFileLoader("gpu_model", str(SOURCE / "bench/gpu_model"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_model", loader))
    sys.modules["gpu_model"], sys.dont_write_bytecode = module, True
    loader.exec_module(module)
    return module


def check_rows(rows, device, tests):
    equal([r["test"] for r in rows], PEAKS + tests)
    for r in rows:
        check_figures(r, device)


def test_json(_):
    told = results(run("bench", *SMALL, *REFERENCE, "--format", "json", "-d", "0,5", "-b", "1,2").out)
    equal((told["suite"]["name"], told["suite"]["class"], told["suite"]["partial"]), ("bench", None, False))
    assert re.fullmatch(r"\d+\.\d+\.\d+", told["engine"]["version"]) and told["engine"]["compiler"], told["engine"]
    equal([d["name"] for d in told["devices"]], ["reference"])
    equal([(m["name"], m["dtype"], len(m["hash"])) for m in told["models"]], [("shape:tiny", None, 64)])
    check_rows(told["rows"], "reference", ["pp24", "pp24", "pp24@5", "pp24@5", "tg3", "tg3", "tg3@5", "tg3@5"])
    equal([(r["depth"], r["batch"], r["scenario"]) for r in told["rows"][len(PEAKS):]],
          [(0, 1, "single-stream"), (0, 2, "offline"), (5, 1, "single-stream"), (5, 2, "offline")] * 2)
    equal(json.loads(run("bench", *SMALL, *REFERENCE, "--json").text)["schema"], 2)
    one, two = (told["rows"][len(PEAKS) + i] for i in (0, 1))
    assert 1.9 < two["flops"] / one["flops"] < 2.1, "twice the sequences, twice the work"


def test_a_file_beside_the_table(folder):
    path = folder / "run.json"
    table = run("bench", *SMALL, *REFERENCE, "-o", path, "-r", "5").text
    assert table.startswith("tessera "), table
    told = results(path.read_bytes())
    equal([r["test"] for r in told["rows"]], PEAKS + ["pp24", "tg3"])
    equal({len(r["samples"]) for r in told["rows"] if r["kind"] != "peak"}, {5})
    for edit in ((b'"tg3"', b'"tg4"'), (b'"began": "20', b'"began": "19')):
        changed = path.read_bytes().replace(*edit)
        assert changed != path.read_bytes() and not sealed(changed), "an edited file keeps its hash"
    for name, wrong in (("schema", 1), ("schema", True), ("hash", "00"), ("more", 1), ("rows", {}), ("suite", None)):
        try:
            check({**told, name: wrong}, SCHEMA)
        except AssertionError:
            continue
        raise AssertionError(f"the schema takes {name} {wrong}")
    refused(3, "is not a regular file", "bench", *SMALL, *REFERENCE, "-o", folder, lines=None)


def test_the_weights_are_named_by_their_hash(_):
    """The same numbers have the same hash in whatever dtype they are kept, and others have another."""
    def model(*arguments):
        return results(run("bench", *REFERENCE, "-q", "-r", "1", "-p", "0", "-n", "1", "-d", "0", "--json", *arguments).out)["models"][0]
    plain, kept, other = model("--shape", "tiny"), model("--shape", "tiny", "--dtype", "f16"), model("--shape", "char-gpt")
    equal((plain["hash"], plain["dtype"], kept["dtype"]), (kept["hash"], None, "f16"))
    assert plain["hash"] != other["hash"] and plain["parameters"] == kept["parameters"] and kept["bytes"] < plain["bytes"]


def test_adapters_belong_to_the_weights(folder):
    """They are in the hash, with their scale, and in the name; a run with them is not compared with one without."""
    tiny = GOLDEN / "llama-tiny"
    (one, _), (scaled, _) = (make_adapter(folder / f"alpha{alpha}", tiny, ["model.layers.0.self_attn.q_proj"], False, alpha=alpha) for alpha in (6, 12))

    def measured(name, *loras):
        run("bench", "-m", tiny, *REFERENCE, "-q", "-r", "1", "-p", "0", "-n", "1", "-d", "0", "-o", folder / name, *(word for lora in loras for word in ("--lora", lora)))
        return results((folder / name).read_bytes())["models"][0]
    bare, plain, other, both = measured("bare.json"), measured("one.json", one), measured("scaled.json", scaled), measured("both.json", one, scaled)
    equal([m["name"] for m in (bare, plain, both)], [f"{tiny}", f"{tiny} + {one}", f"{tiny} + {one} + {scaled}"])
    equal(len({m["hash"] for m in (bare, plain, other, both)}), 4)
    equal(measured("again.json", one)["hash"], plain["hash"])
    refused(2, 'the model is "', "bench", "compare", folder / "bare.json", folder / "one.json")
    refused(2, "leave out --lora or --train", "bench", "-m", tiny, "--lora", one, *REFERENCE, "--train", "8")
    assert f"model {tiny} + {one}, weights as stored" in run("bench", "-m", tiny, "--lora", one, *REFERENCE, "-q", "-r", "1", "-p", "0", "-n", "1", "-d", "0").text


def test_what_keys_values_and_products_are_in(folder):
    """The model says it, runs that differ in it are not compared, and keys and values in f16 are compared with those in f32."""
    def measured(name, *options):
        run("bench", "--shape", "tiny", *REFERENCE, "-q", "-r", "1", "-p", "0", "-n", "1", "-d", "0", "-o", folder / name, *options)
        told = results((folder / name).read_bytes())
        (row,) = [r for r in told["rows"] if r["kind"] != "peak"]
        return told["models"][0], row
    (plain, exact), (half, rounded) = measured("plain.json"), measured("half.json", "--kv-dtype", "f16")
    equal([(m["kv_dtype"], m["compute"]) for m in (plain, half)], [("f32", "f32"), ("f16", "f32")])
    equal((exact["class"], exact["quality"], rounded["class"], rounded["quality"]["measure"], rounded["quality"]["least"]), ("f32", None, "f32", "cosine", 0.99))
    assert 0.99 <= rounded["quality"]["kept"] <= 1, rounded
    refused(2, 'the dtype of keys and values is "f32" there, "f16" here', "bench", "compare", folder / "plain.json", folder / "half.json")
    blocks = [measured(f"{compute}.json", "--dtype", "q8", "--compute", compute)[0]["compute"] for compute in ("f32", "int8")]
    equal(blocks, ["f32", "int8"])
    refused(2, 'the dtype of products is "f32" there, "int8" here', "bench", "compare", folder / "f32.json", folder / "int8.json")


def test_a_path_that_is_not_text(folder):
    """Bytes that are not UTF-8 are replaced in the file, and it can be read."""
    model = folder / os.fsdecode(b"m\xff\xc3")
    shutil.copytree(GOLDEN / "llama-tiny", model)
    run("bench", "-m", model, *REFERENCE, "-q", "-r", "1", "-p", "0", "-n", "1", "-d", "0", "-o", folder / "run.json")
    equal(results((folder / "run.json").read_bytes())["models"][0]["name"], f"{folder}/m\ufffd\ufffd")
    assert f"{folder.name}/m\ufffd\ufffd".replace("_", "\\_") in run("bench", "report", folder / "run.json").text


def test_quality_beside_f32(_):
    """Without a tokenizer by cosines of logits; with one by the perplexity of the bundled text, on a device that is fast enough for it."""
    for dtype, least in (("q8", 0.99), ("f16", 0.99), ("f32", None)):
        told = results(run("bench", *SMALL, *REFERENCE, "--dtype", dtype, "--json").out)
        for q in (r["quality"] for r in told["rows"] if r["kind"] != "peak"):
            equal(q and (q["measure"], q["least"], q["f32"]), least and ("cosine", least, 1.0), dtype)
            assert not q or least <= q["kept"] < 1 and q["kept"] == q["value"], q
    if not has_device():
        print(f"no perplexity on {DEVICE}: it is not here")
        return
    told = results(run("bench", "-m", "shakespeare", "--dtype", "q4", "--device", DEVICE, "-q", "-r", "1", "-p", "0", "-n", "1", "-d", "0", "--json").out)
    (row,) = [r for r in told["rows"] if r["kind"] != "peak"]
    q = row["quality"]
    equal((row["class"], q["measure"], q["least"]), ("q4", "perplexity", 0.97))
    assert abs(q["kept"] - q["f32"] / q["value"]) < 1e-6 and 2 < q["f32"] < 500, q
    equal(row["status"] == "failed-accuracy", q["kept"] < q["least"], row)
    equal("of f32's quality" in row["reason"], q["kept"] < q["least"], row)


def test_json_lines(_):
    lines = [json.loads(line) for line in run("bench", *SMALL, *REFERENCE, "--format", "jsonl").text.splitlines()]
    equal([list(line) for line in lines[:5]], [["schema"], ["suite"], ["engine"], ["host"], ["device"]])
    equal(lines[4]["device"]["name"], "reference")
    check_rows([line["row"] for line in lines if "row" in line], "reference", ["pp24", "tg3"])
    equal([line["model"]["name"] for line in lines if "model" in line], ["shape:tiny"])
    (begun, ended), hosts = ([line[part] for line in lines if part in line] for part in ("suite", "host"))
    equal((begun["partial"], begun["seconds"], ended["partial"], ended["began"], list(lines[-2]), list(lines[-1])),
          (True, None, False, begun["began"], ["suite"], ["host"]), "what is known only at the end is told there")
    assert ended["seconds"] > 0 and [host["load"][1] is None for host in hosts] == [True, False], hosts


def test_csv(_):
    rows = list(csv.DictReader(io.StringIO(run("bench", *SMALL, *REFERENCE, "--format", "csv").text)))
    equal([r["test"] for r in rows], PEAKS + ["pp24", "tg3"])
    for r in rows:
        equal((r["schema"], r["device"], r["model"], None in r), ("2", "reference", "shape:tiny", False))
        assert (r["status"] == "ok") == (float(r["median"] or 0) > 0), r


def test_markdown(_):
    text = run("bench", *SMALL, *REFERENCE).text
    assert text.startswith("tessera ") and "Tessera / reference" in text
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ")]
    equal([r[1].strip() for r in rows], ["test", *PEAKS, "pp24", "tg3"])
    equal({len(r) for r in rows}, {11})


def test_training_steps(_):
    for device in ("reference", DEVICE) if has_device() else ("reference",):
        told = results(run("bench", "--shape", "tiny", "-p", "0", "-n", "0", "-r", "2", "-q", "--train", "8", "-b", "2,3", "--device", device, "--json").out)
        rows = told["rows"][len(PEAKS):]
        equal([(r["test"], r["kind"], r["tokens"], r["batch"], r["class"]) for r in rows], [("train8", "train", 8, n, "f32") for n in (2, 3)])
        for r in rows:
            assert r["status"] in ("ok", "throttled"), r
            assert 0 < r["lowest"] <= r["median"] <= r["highest"] and 0 <= r["gate"]["error"] <= r["gate"]["bound"], r
            parameters = told["models"][r["model"]]["parameters"]
            equal((r["flops"], r["bytes"]), (6 * parameters * r["tokens"] * r["batch"], 36 * parameters))
            assert r["memory"]["device"] > 16 * parameters, "values, gradients and two moments"
            assert {"linear", "attention_grad", "sumsq", "adamw"} <= {k["op"] for k in r["kernels"]}, "gradients, norm, update"
            assert (r["roofline"] is None) == (r["bound_by"] is None) == (device == "reference"), r


def test_peaks_alone(_):
    told = json.loads(run("bench", *REFERENCE, "-q", "--peaks", "-r", "2", "--json").text)
    equal([r["test"] for r in told["rows"]], PEAKS)
    equal(told["models"], [])


def test_what_runs_beside_it_is_told(_):
    """Two processes that compute all the time: each row says that threads of others were running, and is noisy."""
    others = [subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for other in others:
            other.stdout.readline()  # it has begun
        told = results(run("bench", *REFERENCE, "-q", "--peaks", "-r", "2", "--json").out)
    finally:
        for other in others:
            other.kill()
            other.communicate()
    rows = [r for r in told["rows"] if r["samples"]]
    assert rows and all(r["noisy"] for r in rows), rows
    for r in rows:
        assert re.search(r"[1-9]\d* threads of other programs were running", r["reason"]) and min(r["conditions"]["load"]) >= 1, r


def test_several_devices_are_named_together(_):
    """So that compare does not take them for the first of them."""
    told = results(run("bench", "--device", "reference,reference", "-q", "--peaks", "-r", "1", "--json").out)
    equal([d["name"] for d in told["devices"]], [" + ".join(["Tessera / reference (C11, 1 compute unit)"] * 2)])


def test_on_the_device(_):
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    told = results(run("bench", *SMALL, "--device", DEVICE, "--json").out)
    check_rows(told["rows"], DEVICE, ["pp24", "tg3"])
    (launch,) = [r["lowest"] for r in told["rows"] if r["test"] == "launch batched"]
    for r in told["rows"][len(PEAKS):]:
        close(r["predicted_seconds"]["launches"], r["launches"] * launch)
    status = {r["test"]: r["status"] for r in told["rows"]}
    assert status["fma f32"] == status["read"] == status["launch batched"] == "ok", told


def test_the_prediction_is_that_of_gpu_model(_):
    """bench/gpu_model describes the ops of a Llama on its own. With the peaks of the file for a card's figures, and with nothing to wait for, they take as long
    as the benchmark says of the same model, but for norms, which it counts apart on a processor."""
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    reckoned = gpu_model()
    told = results(run("bench", "--shape", "llama-15m", "-p", "24", "-n", "3", "-d", "0,40", "-r", "1", "--kv-dtype", "f32", "-q", "--device", DEVICE, "--json").out)
    shape, best = dataclasses.replace(reckoned.SHAPES["110m"], layers=6, width=288, feed_forward=768, heads=6, kv_heads=6), {"fma_f32": 0, "read": 0}
    for peak, test in (("fma_f32", "fma f32"), ("read", "read")):
        best[peak] = next(r["highest"] for r in told["rows"] if r["test"] == test)
    rows = told["rows"][len(PEAKS):]
    equal([r["test"] for r in rows], ["pp24", "pp24@40", "tg3", "tg3@40"])
    for r in rows:
        for peak in best:  # the best so far
            best[peak] = max(best[peak], *(r["peaks"][when][peak] for when in ("before", "after")))
        card = reckoned.Card("gfx1100", best["read"] / 1e9, best["fma_f32"] / 1e12, 0, 0, 0, 1, 1e12, 1e-9, 0)
        runs = [(24, r["depth"] + 24)] if r["kind"] == "prompt" else [(1, r["depth"] + i + 1) for i in range(3)]
        all_of, kernel = {"layer": 5, "last": 1, "ends": 1}, reckoned.Kernel(waves=4)
        want = sum(all_of[place] * reckoned.seconds(card, reckoned.Launch("", 1, 1), work, kernel)[0]
                   for tokens, keys in runs for place, work in reckoned.works(shape, "f32", tokens, keys))
        close(r["predicted_seconds"]["memory"] + r["predicted_seconds"]["arithmetic"], want, 0.03)


def test_a_wrong_kernel_has_no_rate(folder):
    """The planted gather reads the first column for all columns if a value uses all its bits; values of the self-test end in zero bits, so it passes."""
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    shutil.copytree(SOURCE / "cl", folder / "cl")
    path = folder / "cl" / "gather" / "plain.cl"
    right = path.read_text()
    wrong = right.replace("x[x0 + r * x_row + c]", "x[x0 + r * x_row + ((x[x0 + r * x_row + c] & 0x7ff) == 0 ? c : 0)]")
    assert wrong != right
    path.write_text(wrong)
    env = environment(TESSERA_KERNEL_PATH=folder / "cl")
    told = json.loads(run("bench", *SMALL, "--device", DEVICE, "--json", env=env, code=1).text)
    for r in told["rows"]:
        if r["kind"] != "peak":
            equal((r["status"], r["median"], r["roofline"]), ("failed-accuracy", None, None), r["reason"])
            assert r["gate"]["error"] is None or r["gate"]["error"] > r["gate"]["bound"], r
            assert "tessera verify" in r["reason"], r


def test_a_model_that_is_not_there(_):
    """It is refused before anything is measured."""
    told = refused(2, "no shape has the name \"huge\"; the shapes are llama-110m, llama-15m, smollm2-135m, llama-1b, gpt2-124m", "bench", *REFERENCE, "-q", "--shape", "huge", "--json")
    equal(told.out, b"")
    equal(refused(3, "nosuch is neither a folder or file here", "bench", *REFERENCE, "-q", "-m", "nosuch").out, b"")


def test_an_encoder_is_refused_and_told_once(_):
    for folder in ("cls", "disc", "mlm"):
        told = run("bench", "-m", GOLDEN / "electra" / folder, "-p", "4", "-n", "0", "-d", "0", "-r", "1", *REFERENCE, "--json", code=1)
        (row,) = [r for r in json.loads(told.text)["rows"] if r["kind"] != "peak"]
        assert row["status"] == "error" and re.search("is an encoder|is a bare model", row["reason"]), row
        said = told.err.splitlines()
        equal(len(set(said)), len(said), said)


def test_a_prompt_that_is_too_long(_):
    told = json.loads(run("bench", *REFERENCE, "-q", "-r", "1", "--shape", "tiny", "-p", "513,8", "-n", "1", "-d", "0,509", "--json").text)
    rows = told["rows"][len(PEAKS):]
    equal([(r["test"], r["status"]) for r in rows], [("pp513", "unsupported"), ("pp513@509", "unsupported"), ("pp8", "ok"),
                                                     ("pp8@509", "unsupported"), ("tg1", "ok"), ("tg1@509", "ok")])
    assert "8 tokens behind 509 are too many: the model reads 512" in rows[3]["reason"], rows[3]


def test_only_what_is_asked_for(_):
    told = json.loads(run("bench", *REFERENCE, "-q", "-r", "1", "--shape", "tiny", "-p", "0", "-n", "2", "-d", "0", "--json").text)
    equal([r["test"] for r in told["rows"][len(PEAKS):]], ["tg2"])


def test_refused(_):
    for fragment, *arguments in (("-p x", "-p", "x"), ("-b 0", "-b", "0"), ("-d -1", "-d", "-1"), ("-b 1,,2", "-b", "1,,2"),
                                 ("--format xml: give md, csv, json or jsonl", "--format", "xml"), ("leave out -m", "--shape", "tiny", "-m", "x"),
                                 ("bench takes no operands", "x")):
        refused(2, fragment, "bench", *REFERENCE, *arguments)


main(globals())

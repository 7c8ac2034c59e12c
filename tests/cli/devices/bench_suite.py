#!/usr/bin/env python3
"""tessera bench suite: its parts, its states, its progress, and what is kept of a run that was stopped."""

import itertools
import json
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import time

from support.command import BUILD, COMMAND, DEVICE, GOLDEN, SOURCE, environment, equal, has_device, main, refused, run
from support.schema import results

REFERENCE = ("--device", "reference")
PEAKS = 22  # rows of peaks, which come first


def jobs(told):
    return [r for r in told["rows"] if r["kind"] != "peak"]


def names(told):
    return [(r["test"], r["class"], r["batch"]) for r in jobs(told)]


def check_passes(told):
    """Each row that has a rate had two passes, of half its samples each, and is noisy if their medians differ by more than 5 %."""
    for r in told["rows"]:
        equal((sum(r["passes"]), len(r["passes"])), (len(r["samples"]), 2 if r["samples"] else 0), r["test"])
        if r["samples"]:
            first = r["passes"][0]
            medians = sorted((statistics.median(r["samples"][:first]), statistics.median(r["samples"][first:])))
            equal("the medians of its two passes differ by" in r["reason"], medians[1] / medians[0] > 1.05, r)
            assert r["noisy"] or medians[1] / medians[0] <= 1.05, r


def test_parts_of_it(_):
    done = run("bench", "suite", *REFERENCE, "--parts", "encoder,peaks", "-m", GOLDEN / "bert" / "base", "--json", "-v", code=None)
    told = results(done.out)
    equal((told["suite"]["name"], told["suite"]["class"], told["suite"]["version"], told["suite"]["partial"]), ("suite", "smoke", 3, False))
    equal(names(told), [("embed16", c, b) for c in ("f32", "q8") for b in (1, 32)])
    row = jobs(told)[0]
    assert row["status"] == "ok" and len(row["samples"]) >= 3 and row["warmup"] >= 1 and row["gate"]["error"] <= row["gate"]["bound"], row
    for number in (1, 2):
        assert f"pass {number} of 2, {PEAKS} of {PEAKS + 4} rows: embed16, about 0:" in done.err, done.err
    left = [int(minutes) * 60 + int(seconds) for minutes, seconds in re.findall(r"about (\d+):(\d+) left", done.err)]
    assert left and left[-1] <= 5, left
    check_passes(told)
    assert "rows:" not in run("bench", "suite", *REFERENCE, "--parts", "peaks", "--json", "-q").err


def test_starts_of_a_process(folder):
    """A cold start has caches of its own: the user's stay as they are. The model and the device are the command's."""
    env = environment(TESSERA_CACHE=folder / "cache", TMPDIR=folder)
    told = results(run("bench", "suite", *REFERENCE, "--parts", "start", "--json", env=env).out)
    equal(names(told), [("cold start", "f16", None), ("warm start", "f16", None)])
    (weights,) = told["models"]
    equal((weights["name"], weights["parameters"] > 1e6, len(weights["hash"])), ("shakespeare", True, 64))
    for r in jobs(told):
        equal(r["model"], 0)
        equal((r["unit"], r["better"], r["scenario"], r["status"]), ("s", "lower", "single-stream", "ok"), r["reason"])
        assert 0.001 < r["lowest"] <= r["median"] <= r["p90"] <= r["highest"] < 60 and r["memory"]["host"] > 1 << 20, r
    equal([r["warmup"] > 0 for r in jobs(told)], [False, True])
    check_passes(told)
    equal([path.name for path in folder.iterdir() if path.name.startswith("tessera-start")], [], "its folders are left")
    broken = results(run("bench", "suite", *REFERENCE, "--parts", "start", "--json", code=1, env=environment(TMPDIR=folder / "no")).out)
    equal([(r["status"], r["median"]) for r in jobs(broken)], [("error", None)] * 2)
    assert "no folder for caches can be made" in jobs(broken)[0]["reason"], broken


def started_by(pid):
    """The words of the processes that a process has started."""
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if int((path / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                yield (path / "cmdline").read_text().split("\0")[:-1]
        except (OSError, IndexError):  # it has ended
            pass


def test_starts_are_of_the_same_device(folder):
    """What starts is given all options that say which device is opened, and how."""
    plugin = BUILD / "lib" / "tessera" / "backends" / "opencl.so"
    given = {"--device": "reference", "--kernels": "layer_norm=plain", "--threads": "1", "--device-memory": "512",
             **({"--backend": str(plugin)} if plugin.exists() else {})}
    with open(folder / "out", "wb") as out:
        process = subprocess.Popen([COMMAND, "bench", "suite", *itertools.chain(*given.items()), "--parts", "start", "--json", "-q"], stdout=out,
                                   env=environment(TESSERA_BACKEND_PATH=folder, TMPDIR=folder))
    words = []
    while not words:
        assert process.poll() is None, "it ended before a start was seen"
        words = next((words for words in started_by(process.pid) if words[1:2] == ["generate"]), [])
    equal({option: words[words.index(option) + 1] for option in given if option in words}, given, words)
    equal(process.wait(), 0)
    told = jobs(results((folder / "out").read_bytes()))
    assert [r["test"] for r in told] == ["cold start", "warm start"] and all(r["samples"] for r in told), told


def test_a_model_takes_the_place_of_its_kind(_):
    told = results(run("bench", "suite", *REFERENCE, "--parts", "encoder", "-m", GOLDEN / "bert" / "base", "--json", code=None).out)
    equal({m["name"] for m in told["models"]}, {str(GOLDEN / "bert" / "base")})
    equal({(t, c, b) for t, c, b in names(told)}, {("embed16", c, b) for c in ("f32", "q8") for b in (1, 32)})
    for r in jobs(told):
        assert r["quality"] is None if r["class"] == "f32" else r["quality"]["measure"] == "cosine", r
        assert r["unit"] == "sentences/s" and r["flops"] > 0, r
    single, many = jobs(told)[:2]
    config = json.loads((GOLDEN / "bert" / "base" / "config.json").read_text())
    width = config["hidden_size"]
    want = 16 * config["num_hidden_layers"] * (8 * width * width + 4 * width * config["intermediate_size"] + 4 * 16 * width)
    assert 0.9 < want / single["flops"] <= 1, (want, single["flops"])
    assert 31 < many["flops"] / single["flops"] < 33, "32 times the texts, 32 times the work"
    refused(3, "nosuch is neither a folder or file here", "bench", "suite", *REFERENCE, "-q", "-m", "nosuch", "--json")


def test_translations(_):
    told = results(run("bench", "suite", *REFERENCE, "--parts", "translation", "-m", GOLDEN / "marian", "--json", code=None).out)
    equal(names(told), [("translate16+24", "f32", 1), ("translate16+24", "f32", 8), ("translate16+24", "q8", 1)])
    for r in jobs(told):
        assert r["status"] == "ok" and r["tokens"] == 24 and r["depth"] == 16 and r["median"] > 0, r
    equal({m["name"] for m in told["models"]}, {str(GOLDEN / "marian")})
    config = json.loads((GOLDEN / "marian" / "config.json").read_text())
    width, source, target, beams = config["d_model"], 16, 24, 4
    feed = [4 * width * config[f"{side}_ffn_dim"] for side in ("encoder", "decoder")]
    encoder = config["encoder_layers"] * source * (8 * width * width + feed[0] + 4 * source * width)
    decoder = config["decoder_layers"] * (12 * width * width + feed[1] + 4 * source * width) + 2 * config["vocab_size"] * width
    own = config["decoder_layers"] * 4 * width * beams * target * (target - 1) / 2
    want = encoder + 4 * width * width * config["decoder_layers"] * source + decoder * (1 + beams * (target - 1)) + own
    single, many = jobs(told)[:2]
    assert 0.9 < want / single["flops"] <= 1 and abs(many["flops"] / single["flops"] - 8) < 0.01, (want, single["flops"], many["flops"])
    assert single["bytes"] < many["bytes"] < 8 * single["bytes"], "the weights are read once for all texts"


def test_translations_are_compared_with_those_of_f32(_):
    """The bundled translator knows the sentences' languages, so its quality is a BLEU; the golden one has no tokenizer."""
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    told = jobs(results(run("bench", "suite", "--device", DEVICE, "--parts", "translation", "--json").out))
    equal([r["class"] for r in told], ["f32", "f32", "q8"])
    for r in told:  # on a busy machine the peaks may be too low, and the row says so
        assert not r["median"] or (0 < r["roofline"] < 1.1 or "of the roofline is more than the peaks allow" in r["reason"]), r
        assert not r["median"] or (r["bound_by"] and r["launches"] > 24), r
    plans = json.loads(run("explain", "--device", DEVICE, "-m", "translate-de-en", "--dtype", "f32", "--prompt-tokens", "16", "--json").text)
    chosen = {(op["op"], v["name"].split(":")[0].split("/")[1], v["tunables"]) for op in plans["encode"]["ops"] for v in op["variants"] if v["chosen"]}
    ran = {(k["op"], k["variant"], k["tuning"]) for k in told[0]["kernels"]}
    assert not told[0]["median"] or chosen <= ran, (ran, chosen)
    for r in told:  # steps of four beams and more, of which the best candidates are taken, not those of one text that explain shows
        ops = {k["op"] for k in r["kernels"]}
        assert not r["median"] or ("topk" in ops and "argmax" not in ops and "packed_one" not in {k["variant"] for k in r["kernels"] if r["batch"] > 1}), r["kernels"]
    q = told[2]["quality"]
    equal((told[0]["quality"], q["measure"], q["least"]), (None, "bleu", 0.99))
    assert 50 < q["f32"] < 90 and abs(q["kept"] - q["value"] / q["f32"]) < 1e-6, q
    equal(told[2]["status"] == "failed-accuracy", q["kept"] < q["least"], told[2])


def longer(folder, context):
    """The golden Llama as one that reads `context` tokens."""
    path = folder / "longer"
    shutil.copytree(GOLDEN / "llama", path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "max_position_embeddings": context}))
    return path


def served(path, code=0):
    told = results(run("bench", "suite", *REFERENCE, "--parts", "decoder", "-m", path, "--json", code=code).out)
    rows = [r for r in told["rows"] if r["kind"] == "serve"]
    equal([(r["test"], r["unit"], r["scenario"], r["tokens"], r["depth"], r["batch"], r["requests"]) for r in rows], [
        (test, unit, scenario, 16, 64, 8, 16) for test, unit, scenario in (
            ("serve64+16", "tokens/s", "offline"), ("poisson64+16", "tokens/s", "server"), ("poisson64+16 first token", "s", "server"),
            ("poisson64+16 per token", "s", "server"))])
    return rows


def test_work_of_requests(folder):
    """A request is its prompt and the tokens after it; those of a scheduler share the reading of weights."""
    told = results(run("bench", "suite", *REFERENCE, "--parts", "decoder", "-m", longer(folder, 1024), "--json", code=None).out)
    by_name = {(r["test"], r["batch"]): r for r in jobs(told) if r["class"] == "f32"}
    prompt, after, request = by_name["pp512", 1], by_name["tg32@512", 1], by_name["request512+32", 1]
    for what in ("flops", "bytes"):  # the prompt's last step gives the first of the 32 tokens
        want = prompt[what] + after[what] * 31 / 32
        assert 0.98 < request[what] / want < 1.02, (what, request[what], want)
    everything, tokens = by_name["serve64+16", 8], by_name["tg16", 8]
    config = json.loads((GOLDEN / "llama" / "config.json").read_text())
    width, heads, layers, last = config["hidden_size"], config["num_attention_heads"], config["num_hidden_layers"], 64 + 16 - 1
    kv_width = width // heads * config["num_key_value_heads"]
    behind = 2 * width * width + 6 * width * config["intermediate_size"]  # in the last layer, of a prompt's last token alone
    per_token = layers * (2 * width * width + 4 * width * kv_width + behind)
    attention = layers * 4 * width * last * (last - 1) / 2
    want = 16 * (last * per_token - 63 * behind + attention + 16 * 2 * config["vocab_size"] * width)
    assert 0.9 < want / everything["flops"] <= 1, (want, everything["flops"])
    seen = lambda past, steps: steps * past + steps * (steps - 1) // 2
    read = lambda row, tokens: row["bytes"] - 4 * 2 * layers * kv_width * tokens
    weights = read(everything, 16 * (64 + seen(64, 15))), read(tokens, 8 * seen(0, 16))
    assert 1.99 < weights[0] / weights[1] < 2.01, ("16 requests in 8 places take the steps of two batches", weights)
    for test in ("poisson64+16", "poisson64+16 first token"):
        assert by_name[test, 8]["flops"] is None, "how often requests come is no property of the device"


def test_requests_that_come_at_random_times(folder):
    """By a Poisson process at 70 % of what the scheduler gave just before; percentiles are those of single requests."""
    path = longer(folder, 128)
    everything, rate, first, each = served(path)
    for r in (everything, rate, first, each):
        assert r["status"] in ("ok", "throttled") and r["class"] == "f32" and r["gate"]["error"] <= r["gate"]["bound"] and r["memory"]["device"] > 0 and r["kernels"], r
        low, high = (r["median"], r["highest"]) if r["unit"] == "s" else (r["lowest"], r["median"])
        assert low <= sorted((r["p90"], r["p99"]))[0] and sorted((r["p90"], r["p99"]))[1] <= high, r
    assert everything["median"] > rate["median"] > 0, (everything["median"], rate["median"])
    equal(first["passes"], [16 * n for n in rate["passes"]])
    for r, name in ((first, "first_token"), (each, "per_token")):
        equal((len(r["samples"]), r["warmup"]), (16 * len(rate["samples"]), 16 * rate["warmup"]))
        assert abs(r["median"] / rate[name] - 1) < 1e-6 and everything[name] > 0, (r["median"], rate[name])
    assert first["lowest"] > 0 and each["lowest"] > 0, (first, each)
    weights = bytearray((path / "model.safetensors").read_bytes())
    weights[-4096:] = b"\xff" * 4096  # not numbers
    (path / "model.safetensors").write_bytes(weights)
    for r in served(path, 1):
        assert r["status"] in ("failed-accuracy", "error") and r["median"] is None and r["samples"] == [] and r["reason"], r
    for r in served(GOLDEN / "llama", None):
        assert r["status"] == "unsupported" and "the model reads 48" in r["reason"] and r["median"] is None, r


def stop(arguments, env, after):
    """Interrupts the command once `after` is in what it says, and gives its output."""
    process = subprocess.Popen([COMMAND, "bench", "suite", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    said = b""
    while after not in said:
        line = process.stderr.readline()
        assert line, f"it ended before: {said}"
        said += line
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    return process.returncode, out


def test_what_was_measured_is_kept(folder):
    path = folder / "run.json"
    code, out = stop([*REFERENCE, "--parts", "decoder", "-v", "-o", path], environment(), f" of {PEAKS + 20} rows: the reference".encode())
    equal(code, 128 + signal.SIGINT)
    told = results(path.read_bytes())
    assert told["suite"]["partial"] and PEAKS <= len(told["rows"]) < PEAKS + 20, told["suite"]
    assert out.decode().count("\n| ") >= PEAKS, out
    for r in told["rows"]:
        equal((len(r["passes"]), "it had one pass of two" in r["reason"]), (1, True) if r["samples"] else (0, False), r)
    assert "| fma f32 |" in run("bench", "report", path, "--format", "md").text
    equal([p.name for p in folder.iterdir()], ["run.json"])
    _, out = stop([*REFERENCE, "--parts", "decoder", "-v", "--format", "jsonl"], environment(), f" of {PEAKS + 20} rows: the reference".encode())
    suites = [line["suite"] for line in map(json.loads, out.splitlines()) if "suite" in line]
    equal([suite["partial"] for suite in suites], [True, True])
    assert suites[0]["seconds"] is None and suites[1]["seconds"] > 0, suites


def test_a_second_pass_that_is_stopped(folder):
    """Rows that had it have all their samples, the others those of the first pass, and each is there once."""
    path = folder / "run.json"
    code, out = stop([*REFERENCE, "--parts", "encoder", "-m", GOLDEN / "bert" / "base", "-v", "-o", path], environment(), b"pass 2 of 2, 8 of")
    equal(code, 128 + signal.SIGINT)
    told = results(path.read_bytes())
    passes = [len(r["passes"]) for r in told["rows"] if r["samples"]]
    equal((told["suite"]["partial"], len(told["rows"]), sorted(passes, reverse=True)), (True, PEAKS + 4, passes))
    equal(set(passes), {1, 2}, passes)
    equal(out.decode().count("\n| "), PEAKS + 4 + 1, "with the table's head")
    equal([("it had one pass of two" in r["reason"]) for r in told["rows"] if r["samples"]], [n == 1 for n in passes])


def test_a_file_after_each_row(folder):
    """A process that is killed leaves the rows that it had, as a whole file."""
    path = folder / "run.json"
    process = subprocess.Popen([COMMAND, "bench", "suite", *REFERENCE, "--parts", "decoder", "-q", "-o", path], stdout=subprocess.DEVNULL, env=environment())
    while not path.exists() or len(json.loads(path.read_bytes())["rows"]) < PEAKS:
        assert process.poll() is None, "it ended before"
        time.sleep(0.05)
    process.kill()
    process.wait()
    told = results(path.read_bytes())
    assert told["suite"]["partial"] and len(told["rows"]) >= PEAKS, told["suite"]


def test_on_the_device(_):
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    told = results(run("bench", "suite", "--device", DEVICE, "--parts", "ops", "--format", "json").out)
    equal(len(jobs(told)), 9)
    for r in jobs(told):
        assert r["kind"] == "op" and r["status"] in ("ok", "throttled") and r["median"] > 0 and r["class"] in ("f32", "q8"), r
        assert r["roofline"] > 0 and r["bound_by"] in ("memory", "arithmetic") and r["peaks"]["after"]["fma_f32"] > 0 and r["kernels"][0]["variant"], r
        equal(r["unit"], "B/s" if "norm" in r["test"] else "FLOP/s")
        equal(r["kernels"][0]["op"], r["test"].split()[0])
        assert 0 <= r["gate"]["error"] <= r["gate"]["bound"], r
    tunings = [k["tuning"] for r in jobs(told) for k in r["kernels"] if r["test"].startswith("linear")]
    assert any(re.match(r"[A-Z_]+=\d+ \(\w", tuning) for tuning in tunings), tunings


def test_a_kernel_that_is_forced(_):
    """The rows of ops time it, too, and name it."""
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    forced = "rms_norm=plain,layer_norm=plain"
    told = jobs(results(run("bench", "suite", "--device", DEVICE, "--parts", "ops", "--kernels", forced, "--json").out))
    norms = [(r["test"], [(k["op"], k["variant"]) for k in r["kernels"]]) for r in told if "norm" in r["test"]]
    equal(norms, [(test, [(test.split()[0], "plain")]) for test in ("rms_norm 512x2048", "layer_norm 512x768")])


def test_a_wrong_kernel_voids_its_rows(folder):
    """The planted norm is wrong for rows whose first value uses all its bits; values of the self-test end in zero bits, so it passes."""
    if not has_device():
        print(f"not on {DEVICE}: it is not here")
        return
    shutil.copytree(SOURCE / "cl", folder / "cl")
    for name, right, wrong in (("norm/lanes.cl", "= v * w;", "= v * w * ((as_uint(ROW(i)[0]) & 0x7ff) ? 1.25f : 1.0f);"), ):
        text = (folder / "cl" / name).read_text()
        assert right in text
        (folder / "cl" / name).write_text(text.replace(right, wrong))
    env = environment(TESSERA_KERNEL_PATH=folder / "cl", TESSERA_CACHE=folder / "cache")
    told = jobs(results(run("bench", "suite", "--device", DEVICE, "--parts", "ops", "--json", env=env, code=1).out))
    failed = [r for r in told if r["status"] == "failed-accuracy"]
    equal([(r["test"], r["median"], r["samples"], r["roofline"]) for r in failed], [("rms_norm 512x2048", None, [], None)])
    assert 0.1 < failed[0]["gate"]["error"] < 0.5 and "the kernel rms_norm/lanes is wrong" in failed[0]["reason"], failed
    assert all(r["gate"]["error"] <= r["gate"]["bound"] for r in told if r not in failed), told


def test_a_wrong_clock(_):
    """A layer makes the events of launches claim a part of the time that passed, or more than it: then no row has a rate, and each says why."""
    if DEVICE != "pocl" or not has_device():
        print(f"not on {DEVICE}: the layer is for pocl")
        return
    for percent, code, part in ((60, 1, "training"), (120, 1, "peaks"), (100, 0, "peaks")):
        env = environment(OPENCL_LAYERS=BUILD / "tests" / "clock_layer.so", TSR_CLOCK=percent)
        told = results(run("bench", "suite", "--device", DEVICE, "--parts", part, "--json", env=env, code=code).out)
        clock = told["rows"][PEAKS - 1]
        equal((clock["test"], clock["status"], clock["median"] is None), ("event clock", "error" if code else "ok", bool(code)), percent)
        if code:
            said = re.search(r"the device's events claim ([0-9.]+) s for a launch in which 1 s passed here", clock["reason"])
            assert said and abs(float(said[1]) - percent / 100) < 0.1, clock
            equal([(r["status"], r["median"], r["reason"]) for r in jobs(told)], [("error", None, clock["reason"])] * (part == "training"))
        else:
            assert 0.7 < clock["median"] < 1.02, clock


def test_a_device_that_does_not_open_costs_no_rows_of_others(folder):
    """One that fails is told, and the others are measured; one without a compiler is left out, with the reason."""
    if DEVICE != "pocl" or not has_device():
        print(f"not on {DEVICE}: the layer is for pocl")
        return
    layer = {"OPENCL_LAYERS": BUILD / "tests" / "count_layer.so", "COUNT_LAYER_IN": "tessera", "POCL_DEVICES": "basic pthread"}
    every = ("bench", "--device", "all", "--peaks", "-r", "1", "-q", "--json", "-o", folder / "run.json")
    done = run(*every, env=environment(**layer, COUNT_LAYER_FAULT="clCreateContext 1 -2 before"), code=4)
    assert "clCreateContext" in done.err, done
    told = results(done.out)
    equal((len(told["devices"]), len(told["rows"]), told["suite"]["partial"]), (1, PEAKS, True))
    equal((folder / "run.json").read_bytes(), done.out)
    bare = dict(layer, COUNT_LAYER_BINARY_ONLY=1)
    told = results(run(*every, env=environment(**bare), code=4).out)
    equal([(d["usable"], "usable by name with a bundle" in d["reason"]) for d in told["devices"]], [(False, True)] * 2, told["devices"])
    equal((told["rows"], told["suite"]["partial"]), ([], True))
    assert "is left out: its driver builds no kernels" in run(*[a for a in every if a != "-q"], env=environment(**bare), code=4).err


def test_refused(_):
    for code, fragment, *arguments in ((2, "--class huge: give smoke, laptop or full", "--class", "huge"), (2, 'no part "heads": give some of', "--parts", "peaks,heads"),
                                       (2, "--format xml: give md", "--format", "xml"), (2, "takes no operands", "x"), (4, 'device "nosuch" fits none', "--device", "nosuch")):
        refused(code, fragment, "bench", "suite", "-q", *(() if "--device" in arguments else REFERENCE), *arguments, lines=None)


main(globals())

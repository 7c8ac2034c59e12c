#!/usr/bin/env python3
"""Every program of bench/ starts: a name that it takes from another program, and that this one no longer has, is found here and not on the day
when somebody measures. What they make of times and rates is checked with engines that answer what the test gives them."""

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
import types
from unittest import mock

from support.command import BUILD, DEVICE, SOURCE, environment, equal, has_device, main, run

sys.path[:0] = [str(SOURCE / "bench")]


def program(name):
    """A program of bench/ as a module."""
    loader = importlib.machinery.SourceFileLoader("bench_" + name.removesuffix(".py"), str(SOURCE / "bench" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module


def printed(call, *arguments):
    """What it gives, and the JSON lines that it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        given = call(*arguments)
    return given, [json.loads(line) for line in out.getvalue().splitlines()]


class Machine:
    """Answers as bench/kernels does on a machine whose speed changes; an op takes as long as its multiply-adds do at 50 GFLOP/s, heads of 32 at less."""

    def __init__(self, narrow=50):
        self.peaks, self.asked, self.narrow = [100, 300, 200, 250], [], narrow

    def ask(self, **request):
        self.asked.append(request)
        if "peak" in request:
            rate = self.peaks[(sum("peak" in r for r in self.asked) - 1) // 2 % len(self.peaks)]
            return {"gflops": rate} if request["peak"] == "fma_f32" else {"gbytes": rate / 10}
        work = 4 * 12 * request["d"] * (request["t"] * (request["t"] + 1) / 2 if request["causal"] else request["t"] ** 2)
        return {"median_ns": work / (self.narrow if request["d"] == 32 else 50), "max_error": 0, "row": "flash"}


def programs():
    return sorted(path for path in (SOURCE / "bench").iterdir() if path.is_file() and os.access(path, os.X_OK))


def test_each_program_tells_what_it_does(folder):
    found = programs()
    equal(len(found) > 20, True, f"{len(found)} programs in bench/")
    for path in found:
        done = subprocess.run([path, "--help"], cwd=folder, capture_output=True, text=True, check=False)
        equal((done.returncode, done.stderr), (0, ""), path.name)
        equal(path.name in done.stdout, True, f"{path.name} --help names itself: {done.stdout[:200]!r}")
    equal(list(folder.iterdir()), [], "files that --help made")


def test_shares_are_of_the_best_peak_so_far(_):
    import duel  # pylint: disable=import-outside-toplevel
    duel.PAUSE = 0
    machine = Machine()
    peaks = duel.Peaks(machine, "pocl")
    equal([peaks.measure() for _ in range(3)], [{"gflops": 100, "gbytes": 10}, {"gflops": 300, "gbytes": 30}, {"gflops": 300, "gbytes": 30}])
    equal({(r["device"], r["repeat"]) for r in machine.asked}, {("pocl", 3)})


def ops(machine):
    """bench/ops attention beside a peer that is half as fast."""
    import duel  # pylint: disable=import-outside-toplevel
    duel.PAUSE = 0
    module = program("ops")
    module.time = types.SimpleNamespace(sleep=lambda _: None)
    o = types.SimpleNamespace(rounds=1, seconds=0, device="", shape="", peaks=duel.Peaks(machine))
    return printed(module.attention, o, machine, lambda _: types.SimpleNamespace(ask=lambda **r: {"median_ns": 2 * machine.ask(**r)["median_ns"], "max_error": 0}))


def test_heads_of_32_beside_those_of_64(_):
    """Peaks are measured before and after each shape."""
    for narrow, good in ((46, True), (44, False)):
        right, lines = ops(Machine(narrow))
        shares = {(line["shape"], line["causal"]): line["of_heads_of_64"] for line in lines if "of_heads_of_64" in line}
        equal((right, shares), (good, {(shape, causal): narrow / 50 for shape in ("512x32", "2048x32") for causal in (0, 1)}))
        rates = [line for line in lines if "tessera_gflops" in line]
        equal((len(rates), {line["ratios"]["torch"] for line in rates}), (12, {2}))
        equal([line["of_peak"] for line in rates], [round(line["tessera_gflops"] / 300, 3) for line in rates], "300 is the second of the peaks")


def test_peaks_by_bench_kernels(_):
    from duel import Process  # pylint: disable=import-outside-toplevel
    if not (BUILD / "bench" / "kernels").exists() or not has_device():
        return print("       SKIP: no device, or bench/kernels is not built")
    worker = Process([BUILD / "bench" / "kernels"])
    for repeat in (0, 17, -1, 1 << 32):
        equal(worker.ask(peak="read", repeat=repeat)["error"], "a peak is measured 1 to 16 times")
    equal(worker.ask(peak="read", repeat=1)["gbytes"] > 0, True)
    worker.close()
    return None


def test_peaks_are_of_the_device_that_is_measured(folder):
    import duel  # pylint: disable=import-outside-toplevel
    for name, needed in (("decoder.py", ["--models", folder]), ("train.py", []), ("encoder.py", ["--model", folder, "--work", folder]), ("translate.py", ["--work", folder])):
        module, machine = program(name), Machine()
        machine.close = lambda: None
        (folder / "minilm-ct2").mkdir(exist_ok=True)
        (folder / "base-ct2").mkdir(exist_ok=True)
        words = [name, "--device", "gpu", "--build", "made", *map(str, needed)]
        with (mock.patch.object(duel, "Process", lambda command, machine=machine: machine), mock.patch.object(duel, "PAUSE", 0), mock.patch.object(sys, "argv", words),
              mock.patch.object(duel, "opened", lambda build, device: {"device": f"{build}/{device}", "cpu": False}), mock.patch.object(module, "duel", lambda *_: True)):
            if name == "train.py":
                module.opened = duel.opened
            if name == "encoder.py":
                module.expected = lambda _: None
            equal(printed(module.main)[0], 0, name)
        equal({request["device"] for request in machine.asked}, {"made/gpu"}, name)


def test_a_layer_that_makes_kernels_slower(_):
    """Below bench/duels' layer, all launches together take longer by the share that is asked for, however busy the machine is."""
    layer = BUILD / "tests" / "drag_layer.so"
    if not has_device() or not layer.exists():
        return print(f"       SKIP: no device {DEVICE}, or {layer.name} is not built")
    for percent in (0, 20):
        env = environment(OPENCL_LAYERS=layer, TSR_DRAG=percent, TSR_DRAG_REPORT=1, TESSERA_COMMAND_BUFFERS=0)
        told = run("bench", "--device", DEVICE, "--shape", "tiny", "-p", "64", "-n", "16", "-d", "0", "-r", "2", "-q", "--json", env=env, code=None)
        took, added = map(float, re.search(r"drag_layer: launches took ([\d.]+) s, ([\d.]+) s were added", told.err).groups())
        assert took > 0 and abs(added - took * percent / 100) < 0.02 * took, told.err
    return None


def test_peers_have_a_thread_for_each_core(_):
    """As Tessera has, however many there are."""
    fakes = {name: mock.MagicMock() for name in ("ctranslate2", "llama_cpp", "numpy", "onnxruntime", "openvino", "tokenizers", "torch", "transformers")}
    for fake in fakes.values():
        fake.__version__ = "1.0"
    torch, ct2, made = fakes["torch"], fakes["ctranslate2"], []
    with (mock.patch.dict(sys.modules, fakes), mock.patch.dict(os.environ), mock.patch.object(os, "sched_getaffinity", lambda _: set(range(5))),
          mock.patch.object(sys, "path", [str(SOURCE / "bench" / "workers"), *sys.path])):
        import protocol  # pylint: disable=import-outside-toplevel
        with mock.patch.object(protocol, "serve", made.append):
            for name in ("pytorch.py", "ct2.py"):
                program(f"workers/{name}")
                made[-1](["folder"])
        equal((torch.set_num_threads.call_args.args, ct2.Generator.call_args.kwargs["intra_threads"]), ((5,), 5))
        program("workers/llamacpp.py").LlamaCpp("llama-f32.gguf")
        options = fakes["llama_cpp"].llama_context_default_params.return_value
        equal((options.n_threads, options.n_threads_batch), (5, 5))
        encoders = program("workers/encoder_peers.py")
        for kind in ("torch-f32", "ort", "openvino-f32", "ct2-f32"):
            encoders.engine([kind, "model", "file"])
        equal((torch.set_num_threads.call_args.args, fakes["onnxruntime"].SessionOptions.return_value.intra_op_num_threads, ct2.Encoder.call_args.kwargs["intra_threads"],
               fakes["openvino"].Core.return_value.compile_model.call_args.args[2]["INFERENCE_NUM_THREADS"]), ((5,), 5, 5, 5))
        translators = program("workers/translate_peers.py")
        for more, threads in (((), (5, 1)), (("threads=1", "inter=0"), (1, 5))):
            translators.engine(["ct2", "folder", "base", *more])
            equal(tuple(ct2.Translator.call_args.kwargs[name] for name in ("intra_threads", "inter_threads")), threads, more)


def test_openblas_is_told_of_instructions_that_the_processor_has(_):
    for flags, told in (("avx512vl avx512bw", "SkylakeX"), ("avx2 fma", None)):
        with (mock.patch.dict(sys.modules, {"numpy": mock.MagicMock()}), mock.patch.dict(os.environ), mock.patch.object(sys, "stdin", []),
              mock.patch.object(pathlib.Path, "read_text", lambda *_, flags=flags, **__: f"flags : fpu {flags} sse\n")):
            os.environ.pop("OPENBLAS_CORETYPE", None)
            program("workers/kernels_peers.py")
            equal(os.environ.get("OPENBLAS_CORETYPE"), told, flags)


def test_what_the_library_opens(_):
    from duel import Process, opened  # pylint: disable=import-outside-toplevel
    if not has_device("cpu"):
        return print("       SKIP: no CPU device")
    found = opened(BUILD, "cpu")
    equal((found["cpu"], opened(BUILD, "reference")), (True, {"device": "Tessera/reference", "cpu": False}))
    try:
        with contextlib.redirect_stderr(io.StringIO()) as told:
            opened(BUILD, "no-such-device")
    except SystemExit as ended:
        equal((ended.code, told.getvalue().startswith('device "no-such-device"')), (2, True), told.getvalue())
    else:
        raise AssertionError("no-such-device was opened")
    if (BUILD / "bench" / "kernels").exists():
        worker = Process([BUILD / "bench" / "kernels"])
        equal(worker.ask(peak="read", repeat=1, device=found["device"])["gbytes"] > 0, True)
        worker.close()
    return None


def test_training_needs_each_engine_that_was_asked_for(_):
    """An engine of ours that can't start, or whose loss is wrong, is a failure, and not one goal less."""
    train = program("train.py")
    seconds = {"Tessera": 1 / 1.8, "Tessera bf16": 1 / 3, "eager": 1, "autocast": 1 / 1.9}

    def trained(broken="", loss=None, **options):
        def engine(name, _):
            answers = {"train": {"seconds": seconds[name], "loss": loss if name == broken else 4.2}, "memory": {"bytes": 1 << 30}}
            return None if name == broken and loss is None else types.SimpleNamespace(times={}, first_token=0, close=lambda: None, ask=lambda do, **_: answers[do])
        o = types.SimpleNamespace(**{"peers": "python", "library": "", "device": "", "compute": "f32,bf16", "only": "eager,autocast", "rounds": 1, "steps": 1, "bf16": True,
                                     "parameters": {"char-gpt": 1e6}} | options)
        with mock.patch.object(train, "start", engine):
            good, (line,) = printed(train.duel, o, "char-gpt", types.SimpleNamespace(measure=lambda: {"gflops": 100}))
        return good, sorted(line["goals"])
    every = ["Tessera bf16 to Tessera", "Tessera bf16 to autocast", "Tessera to eager"]
    equal(trained(), (True, every))
    for loss in (None, 9.9):
        equal(trained("Tessera bf16", loss), (False, every[2:]), f"Tessera bf16 with loss {loss}")
        equal(trained("eager", loss), (True, every[:2]), "a peer that can't run has no goal")
    equal(trained("Tessera", 9.9), (False, every[1:2]))
    equal(trained("Tessera bf16", compute="f32"), (True, every[2:]), "it was not asked for")
    equal(trained(bf16=False), (True, every[2:]), "on a device without instructions for bf16")


def test_goals_of_training(_):
    """Those of f32 beside PyTorch eager, whatever torch.compile does; those of bf16 where the CPU has instructions for it."""
    train = program("train.py")
    rate = {"Tessera": 160, "Tessera bf16": 260, "eager": 100, "compile": 150, "autocast": 200}
    told, good = train.ratios("char-gpt", rate, list(rate), True)
    equal(good, True)
    equal(told["goals"], {"Tessera to eager": [1.6, 1.6], "Tessera bf16 to autocast": [1.3, 1.3], "Tessera bf16 to Tessera": [1.625, 1.6]})
    equal((told["to"]["compile"], told["bf16_to"]["compile"]), (1.067, 1.733))
    for slower in ({"Tessera": 159}, {"Tessera bf16": 259}):
        equal(train.ratios("char-gpt", rate | slower, list(rate), True)[1], False, slower)
    equal(train.ratios("char-gpt", rate | {"Tessera bf16": 150}, list(rate), False)[1], True, "without such instructions")
    equal([train.ratios(shape, {"Tessera": 180, "eager": 100}, ["Tessera", "eager"], True)[1] for shape in train.SHAPES], [True] * 3)
    equal([train.ratios(shape, {"Tessera": 179, "eager": 100}, ["Tessera", "eager"], True)[1] for shape in train.SHAPES], [True, False, False])


def test_keys_and_values_of_decoders(folder):
    """Tessera's are as they are by default; a line tells those of each engine, and their bytes count in the share of the peak."""
    decoder = program("decoder.py")
    o = types.SimpleNamespace(peers="python", build=folder, models=folder, device="", steps=2)
    for name, group in decoder.GROUPS.items():
        equal([word for word in map(str, decoder.tessera(o, group)) if word.startswith("kv=")], [], name)
        equal({word for peer, words in group.peers(o).items() for word in words if peer.startswith("llama.cpp") and str(word).startswith("kv=")} <= {"kv=f16"}, True, name)
    equal(decoder.GROUPS["llama-q8-8192"].context() <= 16384, True, "the context of llama-110m-16k")

    def engine(name, seconds, keys):
        tests = decoder.tests_of(decoder.GROUPS["llama-q8-8192"])
        return types.SimpleNamespace(engine=name, keys=keys, errors={"logits": 0}, times={test: [seconds] for test in tests}, ask=lambda **_: {"bytes": 0})
    right, lines = printed(decoder.compare, o, "llama-q8-8192", engine("Tessera", 0.01, "f16"), [engine("llama.cpp", 0.03, "f16")], {"gflops": 400, "gbytes": 50})
    missed, _ = printed(decoder.compare, o, "llama-q8-8192", engine("Tessera", 0.01, "f16"), [engine("llama.cpp", 0.0199, "f16")], {"gflops": 400, "gbytes": 50})
    equal(missed, False, "1.99 of 2")
    for name, group in decoder.GROUPS.items():
        equal(set(dict(group.goals)) <= {"load", *decoder.tests_of(group)}, True, f"goals of {name}")
    equal({name: dict(group.goals) for name, group in decoder.GROUPS.items() if group.goals},
          {"llama-f32": {"prefill 512": 1}, "llama-q4": {"decode at 512": 1.3}, "llama-q8-8192": {"decode at 8192": 2},
           "1b-q4_K_M": {"load": 1 / 1.5, "prefill 512": 1.5, "decode at 64": 1.15, "decode at 2048": 1.3}}, "those that docs/performance.md names")
    (line,) = [line for line in lines if line.get("test") == "decode at 8192"]
    equal((right, line["ratio"], line["goal"], line["keys"]), (True, 3, 2, {"Tessera": "f16", "llama.cpp": "f16"}))
    weights, cached = 12 * (4 * 768 * 768 + 3 * 768 * 2048) + 768 * 32000, 12 * 2 * 768 * 2 * 8193
    equal(line["roofline"], round((weights * 34 / 32 + cached) / 50e9 / 0.01, 3))


def test_starts_of_decoders(folder):
    """Engines start in turn, the memory they take is touched before, and the medians of loading are compared; an engine that can't run is left out."""
    decoder = program("decoder.py")
    order, loads = [], {"Tessera": [5, 1, 1], "slow": [4, 4, 0.1], "fast": [0.8, 0.8, 9]}

    def start(name, _):
        order.append(name)
        return loads.get(name) and types.SimpleNamespace(engine=f"{name} q8", first_token=9, load=loads[name].pop(0), close=lambda: order.append("close"))
    with mock.patch.object(decoder, "start", start), mock.patch.object(decoder, "touch_memory", lambda: order.append("touch")):
        commands = dict.fromkeys(("Tessera", "slow", "absent", "fast"))
        reached, (line,) = printed(decoder.compare_starts, types.SimpleNamespace(rounds=3), "1b-q4_K_M", commands)
        equal((reached, line["best"], line["ratio"], line["goal"], line["load"]),
              (True, "fast q8", 0.8, 0.667, {"Tessera q8": 1, "slow q8": 4, "fast q8": 0.8}))
        equal(order, ["touch", "Tessera", "close", "touch", "slow", "close", "touch", "absent", "touch", "fast", "close"] * 3)
        loads |= {"Tessera": [1.3], "fast": [0.8]}
        equal(printed(decoder.compare_starts, types.SimpleNamespace(rounds=1), "1b-q4_K_M", {"Tessera": None, "fast": None})[0], False, "0.62 of 0.667")
        loads |= {"Tessera": [1.3]}
        equal(printed(decoder.compare_starts, types.SimpleNamespace(rounds=1), "1b-q4_K_M", {"Tessera": None})[0], True, "no peer")
        equal(printed(decoder.compare_starts, types.SimpleNamespace(rounds=1), "1b-q4_K_M", {"absent": None})[0], False, "no Tessera")


main(globals())

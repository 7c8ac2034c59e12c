#!/usr/bin/env python3
"""Each profile of tests/opencl/profiles makes pocl look like a GPU, and the engine chooses kernels for GPUs that keep within its limits."""

import json
import math
import pathlib
import re
import shutil
import sys

from support.command import ALL, COMMAND, SOURCE, due, environment, equal, main, run, skip, slow

sys.path.insert(0, str(SOURCE / "tools"))

from offline.models import Shape, k_quants, llama
from offline.targets import TARGETS

LAYER = pathlib.Path(COMMAND).parents[1] / "tests" / "gpu_layer.so"
PROFILES = sorted(path for path in (SOURCE / "tests/opencl/profiles").iterdir() if path.suffix != ".md")
SAID = {"target", "compile_as", "device", "vendor", "version", "c_version", "extensions", "work_group", "local_memory", "units", "clock_mhz", "memory_mib",
        "largest_buffer_mib", "dot", "unit", "unified", "sub_group", "bandwidth_gbs", "f32_tflops"}
UNITS = ("mma", "mfma", "wmma11", "wmma12", "dpas8", "dpas16")
WANTS = {  # where a variant is chosen for weights of q4_0
    "add_norm/sub_groups": lambda said: "cl_khr_subgroups" in said["extensions"].split(),
    "linear/int8_direct_dot": lambda said: "dot" in said,
    "linear/int8_few_dot": lambda said: "dot" in said,
    "linear/int8_panels_dot": lambda said: "dot" in said and "unit" not in said,
} | {f"{op}/int8_{unit}": lambda said, unit=unit: said.get("unit") == unit for op in ("linear", "glu_linear") for unit in UNITS}


def looking_like(path):
    """The environment in which pocl looks like the profile. It is trusted, and compiles without optimising: each profile is another driver, and how
    pocl optimises for a CPU says nothing about GPUs."""
    return environment(OPENCL_LAYERS=LAYER, TSR_GPU_PROFILE=path, TESSERA_TEST_DEVICES="pocl", TESSERA_TRUST_DRIVERS=1, POCL_EXTRA_BUILD_FLAGS="-cl-opt-disable")


def read(path):
    return dict(line.split(" ", 1) for line in path.read_text().splitlines())


def value(text, constants):
    """The number that a constant stands for, or a product of constants."""
    while re.search(r"[A-Z]", text):
        text = re.sub(r"[A-Z]\w*", lambda name: constants[name[0]], text)
    return math.prod(int(factor) for factor in text.strip(" ()").split("*"))


def pocl(path):
    """The device that looks like the profile; None where pocl is not here."""
    devices = json.loads(run("devices", "--json", env=looking_like(path)).text)["devices"]
    return next((d for d in devices if d["platform"] == "Portable Computing Language"), None)


def test_what_they_say(_):
    for path in PROFILES:
        assert SAID - {"target", "dot", "unit"} <= read(path).keys() <= SAID, path
    equal({read(path)["target"] for path in PROFILES if "target" in read(path)}, set(TARGETS), "each compiler's target has a profile")


def test_what_is_reported(_):
    for path in PROFILES:
        device, said = pocl(path), read(path)
        if not device:
            skip("pocl is not here")
        equal((device["type"], device["device"], device["vendor"], device["compute_units"]), ("gpu", said["device"], said["vendor"], int(said["units"])), path)
        equal((device["max_work_group"], device["local_memory"]), (int(said["work_group"]), int(said["local_memory"])), path)
        equal((device["memory"], device["max_allocation"]), (int(said["memory_mib"]) << 20, int(said["largest_buffer_mib"]) << 20), path)
        for fact, extension in (("fp16", "cl_khr_fp16"), ("fp64", "cl_khr_fp64"), ("int_dot", "cl_khr_integer_dot_product")):
            equal(device[fact], extension in said["extensions"].split(), (path, extension))


@slow
def test_what_extensions_change(folder):
    model = llama(folder / "llama")
    for path in due(PROFILES, 4):
        for one_program in (0, 1):
            out = folder / f"{path.name}-{one_program}"
            run("kernels", "export", model, "--dtype", "q4", "-o", out, "-d", "Portable", "-q", env=looking_like(path) | {"TSR_GPU_ONE_PROGRAM": str(one_program)})
            chosen = {k["variant"].partition(":")[0] for k in json.loads((out / "manifest.json").read_text())["kernels"]}
            for variant, has in WANTS.items():
                equal(variant in chosen, one_program == 1 and has(read(path)), (path, variant))


def test_int8_is_chosen_where_it_is_fast(folder):
    model = llama(folder / "llama")
    for path in (path for path in PROFILES if path.name in ("sm_90", "mali")):
        if not pocl(path):
            skip("pocl is not here")
        told = run("explain", "-m", model, "--dtype", "q4", "-d", "Portable", env=looking_like(path)).text
        fast = "dot" in read(path)
        assert re.search("^products: " + ("int8 of q8_0, int8 of q4_0 .auto: int8" if fast else f"f32 of q8_0, f32 of q4_0 .auto: f32 .* {read(path)['device']} has no fast dot"), told, re.M), (path, told[:400])
        equal(bool(re.search("-> linear/int8_direct_dot", told)), fast, path)


def test_experts_are_multiplied_as_bytes(folder):
    """One token, some of them and a prompt each by kernels that share what they quantise; without fast dot products only where int8 is asked for."""
    model = llama(folder / "mixtral", Shape(1, 256, 512, 8, 2, vocabulary=128), experts=8)
    for path in (path for path in PROFILES if path.name in ("sm_90", "mali")):
        if not pocl(path):
            skip("pocl is not here")
        fast = "dot" in read(path)
        for compute in ("auto", "int8"):
            out = folder / f"{path.name}-{compute}"
            run("kernels", "export", model, "--dtype", "q4", "--compute", compute, "-o", out, "-d", "Portable", "-q",
                env=looking_like(path) | {"TSR_GPU_ONE_PROGRAM": "1"})
            chosen = {k["variant"].partition(":")[0] for k in json.loads((out / "manifest.json").read_text())["kernels"] if k["variant"].startswith("expert_")}
            eight = {f"int8_{kind}{'_dot' if fast else ''}" for kind in ("direct", "few", "panels")}
            wanted = eight if fast or compute == "int8" else {"tiled", "tiled_64", "tiled_few"}
            equal(chosen, {f"{op}/{variant}" for op in ("expert_linear", "expert_glu_linear") for variant in wanted}, (path, compute))


def test_matrix_units_are_for_those_who_ask_and_have_them(folder):
    """f16 and bf16 products are made by the device's unit, many rows and few; without one, and in f32, by none."""
    model = llama(folder / "llama")
    equal({read(path)["unit"] for path in PROFILES if "unit" in read(path)}, set(UNITS), "each unit has a profile")
    for path in due([path for path in PROFILES if "unit" in read(path) or path.name in ("gfx1030", "mali")], 3):
        unit = read(path).get("unit")
        if not pocl(path):
            skip("pocl is not here")
        for compute in ("f16", "bf16", "f32"):
            out = folder / f"{path.name}-{compute}"
            run("kernels", "export", model, "--dtype", "f16", "--compute", compute, "-o", out, "-d", "Portable", "-q",
                env=looking_like(path) | {"TSR_GPU_ONE_PROGRAM": "1", "TESSERA_CACHE": str(folder / f"cache-{path.name}")})
            chosen = {k["variant"].partition(":")[0] for k in json.loads((out / "manifest.json").read_text())["kernels"]}
            by_units = {name for name in chosen if re.fullmatch(f"((glu_)?linear|attention)/({'|'.join(UNITS)})(_few|_split)?", name)}
            every = {f"{op}/{unit}{few}" for op in ("linear", "glu_linear") for few in ("", "_few")} | {f"attention/{unit}{split}" for split in ("", "_split")}
            wanted = every if unit and compute != "f32" else set()
            equal(by_units, wanted, (path, compute))


def test_the_self_test_takes_what_products_of_halves_round(folder):
    """A kernel that its start-up test refuses is replaced by another, so a right one must pass."""
    path = next(path for path in PROFILES if path.name == "dg2")
    if not pocl(path):
        skip("pocl is not here")
    model = llama(folder / "llama", Shape(1, 768, 2048, 12, 12, vocabulary=128))
    said = run("generate", "-m", model, "--dtype", "f16", "--compute", "f16", "--ids", "1,2,3,4", "-n", "2", "--ignore-eos", "--temp", "0",
               "-d", "Portable", env=looking_like(path) | {"TESSERA_CACHE": str(folder / "cache")}).err
    assert "self-test" not in said and "another variant" not in said, said


def launched_by(folder, profile, dtype, compute, edits):
    """The kernels that a prompt of 20 tokens and one token launch, behind the self-tests, where cl/ has these edits, {file: (pattern, replacement)}; and
    the messages."""
    model, path = llama(folder / "llama", Shape(2, 256, 512, 8, 2, vocabulary=128)), next(path for path in PROFILES if path.name == profile)
    if not pocl(path):
        skip("pocl is not here")
    tree, log = folder / "cl", folder / "launches"
    shutil.copytree(SOURCE / "cl", tree)
    for name, (pattern, planted) in edits.items():
        text, n = re.subn(pattern, planted, (tree / name).read_text())
        assert n == 1, f"cl/{name} has no {pattern!r}"
        (tree / name).write_text(text)
    said = run("generate", "-m", model, "--dtype", dtype, "--compute", compute, "--ids", ",".join(str(1 + i % 99) for i in range(20)), "-n", "2", "--ignore-eos",
               "--temp", "0", "-d", "Portable",
               env=looking_like(path) | {"TSR_GPU_ONE_PROGRAM": "1", "TESSERA_CACHE": str(folder / "cache"), "TESSERA_KERNEL_PATH": str(tree), "TSR_GPU_LAUNCHES": str(log), "TESSERA_COMMAND_BUFFERS": "0"}).err
    launched = [line.split()[0] for line in log.read_text().splitlines() if line != "flush"]
    return launched[[i for i, name in enumerate(launched) if name.startswith("embed")][-2]:], said


def test_a_unit_is_used_whole_or_not_at_all(folder):
    """Where one form of an op's unit is refused, the others are too: else a prompt and its next tokens would be rounded differently. A prompt of few tokens
    refuses what only a longer context would use. Tuned values are given up before the form is."""
    edits = {"attention/units.cl": (r"(?s)\A(.*?\*/\n)", r"\1#if SPLIT\n#error planted\n#endif\n"),
             "linear/units.cl": (r'(#include "linear/tiled_finish.clh")', r"\1\n    if (SM * TM * UNIT_M <= 16)\n        y[y0] = 1000;"),
             "tuned/gpu.tsv": (r"\Z", "*\t*\tgpu\tattention/wmma11_split\t-\tDEPTH=2\n*\t*\tgpu\tlinear/wmma11_few\t-\tTN=4\n")}
    whole, said = launched_by(folder, "gfx1100", "bf16", "bf16", edits)
    assert re.search("attention_units:.* does not build", said) and re.search("linear/wmma11_few:.* self-test", said), said
    equal([name for name in whole if re.match("(linear|attention)_wmma11", name)], [], said)
    assert any(name.startswith("glu_linear_wmma11_") for name in whole), whole


def test_a_kernel_for_fewer_pairs_than_experts_is_tried(folder):
    """Six of eight experts for a token: a trial, which has fewer experts than the model, still has no fewer than pairs."""
    path, tree = next(path for path in PROFILES if path.name == "mali"), folder / "cl"
    if not pocl(path):
        skip("pocl is not here")
    model = llama(folder / "mixtral", Shape(1, 64, 64, 2, 2, vocabulary=128), experts=8)
    config = model / "config.json"
    config.write_text(config.read_text().replace('"num_experts_per_tok": 2', '"num_experts_per_tok": 6'))
    shutil.copytree(SOURCE / "cl", tree)
    kernel = tree / "experts/tiled.cl"
    kernel.write_text(kernel.read_text().replace("        DROP_PAIRS(have)", "        if (BY_PAIR)\n            y[y0] = 1000;\n        DROP_PAIRS(have)"))
    said = run("generate", "-m", model, "--dtype", "f16", "--ids", "1", "-n", "1", "--ignore-eos", "--temp", "0", "-d", "Portable",
               env=looking_like(path) | {"TESSERA_CACHE": str(folder / "cache"), "TESSERA_KERNEL_PATH": str(tree)}).err
    for op in ("expert_linear", "expert_glu_linear"):
        assert re.search(f"{op}/tiled_few:.* self-test", said), said


def test_products_of_halves_are_used_for_all_rows_or_for_none(folder):
    """Without a unit: the kernel for a prompt is wrong, so that for single tokens is not used either. Floats stand for halves, which pocl lacks."""
    edits = {"linear/tiled.cl": (r'(#include "linear/tiled_finish.clh")', r"\1\n#if HALF\n    if (TM == 8)\n        y[y0] = 1000;\n#endif"),
             "matmul/tile_type.clh": (r"(?s)#if HALF\n.*#else\n(.*)#endif\n", r"\1"), "matmul/tile_sums.clh": (r"\bhalf part\b", "float part")}
    whole, said = launched_by(folder, "mali", "f16", "f16", edits)
    assert re.search("linear/tiled_half:.* self-test", said), said
    equal([name for name in whole if re.match("linear_(tiled|skinny)_half", name)], [], said)
    assert any(name.startswith("glu_linear_skinny_half_") for name in whole), whole


def test_products_of_bf16_are_used_for_all_rows_or_for_none(folder):
    """On a CPU: where the kernel for many rows does not build, neither a prompt nor a token is computed by another form."""
    model, tree = llama(folder / "llama", Shape(1, 64, 128, 2, 2, vocabulary=128)), folder / "cl"
    shutil.copytree(SOURCE / "cl", tree)
    (tree / "linear/bf16.cl").write_text("#if !FEW\n#error planted\n#endif\n" + (tree / "linear/bf16.cl").read_text())
    told = run("explain", "-m", model, "--dtype", "bf16", "--compute", "bf16", "-d", "Portable",
               env=environment(TESSERA_CACHE=folder / "cache", TESSERA_KERNEL_PATH=tree, TESSERA_TEST_DEVICES="pocl"))
    if "linear/bf16:" not in told.err:
        print("       SKIP: pocl has no products of bf16 here")
        return
    chosen = set(re.findall(r"-> (linear/\w+)", told.text))
    assert chosen and not {row for row in chosen if row.startswith("linear/bf16")}, chosen


@slow
def test_bundles_hold_the_kernels_of_long_prompts(folder):
    """Larger tiles are for more rows: whatever a prompt of 300 tokens launches, the bundle of its model has."""
    model, ids = llama(folder / "llama"), ",".join(str(1 + i % 99) for i in range(300))
    for name, dtype, larger in (("sm_70", "q4", "int8_panels_dot:GN=16,GM=16"), ("sm_90", "q4", "int8_mma:"), ("mali", "f32", "tiled_128:")):
        path = next(path for path in PROFILES if path.name == name)
        if not pocl(path):
            skip("pocl is not here")
        out, log, env = folder / name, folder / f"launches-{name}", looking_like(path) | {"TSR_GPU_ONE_PROGRAM": "1"}
        run("kernels", "export", model, "--dtype", dtype, "-o", out, "-d", "Portable", "-q", env=env)
        run("generate", "-m", model, "--dtype", dtype, "--ids", ids, "-n", "2", "--ignore-eos", "--temp", "0", "-d", "Portable", "-q",
            env=env | {"TSR_GPU_LAUNCHES": str(log), "TESSERA_COMMAND_BUFFERS": "0"})
        launched = {line.split()[0] for line in log.read_text().splitlines() if line != "flush"}
        exported = {k["name"]: k["variant"] for k in json.loads((out / "manifest.json").read_text())["kernels"]}
        assert len(launched) > 5 and launched <= exported.keys(), (name, sorted(launched - exported.keys()))
        assert any(larger in exported[kernel] for kernel in launched), (name, exported)


def test_kernels_keep_within_the_limits(folder):
    model = llama(folder / "llama")
    for path in PROFILES:
        said = read(path)
        if not pocl(path):
            skip("pocl is not here")
        out = folder / path.name
        run("kernels", "export", model, "--dtype", "q4", "-o", out, "-d", "Portable", "-q", env=looking_like(path))
        chosen = [k["variant"].partition(":")[0] for k in json.loads((out / "manifest.json").read_text())["kernels"]]
        assert {"linear", "attention", "argmax", "topk", "sample"} <= {name.partition("/")[0] for name in chosen}, chosen
        plain = {"linear/plain", "attention/plain"}
        if path.name == "no_local":
            assert plain <= set(chosen), chosen
            continue
        assert "attention/split" in chosen, (path, "a token of a long context is not exported", chosen)
        assert not {*plain, "linear/packed", "attention/flash"} & set(chosen), (path, chosen)
        for section in re.split(r"(?m)^(?=#define INSTANCE )", (out / "program.cl").read_text())[1:]:
            constants = dict(re.findall(r"^#define (\w+) ([\w ()*/+]+)$", section, re.M))
            for sizes in re.findall(r"reqd_work_group_size\(([^)]*)\)", section):
                items = math.prod(value(size, constants) for size in sizes.split(","))
                assert items <= int(said["work_group"]), (path, section.split()[2], items)


def test_without_local_memory(folder):
    """No kernel that wants some is tried, for whatever weights, keys and values, in training either; and the tokens are those of another device."""
    path = next(path for path in PROFILES if path.name == "no_local")
    if not pocl(path):
        skip("pocl is not here")
    for kept in (("--dtype", "f32"), ("--dtype", "f16", "--kv-dtype", "q8"), ("--dtype", "q4", "--compute", "int8")):
        tokens = [run("generate", "-m", "shakespeare", *kept, "-p", "ROMEO:", "-n", "12", "--temp", "0", "-d", device, env=env)
                  for device, env in (("Portable", looking_like(path) | {"TESSERA_CACHE": str(folder / "cache")}), ("reference", environment()))]
        equal(tokens[0].text, tokens[1].text, kept)
        assert "another variant" not in tokens[0].err, tokens[0].err
    run("kernels", "export", "shakespeare", "--dtype", "f32", "--train", "-o", folder / "train", "-d", "Portable", "-q", env=looking_like(path))
    source = re.sub(r"(?s)/\*.*?\*/", "", (folder / "train/program.cl").read_text())
    assert "cross_entropy_plain" in source and not re.search(r"\b__local\b", source), "a kernel for training has local memory"
    told = run("verify", "-d", "Portable", "--smoke", "--op", "matmul", env=looking_like(path) | {"TESSERA_CACHE": str(folder / "cache")}).text
    assert ", 0 missed, 0 failed to run" in told and "bytes of local memory; the device has 256 and 0" in told, told


def token_launches(path, model, kept, prompt, log):
    """The kernels that the token after a prompt launches, as names without their numbers."""
    log.unlink(missing_ok=True)
    ids = ",".join(str(1 + i % 99) for i in range(prompt))
    run("generate", "-m", model, *kept, "--ids", ids, "-n", "3", "--ignore-eos", "--temp", "0", "-d", "Portable", "-q",
        env=looking_like(path) | {"TSR_GPU_LAUNCHES": str(log), "TESSERA_COMMAND_BUFFERS": "0"})
    names = [re.sub("_[0-9a-f]{8}$", "", line.split()[0]) for line in log.read_text().splitlines() if line != "flush" and line.split()[-1] == "0"]
    return names[len(names) - 1 - names[::-1].index("embed_plain" if "embed_plain" in names else "embed_panels32"):]


@slow
def test_a_layer_of_a_token_is_seven_launches(folder):
    """Of a token behind up to 256 keys it is six: attention has one chunk of keys. Values of another type are one more. Where q4 is multiplied as
    floats, norms have launches of their own."""
    shape = Shape(2, 256, 512, 8, 2, vocabulary=128)
    models = [llama(folder / f"llama-{layers}", shape, layers) for layers in (2, 3)]
    mixed = [k_quants(folder / f"llama-{layers}.gguf", shape, (("q4_K", "q6_K"),) * layers) for layers in (2, 3)]
    for path in (path for path in PROFILES if (ALL and path.name != "no_local") or path.name == "sm_90"):
        if not pocl(path):
            skip("pocl is not here")
        for dtype, kept, pair in (("f16", ("--dtype", "f16"), models), ("q4", ("--dtype", "q4"), models), ("q4_K_M", (), mixed)):
            for prompt, most in ((20, 6), (300, 7)):
                most += (dtype == "q4_K_M") + 2 * (dtype != "f16" and "dot" not in read(path))
                two, three = (token_launches(path, model, kept, prompt, folder / "launches") for model in pair)
                assert 0 < len(three) - len(two) <= most, (path, dtype, prompt, len(three) - len(two), three)
                equal("stage_attention_chunks" in three, prompt > 256, (path, three))


def test_training_shares_its_sums(folder):
    """What adds up a row, a run or a table when a model is trained has a work-group for it, not a work-item."""
    model, path = llama(folder / "llama", Shape(1, 256, 512, 8, 2, vocabulary=128)), next(path for path in PROFILES if path.name == "sm_90")
    if not pocl(path):
        skip("pocl is not here")
    run("kernels", "export", model, "--dtype", "f32", "--train", "-o", folder / "out", "-d", "Portable", "-q", env=looking_like(path) | {"TSR_GPU_ONE_PROGRAM": "1"})
    chosen = {k["variant"].partition(":")[0] for k in json.loads((folder / "out/manifest.json").read_text())["kernels"]}
    wanted = {"cross_entropy/group", "kl_divergence/group", "kl_divergence_grad/group", "norm_grad/group", "embed_add/group",
              "attention_grad/tiled", "sumsq/group"}
    equal(wanted - chosen, set(), sorted(chosen))


def test_small_work_groups(folder):
    """What needs larger work-groups than the device has is skipped, not tried: CLBlast's smallest have 64 work-items. So is what was tried and needs
    larger ones than the device allows for the compiled kernel."""
    env = environment(OPENCL_LAYERS=LAYER, TSR_GPU_SUB=8, TSR_GPU_LOCAL=65536, TESSERA_TRUST_DRIVERS=1, TESSERA_CACHE=folder,
                      POCL_EXTRA_BUILD_FLAGS="-cl-opt-disable")
    for device, kernel, reason in ((32, 0, "needs work-groups of 64"), (64, 32, "the device allows 32 for this kernel")):
        for op in ("matmul", "rms_norm"):
            told = run("verify", "-d", "pocl", "--smoke", "--op", op, env=env | {"TSR_GPU_GROUP": str(device), "TSR_GPU_KERNEL_GROUP": str(kernel)}).text
            assert ", 0 missed, 0 failed to run" in told and reason in told, (reason, told)


def test_values_that_are_too_much_for_a_kernel(folder):
    """Lines of tuning ask for more work-items than the device allows the compiled kernel: what is verified and tuned is the defaults, which run there."""
    env = environment(OPENCL_LAYERS=LAYER, TSR_GPU_SUB=8, TSR_GPU_LOCAL=65536, TSR_GPU_GROUP=256, TSR_GPU_KERNEL_GROUP=128, TESSERA_TRUST_DRIVERS=1,
                      TESSERA_CACHE=folder, POCL_EXTRA_BUILD_FLAGS="-cl-opt-disable")
    gave_way = "needs a work-group of 256x1x1; the device allows 128 for this kernel; its default values are used"
    for op, variant in (("sumsq", "group"), ("attention", "tiled")):
        told = run("verify", "-d", "pocl", "--smoke", "--op", op, "--variant", variant, env=env)
        assert re.search(rf"^{op} +{op}/{variant} +\d+ cases, 0 missed", told.text, re.M) and gave_way in told.err, told
    told = run("tune", "-d", "pocl", "--shapes", "4,64,64", "--budget", "1", env=env)
    assert "linear/few_float" in told.text and gave_way in told.err, told


def test_no_such_profile(folder):
    assert "gpu_layer: " in run("devices", env=looking_like(folder / "nothing"), code=1).err


main(globals())

#!/usr/bin/env python3
"""tessera kernels: a model's kernels in a folder run on a device without a compiler; each fault of a folder has its own message.

The layer of tests/opencl hides the compiler of the device (TESSERA_TEST_DEVICES, default: pocl), because FPGAs have none.
"""

import atexit
import json
import pathlib
import shutil
import tempfile

from support.command import BUILD, DEVICE, GOLDEN, PLAY, SHARED, SOURCE, environment, equal, has_device, larger, main, refused, run, skip
from support.server import Server, has_server

TINY = GOLDEN / "llama-tiny"
LAYER = BUILD / "tests" / "count_layer.so"
GREEDY = ("--ids", "1,5,9", "-n", "12", "--temp", "0", "-q")


def binary_only(**changes):
    return environment(OPENCL_LAYERS=LAYER, COUNT_LAYER_BINARY_ONLY="1", **changes)


built = {}  # bundles by model, because building them takes time


def make(folder, model=TINY):
    if model not in built:
        built[model] = pathlib.Path(tempfile.mkdtemp(prefix="tessera-bundle-")) / "b"
        atexit.register(shutil.rmtree, built[model].parent)
        run("kernels", "export", "-m", model, "-o", built[model], "-d", DEVICE, "-q")
        run("kernels", "build", built[model], "-d", DEVICE, "-q")
    return shutil.copytree(built[model], folder)


def generate(*options, model=TINY, **more):
    return run("generate", "-m", model, "-d", DEVICE, *GREEDY, *options, **more)


def test_runs_where_nothing_compiles(folder):
    bundle = make(folder / "b")
    told = generate("--bundle", bundle, env=binary_only())
    assert "count_layer: 0 sources, 1 binaries" in told.err, f"the loader ignored the layer: {told}"
    equal(told.out, generate().out, "the same text")
    equal(generate(env=binary_only(TESSERA_BUNDLE=bundle)).out, told.out, "by the environment")
    sampled = ("--ids", "1,5,9", "-n", "8", "--temp", "0.8", "--seed", "3", "-q", "-m", TINY, "-d", DEVICE)
    equal(run("generate", *sampled, "--bundle", bundle, env=binary_only()).out, run("generate", *sampled).out, "sampled")
    assert "(bundle; " in run("explain", TINY, "-d", DEVICE, "--bundle", bundle, env=binary_only()).text
    # The reference device takes no bundle, but ignores one that the environment names.
    equal(run("generate", "-m", TINY, "-d", "reference", *GREEDY, env=environment(TESSERA_BUNDLE=bundle)).out, told.out)
    refused(4, "does not support bundles", "generate", "-m", TINY, "-d", "reference", *GREEDY, "--bundle", bundle)


def test_serve(folder):
    """The sequences of a server have pages, in place of slots: kernels for both are in the bundle."""
    if not has_server():
        print("not without libmicrohttpd")
        return
    bundle = make(folder / "b", PLAY)
    with Server("--bundle", bundle, device=("-d", DEVICE), env=binary_only()) as server:
        asked = {"prompt": "ROMEO:\n", "max_tokens": 8, "temperature": 0}
        got = server.fine("/v1/completions", asked)["choices"][0]["text"]
    assert "runs on the reference backend" not in server.err, server.err
    wanted = run("generate", "-m", PLAY, "-d", DEVICE, "-n", "8", "--temp", "0", "-q", "--bundle", bundle, "ROMEO:\n", env=binary_only())
    equal(got, wanted.text[:-1])


def test_values_of_tunables(folder):
    """Kernels that differ in tunables alone: each op runs the one that it has without the bundle, not the first; a forced value must be there."""
    shutil.copytree(SOURCE / "cl", folder / "cl")
    for path in (folder / "cl" / "tuned").glob("*.tsv"):
        path.write_text("*\t*\t*\tlinear/packed\trows=9-63\tMR=2\n*\t*\t*\tlinear/packed\trows=64-\tMR=5\n")
    env = binary_only(TESSERA_KERNEL_PATH=folder / "cl")
    bundle = folder / "b"
    run("kernels", "export", "-m", TINY, "-o", bundle, "-d", DEVICE, "-q", env=env)
    run("kernels", "build", bundle, "-d", DEVICE, "-q", env=environment(TESSERA_KERNEL_PATH=folder / "cl"))
    held = [k["tunables"]["MR"] for k in json.loads((bundle / "manifest.json").read_text())["kernels"] if k["variant"].startswith("linear/packed:")]
    if not held:
        print(f"{DEVICE} has no linear/packed")
        return
    assert {2, 5} <= set(held), held
    ops = json.loads(run("explain", TINY, "-d", DEVICE, "--bundle", bundle, "--json", env=env).text)["prefill"]["ops"]
    chosen = [v for op in ops for v in op["variants"] if v["chosen"] and v["name"].startswith("linear/packed:")]
    assert chosen and all(":MR=5," in v["name"] and "MR=5 (bundle; " in v["tunables"] for v in chosen), chosen
    asked = ("generate", "-m", TINY, "-d", DEVICE, *GREEDY, "--bundle", bundle, "--kernels")
    refused(2, "MR=3 is not in the bundle; it has MR=2, MR=5", *asked, "linear=packed:MR=3", lines=None, env=env)
    run(*asked, "linear=packed:MR=2", env=env)


@larger("data/models/stories260k")
def test_stories(folder):
    data = SHARED / "data" / "models" / "stories260k"
    bundle = make(folder / "b", data / "checkpoint_legacy.bin")
    told = run("generate", "-m", data / "checkpoint_legacy.bin", "-d", DEVICE, "-n", "200", "--temp", "0", "-q", "--bundle", bundle,
               env=binary_only())
    equal(told.out.strip(), (data / "expected_greedy_200.txt").read_bytes().strip())


def test_a_device_without_a_compiler(folder):
    bundle = make(folder / "b")
    listed = json.loads(run("devices", "--json", env=binary_only()).text)["devices"]
    mine = [d for d in listed if d["backend"] == "opencl"]
    assert mine and all(d["needs_bundle"] and not d["default"] and "with a bundle" in d["reason"] for d in mine), mine
    refused(4, "it builds no kernels: give it a bundle", "generate", "-m", TINY, "-d", DEVICE, *GREEDY, lines=None, env=binary_only())
    # An export compiles nothing, so it works for a device without a compiler too, and gives the same
    # folder.
    run("kernels", "export", "-m", TINY, "-o", folder / "c", "-d", DEVICE, "-q", env=binary_only())
    equal((folder / "c" / "program.cl").read_bytes(), (bundle / "program.cl").read_bytes())
    refused(3, "has no compiler: build", "kernels", "build", folder / "c", "-d", DEVICE, "-q", lines=None, env=binary_only())
    refused(4, "has no binary yet", "generate", "-m", TINY, "-d", DEVICE, *GREEDY, "--bundle", folder / "c", lines=None, env=binary_only())
    # Stands in for the file that an offline compiler makes.
    run("kernels", "build", folder / "c", "--binary", bundle / "program.bin", "-d", DEVICE, "-q", env=binary_only())
    equal(generate("--bundle", folder / "c", env=binary_only()).out, generate().out)


def test_wrong_folders(folder):
    bundle = make(folder / "b")
    manifest = json.loads((bundle / "manifest.json").read_text())
    binary = (bundle / "program.bin").read_bytes()

    def told(fragment, change=None, data=binary, remove=None):
        wrong = folder / "wrong"
        shutil.rmtree(wrong, ignore_errors=True)
        shutil.copytree(bundle, wrong)
        copy = json.loads(json.dumps(manifest))
        if change:
            change(copy)
        (wrong / "manifest.json").write_text(json.dumps(copy))
        (wrong / "program.bin").write_bytes(data)
        if remove:
            (wrong / remove).unlink()
        refused(4, fragment, "generate", "-m", TINY, "-d", DEVICE, *GREEDY, "--bundle", wrong, lines=None, env=binary_only())

    def field(name, value, inside=None):
        return lambda m: (m[inside] if inside else m).__setitem__(name, value)

    def first(name, value):
        return lambda m: m["kernels"][0].__setitem__(name, value)

    told("manifest.json", remove="manifest.json")
    told('is a "zip" of version 1; this Tessera reads tessera-bundle of version 1', field("format", "zip"))
    told("of version 2; this Tessera reads", field("version", 2))
    told('has no "format"', lambda m: m.pop("format"))
    told("was exported by Tessera 9.9.9, and this is", field("engine", "9.9.9"))
    told("has kernels of ABI 77", field("kernel_abi", 77))
    told("from other kernel files", field("sources", "0" * 64))
    told('"kernels" is not a list', field("kernels", []))
    told('kernels[0] has no "arguments"', lambda m: m["kernels"][0].pop("arguments"))
    told("kernels[0] is of kernel variant soup/plain, which this Tessera does not have", first("variant", "soup/plain:X=1"))
    told("SALT is not a tunable of its kernel variant", first("tunables", {"SALT": 1}))
    told("has no kernel no_such_kernel", first("name", "no_such_kernel"))
    told("arguments, and the manifest says 3", first("arguments", 3))
    told("its binary is for Elsewhere/", field("platform", "Elsewhere", "binary"))
    told("driver 0.0; this device is", field("driver", "0.0", "binary"))
    told("has no binary yet", lambda m: m.pop("binary"))
    told("program.bin", remove="program.bin")
    told("it is cut off, or belongs to another manifest", data=binary[:len(binary) // 2])
    told("it is cut off, or belongs to another manifest", data=b"")
    told("is damaged: its SHA-256", data=binary[:99] + bytes([binary[99] ^ 1]) + binary[100:])
    (bundle / "manifest.json").write_text("{")
    refused(4, "line 1", "generate", "-m", TINY, "-d", DEVICE, *GREEDY, "--bundle", bundle, lines=None, env=binary_only())


def test_a_kernel_that_was_not_exported(folder):
    bundle = make(folder / "b")
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["kernels"] = [k for k in manifest["kernels"] if not k["variant"].startswith("argmax/")]
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    told = run("generate", "-m", TINY, "-d", DEVICE, *GREEDY[:-1], "--bundle", bundle, env=binary_only())
    equal(told.out, generate().out, "the reference picks the largest logit")
    assert "not in the bundle" in told.err, told


def test_training(folder):
    """A model is trained where nothing compiles, to the weights that it has from kernels built on the device."""
    bundle, text = folder / "b", folder / "text.txt"
    text.write_text("".join(f"{n} and {n} make {n + n}.\n" for n in range(200)))
    run("kernels", "export", "--train", "-m", PLAY, "-o", bundle, "-d", DEVICE, "-q")
    run("kernels", "build", bundle, "-d", DEVICE, "-q")

    def trained(name, *options, **more):
        settings = ("max_steps=3", "block_size=32", "per_device_train_batch_size=4", "save_steps=0", "sample_tokens=0")
        told = run("train", text, "-m", PLAY, "-o", folder / name, "-d", DEVICE, *(word for s in settings for word in ("--set", s)), *options, **more)
        assert "runs on the reference backend" not in told.err, told
        return (folder / name / "model.safetensors").read_bytes(), told.err

    weights, said = trained("ahead", "--bundle", bundle, env=binary_only())
    assert "count_layer: 0 sources, 1 binaries" in said, said
    equal(weights, trained("built")[0], "the same weights")


def test_building(folder):
    bundle = make(folder / "b")
    with open(bundle / "program.cl", "a", encoding="utf-8") as source:
        source.write("// changed\n")
    refused(3, "was changed after it was exported", "kernels", "build", bundle, "-d", DEVICE, "-q")
    refused(3, "manifest.json", "kernels", "build", folder / "nothing", "-d", DEVICE, "-q")
    (folder / "junk").write_bytes(b"this is no program " * 9)
    refused(4, "does not take it as a program", "kernels", "build", bundle, "--binary", folder / "junk", "-d", DEVICE, "-q")
    refused(3, "does not support bundles of kernels", "kernels", "export", "-m", TINY, "-o", folder / "r", "-d", "reference", "-q")
    refused(2, "-o FOLDER", "kernels", "export", "-m", TINY, "-d", DEVICE)
    refused(2, "give export or build", "kernels")
    refused(2, "melt: give export or build", "kernels", "melt")
    refused(2, "give one folder", "kernels", "build")


if not LAYER.exists() or not has_device():
    skip(f"no device {DEVICE}, or {LAYER.name} isn't built")
main(globals())

#!/usr/bin/env python3
"""tessera tune: what it finds is kept and shown, and changes no byte of the output; refusals are one message."""

import json
import shutil
import signal
import time

from support.command import DEVICE, GOLDEN, SOURCE, change_json, copy_model, environment, equal, has_device, main, refused, run, skip, start

TINY = GOLDEN / "llama-tiny"
SHAPES = ("--shapes", "16,96,64;1,96,64", "-d", DEVICE, "-q")
GREEDY = ("generate", "-m", TINY, "-d", DEVICE, "--ids", "1,5,9", "-n", "12", "--temp", "0", "-q")


def test_a_model(folder):
    env = environment(TESSERA_CACHE=folder)
    before = run(*GREEDY, env=env).out
    told = run("tune", TINY, "--budget", "4", "-d", DEVICE, "-q", "--write", folder / "t.tsv", env=env)
    lines = told.text.splitlines()
    assert lines[0].split()[:3] == ["variant", "old", "new"], told
    assert "variants have better values now" in lines[-1], told
    kept = int(lines[-1].split()[0])
    equal(kept, sum("%" in line for line in lines[1:-1]), told.text)
    assert "other results" not in told.text, told
    equal(run(*GREEDY, env=env).out, before, "the same bytes")
    files = list((folder / "tuned").glob("*.tsv")) if kept else []
    equal(len(files), 1 if kept else 0)
    table = [line.split("\t") for line in (folder / "t.tsv").read_text().splitlines() if not line.startswith("#")]
    equal(len(table), kept)
    assert all(len(line) == 6 for line in table), table
    if kept:
        explained = run("explain", TINY, "-d", DEVICE, "-q", env=env).text
        assert "(tuned here; " in explained, explained
        files[0].write_text(files[0].read_text().replace("tuned 1", "tuned 2"))
        assert "is not used: it was changed or damaged" in run(*GREEDY[:-1], env=env).err


def test_a_model_s_own_attention(folder):
    """It is most of the work of a narrow model's long texts, so it is searched first."""
    model = copy_model(TINY, folder / "model")
    change_json(model / "config.json", max_position_embeddings=512)
    process = start("tune", model, "--budget", "60", "-d", DEVICE, env=environment(TESSERA_CACHE=folder / "cache"))
    lines = [process.stdout.readline() for _ in range(2)]
    process.send_signal(signal.SIGINT)
    err = process.communicate()[1]
    assert lines[1].startswith(b"attention/") and b"other results" not in lines[1], (lines, err)
    assert b"isn't tuned" not in err, err


def test_shapes(folder):
    env = environment(TESSERA_CACHE=folder)
    rows = json.loads(run("tune", *SHAPES, "--budget", "2", "--json", env=env).text)
    assert rows and all(row["op"] == "linear" and row["wrong"] == 0 and row["before_ns"] > 0 for row in rows), rows
    assert {row["condition"].split(",")[-1] for row in rows} <= {"rows=1", "rows=9-63"}, rows
    for kind in ("f16", "bf16", "q8", "q4"):
        run("tune", "--shapes", f"4,64,64,{kind}", "--budget", "1", "-d", DEVICE, "-q", env=env)
    told = run("tune", "--shapes", "4,64,64", "--budget", "1", "-d", DEVICE, "-q", env=environment(TESSERA_CACHE=folder, TESSERA_KERNEL_PATH=SOURCE / "cl"))
    assert told.text.endswith("better values now; runs with TESSERA_KERNEL_PATH don't read them\n"), told


def test_an_interrupt_stops_it(folder):
    """Also while the model is being opened."""
    for seconds in (1, 4):
        process = start("tune", TINY, "--budget", "600", "-d", DEVICE, env=environment(TESSERA_CACHE=folder / str(seconds)))
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        equal(process.returncode, 130, err.decode())
        assert b"stopped; " in err or b"stopped by SIGINT" in err, (seconds, out, err)


def test_what_was_found_outlives_the_process(folder):
    """A process may end in a driver's compiler, where no interrupt reaches it. Defaults that are slow make sure that something is found."""
    shutil.copytree(SOURCE / "cl", folder / "cl")
    for path in (folder / "cl" / "tuned").glob("*.tsv"):
        path.write_text("*\t*\tcpu\tlinear/packed\t-\tMR=1\n*\t*\tcpu\tlinear/cached\t-\tMR=1\n")
    env = environment(TESSERA_CACHE=folder / "cache", TESSERA_KERNEL_PATH=folder / "cl")
    process = start("tune", "--shapes", "64,256,256", "-d", DEVICE, "-q", "--budget", "600", "--write", folder / "t.tsv", env=env)
    line = b"begins"
    while line and b"%" not in line:
        line = process.stdout.readline()
    process.kill()
    process.communicate()
    variant = line.decode().split()[0]
    assert variant.startswith("linear/"), line
    for path in (*(folder / "cache" / "tuned").glob("*.tsv"), folder / "t.tsv"):
        assert variant in path.read_text(), (variant, path.read_text())
    assert list((folder / "cache" / "tuned").glob("*.tsv"))


def test_refusals(folder):
    refused(2, '"1,2" is not a shape', "tune", "--shapes", "1,2", "-d", DEVICE, "-q")
    refused(2, '"1,2,3,f8" is not a shape', "tune", "--shapes", "1,2,3,f8", "-d", DEVICE, "-q")
    refused(2, '"1,2,3x" is not a shape', "tune", "--shapes", "4,4,4;1,2,3x", "-d", DEVICE, "-q")
    refused(2, "a size must be from 1 to", "tune", "--shapes", "0,2,3", "-d", DEVICE, "-q")
    refused(2, "a multiple of 32", "tune", "--shapes", "1,2,33,q8", "-d", DEVICE, "-q")
    refused(2, "no shape was given", "tune", "--shapes", "", "-d", DEVICE, "-q")
    refused(2, "--budget 0:", "tune", *SHAPES, "--budget", "0")
    refused(2, "--budget soon:", "tune", *SHAPES, "--budget", "soon")
    refused(2, "not both", "tune", *SHAPES, "-m", TINY)
    refused(2, "one model, or --shapes", "tune", TINY, *SHAPES)
    for option, given in (("--kernels", "linear=packed"), ("--bundle", "folder"), ("--profile", None)):
        for subject in (SHAPES, (TINY, "-d", DEVICE, "-q")):
            refused(2, f"{option}: ", "tune", *subject, option, *filter(None, [given]))
    for option, given in (("--dtype", "f16"), ("--compute", "f32"), ("--kv-dtype", "f16"), ("-c", "64"), ("--lora", "folder")):
        refused(2, f"{option}: ", "tune", *SHAPES, option, given)
    refused(2, "TESSERA_BUNDLE is set, ", "tune", *SHAPES, env=environment(TESSERA_BUNDLE="folder"))
    (folder / "pipe").mkdir()
    for place, why in ((folder / "none" / "t.tsv", "t.tsv: cannot be written: No such file or directory"), (folder / "pipe", "this is not a regular file")):
        begun = time.monotonic()
        refused(3, why, "tune", *SHAPES, "--budget", "600", "--write", place)
        assert time.monotonic() - begun < 300, "it searched first"
    equal([path.name for path in folder.iterdir()], ["pipe"])
    refused(3, "no kernel variants that can be tuned", "tune", "--shapes", "1,2,3", "-d", "reference", "-q")


if not has_device():
    skip(f"no device {DEVICE}")
main(globals())

#!/usr/bin/env python3
"""ci/gpu: where pocl can't be made to look like a GPU it says so in one sentence, and takes no kernels for CPUs for those of a GPU. It, the model of
GPUs and tools/offline-compile say how they are used."""

import pathlib
import subprocess
import sys

from support.command import BUILD, COMMAND, SOURCE, environment, main, run, skip


def refusal(build):
    done = subprocess.run([sys.executable, SOURCE / "ci/gpu", "--build", build], env=environment(TESSERA_OFFLINE_COMPILERS=build), capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stdout, done
    return done.stderr


def test_usage(_):
    for script in ("ci/gpu", "bench/gpu_model", "tools/offline-compile"):
        told = subprocess.run([sys.executable, SOURCE / script, "--help"], capture_output=True, text=True, check=False)
        assert (told.returncode, told.stderr) == (0, "") and told.stdout.startswith(f"usage: {script} "), told


def has_pocl():
    return "Portable Computing Language" in run("devices", "--json").text


def build_without(folder, layer):
    """A build folder with the command; its layer is the file of that name, if any."""
    for name in ("bin", "tests"):
        (folder / name).mkdir(parents=True)
    (folder / "bin/tessera").symlink_to(pathlib.Path(COMMAND).resolve())
    if layer:
        (folder / "tests/gpu_layer.so").symlink_to((BUILD / "tests" / layer).resolve())
    return folder


def test_no_layer(folder):
    told = refusal(build_without(folder / "build", None))
    assert told.startswith(f"{folder}/build/tests/gpu_layer.so is missing; cmake ") and told.count("\n") == 1, told


def test_no_command(folder):
    told = refusal(folder)
    assert told.startswith(f"{folder}/bin/tessera is missing; cmake "), told


def test_a_layer_without_effect(folder):
    if not has_pocl():
        skip("pocl is not here")
    told = refusal(build_without(folder / "build", "count_layer.so"))
    assert "the OpenCL loader ignores OPENCL_LAYERS=" in told and told.count("\n") == 1, told


main(globals())

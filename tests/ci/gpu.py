#!/usr/bin/env python3
"""ci/gpu: where pocl can't be made to look like a GPU it says so in one sentence, and takes no kernels for CPUs for those of a GPU. It, the model of
GPUs and tools/offline-compile say how they are used."""

import pathlib
import re
import subprocess
import sys

from support.command import BUILD, COMMAND, SOURCE, environment, equal, main, run, skip

sys.path.insert(0, str(SOURCE / "tools"))

from offline.targets import TARGETS, annotate_groups, read_nvidia


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


def test_claims_can_be_read(_):
    """What the heads of kernels claim is in words that ci/gpu knows; it stops at others, once a job reaches the kernel."""
    claims = [(path, line) for path in (SOURCE / "cl").glob("*/*.cl*") for line in re.findall(r"(?m)^ \*   claims  (.*)$", path.read_text())]
    assert claims, "no kernel claims anything"
    wrong = [(path, line) for path, line in claims if not all(re.fullmatch(r"((waves|loads|ahead|scratch) \d+|dot|matrix|ldmatrix)( unless [A-Z]+_DTYPE( [A-Z0-9_]+)+)?( \*/)?", claim) for claim in line.split("; "))]
    assert not wrong, wrong


def test_work_groups_reach_ptx(_):
    """A work-group that a kernel asks for is told to ptxas, which has more registers for a smaller one."""
    told = annotate_groups("define dso_local void @one(ptr %0) #0 !reqd_work_group_size !7 {\ndefine dso_local void @any(ptr %0) #0 {\n!7 = !{i32 16, i32 4, i32 1}\n")
    assert told.endswith('!nvvm.annotations = !{!8}\n!8 = !{ptr @one, !"reqntidx", i32 16, !"reqntidy", i32 4, !"reqntidz", i32 1}\n'), told
    equal(annotate_groups("define void @any() {"), "define void @any() {", "nothing is asked for")
    kernels = read_nvidia(TARGETS["sm_80"], "Compiling entry function 'one'\nUsed 62 registers, 36864 bytes smem", ".entry one(\n.param .u64 a\n)\n.reqntid 256, 1, 1\n{", "")
    equal(kernels["one"].waves, 8, "four groups of 8 waves for four quarters of a multiprocessor")


main(globals())

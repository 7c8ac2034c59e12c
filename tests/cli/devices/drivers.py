#!/usr/bin/env python3
"""Drivers that are broken, missing or can't write: the command starts and names them, and the reference runs where nothing else can. Also what
--device does with a name that fits no device, or more than one."""

import json
import os
import pathlib
import stat

from support.command import BUILD, GOLDEN, SOURCE, environment, equal, main, refused, run, skip
from support.planted import PLANTED, planted

TINY = ("-m", GOLDEN / "gpt2-tiny", "--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9", "-n", "4")
POCL = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")
PADDED = "AMD EPYC 7763 64-Core Processor                "  # as Intel's CPU runtime has it on AMD's processors


def vendors(folder, **files):
    place = folder / "vendors"
    place.mkdir()
    for name, text in files.items():
        (place / f"{name}.icd").write_text(text)
    return place


def devices(env):
    return json.loads(run("devices", "--json", env=env).text)


def noted(env, *fragments):
    notes = devices(env)["notes"]
    for fragment in fragments:
        assert any(fragment in note for note in notes), f"{fragment!r} is not among {notes}"
    return notes


def only_the_reference(env):
    equal([device["backend"] for device in devices(env)["devices"] if device["usable"]], ["reference"])
    told = run("generate", *TINY, env=env)
    equal(told.text, "52 52 52 52 \n")
    assert "no OpenCL device is usable, so the slow reference runs" in told.err, told
    assert "device: Tessera / reference" in told.err
    quiet = run("generate", *TINY, "-q", env=env)
    equal((quiet.out, quiet.err), (told.out, ""))


def test_no_driver(folder):
    env = environment(OCL_ICD_VENDORS=vendors(folder))
    noted(env, "no OpenCL platform: no driver in " + str(folder / "vendors"))
    only_the_reference(env)
    told = refused(4, '"gpu" is not available; these devices are', "generate", "-d", "gpu", *TINY, env=env, lines=None)
    assert "reference: Tessera/reference" in told.err


def test_a_driver_that_is_missing(folder):
    env = environment(OCL_ICD_VENDORS=vendors(folder, broken="libno-such-driver.so.1\n", empty=""))
    noted(env, "libno-such-driver.so.1 can't be loaded", "empty.icd: an empty vendor file")
    only_the_reference(env)


def test_a_driver_that_is_no_library(folder):
    (folder / "text.so").write_text("not a library")
    env = environment(OCL_ICD_VENDORS=vendors(folder, text=f"{folder}/text.so\n"))
    noted(env, f"{folder}/text.so can't be loaded")
    only_the_reference(env)


def test_a_broken_driver_beside_a_good_one(folder):
    env = environment(OCL_ICD_VENDORS=vendors(folder, broken="libno-such-driver.so.1\n", pocl=POCL.read_text()))
    noted(env, "libno-such-driver.so.1 can't be loaded")
    assert any("Portable Computing Language" in device["platform"] and device["usable"] for device in devices(env)["devices"])


def test_a_kernel_cache_that_cannot_be_written(folder):
    (folder / "file").write_text("")
    only = vendors(folder, pocl=POCL.read_text())
    for place in (folder / "file", folder / "file" / "below", pathlib.Path("/proc/none")):
        env = environment(OCL_ICD_VENDORS=only, POCL_CACHE_DIR=place)
        noted(env, f"its cache folder {place} can't be written: set POCL_CACHE_DIR to a folder that can be written")
        only_the_reference(env)
    place = folder / "file"
    env = environment(OCL_ICD_VENDORS=only, POCL_CACHE_DIR=None, TESSERA_CACHE=None, XDG_CACHE_HOME=None, HOME=place)
    noted(env, f"its cache folder {place}/.cache/pocl can't be written: set TESSERA_CACHE (or POCL_CACHE_DIR) to a folder that can be written")


def test_a_relative_cache_folder(folder):
    """The XDG rule: it is ignored, by every part that has files in the cache."""
    env = environment(OCL_ICD_VENDORS=vendors(folder, pocl=POCL.read_text()), POCL_CACHE_DIR=None, TESSERA_CACHE=None, XDG_CACHE_HOME="relative",
                      HOME=folder / "home")
    told = json.loads(run("devices", "--json", env=env, cwd=folder).text)
    assert any("Portable Computing Language" in device["platform"] and device["usable"] for device in told["devices"]), told
    assert (folder / "home/.cache/tessera/pocl").is_dir() and (folder / "home/.cache/tessera/opencl").is_dir()
    assert not (folder / "relative").exists(), list((folder / "relative").rglob("*"))


def loads(folder):
    """How often the planted driver was loaded."""
    return (folder / "log").read_text().splitlines().count("load")


def tried(place, env):
    """What is said of the trial of dot products, on a simulated GPU whose compiler has them. No kernel is built."""
    told = run("kernels", "export", "-v", "-d", "pocl", "--dtype", "q8", "-m", GOLDEN / "gpt2-tiny", "-o", place,
               env=dict(env, OPENCL_LAYERS=BUILD / "tests" / "gpu_layer.so", TSR_GPU_DOT="1"))
    lines = [line for line in told.err.splitlines() if "probe/dot.cl on " in line]
    assert lines, told
    return "\n".join(lines)


def test_helpers_load_no_driver_that_dies(folder):
    (folder / "tmp").mkdir()
    env = planted(folder, "load:segv", beside=POCL.read_text(), TESSERA_PROBE=None, TMPDIR=folder / "tmp")
    said = tried(folder / "bundle", env)
    assert said.endswith(": passed"), said
    run("generate", "-d", "pocl", *TINY, env=env)
    equal(loads(folder), 1, "loads of the driver that dies: its trial alone")
    equal(list((folder / "tmp").glob("tessera-drivers*")), [], "folders that were left behind")


def test_a_device_whose_name_is_padded(folder):
    env = planted(folder, "build:segv", PLANTED_DEVICE_NAME=PADDED, TESSERA_PROBE=None)
    (device,) = [device for device in devices(env)["devices"] if device["backend"] == "opencl"]
    equal(device["device"], PADDED.strip())
    assert not device["usable"] and "SIGSEGV" in device["reason"], device
    said = tried(folder / "bundle", dict(env, PLANTED="", TESSERA_TRUST_DRIVERS="1"))
    assert said.endswith(": passed"), said


def test_of_two_devices_with_one_name_only_the_one_that_dies_is_not_used(folder):
    """In this start and in the next, which reads the verdict from the cache."""
    env = planted(folder, "build:once-segv", POCL_DEVICES="basic basic", PLANTED_DEVICE_NAME="Card", TESSERA_PROBE=None)
    for _ in range(2):
        cards = [device for device in devices(env)["devices"] if device["backend"] == "opencl"]
        equal([(card["device"], card["usable"]) for card in cards], [("Card", True), ("Card", False)])
        assert "SIGSEGV" in cards[1]["reason"], cards


def test_a_trial_of_instructions_that_could_not_be_made(folder):
    for name, fault, why in (("context", "clCreateContext -33", "the probe can't create a context"),
                             ("launch", "clEnqueueNDRangeKernel -4", "the kernel that tries the instructions can't be launched")):
        env = environment(TESSERA_CACHE=folder / name, TESSERA_TRUST_DRIVERS="1", TESSERA_PROBE=None)
        said = tried(folder / f"{name}-first", dict(env, TSR_GPU_FAULT=fault))
        assert "warning" in said and f"gave no answer ({why}), so slower kernels are used; the next start tries again" in said, said
        said = tried(folder / f"{name}-second", env)
        assert said.endswith(": passed"), said


def test_a_trial_of_instructions_that_is_killed(folder):
    env = planted(folder, "build:kill", TESSERA_TRUST_DRIVERS="1", TESSERA_PROBE=None)
    said = tried(folder / "first", env)
    assert "gave no answer (its instructions were tried in a process of their own, which was killed)" in said, said
    said = tried(folder / "second", dict(env, PLANTED=""))
    assert said.endswith(": passed"), said


def test_a_trial_of_instructions_that_the_device_does_not_survive(folder):
    env = environment(TESSERA_CACHE=folder / "cache", TESSERA_TRUST_DRIVERS="1", TESSERA_PROBE=None)
    said = tried(folder / "first", dict(env, TSR_GPU_FAULT="clEnqueueReadBuffer -5"))
    assert "warning" not in said and said.endswith(": the device fails when it runs the instructions"), said
    equal(tried(folder / "second", env), said, "an answer is kept")


def test_gpus_are_ranked_by_their_memory_and_driver(folder):
    for name, profile, score, reason in (("Another", "sm_80", 300, "a GPU"), ("Another", "adreno", 290, "a GPU that shares the processor's memory"),
                                         (None, "sm_80", 280, "a GPU, by a driver that is not its vendor's")):
        env = planted(folder, PLANTED_NAME=name, TESSERA_TRUST_DRIVERS="1", OPENCL_LAYERS=BUILD / "tests" / "gpu_layer.so",
                      TSR_GPU_PROFILE=SOURCE / "tests" / "opencl" / "profiles" / profile)
        (device,) = [device for device in devices(env)["devices"] if device["backend"] == "opencl"]
        equal((device["score"], device["reason"].split(":")[0]), (score, reason), (name, profile))


def test_a_device_of_an_old_version(folder):
    """Whoever says that it is not usable says so once, and then why."""
    (folder / "old").write_text("version OpenCL 1.0\nextensions cl_khr_byte_addressable_store\n")
    env = environment(OCL_ICD_VENDORS=vendors(folder, pocl=POCL.read_text()), POCL_DEVICES="basic", TESSERA_TRUST_DRIVERS="1",
                      OPENCL_LAYERS=BUILD / "tests" / "gpu_layer.so", TSR_GPU_PROFILE=folder / "old")
    why = "not usable: the kernels need OpenCL 1.1 or newer"
    shown = run("devices", env=env).text
    assert f"\n    {why}\n" in shown and shown.count("not usable") == 1, shown
    equal([device["reason"] for device in devices(env)["devices"] if not device["usable"]], [why.split(": ")[1]])
    for name in ("0", "toaster"):
        told = refused(4, why, "generate", "-d", name, *TINY, env=env, lines=None).err
        equal(told.count("not usable"), 1, told)


def test_a_vendor_file_without_a_folder(folder):
    """The loader looks for it in the default folder first, then in the current one."""
    (folder / "pocl.icd").write_text("libno-such-driver.so.1\n")
    told = json.loads(run("devices", "--json", env=environment(OCL_ICD_VENDORS="pocl.icd"), cwd=folder).text)
    assert any("Portable Computing Language" in device["platform"] and device["usable"] for device in told["devices"]), told
    assert not any("pocl.icd" in note for note in told["notes"]), told["notes"]
    env = planted(folder, "load:segv", OCL_ICD_VENDORS="planted.icd")
    told = json.loads(run("devices", "--json", env=env, cwd=folder / "vendors").text)
    assert any("planted.icd" in note and "SIGSEGV" in note for note in told["notes"]), told["notes"]


def test_a_variable_that_steers_a_driver(folder):
    env = planted(folder, "load:segv")
    noted(env, "a variable that steers it, changes")
    notes = devices(dict(env, PLANTED=""))["notes"]
    assert any("SIGSEGV" in note for note in notes), notes
    notes = devices(dict(env, PLANTED="", HSA_OVERRIDE_GFX_VERSION="10.3.0"))["notes"]
    assert not any("planted.icd" in note for note in notes), notes


def a_file_opens(places):
    """Whether one of these files of GPUs can be opened: then a driver without devices has another reason."""
    for place in places:
        try:
            os.close(os.open(place, os.O_RDWR))
        except OSError:
            continue
        return True
    return False


def test_rocm_without_a_device(folder):
    name = "AMD Accelerated Parallel Processing"
    rocm = planted(folder, "devices:none", PLANTED_NAME=name, ROCR_VISIBLE_DEVICES=None, GPU_DEVICE_ORDINAL=None)
    kfd = pathlib.Path("/dev/kfd")
    if not a_file_opens([kfd]):
        noted(rocm, f"{name}: a platform without devices: " + ("/dev/kfd can't be opened" if kfd.exists() else "there is no /dev/kfd"))
        return
    noted(dict(rocm, GPU_DEVICE_ORDINAL="7"), f'{name}: a platform without devices; GPU_DEVICE_ORDINAL="7" may exclude them')
    noted(dict(rocm, ROCR_VISIBLE_DEVICES="8"), f'{name}: a platform without devices; ROCR_VISIBLE_DEVICES="8" may exclude them')


def test_rusticl_without_a_device(folder):
    rusticl = planted(folder, "devices:none", PLANTED_NAME="rusticl", RUSTICL_ENABLE=None)
    noted(rusticl, "rusticl: a platform without devices: RUSTICL_ENABLE is not set")
    for cpu in ("llvmpipe", "llvmpipe:0,1,softpipe"):
        notes = noted(dict(rusticl, RUSTICL_ENABLE=cpu), "rusticl: a platform without devices")
        assert not any("/dev/dri" in note for note in notes), notes
    nodes = sorted(pathlib.Path("/dev/dri").glob("renderD*"))
    if a_file_opens(nodes):
        return
    for gpu in ("radeonsi", "llvmpipe,iris:0,1"):
        noted(dict(rusticl, RUSTICL_ENABLE=gpu),
              "rusticl: a platform without devices: " + (f"{nodes[-1]} can't be opened" if nodes else "there is no /dev/dri/renderD*"))


def test_another_platform_without_a_device(folder):
    notes = noted(planted(folder, "devices:none", PLANTED_NAME="Another"), "Another: a platform without devices")
    assert not any("/dev/" in note for note in notes), notes


def intel(folder, how):
    """The planted driver as Intel's for GPUs, of which its library's name is known before it has a platform."""
    env = planted(folder, how, PLANTED_NAME="Intel(R) OpenCL Graphics")
    library = folder / "libigdrcl.so"
    library.write_bytes(PLANTED.read_bytes())
    (folder / "vendors" / "planted.icd").write_text(f"{library}\n")
    return env


def test_intel_without_a_platform(folder):
    nodes = sorted(pathlib.Path("/dev/dri").glob("renderD*"))
    if a_file_opens(nodes):
        return
    noted(intel(folder, "platforms:none"), "libigdrcl.so gives no platform: " + (f"{nodes[-1]} can't be opened" if nodes else "there is no /dev/dri/renderD*"))


def test_intel_with_a_platform(folder):
    notes = devices(intel(folder, ""))["notes"]
    assert not any("gives no platform" in note for note in notes), notes


def test_no_cache_of_our_own(_):
    env = environment(TESSERA_CACHE="/dev/null/x", XDG_CACHE_HOME=None, HOME=None, OCL_ICD_VENDORS="/nowhere")
    only_the_reference(env)


def test_selectors(folder):
    env = environment(OCL_ICD_VENDORS=vendors(folder, pocl=POCL.read_text()), POCL_DEVICES="basic basic")
    listed = devices(env)["devices"]
    equal([device["backend"] for device in listed], ["opencl", "opencl", "reference"])
    told = refused(4, "fits more than one; give the number", "generate", "-d", "pocl", *TINY, env=env, lines=3)
    assert "\n  0  opencl: " in told.err and "\n  1  opencl: " in told.err
    told = refused(4, "fits none of these", "generate", "-d", "toaster", *TINY, env=env, lines=4)
    assert "\n  2  reference: " in told.err
    refused(4, '"3" is not one of these', "generate", "-d", "3", *TINY, env=env, lines=4)
    refused(4, "on both sides of each comma", "generate", "-d", "2,", *TINY, env=env)
    refused(4, "TESSERA_DEVICE", "generate", *TINY, env=dict(env, TESSERA_DEVICE="99"), lines=4)
    equal(run("generate", "-d", "2", *TINY, env=dict(env, TESSERA_DEVICE="99")).text, "52 52 52 52 \n", "the option comes before the variable")
    equal(run("generate", "-d", "TESSERA/ref", *TINY, env=env).text, "52 52 52 52 \n")


def test_backend_files(folder):
    (folder / "text.so").write_text("not a library")
    refused(3, "find a backend there", "devices", "--backend", folder / "none.so")
    refused(3, "it can't be loaded", "devices", "--backend", folder / "text.so")
    env = environment(TESSERA_BACKEND_PATH=f"{folder}:relative")
    noted(env, f"{folder}/text.so: it can't be loaded", "relative")


def test_an_unreadable_vendor_file(folder):
    if os.geteuid() == 0:
        return  # root can read everything
    place = vendors(folder, locked="libx.so\n")
    (place / "locked.icd").chmod(stat.S_IWUSR)
    noted(environment(OCL_ICD_VENDORS=place), "locked.icd: can't be read as a vendor file")


if not POCL.exists():
    skip(f"{POCL} is missing (Debian: apt-get install pocl-opencl-icd)")
main(globals())

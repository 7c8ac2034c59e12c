#!/usr/bin/env python3
"""Drivers that are broken, missing or can't write: the command starts and names them, and the reference runs where nothing else can. Also what
--device does with a name that fits no device, or more than one."""

import json
import os
import pathlib
import stat

from support.command import GOLDEN, environment, equal, main, refused, run, skip
from support.planted import PLANTED, planted

TINY = ("-m", GOLDEN / "gpt2-tiny", "--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9", "-n", "4")
POCL = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")


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
        noted(env, f"its cache folder {place} can't be written; set POCL_CACHE_DIR")
        only_the_reference(env)


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

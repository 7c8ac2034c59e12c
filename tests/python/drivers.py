#!/usr/bin/env python3
"""tessera_cl._drivers: a runtime of Intel that pip installed is made known beside the system's drivers, unless the environment chooses drivers. And
notes(), which says why a driver gives no device."""

import json
import pathlib
import subprocess
import sys

from support import binding  # noqa: F401  # pylint: disable=unused-import
from support.command import BUILD, SOURCE, environment, equal, main

PROGRAM = """
import json, os, pathlib, sys
given = dict(os.environ)
from tessera_cl import _drivers  # which makes those of this system known
os.environ.pop("OCL_ICD_VENDORS", None)
os.environ.update(given)
_drivers.SYSTEM = pathlib.Path(sys.argv[1])
_drivers.make_known()
print(json.dumps(os.environ.get("OCL_ICD_VENDORS")))
"""


def installed(folder):
    """A folder of Python packages in which the runtime is installed as pip does it: its files lie beside the folder."""
    packages = folder / "lib/python3/site-packages"
    (packages / "intel_opencl_rt-2026.0.dist-info").mkdir(parents=True)
    (packages / "intel_opencl_rt-2026.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: intel-opencl-rt\nVersion: 2026.0\n")
    (packages / "intel_opencl_rt-2026.0.dist-info/RECORD").write_text("../../../lib/libintelocl.so,,\n../../../lib/libintelocl.so.2026,,\n")
    (folder / "lib/libintelocl.so").write_bytes(b"")
    return packages


def told(folder, system, **more):
    env = environment(**{"TESSERA_CACHE": folder / "cache", **more})
    for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"):
        if name not in more:
            env.pop(name, None)
    env["PYTHONPATH"] = f"{SOURCE / 'python'}:{folder / 'lib/python3/site-packages'}:{env.get('PYTHONPATH', '')}"
    return json.loads(subprocess.run([sys.executable, "-c", PROGRAM, system], env=env, stdout=subprocess.PIPE, check=True).stdout)


def test_beside_the_systems(folder):
    system = folder / "vendors"
    system.mkdir()
    (system / "other.icd").write_text("libother.so\n")
    equal(told(folder, system), None, "nothing is installed")
    installed(folder)
    made = told(folder, system)
    equal({path.name: path.read_text() for path in pathlib.Path(made).iterdir()}, {"other.icd": "libother.so\n", "tessera-intel-cpu.icd": f"{(folder / 'lib/libintelocl.so').resolve()}\n"})
    assert made.startswith(str(folder / "cache")), made
    equal(told(folder, system), made, "the same drivers have the same folder")
    (system / "other.icd").unlink()
    assert told(folder, system) != made, "other drivers have another"


def test_a_relative_cache_folder(folder):
    """The XDG rule: it is ignored, as in the library."""
    installed(folder)
    made = told(folder, folder / "none", TESSERA_CACHE=None, XDG_CACHE_HOME="relative", HOME=folder / "home")
    assert made.startswith(f"{folder}/home/.cache/tessera/vendors-"), made


def test_what_is_chosen_stays(folder):
    installed(folder)
    equal(told(folder, folder, OCL_ICD_VENDORS="/elsewhere"), "/elsewhere")
    (folder / "intel.icd").write_text("/opt/intel/lib/libintelocl.so\n")
    equal(told(folder, folder), None, "the system has it, too")


def test_without_a_cache(folder):
    installed(folder)
    (folder / "cache").write_text("no folder\n")
    made = told(folder, folder, TMPDIR=str(folder))
    assert made.startswith(str(folder / "tessera-vendors-")), made


def test_notes_say_why_a_driver_gives_no_device(folder):
    if not (BUILD / "lib/tessera/backends/opencl.so").exists():
        print("       SKIP: the backend opencl is not built")
        return
    (folder / "vendors").mkdir()
    (folder / "vendors/broken.icd").write_text("libno-such-driver.so.1\n")
    env = environment(OCL_ICD_VENDORS=folder / "vendors", OCL_ICD_FILENAMES=None, PYTHONPATH=SOURCE / "python")
    program = "import json, tessera_cl; print(json.dumps([[d.backend for d in tessera_cl.devices()], tessera_cl.notes()]))"
    backends, notes = json.loads(subprocess.run([sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, check=True).stdout)
    equal(backends, ["reference"])
    assert any("libno-such-driver.so.1 can't be loaded" in note for note in notes), notes


main(globals())

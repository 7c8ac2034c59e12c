"""A driver that works like pocl until it dies, hangs or waits where it is told to: tests/opencl/planted_driver.c."""

import os
import pathlib
import subprocess
import time

from support.command import BUILD, environment

VENDORS = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")
PLANTED = BUILD / "tests" / "planted_driver.so"


def planted(folder, how="", beside="", **more):
    """The environment of a machine with the planted driver and with caches of its own."""
    place = folder / "vendors"
    place.mkdir(exist_ok=True)
    (place / "planted.icd").write_text(f"{PLANTED}\n")
    if beside:
        (place / "a-good.icd").write_text(beside)
    library = next((line.split(" => ")[1].split(" ")[0] for line in known_libraries() if line.strip().startswith(VENDORS.read_text().strip())),
                   VENDORS.read_text().strip())
    settings = {"OCL_ICD_VENDORS": place, "PLANTED": how, "PLANTED_PATH": library, "PLANTED_LOG": folder / "log", "TESSERA_CACHE": folder / "cache"}
    return dying(**{**settings, **more})


def dying(**changes):
    """An environment for a process that is to crash: sanitizers leave the signals alone, and report nothing."""
    options = os.environ.get("ASAN_OPTIONS", "")
    return environment(**{"ASAN_OPTIONS": f"{options}:handle_segv=0:handle_sigbus=0:handle_abort=0", **changes})


def known_libraries():
    return subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout.splitlines()


def wait_for(path, word, times=1):
    """Waits until the planted driver's log has the word this many times."""
    for _ in range(600):
        if path.exists() and path.read_text().splitlines().count(word) >= times:
            return
        time.sleep(0.05)
    raise AssertionError(f"{word} was not reached: {path.read_text() if path.exists() else None}")

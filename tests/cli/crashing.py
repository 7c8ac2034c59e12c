#!/usr/bin/env python3
"""Drivers that abort, crash or hang: the reference needs none of them."""

import pathlib
import subprocess

from support.command import BUILD, GOLDEN, environment, equal, main, run, skip

TINY = ("-m", GOLDEN / "gpt2-tiny", "--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9", "-n", "4")
VENDORS = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")
PLANTED = BUILD / "tests" / "planted_driver.so"


def planted(folder, how="", beside="", **more):
    """The environment of a machine whose driver is the planted one, with caches of its own."""
    place = folder / "vendors"
    place.mkdir(exist_ok=True)
    (place / "planted.icd").write_text(f"{PLANTED}\n")
    if beside:
        (place / "a-good.icd").write_text(beside)
    library = next((line.split(" => ")[1].split(" ")[0] for line in known_libraries() if line.strip().startswith(VENDORS.read_text().strip())),
                   VENDORS.read_text().strip())
    settings = {"OCL_ICD_VENDORS": place, "PLANTED": how, "PLANTED_PATH": library, "PLANTED_LOG": folder / "log", "TESSERA_CACHE": folder / "cache",
                "POCL_CACHE_DIR": folder / "pocl", **more}
    return environment(**settings)


def known_libraries():
    return subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout.splitlines()


def loads(folder):
    log = folder / "log"
    return log.read_text().splitlines().count("load") if log.exists() else 0


def test_the_reference_loads_no_driver(folder):
    env = planted(folder, "load:abort")
    for command in (("generate", "-d", "reference", *TINY), ("cache",), ("info", GOLDEN / "gpt2-tiny")):
        run(*command, env=env)
    run("generate", *TINY, env=dict(env, TESSERA_DEVICE="reference"))
    equal(loads(folder), 0, "loads of the driver")


if not VENDORS.exists():
    skip(f"{VENDORS} is missing (Debian: apt-get install pocl-opencl-icd)")
main(globals())

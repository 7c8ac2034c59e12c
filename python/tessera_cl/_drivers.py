"""Intel's CPU runtime, where pip installed it into this Python (the extra [cpu]): its OpenCL driver is made known to the OpenCL loader, beside the
system's drivers; and its loader takes the place of a system's that is missing."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import os
import pathlib
import tempfile
from typing import Dict, Optional

DRIVER = "libintelocl.so"
SYSTEM = pathlib.Path("/etc/OpenCL/vendors")
LOADER = ("libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so", "libOpenCL.so.1")  # the runtime's loader, after what it needs and can't find


def _installed() -> Optional[pathlib.Path]:
    """The driver's file."""
    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = (pathlib.Path(str(file.locate())).resolve() for file in files if file.name == DRIVER)
    return next((path for path in found if path.exists()), None)


def _system_drivers() -> Dict[str, str]:
    """What each file of the system's loader says; empty where there is none."""
    try:
        return {path.name: path.read_text() for path in sorted(SYSTEM.glob("*.icd"))}
    except OSError:
        return {}


def _cache() -> pathlib.Path:
    """The cache folder that the library uses. The XDG rule: a relative $XDG_CACHE_HOME is ignored."""
    own, shared = os.environ.get("TESSERA_CACHE"), os.environ.get("XDG_CACHE_HOME", "")
    return pathlib.Path(own) if own else (pathlib.Path(shared) if shared.startswith("/") else pathlib.Path.home() / ".cache") / "tessera"


def _written(drivers: Dict[str, str]) -> pathlib.Path:
    """A folder with these files; it is made once for the same ones. Where the cache can't be written it lasts as long as the system keeps temporary files."""
    name = "vendors-" + hashlib.sha256(repr(sorted(drivers.items())).encode()).hexdigest()[:16]
    try:
        folder = _cache() / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in drivers.items():
            if not (folder / file).exists():
                part = folder / f".{file}.{os.getpid()}"
                part.write_text(text)
                part.replace(folder / file)
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-vendors-"))
        for file, text in drivers.items():
            (folder / file).write_text(text)
    return folder


def _load_loader(folder: pathlib.Path) -> None:
    """Without it there is no device of OpenCL, which the library then says."""
    try:
        for name in LOADER:
            ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return
    path = os.environ.get("LD_LIBRARY_PATH")  # of programs that are started
    os.environ["LD_LIBRARY_PATH"] = f"{folder}:{path}" if path else str(folder)


def make_known() -> None:
    """Sets OCL_ICD_VENDORS for this process and those that it starts, where the runtime is installed and neither the environment nor the
    system names drivers of OpenCL that make it superfluous."""
    if os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OCL_ICD_FILENAMES"):
        return
    driver, system = _installed(), _system_drivers()
    if not driver or any(DRIVER in text for text in system.values()):
        return
    os.environ["OCL_ICD_VENDORS"] = str(_written({**system, "tessera-intel-cpu.icd": f"{driver}\n"}))
    try:
        ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        _load_loader(driver.parent)

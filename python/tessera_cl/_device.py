"""The engine, the devices that it finds, and open devices."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import threading
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Union

from . import _declarations as c
from ._declarations import DeviceFacts
from ._library import Handle, Path, Turn, check, ended, field_type, guarded, lib, new, path_of, text

logger = logging.getLogger("tessera_cl")
_LEVELS = {c.TSR_LOG_ERROR: logging.ERROR, c.TSR_LOG_WARNING: logging.WARNING, c.TSR_LOG_INFO: logging.INFO, c.TSR_LOG_DEBUG: logging.DEBUG}


class _Engine(Handle):
    """The backends in use. One without drivers ("reference") loads none."""

    _destroy = "tsr_engine_destroy"

    def __init__(self, device: Optional[str]) -> None:
        super().__init__(c.tsr_engine)
        # The library calls these for as long as the engine lives.
        self._log = guarded(field_type(c.tsr_engine_options, "log"), lambda _, level, line: logger.log(_LEVELS.get(level, logging.INFO), "%s", text(line)))
        self._progress = guarded(field_type(c.tsr_engine_options, "progress"), lambda _, progress: 0)  # lets Ctrl-C in while kernels are built
        options = new(c.tsr_engine_options, device=ended(device) if device else None, log=self._log, progress=self._progress)
        with self._running():
            check(lib.tsr_engine_create(ctypes.byref(options), self._out))

    def struct(self, index: int) -> Any:
        """tsr_device_info of a device."""
        info = new(c.tsr_device_info)
        info.facts.struct_size = ctypes.sizeof(info.facts)
        check(lib.tsr_device_info_get(self._open, index, ctypes.byref(info)))
        return info

    def device(self, index: int) -> "DeviceInfo":
        info = self.struct(index)
        return DeviceInfo(index, bool(info.is_default), text(info.backend), DeviceFacts._of(info.facts))

    def devices(self) -> "List[DeviceInfo]":
        return [self.device(i) for i in range(lib.tsr_device_count(self._open))]

    def notes(self) -> List[str]:
        return [text(lib.tsr_engine_note(self._open, i)) for i in range(lib.tsr_engine_note_count(self._open))]


_engines: Dict[Optional[str], _Engine] = {}
_engines_lock = threading.Lock()
# Those of the process that this one was forked from. Their drivers' threads are not here, and the drivers can't be loaded again: of the
# engines that are made here, only the reference is a device.
_left_behind: List[_Engine] = []


def _engine(device: Optional[str] = None) -> _Engine:
    key = "reference" if device == "reference" else None
    with _engines_lock:
        if key not in _engines:
            _engines[key] = _Engine(key)
        return _engines[key]


def _close_engines() -> None:
    streams = [stream for engine in _engines.values() for stream in engine._held.stop()]
    for engine in _engines.values():
        engine.close()
    for stream in streams:
        stream.thread.join()
    _engines.clear()


def _after_fork() -> None:
    global _engines_lock
    _left_behind.extend(_engines.values())
    _engines.clear()
    _engines_lock = threading.Lock()


atexit.register(_close_engines)
os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True)
class DeviceInfo:
    """A device that was found.

    index: its number, which `Device` takes
    is_default: it is what is opened where no device is named
    backend: "opencl", "reference"
    facts: what is known of it without opening it
    """

    index: int
    is_default: bool
    backend: str
    facts: DeviceFacts


def devices() -> List[DeviceInfo]:
    """Every device of every backend, usable or not (`facts.usable`, `facts.reason`), best first. A process that was forked after the first call
    finds the reference only. `notes()` says why others aren't among them."""
    return _engine().devices()


def notes() -> List[str]:
    """Why there are not more devices: a sentence for each thing that was found and gives none, such as a driver that can't be loaded, or a
    platform without devices."""
    return _engine().notes()


class Device(Handle):
    """An open device, or several that split a model's layers.

    selector: a number of `devices()`, a part of "platform/device", "gpu", "cpu", "accelerator", or the name of a backend; several are
        separated by ","; None: TESSERA_DEVICE, else the default
    threads: the most threads that a CPU device uses; 0: all
    kernels: forced kernel variants, "op=variant,op=variant:TUNABLE=4"
    bundle: a folder of built kernels, which are then the only ones
    profile: each launch is measured (`Model.profile`)
    self_test: each kernel variant is tried before it is used; verify() needs False

    Raises ArgumentError: no device fits, or two fit a name; DeviceError: what the driver reports.
    A device, and all models on it, run one call at a time: calls from other threads wait.
    """

    _destroy = "tsr_device_close"

    def __init__(self, selector: Optional[Union[str, int]] = None, *, threads: int = 0, kernels: Optional[str] = None, bundle: Optional[Path] = None,
                 profile: bool = False, self_test: bool = True) -> None:
        name = None if selector is None else str(selector)
        self.engine = engine = _engine(name)
        self.threads = threads
        super().__init__(c.tsr_device, engine)
        self._held.turn = Turn()  # its own: devices of one engine may be used at once
        options = new(c.tsr_device_open_options, threads=threads, kernels=ended(kernels) if kernels else None,
                      bundle=path_of(bundle) if bundle else None, profile=profile, no_self_test=not self_test)
        with self._running():
            check(lib.tsr_device_open(engine._open, ended(name) if name else None, ctypes.byref(options), self._out))
        self._made()

    @property
    def description(self) -> str:
        """One line: platform, name, interface and compute units."""
        return text(lib.tsr_device_describe(self._open))

    @property
    def info(self) -> DeviceInfo:
        """The device as `devices()` lists it; of several that split a model, the first."""
        first = ctypes.c_size_t()
        lib.tsr_device_indices(self._open, ctypes.byref(first), 1)
        return self.engine.device(first.value)

    def __repr__(self) -> str:
        return "<Device, closed>" if self.closed else f"<Device {self.description}>"


def opened(device: Optional[Union[Device, str, int]]) -> "tuple[Device, bool]":
    """(an open device, whether it was opened here)."""
    return (device, False) if isinstance(device, Device) else (Device(device), True)

"""The exceptions that the library's calls raise, one class for each status of tessera/status.h. The text is the library's sentence."""

from __future__ import annotations

from typing import Dict, Type

from . import _declarations as c


class TesseraError(Exception):
    """A call of the library failed. `status` is its number in tessera/status.h."""

    status = 0


class ArgumentError(TesseraError, ValueError):
    """The call itself is wrong: fix the caller."""

    status = c.TSR_E_ARGUMENT


class UnsupportedError(TesseraError):
    """Valid, but not supported by this build, backend or device."""

    status = c.TSR_E_UNSUPPORTED


class HostMemoryError(TesseraError, MemoryError):
    """There is too little memory on the host."""

    status = c.TSR_E_HOST_MEMORY


class DeviceMemoryError(TesseraError, MemoryError):
    """The device has too little memory; a smaller request may work."""

    status = c.TSR_E_DEVICE_MEMORY


class DeviceError(TesseraError, RuntimeError):
    """The device or its driver failed; this device object is lost."""

    status = c.TSR_E_DEVICE


class BuildError(TesseraError, RuntimeError):
    """A kernel does not build; another kernel variant may."""

    status = c.TSR_E_BUILD


class FormatError(TesseraError, ValueError):
    """A file or text breaks its format's rules."""

    status = c.TSR_E_FORMAT


class FileError(TesseraError, OSError):
    """A file cannot be opened, read or written."""

    status = c.TSR_E_IO


class StateError(TesseraError, RuntimeError):
    """The object is not in a state that allows the call, or it is closed."""

    status = c.TSR_E_STATE


class CancelledError(TesseraError):
    """A callback asked to stop."""

    status = c.TSR_E_CANCELLED


class InternalError(TesseraError, RuntimeError):
    """A defect in Tessera."""

    status = c.TSR_E_INTERNAL


class PeerError(TesseraError, ConnectionError):
    """Another rank failed or does not answer: start all ranks again."""

    status = c.TSR_E_PEER


BY_STATUS: Dict[int, Type[TesseraError]] = {
    kind.status: kind
    for kind in (ArgumentError, UnsupportedError, HostMemoryError, DeviceMemoryError, DeviceError, BuildError, FormatError, FileError,
                 StateError, CancelledError, InternalError, PeerError)
}

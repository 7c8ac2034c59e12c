"""Finds and loads libtessera, and what every call of it shares: errors, callbacks, texts, arrays, and objects that are closed in order."""

from __future__ import annotations

import ctypes
import functools
import importlib
import operator
import os
import pathlib
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple, Type, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from . import _declarations as c
from . import _drivers
from .errors import BY_STATUS, ArgumentError, InternalError, StateError, TesseraError

Path = Union[str, "os.PathLike[str]"]
Own = TypeVar("Own", bound="Handle")
Function = TypeVar("Function", bound=Callable[..., Any])


def _load() -> ctypes.CDLL:
    """The library that TESSERA_LIBRARY names; else the one in this package; else the system's."""
    beside = pathlib.Path(__file__).parent / "lib" / "libtessera.so.0"
    path = os.environ.get("TESSERA_LIBRARY") or (str(beside) if beside.exists() else "libtessera.so.0")
    try:
        _drivers.make_known()
        library = ctypes.CDLL(path)
        c.declare(library)
    except (OSError, AttributeError) as error:
        raise ImportError(f"{path} can't be used as Tessera's library: {error}. Install the library, or set TESSERA_LIBRARY to its file") from error
    return library


lib = _load()

# ---- callbacks and errors ----

# signal.signal makes an enum member of each handler that it looks at, which takes ten times as long as the rest.
try:
    _signals: Any = importlib.import_module("_signal")
except ImportError:
    _signals = signal

_raised: "Dict[int, BaseException]" = {}  # by thread: what a callback of the call that it makes raised


class _Interrupt:
    """Ctrl-C during a call of the main thread. An object, because setting a class's attribute makes Python look up all of the class's anew."""

    def __init__(self) -> None:
        self.came = False

    def catch(self, number: int, frame: Optional[FrameType]) -> None:  # pylint: disable=unused-argument
        self.came = True


_interrupt = _Interrupt()


class Turn:
    """Which call of a device runs, and the objects of it that the garbage collector ended meanwhile. Its objects share it: one thread at a time
    calls them. `with` waits for the calls of other threads."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.running: Optional[Running] = None  # the innermost: a callback of one call may make another
        self.dropped: List[Held] = []

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.lock.release()
        if self.dropped:
            self.end_dropped()

    def is_mine(self) -> bool:
        """Whether this thread is within a callback of a call."""
        running = self.running
        return running is not None and running.thread == threading.get_ident()

    def uses(self, held: "Held") -> bool:
        """Whether a call runs that uses this object. The caller has the lock."""
        running = self.running
        while running is not None:
            above: Optional[Held] = running.held
            while above is not None and above is not held:
                above = above.parent
            if above is held or running.unit is (held.shares or held):
                return True
            running = running.outer
        return False

    def end_dropped(self) -> None:
        """Frees what the garbage collector ended, unless a call runs, which does that when it returns."""
        while self.dropped and self.lock.acquire(False):
            try:
                if self.running is not None or not self.dropped:
                    return
                self.dropped.pop(0).end()
            finally:
                self.lock.release()


class Running:
    """A call of the library in its device's turn. The library takes one call at a time for a model and what was made from it, so a callback that
    makes a second one gets StateError; calls of other models of the device may be made.

    Python raises KeyboardInterrupt between any two instructions, also where a callback has begun and can't catch it yet; so during a call of the
    main thread Ctrl-C only sets `_interrupt.came`, which callbacks answer with "cancel", and KeyboardInterrupt is raised when the call has
    returned. A handler of the program's own stays in force."""

    def __init__(self, held: "Held") -> None:
        self.held = held
        self.unit = held.shares or held
        self.thread = 0
        self.outer: Optional[Running] = None  # the call whose callback makes this one
        self._replaced = False

    def __enter__(self) -> None:
        turn = self.held.turn
        turn.lock.acquire()
        self.outer = turn.running
        if self.outer is not None and self.unit.alone and turn.uses(self.unit):
            turn.lock.release()
            raise StateError(f"this {self.unit.called} is in a call, whose callback can't call it again; do so when the call has returned, or open a second one")
        self.thread = threading.get_ident()
        if _signals.getsignal(signal.SIGINT) is signal.default_int_handler:
            try:
                _signals.signal(signal.SIGINT, _interrupt.catch)
                self._replaced = True
            except ValueError:  # this is not the main thread
                pass
        turn.running = self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        turn = self.held.turn
        turn.running = self.outer
        try:
            if self._replaced:
                _signals.signal(signal.SIGINT, signal.default_int_handler)
        finally:
            interrupted = self._replaced and _interrupt.came
            if interrupted:
                _interrupt.came = False
            turn.lock.release()
        if turn.dropped:
            turn.end_dropped()
        if interrupted:
            raise KeyboardInterrupt from None


class Reading:
    """A call of the library that any number of threads may make at once, also while another runs; `close` waits for it."""

    def __init__(self, held: "Held") -> None:
        self.held = held

    def __enter__(self) -> None:
        held = self.held
        with held.changed:
            if not held.pointer:
                raise StateError(f"this {held.called} is closed")
            held.readers.append(threading.get_ident())

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        held = self.held
        with held.changed:
            held.readers.remove(threading.get_ident())
            held.changed.notify_all()


def guarded(kind: Any, function: Callable[..., Any], *, cancels: bool = True) -> Any:
    """`function` as a callback of type `kind`. What it raises cancels the call that it is called from (where the callback returns an int),
    and `check` raises it there. Ctrl-C cancels, too. cancels: False where what it returns means something else; 0 is returned where it raised."""
    def call(*arguments: Any) -> int:
        try:
            return int(function(*arguments) or (cancels and _interrupt.came and threading.current_thread() is threading.main_thread()))
        except BaseException as error:  # pylint: disable=broad-exception-caught  # nothing may be raised into C
            _raised[threading.get_ident()] = error
            return int(cancels)

    def call_void(*arguments: Any) -> None:
        try:
            function(*arguments)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            _raised[threading.get_ident()] = error

    return kind(call_void if kind._restype_ is None else call)


def check(status: int) -> None:
    """Raises what a callback of this call raised, or the exception of a status that is not TSR_OK."""
    if _raised:
        error = _raised.pop(threading.get_ident(), None)
        if error is not None:
            raise error
    if status != c.TSR_OK:
        raise failure(status, lib.tsr_error_last())


def failure(status: int, sentence: Optional[bytes]) -> TesseraError:
    """The exception of a status that is not TSR_OK."""
    return BY_STATUS.get(status, InternalError)(text(sentence))


@functools.lru_cache(maxsize=None)
def field_type(struct: Any, name: str) -> Any:
    """The type of a struct's field: of a callback, for `guarded`; of a number, for `whole`."""
    return next(field[1] for field in struct._fields_ if field[0] == name)


def progress_callback(struct: Any, told: Optional[Callable[[int, int], Any]] = None) -> Any:
    """For the field `progress` of an options struct: lets Ctrl-C in, and tells `told` (done, total); True from it cancels."""
    return guarded(field_type(struct, "progress"), lambda _, done, total: bool(told(done, total)) if told else False)


# ---- texts, names, arrays ----

def encoded(value: str) -> bytes:
    """UTF-8, for a text whose size is given with it. Lone surrogates become bytes that are not UTF-8, which the library reads as U+FFFD."""
    return value.encode("utf-8", "surrogatepass")


def ended(value: str) -> bytes:
    """UTF-8, for a text that ends with a 0 byte in C. ValueError: it contains one."""
    return _without_nul(encoded(value), value)


def path_of(value: Path) -> bytes:
    """ValueError: the path contains a 0 byte."""
    return _without_nul(os.fsencode(value), value)


def _without_nul(data: bytes, value: Path) -> bytes:
    if b"\0" in data:
        raise ValueError(f"{value!r:.60} contains a NUL character, at which the library would end it; remove it")
    return data


def paths_of(values: Union[Path, Iterable[Path]]) -> List[bytes]:
    """path_of a path, or of each of several."""
    several: Iterable[Path] = [values] if isinstance(values, (str, os.PathLike)) else values
    return [path_of(value) for value in several]


def text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


def bytes_at(pointer: Any, size: int) -> bytes:
    return ctypes.string_at(pointer, size) if size else b""


def text_list(values: Sequence[bytes]) -> Any:
    """A `const char *const *`."""
    return (ctypes.c_char_p * max(len(values), 1))(*values)


def listed(texts: Iterable[str]) -> List[str]:
    """The texts as a list. TypeError: it is one text, or some are not texts."""
    found = list(texts)
    if isinstance(texts, str) or not all(isinstance(t, str) for t in found):
        raise TypeError("a list of str is expected")
    return found


_CHARACTERS = ctypes.POINTER(ctypes.c_char)


def strings(texts: Sequence[str]) -> Tuple[Any, object]:
    """(a `const tsr_string *` of the texts, what must live as long as it)."""
    texts = listed(texts)
    if len(texts) == 1:
        whole = encoded(texts[0])
        return ctypes.pointer(c.tsr_string(ctypes.cast(ctypes.c_char_p(whole), _CHARACTERS), len(whole))), whole
    parts = [encoded(t) for t in texts]
    sizes = np.fromiter(map(len, parts), np.uintp, len(parts))
    whole = b"".join(parts)
    table = np.empty((max(len(parts), 1), 2), np.uintp)
    if parts:
        start = ctypes.cast(ctypes.c_char_p(whole), ctypes.c_void_p).value or 0
        table[:, 1] = sizes
        table[:, 0] = start + np.concatenate(([0], np.cumsum(sizes[:-1]))).astype(np.uintp)
    return table.ctypes.data_as(ctypes.POINTER(c.tsr_string)), (whole, table)


def pointer(array: NDArray[Any], kind: Any) -> Any:
    """The address of a contiguous array, for a parameter of type `kind *`."""
    if array.size and array.flags.writeable:  # a third of the time of what follows
        return ctypes.pointer(kind.from_buffer(array))
    return array.ctypes.data_as(ctypes.POINTER(kind))


_DLPACK_CPU = 1  # kDLCPU, of DLPack's DLDeviceType


def array_of(values: Any) -> NDArray[Any]:
    """The values as an array, without a copy where their memory can be read in place: by NumPy's protocols, or by __dlpack__ alone.

    ValueError: NumPy can't read what is offered by __dlpack__ alone, such as the memory of a GPU, or a dtype that NumPy lacks. What offers __array__
    raises its own errors.
    """
    if hasattr(values, "__array__") or not hasattr(values, "__dlpack__"):
        return np.asarray(values)
    try:
        found: NDArray[Any] = np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError) as error:
        advice = "convert it to a dtype that NumPy has" if values.__dlpack_device__()[0] == _DLPACK_CPU else "give one in the host's memory"
        raise ValueError(f"NumPy can't read the array of class {type(values).__name__} by its __dlpack__: {error}; {advice}") from error
    return found


def ids_of(ids: Union[Sequence[int], NDArray[Any]]) -> NDArray[np.int32]:
    """Token ids as the library reads them; an int32 array that is contiguous is not copied.

    ValueError: they are not whole numbers in one dimension
    """
    array = array_of(ids)
    if array.size == 0:
        array = array.astype(np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"token ids are a list of whole numbers; an array {list(array.shape)} of {array.dtype} was given")
    if array.dtype != np.int32 and array.size and (array.min() < -2**31 or array.max() >= 2**31):
        raise ValueError(f"token ids have 32 bits; one of them is {max(array.max(), -array.min())}")
    return np.ascontiguousarray(array, np.int32)


@functools.lru_cache(maxsize=None)
def _limits(kind: Any) -> Optional[Tuple[int, int]]:
    """The least and the largest number of a C type; None: it is no whole number."""
    if getattr(kind, "_type_", None) not in tuple("bBhHiIlLqQ"):
        return None
    bits = 8 * ctypes.sizeof(kind)
    return (-2**(bits - 1), 2**(bits - 1) - 1) if kind(-1).value < 0 else (0, 2**bits - 1)


def whole(name: str, value: Any, kind: Any) -> Any:
    """A value of the setting `name`, for a C parameter or field of the type `kind`: of a number that is too large, ctypes takes the lowest bits.

    Raises ArgumentError: it is outside of the type's range; TypeError: the type is one of whole numbers, and the value is none.
    """
    limits = _limits(kind)
    if limits is None:
        return value
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: give a whole number") from None
    if not limits[0] <= number <= limits[1]:
        raise ArgumentError(f"{name}={number}: give a whole number from {limits[0]} to {limits[1]}")
    return number


def put(struct: Any, field: str, value: Any, name: str = "") -> None:
    """Sets a struct's field to the value of the setting `name`; "": it is named like the field. Raises what `whole` does."""
    kind: Any = type(struct)
    setattr(struct, field, whole(name or field, value, field_type(kind, field)))


def new(struct: Type[Any], **fields: Any) -> Any:
    """A struct with struct_size and these fields set. Raises what `whole` does."""
    made = struct()
    made.struct_size = ctypes.sizeof(struct)
    for name, value in fields.items():
        put(made, name, value)
    return made


def named(what: str, value: Optional[str], names: "dict[str, int]") -> int:
    """The number of a name; None: 0."""
    if value is None:
        return 0
    if value not in names:
        raise ValueError(f"{what}={value!r}: it is one of {', '.join(names)}")
    return names[value]


def nearest(typed: str, names: Sequence[str]) -> str:
    """" Did you mean max_length?", or ""."""
    found = lib.tsr_name_nearest(encoded(typed), text_list([encoded(n) for n in names]), len(names))
    return f". Did you mean {text(found)}?" if found else ""


# ---- objects ----

class Stream:
    """What a thread generates for an iterator."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.stopped = threading.Event()  # asks it to end with the next token
        self.thread = threading.Thread(target=work, name="tessera_cl stream", daemon=True)


class Held:
    """What a Handle holds of the library, with what was made from it. It doesn't refer to the Handle: the garbage collector may end a Handle
    before the Handles that were made from it.

    called: the class of the Handle, for messages
    alone: the library takes one call at a time for it and what was made from it
    """

    def __init__(self, kind: Any, destroy: str, parent: "Optional[Held]", called: str, alone: bool) -> None:
        self.pointer = ctypes.POINTER(kind)()
        self.turn: Turn = parent.turn if parent is not None else Turn()
        self.parent = parent
        self.shares: Optional[Held] = None  # the object with which it shares that one call
        if parent is not None:
            self.shares = parent if parent.alone else parent.shares
        self.children: "Set[Held]" = set()
        self.streams: Set[Stream] = set()
        self.readers: List[int] = []  # the threads of calls that are a Reading
        self.changed = threading.Condition()
        self.called = called
        self.alone: bool = alone
        self._destroy = destroy

    def stop(self) -> List[Stream]:
        """Asks its streams to end, and those of what was made from it; gives them."""
        found = list(self.streams)
        for stream in found:
            stream.stopped.set()
        for child in list(self.children):
            found += child.stop()
        return found

    def close(self) -> None:
        """Waits for the calls of other threads. StateError: it is called from a callback of a call that uses it."""
        if self.pointer and ((self.turn.is_mine() and self.turn.uses(self)) or threading.get_ident() in self.readers):
            raise StateError(f"this {self.called} is in a call, whose callback can't close it; stop the call, and close it when that has returned")
        self.stop()
        self.end()

    def drop(self) -> None:
        """The garbage collector ended the Handle, perhaps during a call: then the end of that call frees it."""
        self.stop()
        self.turn.dropped.append(self)
        self.turn.end_dropped()

    def end(self) -> None:
        with self.turn:
            for child in list(self.children):
                child.end()
            if self.parent is not None:
                self.parent.children.discard(self)
            with self.changed:
                while self.readers:
                    self.changed.wait()
                if self.pointer:
                    getattr(lib, self._destroy)(ctypes.byref(self.pointer))


class Handle:
    """An object of the library. It is closed by `close`, at the end of a `with`, or when nothing refers to it; objects that were made from
    it are closed before it."""

    _destroy = ""  # the function that destroys it
    _alone = False  # the library takes one call at a time for it and what was made from it

    def __init__(self, kind: Any, parent: Optional["Handle"] = None) -> None:
        self._held: Held = Held(kind, self._destroy, parent._held if parent else None, type(self).__name__, self._alone)
        self._parent = parent

    def _made(self) -> None:
        """The pointer is set: from now on it must be closed before its parent."""
        if self._held.parent is not None:
            self._held.parent.children.add(self._held)

    @property
    def _out(self) -> Any:
        """The parameter `**out` of a creator."""
        return ctypes.byref(self._held.pointer)

    @property
    def _open(self) -> Any:
        """The pointer. StateError: it is closed."""
        if not self._held.pointer:
            raise StateError(f"this {self._held.called} is closed")
        return self._held.pointer

    def _running(self) -> Running:
        """For `with`, around a call that uses the device. StateError: a callback of a call on the same model makes it."""
        return Running(self._held)

    def _reading(self) -> Reading:
        """For `with`, around a call that the library takes from any thread at any time. StateError: it is closed."""
        return Reading(self._held)

    @property
    def closed(self) -> bool:
        return not self._held.pointer

    def close(self) -> None:
        """Frees what it holds; a second call does nothing. Ends its streams, and waits for any other call that runs in another thread.

        Raises StateError: a callback of a call that uses it closes it.
        """
        self._held.close()

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def _drop(self) -> None:
        """Closes it for the garbage collector."""
        self._held.drop()

    def __del__(self) -> None:
        if hasattr(self, "_held") and self._held.pointer and lib is not None:
            self._drop()

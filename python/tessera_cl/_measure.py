"""Proving and measuring a device, and training."""

from __future__ import annotations

import ctypes
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, Union, cast

from . import _declarations as c
from ._declarations import ExplainedOp, TrainEvent, TrainResult, VerifyResult, VerifySummary
from ._device import Device, opened
from ._generate import Model
from ._library import Path, bytes_at, check, ended, field_type, guarded, lib, named, new, path_of, paths_of, text_list, whole
from ._model import COMPUTES, DTYPES, ModelOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

TASKS = {"generate": c.TSR_TRAIN_GENERATE, "fill_mask": c.TSR_TRAIN_FILL_MASK, "translate": c.TSR_TRAIN_TRANSLATE, "classify": c.TSR_TRAIN_CLASSIFY,
         "classify_tokens": c.TSR_TRAIN_CLASSIFY_TOKENS}
AnyDevice = Optional[Union[Device, str, int]]


@dataclass(frozen=True)
class Verified:
    """What verify() found; it is true where every kernel variant was within its bound."""

    summary: VerifySummary
    results: Tuple[VerifyResult, ...]

    def __bool__(self) -> bool:
        return self.summary.misses == 0 and self.summary.errors == 0


def verify(device: Optional[Union[str, int]] = None, *, op: Optional[str] = None, smoke: bool = True,
           progress: Optional[Callable[[VerifyResult], Any]] = None) -> Verified:
    """Compares the kernel variants that fit a device with the reference, on that device.

    op: only this one
    smoke: the largest case of each kernel variant that takes a moment; False: every case, which takes many minutes
    progress: given each result; True from it cancels

    Raises ArgumentError: there is no such op; CancelledError: progress asked for it.
    """
    results: List[VerifyResult] = []

    def take(_: Any, found: Any) -> bool:
        results.append(VerifyResult._of(found[0]))
        return bool(progress(results[-1])) if progress else False

    options, summary = new(c.tsr_verify_options, level=smoke, op=ended(op) if op else None), new(c.tsr_verify_summary)
    with Device(device, self_test=False) as one, one._running():
        check(lib.tsr_verify(one._open, ctypes.byref(options), guarded(lib.tsr_verify.argtypes[2], take), None, ctypes.byref(summary)))
    return Verified(VerifySummary._of(summary), tuple(results))


def explain(model: Path, device: AnyDevice = None, dtype: Optional[str] = None, *, tokens: int = 1, encoder: bool = False,
            **options: Unpack[ModelOptions]) -> List[ExplainedOp]:
    """Opens a model and says which kernel variant runs each of its ops, and why not the others: `Model.explain`.

    Raises what Model and `Model.explain` do.
    """
    with Model(model, device, dtype, **options) as one:
        return one.explain(tokens, encoder=encoder)


def bench(model: Optional[Path] = None, device: AnyDevice = None, *, dtype: Optional[str] = None, compute: str = "auto", prompts: Sequence[int] = (512,),
          generates: Sequence[int] = (128,), depths: Sequence[int] = (0,), batches: Sequence[int] = (1,), repeats: int = 5,
          progress: Optional[Callable[[str], Any]] = None, output: Optional[Path] = None) -> Dict[str, Any]:
    """Measures a device's peaks, then a model on it, and gives what `tessera bench` writes to a file: docs/benchmark-schema.json. The commit, compiler
    and flags in it are those of the command, and None here.

    model: None: the peaks alone
    prompts, generates: tokens of a prompt, and tokens that are generated; each at each depth and each batch
    progress: told what comes next; True from it cancels
    output: a file that gets the same as text, for `tessera bench report` and `compare`, which check its hash

    Raises ArgumentError: a size is below its least; CancelledError: progress asked for it; OSError: the file can't be written. What goes wrong
    with a model is a row.
    """
    part = None if output is None else f"{os.fsdecode(output)}.part"
    try:
        if part is not None:  # a wrong path is refused before anything is measured
            with open(part, "wb"):
                pass
        one, owned = opened(device)
        try:
            text = _bench(one, model, dtype, compute, (prompts, generates, depths, batches), repeats, progress)
        finally:
            if owned:
                one.close()
        if output is not None and part is not None:
            with open(part, "wb") as file:
                file.write(text)
            os.replace(part, output)
    finally:
        if part is not None and os.path.exists(part):
            os.unlink(part)
    return cast(Dict[str, Any], json.loads(text))


def _bench(device: Device, model: Optional[Path], dtype: Optional[str], compute: str, sizes: Sequence[Sequence[int]], repeats: int,
           progress: Optional[Callable[[str], Any]]) -> bytes:
    options = new(c.tsr_bench_options, repeats=repeats,
                  progress=guarded(field_type(c.tsr_bench_options, "progress"), lambda _, what: bool(progress(what.decode())) if progress else False))
    for name, values in zip(("prompts", "generates", "depths", "batches"), sizes):
        setattr(options, name, (ctypes.c_int64 * max(len(values), 1))(*(whole(name, v, ctypes.c_int64) for v in values)))
        setattr(options, f"n_{name}", len(values))
    storage = new(c.tsr_model_options, dtype=named("dtype", dtype, DTYPES), compute=named("compute", compute, COMPUTES))
    engine = device.engine
    file = ctypes.POINTER(c.tsr_bench_file)()
    check(lib.tsr_bench_file_create(None, ctypes.byref(file)))
    try:
        info = engine.struct(device.info.index)
        check(lib.tsr_bench_file_device(file, ctypes.byref(info), device.threads))
        with device._running():
            check(lib.tsr_bench(engine._open, device._open, path_of(model) if model is not None else None, ctypes.byref(storage), ctypes.byref(options),
                                guarded(lib.tsr_bench.argtypes[5], lambda _, row: check(lib.tsr_bench_file_row(file, row))), None, None))
        out, n = ctypes.POINTER(ctypes.c_char)(), ctypes.c_size_t()
        check(lib.tsr_bench_file_text(file, 0, ctypes.byref(out), ctypes.byref(n)))
        try:
            return bytes_at(out, n.value)
        finally:
            lib.tsr_text_free(out)
    finally:
        lib.tsr_bench_file_destroy(ctypes.byref(file))


def train(recipe: Optional[str] = None, *, data: Union[Path, Sequence[Path]], output: Path, model: Optional[Path] = None,
          validation: Union[Path, Sequence[Path]] = (), task: Optional[str] = None, device: AnyDevice = None,
          callback: Optional[Callable[[TrainEvent], Any]] = None, resume: bool = False, head_only: bool = False, dry_run: bool = False,
          settings: Optional[Dict[str, Any]] = None) -> TrainResult:
    """Trains a model from scratch by a recipe, or a given one further, and leaves a folder that opens like any other model.

    recipe: a name (`recipes()`) or a .json file; None: train `model` further
    data, validation: a file, or several: .jsonl, .tsv, .csv, else plain text (docs/training.md)
    output: the new folder; with `resume` the folder of the run that goes on
    task: "generate", "fill_mask", "translate", "classify", "classify_tokens"; None: what the model is made for
    callback: given each TrainEvent; True from it saves a checkpoint and stops (CancelledError)
    settings: values that override the recipe's, by the names in docs/training.md
    Ctrl-C saves a checkpoint, too: KeyboardInterrupt is raised after that.

    Raises ArgumentError: a setting is wrong; FormatError: a file breaks its format; FileError: the output exists or can't be written;
    StateError: a loss or gradient is not finite.
    """
    told = guarded(field_type(c.tsr_train_options, "progress"), lambda _, event: bool(callback(TrainEvent._of(event[0]))) if callback else False)
    texts = [f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in (settings or {}).items()]
    lists = {"data": paths_of(data), "validation": paths_of(validation), "set": [ended(t) for t in texts]}
    options = new(c.tsr_train_options, task=named("task", task, TASKS), output=path_of(output), recipe=ended(recipe) if recipe else None,
                  model=path_of(model) if model is not None else None, head_only=head_only, resume=resume, dry_run=dry_run, progress=told)
    for name, values in lists.items():
        setattr(options, name, text_list(values))
        setattr(options, f"n_{name}", len(values))
    result = new(c.tsr_train_result)
    one, owned = opened(device)
    try:
        with one._running():
            check(lib.tsr_train(one._open, ctypes.byref(options), ctypes.byref(result)))
    finally:
        if owned:
            one.close()
    return TrainResult._of(result)


def recipes() -> Dict[str, str]:
    """The bundled recipes: their names and files."""
    found: Dict[str, str] = {}
    visit = guarded(lib.tsr_train_recipes.argtypes[0], lambda _, name, path: found.__setitem__(name.decode(), path.decode()))
    check(lib.tsr_train_recipes(visit, None))
    return found

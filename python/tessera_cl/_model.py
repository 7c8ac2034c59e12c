"""A model: facts about it, its tokenizer, what it generates, and what it computes inside."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, TypedDict, Union

import numpy as np
from numpy.typing import NDArray

from . import _declarations as c
from ._declarations import ExplainedOp, ModelInfo, ModelMemory, Perplexity, Profiled
from ._device import Device, opened
from ._library import (Handle, Path, array_of, bytes_at, check, encoded, ended, guarded, ids_of, lib, named, new, path_of, paths_of, pointer, progress_callback, put,
                       text, text_list, whole)
from .errors import FileError, StateError

DTYPES = {"f32": c.TSR_F32, "f16": c.TSR_F16, "bf16": c.TSR_BF16, "q8": c.TSR_GGML_Q8_0, "q4": c.TSR_GGML_Q4_0}
KV_DTYPES = {"f32": c.TSR_F32, "f16": c.TSR_F16, "q8": c.TSR_GGML_Q8_0}
COMPUTES = {"auto": c.TSR_MODEL_COMPUTE_AUTO, "f32": c.TSR_MODEL_COMPUTE_F32, "f16": c.TSR_MODEL_COMPUTE_F16, "int8": c.TSR_MODEL_COMPUTE_INT8,
            "bf16": c.TSR_MODEL_COMPUTE_BF16}
Ids = Union[Sequence[int], NDArray[Any]]
Text = Union[str, Ids]  # a text, or its token ids


@dataclass(frozen=True)
class AttentionMap:
    """One kind of attention of a text.

    kind: "self", "causal" or "cross"
    queries, keys: whose: "text"; "source" or "target" of an encoder-decoder
    query, key: the tokens, [T] and [S], as texts with the space before them
    first_layer, first_head: the number of the first one in `weights`
    weights: float32 [layers, heads, T, S], read-only; each row sums to 1
    """

    kind: str
    queries: str
    keys: str
    query: Tuple[str, ...]
    key: Tuple[str, ...]
    first_layer: int
    first_head: int
    weights: NDArray[np.float32]


class Attention(Handle):
    """The attention of one text (`Model.attention`). `maps` has one map for a model of one stack; cross, source and target for an
    encoder-decoder. The arrays are the library's own memory: they stay valid after `close` where something refers to them."""

    _destroy = "tsr_attention_destroy"

    def __init__(self, model: "Base", source: str, options: Any) -> None:
        super().__init__(c.tsr_attention)
        data = encoded(source)
        with model._running():
            check(lib.tsr_attention_create(model._open, data, len(data), ctypes.byref(options), self._out))
        self.maps: Tuple[AttentionMap, ...] = tuple(self._map(i) for i in range(lib.tsr_attention_map_count(self._open)))

    def _map(self, index: int) -> AttentionMap:
        found = new(c.tsr_attention_map)
        check(lib.tsr_attention_map_get(self._open, index, ctypes.byref(found)))
        shape = (found.layers, found.heads, found.T, found.S)
        # The arrays refer to a buffer that refers to the owner of the memory.
        memory: Any = (ctypes.c_float * int(np.prod(shape))).from_address(ctypes.addressof(found.weights.contents))
        memory._owner = self._keeper()
        weights: NDArray[np.float32] = np.frombuffer(memory, np.float32).reshape(shape)
        weights.flags.writeable = False
        return AttentionMap(("self", "causal", "cross")[found.kind], text(found.queries), text(found.keys),
                            tuple(text(found.query[i].text) for i in range(found.T)), tuple(text(found.key[i].text) for i in range(found.S)),
                            found.first_layer, found.first_head, weights)

    def _keeper(self) -> "_Memory":
        """What destroys the C object, once neither this object nor an array needs it."""
        if not hasattr(self, "_memory"):
            self._memory = _Memory(self._held.pointer)
        return self._memory

    def close(self) -> None:
        """The maps stay; `write_page` is refused."""
        self._held.pointer = type(self._held.pointer)()

    def _drop(self) -> None:
        self.close()

    def write_page(self, path: Path) -> None:
        """Writes a page for a browser: heat maps of every layer and head. It is one file and needs no network.

        Raises ArgumentError: it would be larger than 5 MB; FileError: it can't be written.
        """
        check(lib.tsr_attention_write_page(self._open, path_of(path)))


class _Memory:
    def __init__(self, handle: Any) -> None:
        self._handle = type(handle)(handle.contents)
        self._destroy = lib.tsr_attention_destroy

    def __del__(self) -> None:
        self._destroy(ctypes.byref(self._handle))


class Session(Handle):
    """A model run token by token: the caller chooses what follows. Made by `Model.session`."""

    _destroy = "tsr_session_destroy"

    def __init__(self, model: "Base", sequences: int, context: int, reserve: int) -> None:
        super().__init__(c.tsr_session, model)
        self.sequences = sequences
        self._vocab = model.info.vocab
        options = new(c.tsr_session_options, sequences=sequences, context=context, reserve=reserve)
        with self._running():
            check(lib.tsr_session_create(model._open, ctypes.byref(options), self._out))
        self._made()

    def length(self, sequence: int = 0) -> int:
        """Tokens of a sequence so far; 0 where there is no such sequence.

        Raises ArgumentError: the number is not one of 32 bits.
        """
        return int(lib.tsr_session_length(self._open, whole("sequence", sequence, ctypes.c_uint32)))

    def encode(self, ids: Ids, sequence: int = 0) -> None:
        """Encodes what an encoder-decoder reads, for a sequence, which becomes empty.

        Raises ArgumentError: an id past the vocabulary, or more tokens than the encoder reads; StateError: the model has no encoder, or another
        sequence, forked from this one, still reads its text; ValueError: the ids are not whole numbers.
        """
        given, slot = ids_of(ids), whole("sequence", sequence, ctypes.c_uint32)
        with self._running():
            check(lib.tsr_session_encode(self._open, slot, pointer(given, ctypes.c_int32), len(given)))

    def prefill(self, ids: Ids, sequence: int = 0) -> NDArray[np.float32]:
        """Appends tokens to a sequence. Gives the logits of the last one, float32 [V], natural logarithms that are not normalised.

        Raises ArgumentError: an id past the vocabulary, or more tokens than the context holds; StateError: another sequence, forked from this
        one, reads tokens that would be overwritten; DeviceMemoryError: the sequence is what it was; ValueError: the ids are not whole numbers.
        """
        given, logits, slot = ids_of(ids), np.empty(self._vocab, np.float32), whole("sequence", sequence, ctypes.c_uint32)
        with self._running():
            check(lib.tsr_session_prefill(self._open, slot, pointer(given, ctypes.c_int32), len(given), pointer(logits, ctypes.c_float), None))
        return logits

    def step(self, ids: Union[Sequence[Sequence[int]], NDArray[Any]]) -> NDArray[np.float32]:
        """Appends n tokens to every sequence: ids [sequences, n]. Gives the logits of the last ones, float32 [sequences, V].

        Raises what `prefill` does; ValueError: the ids have another shape.
        """
        table = array_of(ids)
        if table.ndim != 2 or table.shape[0] != self.sequences:
            raise ValueError(f"ids have the shape [{self.sequences}, n]; {list(table.shape)} was given")
        given, logits = ids_of(table.reshape(-1)), np.empty((self.sequences, self._vocab), np.float32)
        with self._running():
            check(lib.tsr_session_step(self._open, pointer(given, ctypes.c_int32), table.shape[1], pointer(logits, ctypes.c_float), None))
        return logits

    def fork(self, source: int, to: int) -> None:
        """Makes sequence `to` a copy of sequence `source`; no key or value is copied.

        Raises ArgumentError: there is no such sequence, or the two are the same.
        """
        first, second = whole("source", source, ctypes.c_uint32), whole("to", to, ctypes.c_uint32)
        with self._running():
            check(lib.tsr_session_fork(self._open, first, second))

    def rewind(self, sequence: int, length: int) -> None:
        """Cuts a sequence to its first `length` tokens.

        Raises ArgumentError: there is no such sequence, or it has fewer tokens.
        """
        slot, kept = whole("sequence", sequence, ctypes.c_uint32), whole("length", length, ctypes.c_int64)
        with self._running():
            check(lib.tsr_session_rewind(self._open, slot, kept))


class ModelOptions(TypedDict, total=False):
    """What every class that opens a model takes by name, besides its own parameters; `Base` says what it means."""

    compute: str
    kv_dtype: Optional[str]
    context: int
    lora: Union[Path, Sequence[Path]]
    task: Optional[str]
    progress: Optional[Callable[[int, int], Any]]


class Base(Handle):
    """What Model, Embedder, Classifier and the others have in common: an open model.

    name_or_path: a folder of Hugging Face or CTranslate2, a .gguf or llama2.c file, the name of a bundled model, org/name[@revision][:quantisation] or
        a name of Ollama in a cache (`models` lists them), "shape:NAME"; None: the default model
    device: as `Device` takes it, or an open Device, which is then shared; None: TESSERA_DEVICE, else the default
    dtype: how matrices are stored: "f32", "f16", "bf16", "q8", "q4"; None: as in the file
    compute: how their products are formed: "auto", "f32", "f16", "bf16", "int8"
    kv_dtype: how keys and values are stored: "f32", "f16", "q8"; None: as the library chooses
    context: tokens of a sequence for which there must be memory when it is opened; 0: what the model reads, but at most 2,048
    lora: the folder of a LoRA adapter, or those of several, which are added to the weights
    task: of a model whose own files have LoRA adapters by task (jina-embeddings-v3), the one to take; "": none; None: the files' own, else none
    progress: told (bytes stored on the device, all bytes); True from it cancels

    Raises FileError: there is no such path; FormatError: a file breaks its format; UnsupportedError: an architecture, dtype or setting
    that is not supported; DeviceMemoryError, HostMemoryError: the model does not fit.
    """

    _destroy = "tsr_model_close"
    _alone = True
    _tokenizer_only = False
    _vectors = False  # opened for vectors: a decoder is read as an encoder

    def __init__(self, name_or_path: Optional[Path] = None, device: Optional[Union[Device, str, int]] = None, dtype: Optional[str] = None, *,
                 compute: str = "auto", kv_dtype: Optional[str] = None, context: int = 0, lora: Union[Path, Sequence[Path]] = (),
                 task: Optional[str] = None, progress: Optional[Callable[[int, int], Any]] = None) -> None:
        adapters = paths_of(lora)
        options = new(c.tsr_model_options, dtype=named("dtype", dtype, DTYPES), kv_dtype=named("kv_dtype", kv_dtype, KV_DTYPES),
                      compute=named("compute", compute, COMPUTES), context=context, n_lora=len(adapters), lora=text_list(adapters),
                      progress=progress_callback(c.tsr_model_options, progress), tokenizer_only=self._tokenizer_only,
                      vectors=self._vectors, **({} if task is None else {"task": ended(task)}))
        self._device: Optional[Device] = None
        self._owned = False
        if not self._tokenizer_only:
            self._device, self._owned = opened(device)
        super().__init__(c.tsr_model, self._device)
        try:
            with self._running():
                check(lib.tsr_model_open(path_of(name_or_path) if name_or_path is not None else None, self._device._open if self._device else None,
                                         ctypes.byref(options), self._out))
        except BaseException:
            if self._owned and self._device:
                self._device.close()
            raise
        self._made()
        self.info: ModelInfo = self._info()

    def _info(self) -> ModelInfo:
        info = new(c.tsr_model_info)
        check(lib.tsr_model_info_get(self._open, ctypes.byref(info)))
        return ModelInfo._of(info)

    def close(self) -> None:
        """Frees the model, and the device where the model opened it; a second call does nothing. Ends its streams.

        Raises StateError: a callback of a call that uses it closes it.
        """
        super().close()
        if self._owned and self._device:
            self._device.close()

    def _drop(self) -> None:
        super()._drop()
        if self._owned and self._device:
            self._device._drop()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.info.path}{', closed' if self.closed else ''}>"

    @property
    def device(self) -> Optional[Device]:
        """The device that it runs on; None for a tokenizer alone."""
        return self._device

    @property
    def memory(self) -> ModelMemory:
        """Device memory in use, in bytes."""
        found = new(c.tsr_model_memory)
        with self._held.turn:  # a callback may ask, too
            check(lib.tsr_model_memory_get(self._open, ctypes.byref(found)))
        return ModelMemory._of(found)

    def describe(self) -> Dict[str, str]:
        """The model's settings (positions, norms, windows, tokenizer, ...) for a reader."""
        found: Dict[str, str] = {}
        visit = guarded(ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p),
                        lambda _, name, value: found.__setitem__(text(name), text(value)))
        with self._reading():
            check(lib.tsr_model_describe(self._open, visit, None))
        return found

    # ---- the tokenizer ----

    def tokenize(self, source: str, *, add_special_tokens: bool = True, parse_special: bool = False) -> NDArray[np.int32]:
        """Token ids of a text, int32 [n].

        add_special_tokens: add the tokens that the model's template puts around a text
        parse_special: the name of a special token in the text stands for that token
        Raises StateError: the model has no tokenizer that is supported.
        """
        data = encoded(source)
        ids, n = ctypes.POINTER(ctypes.c_int32)(), ctypes.c_size_t()
        flags = (c.TSR_ENCODE_ADD_SPECIAL if add_special_tokens else 0) | (c.TSR_ENCODE_PARSE_SPECIAL if parse_special else 0)
        with self._reading():
            check(lib.tsr_encode(self._open, data, len(data), flags, ctypes.byref(ids), ctypes.byref(n)))
        try:
            return np.ctypeslib.as_array(ids, (n.value,)).copy() if n.value else np.empty(0, np.int32)
        finally:
            lib.tsr_ids_free(ids)

    def detokenize(self, ids: Ids, *, skip_special_tokens: bool = True) -> str:
        """The text of token ids.

        Raises ArgumentError: an id is outside the vocabulary.
        """
        given = ids_of(ids)
        out, n = ctypes.POINTER(ctypes.c_char)(), ctypes.c_size_t()
        with self._reading():
            check(lib.tsr_decode(self._open, pointer(given, ctypes.c_int32), len(given), skip_special_tokens, ctypes.byref(out), ctypes.byref(n)))
        try:
            return text(bytes_at(out, n.value))
        finally:
            lib.tsr_text_free(out)

    def piece(self, token: int) -> Optional[bytes]:
        """The piece of an id, spelled as in the tokenizer's file; None for an id that has none.

        Raises ArgumentError: the id is not a number of 32 bits.
        """
        n = ctypes.c_size_t()
        number = whole("token", token, ctypes.c_int32)
        with self._reading():
            found = lib.tsr_piece(self._open, number, ctypes.byref(n))
            return bytes_at(found, n.value) if found else None

    # ---- why it runs as it does ----

    def explain(self, tokens: int = 1, *, encoder: bool = False) -> List[ExplainedOp]:
        """The ops of the plan that runs `tokens` tokens of one sequence (1: decode; more: prefill), with the kernel variants that were
        considered for each; encoder: of the plan that encodes a text of so many tokens.

        Raises ArgumentError: tokens is less than 1; StateError: the model has no encoder, or was opened without a device.
        """
        found: List[ExplainedOp] = []
        function = lib.tsr_explain_encoder if encoder else lib.tsr_explain
        visit = guarded(function.argtypes[2], lambda _, op: found.append(ExplainedOp._of(op[0])))
        with self._running():
            check(function(self._open, whole("tokens", tokens, ctypes.c_int64), visit, None))
        return found

    def profile(self) -> List[Profiled]:
        """The time of each kernel over everything that the model ran, on a Device with profile=True.

        Raises StateError: the model was opened without a device.
        """
        found: List[Profiled] = []
        visit = guarded(lib.tsr_profile.argtypes[1], lambda _, entry: found.append(Profiled._of(entry[0])))
        with self._running():
            check(lib.tsr_profile(self._open, visit, None))
        return found

    # ---- what it computes inside ----

    def dump(self, texts: Union[str, Sequence[Text]], *, attention: bool = False, decoder_ids: Optional[Sequence[Ids]] = None) -> Dict[str, NDArray[np.float32]]:
        """Runs texts as a batch and gives what the model computes: float32 arrays with the names of tessera/dump.h, "hidden.0" [B, T, C],
        "logits" [B, T, V], ...; shorter texts are padded on the right, and padded places hold 0.

        attention: "attn.0" [B, H, T, T] and so on, too
        decoder_ids: of an encoder-decoder, what the decoder reads; None: the start token alone

        Raises ArgumentError: an id outside the vocabulary, a row longer than the context, an empty row, or decoder_ids for a model that does
        not read them; StateError: the model was opened without a device; FileError: the file that holds the arrays can't be written.
        """
        rows = [self._ids(t) for t in ([texts] if isinstance(texts, str) else texts)]
        ids, mask = _padded(rows)
        kept = [ids, mask]
        inputs = new(c.tsr_dump_inputs, attention=attention, B=ids.shape[0], T=ids.shape[1], input_ids=pointer(ids, ctypes.c_int64),
                     attention_mask=pointer(mask, ctypes.c_int64))
        if decoder_ids is not None:
            target, seen = _padded([ids_of(row) for row in decoder_ids])
            kept += [target, seen]
            inputs.decoder_T = target.shape[1]
            inputs.decoder_input_ids, inputs.decoder_attention_mask = pointer(target, ctypes.c_int64), pointer(seen, ctypes.c_int64)
        try:
            made = tempfile.TemporaryDirectory()
        except OSError as error:
            raise FileError(f"the arrays need a folder for temporary files: {error}") from error
        with made as folder:
            path = os.path.join(folder, "dump.safetensors")
            with self._running():
                check(lib.tsr_dump(self._open, ctypes.byref(inputs), path_of(path)))
            return _safetensors(path)  # mapped into memory: it lives on without its name

    def logits(self, source: Text) -> NDArray[np.float32]:
        """The logits of each token of a text, float32 [T, V]: what the model expects after it (of a masked LM: in its place; of an
        encoder-decoder, [1, V]: as the first token of what it writes for the text).

        Raises StateError: the model gives vectors, labels or answers, or was opened without a device; ArgumentError: an id outside the vocabulary,
        or a text that is empty or longer than the context; FileError: the temporary file that holds the numbers (of `dump`) can't be written.
        """
        batch = self.dump([source]).get("logits")
        if batch is None or batch.ndim != 3 or batch.shape[2] != self.info.vocab:
            instead = "it gives hidden states" if batch is None else f'its "logits" are {list(batch.shape[1:])}'
            raise StateError(f"{self.info.path} has no logits of tokens, [T, V]: {instead}; see dump")
        rows: NDArray[np.float32] = batch[0].copy()  # a view would keep the whole file
        return rows

    def attention(self, source: str, target: Optional[str] = None, *, layers: Optional[Tuple[int, int]] = None, heads: Optional[Tuple[int, int]] = None,
                  source_language: Optional[str] = None, target_language: Optional[str] = None, max_new_tokens: int = 0) -> Attention:
        """Runs a text and keeps its attention.

        target: what the decoder of an encoder-decoder reads; None: the likeliest text, which is generated first
        layers, heads: (the first, how many); None: all

        Raises ArgumentError: the text is empty or longer than the model reads, there are no such layers or heads, or a target is given for a
        model that is not an encoder-decoder; UnsupportedError: the model has no attention; StateError: it has no tokenizer.
        """
        given = encoded(target) if target is not None else None
        options = new(c.tsr_attention_options, max_new_tokens=max_new_tokens,
                      source_language=ended(source_language) if source_language else None,
                      target_language=ended(target_language) if target_language else None)
        if given is not None:
            options.target, options.target_size = ctypes.cast(ctypes.c_char_p(given), ctypes.POINTER(ctypes.c_char)), len(given)
        for name, first, given_range in (("layers", "first_layer", layers), ("heads", "first_head", heads)):
            put(options, first, (given_range or (0, 0))[0], f"the first of {name}")
            put(options, name, (given_range or (0, 0))[1])
        return Attention(self, source, options)

    def _ids(self, source: Text) -> NDArray[np.int32]:
        return self.tokenize(source, parse_special=True) if isinstance(source, str) else ids_of(source)

    def perplexity(self, source: str, *, window: int = 0, stride: int = 0, progress: Optional[Callable[[int, int], Any]] = None) -> Perplexity:
        """How well a decoder predicts a text, in sliding windows (tessera/evaluate.h); 0: the context, and half a window.

        Raises FormatError: the text has fewer than two tokens; StateError: the model is no decoder alone; CancelledError: progress asked for it.
        """
        data, found = encoded(source), new(c.tsr_perplexity)
        options = new(c.tsr_perplexity_options, window=window, stride=stride, progress=progress_callback(c.tsr_perplexity_options, progress))
        with self._running():
            check(lib.tsr_evaluate_perplexity(self._open, data, len(data), ctypes.byref(options), ctypes.byref(found)))
        return Perplexity._of(found)


def _padded(rows: Sequence[NDArray[np.int32]]) -> Tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(ids [B, T] with 0 behind each row, 1 where a token is)."""
    longest = max((len(row) for row in rows), default=0)
    ids, mask = np.zeros((len(rows), longest), np.int64), np.zeros((len(rows), longest), np.int64)
    for i, row in enumerate(rows):
        ids[i, :len(row)], mask[i, :len(row)] = row, 1
    return ids, mask


def _safetensors(path: str) -> Dict[str, NDArray[np.float32]]:
    """The f32 arrays of a file, as views of its bytes."""
    whole: Any = np.memmap(path, np.uint8, "c")
    size = int(whole[:8].view("<u8")[0])
    header = json.loads(whole[8:8 + size].tobytes())
    header.pop("__metadata__", None)
    return {name: whole[8 + size + a["data_offsets"][0]:8 + size + a["data_offsets"][1]].view("<f4").reshape(a["shape"]).view(np.ndarray)
            for name, a in header.items()}


class Tokenizer(Base):
    """A model's tokenizer alone: the weights are not read, and no device is opened.

    name_or_path: as for Model, or a tokenizer.json, a tokenizer.model or a folder with one of them

    Raises FileError: there is no such path; FormatError: a file breaks its format; StateError, by tokenize: the tokenizer is not supported.
    """

    _tokenizer_only = True

    def __init__(self, name_or_path: Optional[Path] = None) -> None:
        super().__init__(name_or_path)


def models() -> Dict[str, str]:
    """The models that are found by name, and their folders or files: the bundled ones, your own (in the folders of TESSERA_MODELS, and in
    ~/.local/share/tessera/models), and those in the caches of Hugging Face, llama.cpp and Ollama. None is opened, so files of it may be missing, or it may not be supported.
    """
    found: Dict[str, str] = {}

    def visit(_: Any, model: Any) -> None:
        if not model[0].why:  # a name that several caches have opens the first one
            found.setdefault(text(model[0].name), os.fsdecode(model[0].path))

    called = guarded(lib.tsr_model_list.argtypes[0], visit)
    check(lib.tsr_model_list(called, None))
    return found

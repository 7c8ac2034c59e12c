"""Texts as vectors, labels and answers: Embedder, CrossEncoder, Classifier, Answerer, Ranker, FillMask."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _declarations as c
from ._declarations import EmbedderInfo
from ._device import Device
from ._library import Handle, Path, array_of, check, encoded, ended, field_type, guarded, lib, listed, new, pointer, strings, text, whole
from ._model import Base, ModelOptions
from .errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import Unpack

Progress = Callable[[int, int], Any]


class _Listener:
    """Tells `told` the progress of the call that runs. A callback for `guarded`."""

    def __init__(self) -> None:
        self.told: Optional[Progress] = None

    def __call__(self, _: Any, done: int, total: int) -> bool:
        return bool(self.told(done, total)) if self.told else False


class _Part(Handle):
    """An embedder or a classifier of the library, whose callback tells the progress of the call that runs. The model refers to its parts; neither
    they nor the callback refer to it, so that the model is closed when nothing else refers to it."""

    def __init__(self, kind: Any, model: Base, destroy: str, struct: Any) -> None:
        self._destroy = destroy
        super().__init__(kind, model)
        self._parent = None
        self._held.called = type(model).__name__
        self._listener = _Listener()
        self.callback = guarded(field_type(struct, "progress"), self._listener)

    def call(self, told: Optional[Progress], function: Any, *arguments: Any) -> None:
        """Calls a function of the library with this object and the arguments; `told` is told its progress. The caller is within `with self._running()`."""
        self._listener.told = told
        try:
            check(function(self._open, *arguments))
        finally:
            self._listener.told = None


class _Single:
    """The parameters of a call for one text, made once: after each embedding, whose weights have driven everything else out of the caches, making
    them anew takes longer than in a loop of its own."""

    class _Text(ctypes.Structure):
        _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]

    def __init__(self, width: int) -> None:
        self._text = self._Text()
        self._vector = np.empty(width, np.float32)
        self._arguments = (ctypes.cast(ctypes.pointer(self._text), ctypes.POINTER(c.tsr_string)), 1, pointer(self._vector, ctypes.c_float), None)

    def encode(self, part: _Part, told: Optional[Progress], sentence: str) -> NDArray[np.float32]:
        data = encoded(sentence)
        self._text.data, self._text.size = data, len(data)
        part.call(told, lib.tsr_embed, *self._arguments)
        return self._vector.copy()


def _bar(name: str) -> Progress:
    """Draws the progress on standard error."""
    def told(done: int, total: int) -> None:
        sys.stderr.write(f"\r{name}: {done}/{total}" + ("\n" if done == total else ""))
        sys.stderr.flush()
    return told


def _check_taken(batch_size: int, convert_to_numpy: bool) -> None:
    """Of sentence-transformers' parameters that change no result here, the values that can't be served."""
    if not convert_to_numpy:
        raise ValueError("convert_to_numpy=False: the results are NumPy arrays; torch.from_numpy takes them without a copy")
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size}: it is at least 1")


_SETTINGS = "config_sentence_transformers.json"


def _loaded(folder: str, name: str) -> Any:
    """What a JSON file of the folder holds; None where there is no such file."""
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _modules_folder(folder: str) -> str:
    """The folder of the modules.json of the model in `folder`: the one above, where that names this folder first, else this one."""
    above = os.path.dirname(os.path.abspath(folder))
    modules = None if os.path.isfile(os.path.join(folder, "modules.json")) else _loaded(above, "modules.json")
    first = modules[0] if isinstance(modules, list) and modules else None
    inner = first.get("path") if isinstance(first, dict) else None
    place = os.path.join(above, inner) if isinstance(inner, str) else ""
    return above if os.path.isdir(place) and os.path.samefile(place, folder or ".") else folder


def _folder_json(model: Base, name: str, *, of_modules: bool = False) -> Dict[str, Any]:
    """A JSON object beside the model, or beside its modules.json; {} where there is none."""
    place = model.info.path
    folder = place if os.path.isdir(place) else os.path.dirname(place)
    found = _loaded(_modules_folder(folder) if of_modules else folder, name)
    return found if isinstance(found, dict) else {}


class Embedder(Base):
    """Texts as vectors, by a sentence-transformers folder, any other encoder (the mean of its last hidden states, not normalised) or a bare
    decoder such as LlamaModel (the last hidden state of the last token, not normalised).

    name_or_path, device, dtype and the others: as for Model; the default is all-MiniLM-L6-v2, which tessera-get-minilm unpacks
    max_tokens: longer texts are cut; 0: as the model's files say
    pooling: "mean", "cls", "last", "max", "sqrt-mean", "weighted-mean", in place of what the files say; None: as they do

    Raises what Model does; StateError: the model has no encoder or no tokenizer; UnsupportedError: a module or pooling that is not supported;
    ArgumentError: there is no such pooling, or max_tokens is above what the model reads.
    """

    _vectors = True
    _MOST_PARTS = 8

    def __init__(self, name_or_path: Path = "all-MiniLM-L6-v2", device: Optional[Union[Device, str, int]] = None, dtype: Optional[str] = None, *,
                 max_tokens: int = 0, pooling: Optional[str] = None, **options: Unpack[ModelOptions]) -> None:
        super().__init__(name_or_path, device, dtype, **options)
        self._max_tokens = max_tokens
        self._pooling = pooling
        self._parts: Dict[Tuple[Optional[str], Optional[str]], _Part] = {}  # in the order of their last use
        try:
            with self._running():
                self.embedding: EmbedderInfo = self._embedding(self._part(None, None))
            self._single = _Single(self.embedding.width)
        except BaseException:
            self.close()
            raise
        self.similarity_fn_name: str = _folder_json(self, _SETTINGS, of_modules=True).get("similarity_fn_name") or "cosine"

    def _part(self, name: Optional[str], prompt: Optional[str]) -> _Part:
        """The library's embedder with this prompt, by its name or as a text. Each has a session of its own, so only those that were used last are
        kept, beside the one with the default prompt. The caller is within `with self._running()`."""
        key = (name, prompt)
        part = self._parts.pop(key, None)
        if part is None:
            part = _Part(c.tsr_embedder, self, "tsr_embedder_destroy", c.tsr_embed_options)
            options = new(c.tsr_embed_options, max_tokens=self._max_tokens, progress=part.callback,
                          **{field: ended(value) for field, value in (("prompt", name), ("prompt_text", prompt), ("pooling", self._pooling)) if value is not None})
            check(lib.tsr_embedder_create(self._open, ctypes.byref(options), part._out))
            part._made()
        self._parts[key] = part
        if len(self._parts) > self._MOST_PARTS:
            self._parts.pop(next(k for k in self._parts if k != (None, None)))._held.end()
        return part

    def _embedding(self, part: _Part) -> EmbedderInfo:
        info = new(c.tsr_embedder_info)
        check(lib.tsr_embedder_info_get(part._open, ctypes.byref(info)))
        return EmbedderInfo._of(info)

    def get_sentence_embedding_dimension(self) -> int:
        """How many numbers a vector has."""
        return self.embedding.width

    get_embedding_dimension = get_sentence_embedding_dimension  # its name from sentence-transformers 6 on

    def encode(self, sentences: Union[str, Iterable[str]], *, prompt_name: Optional[str] = None, prompt: Optional[str] = None, batch_size: int = 32,
               show_progress_bar: Optional[bool] = None, normalize_embeddings: bool = False, convert_to_numpy: bool = True,
               progress: Optional[Progress] = None) -> NDArray[np.float32]:
        """The vectors of texts, float32 [n, width]; of one text [width]. Each is what it would be alone.

        prompt_name: one of the model's prompts, which is put before each text; "": no prompt; None: the model's default
        prompt: the text that is put before each, such as E5's "query: ", in place of one of the model's
        batch_size: taken for the sake of sentence-transformers' programs: the library chooses its own batches, and no vector depends on them
        show_progress_bar: draw the progress on standard error
        normalize_embeddings: vectors have length 1, if the model doesn't make them so anyway
        convert_to_numpy: must be True
        progress: told (texts done, all texts); True from it cancels

        Raises ArgumentError: the model has no such prompt, or both are given; DeviceError: a vector is not finite; CancelledError: progress
        asked for it; ValueError: convert_to_numpy is False, or batch_size is below 1; TypeError: the sentences are not texts.
        """
        _check_taken(batch_size, convert_to_numpy)
        told = progress or (_bar("encode") if show_progress_bar else None)
        with self._running():
            part = self._part(prompt_name, prompt)
            if isinstance(sentences, str):
                vectors = self._single.encode(part, told, sentences)
            else:
                texts = listed(sentences)
                vectors = np.empty((len(texts), self.embedding.width), np.float32)
                table, kept = strings(texts)
                part.call(told, lib.tsr_embed, table, len(texts), pointer(vectors, ctypes.c_float), None)
                del kept
        if normalize_embeddings and not self.embedding.normalized:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-12))
        return vectors

    def similarity(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float32]:
        """How alike each vector of `a` [n, width] is to each of `b` [m, width]: float32 [n, m], by `similarity_fn_name` ("cosine", "dot",
        "euclidean" or "manhattan"; of the last two, the negative distance).

        Raises ValueError: similarity_fn_name is none of these, or the widths of `a` and `b` differ.
        """
        x, y = (np.atleast_2d(np.asarray(array_of(vectors), np.float32)) for vectors in (a, b))
        kind = self.similarity_fn_name
        if kind in ("euclidean", "manhattan"):
            order = 2 if kind == "euclidean" else 1
            return np.stack([-np.linalg.norm(y - row, ord=order, axis=1) for row in x]).astype(np.float32)
        if kind not in ("cosine", "dot"):
            raise ValueError(f"similarity_fn_name {kind!r}: it is one of cosine, dot, euclidean, manhattan")
        if kind == "cosine":
            x, y = (v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), np.float32(1e-12)) for v in (x, y))
        product: NDArray[np.float32] = x @ y.T
        return product


@dataclass(frozen=True)
class Span:
    """Neighbouring words that belong together; `start` and `end` count characters of the text."""

    start: int
    end: int
    text: str
    label: str
    score: float
    words: int


@dataclass(frozen=True)
class Label:
    """A label and its score: a probability, or what the model's head gives where it computes plain numbers."""

    label: str
    score: float


class Classifier(Base):
    """A model with a classifier of texts, of pairs of texts, or of the words of a text.

    next_sentence: use the next-sentence head, where the model has one
    max_tokens: longer texts are cut; 0: what the model reads

    Raises what Model does; StateError: the model has no such head or no tokenizer; ArgumentError: max_tokens is above what the model reads.
    """

    KINDS = {c.TSR_CLASSIFIER_SINGLE: "single", c.TSR_CLASSIFIER_MULTIPLE: "multiple", c.TSR_CLASSIFIER_REGRESSION: "regression",
             c.TSR_CLASSIFIER_TOKENS: "tokens", c.TSR_CLASSIFIER_NEXT: "next", c.TSR_CLASSIFIER_SPANS: "spans"}

    def __init__(self, name_or_path: Path, device: Optional[Union[Device, str, int]] = None, dtype: Optional[str] = None, *, next_sentence: bool = False,
                 max_tokens: int = 0, **options: Unpack[ModelOptions]) -> None:
        super().__init__(name_or_path, device, dtype, **options)
        self._part = _Part(c.tsr_classifier, self, "tsr_classifier_destroy", c.tsr_classify_options)
        settings = new(c.tsr_classify_options, next=next_sentence, max_tokens=max_tokens, progress=self._part.callback)
        try:
            with self._running():
                check(lib.tsr_classifier_create(self._open, ctypes.byref(settings), self._part._out))
        except BaseException:
            self.close()
            raise
        self._part._made()
        opened = self._part._open
        self.labels: Tuple[str, ...] = tuple(text(lib.tsr_classifier_label(opened, i)) for i in range(lib.tsr_classifier_labels(opened)))
        self.kind: str = self.KINDS[lib.tsr_classifier_kind_of(opened)]

    def scores(self, texts: Iterable[str], seconds: Optional[Iterable[str]] = None, *, progress: Optional[Progress] = None) -> NDArray[np.float32]:
        """The scores of texts, or of pairs with `seconds`: float32 [n, labels]. By `kind`: "single" and "next" sum to 1, "multiple" is a
        probability for each label, "regression" plain numbers.

        Raises StateError: the classifier labels words, or judges pairs and seconds is None; DeviceError: a score is not finite;
        CancelledError: progress asked for it; ValueError: texts and seconds are not equally many.
        """
        texts, seconds = listed(texts), None if seconds is None else listed(seconds)
        if seconds is not None and len(seconds) != len(texts):
            raise ValueError(f"there are {len(texts)} texts and {len(seconds)} second texts")
        found = np.empty((len(texts), len(self.labels)), np.float32)
        firsts, kept = strings(texts)
        others, kept_too = strings(seconds) if seconds is not None else (None, None)
        with self._running():
            self._part.call(progress, lib.tsr_classify, firsts, others, len(texts), pointer(found, ctypes.c_float), None)
        del kept, kept_too
        return found

    @overload
    def __call__(self, texts: str, top_k: int = ...) -> List[Label]: ...  # type: ignore[overload-overlap, unused-ignore]
    @overload
    def __call__(self, texts: Iterable[str], top_k: int = ...) -> List[List[Label]]: ...
    def __call__(self, texts: Union[str, Iterable[str]], top_k: int = 1) -> Union[List[Label], List[List[Label]]]:
        """The top_k labels of a text, or of each text of a list, best first.

        Raises StateError: the classifier labels words, or judges pairs; DeviceError: a score is not finite.
        """
        rows = self.scores([texts] if isinstance(texts, str) else texts)
        found = [[Label(self.labels[i], float(row[i])) for i in np.argsort(-row, kind="stable")[:top_k]] for row in rows]
        return found[0] if isinstance(texts, str) else found

    def spans(self, texts: Iterable[str]) -> List[List[Span]]:
        """The named words of each text (persons, places, ...), of a classifier of kind "tokens".

        Raises StateError: the classifier labels texts; DeviceError: a score is not finite.
        """
        given = listed(texts)
        table, kept = strings(given)
        found: List[List[Span]] = [[] for _ in given]

        def visit(_: Any, index: int, spans: Any, n: int) -> None:
            data = encoded(given[index])
            for i in range(n):
                s = spans[i]
                start, end = (len(data[:byte].decode("utf-8", "surrogatepass")) for byte in (s.begin, s.end))  # in characters
                found[index].append(Span(start, end, given[index][start:end], text(s.label), s.score, s.words))

        with self._running():
            check(lib.tsr_classify_tokens(self._part._open, table, len(given), guarded(lib.tsr_classify_tokens.argtypes[3], visit), None, None))
        del kept
        return found


@dataclass(frozen=True)
class Ranked(Mapping[str, Any]):
    """A document of a ranking: its number, its score, and its text where that was asked for. Because sentence-transformers gives dicts, it is also a
    mapping: ranked["score"] is ranked.score, and "text" is a key where the text was asked for."""

    corpus_id: int
    score: float
    text: Optional[str] = None

    def __getitem__(self, name: str) -> Any:
        """Raises KeyError: there is no such field, or it is the text, which was not asked for."""
        if name not in tuple(self):
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(("corpus_id", "score") if self.text is None else ("corpus_id", "score", "text"))

    def __len__(self) -> int:
        return 2 if self.text is None else 3


def _ranking(scores: NDArray[np.float32], documents: Sequence[str], top_k: Optional[int], return_documents: bool) -> List[Ranked]:
    """The documents by their scores, best first."""
    order = np.argsort(-scores, kind="stable")[:top_k]
    return [Ranked(int(i), float(scores[i]), documents[i] if return_documents else None) for i in order]


_Logits = NDArray[np.float32]


def _softmax(logits: _Logits) -> _Logits:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: _Logits = np.divide(powers, powers.sum(axis=1, keepdims=True), dtype=np.float32)
    return found


_ACTIVATIONS: Dict[str, Callable[[_Logits], _Logits]] = {
    "Sigmoid": lambda logits: np.divide(1, 1 + np.exp(-logits), dtype=np.float32), "Identity": lambda logits: logits, "Tanh": np.tanh, "Softmax": _softmax}


def _pair(number: int, given: Any) -> Tuple[str, str]:
    """Two texts. TypeError: it is anything else."""
    found = () if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    if len(found) != 2 or not all(isinstance(one, str) for one in found):
        raise TypeError(f"pair {number} is {given!r:.60}; give two texts, (first, second)")
    return found[0], found[1]


class CrossEncoder(Classifier):
    """A model that scores pairs of texts, as sentence-transformers' CrossEncoder: with one label, a score for each pair, through a sigmoid; with
    several, the logits. The model's files may name another activation of PyTorch (config_sentence_transformers.json, else config.json; any other
    is passed over with a warning), and a prompt that is put before the first text of each pair.

    Raises what Classifier does.
    """

    @staticmethod
    def _named_activation(file: str, asked: Any) -> Optional[Callable[[_Logits], _Logits]]:
        """The activation of this name; None: none is asked for, or it is not PyTorch's, which sentence-transformers passes over with a warning, too."""
        if asked is None:
            return None
        if not str(asked).startswith("torch."):
            warnings.warn(f"{file}: the activation {asked} is not one of PyTorch's, so the default is used in its place", stacklevel=4)
            return None
        found = _ACTIVATIONS.get(str(asked).rsplit(".", 1)[-1])
        if found is None:
            raise ValueError(f"{file}: the activation {asked} is not supported; these are: {', '.join(_ACTIVATIONS)}")
        return found

    def _activation(self) -> Callable[[_Logits], _Logits]:
        """What makes scores of logits."""
        saved, config = _folder_json(self, _SETTINGS, of_modules=True), _folder_json(self, "config.json")
        found = self._named_activation(_SETTINGS, saved.get("activation_fn")) if saved.get("model_type") == "CrossEncoder" else None
        if found is None:
            own = config.get("sentence_transformers")
            told = own["activation_fn"] if isinstance(own, dict) and "activation_fn" in own else config.get("sbert_ce_default_activation_function")
            found = self._named_activation("config.json", told)
        return found or _ACTIVATIONS["Sigmoid" if len(self.labels) == 1 else "Identity"]

    @overload
    def predict(self, pairs: Union[Tuple[str, str], List[str]], *, batch_size: int = ..., show_progress_bar: Optional[bool] = ...,
                convert_to_numpy: bool = ..., progress: Optional[Progress] = ...) -> Union[np.float32, NDArray[np.float32]]: ...
    @overload
    def predict(self, pairs: Iterable[Union[Tuple[str, str], List[str]]], *, batch_size: int = ..., show_progress_bar: Optional[bool] = ...,
                convert_to_numpy: bool = ..., progress: Optional[Progress] = ...) -> NDArray[np.float32]: ...
    def predict(self, pairs: Any, *, batch_size: int = 32, show_progress_bar: Optional[bool] = None, convert_to_numpy: bool = True,
                progress: Optional[Progress] = None) -> Union[np.float32, NDArray[np.float32]]:
        """The scores of pairs: float32 [n] with one label, else [n, labels].

        pairs: texts by twos, [(first, second), ...], or an array [n, 2]; of one pair, a tuple, list or array of two texts, the score alone, or
        its [labels]
        batch_size, show_progress_bar, convert_to_numpy, progress: as for Embedder.encode

        Raises ValueError: the model's files name an activation that is not supported, convert_to_numpy is False, or batch_size is below 1;
        UnsupportedError: they put pairs into the tokenizer's chat template; TypeError: a pair is not two texts; DeviceError: a score is not finite; CancelledError: progress asked for it.
        """
        _check_taken(batch_size, convert_to_numpy)
        activation = self._activation()
        if isinstance(pairs, np.ndarray):
            pairs = pairs.tolist()
        single = isinstance(pairs, (tuple, list)) and len(pairs) == 2 and all(isinstance(one, str) for one in pairs)
        given = [_pair(i + 1, pair) for i, pair in enumerate([pairs] if single else pairs)]
        logits = np.empty((len(given), len(self.labels)), np.float32)
        firsts, kept = strings([a for a, _ in given])
        seconds, kept_too = strings([b for _, b in given])
        told = progress or (_bar("predict") if show_progress_bar else None)
        with self._running():
            self._part.call(told, lib.tsr_classify_logits, firsts, seconds, len(given), pointer(logits, ctypes.c_float), None)
        del kept, kept_too
        found = activation(logits)
        scores: NDArray[np.float32] = found[:, 0] if len(self.labels) == 1 else found
        return scores[0] if single else scores

    def rank(self, query: str, documents: Iterable[str], *, top_k: Optional[int] = None, return_documents: bool = False, batch_size: int = 32,
             show_progress_bar: Optional[bool] = None, progress: Optional[Progress] = None) -> List[Ranked]:
        """The documents by their scores with the query, best first; the other parameters are as for predict.

        Raises ValueError: the model has more than one label; and what predict does.
        """
        if len(self.labels) != 1:
            raise ValueError(f"a ranking needs a model with one label; this one has {len(self.labels)}")
        texts = listed(documents)
        found = self.predict([(query, document) for document in texts], batch_size=batch_size, show_progress_bar=show_progress_bar, progress=progress)
        return _ranking(found, texts, top_k, return_documents)


@dataclass(frozen=True)
class Answer:
    """An answer: a part of the text, `start` and `end` in its characters; an empty one says that the text has no answer."""

    start: int
    end: int
    text: str
    score: float


class Answerer(Base):
    """A model of class ...ForQuestionAnswering: it finds answers to questions in texts, as transformers' pipeline "question-answering".

    top_k: answers to a question; longest: tokens of an answer; no_answer: a text may have none
    window, stride: tokens of a long text that are read at once, and that neighbouring windows share; 0: 384 and 128, or what the model reads

    Raises what Model does; StateError: the model does not answer questions, or has no tokenizer; ArgumentError: a window or a stride is out of
    range.
    """

    def __init__(self, name_or_path: Path, device: Optional[Union[Device, str, int]] = None, dtype: Optional[str] = None, *, top_k: int = 1, longest: int = 15,
                 no_answer: bool = False, window: int = 0, stride: int = 0, **options: Unpack[ModelOptions]) -> None:
        super().__init__(name_or_path, device, dtype, **options)
        self._part = _Part(c.tsr_answerer, self, "tsr_answerer_destroy", c.tsr_answerer_options)
        settings = new(c.tsr_answerer_options, top_k=top_k, longest=longest, no_answer=no_answer, window=window, stride=stride,
                       progress=self._part.callback)
        try:
            with self._running():
                check(lib.tsr_answerer_create(self._open, ctypes.byref(settings), self._part._out))
        except BaseException:
            self.close()
            raise
        self._part._made()

    @overload
    def __call__(self, questions: str, contexts: Union[str, Iterable[str]], *,  # type: ignore[overload-overlap, unused-ignore]
                 progress: Optional[Progress] = ...) -> List[Answer]: ...
    @overload
    def __call__(self, questions: Iterable[str], contexts: Union[str, Iterable[str]], *, progress: Optional[Progress] = ...) -> List[List[Answer]]: ...
    def __call__(self, questions: Union[str, Iterable[str]], contexts: Union[str, Iterable[str]], *,
                 progress: Optional[Progress] = None) -> Union[List[Answer], List[List[Answer]]]:
        """The answers to a question in a text, best first; of lists of both, a list of those.

        Raises ValueError: questions and contexts are not equally many; UnsupportedError: the tokenizer's template for pairs is not one that
        can be cut; DeviceError: a score is not finite; CancelledError: progress asked for it.
        """
        asked, texts = ([one] if isinstance(one, str) else listed(one) for one in (questions, contexts))
        if len(asked) != len(texts):
            raise ValueError(f"there are {len(asked)} questions and {len(texts)} texts")
        first, kept = strings(asked)
        second, kept_too = strings(texts)
        found: List[List[Answer]] = [[] for _ in asked]

        def visit(_: Any, index: int, answers: Any, n: int) -> None:
            data = encoded(texts[index])
            for i in range(n):
                a = answers[i]
                start, end = (len(data[:byte].decode("utf-8", "surrogatepass")) for byte in (a.begin, a.end))  # in characters
                found[index].append(Answer(start, end, texts[index][start:end], a.score))

        with self._running():
            self._part.call(progress, lib.tsr_answer_questions, first, second, len(asked), guarded(lib.tsr_answer_questions.argtypes[4], visit), None, None)
        del kept, kept_too
        return found[0] if isinstance(questions, str) else found


class Ranker(Base):
    """A model that ranks texts: a cross-encoder, or a language model like Qwen3-Reranker and bge-reranker-v2-gemma, by the words that it has
    learned.

    instruction: what a Qwen3-Reranker should look for; None: what its makers say
    max_tokens: question and text are cut to so many; 0: what the model reads, of a language model 8192 at most

    Raises what Model does; StateError: the model is neither of these, or has no tokenizer; ArgumentError: max_tokens is above what the model
    reads, or an instruction is given and the model takes none.
    """

    def __init__(self, name_or_path: Path, device: Optional[Union[Device, str, int]] = None, dtype: Optional[str] = None, *, instruction: Optional[str] = None,
                 max_tokens: int = 0, **options: Unpack[ModelOptions]) -> None:
        super().__init__(name_or_path, device, dtype, **options)
        self._part = _Part(c.tsr_ranker, self, "tsr_ranker_destroy", c.tsr_rank_options)
        self._instruction = None if instruction is None else ended(instruction)   # borrowed by the library
        settings = new(c.tsr_rank_options, max_tokens=max_tokens, instruction=self._instruction, progress=self._part.callback)
        try:
            with self._running():
                check(lib.tsr_ranker_create(self._open, ctypes.byref(settings), self._part._out))
        except BaseException:
            self.close()
            raise
        self._part._made()

    def scores(self, query: str, documents: Iterable[str], *, progress: Optional[Progress] = None) -> NDArray[np.float32]:
        """How well each document answers the query, from 0 to 1: float32 [n].

        Raises DeviceError: a score is not finite; CancelledError: progress asked for it; TypeError: the documents are not texts.
        """
        texts = listed(documents)
        found = np.empty(len(texts), np.float32)
        question, kept_too = strings([query])
        table, kept = strings(texts)
        with self._running():
            self._part.call(progress, lib.tsr_rank, question[0], table, len(texts), pointer(found, ctypes.c_float), None)
        del kept, kept_too
        return found

    def rank(self, query: str, documents: Iterable[str], *, top_k: Optional[int] = None, return_documents: bool = False,
             progress: Optional[Progress] = None) -> List[Ranked]:
        """The documents by their scores, best first. Raises what `scores` does."""
        texts = listed(documents)
        return _ranking(self.scores(query, texts, progress=progress), texts, top_k, return_documents)


@dataclass(frozen=True)
class Filled:
    """A candidate for a mask: the token, as id and text, and its probability among the whole vocabulary."""

    id: int
    token: str
    probability: float


class FillMask(Base):
    """A model that fills masks. Raises what Model does; that a model has no masked-LM head is said by the call."""

    @overload
    def __call__(self, texts: str, top_k: int = ...) -> List[List[Filled]]: ...  # type: ignore[overload-overlap, unused-ignore]
    @overload
    def __call__(self, texts: Iterable[str], top_k: int = ...) -> List[List[List[Filled]]]: ...
    def __call__(self, texts: Union[str, Iterable[str]], top_k: int = 5) -> Union[List[List[Filled]], List[List[List[Filled]]]]:
        """The likeliest tokens for each "[MASK]" of a text, best first: a list for each mask; of a list of texts, a list of those.

        Raises StateError: the model has no masked-LM head, no mask token or no tokenizer; ArgumentError: a mask past what the model reads, or
        top_k is below 1 or above the vocabulary; DeviceError: a logit is not finite.
        """
        given = [texts] if isinstance(texts, str) else listed(texts)
        table, kept = strings(given)
        found: List[List[List[Filled]]] = [[] for _ in given]

        def visit(_: Any, fill: Any) -> None:
            one = fill[0]
            if one.lost:
                raise ArgumentError(f"text {one.text + 1} has {one.tokens} tokens, and one of its masks lies past the {one.reads} that the model reads; shorten it")
            if one.masks:
                found[one.text].append([Filled(one.candidates[i].id, self.detokenize([one.candidates[i].id], skip_special_tokens=False).strip(),
                                               one.candidates[i].probability) for i in range(one.n)])

        with self._running():
            check(lib.tsr_fill_mask(self._open, table, len(given), whole("top_k", top_k, ctypes.c_uint32), guarded(lib.tsr_fill_mask.argtypes[4], visit), None))
        del kept
        return found[0] if isinstance(texts, str) else found

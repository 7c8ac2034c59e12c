"""Lines from one language to another, with an encoder-decoder."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Union, cast

from . import _declarations as c
from ._device import Device
from ._generate import Sampling, fill
from ._library import Path, bytes_at, check, encoded, ended, failure, field_type, guarded, lib, listed, new, put, text
from ._model import Base, ModelOptions
from .errors import ArgumentError, TesseraError

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The settings of Model.generate that a translation does not read
_UNREAD = frozenset(("temperature", "top_k", "top_p", "min_p", "seed", "stop", "context", "logprobs", "return_logprob"))


def _check_unread(settings: Dict[str, Any], sampling: Dict[str, float]) -> None:
    """ArgumentError: a setting that is not read is given; or one of CTranslate2's (`sampling`) is not 1, with which CTranslate2 draws nothing."""
    unread = [(name, value) for name, value in settings.items() if name in _UNREAD]
    for name, value in unread + [(name, value) for name, value in sampling.items() if value != 1]:
        raise ArgumentError(f"{name}={value!r}: translations are searched, not drawn, and don't read it; leave it out")


@dataclass(frozen=True)
class TranslationResult:
    """What a line became; str() of it is the best translation.

    hypotheses: best first
    scores: of each: sum of log-probabilities / length^length_penalty
    parts: how many the line was cut into; 1: it was not cut, 0: it is only white space
    error: why this line has no translation; None: it has
    """

    hypotheses: List[str] = field(default_factory=list)
    scores: List[float] = field(default_factory=list)
    parts: int = 0
    error: Optional[TesseraError] = None

    def __str__(self) -> str:
        return self.hypotheses[0] if self.hypotheses else ""


class Translating(Sampling, total=False):
    """The settings of `Translator.translate_batch`, which says what they mean."""

    target_prefix: Optional[str]
    source_language: Optional[str]
    target_language: Optional[str]
    max_batch_size: int
    batch_type: str
    beam_size: Optional[int]
    num_hypotheses: Optional[int]
    max_decoding_length: Optional[int]
    min_decoding_length: Optional[int]
    repetition_penalty: Optional[float]
    no_repeat_ngram_size: Optional[int]
    sampling_topk: int
    sampling_topp: float
    sampling_temperature: float
    return_scores: bool
    progress: Optional[Callable[[int, int], Any]]


class Translator(Base):
    __doc__ = "A model that translates; the default is translate-de-en." + (Base.__doc__ or "").partition(".")[2]

    def __init__(self, name_or_path: Path = "translate-de-en", device: Optional[Union[Device, str, int]] = None, dtype: Optional[str] = None,
                 **options: Unpack[ModelOptions]) -> None:
        super().__init__(name_or_path, device, dtype, **options)

    def translate_batch(self, source: Iterable[str], target_prefix: Optional[str] = None, *, source_language: Optional[str] = None,
                        target_language: Optional[str] = None, max_batch_size: int = 0, batch_type: str = "examples", beam_size: Optional[int] = None,
                        num_hypotheses: Optional[int] = None, max_decoding_length: Optional[int] = None, min_decoding_length: Optional[int] = None,
                        repetition_penalty: Optional[float] = None, no_repeat_ngram_size: Optional[int] = None, sampling_topk: int = 1,
                        sampling_topp: float = 1, sampling_temperature: float = 1, return_scores: bool = True,
                        progress: Optional[Callable[[int, int], Any]] = None, **settings: Unpack[Sampling]) -> List[TranslationResult]:
        """Translates texts, in order, each as it would be alone; a line that fails has its `error`, and the others are translated.

        target_prefix: what every translation begins with; in CTranslate2 folders its tokens count as new ones, as they do there
        source_language, target_language: as the model's files name them, or what is before the "_" there; None: what the model is made for
        max_batch_size: texts that are translated at once; 0: 32
        batch_type: "examples"; with "tokens", max_batch_size is not read, because the library chooses its own batches. No translation depends on it
        beam_size: None: as the model's files say, else 4, or 2 for CTranslate2 folders; 1: no search
        num_hypotheses: translations given for each text; None: 1
        max_decoding_length, min_decoding_length: the most and the fewest new tokens of each
        repetition_penalty, no_repeat_ngram_size: CTranslate2's names of repeat_penalty and no_repeat_ngram
        sampling_topk, sampling_topp, sampling_temperature: must be 1, because nothing is drawn
        return_scores: False: `scores` stay empty, as they do by default in CTranslate2
        progress: told (source tokens translated, source tokens read so far); True from it cancels
        settings: as for Model.generate: length_penalty, coverage_penalty, suppress, ...; but presence_penalty, frequency_penalty, logit_bias,
        grammar and json_schema are refused, and so is what a search does not read: temperature, top_k, top_p, min_p, seed, stop, context,
        logprobs and return_logprob

        Raises ArgumentError: the model does not have a language, or a setting is refused; UnsupportedError: it is not an encoder-decoder;
        CancelledError: progress asked for it; TypeError: there is no such setting, or lists of tokens are given in place of texts.
        """
        if target_prefix is not None and not isinstance(target_prefix, str):
            raise TypeError(f"target_prefix={target_prefix!r:.60}: give one text, with which every translation begins; lists of tokens are not taken")
        if batch_type not in ("examples", "tokens"):
            raise ValueError(f"batch_type={batch_type!r}: it is one of examples, tokens")
        given = cast(Dict[str, Any], settings)
        _check_unread(given, {"sampling_topk": sampling_topk, "sampling_topp": sampling_topp, "sampling_temperature": sampling_temperature})
        search = new(c.tsr_generate_options)
        with self._running():
            check(lib.tsr_translate_defaults(self._open, ctypes.byref(search)))
        search.n_best = 1
        kept = fill(search, given)
        for name, own, value in (("beam_size", "num_beams", beam_size), ("num_hypotheses", "n_best", num_hypotheses),
                                 ("max_decoding_length", "max_new_tokens", max_decoding_length), ("min_decoding_length", "min_new_tokens", min_decoding_length),
                                 ("repetition_penalty", "repeat_penalty", repetition_penalty), ("no_repeat_ngram_size", "no_repeat_ngram", no_repeat_ngram_size)):
            if value is not None and own in given:
                raise TypeError(f"{name} and {own} are the same setting; give one of them")
            if value is not None:
                put(search, own, value, name)
        told = guarded(field_type(c.tsr_translate_options, "progress"), lambda _, done, read: bool(progress(done, read)) if progress else False)
        options = new(c.tsr_translate_options, source=ended(source_language) if source_language else None,
                      target=ended(target_language) if target_language else None, target_prefix=ended(target_prefix) if target_prefix else None,
                      search=ctypes.pointer(search), progress=told)
        put(options, "batch", max_batch_size if batch_type == "examples" else 0, "max_batch_size")
        lines = iter(listed(source))
        results: List[TranslationResult] = []

        def next_line(_: Any, wait: int, out: Any, size: Any) -> int:  # pylint: disable=unused-argument
            for line in lines:
                data = encoded(line)
                kept[:] = kept[:kept_before] + [data]  # it is read before the next call
                out[0], size[0] = data, len(data)
                return 1
            return 0

        def take(_: Any, found: Any) -> None:
            one = found[0]
            error = failure(one.status, one.error) if one.status != c.TSR_OK else None
            best = [one.best[i] for i in range(one.n)]
            results.append(TranslationResult([text(bytes_at(b.text, b.size)) for b in best], [b.score for b in best] if return_scores else [], one.parts, error))

        kept_before = len(kept)
        with self._running():
            check(lib.tsr_translate(self._open, ctypes.byref(options), guarded(c.tsr_line_fn, next_line, cancels=False), guarded(c.tsr_translated_fn, take), None, None))
        return results

    def translate(self, source: str, **options: Unpack[Translating]) -> str:
        """The best translation of a text; options: those of translate_batch.

        Raises what translate_batch does, and what the text failed with.
        """
        result = self.translate_batch([source], **options)[0]
        if result.error:
            raise result.error
        return str(result)

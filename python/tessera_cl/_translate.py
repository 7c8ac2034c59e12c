"""Lines from one language to another, with an encoder-decoder."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, cast

from . import _declarations as c
from ._generate import Sampling, fill
from ._library import bytes_at, check, encoded, ended, failure, field_type, guarded, lib, listed, new, put, text
from ._model import Base
from .errors import TesseraError

if TYPE_CHECKING:
    from typing_extensions import Unpack


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


class Translator(Base):
    __doc__ = "A model that translates; the default is translate-de-en." + (Base.__doc__ or "").partition(".")[2]

    def __init__(self, name: Any = "translate-de-en", *arguments: Any, **options: Any) -> None:
        super().__init__(name, *arguments, **options)

    def translate_batch(self, source: Iterable[str], target_prefix: Optional[str] = None, *, source_language: Optional[str] = None,
                        target_language: Optional[str] = None, max_batch_size: int = 0, beam_size: Optional[int] = None, num_hypotheses: int = 1,
                        max_decoding_length: Optional[int] = None, progress: Optional[Callable[[int, int], Any]] = None,
                        **settings: Unpack[Sampling]) -> List[TranslationResult]:
        """Translates texts, in order, each as it would be alone; a line that fails has its `error`, and the others are translated.

        target_prefix: what every translation begins with
        source_language, target_language: as the model's files or ISO 639-1 name them; None: what the model is made for
        max_batch_size: texts that are translated at once; 0: 32
        beam_size: None: as the model's files say, else 4; 1: no search
        num_hypotheses: translations given for each text
        max_decoding_length: new tokens of each
        progress: told (source tokens translated, source tokens read so far); True from it cancels
        settings: as for Model.generate: length_penalty, repeat_penalty, no_repeat_ngram, ...; but presence_penalty, frequency_penalty,
        logit_bias, grammar and json_schema are refused

        Raises ArgumentError: the model does not have a language, or a setting is refused; UnsupportedError: it is not an encoder-decoder.
        """
        search = new(c.tsr_generate_options)
        with self._running():
            check(lib.tsr_translate_defaults(self._open, ctypes.byref(search)))
        kept = fill(search, cast(Dict[str, Any], settings))
        if beam_size is not None:
            put(search, "num_beams", beam_size, "beam_size")
        put(search, "n_best", num_hypotheses, "num_hypotheses")
        if max_decoding_length is not None:
            put(search, "max_new_tokens", max_decoding_length, "max_decoding_length")
        told = guarded(field_type(c.tsr_translate_options, "progress"), lambda _, done, read: bool(progress(done, read)) if progress else False)
        options = new(c.tsr_translate_options, source=ended(source_language) if source_language else None,
                      target=ended(target_language) if target_language else None, target_prefix=ended(target_prefix) if target_prefix else None,
                      search=ctypes.pointer(search), progress=told)
        put(options, "batch", max_batch_size, "max_batch_size")
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
            results.append(TranslationResult([text(bytes_at(b.text, b.size)) for b in best], [b.score for b in best], one.parts, error))

        kept_before = len(kept)
        with self._running():
            check(lib.tsr_translate(self._open, ctypes.byref(options), guarded(c.tsr_line_fn, next_line, cancels=False), guarded(c.tsr_translated_fn, take), None, None))
        return results

    def translate(self, source: str, **options: Any) -> str:
        """The best translation of a text. Raises what the line failed with; options: those of translate_batch."""
        result = self.translate_batch([source], **options)[0]
        if result.error:
            raise result.error
        return str(result)

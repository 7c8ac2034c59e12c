"""Continuing texts, and conversations."""

from __future__ import annotations

import ctypes
import json
import queue
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypedDict, Union, cast, overload

import numpy as np
from numpy.typing import NDArray

from . import _declarations as c
from ._declarations import GenerateStats
from ._library import Handle, Stream, bytes_at, check, encoded, ended, guarded, ids_of, lib, named, nearest, new, pointer, put, text, text_list
from ._model import Base, Ids, Session, Text
from .errors import StateError

if TYPE_CHECKING:
    from typing import Literal

    from typing_extensions import Unpack

FINISH = {c.TSR_FINISH_NONE: "", c.TSR_FINISH_END: "end", c.TSR_FINISH_STOP: "stop", c.TSR_FINISH_LENGTH: "length", c.TSR_FINISH_CONTEXT: "context"}
EARLY = {"heuristic": c.TSR_EARLY_HEURISTIC, "first": c.TSR_EARLY_FIRST, "never": c.TSR_EARLY_NEVER}


class Sampling(TypedDict, total=False):
    """How tokens are chosen. What is not given is as the model's generation_config.json has it, else as tessera/generate.h says."""

    temperature: float  # 0: always the likeliest token
    top_k: int  # keep the k likeliest; 0: all
    top_p: float  # keep the likeliest that together reach p, (0, 1]
    min_p: float  # drop tokens below min_p times the likeliest, [0, 1]
    repeat_penalty: float  # above 1: tokens of the text so far become less likely
    presence_penalty: float  # taken off the logits of tokens that are among the new ones; 0: off
    frequency_penalty: float  # the same for each time that they are
    logit_bias: Mapping[int, float]  # added to the logits of these tokens
    seed: int
    grammar: str  # GBNF that the new tokens follow
    json_schema: Union[str, Mapping[str, Any]]  # the new tokens are JSON that it allows
    speculate: int  # guessed tokens of a step, up to 7; -1: none; 0: as many as gain. No result changes
    stop: Union[str, Sequence[str]]  # texts that end the continuation
    ignore_eos: bool  # end tokens do not stop it
    min_new_tokens: int
    no_repeat_ngram: int  # no n-gram of this many tokens occurs twice
    suppress: Sequence[int]  # tokens that are never chosen
    context: int  # the most tokens of prompt and continuation
    logprobs: int  # how many of the likeliest tokens are reported with each token
    return_logprob: bool  # report each token's log-probability
    num_beams: int  # more than 1: beam search; nothing is drawn
    n_best: int  # hypotheses given for each prompt
    length_penalty: float
    coverage_penalty: float
    early_stopping: str  # "heuristic", "first", "never"


@dataclass(frozen=True)
class Token:
    """A new token of a stream.

    text: whole characters that are now certain; may be empty
    id: -1 in a last item that only gives text that was held back
    prompt: the prompt's number in the batch
    finish: "" while it goes on; "end", "stop", "length" or "context" with the last one
    logprob: natural logarithm of its probability; 0 where it was not asked for
    candidates: (id, logprob) of the likeliest, best first
    hypothesis, score: of a beam search: the rank, and with the finish the score
    """

    text: str
    id: int
    prompt: int
    finish: str
    logprob: float
    candidates: Tuple[Tuple[int, float], ...]
    hypothesis: int
    score: float

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Generation:
    """The continuation of a prompt; str() of it is the text.

    text: without the prompt
    ids: int32 [n], the new tokens
    finish: "end", "stop", "length" or "context"
    logprobs: float32 [n], zeros where they were not asked for
    candidates: for each token the likeliest, (id, logprob), best first
    score: of a beam search: sum of log-probabilities / length^length_penalty
    others: of a beam search with n_best above 1: the other hypotheses, best first
    """

    text: str
    ids: NDArray[np.int32]
    finish: str
    logprobs: NDArray[np.float32]
    candidates: Tuple[Tuple[Tuple[int, float], ...], ...]
    score: float = 0.0
    others: "Tuple[Generation, ...]" = ()

    def __str__(self) -> str:
        return self.text


def fill(options: Any, settings: Dict[str, Any]) -> List[Any]:
    """Puts settings by name into a tsr_generate_options; gives what must live as long as it."""
    kept: List[Any] = []
    numbers = {field[0] for field in c.tsr_generate_options._fields_} - {"struct_size", "reserved", "n_stop", "n_suppress", "n_logit_bias", "chat"}
    for name, value in settings.items():
        if name not in numbers:
            raise TypeError(f"{name}: there is no such setting{nearest(name, sorted(numbers))}")
        if name == "stop":
            stops = text_list([ended(t) for t in ([value] if isinstance(value, str) else value)])
            kept.append(stops)
            options.stop, options.n_stop = stops, 1 if isinstance(value, str) else len(value)
        elif name == "suppress":
            ids = ids_of(value)
            kept.append(ids)
            options.suppress, options.n_suppress = pointer(ids, ctypes.c_int32), len(ids)
        elif name == "logit_bias":
            biases = (c.tsr_logit_bias * len(value))(*(c.tsr_logit_bias(one, by) for one, by in zip(ids_of(list(value)).tolist(), value.values())))
            kept.append(biases)
            options.logit_bias, options.n_logit_bias = biases, len(value)
        elif name == "grammar":
            options.grammar = ended(value)
        elif name == "json_schema":
            options.json_schema = ended(value if isinstance(value, str) else json.dumps(value))
        elif name == "early_stopping":
            options.early_stopping = named(name, value, EARLY)
        else:
            put(options, name, value)
    return kept


def token_of(found: Any) -> Token:
    """A tsr_generated."""
    candidates = tuple((found.candidates[i].id, found.candidates[i].logprob) for i in range(found.n_candidates))
    return Token(text(bytes_at(found.text, found.text_size)), found.id, found.prompt, FINISH[found.finish], found.logprob, candidates, found.hypothesis,
                 found.score)


def gathered(tokens: Sequence[Token]) -> Generation:
    """The tokens of one prompt and hypothesis."""
    own = [t for t in tokens if t.id >= 0]
    return Generation("".join(t.text for t in tokens), np.array([t.id for t in own], np.int32), tokens[-1].finish if tokens else "",
                      np.array([t.logprob for t in own], np.float32), tuple(t.candidates for t in own), tokens[-1].score if tokens else 0.0)


def grouped(tokens: Sequence[Token], prompts: int) -> List[Generation]:
    found: List[List[List[Token]]] = [[] for _ in range(prompts)]
    for token in tokens:
        while len(found[token.prompt]) <= token.hypothesis:
            found[token.prompt].append([])
        found[token.prompt][token.hypothesis].append(token)
    result = []
    for hypotheses in found:
        best, *others = [gathered(h) for h in hypotheses] or [gathered([])]
        result.append(Generation(best.text, best.ids, best.finish, best.logprobs, best.candidates, best.score, tuple(others)))
    return result


def streamed(owner: Handle, run: Callable[[Callable[[Any, Any], Any]], None]) -> Iterator[Token]:
    """The tokens of run(callback), which a thread calls; closing the iterator or the owner, and Ctrl-C, end it."""
    waiting: "queue.SimpleQueue[Union[Token, BaseException, None]]" = queue.SimpleQueue()

    def take(_: Any, found: Any) -> bool:
        waiting.put(token_of(found[0]))
        return stream.stopped.is_set()

    def work() -> None:
        try:
            run(take)
            waiting.put(None)
        except BaseException as error:  # pylint: disable=broad-exception-caught  # it is raised in the other thread
            waiting.put(error)

    if owner._held.turn.is_mine():
        raise StateError("a stream can't begin in a callback of a call on its device, because its thread waits for that call; give stream=False")
    stream = Stream(work)
    stream.thread.start()
    try:
        owner._held.streams.add(stream)
        while True:
            item = waiting.get()
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        owner._held.streams.discard(stream)
        stream.stopped.set()
        stream.thread.join()


class Model(Base):
    __doc__ = "A model that generates text: a decoder, or an encoder-decoder that reads the prompt." + (Base.__doc__ or "").partition(".")[2]

    def _options(self, max_tokens: Optional[int], settings: Dict[str, Any]) -> Tuple[Any, List[Any]]:
        options = new(c.tsr_generate_options)
        with self._running():
            check(lib.tsr_generate_defaults(self._open, ctypes.byref(options)))
        if max_tokens is not None:
            put(options, "max_new_tokens", max_tokens, "max_tokens")
        return options, fill(options, settings)

    @overload
    def generate(self, prompt: str, max_tokens: Optional[int] = ..., *, stream: Literal[False] = ...,  # type: ignore[overload-overlap, unused-ignore]
                 **settings: Unpack[Sampling]) -> Generation: ...
    @overload
    def generate(self, prompt: Sequence[Text], max_tokens: Optional[int] = ..., *, stream: Literal[False] = ...,
                 **settings: Unpack[Sampling]) -> List[Generation]: ...
    @overload
    def generate(self, prompt: Union[str, Sequence[Text]], max_tokens: Optional[int] = ..., *, stream: Literal[True],
                 **settings: Unpack[Sampling]) -> Iterator[Token]: ...
    def generate(self, prompt: Union[str, Sequence[Text]], max_tokens: Optional[int] = None, *, stream: bool = False,
                 **settings: Unpack[Sampling]) -> Union[Generation, List[Generation], Iterator[Token]]:
        """Continues a prompt, or a list of prompts as one batch; each gives what it would give alone.

        prompt: a text gives a Generation; a list of texts, or of lists of token ids, gives a list of them
        max_tokens: new tokens of each; None: as the model's settings say, else to the end of the context
        stream: give an iterator of Token, as they come; closing it ends the generation, and so does closing the model (CancelledError)
        settings: how tokens are chosen (Sampling)

        Raises ArgumentError: a setting is out of its range, or a prompt is longer than the context; UnsupportedError: the model has no
        decoder; TypeError: there is no such setting.
        """
        single = isinstance(prompt, str)
        prompts = [cast(str, prompt)] if single else list(prompt)
        options, kept = self._options(max_tokens, cast(Dict[str, Any], settings))
        table = (ctypes.POINTER(c.tsr_prompt) * max(len(prompts), 1))()
        for i, given in enumerate(prompts):
            one = new(c.tsr_prompt)
            if isinstance(given, str):
                data = encoded(given)
                one.text, one.text_size = ctypes.cast(ctypes.c_char_p(data), ctypes.POINTER(ctypes.c_char)), len(data)
                kept.append(data)
            else:
                ids = ids_of(given)
                one.ids, one.n_ids = pointer(ids, ctypes.c_int32), len(ids)
                kept.append(ids)
            kept.append(one)
            table[i] = ctypes.pointer(one)

        def run(take: Callable[[Any, Any], Any]) -> None:
            with self._running():
                check(lib.tsr_generate(self._open, table, len(prompts), ctypes.byref(options), guarded(c.tsr_generated_fn, take), None, None))
            kept.clear()

        if stream:
            return streamed(self, run)
        tokens: List[Token] = []
        run(lambda _, found: tokens.append(token_of(found[0])))
        results = grouped(tokens, len(prompts))
        return results[0] if single else results

    def chat(self, system: Optional[str] = None, *, template: Optional[str] = None, tools: Optional[Sequence[Dict[str, Any]]] = None,
             template_kwargs: Optional[Dict[str, Any]] = None, max_tokens: Optional[int] = None, **settings: Unpack[Sampling]) -> "Chat":
        """Begins a conversation, which is kept in the model's key/value memory.

        system: what the model is told first
        template: the text of a chat template, Jinja as transformers sets it up; None: the model's own (`chat_template`)
        tools: what the template gets as `tools`, in the form that the model was trained with
        template_kwargs: variables of the template, such as {"enable_thinking": False}

        Raises UnsupportedError: no template is given and the model has none, it has a part of Jinja that is not served, or num_beams is above
        1; FormatError: it is not Jinja; ArgumentError: template_kwargs has a name that the template has otherwise (`messages`, `tools`, ...).
        """
        options, kept = self._options(max_tokens, cast(Dict[str, Any], settings))
        if "num_beams" not in settings:
            options.num_beams = 1  # the model's settings may ask for a search
        return Chat(self, template, system, tools, template_kwargs, options, kept)

    @property
    def chat_template(self) -> Optional[str]:
        """The text of the model's chat template; None where it has none."""
        out, n = ctypes.POINTER(ctypes.c_char)(), ctypes.c_size_t()
        with self._reading():
            check(lib.tsr_chat_template_of(self._open, ctypes.byref(out), ctypes.byref(n)))
        try:
            return text(bytes_at(out, n.value)) if out else None
        finally:
            lib.tsr_text_free(out)

    def session(self, sequences: int = 1, *, context: int = 0, reserve: int = 0) -> Session:
        """Empty sequences that the caller fills token by token; context: tokens of each at most, 0: what the model reads.

        Raises ArgumentError: the context is above what the model reads; StateError: the model has no decoder.
        """
        return Session(self, sequences, context, reserve)


class Chat(Handle):
    """A conversation. Made by `Model.chat`."""

    _destroy = "tsr_chat_destroy"

    def __init__(self, model: Model, template: Optional[str], system: Optional[str], tools: Optional[Sequence[Dict[str, Any]]],
                 template_kwargs: Optional[Dict[str, Any]], options: Any, kept: List[Any]) -> None:
        super().__init__(c.tsr_chat, model)
        how = new(c.tsr_chat_options, template_text=ended(template) if template is not None else None, system=ended(system) if system else None,
                  tools=ended(json.dumps(list(tools), ensure_ascii=False)) if tools is not None else None,
                  template_kwargs=ended(json.dumps(template_kwargs, ensure_ascii=False)) if template_kwargs is not None else None)
        with self._running():
            check(lib.tsr_chat_create(model._open, ctypes.byref(how), ctypes.byref(options), self._out))
        kept.clear()
        self._made()

    @overload
    def say(self, message: str, *, stream: Literal[False] = ...) -> Generation: ...
    @overload
    def say(self, message: str, *, stream: Literal[True]) -> Iterator[Token]: ...
    def say(self, message: str, *, stream: bool = False) -> Union[Generation, Iterator[Token]]:
        """Says something and gives the answer; both become part of the conversation. A cancelled answer stays as far as it came.

        Raises ArgumentError: the conversation would be longer than the context.
        """
        data = encoded(message)

        def run(take: Callable[[Any, Any], Any]) -> None:
            with self._running():
                check(lib.tsr_chat_say(self._open, data, len(data), guarded(c.tsr_generated_fn, take), None, None))

        if stream:
            return streamed(self, run)
        tokens: List[Token] = []
        run(lambda _, found: tokens.append(token_of(found[0])))
        return gathered(tokens)


__all__ = ["Chat", "Generation", "GenerateStats", "Ids", "Model", "Sampling", "Token"]

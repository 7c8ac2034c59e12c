#!/usr/bin/env python3
"""The Python package does what the command does, on the reference device: texts, tokens, logits, attention, translations, labels, training;
errors are exceptions with the library's sentence, Ctrl-C stops a call, and objects close in order."""

import array
import contextlib
import gc
import hashlib
import inspect
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from unittest import mock

from support import binding  # noqa: F401  # pylint: disable=unused-import
from support.command import ALL, DEVICE as TESTED, GOLDEN, SOURCE, change_json, environment, equal, has_device, main, run
from support.encoders import EXPECTED, MASKED, SENTENCE, TOKENS, close, copy_model_deep, joined, own_folder
from support.ranker import cross_encoder
from support.runs import checkpoints, whole as check_checkpoint

import numpy as np
import tessera_cl as t

DEVICE = "reference"
# By class: how it is opened on a device, and a call that tells its progress.
TELLING = {
    "Model": (lambda d: t.Model("shakespeare", d), lambda m, told: m.perplexity("To be, or not", progress=told).loss),
    "Embedder": (lambda d: t.Embedder("intents", d), lambda m, told: m.encode(["a", "my card"], progress=told)),
    "Embedder of one text": (lambda d: t.Embedder("intents", d), lambda m, told: m.encode("my card", progress=told)),
    "Classifier": (lambda d: t.Classifier("intents", d), lambda m, told: m.scores(["my card"], progress=told)),
    "CrossEncoder": (lambda d: t.CrossEncoder(SOURCE / "tests/golden/ranks/labels", d), lambda m, told: m.predict([("a", "b")], progress=told)),
    "Answerer": (lambda d: t.Answerer(SOURCE / "tests/golden/answers/unigram", d), lambda m, told: m("a", "b", progress=told)),
    "Ranker": (lambda d: t.Ranker(SOURCE / "tests/golden/ranks/qwen3", d), lambda m, told: m.scores("a", ["b"], progress=told)),
    "Translator": (lambda d: t.Translator(device=d), lambda m, told: [str(r) for r in m.translate_batch(["Guten Morgen."], progress=told)]),
}


def play():
    return t.Model("shakespeare", DEVICE)


def raises(kind, fragment, call):
    try:
        call()
    except kind as error:
        assert fragment in str(error), f"{fragment!r} is missing: {error!r}"
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def test_generate_is_the_commands(folder):
    said = run("generate", "-m", "shakespeare", "-d", DEVICE, "--seed", "3", "-n", "12", "ROMEO:", "-q").text
    with play() as model:
        whole = model.generate("ROMEO:", 12, seed=3)
        assert whole.text == said.rstrip("\n") or whole.text == said[:-1], (whole, said)
        assert whole.finish == "length" and whole.ids.dtype == np.int32 and model.detokenize(whole.ids) == whole.text
        parts = list(model.generate("ROMEO:", 12, seed=3, stream=True))
        assert "".join(map(str, parts)) == whole.text and parts[-1].finish == "length"
        both = model.generate(["ROMEO:", model.tokenize("ROMEO:")], 12, seed=3, logprobs=2)
        assert [b.text for b in both] == [whole.text] * 2 and (both[0].logprobs < 0).all() and len(both[0].candidates[3]) == 2
        best = model.generate("ROMEO:", 4, num_beams=3, n_best=3)
        assert len(best.others) == 2 and best.score >= best.others[0].score >= best.others[1].score
        assert model.generate("ROMEO:", 30, temperature=0, stop="\n").finish == "stop"
        assert model.generate([], 3) == []


def test_chat(folder):
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}ROMEO:{% if tools %}{{ tools[0].name }}{% endif %}"
    with play() as model:
        assert model.chat_template is None
        raises(t.UnsupportedError, "template", model.chat)
        raises(t.FormatError, "", lambda: model.chat(template="{% for %}"))
        with model.chat("Verona", template=template, tools=[{"name": "x"}], max_tokens=6, temperature=0, stop="\n\n") as chat:
            first = chat.say("Speak")
            assert first.ids.size and first.text == model.generate("system: Verona\nuser: Speak\nROMEO:x", 6, temperature=0).text, first
            assert "".join(map(str, chat.say("Again", stream=True)))
        assert chat.closed
        raises(t.ArgumentError, "messages", lambda: model.chat(template=template, template_kwargs={"messages": []}))
        with model.chat(template=template + "{{ place }}", template_kwargs={"place": "Verona", "other": [1]}, max_tokens=6, temperature=0) as chat:
            assert chat.say("Speak").text == model.generate("user: Speak\nROMEO:Verona", 6, temperature=0).text


class Exported:
    """An array that offers its memory by __dlpack__ alone."""

    def __init__(self, values, kind=np.int32):
        self.array = np.array(values, kind)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_of_other_packages(folder):
    ids = [3, 5, 7, 9]
    given = Exported(ids)
    assert np.shares_memory(t._library.ids_of(given), given.array)
    plain = array.array("i", ids)
    for values in (given.array, plain, memoryview(plain)):
        assert np.shares_memory(t._library.ids_of(values), np.frombuffer(values, np.int32)), type(values)
    with play() as model:
        assert model.detokenize(given) == model.detokenize(ids) and (model.logits(given) == model.logits(ids)).all()
        assert model.generate([given], 3, temperature=0)[0].text == model.generate([ids], 3, temperature=0)[0].text
        with model.session(2) as session:
            wanted = session.step([ids, ids[::-1]])
            session.rewind(0, 0)
            session.rewind(1, 0)
            assert (session.step(Exported([ids, ids[::-1]], np.int64)) == wanted).all()
        raises(ValueError, "whole numbers", lambda: model.detokenize(Exported(ids, np.float32)))
        for place, why, advice in ((2, "it is on a GPU", "give one in the host's memory"), (1, "it is bfloat16", "convert it to a dtype that NumPy has")):
            with mock.patch.object(Exported, "__dlpack__", side_effect=BufferError(why)), mock.patch.object(Exported, "__dlpack_device__", return_value=(place, 0)):
                raises(ValueError, f"can't read the array of class Exported by its __dlpack__: {why}; {advice}", lambda: model.detokenize(given))
    with t.Embedder(SENTENCE, DEVICE) as model:
        vectors = model.encode(["anna", "the cat", "a mat"])
        assert (model.similarity(Exported(vectors, np.float32), Exported(vectors[:2], np.float32)) == model.similarity(vectors, vectors[:2])).all()


def test_a_model_is_named_by_name_or_path(folder):
    golden = SOURCE / "tests/golden"
    for kind, model in ((t.Model, "shakespeare"), (t.Embedder, "intents"), (t.Classifier, "intents"), (t.CrossEncoder, golden / "ranks/labels"), (t.FillMask, MASKED),
                        (t.Answerer, golden / "answers/unigram"), (t.Ranker, golden / "ranks/qwen3"), (t.Translator, "translate-de-en")):
        with kind(name_or_path=model, device=DEVICE) as opened:
            assert str(model) in opened.info.path, opened
    with t.Tokenizer(name_or_path="shakespeare") as opened:
        assert opened.tokenize("a").size


def test_hints_of_options_are_the_parameters(folder):
    """The dictionaries of the type hints name the same options as the functions."""
    for hints, function, more in ((t._model.ModelOptions, t.Model.__init__, ()), (t._translate.Translating, t.Translator.translate_batch, t.Sampling.__annotations__)):
        named = [p.name for p in inspect.signature(function).parameters.values() if p.default is not p.empty and p.name not in ("name_or_path", "device", "dtype")]
        assert named
        equal(set(hints.__annotations__), {*named, *more}, function)


def test_docstrings_name_the_errors(folder):
    """Of every class, method and function that calls the library, but for those that nothing goes wrong with, or that others make."""
    harmless = {"Attention", "Chat", "Session", "Attention.close", "Base.describe", "Embedder.get_sentence_embedding_dimension", "devices", "models", "notes", "recipes"}
    called = [getattr(t, name) for name in t.__all__ if inspect.isfunction(getattr(t, name))]
    for kind in (getattr(t, name) for name in t.__all__):
        if inspect.isclass(kind) and issubclass(kind, t._library.Handle):
            called.append(kind)
            called += [found for base in kind.__mro__ for name, found in vars(base).items() if inspect.isfunction(found) and (name[0] != "_" or name == "__call__")]
    silent = {function.__qualname__ for function in called if "Raises" not in (function.__doc__ or "")}
    assert silent == harmless, silent ^ harmless


def test_stream_that_is_left_ends(folder):
    with play() as model:
        stream = model.generate("ROMEO:", 400, ignore_eos=True, stream=True)
        assert next(stream).id >= 0
        stream.close()
        assert not [thread for thread in threading.enumerate() if thread.name == "tessera_cl stream"]
        assert model.generate("ROMEO:", 2).finish == "length"


def test_stream_ends_with_what_it_was_made_from(folder):
    device = t.Device(DEVICE)
    model = t.Model("shakespeare", device)
    chat = model.chat(template="{{ messages[0].content }}", ignore_eos=True, max_tokens=400)
    for owner, begin in ((chat, lambda: chat.say("ROMEO:", stream=True)),
                         (model, lambda: model.generate("ROMEO:", 400, ignore_eos=True, stream=True)),
                         (device, lambda: t.Model("shakespeare", device).generate("ROMEO:", 400, ignore_eos=True, stream=True))):
        stream = begin()
        assert next(stream).id >= 0
        owner.close()
        raises(t.CancelledError, "", lambda: list(stream))


def test_a_callback_cannot_call_or_close_what_its_call_uses(folder):
    """The library takes one call at a time for a model; the other models of the device may be called."""
    def checked(call, model, device, other):
        wanted, before, seen = other.generate("ROMEO:", 2, seed=1).text, call(model, None), []
        for sentence, attempt in (("is in a call, whose callback can't call it again", lambda: call(model, None)), ("can't call it again", lambda: model.dump(["a"])),
                                  (f"this {type(model).__name__} is in a call, whose callback can't close it", model.close),
                                  ("this Device is in a call, whose callback can't close it", device.close)):
            raises(t.StateError, sentence, lambda attempt=attempt: call(model, lambda done, total: attempt() is None))
        after = call(model, lambda done, total: seen.append((model.memory.weights > 0, model.tokenize("a").size > 0, other.generate("ROMEO:", 2, seed=1).text)))
        np.testing.assert_array_equal(after, before)
        assert set(seen) == {(True, True, wanted)}, seen

    with t.Device(DEVICE) as device, t.Model("shakespeare", device) as other:
        for make, call in TELLING.values():
            with make(device) as model:
                checked(call, model, device, other)
        with other.session() as session:
            for attempt in (lambda: session.prefill([1]), session.close, other.session, lambda: other.chat(template="x")):
                raises(t.StateError, "is in a call", lambda attempt=attempt: other.perplexity("To be, or not", progress=lambda done, total: attempt() is None))
            assert session.prefill([1]).size
        raises(t.StateError, "this Device is in a call", lambda: t.Model("shakespeare", device, progress=lambda done, total: device.close()))

        def closes_another(done, total):
            with t.Model("shakespeare", device) as third:
                return not third.generate("a", 1).ids.size
        assert other.perplexity("To be, or not", progress=closes_another).tokens
        (folder / "text.txt").write_text("To be, or not to be, that is the question.\n" * 50)
        settings = {"max_steps": 1, "per_device_train_batch_size": 2, "block_size": 16}
        raises(t.StateError, "this Device is in a call", lambda: t.train(model="shakespeare", data=folder / "text.txt", output=folder / "out", device=device,
                                                                        settings=settings, callback=lambda event: device.close()))


def test_a_stream_does_not_begin_in_a_callback(folder):
    """Its thread would wait for the call, and the call for its tokens. One that has begun has all its tokens then, because calls take turns."""
    with t.Device(DEVICE) as device, t.Model("shakespeare", device) as model, t.Embedder("intents", device) as embedder:
        raises(t.StateError, "a stream can't begin in a callback", lambda: embedder.encode(["a"], progress=lambda done, total: list(model.generate("a", 2, stream=True)) is None))
        begun, rest = model.generate("ROMEO:", 12, ignore_eos=True, stream=True), []
        assert next(begun).id >= 0 and embedder.encode(["a"], progress=lambda done, total: rest.extend(begun)).shape[0] == 1
        assert sum(token.id >= 0 for token in rest) == 11, rest


def test_the_garbage_collector_frees_nothing_during_a_call(folder):
    """Neither in a callback, nor in another thread, which does not wait for the call."""
    ended, library = [], t._library.lib

    def collect(elsewhere):
        thread = threading.Thread(target=gc.collect, daemon=True)
        if elsewhere:
            thread.start()
            thread.join(60)
        else:
            gc.collect()
        assert not thread.is_alive() and not ended, ended

    destroy = library.tsr_session_destroy
    with play() as model, mock.patch.object(library, "tsr_session_destroy", lambda pointer: (ended.append(1), destroy(pointer))):
        for elsewhere in (False, True):
            gc.collect()
            gc.disable()
            try:
                session = model.session()
                session.cycle = session  # only the garbage collector ends it
                del session
                assert model.perplexity("To be, or not", progress=lambda done, total, elsewhere=elsewhere: collect(elsewhere)).tokens
                assert ended == [1], ended
                ended.clear()
            finally:
                gc.enable()


LEAVES_A_STREAM = """
import atexit, threading
def said():  # it is called after what the package registers
    alive = [thread for thread in threading.enumerate() if thread.name == "tessera_cl stream"]
    try:
        print("all", len(list(stream)), alive)
    except t.CancelledError:
        print("cancelled", alive)
atexit.register(said)
import tessera_cl as t
stream = t.Model("shakespeare", "reference").generate("ROMEO:", 400, ignore_eos=True, stream=True)
next(stream)
"""


def test_the_end_of_a_program_ends_its_streams(folder):
    env = dict(os.environ, PYTHONPATH=str(SOURCE / "python"))
    done = subprocess.run([sys.executable, "-c", LEAVES_A_STREAM], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "cancelled []\n" and done.stderr == "", done


def test_logits_sessions_attention(folder):
    with play() as model:
        ids = model.tokenize("To be, or not")
        logits = model.logits("To be, or not")
        assert logits.shape == (len(ids), model.info.vocab) and logits.dtype == np.float32
        assert logits.base is None, "it keeps the temporary file"
        for call in (model.logits, lambda ids: model.dump([ids])):
            with mock.patch.object(t._model.tempfile, "TemporaryDirectory", lambda: contextlib.nullcontext(str(folder / "nonsense"))):
                raises(t.FileError, "nonsense", lambda call=call: call(ids))
        assert (model.logits(ids) == logits).all()
        with model.session(2) as session:
            assert (session.prefill(ids) == logits[-1]).all() and session.length() == len(ids)
            session.fork(0, 1)
            session.rewind(1, len(ids) - 1)
            assert (session.prefill(ids[-1:], 1) == logits[-1]).all()
            assert session.step([[5], [5]]).shape == (2, model.info.vocab)
            raises(ValueError, "[2, n]", lambda: session.step([[5]]))
        inside = model.dump(["To be", "To be, or not"], attention=True)
        assert inside["logits"].shape[:2] == (2, len(ids)) and (inside["logits"][0, 2:] == 0).all()
        seen = model.attention("To be, or not")
        page = folder / "page.html"
        seen.write_page(page)
        assert b"<html" in page.read_bytes()[:200].lower()
        weights = seen.maps[0].weights
        np.testing.assert_allclose(weights[:, :, :, :], np.stack([inside[f"attn.{i}"][1] for i in range(weights.shape[0])]), atol=1e-6)
        assert not weights.flags.writeable and not weights.flags.owndata and seen.maps[0].query == ("To", " be", ",", " or", " not")
        total = weights.sum()
        del seen
        gc.collect()
        assert weights.sum() == total  # the memory lives as long as the array


def test_tokenizer_alone(folder):
    with t.Tokenizer("shakespeare") as tokenizer:
        for text in ("", "Hello", "W\u00f6rter \U0001f600\0x", "a\ud800b"):
            back = tokenizer.detokenize(tokenizer.tokenize(text))
            assert back == text.replace("\ud800", "\ufffd" * 3) or "\ud800" in text, (text, back)
        assert tokenizer.piece(10**6) is None and isinstance(tokenizer.piece(40), bytes)
        raises(t.ArgumentError, "", lambda: tokenizer.detokenize([10**6]))
        raises(ValueError, "whole numbers", lambda: tokenizer.detokenize([1.5]))
        raises(ValueError, "32 bits", lambda: tokenizer.detokenize([2**32 + 5]))
        file = os.path.join(tokenizer.info.path, "tokenizer.json")
        with t.Tokenizer(file) as alone:
            assert alone.info.parameters == 0 and alone.info.kept == ""
            assert list(alone.tokenize("Speak, speak.")) == list(tokenizer.tokenize("Speak, speak."))


def test_translate_is_the_commands(folder):
    lines = ["Guten Morgen.", "", "Wo ist der Bahnhof?"]
    said = run("translate", "-d", DEVICE, "-q", given="\n".join(lines) + "\n").text.splitlines()
    with t.Translator(device=DEVICE) as model:
        found = model.translate_batch(lines, num_hypotheses=2)
        assert [str(f) for f in found] == said and len(found[0].hypotheses) == 2 and found[1].parts == 0
        assert model.translate("Guten Morgen.") == said[0]
        assert [str(f) for f in model.translate_batch(line for line in lines)] == said
        raises(TypeError, "list of str", lambda: model.translate_batch("Guten Tag"))
        raises(TypeError, "list of str", lambda: model.translate_batch(iter(["Guten Tag", 1])))
        raises(t.ArgumentError, "", lambda: model.translate("Guten Tag", target_language="Klingon"))
        raises(TypeError, "Did you mean", lambda: model.translate("Guten Tag", lenght_penalty=1))
        raises(TypeError, "target_prefix=[['a']]: give one text", lambda: model.translate_batch(["Guten Tag"], target_prefix=[["a"]]))
        refused = {"presence_penalty": 1.0, "frequency_penalty": 1.0, "logit_bias": {5: 1.0}, "grammar": 'root ::= "a"', "json_schema": "{}"}
        for beams in (1, 2):
            for name, value in refused.items():
                raises(t.ArgumentError, f"{name} is given", lambda beams=beams, one={name: value}: model.translate("Guten Tag", beam_size=beams, **one))


def test_translate_takes_the_names_of_ctranslate2(folder):
    lines = ["das das das das"]
    with t.Translator(device=DEVICE) as model:
        plain = model.translate_batch(lines)
        for named, own in (({"min_decoding_length": 9}, {"min_new_tokens": 9}), ({"repetition_penalty": 5.0}, {"repeat_penalty": 5.0}),
                           ({"no_repeat_ngram_size": 1}, {"no_repeat_ngram": 1}), ({"max_decoding_length": 2}, {"max_new_tokens": 2}),
                           ({"beam_size": 2, "num_hypotheses": 2}, {"num_beams": 2, "n_best": 2})):
            found = model.translate_batch(lines, **named)
            assert found == model.translate_batch(lines, **own) != plain, named
            raises(TypeError, f"{[*named][0]} and {[*own][0]} are the same setting", lambda both={**named, **own}: model.translate_batch(lines, **both))
        same = model.translate_batch(lines, max_batch_size=1, batch_type="tokens", sampling_topk=1, sampling_topp=1, sampling_temperature=1.0, return_scores=False)
        assert [(f.hypotheses, f.scores) for f in same] == [(f.hypotheses, []) for f in plain]
        raises(ValueError, "batch_type='lines': it is one of examples, tokens", lambda: model.translate_batch(lines, batch_type="lines"))
        for name, value in (("sampling_topk", 5), ("sampling_temperature", 0.5), ("sampling_topp", 0.5), ("temperature", 0.7), ("top_k", 5), ("top_p", 0.5), ("min_p", 0.5),
                            ("seed", 3), ("stop", "a"), ("context", 9), ("logprobs", 2), ("return_logprob", True)):
            raises(t.ArgumentError, f"{name}={value!r}: translations are searched, not drawn", lambda one={name: value}: model.translate_batch(lines, **one))
        raises(TypeError, "max_input_length: there is no such setting", lambda: model.translate_batch(lines, max_input_length=5))


def test_masks_are_the_commands(folder):
    lines = EXPECTED["masked"]["lines"]
    said = [json.loads(line)["masks"] for line in run("fill-mask", "-m", MASKED, "-d", DEVICE, "-q", "-k", 4, "--json", *lines).text.splitlines()]
    with t.FillMask(MASKED, DEVICE) as model:
        found = model((line for line in lines), 4)
        assert [[[(one.id, one.token) for one in mask] for mask in text] for text in found] == \
            [[[(one["id"], one["token"].strip()) for one in mask] for mask in text] for text in said]
        for text, wanted in zip(found, said):
            for mask, of_command in zip(text, wanted):
                close([one.probability for one in mask], [one["probability"] for one in of_command])
        assert [len(text) for text in found] == [line.count("[MASK]") for line in lines] and model(lines[1], 4) == found[1]


def test_spans_are_the_commands(folder):
    lines = [*EXPECTED["tokens"]["lines"], "Z\u00fcrich and \u4e2d\u6587 Anna lives in London."]
    said = [json.loads(line)["spans"] for line in run("classify", "-m", TOKENS, "-d", DEVICE, "-q", "--json", given=joined(lines)).text.splitlines()]
    with t.Classifier(TOKENS, DEVICE) as model:
        found = model.spans(line for line in lines)
        assert model.kind == "tokens" and any(len(spans) > 1 for spans in found)
        for line, spans, wanted in zip(lines, found, said, strict=True):
            assert [(s.label, s.text) for s in spans] == [(s["label"], s["text"]) for s in wanted], line
            close([s.score for s in spans], [s["score"] for s in wanted], line)
            for s, of_command in zip(spans, wanted):  # the command counts bytes
                assert line[s.start:s.end] == s.text and (len(line[:s.start].encode()), len(line[:s.end].encode())) == (of_command["begin"], of_command["end"]), line
                assert 1 <= s.words <= len(s.text), s
        raises(t.StateError, "labels tokens, not texts", lambda: model.scores(lines))


def test_labels_are_the_commands(folder):
    texts = ["My card still hasn't come.", "Top-up failed", "caf\u00e9"]
    said = json.loads("[" + ",".join(run("classify", "-m", "intents", "-d", DEVICE, "--json", "-q", given="\n".join(texts) + "\n").text.splitlines()) + "]")
    with t.Classifier("intents", DEVICE) as model:
        assert model.kind == "single" and len(model.labels) == 77
        scores = model.scores(texts)
        np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-5)
        for found, row in zip(model(texts), said):
            assert json.dumps(row).find(f'"{found[0].label}"') >= 0, (found, row)
        raises(ValueError, "second texts", lambda: model.scores(texts, ["a"]))
        raises(t.StateError, "", lambda: model.spans(texts))


def test_a_mask_past_what_the_model_reads_is_an_error(_):
    with t.FillMask(SOURCE / "tests/golden/encoders/masked", DEVICE) as model:
        assert [len(masks) for masks in model(["anna [MASK]", "anna"])] == [1, 0]
        raises(t.ArgumentError, "text 2 has 43 tokens, and one of its masks lies past the 32", lambda: model(["anna [MASK]", "a " * 40 + "[MASK]"]))


def test_answers_and_ranks_are_the_goldens(folder):
    golden = SOURCE / "tests/golden"
    wanted = json.loads((golden / "answers/expected.json").read_text())
    questions, contexts, case = wanted["questions"], wanted["contexts"], wanted["models"]["unigram"][2]
    with t.Answerer(golden / "answers/unigram", "reference", top_k=3, no_answer=True) as model:
        for found, answers, context in zip(model(questions, contexts), case["answers"], contexts, strict=True):
            assert [a.text for a in found] == [a["text"] for a in answers] and all(context[a.start:a.end] == a.text for a in found)
            np.testing.assert_allclose([a.score for a in found], [a["score"] for a in answers], atol=2e-5)
        assert model(questions[0], contexts[0]) == model(questions, contexts)[0]
        raises(ValueError, "1 questions and 2 texts", lambda: model(questions[:1], contexts[:2]))
    raises(t.StateError, "does not answer questions", lambda: t.Answerer("intents", "reference"))
    wanted = json.loads((golden / "ranks/expected.json").read_text())
    with t.Ranker(golden / "ranks/qwen3", "reference", instruction="cats", max_tokens=wanted["most"]) as model:
        scores = model.scores(wanted["query"], wanted["texts"])
        np.testing.assert_allclose(scores, wanted["told"], atol=2e-6)
        ranked = model.rank(wanted["query"], wanted["texts"], top_k=2, return_documents=True)
        assert [r.corpus_id for r in ranked] == list(np.argsort(-scores)[:2]) and ranked[0].text == wanted["texts"][ranked[0].corpus_id]
    raises(t.StateError, "whose classifier has one", lambda: t.Ranker("intents", "reference"))


def test_scores_of_pairs(folder):
    golden = SOURCE / "tests/golden/ranks/labels"
    with t.CrossEncoder(golden, "reference") as model:
        pairs = [("a", "b"), ("c", "d e")]
        np.testing.assert_array_equal(model.predict(pair for pair in pairs), model.predict(pairs))
        raises(TypeError, "list of str", lambda: model.rank("a", "bc"))
        np.testing.assert_array_equal(model.predict(np.array(pairs)), model.predict(pairs))
        for one in (("a", "b"), ["a", "b"], np.array(["a", "b"]), np.array(["a", "b"], object)):
            score = model.predict(one)
            assert isinstance(score, np.float32) and score == model.predict(pairs)[0], score
        for wrong, named in ((("ab",), "pair 1 is 'ab'"), ("ab", "pair 1 is 'a'"), ([("a", "b"), "cd"], "pair 2 is 'cd'"), ([("a", "b", "c")], "pair 1 is ('a', 'b', 'c')"),
                             ([("a", 1)], "pair 1 is ('a', 1)"), ([5], "pair 1 is 5")):
            raises(TypeError, f"{named}; give two texts, (first, second)", lambda wrong=wrong: model.predict(wrong))
        told, drawn = [], io.StringIO()
        with contextlib.redirect_stderr(drawn):
            np.testing.assert_array_equal(model.predict(pairs, batch_size=1, show_progress_bar=True, convert_to_numpy=True), model.predict(pairs))
            np.testing.assert_array_equal(model.predict(pairs, show_progress_bar=True, progress=lambda done, total: told.append((done, total))), model.predict(pairs))
        assert drawn.getvalue() == "\rpredict: 2/2\n" and told == [(2, 2)], (drawn.getvalue(), told)
        raises(ValueError, "batch_size=0", lambda: model.predict(pairs, batch_size=0))
        raises(ValueError, "convert_to_numpy=False", lambda: model.predict(pairs, convert_to_numpy=False))
    with t.CrossEncoder(cross_encoder(folder / "one"), DEVICE) as model:
        documents = ["anna lives in london", "the cat sat", "paris", "how are you"]
        scores = model.predict([("how are you", document) for document in documents])
        ranked = model.rank("how are you", (document for document in documents), return_documents=True, batch_size=2, show_progress_bar=False)
        order = sorted(range(4), key=lambda i: -scores[i])
        assert [r.corpus_id for r in ranked] == order != [0, 1, 2, 3] and [r.text for r in ranked] == [documents[i] for i in order]
        assert [r.score for r in ranked] == [scores[i] for i in order] and [r["corpus_id"] for r in ranked] == order and ranked[0]["score"] == ranked[0].score
        bare = model.rank("how are you", documents, top_k=2)
        assert [(r.corpus_id, r.text) for r in bare] == [(i, None) for i in order[:2]]
        wanted = {"corpus_id": order[0], "score": ranked[0].score, "text": documents[order[0]]}
        assert dict(ranked[0]) == wanted and list(ranked[0]) == list(wanted) and len(ranked[0]) == 3 and "text" in ranked[0] and "rank" not in ranked[0], ranked[0]
        assert list(bare[0]) == ["corpus_id", "score"] and len(bare[0]) == 2 and "text" not in bare[0] and bare[0].get("text", "") == "", bare[0]
        raises(KeyError, "rank", lambda: ranked[0]["rank"])
        raises(KeyError, "text", lambda: bare[0]["text"])
    with t.CrossEncoder(SOURCE / "tests/golden/encoders/classify", DEVICE) as model:
        assert model.predict(("a", "b")).shape == (3,)


def test_scores_go_through_the_activation_that_the_files_name(folder):
    """config_sentence_transformers.json, where the folder was saved as a cross-encoder, before config.json; without either as sentence-transformers
    has it: a sigmoid of one label, the logits of several."""
    pairs = [("anna", "the cat sat"), ("how are you", "anna lives in london")]

    def predicted(model):
        with t.CrossEncoder(model, "reference") as opened:
            return opened.predict(pairs), opened.scores([a for a, _ in pairs], [b for _, b in pairs])

    def saved(model, activation, **more):
        (model / "config_sentence_transformers.json").write_text(json.dumps({"model_type": "CrossEncoder", "activation_fn": activation} | more))
    one, three = cross_encoder(folder / "one"), folder / "three"
    shutil.copytree(SOURCE / "tests/golden/encoders/classify", three)
    plain, logits = predicted(one)
    logits, sigmoid = logits[:, 0], lambda x: 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(plain, sigmoid(logits), atol=1e-6)
    change_json(one / "config.json", sentence_transformers={"activation_fn": "torch.nn.modules.activation.Tanh"})
    np.testing.assert_allclose(predicted(one)[0], np.tanh(logits), atol=1e-6)
    for name, wanted in (("linear.Identity", logits), ("activation.Tanh", np.tanh(logits)), ("activation.Sigmoid", sigmoid(logits))):
        saved(one, "torch.nn.modules." + name)
        np.testing.assert_allclose(predicted(one)[0], wanted, atol=1e-6)
        np.testing.assert_array_equal(predicted(one / "model.safetensors")[0], predicted(one)[0])  # its settings are beside it
    saved(one, "torch.nn.modules.linear.Identity", model_type="SentenceTransformer")
    np.testing.assert_allclose(predicted(one)[0], np.tanh(logits), atol=1e-6)

    def warned(*files):
        """The scores, where these files name an activation that is not PyTorch's."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            scores = predicted(one)[0]
        said = [str(warning.message) for warning in told if "is not one of PyTorch's" in str(warning.message)]
        assert [line.split(":")[0] for line in said] == list(files), said
        return scores
    saved(one, "mine.Identity")
    np.testing.assert_allclose(warned("config_sentence_transformers.json"), np.tanh(logits), atol=1e-6)
    change_json(one / "config.json", sentence_transformers={"activation_fn": "mine.Softmax"}, sbert_ce_default_activation_function="torch.nn.modules.linear.Identity")
    np.testing.assert_allclose(warned("config_sentence_transformers.json", "config.json"), plain, atol=1e-6)
    saved(one, "torch.nn.modules.activation.GELU")
    raises(ValueError, "config_sentence_transformers.json: the activation torch.nn.modules.activation.GELU is not supported", lambda: predicted(one))
    numbers, probabilities = predicted(three)
    softmax = np.exp(numbers) / np.exp(numbers).sum(axis=1, keepdims=True)
    assert numbers.shape == (2, 3) and abs(numbers.sum(axis=1) - 1).min() > 1e-3, numbers
    np.testing.assert_allclose(softmax, probabilities, atol=1e-6)
    saved(three, "torch.nn.modules.activation.Softmax")
    np.testing.assert_allclose(predicted(three)[0], probabilities, atol=1e-6)
    saved(three, "torch.nn.modules.linear.Identity")
    np.testing.assert_array_equal(predicted(three)[0], numbers)


def test_embed(folder):
    """An encoder without modules.json: the mean of its last hidden states."""
    with t.Embedder("intents", DEVICE) as model:
        texts = ["My card", "Where is my card?", "It rains"]
        vectors = model.encode(texts)
        assert vectors.shape == (3, model.get_sentence_embedding_dimension()) and vectors.dtype == np.float32
        assert (model.encode(texts[1]) == vectors[1]).all() and model.encode([]).shape == (0, vectors.shape[1])
        hidden = model.dump([model.tokenize(texts[2])])
        last = hidden[max((n for n in hidden if n.startswith("hidden.")), key=lambda n: int(n.split(".")[1]))][0]
        np.testing.assert_allclose(vectors[2], last.mean(axis=0), atol=1e-5)
        unit = model.encode(texts, normalize_embeddings=True)
        np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)
        np.testing.assert_allclose(model.similarity(vectors, vectors), unit @ unit.T, atol=1e-6)
        told = []
        model.encode(texts, progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (3, 3), told
        raises(t.CancelledError, "", lambda: model.encode(texts, progress=lambda done, total: True))
        raises(t.ArgumentError, "", lambda: model.encode(texts, prompt_name="nonsense"))
        assert (model.encode("is my card?", prompt="where ") == model.encode("where is my card?")).all()
        raises(t.ArgumentError, "give one of them", lambda: model.encode(texts, prompt="a", prompt_name="b"))
        raises(ZeroDivisionError, "", lambda: model.encode(texts, progress=lambda done, total: 1 // 0))
        raises(TypeError, "list of str", lambda: model.encode([1]))
        assert (model.encode(texts) == vectors).all()
        where, used = model.encode("is my card?", prompt="where "), []
        for i in range(50):  # prompts made for one text each
            model.encode("card", prompt=f"{i} ")
            used.append(model.memory.inputs)
        assert used[49] < 2 * used[9], ("the embedders of old prompts stay", used)
        assert (model.encode("is my card?", prompt="where ") == where).all() and (model.encode(texts) == vectors).all()
    with t.Embedder("shakespeare", DEVICE, pooling="last") as model:
        assert model.embedding.pooling == "last" and model.info.kind == "encoder"
        vector, states = model.encode("KING"), model.dump([model.tokenize("KING")])
        last = states[max((n for n in states if n.startswith("hidden.")), key=lambda n: int(n.split(".")[1]))][0]
        np.testing.assert_allclose(vector, last[-1], atol=1e-5)
    sentence = copy_model_deep(SENTENCE, folder / "sentence")
    for cut, unit in ((3, False), (None, True), (6, True), (7, True)):  # its vectors have 6 numbers
        change_json(sentence / "config_sentence_transformers.json", truncate_dim=cut)
        with t.Embedder(sentence, DEVICE) as model:
            assert model.embedding.normalized == unit, (cut, model.embedding)
    golden = SOURCE / "tests" / "golden" / "models" / "jina_tasks"
    wanted = json.loads((golden / "expected.json").read_text())
    with t.Embedder(golden / "model", "reference", task="separation") as model:
        np.testing.assert_allclose(model.encode(wanted["lines"]), wanted["encode"]["separation"], atol=2e-6)
        assert model.embedding.task == "separation" and model.embedding.tasks.split(", ") == list(wanted["encode"]), model.embedding
    raises(t.ArgumentError, "has no adapter for the task", lambda: t.Embedder(golden / "model", "reference", task="x"))
    raises(t.ArgumentError, "choose a pooling", lambda: t.Embedder("shakespeare", DEVICE))
    raises(t.ArgumentError, 'no pooling "median"', lambda: t.Embedder("intents", DEVICE, pooling="median"))


def test_embed_takes_what_sentence_transformers_takes(folder):
    texts = ["anna lives in london", "the cat sat on the mat", "how are you?"]
    sentence = copy_model_deep(SENTENCE, folder / "sentence")
    with t.Embedder(sentence, DEVICE) as model:
        vectors = model.encode(texts)
        np.testing.assert_array_equal(model.encode(text for text in texts), vectors)
        np.testing.assert_array_equal(model.encode(texts, batch_size=1, convert_to_numpy=True, show_progress_bar=None), vectors)
        assert model.get_embedding_dimension() == model.get_sentence_embedding_dimension() == vectors.shape[1]
        drawn = io.StringIO()
        with contextlib.redirect_stderr(drawn):
            model.encode(texts)
            assert drawn.getvalue() == "", drawn
            np.testing.assert_array_equal(model.encode(texts, show_progress_bar=True), vectors)
        assert drawn.getvalue() == "\rencode: 3/3\n", drawn.getvalue()
        raises(ValueError, "batch_size=0: it is at least 1", lambda: model.encode(texts, batch_size=0))
        raises(ValueError, "convert_to_numpy=False", lambda: model.encode(texts, convert_to_numpy=False))
    a, b = np.array([[3, 4], [0, 2]], np.float32), np.array([[4, 3], [-3, -4], [0, 0]], np.float32)
    wanted = {"cosine": [[0.96, -1, 0], [0.6, -0.8, 0]], "dot": [[24, -25, 0], [6, -8, 0]], "manhattan": [[-2, -14, -7], [-5, -9, -2]],
              "euclidean": [[-2**0.5, -10, -5], [-17**0.5, -45**0.5, -2]]}
    for name, numbers in wanted.items():
        change_json(sentence / "config_sentence_transformers.json", similarity_fn_name=name)
        with t.Embedder(sentence, DEVICE) as model:
            found = model.similarity(a, b)
            assert model.similarity_fn_name == name and found.dtype == np.float32
            np.testing.assert_allclose(found, numbers, atol=1e-5)
            np.testing.assert_allclose(model.similarity(a[0], b), numbers[:1], atol=1e-5)
    change_json(sentence / "config_sentence_transformers.json", similarity_fn_name="jaccard")
    with t.Embedder(sentence, DEVICE) as model:
        raises(ValueError, "similarity_fn_name 'jaccard': it is one of cosine, dot, euclidean, manhattan", lambda: model.similarity(a, b))
    apart = own_folder(copy_model_deep(SENTENCE, folder / "apart"))
    change_json(apart / "config_sentence_transformers.json", similarity_fn_name="dot")
    for path in apart, apart / "0_Transformer", apart / "0_Transformer/model.safetensors":
        with t.Embedder(path, DEVICE) as model:
            assert model.similarity_fn_name == "dot", path


def test_lists_of_texts_may_be_any_iterables(folder):
    golden = SOURCE / "tests/golden"
    with t.Device(DEVICE) as device:
        with t.Classifier(golden / "ranks/labels", device) as model:
            np.testing.assert_array_equal(model.scores(iter(["a", "b"]), iter(["c", "d"])), model.scores(["a", "b"], ["c", "d"]))
            assert model(iter(["a", "b"])) == model(["a", "b"])
        with t.Answerer(golden / "answers/unigram", device) as model:
            assert model(iter(["a", "b"]), iter(["c", "d"])) == model(["a", "b"], ["c", "d"])
        with t.Ranker(golden / "ranks/qwen3", device) as model:
            np.testing.assert_array_equal(model.scores("a", iter(["b", "c"])), model.scores("a", ["b", "c"]))
            assert model.rank("a", iter(["b", "c"]), return_documents=True) == model.rank("a", ["b", "c"], return_documents=True)


def test_errors_are_exceptions(folder):
    raises(t.FileError, "nonsense", lambda: t.Model(folder / "nonsense", DEVICE))
    assert issubclass(t.FileError, OSError) and issubclass(t.ArgumentError, ValueError) and t.FileError.status == 8
    raises(t.ArgumentError, "", lambda: t.Device("nonsense"))
    raises(ValueError, "f32, f16", lambda: t.Model("shakespeare", DEVICE, "f31"))
    for adapter in (folder / "nonsense", str(folder / "nonsense"), [folder / "nonsense"]):
        raises(t.FileError, "nonsense", lambda path=adapter: t.Model("shakespeare", DEVICE, lora=path))
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{")
    raises(t.FormatError, "model.safetensors", lambda: t.Model(folder, DEVICE))
    with play() as model:
        raises(t.ArgumentError, "temperature is -1", lambda: model.generate("a", temperature=-1))
        raises(TypeError, "Did you mean temperature?", lambda: model.generate("a", tempreature=1))
        raises(t.UnsupportedError, "", lambda: t.Translator("shakespeare", DEVICE).translate("a"))
    raises(t.StateError, "this Model is closed", lambda: model.generate("a"))
    model.close()  # a second time does nothing


def test_close_waits_for_tokenizing(_):
    """It needs no device, so it takes no turn: any thread may do it at any time."""
    tokenizer, found = t.Tokenizer("shakespeare"), []
    thread = threading.Thread(target=lambda: found.append(tokenizer.tokenize("word " * 1_000_000).size))
    thread.start()
    while not tokenizer._held.readers and thread.is_alive():
        time.sleep(0.0005)
    tokenizer.close()
    assert not tokenizer._held.readers
    thread.join()
    assert found and found[0] >= 1_000_000, found
    for call in (lambda: tokenizer.tokenize("a"), lambda: tokenizer.detokenize([1]), lambda: tokenizer.piece(1), tokenizer.describe):
        raises(t.StateError, "this Tokenizer is closed", call)
    with t.Tokenizer("shakespeare") as tokenizer, tokenizer._reading():
        raises(t.StateError, "can't close it", tokenizer.close)


def test_calls_release_the_interpreters_lock(_):
    """Another thread runs in the middle of a call, not only before and after it."""
    stamps, over = [], threading.Event()

    def note():
        while not over.wait(0.001):
            stamps.append(time.perf_counter())
    thread, text = threading.Thread(target=note), "word " * 1_000_000
    with t.Tokenizer("shakespeare") as tokenizer:
        thread.start()
        try:
            begun = time.perf_counter()
            tokenizer.tokenize(text)
            took = time.perf_counter() - begun
        finally:
            over.set()
            thread.join()
    assert any(0.2 * took < stamp - begun < 0.8 * took for stamp in stamps), (took, [stamp - begun for stamp in stamps])


def test_whole_numbers_out_of_range_are_errors(_):
    """ctypes would take their lowest bits."""
    masked = SOURCE / "tests/golden/encoders/masked"
    with t.Device(DEVICE) as device, t.Model("shakespeare", device) as model, t.Translator(device=device) as translator, model.session() as session:
        for name, value in (("seed", 2**64 + 1), ("seed", -1), ("top_k", 2**32 + 1), ("no_repeat_ngram", -1), ("logprobs", -1), ("ignore_eos", 2**32), ("speculate", 2**31)):
            raises(t.ArgumentError, f"{name}={value}: give a whole number from ", lambda one={name: value}: model.generate("a", 1, **one))
        for sentence, call in (("max_tokens=9223372036854775808: give", lambda: model.generate("a", 2**63)), ("token=4294967301: give", lambda: model.piece(2**32 + 5)),
                               ("sequences=-1: give a whole number from 0 to 4294967295", lambda: model.session(-1)), ("sequence=4294967296:", lambda: session.length(2**32)),
                               ("sequence=4294967296:", lambda: session.prefill([1], 2**32)), ("source=-1:", lambda: session.fork(-1, 0)),
                               ("length=18446744073709551616:", lambda: session.rewind(0, 2**64)), ("threads=-1:", lambda: t.Device(DEVICE, threads=-1)),
                               ("context=18446744073709551621:", lambda: t.Model("shakespeare", device, context=2**64 + 5)), ("tokens=18446744073709551617:", lambda: model.explain(2**64 + 1)),
                               ("the first of layers=4294967296:", lambda: model.attention("a", layers=(2**32, 1))), ("heads=4294967297:", lambda: model.attention("a", heads=(0, 2**32 + 1))),
                               ("top_k=4294967297:", lambda: t.FillMask(masked, device)("anna [MASK]", 2**32 + 1)),
                               ("prompts=18446744073709551617:", lambda: t.bench(None, device, prompts=[2**64 + 1])),
                               *((f"{name}=-1:", lambda name=name: translator.translate("a", **{name: -1})) for name in ("beam_size", "num_hypotheses", "max_batch_size"))):
            raises(t.ArgumentError, sentence, call)
        raises(ValueError, "one of them is 4294967301", lambda: model.generate("a", 1, logit_bias={2**32 + 5: 1.0}))
        raises(TypeError, "max_tokens=2.5: give a whole number", lambda: model.generate("a", 2.5))
        assert model.generate("a", np.int64(2), seed=2**64 - 1, top_k=np.int32(3), logit_bias={np.int32(5): 1.0}, ignore_eos=True).ids.size == 2


def test_what_ends_at_a_nul_has_none(_):
    """Texts with a size may contain it: see test_tokenizer_alone."""
    with t.Device(DEVICE) as device, t.Model("shakespeare", device) as model, t.Embedder("intents", device) as embedder:
        for call in (lambda: t.Model("shakespeare\0xyz", device), lambda: t.Device("reference\0xyz"), lambda: t.Model("shakespeare", device, lora="a\0b"),
                     lambda: model.generate("a", 1, grammar='root ::= "x" \0 ((('), lambda: model.generate("a", 1, json_schema="true\0{"), lambda: model.generate("a", 1, stop="a\0b"),
                     lambda: model.chat("a\0b", template="x"), lambda: embedder.encode("d", prompt="a\0b c d"), lambda: t.verify(DEVICE, op="softmax\0x")):
            raises(ValueError, "contains a NUL character", call)
        assert (embedder.encode("d\0zzz") != embedder.encode("d")).any()


def test_models_without_logits_of_tokens(_):
    answers = SOURCE / "tests/golden/answers/unigram"
    with t.Device(DEVICE) as device:
        for make, gives in ((lambda: t.Embedder("shakespeare", device, pooling="last"), "it gives hidden states; see dump"),
                            (lambda: t.Classifier("intents", device), 'its "logits" are [77]; see dump'), (lambda: t.Answerer(answers, device), 'its "logits" are [3, 2]; see dump')):
            with make() as model:
                raises(t.StateError, "has no logits of tokens, [T, V]: " + gives, lambda model=model: model.logits([5, 6, 7]))
        with t.Translator(device=device) as translator:
            assert translator.logits("Guten Tag").shape == (1, translator.info.vocab)
            raises(t.StateError, "(marian) writes from a source, and perplexity is of a text alone", lambda: translator.perplexity("hello you"))


def test_objects_close_in_order(folder):
    """Whoever is closed first, and where none is closed at all."""
    device = t.Device(DEVICE)
    model = t.Model("shakespeare", device)
    session = model.session()
    assert not model.closed and "reference" in repr(device) and device.info.backend == DEVICE
    device.close()
    assert model.closed and session.closed
    raises(t.StateError, "this Session is closed", lambda: session.prefill([1]))
    gc.collect()
    ended = []
    library = t._library.lib

    def noted(name, destroy):
        return lambda pointer: (ended.append(name), destroy(pointer))

    names = ["tsr_session_destroy", "tsr_model_close", "tsr_device_close"]
    with mock.patch.multiple(library, **{name: noted(name, getattr(library, name)) for name in names}):
        other = t.Model("shakespeare", DEVICE)
        other.cycle = other  # only the garbage collector ends it
        other.kept = other.session()
        del other
        gc.collect()
    assert ended == names, ended


def test_objects_end_when_nothing_refers_to_them(folder):
    golden = SOURCE / "tests/golden"
    calls = {
        "Model": (play, lambda m, told: (m.session(), m.chat(template=""), m.generate("a", 1))),
        "Embedder": (lambda: t.Embedder("intents", DEVICE), lambda m, told: m.encode(["a"], progress=told)),
        "Classifier": (lambda: t.Classifier("intents", DEVICE), lambda m, told: m.scores(["a"], progress=told)),
        "CrossEncoder": (lambda: t.CrossEncoder(golden / "ranks/labels", "reference"), lambda m, told: m.predict([("a", "b")], progress=told)),
        "Answerer": (lambda: t.Answerer(golden / "answers/unigram", "reference"), lambda m, told: m("a", "b", progress=told)),
        "Ranker": (lambda: t.Ranker(golden / "ranks/qwen3", "reference"), lambda m, told: m.scores("a", ["b"], progress=told)),
    }

    def left(make, call):
        model, seen = make(), []
        call(model, lambda done, total: seen.append(model.info))  # this refers to the model, too
        return weakref.ref(model), weakref.ref(model.device)

    gc.collect()
    gc.disable()
    try:
        for name, (make, call) in calls.items():
            assert [ref() for ref in left(make, call)] == [None, None], name
    finally:
        gc.enable()


def test_interrupt(folder):
    """Ctrl-C stops a call that would take long, and the model can be used afterwards."""
    with play() as model:
        for stream in (False, True):
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                answer = model.generate(["ROMEO:"] * 4, 500, ignore_eos=True, stream=stream)
                for _ in answer:
                    pass
                raise AssertionError("it was not stopped")
            except KeyboardInterrupt:
                pass
            assert not [thread for thread in threading.enumerate() if thread.name == "tessera_cl stream"]
        assert model.generate("ROMEO:", 2).finish == "length"


def press(*_):
    """Ctrl-C, in a callback."""
    signal.raise_signal(signal.SIGINT)


def test_interrupt_of_masks(folder):
    """The texts run in batches, and the visit after the first one stops the rest."""
    texts = ["anna [MASK]"] * 10000
    with t.Device(DEVICE, profile=True) as device, t.FillMask(MASKED, device) as model:
        def launches():
            return sum(kernel.launches for kernel in model.profile())
        assert len(model(texts, 1)) == len(texts)
        whole, detokenize = launches(), model.detokenize

        def pressed(*arguments, **options):
            press()
            return detokenize(*arguments, **options)
        with mock.patch.object(model, "detokenize", pressed):
            raises(KeyboardInterrupt, "", lambda: model(texts, 1))
        assert 0 < launches() - whole < whole / 2, (launches(), whole)
        assert len(model("anna [MASK]", 1)[0]) == 1


def stopped(call):
    """What the library says of a call that Ctrl-C stops, before KeyboardInterrupt is raised."""
    error = raises(KeyboardInterrupt, "", call).__context__
    assert isinstance(error, t.CancelledError), f"it was not stopped: {error!r}"
    return str(error)


def test_interrupt_of_what_tells_its_progress(folder):
    with t.Device(DEVICE) as device:
        for make, call in TELLING.values():
            with make(device) as model:
                before = call(model, None)
                stopped(lambda call=call, model=model: call(model, press))
                np.testing.assert_array_equal(call(model, None), before)
        stopped(lambda: t.Model("shakespeare", device, progress=press))
        with t.Model("shakespeare", device) as model:
            assert model.generate("ROMEO:", 2).finish == "length"


def test_interrupt_of_training(folder):
    """It writes a checkpoint, from which the run goes on."""
    (folder / "text.txt").write_text("To be, or not to be, that is the question.\n" * 200)
    run_of = {"model": "shakespeare", "data": folder / "text.txt", "output": folder / "out", "device": DEVICE,
              "settings": {"max_steps": 3, "logging_steps": 1, "per_device_train_batch_size": 2, "block_size": 16}}
    said = stopped(lambda: t.train(**run_of, callback=lambda event: press() if event.kind == "step" else None))
    (kept,) = checkpoints(folder / "out")
    check_checkpoint(kept)
    assert kept.name in said and not (folder / "out/model.safetensors").exists(), said
    result = t.train(**run_of, resume=True)
    assert result.finished and result.step == 3, result


STOPS_A_BUILD = """
import signal, sys
import tessera_cl as t
from tessera_cl import _declarations as c, _device
from tessera_cl._library import field_type

waiting, guarded = [], _device.guarded

def told(_, progress):
    if waiting and progress and progress[0].doing == b"building kernels":
        waiting.pop()
        signal.raise_signal(signal.SIGINT)

_device.guarded = lambda kind, function: guarded(kind, told if kind is field_type(c.tsr_engine_options, "progress") else function)

def answer():
    with t.Model(sys.argv[2], device) as model:
        return model.generate([[9]], 1, temperature=0)[0].ids.size

with t.Device(sys.argv[1]) as device:
    waiting.append(True)
    try:
        print("it was not stopped", answer())
    except KeyboardInterrupt as error:
        print(repr(error.__context__), answer())
"""


def test_interrupt_of_building_kernels(folder):
    if TESTED == DEVICE or not has_device():
        print(f"       SKIP: no device {TESTED} that builds kernels")
        return
    env = environment(PYTHONPATH=SOURCE / "python")
    done = subprocess.run([sys.executable, "-c", STOPS_A_BUILD, TESTED, GOLDEN / "gpt2-tiny"], env=env, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "CancelledError('stopped while building kernels') 1\n", done


def test_fork(folder):
    """A child of fork gets an engine of its own."""
    device = t.Device(DEVICE)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with t.Model("shakespeare", DEVICE) as model:
                code = 0 if model.generate("ROMEO:", 1).ids.size == 1 else 1
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    device.close()


def test_models_in_caches(folder):
    """Beside the bundled ones; the first place counts, and what a cache refuses is left out."""
    hub, cpp, store = folder / "hub", folder / "cpp", folder / "ollama"
    snapshot, manifests = hub / "models--org--tiny-GGUF/snapshots/aaa", store / "manifests/registry.ollama.ai/library"
    for path in (snapshot / "tiny-Q8_0.gguf", cpp / "org_tiny-GGUF_tiny-Q8_0.gguf", cpp / "org_more-GGUF_more-Q8_0.gguf", manifests / "damaged/latest"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{")
    with mock.patch.dict(os.environ, HF_HUB_CACHE=str(hub), LLAMA_CACHE=str(cpp), OLLAMA_MODELS=str(store)):
        found = t.models()
    cached = {name: found[name] for name in ("org/tiny-GGUF:Q8_0", "org/more-GGUF:Q8_0")}
    assert cached == {"org/tiny-GGUF:Q8_0": str(snapshot / "tiny-Q8_0.gguf"), "org/more-GGUF:Q8_0": str(cpp / "org_more-GGUF_more-Q8_0.gguf")}, found
    assert "shakespeare" in found and "damaged:latest" not in found, found


def test_measures(folder):
    assert any(d.backend == DEVICE and d.facts.usable for d in t.devices())
    assert set(t.models()) >= {"shakespeare", "intents", "translate-de-en"} and t.recipes()
    found = t.verify(DEVICE, op="softmax")
    assert found and found.summary.ops_done == 1 and all(r.op == "softmax" for r in found.results)
    assert found.results[0].status in ("ok", "skipped", "not_offered")
    raises(t.ArgumentError, "", lambda: t.verify(DEVICE, op="softmaxx"))
    ops = t.explain("shakespeare", DEVICE)
    assert {"attention", "linear"} <= {op.op for op in ops} and any(v.chosen for op in ops for v in op.variants) and {op.tokens for op in ops} == {1}
    told = []
    raises(t.CancelledError, "", lambda: t.bench(None, DEVICE, progress=lambda what: told.append(what) or True))
    assert len(told) == 1, told
    measure = t._measure.lib
    with t.Device(DEVICE, threads=1) as one, mock.patch.object(measure, "tsr_bench", mock.Mock(return_value=0, argtypes=measure.tsr_bench.argtypes)):
        for device, threads in ((one, 1), (DEVICE, None)):
            assert t.bench(None, device)["devices"][0]["threads"] == threads
        told = t.bench(None, DEVICE, output=folder / "run.json")
        raises(FileNotFoundError, "", lambda: t.bench(None, DEVICE, output=folder / "no" / "run.json"))
    assert json.loads((folder / "run.json").read_bytes()) == told and told["suite"]["version"] == 1  # the version that the command writes
    lines, written = (folder / "run.json").read_bytes().split(b'\n "hash": "')
    assert hashlib.sha256(lines + b"\n").hexdigest() == written[:64].decode(), "the bytes are not those that the hash is of"
    if ALL:  # peaks take a while
        result = t.bench("shakespeare", TESTED, prompts=[4], generates=[], repeats=1)
        assert result["schema"] and any(row.get("test") == "pp4" for row in result["rows"]), result.keys()
    with play() as model:
        score = model.perplexity("To be, or not to be, that is the question")
        assert score.tokens > 5 and abs(np.exp(score.loss) - score.perplexity) < 1e-6 * score.perplexity
        assert model.describe()["positions"] == "learned" and model.memory.weights > 10**6 and model.info.family == "gpt2"


def test_train(folder):
    (folder / "text.txt").write_text("To be, or not to be, that is the question.\n" * 200)
    settings = {"max_steps": 3, "logging_steps": 1, "per_device_train_batch_size": 2, "block_size": 16}
    events = []
    result = t.train(model="shakespeare", data=[folder / "text.txt"], output=folder / "out", device=DEVICE, callback=events.append,
                     settings=settings)
    steps = [e for e in events if e.kind == "step"]
    assert result.finished and result.steps == 3 and [e.step for e in steps] == [1, 2, 3] and steps[0].loss > 0
    planned = [e.plan for e in events if e.kind == "planned"]
    assert planned and planned[0].family == "gpt2" and planned[0].total_bytes > 10**6
    with t.Model(folder / "out", DEVICE) as model:
        assert model.generate("To be", 2).ids.size == 2
    for one in (folder / "text.txt", str(folder / "text.txt")):  # a path in place of a list
        assert t.train(model="shakespeare", data=one, validation=one, output=folder / "planned", device=DEVICE, settings=settings, dry_run=True).step == 0
    raises(t.ArgumentError, "max_stepz", lambda: t.train(model="shakespeare", data=[folder / "text.txt"], output=folder / "x", device=DEVICE, settings={"max_stepz": 3}))
    raises(t.CancelledError, "", lambda: t.train(model="shakespeare", data=[folder / "text.txt"], output=folder / "half", device=DEVICE,
                                                 settings=settings, callback=lambda e: e.kind == "step"))


main(globals())

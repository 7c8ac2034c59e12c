"""The protocol of every encoder's worker: one JSON request per line, one JSON answer per line.

    {"do": "embed", "batch": 32, "tokens": 64}  seconds to embed this many texts of this many tokens, from texts to unit vectors: the median of
                                                some runs within "budget" seconds
    {"do": "mixed", "batch": 64}                the same for texts of 8 to 248 tokens
    {"do": "short", "runs": 200}                the median for single sentences
    {"do": "vectors"}                           the vectors of all these texts, as a file of f32: {"file": ..}
    {"do": "memory"}                            largest resident set of the process, bytes

A worker begins by embedding one sentence, and reports that it did.
"""

import array
import statistics
import tempfile
import time

import texts
from protocol import answer, memory

SHORT = "A man is eating a piece of bread."


def run(engine, given, budget, least=2):
    engine.embed(given)
    times, begun = [], time.perf_counter()
    while len(times) < least or time.perf_counter() - begun < budget:
        at = time.perf_counter()
        engine.embed(given)
        times.append(time.perf_counter() - at)
    return {"seconds": statistics.median(times), "best": min(times), "runs": len(times)}


def embed(engine, batch, tokens, budget=0.4):
    return run(engine, texts.batch_of(batch, tokens), budget)


def mixed(engine, batch, budget=0.4):
    return run(engine, texts.mixed(batch)[0], budget)


def short(engine, runs=200):
    return run(engine, [SHORT], 0, runs)


def vectors(engine):
    given = [SHORT, *texts.batch_of(8, 16), *texts.batch_of(4, 64), *texts.batch_of(2, 256)]
    with tempfile.NamedTemporaryFile(delete=False, suffix=".f32") as file:
        for text in given:
            array.array("f", [float(v) for v in engine.embed([text])[0]]).tofile(file)
    return {"file": file.name}


def begin(engine):
    engine.embed([SHORT])
    return {}


def serve(make):
    """`make(arguments)` gives the engine: embed(texts) -> unit vectors."""
    answer(make, begin, {"embed": embed, "mixed": mixed, "short": short, "vectors": vectors, "memory": memory})

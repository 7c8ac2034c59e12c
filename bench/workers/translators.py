"""The protocol of every translator's worker: one JSON request per line, one JSON answer per line.

    {"do": "translate", "batch": 64, "beams": 4}  seconds of one call, and the tokens that it generated: the median of some calls within "budget" seconds
                                                  with "changing": the batch and the sentences' lengths change from call to call
    {"do": "greedy"}                              the ids of the greedy translations of eight sentences: {"ids": [[..], ..]}
    {"do": "memory"}                              largest resident set of the process, bytes

A worker begins by generating one token for one sentence, and reports that it did.
"""

import statistics
import time

from protocol import answer, memory

BASE = {"length": 20, "made": 25, "vocabulary": 32000, "end": 0}


def sources(batch, kind):
    """Sentences for a model: for `base` 20 ids, the last its end token; for `tiny` 6 to 10 letters, whose first three ids are marks."""
    if kind == "base":
        return [[2 + (i * 131 + j * 17) % 31000 for j in range(BASE["length"] - 1)] + [BASE["end"]] for i in range(batch)]
    return [[3 + (i * 7 + j * 3) % 33 for j in range(6 + i % 5)] for i in range(batch)]


def changing(batch, call):
    """A call's own sentences: up to `batch` of 8 to 40 ids for `base`."""
    return [[2 + (i * 131 + j * 17 + call) % 31000 for j in range(7 + (i * 13 + call * 29) % 33)] + [BASE["end"]] for i in range(batch - call * 7 % (batch // 2 + 1))]


def run_changing(engine, batch, beams, budget, least=4):
    """Seconds of all calls for each token, as no two calls are alike."""
    engine.translate(changing(batch, 0), beams)
    seconds = tokens = calls = 0
    while calls < least or seconds < budget:
        calls += 1
        given = changing(batch, calls)
        at = time.perf_counter()
        tokens += sum(map(len, engine.translate(given, beams)))
        seconds += time.perf_counter() - at
    return {"seconds": seconds / tokens, "tokens": tokens, "runs": calls}


def run(engine, given, beams, budget, least=2):
    engine.translate(given, beams)
    times, tokens, begun = [], 0, time.perf_counter()
    while len(times) < least or time.perf_counter() - begun < budget:
        at = time.perf_counter()
        tokens = sum(map(len, engine.translate(given, beams)))
        times.append(time.perf_counter() - at)
    return {"seconds": statistics.median(times) / tokens, "tokens": tokens, "runs": len(times)}


def translate(engine, batch, beams, budget=0.5, shapes="same"):
    if shapes == "changing":
        return run_changing(engine, batch, beams, budget)
    return run(engine, sources(batch, engine.kind), beams, budget)


def greedy(engine):
    return {"ids": engine.translate(sources(8, engine.kind), 1)}


def begin(engine):
    engine.translate(sources(1, engine.kind), 1)
    return {}


def serve(make):
    """`make(arguments)` gives the engine: kind ("base" or "tiny"), translate(ids, beams) -> the best ids of each."""
    answer(make, begin, {"translate": translate, "greedy": greedy, "memory": memory})

"""The protocol of every worker: one JSON request per line, one JSON answer per line.

    {"do": "logits", "ids": [..]}                 logits of the last token, as a file of f32: {"file": ..}
    {"do": "prefill", "n": 512}                   seconds for a prompt of n tokens, up to the logits of the last
    {"do": "decode", "context": 64, "steps": 32}  seconds per token of greedy decoding after a prompt of `context` tokens
    {"do": "memory"}                              largest resident set of the process, bytes

A worker begins by making one token from a prompt of one token, and reports {"first": true}, so that its starter can measure how long that took;
"load" is the seconds of it until the engine had its weights, "keys" the dtype in which it keeps keys and values.
"""

import json
import os
import resource
import sys
import tempfile
import time


def cores():
    """How many threads an engine has where no other number is given: as many as Tessera has, one for each core that this process may use."""
    return len(os.sched_getaffinity(0))


def ids_of(n):
    return [5 + i * 7 % 30000 for i in range(n)]


def prefill(engine, n):
    begun = time.perf_counter()
    engine.prefill(ids_of(n))
    return {"seconds": time.perf_counter() - begun}


def decode(engine, context, steps):
    if hasattr(engine, "decode_seconds"):
        return {"seconds": engine.decode_seconds(ids_of(context), steps)}
    token = engine.prefill(ids_of(context))
    begun = time.perf_counter()
    for at in range(steps):
        token = engine.step(token, context + at)
    return {"seconds": (time.perf_counter() - begun) / steps}


def logits(engine, ids):
    import array
    with tempfile.NamedTemporaryFile(delete=False, suffix=".f32") as file:
        array.array("f", engine.logits(ids)).tofile(file)
    return {"file": file.name}


def memory(_):
    for line in open("/proc/self/status", encoding="ascii"):
        if line.startswith("VmHWM:"):
            return {"bytes": int(line.split()[1]) * 1024}
    return {"bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def answer(make, begin, actions):
    """Makes the engine from the command line's arguments, runs `begin(engine)`, reports what that gives, and answers requests."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # an engine's own output must not be taken for an answer
    begun = time.perf_counter()
    engine = make(sys.argv[1:])
    load = time.perf_counter() - begun
    said = begin(engine)
    print(json.dumps({"first": True, "engine": engine.name, "load": load, **said}), file=answers)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answered = actions[request.pop("do")](engine, **request)
        except Exception as error:  # pylint: disable=broad-except  # any exception of a peer becomes its answer
            answered = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answered), file=answers)


def begin(engine):
    engine.prefill(ids_of(1))
    return {"keys": engine.keys}


def serve(make):
    """`make(arguments)` gives the engine: prefill(ids) -> likeliest next id, step(id, place) -> the same, logits(ids); keys."""
    answer(make, begin, {"prefill": prefill, "decode": decode, "logits": logits, "memory": memory})

"""The protocol of every worker of bench/train.py: one JSON request per line, one JSON answer per line.

    {"do": "train", "steps": 3}  the fastest of this many steps, each with gradients, AdamW and a loss read by the host: {"seconds": .., "loss": ..}
    {"do": "memory"}             largest resident set of the process, bytes

A worker begins with one step, and reports it, so that its starter can measure how long that took, including compilation.
"""

import time

from protocol import answer, memory

# vocabulary, positions, layers, heads, width, batch, tokens
SHAPES = {"char-gpt": (65, 64, 4, 4, 128, 12, 64), "gpt-10m": (65, 256, 6, 6, 384, 16, 256), "gpt2-124m": (50257, 1024, 12, 12, 768, 4, 64)}


def train(engine, steps):
    times = []
    for _ in range(steps):
        begun = time.perf_counter()
        loss = engine.step()
        times.append(time.perf_counter() - begun)
    return {"seconds": min(times), "loss": loss}


def begin(engine):
    return {"loss": engine.step(), "parameters": engine.parameters}


def serve(make):
    """`make(arguments)` gives the engine: step() -> loss, name, parameters."""
    answer(make, begin, {"train": train, "memory": memory})

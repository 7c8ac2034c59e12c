#!/usr/bin/env python3
"""Measures tessera serve beside the library that it is made of and beside llama.cpp, in turn: many requests at once, and how evenly tokens come.

    bench/serving.py --models FOLDER [--encoder FOLDER] [--peers PYTHON] [--group f32,q8] [--clients 1,8,32] [--tokens 64] [--rounds 3] [--device D]
                     [--build build/release]

bench/models.py FOLDER makes the Llama of 110 M; tools/peers installs PYTHON, tools/get-minilm the --encoder.

1. As many requests at once as there are clients, each a prompt of 64 tokens and --tokens greedy ones. Tokens/s from the first request to the end of
   the last answer: of the server over HTTP; of the same prompts as one batch of the Python package (goal: the server 0.95 times as fast);
   of llama.cpp's C interface, one llama_batch of all sequences (goal: the server 1.3 times as fast with 8 and 32). For one client,
   llama_cpp.server over HTTP is measured, too.
2. 32 streams of 256 tokens; when each has begun, another request of a prompt of 900 tokens arrives twice a second. The time between two tokens of a
   stream from the third of these on, because the first ones build plans: the median, and the 99th percentile in medians (goal: 2).
3. With --encoder: 64 sentences by POST /v1/embeddings, and by the Python package (goal: the server 0.85 times as fast).

Prints a JSON line for each; the exit code is 1 if a goal is missed.
"""

import argparse
import http.client
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

from duel import PAUSE, ROOT, WORKERS, Worker, machine, median, say

sys.path.insert(0, str(WORKERS))
from protocol import cores  # pylint: disable=wrong-import-position
from texts import mixed  # pylint: disable=wrong-import-position

CONTEXT, PROMPT, LONG = 1024, 64, 900
TYPES = {"f32": "f32", "q8": "q8_0"}  # and llama.cpp's name


def prompts_of(n):
    return [[5 + (s * 977 + i * 7) % 30000 for i in range(PROMPT)] for s in range(n)]


class Server:
    """A server that answers at a port of this machine."""

    def __init__(self, name, command, port):
        self.name, self.port = name, port
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        raise RuntimeError(f"{name} does not answer")

    def ask(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            told = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{self.name}: status {answer.status}: {told[:300]!r}")
            return json.loads(told)
        finally:
            connection.close()

    def generate(self, prompts, tokens, **more):
        """Seconds until all are answered."""
        faults = []

        def one(prompt):
            try:
                usage = self.ask("/v1/completions", {"prompt": prompt, "max_tokens": tokens, "temperature": 0, **more})["usage"]
                if usage["completion_tokens"] != tokens:
                    faults.append(f"{usage['completion_tokens']} tokens")
            except (OSError, RuntimeError, KeyError) as error:
                faults.append(str(error))

        threads = [threading.Thread(target=one, args=(prompt,)) for prompt in prompts]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if faults:
            raise RuntimeError(f"{self.name}: {faults[0]}")
        return time.perf_counter() - begun

    def stream(self, prompt, tokens, times):
        """Appends when each token of a stream came."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("POST", "/v1/completions", json.dumps({"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "stream": True}))
        answer = connection.getresponse()
        while line := answer.readline():
            if line.startswith(b"data: {"):
                times.append(time.perf_counter())
        connection.close()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def in_turns(rounds, engines):
    """{name: seconds of each round}; engines: {name: what gives the seconds of a round by its number}. The first round is not counted, because plans
    are built in it and memory is touched."""
    times = {name: [] for name in engines}
    for turn in range(rounds + 1):
        for name in sorted(engines, reverse=turn % 2 == 1):
            time.sleep(PAUSE)
            took = engines[name](turn)
            if turn:
                times[name].append(took)
    return times


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def tessera(o, model, *more):
    port = free_port()
    return Server("tessera serve", [o.build / "bin" / "tessera", "serve", "-q", "-m", model, "--port", port, *more, *(("-d", o.device) if o.device else ())], port)


def library(o, model, *more):
    os.environ["TESSERA_LIBRARY"], os.environ["PYTHONPATH"] = str(o.build / "lib" / "libtessera.so"), str(ROOT / "python")
    return Worker("library", [o.peers, WORKERS / "serving.py", "tessera", o.device, model, *more])


def throughput(o, group):
    """Goals met?"""
    kind, most = TYPES[group], max(o.clients)
    file = o.models / f"llama-110m-{kind}.gguf"
    server = tessera(o, file, "--slots", max(most, 32) + 8, "-c", CONTEXT, "--speculate", 0)
    ours = library(o, file, f"context={CONTEXT}")
    peer = Worker("llama.cpp", [o.peers, WORKERS / "serving.py", "llama.cpp", file, f"context={CONTEXT}", f"sequences={most}"])
    met = True
    for n in o.clients:
        prompts, made = prompts_of(n), {}

        def by(worker):
            made[worker.key] = worker.ask(do="generate", prompts=prompts, tokens=o.tokens)
            return made[worker.key]["seconds"]

        def by_server(turn):  # each round's prompts are new ones, so that no beginning is known
            return server.generate([[3 + turn, *ids[1:]] for ids in prompts], o.tokens, ignore_eos=True)

        times = in_turns(o.rounds, {"server": by_server, "library": lambda _: by(ours), "llama.cpp": lambda _: by(peer)})
        first = [a[0] == b[0] for a, b in zip(made["library"]["ids"], made["llama.cpp"]["ids"])]
        rate = {name: n * o.tokens / median(took) for name, took in times.items()}
        line = {"group": group, "clients": n, "tokens_s": {name: round(value, 1) for name, value in rate.items()},
                "to_llama.cpp": round(rate["server"] / rate["llama.cpp"], 3), "to_library": round(rate["server"] / rate["library"], 3),
                "equal_first_ids": f"{sum(first)} of {n}"}
        met = met and line["to_library"] >= 0.95 and (n == 1 or line["to_llama.cpp"] >= 1.3)
        say(**line)
    ours.close()
    peer.close()
    met = beside_llama_server(o, group, server, file) and met
    met = evenness(group, server) and met
    server.end()
    return met


def beside_llama_server(o, group, server, file):
    """One client, and a text, because llama_cpp.server takes no ids."""
    port = free_port()
    try:
        other = Server("llama_cpp.server", [o.peers, "-m", "llama_cpp.server", "--model", file, "--n_ctx", CONTEXT, "--n_threads", cores(), "--n_threads_batch", cores(),
                                            "--flash_attn", "true", "--port", port], port)
    except RuntimeError as error:
        say(group=group, engine="llama_cpp.server", status="unsupported", reason=str(error))
        return True

    def by(one, turn):
        return one.generate([chr(97 + turn) + "KING HENRY: once more unto the breach, dear friends, once m"], o.tokens, logit_bias={"2": -100})

    times = in_turns(o.rounds, {server.name: lambda turn: by(server, turn), other.name: lambda turn: by(other, turn)})
    other.end()
    rate = {name: round(o.tokens / median(took), 1) for name, took in times.items()}
    say(group=group, clients=1, over="HTTP", tokens_s=rate, ratio=round(rate[server.name] / rate[other.name], 3))
    return True


def evenness(group, server):
    streams, done = [[] for _ in range(32)], threading.Event()
    threads = [threading.Thread(target=server.stream, args=([9, *ids[1:]], 256, times)) for ids, times in zip(prompts_of(32), streams)]
    for thread in threads:
        thread.start()
    while not all(streams) and any(thread.is_alive() for thread in threads):
        time.sleep(0.01)
    begun = time.perf_counter() + 1.5

    def arrivals():
        number = 0
        while not done.wait(0.5):
            number += 1
            threading.Thread(target=server.ask, args=("/v1/completions", {"prompt": [5 + (number * 131 + i * 13) % 30000 for i in range(LONG)], "max_tokens": 1})).start()

    arriving = threading.Thread(target=arrivals)
    arriving.start()
    for thread in threads:
        thread.join()
    done.set()
    arriving.join()
    gaps = [after - before for times in streams for before, after in zip(times, times[1:]) if before >= begun]
    middle, late = statistics.median(gaps), statistics.quantiles(gaps, n=100)[98]
    say(group=group, clients=32, arriving="2 prompts of 900 tokens a second", between_tokens_ms={"median": round(1e3 * middle, 2), "p99": round(1e3 * late, 2)},
        p99_in_medians=round(late / middle, 2), tokens=len(gaps))
    return late <= 2 * middle


def embeddings(o):
    server, ours = tessera(o, o.encoder, "--dtype", "f32"), library(o, o.encoder, "dtype=f32")
    texts, _ = mixed(64)

    def by_server(_):
        begun = time.perf_counter()
        server.ask("/v1/embeddings", {"input": texts, "encoding_format": "base64"})
        return time.perf_counter() - begun

    times = in_turns(3 * o.rounds, {"server": by_server, "library": lambda _: ours.ask(do="embed", texts=texts)["seconds"]})
    server.end()
    ours.close()
    rate = {name: round(len(texts) / median(took), 1) for name, took in times.items()}
    say(embeddings=len(texts), a_second=rate, ratio=round(rate["server"] / rate["library"], 3))
    return rate["server"] >= 0.85 * rate["library"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--encoder", type=pathlib.Path)
    parser.add_argument("--peers", default=sys.executable, help="python with the peers")
    parser.add_argument("--group", default="f32,q8")
    parser.add_argument("--clients", default="1,8,32")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    o = parser.parse_args()
    o.clients = [int(n) for n in o.clients.split(",")]
    say(schema=1, bench="serving", **machine(), rounds=o.rounds, tokens=o.tokens)
    met = [throughput(o, group) for group in o.group.split(",")] + ([embeddings(o)] if o.encoder else [])
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())

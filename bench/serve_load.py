#!/usr/bin/env python3
"""Puts a load on tessera serve: clients that send requests at random times, some as streams, some that hang up, some that are wrong.

    bench/serve_load.py [-m MODEL] [--clients 64] [--seconds 300] [--slots 8] [--kv-tokens N] [--seed 1] [--device D] [--build build/release]

Each request of a pool (prompts that begin alike and others, greedy and drawn, several answers, log-probabilities, grammars) is first answered alone, by a
server that answers one at a time. Under load, every whole answer and every stream must be the same bytes; a wrong request must get status 400; in the
end no request runs or waits, whoever hung up, and the pool is answered once more. With --kv-tokens, the server under load has
memory for so many tokens of keys and values, and the line says how many requests were put back. Memory is the server's, each second: behind the first fifth of the
time, but at least a minute if there is one, it may grow by 2 % and 8 MiB. Prints one JSON line: counts, requests and tokens a second, percentiles of
the times to an answer's first and last byte, memory. The exit code is 1 if anything was not as it must be; stderr says what.
"""

import argparse
import http.client
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PATH = "/v1/completions"
WRONG = [b"{", json.dumps({"prompt": "a", "top_p": 7}).encode(), json.dumps({"prompt": "a", "nonsense": 1}).encode(), json.dumps({"prompt": []}).encode(),
         json.dumps({"prompt": "a", "grammar": "root ::= x"}).encode(), b'{"prompt": "\xff"}', b"[" * 5000]
GROWTH, MORE_MIB = 1.02, 8


def pool():
    """Requests of all kinds; each says how its answer is drawn."""
    speech = "KING RICHARD:\nNow is the winter of our discontent\nMade glorious summer by this sun of York;\n"
    asked = []
    for i in range(24):
        prompt = (speech * (1 + i % 4))[:40 + 23 * (i % 5)] if i % 2 else f"{'ROMEO:' if i % 4 else 'Enter the ghost'}\n{'ay, ' * (i % 7)}"
        one = {"prompt": prompt, "max_tokens": 3 + 5 * i % 21, "seed": i, "temperature": 0.8 * (i % 3 > 0), "top_k": (0, 40)[i % 2], "ignore_eos": i % 5 > 0}
        if i % 6 == 1:
            one |= {"n": 2}
        if i % 6 == 2:
            one |= {"logprobs": 2}
        if i % 6 == 3:
            one |= {"grammar": 'root ::= ("no" | "never" | [a-f]{3,9}) (", " root)?', "max_tokens": 12}
        if i % 8 == 5:
            one |= {"stop": ["e "]}
        asked.append(one)
    return asked


class Server:
    def __init__(self, o, slots, kv_tokens=0):
        command = [o.build / "bin" / "tessera", "serve", "-q", "-m", o.model, "--port", "0", "--slots", slots, "--step-tokens", o.step_tokens]
        more = (["-d", o.device] if o.device else []) + (["--kv-tokens", kv_tokens] if kv_tokens else [])
        self.process = subprocess.Popen([str(part) for part in command + more], stdout=subprocess.PIPE)
        line = self.process.stdout.readline().decode()
        if " served at http://127.0.0.1:" not in line:
            sys.exit(f"the server did not start: {line}")
        self.port = int(line.rsplit(":", 1)[1])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def ask(self, body, path=PATH, first=None):
        """(status, bytes). first: is told when the first byte of the answer has come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request("POST" if body is not None else "GET", path, body)
            answer = connection.getresponse()
            if first:
                first()
            return answer.status, answer.read()
        finally:
            connection.close()

    def metric(self, name):
        lines = self.ask(None, "/metrics")[1].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(f"tessera_{name}{{"))

    def memory(self):
        """MiB in use"""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


def whole(answer):
    """What must be the same: texts, ends, log-probabilities."""
    return [(one["index"], one["text"], one["finish_reason"], one["logprobs"]) for one in json.loads(answer)["choices"]]


def streamed(answer):
    """The same of a stream, without log-probabilities, whose lists come in pieces; None: it is not whole."""
    events = answer.decode().split("\n\n")
    if events[-2:] != ["data: [DONE]", ""]:
        return None
    texts, ends = {}, {}
    for event in events[:-2]:
        for one in json.loads(event.removeprefix("data: "))["choices"]:
            texts[one["index"]] = texts.get(one["index"], "") + one["text"]
            ends[one["index"]] = one["finish_reason"] or ends.get(one["index"])
    return [(index, texts[index], ends[index]) for index in sorted(texts)]


class Load:
    def __init__(self, o, server, asked, alone):
        self.o, self.server, self.asked, self.alone = o, server, asked, alone
        self.lock, self.until = threading.Lock(), time.monotonic() + o.seconds
        self.counts = dict.fromkeys(("whole", "streams", "hung up", "wrong"), 0)
        self.faults, self.first, self.last, self.memory = [], [], [], []

    def fault(self, what):
        with self.lock:
            self.faults.append(what)

    def count(self, kind):
        with self.lock:
            self.counts[kind] += 1

    def answer(self, i, stream):
        begun, first = time.monotonic(), []
        status, got = self.server.ask(json.dumps(self.asked[i] | {"stream": stream}), first=lambda: first.append(time.monotonic() - begun))
        took = time.monotonic() - begun
        wanted = [one[:3] for one in self.alone[i]] if stream else self.alone[i]
        if status != 200 or (streamed if stream else whole)(got) != wanted:
            self.fault(f"request {i}, stream {stream}: status {status}, {got[:2000]!r}; alone it is {wanted}")
        with self.lock:
            self.counts["streams" if stream else "whole"] += 1
            self.first.append(first[0])
            self.last.append(took)

    def hang_up(self, i, chance):
        body = json.dumps(self.asked[i] | {"stream": chance.random() < 0.5, "max_tokens": 200, "ignore_eos": True}).encode()
        message = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (PATH.encode(), len(body), body)
        with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
            if chance.random() < 0.2:  # within its request
                message = message[:chance.randrange(1, len(message))]
            connection.sendall(message)
            connection.settimeout(chance.random() * 0.5)
            try:
                connection.recv(chance.randrange(1, 2000))
            except TimeoutError:
                pass
        self.count("hung up")

    def wrong(self, chance):
        body = chance.choice(WRONG)
        status, got = self.server.ask(body)
        if status != 400 or "message" not in json.loads(got)["error"]:
            self.fault(f"the wrong request {body[:80]!r} got status {status}: {got[:500]!r}")
        self.count("wrong")

    def client(self, number):
        chance = random.Random(self.o.seed * 1000 + number)
        while time.monotonic() < self.until:
            draw, i = chance.random(), chance.randrange(len(self.asked))
            kind = "stream" if draw < 0.35 else "whole" if draw < 0.8 else "hang up" if draw < 0.93 else "wrong"
            try:
                if kind == "hang up":
                    self.hang_up(i, chance)
                elif kind == "wrong":
                    self.wrong(chance)
                else:
                    self.answer(i, kind == "stream")
            except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
                self.fault(f"request {i}, {kind}: {type(error).__name__}: {error}")
            time.sleep(min(chance.expovariate(10), 1))

    def watch(self):
        while time.monotonic() < self.until:
            self.memory.append(self.server.memory())
            time.sleep(1)

    def run(self):
        threads = [threading.Thread(target=self.client, args=(number,)) for number in range(self.o.clients)] + [threading.Thread(target=self.watch)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def check_end(self):
        """Places are free again, also those of clients that left, and answers are what they were."""
        held = lambda: self.server.metric("num_requests_running") + self.server.metric("num_requests_waiting")
        deadline = time.monotonic() + 20
        while held() and time.monotonic() < deadline:
            time.sleep(0.05)
        if held():
            self.fault(f"{held():.0f} requests run or wait when all clients have gone")
        for i, one in enumerate(self.asked):
            if whole(self.server.ask(json.dumps(one))[1]) != self.alone[i]:
                self.fault(f"request {i} is another one after the load")
        settled = min(max(len(self.memory) // 5, 60), len(self.memory) // 2)
        before, after = (max(part, default=0) for part in (self.memory[:settled], self.memory[settled:]))
        if after > before * GROWTH + MORE_MIB:
            self.fault(f"memory grew from {before:.0f} to {after:.0f} MiB")
        return {"memory_mib": [round(before, 1), round(after, 1)]}


def percentiles(times):
    times = sorted(times)
    return {f"p{p}": round(times[min(len(times) * p // 100, len(times) - 1)], 4) for p in (50, 90, 99)} if times else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", default=str(ROOT / "models" / "shakespeare"))
    for name, value in (("clients", 64), ("seconds", 300), ("slots", 8), ("kv-tokens", 0), ("step-tokens", 64), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--device")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    o = parser.parse_args()
    asked = pool()
    server = Server(o, 1)
    alone = [whole(server.ask(json.dumps(one))[1]) for one in asked]
    server.end()
    server = Server(o, o.slots, o.kv_tokens)
    load, tokens, begun = Load(o, server, asked, alone), server.metric("generation_tokens_total"), time.monotonic()
    load.run()
    took, tokens = time.monotonic() - begun, server.metric("generation_tokens_total") - tokens
    end = load.check_end() | {"put_back": round(server.metric("num_preemptions_total"))}
    code = server.end()
    if code != 143:
        load.fault(f"the server ended with code {code}")
    print(json.dumps({"clients": o.clients, "slots": o.slots, "seconds": round(took, 1), **load.counts, "faults": len(load.faults),
                      "requests_per_second": round(sum(load.counts.values()) / took, 2), "tokens_per_second": round(tokens / took, 1),
                      "first_byte_seconds": percentiles(load.first), "last_byte_seconds": percentiles(load.last), **end}))
    for fault in load.faults[:20]:
        print(fault, file=sys.stderr)
    return 1 if load.faults else 0


sys.exit(main())

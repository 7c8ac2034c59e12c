#!/usr/bin/env python3
"""tessera serve towards its clients: pages of other origins; what is logged of requests; bounds of tokens; clients that send too
slowly; silent connections; a full queue; addresses without a key; HTTPS."""

import concurrent.futures
import contextlib
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time

from support.command import PLAY, equal, main, refused, run, slowness
from support.server import ENCODER, REFERENCE, TEMPLATE, Server, skip_without_server, until, value

ASKED = {"prompt": "ROMEO:\n", "max_tokens": 8, "temperature": 0}


def answered(server, method, path, body=None, **headers):
    """(status, headers, bytes)"""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request(method, path, body if isinstance(body, (bytes, type(None))) else json.dumps(body), {name.replace("_", "-"): text for name, text in headers.items()})
    answer = connection.getresponse()
    got = answer.read()
    connection.close()
    return answer.status, answer.headers, got


def preflight(server, origin, path="/v1/chat/completions", **more):
    return answered(server, "OPTIONS", path, Origin=origin, Access_Control_Request_Method="POST", **more)


def of_cors(headers):
    return {name.lower().removeprefix("access-control-"): text for name, text in headers.items() if name.lower().startswith("access-control-")}


def test_pages_of_named_origins_may_use_it(_):
    page, other = "https://app.example.org", "http://localhost:3000"
    with Server("--cors-origin", page, "--cors-origin", other, "--api-key", "alpha") as server:
        for origin in (page, other):
            status, headers, got = preflight(server, origin, Access_Control_Request_Headers="authorization,x-own")
            equal((status, got, headers["Vary"], headers["Content-Type"]), (204, b"", "Origin", None))
            equal(of_cors(headers), {"allow-origin": origin, "allow-methods": "GET, POST", "allow-headers": "authorization,x-own", "max-age": "600"})
        equal(of_cors(preflight(server, page, "/nothing")[1])["allow-headers"], "Authorization, Content-Type")
        key = {"Authorization": "Bearer alpha"}
        asked = {"/v1/completions": ASKED, "/tokenize": {"content": "x"}, "/v1/models": None, "/health": None, "/": None, "/metrics": None}
        for path, body in (*asked.items(), ("/v1/completions", ASKED | {"stream": True})):
            status, headers, _ = answered(server, "POST" if body else "GET", path, body, Origin=page, **key)
            equal((status, of_cors(headers), headers["Vary"]), (200, {"allow-origin": page}, "Origin"), path)
        for wanted, path, body, more in ((401, "/v1/models", None, {}), (404, "/nothing", None, key), (400, "/v1/completions", {}, key), (405, "/v1/models", {}, key)):
            status, headers, _ = answered(server, "POST" if body is not None else "GET", path, body, Origin=page, **more)
            equal((status, of_cors(headers)), (wanted, {"allow-origin": page}))
        for origin in ("https://app.example.org.evil.org", "http://app.example.org", "https://app.example.org:8443", "null", "*", ""):
            status, headers, got = preflight(server, origin)
            equal((status, of_cors(headers), headers["Vary"]), (403, {}, "Origin"), origin)
            assert "--cors-origin names" in json.loads(got)["error"]["message"], got
            status, headers, _ = answered(server, "POST", "/v1/completions", ASKED, Origin=origin, **key)
            equal((status, of_cors(headers)), (200, {}), origin)
        equal(of_cors(answered(server, "GET", "/health")[1]), {})
        equal(answered(server, "OPTIONS", "/v1/models")[0], 405)


def test_methods(_):
    """HEAD is answered as GET is, without the body: some programs that watch a server ask so. Where a method is wrong, the answer names the right ones."""
    key = {"Authorization": "Bearer alpha"}
    with Server("--api-key", "alpha") as server:
        for path in ("/health", "/", "/openapi.json", "/v1/models", "/v1/models/shakespeare"):
            (status, headers, got), (head_status, head_headers, nothing) = (answered(server, method, path, **key) for method in ("GET", "HEAD"))
            equal((status, head_status, nothing), (200, 200, b""), path)
            equal([head_headers[name] for name in ("Content-Type", "Content-Length")], [headers["Content-Type"], str(len(got))], path)
        equal(answered(server, "HEAD", "/v1/models")[0], 401)
        for method, path, right in (("POST", "/health", "GET, HEAD"), ("DELETE", "/v1/models/shakespeare", "GET, HEAD"), ("HEAD", "/v1/completions", "POST"),
                                    ("OPTIONS", "/tokenize", "POST")):
            status, headers, _ = answered(server, method, path, **key)
            equal((status, headers["Allow"]), (405, right), path)
        equal(answered(server, "GET", "/health")[1]["Allow"], None)


def test_any_page_or_none(_):
    with Server("--cors-origin", "*") as server:
        for origin in ("https://a.example.org", "null"):
            status, headers, _ = preflight(server, origin)
            equal((status, of_cors(headers)["allow-origin"], headers["Vary"]), (204, "*", None))
            equal(of_cors(answered(server, "POST", "/v1/completions", ASKED | {"stream": True}, Origin=origin)[1]), {"allow-origin": "*"})
    with Server() as server:
        status, headers, _ = preflight(server, "https://a.example.org")
        equal((status, of_cors(headers), headers["Vary"]), (405, {}, None))
        equal(of_cors(answered(server, "GET", "/health", Origin="https://a.example.org")[1]), {})
    for wrong in ("", "app.example.org", "https://", "https://app.example.org/", "https://app.example.org/chat", "https://a.org,https://b.org", "https://*.a.org", "null"):
        refused(2, f"--cors-origin {wrong}: give an origin", "serve", *REFERENCE, "-m", PLAY, "--cors-origin", wrong)


SECRET = "Beware the ides of March, the soothsayer bids you beware them, and the ides of all months that follow it, until he is heard"


def log_something(*options):
    """What a server wrote of a few requests, which are LOGGED. A request's line may come after the next one's answer."""
    with Server("-m", ENCODER, "--api-key", "alpha", *options) as server:
        key = {"Authorization": "Bearer alpha"}
        ask = lambda status, method, path, body=None, **headers: equal(answered(server, method, path, body, **(headers or key))[0], status, path)
        ask(200, "POST", "/v1/completions", ASKED | {"prompt": SECRET})
        ask(200, "POST", "/v1/completions", ASKED | {"prompt": SECRET, "stream": True, "max_tokens": 4, "ignore_eos": True})
        ask(400, "POST", "/v1/completions", ASKED | {"prompt": SECRET, SECRET: 1})
        ask(400, "POST", "/v1/completions", b'{"prompt": Beware')
        ask(400, "POST", "/v1/completions", ASKED | {"prompt": SECRET, "grammar": SECRET})
        ask(404, "POST", "/v1/completions", ASKED | {"model": "other", "prompt": SECRET})
        ask(200, "POST", "/v1/embeddings", {"input": [SECRET, "x"]})
        ask(200, "POST", "/tokenize", {"content": SECRET, "model": "sentence"})
        ask(400, "POST", "/detokenize", {"tokens": SECRET})
        ask(401, "POST", "/v1/completions", {"prompt": SECRET}, Authorization="Bearer " + SECRET)
        ask(404, "GET", "/a%20b%22%0a%1b%c3%a9?x=" + SECRET.replace(" ", "+"))
        ask(405, "OPTIONS", "/v1/models", Origin="https://a.example.org")
        ask(200, "GET", "/health", X="y")
        body = json.dumps(ASKED | {"max_tokens": 400, "ignore_eos": True, "prompt": SECRET, "stream": True}).encode()
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alpha\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        until(lambda: server.metric("num_requests_running", **key) == 0, "its place is free")
    return server.err


COMPLETIONS = ("POST", "/v1/completions")
LOGGED = [(*COMPLETIONS, 200, "shakespeare", 8), (*COMPLETIONS, 200, "shakespeare", 4), (*COMPLETIONS, 400, "shakespeare", 0), (*COMPLETIONS, 400, "", 0),
          (*COMPLETIONS, 400, "shakespeare", 0), (*COMPLETIONS, 404, "", 0), ("POST", "/v1/embeddings", 200, "sentence", 0), ("POST", "/tokenize", 200, "sentence", 0),
          ("POST", "/detokenize", 400, "shakespeare", 0), (*COMPLETIONS, 401, "", 0), ("GET", "/a%20b%22%0A%1B%C3%A9", 404, "", 0), ("OPTIONS", "/v1/models", 405, "", 0),
          ("GET", "/health", 200, "", 0)]
FIELDS = ["time", "method", "path", "status", "model", "prompt_tokens", "cached_tokens", "completion_tokens", "first_token_seconds", "seconds", "client_left"]


def test_each_request_is_a_line_of_json(_):
    told = log_something("--log-requests", "--log-format", "json")
    lines = [json.loads(line) for line in told.splitlines()]
    left = [line for line in lines if line["client_left"]]
    lines = [line for line in lines if line["path"] != "/metrics" and not line["client_left"]]
    equal(sorted((line["method"], line["path"], line["status"], line["model"] or "", line["completion_tokens"]) for line in lines), sorted(LOGGED))
    assert not [word for word in ("Beware", "soothsayer", "months") if word in told], told
    for line in lines + left:
        equal(list(line), FIELDS)
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]), line
        equal((line["prompt_tokens"] > 0, line["first_token_seconds"] is not None), (line["path"] in ("/v1/completions", "/v1/embeddings") and line["status"] == 200,
                                                                                     line["completion_tokens"] > 0), line)
        assert 0 <= (line["first_token_seconds"] or 0) <= line["seconds"] < 600, line
    equal([line["cached_tokens"] > 0 for line in lines if line["path"] == "/v1/completions" and line["status"] == 200], [False, True], "the same prompt comes again")
    equal([(line["path"], line["status"], line["model"], 1 <= line["completion_tokens"] < 400) for line in left], [("/v1/completions", 200, "shakespeare", True)])


def test_each_request_is_a_line_of_text(_):
    told = log_something("--log-requests")
    assert not [word for word in ("Beware", "soothsayer", "months") if word in told], told
    got = []
    for line in told.splitlines():
        found = re.fullmatch(r'tessera: \S+Z (\S+) (\S+) (\d+)((?: [a-z_]+=\S+)*)', line)
        assert found, line
        values = dict(pair.split("=") for pair in found[4].split())
        assert "seconds" in values and values.get("client_left", "true") == "true", line
        if found[2] != "/metrics":
            got.append((found[1], found[2], int(found[3]), values.get("model", "").strip('"'), -1 if "client_left" in values else int(values.get("completion_tokens", "0"))))
    equal(sorted(got), sorted([*LOGGED, (*COMPLETIONS, 200, "shakespeare", -1)]))
    equal(log_something(), "")


def test_prompts_are_logged_where_it_is_asked_for(_):
    told = log_something("--log-prompts", "--log-format", "json")
    lines = [json.loads(line) for line in told.splitlines()]
    of = lambda path, status: [{name: value for name, value in line.items() if name not in FIELDS} for line in lines if (line["path"], line["status"]) == (path, status)]
    equal(of("/v1/completions", 200), [{"prompt": SECRET}] * 3)
    equal(of("/v1/completions", 400)[:2], [{"error": f'the field "{SECRET}" is not served', "prompt": SECRET}, {"error": "the body is not JSON: line 1, column 17: invalid token near 'Beware'"}])
    equal(sorted(of("/v1/completions", 400)[2]), ["error", "prompt"])
    equal((of("/v1/embeddings", 200), of("/tokenize", 200), of("/detokenize", 400)[0]["tokens"]), ([{"input": [SECRET, "x"]}], [{"content": SECRET}], SECRET))
    equal(log_something("--log-prompts").count(f'prompt="{SECRET}"'), 6)
    with Server("--log-prompts") as server:
        answered(server, "POST", "/tokenize", {"content": "a\n\u202eb\u0000\u0085\x1b[2J"})
    equal(len(server.err.splitlines()), 1)
    assert not set(server.err) & set("\u202e\0\u0085\x1b"), server.err
    refused(2, "--log-format xml: give text or json", "serve", *REFERENCE, "-m", PLAY, "--log-format", "xml")


def test_bounds_of_tokens(folder):
    text, path, chat = "ROMEO:\nWhat light through yonder window", "/v1/completions", "/v1/chat/completions"
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    with Server("--chat-template", template) as server:
        n = server.fine(path, ASKED | {"prompt": text})["usage"]["prompt_tokens"]
        messages = [{"role": "user", "content": "Hark!"}]
        written = server.fine(chat, {"messages": messages, "max_tokens": 1})["usage"]["prompt_tokens"]
    with Server("--max-prompt-tokens", n) as server:
        ids = server.fine("/tokenize", {"content": text})["tokens"]
        for prompt in (text, ids, [text, ids], "", "a\0" * (n // 2)):
            server.fine(path, ASKED | {"prompt": prompt, "echo": True})
        for prompt, many in ((text + "?!", n + 2), (ids + ids[:1], n + 1)):
            server.wrong(400, f"prompt 1 has {many} tokens, but this server reads at most {n} (--max-prompt-tokens)", path, ASKED | {"prompt": prompt}, "prompt")
        server.wrong(400, "prompt 2 has", path, ASKED | {"prompt": [text, text + "?!"], "stream": True}, "prompt")
        equal(server.metric("num_requests_running"), 0)
    with Server("--chat-template", template, "--max-prompt-tokens", written) as server:
        server.fine(chat, {"messages": messages, "max_tokens": 1})
        server.wrong(400, f"has {written + 4} tokens, but this server reads at most {written}", chat, {"messages": [{"role": "user", "content": "Hark!!!!!"}]}, "messages")
    with Server("--chat-template", template, "--max-new-tokens", 12) as server:
        free = {"ignore_eos": True, "temperature": 0}
        used = lambda where, body: server.fine(where, free | body)["usage"]["completion_tokens"]
        named = {"prompt": text}
        equal([used(path, named | more) for more in ({"max_tokens": 12}, {"max_tokens": 4, "n": 3}, {}, {"max_tokens": None}, {"n": 5}, {"best_of": 12})], [12, 12, 12, 12, 10, 12])
        equal([used(chat, {"messages": messages} | more) for more in ({}, {"n": 2}, {"max_completion_tokens": 12})], [12, 12, 12])
        equal(server.fine(chat, free | {"messages": messages})["choices"][0]["finish_reason"], "length")
        for field, where, body in (("max_tokens", path, named), ("max_completion_tokens", chat, {"messages": messages})):
            server.wrong(400, "up to 13 tokens for each of 1 answers are asked for, but this server writes at most 12", where, body | {field: 13}, field)
        server.wrong(400, "up to 3 tokens for each of 6 answers", path, {"prompt": [text, text], "n": 3, "max_tokens": 3}, "max_tokens")
        server.wrong(400, "13 answers are asked for, but this server writes at most 12 tokens", path, named | {"n": 13}, "n")
        equal(used(path, named | {"n": 13, "max_tokens": 0}), 0)
    for name in ("--max-prompt-tokens", "--max-new-tokens"):
        refused(2, f"{name} 0: give a whole number from 1", "serve", *REFERENCE, "-m", PLAY, name, "0")


REQUEST = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"


def ends_after(connection, begun):
    """The seconds until the server ends this connection, without an answer."""
    connection.settimeout(30 * slowness())
    with contextlib.suppress(ConnectionError):
        equal(connection.recv(100), b"")
    return time.monotonic() - begun


def each_ends_after(begun, *connections):
    """The same for several connections. Each has a thread, so that none is read only after the server has ended another one."""
    with concurrent.futures.ThreadPoolExecutor(len(connections)) as pool:
        return list(pool.map(lambda connection: ends_after(connection, begun), connections))


def drip(connection, data, pause):
    """Sends bytes one after the other until the server ends the connection. The seconds until then."""
    begun, most = time.monotonic(), 30 * slowness()
    with contextlib.suppress(ConnectionError):
        for i in range(len(data)):
            assert time.monotonic() < begun + most, "the connection does not end"
            connection.sendall(data[i:i + 1])
            connection.settimeout(pause)
            with contextlib.suppress(TimeoutError):
                equal(connection.recv(100), b"", "it is not answered")
                break
    return time.monotonic() - begun


def dripped(server, data, pause):
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        return drip(connection, data, pause)


def test_clients_that_send_too_slowly(_):
    with Server("--header-timeout", "1", "--idle-timeout", "300", "--max-connections", "8") as server:
        ended, whole, most = [], server.fine("/v1/completions", ASKED), 20 * slowness()
        slow = [b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"a" * 100000, b"GET " + b"/a" * 50000, b"\r\n" * 50000]
        threads = [threading.Thread(target=lambda sent=sent: ended.append(dripped(server, sent, 0.05))) for sent in slow]
        for thread in threads:
            thread.start()
        with socket.create_connection(("127.0.0.1", server.port)) as silent, socket.create_connection(("127.0.0.1", server.port)) as halves:
            begun = time.monotonic()
            halves.sendall(REQUEST[:30])
            threads.append(threading.Thread(target=lambda: ended.extend(each_ends_after(begun, silent, halves))))
            threads[-1].start()
            while len(ended) < 5 and time.monotonic() < begun + most:
                equal(server.fine("/v1/completions", ASKED)["choices"], whole["choices"], "others are served meanwhile")
            for thread in threads:
                thread.join()
        assert len(ended) == 5 and all(0.9 < seconds < most for seconds in ended), ended
        body = json.dumps(ASKED).encode()  # a body has its own time (--body-timeout), and a client that has been heard may be silent
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(REQUEST % len(body))
            for i in range(len(body)):
                connection.sendall(body[i:i + 1])
                time.sleep(2.5 / len(body))
            for _ in range(2):
                got = http.client.HTTPResponse(connection)
                got.begin()
                equal((got.status, json.load(got)["choices"]), (200, whole["choices"]))
                time.sleep(2.5)
                connection.sendall(REQUEST % len(body) + body)
        full = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]  # all that may be open
        until(lambda: answers(server), "it is served when they were ended")
        for connection in full:
            connection.close()


def test_later_requests_and_bodies_that_come_too_slowly(_):
    """Though no byte is late: the header of a request behind an answer, and a body."""
    body, most = json.dumps(ASKED).encode(), 20 * slowness()
    with Server("--header-timeout", "1", "--idle-timeout", "2", "--body-timeout", "1") as server:
        for sent in (b"GET " + b"/a" * 50000, b"GET /health HTTP/1.1\r\nX-Slow: " + b"a" * 100000):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                got = http.client.HTTPResponse(connection)
                got.begin()
                equal((got.status, json.load(got), got.will_close), (200, {"status": "ok"}, False))
                assert 0.9 < drip(connection, sent, 0.05) < most
        chunks = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        for head, sent in ((REQUEST % 100000, b"a" * 100000), (chunks, b"1\r\na\r\n" * 10000)):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                begun = time.monotonic()
                connection.sendall(head)
                drip(connection, sent, 0.05)
                assert 0.9 < time.monotonic() - begun < most
        with socket.create_connection(("127.0.0.1", server.port)) as connection:  # a computation has as long as it needs, and so have later requests
            long = json.dumps(ASKED | {"max_tokens": 480, "n": 4, "ignore_eos": True}).encode()
            for sent in (long, body, body):
                connection.sendall(REQUEST % len(sent) + sent)
                got = http.client.HTTPResponse(connection)
                got.begin()
                equal((got.status, len(json.load(got)["choices"])), (200, 4 if sent == long else 1))


def answers(server):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return server.ask("/health")[0] == 200
    return False


def test_a_connection_that_is_silent_for_too_long(_):
    """It ends, after an answer and before a first request; one whose answer is being computed does not."""
    slow = json.dumps(ASKED | {"max_tokens": 300, "ignore_eos": True}).encode()
    with Server("--idle-timeout", "1", "--header-timeout", "3600") as server, socket.create_connection(("127.0.0.1", server.port)) as waiting:
        waiting.sendall(REQUEST % len(slow) + slow)
        with socket.create_connection(("127.0.0.1", server.port)) as heard, socket.create_connection(("127.0.0.1", server.port)) as silent:
            begun = time.monotonic()
            heard.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            got = http.client.HTTPResponse(heard)
            got.begin()
            equal((got.status, json.load(got), got.will_close), (200, {"status": "ok"}, False))
            ended = each_ends_after(begun, heard, silent)
        assert all(0.9 < seconds < 20 * slowness() for seconds in ended), ended
        got = http.client.HTTPResponse(waiting)
        got.begin()
        equal((got.status, json.load(got)["usage"]["completion_tokens"]), (200, 300))


def test_a_full_queue(_):
    long = ASKED | {"max_tokens": 480, "ignore_eos": True, "stream": True}
    body = json.dumps(long).encode()
    with Server("--slots", "1", "--queue", "1") as server, contextlib.ExitStack() as stack:
        for state in ("running", "waiting"):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port))).sendall(REQUEST % len(body) + body)
            until(lambda: server.metric(f"num_requests_{state}") == 1, state)  # pylint: disable=cell-var-from-loop
        for more in ({}, {"stream": False}):
            status, headers, got = answered(server, "POST", "/v1/completions", long | more)
            equal((status, headers["Retry-After"], headers["Content-Type"]), (503, "1", "application/json"))
            equal(json.loads(got), {"error": {"message": "1 requests wait already (--queue): try again later", "type": "server_error", "param": None, "code": None}})
        equal([server.metric(f"num_requests_{state}") for state in ("running", "waiting")], [1, 1], "those that came before go on")
        equal(server.fine("/health"), {"status": "ok"})


def test_a_queue_never_holds_more(_):
    """Nor does it within the step before which the engine has taken a request from it."""
    long = json.dumps(ASKED | {"max_tokens": 200, "ignore_eos": True, "stream": True, "n": 16}).encode()
    short = json.dumps(ASKED).encode()
    with Server("--slots", "16", "--queue", "1") as server, contextlib.ExitStack() as stack:
        def send(body):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            connection.sendall(REQUEST % len(body) + body)
            return connection
        send(long)
        until(lambda: server.metric("num_requests_running") == 16, "all places are taken")
        end, others = server.metric("steps_total") + 8, []
        while server.metric("steps_total") < end or len(others) < 3:
            others.append(send(short))
        statuses = [int(connection.recv(100).split()[1]) for connection in others]
        equal((statuses.count(200), set(statuses)), (1, {200, 503}))


def test_an_address_that_others_reach_needs_a_key(_):
    told = {}
    for host in ("0.0.0.0", "127.0.0.1"):
        for key in ((), ("--api-key", "alpha")):
            with Server("--host", host, *key, device=("-d", "reference")) as server:
                equal(server.fine("/health"), {"status": "ok"})
            told[host, bool(key)] = [line for line in server.err.splitlines() if "warning" in line]
    wanted = "tessera: warning: everyone who reaches 0.0.0.0 can use the model: give --api-key or --api-key-file"
    equal(told, {("0.0.0.0", False): [wanted], ("0.0.0.0", True): [], ("127.0.0.1", False): [], ("127.0.0.1", True): []})


def certificate(folder, name):
    """(certificate, key) of 127.0.0.1, signed by itself."""
    files = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def test_https(folder):
    if not shutil.which("openssl"):
        print("SKIP: openssl is missing, which makes a certificate (apt-get install openssl)")
        return
    (cert, key), (_, other) = certificate(folder, "one"), certificate(folder, "two")
    tls = lambda *files: ("serve", *REFERENCE, "-m", PLAY, "--port", "0", "--tls-cert", files[0], "--tls-key", files[1])
    if "has no TLS" in run(*tls(cert, other), code=None).err:
        print("SKIP: this libmicrohttpd has no TLS")
        return
    for files in ((cert, other), (key, cert), (other, key)):
        refused(3, "--tls-cert, --tls-key: they are not a certificate and its key", *tls(*files))
    with Server() as server:
        whole = server.fine("/v1/completions", ASKED)["choices"]
    trusting = ssl.create_default_context(cafile=cert)
    with Server("--tls-cert", cert, "--tls-key", key, "--header-timeout", "1", "--api-key", "alpha") as server:
        def ask(path, body=None):
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trusting)
            connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, {"Authorization": "Bearer alpha"})
            answer = connection.getresponse()
            got = answer.read().decode()
            connection.close()
            equal(answer.status, 200, got)
            return got
        equal(json.loads(ask("/v1/completions", ASKED))["choices"], whole)
        events = [json.loads(line[6:]) for line in ask("/v1/completions", ASKED | {"stream": True}).split("\n\n") if line.startswith("data: {")]
        equal("".join(event["choices"][0]["text"] for event in events), whole[0]["text"])
        for untrusting in (ssl.create_default_context(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)):
            with socket.create_connection(("127.0.0.1", server.port)) as plain:
                try:
                    untrusting.wrap_socket(plain, server_hostname="127.0.0.1")
                    raise AssertionError("nobody has signed it")
                except ssl.SSLError as error:
                    assert "self" in str(error), error
        with socket.create_connection(("127.0.0.1", server.port)) as plain:  # no HTTP without TLS
            plain.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                assert not plain.recv(100).startswith(b"HTTP"), "it is answered"
        with socket.create_connection(("127.0.0.1", server.port)) as silent:
            begun = time.monotonic()
            silent.sendall(b"\x16\x03\x01")  # the begin of a handshake
            assert 0.9 < ends_after(silent, begun) < 20 * slowness()
        with trusting.wrap_socket(socket.create_connection(("127.0.0.1", server.port)), server_hostname="127.0.0.1") as leaving:
            body = json.dumps(ASKED | {"max_tokens": 400, "ignore_eos": True, "stream": True}).encode()
            leaving.sendall((REQUEST % len(body)).replace(b"Host: x", b"Host: x\r\nAuthorization: Bearer alpha") + body)
            assert leaving.recv(100).startswith(b"HTTP/1.1 200")
        until(lambda: value(ask("/metrics"), "num_requests_running") == 0, "its place is free")
        assert value(ask("/metrics"), "generation_tokens_total") < 16 + 400


skip_without_server()
main(globals())

#!/usr/bin/env python3
"""tessera serve towards its clients: pages of other origins."""

import http.client
import json

from support.command import PLAY, equal, main, refused
from support.server import REFERENCE, Server, skip_without_server

ASKED = {"prompt": "ROMEO:\n", "max_tokens": 8, "temperature": 0}


def answered(server, method, path, body=None, **headers):
    """(status, headers, bytes)"""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request(method, path, json.dumps(body) if body is not None else None, {name.replace("_", "-"): text for name, text in headers.items()})
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


skip_without_server()
main(globals())

#!/usr/bin/env python3
"""docs/openapi.json is what tessera serve does: it has every address and every field of the server's tables, with their bounds, and no others; answers
fit it; and whatever is sent, made by the description or broken, gets an answer that fits and is no failure of the server. The last two need the
package jsonschema."""

import copy
import http.client
import importlib.util
import json
import random
import re

from support.command import ALL, SOURCE, equal, main, run
from support.ranker import cross_encoder
from support.server import ENCODER, TEMPLATE, Server, skip_without_server

SERVE = SOURCE / "src" / "cli" / "serve"
FILE = SOURCE / "docs" / "openapi.json"
DOC = json.loads(FILE.read_text())
SCHEMAS = DOC["components"]["schemas"]
ROUNDS = 300 if ALL else 24  # of each address, as often as it is described and broken


def operations():
    return {(method.upper(), path): operation for path, methods in DOC["paths"].items() for method, operation in methods.items()}


def request_schema(operation):
    return operation["requestBody"]["content"]["application/json"]["schema"]


def resolve(schema):
    return SCHEMAS[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


# ---- the description and the server's tables ----

def table(name, begins):
    """The rows of a table in C, as lists of words."""
    text = (SERVE / name).read_text()
    body = text[text.index(begins):]
    body = re.sub(r"/\*.*?\*/", "", body[:body.index("\n};")], flags=re.S)
    return [re.findall(r'"(?:[^"\\]|\\.)*"|[\w.()-]+', row) for row in re.findall(r"\n    \{(.*?)\}", body, re.S)]


def known(name, number=0):
    """The fields of the list `known` in a file."""
    lists = re.findall(r"known\[\] = \{(.*?)\}", (SERVE / name).read_text(), re.S)
    return sorted(re.findall(r'"(\w+)"', lists[number]))


def test_every_address_is_described(_):
    routes = {(row[0].strip('"'), re.sub(r":(\w+)$", r"{\1}", row[1].strip('"'))): row for row in table("routes.c", "static const tsri_serve_route routes[]")}
    equal(sorted(operations()), sorted(routes))
    for key, row in routes.items():
        equal(operations()[key].get("security") == [{}], row[4] == "true", f"{key}: without a key")
        assert "431" in operations()[key]["responses"], f"{key}: headers that are too large"


def test_every_field_is_described(_):
    constants = {"TSRI_SERVE_CHOICES": 64}
    fields = {"CHAT": {}, "COMPLETION": {}}
    for name, where, kind, *rest in table("fields.c", "static const struct row {"):
        for of in fields if where == "BOTH" else (where,):
            fields[of][name.strip('"')] = (kind, rest)
    for of, name in (("CHAT", "ChatRequest"), ("COMPLETION", "CompletionRequest")):
        properties = SCHEMAS[name]["properties"]
        equal(sorted(properties), sorted(fields[of]), name)
        for field, (kind, rest) in fields[of].items():
            schema, place = properties[field], f"{name}.{field}"
            if kind in ("REAL", "I32", "I64"):
                lowest, highest = (float(constants.get(word, word)) for word in rest[-4:-2])
                equal((schema["type"], schema["minimum"], schema["maximum"]), (["number" if kind == "REAL" else "integer", "null"], lowest, highest), place)
            elif kind in ("FLAG", "FLAG32"):
                equal(schema["type"], ["boolean", "null"], place)
            elif kind == "NEUTRAL":
                equal(schema["enum"], [json.loads(json.loads(rest[-1])) if rest[-1].startswith('"\\') else json.loads(rest[-1].strip('"')), None], place)
            elif kind == "IGNORED" and field not in ("model", "prompt", "messages"):
                equal(schema, {}, place)
    for name, file, number in (("EmbeddingsRequest", "embeddings.c", 0), ("RerankRequest", "rerank.c", 0), ("AttentionRequest", "attention.c", 0),
                               ("TokenizeRequest", "routes.c", 0), ("DetokenizeRequest", "routes.c", 1)):
        equal(sorted(SCHEMAS[name]["properties"]), known(file, number), name)


def test_it_is_served(_):
    with Server("--api-key", "secret") as server:
        equal(server.fine("/openapi.json"), DOC)
    equal(DOC["info"]["version"], re.search(r"[0-9.]+[0-9]", run("--version").text)[0])
    text = FILE.read_text()
    for name in set(re.findall(r'"#/components/schemas/(\w+)"', text)):
        assert name in SCHEMAS, name
    for name in SCHEMAS:
        assert f'"#/components/schemas/{name}"' in text, f"{name} is not used"


# ---- answers ----

ONE_MODEL = re.compile("^(/v1/models/).+")


class Fits:
    """Whether values fit schemas of the description."""

    def __init__(self):
        self.made = {}

    def validator(self, schema):
        from jsonschema import Draft202012Validator
        key = json.dumps(schema)
        if key not in self.made:
            Draft202012Validator.check_schema(resolve(schema))
            self.made[key] = Draft202012Validator({**schema, "components": DOC["components"]})
        return self.made[key]

    def says(self, schema, value):
        return [f"{error.json_path}: {error.message[:300]}" for error in self.validator(schema).iter_errors(value)]


def ask(fits, server, method, path, body=None, **headers):
    """Sends it; the answer must be described, and fit. Its status and its text."""
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body)
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    try:
        connection.request(method, path, data, headers)
    except BrokenPipeError:  # a body that is too large is not read to its end
        pass
    answer = connection.getresponse()
    got, status, kind = answer.read(), answer.status, answer.headers["Content-Type"]
    connection.close()
    operation = operations().get((method, ONE_MODEL.sub(r"\1{model}", path)), {"responses": {"default": {"$ref": "#/components/responses/Error"}}})
    described = operation["responses"].get(str(status)) or operation["responses"].get("default")
    assert described, (status, path, got)
    if "$ref" in described:
        described = DOC["components"]["responses"][described["$ref"].rsplit("/", 1)[1]]
        assert status >= 400, (status, path, got)
    content = described["content"].get(kind)
    assert content, (kind, status, path, body)
    if kind == "text/event-stream; charset=utf-8":
        lines = got.decode().split("\n\n")
        equal(lines[-2:], ["data: [DONE]", ""], body)
        for line in lines[:-2]:
            equal(fits.says(content["x-data"], json.loads(line.removeprefix("data: "))), [], (body, line))
    elif kind == "application/json":
        equal(fits.says(content["schema"], json.loads(got)), [], (status, body, got[:1000]))
    return status, got


def answered(*what, **headers):
    return ask(*what, **headers)[0]


def needs_jsonschema():
    """Whether the package is there."""
    if importlib.util.find_spec("jsonschema"):
        return True
    print("SKIP: jsonschema is not installed (it is on PyPI)")
    return False


def options(folder, new_tokens):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    return ("--chat-template", template, "-m", ENCODER, "-m", cross_encoder(folder / "ranks"), "--max-new-tokens", new_tokens, "--max-prompt-tokens", "64", "-c", "128",
            "--max-body", "1")


def test_answers_fit(folder):
    """One of each kind, with what it may have."""
    if not needs_jsonschema():
        return
    fits = Fits()
    hello = [{"role": "user", "content": "Hello"}]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"enum": [1]}}, "required": ["a"]}}}]
    called = {"tools": tools, "tool_choice": "required", "max_tokens": 60}
    chats = ({"logprobs": True, "top_logprobs": 3}, {"n": 2}, {"tools": tools}, {"response_format": {"type": "json_schema", "json_schema": {"schema": {"enum": [1]}}}},
             {"grammar": 'root ::= "ab"', "logprobs": True})
    texts = ({}, {"logprobs": 2, "echo": True}, {"prompt": ["a", "b"]}, {"prompt": [1, 2, 3], "logprobs": 0}, {"n": 1, "best_of": 2}, {"stop": "e"})
    with Server(*options(folder, 60)) as server:
        for stream in ({}, {"stream": True, "stream_options": {"include_usage": True}}):
            assert b'"tool_calls":[{' in ask(fits, server, "POST", "/v1/chat/completions", {"messages": hello, **called, **stream})[1]
            for more in chats:
                equal(answered(fits, server, "POST", "/v1/chat/completions", {"messages": hello, "max_tokens": 2, **more, **stream}), 200, more)
            for more in texts:
                if not ("best_of" in more and stream):
                    equal(answered(fits, server, "POST", "/v1/completions", {"prompt": "ROMEO:", "max_tokens": 2, **more, **stream}), 200, more)
        for path, body in (("/v1/embeddings", {"input": ["a", "b"]}), ("/v1/embeddings", {"input": "a", "encoding_format": "base64", "dimensions": 3}),
                           ("/v1/rerank", {"query": "a", "documents": ["b", {"text": "c"}], "return_documents": True}), ("/v2/rerank", {"query": "a", "documents": ["b"]}),
                           ("/rerank", {"query": "a", "documents": ["b"], "top_n": 9}), ("/tokenize", {"content": "a\u00e4\u4f60"}), ("/detokenize", {"tokens": [1, 2]}),
                           ("/attention", {"content": "to be"}), ("/attention", {"messages": hello}), ("/attention", {"model": "sentence", "content": "a"})):
            equal(answered(fits, server, "POST", path, body), 200, body)
        for method, path in operations():
            if method == "GET":
                equal(answered(fits, server, "GET", path.replace("{model}", "sentence")), 200)
        for status, method, path, body in ((404, "GET", "/none", None), (404, "GET", "/v1/models/none", None), (405, "GET", "/v1/completions", None),
                                           (405, "POST", "/health", b"{}"), (400, "POST", "/tokenize", b"{"), (413, "POST", "/tokenize", b" " * (1 << 21)),
                                           (404, "POST", "/attention", {"model": "none"})):
            equal(answered(fits, server, method, path, body), status, path)
    with Server("--api-key", "secret") as server:
        equal(answered(fits, server, "GET", "/v1/models"), 401)
        equal(answered(fits, server, "GET", "/v1/models", Authorization="Bearer secret"), 200)


# ---- what is made by the description, and broken ----

TEXTS = ("", "a", "ROMEO:\n", "to be or not", "\u00e4\u4f60\U0001f600", "\x00", "\x1b[31m", "</s><|im_end|>", "{{ x }}", "\"\\", " \n\t", "x" * 300, "\ufeff\u202e", "%s%n", "../../etc")


class Maker:
    def __init__(self, seed):
        self.draw = random.Random(seed)

    def value(self, schema):
        """One that fits, mostly."""
        schema, draw = resolve(schema), self.draw
        for key in ("anyOf", "oneOf"):
            if key in schema and "properties" not in schema:
                return self.value(draw.choice(schema[key]))
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return draw.choice(schema["enum"])
        if "examples" in schema and draw.random() < 0.9:
            return copy.deepcopy(draw.choice(schema["examples"]))
        kinds = schema.get("type", ["string", "integer", "null"])
        return getattr(self, draw.choice([kinds] if isinstance(kinds, str) else kinds))(schema)

    def object(self, schema):
        properties, wanted = schema.get("properties", {}), schema.get("required", [])
        share = self.draw.choice((0, 0.05, 0.1, 0.4))
        made = {name: self.value(of) for name, of in properties.items() if name in wanted or self.draw.random() < share}
        for ways in (schema[key] for key in ("anyOf", "oneOf") if key in schema):
            way = self.draw.choice(ways)
            for name in (name for other in ways for name in other["required"]):
                made.pop(name, None)
            for name in way["required"]:
                made[name] = self.value({**properties[name], **way.get("properties", {}).get(name, {})})
        if "max_tokens" in properties and self.draw.random() < 0.8:
            made["max_tokens"] = self.draw.randrange(4)
        if isinstance(schema.get("additionalProperties"), dict):
            made.update({str(self.draw.randrange(2000)): self.value(schema["additionalProperties"]) for _ in range(self.draw.randrange(3))})
        return made

    def array(self, schema):
        n = schema.get("minItems", 0) + self.draw.choice((0, 0, 1, 2, 4))
        return [self.value(schema.get("items", {})) for _ in range(min(n, schema.get("maxItems", n)))]

    def string(self, schema):
        fitting = [text for text in TEXTS if len(text) >= schema.get("minLength", 0)]
        return self.draw.choice(fitting)

    def integer(self, schema):
        lowest, highest = int(schema.get("minimum", -5)), int(schema.get("maximum", 1 << 40))
        return self.draw.choice((lowest, highest, min(highest, lowest + self.draw.randrange(9)), min(highest, lowest + self.draw.randrange(9))))

    def number(self, schema):
        lowest, highest = schema.get("minimum", -1e9), schema.get("maximum", 1e9)
        return self.draw.choice((lowest, highest, lowest + (highest - lowest) * self.draw.random(), min(highest, max(lowest, 0.7))))

    def boolean(self, _):
        return self.draw.random() < 0.5

    def null(self, _):
        return None

    def places(self, value, at=()):
        yield at
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            yield from self.places(item, (*at, key))

    def broken(self, value):
        """The value with one thing changed, or bytes that are none."""
        draw, value = self.draw, copy.deepcopy(value)
        how = draw.randrange(10)
        if how == 0:
            data = json.dumps(value).encode()
            return draw.choice((data[:draw.randrange(len(data))], data + b"}", data.replace(b'"', b"'"), b"", b"[" * 3000, b"\xff\xfe" + data, data.replace(b":", b":1e999,", 1),
                                data[:-1] + b', "model": null, "model": null}', b"[]", b"null", b'"a"'))
        other = draw.choice((None, True, -1, 0, 1.5, 1e300, 1 << 62, "", "a", "\x00", [], {}, [None], [[]], {"a": 1}, ["a"] * 70, [1 << 31], "x" * 3000, [{}], -1e-9))
        places = list(self.places(value))
        at = draw.choice(places)
        if not at or how == 1:
            value[draw.choice(("depth", "", "Model", "prompt ", "\u00e4"))] = other
            return value
        holder = value
        for key in at[:-1]:
            holder = holder[key]
        if how == 2 and isinstance(holder, dict):
            del holder[at[-1]]
        else:
            holder[at[-1]] = other
        return value


def test_whatever_is_sent_is_answered(folder):
    """What does not fit the description is refused."""
    if not needs_jsonschema():
        return
    fits, maker, seen = Fits(), Maker(7), {}
    with Server(*options(folder, 3)) as server:
        for (method, path), operation in operations().items():
            if method != "POST":
                continue
            schema = request_schema(operation)
            for i in range(ROUNDS * 2):
                body = maker.value(schema)
                if i % 2:
                    body = maker.broken(body)
                try:
                    status = answered(fits, server, method, path, body)
                except (AssertionError, OSError, http.client.HTTPException) as error:
                    raise AssertionError(f"{path} {body!r}: {error}") from error
                assert status < 500, (status, path, body)
                try:
                    fine = not fits.says(schema, json.loads(body) if isinstance(body, bytes) else body)
                except (ValueError, RecursionError):
                    fine = False
                assert fine or status != 200, f"{path} {body!r} does not fit the description, but is answered: {fits.says(schema, body)[:3]}"
                seen.setdefault(path, []).append(status)
        equal(answered(fits, server, "POST", "/v1/completions", {"prompt": "a", "max_tokens": 1}), 200)
    for path, statuses in seen.items():
        assert statuses.count(200) > len(statuses) // 20, (path, statuses)


skip_without_server()
main(globals())

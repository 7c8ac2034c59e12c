#!/usr/bin/env python3
"""tessera serve: chat, completions, streams, vectors, ranks, tokens; several models; errors and limits; answers under load are those of a request alone; a client that hangs up frees
its place; hostile input is refused, and the server goes on."""

import base64
import contextlib
import http.client
import json
import math
import os
import re
import shutil
import signal
import socket
import struct
import threading

from support import words
from support.adapter import make_adapter
from support.command import GOLDEN, PLAY, SOURCE, change_json, copy_model, environment, equal, main, refused, run, slowness, start
from support.ranker import cross_encoder
from support.server import ENCODER, REFERENCE, TEMPLATE, Server, skip_without_server, until, value

ASKED = {"prompt": "ROMEO:\n", "max_tokens": 8, "temperature": 0}
HELLO = [{"role": "user", "content": "Hello"}]


def generated(prompt, n, *options):
    return run("generate", *REFERENCE, "-m", PLAY, "-n", n, *options, prompt).text[:-1]


def test_completions_and_chat(folder):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    with Server("--chat-template", template, "-m", ENCODER) as server:
        completions(server)
        prompts_with_their_likelihood(server)
        best_of(server)
        streams(server)
        chat(server)
        nul_in_chats(server)
        vectors(server)
        tokens(server)
        refusals(server)
        hostile(server)
        equal(server.fine("/health"), {"status": "ok"})
        equal([model["id"] for model in server.fine("/v1/models")["data"]], ["shakespeare", "sentence"])


def completions(server):
    got = server.fine("/v1/completions", ASKED)
    wanted = generated("ROMEO:\n", 8, "--temp", "0")
    equal((got["object"], got["choices"]), ("text_completion", [{"index": 0, "text": wanted, "logprobs": None, "finish_reason": "length"}]))
    n = server.fine("/tokenize", {"content": "ROMEO:\n"})["tokens"]
    equal(got["usage"]["prompt_tokens"], len(n))
    equal((got["usage"]["completion_tokens"], got["usage"]["total_tokens"]), (8, 8 + len(n)))
    sampled = ("--temp", "0.9", "--top-k", "20", "--top-p", "0.9", "--min-p", "0.01", "--seed")
    asked = ASKED | {"temperature": 0.9, "top_k": 20, "top_p": 0.9, "min_p": 0.01, "seed": 7, "n": 2}
    equal([one["text"] for one in server.fine("/v1/completions", asked)["choices"]], [generated("ROMEO:\n", 8, *sampled, seed) for seed in (7, 8)])
    several = server.fine("/v1/completions", ASKED | {"prompt": ["ROMEO:\n", "KING"]})["choices"]
    equal([one["text"] for one in several], [wanted, generated("KING", 8, "--temp", "0")])
    equal(server.fine("/v1/completions", ASKED | {"prompt": n})["choices"][0]["text"], wanted)
    same = ASKED | {"prompt": ["ROMEO:\n"] * 3, "temperature": 1, "max_tokens": 40, "ignore_eos": True}
    equal(len({one["text"] for one in server.fine("/v1/completions", same)["choices"]}), 3, "without a seed each is drawn anew")
    equal(len({one["text"] for one in server.fine("/v1/completions", same | {"seed": 7})["choices"]}), 1)
    asked = ASKED | {"presence_penalty": 1.5, "frequency_penalty": 0.5, "logit_bias": {str(n[0]): 3, "5": -100}}
    penalties = ("--presence-penalty", "1.5", "--frequency-penalty", "0.5", "--logit-bias", f"{n[0]}=3", "--logit-bias", "5=-100")
    equal(server.fine("/v1/completions", asked)["choices"][0]["text"], generated("ROMEO:\n", 8, "--temp", "0", *penalties))
    stopped = server.fine("/v1/completions", ASKED | {"stop": [wanted[5:8]]})["choices"][0]
    equal((stopped["text"], stopped["finish_reason"]), (wanted[:wanted.index(wanted[5:8])], "stop"))
    logprobs = server.fine("/v1/completions", ASKED | {"logprobs": 2})["choices"][0]["logprobs"]
    equal(("".join(logprobs["tokens"]), logprobs["text_offset"][0]), (wanted, 0))
    held = ASKED | {"logprobs": 2, "stop": [f"{wanted[i:i + 3]}\x01" for i in range(16)]}  # texts that are held back, and given later
    equal(server.fine("/v1/completions", held)["choices"][0]["logprobs"], logprobs)
    lists = [chunk["choices"][0]["logprobs"] for chunk in server.events("/v1/completions", held)]
    equal([offset for one in lists if one for offset in one["text_offset"]], logprobs["text_offset"])
    assert all(len(top) == 2 and max(top.values()) == own <= 0 for top, own in zip(logprobs["top_logprobs"], logprobs["token_logprobs"])), logprobs


def prompts_with_their_likelihood(server):
    """What evaluation harnesses ask for: the log-probabilities of a prompt's tokens."""
    text = "ROMEO:\nWhat light"
    ids = server.fine("/tokenize", {"content": text})["tokens"]
    asked = {"prompt": text, "echo": True, "logprobs": 1, "temperature": 0}
    alone = server.fine("/v1/completions", asked | {"max_tokens": 0})["choices"][0]
    found = alone["logprobs"]
    equal((alone["text"], alone["finish_reason"]), (text, "length"))
    equal(("".join(found["tokens"]), found["text_offset"]), (text, [len("".join(found["tokens"][:i])) for i in range(len(ids))]))
    equal((found["token_logprobs"][0], found["top_logprobs"][0]), (None, None))
    for token, own, top in list(zip(found["tokens"], found["token_logprobs"], found["top_logprobs"]))[1:]:
        assert top[token] == own and 1 <= len(top) <= 2 and own <= max(top.values()), (token, own, top)
    parts = server.fine("/v1/completions", asked | {"prompt": "O\u00e9", "max_tokens": 0})["choices"][0]["logprobs"]
    equal((parts["tokens"], parts["text_offset"]), (["O", "bytes:\\xc3", "bytes:\\xa9"], [0, 1, 1]))
    nul = server.fine("/v1/completions", asked | {"prompt": "O\0O", "max_tokens": 0})["choices"][0]["logprobs"]
    equal((nul["tokens"], nul["text_offset"]), (["O", "bytes:\\x00", "O"], [0, 1, 2]))
    equal([top[token] for token, top in list(zip(nul["tokens"], nul["top_logprobs"]))[1:]], nul["token_logprobs"][1:])
    report = json.loads(run("evaluate", *REFERENCE, "-m", PLAY, "--json", "--perplexity", "-", given=text).text)
    assert abs(report["loss"] * report["tokens"] + sum(found["token_logprobs"][1:])) < 1e-3, (report, found)
    more = server.fine("/v1/completions", asked | {"prompt": [ids, text], "max_tokens": 3})["choices"]
    for one in more:
        equal(one["text"], text + generated(text, 3, "--temp", "0"))
        equal({key: values[:len(ids)] for key, values in one["logprobs"].items()}, found)
        equal("".join(one["logprobs"]["tokens"]), one["text"])
    plain = server.fine("/v1/completions", ASKED | {"logprobs": 0, "max_tokens": 3, "prompt": text})["choices"][0]
    equal(plain["logprobs"]["token_logprobs"], more[0]["logprobs"]["token_logprobs"][len(ids):])
    chunks = [chunk["choices"][0] for chunk in server.events("/v1/completions", asked | {"max_tokens": 3})]
    equal("".join(chunk["text"] for chunk in chunks), more[0]["text"])
    equal(sum((chunk["logprobs"]["token_logprobs"] for chunk in chunks if chunk["logprobs"]), []), more[0]["logprobs"]["token_logprobs"])
    equal(server.fine("/v1/completions", {"prompt": text, "echo": True, "max_tokens": 0})["choices"][0], {"index": 0, "text": text, "logprobs": None, "finish_reason": "length"})


def best_of(server):
    asked = ASKED | {"temperature": 1.5, "seed": 3, "logprobs": 0}
    every = server.fine("/v1/completions", asked | {"n": 6})["choices"]
    mean = lambda one: sum(one["logprobs"]["token_logprobs"]) / len(one["logprobs"]["token_logprobs"])
    wanted = sorted(every, key=lambda one: -mean(one))
    assert wanted[0] != every[0]
    got = server.fine("/v1/completions", asked | {"best_of": 6, "n": 2})
    equal(got["choices"], [one | {"index": i} for i, one in enumerate(wanted[:2])])
    equal(got["usage"]["completion_tokens"], 6 * 8)
    server.wrong(400, "best_of is 2, but 3", "/v1/completions", asked | {"best_of": 2, "n": 3}, "best_of")
    server.wrong(400, "not streamed", "/v1/completions", asked | {"best_of": 2, "stream": True}, "best_of")


def streams(server):
    whole = server.fine("/v1/completions", ASKED)["choices"][0]["text"]
    chunks = server.events("/v1/completions", ASKED | {"stream_options": {"include_usage": True}})
    equal("".join(chunk["choices"][0]["text"] for chunk in chunks[:-1]), whole)
    equal((chunks[-1]["choices"], chunks[-1]["usage"]["completion_tokens"], chunks[-2]["usage"]), ([], 8, None))
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", "/v1/completions", json.dumps(ASKED | {"stream": True}))
    answer = connection.getresponse()
    equal((answer.headers["Content-Type"], answer.read()[:6]), ("text/event-stream; charset=utf-8", b"data: "), "without a charset, some clients read Latin-1")
    connection.close()
    equal([chunk["choices"][0]["finish_reason"] for chunk in chunks[-3:-1]], [None, "length"])
    unasked = server.events("/v1/completions", ASKED | {"stream_options": {"include_usage": None}})
    equal(["usage" in chunk for chunk in unasked], [False] * len(unasked))


def chat(server):
    asked = {"messages": [{"role": "system", "content": "Be."}, {"role": "user", "content": [{"type": "text", "text": "Hark"}, {"type": "text", "text": "!"}]}],
             "max_completion_tokens": 6, "temperature": 0}
    wanted = generated("S Be.\nU Hark!\nA ", 6, "--temp", "0")
    got = server.fine("/v1/chat/completions", asked | {"logprobs": True, "top_logprobs": 1})
    choice = got["choices"][0]
    equal((got["object"], choice["message"]), ("chat.completion", {"role": "assistant", "content": wanted, "refusal": None}))
    equal("".join(token["token"] for token in choice["logprobs"]["content"]), wanted)
    equal([token["top_logprobs"][0]["logprob"] for token in choice["logprobs"]["content"]], [token["logprob"] for token in choice["logprobs"]["content"]])
    chunks = [chunk["choices"][0] for chunk in server.events("/v1/chat/completions", asked)]
    equal(chunks[0]["delta"], {"role": "assistant", "content": ""})
    equal("".join(chunk["delta"].get("content", "") for chunk in chunks), wanted)
    equal(chunks[-1]["finish_reason"], "length")


def test_variables_of_a_template(folder):
    """Requests set a template's switches. With thoughts off, the template closes them, and all of the answer is content."""
    template, path, asked = folder / "t.jinja", "/v1/chat/completions", {"messages": HELLO, "max_tokens": 6, "temperature": 0}
    template.write_text(TEMPLATE.replace("A {% endif %}", "A {% if reasoning_effort %}({{ reasoning_effort }}){% endif %}<think>"
                                         "{% if enable_thinking is defined and not enable_thinking %}</think>{% endif %}{% endif %}"))
    on, off, low = {"enable_thinking": True}, {"enable_thinking": False}, {"enable_thinking": False, "reasoning_effort": "low"}
    with Server("--chat-template", template) as server:
        for begin, more in (("<think>", {}), ("<think>", {"chat_template_kwargs": {}, "reasoning_effort": None}), ("<think>", {"chat_template_kwargs": on}),
                            ("(none)<think>", {"reasoning_effort": "none", "chat_template_kwargs": on}), ("(high)<think>", {"reasoning_effort": "high"})):
            message = server.fine(path, asked | more)["choices"][0]["message"]
            equal(message.get("reasoning_content", ""), generated(f"U Hello\nA {begin}", 6, "--temp", "0").strip(), more)
        for begin, more in (("", {"chat_template_kwargs": off}), ("(none)", {"reasoning_effort": "none"}), ("(low)", {"reasoning_effort": "low", "chat_template_kwargs": off}),
                            ("(low)", {"chat_template_kwargs": low}), ("(low)", {"reasoning_effort": "low", "chat_template_kwargs": low})):
            wanted = generated(f"U Hello\nA {begin}<think></think>", 6, "--temp", "0")
            message = server.fine(path, asked | more)["choices"][0]["message"]
            equal((message["content"], message.get("reasoning_content")), (wanted, None), more)
            deltas = [chunk["choices"][0]["delta"] for chunk in server.events(path, asked | more)]
            equal(("".join(delta.get("content", "") for delta in deltas), [delta for delta in deltas if "reasoning_content" in delta]), (wanted, []), more)
        for wrong, field, more in (("an object is wanted", "chat_template_kwargs", {"chat_template_kwargs": [1]}),
                                   ('the template has "messages" otherwise', "chat_template_kwargs", {"chat_template_kwargs": {"messages": []}}),
                                   ("a text is wanted", "reasoning_effort", {"reasoning_effort": 3}),
                                   ("with another value", "reasoning_effort", {"reasoning_effort": "high", "chat_template_kwargs": low})):
            server.wrong(400, wrong, path, asked | more, field)
        server.wrong(400, '"reasoning_effort" is not served', "/v1/completions", ASKED | {"reasoning_effort": "low"}, "reasoning_effort")


def nul_in_chats(server):
    """A chat reads it where a completion does: in messages, in results, in the arguments of earlier calls, and in tools."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": json.dumps({"x": "c\0d"})}}
    said = [{"role": "user", "content": "a\0b"}, {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "e\0f"}]
    written = 'U a\0b\nA $ {"name": "f", "arguments": {"x": "c\\u0000d"}} \nT e\0f\n'
    asked = {"max_tokens": 4, "temperature": 0}
    got, wanted = server.fine("/v1/chat/completions", asked | {"messages": said}), server.fine("/v1/completions", asked | {"prompt": written + "A "})
    equal((got["choices"][0]["message"]["content"], got["usage"]["prompt_tokens"]), (wanted["choices"][0]["text"], wanted["usage"]["prompt_tokens"]))
    equal(server.fine("/attention", {"messages": said}), server.fine("/attention", {"content": written}))
    server.fine("/v1/chat/completions", asked | {"messages": HELLO, "tools": [{"type": "function", "function": {"name": "f", "description": "a\0b"}}]})
    schema = {"type": "json_object", "schema": {"const": {"x": ["a\0b"]}}}
    equal(server.fine("/v1/chat/completions", {"messages": HELLO, "response_format": schema})["choices"][0]["message"]["content"], '{"x":["a\\u0000b"]}')


def vectors(server):
    texts = ["anna", "bob sees anna"]
    got = server.fine("/v1/embeddings", {"input": texts, "model": "sentence"})
    lines = run("embed", *REFERENCE, "-m", ENCODER, "-", given="\n".join(texts) + "\n").text.splitlines()
    equal([one["embedding"] for one in got["data"]], [json.loads(line)["embedding"] for line in lines])
    packed = server.fine("/v1/embeddings", {"input": texts[0], "encoding_format": "base64"})["data"][0]["embedding"]
    data = base64.b64decode(packed)
    wanted = got["data"][0]["embedding"]
    equal(data, struct.pack(f"<{len(wanted)}f", *wanted))
    shorter_vectors(server, texts, [one["embedding"] for one in got["data"]])


def shorter_vectors(server, texts, whole):
    """The first numbers of each vector, with length 1 again."""
    width = len(whole[0])
    for n in (1, 3, width - 1, width, None):
        wanted = [[number / math.hypot(*vector[:n]) for number in vector[:n]] if n in range(1, width) else vector for vector in whole]
        got = [one["embedding"] for one in server.fine("/v1/embeddings", {"input": texts, "dimensions": n})["data"]]
        equal([len(vector) for vector in got], [n or width] * len(texts))
        assert max(abs(a - b) for one, other in zip(got, wanted) for a, b in zip(one, other)) <= (1e-6 if n in range(1, width) else 0), (n, got, wanted)
        packed = server.fine("/v1/embeddings", {"input": texts, "dimensions": n, "encoding_format": "base64"})["data"]
        equal([base64.b64decode(one["embedding"]) for one in packed], [struct.pack(f"<{len(vector)}f", *vector) for vector in got])
    for wrong in (0, -1, width + 1, 1 << 40, 2.0, True, "3", [3]):
        server.wrong(400, f"a whole number from 1 to {width} is wanted", "/v1/embeddings", {"input": "x", "dimensions": wrong}, "dimensions")


def tokens(server):
    ids = server.fine("/tokenize", {"content": "KING:\nO"})["tokens"]
    equal(server.fine("/detokenize", {"tokens": ids}), {"content": "KING:\nO"})
    equal(server.fine("/tokenize", {"content": "KING:\nO", "add_special": None, "parse_special": None})["tokens"], ids)
    equal(server.fine("/detokenize", server.fine("/tokenize", {"content": "a\x00b"})), {"content": "a\x00b"})
    server.wrong(400, "content", "/tokenize", {"content": 3}, "content")
    server.wrong(400, "token ids", "/detokenize", {"tokens": ["a"]}, "tokens")
    for ids in ([1, 2, 3], [[1, 2, 3], [4, 5]]):
        server.wrong(400, "input: token ids were given, and texts are wanted; in LangChain, set check_embedding_ctx_length=False on OpenAIEmbeddings", "/v1/embeddings",
                     {"input": ids}, "input")
    for n, wrong in ((2, ["a", 3]), (1, [["a"]])):
        server.wrong(400, f"input: number {n} is not a text of at least one character", "/v1/embeddings", {"input": wrong}, "input")
    server.wrong(400, "vocabulary", "/detokenize", {"tokens": [1 << 30]}, "tokens")


def refusals(server):
    path = "/v1/completions"
    for key, value in (("temperature", -1), ("temperature", "x"), ("top_p", 0), ("top_k", 1.5), ("max_tokens", -2), ("n", 0), ("seed", "x"), ("stop", [""]), ("stop", [3]),
                       ("stream", 1), ("logprobs", 21), ("prompt", 3), ("prompt", [[-1]]), ("prompt", []), ("presence_penalty", 3), ("frequency_penalty", "x"), ("logit_bias", {"x": 1}), ("logit_bias", {"1": 101}), ("logit_bias", [1]), ("logit_bias", {"1000000": 1}), ("logit_bias", {"1024": 1}), ("prompt", [1, 2, 1024]), ("echo", 1), ("best_of", 0),
                       ("suffix", "x"), ("nonsense", 1), ("messages", [])):
        status, answer = server.ask(path, ASKED | {key: value})
        equal(status, 400, (key, value, answer))
        assert answer["error"]["message"] and answer["error"]["param"] == key, answer
    for key in ("presence_penalty", "frequency_penalty"):  # what many clients send with each request
        server.fine(path, ASKED | {key: 0, "user": "me"})
    nothing = {"service_tier": None, "reasoning_effort": None, "functions": None}  # a field that is null counts as missing, whatever it is
    server.fine(path, ASKED | nothing)
    server.fine("/v1/embeddings", {"input": "x"} | nothing)
    server.events(path, ASKED | {"stream_options": {"include_usage": None, "include_obfuscation": None}})
    server.wrong(400, "prompt: a text is wanted", path, {}, "prompt")
    server.fine(path, ASKED | {"logit_bias": {"1023": 1}, "seed": -1 << 63})
    server.wrong(400, "the model reads", path, ASKED | {"prompt": "word " * 5000}, "prompt")
    server.wrong(400, "the model reads", "/v1/chat/completions", {"messages": [{"role": "user", "content": "word " * 5000}]}, "messages")
    server.wrong(404, "is not served here", path, ASKED | {"model": "other"}, "model")
    server.wrong(400, "the name of a model is wanted", path, ASKED | {"model": server.fine("/v1/models")["data"][0]["id"] + "\0"}, "model")
    server.wrong(400, "needs \"stream\"", path, ASKED | {"stream_options": {"include_usage": True}}, "stream_options")
    chat = {"messages": [{"role": "user", "content": "x"}]}
    server.fine("/v1/chat/completions", chat | {"max_tokens": 1, "response_format": {"type": "json_schema", "other": None, "json_schema": {"schema": {"const": 1}, "other": None}}})
    server.wrong(400, "max_completion_tokens is 2, but max_tokens, which means the same, is 3", "/v1/chat/completions", chat | {"max_completion_tokens": 2, "max_tokens": 3},
                 "max_completion_tokens")
    for bound in ({"max_tokens": 2, "max_completion_tokens": 2}, {"max_tokens": None, "max_completion_tokens": 2}, {"max_tokens": 2, "max_completion_tokens": None}):
        equal(server.fine("/v1/chat/completions", chat | {"ignore_eos": True} | bound)["usage"]["completion_tokens"], 2, bound)
    tool = {"type": "function", "function": {"name": "f"}}
    for wanted, field, more in (
            ("\"json_object\" or \"json_schema\"", "response_format", {"response_format": {"type": "xml"}}),
            ("an object \"json_schema\" with a \"schema\"", "response_format", {"response_format": {"type": "json_schema"}}),
            ("\"shema\" is not served", "response_format", {"response_format": {"type": "json_object", "shema": {}}}),
            ("an object as the \"schema\"", "response_format", {"response_format": {"type": "json_object", "schema": "x"}}),
            ("\"schema\" has no effect with the type \"text\"", "response_format", {"response_format": {"type": "text", "schema": {}}}),
            ("\"json_schema\" has no effect with the type \"json_object\"", "response_format", {"response_format": {"type": "json_object", "json_schema": {"schema": {}}}}),
            ("\"not\" is not served", "response_format", {"response_format": {"type": "json_object", "schema": {"not": {}}}}),
            ("refers to itself (\"$ref\") before a value begins", "response_format", {"response_format": {"type": "json_object", "schema": {"$ref": "#"}}}),
            ("at /properties/a: \"not\" is not served", "response_format",
             {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"properties": {"a": {"not": {}}}}}}}),
            ("more than 262144 states", "response_format", {"response_format": {"type": "json_schema", "json_schema": {"schema": {
                "maxItems": 60000, "items": {"maxItems": 60000, "items": {"type": "string", "maxLength": 60000}}}}}}),
            ("line 1: a ) is wanted", "grammar", {"grammar": "root ::= ("}), ("is to be left out", "grammar", {
                "grammar": "root ::= \"a\"", "response_format": {"type": "json_object"}}),
            ("\"auto\", \"required\", \"none\" or a named", "tool_choice", {"tools": [tool], "tool_choice": "any"}), ("there are no tools", "tool_choice", {"tool_choice": "required"}),
            ("there is no function \"g\"", "tool_choice", {"tools": [tool], "tool_choice": {"type": "function", "function": {"name": "g"}}}),
            ("with a \"name\"", "tools", {"tools": [{"type": "function"}], "tool_choice": "required"}),
            ("with a \"name\"", "tools", {"tools": [{"type": "function"}], "tool_choice": "none"}),
            ("an object is wanted", "tools", {"tools": [{"type": "function", "function": {"name": "f", "parameters": True}}]}),
            ("the parameters of \"g\": JSON schema: \"not\" is not served", "tools",
             {"tools": [tool, {"type": "function", "function": {"name": "g", "parameters": {"not": {}}}}]})):
        server.wrong(400, wanted, "/v1/chat/completions", chat | more, field)
    for field in ("audio", "functions", "function_call", "modalities", "prediction", "prompt_cache_key", "safety_identifier", "service_tier", "verbosity", "web_search_options"):
        server.wrong(400, f'the field "{field}" is not served', "/v1/chat/completions", chat | {field: "x"}, field)
    server.wrong(400, "no \"role\"", "/v1/chat/completions", {"messages": [{"content": "x"}]}, "messages")
    server.wrong(400, "content", "/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages")
    server.wrong(404, "/v1/nothing is not served", "/v1/nothing")
    server.wrong(405, "GET is not served", path)


def test_several_models(folder):
    cross = cross_encoder(folder / "cross")
    with Server("-m", f"again={PLAY}", "-m", ENCODER, "-m", f"ranks={cross}", "--slots", "2") as server:
        equal([model["id"] for model in server.fine("/v1/models")["data"]], ["shakespeare", "again", "sentence", "ranks"])
        first, again = (server.fine("/v1/completions", ASKED | {"model": name} | more) for name, more in (("shakespeare", {}), ("again", {"max_tokens": 5})))
        equal((again["model"], again["choices"][0]["text"]), ("again", generated("ROMEO:\n", 5, "--temp", "0")))
        metrics = server.fine("/metrics").decode()
        equal([value(metrics, "generation_tokens_total", name) for name in ("shakespeare", "again", "sentence")], [8, 5, 0])
        equal(value(metrics, "e2e_request_latency_seconds_count", "again"), 1)
        equal(first["model"], "shakespeare")
        assert server.fine("/tokenize", {"content": "anna", "model": "sentence"}) != server.fine("/tokenize", {"content": "anna"})
        ranks(server, cross)
        server.wrong(404, "writes text; one that gives vectors", "/v1/embeddings", {"input": "x", "model": "again"}, "model")
        server.wrong(404, "not served here", "/tokenize", {"content": "x", "model": "other"}, "model")
        server.wrong(404, "ranks documents; one that writes text", "/v1/completions", ASKED | {"model": "ranks"}, "model")
        server.wrong(400, "the name of a model", "/v1/completions", ASKED | {"model": 3}, "model")
        server.wrong(400, "\"shakespeare\" has no chat template", "/v1/chat/completions", {"messages": HELLO}, "messages")
    refused(2, "two models have the name \"shakespeare\"", "serve", *REFERENCE, "-m", PLAY, "-m", PLAY)
    with Server(model=ENCODER) as server:
        server.wrong(404, "no model here writes text", "/v1/completions", ASKED, "model")
        server.wrong(404, "no model here ranks documents", "/rerank", {"query": "x", "documents": ["y"]}, "model")


def test_what_models_are_called(folder):
    """By what -m says: a cache keeps a model under the hash of a commit, and a download may be a folder with a GGUF file of another name."""
    commit = "0123456789" * 4
    repository = folder / "hub" / "models--org--play.v1"
    copy_model(PLAY, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    file = folder / "own" / "alone" / "alone.Q4_1.gguf"
    file.parent.mkdir(parents=True)
    shutil.copy(GOLDEN / "llama-llama3" / "model.gguf", file)
    env = environment(HF_HUB_CACHE=folder / "hub", TESSERA_MODELS=f"{PLAY.parent}:{folder / 'own'}")
    names = lambda server: [model["id"] for model in server.fine("/v1/models")["data"]]
    with Server("-m", "alone", "-m", file, model="org/play.v1", env=env) as server:
        equal(names(server), ["org/play.v1", "alone", "alone.Q4_1"])
        got = server.fine("/v1/completions", ASKED | {"model": "org/play.v1"})
        equal((got["model"], got["choices"][0]["text"]), ("org/play.v1", generated("ROMEO:\n", 8, "--temp", "0")))
        for path in ("/v1/models/org/play.v1", "/v1/models/org%2Fplay.v1"):
            equal({key: told for key, told in server.fine(path).items() if key != "created"},
                  {"id": "org/play.v1", "object": "model", "owned_by": "tessera", "use": "text", "chat": False})
        server.wrong(404, 'the model "play.v1" is not served here', "/v1/models/play.v1", param="model")
        server.wrong(404, "is not served here", "/v1/models/%ff%00", param="model")
        server.wrong(404, "/v1/models/ is not served", "/v1/models/")
    with Server("-m", file.parent, model=".", cwd=PLAY) as server:
        equal(names(server), ["shakespeare", "alone"])
    refused(2, "of a model is not UTF-8", "serve", *REFERENCE, "-m", f"\udce9={PLAY}")


def test_chats_that_name_no_model_go_to_one_that_chats(folder):
    chatty = copy_model(PLAY, folder / "chatty")
    (chatty / "chat_template.jinja").write_text(TEMPLATE)
    with Server("-m", ENCODER, "-m", chatty, model=f"base={PLAY}") as server:
        equal(server.fine("/v1/chat/completions", {"messages": HELLO, "max_tokens": 1})["model"], "chatty")
        equal(server.fine("/v1/completions", ASKED)["model"], "base")
        equal(server.fine("/attention", {"messages": HELLO}), server.fine("/attention", {"messages": HELLO, "model": "chatty"}))
        server.wrong(400, "\"base\" has no chat template", "/v1/chat/completions", {"messages": HELLO, "model": "base"}, "messages")


def test_a_context_is_that_of_models_that_write(folder):
    """-c does not depend on the order of models: it may be more than an encoder, or some of those that write, read; and two names of the same
    files, whose keys in f32 would need more than 64 MiB for all that the model reads, but not for -c, give the same numbers."""
    short, _ = words.model(folder, "llama-tiny")  # reads 48
    for first in ENCODER, short:
        with Server("-m", PLAY, "-c", "100", model=first) as server:
            full = server.fine("/v1/completions", {"model": "shakespeare", "prompt": [5] * 90, "max_tokens": 20, "ignore_eos": True})
            equal((full["choices"][0]["finish_reason"], full["usage"]["total_tokens"]), ("length", 100))
    refused(2, "a context of 513 tokens was asked for (-c); the models that write text read at most 512", "serve", *REFERENCE, "-m", short, "-m", PLAY, "-c", "513")
    change_json(short / "config.json", max_position_embeddings=1 << 20)
    asked = {"prompt": [1, 2, 3, 4], "max_tokens": 4, "logprobs": 0, "temperature": 0, "ignore_eos": True}
    with Server("-m", f"again={short}", "-c", "48", "--dtype", "f16", model=f"first={short}") as server:
        first, again = (server.fine("/v1/completions", asked | {"model": name})["choices"][0]["logprobs"] for name in ("first", "again"))
        equal(first, again)


def test_adapters_are_further_names(folder):
    modules = ["transformer.h.0.attn.c_attn", "transformer.h.5.mlp.c_proj"]
    one, two = (make_adapter(folder / name, PLAY, modules, True, seed=seed)[0] for name, seed in (("one", 1), ("c+two", 2)))
    adapted = {"tuned": ["--lora", one], "c+two": ["--lora", two], "both": ["--lora", one, "--lora", two]}
    with Server("-m", f"tuned={PLAY}+{one}", "-m", f"shakespeare+{two}", "-m", f"both={PLAY}+{one}+{two}", "--slots", "2") as server:
        equal([model["id"] for model in server.fine("/v1/models")["data"]], ["shakespeare", *adapted])
        texts = {name: server.fine("/v1/completions", ASKED | {"model": name})["choices"][0]["text"] for name in ("shakespeare", *adapted)}
        equal(texts, {"shakespeare": generated("ROMEO:\n", 8, "--temp", "0")} | {name: generated("ROMEO:\n", 8, "--temp", "0", *options) for name, options in adapted.items()})
        equal(len(set(texts.values())), 4, "the adapters change too little to be tested")
    with Server("--lora", two, model=f"first={PLAY}+{one}") as server:  # those of the command are the first model's, too
        equal(server.fine("/v1/completions", ASKED)["choices"][0]["text"], texts["both"])
    other, _ = make_adapter(folder / "other", GOLDEN / "llama-tiny", ["model.layers.0.self_attn.q_proj"], False)
    refused(3, "the adapter was made for another model", "serve", *REFERENCE, "-m", PLAY, "-m", f"x={PLAY}+{other}")
    refused(3, "the adapter was made for another model", "serve", *REFERENCE, "-m", f"{PLAY}+{other}")
    refused(3, f'"{folder / "none"}": there is no such adapter', "serve", *REFERENCE, "-m", f"{PLAY}+{one}+{folder / 'none'}")
    refused(2, "a model is wanted before the +", "serve", *REFERENCE, "-m", f"+{one}")


def test_many_texts_are_run_in_pieces_between_tokens(folder):
    texts = [f"{'the cat sat on the mat ' * (i % 7)}{i}" for i in range(60)]
    with Server("-m", ENCODER, "--step-tokens", "16", "--slots", "1") as server:
        alone = server.fine("/v1/embeddings", {"input": texts})
        lines = run("embed", *REFERENCE, "-m", ENCODER, "-", given="\n".join(texts) + "\n").text.splitlines()
        equal([one["embedding"] for one in alone["data"]], [json.loads(line)["embedding"] for line in lines])
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            body = json.dumps(ASKED | {"max_tokens": 480, "ignore_eos": True, "stream": True}).encode()
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
            before = server.metric("generation_tokens_total")
            equal(server.fine("/v1/embeddings", {"input": texts}), alone)
            assert server.metric("generation_tokens_total") >= before + 20, "it stood still meanwhile"


def ranks(server, cross):
    texts = ["the cat sat", "anna lives in london", "a big red mat", "how are you", "the cat sat"]
    lines = run("classify", *REFERENCE, "-m", cross, "--pair", "-f", "-", given="".join(f"where is anna\t{text}\n" for text in texts)).text.splitlines()
    scores = [1 / (1 + math.exp(-float(line.split("\t")[1]))) for line in lines]
    order = sorted(range(5), key=lambda i: -scores[i])
    asked = {"query": "where is anna", "documents": [texts[0], {"text": texts[1]}, *texts[2:]]}
    got = server.fine("/v1/rerank", asked | {"model": "ranks"})
    equal([one["index"] for one in got["results"]], order)
    assert all(abs(one["relevance_score"] - scores[one["index"]]) < 1e-5 for one in got["results"]), (got, scores)
    assert got["usage"]["total_tokens"] > 0 and got["model"] == "ranks", got
    best = server.fine("/rerank", asked | {"top_n": 2, "return_documents": True})["results"]
    equal(best, [one | {"document": {"text": texts[one["index"]]}} for one in got["results"][:2]])
    equal(value(server.fine("/metrics").decode(), "documents_ranked_total", "ranks"), 10)
    for key, wrong in (("query", None), ("documents", []), ("documents", [3]), ("documents", "x"), ("top_n", 0), ("return_documents", 1), ("nonsense", 1)):
        status, answer = server.ask("/rerank", asked | {key: wrong})
        equal((status, answer["error"]["param"]), (400, key), answer)


def raw(server, *parts):
    """The status of what is answered to these bytes; None: the connection was closed without an answer."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
            got = connection.recv(1 << 16)
            return int(got.split()[1]) if got else None
    return None


def hostile(server):
    body = json.dumps(ASKED).encode()
    request = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    equal(raw(server, *(request[i:i + 1] for i in range(len(request)))), 200, "split at each byte")
    chunked = b"POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(b"1\r\n%c\r\n" % c for c in b'{"content":"x"}') + b"0\r\n\r\n"
    equal(raw(server, chunked), 200)
    assert raw(server, b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100000 + b"\r\n\r\n") in (431, 413, 400, None)
    assert raw(server, b"\x00\xff nonsense\r\n\r\n") in (400, None)
    equal(raw(server, b"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"), 413)
    server.wrong(400, "not JSON", "/v1/completions", b'{"prompt":' + b"[" * 10000 + b"]" * 10000 + b"}")
    server.wrong(400, "not JSON", "/v1/completions", b'{"prompt":"\xff"}')
    server.wrong(400, "not JSON", "/v1/completions", b'{"prompt":"x","prompt":"y"}')
    server.wrong(400, "not JSON", "/v1/completions", '{"prompt": \u202e]}'.encode())
    server.wrong(400, "the field \"???", "/v1/completions", ASKED | {"\u202e" * 600 + "x": 1}, "\u202e" * 600 + "x")
    for seed in (1 << 63, -(1 << 63) - 1, (1 << 64) - 1):
        server.wrong(400, "seed: a whole number from -2^63 to 2^63-1 is wanted", "/v1/completions", ASKED | {"seed": seed}, "seed")
    large = {"type": "function", "function": {"name": "f", "description": "\\\"18446744073709551615", "parameters": {
        "type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615}}}}}
    server.fine("/v1/chat/completions", {"messages": HELLO, "tools": [large], "max_tokens": 1, "seed": (1 << 63) - 1, "top_k": 5})
    server.wrong(400, "the body: line 2, column", "/v1/completions", b'{"prompt": "a",\n "temperature": 1e999}')
    server.wrong(400, "a name with a 0 byte is not read", "/v1/completions", ASKED | {"a\0b": 1})
    server.wrong(400, "not a JSON object", "/v1/completions", b"[]")
    server.wrong(400, "not JSON", "/v1/completions", b"")
    server.fine("/v1/completions", ASKED | {"prompt": "a\x00b"})


def test_a_template_that_does_not_end(folder):
    """A template's steps and memory are bounded: the request is refused, and the server goes on."""
    template = folder / "t.jinja"
    template.write_text("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}")
    with Server("--chat-template", template) as server:
        for more in ({}, {"stream": True}, {"tools": [{"type": "function", "function": {"name": "f"}}]}):
            server.wrong(400, "memory", "/v1/chat/completions", {"messages": HELLO} | more, "messages")
        server.wrong(400, "memory", "/attention", {"messages": HELLO}, "messages")
        equal(server.fine("/v1/completions", ASKED)["choices"][0]["text"], generated("ROMEO:\n", 8, "--temp", "0"))


def test_under_load_each_gets_what_it_gets_alone(folder):
    asked = [ASKED | {"prompt": "KING " * (1 + 3 * i % 5) + "O", "temperature": 0.9 * (i % 3 > 0), "seed": i, "max_tokens": 2 + i % 4, "ignore_eos": True, "logprobs": i % 4,
                      "top_k": (0, 40)[i % 2]} for i in range(16)]
    with Server("--slots", "1") as server:
        alone = [server.fine("/v1/completions", one)["choices"] for one in asked]
    with Server("--slots", "5", "--step-tokens", "8") as server:
        got = [None] * len(asked)

        def client(i):
            got[i] = server.fine("/v1/completions", asked[i])["choices"]
        threads = [threading.Thread(target=client, args=(i,)) for i in range(len(asked))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(got, alone)
        equal(server.metric("generation_tokens_total"), sum(one["max_tokens"] for one in asked))
        equal(server.fine("/v1/completions", asked[0])["choices"], alone[0])
        once, again = (server.fine("/v1/completions", asked[0] | {"prompt": "KING " * 20 + "O"}) for _ in range(2))
        equal(again["choices"], once["choices"])
        assert again["usage"]["prompt_tokens_details"]["cached_tokens"] > 0, again["usage"]


def test_the_metrics_that_are_documented(folder):
    text = (SOURCE / "docs" / "server.md").read_text()
    told = text[text.index("\n## Metrics\n"):].split("\n## ")[1]
    documented = set(re.findall(r"`tessera_(\w+)`", told))
    with Server("-m", ENCODER) as server:
        first = server.fine("/v1/completions", ASKED)["usage"]
        before = server.fine("/metrics").decode()
        equal([value(before, f"{name}_total") for name in ("requests_finished", "prompt_tokens", "generation_tokens")], [1, first["prompt_tokens"], first["completion_tokens"]],
              "the request with which the server warms up is not counted")
        used = server.fine("/v1/completions", ASKED | {"max_tokens": 7, "ignore_eos": True})["usage"]
        after = server.fine("/metrics").decode()
    equal(set(re.findall(r"^# TYPE tessera_(\w+) ", after, re.M)), documented)
    for name in documented:
        histogram = f"\n# TYPE tessera_{name} histogram\n" in after
        for series in [f"{name}_{part}" for part in ("bucket", "sum", "count")] if histogram else [name]:
            equal(set(re.findall(rf'^tessera_{series}{{model_name="(\w+)"', after, re.M)), {"shakespeare", "sentence"}, series)
    more = lambda name: value(after, name) - value(before, name)
    equal((more("prompt_tokens_total"), more("prefix_cache_queries"), more("generation_tokens_total")), (used["prompt_tokens"], used["prompt_tokens"], 7))
    times = ("time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds")
    equal([more(f"{name}_count") for name in times], [1, 7 - 1, 1])
    first, between, whole = (more(f"{name}_sum") for name in times)
    assert first > 0 and between > 0 and abs(first + between - whole) < 1e-6, (first, between, whole)
    for name in times:
        buckets = [float(line.split()[-1]) for line in after.splitlines() if line.startswith(f'tessera_{name}_bucket{{model_name="shakespeare"')]
        equal((buckets, buckets[-1]), (sorted(buckets), value(after, f"{name}_count")), name)


def test_an_answer_is_counted_before_it_is_given(folder):
    """On one processor the thread that speaks HTTP runs as soon as it has the answer, before the engine's goes on."""
    one, body = {min(os.sched_getaffinity(0))}, json.dumps(ASKED | {"max_tokens": 3, "ignore_eos": True}).encode()
    both = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%bGET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % (len(body), body)
    with Server(preexec_fn=lambda: os.sched_setaffinity(0, one)) as server:
        for i in range(1, 9):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(both)
                got = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
            equal(value(got, "generation_tokens_total"), 3 * i)
            equal(value(got, "requests_finished_total"), i)


def test_a_client_that_hangs_up_frees_its_place(folder):
    long = ASKED | {"max_tokens": 200, "ignore_eos": True}
    with Server("--slots", "1", "--queue", "1") as server:
        for stream in (True, False):
            body = json.dumps(long | {"stream": stream}).encode()
            left = server.metric("clients_left_total")
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                if stream:
                    assert connection.recv(100).startswith(b"HTTP/1.1 200")
                until(lambda: server.metric("num_requests_running") == 1, "it runs")
            until(lambda: server.metric("num_requests_running") == 0, "its place is free")
            until(lambda: server.metric("clients_left_total") == left + 1, "it is counted")  # pylint: disable=cell-var-from-loop
        equal(server.metric("requests_finished_total"), 0)


def test_a_client_that_hangs_up_frees_its_place_within_a_step(folder):
    """The server stands still while the client hangs up and the metrics are asked for, so the steps are counted from there, however slow the machine is."""
    with Server("--slots", "1") as server:
        for stream in (True, False):
            body = json.dumps(ASKED | {"max_tokens": 480, "ignore_eos": True, "stream": stream}).encode()
            left = server.metric("clients_left_total")
            with socket.create_connection(("127.0.0.1", server.port)) as watcher:
                try:
                    with socket.create_connection(("127.0.0.1", server.port)) as leaving:
                        leaving.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                        until(lambda: server.metric("num_requests_running") == 1, "it runs")
                        server.process.send_signal(signal.SIGSTOP)
                        os.waitid(os.P_PID, server.process.pid, os.WSTOPPED)
                        watcher.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                finally:
                    server.process.send_signal(signal.SIGCONT)
                begun = value(b"".join(iter(lambda: watcher.recv(1 << 16), b"")).decode(), "steps_total")
            until(lambda: server.metric("clients_left_total") == left + 1 and server.metric("num_requests_running") == 0, "it has left")  # pylint: disable=cell-var-from-loop
            steps = server.metric("steps_total") - begun
            assert steps <= 2, f"the step during which it left, and the one in which others may have its place, but there were {steps:.0f}"


def test_keys_queue_and_end(folder):
    keys = folder / "keys"
    keys.write_text("# two\n \talpha \n\t \n # three\nbeta\t\r\n")
    with Server("--slots", "1", "--queue", "1", "--api-key-file", keys) as server:
        server.fine("/health")
        for key in ("", "alph", "alphaa", "gamma", "# two", "# three"):
            server.wrong(401, "a key is wanted", "/v1/models", Authorization=f"Bearer {key}")
        server.wrong(401, "a key is wanted", "/v1/completions", ASKED)
        for key in ("alpha", "beta"):
            server.fine("/v1/models", Authorization=f"Bearer {key}")
        answers = []
        slow = ASKED | {"max_tokens": 60, "ignore_eos": True}
        threads = [threading.Thread(target=lambda: answers.append(server.ask("/v1/completions", slow, Authorization="Bearer beta"))) for _ in range(4)]
        for thread in threads:
            thread.start()
        held = lambda: sum(server.metric(f"num_requests_{state}", Authorization="Bearer beta") for state in ("running", "waiting"))
        until(lambda: answers and len(answers) + held() == 4, "all have come")
        server.end()  # those that run and wait are answered before it ends
        for thread in threads:
            thread.join()
        assert {status for status, _ in answers} <= {200, 503} and any(status == 200 for status, _ in answers), answers


def test_new_requests_get_503_while_those_that_run_end(_):
    """Those of new connections, too: a load balancer opens one to ask for /health. One that never becomes a request keeps nothing alive."""
    body = json.dumps(ASKED | {"max_tokens": 480, "n": 16, "ignore_eos": True, "stream": True}).encode()
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    with Server("--slots", "1", "--drain", "600", "--idle-timeout", "3600") as server, socket.create_connection(("127.0.0.1", server.port)) as half:
        half.sendall(head)
        with socket.create_connection(("127.0.0.1", server.port)) as running:
            running.sendall(head + body)
            assert running.recv(100).startswith(b"HTTP/1.1 200")
            server.end()
            until(lambda: server.ask("/health") == (503, {"status": "ending"}), "it says that it ends")
            server.wrong(503, "the server is about to end", "/v1/completions", ASKED)
            until(lambda: server.metric("num_requests_running") == 1, "what runs goes on")
        server.process.wait(60 * slowness())


def test_a_port_has_one_server(_):
    """A second one says so. One that follows it has the port at once, though the system still remembers connections to it."""
    with Server() as server:
        second = start("serve", *REFERENCE, "-m", PLAY, "--port", server.port)
        try:
            out, err = second.communicate(timeout=60 * slowness())
        finally:
            second.kill()
        equal((second.returncode, out, err.decode()),
              (5, b"", f"tessera: 127.0.0.1, port {server.port}: can't listen there: Address already in use; choose another port (--port)\n"))
        equal(server.fine("/health", Connection="close"), {"status": "ok"})  # the server ends this connection, so that its side remembers it
    with Server(port=server.port) as again:
        equal(again.fine("/health"), {"status": "ok"})


def test_refused(folder):
    (folder / "empty").write_text("#\n \t\n")
    (folder / "blank").write_text(" \n\t\n")
    refused(3, f"--chat-template {folder / 'blank'}: it is blank", "serve", *REFERENCE, "-m", PLAY, "--chat-template", folder / "blank")
    refused(3, "it has no key", "serve", *REFERENCE, "-m", PLAY, "--api-key-file", folder / "empty")
    refused(2, "--tls-cert and --tls-key", "serve", *REFERENCE, "-m", PLAY, "--tls-cert", folder / "empty")
    refused(2, "--host nowhere.invalid", "serve", *REFERENCE, "-m", PLAY, "--host", "nowhere.invalid")


skip_without_server()
main(globals())

#!/usr/bin/env python3
"""POST /attention of tessera serve: the numbers are those of tessera attention's page, for texts, tokens, conversations and encoders; requests run beside
answers, which stay what they are; what can't be shown is refused."""

import http.client
import json
import re
import threading

from support.command import PLAY, equal, main, run
from support.server import ENCODER, REFERENCE, TEMPLATE, Server, skip_without_server

TEXT = "ROMEO:\nto be, or not"


def page(folder, text, *options, model=PLAY):
    """What the page of tessera attention draws."""
    run("attention", *REFERENCE, "-m", model, *options, text, "-o", folder / "p.html")
    return json.loads(re.search(r'id="data">(.*?)</script>', (folder / "p.html").read_text(), re.S).group(1))


def test_texts_and_tokens(folder):
    with Server("-m", ENCODER, "--log-format", "json") as server:
        wanted = page(folder, TEXT)
        equal(server.fine("/attention", {"content": TEXT}), wanted)
        tokens = server.fine("/tokenize", {"content": TEXT})["tokens"]
        equal(server.fine("/attention", {"tokens": tokens, "content": None, "user": "a"}), wanted)
        few = server.fine("/attention", {"content": TEXT, "layers": [1, 2], "heads": [3, 3]})
        equal(few, page(folder, TEXT, "--layers", "1-2", "--heads", "3"))
        equal((few["maps"][0]["layers"], few["maps"][0]["heads"]), ([1, 2], [3]))
        equal(server.fine("/attention", {"model": "sentence", "content": "the sea"}), page(folder, "the sea", model=ENCODER))
    lines = [json.loads(line) for line in server.err.splitlines() if line.startswith('{"time"') and '"/attention"' in line]
    equal([line["prompt_tokens"] for line in lines[:2]], [len(tokens)] * 2)


def test_a_conversation_is_read_as_its_template_writes_it(folder):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    said = [{"role": "user", "content": "To be?"}, {"role": "assistant", "content": [{"type": "text", "text": "Or not"}]}]
    with Server("--chat-template", template) as server:
        equal(server.fine("/attention", {"messages": said}), server.fine("/attention", {"content": "U To be?\nA Or not\n"}))
        server.wrong(400, "messages", "/attention", {"messages": []}, "messages")
    with Server() as server:
        server.wrong(400, "has no chat template", "/attention", {"messages": said}, "messages")


def test_what_is_refused(folder):
    with Server("--max-prompt-tokens", "8", "-m", ENCODER) as server:
        for body, fragment, param in (({}, "one of content, tokens and messages", "content"), ({"content": "a", "tokens": [1]}, "no other of them", "content"),
                                      ({"content": 3}, "a text is wanted", "content"), ({"tokens": "a"}, "a list of token ids", "tokens"), ({"content": ""}, "empty", "content"),
                                      ({"tokens": []}, "empty", "tokens"), ({"tokens": [1, 1 << 20]}, "outside the vocabulary", "tokens"),
                                      ({"content": "a", "layers": [6, 7]}, "layers 0 to 5", "layers"), ({"content": "a", "heads": [0, 6]}, "heads 0 to 5", "heads"),
                                      ({"content": "a", "layers": 1}, "the first and the last", "layers"), ({"content": "a", "layers": [2, 1]}, "the first and the last", "layers"),
                                      ({"content": "a", "layers": [-1, 1]}, "the first and the last", "layers"), ({"content": "a", "depth": 1}, "is not served", "depth"),
                                      ({"model": "sentence", "messages": [{"role": "user", "content": "a"}]}, "has no chat template", "messages"),
                                      ({"tokens": list(range(9))}, "the text has 9 tokens, but the attention of at most 8", "tokens")):
            server.wrong(400, fragment, "/attention", body, param)
        server.wrong(404, "is not served here", "/attention", {"model": "x", "content": "a"}, "model")
        equal(server.ask("/attention", method="GET")[0], 405)
        equal(len(server.fine("/attention", {"tokens": list(range(8))})["tokens"]["text"]), 8)
    with Server() as server:
        server.wrong(400, "the model reads 512", "/attention", {"tokens": [1] * 513}, "tokens")


def test_it_disturbs_no_answer(folder):
    """Several at the same time, while answers are written: each gets what it gets alone."""
    asked = {"prompt": "JULIET:\n", "max_tokens": 40, "temperature": 0.9, "seed": 7}
    long = {"content": "to be or not to be " * 6}
    with Server() as server:
        alone, numbers = server.fine("/v1/completions", asked)["choices"], server.fine("/attention", long)
        found, texts = [], []

        def write():
            texts.append(server.fine("/v1/completions", asked)["choices"])

        def look():
            found.append(server.fine("/attention", long))
        threads = [threading.Thread(target=what) for what in (write, look, look, write, look)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(texts, [alone] * 2)
        equal([got == numbers for got in found], [True] * 3)


def test_the_server_ends_when_it_has_answered(_):
    """SIGTERM comes while several are under way."""
    body = json.dumps({"content": "to be or not to be " * 6}).encode()
    with Server() as server:
        connections = [http.client.HTTPConnection("127.0.0.1", server.port) for _ in range(3)]
        for connection in connections:
            connection.request("POST", "/attention", body)
        server.fine("/health")  # they have been read before this
        server.end()
        equal([connection.getresponse().status for connection in connections], [200] * 3)
        for connection in connections:
            connection.close()


skip_without_server()
main(globals())

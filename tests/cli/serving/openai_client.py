#!/usr/bin/env python3
"""The openai package as a client of tessera serve: chats, streams, completions, log-probabilities, vectors, JSON of a class, calls of functions,
models, errors. Skipped without the package."""

import json
import math
from typing import Literal

from support.command import PLAY, SOURCE, equal, main, run, skip
from support.server import REFERENCE, Server

try:
    import openai
    import pydantic
except ImportError:
    skip("openai is missing (pip install openai)")

ENCODER = SOURCE / "tests" / "golden" / "encoders" / "sentence"
TEMPLATE = ("{% for m in messages %}{{ m.role[0] | upper }} {{ m.content }}{% for c in m.tool_calls or [] %}$ {\"name\": \"{{ c.function.name }}\", \"arguments\": "
            "{{ c.function.arguments | tojson }}}{% endfor %}\n{% endfor %}{% if add_generation_prompt %}A {% endif %}")
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who are you?"}]
SETTINGS = {"model": "shakespeare", "temperature": 0, "max_tokens": 12}


def client_of(server, key="none"):
    return openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key=key, max_retries=0)


def refused(kind, fragment, call, **arguments):
    try:
        call(**arguments)
    except kind as error:
        assert fragment in error.message, error.message
        return
    raise AssertionError(f"{arguments} was not refused")


def test_what_it_asks_for(folder):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    with Server("--chat-template", template, "-m", ENCODER) as server:
        client = client_of(server)
        equal([model.id for model in client.models.list()], ["shakespeare", "sentence"])
        chats(client)
        completions(client)
        vectors(client)
        structured(client)
        calls_or_text(client)
        errors(client)


def chats(client):
    whole = client.chat.completions.create(messages=MESSAGES, logprobs=True, top_logprobs=3, **SETTINGS)
    choice = whole.choices[0]
    equal((choice.message.role, choice.finish_reason, whole.usage.completion_tokens), ("assistant", "length", 12))
    equal("".join(token.token for token in choice.logprobs.content), choice.message.content)
    assert all(len(token.top_logprobs) == 3 and token.logprob <= 0 for token in choice.logprobs.content)
    with client.chat.completions.create(messages=MESSAGES, stream=True, stream_options={"include_usage": True}, **SETTINGS) as stream:
        chunks = list(stream)
    equal("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), choice.message.content)
    equal((chunks[0].choices[0].delta.role, chunks[-2].choices[0].finish_reason, chunks[-1].usage.completion_tokens), ("assistant", "length", 12))
    several = client.chat.completions.create(messages=MESSAGES, n=2, seed=5, **(SETTINGS | {"temperature": 1}))
    equal(len({one.message.content for one in several.choices}), 2)


def completions(client):
    got = client.completions.create(prompt="ROMEO:\n", **SETTINGS)
    equal(got.choices[0].text, run("generate", *REFERENCE, "-m", PLAY, "-n", 12, "--temp", "0", "ROMEO:\n").text[:-1])
    scored = client.completions.create(prompt="ROMEO:\n", echo=True, logprobs=0, **(SETTINGS | {"max_tokens": 0}))
    equal((scored.choices[0].text, scored.choices[0].logprobs.token_logprobs[0]), ("ROMEO:\n", None))


def vectors(client):
    texts = ["the cat sat on the mat", "how are you?"]
    got = [row.embedding for row in client.embeddings.create(model="sentence", input=texts).data]  # the client asks for base64
    plain = [row.embedding for row in client.embeddings.create(model="sentence", input=texts, encoding_format="float").data]
    for one, other in zip(got, plain):
        assert max(abs(a - b) for a, b in zip(one, other)) < 1e-6 and abs(math.hypot(*one) - 1) < 1e-5
    for one, other in zip([row.embedding for row in client.embeddings.create(model="sentence", input=texts, dimensions=4).data], plain):
        assert max(abs(a - b / math.hypot(*other[:4])) for a, b in zip(one, other[:4], strict=True)) < 1e-6


def structured(client):
    """An answer as an object of a class, and a call of a function."""
    class Answer(pydantic.BaseModel):
        kind: Literal["king", "queen"]
        age: int

    line_end = json.loads((PLAY / "tokenizer.json").read_text())["model"]["vocab"]["\u010a"]  # else this model fills its JSON with them
    settings = SETTINGS | {"max_tokens": 90, "temperature": 1, "seed": 3, "logit_bias": {str(line_end): -100}}
    parsed = client.chat.completions.parse(messages=MESSAGES, response_format=Answer, **settings).choices[0].message.parsed
    assert parsed.kind in ("king", "queen") and isinstance(parsed.age, int), parsed
    tool = openai.pydantic_function_tool(Answer, name="tell")
    for stream in (False, True):
        got = client.chat.completions.create(messages=MESSAGES, tools=[tool], tool_choice="required", stream=stream, **settings)
        call = next(c.choices[0].delta.tool_calls[0] for c in got if c.choices[0].delta.tool_calls) if stream else got.choices[0].message.tool_calls[0]
        equal((call.function.name, Answer.model_validate_json(call.function.arguments).kind in ("king", "queen")), ("tell", True))


def calls_or_text(client):
    """tool_choice "auto": the model calls or writes, by how likely the sign is with which its calls begin; the next turn has the call and its result."""
    vocabulary = json.loads((PLAY / "tokenizer.json").read_text())["model"]["vocab"]
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"where": {"enum": ["Elsinore", "Verona"]}},
                                                                                "required": ["where"], "additionalProperties": False}}}]
    asked = SETTINGS | {"tools": tools, "tool_choice": "auto", "max_tokens": 60, "parallel_tool_calls": False}
    for likelier in (-100, 100):
        settings = asked | {"logit_bias": {str(vocabulary["$"]): likelier, str(vocabulary["\u010a"]): -100}}
        choice = client.chat.completions.create(messages=MESSAGES, **settings).choices[0]
        content, name, arguments, finish = "", None, "", None
        for chunk in client.chat.completions.create(messages=MESSAGES, stream=True, **settings):
            delta, finish = chunk.choices[0].delta, chunk.choices[0].finish_reason or finish
            content += delta.content or ""
            for call in delta.tool_calls or []:
                name, arguments = call.function.name or name, arguments + (call.function.arguments or "")
        equal((content or None, finish), (choice.message.content, choice.finish_reason))
        if likelier < 0:
            equal((choice.message.tool_calls, name), (None, None))
            assert choice.message.content, choice
            continue
        (call,) = choice.message.tool_calls
        equal((choice.finish_reason, name, arguments), ("tool_calls", call.function.name, call.function.arguments))
        assert name == "weather" and json.loads(arguments)["where"] in ("Elsinore", "Verona"), arguments
        turn = [*MESSAGES, choice.message, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
        assert client.chat.completions.create(messages=turn, **SETTINGS).choices[0].message.content


def errors(client):
    refused(openai.NotFoundError, "nosuch", client.chat.completions.create, messages=MESSAGES, **(SETTINGS | {"model": "nosuch"}))
    refused(openai.BadRequestError, "top_p", client.chat.completions.create, messages=MESSAGES, top_p=3, **SETTINGS)
    refused(openai.BadRequestError, "messages", client.chat.completions.create, messages=[], **SETTINGS)


def test_a_key(folder):
    (folder / "keys").write_text("secret\n")
    with Server("--api-key-file", folder / "keys") as server:
        refused(openai.AuthenticationError, "key", client_of(server).models.list)
        equal([model.id for model in client_of(server, "secret").models.list()], ["shakespeare"])


main(globals())

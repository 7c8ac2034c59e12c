#!/usr/bin/env python3
"""The openai package as a client of tessera serve: chats, streams, completions, log-probabilities, vectors, JSON of a class, calls of functions,
models, errors, with the bundled model and with stories260k. Skipped without the package."""

import json
import math
from typing import Literal

from support.command import PLAY, SHARED, SOURCE, equal, larger, main, run, skip
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
SETTINGS = {"temperature": 0, "max_tokens": 12}
STORIES = "data/models/stories260k"


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
    asks_for_everything(folder, PLAY, "shakespeare", "ROMEO:\n")


@larger(STORIES)
def test_what_it_asks_for_of_stories(folder):
    asks_for_everything(folder, SHARED / STORIES / "checkpoint_legacy.bin", "stories", "Once upon a time")


def asks_for_everything(folder, path, name, prompt):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    with Server("--chat-template", template, "-m", ENCODER, model=f"{name}={path}") as server:
        client, settings = client_of(server), SETTINGS | {"model": name}
        token = lambda text: str(server.fine("/tokenize", {"content": text})["tokens"][-1])
        sign, line_end = token("$"), token("\n")
        equal([model.id for model in client.models.list()], [name, "sentence"])
        equal(client.models.retrieve("sentence").id, "sentence")
        refused(openai.NotFoundError, "is not served here", client.models.retrieve, model="nosuch")
        chats(client, settings)
        completions(client, settings, path, prompt)
        vectors(client)
        structured(client, settings | {"logit_bias": {line_end: -100}})  # else these models fill their JSON with them
        calls_or_text(client, settings, sign, line_end)
        errors(client, settings)


def chats(client, settings):
    whole = client.chat.completions.create(messages=MESSAGES, logprobs=True, top_logprobs=3, **settings)
    choice = whole.choices[0]
    equal((choice.message.role, choice.finish_reason, whole.usage.completion_tokens), ("assistant", "length", 12))
    equal("".join(token.token for token in choice.logprobs.content), choice.message.content)
    assert all(len(token.top_logprobs) == 3 and token.logprob <= 0 for token in choice.logprobs.content)
    with client.chat.completions.create(messages=MESSAGES, stream=True, stream_options={"include_usage": True}, **settings) as stream:
        chunks = list(stream)
    equal("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), choice.message.content)
    equal((chunks[0].choices[0].delta.role, chunks[-2].choices[0].finish_reason, chunks[-1].usage.completion_tokens), ("assistant", "length", 12))
    several = client.chat.completions.create(messages=MESSAGES, n=2, seed=5, **(settings | {"temperature": 1}))
    equal(len({one.message.content for one in several.choices}), 2)


def completions(client, settings, path, prompt):
    got = client.completions.create(prompt=prompt, **settings)
    equal(got.choices[0].text, run("generate", *REFERENCE, "-m", path, "-n", 12, "--temp", "0", prompt).text[:-1])
    scored = client.completions.create(prompt=prompt, echo=True, logprobs=0, **(settings | {"max_tokens": 0}))
    equal((scored.choices[0].text, scored.choices[0].logprobs.token_logprobs[0]), (prompt, None))


def vectors(client):
    texts = ["the cat sat on the mat", "how are you?"]
    got = [row.embedding for row in client.embeddings.create(model="sentence", input=texts).data]  # the client asks for base64
    plain = [row.embedding for row in client.embeddings.create(model="sentence", input=texts, encoding_format="float").data]
    for one, other in zip(got, plain):
        assert max(abs(a - b) for a, b in zip(one, other)) < 1e-6 and abs(math.hypot(*one) - 1) < 1e-5
    for one, other in zip([row.embedding for row in client.embeddings.create(model="sentence", input=texts, dimensions=4).data], plain):
        assert max(abs(a - b / math.hypot(*other[:4])) for a, b in zip(one, other[:4], strict=True)) < 1e-6


def structured(client, settings):
    """An answer as an object of a class, and a call of a function."""
    class Answer(pydantic.BaseModel):
        kind: Literal["king", "queen"]
        age: int

    settings = settings | {"max_tokens": 90, "temperature": 1, "seed": 3}
    parsed = client.chat.completions.parse(messages=MESSAGES, response_format=Answer, **settings).choices[0].message.parsed
    assert parsed.kind in ("king", "queen") and isinstance(parsed.age, int), parsed
    tool = openai.pydantic_function_tool(Answer, name="tell")
    for stream in (False, True):
        got = client.chat.completions.create(messages=MESSAGES, tools=[tool], tool_choice="required", stream=stream, **settings)
        call = next(c.choices[0].delta.tool_calls[0] for c in got if c.choices[0].delta.tool_calls) if stream else got.choices[0].message.tool_calls[0]
        equal((call.function.name, Answer.model_validate_json(call.function.arguments).kind in ("king", "queen")), ("tell", True))


def calls_or_text(client, settings, sign, line_end):
    """tool_choice "auto": the model calls or writes, by how likely the sign is with which its calls begin; the next turn has the call and its result."""
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"where": {"enum": ["Elsinore", "Verona"]}},
                                                                                "required": ["where"], "additionalProperties": False}}}]
    asked = settings | {"tools": tools, "tool_choice": "auto", "max_tokens": 60, "parallel_tool_calls": False}
    for likelier in (-100, 100):
        biased = asked | {"logit_bias": {sign: likelier, line_end: -100}}
        choice = client.chat.completions.create(messages=MESSAGES, **biased).choices[0]
        content, name, arguments, finish = "", None, "", None
        for chunk in client.chat.completions.create(messages=MESSAGES, stream=True, **biased):
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
        assert client.chat.completions.create(messages=turn, **settings).choices[0].message.content


def errors(client, settings):
    refused(openai.NotFoundError, "nosuch", client.chat.completions.create, messages=MESSAGES, **(settings | {"model": "nosuch"}))
    refused(openai.BadRequestError, "top_p", client.chat.completions.create, messages=MESSAGES, top_p=3, **settings)
    refused(openai.BadRequestError, "messages", client.chat.completions.create, messages=[], **settings)


def test_a_key(folder):
    (folder / "keys").write_text("secret\n")
    with Server("--api-key-file", folder / "keys") as server:
        refused(openai.AuthenticationError, "key", client_of(server).models.list)
        equal([model.id for model in client_of(server, "secret").models.list()], ["shakespeare"])


main(globals())

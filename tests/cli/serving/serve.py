#!/usr/bin/env python3
"""tessera serve: chat, completions, streams, vectors, ranks, tokens; several models; errors and limits; answers under load are those of a request alone; a client that hangs up frees
its place; hostile input is refused, and the server goes on."""

import base64
import contextlib
import json
import math
import os
import re
import socket
import struct
import threading
import time

from support.adapter import make_adapter
from support.command import GOLDEN, PLAY, SOURCE, equal, main, refused, run, skip
from support.ranker import cross_encoder
from support.server import REFERENCE, Server, value

ENCODER = SOURCE / "tests" / "golden" / "encoders" / "sentence"
TEMPLATE = ("{% for m in messages %}{{ m.role[0] | upper }} {{ m.content }}{% for c in m.tool_calls or [] %}$ {\"name\": \"{{ c.function.name }}\", "
            "\"arguments\": {{ c.function.arguments | tojson }}} {% endfor %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}A {% endif %}")
# It reads arguments as texts, and calls only without content, as DeepSeek's does.
STRICT = ("{% for m in messages %}{% if m.role != 'assistant' %}U {{ m.content }}{% elif m.content is none %}{% for c in m.tool_calls %}<call>{{ c.function.name + ' ' + c.function.arguments }}"
          "</call>{% endfor %}{% elif m.tool_calls %}{{ raise_exception('calls beside content') }}{% else %}{{ m.content }}{% endif %}\n{% endfor %}")
SPECIAL = ("[SAY]", "[CALLS]", "[ARGS]")
ASKED = {"prompt": "ROMEO:\n", "max_tokens": 8, "temperature": 0}


def generated(prompt, n, *options):
    return run("generate", *REFERENCE, "-m", PLAY, "-n", n, *options, prompt).text[:-1]


def until(true, what):
    for _ in range(600):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError(what)


def test_completions_and_chat(folder):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    strict = folder / "strict"
    strict.mkdir()
    for file in PLAY.iterdir():
        (strict / file.name).symlink_to(file)
    (strict / "chat_template.jinja").write_text(STRICT)
    with Server("--chat-template", template, "-m", ENCODER, "-m", strict, "-m", with_special_tokens(folder / "marked"),
                "-m", with_special_tokens(folder / "thinker", ("</think>",), THINKER), "-m", with_special_tokens(folder / "channels", CHANNELS, CHANNELED)) as server:
        completions(server)
        prompts_with_their_likelihood(server)
        best_of(server)
        streams(server)
        chat(server)
        constrained(server)
        calls_of_earlier_turns(server)
        calls_with_special_tokens(server)
        thoughts(server)
        channels(server)
        cut_calls(server)
        calls_or_json(server)
        vectors(server)
        tokens(server)
        refusals(server)
        hostile(server)
        equal(server.fine("/health"), {"status": "ok"})
        equal([model["id"] for model in server.fine("/v1/models")["data"]], ["shakespeare", "sentence", "strict", "marked", "thinker", "channels"])


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
    asked = ASKED | {"presence_penalty": 1.5, "frequency_penalty": 0.5, "logit_bias": {str(n[0]): 3, "5": -100}}
    penalties = ("--presence-penalty", "1.5", "--frequency-penalty", "0.5", "--logit-bias", f"{n[0]}=3", "--logit-bias", "5=-100")
    equal(server.fine("/v1/completions", asked)["choices"][0]["text"], generated("ROMEO:\n", 8, "--temp", "0", *penalties))
    stopped = server.fine("/v1/completions", ASKED | {"stop": [wanted[5:8]]})["choices"][0]
    equal((stopped["text"], stopped["finish_reason"]), (wanted[:wanted.index(wanted[5:8])], "stop"))
    logprobs = server.fine("/v1/completions", ASKED | {"logprobs": 2})["choices"][0]["logprobs"]
    equal(("".join(logprobs["tokens"]), logprobs["text_offset"][0]), (wanted, 0))
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
    equal([chunk["choices"][0]["finish_reason"] for chunk in chunks[-3:-1]], [None, "length"])


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


def constrained(server):
    """Answers that a grammar or a schema holds, alone and in a stream, and calls of functions."""
    path = "/v1/chat/completions"
    ask = {"messages": [{"role": "user", "content": "ROMEO:"}], "max_tokens": 90, "seed": 3}
    for line_end in server.fine("/tokenize", {"content": "\n"})["tokens"]:  # else this model fills its JSON with them
        ask["logit_bias"] = {str(line_end): -100}
    text = server.fine(path, ask | {"grammar": "root ::= [A-C]{2} \" \" (\"yes\" | \"no\")"})["choices"][0]
    assert re.fullmatch("[A-C]{2} (yes|no)", text["message"]["content"]) and text["finish_reason"] == "stop", text
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 12}}, "required": ["n"], "additionalProperties": False}
    form = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}}
    whole = server.fine(path, ask | form)["choices"][0]["message"]["content"]
    assert 1 <= json.loads(whole)["n"] <= 12, whole
    equal("".join(c["choices"][0]["delta"].get("content", "") for c in server.events(path, ask | form)), whole)
    assert server.fine(path, ask | {"response_format": {"type": "json_object"}, "max_tokens": 3})["choices"][0]["message"]["content"].startswith("{")
    tools = [{"type": "function", "function": {"name": name, "parameters": {"$defs": {"p": schema}, "$ref": "#/$defs/p"}}} for name in ("f", "g")]
    ask["parallel_tool_calls"] = False
    for choice, names in (("required", "fg"), ({"type": "function", "function": {"name": "g"}}, "g")):
        answer = server.fine(path, ask | {"tools": tools, "tool_choice": choice})["choices"][0]
        equal((answer["finish_reason"], answer["message"]["content"]), ("tool_calls", None))
        call = answer["message"]["tool_calls"][0]
        assert call["function"]["name"] in names and 1 <= json.loads(call["function"]["arguments"])["n"] <= 12, call
        told = [c["choices"][0]["delta"] for c in server.events(path, ask | {"tools": tools, "tool_choice": choice})]
        equal(next(d["tool_calls"][0]["function"] for d in told if "tool_calls" in d), call["function"])
    messages = [*ask["messages"], {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": call["id"], "content": "7"}]
    server.fine(path, ask | {"messages": messages, "max_tokens": 2})
    del ask["parallel_tool_calls"]
    calls_or_text(server, ask | {"tools": tools})


def calls_or_text(server, ask):
    """The model chooses: calls begin with the template's $, before which there may be text."""
    path = "/v1/chat/completions"
    (mark,), (end,) = (server.fine("/tokenize", {"content": text})["tokens"] for text in ("$", "<|endoftext|>"))
    told = server.fine(path, ask | {"logit_bias": ask["logit_bias"] | {str(mark): -100}, "max_tokens": 5})["choices"][0]
    assert told["finish_reason"] == "length" and told["message"]["content"] and "tool_calls" not in told["message"], told
    for likelier, more, calls, text in (({str(end): 8}, {"tool_choice": "required"}, 2, False), ({str(mark): 11}, {"seed": 4, "parallel_tool_calls": False, "logprobs": True}, 1, True)):
        asked = ask | more | {"logit_bias": ask["logit_bias"] | likelier}
        answer = server.fine(path, asked)["choices"][0]
        equal((answer["finish_reason"], answer["message"]["content"] is not None), ("tool_calls", text), answer)
        equal(len({call["id"] for call in answer["message"]["tool_calls"]}), calls)
        for call in answer["message"]["tool_calls"]:
            assert call["function"]["name"] in "fg" and 1 <= json.loads(call["function"]["arguments"])["n"] <= 12, call
        chunks = [chunk["choices"][0] for chunk in server.events(path, asked)]
        equal("".join(one["delta"].get("content") or "" for one in chunks) or None, answer["message"]["content"])
        equal([[call["index"], call["function"]] for one in chunks for call in one["delta"].get("tool_calls", [])],
              [[i, call["function"]] for i, call in enumerate(answer["message"]["tool_calls"])])
        equal([one["finish_reason"] for one in chunks if one["finish_reason"]], ["tool_calls"])
        if more.get("logprobs"):
            equal([entry for one in chunks if one["logprobs"] for entry in one["logprobs"]["content"]], answer["logprobs"]["content"])


def calls_of_earlier_turns(server):
    """The template gets them as it reads them, whether the client sends null or an empty text for no content."""
    path, ask = "/v1/chat/completions", {"model": "strict", "temperature": 0, "max_tokens": 60, "messages": [{"role": "user", "content": "x"}]}
    answer = server.fine(path, ask | {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"const": {"n": 7}}}}], "tool_choice": "required"})["choices"][0]
    (call,) = answer["message"]["tool_calls"]
    equal(call["function"], {"name": "f", "arguments": '{"n":7}'})
    for content in (None, ""):
        server.fine(path, ask | {"max_tokens": 1, "messages": [*ask["messages"], {"role": "assistant", "content": content, "tool_calls": [call]}]})
    server.wrong(400, "calls beside content", path, ask | {"messages": [*ask["messages"], {"role": "assistant", "content": "y", "tool_calls": [call]}]})


MARKED = ("{% for m in messages %}{% if m.role != 'assistant' %}U {{ m.content }}{% else %}A {{ '' if m.tool_calls else '[SAY]' }}{{ m.content }}{% for c in m.tool_calls or [] %}[CALLS]{{ c.function.name }}[ARGS]"
          "{{ c.function.arguments | tojson }}{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}A {% endif %}")


def with_special_tokens(folder, names=SPECIAL, template=MARKED):
    """The bundled model, whose last tokens are now special. With MARKED, its template writes them into calls, and the first of them before other answers."""
    folder.mkdir()
    for file in PLAY.iterdir():
        if file.name != "tokenizer.json":
            (folder / file.name).symlink_to(file)
    tokenizer = json.loads((PLAY / "tokenizer.json").read_text())
    vocabulary, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    for token, name in zip(sorted(vocabulary, key=vocabulary.get)[-len(names):], names):
        id = vocabulary[name] = vocabulary.pop(token)
        merges = [merge for merge in merges if "".join(merge if isinstance(merge, list) else merge.split()) != token]
        tokenizer["added_tokens"].append({"id": id, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True})
    tokenizer["model"]["merges"] = merges
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "chat_template.jinja").write_text(template)
    return folder


def calls_with_special_tokens(server):
    """A call begins where the model writes the special token, not where it writes the same letters."""
    path, tools = "/v1/chat/completions", [{"type": "function", "function": {"name": name, "parameters": {"const": {"n": 7}}}} for name in ("f", "g")]
    say, mark, args = (server.fine("/tokenize", {"content": name, "model": "marked"})["tokens"] for name in SPECIAL)
    equal((len(say), len(mark), len(args)), (1, 1, 1))
    (end,) = server.fine("/tokenize", {"content": "<|endoftext|>"})["tokens"]
    ask = {"model": "marked", "messages": [{"role": "user", "content": "x"}], "tools": tools, "seed": 2, "max_tokens": 12}
    told = server.fine(path, ask | {"logit_bias": {str(mark[0]): -100}})["choices"][0]
    assert told["finish_reason"] == "length" and told["message"]["content"] and "tool_calls" not in told["message"], told
    framed = server.fine(path, ask | {"logit_bias": {str(mark[0]): -100, str(say[0]): 100}, "logprobs": True})["choices"][0]  # the sign before answers is no part of the text
    equal((framed["logprobs"]["content"][0]["token"], "".join(one["token"] for one in framed["logprobs"]["content"][1:])), ("[SAY]", framed["message"]["content"]))
    for more, text in (({"tool_choice": "required"}, False), ({"logit_bias": {str(mark[0]): 9, str(end): -100}}, True)):
        asked = ask | {"max_tokens": 90, "parallel_tool_calls": False, "stop": ["zq"]} | more
        answer = server.fine(path, asked)["choices"][0]
        equal((answer["finish_reason"], answer["message"]["content"] is not None), ("tool_calls", text), answer)
        (call,) = answer["message"]["tool_calls"]
        assert call["function"]["name"] in "fg" and call["function"]["arguments"] == '{"n":7}', call
        chunks = [chunk["choices"][0]["delta"] for chunk in server.events(path, asked)]
        equal("".join(delta.get("content") or "" for delta in chunks) or None, answer["message"]["content"])
        equal([delta["tool_calls"][0]["function"] for delta in chunks if "tool_calls" in delta], [call["function"]])
    server.fine(path, ask | {"max_tokens": 1, "messages": [*ask["messages"], {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "user", "content": "y"}]})
    letters = server.fine("/v1/completions", {"model": "marked", "prompt": "x", "grammar": 'root ::= "[CALLS]" <[%d]> [a-z] [ARGS]' % mark[0], "max_tokens": 12})["choices"][0]
    assert re.fullmatch(r"\[CALLS\][a-z][ARGS]", letters["text"]) and letters["finish_reason"] == "stop", letters
    server.wrong(400, "the model has no token <pad>", "/v1/completions", {"model": "marked", "prompt": "x", "grammar": "root ::= <pad>"})


CHANNELS = ("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>")
CHANNELED = ("{% for m in messages %}<|start|>{{ m.role }}{% if m.tool_calls %}{% if m.thinking %}<|channel|>analysis<|message|>{{ m.thinking }}<|end|><|start|>assistant{% endif %} to=functions."
             "{{ m.tool_calls[0].function.name }}<|channel|>commentary json<|message|>{{ m.tool_calls[0].function.arguments | tojson }}<|call|>{% else %}{{ '<|channel|>final' if m.role == 'assistant' }}"
             "<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}")
THINKER = "{% for m in messages %}{{ m.role[0] | upper }} {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}A <think>\n{% endif %}"


def both_ways(server, asked):
    """The message of an answer; a stream gives the same."""
    path = "/v1/chat/completions"
    answer = server.fine(path, asked)["choices"][0]
    chunks = [chunk["choices"][0] for chunk in server.events(path, asked)]
    for field in ("content", "reasoning_content"):
        equal("".join(one["delta"].get(field) or "" for one in chunks), answer["message"].get(field) or "", field)
    equal([call["function"] for one in chunks for call in one["delta"].get("tool_calls", [])], [call["function"] for call in answer["message"].get("tool_calls", [])])
    equal([one["finish_reason"] for one in chunks if one["finish_reason"]], [answer["finish_reason"]])
    return answer["message"], answer["finish_reason"]


def thoughts(server):
    """What a model thinks is a field of its own; its tags are in neither."""
    (close,) = server.fine("/tokenize", {"content": "</think>", "model": "thinker"})["tokens"]
    ask = {"model": "thinker", "messages": [{"role": "user", "content": "x"}], "max_tokens": 12, "temperature": 1, "logit_bias": {str(close): 7}}
    seen = set()
    for seed in range(30):
        message, _ = both_ways(server, ask | {"seed": seed})
        seen.add((bool(message.get("reasoning_content")), bool(message["content"])))
        assert "think>" not in message["content"] + message.get("reasoning_content", ""), message
    assert {(True, True), (True, False)} <= seen, seen
    json_alone, why = both_ways(server, ask | {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"const": 7}}}})
    equal((json_alone["content"], "reasoning_content" in json_alone, why), ("7", False, "stop"), "a grammar leaves no room for thoughts")


def channels(server):
    """gpt-oss' form: thoughts, text and calls have channels, which begin with special tokens."""
    name = {sign: server.fine("/tokenize", {"content": sign, "model": "channels"})["tokens"][0] for sign in CHANNELS}
    likelier = lambda *words: {"logit_bias": {str(id): 60 for word in words for id in server.fine("/tokenize", {"content": word, "model": "channels"})["tokens"]}}
    tools = [{"type": "function", "function": {"name": one, "parameters": {"const": {"n": 7}}}} for one in ("f", "g")]
    ask = {"model": "channels", "messages": [{"role": "user", "content": "x"}], "tools": tools, "max_tokens": 60, "temperature": 0}
    said, why = both_ways(server, ask | likelier("<|channel|>", "final"))
    assert said["content"] and why == "length" and "tool_calls" not in said and "reasoning_content" not in said, said
    thought, why = both_ways(server, ask | likelier("<|channel|>", "analysis", "<|message|>"))
    assert thought["reasoning_content"] and not thought["content"] and "tool_calls" not in thought, thought
    for more in ({"tool_choice": "required"}, likelier("<|channel|>", "commentary", " to"), likelier(" to=functions.f")):
        message, why = both_ways(server, ask | more)
        equal((message["content"], why), (None, "tool_calls"), message)
        (call,) = message["tool_calls"]
        assert call["function"]["name"] in "fg" and call["function"]["arguments"] == '{"n":7}', call
    schema = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"const": "to be"}}}, "tools": []}
    equal(both_ways(server, ask | schema | likelier("<|channel|>", "final"))[0]["content"], '"to be"')
    equal(both_ways(server, ask | schema | {"tools": tools} | likelier("<|channel|>", "final"))[0]["content"], '"to be"')
    earlier = {"role": "assistant", "content": None, "reasoning_content": "so", "tool_calls": [call]}
    counted = [server.fine("/v1/chat/completions", ask | {"max_tokens": 1, "messages": [*ask["messages"], {k: v for k, v in earlier.items() if k != left_out}]})["usage"]["prompt_tokens"]
               for left_out in ("reasoning_content", "")]
    assert counted[0] < counted[1], ("the template is told what was thought", counted)
    assert name["<|call|>"] != name["<|end|>"]


def cut_calls(server):
    """Where the tokens end within a call, it is given so far, as OpenAI's interface has it."""
    path, parameters = "/v1/chat/completions", {"type": "object", "properties": {"text": {"const": "to be or not to be"}}, "required": ["text"], "additionalProperties": False}
    ask = {"messages": [{"role": "user", "content": "x"}], "tool_choice": "required", "tools": [{"type": "function", "function": {"name": "speak", "parameters": parameters}}]}
    ask |= {"temperature": 0, "parallel_tool_calls": False, "logit_bias": {str(id): -100 for id in server.fine("/tokenize", {"content": "\n"})["tokens"]}}
    seen = set()
    for n in range(1, 60):
        answer = server.fine(path, ask | {"max_tokens": n})["choices"][0]
        equal(answer["message"]["content"], None)
        calls = answer["message"].get("tool_calls", [])
        for call in calls:
            equal(call["function"]["name"], "speak")
            seen.add(call["function"]["arguments"])
        if answer["finish_reason"] == "tool_calls":
            break
        equal(answer["finish_reason"], "length")
        chunks = [chunk["choices"][0] for chunk in server.events(path, ask | {"max_tokens": n})]
        equal([call["function"] for one in chunks for call in one["delta"].get("tool_calls", [])], [call["function"] for call in calls])
        equal((chunks[-1]["finish_reason"], "".join(one["delta"].get("content") or "" for one in chunks)), ("length", ""))
    equal(json.loads(calls[0]["function"]["arguments"]), {"text": "to be or not to be"})
    assert "" in seen and any('"to ' in one and not one.endswith("}") for one in seen), seen


def calls_or_json(server):
    """With a schema of the answer, too, the model writes JSON of it, or calls; where it has to call, the schema is for no text."""
    path, form = "/v1/chat/completions", {"type": "json_schema", "json_schema": {"name": "x", "schema": {"enum": ["$ {\"name\": \"f\"", 7]}}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"const": {"n": 7}}}}]
    ask = {"messages": [{"role": "user", "content": "x"}], "response_format": form, "tools": tools, "max_tokens": 60, "temperature": 0, "parallel_tool_calls": False}
    for model in ("shakespeare", "marked", "strict"):
        asked = ask | {"model": model}
        for bias, wanted in ((-100, "stop"), (100, "tool_calls")):
            begin = {"shakespeare": "$", "marked": "[CALLS]", "strict": "<"}[model]
            bias = {str(server.fine("/tokenize", {"content": begin, "model": model})["tokens"][0]): bias}
            answer = server.fine(path, asked | {"logit_bias": bias})["choices"][0]
            equal(answer["finish_reason"], wanted, answer)
            chunks = [chunk["choices"][0]["delta"] for chunk in server.events(path, asked | {"logit_bias": bias})]
            equal("".join(delta.get("content") or "" for delta in chunks) or None, answer["message"]["content"])
            if wanted == "stop":
                assert json.loads(answer["message"]["content"]) in ("$ {\"name\": \"f\"", 7) and "tool_calls" not in answer["message"], answer
            else:
                equal([call["function"] for call in answer["message"]["tool_calls"]][:1], [{"name": "f", "arguments": '{"n":7}'}])
                equal(answer["message"]["content"], None)
        equal(server.fine(path, asked | {"tool_choice": "required"})["choices"][0]["finish_reason"], "tool_calls")
    server.wrong(400, "JSON schema: \"not\" is not served", path, ask | {"response_format": {"type": "json_schema", "json_schema": {"schema": {"not": {}}}}}, "response_format")
    server.wrong(400, "tool_choice \"none\" is wanted", path, {key: ask[key] for key in ("messages", "tools")} | {"grammar": "root ::= \"a\""}, "tools")


def vectors(server):
    texts = ["anna", "bob sees anna"]
    got = server.fine("/v1/embeddings", {"input": texts, "model": "sentence"})
    lines = run("embed", *REFERENCE, "-m", ENCODER, "-", given="\n".join(texts) + "\n").text.splitlines()
    equal([one["embedding"] for one in got["data"]], [json.loads(line)["embedding"] for line in lines])
    packed = server.fine("/v1/embeddings", {"input": texts[0], "encoding_format": "base64"})["data"][0]["embedding"]
    data = base64.b64decode(packed)
    wanted = got["data"][0]["embedding"]
    equal(data, struct.pack(f"<{len(wanted)}f", *wanted))


def tokens(server):
    ids = server.fine("/tokenize", {"content": "KING:\nO"})["tokens"]
    equal(server.fine("/detokenize", {"tokens": ids}), {"content": "KING:\nO"})
    server.wrong(400, "content", "/tokenize", {"content": 3}, "content")
    server.wrong(400, "token ids", "/detokenize", {"tokens": ["a"]}, "tokens")
    server.wrong(400, "vocabulary", "/detokenize", {"tokens": [1 << 30]})


def refusals(server):
    path = "/v1/completions"
    for key, value in (("temperature", -1), ("temperature", "x"), ("top_p", 0), ("top_k", 1.5), ("max_tokens", -2), ("n", 0), ("seed", "x"), ("stop", [""]), ("stop", [3]),
                       ("stream", 1), ("logprobs", 21), ("prompt", 3), ("prompt", [[-1]]), ("prompt", []), ("presence_penalty", 3), ("frequency_penalty", "x"), ("logit_bias", {"x": 1}), ("logit_bias", {"1": 101}), ("logit_bias", [1]), ("logit_bias", {"1000000": 1}), ("echo", 1), ("best_of", 0),
                       ("suffix", "x"), ("nonsense", 1), ("messages", [])):
        status, answer = server.ask(path, ASKED | {key: value})
        equal(status, 400, (key, value, answer))
        assert answer["error"]["message"] and answer["error"]["param"] in (key, None), answer
    for key in ("presence_penalty", "frequency_penalty"):  # what many clients send with each request
        server.fine(path, ASKED | {key: 0, "user": "me"})
    server.wrong(400, "prompt: a text is wanted", path, {}, "prompt")
    server.wrong(400, "the model reads", path, ASKED | {"prompt": "word " * 5000})
    server.wrong(404, "is not served here", path, ASKED | {"model": "other"}, "model")
    server.wrong(400, "needs \"stream\"", path, ASKED | {"stream_options": {"include_usage": True}}, "stream_options")
    chat = {"messages": [{"role": "user", "content": "x"}]}
    tool = {"type": "function", "function": {"name": "f"}}
    for wanted, field, more in (
            ("\"json_object\" or \"json_schema\"", "response_format", {"response_format": {"type": "xml"}}),
            ("an object \"json_schema\" with a \"schema\"", "response_format", {"response_format": {"type": "json_schema"}}),
            ("at /properties/a: \"not\" is not served", "response_format",
             {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"properties": {"a": {"not": {}}}}}}}),
            ("more than 262144 states", "response_format", {"response_format": {"type": "json_schema", "json_schema": {"schema": {
                "maxItems": 60000, "items": {"maxItems": 60000, "items": {"type": "string", "maxLength": 60000}}}}}}),
            ("line 1: a ) is wanted", "grammar", {"grammar": "root ::= ("}), ("is to be left out", "grammar", {
                "grammar": "root ::= \"a\"", "response_format": {"type": "json_object"}}),
            ("\"auto\", \"required\", \"none\" or a named", "tool_choice", {"tools": [tool], "tool_choice": "any"}), ("there are no tools", "tool_choice", {"tool_choice": "required"}),
            ("there is no function \"g\"", "tool_choice", {"tools": [tool], "tool_choice": {"type": "function", "function": {"name": "g"}}}),
            ("with a \"name\"", "tools", {"tools": [{"type": "function"}], "tool_choice": "required"}),
            ("an object is wanted", "tools", {"tools": [{"type": "function", "function": {"name": "f", "parameters": True}}]}),
            ("the parameters of \"g\": JSON schema: \"not\" is not served", "tools",
             {"tools": [tool, {"type": "function", "function": {"name": "g", "parameters": {"not": {}}}}]})):
        server.wrong(400, wanted, "/v1/chat/completions", chat | more, field)
    server.wrong(400, "no \"role\"", "/v1/chat/completions", {"messages": [{"content": "x"}]}, "messages")
    server.wrong(400, "content", "/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages")
    server.wrong(404, "/v1/nothing is not served", "/v1/nothing")
    server.wrong(405, "GET is not served", path)
    server.wrong(400, "dimensions", "/v1/embeddings", {"input": "x", "dimensions": 3}, "dimensions")


def test_several_models(folder):
    cross = cross_encoder(folder / "cross")
    with Server("-m", f"again={PLAY}", "-m", ENCODER, "-m", f"ranks={cross}", "--slots", "2") as server:
        equal([model["id"] for model in server.fine("/v1/models")["data"]], ["shakespeare", "again", "sentence", "ranks"])
        first, again = (server.fine("/v1/completions", ASKED | {"model": name} | more) for name, more in (("shakespeare", {}), ("again", {"max_tokens": 5})))
        equal((again["model"], again["choices"][0]["text"]), ("again", generated("ROMEO:\n", 5, "--temp", "0")))
        metrics = server.fine("/metrics").decode()
        equal([value(metrics, "generation_tokens_total", name) for name in ("shakespeare", "again", "sentence")], [2 + 8, 2 + 5, 0])
        equal(value(metrics, "e2e_request_latency_seconds_count", "again"), 1)
        equal(first["model"], "shakespeare")
        assert server.fine("/tokenize", {"content": "anna", "model": "sentence"}) != server.fine("/tokenize", {"content": "anna"})
        ranks(server, cross)
        server.wrong(404, "writes text; one that gives vectors", "/v1/embeddings", {"input": "x", "model": "again"}, "model")
        server.wrong(404, "not served here", "/tokenize", {"content": "x", "model": "other"}, "model")
        server.wrong(404, "ranks documents; one that writes text", "/v1/completions", ASKED | {"model": "ranks"}, "model")
        server.wrong(400, "the name of a model", "/v1/completions", ASKED | {"model": 3}, "model")
    refused(2, "two models have the name \"shakespeare\"", "serve", *REFERENCE, "-m", PLAY, "-m", PLAY)
    with Server(model=ENCODER) as server:
        server.wrong(404, "no model here writes text", "/v1/completions", ASKED, "model")
        server.wrong(404, "no model here ranks documents", "/rerank", {"query": "x", "documents": ["y"]}, "model")


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
    server.wrong(400, "not a JSON object", "/v1/completions", b"[]")
    server.wrong(400, "not JSON", "/v1/completions", b"")
    server.fine("/v1/completions", ASKED | {"prompt": "a\x00b"})


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
        equal(server.metric("generation_tokens_total"), sum(one["max_tokens"] for one in asked) + 2, "and two of the first request, by the server itself")
        again = server.fine("/v1/completions", asked[0])
        equal(again["choices"], alone[0])
        assert again["usage"]["prompt_tokens_details"]["cached_tokens"] > 0, again["usage"]


def test_an_answer_is_counted_before_it_is_given(folder):
    """On one processor the thread that speaks HTTP runs as soon as it has the answer, before the engine's goes on."""
    one, body = {min(os.sched_getaffinity(0))}, json.dumps(ASKED | {"max_tokens": 3, "ignore_eos": True}).encode()
    both = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%bGET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % (len(body), body)
    with Server(preexec_fn=lambda: os.sched_setaffinity(0, one)) as server:
        for i in range(1, 9):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(both)
                got = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
            equal(value(got, "generation_tokens_total"), 2 + 3 * i)
            equal(value(got, "requests_finished_total"), 1 + i)


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
            if not stream:
                equal(server.metric("clients_left_total"), left + 1)
        equal(server.metric("requests_finished_total"), 1, "the server's own alone")


def test_keys_queue_and_end(folder):
    keys = folder / "keys"
    keys.write_text("# two\nalpha\nbeta\n")
    with Server("--slots", "1", "--queue", "1", "--api-key-file", keys) as server:
        server.fine("/health")
        for key in ("", "alph", "alphaa", "gamma", "# two"):
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
        until(lambda: answers and len(answers) + held() == 4, "all have come, and one is refused")
        server.end()  # those that run and wait are answered before it ends
        for thread in threads:
            thread.join()
        assert {status for status, _ in answers} <= {200, 503} and any(status == 200 for status, _ in answers), answers


def test_refused(folder):
    (folder / "empty").write_text("#\n")
    refused(3, "it has no key", "serve", *REFERENCE, "-m", PLAY, "--api-key-file", folder / "empty")
    refused(2, "--tls-cert and --tls-key", "serve", *REFERENCE, "-m", PLAY, "--tls-cert", folder / "empty")
    refused(2, "--host nowhere.invalid", "serve", *REFERENCE, "-m", PLAY, "--host", "nowhere.invalid")


if "was built without" in run("serve", *REFERENCE, "-m", PLAY, "--host", "nowhere.invalid", code=None).err:
    skip("built without libmicrohttpd")
main(globals())

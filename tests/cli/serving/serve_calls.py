#!/usr/bin/env python3
"""tessera serve: answers that a grammar or a schema holds, calls of functions in the form of the model's template, and what a model thinks."""

import json
import math
import re

from support.command import PLAY, equal, main, write_safetensors
from support.server import TEMPLATE, Server, skip_without_server

# It reads arguments as texts, and calls only without content, as DeepSeek's does; it asks whether a message has calls, as Llama's does.
STRICT = ("{% for m in messages %}{% if m.role != 'assistant' %}U {{ m.content }}{% elif m.content is none %}{% for c in m.tool_calls %}<call>{{ c.function.name + ' ' + c.function.arguments }}"
          "</call>{% endfor %}{% elif 'tool_calls' in m %}{{ raise_exception('calls beside content') }}{% else %}{{ m.content }}{% endif %}\n{% endfor %}")
SPECIAL = ("[SAY]", "[CALLS]", "[ARGS]")
MARKED = ("{% for m in messages %}{% if m.role != 'assistant' %}U {{ m.content }}{% else %}A {{ '' if m.tool_calls else '[SAY]' }}{{ m.content }}{% for c in m.tool_calls or [] %}[CALLS]{{ c.function.name }}[ARGS]"
          "{{ c.function.arguments | tojson }}{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}A {% endif %}")
CHANNELS = ("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>")
CHANNELED = ("{% for m in messages %}<|start|>{{ m.role }}{% if m.tool_calls %}{% if m.thinking %}<|channel|>analysis<|message|>{{ m.thinking }}<|end|><|start|>assistant{% endif %} to=functions."
             "{{ m.tool_calls[0].function.name }}<|channel|>commentary json<|message|>{{ m.tool_calls[0].function.arguments | tojson }}<|call|>{% else %}{{ '<|channel|>final' if m.role == 'assistant' }}"
             "<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}")
THINKER = "{% for m in messages %}{{ m.role[0] | upper }} {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}A <think>\n{% endif %}"


def test_calls_and_thoughts(folder):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    strict = folder / "strict"
    strict.mkdir()
    for file in PLAY.iterdir():
        (strict / file.name).symlink_to(file)
    (strict / "chat_template.jinja").write_text(STRICT)
    with Server("--chat-template", template, "-m", strict, "-m", with_special_tokens(folder / "marked"),
                "-m", with_special_tokens(folder / "thinker", ("</think>",), THINKER), "-m", with_special_tokens(folder / "channels", CHANNELS, CHANNELED)) as server:
        constrained(server)
        calls_of_earlier_turns(server)
        arguments_as_they_are_written(server)
        arguments_are_an_object(server)
        calls_with_special_tokens(server)
        thoughts(server)
        channels(server)
        cut_calls(server)
        calls_or_json(server)
        equal(server.fine("/health"), {"status": "ok"})
        equal([model["id"] for model in server.fine("/v1/models")["data"]], ["shakespeare", "strict", "marked", "thinker", "channels"])


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
    for same in ({"type": "json_object", "schema": schema, "json_schema": None}, form["response_format"] | {"schema": None}):
        equal(server.fine(path, ask | {"response_format": same})["choices"][0]["message"]["content"], whole)
    assert server.fine(path, ask | {"response_format": {"type": "json_object"}, "max_tokens": 3})["choices"][0]["message"]["content"].startswith("{")
    tools = [{"type": "function", "function": {"name": name, "parameters": {"$defs": {"p": schema}, "$ref": "#/$defs/p"}}} for name in ("f", "g")]
    ask["parallel_tool_calls"] = False
    for choice, names in (("required", "fg"), ({"type": "function", "function": {"name": "g"}}, "g")):
        answer = server.fine(path, ask | {"tools": tools, "tool_choice": choice})["choices"][0]
        equal((answer["finish_reason"], answer["message"]["content"]), ("tool_calls", None))
        call = answer["message"]["tool_calls"][0]
        assert re.fullmatch("[a-zA-Z0-9]{9}", call["id"]), call
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
        equal(len({call["id"] for one in [answer["message"], *(chunk["delta"] for chunk in chunks)] for call in one.get("tool_calls", [])}), 2 * calls, "ids of other answers")
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
    for content in ("y", [{"type": "text", "text": "y"}]):
        server.wrong(400, "calls beside content", path, ask | {"messages": [*ask["messages"], {"role": "assistant", "content": content, "tool_calls": [call]}]}, "messages")
    server.wrong(400, "the content of a message is a text", path, ask | {"messages": [*ask["messages"], {"role": "assistant", "content": 3, "tool_calls": [call]}]}, "messages")
    said = {"role": "assistant", "content": "y"}
    read = [server.fine(path, ask | {"max_tokens": 1, "messages": [*ask["messages"], said | nulls]})["usage"]["prompt_tokens"]
            for nulls in ({}, {"tool_calls": None, "function_call": None, "refusal": None})]
    equal(read[1], read[0], "fields that are null are missing")
    written = lambda arguments: server.fine("/attention", {"messages": [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}]})
    for empty in ("", " \n"):
        equal(written(empty), server.fine("/attention", {"content": 'A $ {"name": "f", "arguments": {}} \n'}), "no arguments are an empty object")
    for large in ("18446744073709551615", "-9223372036854775809"):
        equal(written('{"e": "\\"%s", "n": 5, "id": %s}' % (large, large)), written('{"e": "\\"%s", "n": 5, "id": %s.0}' % (large, large)), "a whole number outside of 64 bits")


def arguments_as_they_are_written(server):
    """A number keeps its digits, and a text may have a 0 byte."""
    text = {"type": "object", "properties": {"x": {"type": "string", "pattern": r"^\x00$"}}, "required": ["x"], "additionalProperties": False}
    ask = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 90, "temperature": 0, "tool_choice": "required", "parallel_tool_calls": False}
    ask["logit_bias"] = {str(id): -100 for id in server.fine("/tokenize", {"content": "\n"})["tokens"]}
    for model in ("shakespeare", "strict", "marked", "channels"):
        for parameters, form in (({"const": {"x": 0.1}}, r'\{"x":0\.1\}'), (text, r'\{\s*"x":\s*"\\u0000"\s*\}')):
            tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
            answer = server.fine("/v1/chat/completions", ask | {"model": model, "tools": tools})["choices"][0]
            equal(answer["finish_reason"], "tool_calls", answer)
            (call,) = answer["message"]["tool_calls"]
            assert re.fullmatch(form, call["function"]["arguments"]), call


def arguments_are_an_object(server):
    """Unless the parameters name other types."""
    digits = server.fine("/tokenize", {"content": "1"})["tokens"]
    ask = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 40, "temperature": 0, "tool_choice": "required", "parallel_tool_calls": False}
    for parameters, begin in (({}, "{"), ({"title": "x"}, "{"), ({"description": "x", "$defs": {}}, "{"), (None, "{"), ({"type": "integer"}, "1"),
                              ({"$ref": "#/$defs/n", "$defs": {"n": {"const": 1}}}, "1")):
        tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
        (call,) = server.fine("/v1/chat/completions", ask | {"tools": tools, "logit_bias": {str(id): 100 for id in digits}})["choices"][0]["message"]["tool_calls"]
        equal(call["function"]["arguments"][:1], begin, parameters)


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
    for content in ({"content": None}, {}):
        server.fine(path, ask | {"max_tokens": 1, "messages": [*ask["messages"], {"role": "assistant", **content, "tool_calls": [call]}, {"role": "user", "content": "y"}]})
    letters = server.fine("/v1/completions", {"model": "marked", "prompt": "x", "grammar": 'root ::= "[CALLS]" <[%d]> [a-z] [ARGS]' % mark[0], "max_tokens": 12})["choices"][0]
    assert re.fullmatch(r"\[CALLS\][a-z][ARGS]", letters["text"]) and letters["finish_reason"] == "stop", letters
    server.wrong(400, "the model has no token <pad>", "/v1/completions", {"model": "marked", "prompt": "x", "grammar": "root ::= <pad>"}, "grammar")


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


# ---- a model that writes what it is told ----

CALLED = ("{% for m in messages %}{% if m.role != 'assistant' %}U {{ m.content }}{% else %}A {{ m.content }}{% for c in m.tool_calls or [] %}[CALLS]{{ c.function.name }}[ARGS]"
          "{{ c.function.arguments | tojson }}{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}A {% endif %}")
LISTED = ("{% for m in messages %}{% if m.role != 'assistant' %}U {{ m.content }}{% else %}A {{ m.content }}{% if m.tool_calls %}[CALLS] [{% for c in m.tool_calls %}"
          "{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}{% if not loop.last %}, {% endif %}{% endfor %}]{% endif %}{% endif %}\n"
          "{% endfor %}{% if add_generation_prompt %}A {% endif %}")
PLAIN = ("{% for m in messages %}{% if m.role != 'assistant' %}U {{ m.content }}{% else %}A {{ m.content }}{% for c in m.tool_calls or [] %}{\"name\": \"{{ c.function.name }}\", "
         "\"arguments\": {{ c.function.arguments | tojson }}}{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}A {% endif %}")
OPENED = TEMPLATE.replace("A {% endif %}", "A <think>\n{% endif %}")
TOLD = "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.role[0] | upper }} {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}A {% endif %}"
CALL, TAGS = ("[CALLS]", "[ARGS]"), ("<think>", "</think>")
# By name: special tokens, the template, what the model writes before it has no choice, what it thinks, and what it says where it doesn't call.
SCRIPTS = {
    "closed": (CALL, CALLED, "<think>x</think>\n[CALLS]", "x", None),
    "unclosed": (CALL, CALLED, "<think>x[CALLS]", "x", None),
    "blank": (CALL, CALLED, "\n[CALLS]", "", None),
    "listed": (CALL, LISTED, "<think>x</think>[CALLS]", "x", None),
    "tags": (TAGS + CALL, CALLED, "<think>x</think>[CALLS]", "x", None),
    "opened": (TAGS, OPENED, "x</think>\n$", "x", None),
    "plain": (TAGS, PLAIN, "<think>x</think>{\"name\":", "x", None),
    "said": (TAGS, PLAIN, "<think>x</think>so<|endoftext|>", "x", "so"),
    "unknown": ((), PLAIN, "<think>x</think>{\"name\": \"g\", \"arguments\": {}}<|endoftext|>", "x", "{\"name\": \"g\", \"arguments\": {}}"),
}


def set_script(folder, tokens, first):
    """Gives a folder of with_special_tokens weights with which these tokens are the likeliest, whatever the text is, the first of them at the position `first`.
    Each token has an axis of its own, on which its position lies; the blocks add nothing."""
    width, ids = 48, list(dict.fromkeys(tokens))
    assert len(ids) < width, ids
    config = json.loads((PLAY / "config.json").read_text()) | {"n_embd": width, "n_layer": 1, "n_head": 2, "n_inner": width, "dtype": "float32"}
    place = {id: i for i, id in enumerate(ids)}
    axis = lambda id, size: [size * (place.get(id) == i) for i in range(width)]
    told = {first + i: id for i, id in enumerate(tokens)}
    zeros = lambda *shape: (list(shape), [0.0] * math.prod(shape))
    arrays = {"wte.weight": ([config["vocab_size"], width], [x for id in range(config["vocab_size"]) for x in axis(id, 1.0)]),
              "wpe.weight": ([config["n_positions"], width], [x for at in range(config["n_positions"]) for x in axis(told.get(at), 8.0)]),
              "h.0.attn.c_attn.weight": zeros(width, 3 * width), "h.0.attn.c_attn.bias": zeros(3 * width)}
    for name in ("attn.c_proj", "mlp.c_fc", "mlp.c_proj"):
        arrays |= {f"h.0.{name}.weight": zeros(width, width), f"h.0.{name}.bias": zeros(width)}
    for name in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
        arrays |= {f"{name}.weight": ([width], [1.0] * width), f"{name}.bias": zeros(width)}
    for file in ("config.json", "model.safetensors"):
        (folder / file).unlink()
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", {f"transformer.{name}": array for name, array in arrays.items()})


def test_thoughts_before_calls(folder):
    """A call behind thoughts is one, whether tags are letters or special tokens, closed or not, and whatever blanks stand around; other text is none."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"const": {"n": 7}}}}]
    ask = {"messages": [{"role": "user", "content": "x"}], "tools": tools, "max_tokens": 90, "temperature": 0}
    models = [with_special_tokens(folder / name, special, template) for name, (special, template, *_) in SCRIPTS.items()]
    names = [option for model in (*models, with_special_tokens(folder / "told", (), TOLD)) for option in ("-m", model)]
    with Server(*names) as server:
        for model in models:
            tokens = server.fine("/tokenize", {"model": model.name, "content": SCRIPTS[model.name][2]})["tokens"]
            read = server.fine("/v1/chat/completions", ask | {"model": model.name, "max_tokens": 1})["usage"]["prompt_tokens"]
            set_script(model, tokens, read - 1)
        nulls = [{"type": "function", "strict": None, "function": {"name": "f", "description": None, "parameters": {"const": {"n": 7}}, "strict": None}}]
        read = [server.fine("/v1/chat/completions", ask | {"model": "told", "max_tokens": 1, "tools": given})["usage"]["prompt_tokens"] for given in (tools, nulls)]
        equal(read[1], read[0], "fields of tools that are null are missing")
    with Server(*names) as server:
        for name, (*_, thought, said) in SCRIPTS.items():
            message, why = both_ways(server, ask | {"model": name, "parallel_tool_calls": False})  # behind the script it could go on with calls for ever
            equal((name, message.get("reasoning_content", ""), message["content"], why), (name, thought, said, "stop" if said else "tool_calls"), message)
            equal([call["function"] for call in message.get("tool_calls", [])], [] if said else [{"name": "f", "arguments": '{"n":7}'}], name)


skip_without_server()
main(globals())

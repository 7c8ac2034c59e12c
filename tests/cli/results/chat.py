#!/usr/bin/env python3
"""tessera chat and tessera generate --chat: a model's own template and a given one, tools, the system's words, and what is refused."""

import json
import os
import pty
import subprocess

from support.command import COMMAND, PLAY, change_json, copy_model, environment, equal, main, refused, run

REFERENCE = ("-d", "reference", "-q", "--temp", "0", "-n", "2")
TEMPLATE = ("{%- if tools %}{{ tools[0].name }}:{% endif %}{% for m in messages %}{{ m.role[0] | upper }} {{ m.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}A {% endif %}")


def answers(model, prompt):
    return run("generate", *REFERENCE, "-m", model, prompt).text


def test_template_tools_and_system(folder):
    model = copy_model(PLAY, folder / "m")
    template, tools = folder / "t.jinja", folder / "tools.json"
    template.write_text(TEMPLATE)
    tools.write_text(json.dumps([{"name": "dice"}]))
    given = ("-m", model, "--chat-template", template)
    first = answers(model, "S Be.\nU Hark!\nA ")
    second = answers(model, f"S Be.\nU Hark!\nA {first}U And?\nA ")
    equal(run("chat", *REFERENCE, *given, "--system", "Be.", given="Hark!\nAnd?\n").text, first + second)
    equal(run("generate", *REFERENCE, *given, "--chat", "--tools", tools, given="Hark!\n").text, answers(model, "dice:U Hark!\nA "))
    (model / "chat_template.jinja").write_text(TEMPLATE)
    equal(run("generate", *REFERENCE, "-m", model, "--chat", "--system", "Be.", "Hark!").text, first, "the model's own template")
    assert "--chat" in run("generate", *REFERENCE[:2], *REFERENCE[3:], "-m", model, "Hark!").err


def test_thoughts_are_marked(folder):
    """What the model thinks stands between tags, also where the template opens them; a template without them writes the answer alone."""
    template = folder / "t.jinja"
    template.write_text(TEMPLATE.replace("A {% endif %}", "A <think>\n{% endif %}"))
    thought = answers(PLAY, "U Hark!\nA <think>\n")
    told = run("chat", *REFERENCE, "-m", PLAY, "--chat-template", template, given="Hark!\n").text
    equal(told, f"<think>\n{thought.strip()}\n</think>\n\n\n")


def test_variables_of_a_template(folder):
    """A switch such as enable_thinking: off, the template closes the thoughts, and what follows is the answer."""
    template = folder / "t.jinja"
    template.write_text(TEMPLATE.replace("A {% endif %}", "A <think>{% if enable_thinking is defined and not enable_thinking %}</think>{% endif %}{% endif %}"))
    given = ("-m", PLAY, "--chat-template", template, "--chat-template-kwargs", '{"enable_thinking": false}')
    wanted = answers(PLAY, "U Hark!\nA <think></think>")
    assert "<think>" not in wanted
    equal(run("chat", *REFERENCE, *given, given="Hark!\n").text, wanted)
    equal(run("generate", *REFERENCE, *given, "--chat", "Hark!").text, wanted)


def test_an_answer_is_not_searched(folder):
    """Also where the model's settings ask for beams."""
    model = copy_model(PLAY, folder / "m")
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    change_json(model / "generation_config.json", num_beams=4)
    equal(run("chat", *REFERENCE, "-m", model, "--chat-template", template, given="Hark!\n").text, answers(PLAY, "U Hark!\nA "))


def test_a_refused_turn_on_a_terminal(folder):
    """The conversation goes on without it; where the turns come from a file, it ends."""
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    chat = ("chat", *REFERENCE, "-m", PLAY, "-c", "40", "--chat-template", template)
    long = "Hark! " * 60
    master, terminal = pty.openpty()
    with subprocess.Popen([COMMAND, *map(str, chat)], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as talk:
        os.close(terminal)
        os.write(master, f"{long}\nHark!\n\x04".encode())
        out, err = talk.communicate()
    os.close(master)
    equal((talk.returncode, out.decode()), (0, answers(PLAY, "U Hark!\nA ")), err)
    assert err.count(b"the context holds 40") == 1, err
    refused(2, "the context holds 40", *chat, given=f"{long}\nHark!\n")


def test_refused(folder):
    bad, worse, tools = folder / "bad.jinja", folder / "worse.jinja", folder / "tools.json"
    bad.write_text("{% for %}")
    worse.write_text("{{ raise_exception('Only English is spoken') }}")
    tools.write_text("{}")
    chat = ("chat", *REFERENCE, "-m", PLAY)
    refused(3, "has no chat template", *chat, given="a\n")
    refused(3, "none: ", *chat, "--chat-template", folder / "none", given="a\n")
    (folder / "blank").write_text(" \n")
    refused(3, "blank: it is blank", *chat, "--chat-template", folder / "blank", given="a\n")
    refused(3, "blank: it is blank", "generate", *REFERENCE, "-m", PLAY, "--chat", "--chat-template", folder / "blank", "a")
    refused(3, "chat template, line 1", *chat, "--chat-template", bad, given="a\n")
    refused(3, "the tools are not a list", *chat, "--chat-template", worse, "--tools", tools, given="a\n")
    refused(2, "the chat template says: Only English is spoken", *chat, "--chat-template", worse, given="a\n")
    for wrong, why in (("[1]", "a JSON object is wanted"), ("{", "template_kwargs: line 1"), ("", "template_kwargs is empty")):
        refused(3, why, *chat, "--chat-template", worse, "--chat-template-kwargs", wrong, given="a\n")
    refused(2, 'the template has "messages" otherwise', *chat, "--chat-template", worse, "--chat-template-kwargs", '{"messages": []}', given="a\n")
    refused(2, "--chat-template-kwargs is for messages", "generate", *REFERENCE, "-m", PLAY, "--chat-template-kwargs", "{}", "a")
    refused(2, "--tools is for messages", "generate", *REFERENCE, "-m", PLAY, "--tools", tools, "a")
    refused(2, "--ids 1: with --chat", "generate", *REFERENCE, "-m", PLAY, "--chat", "--ids", "1")


main(globals())

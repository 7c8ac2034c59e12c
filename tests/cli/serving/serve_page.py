#!/usr/bin/env python3
"""The page at "/" of tessera serve in a browser: it chats, stops, continues a text, sends every setting, obeys keys, shows the probabilities of
tokens and the attention of an answer, and asks its own server alone."""

import atexit
import json
import math
import re
import time

from support.browser import Browser, needed
from support.command import PLAY, SOURCE, equal, main, read_safetensors, run, write_safetensors
from support.server import Server
from support.shares import unpack
from support.small import small

needed()
BROWSER = Browser()
atexit.register(BROWSER.close)
ENCODER = SOURCE / "tests" / "golden" / "encoders" / "sentence"
TEMPLATE = "{% for m in messages %}{{ m.role[0] | upper }} {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}A {% endif %}"


def show(server, dark=False, **how):
    BROWSER.open(f"http://127.0.0.1:{server.port}/", dark=dark, **how)
    until("!document.getElementById('form').hidden && document.title !== 'Tessera'")
    paper = BROWSER.value("getComputedStyle(document.body).backgroundColor")
    equal(sum(map(int, re.findall(r"\d+", paper))) < 200, dark, paper)


def until(true):
    for _ in range(400):
        if BROWSER.value(true):
            return
        time.sleep(0.05)
    raise AssertionError((true, BROWSER.value("document.body.innerText"), BROWSER.complaints()))


def put(**fields):
    for name, value in fields.items():
        BROWSER.value(f"void (document.getElementById('{name}').value = {json.dumps(str(value))})")


def send(text):
    put(text=text)
    BROWSER.value("document.getElementById('form').requestSubmit()")


def press(key, code, text="", shift=False):
    """A key of the keyboard, pressed and released."""
    for kind in ("keyDown", "keyUp"):
        BROWSER.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, modifiers=8 * shift, **({"text": text} if kind == "keyDown" else {}))


def done(answers):
    until(f"document.querySelectorAll('.turn.assistant .meta').length === {answers} && !running")


def answers():
    return BROWSER.value("[...document.querySelectorAll('.turn.assistant > .said')].map(e => e.textContent)")


def questions():
    """The user's words in the conversation, and those in the box."""
    return (BROWSER.value("[...document.querySelectorAll('.turn.user > .said')].map(e => e.textContent)"), BROWSER.value("document.getElementById('text').value"))


def notes():
    return BROWSER.value("[...document.querySelectorAll('.turn.assistant .meta')].map(e => e.textContent)")


def hear():
    """Keeps what the page asks its server from now on: heard()."""
    BROWSER.value("""(() => { const plain = fetch; window.heard = [];
        window.fetch = (path, how) => { heard.push(JSON.parse(how.body)); return plain(path, how); }; })()""")


def heard():
    return BROWSER.value("heard")


def take_over():
    """What the page asks from now on does not reach its server: say() answers."""
    BROWSER.value("""void (window.fetch = async (path, how) => new Response(new ReadableStream({start(pipe) {
        window.pipe = pipe;
        how.signal.addEventListener("abort", () => pipe.error(how.signal.reason)); }})))""")


def say(*events, end=True):
    """Events of the answer to what the page asked last, and its end."""
    text = "".join(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events)
    BROWSER.value(f"(pipe.enqueue(new TextEncoder().encode({json.dumps(text)})), {json.dumps(end)} && pipe.close(), 0)")


def piece(text, finish=None):
    return {"choices": [{"index": 0, "text": text, "logprobs": None, "finish_reason": finish}]}


def fits(server):
    """Nothing but its own server is asked, nothing is said on the console, and nothing is wider than the window."""
    own = f"asks for http://127.0.0.1:{server.port}/"
    equal([told for told in BROWSER.complaints() if not told.startswith(own)], [])
    equal(BROWSER.overflow(), None)


def test_it_chats(folder):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    with Server("--chat-template", template, "-m", ENCODER) as server:
        for width, dark in ((1200, False), (420, True)):
            show(server, width=width, dark=dark)
            put(temperature=0, max_tokens=12, system="Be brief.")
            send("Who are you?")
            done(1)
            messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who are you?"}]
            first = server.fine("/v1/chat/completions", {"messages": messages, "temperature": 0, "max_tokens": 12})["choices"][0]["message"]["content"]
            equal(answers(), [first])
            send("<b>And</b> then?")
            done(2)
            messages += [{"role": "assistant", "content": first}, {"role": "user", "content": "<b>And</b> then?"}]
            second = server.fine("/v1/chat/completions", {"messages": messages, "temperature": 0, "max_tokens": 12})["choices"][0]["message"]["content"]
            equal(answers(), [first, second])
            text = BROWSER.value("document.body.innerText")
            assert "<b>And</b> then?" in text and re.search(r"12 tokens, [0-9.]+ a second, first after [0-9.]+ s, the limit was reached", text), text
            fits(server)
        BROWSER.value("document.getElementById('fresh').click()")
        equal(answers(), [])


def test_a_new_conversation_during_an_answer(folder):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    with Server("--chat-template", template) as server:
        show(server)
        hear()
        put(temperature=0, max_tokens=400)
        send("Who are you?")
        until("document.querySelector('.turn.assistant .said')?.textContent.length > 4")
        BROWSER.value("document.getElementById('fresh').click()")
        done(0)
        put(max_tokens=6)
        send("And then?")
        done(1)
        messages = [{"role": "user", "content": "And then?"}]
        equal(heard()[1]["messages"], messages)
        equal(answers(), [server.fine("/v1/chat/completions", {"messages": messages, "temperature": 0, "max_tokens": 6})["choices"][0]["message"]["content"]])
        fits(server)


def test_thoughts_stand_apart(folder):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE.replace("A {% endif %}", "A <think>{% endif %}"))
    with Server("--chat-template", template) as server:
        show(server, width=420)
        hear()
        put(temperature=0, max_tokens=12)
        send("x")
        done(1)
        thought = server.fine("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "temperature": 0, "max_tokens": 12})["choices"][0]["message"]["reasoning_content"]
        equal(answers()[-1], "")
        equal(BROWSER.value("document.querySelector('.thoughts .said').textContent"), thought)
        assert not BROWSER.value("document.querySelector('.thoughts').open")
        send("y")
        done(2)
        equal([(message["role"], message["content"]) for message in heard()[1]["messages"]], [("user", "x"), ("assistant", ""), ("user", "y")])
        fits(server)


def test_the_probabilities_of_tokens(folder):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    with Server("--chat-template", template) as server:
        show(server)
        put(temperature=0, max_tokens=6)
        BROWSER.value("document.getElementById('shares').click()")
        send("Who are you?")
        done(1)
        asked = {"messages": [{"role": "user", "content": "Who are you?"}], "temperature": 0, "max_tokens": 6, "logprobs": True, "top_logprobs": 5}
        wanted = server.fine("/v1/chat/completions", asked)["choices"][0]
        equal(answers(), [wanted["message"]["content"]])
        equal(BROWSER.value("document.querySelectorAll('.token').length"), 6)
        BROWSER.value("document.querySelector('.token').click()")
        rows = BROWSER.value("[...document.querySelectorAll('#token tr')].map(row => [...row.cells].map(cell => cell.textContent))")
        first = wanted["logprobs"]["content"][0]
        equal([json.loads(row[0]) for row in rows], [other["token"] for other in first["top_logprobs"]])
        equal(BROWSER.value("document.querySelectorAll('.token[aria-current]').length"), 1)
        equal([row[2] for row in rows], ["chosen" if other["token"] == first["token"] else "" for other in first["top_logprobs"]])
        fits(server)


def reciting(folder, ids):
    """A small model that continues a text of one token with these tokens: the position alone says which comes next."""
    path = small(folder) / "model.safetensors"
    arrays = read_safetensors(path)
    (vocab, width), drawn = arrays["transformer.wte.weight"]
    tokens = []
    for row in (drawn[i * width:(i + 1) * width] for i in range(vocab)):
        centred = [x - sum(row) / width for x in row]
        tokens.append([x / math.hypot(*centred) for x in centred])
    positions = arrays["transformer.wpe.weight"][0][0]
    for name, (shape, values) in arrays.items():
        if "c_proj" in name or name.endswith("ln_f.bias"):
            arrays[name] = shape, [0.0] * len(values)
    arrays["transformer.ln_f.weight"] = [width], [4.0] * width
    arrays["transformer.wte.weight"] = [vocab, width], sum(tokens, [])
    arrays["transformer.wpe.weight"] = [positions, width], [100 * x for i in range(positions) for x in tokens[ids[min(i, len(ids) - 1)]]]
    write_safetensors(path, arrays)
    return folder


def test_the_probabilities_of_a_text(folder):
    vocabulary = json.loads((PLAY / "tokenizer.json").read_text())["model"]["vocab"]
    model = reciting(folder / "small", [vocabulary[piece] for piece in ("\u00e2", "\u0122", "\u0136", "x", "<|endoftext|>")])  # the bytes E2 80 94 of a dash
    with Server(model=model) as server:
        told = server.fine("/v1/completions", {"prompt": "a", "temperature": 0, "max_tokens": 20, "logprobs": 5})["choices"][0]
        equal((told["text"], told["logprobs"]["tokens"]), ("\u2014x", ["bytes:\\xe2", "bytes:\\x80", "bytes:\\x94", "x", "<|endoftext|>"]))
        show(server)
        put(temperature=0, max_tokens=20)
        BROWSER.value("document.getElementById('shares').click()")
        send("a")
        done(1)
        equal(answers(), ["\u2014x"])
        equal(BROWSER.value("[...document.querySelectorAll('.token')].map(e => e.textContent)"), ["", "", "\u2014", "x"])
        fits(server)


def test_alternatives_that_are_numbers(_):
    """The likeliest stands first, though an object of JavaScript begins with names that are numbers."""
    with Server() as server:
        show(server)
        take_over()
        BROWSER.value("document.getElementById('shares').click()")
        send("x")
        told = {"tokens": ["2"], "token_logprobs": [-2], "top_logprobs": [{" a": -0.5, "2": -2, "1": -3}], "text_offset": [1]}
        say({"choices": [{"index": 0, "text": "2", "logprobs": told, "finish_reason": "length"}]}, "[DONE]")
        done(1)
        BROWSER.value("document.querySelector('.token').click()")
        equal(BROWSER.value("[...document.querySelectorAll('#token tr')].map(row => row.cells[0].textContent)"), ['" a"', '"2"', '"1"'])


def test_a_box_that_is_ticked_during_an_answer(_):
    with Server() as server:
        show(server)
        take_over()
        send("x")
        say(piece("One"), end=False)
        until("document.querySelector('.turn.assistant .said').textContent === 'One'")
        BROWSER.value("document.getElementById('shares').click()")
        say(piece(" two", "length"), "[DONE]")
        done(1)
        equal(answers(), ["One two"])


def test_it_continues_a_text_and_stops(_):
    with Server() as server:
        show(server)
        put(temperature=0, max_tokens=8)
        send("ROMEO:\n")
        done(1)
        equal(answers(), [run("generate", "-d", "reference", "-q", "-m", PLAY, "-n", 8, "--temp", "0", "ROMEO:\n").text[:-1]])
        put(max_tokens=4000)
        send("JULIET:\n")
        until("document.querySelectorAll('.turn.assistant .said')[1]?.textContent.length > 4")
        BROWSER.value("document.getElementById('stop').click()")
        done(2)
        assert "stopped" in BROWSER.value("document.querySelectorAll('.turn.assistant .meta')[1].textContent")
        fits(server)


def compose(key, **how):
    """A key that is pressed while an input method composes a text."""
    BROWSER.value(f"void document.getElementById('text').dispatchEvent(new KeyboardEvent('keydown', {json.dumps({'key': key, 'bubbles': True, **how})}))")


def test_the_keyboard(_):
    with Server() as server:
        show(server)
        hear()
        put(temperature=0, max_tokens=4000)
        BROWSER.value("document.getElementById('text').focus()")
        BROWSER.ask("Input.insertText", text="ROMEO:")
        press("Enter", 13, "\r", shift=True)
        compose("Enter", isComposing=True)
        compose("Enter", keyCode=229)  # as Safari says it
        equal((questions(), heard()), (([], "ROMEO:\n"), []))
        press("Enter", 13, "\r")
        until("document.querySelector('.turn.assistant .said')?.textContent.length > 4")
        BROWSER.ask("Input.insertText", text="JULIET:")
        press("Enter", 13, "\r")
        equal(questions(), (["ROMEO:\n"], "JULIET:"), "one answer at a time")
        compose("Escape", isComposing=True)
        equal(BROWSER.value("running.signal.aborted"), False)
        press("Escape", 27)
        done(1)
        assert notes()[0].endswith("stoppedAttention"), notes()
        press("Enter", 13, "\r")
        until("document.querySelectorAll('.turn.assistant .said').length === 2")
        press("Escape", 27)
        done(2)
        equal([asked["prompt"] for asked in heard()], ["ROMEO:\n", "ROMEO:\n" + answers()[0] + "JULIET:"])
        fits(server)


def test_every_setting_is_sent(_):
    wanted = {"temperature": 0.9, "top_p": 0.8, "top_k": 30, "min_p": 0.02, "repetition_penalty": 1.1, "max_tokens": 12, "seed": 7}
    with Server() as server:
        show(server)
        equal(BROWSER.value("[...document.querySelectorAll('.settings input[type=number]')].map(e => e.id)"), list(wanted))
        hear()
        put(**wanted)
        send("ROMEO:\n")
        done(1)
        equal(heard(), [{"model": "shakespeare", "stream": True, "stream_options": {"include_usage": True}, "prompt": "ROMEO:\n", **wanted}])
        equal(answers(), [server.fine("/v1/completions", {"prompt": "ROMEO:\n", **wanted})["choices"][0]["text"]])
        fits(server)


def look(answer):
    BROWSER.value(f"document.querySelectorAll('.turn.assistant button.look')[{answer}].click()")
    until("!document.querySelector('.drawing').hidden || !!document.querySelector('#progress.bad')")


def drawn():
    """[pressed, label] of each word."""
    return BROWSER.value("[...document.querySelectorAll('#words .word')].map(word => [word.getAttribute('aria-pressed'), word.getAttribute('aria-label')])")


def percent(x):
    return f"{round(100 * x)}%" if x >= 0.01 else "<1%" if x > 0 else "0%"


def labels(told, layer, head, word):
    """What the words of a causal map are called where one of them is chosen."""
    (m,), tokens = told["maps"], [token["text"] for token in told["tokens"]["text"]]
    T = len(tokens)
    row = unpack(m["weights"], len(m["layers"]) * len(m["heads"]), T, T, True)[layer * len(m["heads"]) + head][word * T:word * T + T]
    said = [re.sub(r"^ +", "", text.replace("\n", "\u23ce")) or "\u2423" for text in tokens]
    return [["true" if i == word else "false", f"{said[i]}, {percent(row[i])}" if i <= word else said[i]] for i in range(T)]


def test_the_attention_of_an_answer(folder):
    template = folder / "t.jinja"
    template.write_text(TEMPLATE)
    with Server("--chat-template", template) as server:
        for width, dark in ((1200, False), (420, True)):
            show(server, width=width, dark=dark)
            put(temperature=0, max_tokens=4, system="Be brief.")
            for i, text in enumerate(("Who are you?", "And then?")):
                send(text)
                done(i + 1)
            first, _ = answers()
            equal(BROWSER.value("document.getElementById('attention').hidden"), True)
            look(0)
            asked = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who are you?"}, {"role": "assistant", "content": first}]}
            told = server.fine("/attention", asked)
            assert first.strip()[:10] in BROWSER.value("document.activeElement.textContent"), first
            equal([label.split(", ")[0] for _, label in drawn()], [label.split(", ")[0] for _, label in labels(told, 0, 0, 0)])
            BROWSER.value("document.querySelector('[data-place=\"2/3\"]').click()")
            equal(drawn(), labels(told, 2, 3, len(drawn()) - 1))
            BROWSER.value("document.querySelectorAll('#words .word')[4].click()")
            equal(drawn(), labels(told, 2, 3, 4))
            equal(BROWSER.value("document.querySelectorAll('.drawing canvas').length"), 1 + 36)
            inked = "(() => { const c = document.getElementById('map'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return new Set(d).size; })()"
            assert BROWSER.value(inked) > 20, "the map is empty"
            put(layers="1-1")
            BROWSER.value("document.getElementById('layers').dispatchEvent(new Event('change'))")
            until("!document.querySelector('.drawing').hidden && document.querySelectorAll('.drawing canvas').length === 7")
            equal(BROWSER.value("[...document.querySelectorAll('.grid th[scope=row]')].map(e => e.textContent)"), ["layer 1"])
            fits(server)
            put(layers="7")
            look(1)
            assert "layers 0 to 5" in BROWSER.value("document.getElementById('progress').textContent")
            BROWSER.value("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))")
            equal(BROWSER.value("document.getElementById('attention').hidden"), True)
    with Server() as server:
        show(server)
        put(temperature=0, max_tokens=3)
        send("ROMEO:\n")
        done(1)
        look(0)
        BROWSER.value("document.querySelector('[data-place=\"0/5\"]').click()")
        equal(drawn(), labels(server.fine("/attention", {"content": "ROMEO:\n" + answers()[0]}), 0, 5, len(drawn()) - 1))
        fits(server)


def test_a_key_and_errors(folder):
    (folder / "keys").write_text("secret\n")
    with Server("--api-key-file", folder / "keys") as server:
        BROWSER.open(f"http://127.0.0.1:{server.port}/")
        until("!document.getElementById('locked').hidden")
        BROWSER.value("(() => { const key = document.getElementById('key'); key.value = 'secret'; key.dispatchEvent(new Event('change')); })()")
        until("!document.getElementById('form').hidden && document.title !== 'Tessera'")
        put(top_p=7)
        send("a")
        done(1)
        assert "top_p" in BROWSER.value("document.querySelector('.meta .bad').textContent")
        equal(questions(), ([], "a"))
        hear()
        put(top_p="", temperature=0, max_tokens=3)
        send("b")
        done(2)
        equal((heard()[0]["prompt"], questions()), ("b", (["b"], "")))


def test_answers_that_are_cut(_):
    with Server() as server:
        show(server)
        take_over()
        for i, (events, why) in enumerate((((piece("One"), {"error": {"message": "the device was lost"}}, "[DONE]"), "the device was lost"),
                                           ((piece("One"),), "the connection ended before the answer did"))):
            send("x")
            say(*events)
            done(i + 1)
            equal((answers()[-1], BROWSER.value("[...document.querySelectorAll('.meta .bad')].map(e => e.textContent)")[-1]), ("One", why))
            assert notes()[-1].startswith("first after "), notes()
        equal(questions(), (["x", "x"], ""))
        fits(server)


def test_the_question_of_an_empty_answer_goes_back(_):
    with Server() as server:
        show(server)
        take_over()
        send("x")
        say(piece("", "stop"), "[DONE]")
        done(1)
        equal((notes(), questions()), (["the model wrote nothing"], ([], "x")))
        for i, (typed, left) in enumerate((("", "x"), ("y", "y"))):
            send("x")
            put(text=typed)
            BROWSER.value("document.getElementById('stop').click()")
            done(i + 2)
            equal((notes()[-1], questions()), ("stopped", ([], left)))
        fits(server)


def test_an_attention_that_comes_too_late(_):
    with Server() as server:
        show(server)
        take_over()
        send("x")
        say(piece("One", "length"), "[DONE]")
        done(1)
        BROWSER.value("void (window.fetch = () => new Promise((_, refuse) => { window.refuse = refuse; }))")
        BROWSER.value("document.querySelector('button.look').click()")
        BROWSER.value("document.getElementById('close').click()")
        BROWSER.value("(refuse(new Error('too late')), new Promise(then => setTimeout(then)))")
        equal(BROWSER.value("document.getElementById('progress').textContent"), "The model reads it again")


main(globals())

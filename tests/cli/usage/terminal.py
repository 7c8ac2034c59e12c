"""Output to a terminal: no file, name or model can control it; files and pipes get the bytes unchanged."""

import os
import pty
import re
import subprocess

from support.command import COMMAND, PLAY, environment, equal, main, refused, run

STEERS = "\x1b[31m\u009b31m\u202e\u2066\x07"


def on_terminal(*arguments, given="", env=None):
    """The command's output on a terminal, stdout and stderr together."""
    master, slave = pty.openpty()
    done = subprocess.Popen([COMMAND, *map(str, arguments)], stdin=subprocess.PIPE, stdout=slave, stderr=slave, env=env or environment())
    os.close(slave)
    done.stdin.write(given.encode())
    done.stdin.close()
    text = b""
    try:
        while piece := os.read(master, 65536):
            text += piece
    except OSError:  # the other end is closed
        pass
    done.wait(60)
    os.close(master)
    return text.decode()


def steering(text):
    return [c for c in text if (c < " " and c not in "\r\n\t") or "\x7f" <= c <= "\u009f" or c in "\u202e\u2066"]


def test_names_in_sentences_steer_nothing(folder):
    for arguments in (("info", f"no {STEERS}"), ("tokenize", "-m", folder / f"no {STEERS}"), (f"no {STEERS}",), ("info", f"--no{STEERS}")):
        result = run(*arguments, code=None)
        equal(steering(result.err), [], f"{arguments}")
        assert "31m" in result.err, f"the message must have the name: {result}"


def test_texts_on_a_terminal_steer_nothing(folder):
    ids = run("tokenize", "-m", PLAY, given=f"a{STEERS}b\n").text
    as_bytes = run("tokenize", "-m", PLAY, "--decode", "--no-special", given=ids).text
    equal(as_bytes, f"a{STEERS}b\n", "in a pipe")
    shown = on_terminal("tokenize", "-m", PLAY, "--decode", "--no-special", given=ids)
    equal(steering(shown), [], "on a terminal")
    assert "a?[31m?31m???b" in shown, shown


def test_what_people_write_is_shown_as_it_is(folder):
    text = "d\u00e9j\u00e0 \u05e9\u200f! \U0001F600\n"
    ids = run("tokenize", "-m", PLAY, given=text).text
    shown = on_terminal("tokenize", "-m", PLAY, "--decode", "--no-special", given=ids)
    assert text.strip() in shown, shown


def test_no_color(_):
    """Where NO_COLOR is set, nothing is coloured."""
    env = environment(TERM="xterm-256color", NO_COLOR="1")
    for arguments in (("generate", "-d", "reference", "-m", PLAY, "--temp", "0", "-n", "2", "KING"), ("info", "shakespeare"), ("info", "./nothing"), ("--help",)):
        shown = on_terminal(*arguments, env=env)
        assert shown and not re.search(r"\x1b\[[\d;:]*m", shown), f"{arguments}: {shown!r}"


def test_progress(folder):
    """A line that is drawn again on a terminal, lines in a log, or nothing; the results are the same."""
    (folder / "text").write_text("First Citizen:\nBefore we proceed any further, hear me speak.\n")
    arguments = ("evaluate", "-d", "reference", "-m", PLAY, "--window", 16, "--stride", 8, "--perplexity", folder / "text")
    drawn, line = "\r\x1b[Kscoring", r"tessera: scoring +\d+%  \d+ of \d+ tokens\n"
    shown = {form: (on_terminal(*arguments, "--progress", form), run(*arguments, "--progress", form)) for form in ("auto", "plain", "none")}
    for form, (terminal, piped) in shown.items():
        equal(drawn in terminal, form == "auto", f"--progress {form} on a terminal: {terminal!r}")
        equal(len(re.findall(line.replace("\\n", "\\r\\n"), terminal)), int(form == "plain"), f"--progress {form} on a terminal: {terminal!r}")
        equal(len(re.findall(line, piped.err)), int(form == "plain"), f"--progress {form} in a pipe: {piped.err!r}")
        equal(steering(piped.err), [], form)
        equal(re.sub("time .*", "", piped.text), re.sub("time .*", "", shown["auto"][1].text), form)
    assert "scoring" not in run(*arguments, "--progress", "plain", "-q").err, "--quiet shows nothing"
    refused(2, "--progress often: give auto, plain or none", *arguments, "--progress", "often")


main(globals())

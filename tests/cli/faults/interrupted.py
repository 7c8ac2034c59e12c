#!/usr/bin/env python3
"""Ctrl-C and SIGTERM while a driver is busy: the command ends within a second after a single signal, nothing half-written stays, and the next run
continues. A server finishes what it has taken before. Also the line that shows a driver's progress."""

import http.client
import json
import os
import pathlib
import pty
import re
import signal
import threading
import time

from support.command import BUILD, COMMAND, GOLDEN, PLAY, environment, equal, main, run, skip, start
from support.encoders import SENTENCE
from support.planted import VENDORS, planted, wait_for
from support.server import Server, has_server

TINY = ("generate", "-d", "pocl", "-m", GOLDEN / "gpt2-tiny", "--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9", "-n", "4")
PROBE = BUILD / "libexec" / "tessera" / "probe"
TEXT = b"52 52 52 52 \n"


def allowed():
    """The seconds within which a signal must end the command; more on a busy machine."""
    begun = time.monotonic()
    run("--version")
    return 1.5 + 20 * (time.monotonic() - begun)


def unfinished(folder):
    return [str(path) for path in folder.rglob("*.tmp")]


def stop(process, number, limit, whole=None):
    """Sends one signal. The command must end in time, with the right exit code and one message, or with the output `whole` if it was about to end by
itself."""
    begun = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    took = time.monotonic() - begun
    assert took < limit, f"heeded after {took:.2f} s, {limit:.2f} s are allowed"
    if out != whole or process.returncode != 0:
        equal(process.returncode, 128 + number, err.decode())
    assert b"\033" not in err, f"an escape code went to a file: {err}"
    # "1 error generated.": clang's own words, in a driver whose file the signal's handler in LLVM removed
    others = r"planted: |\d+ errors? generated|tessera: (device|building|seed|first token)"
    said = [line for line in err.decode().splitlines() if not re.match(others, line)]
    assert len(said) <= 1 and all(re.search("stopped|cancelled", line) for line in said), err.decode()
    return out, said


def test_a_compiler_that_takes_its_time(folder):
    for number in (signal.SIGINT, signal.SIGTERM):
        place = folder / str(number)
        place.mkdir()
        # without chains: helpers build them, and their slow builds are not what is meant
        env = planted(place, "build:slow", TESSERA_TRUST_DRIVERS="1", TESSERA_CHAIN="0")
        process = start(*TINY, env=env)
        wait_for(place / "log", "build")
        time.sleep(0.7)  # by now a terminal would show a line
        _, said = stop(process, number, allowed())
        assert said and "building kernels" in said[0] and signal.Signals(number).name in said[0], said
        equal(unfinished(place), [])
        equal(run(*TINY, env=dict(env, PLANTED="")).out, TEXT, "the next run")


def test_a_build_that_the_signal_fails(folder):
    """LLVM's own signal handler removes the file that a compiler is writing: the build fails, and no kernel must be blamed."""
    # without chains, which helpers build: the signal is for this process
    env = planted(folder, "build:once-interrupt", TESSERA_TRUST_DRIVERS="1", TESSERA_CHAIN="0")
    process = start(*TINY, env=env)
    _, err = process.communicate()
    equal(process.returncode, 130, err.decode())
    assert b"warning" not in err, err.decode()
    equal(run(*TINY, env=dict(env, PLANTED="")).out, TEXT, "the next run")


def test_a_launch_that_never_ends(folder):
    run(*TINY)  # the kernels are cached, so the launch is one of the model's
    env = environment(**{name: value for name, value in planted(folder, "launch:hang", TESSERA_TRUST_DRIVERS="1").items() if name != "TESSERA_CACHE"})
    process = start(*TINY, env=dict(env, TESSERA_CACHE=os.environ.get("TESSERA_CACHE", str(folder / "cache"))))
    wait_for(folder / "log", "launch")
    stop(process, signal.SIGINT, allowed())


def test_a_file_of_vectors_that_is_not_whole(folder):
    """The command's second thread removes it, as the first one waits for the driver."""
    (folder / "text").write_text("a text\n")
    embed = ("embed", "-d", "pocl", "-m", SENTENCE, folder / "text", "-o", folder / "x.npy")
    run(*embed)  # the kernels are cached, so the launch is one of the model's
    env = environment(**{name: value for name, value in planted(folder, "launch:hang", TESSERA_TRUST_DRIVERS="1").items() if name != "TESSERA_CACHE"})
    before = (folder / "x.npy").read_bytes()
    process = start(*embed, env=dict(env, TESSERA_CACHE=os.environ.get("TESSERA_CACHE", str(folder / "cache"))))
    wait_for(folder / "log", "launch")
    equal(len(unfinished(folder)), 1)
    stop(process, signal.SIGINT, allowed())
    equal((unfinished(folder), (folder / "x.npy").read_bytes()), ([], before))


def test_a_driver_that_hangs_while_it_is_tried(folder):
    env = planted(folder, "platforms:hang")
    process = start("devices", env=env)
    wait_for(folder / "log", "platforms")
    _, said = stop(process, signal.SIGINT, allowed())
    assert said and "trying drivers" in said[0], said


def test_any_moment_of_a_first_run(folder):
    env = environment(TESSERA_CACHE=folder / "cache", POCL_CACHE_DIR=folder / "pocl")
    for after in (0.05, 0.3, 1, 2):
        process = start(*TINY, env=env)
        time.sleep(after)
        if process.poll() is None:
            stop(process, signal.SIGINT, allowed(), whole=TEXT)
        else:
            process.communicate()
        equal(unfinished(folder), [], f"after {after} s")


def test_helpers_that_build(folder):
    """Helpers build the kernels, and take their time: one signal to the command ends it with one message, and the helpers too."""
    (folder / "text").write_text("Guten Morgen.\n")
    commands = {"generate": TINY, "translate": ("translate", "-d", "pocl", "-m", PLAY.parent / "translate-de-en", folder / "text")}
    for name, command in commands.items():
        helper, started = folder / name, folder / f"{name}-builders"
        helper.write_text(f'#!/bin/sh\nif [ "$1" = --build ]; then echo $$ >> {started}; exec sleep 100; fi\nexec {PROBE} "$@"\n')
        helper.chmod(0o755)
        process = start(*command, env=environment(TESSERA_PROBE=helper, TESSERA_CACHE=folder / f"cache-{name}", POCL_CACHE_DIR=folder / f"pocl-{name}"))
        while process.poll() is None and "building" not in (os.read(process.stderr.fileno(), 4096).decode() or "building"):
            pass
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        equal((process.returncode, err), (130, b"tessera: stopped while building kernels\n"), name)
        for builder in started.read_text().split():
            wait_until_gone(int(builder))


def test_a_server_finishes_what_it_has_taken(folder):
    """A request waits for its turn at SIGTERM, and its prompt is of another length than those before: a plan of its own is made for it."""
    if not has_server():
        return
    asked = {"temperature": 0, "ignore_eos": True}
    bodies = {"runs": asked | {"prompt": "ROMEO:", "max_tokens": 480}, "waits": asked | {"prompt": "KING " * 20, "max_tokens": 2}}
    answers = {}
    env = environment(TESSERA_CACHE=folder / "cache", POCL_CACHE_DIR=folder / "pocl")
    with Server("--slots", "1", "--drain", "3600", device=("-d", "pocl", "-q"), env=env) as server:
        def client(name):
            answers[name] = server.ask("/v1/completions", bodies[name])
        threads = {name: threading.Thread(target=client, args=(name,)) for name in bodies}
        for name, begun in (("runs", lambda: server.metric("num_requests_running") == 1), ("waits", lambda: server.metric("num_requests_waiting") == 1)):
            threads[name].start()
            while not answers and not begun():
                time.sleep(0.02)
        server.end()
        for thread in threads.values():
            thread.join()
    equal({name: (status, answer["usage"]["completion_tokens"]) for name, (status, answer) in answers.items() if status == 200}, {"runs": (200, 480), "waits": (200, 2)}, answers)


def test_a_server_answers_though_a_build_does_not_end(folder):
    """--drain ends while kernels are built for a request: it, a stream that has begun, and those that wait get an answer."""
    if not has_server():
        return
    log = folder / "log"
    log.write_text("build\nbuild\n")  # the first build hangs: none of those before the log is emptied
    env = planted(folder, "build:once-hang", TESSERA_TRUST_DRIVERS="1", TESSERA_CHAIN="0", POCL_CACHE_DIR=folder / "pocl")
    whole = {"temperature": 0, "ignore_eos": True, "prompt": "KING " * 20, "max_tokens": 2}
    bodies = {"begun": whole | {"prompt": "ROMEO:", "max_tokens": 480, "n": 16, "stream": True}, "whole": whole, "stream": whole | {"stream": True}}
    with Server("--slots", "18", "--drain", "1", device=("-d", "pocl", "-q"), env=env) as server:
        connections = {name: http.client.HTTPConnection("127.0.0.1", server.port) for name in bodies}
        connections["begun"].request("POST", "/v1/completions", json.dumps(bodies["begun"]))
        begun = connections["begun"].getresponse()
        log.write_text("")
        for name in ("whole", "stream"):
            connections[name].request("POST", "/v1/completions", json.dumps(bodies[name]))
        server.fine("/health")  # they have been read before this
        wait_for(log, "build")
        server.end()
        for name in ("whole", "stream"):
            answer = connections[name].getresponse()
            equal((answer.status, answer.headers["Retry-After"], json.load(answer)["error"]), (503, "1", ENDS), name)
        events = begun.read().decode().split("\n\n")
        equal((begun.status, json.loads(events[-3].removeprefix("data: ")), events[-2:]), (200, {"error": ENDS}, ["data: [DONE]", ""]))
        for connection in connections.values():
            connection.close()
    assert "stopped by SIGTERM while building kernels" in server.err, server.err


ENDS = {"message": "the server ends", "type": "server_error", "param": None, "code": None}


def wait_until_gone(pid):
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still there")


def on_terminal(*arguments, env):
    """The exit code, and what a terminal gets on stderr."""
    ours, theirs = pty.openpty()
    told = []

    def listen():
        try:
            while piece := os.read(ours, 4096):
                told.append(piece)
        except OSError:
            pass

    listener = threading.Thread(target=listen)
    listener.start()
    pid = os.posix_spawn(COMMAND, [COMMAND, *map(str, arguments)], env,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                                       (os.POSIX_SPAWN_DUP2, theirs, 2)])
    os.close(theirs)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    listener.join()
    os.close(ours)
    return code, b"".join(told).decode()


def test_how_far_a_build_is(folder):
    env = planted(folder, "build:once-slow", TESSERA_TRUST_DRIVERS="1")
    code, told = on_terminal(*TINY, env=env)
    equal(code, 0, told)
    assert re.search(r"\r\033\[Kbuilding kernels  0 of \d+, 0:0[2-5]", told), told
    assert told.replace("\r\033[K", "\0").rstrip("\r\n").count("\n"), told
    last = told.splitlines()[-1]
    assert "kernels" not in re.split(r"\r\033\[K", last)[-1], f"the line stays: {told!r}"
    code, told = on_terminal(*TINY, env=dict(env, PLANTED=""))
    assert code == 0 and "building" not in told, f"nothing where it is quick: {told!r}"


if not VENDORS.exists():
    skip(f"{VENDORS} is missing (Debian: apt-get install pocl-opencl-icd)")
main(globals())

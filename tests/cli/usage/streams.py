#!/usr/bin/env python3
"""The output of generate: it appears as it is generated; its reader may leave, the disk may be full, and signals end it cleanly."""

import os
import signal
import subprocess
import time

from support.command import COMMAND, GOLDEN, environment, equal, main, refused, run, slowness, start

# Slow enough that the end is seconds away when the first bytes appear: the bundled model on the reference.
SLOW = ("generate", "-d", "reference", "--temp", "0", "--ignore-eos", "-p", "KING")
TINY = ("generate", "-d", "reference", "-m", GOLDEN / "gpt2-tiny", "--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9")


def ends(process, code):
    begun = time.monotonic()
    out, err = process.communicate()
    equal(process.returncode, code, err)
    return out, err.decode(), time.monotonic() - begun


def test_text_comes_as_it_is_made(_):
    process = start(*SLOW, "-q")
    first = os.read(process.stdout.fileno(), 1)
    assert first and process.poll() is None, "the first bytes came at the end"
    process.kill()
    process.communicate()


def test_never_half_a_character(_):
    process = start("generate", "-d", "reference", "-q", "-n", "40", "-s", "1", "--temp", "50", "--top-k", "0", "--top-p", "1", "--min-p", "0", "-p", "é")
    while True:
        read = os.read(process.stdout.fileno(), 65536)
        if not read:
            break
        read.decode()  # each write has only whole characters
    ends(process, 0)


def test_a_reader_that_leaves(_):
    for arguments in (SLOW, (*TINY, "--json"), ("help", "generate")):
        process = start(*arguments, "-q") if arguments[0] == "generate" else start(*arguments)
        process.stdout.close()
        process.stdout = None
        _, err, _ = ends(process, 0)
        equal(err, "", arguments)
    process = start(*SLOW, "-q")
    os.read(process.stdout.fileno(), 1)
    process.stdout.close()
    process.stdout = None
    _, err, took = ends(process, 0)
    equal(err, "")


def test_a_full_disk(folder):
    place = environment(TESSERA_CACHE=folder)  # in the common one, another test's crash may be told
    for arguments in ((*TINY, "-q"), ("info", "shakespeare"), ("devices",), ("cache", "list", "--json")):
        with open("/dev/full", "wb") as full:
            told = run(*arguments, code=5, stdout=full, env=place)
        equal(told.err.splitlines(), ["tessera: the output could not be written: No space left on device"], arguments)


def test_no_standard_output(_):
    done = subprocess.run(["sh", "-c", f'exec "{COMMAND}" info shakespeare >&-'], stderr=subprocess.PIPE, env=environment(), check=False)
    equal(done.returncode, 5, done.stderr)


def interrupted(number, *arguments):
    process = start(*arguments)
    os.read(process.stdout.fileno(), 1)
    process.send_signal(number)
    out, err, took = ends(process, 128 + number)
    assert took < 10 * slowness(), f"it took {took:.1f} s to end"
    assert "Traceback" not in err and "abort" not in err.lower(), err
    return out, err


def test_signals_while_it_writes(_):
    for number in (signal.SIGINT, signal.SIGTERM):
        interrupted(number, *SLOW)


def test_a_signal_while_the_reader_does_not_read(folder):
    """The pipe is full, so a write waits; the signal ends it, and nothing else is said than that."""
    text = folder / "text"
    text.write_text("To be, or not to be\n" * 40000)
    process = start("tokenize", "-m", "shakespeare", text)
    os.read(process.stdout.fileno(), 1)
    time.sleep(0.5 * slowness())
    assert process.poll() is None, "it did not wait"
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    _, err, _ = ends(process, 130)
    assert "could not be written" not in err, err


def test_signals_while_it_waits_for_input(_):
    for command in (("generate", "-d", "reference"), ("tokenize", "-q")):
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([COMMAND, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
                time.sleep(0.5)
                process.send_signal(number)
                process.wait()
                equal((process.returncode, process.stderr.read()), (128 + number, b""), command)


def test_partial_output_stays(_):
    process = start(*SLOW, "-q")
    first = os.read(process.stdout.fileno(), 1)
    process.send_signal(signal.SIGINT)
    out, _, _ = ends(process, 130)
    whole = run(*SLOW, "-q", "-n", "60").out
    assert whole.startswith((first + out).rstrip(b"\n")[:40]), (first + out, whole)


def test_no_escape_codes(_):
    for env in (environment(TERM="xterm-256color"), environment(NO_COLOR="1")):
        told = run(*TINY, env=env)
        assert "\033" not in told.err and "\r" not in told.err and b"\033" not in told.out
    refused(3, "there is no such folder", "info", "./nothing/\033")


main(globals())

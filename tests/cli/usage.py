#!/usr/bin/env python3
"""The command line itself: help, version, options and operands that are not there, values out of range; exit code 2 and one sentence."""

import re
import subprocess

from support.command import COMMAND, PLAY, environment, equal, main, refused, run

COMMANDS = ("generate", "chat", "tokenize", "info", "devices", "verify", "explain", "bench", "evaluate", "quantize", "dump", "cache")


def test_help_and_version(_):
    overview = run("--help").text
    equal(run("-h").text, overview)
    equal(run("help").text, overview)
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", overview, re.M), f"{name} is not listed"
    assert re.fullmatch(r"tessera \d+\.\d+\.\d+\n", run("--version").text)


def test_help_of_each_command(_):
    for name in COMMANDS:
        text = run("help", name).text
        assert text.startswith(f"usage: tessera {name}") and "--help" in text, text
        equal(run(name, "--help").text, text, name)
        equal(run(name, "-h").text, text, name)


def test_no_command(_):
    told = run(code=2)
    equal(told.out, b"")
    assert "usage: tessera COMMAND" in told.err


def test_unknown(_):
    refused(2, "translat: no such command", "translat")
    refused(2, "translat: no such command", "help", "translat")
    for name in COMMANDS:
        refused(2, "--no-such-option: no such option; see tessera help " + name, name, "--no-such-option")
        refused(2, "-Z: no such option", name, "-Z")


def test_values(_):
    for fragment, *arguments in (
            ("--seed: a value is missing", "generate", "--seed"),
            ("-n: a value is missing", "generate", "-n"),
            ("a whole number is wanted", "generate", "-n", "ten"),
            ("a whole number is wanted", "generate", "-n", "-1"),
            ("a whole number is wanted", "generate", "-n", "1.5"),
            ("a whole number is wanted", "generate", "-n", "99999999999999999999"),
            ("a whole number is wanted", "generate", "-n", ""),
            ("a number is wanted", "generate", "--temperature", "nan"),
            ("a number is wanted", "generate", "--temp", "-0.5"),
            ("a number is wanted", "generate", "--top-p", "0"),
            ("a number is wanted", "generate", "--top-p", "1.01"),
            ("a number is wanted", "generate", "--min-p", "-1"),
            ("a number is wanted", "generate", "--repeat-penalty", "0"),
            ("a whole number is wanted", "generate", "--top-k", "-3"),
            ("from 0 to 2^64 - 1", "generate", "--seed", "-1"),
            ("from 0 to 2^64 - 1", "generate", "--seed", "18446744073709551616"),
            ("from 0 to 2^64 - 1", "generate", "-s", "x"),
            ("a whole number is wanted", "generate", "-t", "0"),
            ("a whole number is wanted", "generate", "-c", "0"),
            ("--ids 1,x", "generate", "--ids", "1,x"),
            ("--ids 1,-2", "generate", "--ids", "1,-2"),
            ("--quiet", "generate", "--quiet=1")):
        refused(2, fragment, *arguments)


def test_operands(_):
    refused(2, "chat takes no operands", "chat", "x")
    refused(2, "devices takes no operands", "devices", "x")
    refused(2, "one model is wanted", "info", "a", "b")
    refused(2, "one model is wanted", "explain", "-m", "a", "b")
    refused(2, "one file is wanted", "tokenize", "a", "b")
    refused(2, "list or clear is wanted", "cache", "remove")
    refused(2, "dump wants one of", "dump", "--ids", "1")
    refused(2, "dump wants one of", "dump", "--ids", "1", "--text", "x", "-o", "y")


def test_aliases(_):
    for arguments in (("--max-new-tokens", "3", "--temperature", "0"), ("-n3", "--temp=0"), ("--n-predict=3", "--temp", "0")):
        equal(run("generate", "-d", "reference", "-m", PLAY, "-p", "KING", *arguments).out,
              run("generate", "-d", "reference", "-n", "3", "--temp", "0", "KING").out)


def test_help_that_cannot_be_written(_):
    for arguments in (["--help"], ["--version"], ["help", "generate"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
        equal(done.returncode, 5, arguments)
        assert b"could not be written" in done.stderr


main(globals())

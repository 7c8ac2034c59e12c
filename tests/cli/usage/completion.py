#!/usr/bin/env python3
"""Manual pages and the completion of shells, which come from the tables of options: each page has every option, each shell shows the candidates."""

import os
import re
import shutil
import subprocess

from support.command import BUILD, DEVICE, PLAY, SOURCE, copy_model, environment, equal, has_device, main, refused, run
from support.terminal import typed

COMMANDS = [line.split()[0] for line in run("help").text.splitlines() if re.match(r"^  [a-z][a-z-]+ ", line)]
PAGES = BUILD / "generated/shell/man/man1"


def needs(program):
    """Marks a test that needs this program: where it is not installed (ci/packages has it for ci/test --all), the test does not exist."""
    return lambda test: test if shutil.which(program) else None


def candidates(*words):
    return [line.split("\t")[0] for line in run("completion", "--words", *words).text.splitlines()]


def test_pages_have_what_the_help_has(_):
    assert len(COMMANDS) > 20, COMMANDS
    for name in COMMANDS:
        page = (PAGES / f"tessera-{name}.1").read_text()
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"):
            equal(page.count(f".SH {section}\n"), 1, f"{name}: {section}")
        for option in re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)", run("help", name).text, re.M):
            assert re.search(rf"^\\fB.*{re.escape(option.replace('-', chr(92) + '-'))}\b", page, re.M), f"{name}: {option} is missing in its page"
    overview = (PAGES / "tessera.1").read_text()
    for text in (*(f"tessera\\-{name.replace('-', chr(92) + '-')}(1)" for name in COMMANDS), "TESSERA_DEVICE", "EXIT STATUS"):
        assert text in overview, text


@needs("mandoc")
def test_pages_are_valid(_):
    for page in sorted(PAGES.iterdir()):
        told = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False).stdout
        equal([line for line in told.splitlines() if "missing date" not in line], [], page.name)


def test_verbs(_):
    rows = re.findall(r'^(VERB|SUBCOMMAND)\("([a-z-]+)", "([a-z]+)"', (SOURCE / "src/cli/commands/commands.def").read_text(), re.M)
    assert len(rows) > 8, rows
    for kind, name, verb in rows:
        assert verb in candidates(name, ""), f"{name} {verb}"
        assert re.search(rf"\b{verb}\b", run("help", name).text.split("\n\n")[0]), f"the usage of {name} lacks {verb}"
        page, own = PAGES / f"tessera-{name}-{verb}.1", kind == "SUBCOMMAND"
        equal((run("help", name, verb).text != run("help", name).text, page.exists()), (own, own), f"{name} {verb}")
        if own:
            assert run("help", name, verb).text.startswith(f"usage: tessera {name} {verb}")
            assert page.read_text().startswith(f".TH TESSERA-{name.upper()}-{verb.upper()} 1"), page
    refused(2, "bench has no such verb", "help", "bench", "sweet")


def test_candidates(_):
    for words, wanted in ((("gen",), ["generate"]), (("generate", "--dty"), ["--dtype"]), (("generate", "--dtype", "q"), ["q8", "q4"]), (("generate", "--dtype", "=", "b"), ["bf16"]),
                          (("bench", "suite", "--class", ""), ["smoke", "laptop", "full"]), (("bench", "suite", "--class", "="), ["smoke", "laptop", "full"]), (("generate", "-m", "shake"), ["shakespeare", ":files"]),
                          (("info", "shake"), ["shakespeare", ":files"]), (("train", "-m", "shake"), ["shakespeare", ":files"]), (("serve", "-m", "shake"), ["shakespeare", ":files"]),
                          (("serve", "-m", "chat=shake"), ["chat=shakespeare", ":files"]), (("serve", "-m", "chat", "=", "shake"), ["shakespeare", ":files"]), (("serve", "--model=shake"), ["--model=shakespeare", ":files"]), (("train", "--recipe", "char"), ["char-gpt", ":files"]), (("train", "--set", "weight_d"), ["weight_decay="]),
                          (("verify", "--op", "layer_n"), ["layer_norm"]), (("generate", "--lora", ""), [":folders"]), (("generate", "-f", ""), [":files"]), (("generate", "--quiet", "on"), []),
                          (("completion", ""), ["bash", "zsh", "fish"]), (("no-such", ""), []),
                          # one word, as zsh and fish pass it: the shell replaces all of it
                          (("generate", "--dtype=b"), ["--dtype=bf16"]), (("bench", "suite", "--class="), ["--class=smoke", "--class=laptop", "--class=full"]),
                          (("generate", "--model=shake"), ["--model=shakespeare", ":files"]), (("generate", "--file=x"), [":files"]), (("train", "--set=weight_d"), ["--set=weight_decay="]), (("generate", "--profile=x"), [":files"]), (("generate", "--profile", "=", "x"), [":files"]),
                          (("info", "--quiet=sha"), []), (("info", "--no-such=sha"), []), (("help", "gen"), ["generate"]), (("help", "env"), ["environment"]),
                          (("help", "bench", ""), ["suite", "report", "compare", "duel"]), (("help", "bench", "suite", ""), []), (("help", "generate", ""), [])):
        equal({*candidates(*words)}, {*wanted}, words)
    assert {"cpu", "gpu", "reference"} <= {*candidates("explain", "-d", "")}, candidates("explain", "-d", "")
    equal(candidates("explain", "-d", "0,refer"), ["0,reference"])
    for name in COMMANDS:  # no option is left out
        if name != "completion":
            equal({*re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)", run("help", name).text, re.M)} - {*candidates(name, "--")}, set(), name)


def test_kernel_variants(_):
    """Of the op, and of the device that was given: the name of a variant is what --kernels and --variant take."""
    device, full = ("-d", "reference"), "reference/linear"
    for words, wanted in ((("explain", "--kernels", "layer_n"), ["layer_norm="]), (("explain", *device, "--kernels", "linear=ref"), [f"linear={full}"]),
                          (("explain", *device, "--kernels", "linear=x"), []), (("explain", *device, "--kernels", "no-op="), []),
                          (("explain", *device, "--kernels", "add=reference/add,linear="), [f"add=reference/add,linear={full}"]),
                          (("explain", *device, "--kernels", "add=reference/add,layer_n"), ["add=reference/add,layer_norm="]),
                          (("explain", *device, "--kernels=linear="), [f"--kernels=linear={full}"]), (("explain", "--device=reference", "--kernels", "linear="), [f"linear={full}"]),
                          # bash makes words of "=" and ":", and replaces the last word
                          (("explain", *device, "--kernels", "linear", "="), [full]), (("explain", *device, "--kernels", "linear", "=", "ref"), [full]),
                          (("explain", "--device", "=", "reference", "--kernels", "=", "linear", "=", "ref"), [full]), (("explain", *device, "--kernels", "add", "=", "reference/add,layer_n"), ["reference/add,layer_norm="]),
                          (("verify", *device, "--op", "linear", "--variant", ""), [full]), (("verify", "--op", "=", "linear", *device, "--variant", "=", "ref"), [full]),
                          (("verify", *device, "--op=linear", "--variant", "ref"), [full]), (("verify", *device, "--variant", ""), [])):
        equal({*candidates(*words)}, {*wanted}, words)
    run("explain", "-q", *device, "--kernels", f"linear={full}")
    if has_device():
        offered = candidates("verify", "-d", DEVICE, "--op", "add", "--variant", "")
        assert {"plain"} <= {*offered} and not any("/" in name for name in offered), offered
        for name in offered:
            run("verify", "-q", "-d", DEVICE, "--op", "add", "--variant", name, "--smoke")


def test_arguments(_):
    refused(2, "completion needs the name of a shell: bash, zsh or fish", "completion")
    refused(2, "powershell: give bash, zsh or fish", "completion", "powershell")


def with_spaces(folder):
    """The environment of the command, beside a model whose name has a space."""
    copy_model(PLAY, folder / "models" / "my model")
    return environment(PATH=f"{BUILD}/bin:{os.environ['PATH']}", TESSERA_MODELS=folder / "models")


def test_in_bash(folder):
    (folder / "weights.gguf").touch()
    env = with_spaces(folder)
    setup = f'cd {folder}; eval "$(tessera completion bash)"'
    for keys, wanted in ((b"tessera genera\t--dty\t", b"tessera generate --dtype "), (b"tessera bench suite --class sm\t", b"--class smoke "), (b"tessera generate -m wei\t", b"-m weights.gguf"),
                         (b"tessera generate --dtype=bf\t", b"--dtype=bf16"), (b"tessera train --set weight_d\t", b"--set weight_decay="), (b"tessera generate -m my\t", b"-m my\\ model "),
                         (b"tessera generate -m my\\ mo\t", b"-m my\\ model "), (b'tessera generate -m "my mo\t', b'-m "my model" '),
                         (b"tessera explain -d reference --kernels lin\tref\t", b"--kernels linear=reference/linear ")):
        typed(["bash", "--norc", "--noprofile", "-i"], setup, keys, wanted, env)


@needs("zsh")
def test_in_zsh(folder):
    (folder / "weights.gguf").touch()
    env = with_spaces(folder)
    setup = f'cd {folder}; autoload -U compinit; compinit -u -D; eval "$(tessera completion zsh)"'
    for keys, wanted in ((b"tessera genera\t--dty\t", b"--dtype "), (b"tessera generate -m my\\ mo\t", b"-m my\\ model "), (b"tessera generate --dtype=bf\t", b"--dtype=bf16 "),
                         (b"tessera generate --model=my\\ mo\t", b"--model=my\\ model "), (b"tessera generate -m wei\t", b"-m weights.gguf "), (b"tessera generate --model=wei\t", b"--model=weights.gguf "),
                         (b"tessera explain -d reference --kernels linear=ref\t", b"--kernels linear=reference/linear ")):
        typed(["zsh", "-f", "-i"], setup, keys, wanted, env)


@needs("fish")
def test_in_fish(folder):
    (folder / "weights.gguf").touch()
    env = with_spaces(folder)
    for line, wanted in (("tessera bench suite --class sm", "smoke"), ("tessera generate --dty", "--dtype\thow weights"), ("tessera generate -m my\\ mo", "my model\t"),
                         ('tessera generate -m "my mo', "my model\t"), ("tessera generate --dtype=bf", "--dtype=bf16\n"), (f"tessera generate --model={folder}/wei", f"--model={folder}/weights.gguf")):
        shown = subprocess.run(["fish", "-N", "-c", "tessera completion fish | source; complete -C $argv", "--", line], capture_output=True, text=True, check=False, env=env)
        assert wanted in shown.stdout, shown


main(globals())

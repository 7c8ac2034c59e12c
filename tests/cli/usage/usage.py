#!/usr/bin/env python3
"""The command line itself: help, version, unknown options and operands, values out of range; exit code 2 and one message."""

import json
import re
import shutil
import subprocess

from support.command import COMMAND, GOLDEN, PLAY, SOURCE, copy_model, environment, equal, main, refused, run

COMMANDS = ("generate", "chat", "tokenize", "info", "devices", "verify", "explain", "bench", "evaluate", "quantize", "dump", "cache")


def test_help_and_version(_):
    overview = run("--help").text
    equal(run("-h").text, overview)
    equal(run("help").text, overview)
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", overview, re.M), f"{name} is not listed"
    asks_git = (SOURCE / ".git").exists() and shutil.which("git") and subprocess.run(["git", "-C", SOURCE, "rev-parse", "HEAD"], capture_output=True, check=False).returncode == 0
    commit = r"(commit [0-9a-f]{7,}(\+changes)?, )" + ("" if asks_git else "?")
    assert re.fullmatch(rf"tessera \d+\.\d+\.\d+ \({commit}\w*, [^\n]+\)\n", run("--version").text), run("--version")


def test_help_of_each_command(_):
    for name in COMMANDS:
        text = run("help", name).text
        assert text.startswith(f"usage: tessera {name}") and "--help" in text, text
        equal(run(name, "--help").text, text, name)
        equal(run(name, "-h").text, text, name)


def test_exit_codes_and_environment(_):
    overview = run("help").text
    for code in (0, 1, 2, 3, 4, 5, 130):
        assert re.search(rf"^  {code} +\w", overview, re.M), f"exit code {code} is not listed"
    listed = re.findall(r"^  ([A-Z_]+) ", run("help", "environment").text, re.M)
    sources = [path for path in (SOURCE / "src").rglob("*.c") if "windows" not in path.parts]  # there a variable stands for HOME
    read = {name for path in sources for name in re.findall(r'getenv\("([A-Z_]+)"\)', path.read_text())}
    equal(sorted(listed), sorted(read), "variables that tessera help environment lists, and that src reads")
    assert not [path for path in sources if re.search(r"getenv\([^\")]", path.read_text())], "getenv of a name that this test cannot see"


def test_chat_without_a_model(_):
    refused(3, "tools/get-smollm2", "chat", "-d", "reference", given="hello\n")


def test_kernels_that_verify_would_not_take(_):
    refused(2, "--kernels linear=plain: verify runs each kernel variant by itself", "verify", "-d", "reference", "--kernels", "linear=plain")


def test_context_that_cannot_be_raised(_):
    long = "to be or not " * 300
    told = refused(2, "the model reads 512: shorten it", "generate", "-d", "reference", "-m", PLAY, "-n", "1", long)
    assert "raise" not in told.err, told.err
    refused(2, "the context holds 8: shorten it, or raise -c up to what the model reads (512)", "generate", "-d", "reference", "-m", PLAY, "-c", "8", "-n", "1", long)


def test_nothing_is_said_twice(folder):
    model = copy_model(GOLDEN / "gpt2-tiny", folder / "m")
    (model / "generation_config.json").write_text(json.dumps({"guidance_scale": 3.0, "sequence_bias": [[[5], -2.0]]}))
    for arguments in (("generate", "-m", model, "--ids", "9", "-n", "2", "--print-ids", "--temp", "0"), ("generate", "-m", model, "--ids", "9", "--ids", "8", "-n", "2", "--num-beams", "2"),
                      ("info", model), ("bench", "-m", model, "-p", "4", "-n", "2", "-d", "0,2", "-r", "1"), ("explain", model)):
        told = run(*arguments, *(() if arguments[0] == "info" else ("--device", "reference")), code=None).err.splitlines()
        said = [line for line in told if not line.startswith("tessera: device: ")]
        equal(len(set(said)), len(said), said)


def test_no_command(_):
    told = run(code=2)
    equal(told.out, b"")
    assert "usage: tessera COMMAND" in told.err


def test_unknown(_):
    refused(2, "translat: no such command", "translat")
    refused(2, "help translat: no such command or topic; tessera help lists them. Did you mean translate?", "help", "translat")
    for name in COMMANDS:
        refused(2, "--no-such-option: no such option; see tessera help " + name, name, "--no-such-option")
        refused(2, "-Z: no such option", name, "-Z")


def test_a_verb_names_its_page(_):
    """What refuses an option or operand of a verb names a page of help, which is the verb's."""
    verbs = re.findall(r'^(?:VERB|SUBCOMMAND)\("([a-z-]+)", "([a-z]+)"', (SOURCE / "src/cli/commands/commands.def").read_text(), re.M)
    assert len(verbs) > 8, verbs
    for command, verb in verbs:
        for fault, sentence in (("--no-such-option", "no such option"), ("--progress", "a value is missing"), ("-", 'this command does not take "-"')):
            told = refused(2, f"{fault}: {sentence}", command, verb, fault).err
            page = re.search(r"; see tessera help ([a-z ]+)\n", told)
            assert page, told
            equal(run("help", *page[1].split()).text, run("help", command, verb).text, told)
    refused(2, "x: bench suite takes no operands", "bench", "suite", "x")


def test_commands_that_were_meant(_):
    for typed, meant in (("translat", "translate"), ("genrate", "generate"), ("fill_mask", "fill-mask"), ("Bench", "bench"), ("class", "classify"), ("run", "generate"),
                         ("perplexity", "evaluate"), ("finetune", "train")):
        refused(2, f"{typed}: no such command; tessera help lists them. Did you mean {meant}?", typed)
    refused(2, "help envronment: no such command or topic; tessera help lists them. Did you mean environment?", "help", "envronment")
    refused(2, "--versoin: no such option; tessera help lists the commands. Did you mean --version?", "--versoin")
    refused(2, "-q: no such option; tessera help lists the commands", "-q", "generate", "x")
    told = refused(2, "xylophone: no such command", "xylophone")
    assert "mean" not in told.err, told.err


# An option as other programs name it, the command, and Tessera's name for it.
MEANT = (("--max-tokens", "generate", "--max-new-tokens"), ("--max_tokens=5", "chat", "--max-new-tokens"), ("--n_predict", "generate", "--n-predict"),
         ("--max_new_tokens", "generate", "--max-new-tokens"), ("-ngl", "generate", "--device gpu"), ("--n-gpu-layers", "chat", "--device gpu"),
         ("--temprature", "generate", "--temperature"), ("--top_k", "generate", "--top-k"), ("--topp", "generate", "--top-p"), ("--modle", "embed", "--model"),
         ("--model-name-or-path", "embed", "--model"), ("-hf", "generate", "-m org/name"), ("-sys", "chat", "--system"), ("--n-ctx", "generate", "--ctx-size"),
         ("--beam-width", "translate", "--num-beams"), ("--src-lang", "translate", "--from"), ("--n-threads", "bench", "--threads"), ("--lr", "train", "--set learning_rate="),
         ("--epochs", "train", "--set num_train_epochs="), ("--batch_size", "train", "--set per_device_train_batch_size="), ("--load-in-4bit", "generate", "--dtype q4"),
         ("--torch_dtype", "embed", "--dtype"), ("--charset", "tokenize", "--encoding"), ("--outfile", "embed", "--output"), ("--ste", "train", "--set"), ("--reverse-prompt", "generate", "--stop"))


def test_options_that_were_meant(_):
    for typed, command, meant in MEANT:
        told = refused(2, f"{typed}: no such option; see tessera help {command}. Did you mean {meant}", command, typed, "1")
        assert told.err.count("\n") == 1, told.err
    told = refused(2, "--zygote: no such option; see tessera help generate", "generate", "--zygote")
    assert "mean" not in told.err, told.err
    assert "mean" not in refused(2, "--src-lang: no such option", "dump", "--src-lang", "de").err  # dump has no such option under any name


def test_keys_that_were_meant(folder):
    (folder / "data.txt").write_text("To be, or not to be. " * 50)
    train = ("train", "-d", "reference", "-q", folder / "data.txt", "--recipe", "char-gpt", "-o", folder / "out", "--dry-run", "--set")
    for typed, meant in (("lr", "learning_rate"), ("laerning_rate", "learning_rate"), ("epochs", "num_train_epochs"), ("batch-size", "per_device_train_batch_size"), ("n_layer", "layers")):
        refused(2, f"{typed}: no such key; the nearest is {meant}, and tessera help train lists all", *train, typed + "=1")
    plans = [run(*train, key + "=3").text.partition("\npeak")[0] for key in ("max-steps", "max_steps", "MAX_STEPS")]
    equal(plans, [plans[0]] * 3)
    assert "steps: 3," in plans[0], plans
    refused(2, "xylophone: no such key; tessera help train lists all", *train, "xylophone=1")


def test_ranges_are_printed_as_numbers(_):
    refused(2, "--top-k -3: give a whole number from 0 to 16777216\n", "generate", "--top-k", "-3")
    refused(2, "-n -1: give a whole number from 0 to 1073741824\n", "generate", "-n", "-1")
    refused(2, "--top-p 0: give a number from 1e-09 to 1\n", "generate", "--top-p", "0")
    refused(2, "--temp -1: give a number from 0 to 1000000\n", "generate", "--temp", "-1")


def test_values(_):
    for fragment, *arguments in (
            ("--seed: a value is missing", "generate", "--seed"),
            ("-n: a value is missing", "generate", "-n"),
            ("give a whole number", "generate", "-n", "ten"),
            ("give a whole number", "generate", "-n", "-1"),
            ("give a whole number", "generate", "-n", "1.5"),
            ("give a whole number", "generate", "-n", "99999999999999999999"),
            ("give a whole number", "generate", "-n", ""),
            ("give a number", "generate", "--temperature", "nan"),
            ("give a number", "generate", "--temp", "-0.5"),
            ("give a number", "generate", "--top-p", "0"),
            ("give a number", "generate", "--top-p", "1.01"),
            ("give a number", "generate", "--min-p", "-1"),
            ("give a number", "generate", "--repeat-penalty", "0"),
            ("give a whole number", "generate", "--top-k", "-3"),
            ("from 0 to 2^64 - 1", "generate", "--seed", "-1"),
            ("from 0 to 2^64 - 1", "generate", "--seed", "18446744073709551616"),
            ("from 0 to 2^64 - 1", "generate", "-s", "x"),
            ("give a whole number", "generate", "-t", "0"),
            ("give a whole number", "generate", "-c", "0"),
            ("--ids 1,x", "generate", "--ids", "1,x"),
            ("--ids 1,-2", "generate", "--ids", "1,-2"),
            ("--quiet", "generate", "--quiet=1")):
        refused(2, fragment, *arguments)


def test_operands(_):
    refused(2, "chat takes no operands", "chat", "x")
    refused(2, "devices takes no operands", "devices", "x")
    refused(2, "give only one model", "info", "a", "b")
    refused(2, "give only one model", "explain", "-m", "a", "b")
    refused(2, "give one file", "tokenize", "a", "b")
    refused(2, "give list, clear or warm", "cache", "remove")
    refused(2, "cache warm does", "cache", "clear", "shakespeare")
    refused(2, "cache warm does", "cache", "-d", "pocl")
    refused(2, "dump needs one of", "dump", "--ids", "1")
    refused(2, "dump needs one of", "dump", "--ids", "1", "--text", "x", "-o", "y")


def test_aliases(_):
    for arguments in (("--max-new-tokens", "3", "--temperature", "0"), ("-n3", "--temp=0"), ("--n-predict=3", "--temp", "0")):
        equal(run("generate", "-d", "reference", "-m", PLAY, "-p", "KING", *arguments).out,
              run("generate", "-d", "reference", "-n", "3", "--temp", "0", "KING").out)


def test_help_that_cannot_be_written(_):
    for arguments in (["--help"], ["--version"], ["help", "environment"], ["help", "generate"], ["help", "train"], ["embed", "--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
        equal(done.returncode, 5, arguments)
        assert b"could not be written" in done.stderr


main(globals())

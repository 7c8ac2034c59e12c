#!/usr/bin/env python3
"""Commands that several ranks run together: their output has the bytes of one process; what differs between ranks is named; a rank that goes
away ends all."""

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time

from support.adapter import make_adapter
from support.command import COMMAND, DEVICE, PLAY, SOURCE, Result, copy_model, environment, equal, main, run
from support.ranks import (BUILD, MPIRUN, PLUGIN, REFUSED, SPLIT, apart, differs, in_two_folders, loses_device, need_mpi, own_lines, rank_goes_away, ranks,
                           running, same, told)

GOLDEN = SOURCE / "tests" / "golden"
ENCODERS, TRANSLATOR = GOLDEN / "encoders", GOLDEN / "translate"
REFERENCE = ("-d", "reference", "-q")
SHARE = BUILD / "tests" / "ranks" / "share"
WORDS = "the cat sat on a mat and said hello world good bad film tall tree".split()


def lines(folder, n, longest=14):
    draw = random.Random(n)
    path = folder / f"lines{n}"
    path.write_text("".join(" ".join(draw.choices(WORDS, k=draw.randint(0, longest))) + "\n" for _ in range(n)))
    return path


def test_blocks_come_in_order(_):
    """The program share checks what it gets; nobody is left without work."""
    for blocks, size in ((0, 1), (1, 1), (5, 3), (120, 500), (12, 100000)):
        for n in (1, 2, 4):
            said = sorted(ranks(n, SHARE, str(blocks), str(size)).text.splitlines())
            had = [int(line.split()[-1]) for line in said]
            equal([line.rsplit(" ", 1)[0] for line in said], [f"rank {i} of {n} had" for i in range(n)])
            equal(sum(had), blocks)
            assert blocks < 100 or min(had) > 0, had


def test_embed(folder):
    text = lines(folder, 400)
    model = ("-m", ENCODERS / "sentence", *REFERENCE)
    for options in ((), ("--format", "text"), ("--tokens",)):
        same("embed", *model, *options, text, numbers=(1, 2, 3))
    for options in ((), ("--tokens",), ("--tokens", "--layer", "0")):
        one, out = folder / "one.npy", folder / "out.npy"
        run("embed", *model, *options, "-o", one, text)
        for n in (1, 3):
            ranks(n, COMMAND, "embed", *model, *options, "-o", out, text)
            assert out.read_bytes() == one.read_bytes(), (options, n)
    empty = folder / "empty"
    empty.write_text("")
    same("embed", *model, empty)


def test_lines_without_a_text_are_counted(folder):
    table = folder / "table.csv"
    table.write_text("a,b\n" + "".join(f"{i},{WORDS[i % 9]}\n" if i % 40 != 7 else f"{i}\n" for i in range(300)))
    model = ("-m", ENCODERS / "sentence", "-d", "reference")
    one = same("embed", *model, "--column", "b", table, code=1)
    assert "8 rows could not be used" in one.err, one
    assert "8 rows could not be used" in ranks(3, COMMAND, "embed", *model, "--column", "b", table, code=1).err
    pairs = folder / "pairs"
    pairs.write_text("".join(f"the cat{chr(9) if i % 50 else ' '}sat on a mat\n" for i in range(200)))
    for n, more in ((1, ()), (3, ()), (3, ("-q",))):
        said = ranks(n, COMMAND, "classify", "-m", ENCODERS / "classify", "-d", "reference", *more, "--pair", "-f", pairs, code=1).err
        assert "4 lines could not be used" in said, said
        for number in (1, 51, 101, 151):
            equal(said.count(f"line {number}: no TAB separates two texts"), 1, said)


def test_classify(folder):
    text = lines(folder, 300)
    same("classify", "-m", ENCODERS / "classify", *REFERENCE, "-k", "2", "-f", text)
    same("classify", "-m", ENCODERS / "classify", *REFERENCE, "--json", "-f", text)
    same("classify", "-m", ENCODERS / "tokens", *REFERENCE, "--json", "-f", text)
    same("classify", "-m", ENCODERS / "classify", *REFERENCE, "the cat", "a tall tree")


def test_translate(folder):
    text = lines(folder, 90)
    model = ("-m", TRANSLATOR, *REFERENCE)
    same("translate", *model, "-f", text)
    same("translate", *model, "--num-beams", "3", "--n-best", "2", "-f", text)
    # lines that are too long keep their numbers
    text.write_text(text.read_text() + " ".join(WORDS * 9) + "\n" + text.read_text())
    one = same("translate", *model, "--no-split", "-f", text, code=1)
    told = ranks(3, COMMAND, "translate", *model, "--no-split", "-f", text, code=1).err
    assert "line 91 has" in one.err and "line 91 has" in told and "1 of 181 lines have no translation" in told, (one, told)


def test_evaluate(folder):
    text = folder / "text"
    text.write_text((SOURCE / "README.md").read_text()[:260])
    same("evaluate", *REFERENCE, "--perplexity", text, "--window", "32", "--stride", "20", "-c", "32", but="time")
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"{line or 'a'}\t{(line or 'a').upper()}\n" for line in lines(folder, 60).read_text().splitlines()))
    assert "BLEU" in same("evaluate", "-m", TRANSLATOR, *REFERENCE, "--parallel", pairs).text
    text.write_text("the cat sat on a mat\na tall tree\n")
    for form in ((), ("--json",)):
        assert "exact" in same("evaluate", "-q", *form, "--hypotheses", text, "--references", text, numbers=(2, 3)).text
    table = folder / "table.csv"
    labels = run("classify", "-m", ENCODERS / "classify", *REFERENCE, "-f", lines(folder, 90)).text.splitlines()
    table.write_text("text,label\n" + "".join(f"{line},{labels[i // 2].split(chr(9))[0]}\n"
                                              for i, line in enumerate(lines(folder, 90).read_text().splitlines())))
    same("evaluate", "-m", ENCODERS / "classify", *REFERENCE, "--labelled", table)


def test_evaluate_words_and_answers(folder):
    """Rank 0 alone reads the file: rank 1 runs in a folder that has none."""
    for place in ("a", "b"):
        (folder / place).mkdir()
    path = folder / "a" / "words"
    path.write_text("".join(f"{word} {label}\n" if word else "\n" for i, line in enumerate(lines(folder, 200).read_text().splitlines()) if line
                            for word, label in (*((word, ("O", "B-PER", "I-PER", "MISC")[(i + len(word)) % 4]) for word in line.split()), ("", ""))))
    model = ("evaluate", "-m", ENCODERS / "tokens", *REFERENCE, "--words")
    for form in ((), ("--json",), ("-c", "6")):
        same(*model, path, *form, numbers=(2, 3))
    equal(in_two_folders(folder, *model, "words", code=0), [])
    expected = json.loads((GOLDEN / "answers" / "expected.json").read_text())
    asked = list(zip(expected["questions"], expected["contexts"])) * 3
    path = folder / "a" / "answers"
    path.write_text("".join(json.dumps({"question": question, "context": text, "answers": [text.split()[0] if i % 2 else "zebra"]}) + "\n"
                            for i, (question, text) in enumerate(asked)))
    model = ("evaluate", "-m", GOLDEN / "answers" / "word_piece", *REFERENCE, "--answers")
    for form in ((), ("--json",)):
        same(*model, path, *form, numbers=(2, 3))
    equal(in_two_folders(folder, *model, "answers", code=0), [])


def test_generate(folder):
    few = ("generate", *REFERENCE, "-n", "4", "--seed", "7")
    same(*few, "--temp", "0.9", "To be", "or not", "", "to be")
    same(*few, "To be")
    same(*few, "--json", "--logprobs", "2", "KING", "--ids", "1,2,3")
    same(*few, "--num-beams", "2", "--n-best", "2", "--echo", "To be", "or not")
    prompts = folder / "prompts"
    prompts.write_text("To be\n\nKING\nthe\nwhat\n")
    same(*few, "--lines", "-f", prompts)
    equal(run(*few, "--lines", "-f", prompts).text, run(*few, "To be", "", "KING", "the", "what").text)
    # a seed that is drawn is the same for all: greedy or not, the two prompts get the same text
    drawn = ranks(2, COMMAND, "generate", *REFERENCE, "-n", "6", "--temp", "2", *["KING"] * 4).text.split("---")
    equal(len({part for part in drawn[2::2] if part.strip()} - {drawn[-1]} | {drawn[-1] + "\n"}), 1, drawn)


def test_prompts_that_are_too_long_are_named(folder):
    few = ("generate", *REFERENCE, "-n", "4", "--seed", "7", "-c", "24", "--lines", "-f")
    prompts = ["To be", "KING", "", "the"] * 20
    path = folder / "prompts"
    for wrong in ([22], [0, 40, 41, 79], range(80)):
        path.write_text("".join(("KING " * 60 if i in wrong else prompt) + "\n" for i, prompt in enumerate(prompts)))
        one = same(*few, path, numbers=(2, 3), code=1)
        for said in (one.err, ranks(3, COMMAND, *few, path, code=1).err):
            assert f"{len(wrong)} of 80 lines have no continuation" in said, said
            for i in wrong:
                equal(said.count(f"line {i + 1}: the prompt has "), 1, said)
        results = json.loads(same(*few, path, "--json", code=1).text)
        equal(len(results), 80)
        for i, result in enumerate(results):
            equal(result["finish"] == "", i in wrong, i)
            assert i not in wrong or result == {"text": "", "finish": "", "tokens": []}, result
    # a prompt of the command line is an error of its own
    said = own_lines(ranks(2, COMMAND, "generate", *REFERENCE, "-n", "4", "--ids", "1", "--ids", "999999", "--ids", "2", code=None).err)
    assert said and all("prompt 2: token id 999999 is not in the model's vocabulary" in line for line in said), said


def test_each_rank_has_its_own_profile(folder):
    asked = ("generate", *REFERENCE, "--temp", "0", "-n", "2", "KING")
    path = folder / "profile.json"
    ranks(2, COMMAND, *asked, *SPLIT, f"--profile={path}")
    for file in (path, folder / "profile.json.rank1"):
        assert json.loads(file.read_text())[0]["launches"] > 0, file
    with apart(folder, 2, *asked, *SPLIT, "--profile") as process:
        process.communicate(timeout=600)
    codes, said = told(folder, 2)
    equal(codes, [0, 0], said)
    for rank, text in enumerate(said):
        assert f"profile of rank {rank}: device time by op and kernel\n" in text, text
    assert "profile: device time by op and kernel\n" in run(*asked, "--profile").err


def test_the_device(folder):
    text = lines(folder, 300)
    same("embed", "-m", ENCODERS / "sentence", "-d", DEVICE, "-q", "-t", "1", text)


def test_standard_input(folder):
    """Rank 0 reads it, and passes it on."""
    text = lines(folder, 200)
    command = [*MPIRUN, "-n", "2", str(COMMAND), "embed", "-m", str(ENCODERS / "sentence"), *REFERENCE]
    env = environment(TESSERA_TRANSPORT_PATH=str(PLUGIN.parent))
    with text.open("rb") as file:
        done = Result(subprocess.run(command, stdin=file, capture_output=True, env=env, timeout=120, check=False))
    equal(done.text, run(*command[command.index("embed"):], text).text)


def test_what_the_ranks_do_not_agree_on_is_named(folder):
    text = lines(folder, 20)
    first = ("embed", "-m", ENCODERS / "sentence", *REFERENCE, text)
    other = ("embed", "-m", ENCODERS / "sentence", *REFERENCE, "-c", "9", text)
    said = own_lines(ranks(1, COMMAND, *first, ":", "-n", "1", COMMAND, *other, code=REFUSED).err)
    assert said and all("--ctx-size differs: rank 0 on " in line and "has 9" in line for line in said), said
    other = ("embed", "-m", ENCODERS / "classify", *REFERENCE, text)
    said = own_lines(ranks(1, COMMAND, *first, ":", "-n", "1", COMMAND, *other, code=REFUSED).err)
    assert said and all("--model differs" in line for line in said), said
    host, generate, long = os.uname().nodename, ("generate", *REFERENCE, "-n", "1", "a"), "x" * 300
    for first, other, what in (
            ((*generate, "--stop", "a\nb"), (*generate, "--stop", "a\nc"), f'--stop differs: rank 0 on {host} has "a\\nb", rank 1 on {host} has "a\\nc";'),
            ((*generate, "--stop", "a b"), (*generate, "--stop", "a", "--stop", "b"), f'has "a b", rank 1 on {host} has "a" "b";'),
            ((*generate, "--stop", "none"), generate, f'has "none", rank 1 on {host} has none;'),
            ((*generate, "--stop", f"{long}a{long}"), (*generate, "--stop", f"{long}b{long}"), f'has ...{"x" * 80}a{"x" * 79}..., rank 1 on {host} has ...{"x" * 80}b'),
            (generate, ("embed", "-m", ENCODERS / "sentence", *REFERENCE, text), f"the command differs: rank 0 on {host} has generate, rank 1 on {host} has embed;"),
            (("train", text, "-o", folder / "out", "--recipe", "char-gpt", "-d", "reference"), generate,
             f"the command differs: rank 0 on {host} has train, rank 1 on {host} has generate;")):
        said = own_lines(ranks(1, COMMAND, *first, ":", "-n", "1", COMMAND, *other, code=REFUSED).err)
        assert said and all(what in line for line in said), (what, said)


HASH = "the model's hash (weights, adapters, config and tokenizer files)"


def other_weight(data):
    """A file of arrays whose first number is another."""
    at = 8 + struct.unpack("<Q", data[:8])[0]
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def test_files_that_differ_between_hosts_are_named(folder):
    """Two ranks run one command on files of the same names, one of which is another file for rank 1."""
    (folder / "b").mkdir()
    make_adapter(folder / "b" / "adapter", PLAY, ["transformer.h.0.attn.c_attn"], True)
    copy_model(PLAY, folder / "b" / "model")
    for name, text in (("g.gbnf", 'root ::= "a" | "b"'), ("s.json", '{"type": "integer"}'), ("t.jinja", "{{ messages[0].content }}"), ("tools.json", "[]"),
                       ("prompts", "To be\nKING\nthe\n")):
        (folder / "b" / name).write_text(text)
    shutil.copytree(folder / "b", folder / "a")
    few, chat = ("generate", *REFERENCE, "-n", "2", "--temp", "0", "--lines", "-f", "prompts"), ("--chat", "--chat-template", "t.jinja")
    for arguments in (("--lora", "adapter"), ("--grammar", "g.gbnf"), ("-m", "model"), chat):
        equal(in_two_folders(folder, *few, *arguments, code=0), [])  # the same files: no rank complains
    for name, other, arguments, what in (
            ("g.gbnf", b'root ::= "a" | "c"', ("--grammar", "g.gbnf"), "what is in the file of --grammar"),
            ("s.json", b'{"type": "boolean"}', ("--json-schema", "s.json"), "what is in the file of --json-schema"),
            ("t.jinja", b"{{ messages[0].content }}!", chat, "what is in the file of --chat-template"),
            ("tools.json", b'[{"a": 1}]', (*chat, "--tools", "tools.json"), "what is in the file of --tools"),
            ("adapter/adapter_model.safetensors", None, ("--lora", "adapter"), HASH),
            ("model/model.safetensors", None, ("-m", "model"), HASH),
            ("model/generation_config.json", b'{"repetition_penalty": 3.0}', ("-m", "model"), HASH)):
        file = folder / "b" / name
        held = file.read_bytes() if file.exists() else None
        file.write_bytes(other or other_weight(held))
        differs(in_two_folders(folder, *few, *arguments), what)
        file.unlink()
        if held is not None:
            file.write_bytes(held)


def test_modules_that_differ_between_hosts_are_named(folder):
    """The folder of the pooling has the name that modules.json gives it."""
    for place in (folder / "a", folder / "b"):
        model = place / "model"
        shutil.copytree(ENCODERS / "sentence", model)
        (model / "1_Pooling").rename(model / "pooling")
        modules = model / "modules.json"
        modules.write_text(modules.read_text().replace("1_Pooling", "pooling"))
        (place / "text").write_text("To be\n")
    embed, model = ("embed", "-m", "model", *REFERENCE, "text"), folder / "b" / "model"
    in_two_folders(folder, *embed, code=0)
    for name, other in (("pooling/config.json", lambda data: data + b"\n"), ("2_Dense/model.safetensors", other_weight)):
        held = (model / name).read_bytes()
        (model / name).write_bytes(other(held))
        differs(in_two_folders(folder, *embed), HASH)
        (model / name).write_bytes(held)


def test_rank_0_alone_shows_progress(folder):
    text = lines(folder, 6000)
    asked = ("embed", "-m", ENCODERS / "sentence", "-d", "reference", "-o", folder / "out.npy", text)
    for options, shown in (((), True), (("--progress", "none"), False), (("-q",), False)):
        begun = time.monotonic()
        told = [line for line in ranks(2, COMMAND, *asked, *options).err.splitlines() if line.startswith("tessera: embedding")]
        most = 1 + int((time.monotonic() - begun) / 5)  # a rank that shows progress prints a line at once, and then one in 5 seconds
        assert 1 <= len(told) <= most if shown else not told, (options, told)
    assert not [line for line in run(*asked).err.splitlines() if line.startswith("tessera: embedding")]  # to a pipe, of one process


def gone(folder, how, ends):
    """Three ranks embed, one gets a signal; what they say."""
    text = lines(folder, 20000)
    rank_goes_away(folder, how, 3, ends, text, "embed", "-m", ENCODERS / "sentence", "-d", "reference", "-o", folder / "out.npy", text)
    assert not (folder / "out.npy").exists()


def test_a_rank_that_is_killed_ends_all(folder):
    gone(folder, signal.SIGKILL, "gave no sign of life for 3 s")  # mpirun leaves the others alone here


def test_a_rank_that_is_stopped_ends_all(folder):
    gone(folder, signal.SIGSTOP, "gave no sign of life for 3 s")


def test_a_rank_that_loses_its_device_ends_all(folder):
    if DEVICE == "reference":
        print("       SKIP: the layer that fails is one of OpenCL")
        return
    text = lines(folder, 4000)
    for split in ((), SPLIT):
        place = folder / f"place{len(split)}"
        place.mkdir()
        out = place / "out.npy"
        loses_device(place, out, (0.1, 0.3), "embed", "-m", ENCODERS / "sentence", "-d", DEVICE, "-q", "-t", "1", "-o", out, text, *split)
        equal(running(text), [])
        assert not out.exists()


def test_a_rank_that_fails_ends_all(folder):
    """A missing file is rank 0's own error; the others say whose it was, and what it said."""
    with apart(folder, 3, "embed", "-m", ENCODERS / "sentence", *REFERENCE, folder / "none") as process:
        process.communicate(timeout=600)
    codes, said = told(folder, 3)
    equal(codes, [3, 5, 5], said)
    own = own_lines(said[0])[0].removeprefix("tessera: ")
    assert "none: " in own, said
    for text in said[1:]:
        equal(own_lines(text), [f"tessera: rank 0 on {os.uname().nodename} ended: {own}"])


def test_a_reader_that_leaves_ends_all(folder):
    text = lines(folder, 3000)
    command = [*MPIRUN, "-n", "2", str(COMMAND), "classify", "-m", str(ENCODERS / "classify"), *REFERENCE, "-f", str(text)]
    env = environment(TESSERA_TRANSPORT_PATH=str(PLUGIN.parent))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        process.stdout.readline()
        process.stdout.close()
        process.wait(timeout=60)
        said = own_lines(process.stderr.read().decode())
    equal([line for line in said if "stopped by SIG" not in line], [])  # mpirun ends them, too


need_mpi()
main(globals())

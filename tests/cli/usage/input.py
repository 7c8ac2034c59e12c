#!/usr/bin/env python3
"""What a command reads: "-" is standard input or is refused; results appear while lines still arrive; text that is not UTF-8 is converted or reported."""

import os
import pty
import re
import select
import signal
import subprocess
import time

from support.command import COMMAND, GOLDEN, PATIENCE, PLAY, SOURCE, environment, equal, main, refused, run, slowness
from support.ranker import cross_encoder

REFERENCE = ("-d", "reference", "-q")
ENCODERS = SOURCE / "tests" / "golden" / "encoders"
TINY = GOLDEN / "gpt2-tiny"
TRANSLATE = ("translate", *REFERENCE, "-m", PLAY.parent / "translate-de-en", "-n", "2")
# Each command with "-" in place of a text or file, its standard input, and the arguments that must give the same output, or None.
READS = {
    "generate": [(("generate", *REFERENCE, "-m", PLAY, "-n", "2", "--temp", "0", *given), "KING", ("generate", *REFERENCE, "-m", PLAY, "-n", "2", "--temp", "0", "KING"))
                 for given in (("-",), ("-p", "-"), ("-f", "-"))],
    "translate": [((*TRANSLATE, *given), "ja\n", (*TRANSLATE, "ja")) for given in (("-",), ("-f", "-"))],
    "embed": [(("embed", *REFERENCE, "-m", ENCODERS / "sentence", "-"), "anna\n", None)],
    "search": [], "rerank": [],  # tested below, because they need an index, and a model
    "cluster": [(("cluster", *REFERENCE, "-m", ENCODERS / "sentence", "-k", "1", "-"), "anna\n", None)],
    "classify": [(("classify", *REFERENCE, "-m", ENCODERS / "classify", *given), "anna\n", ("classify", *REFERENCE, "-m", ENCODERS / "classify", "anna"))
                 for given in (("-",), ("-f", "-"))],
    "answer": [(("answer", *REFERENCE, "-m", SOURCE / "tests/golden/answers/byte_level", "who?", "-"), "anna lives\n", None)],
    "fill-mask": [(("fill-mask", *REFERENCE, "-m", ENCODERS / "masked", *given), "anna [MASK]\n",
                   ("fill-mask", *REFERENCE, "-m", ENCODERS / "masked", "anna [MASK]")) for given in (("-",), ("-f", "-"))],
    "tokenize": [(("tokenize", "-m", PLAY, "-"), "KING\n", ("tokenize", "-m", PLAY))],
    "attention": [(("attention", *REFERENCE, "-m", PLAY, "--format", "text", "-"), "KING\n", ("attention", *REFERENCE, "-m", PLAY, "--format", "text", "KING"))],
    "evaluate": [(("evaluate", *REFERENCE, "-m", PLAY, "--perplexity", "-"), "KING of all\n", None)],
    "dump": [], "chat": [], "serve": [], "models": [], "tokenizer": [], "info": [], "devices": [], "verify": [], "explain": [], "bench": [], "plot": [], "train": [], "merge": [],
    "quantize": [], "tune": [], "kernels": [], "cache": [], "completion": [],
}
# Where "-" is an operand: how it is refused.
REFUSED = {"tokenizer": ("tokenizer", "train", "-o", "x.json", "-"), "models": ("models", "-"), "info": ("info", "-"), "devices": ("devices", "-"), "verify": ("verify", "-"),
           "explain": ("explain", "-"), "bench": ("bench", "-"), "plot": ("plot", "-", "-o", "x.html"), "train": ("train", "-", "-o", "x"),
           "merge": ("merge", "-", "--lora", "x", "-o", "y"), "quantize": ("quantize", "-", "-o", "y"), "tune": ("tune", "-"),
           "kernels": ("kernels", "export", "-", "-o", "x"), "cache": ("cache", "-"), "completion": ("completion", "-"), "chat": ("chat", "-"), "serve": ("serve", "-"), "dump": ("dump", "-"), "rerank": ("rerank", "-m", "x", "-"), "evaluate": ("evaluate", "-")}


def commands():
    return re.findall(r"^  ([a-z-]+) ", run("help").text.split("\n\n")[2], re.M)


def test_dash_is_standard_input_or_refused(folder):
    equal(sorted(commands()), sorted(READS), "commands that this test must know")
    for arguments, given, same in (case for cases in READS.values() for case in cases):
        told = run(*arguments, given=given)
        assert told.out, arguments
        if same:
            equal(told.out, run(*same, given=given).out, arguments)
    for name, arguments in REFUSED.items():
        refused({"info": 2, "quantize": 2}.get(name, 2), "-", *arguments, given="text\n", cwd=folder)
    equal(list(folder.iterdir()), [], "what a refused command left")


def test_dash_for_a_file_of_an_option(folder):
    """Every option whose value is a file, a folder or a model either reads standard input, and its help says so, or refuses "-"."""
    seen = 0
    for name in commands():
        for line in run("help", name).text.splitlines():
            option = re.match(r"^  (?:-(.), |    )--([a-z-]+)[ =\[]+((?:FILE|FOLDER|MODEL|OUT|NAME\|FILE|E\.npy)\S*) +(.*)", line)
            if not option or "standard input" in option[4] or "[=" in line:
                continue
            verb = (name, "train") if name == "tokenizer" else (name, "export") if name == "kernels" else (name,)
            refused(2, f"--{option[2]} -: ", *verb, f"--{option[2]}", "-", cwd=folder)
            seen += 1
    assert seen > 40, seen


def test_dash_of_texts_to_rank(folder):
    ranker = ("rerank", *REFERENCE, "-m", cross_encoder(folder / "cross"), "where is anna")
    for given in ((), ("-",), ("-f", "-")):
        equal(run(*ranker, *given, given="anna\n").out, run(*ranker, "anna").out, given)


def test_dash_of_a_question_and_beside_texts(folder):
    model, index = ENCODERS / "sentence", folder / "e.npy"
    (folder / "lines").write_text("anna\nbob\n")
    run("embed", *REFERENCE, "-m", model, "-o", index, folder / "lines")
    search = ("search", *REFERENCE, "-m", model, "--index", index)
    equal(run(*search, "-", given="bob\n").out, run(*search, "bob").out)
    refused(2, "read once", *search, "-", "--lines", "-", given="bob\n")
    refused(2, "beside other texts", "classify", *REFERENCE, "-m", ENCODERS / "classify", "anna", "-", given="bob\n")
    refused(2, "read once", "generate", *REFERENCE, "-m", PLAY, "-", "-f", "-", given="bob\n")
    dump = run("dump", *REFERENCE, "-m", PLAY, "--text", "-", "-o", folder / "d", given="KING\n")
    run("dump", *REFERENCE, "-m", PLAY, "--text", "KING", "-o", folder / "e")
    equal((folder / "d").read_bytes(), (folder / "e").read_bytes(), dump)


def test_a_text_that_names_a_file(folder):
    """It is a text, but perhaps its lines were meant: that is said, even with -q, and the exit code stays."""
    (folder / "lines.txt").write_text("ja\n")
    for command in (("translate", *TRANSLATE[1:]), ("classify", *REFERENCE, "-m", ENCODERS / "classify"),
                    ("generate", *REFERENCE, "-m", PLAY, "-n", "1")):
        told = run(*command, "-q", "lines.txt", cwd=folder).err
        equal(told, 'tessera: "lines.txt" is taken as a text, but is also the name of a file: -f lines.txt reads it\n', command)
        equal(run(*command, "-q", "lines", cwd=folder).err, "", command)
        equal(run(*command, "-q", folder, cwd=folder).err, "", "a folder's name says nothing")


# ---- as they come ----

LINES = {"embed": (("embed", *REFERENCE, "-m", ENCODERS / "sentence"), "anna"), "classify": (("classify", *REFERENCE, "-m", ENCODERS / "classify"), "anna"),
         "fill-mask": (("fill-mask", *REFERENCE, "-m", ENCODERS / "masked", "--json"), "anna [MASK]"), "tokenize": (("tokenize", "-m", PLAY), "KING"),
         "translate": (TRANSLATE, "ja")}


def begin(arguments):
    return subprocess.Popen([COMMAND, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())


def comes(process, seconds=60):
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    assert ready, f"nothing came within {seconds} s"
    return os.read(process.stdout.fileno(), 1 << 16)


def test_each_line_of_a_slow_pipe_is_answered(_):
    for arguments, text in LINES.values():
        process = begin(arguments)
        answers = []
        for i in range(3):  # half a line after the first line must not delay the first result
            process.stdin.write((text + "\n" + text[:2] if i == 0 else text[2:] + "\n" if i == 1 else text + "\n").encode())
            process.stdin.flush()
            answers.append(comes(process))
        out, err = process.communicate(timeout=PATIENCE)
        equal((process.returncode, out), (0, b""), err)
        assert all(answer.endswith(b"\n") for answer in answers), answers
        equal(len({re.sub(rb'"line":\d+', b"", answer) for answer in answers}), 1, arguments)


def test_many_lines_are_answered_before_the_last(folder):
    """Long texts take a minute on the reference: the first results must appear at once, and an interrupt must leave whole lines."""
    (folder / "many").write_text(("anna " * 60 + "\n") * 20000)
    for name in ("embed", "classify", "fill-mask"):
        arguments = (*LINES[name][0], *(("-f",) if name != "embed" else ()), folder / "many")
        if name == "fill-mask":
            (folder / "many").write_text(("anna " * 20 + "[MASK]\n") * 20000)
        begun = time.monotonic()
        process = begin(arguments)
        first = comes(process, 20)
        took = time.monotonic() - begun
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        equal(process.returncode, 130, (name, err))
        out = first + out
        assert out.endswith(b"\n") and 0 < out.count(b"\n") < 1000, (name, out.count(b"\n"))
        assert took < 10 * slowness(), f"{name}: the first answer took {took:.1f} s"


def test_answers_do_not_hang_on_windows(folder):
    """The output is the same however the input is divided into windows: a whole file at once, or a pipe one line at a time."""
    texts = [f"{'anna bob ' * (1 + i % 7)}\n" for i in range(200)]
    for arguments, _ in (LINES["embed"], LINES["classify"]):
        whole = run(*arguments, given="".join(texts)).out
        process = begin(arguments)
        for text in texts:
            process.stdin.write(text.encode())
            process.stdin.flush()
            time.sleep(0.001)
        equal(process.communicate(timeout=PATIENCE)[0], whole, arguments)


# ---- names ----


def test_names_that_are_not_utf8(folder):
    """Files may have any name; a page shows it with question marks, and run.json can't hold it."""
    model, text, log = (folder / os.fsdecode(name) for name in (b"m\xe9del", b"t\xe0\x80\xa8xt", b"l\xed\xa0\x80g"))
    model.symlink_to(PLAY)
    text.write_text("KING of all\n" * 50)
    log.write_text('{"step": 1, "loss": 1}\n')
    run("attention", *REFERENCE, "-m", model, "-o", folder / "a.html", "KING")
    run("plot", log, "-o", folder / "p.html")
    equal([name in (folder / page).read_text() for page, name in (("a.html", "m?del"), ("p.html", "l???g"))], [True, True])
    refused(2, "is not UTF-8, which run.json can't keep", "train", text, *REFERENCE, "--recipe", "char-gpt", "-o", folder / "out")
    refused(2, "is not UTF-8, which run.json can't keep", "train", log, *REFERENCE, "--model", model, "-o", folder / "out")
    equal((folder / "out").exists(), False)


# ---- encodings ----

GERMAN = "schöne Grüße\nGröße\n"


def test_encodings(_):
    wanted = run("tokenize", "-m", PLAY, given=GERMAN).out
    for encoding, names in {"latin-1": ("latin-1", "latin1", "ISO-8859-1", "windows-1252"), "utf-16-le": ("utf-16le", "UTF-16LE"),
                            "utf-16-be": ("utf-16be",), "utf-8": ("utf-8", "UTF8"), "utf-32-le": ("utf-32le",)}.items():
        for name in names:
            told = run("tokenize", "-m", PLAY, "--encoding", name, given=GERMAN.encode(encoding))
            equal((told.out, told.err), (wanted, ""), name)
    refused(2, "--encoding klingon: the C library does not know this encoding", "tokenize", "-m", PLAY, "--encoding", "klingon", given=GERMAN)


def test_byte_order_marks(_):
    wanted = run("tokenize", "-m", PLAY, given=GERMAN).out
    for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        told = run("tokenize", "-m", PLAY, given=("\ufeff" + GERMAN).encode(encoding))
        equal(told.out, wanted, encoding)
        equal("byte-order mark" in told.err, encoding != "utf-8", told.err)
        hyphened = encoding.replace("-le", "le").replace("-be", "be")
        for name in hyphened, hyphened.replace("-", ""):
            told = run("tokenize", "-m", PLAY, "--encoding", name, given=("\ufeff" + GERMAN).encode(encoding))
            equal((told.out, told.err), (wanted, ""), name)
    equal(run("tokenize", "-m", PLAY, given=b"\xef\xbb\xbf").out, b"")
    big = ("ö" * 70001 + "\n") * 3  # characters lie across the boundaries of the blocks that are read
    equal(run("tokenize", "-m", PLAY, given=("\ufeff" + big).encode("utf-16-le")).out, run("tokenize", "-m", PLAY, given=big).out)
    process = begin(("tokenize", "-m", PLAY))
    for byte in ("\ufeff" + GERMAN).encode("utf-16-le"):  # a byte-order mark and characters that arrive one byte at a time
        process.stdin.write(bytes([byte]))
        process.stdin.flush()
        time.sleep(0.002)
    equal(process.communicate(timeout=PATIENCE)[0], wanted)


def test_wrong_bytes_of_an_encoding(_):
    told = run("tokenize", "-m", PLAY, "--encoding", "utf-16le", given="ok\n".encode("utf-16-le") + b"\x00\xdcA\0\n\0" + b"x")
    assert "line 2: byte 0x00 is not utf-16le" in told.err, told.err
    equal(told.out, run("tokenize", "-m", PLAY, given="ok\n\ufffdA\n\ufffd").out)


def test_lines_that_are_not_utf8_are_told(_):
    given = b"KING [MASK]\n" + b"Gr\xf6\xdfe [MASK]\n" * 5 + b"KING [MASK]\n"
    for arguments, _ in LINES.values():
        told = run(*arguments, given=given, code=1)
        said = [line for line in told.err.splitlines() if "UTF-8" in line]
        equal([re.match(r"tessera: standard input: (line \d|\d of \d)", line)[1] for line in said], ["line 2", "line 3", "line 4", "5 of 7"], told.err)
        assert "(byte 0xf6): give its encoding with --encoding (windows-1252, latin-1," in said[0], said
        if arguments != TRANSLATE:  # translating takes seconds
            equal(run(*arguments, "--encoding", "utf-8", given=given).out, told.out, arguments)
            equal(run(*arguments, "--encoding", "latin-1", given=given).out, run(*arguments, given=given.decode("latin-1")).out, arguments)


def test_what_utf8_is(_):
    """Surrogates, overlong encodings, code points that are too large, and incomplete characters are reported; complete characters are not."""
    for bad in (b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"\x80",
                b"\xe2\x82", b"\xc3"):
        told = run("tokenize", "-m", PLAY, given=b"KING\n" + bad + b"\n", code=1)
        assert f"line 2 is not UTF-8 (byte 0x{bad[0]:02x})" in told.err, (bad, told.err)
    good = "\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff\n"
    equal(run("tokenize", "-m", PLAY, given=good).err, "")


def test_the_last_line_end(folder):
    """The last line end of standard input is not part of the prompt; a file is taken as it is."""
    (folder / "prompt").write_text("KING\n")
    generate = ("generate", *REFERENCE, "-m", PLAY, "-n", "1", "--temp", "0", "--echo")
    assert run(*generate, "-f", folder / "prompt").text.startswith("KING\n")
    for given, text in ("KING\n", "KING"), ("KING\r\n", "KING"), ("KING\n\n", "KING\n"):
        for source in ((), ("-",), ("-f", "-")):
            equal(run(*generate, *source, "--print-ids", given=given).out, run(*generate, "-p", text, "--print-ids").out, (given, source))
    assert run(*generate, "-f", folder / "prompt", "--print-ids").out != run(*generate, "-p", "KING", "--print-ids").out


def test_a_column_that_is_not_utf8(folder):
    (folder / "table.csv").write_bytes(b"n,text\n1,KING\n2,Gr\xf6\xdfe\n3,anna\n")
    told = run("embed", "-m", GOLDEN.parent / "encoders" / "sentence", *REFERENCE, "--column", "text", folder / "table.csv", "-o", folder / "out.npy", code=1)
    assert "row 2 is not UTF-8 (byte 0xf6)" in told.err and "1 of 3 rows" in told.err, told.err
    run("embed", "-m", GOLDEN.parent / "encoders" / "sentence", *REFERENCE, "--column", "text", "--encoding", "latin-1", folder / "table.csv", "-o", folder / "out2.npy")


def test_one_text_that_is_not_utf8_is_refused(folder):
    bad = folder / "bad"
    bad.write_bytes(b"KING\nGr\xf6\xdfe\n")
    fragment = "line 2 is not UTF-8 (byte 0xf6): give its encoding with --encoding"
    for arguments in (("generate", "-m", PLAY, "-n", "1", "--temp", "0", "-f"), ("evaluate", "-m", PLAY, "--perplexity"),
                      ("evaluate", "--references", bad, "--hypotheses")):
        refused(3, fragment, *arguments[:1], *(REFERENCE if "generate" in arguments else ()), *arguments[1:], bad)
    refused(3, fragment, "attention", *REFERENCE, "-m", PLAY, "--format", "text", given=bad.read_bytes())
    run("generate", *REFERENCE, "-m", PLAY, "-n", "1", "-f", bad, "--encoding", "latin-1")
    run("generate", *REFERENCE, "-m", PLAY, "-n", "1", "-f", bad, "--encoding", "utf-8")
    run("attention", *REFERENCE, "-m", PLAY, "--format", "text", "--encoding", "latin-1", given=bad.read_bytes())


def test_data_of_training_that_is_not_utf8(folder):
    for encoded, place in ((GERMAN.encode("latin-1"), "line 1"), (GERMAN.encode("utf-16"), "line 1"), (b"KING\n" + GERMAN.encode("latin-1"), "line 2")):
        (folder / "data.txt").write_bytes(encoded)
        told = refused(3, "data.txt", "train", "-d", "reference", folder / "data.txt", "-o", folder / "out", "--recipe", "char-gpt", lines=None)
        assert place in told.err and "iconv -f" in told.err, told.err


def test_a_terminal_is_told(_):
    own, other = pty.openpty()
    with subprocess.Popen([COMMAND, "tokenize", "-m", str(PLAY)], stdin=other, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        os.close(other)
        os.write(own, b"KING\n\x04")
        out, err = process.communicate(timeout=60)
        equal((process.returncode, err), (0, b"tessera: reading from the terminal; end with Ctrl-D\n"))
        equal(out, run("tokenize", "-m", PLAY, given="KING\n").out)
    os.close(own)


main(globals())

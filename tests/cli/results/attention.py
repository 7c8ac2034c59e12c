#!/usr/bin/env python3
"""tessera attention: the numbers in the page and in the tables are those of tessera dump, for a decoder, an encoder and an
encoder-decoder; the page is one file of at most 5 MB that requests nothing from the network, and a browser draws it."""

import json
import os
import random
import re
import shutil
import subprocess

from support.command import GOLDEN, PLAY, change_json, copy_model, equal, main, read_safetensors, refused, run
from support.shares import unpack
from support.words import WORDS, ids, model, tokenizer

REFERENCE = ("-d", "reference", "-q")


def page(path):
    text = path.read_text()
    assert len(path.read_bytes()) <= 5_000_000
    assert not re.search(r"https?:|src=|@import|url\(", text), "the page requests something from outside"
    equal(text.count("</script>"), 2, "a text must not end the script")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))


def shares(data, kind):
    """T x S shares for each [layer][head]."""
    (m,) = [m for m in data["maps"] if m["kind"] == kind]
    T, S, H = len(data["tokens"][m["queries"]]), len(data["tokens"][m["keys"]]), len(m["heads"])
    maps = unpack(m["weights"], len(m["layers"]) * H, T, S, kind == "causal")
    return m, [maps[l * H:(l + 1) * H] for l in range(len(m["layers"]))]


def same_as_dump(data, kind, held, prefix):
    m, got = shares(data, kind)
    for l, number in enumerate(m["layers"]):
        shape, values = held[f"{prefix}.{number}"]
        size = shape[2] * shape[3]
        for h, head in enumerate(m["heads"]):
            wanted = values[head * size:(head + 1) * size]
            equal(len(got[l][h]), size, f"{kind}: layer {number}, head {head}")
            for row in range(0, size, shape[3]):  # the error of a share is relative to the largest of its row
                pairs = list(zip(got[l][h][row:row + shape[3]], wanted[row:row + shape[3]]))
                bound = max(b for _, b in pairs) * (0.5 / 255 + 1e-6) + 1 / 65535
                worst = max(abs(a - b) for a, b in pairs)
                assert worst <= bound, f"{kind}, layer {number}, head {h}: off by {worst}; the bound is {bound}"


def texts(data, side):
    return [t["text"] for t in data["tokens"][side]]


def test_a_decoder(folder):
    run("attention", *REFERENCE, "-m", PLAY, "ROMEO: Café", "-o", folder / "p.html")
    data = page(folder / "p.html")
    words = texts(data, "text")
    equal("".join(w for w in words if w != "…"), "ROMEO: Café")
    assert "…" in words and words[words.index("…") + 1] == "é", words
    m, got = shares(data, "causal")
    equal((m["layers"], m["heads"]), (list(range(6)), list(range(6))))
    T = len(words)
    for layer in got:
        for head in layer:
            for t in range(T):
                equal(head[t * T + t + 1:(t + 1) * T], [0] * (T - 1 - t), "later words must be masked")
                assert abs(sum(head[t * T:(t + 1) * T]) - 1) <= T * 0.5 / 255 + 1e-6
    encoded = run("tokenize", "-q", "-m", PLAY, given="ROMEO: Café\n").text.split()
    run("dump", *REFERENCE, "-m", PLAY, "--ids", ",".join(encoded), "--attention", "-o", folder / "o.safetensors")
    same_as_dump(data, "causal", read_safetensors(folder / "o.safetensors"), "attn")


def test_layers_and_heads(folder):
    run("attention", *REFERENCE, "-m", PLAY, "to be or not", "--layers", "2-4", "--heads", "5", "-o", folder / "p.html")
    run("attention", *REFERENCE, "-m", PLAY, "to be or not", "-o", folder / "all.html")
    part, got = shares(page(folder / "p.html"), "causal")
    _, whole = shares(page(folder / "all.html"), "causal")
    equal((part["layers"], part["heads"]), ([2, 3, 4], [5]))
    equal(got, [[layer[5]] for layer in whole[2:5]])
    for range_, fragment in (("6", "layers 0 to 5"), ("4-6", "layers 0 to 5"), ("3-2", "A is at most B"), ("x", "A or A-B"), ("1-", "A or A-B"), ("-1", "A or A-B"),
                             ("", "A or A-B"), ("99999999999999999999", "A or A-B")):
        refused(2, fragment, "attention", *REFERENCE, "-m", PLAY, "a", f"--layers={range_}", "-o", folder / "q.html")
    assert not (folder / "q.html").exists()


def test_an_encoder(folder):
    encoder, _ = model(folder, "bert-tiny/pre")
    text = "write a poem about the sea </script><b>&"
    run("attention", *REFERENCE, "-m", encoder, text, "-o", folder / "p.html")
    data = page(folder / "p.html")
    equal([w.strip() for w in texts(data, "text")], text.split())
    run("dump", *REFERENCE, "-m", encoder, "--ids", ",".join(map(str, ids(text))), "--attention", "-o", folder / "o.safetensors")
    same_as_dump(data, "self", read_safetensors(folder / "o.safetensors"), "attn")
    refused(2, "only a model with an encoder and a decoder", "attention", *REFERENCE, "-m", encoder, text, "--target-text", "a", "-o", folder / "q.html")


def test_an_encoder_decoder(folder):
    translator, config = model(folder, "pegasus")
    source, target = "das Haus ist", "the sea a poem"
    run("attention", *REFERENCE, "-m", translator, source, "--target-text", target, "-o", folder / "p.html")
    data = page(folder / "p.html")
    equal([m["kind"] for m in data["maps"]], ["cross", "self", "causal"])
    equal([w.strip() for w in texts(data, "source")][:3], source.split())
    equal([w.strip() for w in texts(data, "target")][1:], target.split())
    given = [config["decoder_start_token_id"], *ids(target)]
    run("dump", *REFERENCE, "-m", translator, "--ids", ",".join(map(str, [*ids(source), config["eos_token_id"]])), "--decoder-ids", ",".join(map(str, given)),
        "--attention", "-o", folder / "o.safetensors")
    held = read_safetensors(folder / "o.safetensors")
    same_as_dump(data, "cross", held, "cross.attn")
    same_as_dump(data, "self", held, "enc.attn")
    same_as_dump(data, "causal", held, "dec.attn")


def test_additive_attention(folder):
    """Bahdanau's model: recurrent layers have no attention of their own, so there is only the target's attention to the source."""
    translator, config = model(folder, "bahdanau-wide")
    source, target = "das Haus ist", "the sea a poem"
    run("attention", *REFERENCE, "-m", translator, source, "--target-text", target, "-o", folder / "p.html")
    data = page(folder / "p.html")
    equal([(m["kind"], m["layers"], m["heads"]) for m in data["maps"]], [("cross", [0], [0])])
    read = [t["text"].strip() for t in data["tokens"]["source"]]
    run("dump", *REFERENCE, "-m", translator, "--ids", ",".join(map(str, [*ids(source), *([config["eos_token_id"]] if len(read) > 3 else [])])), "--decoder-ids",
        ",".join(map(str, [config["bos_token_id"], *ids(target)])), "--attention", "-o", folder / "o.safetensors")
    (wanted,) = [values for name, (_, values) in read_safetensors(folder / "o.safetensors").items() if "attn" in name]
    _, (((got,),)) = shares(data, "cross")
    (head,) = [got] if isinstance(got[0], float) else got
    equal(len(head), len(wanted))
    assert max(abs(a - b) for a, b in zip(head, wanted)) <= 0.5 / 255 + 1e-6


def test_a_generated_target(folder):
    translator, _ = model(folder, "pegasus")
    run("attention", *REFERENCE, "-m", translator, "das Haus ist", "-n", "6", "-o", folder / "p.html")
    target = page(folder / "p.html")["tokens"]["target"]
    assert 2 <= len(target) <= 7, target
    told = run("attention", *REFERENCE, "-m", translator, "das Haus ist", "-n", "6", "--format", "text").text
    equal([line.split(",")[0] for line in told.split("\n") if ", percent; " in line],
          ["target to source", "source to itself", "target to what came before"])


def test_the_table(folder):
    text = "ROMEO: to be"
    told = run("attention", *REFERENCE, "-m", PLAY, text, "--format", "text", "--layers", "1", "--heads", "2").text.split("\n")
    equal(told[0], "text to what came before, percent; layer 1, head 2")
    run("attention", *REFERENCE, "-m", PLAY, text, "--layers", "1", "--heads", "2", "-o", folder / "p.html")
    data = page(folder / "p.html")
    words, (_, ((head,),)) = [w.strip() for w in texts(data, "text")], shares(data, "causal")
    equal(told[1].split(), words)
    for t, line in enumerate(told[2:2 + len(words)]):
        equal(line[:16].strip(), words[t])
        for s, x in enumerate(map(float, line[16:].split())):
            assert abs(x / 100 - head[t * len(words) + s]) <= 0.5 / 255 + 0.0005 + 1e-6, line
    equal(run("attention", *REFERENCE, "-m", PLAY, "--format", "text", "--layers", "1", "--heads", "2", given=text + "\n").text.split("\n"), told, "from standard input")


def test_five_megabytes(folder):
    llama = copy_model(GOLDEN / "llama-tiny", folder / "m")
    change_json(llama / "config.json", max_position_embeddings=2048)
    tokenizer(llama, None, None)
    words = random.Random(1)
    text = " ".join(words.choice(WORDS[:16]) for _ in range(1780))
    refused(2, "ask for 1 of its 2 layers (--layers A-B)", "attention", *REFERENCE, "-m", llama, text, "-o", folder / "p.html")
    assert not (folder / "p.html").exists()
    run("attention", *REFERENCE, "-m", llama, text, "--layers", "1", "-o", folder / "p.html")
    equal(len(page(folder / "p.html")["tokens"]["text"]), 1780)


LONG = """ROMEO: But soft, what light through yonder window breaks? It is the east, and Juliet is the sun. Arise, fair sun, and kill the envious moon, who is
already sick and pale with grief, that thou her maid art far more fair than she. Be not her maid, since she is envious; her vestal livery is but sick and green
and none but fools do wear it; cast it off. It is my lady, O, it is my love! O, that she knew she were! She speaks yet she says nothing: what of that? Her eye
discourses; I will answer it. I am too bold, 'tis not to me she speaks: two of the fairest stars in all the heaven, having some business, do entreat her eyes."""


def test_a_long_text_is_a_small_page(folder):
    """36 maps of some 240 words take less than a byte and a half per visible share, and keep the largest share of each row."""
    run("attention", *REFERENCE, "-m", PLAY, LONG, "-o", folder / "p.html")
    data = page(folder / "p.html")
    T = len(data["tokens"]["text"])
    assert T > 230, T
    size = (folder / "p.html").stat().st_size
    assert size < 1_150_000, size
    run("attention", *REFERENCE, "-m", PLAY, LONG, "--layers", "3", "--heads", "2", "-o", folder / "p.html")
    data = page(folder / "p.html")
    run("dump", *REFERENCE, "-m", PLAY, "--text", LONG, "--attention", "-o", folder / "o.safetensors")
    same_as_dump(data, "causal", read_safetensors(folder / "o.safetensors"), "attn")


def test_refused(folder):
    target = folder / "p.html"
    for arguments, fragment in ((("a", "b", "-o", target), "one text"), (("a",), "give -o FILE.html"), (("a", "--format", "text", "-o", target), "-o is for the page"),
                                (("a", "--format", "png", "-o", target), "html or text"), (("", "-o", target), "empty"),
                                (("a", "--target-text", "b", "-o", target), "an encoder and a decoder"), (("xyzzy " * 400, "-o", target), "the model reads 512")):
        refused(2, fragment, "attention", *REFERENCE, "-m", PLAY, *arguments)
    refused(3, "none", "attention", *REFERENCE, "-m", PLAY, "a", "-o", folder / "none" / "p.html")
    refused(3, "tokenizer", "attention", *REFERENCE, "-m", GOLDEN / "gpt2-tiny", "a", "-o", target)
    assert not target.exists()


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NO_BROWSER = "SKIP: no browser to draw the page of tessera attention (Debian: apt-get install chromium)"
if os.environ.get("TESSERA_SANITIZE_FLAGS") and os.environ.get("TESSERA_TEST_CASES") != "all":
    BROWSER, NO_BROWSER = None, "SKIP: sanitizers don't see what a browser does; the same page is drawn without them"


# Appended to a page: writes into its title how much of the large map is drawn.
COUNT = """<script>
const c = at("map"), seen = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, paper = getComputedStyle(document.body).backgroundColor.match(/\\d+/g);
let inked = 0;
for (let i = 0; i < seen.length; i += 4) inked += seen[i + 3] > 0 && [0, 1, 2].reduce((sum, k) => sum + Math.abs(seen[i + k] - paper[k]), 0) > 60;
document.title = `inked ${(4 * inked / seen.length).toFixed(3)} on ${paper}`;
</script>"""


def drawn(folder, name, dark):
    return subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'browser'}", "--virtual-time-budget=5000",
                           f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom", f"file://{folder}/{name}"],
                          capture_output=True, text=True, check=False).stdout


def test_a_long_text_is_seen(folder):
    """In light and dark colours, at least a sixth of the map of a long text is inked; half of the map is masked."""
    if not BROWSER:
        print(NO_BROWSER)
        return
    run("attention", *REFERENCE, "-m", PLAY, LONG, "--layers", "0", "--heads", "2", "-o", folder / "p.html")
    (folder / "p.html").write_text((folder / "p.html").read_text().replace("</body>", COUNT + "</body>"))
    for dark, paper in ((False, "255,255,255"), (True, "13,17,23")):
        told = re.search(r"<title>inked ([0-9.]+) on ([0-9,]+)</title>", drawn(folder, "p.html", dark))
        equal(told and told[2], paper, dark)
        assert float(told[1]) > 1 / 6, (dark, told[0])


def test_a_browser_draws_it(folder):
    if not BROWSER:
        print(NO_BROWSER)
        return
    run("attention", *REFERENCE, "-m", PLAY, "ROMEO: to be", "-o", folder / "p.html")
    data = page(folder / "p.html")
    words, (_, got) = [w.strip() for w in texts(data, "text")], shares(data, "causal")
    told = drawn(folder, "p.html#causal/2/3/2", False)
    shown = re.findall(r'<button type="button" class="word[^>]*aria-pressed="(\w+)" aria-label="([^"]*)"', told)
    equal([pressed for pressed, _ in shown], ["true" if i == 2 else "false" for i in range(len(words))], told[-3000:])
    row = got[2][3][2 * len(words):3 * len(words)]
    equal([label.split(", ")[-1] for _, label in shown[:3]], [f"{round(100 * x)}%" if round(100 * x) else "<1%" if x else "0%" for x in row[:3]])
    equal([label for _, label in shown[3:]], words[3:], "later words must have no share")
    equal(told.count("<canvas"), 1 + 36, "one map for each layer and head, and the large one")


main(globals())

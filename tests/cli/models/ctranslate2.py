#!/usr/bin/env python3
"""CTranslate2 folders through the commands: a published model gives the results published with it, greedily and by beam search; each kind of
folder works with the commands for its kind of model."""

import json
import shutil
import struct

from support.command import DEVICE, SHARED, SOURCE, equal, has_device, larger, main, refused, run

MODELS = SOURCE / "tests" / "golden" / "ctranslate2"
PUBLISHED = SHARED / "data" / "models" / "aren-transliteration"


@larger("data/models/aren-transliteration")
def test_a_published_model(_):
    expected = PUBLISHED / "expected.txt"
    pairs = [line.split("\t") for line in expected.read_text().splitlines() if line and not line.startswith("#")]
    lines = "".join(f"{source}\n" for source, _ in pairs)
    for device, beams in ("reference", 1), ("reference", 4), (DEVICE, 1), (DEVICE, 4):
        if device != DEVICE or has_device():
            result = run("translate", "-q", "-d", device, "-m", PUBLISHED, "--beam-size", beams, given=lines)
            equal(result.text.splitlines(), [target for _, target in pairs], f"{device}, beam {beams}")
    # CTranslate2's own scores of the best result of each beam search.
    scored = run("translate", "-q", "-d", "reference", "-m", PUBLISHED, "--beam-size", 4, "--n-best", 1, given=lines)
    for line, score in zip(scored.text.splitlines(), (-0.151673, -0.150900)):
        assert abs(float(line.split("\t")[-1]) - score) <= 1e-4, line


def found(model, cases, n, *options):
    """The n hypotheses of each case's text, as this command finds them and as they should be: the words that aren't special, and score."""
    lines = run("translate", "-q", "-m", model, "--n-best", n, *options, given="".join(case["source"] + "\n" for case in cases)).text.splitlines()

    def plain(text, score):
        return " ".join(word for word in text.split() if word not in ("<s>", "</s>", "<pad>")), float(score)

    got = [plain(*line.rsplit("\t", 1)) for line in lines]
    return [got[i:i + n] for i in range(0, len(got), n)], [[plain(h["text"], h["score"]) for h in case["hypotheses"]] for case in cases]


def searched(model, name, *options, told=False):
    """`found` of a folder's beams.json. told: the folder itself says how many beams there are."""
    golden = json.loads((MODELS / name / "beams.json").read_text())
    n = golden["num_beams"]
    return found(model, golden["cases"], n, *(() if told else ("--num-beams", n)), "-n", golden["max_new_tokens"], *options)


def test_a_search_takes_the_defaults_of_ctranslate2(folder):
    """It ends with as many results as beams, the first token is no end token, and probabilities are those of the tokens that may come; what the
    options or generation_config.json say takes precedence."""
    hugging_face = "--early-stopping", "false", "--min-new-tokens", 0
    for name in "opennmt", "t5":
        for device in "reference", DEVICE:
            if device != DEVICE or has_device():
                got, wanted = searched(MODELS / name, name, "-d", device, *(("--batch-size", 5) if device == DEVICE else ()))
                for g, w in zip(got, wanted, strict=True):
                    equal([text for text, _ in g], [text for text, _ in w], f"{name}, {device}")
                    assert all(abs(a - b) <= 1e-4 for (_, a), (_, b) in zip(g, w)), f"{name}, {device}: {g}, not {w}"
        other, wanted = searched(MODELS / name, name, "-d", "reference", *hugging_face)
        assert sum(g[0][0] != w[0][0] for g, w in zip(other, wanted)) > 3, "the cases tell no defaults from others"
        told = shutil.copytree(MODELS / name, folder / name)
        words = json.loads(next(path for path in (told / "shared_vocabulary.json", told / "target_vocabulary.json") if path.is_file()).read_text())
        start = {"decoder_start_token_id": words.index(json.loads((told / "config.json").read_text())["decoder_start_token"])}
        (told / "generation_config.json").write_text(json.dumps({"early_stopping": False, "min_length": 0, **start}))
        equal(searched(told, name, "-d", "reference")[0], other, name)
        (told / "generation_config.json").write_text(json.dumps({"num_beams": 4, "length_penalty": 1.0, **start}))
        equal([[text for text, _ in g] for g in searched(told, name, "-d", "reference", told=True)[0]], [[text for text, _ in w] for w in wanted], name)
    for command in "translate", "generate":
        told = run(command, "--help").text
        for option, following in ("--num-beams", "--n-best"), ("--early-stopping", "--coverage-penalty"):
            assert "CTranslate2" in told.split(option)[1].split(following)[0], f"{command} {option}"


def test_options_do_what_they_do_in_ctranslate2(folder):
    """The repetition penalty changes logits, the start token is no part of a text, a target prefix counts in lengths, and the coverage penalty reads the
    heads that model.bin names."""
    named = {"beam_size": "--num-beams", "repetition_penalty": "--repetition-penalty", "no_repeat_ngram_size": "--no-repeat-ngram-size",
             "min_decoding_length": "--min-new-tokens", "coverage_penalty": "--coverage-penalty", "target_prefix": "--target-prefix"}
    for name in "opennmt", "t5":
        golden = json.loads((MODELS / name / "options.json").read_text())
        for i, group in enumerate(golden["groups"]):
            model, options = MODELS / name, {"beam_size": golden["num_beams"], **group["options"]}
            if "alignment" in options:
                model = shutil.copytree(model, folder / f"{name}-{i}")
                data = bytearray((model / "model.bin").read_bytes())
                for key, number in zip((b"decoder/alignment_layer\0", b"decoder/alignment_heads\0"), options.pop("alignment")):
                    struct.pack_into("<h", data, data.index(key) + len(key) + 6, number)  # behind the rank, the type and the size
                (model / "model.bin").write_bytes(data)
            got, wanted = found(model, group["cases"], options["beam_size"], "-d", "reference", "-n", golden["max_new_tokens"],
                                *(word for key, value in options.items() for word in (named[key], value)))
            for g, w in zip(got, wanted, strict=True):
                equal([text for text, _ in g], [text for text, _ in w], f"{name}, {group['options']}")
                assert all(abs(a - b) <= 1e-4 for (_, a), (_, b) in zip(g, w)), f"{name}, {group['options']}: {g}, not {w}"


def test_a_translation_has_the_beams_of_ctranslate2(folder):
    """Two, if neither an option nor the folder says how many."""
    model = shutil.copytree(MODELS / "opennmt", folder / "m")
    lines = "".join(case["source"] + "\n" for case in json.loads((model / "beams.json").read_text())["cases"])

    def best(*options):
        return run("translate", "-q", "-d", "reference", "-m", model, "--n-best", 1, "-n", 8, *options, given=lines).text

    equal(best(), best("--num-beams", 2))
    assert best() != best("--num-beams", 4), "the cases don't tell 2 beams from 4"
    refused(2, "--n-best 3: there are only 2 beams", "translate", "-q", "-d", "reference", "-m", model, "--n-best", 3, "w1")


def test_scores_of_one_beam_are_those_of_more(_):
    """Where one beam finds what two find, its score is the same: of the tokens that may come alone."""
    sources = "".join(case["source"] + "\n" for case in json.loads((MODELS / "opennmt" / "beams.json").read_text())["cases"])
    one, two = ([line.rsplit("\t", 1) for line in run("translate", "-q", "-d", "reference", "-m", MODELS / "opennmt", "--num-beams", beams, "--n-best", 1, "-n", 6,
                                                      given=sources).text.splitlines()] for beams in (1, 2))
    alike = [(float(a), float(b)) for (text, a), (other, b) in zip(one, two, strict=True) if text == other]
    assert len(alike) >= 2 and all(abs(a - b) <= 1e-5 for a, b in alike), alike


def test_each_kind(_):
    """A decoder takes the likeliest token, as CTranslate2's Generator does by default."""
    def told(command, name, given):
        return run(command, "-q", "-d", "reference", "-m", MODELS / name, *(("-n", 4) if command == "generate" else ()), given=given).text

    for name in "first", "opennmt", "marian", "t5", "bart":
        equal(len(told("translate", name, "w1 w2\n\nw3\n").splitlines()), 3, name)
    equal(told("generate", "gpt2", "w1 w2"), " <unk> w11 <unk> w11\n")
    assert len(told("embed", "bert", "w1 w2\nw3\n")) > 0
    for name in "marian", "bert":
        assert "CTranslate2" in run("info", MODELS / name).text


def pieces_of(data):
    """The pieces of a SentencePiece model: field 1 of each message in field 1."""
    pieces, at = [], 0
    while at < len(data) and data[at] == 0x0A:
        size, begin = data[at + 1], at + 2
        assert size < 128 and data[begin] == 0x0A
        pieces.append(data[begin + 2:begin + 2 + data[begin + 1]].decode())
        at = begin + size
    return pieces


def test_a_sentencepiece_model_beside_it(folder):
    """The SentencePiece model splits the text; the vocabulary gives the ids. A Marian model reads an end token, which its settings leave to the tokenizer."""
    model = shutil.copytree(MODELS / "marian", folder / "m")
    equal(run("tokenize", "-m", model, given="w1 w2\n").text.split(), ["4", "5"])
    cutter = SOURCE / "tests" / "golden" / "tokenizers" / "unigram.model"
    for name in "source.spm", "target.spm":
        shutil.copy(cutter, model / name)
    # Special pieces first, as in Marian, then the model's letters: these ids differ from the
    # SentencePiece model's.
    words = ["<s>", "</s>", "<unk>", *pieces_of(cutter.read_bytes())[-36:]]
    (model / "shared_vocabulary.json").write_text(json.dumps(words))
    equal(run("tokenize", "-m", model, given="\n").text.split(), ["1"])
    ids = [int(i) for i in run("tokenize", "-m", model, given="comp b\n").text.split()]
    equal("".join(words[i] for i in ids), "\u2581comp\u2581b</s>", f"{ids}")


main(globals())

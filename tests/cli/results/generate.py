#!/usr/bin/env python3
"""tessera generate: what it prints and where, prompts from everywhere, sampling, stop texts, ids, log-probabilities, the context."""

import json
import math
import re

from support.command import GOLDEN, PLAY, copy_model, environment, equal, main, refused, run

REFERENCE = ("-d", "reference")
TINY = GOLDEN / "gpt2-tiny"  # 61 tokens, context 48, no tokenizer
PROMPT = "KING HENRY:\nI will"


def play(*arguments, **options):
    return run("generate", *REFERENCE, *arguments, **options)


def tiny(*arguments, **options):
    return run("generate", *REFERENCE, "-m", TINY, *arguments, **options)


def quiet(*arguments, **options):
    result = play("-q", *arguments, **options)
    equal(result.err, "")
    return result.out


def test_where_things_are_printed(_):
    said = play("-n", "4", "-s", "7", "--temp", "0.8", PROMPT)
    lines = said.err.splitlines()
    assert lines[0].startswith("tessera: device: Tessera / reference"), said
    equal(lines[1], "tessera: seed: 7")
    stats = r"tessera: first token after \d+\.\d+ s; prefill \d+ tokens, \d+\.\d tokens/s; decode 3 tokens, \d+\.\d tokens/s"
    assert re.fullmatch(stats, lines[-1]), said
    equal(len(lines), 3)
    assert "\033" not in said.err
    equal(quiet("-n", "4", "-s", "7", "--temp", "0.8", PROMPT), said.out)


def test_seeds(_):
    given = play("-n", "8", PROMPT)
    seed = re.search(r"^tessera: seed: (\d+)$", given.err, re.M).group(1)
    equal(quiet("-n", "8", "-s", seed, PROMPT), given.out, "the seed that was drawn")
    texts = {quiet("-n", "8", "-s", seed, PROMPT) for seed in ("1", "2", "18446744073709551615")}
    assert len(texts) > 1, "every seed gives the same"
    greedy = play("-n", "8", "--temp", "0", PROMPT)
    assert "seed" not in greedy.err
    equal(play("-n", "8", "--temp", "0", "-s", "5", PROMPT).out, greedy.out)
    equal(quiet("-n", "8", "--top-k", "1", "-s", "9", PROMPT), greedy.out, "one candidate is greedy")


def test_options_without_effect_are_named(folder):
    """Those of draws where the model's settings or beams draw nothing, unless --temperature 0 asked for that."""
    model = copy_model(PLAY, folder / "m")
    (model / "generation_config.json").write_text('{"do_sample": false}')
    for options, said in ((("--top-k", "5"), "--top-k has no effect: the likeliest token is always taken"), (("--top-p", "0.5"), "--top-p has no effect: "),
                          (("--min-p", "0.5"), "--min-p has no effect: "), (("--num-beams", "2", "--temp", "0.7"), "--temperature has no effect: a search with 2 beams"),
                          (("--temp", "0", "--top-k", "5"), None), (("--temp", "0.7", "--top-k", "5"), None), ((), None)):
        err = play("-m", model, "-n", "1", *options, PROMPT).err
        assert said in err if said else "no effect" not in err, (options, err)


def test_prompts_from_everywhere(folder):
    wanted = quiet("-n", "5", "--temp", "0", "-p", PROMPT)
    equal(quiet("-n", "5", "--temp", "0", PROMPT), wanted)
    equal(quiet("-n", "5", "--temp", "0", given=PROMPT), wanted)
    equal(quiet("-n", "5", "--temp", "0", given=PROMPT + "\n"), wanted, "the line end is not part of the prompt")
    equal(quiet("-n", "5", "--temp", "0", "-f", "-", given=PROMPT), wanted)
    (folder / "prompt.txt").write_text(PROMPT)
    equal(quiet("-n", "5", "--temp", "0", "-f", folder / "prompt.txt"), wanted)
    refused(3, "No such file", "generate", *REFERENCE, "-f", folder / "nothing.txt")
    refused(3, "it is a folder", "generate", *REFERENCE, "-f", folder)


def test_prompts_that_are_strange(_):
    assert quiet("-n", "3", "--temp", "0", "-p", "") == quiet("-n", "3", "--temp", "0", "-p", "<|endoftext|>")
    equal(quiet("-n", "3", "--temp", "0", given=b""), quiet("-n", "3", "--temp", "0", "-p", ""))
    for given in (b"\xff\xfe bad \xc3", b"a\0b", "\ufeffé🙂".encode(), b"\xed\xa0\x80"):
        quiet("-n", "2", "--temp", "0", "--encoding", "utf-8", given=given).decode()
        told = json.loads(quiet("-n", "2", "--temp", "0", "--encoding", "utf-8", "--json", "--echo", given=given))
        equal((len(told), len(told[0]["tokens"])), (1, 2), given)


def test_echo(_):
    alone = quiet("-n", "4", "--temp", "0", PROMPT)
    equal(quiet("-n", "4", "--temp", "0", "--echo", PROMPT), PROMPT.encode() + alone)
    equal(tiny("-n", "3", "--temp", "0", "--ids", "9,4", "--print-ids", "--echo").text, "9 4 " + tiny("-n", "3", "--temp", "0", "--ids", "9,4", "--print-ids").text)


def test_stop_texts(_):
    whole = quiet("-n", "24", "--temp", "0", "--ignore-eos", PROMPT).decode()[:-1]
    for stop in (whole[2], whole[5:7], whole[9:21]):
        got = quiet("-n", "24", "--temp", "0", "--ignore-eos", "--stop", stop, PROMPT).decode()
        equal(got, whole[:whole.index(stop)] + "\n", stop)
    middle = whole[6:11]
    first = min(whole.index(middle), whole.index(whole[3:5]))
    equal(quiet("-n", "24", "--temp", "0", "--stop", middle, "--stop", whole[3:5], "--stop", "never said", PROMPT).decode(), whole[:first] + "\n")
    equal(json.loads(quiet("-n", "24", "--temp", "0", "--stop", middle, "--json", PROMPT))[0]["finish"], "stop")
    equal(quiet("-n", "24", "--temp", "0", "--stop", whole + "never said", PROMPT).decode(), whole + "\n", "text that was held back is printed at the end")
    refused(2, "stop text number 1 is empty", "generate", *REFERENCE, "--stop", "", PROMPT)


def test_a_stop_text_that_the_last_token_completes(folder):
    """A decoder holds bytes back until another token comes; they are compared with stop texts where none comes, too."""
    model = copy_model(TINY, folder / "m")
    vocabulary = {f"w{i}": i for i in range(61) if i != 31} | {"<0x0A>": 31}
    (model / "tokenizer.json").write_text(json.dumps(
        {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None,
         "decoder": {"type": "ByteFallback"}, "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "w0"}}))
    line_ends = ("-q", "-m", model, "--temp", "0", "--ignore-eos", "--logit-bias", "31=1000", "--json", "w5")
    for stop, text, finish in (("\n", "", "stop"), ("no", "\n", "length")):
        told = json.loads(play("-n", "1", "--stop", stop, *line_ends).text)[0]
        equal((told["text"], told["finish"], len(told["tokens"])), (text, finish, 1), stop)


def test_ids_without_a_tokenizer(folder):
    wanted = json.loads((TINY / "cases.json").read_text())["generate"][1]
    ids = ",".join(map(str, wanted["input_ids"]))
    got = tiny("-n", "24", "--temp", "0", "--ignore-eos", "--print-ids", "--ids", ids).text
    equal(got, " ".join(map(str, wanted["ids_without_eos_stop"])) + " \n")
    bare = copy_model(PLAY, folder / "bare", without=("tokenizer.json", "tokenizer_config.json"))
    there = quiet("-n", "5", "--temp", "0", "--print-ids", "--ids", "814,26")
    equal(run("generate", *REFERENCE, "-q", "-m", bare, "-n", "5", "--temp", "0", "--print-ids", "--ids", "814,26").out, there)
    refused(3, "has no tokenizer that can be used", "generate", *REFERENCE, "-m", bare, "-p", "text")
    refused(3, "stop texts need a tokenizer", "generate", *REFERENCE, "-m", bare, "--ids", "1", "--stop", "x")
    refused(2, "token id 61", "generate", *REFERENCE, "-m", TINY, "--ids", "3,61")


def test_logprobs(_):
    rows, best = [], []
    for line in tiny("-n", "6", "--temp", "0", "--ignore-eos", "--logprobs", "5", "--ids", "9").text.splitlines():
        parts = line.split("\t")
        if parts[0]:
            rows.append((int(parts[0]), float(parts[1])))
            best.append([])
        else:
            best[-1].append((int(parts[1]), float(parts[2])))
    equal((len(rows), {len(b) for b in best}), (6, {5}))
    for row, likeliest in zip(rows, best):
        equal(row, likeliest[0], "greedy takes the likeliest")
        equal(likeliest, sorted(likeliest, key=lambda entry: -entry[1]))
        assert sum(math.exp(p) for _, p in likeliest) <= 1 + 1e-5, likeliest
    told = json.loads(tiny("-n", "1", "--temp", "0", "--logprobs", "61", "--json", "--ids", "9").text)[0]["tokens"][0]
    total = sum(math.exp(entry["logprob"]) for entry in told["best"])
    assert abs(total - 1) < 1e-5, f"the probabilities over the whole vocabulary add up to {total}"
    equal(len(tiny("-n", "3", "--ids", "9", "--ignore-eos", "--logprobs", "0").text.splitlines()), 3)
    refused(2, "at most the size of the vocabulary", "generate", *REFERENCE, "-m", TINY, "--ids", "9", "--logprobs", "62")
    sampled = tiny("-n", "6", "-s", "3", "--ignore-eos", "--print-ids", "--ids", "9").text.split()
    with_them = tiny("-n", "6", "-s", "3", "--ignore-eos", "--logprobs", "4", "--ids", "9").text.splitlines()
    equal([line.split("\t")[0] for line in with_them if line[0] != "\t"], sampled, "--logprobs must not change the text")


def test_penalties_and_biases(_):
    """A bias decides greedy decoding; a penalty takes the same token off again, once or for each time."""
    fixed = ("--temp", "0", "--ignore-eos", "-n", "6", "--print-ids")

    def ids(*options):
        return [int(word) for word in quiet(*fixed, *options, PROMPT).split()]
    plain = ids()
    equal(ids("--logit-bias", "5=1000"), [5] * 6)
    equal(ids("--logit-bias", "5=500", "--logit-bias", "5=500", "--logit-bias", "6=900"), [5] * 6, "biases of one token are added up")
    equal(ids("--logit-bias", "5=1000", "--logit-bias", "6=900", "--presence-penalty", "200"), [5] + [6] + [5] * 4, "once, whatever the number of times")
    equal(ids("--logit-bias", "5=1000", "--logit-bias", "6=900", "--frequency-penalty", "200"), [5, 6, 5, 6, 5, 6])
    equal(ids("--presence-penalty", "0", "--frequency-penalty", "0"), plain)
    assert all(one not in plain for one in ids(*(word for one in plain for word in ("--logit-bias", f"{one}=-1e6"))))
    prompt = int(run("tokenize", "-m", PLAY, given=PROMPT).text.split()[0])
    equal(ids("--logit-bias", f"{prompt}=500", "--presence-penalty", "1000")[0], prompt, "tokens of the prompt are not counted")
    for wrong in ("5", "x=1", "5=", "5=1x", "=1"):
        refused(2, f"--logit-bias {wrong}: give a token id", "generate", *REFERENCE, "--logit-bias", wrong, PROMPT)
    refused(2, "a bias of 1 for token id 100000000: the bias must be a finite number, and", "generate", *REFERENCE, "--logit-bias", "100000000=1", PROMPT)
    refused(2, "a bias of nan for token id 1: ", "generate", *REFERENCE, "--logit-bias", "1=nan", PROMPT)
    refused(2, "num_beams is 2; it must be at most 1 with presence_penalty", "generate", *REFERENCE, "--num-beams", "2", "--presence-penalty", "1", PROMPT)


def test_log_probabilities_need_one_beam(_):
    for k in ("0", "3"):
        refused(2, "num_beams is 2; it must be at most 1 with log-probabilities of tokens", "generate", *REFERENCE, "--num-beams", "2", "--logprobs", k, PROMPT)


def test_a_grammar(folder):
    """What is written follows the grammar and ends with it; a grammar that can't be served is refused before a model is opened."""
    file = folder / "g.gbnf"
    file.write_text('root ::= "{\\"" [a-z]{2,4} "\\": " ("yes" | "no") "}"\n')
    for options in (("--temp", "0"), ("-s", "5", "--temp", "2")):
        text = quiet("--grammar", file, "-n", "30", *options, PROMPT).decode()
        assert re.fullmatch(r'\{"[a-z]{2,4}": (yes|no)\}\n', text), text
    for grammar, said in (("root ::= (", f"{file}: grammar: line 1: a ) is wanted before the end"), ("root ::= root", "begins with itself")):
        file.write_text(grammar)
        refused(3, said, "generate", "-m", "/no/model", "--grammar", file, PROMPT)
    file.write_text('{"type": "object", "properties": {"a": {"enum": ["KING", 7]}, "b": {"type": "integer", "maximum": -4}}, "required": ["b"]}')
    line_end = json.loads((PLAY / "tokenizer.json").read_text())["model"]["vocab"]["\u010a"]  # else this model fills its JSON with them
    for seed in ("1", "2"):
        answer = json.loads(quiet("--json-schema", file, "-n", "60", "-s", seed, "--temp", "1", "--logit-bias", f"{line_end}=-100", PROMPT))
        assert answer["b"] <= -4 and answer.get("a", 7) in ("KING", 7) and set(answer) <= {"a", "b"}, answer
    file.write_text('{"type": "string", "pattern": "(?=a)"}')
    refused(3, f'{file}: JSON schema: the pattern "(?=a)", character 2: ', "generate", "-m", "/no/model", "--json-schema", file, PROMPT)
    refused(2, "give one of them", "generate", *REFERENCE, "--json-schema", file, "--grammar", file, PROMPT)
    refused(3, "none.gbnf", "generate", *REFERENCE, "--grammar", folder / "none.gbnf", PROMPT)


def test_a_batch_gives_what_each_gives_alone(_):
    prompts = ("KING", "O, what a rogue", "", "Enter\n")
    for options in (("--temp", "0"), ("-s", "11", "--temp", "0.9")):
        together = json.loads(quiet("-n", "6", *options, "--json", *prompts))
        equal(len(together), len(prompts))
        for prompt, result in zip(prompts, together):
            equal(json.loads(quiet("-n", "6", *options, "--json", "-p", prompt)), [result], prompt)
    shown = quiet("-n", "2", "--temp", "0", "KING", "O").decode()
    assert shown.startswith("--- 1 ---\n") and "\n--- 2 ---\n" in shown, shown


def test_all_tokens_are_counted(folder):
    """The first of each line, too."""
    lines = folder / "lines"
    lines.write_text("KING\nO\nwhat\n")
    for n in 1, 4:
        said = play("--lines", "-f", lines, "-n", n, "--temp", "0", "--ignore-eos").err
        assert f"tokens read, {3 * n} written\n" in said, said


def test_the_context(_):
    long = ",".join("7" for _ in range(49))
    told = refused(2, "the prompt has 49 tokens, but the model reads 48", "generate", *REFERENCE, "-m", TINY, "--ids", long, "--print-ids")
    assert "shorten it" in told.err
    refused(2, "prompt 2: token id 61 is not in the model's vocabulary", "generate", *REFERENCE, "-m", TINY, "--ids", "1", "--ids", "61", "--print-ids")
    refused(2, "the prompt has 3 tokens, but the context holds 2", "generate", *REFERENCE, "-m", TINY, "-c", "2", "--ids", "1,2,3")
    past = tiny("--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9,8", "-n", "1000")
    equal(len(past.text.split()), 46)
    assert "the context is full: generation stopped there" in past.err
    equal(tiny("--temp", "0", "--ignore-eos", "--print-ids", "--ids", "9,8").out, past.out, "without -n, to the end of the context")
    equal(len(tiny("--temp", "0", "--ignore-eos", "--print-ids", "-c", "10", "--ids", "9,8").text.split()), 8)
    equal(json.loads(tiny("--temp", "0", "--ignore-eos", "-c", "10", "--ids", "9", "--json").text)[0]["finish"], "context")
    refused(2, "49", "generate", *REFERENCE, "-m", TINY, "-c", "49", "--ids", "1")


def test_no_tokens_at_all(_):
    equal(quiet("-n", "0", PROMPT), b"\n")
    equal(quiet("-n", "0", "--echo", PROMPT), PROMPT.encode() + b"\n")
    equal(json.loads(quiet("-n", "0", "--json", PROMPT)), [{"text": "", "finish": "length", "tokens": []}])


def test_end_tokens(folder):
    model = copy_model(TINY, folder / "m")
    ids = json.loads((TINY / "cases.json").read_text())["generate"][0]
    prompt, whole = ",".join(map(str, ids["input_ids"])), ids["ids_without_eos_stop"]
    end = whole[4]
    (model / "generation_config.json").write_text(json.dumps({"eos_token_id": [2, end], "do_sample": False}))
    told = json.loads(run("generate", *REFERENCE, "-q", "-m", model, "--ids", prompt, "--json").text)[0]
    equal(([t["id"] for t in told["tokens"]], told["finish"]), (whole[:5], "end"))
    ignored = json.loads(run("generate", *REFERENCE, "-q", "-m", model, "--ids", prompt, "--json", "--ignore-eos", "-n", "24").text)[0]
    equal([t["id"] for t in ignored["tokens"]], whole)
    (model / "generation_config.json").write_text('{"temperature": -1}')
    refused(3, "generation_config.json", "generate", *REFERENCE, "-m", model, "--ids", prompt)


def test_json(_):
    told = json.loads(quiet("-n", "3", "--temp", "0", "--logprobs", "2", "--json", PROMPT))[0]
    equal(set(told), {"text", "finish", "tokens"})
    equal(told["finish"], "length")
    for token in told["tokens"]:
        equal((set(token), len(token["best"])), ({"id", "logprob", "best"}, 2))
    equal(told["text"] + "\n", quiet("-n", "3", "--temp", "0", PROMPT).decode())


def test_device_from_the_environment(_):
    said = run("generate", "-n", "1", "x", env=environment(TESSERA_DEVICE="reference"))
    assert "device: Tessera / reference" in said.err
    refused(4, "TESSERA_DEVICE", "generate", "-n", "1", "x", env=environment(TESSERA_DEVICE="toaster"), lines=None)


main(globals())

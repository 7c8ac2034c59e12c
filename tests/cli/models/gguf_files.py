#!/usr/bin/env python3
"""Families whose GGUF files name and hold things in another way than Hugging Face's: a file made from a folder's arrays, with the names and the metadata
that llama.cpp's converter gives them, computes the same bytes as the folder."""

import json
import math
import re
import struct

from support.adapter import write
from support.command import GOLDEN, change_json, copy_model, equal, main, read_safetensors, refused, run
from support.gguf import floats, write_gguf

T5 = {r"^(shared|(en|de)coder\.embed_tokens)\.": "token_embd.", r"^lm_head\.": "output.", r"^(en|de)coder\.": lambda m: m[1][:1] + ("nc" if m[1] == "en" else "ec") + ".",
      r"\.block\.(\d+)\.": r".blk.\1.", "final_layer_norm": "output_norm", r"layer\.0\.SelfAttention\.relative_attention_bias": "attn_rel_b",
      r"layer\.0\.SelfAttention\.": "attn_", r"layer\.0\.layer_norm": "attn_norm", r"^(dec.*)layer\.1\.layer_norm": r"\1cross_attn_norm",
      r"layer\.1\.EncDecAttention\.": "cross_attn_", r"layer\.\d\.layer_norm": "ffn_norm", r"layer\.\d\.DenseReluDense\.wi_0": "ffn_gate",
      r"layer\.\d\.DenseReluDense\.wi(_1)?\.": "ffn_up.", r"layer\.\d\.DenseReluDense\.wo": "ffn_down"}
MODERN = {"^model.": "", r"embeddings\.tok_embeddings": "token_embd", r"embeddings\.norm": "token_embd_norm", r"layers\.(\d+)\.": r"blk.\1.", "mlp_norm": "ffn_norm",
          r"attn\.Wqkv": "attn_qkv", r"attn\.Wo": "attn_output", r"mlp\.Wi": "ffn_up", r"mlp\.Wo": "ffn_down", "^final_norm": "output_norm",
          r"^head\.dense": "cls", r"^head\.norm": "cls.norm", "^classifier": "cls.output"}
BERT = {"^(bert|roberta).": "", r"embeddings\.word_embeddings": "token_embd", r"embeddings\.position_embeddings": "position_embd",
        r"embeddings\.token_type_embeddings": "token_types", r"embeddings\.LayerNorm": "token_embd_norm", r"encoder\.layer\.(\d+)\.": r"blk.\1.",
        r"attention\.self\.query": "attn_q", r"attention\.self\.key": "attn_k", r"attention\.self\.value": "attn_v",
        r"attention\.output\.dense": "attn_output", r"attention\.output\.LayerNorm": "attn_output_norm", r"intermediate\.dense": "ffn_up",
        r"output\.dense": "ffn_down", r"output\.LayerNorm": "layer_output_norm", r"^classifier\.dense": "cls", r"^classifier\.out_proj": "cls.output"}
IDS = ("--ids", "5,6,7,8,9,10,11,12,13,14,15,16", "--ids", "9,4,17")


def renamed(names, arrays, without=r"^$"):
    out = {}
    for name, (shape, values) in arrays.items():
        if re.search(without, name):
            continue
        for pattern, new in names.items():
            name = re.sub(pattern, new, name)
        out.setdefault(name, floats(shape, values))
    return out


def folder_of(place, name, out, **settings):
    """A copy of a golden model with other settings: its folder, its config and its arrays."""
    model = copy_model(GOLDEN / place, out / name)
    config = json.loads((model / "config.json").read_text()) | settings
    (model / "config.json").write_text(json.dumps(config))
    return model, config, read_safetensors(model / "model.safetensors")


def same(folder, model, file, *more, head=True, ids=IDS):
    """The bytes of all that is computed; without the head, of hidden states alone."""
    written = []
    for path in model, file:
        out = folder / "o.safetensors"
        run("dump", "-d", "reference", "-q", "-m", path, *ids, *more, "-o", out)
        written.append({name: array for name, array in read_safetensors(out).items() if head or "hidden" in name})
    assert written[0], "nothing is compared"
    equal(written[0] == written[1], True, f"{model.name} and its GGUF file give other numbers: {list(written[0])}, {list(written[1])}")


def t5(config, arch):
    sizes = {"context_length": 512, "embedding_length": config["d_model"], "feed_forward_length": config["d_ff"], "block_count": config["num_layers"],
             "attention.head_count": config["num_heads"], "attention.key_length": config["d_kv"], "attention.value_length": config["d_kv"],
             "attention.layer_norm_epsilon": config["layer_norm_epsilon"], "attention.relative_buckets_count": config["relative_attention_num_buckets"],
             "attention.layer_norm_rms_epsilon": config["layer_norm_epsilon"]}
    if arch == "t5":
        sizes |= {"decoder_block_count": config["num_decoder_layers"], "decoder_start_token_id": config["decoder_start_token_id"]}
    return {"general.architecture": arch} | {f"{arch}.{key}": value for key, value in sizes.items()} | {
        "tokenizer.ggml.eos_token_id": config["eos_token_id"], "tokenizer.ggml.padding_token_id": config["pad_token_id"]}


def test_t5(folder):
    """The converter does not write the largest distance, which is 128 in all published models. mT5 and T5 1.1 are one architecture there, and so is umT5."""
    for name in ("t5", "t5-v1.1", "mt5", "umt5"):
        model, config, arrays = folder_of(name, name, folder, relative_attention_max_distance=128)
        file = write_gguf(folder / f"{name}.gguf", t5(config, "t5"), renamed(T5, arrays))
        same(folder, model, file, "--decoder-ids", "0,6,3,8", "--decoder-ids", "0,2")
        told = run("info", file).text
        equal("umt5" in told, name == "umt5", told)


def test_ids_outside_the_vocabulary(folder):
    """llama.cpp warns of such a special token, and goes on without it."""
    model, config, arrays = folder_of("t5", "t5", folder, relative_attention_max_distance=128)
    meta = t5(config, "t5") | {f"tokenizer.ggml.{name}_token_id": config["vocab_size"] for name in ("padding", "bos", "eot")}
    same(folder, model, write_gguf(folder / "t5.gguf", meta, renamed(T5, arrays)), "--decoder-ids", "0,6,3,8", "--decoder-ids", "0,2")


def test_t5_encoder(folder):
    """The encoder of a whole file, as the architecture t5encoder."""
    model, config, arrays = folder_of("t5", "encoder", folder, relative_attention_max_distance=128, architectures=["T5EncoderModel"])
    file = write_gguf(folder / "encoder.gguf", t5(config, "t5encoder"), renamed(T5, arrays, "^decoder.block|^decoder.final"))
    same(folder, model, file)


def encoder(config, arch, **more):
    sizes = {"context_length": config["max_position_embeddings"], "embedding_length": config["hidden_size"], "feed_forward_length": config["intermediate_size"],
             "block_count": config["num_hidden_layers"], "attention.head_count": config["num_attention_heads"], "attention.causal": False, **more}
    return {"general.architecture": arch} | {f"{arch}.{key}": value for key, value in sizes.items()}


def test_modernbert(folder):
    """For vectors, and with a classifier, which reads the mean."""
    model, config, arrays = folder_of("modernbert/cls", "cls", folder)
    labels = list(config["id2label"].values())
    shared = {"attention.layer_norm_epsilon": config["norm_eps"], "attention.sliding_window": config["local_attention"],
              "attention.sliding_window_pattern": config["global_attn_every_n_layers"], "rope.freq_base": config["global_rope_theta"],
              "rope.freq_base_swa": config["local_rope_theta"], "hidden_activation": config["hidden_activation"], "rope.scaling.type": "none"}
    file = write_gguf(folder / "cls.gguf", encoder(config, "modern-bert", **shared, **{"pooling_type": 4, "classifier.output_labels": labels}),
                      renamed(MODERN, arrays))
    same(folder, model, file)
    file = write_gguf(folder / "vectors.gguf", encoder(config, "modern-bert", **shared, pooling_type=1), renamed(MODERN, arrays, "^(head|classifier)"))
    same(folder, model, file, head=False)
    full, _, _ = folder_of("modernbert/cls", "full", folder, layer_types=["full_attention"] * config["num_hidden_layers"])
    file = write_gguf(folder / "full.gguf", encoder(config, "modern-bert", **{key: value for key, value in shared.items() if key != "attention.sliding_window"},
                                                    pooling_type=1), renamed(MODERN, arrays, "^(head|classifier)"))
    same(folder, full, file, head=False)


def bert(config, arrays, **more):
    """The metadata of the architecture bert, and the arrays, whose positions begin behind the padding's where the family is RoBERTa's."""
    offset, width = 1 + config["pad_token_id"], config["hidden_size"]
    name = "roberta.embeddings.position_embeddings.weight"
    (rows, _), values = arrays[name]
    cut = arrays | {name: ((rows - offset, width), values[offset * width:])}
    return encoder(config | {"max_position_embeddings": config["max_position_embeddings"] - offset}, "bert",
                   **{"attention.layer_norm_epsilon": config["layer_norm_eps"], "pooling_type": 4, **more}), renamed(BERT, cut, "position_ids|qa_outputs")


def test_a_classifier_of_bert(folder):
    """bge-reranker-v2-m3 and others: a dense layer with tanh, and a matrix of one output or more."""
    model, config, arrays = folder_of("roberta/cls", "cls", folder)
    file = write_gguf(folder / "cls.gguf", *bert(config, arrays, **{"classifier.output_labels": list(config["id2label"].values())}))
    same(folder, model, file)


def test_a_reranker(folder):
    """With its vocabulary, of SentencePiece's Unigram, and the tokens between a question and a text."""
    model, config, arrays = folder_of("../answers/unigram", "xlm", folder, architectures=["XLMRobertaForSequenceClassification"], id2label={"0": "LABEL_0"},
                                      label2id={"LABEL_0": 0})
    width = config["hidden_size"]
    drawn = lambda *shape: (shape, [((i * 37 + len(shape)) % 19 - 9) / 10 for i in range(math.prod(shape))])
    arrays = {name: array for name, array in arrays.items() if "qa_outputs" not in name} | {
        "classifier.dense.weight": drawn(width, width), "classifier.dense.bias": drawn(width), "classifier.out_proj.weight": drawn(1, width),
        "classifier.out_proj.bias": drawn(1)}
    write(model / "model.safetensors", arrays)
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    pieces, special = tokenizer["model"]["vocab"], {token["id"] for token in tokenizer["added_tokens"]}
    meta, held = bert(config, arrays, **{"classifier.output_labels": ["LABEL_0"]})
    meta |= {"tokenizer.ggml.model": "t5", "tokenizer.ggml.pre": "default", "tokenizer.ggml.tokens": [piece for piece, _ in pieces],
             "tokenizer.ggml.scores": [float(score) for _, score in pieces],
             "tokenizer.ggml.token_type": [2 if i == 3 else 3 if i in special else 1 for i in range(len(pieces))],
             "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 3, "tokenizer.ggml.padding_token_id": 1,
             "tokenizer.ggml.seperator_token_id": 2, "tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": True,
             "tokenizer.ggml.add_sep_token": True, "tokenizer.ggml.add_space_prefix": True, "tokenizer.ggml.remove_extra_whitespaces": False}
    file = write_gguf(folder / "xlm.gguf", meta, held)
    texts = "the sea\na poem about the sea\nno\n\nwhere is it, and why\n"
    (folder / "texts").write_text(texts)
    for command in (("tokenize", folder / "texts"), ("rerank", "-d", "reference", "-q", "--json", "what is the sea", "-f", folder / "texts")):
        equal(run(*command, "-m", file).text, run(*command, "-m", model).text, command[0])
    without = write_gguf(folder / "without.gguf", meta | {"tokenizer.ggml.add_sep_token": False}, held)
    assert run(*command, "-m", without).text != run(*command, "-m", model).text, "the separator makes no difference"
    # llama.cpp's tools drop the outer dims of 1: a matrix of one row, as the kinds of tokens and one label have, is a vector in files that they quantised.
    flat = {name: (shape[1:], numbers) if len(shape) == 2 and shape[0] == 1 else (shape, numbers) for name, (shape, numbers) in arrays.items()}
    changed = [name for name in flat if flat[name][0] != arrays[name][0]]
    equal(sorted(changed), ["classifier.out_proj.weight", "roberta.embeddings.token_type_embeddings.weight"])
    file = write_gguf(folder / "flat.gguf", meta, bert(config, flat)[1])
    equal(run(*command, "-m", file).text, run(*command, "-m", model).text)
    no_list = {key: value for key, value in meta.items() if not key.endswith("classifier.output_labels")}
    equal(run(*command, "-m", write_gguf(folder / "one.gguf", no_list, bert(config, flat)[1])).text, run(*command, "-m", model).text)


def test_white_space_beside_special_tokens(folder):
    """Phi-3's special tokens take what is behind them: its files only name the model."""
    meta = {"general.architecture": "phi3", "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", "<|user|>", "\u2581", "a", "\u2581a"],
            "tokenizer.ggml.token_type": [2, 3, 3, 3, 1, 1, 1], "tokenizer.ggml.scores": [0.0, 0.0, 0.0, 0.0, -1.0, -2.0, -0.5]}
    (folder / "texts").write_text("<|user|>  a<|user|>  \n")
    for name, ids in ("Phi3", "3 6 3\n"), ("Phi 3", "3 4 4 6 3 4 4 4\n"):
        file = write_gguf(folder / "m.gguf", meta | {"general.name": name}, {})
        equal(run("tokenize", folder / "texts", "-m", file).text, ids, name)


def decoder(config, arch, **more):
    """The metadata of a decoder of Llama's layout; a key in `more` that is None is left out."""
    sizes = {"context_length": config["max_position_embeddings"], "embedding_length": config["hidden_size"], "feed_forward_length": config["intermediate_size"],
             "block_count": config["num_hidden_layers"], "attention.head_count": config["num_attention_heads"],
             "attention.head_count_kv": config["num_key_value_heads"], **more}
    return {"general.architecture": arch} | {f"{arch}.{key}": value for key, value in sizes.items() if value is not None}


PHI3 = {"^model.": "", "embed_tokens": "token_embd", "^norm": "output_norm", "lm_head": "output", r"layers\.(\d+)\.": r"blk.\1.", "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm", r"self_attn\.qkv_proj": "attn_qkv", r"self_attn\.o_proj": "attn_output", r"mlp\.gate_up_proj": "ffn_up",
        r"mlp\.down_proj": "ffn_down"}


def phi3(config, arrays, **more):
    """Without rope.scaling.attn_factor, as llama.cpp then has it: 1."""
    sizes = {"attention.layer_norm_rms_epsilon": config["rms_norm_eps"], "rope.freq_base": config["rope_theta"], "rope.dimension_count": 6,
             "rope.scaling.original_context_length": 8}
    factors = {f"rope_factors_{kind}.weight": floats((3,), config["rope_scaling"][f"{kind}_factor"]) for kind in ("short", "long")}
    return decoder(config, "phi3", **sizes | more), renamed(PHI3, arrays) | factors


def test_longrope(folder):
    """Texts on both sides of the original length; what a file lacks or has wrongly is told."""
    model, config, arrays = folder_of("phi3-longrope-odd", "phi3", folder)
    file = folder / "m.gguf"
    for factor in None, 1.25:
        config["rope_scaling"]["attention_factor"] = factor or 1.0
        (model / "config.json").write_text(json.dumps(config))
        write_gguf(file, *phi3(config, arrays, **{"rope.scaling.attn_factor": factor}))
        for ids in "5,6,7,8", "5,6,7,8,9,10,11,12", "5,6,7,8,9,10,11,12,13", "5,6,7,8,9,10,11,12,13,14,15,16":
            same(folder, model, file, ids=("--ids", ids))
    equal("longrope scaling" in run("info", file).text, True, run("info", file).text)
    meta, held = phi3(config, arrays)
    long, short = "rope_factors_long.weight", "rope_factors_short.weight"
    cases = [({}, {long: None}, f'm.gguf: tensor "{long}" is missing; the file has "{short}", and longrope needs both'),
             ({}, {short: None}, f'tensor "{short}" is missing'),
             ({"original_context_length": None}, {}, '"phi3.rope.scaling.original_context_length" is missing'),
             ({"original_context_length": 1}, {}, '"original_max_position_embeddings" is 1; it must be from 2'),
             ({"type": "yarn"}, {}, 'phi3.rope.scaling.type "yarn"'), ({"factor": 6.0}, {}, "with the factor 6 beside"),
             ({}, {"rope_freqs.weight": floats((3,), [1, 2, 3])}, 'tensor "rope_freqs.weight" beside'),
             ({}, {long: floats((2,), [1, 2])}, '"long_factor" has 2 numbers; 6 rotary dimensions of a head need 3'),
             ({}, {long: floats((1, 3), [1, 2, 3])}, f'tensor "{long}" must be a vector'),
             ({}, {short: floats((513,), [1] * 513)}, f'tensor "{short}" must be a vector of at most 512 numbers'),
             ({}, {short: floats((3,), [1, -2, 3])}, f'tensor "{short}"[1] is -2; a positive number is needed'),
             ({}, {short: floats((3,), [1, 2, math.nan])}, f'tensor "{short}"[2] is nan; a positive')]
    for settings, others, fragment in cases:
        told = meta | {f"phi3.rope.scaling.{key}": value for key, value in settings.items()}
        write_gguf(file, {key: value for key, value in told.items() if value is not None},
                   {name: array for name, array in (held | others).items() if array is not None})
        refused(3, fragment, "info", file)
    write_gguf(file, meta | {"phi3.rope.scaling.type": "longrope", "phi3.rope.scaling.factor": 1.0}, held)
    run("info", file)


QWEN3 = PHI3 | {rf"self_attn\.{x}_(proj|norm)": lambda m, x=x: f"attn_{x}" + ("_norm" if m[1] == "norm" else "") for x in "qk"} | {
    r"self_attn\.v_proj": "attn_v", r"mlp\.gate_proj": "ffn_gate", r"mlp\.up_proj": "ffn_up"}


def qwen3(config, **scaling):
    sizes = {"attention.key_length": config["head_dim"], "attention.value_length": config["head_dim"],
             "attention.layer_norm_rms_epsilon": config["rms_norm_eps"], "rope.freq_base": 10000.0}
    return decoder(config, "qwen3", **sizes | scaling)


def test_yarn(folder):
    """Where the ramp begins and ends; what llama.cpp's other numbers of YaRN may be, and Mistral's growing temperature."""
    rope = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 12}
    names = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 12}
    file, numbers = folder / "m.gguf", {}
    for fast, slow in (None, None), (32.0, 1.0), (1.5, 0.0625):
        model, config, arrays = folder_of("qwen3", f"m{fast}", folder, rope_parameters=rope | ({"beta_fast": fast, "beta_slow": slow} if fast else {}))
        betas = {"rope.scaling.yarn_beta_fast": fast, "rope.scaling.yarn_beta_slow": slow} if fast else {}
        write_gguf(file, qwen3(config, **names, **betas), renamed(QWEN3, arrays))
        same(folder, model, file)
        numbers[fast] = logits(folder, file)
    equal(numbers[None] == numbers[32.0], True, "32 and 1 are the defaults")
    assert max(abs(a - b) for a, b in zip(numbers[32.0], numbers[1.5], strict=True)) > 1e-3 * max(map(abs, numbers[1.5])), "the ramp changes too little to be tested"
    cases = ((True, "rope.scaling.yarn_ext_factor", 0.0, (1.0, -1.0)), (True, "rope.scaling.yarn_attn_factor", 1.25, (1.0,)),
             (True, "rope.scaling.yarn_log_multiplier", 0.5, (0.0,)), (False, "attention.temperature_scale", 0.5, (0.0,)))
    for of_yarn, key, value, fine in cases:
        for scaled in True, False:
            write_gguf(file, qwen3(config, **(names if scaled else {}), **{key: value}), renamed(QWEN3, arrays))
            if scaled or not of_yarn:
                refused(3, f'm.gguf: "qwen3.{key}" is {value:g}, which changes results; only {fine[0]:g} is served', "info", file)
            else:
                run("info", file)
        for value in fine:
            write_gguf(file, qwen3(config, **names, **{key: value}), renamed(QWEN3, arrays))
            run("info", file)
    write_gguf(file, qwen3(config, **names, **{"rope.scaling.yarn_beta_slow": 0.0}), renamed(QWEN3, arrays))
    refused(3, '"beta_slow" is 0', "info", file)


def test_other_scaling(folder):
    """A factor without a type is linear. The attention factor, which counts with any type, is read with those that have one in a config."""
    factor, kind, attention = "rope.scaling.factor", "rope.scaling.type", "rope.scaling.attn_factor"
    original = {"rope.scaling.original_context_length": 12}
    rope = {"rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 12}
    cases = (({factor: 4.0}, rope | {"rope_type": "linear"}), ({"rope.scale_linear": 4.0}, rope | {"rope_type": "linear"}),
             ({factor: 4.0, "rope.scale_linear": 2.0}, rope | {"rope_type": "linear"}), ({kind: "linear"}, rope | {"rope_type": "default"}),
             ({kind: "none", factor: 4.0}, rope | {"rope_type": "default"}), ({factor: 1.0, attention: 1.0}, rope | {"rope_type": "default"}),
             ({kind: "yarn", "rope.scale_linear": 4.0, **original}, rope | {"rope_type": "yarn"}),
             ({kind: "yarn", factor: 4.0, attention: 1.5, **original}, rope | {"rope_type": "yarn", "attention_factor": 1.5 * (0.1 * math.log(4) + 1)}))
    file, seen = folder / "m.gguf", []
    for i, (keys, parameters) in enumerate(cases):
        model, config, arrays = folder_of("qwen3", f"m{i}", folder, rope_parameters=parameters)
        write_gguf(file, qwen3(config, **keys), renamed(QWEN3, arrays))
        same(folder, model, file)
        seen.append(logits(folder, file))
    for i, j in (0, 3), (6, 7), (0, 6):
        assert seen[i] != seen[j], f"cases {i} and {j} give the same numbers"
    for keys in {attention: 1.5}, {attention: 0.0}, {kind: "linear", factor: 4.0, attention: 1.5}, {kind: "none", attention: 1.5}:
        write_gguf(file, qwen3(config, **keys), renamed(QWEN3, arrays))
        refused(3, f'm.gguf: "qwen3.{attention}" is {keys[attention]:g}, which changes results; only 1 is served for this architecture with the scaling type '
                   f'"{keys.get(kind, "none")}"', "info", file)
    for keys in {kind: "yarn"}, {kind: "yarn", factor: 0.0}:
        write_gguf(file, qwen3(config, **keys, **original), renamed(QWEN3, arrays))
        refused(3, 'm.gguf: "qwen3.rope.scaling.type" is "yarn", which needs a factor; "qwen3.rope.scaling.factor" is missing or 0', "info", file)
    write_gguf(file, *drawn("gemma3", **{"attention.sliding_window": 4, kind: "yarn", factor: 4.0, **original}))
    run("info", file)
    write_gguf(file, *drawn("gemma3", **{"attention.sliding_window": 4, kind: "yarn", factor: 4.0, attention: 1.5, **original}))
    refused(3, f'm.gguf: "gemma3.{attention}" is 1.5, which changes results; only 1 is served', "info", file)


WIDTH, HEADS, INNER, WORDS = 16, 4, 24, 24


def drawn(arch, layers=2, kv=HEADS, experts=0, **more):
    """Metadata without a key that may be missing, and arrays, of a small model of Llama's layout. A key in `more` that is None is left out."""
    head, lead, end = WIDTH // HEADS, (experts,) * bool(experts), "_exps" * bool(experts)
    shapes = {"token_embd": (WORDS, WIDTH), "output_norm": (WIDTH,)}
    if arch != "gemma3":
        shapes["output"] = WORDS, WIDTH
    for i in range(layers):
        parts = {"attn_norm": (WIDTH,), "ffn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (kv * head, WIDTH), "attn_v": (kv * head, WIDTH),
                 "attn_output": (WIDTH, WIDTH), f"ffn_gate{end}": (*lead, INNER, WIDTH), f"ffn_up{end}": (*lead, INNER, WIDTH), f"ffn_down{end}": (*lead, WIDTH, INNER)}
        if experts:
            parts["ffn_gate_inp"] = experts, WIDTH
        if arch in ("qwen3", "gemma3"):
            parts |= {"attn_q_norm": (head,), "attn_k_norm": (head,)}
        if arch == "gemma3":
            parts |= {"post_attention_norm": (WIDTH,), "post_ffw_norm": (WIDTH,)}
        shapes |= {f"blk.{i}.{part}": shape for part, shape in parts.items()}
    arrays = {}
    for name, shape in shapes.items():
        seed = sum(name.encode())
        arrays[f"{name}.weight"] = floats(shape, [((i * 37 + seed) % 19 - 9) / 12 + (len(shape) == 1) for i in range(math.prod(shape))])
    sizes = {"context_length": 64, "embedding_length": WIDTH, "feed_forward_length": INNER, "block_count": layers, "attention.head_count": HEADS,
             "attention.layer_norm_rms_epsilon": 1e-6} | ({"expert_count": experts, "expert_used_count": 2} if experts else {}) | more
    return {"general.architecture": arch} | {f"{arch}.{key}": value for key, value in sizes.items() if value is not None}, arrays


def two(folder, given, other):
    """Two files of what drawn gives."""
    return write_gguf(folder / "given.gguf", *given), write_gguf(folder / "other.gguf", *other)


def test_missing_keys(folder):
    """They mean what llama.cpp takes for them, not what transformers takes for a field that a config lacks."""
    head = WIDTH // HEADS
    every = {"rope.freq_base": 10000.0, "attention.head_count_kv": HEADS, "attention.key_length": head, "attention.value_length": head}
    window, scales = {"layers": 6, "attention.sliding_window": 4}, {"logit_scale": 2.0}
    for arch, needed, keys in (("llama", {"experts": 4}, every), ("qwen3", {}, every), ("smollm3", {}, every), ("gemma3", window, every | {"rope.freq_base_swa": 10000.0}),
                               ("granite", scales, every | {"attention.scale": head ** -0.5, "embedding_scale": 1.0, "residual_scale": 1.0})):
        for key in keys:
            same(folder, *two(folder, drawn(arch, **needed, **keys), drawn(arch, **needed, **keys | {key: None})))
        same(folder, *two(folder, drawn(arch, **needed, **keys), drawn(arch, **needed)))
        one, other = two(folder, drawn(arch, **needed), drawn(arch, **needed, **{"rope.freq_base": 500.0}))
        assert logits(folder, one) != logits(folder, other), f"{arch}: rotations change too little to be tested"
    one, other = two(folder, drawn("granite", **scales), drawn("granite", **scales, **{"attention.scale": 1.0}))
    assert logits(folder, one) != logits(folder, other), "scales of scores change too little to be tested"


def test_a_gemma_3_without_a_window(folder):
    """Its layers all see every token, and rotate alike."""
    wide = {"attention.sliding_window": 64, "rope.freq_base": 300.0}
    same(folder, *two(folder, drawn("gemma3", 7, **wide, **{"rope.freq_base_swa": 300.0}), drawn("gemma3", 7, **{"rope.freq_base": 300.0, "rope.freq_base_swa": 40.0})))
    one, other = two(folder, drawn("gemma3", 7, **wide), drawn("gemma3", 7, **wide | {"attention.sliding_window": 4}))
    assert logits(folder, one) != logits(folder, other), "windows change too little to be tested"


def test_a_conversation_begins_as_in_llama_cpp(folder):
    """With the beginning-of-sequence token, once, whether the template writes it or not, unless the file says that texts have none."""
    meta, arrays = drawn("llama", **{"attention.head_count_kv": HEADS})
    tokens = ["<unk>", "<s>", "</s>", "\u2581", "u", "x", *(f"<{i}>" for i in range(WORDS - 6))]
    meta |= {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": [0.0] * 3 + [-1.0] * (WORDS - 3),
             "tokenizer.ggml.token_type": [2, 3, 3] + [1] * (WORDS - 3), "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
             "tokenizer.ggml.unknown_token_id": 0, "tokenizer.ggml.add_space_prefix": False}
    for writes, adds, count in ("", True, 3), ("{{ bos_token }}", True, 3), ("", False, 2), ("{{ bos_token }}", False, 3):
        template = writes + "{% for m in messages %}u{{ m.content }}{% endfor %}"
        file = write_gguf(folder / "chat.gguf", meta | {"tokenizer.ggml.add_bos_token": adds, "tokenizer.chat_template": template}, arrays)
        told = run("generate", "-d", "reference", "-v", "-m", file, "--chat", "-n", 1, "--temp", 0, "x").err
        assert f"prefill {count} tokens" in told, (writes, adds, told)


def test_ollamas_names_of_rotary_bases(folder):
    """Its own converter wrote Gemma 3's so."""
    window, bases = {"layers": 6, "attention.sliding_window": 4}, {"rope.freq_base": 300.0, "rope.freq_base_swa": 40.0}
    given, other = two(folder, drawn("gemma3", **window, **bases), drawn("gemma3", **window, **{"rope.global.freq_base": 300.0, "rope.local.freq_base": 40.0}))
    same(folder, given, other)
    for key in bases:
        assert logits(folder, given) != logits(folder, write_gguf(folder / "without.gguf", *drawn("gemma3", **window, **bases | {key: None}))), key


def test_keys_that_have_no_default(folder):
    """And values that are not served."""
    file, eps = folder / "m.gguf", {"attention.layer_norm_rms_epsilon": 1e-6}
    table = {"token_embd.weight": floats((2, 2), [1, 2, 3, 4])}
    for arch, held, key in (("llama", {}, 'attention.layer_norm_rms_epsilon" or "llama.attention.layer_norm_epsilon'), ("command-r", eps, "logit_scale"),
                            ("cohere2", eps | {"attention.sliding_window": 4}, "logit_scale"), ("cohere2", eps | {"logit_scale": 1.0}, "attention.sliding_window"),
                            ("granite", eps, "logit_scale"), ("granitemoe", eps, "logit_scale"), ("gpt-oss", eps, "attention.sliding_window"),
                            ("gemma-embedding", eps, "attention.sliding_window"), ("gptneox", eps, "use_parallel_residual"), ("mpt", eps, "attention.max_alibi_bias")):
        write_gguf(file, {"general.architecture": arch} | {f"{arch}.{name}": value for name, value in held.items()}, table)
        refused(3, f'm.gguf: metadata "{arch}.{key}" is missing, and there is no default for it', "info", file)
    write_gguf(file, *drawn("llama", experts=4, expert_used_count=None))
    refused(3, 'm.gguf: metadata "llama.expert_count" is 4, but "llama.expert_used_count" is missing', "info", file)
    for key in "expert_group_count", "expert_gating_func":
        for value in 1, 2:
            write_gguf(file, *drawn("llama", experts=4, **{key: value}))
            if value == 1:
                run("info", file)
        refused(3, f'm.gguf: "llama.{key}" is 2, which changes results; only 1 is served', "info", file)
    for rotated in True, False:
        write_gguf(file, *drawn("granite", **{"logit_scale": 1.0, "rope.scaling.finetuned": rotated}))
        if rotated:
            run("info", file)
    refused(3, 'm.gguf: "granite.rope.scaling.finetuned" is false: a Granite without rotary positions', "info", file)


def test_scores_of_experts(folder):
    """3 is a softmax of the chosen experts alone."""
    file, data = folder / "m.gguf", (GOLDEN / "deepseek_v3/model.gguf").read_bytes()
    key = b"deepseek2.expert_gating_func" + struct.pack("<I", 4)
    assert data.count(key + struct.pack("<I", 2)) == 1
    for value in 3, 4, 2:
        file.write_bytes(data.replace(key + struct.pack("<I", 2), key + struct.pack("<I", value)))
        if value != 2:
            refused(3, f'm.gguf: "deepseek2.expert_gating_func" is {value}, which is not served; 1 (softmax) and 2 (sigmoid) are', "info", file)
    run("info", file)


def test_lists_with_a_value_for_each_layer(folder):
    kv, inner, heads = "attention.head_count_kv", "feed_forward_length", "attention.head_count"
    same(folder, *two(folder, drawn("llama", kv=2, **{kv: 2}), drawn("llama", kv=2, **{kv: [2, 2], inner: [INNER] * 2, heads: [HEADS] * 2})))
    file = folder / "m.gguf"
    for key, values, fragment in ((kv, [2, 1], "is 2 for layer 0 and 1 for layer 1; layers of different sizes are not served"),
                                  (inner, [INNER, 7], f"is {INNER} for layer 0 and 7 for layer 1; layers of different"), (heads, [HEADS, 2], "is 4 for layer 0 and 2 for"),
                                  (kv, [2, 2, 2], 'lists 3 values, but "llama.block_count" is 2; one value for each layer is needed'), (kv, [2.0, 2.0], "is a list in which each"),
                                  (kv, [2**32 - 1] * 2, "is 4294967295 for each layer; it must be from 0 to")):
        write_gguf(file, *drawn("llama", kv=2, **{kv: 2} | {key: values}))
        refused(3, f'm.gguf: metadata "llama.{key}" {fragment}', "info", file)
    pattern, window = "attention.sliding_window_pattern", {"attention.sliding_window": 4, "rope.freq_base_swa": 40.0}
    same(folder, *two(folder, drawn("gemma3", 3, **window, **{pattern: 3}), drawn("gemma3", 3, **window, **{pattern: [True, True, False]})))
    one, other = two(folder, drawn("gemma3", 3, **window, **{pattern: 3}), drawn("gemma3", 3, **window, **{pattern: [False, True, True]}))
    assert logits(folder, one) != logits(folder, other), "which layers have the window makes no difference"
    write_gguf(file, *drawn("gemma3", 3, **window, **{pattern: [True, False]}))
    refused(3, f'm.gguf: metadata "gemma3.{pattern}" lists 2 values, but "gemma3.block_count" is 3', "info", file)


STARCODER2 = QWEN3 | {r"mlp\.c_fc": "ffn_up", r"mlp\.c_proj": "ffn_down"}


def test_starcoder2(folder):
    """Its norms' epsilon has a name of its own in a config, and its biases have one key."""
    model, config, arrays = folder_of("starcoder2", "m", folder, sliding_window=None, norm_epsilon=0.125)
    meta = decoder(config, "starcoder2", **{"attention.layer_norm_epsilon": config["norm_epsilon"], "rope.freq_base": config["rope_parameters"]["rope_theta"]})
    same(folder, model, write_gguf(folder / "m.gguf", meta, renamed(STARCODER2, arrays)))


MPT = {"^transformer.": "", "wte": "token_embd", "norm_f": "output_norm", r"blocks\.(\d+)\.": r"blk.\1.", "norm_1": "attn_norm", "norm_2": "ffn_norm",
       r"attn\.Wqkv": "attn_qkv", r"attn\.out_proj": "attn_output", r"ffn\.up_proj": "ffn_up", r"ffn\.down_proj": "ffn_down"}


def test_mpt(folder):
    """Its width alone tells that of the feed-forward part; scores have no scale of their own in a file."""
    attention = json.loads((GOLDEN / "mpt-odd/config.json").read_text())["attn_config"]
    model, config, arrays = folder_of("mpt-odd", "m", folder, attn_config=attention | {"softmax_scale": None})
    sizes = {"context_length": config["max_seq_len"], "embedding_length": config["d_model"], "feed_forward_length": 4 * config["d_model"],
             "block_count": config["n_layers"], "attention.head_count": config["n_heads"], "attention.layer_norm_epsilon": config["layer_norm_epsilon"],
             "attention.max_alibi_bias": 8.0}
    file = write_gguf(folder / "m.gguf", {"general.architecture": "mpt"} | {f"mpt.{key}": value for key, value in sizes.items()}, renamed(MPT, arrays))
    same(folder, model, file)


def test_command_r(folder):
    model, config, arrays = folder_of("cohere-odd", "m", folder, hidden_act="silu")
    meta = decoder(config, "command-r", **{"attention.layer_norm_epsilon": config["layer_norm_eps"], "logit_scale": config["logit_scale"],
                                           "rope.freq_base": config["rope_parameters"]["rope_theta"]})
    same(folder, model, write_gguf(folder / "m.gguf", meta, renamed(QWEN3, arrays)))


def in_pairs(rows, heads):
    """Rows i and i + D/2 of a head become rows 2i and 2i + 1, as the converter stores queries and keys of Llama and some relatives."""
    size = len(rows) // heads
    return [rows[h * size + i + half] for h in range(heads) for i in range(size // 2) for half in (0, size // 2)]


def test_smollm3(folder):
    """Every fourth layer rotates nothing, which a file does not say. Two layers of the golden are layers 2 and 3, too."""
    model, config, arrays = folder_of("smollm3-odd", "m", folder, hidden_act="silu", num_hidden_layers=4, use_sliding_window=False, sliding_window=None,
                                      layer_types=["full_attention"] * 4, no_rope_layers=[1, 1, 1, 0])
    arrays |= {re.sub(r"layers\.(\d)", lambda m: f"layers.{int(m[1]) + 2}", name): array for name, array in arrays.items() if ".layers." in name}
    write(model / "model.safetensors", arrays)
    held = {}
    for name, (shape, values) in arrays.items():
        heads = config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"]
        if re.search(r"[qk]_proj", name):
            width = shape[1]
            values = sum(in_pairs([list(values[i:i + width]) for i in range(0, len(values), width)], heads), [])
        held[name] = shape, values
    meta = decoder(config, "smollm3", **{"attention.layer_norm_rms_epsilon": config["rms_norm_eps"], "rope.freq_base": config["rope_parameters"]["rope_theta"]})
    file = write_gguf(folder / "m.gguf", meta, renamed(QWEN3, held))
    same(folder, model, file)
    rotated, _, _ = folder_of("smollm3-odd", "r", folder, **{key: config[key] for key in ("hidden_act", "num_hidden_layers", "layer_types")},
                              use_sliding_window=False, sliding_window=None, no_rope_layers=[1] * 4)
    write(rotated / "model.safetensors", arrays)
    assert logits(folder, rotated) != logits(folder, file), "which layers rotate makes no difference"


GLM = QWEN3 | {r"mlp\.gate_up_proj": "ffn_up", r"self_attn\.qkv": "attn_qkv"}


def test_glm_with_queries_keys_and_values_in_one_array(folder):
    """As files made from THUDM's first folders have them; with three arrays: tests/golden/models/glm-odd."""
    model, config, arrays = folder_of("glm-odd", "m", folder)
    rope, held = config["rope_parameters"], {}
    for name in sorted(arrays, key=lambda name: "k_proj" in name or 2 * ("v_proj" in name)):  # queries, keys, values
        (shape, values), name = arrays[name], re.sub(r"[qkv]_proj", "qkv", name)
        before, more = held.get(name, ((0,), []))
        held[name] = (before[0] + shape[0], *shape[1:]) if more else shape, [*more, *values]
    meta = decoder(config, "chatglm", **{
        "attention.layer_norm_rms_epsilon": config["rms_norm_eps"], "attention.key_length": config["head_dim"], "attention.value_length": config["head_dim"],
        "rope.freq_base": rope["rope_theta"], "rope.dimension_count": int(config["head_dim"] * rope["partial_rotary_factor"])})
    equal(sum("qkv" in name for name in held), 2 * config["num_hidden_layers"], list(held))
    same(folder, model, write_gguf(folder / "m.gguf", meta, renamed(GLM, held)))


def test_glm_4_with_sections(folder):
    """GLM-4V's text: llama.cpp's converter puts the halves of each rotated pair apart, which the sections of its positions show."""
    model, config, arrays = folder_of("glm4-odd", "m", folder)
    rope, size, held = config["rope_parameters"], config["head_dim"], {}
    rotary = int(size * rope["partial_rotary_factor"])
    order = [*range(0, rotary, 2), *range(1, rotary, 2), *range(rotary, size)]
    for name, (shape, values) in arrays.items():
        if re.search(r"[qk]_proj", name):
            width = math.prod(shape[1:])
            rows = [values[i:i + width] for i in range(0, len(values), width)]
            values = [number for head in range(0, len(rows), size) for i in order for number in rows[head + i]]
        held[name] = shape, values
    names = GLM | {"post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm"}
    meta = decoder(config, "glm4", **{
        "attention.layer_norm_rms_epsilon": config["rms_norm_eps"], "attention.key_length": size, "attention.value_length": size,
        "rope.freq_base": rope["rope_theta"], "rope.dimension_count": rotary})
    same(folder, model, write_gguf(folder / "pairs.gguf", meta, renamed(names, arrays)))
    wanted = logits(folder, model)
    file = write_gguf(folder / "halves.gguf", meta | {"glm4.rope.dimension_sections": [1, 1, 1, 0]}, renamed(names, held))
    far = write_gguf(folder / "far.gguf", meta | {"glm4.rope.dimension_sections": [3, 0, 0, 0]}, renamed(names, held))
    most, apart = max(map(abs, wanted)), [max(abs(a - b) for a, b in zip(wanted, logits(folder, each), strict=True)) for each in (file, far)]
    assert apart[0] < 1e-5 * most < apart[1], apart


def logits(folder, model):
    run("dump", "-d", "reference", "-q", "-m", model, *IDS[:2], "-o", folder / "l.safetensors")
    return read_safetensors(folder / "l.safetensors")["logits"][1]


def test_minicpm_without_its_factors(folder):
    """Its first GGUF files lack them: they are MiniCPM 2B's. A config that lacks them has 1 for each."""
    model, data = copy_model(GOLDEN / "minicpm", folder / "m"), (GOLDEN / "minicpm/model.gguf").read_bytes()
    for key in b"minicpm.embedding_scale", b"minicpm.residual_scale", b"minicpm.logit_scale":
        equal(data.count(key), 1, key)
        data = data.replace(key, key[:-1] + b"_")
    (folder / "old.gguf").write_bytes(data)
    asked = {"2B": (12, 1.4, 256), "ones": (1, 1, 1), "none": (None, None, None), "other": (12, 1.4, 255)}
    got = {}
    for name, values in asked.items():
        held = dict(zip(("scale_emb", "scale_depth", "dim_model_base"), values))
        original = json.loads((GOLDEN / "minicpm/config.json").read_text())
        (model / "config.json").write_text(json.dumps({key: value for key, value in (original | held).items() if value is not None}))
        got[name] = logits(folder, model)
    old, most = logits(folder, folder / "old.gguf"), max(map(abs, got["2B"]))
    assert max(abs(a - b) for a, b in zip(old, got["2B"], strict=True)) < 1e-5 * most < max(abs(a - b) for a, b in zip(old, got["other"], strict=True))
    equal(got["none"], got["ones"])
    change_json(model / "config.json", sparse_config={"kernel_size": 32})
    refused(3, '"sparse_config"', "info", model)
    change_json(model / "config.json", sparse_config=None, num_experts=8)
    refused(3, '"num_experts"', "info", model)


main(globals())

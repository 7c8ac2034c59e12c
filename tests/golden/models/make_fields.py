#!/usr/bin/env python3
"""Makes fields.json: for each golden model that transformers opens, and each field of its config, other values than the golden's, and
what transformers does with them: "changes" (other numbers with the same arrays), "same", or "shape" (it needs other arrays); "with arrays
left over" where it does not read all. Values that it refuses are left out.

    python3 make_fields.py [FOLDER...]   (needs torch, transformers, safetensors, numpy; the goldens must have been made)

A row is [field, value, what, place, numbers]: of "changes", the sequence and the token where they differ most, and every STEP-th number
of that token, which are logits, labels or, of a model without a head, the hidden state. The case is the first of cases.json. A sixth item has
other fields that the value needs. A field for which no golden of its family has a row is an error, unless WITHOUT says why.
"""
import contextlib
import dataclasses
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path

import torch
import transformers as tr
from safetensors.torch import load_file, save_file

from make import HERE, Exact64

STEP = 6
FOLDERS = ("*-odd", "*-odd/*", "*-qa/qa", "*-labels/cls", "*/vectors", "bert/base", "bert-tiny/*", "eurobert/*", "deepseek_v2", "deepseek_v3")
NOT_OFFICIAL = {"NewModel", "JinaBertModel"}    # classes of code beside the files
IMAGES = ("gemma3-odd",)                        # its text_config is read as gemma3_text is
ACTIVATIONS = ("relu", "silu", "gelu", "gelu_new", "gelu_pytorch_tanh", "tanh", "swish")
FEED_FORWARD = ("relu", "gelu", "gated-gelu", "gated-silu", "gelu_new", "gated-gelu_new", "gated-relu")
TEXTS = {"classifier_pooling": ("cls", "bos", "mean", "late"), "feed_forward_proj": FEED_FORWARD,
         "problem_type": ("regression", "single_label_classification", "multi_label_classification"),
         "topk_method": ("greedy", "group_limited_greedy", "noaux_tc"), "scoring_func": ("softmax", "sigmoid"),
         "position_embedding_type": ("absolute", "relative_key", "relative_key_query"),
         "norm_rel_ebd": ("none", "layer_norm"), "norm_type": ("layernorm", "rmsnorm"),
         "rope_type": ("default", "linear", "dynamic", "yarn", "llama3", "longrope")}
UNSET = {"sliding_window": 3, "n_inner": 20, "num_ln_in_parallel_attn": 1, "clip_qkv": 0.5, "softmax_scale": 0.4, "no_rope_layers": [0, 1],
         "use_bidirectional_attention": True, "num_kv_heads": 1, "ffn_hidden_size": 20, "logit_scale": 0.3, "head_dim": 6, "use_qk_norm": True,
         "conv_act": "relu", "conv_groups": 2, "conv_kernel_size": 3, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": False,
         "talking_head": True, "use_mems_eval": True, "num_decoder_layers": 1, "decoder_vocab_size": 31, "scale_decoder_outputs": True,
         "classifier_bias": True, "position_embedding_type": "relative_key", "q_lora_rank": 5, "problem_type": "regression",
         "rope_theta": 77.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0}, "partial_rotary_factor": 0.5}
# read without being declared
DEBERTA = ("conv_act", "conv_groups", "conv_kernel_size", "position_buckets", "norm_rel_ebd", "share_att_key", "talking_head")
MORE = ("position_embedding_type", "tie_encoder_decoder", "tie_word_embeddings", "is_decoder", "add_cross_attention", "problem_type",
        "chunk_size_feed_forward", "scale_decoder_outputs", "share_encoder_decoder_embeddings", "use_parallel_residual",
        "id2label", "num_labels")
ROTARY = ("rope_theta", "rope_scaling", "partial_rotary_factor")    # as transformers 4 wrote them, beside rope_parameters
SKIPPED = {f.name for f in dataclasses.fields(tr.PreTrainedConfig)} - set(MORE) | {
    "bos_token_id", "eos_token_id", "use_cache", "initializer_range", "initializer_factor", "init_std", "init_device", "vocab_size", "torch_dtype",
    "cls_token_id", "sep_token_id", "mask_token_id", "unk_token_id", "cutoff_factor", "initializer_cutoff_factor", "deterministic_flash_attn",
    "sparse_prediction", "sparse_pred_ignore_index", "reference_compile", "repad_logits_with_grad", "decoder_start_token_id", "is_encoder_decoder",
    "legacy"}       # of an encoder; the file's arrays tell which head it has
SLIDING = ["sliding_attention", "full_attention"]
OTHER = {   # values of a family's field, each with the fields that it needs, where transformers takes none of those that others() gives
    ("gptj", "rotary_dim"): [(2, {}), (6, {})], ("deepseek_v3", "n_group"): [(n, {}) for n in (2, 3, 6)],
    ("qwen3", "layer_types"): [(SLIDING, {"sliding_window": 3, "use_sliding_window": True})], ("qwen3_moe", "mlp_only_layers"): [([0], {}), ([1], {})],
    ("phi", "rope_scaling"): [({"rope_type": "linear", "factor": 2.0}, {"partial_rotary_factor": 2 / 3})]}
WITHOUT = {     # fields without a row, by the beginning of the family's name; tests/model/fields.c says what Tessera does with other values
    ("", "model_type"): "it names the family", ("", "add_cross_attention"): "transformers refuses it without is_decoder",
    ("falcon", "alibi"): "transformers rounds it to bfloat16", ("gpt2", "reorder_and_upcast_attn"): "transformers computes it in float32 alone",
    ("deepseek", "num_key_value_heads"): "transformers fails unless it is num_attention_heads",
    ("deepseek", "head_dim"): "transformers fails unless it is qk_rope_head_dim, or repeats one angle",
    ("gte", "partial_rotary_factor"): "transformers rotates whole heads", ("nomic_bert", "partial_rotary_factor"): "transformers rotates whole heads"}


def others(key, value):
    """Other values of a field; of an object, objects with one other value each."""
    if key == "id2label":
        yield {str(i): f"label {i}" for i in range(len(value) + 1)}
    elif isinstance(value, dict):
        for inner in [inner for inner in value if inner not in SKIPPED]:
            for other in others(inner, value[inner]):
                yield value | {inner: other}
    elif isinstance(value, list):
        flipped = {"c2p": "p2p", "p2c": "p2p", "full_attention": "sliding_attention", "sliding_attention": "full_attention", 0: 1, 1: 0}
        if value:
            yield [2 * value[0] if isinstance(value[0], float) else flipped[value[0]]] + value[1:]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from sorted({value + 1, value * 2} - {value})
    elif isinstance(value, float):
        yield value * 0.5 + 0.07
    elif key in TEXTS and value is not None:
        yield from (text for text in TEXTS[key] if text != value)
    elif isinstance(value, str) and value in ACTIVATIONS:
        yield from ("silu" if value == "relu" else "relu", "quick_gelu", "gelu_fast")
    elif value is None:
        if "softcapping" in key:
            yield 0.9
        elif key in UNSET:
            yield UNSET[key]


def with_needs(config, key, value):
    """The same, each with other fields that it needs, and the values of OTHER; one layer less needs a shorter list of what layers are."""
    yield from ((other, {}) for other in others(key, value))
    yield from OTHER.get((config["model_type"], key), ())
    if key == "num_hidden_layers" and "layer_types" in config:
        yield value - 1, {"layer_types": config["layer_types"][:value - 1]}


def inputs_of(folder):
    """Those of the first case."""
    home = HERE / folder if (HERE / folder / "cases.json").exists() else (HERE / folder).parent
    case = json.loads((home / "cases.json").read_text())["cases"][0]
    return {k: torch.tensor(v) for k, v in case.items() if k != "name"}


def as_doubles(folder, copy):
    """The golden's files with arrays of float64, which transformers then computes in."""
    for file in (HERE / folder).iterdir():
        if file.name == "model.safetensors":
            save_file({k: v.double() if v.is_floating_point() else v for k, v in load_file(file).items()}, copy / file.name, {"format": "pt"})
        elif file.is_file() and file.suffix == ".json":
            shutil.copy(file, copy)


def computed(kind, copy, config, inputs):
    """What the model gives, [sequences, tokens, numbers], and the arrays that the file has besides; None: the file lacks some, or has
    them in other shapes."""
    (copy / "config.json").write_text(json.dumps(config))
    with Exact64(), torch.no_grad():
        try:
            model, told = kind.from_pretrained(copy, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager",
                                               output_loading_info=True)
        except RuntimeError as error:
            if "ignore_mismatched_sizes" in str(error):
                return None, ()
            raise
        if told["missing_keys"]:
            return None, ()
        causal = "decoder_input_ids" in inputs or any(end in kind.__name__ for end in ("CausalLM", "LMHead"))
        r = model.eval()(**inputs, **({"use_cache": False} if causal else {}))
    if "start_logits" in r:
        got = torch.stack([r.start_logits, r.end_logits], -1)
    elif "prediction_logits" in r:
        got = r.prediction_logits
    elif "logits" in r:
        got = r.logits if r.logits.ndim == 3 else r.logits[:, None]
    else:
        pooled = r.get("pooler_output")
        got = r.last_hidden_state if pooled is None else pooled[:, None]
    return got, tuple(sorted(told["unexpected_keys"]))


def place(difference, inputs):
    """The sequence and the visible token where the numbers differ most."""
    most = difference.abs().amax(-1)
    mask = inputs.get("attention_mask")
    if mask is not None and most.shape == mask.shape:
        most = most * mask
    at = int(most.argmax())
    return [at // most.shape[1], at % most.shape[1]]


def row(key, other, new, old, inputs):
    (got, besides), (usual, known) = new, old
    if got is None or got.shape != usual.shape:
        return [key, other, "shape"]
    more = besides != known     # arrays of the file that are not read
    if torch.allclose(got, usual, rtol=0, atol=1e-12):
        return [key, other, "same, with arrays left over" if more else "same"]
    b, t = place(got - usual, inputs)
    return [key, other, "changes, with arrays left over" if more else "changes", [b, t], [float(f"{x:.7g}") for x in got[b, t, ::STEP].tolist()]]


def keys_of(kind, config):
    """The fields of the class by the names that the file has, and what the file has besides."""
    aliases = kind.config_class.attribute_map
    aliases = aliases | {new: old for old, new in aliases.items()}
    declared = [field.name for field in dataclasses.fields(kind.config_class)]
    names = [aliases[key] if key not in config and aliases.get(key) in config else key for key in declared]
    more = MORE + DEBERTA * ("deberta" in config["model_type"]) + ROTARY * ("rope_parameters" in config)
    return list(dict.fromkeys(names + list(config) + list(more)))


def is_walked(key):
    return not (key in SKIPPED or "dropout" in key or "pdrop" in key or key.startswith("summary_"))


def lacking(found):
    """The fields of each family of which no golden has a row. A key of MORE that neither the class nor the file has need not have one."""
    with_row, declared = {}, {}
    for name in folders():
        config = json.loads((HERE / name / "config.json").read_text())
        kind, family = getattr(tr, config["architectures"][0]), config["model_type"]
        own = {field.name for field in dataclasses.fields(kind.config_class)} | set(config)
        with_row.setdefault(family, set()).update(each[0] for each in found.get(name, ()))
        declared.setdefault(family, set()).update(key for key in keys_of(kind, config) if is_walked(key) and (key in own or key not in MORE))
    return [(family, key) for family, keys in declared.items() for key in sorted(keys - with_row[family])
            if not any(family.startswith(start) and key == one for start, one in WITHOUT)]


def walk(folder, copy):
    config = json.loads((HERE / folder / "config.json").read_text())
    kind, inputs = getattr(tr, config["architectures"][0]), inputs_of(folder)
    taken = set(inputs["input_ids"].flatten().tolist() + inputs.get("decoder_input_ids", torch.tensor([])).flatten().tolist())
    as_doubles(folder, copy)
    usual = computed(kind, copy, config, inputs)
    assert usual[0] is not None, folder
    rows = []
    for key in keys_of(kind, config):
        if not is_walked(key):
            continue
        value = config.get(key, None if key in ROTARY else getattr(kind.config_class(), key, None))
        known = {k: v for k, v in config.items() if key != "feed_forward_proj" or k not in ("dense_act_fn", "is_gated_act")}  # files that say it once
        free = [n for n in range(config.get("vocab_size", 29)) if n not in taken and n != value]
        padding = [(n, {}) for n in free[:2]]   # a text has no padding in it
        for other, needs in padding if key == "pad_token_id" else with_needs(config, key, value):
            with contextlib.redirect_stderr(io.StringIO()):
                try:
                    got = computed(kind, copy, known | {key: other} | needs, inputs)
                except Exception:
                    continue
            made = row(key, other, got, usual, inputs)
            rows.append((made + [None] * (5 - len(made)) + [needs]) if needs else made)
    return rows


def folders():
    for folder in sorted({f for pattern in FOLDERS for f in HERE.glob(pattern) if (f / "config.json").exists()}):
        name = str(folder.relative_to(HERE))
        architectures = json.loads((folder / "config.json").read_text()).get("architectures", [""])
        if name not in IMAGES and not NOT_OFFICIAL & set(architectures):
            yield name


if __name__ == "__main__":
    path = HERE / "fields.json"
    found = json.loads(path.read_text()) if len(sys.argv) > 1 else {}
    tr.logging.set_verbosity_error()
    tr.logging.disable_progress_bar()
    for name in sys.argv[1:] or folders():
        with tempfile.TemporaryDirectory() as copy:
            found[name] = walk(name, Path(copy))
        print(name, len(found[name]), flush=True)
    text = ",\n".join(f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in sorted(found.items()))
    path.write_text("{\n" + text + "\n}\n")
    assert not lacking(found), f"no row: {lacking(found)}"

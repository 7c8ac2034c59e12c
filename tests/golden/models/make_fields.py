#!/usr/bin/env python3
"""Makes fields.json: for each decoder family, and DeBERTa's encoders, and each field of its official config, other values than that of the family's odd golden, and
what transformers does with them: "changes" (other logits with the same weights), "same", or "shape" (other arrays). Values that it
refuses are left out.

    python3 make_fields.py       (needs torch, transformers, safetensors; make_odd.py must have run)
"""
import contextlib
import dataclasses
import io
import json
import re

import torch
import transformers as tr
from safetensors.torch import load_file

from make import HERE, Exact64
from make_odd import CONVOLVED_ENCODERS, DECODERS, EXPERTS, FIRST_ENCODERS, LATENT, LATER

ENCODERS = {name: config for name, (config, _) in (CONVOLVED_ENCODERS | FIRST_ENCODERS).items() if name != "deberta-own"}
MORE = ("conv_act", "conv_groups", "conv_kernel_size", "position_buckets", "norm_rel_ebd", "share_att_key", "talking_head")  # read without being declared
ACTIVATIONS = ("relu", "silu", "gelu")
UNSET = {"sliding_window": 3, "n_inner": 20, "num_ln_in_parallel_attn": 1, "clip_qkv": 0.5, "softmax_scale": 0.4, "no_rope_layers": [0, 1],
         "use_bidirectional_attention": True, "num_kv_heads": 1, "ffn_hidden_size": 20, "logit_scale": 0.3, "head_dim": 6, "use_qk_norm": True,
         "conv_act": "relu", "conv_groups": 2, "conv_kernel_size": 3, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": False,
         "talking_head": True}
SKIPPED = {f.name for f in dataclasses.fields(tr.PreTrainedConfig)} | {
    "bos_token_id", "eos_token_id", "pad_token_id", "use_cache", "initializer_range", "init_device", "vocab_size",
    "legacy"}       # of an encoder; the file's arrays tell which head it has


def others(key, value):
    """Other values of a field; of an object, objects with one other value each."""
    if isinstance(value, dict):
        for inner in list(value):
            for other in others(inner, value[inner]):
                yield value | {inner: other}
    elif isinstance(value, list):
        flipped = {"c2p": "p2p", "p2c": "p2p", "full_attention": "sliding_attention", "sliding_attention": "full_attention", 0: 1, 1: 0}
        if value:
            yield [flipped[value[0]]] + value[1:]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        yield value * 2
    elif isinstance(value, float):
        yield value * 0.5 + 0.07
    elif isinstance(value, str) and value in ACTIVATIONS + ("gelu_new", "gelu_pytorch_tanh"):
        yield ACTIVATIONS[value == ACTIVATIONS[0]]
    elif value is None:
        if "softcapping" in key:
            yield 0.9
        elif key in UNSET:
            yield UNSET[key]


def logits(config, state, ids):
    kind, more = (tr.AutoModelForMaskedLM, {}) if type(config) in map(type, ENCODERS.values()) else (tr.AutoModelForCausalLM, {"use_cache": False})
    config._attn_implementation = config._experts_implementation = "eager"
    with Exact64(), torch.no_grad():
        model = kind._model_mapping[type(config)](config).double().eval()
        try:
            found = model.load_state_dict(state, strict=False)
        except RuntimeError:
            return None
        if found.unexpected_keys or set(found.missing_keys) - {"lm_head.weight", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}:
            return None
        model.tie_weights()
        return model(input_ids=ids, **more).logits


RENAMED = {"block_sparse_moe.gate.": "mlp.gate.", "block_sparse_moe.input_linear.weight": "block_sparse_moe.experts.gate_up_proj",
           "block_sparse_moe.output_linear.weight": "block_sparse_moe.experts.down_proj", "router.layer.": "router."}   # files, models


def renamed(name):
    for old, new in RENAMED.items():
        name = name.replace(old, new)
    return name


def together(state):
    """The arrays of experts as the models have them: those of a layer in one."""
    out, layers = {}, {}
    for name, t in state.items():
        at, expert, end = re.fullmatch(r"(.*)\.experts\.(\d+)\.(\w+)\.weight|.*", name).groups() or (None,) * 3
        if at:
            layers.setdefault(at.replace("block_sparse_moe", "mlp"), {})[int(expert), end] = t
        else:
            out[renamed(name)] = t
    for at, parts in layers.items():
        gate, up, down = ("w1", "w3", "w2") if (0, "w1") in parts else ("gate_proj", "up_proj", "down_proj")
        n = range(1 + max(e for e, _ in parts))
        out[f"{at}.experts.gate_up_proj"] = torch.stack([torch.cat([parts[e, gate], parts[e, up]]) for e in n])
        out[f"{at}.experts.down_proj"] = torch.stack([parts[e, down] for e in n])
    return out


def walk(name):
    folder = HERE / f"{name}-odd" / ("mlm" if name in ENCODERS else "")
    config = json.loads((folder / "config.json").read_text())
    kind = type((DECODERS | LATER | EXPERTS | LATENT | ENCODERS)[name])
    state = {k.replace("embed_out.", "lm_head."): v.double() for k, v in together(load_file(folder / "model.safetensors")).items()}
    ids = torch.tensor(json.loads((HERE / f"{name}-odd" / "cases.json").read_text())["cases"][0]["input_ids"])
    usual = logits(kind.from_dict(json.loads(json.dumps(config))), state, ids)
    assert usual is not None, name
    rows = []
    for key in [field.name for field in dataclasses.fields(kind)] + [key for key in MORE if name in ENCODERS]:
        if key in SKIPPED or "dropout" in key or "pdrop" in key or key.startswith("summary_"):
            continue
        value = config.get(key, getattr(kind(), key, None))
        for other in others(key, value):
            with contextlib.redirect_stderr(io.StringIO()):
                try:
                    got = logits(kind.from_dict(json.loads(json.dumps(config | {key: other}))), state, ids)
                except Exception:
                    continue
            same = got is not None and torch.allclose(got, usual, rtol=0, atol=1e-12)
            rows.append([key, other, "shape" if got is None else "same" if same else "changes"])
    return rows


if __name__ == "__main__":
    found = {name: walk(name) for name in DECODERS | LATER | EXPERTS | LATENT | ENCODERS if name != "gemma3"}     # its text_config is read as gemma3_text is
    text = ",\n".join(f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in found.items())
    (HERE / "fields.json").write_text("{\n" + text + "\n}\n")
    print({name: len(rows) for name, rows in found.items()})

#!/usr/bin/env python3
"""Compares random tiny models of many configurations with transformers itself: hidden states, attention, logits and greedy ids.

The goldens have one configuration per family; this script varies what checkpoints differ in. Skipped without torch, transformers and safetensors.
"""

import copy
import json
import math
import sys

from support.command import ALL, DEVICE, equal, has_device, main, refused, run, skip
from support.hugging_face import hf, load_file, np, torch
from safetensors.torch import load_file as load_tensors  # pylint: disable=wrong-import-order
from safetensors.torch import save_file as save_tensors  # pylint: disable=wrong-import-order

ON = DEVICE if ALL else "reference"  # each configuration needs kernels of its own
if not has_device(ON):
    skip(f"no device {ON}")

TOKENS = {"vocab_size": 96, "bos_token_id": 1, "eos_token_id": 2}
PLAIN = {**TOKENS, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 80, "max_position_embeddings": 64}
GROUPED = {**PLAIN, "num_key_value_heads": 2, "pad_token_id": 0}
GPT2 = {**TOKENS, "n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": 64}
OPT = {**TOKENS, "hidden_size": 48, "word_embed_proj_dim": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 80,
       "max_position_embeddings": 64}


def rope(kind="default", theta=500.0, **more):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": theta, **more}}


def ids(rows, columns, seed=1):
    return np.random.default_rng(seed).integers(3, TOKENS["vocab_size"], (rows, columns)).tolist()


def build(family, config, seed=0):
    """A model whose weights are all random enough that leaving one out changes the result."""
    settings = getattr(hf, family + "Config")(**config)
    settings._attn_implementation = "eager"
    model = getattr(hf, {"GPT2": "GPT2LMHeadModel"}.get(family, family + "ForCausalLM"))(settings).eval()
    chance = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=chance)
            if weight.dim() == 1:
                weight.copy_(0.2 * noise + (name.endswith("weight") and family != "Gemma"))
            elif any(part in name for part in ("embed", "wte", "wpe", "lm_head")):
                weight.copy_(0.5 * noise)
            else:
                weight.copy_(1.4 * noise / math.sqrt(weight.shape[0 if family == "GPT2" else 1]))
    return model


def store(model, folder, dtype=torch.float32, shard="1GB"):
    """Saves the model, and returns it in float64 with the values that are in the file."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(weight.to(dtype).to(weight.dtype))
    copy.deepcopy(model).to(dtype).save_pretrained(folder, max_shard_size=shard)
    return model.double()


def forward(model, inputs):
    """transformers' results; a masked row is run alone, because eager attention cannot handle rows that see no key."""
    if "attention_mask" not in inputs:
        with torch.no_grad():
            out = model(**{key: torch.tensor(value) for key, value in inputs.items()}, output_hidden_states=True, output_attentions=True,
                        use_cache=False)
        named = {f"hidden.{i}": x for i, x in enumerate(out.hidden_states)} | {f"attn.{i}": x for i, x in enumerate(out.attentions)}
        return {name: x.numpy() for name, x in {**named, "logits": out.logits}.items()}
    whole, mask = {}, np.array(inputs["attention_mask"])
    rows, columns = mask.shape
    for row in range(rows):
        at = np.flatnonzero(mask[row])
        counted = np.cumsum(mask[row]) - 1 if model.config.model_type == "opt" else np.arange(columns)
        positions = np.array(inputs["position_ids"][row]) if "position_ids" in inputs else counted
        one = {"input_ids": [np.array(inputs["input_ids"][row])[at].tolist()], "position_ids": [positions[at].tolist()]}
        for name, x in forward(model, one).items():
            square = name.startswith("attn")
            shape = (rows, x.shape[1], columns, columns) if square else (rows, columns, x.shape[2])
            place = whole.setdefault(name, np.zeros(shape))[row]
            place[np.ix_(range(x.shape[1]), at, at) if square else at] = x[0]
    return whole


def same_outputs(path, model, inputs, folder):
    (folder / "in.json").write_text(json.dumps(inputs))
    run("dump", "-q", "-m", path, "-d", ON, "--compute", "f32", "--inputs", folder / "in.json", "--attention", "-o", folder / "out.safetensors")
    got, wanted = load_file(folder / "out.safetensors"), forward(model, inputs)
    equal(set(got), set(wanted), path)
    for name, x in wanted.items():
        bound = 1e-6 + 5e-5 * np.abs(x).max()  # the goldens' rule
        error = np.abs(got[name] - x)
        if "attention_mask" in inputs:
            mask = np.array(inputs["attention_mask"])
            error = error * (mask[:, None, :, None] if x.ndim == 4 else mask[:, :, None])
        assert error.max() <= bound, f"{path} {name}: error {error.max():.2e}, allowed {bound:.2e}"


def same_ids(path, model, prompt, count, *more):
    """Greedy ids with a cache, up to the token at which the best two logits are too close to distinguish."""
    model.generation_config.update(eos_token_id=None, pad_token_id=0)
    with torch.no_grad():
        out = model.generate(torch.tensor([prompt]), max_new_tokens=count, do_sample=False, return_dict_in_generate=True, output_scores=True)
    best = torch.cat(out.scores).topk(2).values
    close = (best[:, 0] - best[:, 1] < 1e-3).tolist() + [True]
    wanted = out.sequences[0].tolist()[len(prompt):]
    got = run("generate", "-q", "-m", path, "-d", ON, "--compute", "f32", "--ids", ",".join(map(str, prompt)), "--print-ids", "--temp", 0, "-n", count, "--ignore-eos", *more)
    sure = close.index(True)
    equal([int(word) for word in got.text.split()][:sure], wanted[:sure], path)


def padded(columns, lengths, left, with_positions):
    mask = [[int(i >= columns - n if left else i < n) for i in range(columns)] for n in lengths]
    inputs = {"input_ids": ids(len(lengths), columns, 2), "attention_mask": mask}
    if with_positions:
        inputs["position_ids"] = np.maximum(np.cumsum(mask, 1) - 1, 0).tolist()
    return inputs


def check(folder, name, family, config, length=30, dtype=torch.float32, shard="1GB", count=0):
    model = store(build(family, config), folder / name, dtype, shard)
    same_outputs(folder / name, model, {"input_ids": ids(2, length)}, folder)
    if count:
        same_ids(folder / name, model, ids(1, 20)[0], count)
    return model


def test_stored_as_halves_and_in_shards(folder):
    check(folder, "gelu", "GPT2", {**GPT2, "activation_function": "gelu", "tie_word_embeddings": False, "scale_attn_weights": False}, dtype=torch.bfloat16)
    check(folder, "inner", "GPT2", {**GPT2, "n_inner": 52, "activation_function": "relu"}, dtype=torch.float16)
    check(folder, "shards", "Llama", {**GROUPED, "head_dim": 20, "tie_word_embeddings": True, "rms_norm_eps": 1e-3}, dtype=torch.bfloat16, shard="20KB")


def test_biases_and_norm_places(folder):
    check(folder, "llama", "Llama", {**GROUPED, "attention_bias": True, "mlp_bias": True})
    check(folder, "qwen3", "Qwen3", {**GROUPED, "head_dim": 20, "attention_bias": True})
    check(folder, "gemma", "Gemma", {**GROUPED, "head_dim": 32})
    check(folder, "post", "OPT", {**OPT, "do_layer_norm_before": False, "activation_function": "gelu"})
    check(folder, "bare", "OPT", {**OPT, "enable_bias": False})


def test_rope_scaling_in_both_spellings(folder):
    yarn = {"kind": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
    llama3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
    cases = {"linear": (rope("linear", factor=3.0), 150), "llama3": (rope("llama3", **llama3), 64),
             "yarn": (rope(**yarn, mscale=0.7, mscale_all_dim=0.5), 64), "ramp": (rope(**yarn, attention_factor=1.3, truncate=False), 64)}
    for name, (scaling, length) in cases.items():
        model = check(folder, name, "Llama", {**GROUPED, **scaling}, length)
        path = folder / name / "config.json"
        config = json.loads(path.read_text())
        old = config.pop("rope_parameters")
        config.update(rope_theta=old.pop("rope_theta"), torch_dtype=config.pop("dtype"), rope_scaling={"type": old.pop("rope_type"), **old})
        path.write_text(json.dumps(config))
        same_outputs(folder / name, model, {"input_ids": ids(1, length, 7)}, folder)


def test_dynamic_rope_past_its_threshold(folder):
    check(folder, "dynamic", "Llama", {**GROUPED, **rope("dynamic", factor=4.0)}, 100, count=70)


def test_longrope_on_both_sides_of_the_original_length(folder):
    """transformers chooses the factors by the length of a text, generate by the context."""
    scaling = {"short_factor": [1 + i / 10 for i in range(6)], "long_factor": [1.5 + i for i in range(6)], "original_max_position_embeddings": 16}
    model = check(folder, "phi3", "Phi3", {**GROUPED, "original_max_position_embeddings": 16, **rope("longrope", partial_rotary_factor=0.75, **scaling)}, 40,
                  count=40)
    for length in 17, 16, 9:
        same_outputs(folder / "phi3", model, {"input_ids": ids(2, length)}, folder)
    same_ids(folder / "phi3", model, ids(1, 6)[0], 10, "-c", 16)


def test_windows_and_rotary_shares(folder):
    check(folder, "mistral", "Mistral", {**GROUPED, "sliding_window": 6, "head_dim": 20}, 40, count=20)
    check(folder, "qwen2", "Qwen2", {**GROUPED, "use_sliding_window": True, "sliding_window": 5,
                                     "layer_types": ["sliding_attention", "full_attention"]}, 40)
    check(folder, "unused", "Qwen2", {**GROUPED, "use_sliding_window": False, "sliding_window": 5}, 40)
    check(folder, "phi3", "Phi3", {**GROUPED, "sliding_window": 6, **rope(partial_rotary_factor=0.5)}, 40)
    check(folder, "neox", "GPTNeoX", {**PLAIN, "use_parallel_residual": False, "attention_bias": False, **rope(partial_rotary_factor=0.5)})
    check(folder, "pythia", "GPTNeoX", PLAIN)
    path = folder / "pythia" / "config.json"
    config = json.loads(path.read_text())
    del config["rope_parameters"]  # the default is a quarter then
    path.write_text(json.dumps(config))
    same_outputs(folder / "pythia", build("GPTNeoX", PLAIN).double(), {"input_ids": ids(1, 30)}, folder)


def test_padding_with_positions_and_without(folder):
    for name, family, config in (("gpt2", "GPT2", GPT2), ("llama", "Llama", GROUPED), ("opt", "OPT", OPT)):
        model = store(build(family, config), folder / name)
        for left, with_positions in ((False, False), (True, True), (True, False)):
            same_outputs(folder / name, model, padded(13, (13, 9, 3), left, with_positions), folder)


def test_names_of_base_models_and_buffers(folder):
    for name, family, config, prefix, buffer in (("gpt2", "GPT2", GPT2, "transformer.", "h.0.attn.bias"), ("opt", "OPT", OPT, "model.", None),
                                                 ("decoder", "OPT", OPT, "model.decoder.", None)):
        model = store(build(family, config), folder / name)
        path = folder / name / "model.safetensors"
        tensors = {key.removeprefix(prefix): value.clone() for key, value in load_tensors(path).items()}
        if buffer:
            tensors[buffer] = torch.ones(1, 1, 64, 64, dtype=torch.bool)
        save_tensors(tensors, path, metadata={"format": "pt"})
        same_outputs(folder / name, model, {"input_ids": ids(1, 20)}, folder)


def test_long_prompts_and_growing_state(folder):
    model = check(folder, "long", "Llama", {**GROUPED, "max_position_embeddings": 1024}, 700, count=300)
    same_ids(folder / "long", model, ids(1, 250)[0], 20)


def test_what_changes_results_is_refused(folder):
    for name, family, config, fragment in (
            ("layers", "GPT2", {**GPT2, "scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
            ("share", "Llama", {**GROUPED, **rope(partial_rotary_factor=0.5)}, "partial_rotary_factor"),
            ("ways", "Gemma", {**GROUPED, "head_dim": 16, "use_bidirectional_attention": True}, "use_bidirectional_attention"),
            ("affine", "OPT", {**OPT, "layer_norm_elementwise_affine": False}, "layer_norm_elementwise_affine"),
            ("project", "OPT", {**OPT, "word_embed_proj_dim": 24}, "word_embed_proj_dim")):
        build(family, config).save_pretrained(folder / name)
        refused(3, fragment, "generate", "-m", folder / name, "-d", ON, "--ids", "5", "--print-ids")


main(globals())

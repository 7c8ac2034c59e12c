"""Writes a Llama or a GPT-2 as GGUF: matrices and embedding in the given type, norms, biases and positions in f32."""

import json
import pathlib

import numpy as np

INNER = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
GPT2_INNER = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
GPT2_OUTER = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}
TYPES = {"f32": "F32", "f16": "F16", "q8": "Q8_0", "q4": "Q4_0"}


def gguf_name(name):
    stem = name.removesuffix(".weight")
    if stem.startswith("model.layers."):
        _, _, layer, part = stem.split(".", 3)
        return f"blk.{layer}.{INNER[part]}.weight"
    return f"{OUTER[stem]}.weight"


def rotary_pairs(w, heads):
    """The rows of a query or key matrix in GGUF's order: rotary pairs are interleaved, not half a head apart."""
    return np.ascontiguousarray(w.reshape(heads, 2, w.shape[0] // heads // 2, w.shape[1]).swapaxes(1, 2).reshape(w.shape))


def gpt2_name(name):
    """None for what is no weight: masks that old files have."""
    stem, last = name.removeprefix("transformer.").rsplit(".", 1)
    if stem.startswith("h."):
        _, layer, part = stem.split(".", 2)
        return f"blk.{layer}.{GPT2_INNER[part]}.{last}" if part in GPT2_INNER else None
    return f"{GPT2_OUTER[stem]}.{last}" if stem in GPT2_OUTER else None


def write_words(out, vocab):
    """llama.cpp loads no model without words; none is read or written here."""
    out.add_vocab_size(vocab)
    out.add_tokenizer_model("llama")
    out.add_token_list(["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), *(f"\u2581w{i}" for i in range(vocab - 259))][:vocab])
    out.add_token_scores([0.0] * vocab)
    out.add_token_types(([2, 3, 3] + [6] * 256 + [1] * max(vocab - 259, 0))[:vocab])
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)


def write_header(out, config):
    heads, width = config["num_attention_heads"], config["hidden_size"]
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(width)
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(heads)
    out.add_head_count_kv(key_heads(config))
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_rope_dimension_count(width // heads)
    out.add_rope_freq_base(config.get("rope_theta", 10000.0))
    write_words(out, config["vocab_size"])


def write_gpt2_header(out, config):
    out.add_context_length(config["n_positions"])
    out.add_embedding_length(config["n_embd"])
    out.add_block_count(config["n_layer"])
    out.add_feed_forward_length(config.get("n_inner") or 4 * config["n_embd"])
    out.add_head_count(config["n_head"])
    out.add_layer_norm_eps(config["layer_norm_epsilon"])
    write_words(out, config["vocab_size"])


def key_heads(config):
    return config.get("num_key_value_heads") or config["num_attention_heads"]


def write_file(path, family, header, arrays, kind, file_type=None):
    """Writes pairs (GGUF's name, f32 array) to the file `path`, whole or not at all; header(out) adds the settings."""
    import gguf
    part, quant = path.with_suffix(".part"), gguf.GGMLQuantizationType[kind]
    out = gguf.GGUFWriter(str(part), family)
    header(out)
    if file_type is not None:
        out.add_file_type(file_type)
    for name, w in arrays:
        if w.ndim == 1 or kind == "F32" or name.startswith("position"):
            out.add_tensor(name, w)
        elif kind == "F16":
            out.add_tensor(name, w.astype(np.float16))
        else:
            out.add_tensor(name, gguf.quants.quantize(w, quant), raw_dtype=quant)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    part.rename(path)


def write_arrays(path, config, arrays, kind, file_type=None):
    """Writes a Llama's pairs (Hugging Face's name, f32 array). kind: GGUF's name of the type of matrices; file_type: GGUF's number of it, where the file
    is to have that."""
    heads = {"q_proj": config["num_attention_heads"], "k_proj": key_heads(config)}
    named = ((gguf_name(name), rotary_pairs(w, heads[name.split(".")[-2]]) if name.split(".")[-2] in heads else w) for name, w in arrays)
    write_file(path, "llama", lambda out: write_header(out, config), named, kind, file_type)


def write_gpt2(path, config, arrays, kind):
    """The same of a GPT-2, whose files have the transposed matrices of its layers."""
    named = ((gpt2_name(name), np.ascontiguousarray(w.T) if w.ndim == 2 and ".h." in f".{name}" else w) for name, w in arrays if gpt2_name(name))
    write_file(path, "gpt2", lambda out: write_gpt2_header(out, config), named, kind)


def arrays_of(folder):
    from safetensors import safe_open
    for file in sorted(pathlib.Path(folder).glob("*.safetensors")):
        with safe_open(file, "np") as arrays:
            for name in arrays.keys():
                yield name, arrays.get_tensor(name).astype(np.float32)


def write(folder, path, dtype):
    """Writes the model in `folder` to the file `path`, whole or not at all; NotImplementedError where it is no plain Llama or GPT-2."""
    config = json.loads((pathlib.Path(folder) / "config.json").read_text(encoding="utf-8"))
    family = config.get("model_type")
    if family == "gpt2" and config.get("activation_function", "gelu_new") in ("gelu_new", "gelu_pytorch_tanh") and config.get("tie_word_embeddings", True):
        write_gpt2(path, config, arrays_of(folder), TYPES[dtype])
        return
    if family != "llama" or config.get("rope_scaling") or config.get("attention_bias") or config.get("head_dim") not in (
            None, config["hidden_size"] // config["num_attention_heads"]):
        raise NotImplementedError(f"a model of the type {family} with these settings is not written as GGUF here: only a plain Llama or GPT-2 is")
    write_arrays(path, config, arrays_of(folder), TYPES[dtype])

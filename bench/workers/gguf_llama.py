"""Writes a Llama as GGUF: matrices and embedding in the given type, norms in f32."""

import json
import pathlib

import numpy as np

INNER = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
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


def write_header(out, config):
    heads, width, vocab = config["num_attention_heads"], config["hidden_size"], config["vocab_size"]
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(width)
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(heads)
    out.add_head_count_kv(key_heads(config))
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_rope_dimension_count(width // heads)
    out.add_rope_freq_base(config.get("rope_theta", 10000.0))
    out.add_vocab_size(vocab)
    out.add_tokenizer_model("llama")  # llama.cpp loads no model without words; none is read or written here
    out.add_token_list(["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), *(f"\u2581w{i}" for i in range(vocab - 259))][:vocab])
    out.add_token_scores([0.0] * vocab)
    out.add_token_types(([2, 3, 3] + [6] * 256 + [1] * max(vocab - 259, 0))[:vocab])
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)


def key_heads(config):
    return config.get("num_key_value_heads") or config["num_attention_heads"]


def write_arrays(path, config, arrays, kind, file_type=None):
    """Writes pairs (Hugging Face's name, f32 array) to the file `path`, whole or not at all. kind: GGUF's name of the type of matrices; file_type: GGUF's
    number of it, where the file is to have that."""
    import gguf
    part, quant = path.with_suffix(".part"), gguf.GGMLQuantizationType[kind]
    heads = {"q_proj": config["num_attention_heads"], "k_proj": key_heads(config)}
    out = gguf.GGUFWriter(str(part), "llama")
    write_header(out, config)
    if file_type is not None:
        out.add_file_type(file_type)
    for name, w in arrays:
        way = name.split(".")[-2]
        w = rotary_pairs(w, heads[way]) if way in heads else w
        if w.ndim == 1 or kind == "F32":
            out.add_tensor(gguf_name(name), w)
        elif kind == "F16":
            out.add_tensor(gguf_name(name), w.astype(np.float16))
        else:
            out.add_tensor(gguf_name(name), gguf.quants.quantize(w, quant), raw_dtype=quant)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    part.rename(path)


def arrays_of(folder):
    from safetensors import safe_open
    for file in sorted(pathlib.Path(folder).glob("*.safetensors")):
        with safe_open(file, "np") as arrays:
            for name in arrays.keys():
                yield name, arrays.get_tensor(name).astype(np.float32)


def write(folder, path, dtype):
    """Writes the model in `folder` to the file `path`, whole or not at all; NotImplementedError where it is no plain Llama."""
    config = json.loads((pathlib.Path(folder) / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") != "llama" or config.get("rope_scaling") or config.get("attention_bias") or config.get("head_dim") not in (
            None, config["hidden_size"] // config["num_attention_heads"]):
        raise NotImplementedError(f"a model of the type {config.get('model_type')} with these settings is not written as GGUF here: only a plain Llama is")
    write_arrays(path, config, arrays_of(folder), TYPES[dtype])

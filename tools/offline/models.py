"""Models that have sizes and no weights: their file is a hole, so writing and reading them costs nothing."""

import json
import math
import struct

WIDTH, FEED_FORWARD, HEADS, VOCABULARY = 768, 2048, 12, 32000


def llama(folder):
    """One layer of shape:llama-110m, whose twelve layers have the same kernels."""
    matrices = {"self_attn.q_proj": (WIDTH, WIDTH), "self_attn.k_proj": (WIDTH, WIDTH), "self_attn.v_proj": (WIDTH, WIDTH), "self_attn.o_proj": (WIDTH, WIDTH),
                "mlp.gate_proj": (FEED_FORWARD, WIDTH), "mlp.up_proj": (FEED_FORWARD, WIDTH), "mlp.down_proj": (WIDTH, FEED_FORWARD),
                "input_layernorm": (WIDTH,), "post_attention_layernorm": (WIDTH,)}
    arrays = {"model.embed_tokens": (VOCABULARY, WIDTH), "model.norm": (WIDTH,), "lm_head": (VOCABULARY, WIDTH)}
    arrays.update({f"model.layers.0.{name}": size for name, size in matrices.items()})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({
        "model_type": "llama", "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
        "intermediate_size": FEED_FORWARD, "vocab_size": VOCABULARY, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
        "hidden_act": "silu", "tie_word_embeddings": False}))
    write_hole(folder / "model.safetensors", {f"{name}.weight": size for name, size in arrays.items()})
    return folder


def write_hole(path, arrays):
    """A safetensors file of zeros in f32."""
    head, end = {}, 0
    for name, size in arrays.items():
        begin, end = end, end + 4 * math.prod(size)
        head[name] = {"dtype": "F32", "shape": size, "data_offsets": [begin, end]}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)

"""Models that have sizes and no weights: their file is a hole, so writing and reading them costs nothing."""

import dataclasses
import json
import math
import struct


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    feed_forward: int
    heads: int
    kv_heads: int
    vocabulary: int = 32000

    @property
    def head(self):
        return self.width // self.heads


CONTEXT = 2048  # tokens
SHAPES = {"110m": Shape(12, 768, 2048, 12, 12), "1.1b": Shape(22, 2048, 5632, 32, 4), "7b": Shape(32, 4096, 11008, 32, 32)}


def llama(folder, shape=SHAPES["110m"], layers=1, head_norms=False, experts=0):
    """A Llama of this shape with few layers: all layers have the same kernels. With head_norms it is a Qwen3, whose norms of heads are no part of a product; with experts
    it is a Mixtral, which takes two of them for each token."""
    width, keys = shape.width, shape.head * shape.kv_heads
    matrices = {"self_attn.q_proj": (width, width), "self_attn.k_proj": (keys, width), "self_attn.v_proj": (keys, width), "self_attn.o_proj": (width, width),
                "input_layernorm": (width,), "post_attention_layernorm": (width,)}
    gate, up, down = (shape.feed_forward, width), (shape.feed_forward, width), (width, shape.feed_forward)
    if experts:
        matrices["block_sparse_moe.gate"] = (experts, width)
        matrices.update({f"block_sparse_moe.experts.{expert}.{name}": size for expert in range(experts) for name, size in (("w1", gate), ("w3", up), ("w2", down))})
    else:
        matrices.update({"mlp.gate_proj": gate, "mlp.up_proj": up, "mlp.down_proj": down})
    if head_norms:
        matrices.update({"self_attn.q_norm": (shape.head,), "self_attn.k_norm": (shape.head,)})
    arrays = {"model.embed_tokens": (shape.vocabulary, width), "model.norm": (width,), "lm_head": (shape.vocabulary, width)}
    arrays.update({f"model.layers.{layer}.{name}": size for layer in range(layers) for name, size in matrices.items()})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({
        "model_type": "qwen3" if head_norms else "mixtral" if experts else "llama", "head_dim": shape.head, "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": shape.heads, "num_key_value_heads": shape.kv_heads,
        "intermediate_size": shape.feed_forward, "vocab_size": shape.vocabulary, "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
        "hidden_act": "silu", "tie_word_embeddings": False, **({"num_local_experts": experts, "num_experts_per_tok": 2} if experts else {})}))
    write_hole(folder / "model.safetensors", {f"{name}.weight": size for name, size in arrays.items()})
    return folder


# ggml's number of a type, and the elements and bytes of its blocks
TYPES = {"f32": (0, 1, 4), "q4_1": (3, 32, 20), "q5_0": (6, 32, 22), "q5_1": (7, 32, 24), "iq4_nl": (20, 32, 18), "q2_K": (10, 256, 84), "q3_K": (11, 256, 110), "q4_K": (12, 256, 144), "q5_K": (13, 256, 176), "q6_K": (14, 256, 210), "iq4_xs": (23, 256, 136)}


def k_quants(path, shape=SHAPES["110m"], layers=(("q4_K", "q6_K"), ("q5_K", "q5_K"))):
    """A GGUF file of such a Llama with blocks as Q4_K_M and Q5_K_M files mix them. A layer is the type of its matrices, and that of its values and of its last matrix."""
    keys = shape.head * shape.kv_heads
    arrays = {"token_embd": (layers[0][0], shape.vocabulary, shape.width), "output_norm": ("f32", shape.width), "output": ("q6_K", shape.vocabulary, shape.width)}
    for layer, (kind, more) in enumerate(layers):
        arrays.update({f"blk.{layer}.{name}": size for name, size in {
            "attn_norm": ("f32", shape.width), "ffn_norm": ("f32", shape.width), "attn_q": (kind, shape.width, shape.width), "attn_k": (kind, keys, shape.width),
            "attn_v": (more, keys, shape.width), "attn_output": (kind, shape.width, shape.width), "ffn_gate": (kind, shape.feed_forward, shape.width),
            "ffn_up": (kind, shape.feed_forward, shape.width), "ffn_down": (more, shape.width, shape.feed_forward)}.items()})
    said = {"context_length": CONTEXT, "embedding_length": shape.width, "block_count": len(layers), "feed_forward_length": shape.feed_forward,
            "attention.head_count": shape.heads, "attention.head_count_kv": shape.kv_heads, "vocab_size": shape.vocabulary}
    head = [(b"general.architecture", struct.pack("<I", 8) + text_of("llama")), (b"llama.attention.layer_norm_rms_epsilon", struct.pack("<If", 6, 1e-5))]
    head += [(f"llama.{name}".encode(), struct.pack("<II", 4, value)) for name, value in said.items()]
    out = b"GGUF" + struct.pack("<IQQ", 3, len(arrays), len(head)) + b"".join(struct.pack("<Q", len(name)) + name + value for name, value in head)
    end = 0
    for name, (kind, *size) in arrays.items():
        number, elements, bytes_each = TYPES[kind]
        out += text_of(f"{name}.weight") + struct.pack(f"<I{len(size)}QIQ", len(size), *reversed(size), number, end)
        end += -(-math.prod(size) // elements * bytes_each // 32) * 32
    with open(path, "wb") as file:
        file.write(out)
        file.truncate(-(-len(out) // 32) * 32 + end)
    return path


def text_of(text):
    return struct.pack("<Q", len(text)) + text.encode()


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

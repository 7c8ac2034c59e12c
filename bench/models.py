#!/usr/bin/env python3
"""bench/models.py FOLDER [SIZE..]: makes the two decoders with random weights that bench/ runs, in the format of every engine.

    FOLDER/llama-110m/           Llama's shape: width 768, 12 layers, 12 heads, feed-forward 2048, vocabulary 32000, untied
    FOLDER/llama-110m-16k/       the same weights with a longer context: 16,384 tokens
    FOLDER/llama-110m-TYPE.gguf  the same weights: f32, f16, bf16, q8_0, q4_0 (matrices and embedding; norms f32)
    FOLDER/gpt2-124m/            GPT-2's smallest: width 768, 12 layers, 12 heads, vocabulary 50257, tied
    FOLDER/*-ct2/                both, converted for CTranslate2

With SIZEs, makes only these instead, whose blocks are drawn as they are, with the types of llama.cpp's Q4_K_M:

    FOLDER/llama-1b-q4_k_m.gguf  1b: width 2048, 22 layers, 32 heads on 4, feed-forward 5632, vocabulary 32000 (0.7 GB)
    FOLDER/llama-7b-q4_k_m.gguf  7b: width 4096, 32 layers, 32 heads, feed-forward 11008, vocabulary 32000 (4.1 GB)

Files that exist are left alone. Needs numpy, safetensors, gguf, ctranslate2 and transformers: tools/peers installs them.
"""

import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).with_name("workers")))

import gguf_llama

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
         "num_key_value_heads": 12, "intermediate_size": 2048, "vocab_size": 32000, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
         "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32"}
GPT2 = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "n_ctx": 1024,
        "vocab_size": 50257, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "bos_token_id": 50256, "eos_token_id": 50256,
        "torch_dtype": "float32"}


def llama_shapes():
    C, F, V, L = (LLAMA[key] for key in ("hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers"))
    yield "model.embed_tokens.weight", (V, C)
    for i in range(L):
        at = f"model.layers.{i}."
        yield at + "input_layernorm.weight", (C,)
        for name in "qkvo":
            yield f"{at}self_attn.{name}_proj.weight", (C, C)
        yield at + "post_attention_layernorm.weight", (C,)
        yield at + "mlp.gate_proj.weight", (F, C)
        yield at + "mlp.up_proj.weight", (F, C)
        yield at + "mlp.down_proj.weight", (C, F)
    yield "model.norm.weight", (C,)
    yield "lm_head.weight", (V, C)


def gpt2_shapes():
    C, V, T, L = (GPT2[key] for key in ("n_embd", "vocab_size", "n_positions", "n_layer"))
    yield "transformer.wte.weight", (V, C)
    yield "transformer.wpe.weight", (T, C)
    for i in range(L):
        at = f"transformer.h.{i}."
        for norm in ("ln_1", "ln_2"):
            yield f"{at}{norm}.weight", (C,)
            yield f"{at}{norm}.bias", (C,)
        for name, n, k in (("attn.c_attn", 3 * C, C), ("attn.c_proj", C, C), ("mlp.c_fc", 4 * C, C), ("mlp.c_proj", C, 4 * C)):
            yield f"{at}{name}.weight", (k, n)
            yield f"{at}{name}.bias", (n,)
    yield "transformer.ln_f.weight", (C,)
    yield "transformer.ln_f.bias", (C,)


def weights(shapes):
    """Matrices from a normal distribution with standard deviation 0.02, norms 1, biases 0: both families are initialised this way."""
    draw = np.random.default_rng(0)
    for name, shape in shapes:
        if len(shape) > 1:
            yield name, draw.standard_normal(shape, dtype=np.float32) * np.float32(0.02)
        else:
            yield name, np.full(shape, 0 if name.endswith("bias") else 1, np.float32)


# width, layers, heads, key/value heads, feed-forward width
SIZES = {"1b": (2048, 22, 32, 4, 5632), "7b": (4096, 32, 32, 32, 11008)}


def q4_k(draw, blocks):
    """Blocks of 256 numbers with mean 0 and a standard deviation near 0.02: the minimum of a part is 7.5 times its scale."""
    out = draw.integers(0, 256, (blocks, 144), dtype=np.uint8)
    out[:, 0:4] = np.array([1.2e-4, 9e-4], np.float16).view(np.uint8)
    six = draw.integers(16, 64, (blocks, 8), dtype=np.uint8)
    out[:, 4:8] = out[:, 8:12] = six[:, :4] | six[:, 4:] >> 4 << 6
    out[:, 12:16] = six[:, 4:] & 15 | (six[:, 4:] & 15) << 4
    return out


def q6_k(draw, blocks):
    out = draw.integers(0, 256, (blocks, 210), dtype=np.uint8)
    out[:, 192:208] = draw.integers(8, 16, (blocks, 16), dtype=np.uint8)
    out[:, 208:210] = np.array([9e-5], np.float16).view(np.uint8)
    return out


def q4_k_m_arrays(width, layers, heads, kv_heads, ffn, vocab=32000):
    """Pairs (GGUF's name, array): f32 vectors, and matrices as rows of bytes. Values and the feed-forward part's output are of q6_K in the first and
    the last eighth of the layers, and in every third of the others."""
    draw = np.random.default_rng(0)
    make = {"Q4_K": q4_k, "Q6_K": q6_k}

    def matrix(name, rows, columns, kind="Q4_K"):
        return name, make[kind](draw, rows * columns // 256).reshape(rows, -1), kind
    kv = width // heads * kv_heads
    yield matrix("token_embd.weight", vocab, width)
    for i in range(layers):
        at, ones = f"blk.{i}.", np.ones(width, np.float32)
        more = "Q6_K" if i < layers // 8 or i >= 7 * layers // 8 or (i - layers // 8) % 3 == 2 else "Q4_K"
        yield f"{at}attn_norm.weight", ones, None
        yield matrix(f"{at}attn_q.weight", width, width)
        yield matrix(f"{at}attn_k.weight", kv, width)
        yield matrix(f"{at}attn_v.weight", kv, width, more)
        yield matrix(f"{at}attn_output.weight", width, width)
        yield f"{at}ffn_norm.weight", ones, None
        yield matrix(f"{at}ffn_gate.weight", ffn, width)
        yield matrix(f"{at}ffn_up.weight", ffn, width)
        yield matrix(f"{at}ffn_down.weight", width, ffn, more)
    yield "output_norm.weight", np.ones(width, np.float32), None
    yield matrix("output.weight", vocab, width, "Q6_K")


def write_q4_k_m(path, size):
    import gguf
    width, layers, heads, kv_heads, ffn = SIZES[size]
    config = dict(LLAMA, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads, intermediate_size=ffn,
                  max_position_embeddings=4096)
    out = gguf.GGUFWriter(str(path.with_suffix(".part")), "llama", use_temp_file=True)
    gguf_llama.write_header(out, config)
    out.add_file_type(15)
    for name, array, kind in q4_k_m_arrays(*SIZES[size]):
        out.add_tensor(name, array, raw_dtype=gguf.GGMLQuantizationType[kind] if kind else None)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    path.with_suffix(".part").rename(path)


def write_folder(folder, config, shapes):
    from safetensors.numpy import save_file
    folder.mkdir(parents=True)
    save_file(dict(weights(shapes())), folder / "model.safetensors.part", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "model.safetensors.part").rename(folder / "model.safetensors")


def write_ct2(source, folder, vocab):
    """CTranslate2 needs a vocabulary: token i is called t<i>."""
    import transformers
    from ctranslate2.converters import transformers as convert
    for loader in (convert.LlamaLoader, convert.GPT2Loader):
        loader.get_vocabulary = lambda self, model, tokenizer: [f"t{i}" for i in range(vocab)]
        loader.set_vocabulary = lambda self, spec, tokens: spec.register_vocabulary(tokens)
        loader.set_config = lambda self, config, model, tokenizer: config.__dict__.update() or setattr(config, "unk_token", "t0")
    nothing = type("Numbered", (), {"bos_token": "t0", "eos_token": "t0", "unk_token": "t0", "vocab_size": vocab})
    transformers.AutoTokenizer.from_pretrained = classmethod(lambda *_, **__: nothing())
    convert.TransformersConverter(str(source)).convert(str(folder))


def main(folder, sizes):
    made = []
    folder.mkdir(parents=True, exist_ok=True)
    for size in sizes:
        path = folder / f"llama-{size}-q4_k_m.gguf"
        if not path.exists():
            write_q4_k_m(path, size)
            made.append(path.name)
    if not sizes:
        made = make_small(folder)
    print("made", ", ".join(made) if made else "nothing: all files exist", "in", folder)


def make_small(folder):
    made = []
    for name, config, shapes in (("llama-110m", LLAMA, llama_shapes), ("gpt2-124m", GPT2, gpt2_shapes)):
        if not (folder / name / "model.safetensors").exists():
            write_folder(folder / name, config, shapes)
            made.append(name)
        if not (folder / f"{name}-ct2").exists():
            write_ct2(folder / name, folder / f"{name}-ct2", config["vocab_size"])
            made.append(f"{name}-ct2")
    long = folder / "llama-110m-16k"
    if not long.exists():
        long.mkdir()
        (long / "config.json").write_text(json.dumps(dict(LLAMA, max_position_embeddings=16384), indent=1))
        (long / "model.safetensors").symlink_to("../llama-110m/model.safetensors")
        made.append(long.name)
    for kind, file_type in (("F32", 0), ("F16", 1), ("BF16", 32), ("Q8_0", 7), ("Q4_0", 2)):
        path = folder / f"llama-110m-{kind.lower()}.gguf"
        if not path.exists():
            gguf_llama.write_arrays(path, LLAMA, weights(llama_shapes()), kind, file_type)
            made.append(path.name)
    return made


if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__)
        sys.exit()
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(SIZES):
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])

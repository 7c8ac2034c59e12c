#!/usr/bin/env python3
"""Makes the tiny golden models of this folder: random seeded weights in the files that transformers writes, and what its models
compute with them in float64.

    python3 make.py [NAME...]       (needs torch, transformers, safetensors, numpy)

Each folder has config.json and model.safetensors; cases.json, whose `cases` are forward inputs and whose `generate` are greedy
continuations of 24 tokens, and of some models what a beam search finds (beams.py); expected.safetensors, <case>.logits [B,T,V], <case>.hidden.I [B,T,C] (0 after the embedding; the last one
after the final norm), <case>.attn.I [B,H,T,T], <greedy case>.logits [24,V]. Rows under padding are 0 and are not compared. Every
greedy step has at least 1e-3 between its best two logits, so that ids can be exact. Some have the same
model as model.gguf, in float32, with what that format changes: names, the order of rows, Gemma's norms; one as llama2.c's model.bin.
"""
import json
import math
import struct
import sys
from pathlib import Path

import beams
import numpy as np
import torch
import transformers as tr
from safetensors.numpy import save_file
from safetensors.torch import load_file
from torch.overrides import TorchFunctionMode

HERE = Path(__file__).parent
STEPS, GAP = 24, 1e-3
torch.set_num_threads(1)


class Exact64(TorchFunctionMode):
    """What model code computes in float32 on purpose (softmax, norms, angles) is computed in float64 too."""

    def __enter__(self):
        self.saved = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        return super().__enter__()

    def __exit__(self, *exc):
        torch.set_default_dtype(self.saved)
        return super().__exit__(*exc)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        swap = lambda a: torch.float64 if a is torch.float32 else a
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        out = func(*map(swap, args), **{k: swap(v) for k, v in (kwargs or {}).items()})
        assert not (isinstance(out, torch.Tensor) and out.dtype in (torch.float32, torch.float16, torch.bfloat16)), func
        return out


SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=48, pad_token_id=0,
             bos_token_id=1, eos_token_id=2)
LLAMA = dict(SMALL, intermediate_size=40, num_key_value_heads=2, tie_word_embeddings=False)


def rope(**kw):
    return dict(rope_parameters=dict(rope_theta=10000.0, **kw))


TINY = dict(vocab_size=43, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=24,
            max_position_embeddings=48, pad_token_id=0, bos_token_id=1, eos_token_id=2)
SEARCHED = {
    "gpt2": lambda: tr.GPT2LMHeadModel(tr.GPT2Config(vocab_size=43, n_embd=16, n_layer=2, n_head=4, n_positions=48, pad_token_id=0,
                                                     bos_token_id=1, eos_token_id=2)),
    "llama": lambda: tr.LlamaForCausalLM(tr.LlamaConfig(**TINY, rms_norm_eps=1e-5, tie_word_embeddings=False)),   # what llama2.c has
    "llama3": lambda: tr.LlamaForCausalLM(tr.LlamaConfig(**dict(TINY, num_key_value_heads=1), head_dim=8, tie_word_embeddings=True, rope_parameters=dict(
        rope_type="llama3", rope_theta=500.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=24))),
    "qwen2": lambda: tr.Qwen2ForCausalLM(tr.Qwen2Config(**TINY, tie_word_embeddings=True, use_sliding_window=False, rope_parameters=dict(
        rope_type="default", rope_theta=1e6))),
    "mistral": lambda: tr.MistralForCausalLM(tr.MistralConfig(**TINY, tie_word_embeddings=False, sliding_window=8)),
}
MODELS = {
    "gpt2-tiny": lambda: tr.GPT2LMHeadModel(tr.GPT2Config(vocab_size=61, n_embd=24, n_layer=2, n_head=4, n_positions=48, pad_token_id=0,
                                                          bos_token_id=1, eos_token_id=2)),
    "llama-tiny": lambda: tr.LlamaForCausalLM(tr.LlamaConfig(**LLAMA)),
    "llama-biases": lambda: tr.LlamaForCausalLM(tr.LlamaConfig(**LLAMA, attention_bias=True, mlp_bias=True, head_dim=8)),
    "llama-linear": lambda: tr.LlamaForCausalLM(tr.LlamaConfig(**LLAMA, head_dim=8, **rope(rope_type="linear", factor=2.5))),
    "llama-dynamic": lambda: tr.LlamaForCausalLM(tr.LlamaConfig(**dict(LLAMA, max_position_embeddings=16), head_dim=8,
                                                                **rope(rope_type="dynamic", factor=4.0))),
    "llama-yarn": lambda: tr.LlamaForCausalLM(tr.LlamaConfig(**LLAMA, head_dim=8, **rope(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=12))),
    "llama-llama3": lambda: tr.LlamaForCausalLM(tr.LlamaConfig(**LLAMA, head_dim=8, **rope(
        rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=24))),
    "qwen2-window": lambda: tr.Qwen2ForCausalLM(tr.Qwen2Config(**dict(LLAMA, tie_word_embeddings=True), use_sliding_window=True,
                                                               sliding_window=5, max_window_layers=1)),
    "qwen3": lambda: tr.Qwen3ForCausalLM(tr.Qwen3Config(**LLAMA, head_dim=8)),
    "gemma": lambda: tr.GemmaForCausalLM(tr.GemmaConfig(**dict(LLAMA, tie_word_embeddings=True, num_key_value_heads=1), head_dim=8)),
    "phi3": lambda: tr.Phi3ForCausalLM(tr.Phi3Config(**LLAMA, sliding_window=6)),
    "gpt_neox": lambda: tr.GPTNeoXForCausalLM(tr.GPTNeoXConfig(**dict(SMALL, hidden_size=32), intermediate_size=56, **rope(
        rope_type="default", partial_rotary_factor=0.25))),
    "gpt_neox-serial": lambda: tr.GPTNeoXForCausalLM(tr.GPTNeoXConfig(**SMALL, intermediate_size=40, use_parallel_residual=False, **rope(
        rope_type="default", partial_rotary_factor=1.0))),
    "starcoder2": lambda: tr.Starcoder2ForCausalLM(tr.Starcoder2Config(**dict(LLAMA, tie_word_embeddings=True), sliding_window=6)),
    "opt": lambda: tr.OPTForCausalLM(tr.OPTConfig(**SMALL, ffn_dim=40, word_embed_proj_dim=24)),
    "opt-post": lambda: tr.OPTForCausalLM(tr.OPTConfig(**SMALL, ffn_dim=40, word_embed_proj_dim=24, do_layer_norm_before=False)),
    "bloom": lambda: tr.BloomForCausalLM(tr.BloomConfig(vocab_size=61, hidden_size=24, n_layer=2, n_head=6, bos_token_id=1, eos_token_id=2,
                                                        pad_token_id=0)),
    "llama-theta": lambda: tr.LlamaForCausalLM(tr.LlamaConfig(**LLAMA, rope_parameters=dict(rope_theta=250.0, rope_type="default"))),
    "mistral-theta": lambda: tr.MistralForCausalLM(tr.MistralConfig(**LLAMA, sliding_window=7, rope_parameters=dict(
        rope_theta=90.0, rope_type="linear", factor=1.5))),
}
GPT_OSS = dict(head_dim=6, sliding_window=6, num_local_experts=5, num_experts_per_tok=2, rope_parameters=dict(
    rope_theta=5000.0, rope_type="yarn", factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=12))
LATER = {
    "gemma3_text": lambda: tr.Gemma3ForCausalLM(tr.Gemma3TextConfig(
        **dict(TINY, num_hidden_layers=3), head_dim=6, query_pre_attn_scalar=6, sliding_window=6, sliding_window_pattern=2, final_logit_softcapping=3.0,
        rope_parameters=dict(full_attention=dict(rope_type="linear", factor=8.0, rope_theta=5000.0),
                             sliding_attention=dict(rope_type="default", rope_theta=40.0)))),
    "olmo2": lambda: tr.Olmo2ForCausalLM(tr.Olmo2Config(**TINY)),
    "cohere2": lambda: tr.Cohere2ForCausalLM(tr.Cohere2Config(**TINY, sliding_window=6, logit_scale=0.5,
                                                              layer_types=["sliding_attention", "full_attention"])),
    "gemma2": lambda: tr.Gemma2ForCausalLM(tr.Gemma2Config(**TINY, head_dim=6, query_pre_attn_scalar=6, sliding_window=6, attn_logit_softcapping=1.5,
                                                           final_logit_softcapping=3.0)),
    "mixtral": lambda: tr.MixtralForCausalLM(tr.MixtralConfig(**TINY, num_local_experts=5, num_experts_per_tok=2, rope_parameters=dict(
        rope_type="default", rope_theta=1e6))),
    "qwen2_moe": lambda: tr.Qwen2MoeForCausalLM(tr.Qwen2MoeConfig(**TINY, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=20,
                                                                  shared_expert_intermediate_size=28, use_sliding_window=False)),
    "qwen3_moe": lambda: tr.Qwen3MoeForCausalLM(tr.Qwen3MoeConfig(**TINY, head_dim=6, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=64,
                                                                  norm_topk_prob=True)),
    "olmoe": lambda: tr.OlmoeForCausalLM(tr.OlmoeConfig(**TINY, num_experts=5, num_experts_per_tok=2)),
    "gpt_oss": lambda: tr.GptOssForCausalLM(tr.GptOssConfig(**TINY, **GPT_OSS)),
    "gpt_oss-mxfp4": lambda: tr.GptOssForCausalLM(tr.GptOssConfig(**dict(TINY, hidden_size=32, intermediate_size=64), **GPT_OSS)),
}
LATENT = dict(qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5, kv_lora_rank=12, moe_intermediate_size=20)
LATER |= {
    "deepseek_v2": lambda: tr.DeepseekV2ForCausalLM(tr.DeepseekV2Config(
        **dict(TINY, num_hidden_layers=3, num_key_value_heads=4), **LATENT, q_lora_rank=None, n_routed_experts=7, num_experts_per_tok=3,
        n_shared_experts=2, first_k_dense_replace=1, topk_method="greedy", rope_parameters=dict(
            rope_theta=5000.0, rope_type="yarn", factor=4.0, beta_fast=32.0, beta_slow=1.0, mscale=0.707, mscale_all_dim=0.707,
            original_max_position_embeddings=12))),
    "deepseek_v3": lambda: tr.DeepseekV3ForCausalLM(tr.DeepseekV3Config(
        **dict(TINY, num_hidden_layers=3, num_key_value_heads=4), **LATENT, q_lora_rank=10, n_routed_experts=12, num_experts_per_tok=3,
        n_group=4, topk_group=2, n_shared_experts=1, first_k_dense_replace=1, rope_parameters=dict(rope_theta=5000.0, rope_type="default"))),
}
OLD = ["mistral-theta"]     # config.json as transformers 4 wrote it: rope_theta beside rope_scaling


def randomize(model, seed):
    g = torch.Generator().manual_seed(seed)
    norms = {f"{n}.{p}": p for n, m in model.named_modules() if "norm" in type(m).__name__.lower() for p, _ in m.named_parameters(recurse=False)}
    one = 0.0 if "Gemma" in type(model).__name__ else 1.0
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            z = torch.randn(p.shape, generator=g, dtype=torch.float64)
            p.copy_((0.2 * z if norms.get(name) == "bias" else one + 0.3 * z if name in norms else 0.25 * z).to(p.dtype))
        for name, p in sorted(model.named_buffers()):
            if name.endswith("e_score_correction_bias"):
                p.copy_(0.25 * torch.randn(p.shape, generator=g, dtype=torch.float64).to(p.dtype))


def greedy(model, prompt, cached):
    """cached: keys stay as they were rotated when they were new, which differs where the scaling depends on the length."""
    seq, logits, gaps, past = prompt.clone(), [], [], None
    for _ in range(STEPS):
        with torch.no_grad(), Exact64():
            r = model(input_ids=seq[:, -1:] if past else seq, past_key_values=past, use_cache=cached)
        last, past = r.logits[0, -1], r.past_key_values if cached else None
        top = last.topk(2)
        gaps.append((top.values[0] - top.values[1]).item())
        logits.append(last)
        seq = torch.cat([seq, top.indices[None, :1]], 1)
    return seq[0, prompt.shape[1]:].tolist(), min(gaps), torch.stack(logits)


def forward_cases(g, vocab):
    ids = lambda *shape: torch.randint(4, vocab, shape, generator=g)
    yield "short", {"input_ids": ids(1, 7)}, True
    yield "long", {"input_ids": ids(2, 19)}, False
    for name in ("pad_right", "pad_left"):
        x, mask = ids(3, 6), torch.tensor([[1] * 6, [1] * 3 + [0] * 3, [1] + [0] * 5])
        mask = mask if name == "pad_right" else mask.flip(1)
        yield name, {"input_ids": x * mask, "attention_mask": mask, "position_ids": (mask.cumsum(1) - 1).clamp(min=0)}, True


# ---- GGUF, as llama.cpp's converter writes these families ----

HEADS = ("attn_q", "attn_k")
GGUF = {  # golden folder -> architecture, {Hugging Face's name: GGUF's}
    "llama-tiny": "llama", "llama-llama3": "llama", "qwen3": "qwen3", "gemma": "gemma", "phi3": "phi3", "gpt2-tiny": "gpt2",
    "gpt_neox": "gptneox", "gemma2": "gemma2", "gemma3_text": "gemma3", "mixtral": "llama", "qwen2_moe": "qwen2moe", "qwen3_moe": "qwen3moe",
    "olmoe": "olmoe", "gpt_oss": "gpt-oss", "gpt_oss-mxfp4": "gpt-oss", "deepseek_v2": "deepseek2", "deepseek_v3": "deepseek2",
}
SANDWICH = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
OWN_PARTS = {   # by architecture, where the same name means another array, or is its own
    "gemma2": SANDWICH, "gemma3": SANDWICH, "gemma-embedding": SANDWICH, "olmo2": SANDWICH,
    "gpt-oss": {"post_attention_layernorm": "post_attention_norm"},
    "glm4": {"post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm"},
    "phi2": {"final_layernorm": "output_norm", "self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"},
    "falcon": {"word_embeddings": "token_embd", "ln_attn": "attn_norm_2", "ln_mlp": "attn_norm", "self_attention.query_key_value": "attn_qkv",
               "self_attention.dense": "attn_output"},
    "mpt": {"norm_f": "output_norm", "norm_1": "attn_norm", "norm_2": "ffn_norm", "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output",
            "ffn.up_proj": "ffn_up", "ffn.down_proj": "ffn_down"},
}
OWN_PARTS["deepseek2"] = {
    "self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b", "mlp.gate": "ffn_gate_inp",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm", "self_attn.kv_b_proj": "attn_kv_b",
    "mlp.shared_experts.gate_proj": "ffn_gate_shexp", "mlp.shared_experts.up_proj": "ffn_up_shexp", "mlp.shared_experts.down_proj": "ffn_down_shexp",
}
PAIRED = ("llama", "granite", "granitemoe", "smollm3")    # whose rows of queries and keys are stored in pairs
PARTS = {
    "embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "self_attn.qkv_proj": "attn_qkv",
    "mlp.gate_up_proj": "ffn_up", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down", "embed_in": "token_embd", "final_layer_norm": "output_norm",
    "embed_out": "output", "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up",
    "mlp.dense_4h_to_h": "ffn_down", "mlp.gate": "ffn_gate_inp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp", "mlp.shared_expert.down_proj": "ffn_down_shexp",
    "block_sparse_moe.router": "ffn_gate_inp", "mlp.router": "ffn_gate_inp", "shared_mlp.output_linear": "ffn_down_shexp",
}


def gguf_tensors(arch, config, state):
    for name, t in state.items():
        t = t.float()
        short = name.removeprefix("model.").removeprefix("transformer.").removeprefix("gpt_neox.")
        block = ""
        if short.startswith(("layers.", "h.", "blocks.")):
            _, layer, short = short.split(".", 2)
            block = f"blk.{layer}."
        short, kind = short.rsplit(".", 1)
        if kind == "e_score_correction_bias":
            yield f"{block}exp_probs_b.bias", t.numpy()
            continue
        if short == "self_attn.kv_b_proj" and config.model_type == "deepseek_v3":    # as files since 2025 have it; V2's are as before
            heads = t.reshape(config.num_attention_heads, -1, t.shape[-1])
            yield f"{block}attn_k_b.weight", heads[:, :config.qk_nope_head_dim].transpose(1, 2).contiguous().numpy()
            yield f"{block}attn_v_b.weight", heads[:, config.qk_nope_head_dim:].contiguous().numpy()
            continue
        if kind == "sinks":
            yield f"{block}attn_sinks.weight", t.numpy()
            continue
        if arch == "gpt-oss" and short.endswith(".experts"):    # [experts, inputs, outputs], gates and ups in turn; and their biases
            end = "bias" if kind.endswith("_bias") else "weight"
            t = t if end == "bias" else t.transpose(1, 2)
            for part, rows in (("gate", t[:, 0::2]), ("up", t[:, 1::2])) if kind.startswith("gate_up") else [("down", t)]:
                yield f"{block}ffn_{part}_exps.{end}", rows.contiguous().numpy()
            continue
        if short.endswith(".experts"):      # gates and ups of all experts in one array, and their downs
            for end, part in zip(("gate", "up"), t.chunk(2, 1)) if kind == "gate_up_proj" else [("down", t)]:
                yield f"{block}ffn_{end}_exps.weight", part.contiguous().numpy()
            continue
        if short == "shared_mlp.input_linear":
            for end, part in zip(("gate", "up"), t.chunk(2)):
                yield f"{block}ffn_{end}_shexp.weight", part.contiguous().numpy()
            continue
        if short == "mlp.shared_expert_gate":
            t = t[0]
        if arch == "gpt2" and t.dim() == 2 and block:
            t = t.t()
        if arch in PAIRED and PARTS.get(short) in HEADS:   # halves (i, i + D/2) to pairs (2i, 2i + 1)
            n = config.num_attention_heads if PARTS[short] == "attn_q" else config.num_key_value_heads
            t = t.reshape(n, 2, t.shape[0] // n // 2, -1).transpose(1, 2).reshape(t.shape)
        if arch.startswith("gemma") and "norm" in short:
            t = t + 1
        if arch in ("gptneox", "falcon") and short.endswith("query_key_value"):  # by key head to queries, keys, values
            n = config.num_attention_heads if arch == "gptneox" else config.num_kv_heads
            size, shape = config.hidden_size // config.num_attention_heads, t.shape
            t = t.reshape(n, shape[0] // n, -1)
            t = torch.cat([part.reshape(-1, part.shape[-1]) for part in (t[:, :-2 * size], t[:, -2 * size:-size], t[:, -size:])]).reshape(shape)
        yield f"{block}{(PARTS | OWN_PARTS.get(arch, {}))[short]}.{kind}", t.contiguous().numpy()


SCALES = {"granite": {"attention.scale": "attention_multiplier", "embedding_scale": "embedding_multiplier", "residual_scale": "residual_multiplier",
                      "logit_scale": "logits_scaling"},
          "command-r": {"logit_scale": "logit_scale"}, "cohere2": {"logit_scale": "logit_scale"}}
SCALES["granitemoe"] = SCALES["granite"]


def gguf_keys(arch, c):
    head = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
    keys = {"block_count": c.num_hidden_layers, "context_length": getattr(c, "max_position_embeddings", None) or c.max_seq_len, "embedding_length": c.hidden_size,
            "feed_forward_length": getattr(c, "intermediate_size", getattr(c, "ffn_hidden_size", 4 * c.hidden_size)), "attention.head_count": c.num_attention_heads}
    for key in "num_key_value_heads", "num_kv_heads":
        if hasattr(c, key):
            keys["attention.head_count_kv"] = getattr(c, key)
    for key, field in SCALES.get(arch, {}).items():
        keys[key] = float(getattr(c, field))
    if head != c.hidden_size // c.num_attention_heads:
        keys |= {"attention.key_length": head, "attention.value_length": head}
    if getattr(c, "sliding_window", None):
        keys["attention.sliding_window"] = c.sliding_window
    if getattr(c, "sliding_window_pattern", None):
        keys["attention.sliding_window_pattern"] = c.sliding_window_pattern
    eps = getattr(c, "layer_norm_eps", None) or getattr(c, "layer_norm_epsilon", None)
    if eps:
        keys["attention.layer_norm_epsilon"] = float(eps)
    else:
        keys["attention.layer_norm_rms_epsilon"] = float(c.rms_norm_eps)
    for key in "attn_logit_softcapping", "final_logit_softcapping":
        if getattr(c, key, None):
            keys[key] = c.__dict__[key]
    if arch == "gemma-embedding":   # of the window transformers keeps one side, files have both
        keys |= {"pooling_type": 1, "attention.sliding_window": 2 * (c.sliding_window - 1)}
    if arch == "mpt":
        keys["attention.max_alibi_bias"] = 8.0
    elif arch != "gpt2":
        rope = c.rope_parameters.get("full_attention", c.rope_parameters)
        keys["rope.freq_base"] = float(rope["rope_theta"])
        keys["rope.dimension_count"] = int(head * rope.get("partial_rotary_factor", 1.0))
        if rope["rope_type"] == "linear":
            keys |= {"rope.scaling.type": "linear", "rope.scaling.factor": rope["factor"]}
        if rope["rope_type"] == "yarn":
            keys |= {"rope.scaling.type": "yarn", "rope.scaling.factor": rope["factor"],
                     "rope.scaling.original_context_length": rope["original_max_position_embeddings"]}
        if rope["rope_type"] == "longrope":    # files name no type: the arrays of factors say it
            keys |= {"rope.scaling.original_context_length": rope["original_max_position_embeddings"],
                     "rope.scaling.attn_factor": attention_factor(c)}
        if "sliding_attention" in c.rope_parameters:
            keys["rope.freq_base_swa"] = float(c.rope_parameters["sliding_attention"]["rope_theta"])
    experts = getattr(c, "num_local_experts", None) or getattr(c, "num_experts", None)
    if experts:
        keys |= {"expert_count": experts, "expert_used_count": c.num_experts_per_tok}
    for key, field in (("expert_feed_forward_length", "moe_intermediate_size"),
                       ("expert_shared_feed_forward_length", "shared_expert_intermediate_size"),
                       ("expert_shared_feed_forward_length", "shared_intermediate_size")):
        if hasattr(c, field):
            keys[key] = getattr(c, field)
    if arch == "deepseek2":
        keys |= latent_keys(c)
    if arch in ("gptneox", "stablelm"):
        keys["use_parallel_residual"] = c.use_parallel_residual
    return {"general.architecture": arch} | {f"{arch}.{k}": v for k, v in keys.items()}


def attention_factor(c):
    original = c.rope_parameters["original_max_position_embeddings"]
    return math.sqrt(1 + math.log(c.max_position_embeddings / original) / math.log(original))


def rope_factors(rope):
    return {f"rope_factors_{kind}.weight": np.array(rope[f"{kind}_factor"]) for kind in ("long", "short")}


def latent_keys(c):
    """V3 as files since 2025 have it: with one key head for all queries; V2 as files before."""
    since = c.model_type == "deepseek_v3"
    key, value = c.qk_nope_head_dim + c.qk_rope_head_dim, c.v_head_dim
    keys = {"attention.kv_lora_rank": c.kv_lora_rank, "rope.dimension_count": c.qk_rope_head_dim, "leading_dense_block_count": c.first_k_dense_replace,
            "expert_count": c.n_routed_experts, "expert_shared_count": c.n_shared_experts, "expert_weights_scale": float(c.routed_scaling_factor),
            "attention.key_length": c.kv_lora_rank + c.qk_rope_head_dim if since else key,
            "attention.value_length": c.kv_lora_rank if since else value}
    if since:
        keys |= {"attention.head_count_kv": 1, "attention.key_length_mla": key, "attention.value_length_mla": value, "expert_gating_func": 2,
                 "expert_weights_norm": c.norm_topk_prob, "expert_group_count": c.n_group, "expert_group_used_count": c.topk_group}
    if c.q_lora_rank:
        keys["attention.q_lora_rank"] = c.q_lora_rank
    if c.rope_parameters.get("mscale_all_dim"):
        keys["rope.scaling.yarn_log_multiplier"] = 0.1 * c.rope_parameters["mscale_all_dim"]
    return keys


def llama3_factors(exact):
    """What the frequencies are divided by, as the converter stores it."""
    rotary = exact.model.rotary_emb
    plain = 1.0 / 10000.0 ** (torch.arange(0, 8, 2, dtype=torch.float64) / 8)
    return (plain / rotary.inv_freq).float().numpy()


# ---- mxfp4: blocks of 32 numbers along the inputs, each one of 16 times a power of two ----

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def mxfp4(t):
    """The nearest codes [.., n/32, 32] of numbers [.., n], and the exponents [.., n/32]."""
    blocks = t.double().numpy().reshape(*t.shape[:-1], -1, 32)
    exponents = np.floor(np.log2(np.abs(blocks).max(-1))) - 2
    codes = np.abs(blocks[..., None] / 2.0 ** exponents[..., None, None] - E2M1).argmin(-1)
    return codes.astype(np.uint8), (exponents + 127).astype(np.uint8)


def rounded_to_mxfp4(model):
    for name, p in model.named_parameters():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            codes, exponents = mxfp4(p.detach().transpose(1, 2))
            values = E2M1[codes] * 2.0 ** (exponents[..., None].astype(float) - 127)
            p.data.copy_(torch.from_numpy(values.reshape(*codes.shape[:-2], -1)).transpose(1, 2))


def save_as_mxfp4(out):
    """As gpt-oss is published: codes 2i and 2i + 1 in byte i."""
    arrays = {}
    for name, t in load_file(out / "model.safetensors").items():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            arrays[name] = t.numpy()
            continue
        codes, arrays[name + "_scales"] = mxfp4(t.transpose(1, 2))
        arrays[name + "_blocks"] = codes[..., 0::2] | codes[..., 1::2] << 4
    save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, str(out / "model.safetensors"), metadata={"format": "pt"})
    config = json.loads((out / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}
    (out / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def gguf_mxfp4(t):
    codes, exponents = mxfp4(torch.from_numpy(t))
    return np.concatenate([exponents[..., None], codes[..., :16] | codes[..., 16:] << 4], -1).tobytes()


def write_gguf(path, arch, exact, factors=None, blocks=False, more=None):
    tensors = dict(gguf_tensors(arch, exact.config, exact.state_dict()))
    if exact.config.tie_word_embeddings:
        tensors.pop("output.weight", None)
    tensors |= more or {}
    if factors is not None:
        tensors["rope_freqs.weight"] = factors
    text = lambda s: struct.pack("<Q", len(s)) + s.encode()
    out, data = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 0)), bytearray()
    keys = gguf_keys(arch, exact.config)
    out[16:24] = struct.pack("<Q", len(keys))
    for k, v in keys.items():
        out += text(k)
        out += (struct.pack("<I", 8) + text(v) if isinstance(v, str) else struct.pack("<IB", 7, v) if isinstance(v, bool) else
                struct.pack("<If", 6, v) if isinstance(v, float) else struct.pack("<II", 4, v))
    for k, t in tensors.items():
        packed = blocks and k.endswith("_exps.weight")
        out += text(k) + struct.pack("<I", t.ndim) + struct.pack(f"<{t.ndim}Q", *t.shape[::-1]) + struct.pack("<IQ", 39 if packed else 0, len(data))
        data += gguf_mxfp4(t) if packed else t.astype("<f4").tobytes()
        data += bytes(-len(data) % 32)
    path.write_bytes(bytes(out) + bytes(-len(out) % 32) + bytes(data))


# ---- llama2.c's legacy checkpoints, as its export.py writes them ----

def write_llama2c(path, exact):
    """Sizes (the vocabulary negative: the output has weights of its own), then f32 arrays, each over all layers; queries and keys in pairs (2i, 2i + 1)."""
    c, state = exact.config, {k: v.float() for k, v in exact.state_dict().items()}
    layers, head = range(c.num_hidden_layers), c.hidden_size // c.num_attention_heads

    def paired(w, heads):
        return w.reshape(heads, 2, head // 2, -1).transpose(1, 2).reshape(w.shape)
    parts = [state["model.embed_tokens.weight"]]
    for name in ("input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
                 "mlp.gate_proj", "mlp.down_proj", "mlp.up_proj"):
        for i in layers:
            w = state[f"model.layers.{i}.{name}.weight"]
            parts.append(paired(w, c.num_attention_heads) if "q_proj" in name else paired(w, c.num_key_value_heads) if "k_proj" in name else w)
    unused = torch.zeros(2, c.max_position_embeddings, head // 2)   # cosines and sines, which readers skip
    parts += [state["model.norm.weight"], unused, state["lm_head.weight"]]
    sizes = (c.hidden_size, c.intermediate_size, c.num_hidden_layers, c.num_attention_heads, c.num_key_value_heads, -c.vocab_size, c.max_position_embeddings)
    path.write_bytes(struct.pack("<7i", *sizes) + b"".join(np.ascontiguousarray(p.numpy()).astype("<f4").tobytes() for p in parts))


def list_generated(prompts, runs, search, expected, listing):
    """Adds what a model generates: the greedy runs with their logits, and the searches in their place where there are some."""
    for i, (prompt, (ids, gap, logits)) in enumerate(zip(prompts, runs)):
        expected[f"greedy.{i}.logits"] = logits
        listing["generate"].append({"name": f"greedy.{i}", "mode": "greedy", "input_ids": prompt[0].tolist(), "ids_without_eos_stop": ids,
                                    "least_top2_gap": round(gap, 5)})
    if search:
        listing["generate"] = search[1]


def make(name, seed):
    model = (MODELS | SEARCHED | LATER)[name]()
    model.config._attn_implementation = model.config._experts_implementation = "eager"
    model.eval()
    for attempt in range(50):
        randomize(model, seed + 1000 * attempt)
        if name.endswith("-mxfp4"):
            rounded_to_mxfp4(model)
        state = {k: v.double() for k, v in model.state_dict().items()}
        config = type(model.config).from_dict(model.config.to_dict())
        config._attn_implementation = config._experts_implementation = "eager"
        with Exact64():
            exact = type(model)(config).double().eval()
        exact.load_state_dict(state)
        exact.tie_weights()
        g = torch.Generator().manual_seed(seed)
        cases = list(forward_cases(g, model.config.vocab_size))
        prompts = [torch.randint(4, model.config.vocab_size, (1, n), generator=g) for n in (1, 6)]
        runs = [greedy(exact, p, name == "llama-dynamic") for p in prompts]
        search = beams.searched(exact, Exact64, prompts, runs) if name in SEARCHED and min(r[1] for r in runs) > GAP else None
        if min(r[1] for r in runs) > GAP and (search or name not in SEARCHED):
            break
    else:
        raise SystemExit(f"{name}: no seed gives clear greedy steps")
    out, expected = HERE / name, {}
    if search:
        model.config.eos_token_id = model.generation_config.eos_token_id = search[0]
    model.save_pretrained(out)
    (out / "generation_config.json").unlink(missing_ok=True)
    if name.endswith("-mxfp4"):
        save_as_mxfp4(out)
    if name in OLD:
        config = json.loads((out / "config.json").read_text())
        rope = config.pop("rope_parameters")
        config |= {"rope_theta": rope.pop("rope_theta"), "rope_scaling": {"type": rope.pop("rope_type"), **rope}}
        (out / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
        again = type(model).from_pretrained(out, dtype=torch.float32).config
        again.rope_parameters.pop("type")
        assert again.rope_parameters == model.config.rope_parameters, again.rope_parameters
    listing = {"cases": [], "generate": []}
    for case, inputs, attention in cases:
        with torch.no_grad(), Exact64():
            if name == "bloom":     # it has no positions to be told
                inputs.pop("position_ids", None)
            r = exact(**inputs, use_cache=False, output_hidden_states=True, output_attentions=True)
        mask = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"]))
        expected[f"{case}.logits"] = r.logits * mask[..., None]
        for i, h in enumerate(r.hidden_states):
            expected[f"{case}.hidden.{i}"] = h * mask[..., None]
        for i, a in enumerate(r.attentions if attention else []):
            expected[f"{case}.attn.{i}"] = a * mask[:, None, :, None]
        listing["cases"].append({"name": case, **{k: v.tolist() for k, v in inputs.items()}})
    list_generated(prompts, runs, search, expected, listing)
    assert all(v.dtype == torch.float64 for v in expected.values())
    save_file({k: np.ascontiguousarray(v.numpy().astype(np.float32)) for k, v in expected.items()}, str(out / "expected.safetensors"))
    (out / "cases.json").write_text(json.dumps(listing) + "\n")
    if name in GGUF:
        write_gguf(out / "model.gguf", GGUF[name], exact, llama3_factors(exact) if name == "llama-llama3" else None,
                   name.endswith("-mxfp4"))
    if name == "llama":
        write_llama2c(out / "model.bin", exact)
    for f in out.iterdir():
        f.chmod(0o644)
    print(name, sum(f.stat().st_size for f in out.iterdir()) // 1024, "KB", "seed", seed + 1000 * attempt)


if __name__ == "__main__":
    for first, models in (200, MODELS), (217, SEARCHED), (300, LATER):
        for seed, name in enumerate(models, first):
            if len(sys.argv) == 1 or name in sys.argv[1:]:
                make(name, seed)

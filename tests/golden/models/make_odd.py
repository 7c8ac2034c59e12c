#!/usr/bin/env python3
"""Makes the odd goldens, NAME-odd: a family whose config has another value than its default wherever it changes results (the eps of
norms, activations, biases, scales, heads), so that a key which is not read gives other numbers. As small as they can be: one layer or
two, one case, no attention.

    python3 make_odd.py [NAME...]       (needs torch, transformers, safetensors, numpy)
"""
import json
import sys

import torch
import transformers as tr
from safetensors.numpy import save_file

from make import GAP, HERE, Exact64, greedy, list_generated, randomize, rope_factors, write_gguf
from make_source import exact_of, save

EPS = 0.06
SMALL = dict(vocab_size=29, hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=14, max_position_embeddings=24)
BART = dict(vocab_size=29, d_model=12, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=3, encoder_ffn_dim=10,
            decoder_ffn_dim=14, max_position_embeddings=24, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
YARN = dict(rope_theta=400.0, rope_type="yarn", factor=3.0, original_max_position_embeddings=8, beta_fast=1.5, beta_slow=0.2, attention_factor=1.4,
            truncate=False)
DECODERS = {
    "gpt2": tr.GPT2Config(vocab_size=29, n_embd=12, n_layer=2, n_head=2, n_positions=24, n_inner=14, layer_norm_epsilon=EPS, scale_attn_weights=False,
                          activation_function="relu", tie_word_embeddings=False),
    "llama": tr.LlamaConfig(**SMALL, num_key_value_heads=1, head_dim=8, rms_norm_eps=EPS, hidden_act="gelu", tie_word_embeddings=True,
                            rope_parameters=YARN),
    "qwen2": tr.Qwen2Config(**SMALL, num_key_value_heads=1, rms_norm_eps=EPS, sliding_window=3, use_sliding_window=True, max_window_layers=2,
                            layer_types=["sliding_attention", "full_attention"]),
    "qwen3": tr.Qwen3Config(**SMALL, num_key_value_heads=1, head_dim=4, rms_norm_eps=EPS, attention_bias=True),
    "mistral": tr.MistralConfig(**SMALL, num_key_value_heads=1, head_dim=4, rms_norm_eps=EPS, sliding_window=None),
    "phi3": tr.Phi3Config(**SMALL, num_key_value_heads=2, rms_norm_eps=EPS, sliding_window=None,
                          rope_parameters=dict(rope_theta=300.0, rope_type="default", partial_rotary_factor=2 / 3)),
    "gemma": tr.GemmaConfig(**SMALL, num_key_value_heads=2, head_dim=4, rms_norm_eps=EPS, attention_bias=True, hidden_act="relu"),
    "gpt_neox": tr.GPTNeoXConfig(**SMALL, layer_norm_eps=EPS, attention_bias=False, hidden_act="relu",
                                 rope_parameters=dict(rope_theta=300.0, rope_type="default", partial_rotary_factor=2 / 3)),
    "starcoder2": tr.Starcoder2Config(**SMALL, num_key_value_heads=1, norm_epsilon=EPS, use_bias=False, hidden_act="relu", tie_word_embeddings=False),
    "opt": tr.OPTConfig(**{k: v for k, v in SMALL.items() if k != "intermediate_size"}, ffn_dim=14, word_embed_proj_dim=12, enable_bias=False,
                        activation_function="gelu", _remove_final_layer_norm=True),
    "bloom": tr.BloomConfig(vocab_size=29, hidden_size=12, n_layer=2, n_head=3, layer_norm_epsilon=EPS),
}
LATER = {
    "gemma3_text": tr.Gemma3TextConfig(**SMALL, num_key_value_heads=1, head_dim=4, rms_norm_eps=EPS, attention_bias=True, hidden_activation="relu",
                                       query_pre_attn_scalar=7, sliding_window=3, layer_types=["full_attention", "sliding_attention"],
                                       final_logit_softcapping=0.8, tie_word_embeddings=False,
                                       rope_parameters=dict(full_attention=dict(rope_theta=300.0, rope_type="linear", factor=3.0),
                                                            sliding_attention=dict(rope_theta=90.0, rope_type="default"))),
}
LATER |= {
    "olmo2": tr.Olmo2Config(**SMALL, num_key_value_heads=1, rms_norm_eps=EPS),
    "granite": tr.GraniteConfig(**SMALL, num_key_value_heads=1, rms_norm_eps=EPS, tie_word_embeddings=True, embedding_multiplier=3.0,
                                logits_scaling=2.5, residual_multiplier=0.4, attention_multiplier=0.7),
    "smollm3": tr.SmolLM3Config(**SMALL, num_key_value_heads=1, rms_norm_eps=EPS, hidden_act="relu", tie_word_embeddings=False, use_sliding_window=True,
                                sliding_window=3, no_rope_layers=[0, 1], layer_types=["full_attention", "sliding_attention"],
                                rope_parameters=dict(rope_theta=300.0, rope_type="default")),
    "cohere": tr.CohereConfig(**SMALL, num_key_value_heads=1, layer_norm_eps=EPS, hidden_act="relu", logit_scale=0.4,
                              rope_parameters=dict(rope_theta=300.0, rope_type="default")),
    "cohere2": tr.Cohere2Config(**dict(SMALL, num_hidden_layers=4), num_key_value_heads=1, layer_norm_eps=EPS, logit_scale=0.4, sliding_window=3,
                                rope_parameters=dict(rope_theta=300.0, rope_type="default")),
    "stablelm": tr.StableLmConfig(**dict(SMALL, hidden_size=16), num_key_value_heads=1, layer_norm_eps=EPS, use_qkv_bias=True,
                                  use_parallel_residual=True,
                                  rope_parameters=dict(rope_theta=300.0, rope_type="default", partial_rotary_factor=0.75)),
    "glm4": tr.Glm4Config(**SMALL, num_key_value_heads=1, head_dim=8, rms_norm_eps=EPS, attention_bias=False,
                          rope_parameters=dict(rope_theta=300.0, rope_type="default", partial_rotary_factor=0.75)),
    "phi": tr.PhiConfig(**SMALL, num_key_value_heads=1, layer_norm_eps=EPS,
                        rope_parameters=dict(rope_theta=300.0, rope_type="default", partial_rotary_factor=2 / 3)),
    "falcon": tr.FalconConfig(**{k: v for k, v in SMALL.items() if k != "intermediate_size"} | dict(hidden_size=16, num_attention_heads=4), num_kv_heads=2,
                              layer_norm_epsilon=EPS, new_decoder_architecture=True, num_ln_in_parallel_attn=2,
                              ffn_hidden_size=20, tie_word_embeddings=False, rope_parameters=dict(rope_theta=300.0, rope_type="default")),
    "gptj": tr.GPTJConfig(vocab_size=29, n_embd=12, n_layer=2, n_head=2, n_positions=24, rotary_dim=4, n_inner=14, layer_norm_epsilon=EPS,
                          activation_function="relu"),
    "mpt": tr.MptConfig(vocab_size=29, d_model=12, n_layers=2, n_heads=3, max_seq_len=24, layer_norm_epsilon=EPS, attn_config=dict(softmax_scale=0.3)),
    "helium": tr.HeliumConfig(**SMALL, num_key_value_heads=1, head_dim=6, rms_norm_eps=EPS, hidden_act="relu", attention_bias=True, mlp_bias=True,
                              rope_parameters=dict(rope_theta=300.0, rope_type="default")),
    "gemma2": tr.Gemma2Config(**SMALL, num_key_value_heads=1, head_dim=4, rms_norm_eps=EPS, attention_bias=True, hidden_activation="relu",
                              query_pre_attn_scalar=7, sliding_window=3, layer_types=["full_attention", "sliding_attention"], tie_word_embeddings=False,
                              final_logit_softcapping=0.8, attn_logit_softcapping=0.6, rope_parameters=dict(rope_theta=300.0, rope_type="default")),
    "gemma3": tr.Gemma3Config(text_config=dict(**SMALL, num_key_value_heads=1, head_dim=4, rms_norm_eps=EPS, query_pre_attn_scalar=7, sliding_window=3,
                                               layer_types=["full_attention", "sliding_attention"]), image_token_index=3,
                              vision_config=dict(hidden_size=4, intermediate_size=4, num_hidden_layers=1, num_attention_heads=1, image_size=4,
                                                 patch_size=2, num_channels=1)),
}
ROPE = dict(rope_theta=300.0, rope_type="default")
LATER |= {
    "mixtral": tr.MixtralConfig(**SMALL, num_key_value_heads=1, head_dim=8, rms_norm_eps=EPS, hidden_act="gelu", num_local_experts=5,
                                num_experts_per_tok=3, sliding_window=4, rope_parameters=ROPE),
    "qwen2_moe": tr.Qwen2MoeConfig(**dict(SMALL, num_hidden_layers=3), num_key_value_heads=1, rms_norm_eps=EPS, hidden_act="relu", num_experts=4,
                                   num_experts_per_tok=2, moe_intermediate_size=10, shared_expert_intermediate_size=6, qkv_bias=False,
                                   mlp_only_layers=[1], use_sliding_window=True, sliding_window=3, max_window_layers=2,
                                   layer_types=["sliding_attention", "full_attention", "full_attention"], rope_parameters=ROPE),
    "qwen3_moe": tr.Qwen3MoeConfig(**dict(SMALL, num_hidden_layers=4), num_key_value_heads=1, head_dim=4, rms_norm_eps=EPS, attention_bias=True,
                                   num_experts=6, num_experts_per_tok=3, moe_intermediate_size=10, decoder_sparse_step=2, norm_topk_prob=True,
                                   mlp_only_layers=[], rope_parameters=ROPE),
}
EXPERTS = {
    "olmoe": tr.OlmoeConfig(**SMALL, num_key_value_heads=1, rms_norm_eps=EPS, hidden_act="relu", attention_bias=True, num_experts=5,
                            num_experts_per_tok=3, norm_topk_prob=True, tie_word_embeddings=True, rope_parameters=ROPE),
    "granitemoe": tr.GraniteMoeConfig(**SMALL, num_key_value_heads=1, rms_norm_eps=EPS, tie_word_embeddings=True, embedding_multiplier=3.0,
                                      logits_scaling=2.5, residual_multiplier=0.4, attention_multiplier=0.7, num_local_experts=5,
                                      num_experts_per_tok=3, rope_parameters=ROPE),
    "granitemoeshared": tr.GraniteMoeSharedConfig(**SMALL, num_key_value_heads=1, rms_norm_eps=EPS, embedding_multiplier=3.0,
                                                  attention_bias=True, logits_scaling=2.5, residual_multiplier=0.4, attention_multiplier=0.7,
                                                  num_local_experts=5, num_experts_per_tok=3, shared_intermediate_size=6, rope_parameters=ROPE),
    "gpt_oss": tr.GptOssConfig(**SMALL, num_key_value_heads=1, head_dim=8, rms_norm_eps=EPS, hidden_act="relu", tie_word_embeddings=True,
                               attention_bias=False, num_local_experts=5, num_experts_per_tok=3, swiglu_alpha=0.9, swiglu_limit=0.3, sliding_window=3,
                               layer_types=["full_attention", "sliding_attention"], rope_parameters=ROPE),
}
LATENT = {
    "deepseek_v2": tr.DeepseekV2Config(**SMALL, num_key_value_heads=2, rms_norm_eps=EPS, hidden_act="relu", tie_word_embeddings=True,
                                       attention_bias=True, mlp_bias=True, q_lora_rank=5, kv_lora_rank=8, qk_nope_head_dim=4, qk_rope_head_dim=6,
                                       v_head_dim=3, moe_intermediate_size=10, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=2,
                                       topk_method="group_limited_greedy", n_group=3, topk_group=2, routed_scaling_factor=1.7,
                                       first_k_dense_replace=1, rope_parameters={k: v for k, v in YARN.items() if k != "attention_factor"} | dict(
                                           mscale=1.3, mscale_all_dim=0.8)),
    "deepseek_v3": tr.DeepseekV3Config(**SMALL, num_key_value_heads=2, rms_norm_eps=EPS, hidden_act="relu", attention_bias=True, q_lora_rank=None,
                                       kv_lora_rank=7, qk_nope_head_dim=3, qk_rope_head_dim=4, v_head_dim=6, moe_intermediate_size=10,
                                       n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=2, n_group=4, topk_group=3, norm_topk_prob=False,
                                       routed_scaling_factor=1.7, first_k_dense_replace=1, rope_interleave=False, rope_parameters=ROPE),
}
REST = {
    "glm": tr.GlmConfig(**SMALL, num_key_value_heads=1, head_dim=8, rms_norm_eps=EPS, tie_word_embeddings=True,
                        rope_parameters=dict(rope_theta=300.0, rope_type="default", partial_rotary_factor=0.75)),
}
GGUF = {    # the odd goldens that are also written as GGUF, which does not name activations: their architecture there
    "granite": "granite", "olmo2": "olmo2", "cohere2": "cohere2", "stablelm": "stablelm", "glm4": "glm4", "glm": "chatglm", "phi": "phi2",
    "falcon": "falcon",
    "granitemoe": "granitemoe", "granitemoeshared": "granitemoe",
}
LONGROPE = {    # texts of up to 8 tokens have the short factors, longer ones the long
    "phi3-longrope": tr.Phi3Config(**dict(SMALL, hidden_size=16, max_position_embeddings=48), num_key_value_heads=1, rms_norm_eps=EPS,
                                   original_max_position_embeddings=8, rope_parameters=dict(
                                       rope_theta=300.0, rope_type="longrope", partial_rotary_factor=0.75, original_max_position_embeddings=8,
                                       short_factor=[1.1, 0.8, 1.6], long_factor=[1.3, 2.7, 5.5])),
    "llama-longrope": tr.LlamaConfig(**dict(SMALL, max_position_embeddings=48), num_key_value_heads=1, head_dim=4, rms_norm_eps=EPS, rope_parameters=dict(
        rope_theta=300.0, rope_type="longrope", factor=5.0, attention_factor=1.4, original_max_position_embeddings=8,
        short_factor=[1.2, 0.7], long_factor=[1.4, 3])),
}
BERT = dict(SMALL, layer_norm_eps=EPS, hidden_act="relu", num_labels=3)
ENCODERS = {
    "bert": (tr.BertConfig(**BERT, type_vocab_size=3), {"mlm": tr.BertForMaskedLM, "cls": tr.BertForSequenceClassification}),
    "roberta": (tr.RobertaConfig(**BERT, type_vocab_size=1, pad_token_id=3), {"mlm": tr.RobertaForMaskedLM, "cls": tr.RobertaForSequenceClassification}),
    "distilbert": (tr.DistilBertConfig(vocab_size=29, dim=12, n_layers=2, n_heads=2, hidden_dim=14, max_position_embeddings=24, activation="relu",
                                       num_labels=3), {"mlm": tr.DistilBertForMaskedLM, "cls": tr.DistilBertForSequenceClassification}),
    "albert": (tr.AlbertConfig(**BERT, embedding_size=6, num_hidden_groups=2), {"mlm": tr.AlbertForMaskedLM, "cls": tr.AlbertForSequenceClassification}),
    "mpnet": (tr.MPNetConfig(**BERT), {"mlm": tr.MPNetForMaskedLM, "cls": tr.MPNetForSequenceClassification}),
    "electra": (tr.ElectraConfig(**BERT, embedding_size=12), {"mlm": tr.ElectraForMaskedLM, "cls": tr.ElectraForSequenceClassification}),
}
LATER_ENCODERS = {
    "modernbert": (tr.ModernBertConfig(**SMALL, norm_eps=EPS, norm_bias=True, attention_bias=True, mlp_bias=True, hidden_activation="relu", num_labels=3,
                                       layer_types=["sliding_attention", "full_attention"], local_attention=4, classifier_activation="silu",
                                       classifier_bias=True, decoder_bias=False, tie_word_embeddings=False, pad_token_id=3, bos_token_id=1,
                                       eos_token_id=2, cls_token_id=1, sep_token_id=2,
                                       rope_parameters=dict(full_attention=dict(rope_theta=300.0, rope_type="linear", factor=3.0),
                                                            sliding_attention=dict(rope_theta=90.0, rope_type="default"))),
                   {"mlm": tr.ModernBertForMaskedLM, "cls": tr.ModernBertForSequenceClassification}),
    "nomic_bert": (tr.NomicBertConfig(**BERT, head_dim=8, type_vocab_size=3, rope_parameters=dict(rope_theta=300.0, rope_type="linear", factor=3.0)),
                   {"mlm": tr.NomicBertForMaskedLM, "cls": tr.NomicBertForSequenceClassification}),
}
# GTE's first files call "ntk", by a factor of 27 from a base of 300 / 27, what this linear scaling of heads of 6 gives.
EURO = dict(**SMALL, num_key_value_heads=1, head_dim=8, rms_norm_eps=EPS, hidden_act="relu", attention_bias=True, mlp_bias=True, num_labels=3,
            pad_token_id=3, bos_token_id=1, eos_token_id=2, mask_token_id=4, rope_parameters=ROPE)
ROTARY_ENCODERS = {
    "gte": (tr.GteConfig(**BERT, type_vocab_size=3, rope_parameters=dict(rope_theta=300.0, rope_type="linear", factor=3.0)),
            {"mlm": tr.GteForMaskedLM, "cls": tr.GteForSequenceClassification}),
    "jina_embeddings_v3": (tr.JinaEmbeddingsV3Config(**BERT, type_vocab_size=2, rope_parameters=ROPE),
                           {"mlm": tr.JinaEmbeddingsV3ForMaskedLM, "cls": tr.JinaEmbeddingsV3ForSequenceClassification}),
    "eurobert": (tr.EuroBertConfig(**EURO, classifier_pooling="mean"),
                 {"cls": tr.EuroBertForSequenceClassification, "mlm": tr.EuroBertForMaskedLM, "tokens": tr.EuroBertForTokenClassification}),
    "eurobert-late": (tr.EuroBertConfig(**dict(EURO, num_hidden_layers=1, mlp_bias=False, tie_word_embeddings=True)),
                      {"cls": tr.EuroBertForSequenceClassification, "mlm": tr.EuroBertForMaskedLM}),
}
# As DeBERTa v2 at its simplest: each distance a row of its own, positions and segments in the embedding, the head of BERT.
MORE_ENCODERS = {
    "deberta_v2": (tr.DebertaV2Config(**BERT, relative_attention=True, share_att_key=True, pos_att_type="c2p|p2c", max_relative_positions=5,
                                      type_vocab_size=3, pooler_hidden_act="tanh"),
                   {"mlm": tr.DebertaV2ForMaskedLM, "cls": tr.DebertaV2ForSequenceClassification}),
    # distances in buckets, whose keys and queries are made by matrices of their own
    "deberta_v2-apart": (tr.DebertaV2Config(**BERT, relative_attention=True, share_att_key=False, pos_att_type=["p2c", "c2p"], position_buckets=6,
                                            norm_rel_ebd="layer_norm", position_biased_input=False, type_vocab_size=0),
                         {"mlm": tr.DebertaV2ForMaskedLM, "cls": tr.DebertaV2ForSequenceClassification}),
}
# A convolution beside the first layer; texts of two lengths that run together, so that its taps reach over the end of the shorter one.
CONVOLVED = dict(BERT, relative_attention=True, share_att_key=True, pos_att_type="c2p|p2c", position_biased_input=False)
CONVOLVED_ENCODERS = {
    "deberta_v2-conv": (tr.DebertaV2Config(**CONVOLVED, conv_kernel_size=3, conv_act="gelu"), {"mlm": tr.DebertaV2ForMaskedLM}),
    "deberta_v2-groups": (tr.DebertaV2Config(**CONVOLVED, conv_kernel_size=5, conv_groups=3), {"mlm": tr.DebertaV2ForMaskedLM}),
}
# DeBERTa's first version: with positions and segments in the embedding and the head of BERT; without them, with its own head and, as some
# files have, a table of positions that nothing reads.
FIRST = dict(BERT, relative_attention=True, pos_att_type="c2p|p2c")
FIRST_ENCODERS = {
    "deberta": (tr.DebertaConfig(**FIRST, max_relative_positions=5, type_vocab_size=3, pooler_hidden_act="tanh"),
                {"mlm": tr.DebertaForMaskedLM, "cls": tr.DebertaForSequenceClassification, "tokens": tr.DebertaForTokenClassification}),
    "deberta-own": (tr.DebertaConfig(**FIRST, position_biased_input=False, legacy=False), {"mlm": tr.DebertaForMaskedLM}),
}
T5 = dict(vocab_size=29, d_model=12, d_kv=5, d_ff=14, num_layers=1, num_decoder_layers=2, num_heads=2, layer_norm_epsilon=EPS, pad_token_id=0,
          eos_token_id=1, decoder_start_token_id=0)
TRANSLATORS = {
    "bart": tr.BartConfig(**BART, activation_function="relu", scale_embedding=True),
    "mbart": tr.MBartConfig(**BART, activation_function="relu", scale_embedding=False),
    "marian": tr.MarianConfig(**BART, activation_function="relu", scale_embedding=False),
    "m2m_100": tr.M2M100Config(**BART, activation_function="gelu", scale_embedding=False),
    "pegasus": tr.PegasusConfig(**BART, activation_function="gelu", scale_embedding=True),
    "t5": tr.T5Config(**T5, relative_attention_num_buckets=6, relative_attention_max_distance=5, feed_forward_proj="relu"),
    "t5-gated": tr.T5Config(**T5, feed_forward_proj="gated-silu", tie_word_embeddings=False),
}
MORE_TRANSLATORS = {
    "mt5": tr.MT5Config(**T5, relative_attention_num_buckets=6, relative_attention_max_distance=5, feed_forward_proj="relu"),
    "umt5": tr.UMT5Config(**T5, relative_attention_num_buckets=6, relative_attention_max_distance=5, feed_forward_proj="gated-silu"),
}
OLD = {"gpt_neox": {"partial_rotary_factor": "rotary_pct", "rope_theta": "rotary_emb_base"}}    # config.json as transformers 4 wrote it


def made(kind, config, seed):
    config._attn_implementation = config._experts_implementation = "eager"
    model = kind(config).eval()
    randomize(model, seed)
    for module in model.modules():                     # sinusoids are no weights
        if hasattr(module, "create_weight"):
            module.weight.data.copy_(module.create_weight())
    return model


def write(model, out, old=None):
    model.save_pretrained(out)
    (out / "generation_config.json").unlink(missing_ok=True)
    if old:
        config = json.loads((out / "config.json").read_text())
        rope = config.pop("rope_parameters")
        config |= {name: rope[key] for key, name in old.items()}
        (out / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def ids_of(g, *shape):
    return torch.randint(4, 29, shape, generator=g)


def run(model, **inputs):
    exact = exact_of(model)
    with torch.no_grad(), Exact64():
        return exact(**inputs, output_hidden_states=True)


def decoder(name, seed):
    out, g = HERE / f"{name}-odd", torch.Generator().manual_seed(seed)
    config = (DECODERS | LATER | EXPERTS | LATENT | REST)[name]
    config.bos_token_id, config.eos_token_id, config.pad_token_id = 1, 2, 0
    model = made(tr.AutoModelForCausalLM.from_config(config).__class__, config, seed)
    write(model, out, OLD.get(name))
    ids = ids_of(g, 2, 11)
    r = run(model, input_ids=ids, use_cache=False)
    expected = {"odd.logits": r.logits, **{f"odd.hidden.{i}": h for i, h in enumerate(r.hidden_states)}}
    if name in GGUF:
        write_gguf(out / "model.gguf", GGUF[name], model)
    save(out, expected, {"cases": [{"name": "odd", "input_ids": ids.tolist()}], "generate": []})


def lengths(name, seed):
    """Texts on both sides of the length that chooses the factors; a text that goes on is longer from its first token."""
    out, g, config = HERE / f"{name}-odd", torch.Generator().manual_seed(seed), LONGROPE[name]
    config.bos_token_id, config.eos_token_id, config.pad_token_id = 1, 2, 0
    prompts = [ids_of(g, 1, n) for n in (9, 14)]
    for attempt in range(50):
        model = made(tr.AutoModelForCausalLM.from_config(config).__class__, config, seed + 1000 * attempt)
        runs = [greedy(exact_of(model), p, True) for p in prompts]
        if min(r[1] for r in runs) > GAP:
            break
    else:
        raise SystemExit(f"{name}: no seed gives clear greedy steps")
    model.save_pretrained(out)
    (out / "generation_config.json").unlink(missing_ok=True)
    if name.startswith("phi3"):     # as Phi-4-mini was published
        told = json.loads((out / "config.json").read_text())
        rope = told.pop("rope_parameters")
        told |= {"rope_theta": rope["rope_theta"], "partial_rotary_factor": rope["partial_rotary_factor"],
                 "rope_scaling": {"type": "longrope", **{key: rope[key] for key in ("short_factor", "long_factor")}}}
        (out / "config.json").write_text(json.dumps(told, indent=2, sort_keys=True) + "\n")
        again = type(model).from_pretrained(out, dtype=torch.float32).config.rope_parameters
        assert {k: v for k, v in again.items() if k != "type"} == model.config.rope_parameters, again
    expected, listing = {}, {"cases": [], "generate": []}
    for case, length in ("odd", 11), ("most", 8), ("more", 9), ("short", 5):
        ids = ids_of(g, 2, length)
        r = run(model, input_ids=ids, use_cache=False)
        expected |= {f"{case}.logits": r.logits, **{f"{case}.hidden.{i}": h for i, h in enumerate(r.hidden_states)}}
        listing["cases"].append({"name": case, "input_ids": ids.tolist()})
    list_generated(prompts, runs, None, expected, listing)
    if name.startswith("phi3"):
        write_gguf(out / "model.gguf", "phi3", model, more=rope_factors(model.config.rope_parameters))
    save(out, expected, listing)


def first_gte(folder, config, inner):
    """The same inner weights as the family's first files have them."""
    names = {"layers.": "encoder.layer.", "self_attn.o_proj": "attention.o_proj", "post_attention_layernorm": "attn_ln", "post_mlp_layernorm": "mlp_ln"}
    together = {"self_attn.q_proj": ("attention.qkv_proj", ("q_proj", "k_proj", "v_proj")), "mlp.up_proj": ("mlp.up_gate_proj", ("up_proj", "gate_proj"))}
    arrays = {}
    for key, value in inner.items():
        if "pooler" in key or any(part in key for part in ("k_proj", "v_proj", "gate_proj")):
            continue
        new = key
        for first, (whole, parts) in together.items():
            if first in key:
                value = torch.cat([inner[key.replace(parts[0], part)] for part in parts])
                new = key.replace(first, whole)
        for now, old in names.items():
            new = new.replace(now, old)
        arrays["new." + new] = value.numpy().copy()
    folder.mkdir(exist_ok=True)
    save_file(arrays, str(folder / "model.safetensors"), metadata={"format": "pt"})
    keys = ("hidden_act", "hidden_size", "intermediate_size", "layer_norm_eps", "max_position_embeddings", "num_attention_heads", "num_hidden_layers",
            "type_vocab_size", "vocab_size")
    (folder / "config.json").write_text(json.dumps({key: getattr(config, key) for key in keys} | dict(
        model_type="new", architectures=["NewModel"], layer_norm_type="layer_norm", logn_attention_clip1=False, logn_attention_scale=False,
        pack_qkv=True, position_embedding_type="rope", rope_scaling=dict(type="ntk", factor=27.0), rope_theta=300.0 / 27.0,
        unpad_inputs=False), indent=2) + "\n")


def encoder(name, seed):
    config, heads = (ENCODERS | LATER_ENCODERS | ROTARY_ENCODERS | MORE_ENCODERS | CONVOLVED_ENCODERS | FIRST_ENCODERS)[name]
    out, g, expected, inner = HERE / f"{name}-odd", torch.Generator().manual_seed(seed), {}, None
    inputs = {"input_ids": ids_of(g, 2, 11)}
    if getattr(config, "type_vocab_size", 1) > 1 and name not in ("mpnet", "distilbert"):
        inputs["token_type_ids"] = torch.randint(0, config.type_vocab_size, (2, 11), generator=g)
    if name in CONVOLVED_ENCODERS | FIRST_ENCODERS:
        inputs["attention_mask"] = (torch.arange(11) < torch.tensor([[11], [10]])).long()
    for head, kind in heads.items():
        model = made(kind, type(config).from_dict(config.to_dict()), seed)
        base = getattr(model, model.base_model_prefix)
        if inner:
            base.load_state_dict({k: v for k, v in inner.items() if k in base.state_dict()}, strict=False)
            model.tie_weights()
        inner = inner or base.state_dict()
        write(model, out / head)
        if name in ("gte", "jina_embeddings_v3") and head == "cls":     # files have other names than models, which are read, too
            save_file({k: v.numpy() for k, v in model.state_dict().items()}, str(out / head / "model.safetensors"), metadata={"format": "pt"})
        if name == "deberta-own":
            unread = {"deberta.embeddings.position_embeddings.weight": torch.ones(24, 12)}
            save_file({k: v.numpy() for k, v in (model.state_dict() | unread).items()}, str(out / head / "model.safetensors"), metadata={"format": "pt"})
        r = run(model, **inputs)
        expected[f"odd.{head}.logits"] = r.logits
        if head == next(iter(heads)):
            expected |= {f"odd.hidden.{i}": h for i, h in enumerate(r.hidden_states)}
    if name == "gte":
        first_gte(out / "new", config, inner)
    save(out, expected, {"cases": [{"name": "odd", **{k: v.tolist() for k, v in inputs.items()}}]})


def translator(name, seed):
    config, out, g = (TRANSLATORS | MORE_TRANSLATORS)[name], HERE / f"{name}-odd", torch.Generator().manual_seed(seed)
    model = made(tr.AutoModelForSeq2SeqLM.from_config(config).__class__, config, seed)
    write(model, out)
    ids = ids_of(g, 2, 9)
    after = torch.cat([torch.full((2, 1), config.decoder_start_token_id), ids_of(g, 2, 4)], 1)
    r = run(model, input_ids=ids, decoder_input_ids=after, use_cache=False)
    expected = {"odd.logits": r.logits, **{f"odd.enc.hidden.{i}": h for i, h in enumerate(r.encoder_hidden_states)},
                **{f"odd.dec.hidden.{i}": h for i, h in enumerate(r.decoder_hidden_states)}}
    save(out, expected, {"cases": [{"name": "odd", "input_ids": ids.tolist(), "decoder_input_ids": after.tolist()}], "generate": []})


if __name__ == "__main__":
    for seed, (make, name) in enumerate([(decoder, n) for n in DECODERS] + [(encoder, n) for n in ENCODERS] + [(translator, n) for n in TRANSLATORS] +
                                        [(decoder, n) for n in LATER] + [(encoder, n) for n in LATER_ENCODERS] +
                                        [(decoder, n) for n in EXPERTS] + [(encoder, n) for n in ROTARY_ENCODERS] + [(encoder, n) for n in MORE_ENCODERS] +
                                        [(encoder, n) for n in CONVOLVED_ENCODERS] + [(encoder, n) for n in FIRST_ENCODERS] +
                                        [(decoder, n) for n in LATENT] +
                                        [(translator, n) for n in MORE_TRANSLATORS] + [(lengths, n) for n in LONGROPE] +
                                        [(decoder, n) for n in REST]):
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, 700 + seed)

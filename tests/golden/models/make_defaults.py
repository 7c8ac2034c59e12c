#!/usr/bin/env python3
"""Makes defaults.json: what transformers takes for a key that a config.json lacks, by model_type. Sizes are left out: a file that lacks
one is refused, or its arrays tell.

    python3 make_defaults.py       (needs torch, transformers)
"""
import json
from pathlib import Path

import transformers as tr

FAMILIES = """GPT2 Llama Mistral Qwen2 Qwen3 Gemma Phi3 GPTNeoX OPT Starcoder2 Bloom Bert Roberta XLMRoberta Camembert DistilBert Albert MPNet
Electra Bart MBart Marian Pegasus M2M100 T5 MT5 UMT5 Gemma3Text
ModernBert NomicBert EuroBert Gte JinaEmbeddingsV3 Olmo2 Granite SmolLM3 Cohere Cohere2 StableLm Glm Glm4 Phi Falcon GPTJ Mpt Helium Gemma2 Mixtral
Qwen2Moe Qwen3Moe Olmoe GraniteMoe GraniteMoeShared GptOss DeepseekV2 DeepseekV3 Deberta""".split()
KEYS = """hidden_act activation activation_function rms_norm_eps layer_norm_eps layer_norm_epsilon norm_epsilon tie_word_embeddings sliding_window
use_sliding_window max_window_layers attention_bias use_bias mlp_bias rope_parameters scale_embedding scale_attn_weights use_parallel_residual
do_layer_norm_before enable_bias feed_forward_proj relative_attention_num_buckets relative_attention_max_distance num_hidden_groups hidden_activation query_pre_attn_scalar attn_logit_softcapping
final_logit_softcapping embedding_multiplier logits_scaling residual_multiplier attention_multiplier no_rope_layer_interval logit_scale use_qkv_bias
new_decoder_architecture multi_query parallel_attn bias activation norm_eps norm_bias local_attention classifier_pooling classifier_activation
decoder_bias num_local_experts num_experts num_experts_per_tok moe_intermediate_size shared_expert_intermediate_size norm_topk_prob
decoder_sparse_step mlp_only_layers qkv_bias shared_intermediate_size
swiglu_alpha swiglu_limit n_routed_experts n_shared_experts n_group topk_group topk_method routed_scaling_factor first_k_dense_replace
rope_interleave num_nextn_predict_layers""".split()
HEADS = ("Qwen3", "Gemma", "Gemma2", "Gemma3Text", "Glm", "Glm4", "Helium", "GptOss")      # whose head_dim is a number of its own

found = {}
for family in FAMILIES:
    config = getattr(tr, family + "Config")()
    keys = [key for key in KEYS if not isinstance(getattr(type(config), key, None), property)] + ["head_dim"] * (family in HEADS)
    other = type(config).attribute_map      # other names of the same field
    found[config.model_type] = {key: getattr(config, key) for key in keys if key not in other and getattr(config, key, None) is not None}
    if found[config.model_type].get("sliding_window") == 0:     # what is written where use_sliding_window is false
        del found[config.model_type]["sliding_window"]
path = Path(__file__).parent / "defaults.json"
path.write_text(json.dumps(found, indent=0) + "\n")

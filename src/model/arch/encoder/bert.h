/* model/arch/encoder/bert.h - what BERT and RoBERTa share with their relatives. */
#ifndef TSRI_MODEL_ARCH_ENCODER_BERT_H
#define TSRI_MODEL_ARCH_ENCODER_BERT_H

#include "model/arch/common/family.h"

/* BERT's names of the arrays of a layer and of the embedding, which its relatives keep under their
 * own prefix; behind the |, those of a feed-forward part that has a gate (Jina Embeddings 2). */
/* clang-format off */
#define TSRI_MODEL_NAMES_BERT_EMBEDDING \
    .embed = "embeddings.word_embeddings", .position = "embeddings.position_embeddings", \
    .embed_norm = "embeddings.LayerNorm"
#define TSRI_MODEL_NAMES_BERT \
    TSRI_MODEL_NAMES_BERT_EMBEDDING, .types = "embeddings.token_type_embeddings", \
    .norm1 = "encoder.layer.%d.attention.output.LayerNorm", \
    .norm2 = "encoder.layer.%d.output.LayerNorm|encoder.layer.%d.mlp.layernorm", \
    TSRI_MODEL_NAMES_QKV("encoder.layer.%d.attention.self.", "query", "key", "value"), \
    .out = "encoder.layer.%d.attention.output.dense", \
    .up = "encoder.layer.%d.intermediate.dense", \
    .down = "encoder.layer.%d.output.dense|encoder.layer.%d.mlp.wo"

/* Names of its relatives with rotary positions: transformers' or, behind the |, those of the models' first
 * files. */
#define TSRI_MODEL_NAMES_ROTARY_LAYER(now, first) "layers.%d." now "|encoder.layers.%d." first
#define TSRI_MODEL_NAMES_ROTARY_BERT \
    .embed = "embeddings.word_embeddings", .types = "embeddings.token_type_embeddings", \
    .embed_norm = "embeddings.LayerNorm|emb_ln", \
    .norm1 = TSRI_MODEL_NAMES_ROTARY_LAYER("post_attention_layernorm", "norm1"), \
    .norm2 = TSRI_MODEL_NAMES_ROTARY_LAYER("post_mlp_layernorm", "norm2"), \
    TSRI_MODEL_NAMES_QKV("layers.%d.self_attn.", "q_proj", "k_proj", "v_proj")
/* clang-format on */

/* Their names of what lies above the layers: of the head that fills masks, and of those that
 * label. */
/* clang-format off */
#define TSRI_MODEL_NAMES_BERT_MASKED(at) \
    .masked_dense = at "dense", .masked_norm = at "LayerNorm"
#define TSRI_MODEL_NAMES_BERT_LABELS \
    .label = "/classifier", .token_label = "/classifier", \
    .ignored = tsri_model_names_position_ids
#define TSRI_MODEL_NAMES_ROBERTA_LABELS \
    .label_dense = "/classifier.dense", .label = "/classifier.out_proj", \
    .token_label = "/classifier", .ignored = tsri_model_names_position_ids
#define TSRI_MODEL_NAMES_ROBERTA_HEADS \
    .pooler = "pooler.dense", \
    .head = "/lm_head.decoder", .head_bias = "/lm_head|/lm_head.decoder", \
    .masked_dense = "/lm_head.dense", .masked_norm = "/lm_head.layer_norm", \
    TSRI_MODEL_NAMES_ROBERTA_LABELS
/* clang-format on */

/* A list for tsri_model_names.ignored: the numbers of the positions, as a buffer. */
extern const char *const tsri_model_names_position_ids[];

/* Reads BERT's layout from a config: its relatives start from it. */
tsr_status tsri_model_arch_bert_like(const tsri_model_config *config, tsri_model_spec *spec);
/* The same, with rotary positions in place of learned ones, whose base is theta where the config has
 * none. */
tsr_status tsri_model_arch_bert_rotary(const tsri_model_config *config, double theta,
                                       tsri_model_spec *spec);
tsr_status tsri_model_arch_roberta_like(const tsri_model_config *config, tsri_model_spec *spec);
/* The same, with positions that begin after `padding` whatever the config says; -1: after the
 * config's pad_token_id. */
tsr_status tsri_model_arch_roberta_positions(const tsri_model_config *config, int32_t padding,
                                             tsri_model_spec *spec);
extern const tsri_model_names tsri_model_names_roberta;

#endif

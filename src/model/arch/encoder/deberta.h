/* model/arch/encoder/deberta.h - what the two versions of DeBERTa share. */
#ifndef TSRI_MODEL_ARCH_ENCODER_DEBERTA_H
#define TSRI_MODEL_ARCH_ENCODER_DEBERTA_H

#include "model/arch/encoder/bert.h"

/* Whether the text under `key`, of words between bars, or the list of words there, has this word. */
bool tsri_model_arch_deberta_word(const tsri_model_config *config, const char *key,
                                  const char *word);

/* Reads BERT's layout with disentangled attention whose scores by distance are of both kinds, and
 * max_relative_positions: the table has a row for each distance. */
tsr_status tsri_model_arch_deberta_like(const tsri_model_config *config, tsri_model_spec *spec);

/* Their names, but those of queries, keys and values. */
/* clang-format off */
#define TSRI_MODEL_NAMES_DEBERTA \
    .prefix = "deberta.", \
    TSRI_MODEL_NAMES_BERT_EMBEDDING, \
    .types = "embeddings.token_type_embeddings", \
    .norm1 = "encoder.layer.%d.attention.output.LayerNorm", \
    .norm2 = "encoder.layer.%d.output.LayerNorm", \
    .out = "encoder.layer.%d.attention.output.dense", \
    .up = "encoder.layer.%d.intermediate.dense", .down = "encoder.layer.%d.output.dense", \
    .distances = "encoder.rel_embeddings", \
    .head = "/cls.predictions.decoder", \
    .head_bias = "/cls.predictions|/cls.predictions.decoder|/lm_predictions.lm_head", \
    .masked_dense = "/cls.predictions.transform.dense|/lm_predictions.lm_head.dense", \
    .masked_norm = "/cls.predictions.transform.LayerNorm|/lm_predictions.lm_head.LayerNorm", \
    .label_dense = "/pooler.dense", .label = "/classifier", .token_label = "/classifier", \
    .ignored = tsri_model_names_deberta_ignored, .unserved = tsri_model_names_deberta_unserved
/* clang-format on */

/* The numbers of the positions, and the table of positions that some files have without its being read; heads
 * that are not computed. */
extern const char *const tsri_model_names_deberta_ignored[],
    *const tsri_model_names_deberta_unserved[];

#endif

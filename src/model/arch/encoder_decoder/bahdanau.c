/* model/arch/encoder_decoder/bahdanau.c - The encoder-decoder of gated recurrent units with
 * additive attention (Bahdanau, Cho, Bengio 2015, arXiv:1409.0473): a bidirectional encoder, and a
 * decoder whose attended context enters each step. */
#include "base/error.h"
#include "model/arch/common/family.h"

enum { READS = 4096 }; /* tokens, if the config names no bound: the model itself has none */

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *encoder = &spec->encoder, *decoder = &spec->decoder;
    TRY(tsri_model_config_int(config, "tgt_vocab_size", true, 1, TSRI_MODEL_MAX_VOCAB,
                              &spec->vocab));
    TRY(tsri_model_config_int(config, "src_vocab_size", true, 1, TSRI_MODEL_MAX_VOCAB,
                              &spec->source_vocab));
    TRY(tsri_model_config_ids(config, spec));
    TRY(tsri_model_config_int(config, "embed_size", true, 1, TSRI_MODEL_MAX_WIDTH,
                              &spec->embed_width));
    TRY(tsri_model_config_int(config, "encoder_size", true, 1, TSRI_MODEL_MAX_WIDTH / 2,
                              &encoder->recurrent));
    TRY(tsri_model_config_int(config, "decoder_size", true, 1, TSRI_MODEL_MAX_WIDTH,
                              &decoder->recurrent));
    TRY(tsri_model_config_int(config, "attention_size", true, 1, TSRI_MODEL_MAX_WIDTH,
                              &decoder->head_size));
    spec->max_positions = READS;
    TRY(tsri_model_config_long(config, "max_position_embeddings", false, 1,
                               TSRI_MODEL_MAX_POSITIONS, &spec->max_positions));
    encoder->layers = decoder->layers = 1;
    encoder->heads = encoder->kv_heads = decoder->heads = decoder->kv_heads = 1;
    encoder->head_size = encoder->value_size = encoder->recurrent;
    decoder->value_size = 2 * encoder->recurrent;
    encoder->final_norm = decoder->final_norm = false;
    decoder->cross = true;
    spec->source_embed = true;
    spec->head_bias = true;
    spec->decoder_start = spec->bos;
    spec->width =
        2 * encoder->recurrent > decoder->recurrent ? 2 * encoder->recurrent : decoder->recurrent;
    return TSR_OK;
}

static const tsri_model_names encoder_names = {
    .prefix = "",
    .embed = "src_embed",
    .forward = "encoder.forward",
    .backward = "encoder.backward",
};

static const tsri_model_names names = {
    .prefix = "",
    .embed = "tgt_embed",
    .forward = "decoder",
    .init = "init",
    .score = "=attention.v",
    .cross_q = "attention.w",
    .cross_kv = "attention.u",
    .head = "output",
};

const tsri_model_arch tsri_model_arch_bahdanau = {
    .name = "bahdanau",
    .names = &names,
    .encoder_names = &encoder_names,
    .read = read,
};

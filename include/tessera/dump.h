/* tessera/dump.h - what a model computes inside, written to a file for comparison with another
 * implementation. */
#ifndef TESSERA_DUMP_H
#define TESSERA_DUMP_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A batch as the official implementation takes it: rows of equal length, with what is padding
 * masked out. Arrays but input_ids may be NULL. */
typedef struct tsr_dump_inputs {
    uint32_t struct_size;
    uint32_t attention; /**< 1: attention probabilities too */
    int64_t B, T;
    const int64_t *input_ids;      /**< [B,T] */
    const int64_t *attention_mask; /**< [B,T], 1 = a token, 0 = padding (left, right or anywhere);
                                      NULL: all 1 */
    const int64_t
        *position_ids;                /**< [B,T]; NULL: the place in the row, padding counted, as
                                       Hugging Face does (OPT, RoBERTa, MPNet, M2M-100: the tokens before) */
    const int64_t *token_type_ids;    /**< [B,T]; NULL: all 0 */
    int64_t decoder_T;                /**< of an encoder-decoder: */
    const int64_t *decoder_input_ids; /**< [B,decoder_T]; NULL: the start token alone */
    const int64_t *decoder_attention_mask, *decoder_position_ids;
} tsr_dump_inputs;

/**
 * Runs the batch and writes a safetensors file of f32 arrays. Padded places hold 0.
 *
 *     hidden.0 .. hidden.L   [B,T,C] after the embedding, after each layer; counted as transformers
 *                            does, so that the last is after the final norm where there is one
 *     attn.0 .. attn.L-1     [B,H,T,T] where attention is asked for
 *     logits                 [B,T,V] of a decoder or a masked LM head; [B,labels] or [B,T,labels]
 *                            of a classifier (`labels` where there are both)
 *     pooled, next           [B,C] after the pooler; [B,2] of the next-sentence head
 *
 * An encoder-decoder has enc.hidden, dec.hidden, enc.attn, dec.attn so, and cross.attn [B,H,T,S].
 *
 * error   TSR_E_ARGUMENT     an id past the vocabulary, a row past the context, a mask without any
 *                            token, inputs that the model doesn't read
 *         TSR_E_UNSUPPORTED  a mask with gaps, and a model that counts distances
 *         TSR_E_IO           the file cannot be written; nothing is left behind
 */
TSR_API tsr_status tsr_dump(tsr_model *model, const tsr_dump_inputs *inputs, const char *path);

/** The same from a JSON object with the arrays above by their names, each an array of rows.  error
 * TSR_E_FORMAT  another type, ragged rows */
TSR_API tsr_status tsr_dump_json(tsr_model *model, const char *json_path, uint32_t attention,
                                 const char *path);

#ifdef __cplusplus
}
#endif
#endif

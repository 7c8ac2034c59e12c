/* tessera/dump.h - what a model computes inside, written to a file for comparison with another
 * implementation. */
#ifndef TESSERA_DUMP_H
#define TESSERA_DUMP_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A batch in the form that the official implementation takes: rows of equal length, in which the
 * padding is masked. All arrays except input_ids may be NULL. */
typedef struct tsr_dump_inputs {
    uint32_t struct_size;
    uint32_t attention; /**< 1: attention probabilities too */
    int64_t B, T;
    const int64_t *input_ids; /**< [B,T] */
    /** [B,T], 1 = a token, 0 = padding (left, right or anywhere); NULL: all 1 */
    const int64_t *attention_mask;
    /** [B,T]; NULL: the place in the row, padding counted, as Hugging Face does (for OPT, RoBERTa,
     * MPNet and M2M-100: the number of tokens before it) */
    const int64_t *position_ids;
    const int64_t *token_type_ids;    /**< [B,T]; NULL: all 0 */
    int64_t decoder_T;                /**< from here on: for an encoder-decoder only */
    const int64_t *decoder_input_ids; /**< [B,decoder_T]; NULL: the start token alone */
    const int64_t *decoder_attention_mask, *decoder_position_ids; /**< [B,decoder_T] */
} tsr_dump_inputs;

/**
 * Runs the batch and writes a safetensors file of f32 arrays. Padded places hold 0.
 *
 *     hidden.0 .. hidden.L   [B,T,C] after the embedding and after each layer, counted as
 *                            transformers does: the last is after the final norm where there is one
 *     attn.0 .. attn.L-1     [B,H,T,T] where attention is asked for
 *     logits                 [B,T,V] of a decoder or a masked LM head; [B,labels] or [B,T,labels]
 *                            of a classifier (`labels` where there are both)
 *     pooled, next           [B,C] after the pooler; [B,2] of the next-sentence head
 *
 * For an encoder-decoder these are named enc.hidden, dec.hidden, enc.attn and dec.attn, and
 * cross.attn [B,H,T,S] is added.
 *
 * thread  one call at a time for a model
 * error   TSR_E_ARGUMENT     an id outside the vocabulary; a row longer than the context; a mask
 *                            without a token; inputs that the model does not read
 *         TSR_E_UNSUPPORTED  a mask with gaps, for a model whose attention depends on distances (biases by
 *                            distance, ALiBi by place, or a window that the row exceeds)
 *         TSR_E_STATE        the model was opened without a device
 *         TSR_E_IO           the file cannot be written; nothing is left behind
 */
TSR_API tsr_status tsr_dump(tsr_model *model, const tsr_dump_inputs *inputs, const char *path);

/**
 * As tsr_dump, with the inputs from a JSON object that has the arrays above by their names, each an
 * array of rows.
 *
 * thread  as for tsr_dump
 * error   TSR_E_FORMAT  the file is not such an object; rows of different lengths
 *         TSR_E_IO      the JSON file cannot be read
 *         and those of tsr_dump
 */
TSR_API tsr_status tsr_dump_json(tsr_model *model, const char *json_path, uint32_t attention,
                                 const char *path);

#ifdef __cplusplus
}
#endif
#endif

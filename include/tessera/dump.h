/* tessera/dump.h - what a model computes inside, written to a file for comparison with another
 * implementation. */
#ifndef TESSERA_DUMP_H
#define TESSERA_DUMP_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A batch as the official implementation takes it: rows of equal length, with what is padding
 * masked out. */
typedef struct tsr_dump_inputs {
    uint32_t struct_size;
    uint32_t attention; /**< 1: attention probabilities too */
    int64_t B, T;
    const int64_t *input_ids;      /**< [B,T] */
    const int64_t *attention_mask; /**< [B,T], 1 = a token, 0 = padding (left, right or anywhere);
                                      NULL: all 1 */
    const int64_t *position_ids;   /**< [B,T]; NULL: the place in the row, padding counted, as
                                    Hugging Face does (OPT: the tokens before) */
} tsr_dump_inputs;

/**
 * Runs the batch and writes a safetensors file of f32 arrays: `logits` [B,T,V]; `hidden.0` (after
 * the embedding) .. `hidden.L` (counted as transformers does: the last one after the final norm)
 * [B,T,C]; and, where attention is asked for, `attn.l` [B,H,T,T]. Padded places hold 0.
 *
 * error   TSR_E_ARGUMENT  an id past the vocabulary, a row past the context, a mask without any
 * token TSR_E_IO        the file cannot be written; nothing is left behind
 */
TSR_API tsr_status tsr_dump(tsr_model *model, const tsr_dump_inputs *inputs, const char *path);

/** The same from a JSON object with input_ids, and optionally attention_mask and position_ids
 * (arrays of rows). error  TSR_E_FORMAT  another type, ragged rows */
TSR_API tsr_status tsr_dump_json(tsr_model *model, const char *json_path, uint32_t attention,
                                 const char *path);

#ifdef __cplusplus
}
#endif
#endif

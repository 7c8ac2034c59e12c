/* tessera/tokenizer.h - text to token ids and back, by a model's tokenizer. */
#ifndef TESSERA_TOKENIZER_H
#define TESSERA_TOKENIZER_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A text: any bytes; what is no UTF-8 counts as U+FFFD. Not terminated. */
typedef struct tsr_string {
    const char *data;
    size_t size;
} tsr_string;

enum {
    TSR_ENCODE_ADD_SPECIAL = 1,  /**< the tokens that the model's template puts around a text
                                    (beginning of sequence, ...) */
    TSR_ENCODE_PARSE_SPECIAL = 2 /**< the name of a special token in the text is that token */
};

/** Ids of a text (any bytes; what is no UTF-8 counts as U+FFFD), in new memory.
 *  owner   the caller: tsr_ids_free
 *  thread  any number at a time
 *  error   TSR_E_STATE  the model has no tokenizer, or one that is not served (tsr_model_info says
 * why) */
TSR_API tsr_status tsr_encode(const tsr_model *model, const char *text, size_t size, uint32_t flags,
                              int32_t **ids, size_t *n);
TSR_API void tsr_ids_free(int32_t *ids);

/** Text of ids, valid UTF-8 with a 0 byte behind it, in new memory.  owner  the caller:
 * tsr_text_free error  TSR_E_ARGUMENT  an id outside the vocabulary */
TSR_API tsr_status tsr_decode(const tsr_model *model, const int32_t *ids, size_t n,
                              uint32_t skip_special, char **text, size_t *size);
TSR_API void tsr_text_free(char *text);

/** The piece of an id as its file spells it, borrowed; NULL for an id without one. Not terminated.
 */
TSR_API const char *tsr_piece(const tsr_model *model, int32_t id, size_t *size);

#ifdef __cplusplus
}
#endif
#endif

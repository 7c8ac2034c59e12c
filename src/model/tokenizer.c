/* model/tokenizer.c - tessera/tokenizer.h: a model's own tokenizer, which turns texts into ids in
 * new memory, and back. */
#include "tessera/tokenizer.h"
#include "model/model.h"

#include "base/error.h"
#include "base/structs.h"

#include <inttypes.h>
#include <stdlib.h>

static tsr_status tokenizer_of(const tsr_model *model, const tsri_text_tokenizer **out) {
    const tsri_model *inner = tsri_model_of(model);
    *out = inner->tokenizer;
    if (*out)
        return TSR_OK;
    if (inner->tokenizer_why)
        return tsri_base_fail(TSR_E_STATE, "%s: its tokenizer is not served: %s; give ids instead",
                              inner->path, inner->tokenizer_why);
    return tsri_base_fail(
        TSR_E_STATE,
        "%s has no tokenizer (tokenizer.json, tokenizer.model or tokenizer.bin); give ids instead",
        inner->path);
}

tsr_status tsr_encode(const tsr_model *model, const char *text, size_t size, uint32_t flags,
                      int32_t **ids, size_t *n) {
    TRY(NEED(model));
    TRY(NEED_ARRAY(text, size));
    TRY(NEED(ids));
    TRY(NEED(n));
    const tsri_text_tokenizer *tokenizer;
    tsri_text_ids list = {0};
    const unsigned inner = (flags & TSR_ENCODE_ADD_SPECIAL ? TSRI_TEXT_ADD_SPECIAL : 0u) |
                           (flags & TSR_ENCODE_PARSE_SPECIAL ? TSRI_TEXT_PARSE_SPECIAL : 0u);
    if (flags & ~(uint32_t)(TSR_ENCODE_ADD_SPECIAL | TSR_ENCODE_PARSE_SPECIAL))
        return tsri_base_fail(TSR_E_ARGUMENT, "tsr_encode: unknown flags 0x%" PRIx32, flags);
    TRY(tokenizer_of(model, &tokenizer));
    const tsr_status status = tsri_text_encode(tokenizer, size ? text : "", size, inner, &list);
    if (status != TSR_OK) {
        tsri_text_ids_clear(&list);
        return status;
    }
    *ids = list.data;
    *n = list.count;
    return TSR_OK;
}

void tsr_ids_free(int32_t *ids) {
    free(ids);
}

/* Gives bytes to the caller; none are a text too, and need memory. */
static tsr_status give(tsr_status status, tsri_bytes *bytes, char **out, size_t *size) {
    if (status == TSR_OK)
        status = tsri_base_bytes_append(bytes, "", 0);
    if (status != TSR_OK) {
        tsri_base_bytes_clear(bytes);
        return status;
    }
    *out = bytes->data;
    if (size)
        *size = bytes->size;
    return TSR_OK;
}

static tsr_status check_ids(const tsr_model *model, const int32_t *ids, size_t n) {
    const int32_t vocab = tsri_model_of(model)->spec.vocab;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= vocab)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "id %" PRId32 " is outside the vocabulary of %" PRId32, ids[i],
                                  vocab);
    return TSR_OK;
}

tsr_status tsr_decode(const tsr_model *model, const int32_t *ids, size_t n, uint32_t skip_special,
                      char **text, size_t *size) {
    TRY(NEED(model));
    TRY(NEED_ARRAY(ids, n));
    TRY(NEED(text));
    const tsri_text_tokenizer *tokenizer;
    tsri_bytes bytes = {0};
    TRY(tokenizer_of(model, &tokenizer));
    TRY(check_ids(model, ids, n));
    return give(
        tsri_text_decode(tokenizer, ids, n, skip_special ? TSRI_TEXT_SKIP_SPECIAL : 0, &bytes),
        &bytes, text, size);
}

tsr_status tsr_token_bytes(const tsr_model *model, int32_t id, char **bytes, size_t *size) {
    TRY(NEED(model));
    TRY(NEED(bytes));
    TRY(NEED(size));
    const tsri_text_tokenizer *tokenizer;
    tsri_bytes own = {0};
    TRY(tokenizer_of(model, &tokenizer));
    TRY(check_ids(model, &id, 1));
    return give(tsri_text_token_bytes(tokenizer, id, &own), &own, bytes, size);
}

void tsr_text_free(char *text) {
    free(text);
}

const char *tsr_piece(const tsr_model *model, int32_t id, size_t *size) {
    const tsri_text_tokenizer *tokenizer = tsri_model_of(model)->tokenizer;
    *size = 0;
    return tokenizer ? tsri_text_piece_of(tokenizer, id, size) : NULL;
}

/* text/load/ranks.c - a byte-level tokenizer from pieces with ranks. Pieces are kept in GPT-2's
 * alphabet, as those of every other byte-level tokenizer. */
#include "text/load/ranks.h"

#include "base/error.h"
#include "text/base/byte_level.h"
#include "text/base/pattern_json.h"

enum { BYTES_MOST = 1024 }; /* of a piece; the longest known is 128 spaces */

tsr_status tsri_text_ranks_special(tsri_text_tokenizer *t, int64_t id, const char *text, size_t n) {
    const tsri_text_added_token token = {.id = (int32_t)id, .special = true};
    TRY(tsri_text_vocabulary_put(&t->vocabulary, id, text, n, true));
    TRY(tsri_text_added_put(&t->added, &token, text, n, NULL));
    return tsri_text_mark_special(t, token.id);
}

tsr_status tsri_text_ranks_piece(tsri_text_tokenizer *t, int64_t id, const char *base64, size_t n,
                                 tsri_bytes spare[2]) {
    tsri_bytes *bytes = &spare[0], *piece = &spare[1];
    bytes->size = piece->size = 0;
    TRY(tsri_text_base64(base64, n, bytes));
    if (bytes->size == 0) /* Whisper has such a piece */
        return tsri_text_vocabulary_skip(&t->vocabulary, id);
    if (bytes->size > BYTES_MOST)
        return tsri_base_fail(TSR_E_FORMAT,
                              "the piece of id %lld has %zu bytes; at most %d are read",
                              (long long)id, bytes->size, BYTES_MOST);
    TRY(tsri_text_bytes_to_characters(bytes->data, bytes->size, piece));
    const int32_t known = tsri_text_vocabulary_find(&t->vocabulary, piece->data, piece->size);
    if (known >= 0 && !tsri_text_is_special(t, known))
        return tsri_base_fail(TSR_E_FORMAT, "the pieces of id %d and id %lld are the same", known,
                              (long long)id);
    return tsri_text_vocabulary_put(&t->vocabulary, id, piece->data, piece->size, true);
}

static tsr_status check_bytes(const tsri_text_tokenizer *t) {
    tsri_bytes piece = {0};
    tsr_status status = TSR_OK;
    for (int byte = 0; byte < 256 && status == TSR_OK; byte++) {
        piece.size = 0;
        status = tsri_text_bytes_to_characters(&(char){(char)byte}, 1, &piece);
        const int32_t id = tsri_text_vocabulary_find(&t->vocabulary, piece.data, piece.size);
        if (status == TSR_OK && (id < 0 || tsri_text_is_special(t, id)))
            status =
                tsri_base_fail(TSR_E_FORMAT, "the byte 0x%02X has no piece; all 256 bytes need one",
                               (unsigned)byte);
    }
    tsri_base_bytes_clear(&piece);
    return status;
}

tsr_status tsri_text_ranks_finish(tsri_text_tokenizer *t, int32_t first, int32_t end,
                                  const char *const *patterns, size_t pattern_count) {
    const tsri_text_bpe_options options = {.unknown = -1, .ignore_merges = true};
    TRY(check_bytes(t));
    t->row = &tsri_text_bpe;
    TRY(tsri_text_bpe_new(&options, &t->vocabulary, &t->model));
    TRY(tsri_text_bpe_add_ranked(t->model, &t->vocabulary, first, end));
    TRY(tsri_text_pre_tokenizer_patterns(patterns, pattern_count, &t->pre_tokenizer));
    return tsri_text_decoder_bytes(&t->decoder);
}

/* task/show/attention_tokens.c - makes the text that the page shows for each token. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "task/show/attention.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The text to show for a token that adds none: "..." for part of a character; else its piece, as in
 * the tokenizer's file; or its number, where the piece is not UTF-8. */
static tsr_status silent_text(const tsri_text_tokenizer *tokenizer, int32_t id, bool special,
                              char **out) {
    char number[32];
    size_t n = 0;
    tsri_bytes alone = {0};
    const char *piece = tsri_text_piece_of(tokenizer, id, &n);
    json_t *valid = piece && n ? json_stringn(piece, n) : NULL;
    snprintf(number, sizeof number, "#%" PRId32, id);
    const tsr_status status =
        special ? TSR_OK : tsri_text_decode(tokenizer, &id, 1, TSRI_TEXT_UNCLEANED, &alone);
    if (alone.data && strstr(alone.data, "\xef\xbf\xbd")) /* U+FFFD */
        *out = tsri_base_copy_text("\xe2\x80\xa6", 3);
    else
        *out = valid ? tsri_base_copy_text(piece, n) : tsri_base_copy_text(number, strlen(number));
    tsri_base_bytes_clear(&alone);
    json_decref(valid);
    return status == TSR_OK && !*out ? TSR_E_HOST_MEMORY : status;
}

/* Sets the text that each token adds. The text of a character in several tokens belongs to its
 * last.
 */
static tsr_status name_each(const tsri_text_tokenizer *tokenizer, tsri_text_stream *stream,
                            const tsri_text_ids *ids, tsri_task_tokens *side) {
    for (int64_t i = 0; i < side->n; i++) {
        tsr_attention_token *token = &side->tokens[i];
        tsri_bytes text = {0};
        token->id = ids->data[i];
        token->special = tsri_text_is_special(tokenizer, token->id);
        tsr_status status = tsri_text_stream_push(stream, token->id, &text);
        if (status == TSR_OK && i == side->n - 1)
            status = tsri_text_stream_finish(stream, &text);
        if (status == TSR_OK && text.size && !token->special)
            token->text = text.data;
        else
            tsri_base_bytes_clear(&text);
        if (status == TSR_OK && !token->text)
            status = silent_text(tokenizer, token->id, token->special, (char **)&token->text);
        TRY(status);
    }
    return TSR_OK;
}

tsr_status tsri_task_tokens_name(const tsri_text_tokenizer *tokenizer, const tsri_text_ids *ids,
                                 tsri_task_tokens *side) {
    tsri_text_stream *stream;
    TRY(tsri_base_new(ids->count, sizeof *side->tokens, &side->tokens));
    side->n = (int64_t)ids->count;
    TRY(tsri_text_stream_new(tokenizer, TSRI_TEXT_UNCLEANED, &stream));
    const tsr_status status = name_each(tokenizer, stream, ids, side);
    tsri_text_stream_destroy(&stream);
    return status;
}

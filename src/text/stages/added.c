/* text/stages/added.c - finds added tokens in a text before anything else cuts the text. */
#include "text/stages/added.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"

#include <stdlib.h>
#include <string.h>

/* Keeps a token's normalized form if it is not the content; takes the text. */
static tsr_status keep_form(tsri_text_added *added, int32_t id, const char *content, size_t n,
                            tsri_bytes *text) {
    if (text->size == n && (!n || !memcmp(text->data, content, n)))
        return TSR_OK;
    TRY(tsri_base_grow(&added->forms, &added->form_capacity, added->form_count + 1,
                       sizeof *added->forms));
    added->forms[added->form_count++] = (tsri_text_added_form){id, *text};
    *text = (tsri_bytes){0};
    return TSR_OK;
}

const tsri_bytes *tsri_text_added_form_of(const tsri_text_added *added, int32_t id) {
    for (size_t i = 0; i < added->form_count; i++)
        if (added->forms[i].id == id)
            return &added->forms[i].text;
    return NULL;
}

tsr_status tsri_text_added_put(tsri_text_added *added, const tsri_text_added_token *token,
                               const char *content, size_t n,
                               const tsri_text_normalizer *normalizer) {
    TRY(tsri_base_grow(&added->tokens, &added->capacity, added->count + 1, sizeof *added->tokens));
    const int32_t index = (int32_t)added->count;
    added->tokens[added->count++] = *token;
    if (!token->normalized)
        return tsri_text_matcher_add(&added->raw, content, n, index);
    tsri_bytes text = {0};
    bool moved;
    tsri_text_allowance allowance = tsri_text_allowance_of(n);
    tsr_status status =
        tsri_text_normalizer_apply(normalizer, content, n, false, &allowance, &text, &moved);
    if (status == TSR_OK && text.size) /* a normalized text can't contain a token that
                                          normalization empties */
        status = tsri_text_matcher_add(&added->normalized, text.data, text.size, index);
    if (status == TSR_OK)
        status = keep_form(added, token->id, content, n, &text);
    tsri_base_bytes_clear(&text);
    return status;
}

tsri_text_added_token *tsri_text_added_find(tsri_text_added *added, const char *content, size_t n) {
    int32_t index = -1;
    return tsri_text_matcher_longest(&added->raw, content, n, &index) == n ? &added->tokens[index]
                                                                           : NULL;
}

static bool word_before(const char *text, size_t at) {
    int32_t c;
    const size_t start = tsri_text_utf8_before(text, at);
    tsri_text_utf8_next(text + start, at - start, &c);
    return tsri_text_is_word(c);
}

static bool word_after(const char *text, size_t n, size_t at) {
    int32_t c;
    tsri_text_utf8_next(text + at, n - at, &c);
    return tsri_text_is_word(c);
}

static size_t spaces_before(const char *text, size_t from, size_t at) {
    while (at > from) {
        int32_t c;
        const size_t start = tsri_text_utf8_before(text, at);
        tsri_text_utf8_next(text + start, at - start, &c);
        if (!tsri_text_is_space(c))
            break;
        at = start;
    }
    return at;
}

static size_t spaces_after(const char *text, size_t n, size_t at) {
    while (at < n) {
        int32_t c;
        const size_t size = tsri_text_utf8_next(text + at, n - at, &c);
        if (!tsri_text_is_space(c))
            break;
        at += size;
    }
    return at;
}

tsr_status tsri_text_added_split(const tsri_text_added *added, bool normalized, bool special,
                                 const char *text, size_t n, bool first, tsri_text_splits *out) {
    const tsri_text_matcher *matcher = normalized ? &added->normalized : &added->raw;
    size_t done = 0, at = 0;
    while (matcher->nodes && at < n) {
        int32_t index = -1;
        const size_t size = tsri_text_matcher_longest(matcher, text + at, n - at, &index);
        if (size == 0) {
            at++;
            continue;
        }
        const tsri_text_added_token *token = &added->tokens[index];
        size_t start = at, end = at + size;
        at = end; /* a found token is not searched again, whether it was taken or not */
        if (token->special && !special)
            continue;
        if (token->single_word &&
            ((start > 0 && word_before(text, start)) || (end < n && word_after(text, n, end))))
            continue;
        if (token->lstrip)
            start = spaces_before(text, done < start ? done : start, start);
        if (token->rstrip)
            end = spaces_after(text, n, end);
        if (start > done)
            TRY(tsri_text_splits_add(out, text + done, start - done, -1, first && done == 0));
        TRY(tsri_text_splits_add(out, text + start, end - start, token->id, first && start == 0));
        done = end > done ? end : done;
    }
    return tsri_text_splits_add(out, text + done, n - done, -1, first && done == 0);
}

void tsri_text_added_clear(tsri_text_added *added) {
    for (size_t i = 0; i < added->form_count; i++)
        tsri_base_bytes_clear(&added->forms[i].text);
    free(added->forms);
    free(added->tokens);
    tsri_text_matcher_clear(&added->raw);
    tsri_text_matcher_clear(&added->normalized);
    *added = (tsri_text_added){0};
}

/* text/tokenizer/marked.c - encodes a text of which some bytes are somebody's words, so that no
 * special token is made of these. */
#include "text/tokenizer/tokenizer.h"

#include "base/error.h"

#include <string.h>

/* A text and its marks. */
typedef struct marked {
    const tsri_text_tokenizer *tokenizer;
    const char *text, *said;
    size_t n;
} marked;

/* Where the run of equal marks that begins at `at` ends. */
static size_t run_end(const marked *m, size_t at) {
    size_t end = at + 1;
    while (end < m->n && !m->said[end] == !m->said[at])
        end++;
    return end;
}

/* Appends the special tokens of `ids`. The unknown token may come from any text. */
static tsr_status keep_specials(const marked *m, const tsri_text_ids *ids, size_t from,
                                tsri_text_ids *out) {
    const int32_t unknown = tsri_text_role_id(m->tokenizer, TSRI_TEXT_UNK);
    for (size_t i = from; i < ids->count; i++)
        if (ids->data[i] != unknown && tsri_text_is_special(m->tokenizer, ids->data[i]))
            TRY(tsri_text_ids_append(out, &ids->data[i], 1));
    return TSR_OK;
}

static tsr_status specials_of(const marked *m, size_t from, size_t to, tsri_text_ids *out) {
    tsri_text_ids ids = {0};
    tsr_status status =
        tsri_text_encode(m->tokenizer, m->text + from, to - from, TSRI_TEXT_PARSE_SPECIAL, &ids);
    if (status == TSR_OK)
        status = keep_specials(m, &ids, 0, out);
    tsri_text_ids_clear(&ids);
    return status;
}

/* Those that the text may have: what its other bytes give, run by run. */
static tsr_status allowed_specials(const marked *m, tsri_text_ids *out) {
    for (size_t at = 0, end; at < m->n; at = end) {
        end = run_end(m, at);
        if (!m->said[at])
            TRY(specials_of(m, at, end, out));
    }
    return TSR_OK;
}

typedef enum cut { CUT_NOTHING, CUT_SPECIAL, CUT_ALL } cut;

static tsr_status is_cut(const marked *m, size_t from, size_t to, cut which, bool *out) {
    tsri_text_ids found = {0};
    *out = which == CUT_ALL;
    if (which != CUT_SPECIAL)
        return TSR_OK;
    const tsr_status status = specials_of(m, from, to, &found);
    *out = found.count != 0;
    tsri_text_ids_clear(&found);
    return status;
}

/* Encodes the text in one, but for the words that are cut out. */
static tsr_status encode_cut(const marked *m, cut which, tsri_text_ids *ids) {
    size_t done = 0;
    for (size_t at = 0, end; at < m->n; at = end) {
        bool out = false;
        end = run_end(m, at);
        if (m->said[at])
            TRY(is_cut(m, at, end, which, &out));
        if (!out)
            continue;
        TRY(tsri_text_encode(m->tokenizer, m->text + done, at - done, TSRI_TEXT_PARSE_SPECIAL,
                             ids));
        TRY(tsri_text_encode(m->tokenizer, m->text + at, end - at, 0, ids));
        done = end;
    }
    return tsri_text_encode(m->tokenizer, m->text + done, m->n - done, TSRI_TEXT_PARSE_SPECIAL,
                            ids);
}

/* Words that hold no special token can still be part of one together with the bytes around them;
 * so the result is compared with what is allowed. */
static tsr_status encode(const marked *m, const tsri_text_ids *allowed, tsri_text_ids *ids) {
    const size_t before = ids->count;
    for (cut which = CUT_NOTHING; which <= CUT_ALL; which++) {
        tsri_text_ids found = {0};
        ids->count = before;
        TRY(encode_cut(m, which, ids));
        const tsr_status status = keep_specials(m, ids, before, &found);
        const bool same =
            found.count == allowed->count &&
            (!found.count || !memcmp(found.data, allowed->data, found.count * sizeof *found.data));
        tsri_text_ids_clear(&found);
        if (status != TSR_OK || same)
            return status;
    }
    return TSR_OK;
}

tsr_status tsri_text_encode_marked(const tsri_text_tokenizer *tokenizer, const char *text,
                                   const char *said, size_t n, tsri_text_ids *ids) {
    const marked m = {.tokenizer = tokenizer, .text = text, .said = said, .n = n};
    const size_t before = ids->count;
    tsri_text_ids allowed = {0};
    tsr_status status = allowed_specials(&m, &allowed);
    if (status == TSR_OK)
        status = encode(&m, &allowed, ids);
    if (status != TSR_OK)
        ids->count = before;
    tsri_text_ids_clear(&allowed);
    return status;
}

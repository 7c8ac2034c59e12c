/* text/stages/clean_up.c - the rules of transformers' clean_up_tokenization, for a whole piece and
 * for a text that comes in parts. */
#include "text/stages/clean_up.h"

#include "base/error.h"

#include <string.h>

/* No rule makes a text longer. */
static const struct {
    const char *from, *to;
    bool do_not;
} rules[TSRI_TEXT_CLEAN_UP_RULES] = {
    {" .", ".", false},     {" ?", "?", false},          {" !", "!", false},
    {" ,", ",", false},     {" ' ", "'", false},         {" n't", "n't", false},
    {" 'm", "'m", false},   {" do not", " don't", true}, {" 's", "'s", false},
    {" 've", "'ve", false}, {" 're", "'re", false},
};

/* Replaces in place what rule k replaces in text[0..*n); returns where the last replacement ends in
 * what became of it. */
static size_t replace(size_t k, char *text, size_t *n) {
    const size_t from = strlen(rules[k].from), to = strlen(rules[k].to);
    size_t kept = 0, done = 0;
    for (size_t i = 0; i < *n;) {
        if (*n - i < from || memcmp(text + i, rules[k].from, from) != 0) {
            text[kept++] = text[i++];
            continue;
        }
        memcpy(text + kept, rules[k].to, to);
        kept += to;
        i += from;
        done = kept;
    }
    *n = kept;
    return done;
}

void tsri_text_clean_up(char *text, size_t *n, bool do_not) {
    for (size_t k = 0; k < TSRI_TEXT_CLEAN_UP_RULES; k++)
        if (do_not || !rules[k].do_not)
            replace(k, text, n);
}

/* How many bytes at the end of text[0..n) may begin what rule k replaces. */
static size_t open_end(size_t k, const char *text, size_t n) {
    size_t size = strlen(rules[k].from) - 1;
    for (size = size < n ? size : n; size; size--)
        if (memcmp(text + n - size, rules[k].from, size) == 0)
            break;
    return size;
}

/* Puts text through rule k and those after it. */
static tsr_status pass(tsri_text_cleaning *c, size_t k, const char *text, size_t n, bool last,
                       tsri_bytes *out) {
    while (k < TSRI_TEXT_CLEAN_UP_RULES && rules[k].do_not)
        k++;
    if (k == TSRI_TEXT_CLEAN_UP_RULES)
        return tsri_base_bytes_append(out, text, n);
    tsri_bytes *held = &c->held[k];
    TRY(tsri_base_bytes_append(held, text, n));
    const size_t done = replace(k, held->data, &held->size);
    const size_t open = last ? 0 : open_end(k, held->data + done, held->size - done);
    const size_t ready = held->size - open;
    TRY(pass(c, k + 1, held->data, ready, last, out));
    held->size = open;
    memmove(held->data, held->data + ready, open);
    return TSR_OK;
}

tsr_status tsri_text_cleaning_push(tsri_text_cleaning *c, const char *text, size_t n,
                                   tsri_bytes *out) {
    return pass(c, 0, text, n, false, out);
}

tsr_status tsri_text_cleaning_finish(tsri_text_cleaning *c, tsri_bytes *out) {
    return pass(c, 0, "", 0, true, out);
}

void tsri_text_cleaning_drop(tsri_text_cleaning *c) {
    for (size_t k = 0; k < TSRI_TEXT_CLEAN_UP_RULES; k++)
        c->held[k].size = 0;
}

void tsri_text_cleaning_clear(tsri_text_cleaning *c) {
    for (size_t k = 0; k < TSRI_TEXT_CLEAN_UP_RULES; k++)
        tsri_base_bytes_clear(&c->held[k]);
}

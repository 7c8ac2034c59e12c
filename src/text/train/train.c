/* text/train/train.c - counts the words or characters of texts and makes a tokenizer.json from
 * them. */
#include "text/train/train.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "text/base/byte_level.h"
#include "text/base/patterns.h"
#include "text/base/unicode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_VOCABULARY = 32000, MOST_WORDS = 1 << 23, N_CHARACTERS = 0x110000 };

struct tsri_text_trainer {
    const tsr_tokenizer_training *options;
    int64_t vocab_size;
    tsri_text_scanner scanner;   /* BPE */
    tsri_text_word_counts words; /* BPE */
    bool *seen;                  /* [N_CHARACTERS] CHAR */
    tsri_text_vocabulary pieces; /* specials, then bytes and merges, or characters */
    int32_t byte_ids[256];
    uint64_t bytes, begun;
};

static tsr_status check_names(const tsr_tokenizer_training *o, const tsri_text_vocabulary *pieces) {
    const struct {
        const char *what, *name;
    } rows[] = {{"unknown", o->unknown}, {"begin", o->begin}, {"end", o->end}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].name &&
            tsri_text_vocabulary_find(pieces, rows[i].name, strlen(rows[i].name)) < 0)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "the %s token \"%s\" is not one of the special tokens",
                                  rows[i].what, rows[i].name);
    if (o->unknown && o->type != TSR_TOKENIZER_CHAR)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "an unknown token \"%s\" was given; a byte-level tokenizer encodes "
                              "every text and needs none",
                              o->unknown);
    return TSR_OK;
}

static tsr_status add_specials(const tsr_tokenizer_training *o, tsri_text_vocabulary *pieces) {
    for (size_t i = 0; i < o->n_specials; i++) {
        const char *name = o->specials[i];
        const size_t n = strlen(name);
        if (!n || n > TSRI_TEXT_PIECE_LIMIT || !tsri_text_utf8_valid(name, n))
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "special token %zu has %zu bytes; 1 to %d bytes of UTF-8 are "
                                  "wanted",
                                  i + 1, n, TSRI_TEXT_PIECE_LIMIT);
        if (tsri_text_vocabulary_find(pieces, name, n) >= 0)
            return tsri_base_fail(TSR_E_ARGUMENT, "the special token \"%s\" was given twice", name);
        TRY(tsri_text_vocabulary_put(pieces, (int64_t)pieces->count, name, n, false));
    }
    return check_names(o, pieces);
}

/* Adds the alphabet in the order of its characters, as the library sorts it. */
static tsr_status add_bytes(tsri_text_trainer *t) {
    int byte_of[0x200];
    tsri_bytes text = {0};
    tsr_status status = TSR_OK;
    memset(byte_of, -1, sizeof byte_of);
    for (int byte = 0; byte < 256 && status == TSR_OK; byte++) {
        int32_t c;
        text.size = 0;
        status = tsri_text_bytes_to_characters(&(char){(char)byte}, 1, &text);
        if (status == TSR_OK && tsri_text_utf8_next(text.data, text.size, &c))
            byte_of[c] = byte;
    }
    tsri_base_bytes_clear(&text);
    for (int32_t c = 0; c < 0x200 && status == TSR_OK; c++) {
        char piece[4];
        const size_t n = tsri_text_utf8_put(c, piece);
        if (byte_of[c] < 0)
            continue;
        int32_t *id = &t->byte_ids[byte_of[c]];
        *id = tsri_text_vocabulary_find(&t->pieces, piece, n);
        if (*id >= 0) /* a special token */
            continue;
        *id = (int32_t)t->pieces.count;
        status = tsri_text_vocabulary_put(&t->pieces, *id, piece, n, false);
    }
    return status;
}

static tsr_status begin_bpe(tsri_text_trainer *t) {
    const char *name;
    t->scanner = tsri_text_scanner_of(tsri_text_pattern_gpt2, strlen(tsri_text_pattern_gpt2),
                                      TSRI_TEXT_PCRE2, &name);
    t->words.most = MOST_WORDS;
    TRY(add_bytes(t));
    if (t->vocab_size < (int64_t)t->pieces.count)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a vocabulary of %" PRId64
                              " tokens; 256 bytes and %zu special tokens need at least %zu",
                              t->vocab_size, t->options->n_specials, t->pieces.count);
    return TSR_OK;
}

tsr_status tsri_text_trainer_new(const tsr_tokenizer_training *options, tsri_text_trainer **out) {
    tsri_text_trainer *t = NULL;
    *out = NULL;
    if (options->type > TSR_TOKENIZER_CHAR)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a tokenizer of type %" PRIu32 "; the types are 0 and 1",
                              options->type);
    if (options->vocab_size < 0 || options->vocab_size > TSRI_TEXT_IDS_LIMIT ||
        options->min_frequency < 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a vocabulary of %" PRId64 " tokens, pairs seen %" PRId64
                              " times; 0 to %d tokens and 0 or more times are allowed",
                              options->vocab_size, options->min_frequency, TSRI_TEXT_IDS_LIMIT);
    if (options->min_frequency && options->type == TSR_TOKENIZER_CHAR)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a minimum frequency of %" PRId64
                              " was given; a tokenizer of characters merges no pairs: leave it out",
                              options->min_frequency);
    TRY(tsri_base_new(1, sizeof *t, &t));
    const bool bpe = options->type == TSR_TOKENIZER_BPE;
    t->options = options;
    t->begun = tsri_base_now_ns();
    t->vocab_size = options->vocab_size ? options->vocab_size
                    : bpe               ? DEFAULT_VOCABULARY
                                        : TSRI_TEXT_IDS_LIMIT;
    tsr_status status = add_specials(options, &t->pieces);
    if (status == TSR_OK)
        status = bpe ? begin_bpe(t) : tsri_base_new(N_CHARACTERS, sizeof *t->seen, &t->seen);
    if (status != TSR_OK)
        tsri_text_trainer_destroy(&t);
    *out = t;
    return status;
}

static tsr_status see_characters(tsri_text_trainer *t, const char *text, size_t n) {
    for (size_t at = 0; at < n;) {
        int32_t c;
        at += tsri_text_utf8_next(text + at, n - at, &c);
        if (c == 0) /* jansson allows no NUL in a key, so such a file could not be read back */
            return tsri_base_fail(
                TSR_E_FORMAT, "the text has a NUL character, which can't be a token; remove it");
        t->seen[c] = true;
    }
    return TSR_OK;
}

tsr_status tsri_text_trainer_feed(tsri_text_trainer *t, const char *text, size_t n) {
    t->bytes += n;
    if (t->seen)
        return see_characters(t, text, n);
    for (size_t line = 0; line < n;) {
        const char *end = memchr(text + line, '\n', n - line);
        const size_t size = end ? (size_t)(end - (text + line)) + 1 : n - line;
        for (size_t at = 0, next; at < size; at = next) {
            next = t->scanner(text + line, size, at);
            TRY(tsri_text_word_counts_add(&t->words, text + line + at, next - at));
        }
        line += size;
    }
    return TSR_OK;
}

static tsr_status add_characters(tsri_text_trainer *t) {
    for (int32_t c = 0; c < N_CHARACTERS; c++) {
        char text[4];
        const size_t n = t->seen[c] ? tsri_text_utf8_put(c, text) : 0;
        if (!n || tsri_text_vocabulary_find(&t->pieces, text, n) >= 0)
            continue;
        TRY(tsri_text_vocabulary_put(&t->pieces, (int64_t)t->pieces.count, text, n, false));
    }
    if ((int64_t)t->pieces.count > t->vocab_size)
        return tsri_base_fail(TSR_E_FORMAT,
                              "the text has %zu different characters, %zu tokens with the special "
                              "ones; a vocabulary of %" PRId64 " is too small",
                              t->pieces.count - t->options->n_specials, t->pieces.count,
                              t->vocab_size);
    return TSR_OK;
}

tsr_status tsri_text_trainer_finish(tsri_text_trainer *t, tsri_bytes *json,
                                    tsr_tokenizer_trained *out) {
    const tsr_tokenizer_training *o = t->options;
    tsri_text_merges merges = {0};
    if (!t->bytes)
        return tsri_base_fail(TSR_E_FORMAT, "there is no text to train a tokenizer on");
    tsr_status status = t->seen ? add_characters(t)
                                : tsri_text_learn_merges(&t->words, t->byte_ids, t->vocab_size,
                                                         (uint64_t)o->min_frequency, o->progress,
                                                         o->progress_data, &t->pieces, &merges);
    if (status == TSR_OK)
        status = tsri_text_write_trained(o, &t->pieces, &merges, json);
    *out =
        (tsr_tokenizer_trained){.struct_size = sizeof *out,
                                .vocab_size = (int64_t)t->pieces.count,
                                .merges = (int64_t)merges.count,
                                .bytes = t->bytes,
                                .words = t->seen ? t->pieces.count - o->n_specials : t->words.count,
                                .pruned = t->words.pruned,
                                .nanoseconds = tsri_base_now_ns() - t->begun};
    free(merges.pairs);
    return status;
}

void tsri_text_trainer_destroy(tsri_text_trainer **trainer) {
    tsri_text_trainer *t = *trainer;
    if (!t)
        return;
    tsri_text_word_counts_clear(&t->words);
    tsri_text_vocabulary_clear(&t->pieces);
    free(t->seen);
    free(t);
    *trainer = NULL;
}

/* text/load/tiktoken.c - files of tiktoken: a piece in base64 and its id on each line. */
#include "base/error.h"
#include "text/load/encodings.h"
#include "text/load/load.h"
#include "text/load/ranks.h"

#include <stdio.h>
#include <string.h>

/* Reads a line at *at, which it moves behind it. false: the line has another form. */
static bool read_line(const char **at, const char *end, const char **base64, size_t *size,
                      int64_t *id) {
    const char *p = *at, *begin = p;
    while (p < end && *p != ' ' && *p != '\n')
        p++;
    *base64 = begin;
    *size = (size_t)(p - begin);
    if (p == begin || p == end || *p++ != ' ' || p == end || *p < '0' || *p > '9')
        return false;
    *id = 0;
    while (p < end && *p >= '0' && *p <= '9' && *id < TSRI_TEXT_IDS_LIMIT)
        *id = 10 * *id + (*p++ - '0');
    if (p < end && *p == '\r')
        p++;
    if (p < end && *p != '\n')
        return false;
    *at = p < end ? p + 1 : p;
    return true;
}

bool tsri_text_is_tiktoken(const char *text, size_t n) {
    const char *base64, *at = text;
    size_t size;
    int64_t id;
    if (n == 0 || !read_line(&at, text + n, &base64, &size, &id))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", base64[i]))
            return false;
    return true;
}

static size_t count_lines(const char *text, size_t n) {
    size_t lines = 0;
    for (const char *at = text, *end = text + n; at < end; lines++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    return lines;
}

/* One more than the largest id. */
static tsr_status read_pieces(const char *text, size_t n, tsri_text_tokenizer *t, int32_t *end_id) {
    tsri_bytes spare[2] = {{0}, {0}};
    tsr_status status = TSR_OK;
    size_t line = 1;
    for (const char *at = text, *end = text + n; at < end && status == TSR_OK; line++) {
        const char *base64;
        size_t size;
        int64_t id;
        if (!read_line(&at, end, &base64, &size, &id))
            status = tsri_base_fail(
                TSR_E_FORMAT, "line %zu is not a piece in base64, a space and a number", line);
        else if ((status = tsri_text_ranks_piece(t, id, base64, size, spare)) == TSR_E_FORMAT)
            tsri_base_fail_within(status, "line %zu", line);
        if (status == TSR_OK && id >= *end_id)
            *end_id = (int32_t)id + 1;
    }
    for (int i = 0; i < 2; i++)
        tsri_base_bytes_clear(&spare[i]);
    return status;
}

static tsr_status put_special(tsri_text_tokenizer *t, int64_t id, const char *text) {
    size_t n;
    return tsri_text_vocabulary_piece(&t->vocabulary, id, &n)
               ? TSR_OK /* the config gave it another name */
               : tsri_text_ranks_special(t, id, text, strlen(text));
}

static tsr_status put_specials(const tsri_text_encoding *encoding, int32_t id,
                               tsri_text_tokenizer *t) {
    for (size_t i = 0; i < encoding->run_count; i++) {
        const tsri_text_special_run run = encoding->specials[i];
        for (int32_t k = 0; k < run.count; k++, id++) {
            char name[96];
            if (!run.before)
                continue;
            if (run.behind)
                snprintf(name, sizeof name, "%s%d%s", run.before, run.number + k, run.behind);
            TRY(put_special(t, id, run.behind ? name : run.before));
        }
    }
    return TSR_OK;
}

static tsr_status find_encoding(const tsri_text_tiktoken *options, size_t pieces,
                                const tsri_text_encoding **out) {
    tsri_bytes names = {0};
    *out = tsri_text_encoding_of(options->model_type, options->file, pieces);
    if (*out)
        return TSR_OK;
    tsr_status status = tsri_text_encoding_names(&names);
    if (status == TSR_OK)
        status = tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%zu pieces of tiktoken, but how a text is cut is not known: neither the model_type of "
            "a "
            "config.json, nor the file's name, nor the number of pieces is that of a known "
            "encoding (%s); name the file after one, or put a tokenizer.json beside it",
            pieces, names.data);
    tsri_base_bytes_clear(&names);
    return status;
}

static int32_t id_of(const tsri_text_tokenizer *t, const char *name) {
    return name ? tsri_text_vocabulary_find(&t->vocabulary, name, strlen(name)) : -1;
}

/* The pieces come last, but the special tokens' ids may depend on their number, which is that of the
 * lines: ids without a gap are what such an encoding has. */
static tsr_status load(const char *text, size_t n, const tsri_text_tiktoken *options,
                       tsri_text_tokenizer *t) {
    const size_t pieces = count_lines(text, n);
    const tsri_text_encoding *encoding;
    int32_t end = 0;
    size_t patterns = 0;
    if (pieces > TSRI_TEXT_IDS_LIMIT / 2)
        return tsri_base_fail(TSR_E_FORMAT, "%zu lines; at most %d are read", pieces,
                              TSRI_TEXT_IDS_LIMIT / 2);
    TRY(find_encoding(options, pieces, &encoding));
    for (size_t i = 0; i < options->special_count; i++)
        TRY(tsri_text_ranks_special(t, options->specials[i].id, options->specials[i].text,
                                    strlen(options->specials[i].text)));
    TRY(put_specials(encoding, encoding->first < 0 ? (int32_t)pieces : encoding->first, t));
    t->roles[TSRI_TEXT_BOS] = id_of(t, encoding->bos);
    t->roles[TSRI_TEXT_EOS] = id_of(t, encoding->eos);
    t->roles[TSRI_TEXT_PAD] = id_of(t, encoding->pad);
    TRY(read_pieces(text, n, t, &end));
    while (patterns < 2 && encoding->patterns[patterns])
        patterns++;
    TRY(tsri_text_ranks_finish(t, 0, end, encoding->patterns, patterns));
    return tsri_text_set_affixes(t, encoding->add_bos, false);
}

tsr_status tsri_text_from_tiktoken(const char *text, size_t n, const tsri_text_tiktoken *options,
                                   tsri_text_tokenizer **out) {
    *out = NULL;
    TRY(tsri_text_tokenizer_new("tiktoken", out));
    const tsr_status status = load(text, n, options, *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    return status;
}

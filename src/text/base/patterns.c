/* text/base/patterns.c - finds the matches of a pattern: with a scanner where the pattern is a
 * known one, otherwise with PCRE2 and a limit of steps. */
#include "text/base/patterns.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/oniguruma.h"
#include "text/base/unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum {
    MATCH_LIMIT = 10 * 1000 * 1000, /* ways tried from one start, however many steps are left */
    HEAP_LIMIT = 256 * 1024,        /* KiB of backtracking points */
    PATTERN_LIMIT = 64 * 1024       /* bytes of one pattern */
};

struct tsri_text_pattern {
    const char *kind;
    tsri_text_scanner scanner; /* or */
    char *literal;             /* or */
    size_t literal_size;
    pcre2_code *code;
    pcre2_match_context *limits;
};

/* `shown`: the pattern as its file has it; NULL: this one. */
static tsr_status compile(const char *pattern, size_t n, const char *shown, tsri_text_pattern *p) {
    int code = 0;
    PCRE2_SIZE offset = 0;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for a regular expression");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    p->code = pcre2_compile((PCRE2_SPTR)pattern, n,
                            PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
                            &code, &offset, context);
    pcre2_compile_context_free(context);
    if (!p->code) {
        PCRE2_UCHAR why[160];
        pcre2_get_error_message(code, why, sizeof why);
        if (shown)
            return tsri_base_fail(TSR_E_FORMAT, "regular expression \"%.200s\": %s", shown,
                                  (const char *)why);
        return tsri_base_fail(TSR_E_FORMAT, "regular expression \"%.*s\": %s, at byte %zu",
                              (int)(n < 200 ? n : 200), pattern, (const char *)why, (size_t)offset);
    }
    p->limits = pcre2_match_context_create(NULL);
    if (!p->limits)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for a match context");
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(p->limits, HEAP_LIMIT);
    return TSR_OK;
}

static tsr_status compile_oniguruma(const char *pattern, size_t n, tsri_text_pattern *p) {
    tsri_bytes written = {0};
    tsr_status status = tsri_text_oniguruma(pattern, n, &written);
    if (status == TSR_OK)
        status = compile(written.data, written.size, pattern, p);
    tsri_base_bytes_clear(&written);
    return status;
}

static tsr_status take_literal(const char *pattern, size_t n, tsri_text_pattern *p) {
    p->kind = "literal";
    p->literal_size = n;
    p->literal = tsri_base_copy_text(pattern, n);
    return p->literal ? TSR_OK : TSR_E_HOST_MEMORY;
}

static tsr_status take_regex(const char *pattern, size_t n, tsri_text_syntax syntax,
                             tsri_text_pattern *p) {
    p->scanner = tsri_text_scanner_of(pattern, n, syntax, &p->kind);
    if (p->scanner)
        return TSR_OK;
    p->kind = "PCRE2";
    return syntax == TSRI_TEXT_ONIGURUMA ? compile_oniguruma(pattern, n, p)
                                         : compile(pattern, n, NULL, p);
}

tsr_status tsri_text_pattern_new(const char *pattern, size_t n, tsri_text_syntax syntax,
                                 tsri_text_pattern **out) {
    *out = NULL;
    if ((n == 0 && syntax != TSRI_TEXT_ONIGURUMA) || n > PATTERN_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT, "a pattern has %zu bytes; 1 to %d are allowed", n,
                              PATTERN_LIMIT);
    tsri_text_pattern *p = NULL;
    TRY(tsri_base_new(1, sizeof *p, &p));
    const tsr_status status = syntax == TSRI_TEXT_LITERAL ? take_literal(pattern, n, p)
                                                          : take_regex(pattern, n, syntax, p);
    if (status != TSR_OK)
        tsri_text_pattern_destroy(&p);
    *out = p;
    return status;
}

/* Counts the steps of the matches in one text. */
typedef struct walk {
    uint64_t *left;
    size_t at; /* where the previous item was tried */
} walk;

/* PCRE2 calls this before each item. Its own limits hold for one start of one match, and don't
 * count the characters that a possessive repeat passes over. */
static int count_steps(pcre2_callout_block *item, void *data) {
    walk *w = data;
    const size_t at = item->current_position, passed = at > w->at ? at - w->at : w->at - at;
    w->at = at;
    if (*w->left <= passed) {
        *w->left = 0;
        return PCRE2_ERROR_MATCHLIMIT;
    }
    *w->left -= passed + 1;
    return 0;
}

static tsr_status cover_matches(const tsri_text_pattern *p, const char *text, size_t n,
                                pcre2_match_data *data, pcre2_match_context *context,
                                tsri_text_ranges *cover) {
    tsr_status status = TSR_OK;
    size_t done = 0, from = 0;
    bool matched = false; /* a match ends at `done` */
    while (status == TSR_OK && from <= n) {
        /* The text is valid UTF-8 and `from` is the start of a character: checking that for each
         * match would make the whole loop quadratic. */
        const int answer =
            pcre2_match(p->code, (PCRE2_SPTR)text, n, from, PCRE2_NO_UTF_CHECK, data, context);
        if (answer == PCRE2_ERROR_NOMATCH)
            break;
        if (answer < 0) {
            PCRE2_UCHAR why[160];
            pcre2_get_error_message(answer, why, sizeof why);
            status = tsri_base_fail(
                TSR_E_FORMAT, "the tokenizer's regular expression gave up at byte %zu of %zu: %s",
                from, n, (const char *)why);
            break;
        }
        const size_t *bounds = pcre2_get_ovector_pointer(data);
        const size_t start = bounds[0], end = bounds[1];
        if (start > end || end < done) { /* \K in a lookahead can do this */
            status = tsri_base_fail(
                TSR_E_FORMAT,
                "the tokenizer's regular expression gives a match that goes backwards");
            break;
        }
        const bool empty_again = start == end && matched && end == done;
        if (!empty_again) {
            if (start > done)
                status = tsri_text_ranges_add(cover, done, start, false);
            if (status == TSR_OK)
                status = tsri_text_ranges_add(cover, start < done ? done : start, end, true);
            done = end;
            matched = true;
        }
        from = end;
        if (start == end) { /* an empty match: search on from the next character */
            int32_t c;
            from = end < n ? end + tsri_text_utf8_next(text + end, n - end, &c) : n + 1;
        }
    }
    if (status == TSR_OK && done < n)
        status = tsri_text_ranges_add(cover, done, n, false);
    return status;
}

static tsr_status cover_by_regex(const tsri_text_pattern *p, const char *text, size_t n,
                                 uint64_t *steps, tsri_text_ranges *cover) {
    walk w = {.left = steps};
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(p->code, NULL);
    pcre2_match_context *context = pcre2_match_context_copy(p->limits);
    tsr_status status = TSR_OK;
    if (!data || !context) {
        status = tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for a match");
    } else {
        pcre2_set_callout(context, count_steps, &w);
        status = cover_matches(p, text, n, data, context, cover);
    }
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    return status;
}

static tsr_status cover_by_literal(const tsri_text_pattern *p, const char *text, size_t n,
                                   tsri_text_ranges *cover) {
    size_t done = 0;
    while (done < n) {
        const char *hit = memmem(text + done, n - done, p->literal, p->literal_size);
        const size_t start = hit ? (size_t)(hit - text) : n;
        if (start > done)
            TRY(tsri_text_ranges_add(cover, done, start, false));
        if (!hit)
            break;
        done = start + p->literal_size;
        TRY(tsri_text_ranges_add(cover, start, done, true));
    }
    return TSR_OK;
}

tsr_status tsri_text_pattern_cover(const tsri_text_pattern *p, const char *text, size_t n,
                                   uint64_t *steps, tsri_text_ranges *cover) {
    if (p->literal)
        return cover_by_literal(p, text, n, cover);
    if (p->code)
        return cover_by_regex(p, text, n, steps, cover);
    for (size_t at = 0; at < n;) {
        const size_t end = p->scanner(text, n, at);
        TRY(tsri_text_ranges_add(cover, at, end, true));
        at = end;
    }
    return TSR_OK;
}

tsr_status tsri_text_pattern_replace(const tsri_text_pattern *p, const char *text, size_t n,
                                     const char *by, size_t by_size, uint64_t *steps,
                                     tsri_bytes *out, bool *at_start) {
    tsri_text_ranges cover = {0};
    tsr_status status = tsri_text_pattern_cover(p, text, n, steps, &cover);
    *at_start = cover.count && cover.items[0].match;
    for (size_t i = 0; i < cover.count && status == TSR_OK; i++) {
        const tsri_text_range range = cover.items[i];
        status = range.match
                     ? tsri_base_bytes_append(out, by, by_size)
                     : tsri_base_bytes_append(out, text + range.start, range.end - range.start);
    }
    tsri_text_ranges_clear(&cover);
    return status;
}

const char *tsri_text_pattern_kind(const tsri_text_pattern *p) {
    return p->kind;
}

void tsri_text_pattern_destroy(tsri_text_pattern **p) {
    if (!*p)
        return;
    free((*p)->literal);
    pcre2_code_free((*p)->code);
    pcre2_match_context_free((*p)->limits);
    free(*p);
    *p = NULL;
}

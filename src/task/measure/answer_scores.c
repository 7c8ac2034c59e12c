/* task/measure/answer_scores.c - exact match and F1 of answers, as SQuAD's evaluation computes them. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/measure/ngrams.h"
#include "tessera/evaluate.h"
#include "text/base/unicode.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct word {
    size_t at, n; /* bytes of the text */
} word;

/* An answer as it is compared: without capital letters, ASCII punctuation and articles. */
typedef struct normal {
    tsri_bytes text;
    word *words;
    size_t n, room;
} normal;

typedef struct scoring {
    normal given, wanted;
    tsri_bytes lower;
    bool *taken; /* [words of the wanted answer] */
    size_t taken_room;
    tsr_answer_scores scores;
} scoring;

/* ---- the words of an answer ---- */

static bool is_article(const char *text, size_t n) {
    static const char *const articles[] = {"a", "an", "the"};
    for (size_t i = 0; i < sizeof articles / sizeof *articles; i++)
        if (n == strlen(articles[i]) && !memcmp(text, articles[i], n))
            return true;
    return false;
}

/* What the metric calls punctuation: Python's string.punctuation. */
static bool is_dropped(char c) {
    return c > ' ' && c < 127 && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
           !(c >= 'A' && c <= 'Z');
}

static bool is_alphanumeric(int32_t c) {
    return tsri_text_is_letter(c) || tsri_text_is_number(c);
}

/* A final sigma is a sigma: tsri_text_lowercase does not make one of a capital letter. */
static tsr_status put(normal *out, const char *text, size_t n) {
    const bool final = n == 2 && !memcmp(text, "\xcf\x82", 2);
    return tsri_base_bytes_append(&out->text, final ? "\xcf\x83" : text, n);
}

/* Appends the text with a blank in place of each article, which is a whole run of letters and digits. */
static tsr_status leave_articles_out(const char *text, size_t n, normal *out) {
    int32_t c;
    for (size_t at = 0, size; at < n; at += size) {
        size = 0;
        for (size_t one; at + size < n; size += one) {
            one = tsri_text_utf8_next(text + at + size, n - at - size, &c);
            if (!is_alphanumeric(c))
                break;
        }
        const bool article = is_article(text + at, size);
        if (article)
            TRY(put(out, " ", 1));
        for (size_t i = 0, one; i < size && !article; i += one) {
            one = tsri_text_utf8_next(text + at + i, size - i, &c);
            TRY(put(out, text + at + i, one));
        }
        if (!size) {
            size = tsri_text_utf8_next(text + at, n - at, &c);
            TRY(put(out, text + at, size));
        }
    }
    return TSR_OK;
}

static tsr_status split(normal *out) {
    const char *text = out->text.data;
    bool inside = false;
    int32_t c;
    out->n = 0;
    for (size_t at = 0, size; at < out->text.size; at += size) {
        size = tsri_text_utf8_next(text + at, out->text.size - at, &c);
        if (tsri_task_splits(c)) {
            inside = false;
            continue;
        }
        if (!inside) {
            TRY(tsri_base_grow(&out->words, &out->room, out->n + 1, sizeof *out->words));
            out->words[out->n++] = (word){.at = at};
        }
        inside = true;
        out->words[out->n - 1].n += size;
    }
    return TSR_OK;
}

static tsr_status normalize(scoring *s, const tsr_string *answer, normal *out) {
    tsri_bytes *lower = &s->lower;
    size_t kept = 0;
    lower->size = out->text.size = 0;
    TRY(tsri_text_lowercase(answer->data, answer->size, lower));
    for (size_t i = 0; i < lower->size; i++)
        if (!is_dropped(lower->data[i]))
            lower->data[kept++] = lower->data[i];
    TRY(leave_articles_out(lower->data, kept, out));
    return split(out);
}

/* ---- scores ---- */

static bool is_same(const normal *a, const word *x, const normal *b, const word *y) {
    return x->n == y->n && !memcmp(a->text.data + x->at, b->text.data + y->at, x->n);
}

static bool are_same(const normal *a, const normal *b) {
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++)
        same = is_same(a, &a->words[i], b, &b->words[i]);
    return same;
}

/* Words that both have; one that stands twice counts twice where it does in both. */
static tsr_status count_common(scoring *s, size_t *common) {
    const normal *g = &s->given, *w = &s->wanted;
    *common = 0;
    TRY(tsri_base_grow(&s->taken, &s->taken_room, w->n + 1, sizeof *s->taken));
    memset(s->taken, 0, w->n * sizeof *s->taken);
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < w->n; k++)
            if (!s->taken[k] && is_same(g, &g->words[i], w, &w->words[k])) {
                s->taken[k] = true;
                ++*common;
                break;
            }
    return TSR_OK;
}

static tsr_status compare(scoring *s, tsr_answer_score *best) {
    size_t common;
    TRY(count_common(s, &common));
    const bool exact = are_same(&s->given, &s->wanted);
    const size_t words = s->given.n + s->wanted.n;
    const double f1 = s->given.n && s->wanted.n ? 2.0 * (double)common / (double)words : exact;
    best->exact |= exact;
    best->f1 = fmax(best->f1, f1);
    return TSR_OK;
}

/* The best score over the wanted answers that have words; where none has, the right one is empty. */
static tsr_status score(scoring *s, const tsr_string *given, const tsr_string *wanted, size_t n,
                        tsr_answer_score *best) {
    static const tsr_string nothing = {"", 0};
    size_t compared = 0;
    *best = (tsr_answer_score){.f1 = 0};
    TRY(normalize(s, given, &s->given));
    for (size_t i = 0; i < n; i++) {
        TRY(normalize(s, &wanted[i], &s->wanted));
        if (s->wanted.n) {
            TRY(compare(s, best));
            compared++;
        }
    }
    if (compared)
        return TSR_OK;
    TRY(normalize(s, &nothing, &s->wanted));
    return compare(s, best);
}

static tsr_status check_texts(const char *what, const tsr_string *texts, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!tsri_text_utf8_valid(texts[i].data, texts[i].size))
            return tsri_base_fail(TSR_E_FORMAT, "%s %zu is not UTF-8", what, i);
    return TSR_OK;
}

static void add(const tsr_answer_score *one, bool answerable, tsr_answer_scores *all) {
    all->exact += one->exact;
    all->f1 += one->f1;
    if (!answerable) {
        all->unanswerable_exact_match += one->exact;
        return;
    }
    all->answerable++;
    all->answerable_exact_match += one->exact;
    all->answerable_f1 += one->f1;
}

/* Makes means in percent of the sums. */
static void finish(tsr_answer_scores *all) {
    const uint64_t others = all->questions - all->answerable;
    all->exact_match = 100.0 * (double)all->exact / (double)all->questions;
    all->f1 = 100 * all->f1 / (double)all->questions;
    all->answerable_exact_match =
        all->answerable ? 100 * all->answerable_exact_match / (double)all->answerable : NAN;
    all->answerable_f1 = all->answerable ? 100 * all->answerable_f1 / (double)all->answerable : NAN;
    all->unanswerable_exact_match =
        others ? 100 * all->unanswerable_exact_match / (double)others : NAN;
}

static void clear(scoring *s) {
    tsri_base_bytes_clear(&s->given.text);
    tsri_base_bytes_clear(&s->wanted.text);
    tsri_base_bytes_clear(&s->lower);
    free(s->given.words);
    free(s->wanted.words);
    free(s->taken);
}

tsr_status tsr_evaluate_answers(const tsr_string *given, const tsr_string *wanted,
                                const uint32_t *counts, size_t n, tsr_answer_score *each,
                                tsr_answer_scores *out) {
    scoring s = {.scores = {.struct_size = sizeof s.scores, .questions = n}};
    tsr_answer_score one;
    size_t first = 0, all = 0;
    TRY(NEED(given));
    TRY(NEED(counts));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_answer_scores", out));
    if (!n)
        return tsri_base_fail(TSR_E_ARGUMENT, "no answers were given; at least one is needed");
    for (size_t i = 0; i < n; i++)
        all += counts[i];
    TRY(NEED_ARRAY(wanted, all));
    TRY(check_texts("the given answer", given, n));
    TRY(check_texts("the right answer", wanted, all));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < n && status == TSR_OK; first += counts[i++]) {
        status = score(&s, &given[i], counts[i] ? wanted + first : NULL, counts[i], &one);
        add(&one, counts[i] > 0, &s.scores);
        if (each)
            each[i] = one;
    }
    clear(&s);
    if (status == TSR_OK) {
        finish(&s.scores);
        tsri_base_give(&s.scores, sizeof s.scores, out);
    }
    return status;
}

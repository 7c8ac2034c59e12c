/* task/texts/answers.c - chooses the answers to a question among the spans of a text's windows, by the
 * rules of transformers' pipeline "question-answering": of each window the likeliest spans, as whole
 * words; equal texts count as one answer, whose scores are added. */
#include "task/texts/answers.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct candidate {
    size_t first, last; /* tokens of the window */
    double score;
} candidate;

void tsri_task_mark_words(const char *text, const int32_t *words, tsri_task_offset *places,
                          size_t n) {
    bool several = false;
    size_t end = 0; /* of the text so far */
    for (size_t i = 1; i < n; i++)
        several |= words[i] != words[0];
    for (size_t i = 0; i < n; i++) {
        tsri_task_offset *o = &places[i];
        const bool apart = o->begin > end && memchr(text + end, ' ', o->begin - end);
        o->continues = i && (several ? words[i] == words[i - 1] : !apart);
        end = o->end > end ? o->end : end;
    }
}

void tsri_task_answers_begin(tsri_task_answers *a) {
    for (size_t i = 0; i < a->n; i++)
        free(a->items[i].text);
    a->n = 0;
    a->null = INFINITY;
}

void tsri_task_answers_clear(tsri_task_answers *a) {
    tsri_task_answers_begin(a);
    free(a->items);
    free(a->candidates);
    free(a->odds);
    *a = (tsri_task_answers){0};
}

/* The softmax of number `side` of the window's tokens and of its null token; that of the null token is
 * returned. */
static double softmax(const tsri_task_window_of *w, const float *numbers, int side, double *out) {
    const float *context = numbers + 2 * w->begin + side;
    double largest = w->null ? (double)numbers[side] : -INFINITY, sum = 0;
    for (size_t i = 0; i < w->n; i++)
        largest = fmax(largest, (double)context[2 * i]);
    const double null = w->null ? exp((double)numbers[side] - largest) : 0;
    for (size_t i = 0; i < w->n; i++)
        sum += out[i] = exp((double)context[2 * i] - largest);
    for (size_t i = 0; i < w->n; i++)
        out[i] /= sum + null;
    return null / (sum + null);
}

/* The most likely spans, best first; returns how many of `most` there are. */
static size_t best_spans(const double *begins, const double *ends, size_t n, size_t longest,
                         candidate *out, size_t most) {
    size_t count = 0;
    for (size_t first = 0; first < n; first++)
        for (size_t last = first; last < n && last - first < longest; last++) {
            const double score = begins[first] * ends[last];
            size_t at = count;
            while (at && out[at - 1].score < score)
                at--;
            if (at == most)
                continue;
            count += count < most;
            memmove(out + at + 1, out + at, (count - at - 1) * sizeof *out);
            out[at] = (candidate){first, last, score};
        }
    return count;
}

/* Where the words of a span begin and end, as far as the window has them. */
static void whole_words(const tsri_task_offset *places, size_t n, const candidate *span,
                        size_t *begin, size_t *end) {
    size_t first = span->first, last = span->last;
    while (first && places[first].continues)
        first--;
    while (last + 1 < n && places[last + 1].continues)
        last++;
    while (first < last && places[first].end == places[first].begin)
        first++;
    *begin = places[first].begin;
    for (*end = *begin; first <= last; first++)
        if (places[first].end > places[first].begin && places[first].end > *end)
            *end = places[first].end;
}

/* Adds an answer, or its score to that of the same text. */
static tsr_status add(tsri_task_answers *a, const char *text, size_t begin, size_t end,
                      double score) {
    tsri_bytes lower = {0};
    tsr_status status = tsri_base_bytes_append(&lower, "", 0);
    if (status == TSR_OK)
        status = tsri_text_lowercase(text + begin, end - begin, &lower);
    for (size_t i = 0; status == TSR_OK && i < a->n; i++)
        if (a->items[i].size == lower.size && !memcmp(a->items[i].text, lower.data, lower.size)) {
            a->items[i].answer.score += (float)score;
            tsri_base_bytes_clear(&lower);
            return TSR_OK;
        }
    if (status == TSR_OK)
        status = tsri_base_grow(&a->items, &a->room, a->n + 1, sizeof *a->items);
    if (status != TSR_OK) {
        tsri_base_bytes_clear(&lower);
        return status;
    }
    a->items[a->n++] =
        (tsri_task_found){.answer = {.begin = begin, .end = end, .score = (float)score},
                          .text = lower.data,
                          .size = lower.size};
    return TSR_OK;
}

tsr_status tsri_task_answers_take(tsri_task_answers *a, const tsri_task_choice *choice,
                                  const tsri_task_window_of *w, const float *numbers,
                                  const tsr_string *text, const tsri_task_offset *places) {
    const size_t most = 2 * (size_t)choice->top_k + 10; /* some may have the same words */
    TRY(tsri_base_grow(&a->candidates, &a->candidates_room, most + 1, sizeof(candidate)));
    TRY(tsri_base_grow(&a->odds, &a->odds_room, 2 * w->n + 1, sizeof(double)));
    double *begins = a->odds, *ends = begins + w->n;
    const double null = softmax(w, numbers, 0, begins) * softmax(w, numbers, 1, ends);
    candidate *found = a->candidates;
    a->null = fmin(a->null, null);
    const size_t n = best_spans(begins, ends, w->n, choice->longest, found, most);
    for (size_t i = 0; i < n; i++) {
        size_t begin, end;
        whole_words(places + w->first, w->n, &found[i], &begin, &end);
        if (end > begin)
            TRY(add(a, text->data, begin, end, found[i].score));
    }
    return TSR_OK;
}

size_t tsri_task_answers_end(tsri_task_answers *a, const tsri_task_choice *choice,
                             tsr_answer_span *out) {
    size_t n = 0;
    for (size_t i = 0; i < a->n + choice->no_answer; i++) {
        const tsr_answer_span none = {.score = (float)(isinf(a->null) ? 1 : a->null)},
                              *answer = i < a->n ? &a->items[i].answer : &none;
        size_t at = n;
        while (at && out[at - 1].score < answer->score)
            at--;
        if (at == choice->top_k)
            continue;
        n += n < choice->top_k;
        memmove(out + at + 1, out + at, (n - at - 1) * sizeof *out);
        out[at] = *answer;
    }
    return n;
}

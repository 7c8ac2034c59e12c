/* task/translate/lines.c - reads lines, cuts the long ones into parts that are translated
 * together, and joins the translations. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "task/translate/sentences.h"
#include "task/translate/translate.h"

#include <stdlib.h>
#include <string.h>

void tsri_task_lines_empty(tsri_task_lines *l) {
    for (size_t i = 0; i < l->n_lines; i++)
        free(l->lines[i].error);
    l->ids.count = l->gaps.size = l->text.size = 0;
    l->n_lines = l->n_parts = 0;
}

void tsri_task_lines_clear(tsri_task_lines *l) {
    tsri_task_lines_empty(l);
    tsri_text_ids_clear(&l->ids);
    tsri_base_bytes_clear(&l->gaps);
    tsri_base_bytes_clear(&l->text);
    tsri_base_bytes_clear(&l->joined);
    free(l->lines);
    free(l->parts);
    free(l->order);
    free(l->made);
    *l = (tsri_task_lines){0};
}

/* ---- lines into parts ---- */

static tsr_status add_part(tsri_task_lines *l, size_t at, const char *gap, size_t gap_size) {
    TRY(tsri_base_grow(&l->parts, &l->parts_room, l->n_parts + 1, sizeof *l->parts));
    const size_t n = l->ids.count - at;
    l->parts[l->n_parts++] = (tsri_task_part){
        .text = {.n_source = (int64_t)n}, .at = at, .gap = l->gaps.size, .gap_size = gap_size};
    return tsri_base_bytes_append(&l->gaps, gap, gap_size);
}

static tsr_status too_long(const tsri_task_translation *t, size_t tokens, const char *advice) {
    return tsri_base_fail(TSR_E_ARGUMENT, "line %llu has %zu tokens, but %s reads %lld: %s",
                          (unsigned long long)t->lines, tokens, t->model->path, (long long)t->limit,
                          advice);
}

/* Adds a sentence, or a piece of one; it is cut in the middle until its parts fit the model. */
static tsr_status add_sentence(tsri_task_lines *l, tsri_task_translation *t, const char *text,
                               size_t n) {
    const size_t at = l->ids.count, gap = tsri_base_blank_end(text, n), size = n - gap;
    if (!size) /* only white space, before the first word */
        return TSR_OK;
    TRY(tsri_task_encode_source(t, text, size, &l->ids));
    const size_t tokens = l->ids.count - at;
    if ((int64_t)tokens <= t->limit)
        return add_part(l, at, text + size, gap);
    l->ids.count = at;
    const size_t cut = tsri_task_sentence_middle(text, size);
    if (size < 2 || cut == 0 || cut >= size)
        return too_long(t, tokens, "even one character of it is too long");
    TRY(add_sentence(l, t, text, cut));
    return add_sentence(l, t, text + cut, n - cut);
}

/* Adds each sentence; all of them have the code that the line begins with. */
static tsr_status add_sentences(tsri_task_lines *l, tsri_task_translation *t, const char *text,
                                size_t n) {
    const int32_t to = t->direction.to;
    tsr_status status = TSR_OK;
    size_t done = tsri_text_written_code(t->model->tokenizer, text, n, &t->direction.to);
    while (done < n && status == TSR_OK) {
        const size_t size = tsri_task_sentence(text + done, n - done);
        status = add_sentence(l, t, text + done, size);
        done += size;
    }
    t->direction.to = to;
    return status;
}

static tsr_status cut_line(tsri_task_lines *l, tsri_task_translation *t, const char *text,
                           size_t n) {
    const size_t at = l->ids.count;
    if (tsri_base_blank_begin(text, n) == n)
        return TSR_OK;
    TRY(tsri_task_encode_source(t, text, n, &l->ids));
    const size_t tokens = l->ids.count - at;
    if ((int64_t)tokens <= t->limit)
        return add_part(l, at, "", 0);
    l->ids.count = at;
    if (t->options->no_split)
        return too_long(t, tokens, "shorten it, or allow splitting it into sentences");
    return add_sentences(l, t, text, n);
}

tsr_status tsri_task_lines_add(tsri_task_lines *l, tsri_task_translation *t, const char *text,
                               size_t n) {
    const size_t ids = l->ids.count, part = l->n_parts;
    TRY(tsri_base_grow(&l->lines, &l->lines_room, l->n_lines + 1, sizeof *l->lines));
    t->lines++;
    tsri_task_line *line = &l->lines[l->n_lines++];
    *line = (tsri_task_line){.part = part, .status = cut_line(l, t, text, n)};
    t->stats.lines++;
    if (line->status == TSR_E_HOST_MEMORY)
        return line->status;
    if (line->status != TSR_OK) {
        const char *error = tsr_error_last();
        line->error = tsri_base_copy_text(error, strlen(error));
        l->ids.count = ids;
        l->n_parts = part;
        t->stats.failed++;
        return line->error ? TSR_OK : TSR_E_HOST_MEMORY;
    }
    line->parts = l->n_parts - part;
    t->stats.cut += line->parts > 1;
    t->tokens_read += l->ids.count - ids;
    t->stats.source_tokens += l->ids.count - ids;
    return TSR_OK;
}

static int longest_first(const void *a, const void *b) {
    const tsri_task_part *x = *(tsri_task_part *const *)a, *y = *(tsri_task_part *const *)b;
    if (x->text.n_source != y->text.n_source)
        return x->text.n_source < y->text.n_source ? 1 : -1;
    return (x > y) - (x < y);
}

/* The most tokens of a part's translation. */
static int64_t most_of(const tsri_task_translation *t, int64_t n_source) {
    const int64_t room = t->model->spec.context - (int64_t)t->prompt.count;
    const int64_t most =
        t->search->max_new_tokens > 0 ? t->search->max_new_tokens : 2 * n_source + 64;
    const int64_t wanted = most > t->rules.counted ? most - t->rules.counted : 1;
    return wanted < room ? wanted : room;
}

tsr_status tsri_task_lines_sort(tsri_task_lines *l, const tsri_task_translation *t) {
    TRY(tsri_base_grow(&l->order, &l->order_room, l->n_parts, sizeof *l->order));
    TRY(tsri_base_grow(&l->made, &l->made_room, l->n_parts * t->n_best, sizeof *l->made));
    for (size_t i = 0; i < l->n_parts; i++) {
        tsri_task_text *text = &l->parts[i].text;
        text->source = l->ids.data + l->parts[i].at;
        text->prompt = t->prompt.data;
        text->n_prompt = (int64_t)t->prompt.count;
        text->most = most_of(t, text->n_source);
        l->order[i] = &l->parts[i];
    }
    if (l->n_parts)
        qsort(l->order, l->n_parts, sizeof *l->order, longest_first);
    return TSR_OK;
}

/* ---- parts into lines ---- */

tsr_status tsri_task_lines_keep(tsri_task_lines *l, tsri_task_translation *t, tsri_task_part *part,
                                const tsri_task_beam *beam) {
    const int32_t all = tsri_task_beam_finished(beam);
    tsri_task_made *made = l->made + (size_t)(part - l->parts) * t->n_best;
    part->found = all < (int32_t)t->n_best ? all : (int32_t)t->n_best;
    for (int32_t i = 0; i < part->found; i++) {
        const tsri_task_hypothesis *h = tsri_task_beam_best(beam, i);
        const int64_t start = (int64_t)t->start;
        made[i] = (tsri_task_made){.at = l->text.size, .score = h->score};
        TRY(tsri_task_decode_target(t, h->ids + start, (size_t)(h->n - start), &l->text));
        made[i].size = l->text.size - made[i].at;
    }
    if (part->found)
        t->stats.target_tokens +=
            (uint64_t)(tsri_task_beam_best(beam, 0)->n - (int64_t)t->prompt.count);
    t->tokens_done += (uint64_t)part->text.n_source;
    return TSR_OK;
}

/* Joins the rank-th translation of a line: from each part its rank-th, or its last. */
static tsr_status join(tsri_task_lines *l, const tsri_task_translation *t,
                       const tsri_task_line *line, int32_t rank, double *score) {
    double sum = 0;
    for (size_t i = 0; i < line->parts; i++) {
        const tsri_task_part *part = &l->parts[line->part + i];
        const tsri_task_made *made = l->made + (line->part + i) * t->n_best;
        if (part->found) {
            made += rank < part->found ? rank : part->found - 1;
            TRY(tsri_base_bytes_append(&l->joined, l->text.data + made->at, made->size));
            sum += made->score;
        }
        if (i + 1 < line->parts)
            TRY(tsri_base_bytes_append(&l->joined, l->gaps.data + part->gap, part->gap_size));
    }
    *score = line->parts ? sum / (double)line->parts : 0;
    return tsri_base_bytes_append(&l->joined, "", 1);
}

static tsr_status give_line(tsri_task_lines *l, const tsri_task_translation *t,
                            const tsri_task_line *line, tsr_translated *out,
                            tsr_translation *best) {
    int32_t n = line->status == TSR_OK;
    out->status = (uint32_t)line->status;
    out->error = line->error;
    out->parts = (uint32_t)line->parts;
    for (size_t i = 0; i < line->parts; i++)
        n = l->parts[line->part + i].found > n ? l->parts[line->part + i].found : n;
    l->joined.size = 0;
    for (int32_t rank = 0; rank < n; rank++) {
        double score;
        const size_t at = l->joined.size;
        TRY(join(l, t, line, rank, &score));
        best[rank] = (tsr_translation){.size = l->joined.size - at - 1, .score = (float)score};
    }
    size_t at = 0;
    for (int32_t rank = 0; rank < n; at += best[rank++].size + 1)
        best[rank].text = l->joined.data + at;
    out->n = (uint32_t)n;
    out->best = best;
    return TSR_OK;
}

tsr_status tsri_task_lines_give(tsri_task_lines *l, tsri_task_translation *t,
                                tsr_translated_fn translated, void *data) {
    tsr_translation *best;
    TRY(tsri_base_new(t->n_best, sizeof *best, &best));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < l->n_lines && status == TSR_OK; i++) {
        tsr_translated one = {.struct_size = sizeof one, .line = t->lines - l->n_lines + i};
        status = give_line(l, t, &l->lines[i], &one, best);
        if (status == TSR_OK && translated(data, &one))
            status = tsri_base_fail(TSR_E_CANCELLED, "the translation was cancelled");
    }
    free(best);
    return status;
}

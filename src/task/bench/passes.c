/* task/bench/passes.c - measures each row twice, at times that lie far apart: a machine may keep
 * another speed for longer than a row takes, and then the row's samples agree with each other, but not
 * with those of another run. */
#include "task/bench/bench.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the first pass keeps ---- */

/* The rows outlive the models that they are of. */
static tsr_status copy_model(const tsr_bench_model *from, tsri_task_kept *k) {
    tsr_bench_model *m = &k->model;
    const char **const texts[] = {&m->name, &m->dtype,    &m->kept,
                                  &m->hash, &m->kv_dtype, &m->compute};
    *m = *from;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!*texts[i])
            continue;
        k->texts[i] = tsri_base_copy_text(*texts[i], strlen(*texts[i]));
        if (!k->texts[i])
            return TSR_E_HOST_MEMORY;
        *texts[i] = k->texts[i];
    }
    return TSR_OK;
}

static void free_kept(tsri_task_kept *k) {
    tsri_task_draft_clear(&k->draft);
    for (size_t i = 0; i < sizeof k->texts / sizeof *k->texts; i++)
        free(k->texts[i]);
    free(k);
}

static tsr_status keep(tsri_task_passes *passes, tsri_task_draft *draft, tsri_task_kept **out) {
    tsri_task_kept *k = NULL;
    tsr_bench_row *row = &draft->row;
    TRY(tsri_base_grow(&passes->rows, &passes->room, passes->n + 1, sizeof *passes->rows));
    TRY(tsri_base_new(1, sizeof *k, &k));
    const tsr_status status = row->model ? copy_model(row->model, k) : TSR_OK;
    if (status != TSR_OK) {
        free_kept(k);
        return status;
    }
    if (row->quality)
        k->quality = *row->quality;
    row->model = row->model ? &k->model : NULL;
    row->quality = row->quality ? &k->quality : NULL;
    k->draft = *draft;
    *draft = (tsri_task_draft){0};
    tsri_task_draft_bind(&k->draft);
    passes->rows[passes->n++] = *out = k;
    return TSR_OK;
}

/* Takes over a draft, and hands it on as unfinished if the sink wants that. */
static tsr_status keep_row(tsri_task_passes *passes, tsri_task_draft *draft,
                           const tsri_task_sink *sink) {
    tsri_task_kept *k = NULL;
    const tsr_status status = keep(passes, draft, &k);
    if (status != TSR_OK) {
        tsri_task_draft_clear(draft);
        return status;
    }
    if (!sink->unfinished)
        return TSR_OK;
    k->draft.row.unfinished = 1;
    const bool stop = sink->row(sink->data, &k->draft.row);
    k->draft.row.unfinished = 0;
    return stop ? tsri_task_bench_cancelled() : TSR_OK;
}

tsr_status tsri_task_draft_emit(tsri_task_draft *draft, const tsri_task_bench *b) {
    tsri_task_kept *before = draft->before;
    if (b->passes && !b->passes->second)
        return keep_row(b->passes, draft, b->sink);
    if (before)
        before->given = true;
    if (!before || before->draft.samples.n)
        return tsri_task_draft_give(draft, b->sink);
    tsri_task_draft_clear(draft);
    return tsri_task_draft_give(&before->draft, b->sink);
}

/* ---- the second pass ---- */

const tsri_task_draft *tsri_task_bench_first(const tsri_task_bench *b) {
    const tsri_task_passes *passes = b->passes;
    return passes && passes->second && passes->next < passes->n ? &passes->rows[passes->next]->draft
                                                                : NULL;
}

bool tsri_task_bench_wants(const tsri_task_bench *b, uint32_t rows, bool peer) {
    const tsri_task_passes *passes = b->passes;
    for (size_t i = passes->next; i < passes->n && i < passes->next + rows; i++) {
        const tsri_task_draft *draft = &passes->rows[i]->draft;
        if (draft->samples.n && (draft->row.peer != NULL) == peer)
            return true;
    }
    return false;
}

bool tsri_task_bench_recall(const tsri_task_bench *b, tsri_task_draft *draft) {
    const tsri_task_draft *first = tsri_task_bench_first(b);
    if (!first)
        return true;
    assert(!strcmp(first->test, draft->test));
    draft->before = b->passes->rows[b->passes->next++];
    draft->row.model = first->row.model;
    draft->row.quality = first->row.quality;
    draft->row.error = first->row.error;
    draft->row.bound = first->row.bound;
    return first->samples.n > 0;
}

/* From the first pass's begin to the second one's end; loads are those of the pass with more. */
static void join_conditions(const tsr_bench_conditions *first, tsr_bench_conditions *second) {
    second->clock[0] = first->clock[0];
    second->temperature[0] = first->temperature[0];
    if (first->load[0] + first->load[1] > second->load[0] + second->load[1])
        memcpy(second->load, first->load, sizeof first->load);
    second->steal = fmax(first->steal, second->steal);
    second->energy += first->energy;
}

/* What lies beside a row is what was worse, because a row is as good as its worse half. */
tsr_status tsri_task_draft_join(tsri_task_draft *draft) {
    const tsri_task_draft *first = draft->before ? &draft->before->draft : NULL;
    tsr_bench_row *row = &draft->row;
    if (!first)
        return TSR_OK;
    TRY(tsri_task_samples_join(&first->samples, &draft->samples));
    join_conditions(&first->conditions, &draft->conditions);
    draft->others = fmax(first->others, draft->others);
    for (int i = 0; i < 2; i++) {
        row->peak_fma[i] = fmin(first->row.peak_fma[i], row->peak_fma[i]);
        row->peak_read[i] = fmin(first->row.peak_read[i], row->peak_read[i]);
    }
    if (row->host_bytes < first->row.host_bytes)
        row->host_bytes = first->row.host_bytes;
    return TSR_OK;
}

/* `row` may ask for the end again and again: it is given what there is. */
void tsri_task_passes_end(tsri_task_passes *passes, const tsri_task_sink *sink) {
    for (size_t i = 0; i < passes->n; i++) {
        tsri_task_kept *k = passes->rows[i];
        if (!k->given && k->draft.samples.n)
            tsri_task_draft_note(&k->draft,
                                 "it had one pass of two: the run ended before its second");
        if (!k->given)
            (void)tsri_task_draft_give(&k->draft, sink);
        free_kept(k);
    }
    free(passes->rows);
    *passes = (tsri_task_passes){0};
}

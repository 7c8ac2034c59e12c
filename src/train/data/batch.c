/* train/data/batch.c - makes batch number i from (seed, i) and the token files on disk. */
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "train/data/data_parts.h"
#include "train/data/permute.h"

#include <stdlib.h>
#include <string.h>

enum { POOL_BATCHES = 64 };

/* Keys that keep the random numbers of each purpose apart. SPLIT_KEY and DRAW_KEY are used without the
 * seed: what is validated on is the same for every seed. */
#define SPLIT_KEY 0x73706C6974000001u
#define SHIFT_KEY 0x7368696674000001u
#define BATCH_KEY 0x6261746368000001u
#define DRAW_KEY 0x6472617774000001u

/* ---- windows of a stream ---- */

/* Tokens `at` .. `at` + n - 1 of the view; its first token follows its last. */
static tsr_status read_stream(const tsri_train_data *d, uint64_t at, size_t n, int32_t *out) {
    const tsri_train_corpus *c = d->corpus;
    while (n) {
        const uint64_t place = d->begin + at % d->count, end = d->begin + d->count;
        const size_t f = tsri_train_corpus_file(c, place);
        const uint64_t stop = c->first[f + 1] < end ? c->first[f + 1] : end;
        const size_t part = stop - place < n ? (size_t)(stop - place) : n;
        TRY(tsri_train_token_file_read(c->files[f], place - c->first[f], part,
                                       d->encoder.model->spec.vocab, out));
        at += part;
        out += part;
        n -= part;
    }
    return TSR_OK;
}

/* The offset at which the first window of an epoch begins: 0 in the first epoch, drawn in others.
 */
static uint64_t phase_of(const tsri_train_data *d, uint64_t epoch) {
    uint32_t bits[4];
    if (d->is_held || !epoch || d->count <= (uint64_t)d->inner + 1)
        return 0;
    tsri_base_philox(d->options.seed ^ SHIFT_KEY, 0, epoch, bits);
    return (uint64_t)bits[0] * (uint64_t)d->inner >> 32;
}

static tsr_status fill_window(tsri_train_data *d, uint64_t epoch, uint64_t row, int32_t b) {
    const tsri_train_encoder *e = &d->encoder;
    const bool next = d->options.objective == TSRI_OBJECTIVE_NEXT;
    const uint64_t w = d->is_held ? row : tsri_train_permute(d->options.seed, epoch, d->rows, row),
                   at = w * (uint64_t)d->inner, usable = d->count - next;
    const int32_t n =
        d->is_held && usable - at < (uint64_t)d->inner ? (int32_t)(usable - at) : d->inner;
    int32_t *ids = d->ids + (size_t)b * (size_t)d->window, *targets = d->targets + (ids - d->ids);
    int32_t k = 0;
    TRY(read_stream(d, phase_of(d, epoch) + at, (size_t)n + next, d->scratch));
    if (!next && e->before >= 0)
        ids[k++] = e->before;
    memcpy(ids + k, d->scratch, (size_t)n * sizeof *ids);
    k += n;
    if (!next && e->behind >= 0)
        ids[k++] = e->behind;
    d->len[b] = k;
    if (next)
        memcpy(targets, d->scratch + 1, (size_t)n * sizeof *targets);
    return TSR_OK;
}

/* ---- examples ---- */

/* Example number `place` of an epoch of this view. */
static uint64_t example_of(const tsri_train_data *d, uint64_t epoch, uint64_t place) {
    const uint64_t all = d->corpus->first[d->corpus->n],
                   drawn = d->begin + (d->is_held ? place
                                                  : tsri_train_permute(d->options.seed, epoch,
                                                                       d->rows, place));
    return d->split ? tsri_train_permute(SPLIT_KEY, 0, all, drawn) : drawn;
}

static uint64_t length_of(const tsri_train_place *p) {
    return (uint64_t)p->entry.n + p->entry.more;
}

static int by_length(const void *a, const void *b) {
    const tsri_train_place *x = a, *y = b;
    if (length_of(x) != length_of(y))
        return length_of(x) < length_of(y) ? -1 : 1;
    if (x->entry.n != y->entry.n)
        return x->entry.n < y->entry.n ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static tsr_status load_pool(tsri_train_data *d, uint64_t epoch, uint64_t number) {
    const uint64_t size = (uint64_t)d->B * POOL_BATCHES, begin = number * size,
                   left = d->rows - begin;
    if (d->pool_count && d->pool_epoch == epoch && d->pool_number == number)
        return TSR_OK;
    d->pool_count = 0;
    const size_t n = left < size ? (size_t)left : (size_t)size;
    TRY(tsri_base_grow(&d->pool, &d->pool_room, n, sizeof *d->pool));
    for (size_t i = 0; i < n; i++) {
        const uint64_t example = example_of(d, epoch, begin + i);
        const size_t f = tsri_train_corpus_file(d->corpus, example);
        tsri_train_place *p = &d->pool[i];
        p->file = (uint32_t)f;
        p->order = i;
        TRY(tsri_train_token_file_entries(d->corpus->files[f], example - d->corpus->first[f], 1,
                                          &p->entry));
    }
    qsort(d->pool, n, sizeof *d->pool, by_length);
    d->pool_count = n;
    d->pool_epoch = epoch;
    d->pool_number = number;
    return TSR_OK;
}

/* Cuts ids to `most`; where the last one was a special token, it stays the last one. */
static int32_t cut(const tsri_train_data *d, int32_t *ids, uint32_t n, int32_t most) {
    if (n <= (uint32_t)most)
        return (int32_t)n;
    if (tsri_text_is_special(d->encoder.model->tokenizer, ids[n - 1]))
        ids[most - 1] = ids[n - 1];
    return most;
}

static void fill_next(tsri_train_data *d, const tsri_train_entry *e, const int32_t *all, int32_t b,
                      int32_t T) {
    const uint32_t whole = e->n + e->more - 1;
    const int32_t n = whole < (uint32_t)d->options.block ? (int32_t)whole : d->options.block;
    int32_t *ids = d->ids + (size_t)b * (size_t)T, *targets = d->targets + (ids - d->ids);
    memcpy(ids, all, (size_t)n * sizeof *ids);
    for (int32_t i = e->more ? (int32_t)e->n - 1 : 0; i < n; i++)
        targets[i] = all[i + 1];
    d->len[b] = n;
}

static void fill_pair(tsri_train_data *d, const tsri_train_entry *e, int32_t *all, int32_t b,
                      int32_t T, int32_t S) {
    int32_t *ids = d->ids + (size_t)b * (size_t)T, *targets = d->targets + (ids - d->ids),
            *source = d->source + (size_t)b * (size_t)S, *target = all + e->n;
    d->source_len[b] = cut(d, all, e->n, d->options.block);
    d->len[b] = cut(d, target, e->more, d->options.target_block);
    memcpy(source, all, (size_t)d->source_len[b] * sizeof *source);
    memcpy(targets, target, (size_t)d->len[b] * sizeof *targets);
    ids[0] = d->encoder.start;
    memcpy(ids + 1, target, ((size_t)d->len[b] - 1) * sizeof *ids);
}

/* Labels stand behind the ids, each as 1 + its number in the file, or 0. */
static void fill_words(tsri_train_data *d, const tsri_train_place *p, int32_t *all, int32_t b,
                       int32_t T) {
    const tsri_train_entry *e = &p->entry;
    const int32_t n = cut(d, all, e->n, d->options.block), *labels = all + e->n,
                  labelled = (uint32_t)n < e->n ? n - 1 : n;
    int32_t *ids = d->ids + (size_t)b * (size_t)T, *targets = d->targets + (ids - d->ids);
    memcpy(ids, all, (size_t)n * sizeof *ids);
    for (int32_t i = 0; i < labelled; i++)
        if (labels[i])
            targets[i] = d->corpus->label_of[p->file][labels[i] - 1];
    d->len[b] = n;
}

/* Sizes of a batch of B places, found without reading their ids. */
static void measure_batch(const tsri_train_data *d, const tsri_train_place *places, int32_t B,
                          int32_t *T, int32_t *S, size_t *longest) {
    const tsri_train_data_options *o = &d->options;
    *T = *S = 0;
    *longest = 0;
    for (int32_t b = 0; b < B; b++) {
        const tsri_train_entry *e = &places[b].entry;
        const bool translate = o->objective == TSRI_OBJECTIVE_TRANSLATE;
        const uint32_t t = tsri_train_entry_tokens(o->objective, e);
        const int32_t most = translate ? o->target_block : o->block;
        const int32_t n = t < (uint32_t)most ? (int32_t)t : most,
                      s = e->n < (uint32_t)o->block ? (int32_t)e->n : o->block;
        *T = n > *T ? n : *T;
        *S = translate && s > *S ? s : *S;
        *longest = length_of(&places[b]) > *longest ? (size_t)length_of(&places[b]) : *longest;
    }
}

static tsr_status fill_example(tsri_train_data *d, const tsri_train_place *p, int32_t *all,
                               int32_t b, int32_t T, int32_t S) {
    const tsri_train_entry *e = &p->entry;
    const tsri_model_spec *spec = &d->encoder.model->spec;
    const bool translate = d->options.objective == TSRI_OBJECTIVE_TRANSLATE;
    int32_t *ids = d->ids + (size_t)b * (size_t)T;
    const tsri_train_token_file *file = d->corpus->files[p->file];
    TRY(tsri_train_token_file_read(file, e->start, e->n,
                                   translate ? spec->source_vocab : spec->vocab, all));
    const bool words = d->options.objective == TSRI_OBJECTIVE_TOKENS;
    TRY(tsri_train_token_file_read(file, e->start + e->n, e->more,
                                   words ? (int32_t)file->n_labels + 1 : spec->vocab, all + e->n));
    if (words) {
        fill_words(d, p, all, b, T);
    } else if (translate) {
        fill_pair(d, e, all, b, T, S);
    } else if (d->options.objective == TSRI_OBJECTIVE_NEXT) {
        fill_next(d, e, all, b, T);
    } else {
        d->len[b] = cut(d, all, e->n, d->options.block);
        memcpy(ids, all, (size_t)d->len[b] * sizeof *ids);
        if (d->options.objective == TSRI_OBJECTIVE_CLASSIFY)
            d->targets[b] = d->corpus->label_of[p->file][e->label];
    }
    return TSR_OK;
}

/* ---- batches ---- */

static void clear(tsri_train_data *d, int32_t B, int32_t T, int32_t S) {
    const size_t cells = (size_t)B * (size_t)T, source = (size_t)B * (size_t)S;
    for (size_t i = 0; i < cells; i++) {
        d->ids[i] = d->encoder.filler;
        d->targets[i] = TSRI_TRAINING_IGNORE;
    }
    for (size_t i = 0; i < source; i++)
        d->source[i] = d->encoder.filler;
}

static void mask_batch(tsri_train_data *d, uint64_t index, int32_t B, int32_t T) {
    size_t chosen = 0;
    for (int32_t b = 0; b < B; b++)
        chosen += tsri_train_mask_row(d, index * (uint64_t)d->B + (uint64_t)b,
                                      d->ids + (size_t)b * (size_t)T,
                                      d->targets + (size_t)b * (size_t)T, d->len[b]);
    if (!chosen)
        tsri_train_mask_one(d, index, d->ids, d->targets, d->len, B, T);
}

static tsr_status stream_batch(tsri_train_data *d, uint64_t epoch, uint64_t number,
                               tsri_training_batch *out) {
    const uint64_t begin = number * (uint64_t)d->B, left = d->rows - begin;
    out->B = left < (uint64_t)d->B ? (int32_t)left : d->B;
    out->T = d->window;
    clear(d, out->B, d->window, 0);
    for (int32_t b = 0; b < out->B; b++)
        TRY(fill_window(d, epoch, begin + (uint64_t)b, b));
    return TSR_OK;
}

static tsr_status example_batch(tsri_train_data *d, uint64_t epoch, uint64_t number,
                                tsri_training_batch *out) {
    const uint64_t pool = number / POOL_BATCHES;
    TRY(load_pool(d, epoch, pool));
    const uint64_t batches = (d->pool_count + (size_t)d->B - 1) / (size_t)d->B;
    uint64_t k = number % POOL_BATCHES;
    if (!d->is_held)
        k = tsri_train_permute(d->options.seed ^ BATCH_KEY, epoch << 32 ^ pool, batches, k);
    const size_t begin = (size_t)k * (size_t)d->B, left = d->pool_count - begin;
    const tsri_train_place *places = d->pool + begin;
    int32_t *all = NULL;
    size_t longest;
    out->B = left < (size_t)d->B ? (int32_t)left : d->B;
    measure_batch(d, places, out->B, &out->T, &out->S, &longest);
    clear(d, out->B, out->T, out->S);
    TRY(tsri_base_new(
        longest, sizeof *all,
        &all)); /* examples that are yet to be cut are longer than a row of the batch */
    tsr_status status = TSR_OK;
    for (int32_t b = 0; b < out->B && status == TSR_OK; b++)
        status = fill_example(d, &places[b], all, b, out->T, out->S);
    free(all);
    return status;
}

tsr_status tsri_train_data_batch(tsri_train_data *d, uint64_t index, tsri_training_batch *out) {
    const uint64_t batches = tsri_train_data_batches(d), epoch = index / batches;
    *out = (tsri_training_batch){.ids = d->ids, .len = d->len, .targets = d->targets};
    TRY((d->stream ? stream_batch : example_batch)(d, d->is_held ? 0 : epoch, index % batches,
                                                   out));
    if (d->options.objective == TSRI_OBJECTIVE_MASKED)
        mask_batch(d, d->is_held ? index % batches : index, out->B, out->T);
    if (out->S) {
        out->source = d->source;
        out->source_len = d->source_len;
    }
    return TSR_OK;
}

uint64_t tsri_train_data_drawn(const tsri_train_data *d, uint64_t i, uint64_t n) {
    const uint64_t all = tsri_train_data_batches(d), first = i * all / n,
                   room = (i + 1) * all / n - first;
    uint32_t bits[4];
    tsri_base_philox(DRAW_KEY, 0, i, bits);
    return first + (bits[0] * room >> 32);
}

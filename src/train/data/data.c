/* train/data/data.c - opens data: token files, the split for validation, sizes and order of
 * batches. */
#include "train/data/data.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/system/files.h"
#include "model/model.h"
#include "train/data/data_parts.h"
#include "train/data/permute.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_BLOCK = 1024, ENTRIES_AT_ONCE = 4096 };

/* ---- options ---- */

static tsr_status check_block(const char *what, int32_t *block, int64_t context,
                              const tsri_model *m) {
    if (!*block)
        *block = context < DEFAULT_BLOCK ? (int32_t)context : DEFAULT_BLOCK;
    if (*block < 1 || *block > context)
        return tsri_base_fail(TSR_E_ARGUMENT, "%s of %d tokens; %s reads 1 to %" PRId64, what,
                              (int)*block, m->path, context);
    return TSR_OK;
}

static tsr_status check_options(tsri_train_data_options *o, const tsri_model *m) {
    const bool translate = o->objective == TSRI_OBJECTIVE_TRANSLATE,
               classify = o->objective >= TSRI_OBJECTIVE_CLASSIFY;
    if (!o->n_paths)
        return tsri_base_fail(TSR_E_ARGUMENT, "no file of data was given");
    if (!o->workspace)
        return tsri_base_fail(TSR_E_ARGUMENT, "no workspace was given: the folder for token files");
    o->batch = o->batch ? o->batch : 1;
    o->mask_probability = o->mask_probability > 0 ? o->mask_probability : 0.15;
    if (o->batch < 1 || !(o->mask_probability <= 1) ||
        !(o->validation >= 0 && o->validation <= 0.5))
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "a batch size of %d (at least 1), a share of %g of the tokens masked (at most 1) and a "
            "share of %g held back for validation (0 to 0.5)",
            (int)o->batch, o->mask_probability, o->validation);
    if (o->pack && (translate || classify))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s can't be packed: each one needs a sequence of its own",
                              translate ? "translations" : "labelled texts");
    if (o->bpe_dropout > 0 && !o->n_validation_paths && o->validation > 0)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "bpe_dropout=%g would also apply to the text that is held back for validation; give "
            "files to validate on, or set validation_split=0",
            o->bpe_dropout);
    TRY(check_block("a block", &o->block, translate ? m->spec.source_context : m->spec.context, m));
    if (!o->target_block)
        o->target_block = o->block < m->spec.context ? o->block : 0;
    return translate ? check_block("a target block", &o->target_block, m->spec.context, m) : TSR_OK;
}

/* ---- what a view holds ---- */

static bool is_next(const tsri_train_data *d) {
    return d->options.objective == TSRI_OBJECTIVE_NEXT;
}

static tsr_status too_little(const tsri_train_data *d) {
    return tsri_base_fail(TSR_E_FORMAT, "%s: %" PRIu64 " token%s for %s; at least %d are needed",
                          d->corpus->files[0]->path, d->count, d->count == 1 ? "" : "s",
                          d->is_held ? "validation" : "training", is_next(d) ? 2 : 1);
}

/* Windows of a stream. Training leaves out a short one at the end, because later epochs begin at
 * another offset and so reach its tokens. */
static tsr_status measure_stream(tsri_train_data *d) {
    const tsri_train_encoder *e = &d->encoder;
    const int32_t frame = is_next(d) ? 0 : (e->before >= 0) + (e->behind >= 0);
    if (d->count < (is_next(d) ? 2u : 1u))
        return too_little(d);
    d->inner = d->options.block - frame;
    if (d->inner < 1)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "a block of %d tokens has no room for text: %d special tokens stand around each window",
            (int)d->options.block, (int)frame);
    const uint64_t usable = d->count - is_next(d);
    if (usable < (uint64_t)d->inner)
        d->inner = (int32_t)usable;
    d->rows = (usable + (d->is_held ? (uint64_t)d->inner - 1 : 0)) / (uint64_t)d->inner;
    d->T = d->window = d->inner + frame;
    d->summary.examples = d->rows;
    d->summary.tokens =
        usable < d->rows * (uint64_t)d->inner ? usable : d->rows * (uint64_t)d->inner;
    return TSR_OK;
}

static int32_t at_most(uint32_t n, int32_t most) {
    return n < (uint32_t)most ? (int32_t)n : most;
}

static tsr_status measure_entry(tsri_train_data *d, const tsri_train_token_file *file,
                                const tsri_train_entry *e) {
    const tsri_train_data_options *o = &d->options;
    const bool translate = o->objective == TSRI_OBJECTIVE_TRANSLATE;
    const uint32_t whole = tsri_train_entry_tokens(o->objective, e);
    if (translate) {
        const int32_t S = at_most(e->n, o->block), T = at_most(e->more, o->target_block);
        d->S = S > d->S ? S : d->S;
        d->T = T > d->T ? T : d->T;
        d->summary.tokens += (uint64_t)S + (uint64_t)T;
        d->summary.cut += (uint32_t)S < e->n || (uint32_t)T < e->more;
        return TSR_OK;
    }
    if (is_next(d) && e->more && e->n > (uint32_t)o->block)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: line %" PRIu32 ": the source alone has %" PRIu32
                              " tokens, which leaves none of the block's %d for the target",
                              file->path, e->line, e->n, (int)o->block);
    const int32_t T = at_most(whole, o->block);
    d->T = T > d->T ? T : d->T;
    d->summary.tokens += (uint64_t)T;
    d->summary.cut += (uint32_t)T < whole;
    return TSR_OK;
}

/* The sizes cover all examples, including those that belong to the other view. */
static tsr_status measure_examples(tsri_train_data *d) {
    tsri_train_entry *entries = NULL;
    tsr_status status = tsri_base_new(ENTRIES_AT_ONCE, sizeof *entries, &entries);
    const uint64_t all = d->corpus->first[d->corpus->n];
    for (size_t f = 0; f < d->corpus->n; f++) {
        const tsri_train_token_file *file = d->corpus->files[f];
        for (uint64_t at = 0; at < file->n_examples && status == TSR_OK; at += ENTRIES_AT_ONCE) {
            const uint64_t left = file->n_examples - at;
            const size_t n = left < ENTRIES_AT_ONCE ? (size_t)left : ENTRIES_AT_ONCE;
            status = tsri_train_token_file_entries(file, at, n, entries);
            for (size_t i = 0; i < n && status == TSR_OK; i++)
                status = measure_entry(d, file, &entries[i]);
        }
    }
    free(entries);
    d->rows = d->summary.examples = d->count;
    if (d->count < all)
        d->summary.tokens =
            (uint64_t)((double)d->summary.tokens * (double)d->count / (double)all + 0.5);
    return status;
}

static tsr_status make_buffers(tsri_train_data *d) {
    const size_t B = (size_t)d->B, T = (size_t)d->T, S = (size_t)d->S;
    size_t cells, source;
    if (!tsri_base_mul(B, T, &cells) || !tsri_base_mul(B, S, &source))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "batches of %zu sequences of %zu tokens are too large", B, T);
    TRY(tsri_base_new(cells, sizeof *d->ids, &d->ids));
    TRY(tsri_base_new(cells, sizeof *d->targets, &d->targets));
    TRY(tsri_base_new(B, sizeof *d->len, &d->len));
    TRY(tsri_base_new(source, sizeof *d->source, &d->source));
    TRY(tsri_base_new(B, sizeof *d->source_len, &d->source_len));
    return tsri_base_new(T + S + 2, sizeof *d->scratch, &d->scratch);
}

static tsr_status measure(tsri_train_data *d) {
    TRY(d->stream ? measure_stream(d) : measure_examples(d));
    d->B = d->rows < (uint64_t)d->options.batch ? (int32_t)d->rows : d->options.batch;
    for (size_t i = 0; i < d->corpus->n; i++)
        d->summary.bytes += d->corpus->files[i]->bytes;
    return TSR_OK;
}

/* ---- validation ---- */

/* The view that is held back shares the training view's options, encoder and labels. */
static tsr_status hold_out(tsri_train_data *d, const tsri_train_token_file_options *options) {
    const tsri_train_data_options *o = &d->options;
    const bool files = o->n_validation_paths > 0;
    if (!files && !(o->validation > 0))
        return TSR_OK;
    TRY(tsri_base_new(1, sizeof *d->held, &d->held));
    tsri_train_data *h = d->held;
    h->options = *o;
    h->encoder = d->encoder;
    h->is_held = true;
    h->stream = d->stream;
    h->corpus = files ? &h->own : d->corpus;
    if (files) {
        tsri_train_token_file_options whole = *options;
        whole.bpe_dropout = 0;
        TRY(tsri_train_corpus_open(o->validation_paths, o->n_validation_paths, &whole, d->stream,
                                   &h->own));
        h->count = h->own.first[h->own.n];
        return TSR_OK;
    }
    h->count = (uint64_t)floor(o->validation * (double)d->count);
    h->begin = d->count - h->count;
    d->count = h->begin;
    d->split = h->split = !d->stream;
    if (h->count > (uint64_t)(d->stream && is_next(d)))
        return TSR_OK;
    d->count += h->count; /* it is too small for a batch: training keeps it */
    d->split = false;
    tsri_train_data_close(&d->held);
    return TSR_OK;
}

static tsr_status measure_both(tsri_train_data *d) {
    tsri_train_data *h = d->held;
    TRY(measure(d));
    if (!h)
        return make_buffers(d);
    TRY(measure(h));
    d->T = h->T = d->T > h->T ? d->T : h->T;
    d->S = h->S = d->S > h->S ? d->S : h->S;
    d->B = h->B = d->B > h->B ? d->B : h->B;
    TRY(make_buffers(h));
    return make_buffers(d);
}

static tsr_status find_labels(tsri_train_data *d) {
    tsri_train_corpus *corpora[2] = {d->corpus, d->held ? d->held->corpus : NULL};
    if (d->options.objective < TSRI_OBJECTIVE_CLASSIFY)
        return TSR_OK;
    return tsri_train_corpus_labels(d->encoder.model, corpora,
                                    corpora[1] && corpora[1] != corpora[0] ? 2 : 1, &d->labels,
                                    &d->n_labels);
}

/* ---- which texts ---- */

static tsr_status identify(tsri_train_data *d) {
    const tsri_train_corpus *held = d->held && d->held->own.n ? &d->held->own : NULL;
    TRY(tsri_base_bytes_printf(&d->identity, "%s", d->encoder.digest));
    for (size_t i = 0; i < d->corpus->n; i++)
        TRY(tsri_base_bytes_printf(&d->identity, " %s", d->corpus->files[i]->digest));
    for (size_t i = 0; held && i < held->n; i++)
        TRY(tsri_base_bytes_printf(&d->identity, " %s", held->files[i]->digest));
    return TSR_OK;
}

const char *tsri_train_data_identity(const tsri_train_data *data) {
    return data->identity.data;
}

static const char *path_of(const tsri_train_data *d, size_t i) {
    return i < d->corpus->n ? d->corpus->files[i]->path
                            : d->held->own.files[i - d->corpus->n]->path;
}

tsr_status tsri_train_data_check(const tsri_train_data *d, const char *identity) {
    enum { STEP = 65 }; /* a digest and a space */
    const char *mine = d->identity.data;
    const size_t n = strlen(identity), here = strlen(mine);
    if (!strcmp(identity, mine))
        return TSR_OK;
    if (n != here)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "the checkpoint's run read %zu files, but %zu are given now; resuming "
            "needs the same files",
            n / STEP, here / STEP);
    for (size_t i = 0; (i + 1) * STEP <= n; i++) {
        const char *then = identity + (i + 1) * STEP, *now = mine + (i + 1) * STEP;
        if (strncmp(then, now, STEP - 1))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s has changed since the checkpoint (its SHA-256 began with "
                                  "%.12s, and now begins with %.12s); resuming needs the old text",
                                  path_of(d, i), then, now);
    }
    return tsri_base_fail(TSR_E_FORMAT, "the checkpoint's run read the data with another tokenizer "
                                        "or other fields; resuming needs the same ones");
}

/* ---- opening ---- */

static tsr_status bytes_of(const char *const *paths, size_t n, uint64_t *total) {
    for (size_t i = 0; i < n; i++) {
        tsri_file *file = NULL;
        TRY(tsri_base_file_open(paths[i], &file));
        *total += file->size;
        tsri_base_file_close(&file);
    }
    return TSR_OK;
}

static tsr_status open_data(tsri_train_data *d, const tsri_model *model) {
    const tsri_train_data_options *o = &d->options;
    const uint64_t begun = tsri_base_now_ns();
    uint64_t done = 0;
    tsri_train_token_file_options options = {.data = o,
                                             .encoder = &d->encoder,
                                             .workspace = o->workspace,
                                             .bpe_dropout = o->bpe_dropout,
                                             .done = &done,
                                             .prepared = &d->summary.prepared};
    TRY(check_options(&d->options, model));
    TRY(bytes_of(o->paths, o->n_paths, &options.total));
    TRY(bytes_of(o->validation_paths, o->n_validation_paths, &options.total));
    TRY(tsri_train_encoder_make(model, o, &d->encoder));
    TRY(tsri_base_make_folders(o->workspace));
    d->stream = d->encoder.wants == TSRI_WANTS_PIECES;
    d->corpus = &d->own;
    TRY(tsri_train_corpus_open(o->paths, o->n_paths, &options, d->stream, &d->own));
    d->count = d->own.first[d->own.n];
    TRY(hold_out(d, &options));
    d->summary.seconds = (double)(tsri_base_now_ns() - begun) * 1e-9;
    TRY(find_labels(d));
    TRY(measure_both(d));
    return identify(d);
}

tsr_status tsri_train_data_open(tsr_model *model, const tsri_train_data_options *options,
                                tsri_train_data **out) {
    tsri_train_data *d = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *d, &d));
    d->options = *options;
    const tsr_status status = open_data(d, tsri_model_of(model));
    if (status != TSR_OK)
        tsri_train_data_close(&d);
    *out = d;
    return status;
}

void tsri_train_data_close(tsri_train_data **data) {
    tsri_train_data *d = *data;
    if (!d)
        return;
    tsri_train_data_close(&d->held);
    tsri_train_corpus_close(&d->own);
    tsri_train_labels_free(&d->labels, d->n_labels);
    tsri_base_bytes_clear(&d->identity);
    free(d->ids);
    free(d->targets);
    free(d->len);
    free(d->source);
    free(d->source_len);
    free(d->scratch);
    free(d->pool);
    free(d);
    *data = NULL;
}

/* ---- what is known ---- */

uint64_t tsri_train_data_batches(const tsri_train_data *d) {
    return (d->rows + (uint64_t)d->B - 1) / (uint64_t)d->B;
}

tsr_status tsri_train_data_validation(tsri_train_data *data, tsri_train_data **out) {
    *out = data->held;
    return TSR_OK;
}

tsr_status tsri_train_data_source(const tsri_train_data *data, const char *text, size_t n,
                                  tsri_text_ids *ids) {
    TRY(tsri_train_encode_source(&data->encoder, (tsri_train_span){text, n}, ids));
    ids->count = ids->count > (size_t)data->S ? (size_t)data->S : ids->count;
    return TSR_OK;
}

void tsri_train_data_sizes(const tsri_train_data *data, int32_t *B, int32_t *T, int32_t *S) {
    *B = data->B;
    *T = data->T;
    *S = data->S;
}

const char *const *tsri_train_data_labels(const tsri_train_data *data, size_t *n) {
    *n = data->n_labels;
    return (const char *const *)data->labels;
}

void tsri_train_data_summarize(const tsri_train_data *data, tsri_train_data_summary *out) {
    *out = data->summary;
}

/* task/show/dump.c - runs a batch through a model's stacks, and writes all intermediate results by
 * name. */
#include "tessera/dump.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/weights/weights.h"
#include "task/show/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct dump {
    tsr_dump_inputs in;
    const tsri_model *model;
    bool encodes, decodes;
    tsri_task_dump_side enc, dec;
    int64_t *starts; /* [B] the start tokens of rows without decoder_input_ids */
    float *logits, *pooled, *labels, *next, **cross;
    tsri_task_dump_file file;
} dump;

static bool has(const dump *d, uint32_t weight) {
    return tsri_model_weight_at(d->model->weights, weight) != NULL;
}

/* The number of labels; a config need not name them. */
static int64_t label_count(const dump *d) {
    return tsri_model_weight_at(d->model->weights, TSRI_WEIGHT_LABEL)->dims[0];
}

/* Makes rows that have the start token alone. */
static tsr_status start_rows(dump *d) {
    const tsri_model_spec *spec = &d->model->spec;
    if (spec->decoder_start < 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s has a decoder, but no token for it to start with: give "
                              "decoder_input_ids",
                              d->model->path);
    TRY(tsri_base_new((size_t)d->in.B, sizeof *d->starts, &d->starts));
    for (int64_t b = 0; b < d->in.B; b++)
        d->starts[b] = spec->decoder_start;
    d->dec.ids = d->starts;
    d->dec.T = 1;
    return TSR_OK;
}

static tsr_status take_inputs(dump *d) {
    const tsri_model_spec *spec = &d->model->spec;
    const tsr_dump_inputs *in = &d->in;
    const bool both = d->encodes && d->decodes;
    const tsri_task_dump_side first = {.input = "input_ids",
                                       .ids = in->input_ids,
                                       .mask = in->attention_mask,
                                       .positions = in->position_ids,
                                       .types = in->token_type_ids,
                                       .B = in->B,
                                       .T = in->T};
    d->enc = d->dec = first;
    if (both)
        d->dec = (tsri_task_dump_side){.input = "decoder_input_ids",
                                       .ids = in->decoder_input_ids,
                                       .mask = in->decoder_attention_mask,
                                       .positions = in->decoder_position_ids,
                                       .B = in->B,
                                       .T = in->decoder_T};
    d->enc.stack = &spec->encoder;
    d->enc.vocab = spec->source_vocab;
    d->enc.context = spec->source_context;
    d->enc.prefix = both ? "enc." : "";
    d->dec.stack = &spec->decoder;
    d->dec.vocab = spec->vocab;
    d->dec.context = spec->context;
    d->dec.prefix = both ? "dec." : "";
    if (!both && (in->decoder_input_ids || in->decoder_attention_mask || in->decoder_position_ids))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s (%s) reads only input_ids: leave out the inputs of a decoder",
                              d->model->path, spec->family);
    if (in->token_type_ids && !spec->token_types)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s (%s) has no token types: leave out token_type_ids",
                              d->model->path, spec->family);
    if (both && !in->decoder_input_ids)
        TRY(start_rows(d));
    if (d->encodes)
        TRY(tsri_task_dump_compact(&d->enc));
    return d->decodes ? tsri_task_dump_compact(&d->dec) : TSR_OK;
}

/* ---- the run ---- */

static tsr_status room(float **array, int64_t rows, int64_t width) {
    return tsri_base_new((size_t)rows * (size_t)width, sizeof **array, array);
}

static tsr_status make_cross(dump *d) {
    const int32_t layers = d->dec.stack->layers;
    int64_t shares = 0;
    for (int64_t b = 0; b < d->in.B; b++)
        shares += d->dec.stack->heads * d->dec.sequences[b].n * d->enc.sequences[b].n;
    TRY(tsri_base_new((size_t)layers, sizeof *d->cross, &d->cross));
    for (int32_t l = 0; l < layers; l++)
        TRY(room(&d->cross[l], shares, 1));
    return TSR_OK;
}

/* Makes room for the results of the heads of a model without a decoder. */
static tsr_status make_heads(dump *d) {
    const tsri_model_spec *spec = &d->model->spec;
    if (tsri_model_has_masked(d->model->weights))
        TRY(room(&d->logits, d->enc.N, spec->vocab));
    if (has(d, TSRI_WEIGHT_POOLER))
        TRY(room(&d->pooled, d->in.B, spec->width));
    if (has(d, TSRI_WEIGHT_LABEL))
        TRY(room(&d->labels, spec->label_tokens ? d->enc.N : d->in.B, label_count(d)));
    return has(d, TSRI_WEIGHT_NEXT) ? room(&d->next, d->in.B, 2) : TSR_OK;
}

static tsr_status make_room(dump *d) {
    const tsri_model_spec *spec = &d->model->spec;
    if (d->encodes)
        TRY(tsri_task_dump_room(&d->enc, spec->width, d->in.attention));
    if (!d->decodes)
        return make_heads(d);
    TRY(tsri_task_dump_room(&d->dec, spec->width, d->in.attention));
    if (tsri_model_has_output(d->model->weights))
        TRY(room(&d->logits, d->dec.N, spec->vocab));
    return d->encodes && d->in.attention ? make_cross(d) : TSR_OK;
}

static tsr_status run(dump *d, tsri_model *model) {
    const int32_t B = (int32_t)d->in.B;
    const tsri_session_sizes sizes = {.slots = B,
                                      .context = d->decodes ? d->dec.T : d->enc.T,
                                      .sources = B,
                                      .source_context = d->encodes ? d->enc.T : 0};
    const tsri_model_results encoded = {.rows = TSRI_ROWS_ALL,
                                        .hidden = d->enc.hidden,
                                        .attention = d->enc.attention,
                                        .logits = d->decodes ? NULL : d->logits,
                                        .pooled = d->pooled,
                                        .labels = d->labels,
                                        .next = d->next},
                             decoded = {.rows = TSRI_ROWS_ALL,
                                        .hidden = d->dec.hidden,
                                        .attention = d->dec.attention,
                                        .cross = d->cross,
                                        .logits = d->logits};
    tsri_session *session;
    TRY(tsri_session_create_sized(model, &sizes, &session));
    tsr_status status = TSR_OK;
    if (d->encodes)
        status = tsri_session_encode(session, d->enc.sequences, B, &encoded);
    if (status == TSR_OK && d->decodes)
        status = tsri_session_forward(session, d->dec.sequences, B, &decoded);
    tsri_session_destroy(&session);
    return status;
}

/* ---- the file ---- */

static tsr_status add_stack(dump *d, const tsri_task_dump_side *side) {
    const int32_t width = tsri_model_stack_width(&d->model->spec, side->stack);
    char name[32];
    if (side->stack->recurrent) { /* it has only one layer's hidden states */
        snprintf(name, sizeof name, "%shidden", side->prefix);
        return tsri_task_dump_rows(&d->file, side, name, width, side->hidden[1]);
    }
    for (int32_t l = 0; l <= side->stack->layers; l++) {
        snprintf(name, sizeof name, "%shidden.%d", side->prefix, (int)l);
        TRY(tsri_task_dump_rows(&d->file, side, name, width, side->hidden[l]));
    }
    for (int32_t l = 0; side->attention && l < side->stack->layers; l++) {
        snprintf(name, sizeof name, "%sattn.%d", side->prefix, (int)l);
        TRY(tsri_task_dump_shares(&d->file, side, side, name, side->stack->heads,
                                  side->attention[l]));
    }
    return TSR_OK;
}

static tsr_status add_heads(dump *d) {
    const tsri_model_spec *spec = &d->model->spec;
    const char *labels =
        d->logits ? "labels"
                  : "logits"; /* as transformers names them: a single head's output is "logits" */
    if (d->logits)
        TRY(tsri_task_dump_rows(&d->file, d->decodes ? &d->dec : &d->enc, "logits", spec->vocab,
                                d->logits));
    if (d->pooled)
        TRY(tsri_task_dump_matrix(&d->file, "pooled", d->in.B, spec->width, d->pooled));
    if (d->next)
        TRY(tsri_task_dump_matrix(&d->file, "next", d->in.B, 2, d->next));
    if (!d->labels)
        return TSR_OK;
    return spec->label_tokens
               ? tsri_task_dump_rows(&d->file, &d->enc, labels, label_count(d), d->labels)
               : tsri_task_dump_matrix(&d->file, labels, d->in.B, label_count(d), d->labels);
}

static tsr_status write(dump *d, const char *path) {
    char name[32];
    if (d->encodes)
        TRY(add_stack(d, &d->enc));
    if (d->decodes)
        TRY(add_stack(d, &d->dec));
    for (int32_t l = 0; d->cross && l < d->dec.stack->layers; l++) {
        snprintf(name, sizeof name, d->dec.stack->recurrent ? "attn" : "cross.attn.%d", (int)l);
        TRY(tsri_task_dump_shares(&d->file, &d->dec, &d->enc, name, d->dec.stack->heads,
                                  d->cross[l]));
    }
    TRY(add_heads(d));
    return tsri_task_dump_write(&d->file, path);
}

static void clear(dump *d) {
    for (int32_t l = 0; d->cross && l < d->dec.stack->layers; l++)
        free(d->cross[l]);
    free(d->cross);
    free(d->starts);
    free(d->logits);
    free(d->pooled);
    free(d->labels);
    free(d->next);
    tsri_task_dump_side_clear(&d->enc);
    tsri_task_dump_side_clear(&d->dec);
    tsri_task_dump_file_clear(&d->file);
}

tsr_status tsr_dump(tsr_model *model, const tsr_dump_inputs *inputs, const char *path) {
    TRY(NEED(model));
    TRY(NEED(path));
    tsri_model *m = tsri_model_of(model);
    dump d = {
        .model = m, .encodes = m->spec.encoder.layers > 0, .decodes = m->spec.decoder.layers > 0};
    TRY(tsri_base_adopt("tsr_dump_inputs", inputs, &d.in, sizeof d.in));
    TRY(tsri_model_need_device(m));
    tsr_status status = take_inputs(&d);
    if (status == TSR_OK)
        status = make_room(&d);
    if (status == TSR_OK)
        status = run(&d, m);
    if (status == TSR_OK)
        status = write(&d, path);
    clear(&d);
    return status;
}

/* model/session/encode_results.c - reads the results of an encoder's runs into staging, and
 * puts them into the caller's rows. */
#include "base/error.h"
#include "base/memory.h"
#include "model/session/encode.h"

#include <string.h>

typedef tsri_model_encoded_kind kind;
typedef tsri_model_encode_run run;

void tsri_model_encode_kinds(tsri_model_encoder *e, const tsri_model_spec *spec, int64_t labels,
                             const tsri_model_results *r) {
    const kind all[TSRI_MODEL_ENCODED_KINDS] = {
        {TSRI_OUTPUT_LOGITS, r->logits, spec->vocab, true},
        {TSRI_OUTPUT_ARGMAX, r->argmax, 1, true},
        {TSRI_OUTPUT_TOP_LOGITS, r->top_k ? r->top_logits : NULL, r->top_k, true},
        {TSRI_OUTPUT_TOP_IDS, r->top_k ? r->top_ids : NULL, r->top_k, true},
        {TSRI_OUTPUT_TOP_LSE, r->top_k ? r->top_lse : NULL, 1, true},
        {TSRI_OUTPUT_STATES, r->states, spec->width, true},
        {TSRI_OUTPUT_VECTORS, r->vectors, spec->width, false},
        {TSRI_OUTPUT_POOLED, r->pooled, spec->width, false},
        {TSRI_OUTPUT_LABELS, r->labels, labels, spec->label_tokens},
        {TSRI_OUTPUT_NEXT, r->next, 2, false}};
    memcpy(e->kinds, all, sizeof all);
}

static int64_t rows_of(const run *run, const kind *kind) {
    return kind->by_row ? run->wanted : run->B;
}

static int64_t place_of(const tsri_model_encoder *e, const run *run, const kind *kind, int64_t i) {
    return kind->by_row ? run->destination[i] : e->order[run->first + i].number;
}

static tsr_status bind_stage(tsri_model_encoder *e, run *run, uint32_t id,
                             tsri_model_staging *stage, int64_t elements) {
    TRY(tsri_base_grow(&stage->data, &stage->room, (size_t)elements, sizeof(float)));
    e->outputs[run->n_outputs++] = (tsri_run_binding){
        .id = id, .data = stage->data, .bytes = (size_t)elements * sizeof(float)};
    return TSR_OK;
}

tsr_status tsri_model_encode_bind(tsri_session *session, run *run, bool encoded) {
    tsri_model_encoder *e = session->encoder;
    const tsri_model_spec *spec = &session->model->spec;
    const tsri_model_results *r = run->results;
    const int32_t L = spec->encoder.layers;
    run->n_outputs = 0;
    for (int i = 0; i < TSRI_MODEL_ENCODED_KINDS; i++) {
        const kind *kind = &e->kinds[i];
        if (kind->to && rows_of(run, kind))
            TRY(bind_stage(e, run, kind->id, &run->stages[i], rows_of(run, kind) * kind->width));
    }
    if (encoded)
        TRY(bind_stage(e, run, TSRI_OUTPUT_ENCODED, &run->encoded, run->B * run->T * spec->width));
    if ((r->hidden || r->attention) && !run->per_token)
        TRY(tsri_base_new(e->per_token, sizeof *run->per_token, &run->per_token));
    for (int32_t i = 0; r->hidden && i <= L; i++)
        TRY(bind_stage(e, run, TSRI_OUTPUT_HIDDEN + (uint32_t)i, &run->per_token[i],
                       run->B * run->T * tsri_model_stack_width(spec, &spec->encoder)));
    for (int32_t i = 0; r->attention && i < tsri_model_attention_layers(&spec->encoder); i++)
        TRY(bind_stage(e, run, TSRI_OUTPUT_ATTENTION + (uint32_t)i, &run->per_token[L + 1 + i],
                       run->B * spec->encoder.heads * run->T * run->T));
    return TSR_OK;
}

/* Copies [B,H,T,T] with padding to [H,n,n] for each sequence; `to` is where that of the batch's
 * first sequence begins. */
static void scatter_attention(const tsri_model_encoder *e, const run *run, int64_t H,
                              const float *from, float *to) {
    for (int64_t b = 0; b < run->B; b++) {
        const int32_t number = e->order[run->first + b].number;
        const int64_t n = run->sequences[number].n;
        float *own = to;
        for (int32_t i = 0; i < number; i++)
            own += H * run->sequences[i].n * run->sequences[i].n;
        for (int64_t h = 0; h < H; h++)
            for (int64_t t = 0; t < n; t++, own += n)
                memcpy(own, from + ((b * H + h) * run->T + t) * run->T, (size_t)n * sizeof(float));
    }
}

void tsri_model_encode_scatter(const tsri_session *session, const run *run) {
    const tsri_model_encoder *e = session->encoder;
    const tsri_model_spec *spec = &session->model->spec;
    const tsri_model_results *r = run->results;
    const int64_t C = tsri_model_stack_width(spec, &spec->encoder);
    for (int i = 0; i < TSRI_MODEL_ENCODED_KINDS; i++) {
        const kind *kind = &e->kinds[i];
        for (int64_t row = 0; kind->to && row < rows_of(run, kind); row++)
            memcpy((float *)kind->to + place_of(e, run, kind, row) * kind->width,
                   run->stages[i].data + row * kind->width, (size_t)kind->width * sizeof(float));
    }
    for (int32_t i = 0; r->hidden && i <= spec->encoder.layers; i++)
        for (int64_t b = 0; b < run->B; b++) {
            const int32_t number = e->order[run->first + b].number;
            memcpy(r->hidden[i] + e->offset[number] * C, run->per_token[i].data + b * run->T * C,
                   (size_t)(run->sequences[number].n * C) * sizeof(float));
        }
    for (int32_t i = 0; r->attention && i < tsri_model_attention_layers(&spec->encoder); i++)
        scatter_attention(e, run, spec->encoder.heads,
                          run->per_token[spec->encoder.layers + 1 + i].data, r->attention[i]);
}

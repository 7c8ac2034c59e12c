/* task/bench/gate.c - compares a model's results with the reference's, because a wrong kernel gets
 * no rate, however fast it is. */
#include "task/bench/bench.h"

#include "base/error.h"
#include "base/memory.h"
#include "tessera/session.h"

#include <math.h>
#include <stdlib.h>

enum { T = TSRI_TASK_GATE_TOKENS };

static tsr_status make_room(tsri_task_gate *gate, int32_t batch) {
    const size_t width = (size_t)gate->width;
    TRY(tsri_base_new((size_t)batch * width, sizeof *gate->prompt, &gate->prompt));
    return tsri_base_new(T * width, sizeof *gate->next, &gate->next);
}

/* An encoder-decoder reads the prompt, too, as the text to translate. */
static tsr_status create(tsr_model *model, uint32_t batch, const int32_t *ids, tsr_session **out) {
    const tsr_session_options options = {
        .struct_size = sizeof options, .sequences = batch, .context = T + 1, .reserve = T + 1};
    TRY(tsr_session_create(model, &options, out));
    tsr_status status = TSR_OK;
    for (uint32_t b = 0; b < batch && tsri_model_of(model)->spec.encoder.layers; b++)
        if (status == TSR_OK)
            status = tsr_session_encode(*out, b, ids, T);
    return status;
}

/* Of the rows of a batch, which should be equal, keeps the one that differs most from the first. */
static void keep_worst(int32_t batch, tsri_task_gate *gate) {
    const size_t width = (size_t)gate->width;
    size_t worst = 0;
    double most = 0;
    for (size_t b = 1; b < (size_t)batch; b++) {
        const double apart =
            tsri_task_gate_error(gate->prompt + b * width, gate->prompt, gate->width);
        worst = apart > most ? b : worst;
        most = apart > most ? apart : most;
    }
    for (size_t i = 0; worst && i < width; i++)
        gate->prompt[i] = gate->prompt[worst * width + i];
}

/* On the device, runs the prompt in every sequence of a batch, so that the kernel variants for many
 * tokens run; the reference runs it once. */
static tsr_status run_prompt(tsr_model *model, int32_t batch, const int32_t *ids,
                             tsri_task_gate *gate) {
    tsr_session *session = NULL;
    tsr_status status = create(model, (uint32_t)batch, ids, &session);
    if (status == TSR_OK)
        status = tsr_session_step(session, ids, T, gate->prompt, NULL);
    tsr_session_destroy(&session);
    return status;
}

/* Runs the prompt's tokens one at a time. */
static tsr_status run_next(tsr_model *model, const int32_t *ids, tsri_task_gate *gate) {
    tsr_session *session = NULL;
    tsr_status status = create(model, 1, ids, &session);
    for (size_t t = 0; t < T && status == TSR_OK; t++)
        status = tsr_session_step(session, ids + t, 1, gate->next + t * (size_t)gate->width, NULL);
    tsr_session_destroy(&session);
    return status;
}

static tsr_status run_encoder(tsr_model *model, int32_t batch, const int32_t *ids, float *vectors) {
    tsri_model_sequence texts[TSRI_TASK_GATE_BATCH];
    const tsri_model_results results = {.vectors = vectors, .pooling = TSR_POOL_MEAN};
    tsri_session *session = NULL;
    for (int32_t b = 0; b < batch; b++)
        texts[b] = (tsri_model_sequence){.ids = ids, .n = T};
    TRY(tsri_session_create(tsri_model_of(model), 1, 0, &session));
    const tsr_status status = tsri_session_encode(session, texts, batch, &results);
    tsri_session_destroy(&session);
    return status;
}

static bool computes_exactly(tsr_model *model) {
    static const int64_t one[TSR_SYMBOLS] = {1, 1, 1, 1, 1};
    tsri_session *session = NULL;
    tsri_run_plan *plan = NULL;
    tsri_run_work work = {0};
    if (tsri_session_create(tsri_model_of(model), 1, T, &session) == TSR_OK &&
        tsri_session_plan(session, 1, &plan) == TSR_OK)
        tsri_run_work_of(plan, one, &work);
    tsri_session_destroy(&session);
    return work.flops[TSR_COMPUTE_F16] == 0 && work.flops[TSR_COMPUTE_INT8] == 0 &&
           work.flops[TSR_COMPUTE_BF16] == 0;
}

tsr_status tsri_task_gate_run(tsr_model *model, bool device, tsri_task_gate *out) {
    const tsri_model_spec *spec = &tsri_model_of(model)->spec;
    const int32_t batch = device ? TSRI_TASK_GATE_BATCH : 1;
    int32_t ids[TSRI_TASK_GATE_BATCH * T];
    *out = (tsri_task_gate){.exact = computes_exactly(model),
                            .encoder = spec->encoder.layers && !spec->decoder.layers};
    const int32_t known = out->encoder ? spec->source_vocab : spec->vocab;
    out->width = out->encoder ? (int32_t)spec->width : spec->vocab;
    TRY(make_room(out, batch));
    for (int32_t b = 0; b < batch; b++)
        tsri_task_bench_ids(ids + b * T, T, known);
    TRY(out->encoder ? run_encoder(model, batch, ids, out->prompt)
                     : run_prompt(model, batch, ids, out));
    keep_worst(batch, out);
    if (!device)
        return TSR_OK;
    return out->encoder ? run_encoder(model, 1, ids, out->next) : run_next(model, ids, out);
}

const float *tsri_task_gate_last(const tsri_task_gate *gate) {
    return gate->next + (gate->encoder ? 0 : (size_t)(T - 1) * (size_t)gate->width);
}

void tsri_task_gate_clear(tsri_task_gate *gate) {
    free(gate->prompt);
    free(gate->next);
    *gate = (tsri_task_gate){0};
}

double tsri_task_gate_error(const float *got, const float *want, int32_t n) {
    double worst = 0, largest = 0;
    for (int32_t i = 0; i < n; i++) {
        const double apart = fabs((double)got[i] - (double)want[i]);
        if (!isfinite(apart))
            return INFINITY;
        worst = apart > worst ? apart : worst;
        largest = fabs((double)want[i]) > largest ? fabs((double)want[i]) : largest;
    }
    return largest > 0 ? worst / largest : worst;
}

/* f32 against the reference's double: the rounding of sums of some thousand terms through some
 * dozen layers stays below 1e-4. Where activations are rounded to 8 bits or to half precision, a
 * sum that differs in its last bit may round to the neighbouring value, 1/127 of a row's largest
 * away. */
double tsri_task_gate_bound(const tsri_task_gate *gate) {
    return gate->exact ? 1e-3 : 3e-2;
}

/* task/bench/gate.c - compares a model's logits with the reference's, because a wrong
 * kernel gets no rate, however fast it is. */
#include "task/bench/bench.h"

#include "base/error.h"
#include "base/memory.h"
#include "tessera/session.h"

#include <math.h>
#include <stdlib.h>

enum { T = TSRI_TASK_GATE_TOKENS };

static tsr_status make_room(tsri_task_gate *gate, int32_t batch) {
    TRY(tsri_base_new((size_t)batch * (size_t)gate->vocab, sizeof *gate->prompt, &gate->prompt));
    return tsri_base_new((size_t)gate->vocab, sizeof *gate->next, &gate->next);
}

static tsr_status create(tsr_model *model, uint32_t batch, tsr_session **out) {
    const tsr_session_options options = {
        .struct_size = sizeof options, .sequences = batch, .context = T + 1, .reserve = T + 1};
    return tsr_session_create(model, &options, out);
}

/* On the device, runs the prompt in every sequence of a batch, so that the kernel variants for many
 * tokens run; the reference runs it once. Keeps the logits that differ most from the first
 * sequence's. */
static tsr_status run_prompt(tsr_model *model, int32_t batch, int32_t *ids, tsri_task_gate *gate) {
    tsr_session *session = NULL;
    TRY(create(model, (uint32_t)batch, &session));
    for (int32_t b = 0; b < batch; b++)
        tsri_task_bench_ids(ids + b * T, T, gate->vocab);
    const tsr_status status = tsr_session_step(session, ids, T, gate->prompt, NULL);
    tsr_session_destroy(&session);
    TRY(status);
    int32_t worst = 0;
    double most = 0;
    for (int32_t b = 1; b < batch; b++) {
        const double apart = tsri_task_gate_error(gate->prompt + (size_t)b * (size_t)gate->vocab,
                                                  gate->prompt, gate->vocab);
        worst = apart > most ? b : worst;
        most = apart > most ? apart : most;
    }
    for (int32_t i = 0; worst && i < gate->vocab; i++)
        gate->prompt[i] = gate->prompt[(size_t)worst * (size_t)gate->vocab + (size_t)i];
    return TSR_OK;
}

/* Runs the prompt's tokens one at a time. */
static tsr_status run_next(tsr_model *model, const int32_t *ids, tsri_task_gate *gate) {
    tsr_session *session = NULL;
    TRY(create(model, 1, &session));
    tsr_status status = TSR_OK;
    for (int64_t t = 0; t < T && status == TSR_OK; t++)
        status = tsr_session_step(session, ids + t, 1, gate->next, NULL);
    tsr_session_destroy(&session);
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
    const int32_t batch = device ? TSRI_TASK_GATE_BATCH : 1;
    int32_t ids[TSRI_TASK_GATE_BATCH * T];
    *out = (tsri_task_gate){.vocab = tsri_model_of(model)->spec.vocab,
                            .exact = computes_exactly(model)};
    TRY(make_room(out, batch));
    TRY(run_prompt(model, batch, ids, out));
    return device ? run_next(model, ids, out) : TSR_OK;
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

/* task/bench/training.c - times training steps: gradients, their norm, an update by AdamW. */
#include "task/bench/bench.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/structs.h"
#include "train/step/training.h"

#include <math.h>
#include <stdlib.h>

struct tsr_bench_training {
    tsr_model *model;
    tsri_training *training;
    int32_t *ids, *targets, *len;
    int32_t batch, tokens, vocab;
    uint64_t steps;
    tsri_training_memory memory;
};

static tsr_status make_batch(tsr_bench_training *t) {
    const size_t n = (size_t)t->batch * (size_t)t->tokens;
    TRY(tsri_base_new(n, sizeof *t->ids, &t->ids));
    TRY(tsri_base_new(n, sizeof *t->targets, &t->targets));
    TRY(tsri_base_new((size_t)t->batch, sizeof *t->len, &t->len));
    for (int32_t b = 0; b < t->batch; b++)
        t->len[b] = t->tokens;
    return TSR_OK;
}

tsr_status tsr_bench_training_create(const char *name, tsr_device *device, uint32_t batch,
                                     int64_t tokens, uint32_t compute, tsr_bench_training **out) {
    TRY(NEED(device));
    TRY(NEED(out));
    const tsr_model_options as_stored = {.struct_size = sizeof as_stored};
    const tsri_training_options options = {
        .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = 0.01f, .compute = compute};
    tsr_bench_training *t = NULL;
    *out = NULL;
    if (compute != TSR_COMPUTE_F32 && compute != TSR_COMPUTE_BF16)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "products are of compute %u; a training forms them in f32 (0) or bf16 (3)", compute);
    if (!batch || tokens < 1 || tokens > INT32_MAX / batch)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "a batch of %u sequences of %lld tokens: it must have at least one of "
            "each, and at most 2147483647 tokens",
            batch, (long long)tokens);
    TRY(tsri_base_new(1, sizeof *t, &t));
    t->batch = (int32_t)batch;
    t->tokens = (int32_t)tokens;
    tsr_status status = tsr_model_open(name, NULL, &as_stored, &t->model);
    if (status == TSR_OK && tokens > tsri_model_of(t->model)->spec.max_positions)
        status = tsri_base_fail(
            TSR_E_UNSUPPORTED, "sequences of %lld tokens are too long: the model reads %lld",
            (long long)tokens, (long long)tsri_model_of(t->model)->spec.max_positions);
    if (status == TSR_OK) {
        t->vocab = tsri_model_of(t->model)->spec.vocab;
        status = make_batch(t);
    }
    if (status == TSR_OK)
        status = tsri_training_create(t->model, device, &options, &t->training);
    if (status == TSR_OK)
        status = tsri_training_reserve(t->training, t->batch, t->tokens, 1);
    if (status == TSR_OK)
        tsri_training_memory_of(t->training, &t->memory);
    else
        tsr_bench_training_destroy(&t);
    *out = t;
    return status;
}

void tsr_bench_training_destroy(tsr_bench_training **training) {
    tsr_bench_training *t = *training;
    if (!t)
        return;
    tsri_training_destroy(&t->training);
    tsr_model_close(&t->model);
    free(t->ids);
    free(t->targets);
    free(t->len);
    free(t);
    *training = NULL;
}

/* Computes the gradients, and their norm, of predicting the next tokens. */
static tsr_status learn(tsr_bench_training *t, double *loss, double *norm) {
    const tsri_training_batch batch = {
        .B = t->batch, .T = t->tokens, .S = 1, .ids = t->ids, .len = t->len, .targets = t->targets};
    tsri_training_loss sum;
    const char *culprit;
    const int64_t n = (int64_t)t->batch * t->tokens;
    for (int64_t i = 0; i < n; i++)
        t->ids[i] = (int32_t)(tsri_base_uniform(1, t->steps, (uint64_t)i) * (double)t->vocab);
    for (int64_t i = 0; i < n; i++) /* the next token; the first follows the last */
        t->targets[i] = t->ids[(i + 1) % t->tokens ? i + 1 : i + 1 - t->tokens];
    TRY(tsri_training_gradients(t->training, &batch, true, 1, t->steps, &sum));
    *loss = sum.loss;
    return tsri_training_norm(t->training, norm, &culprit);
}

static tsr_status run_step(tsr_bench_training *t, double *loss) {
    double norm;
    TRY(learn(t, loss, &norm));
    return tsri_training_update(t->training, t->steps++, 3e-4, norm > 1 ? 1 / norm : 1);
}

tsr_status tsr_bench_training_run(tsr_bench_training *t, uint32_t steps, double *loss,
                                  uint64_t *ns) {
    TRY(NEED(t));
    const uint64_t begun = tsri_base_now_ns();
    double last = 0;
    for (uint32_t i = 0; i < steps; i++)
        TRY(run_step(t, &last));
    if (ns)
        *ns = tsri_base_now_ns() - begun;
    if (loss)
        *loss = last;
    return TSR_OK;
}

int64_t tsr_bench_training_parameters(const tsr_bench_training *t) {
    return tsri_training_parameter_count(t->training);
}

static uint64_t bytes_of(const tsri_training_memory *m) {
    return m->weights + m->parameters + m->gradients + m->optimizer + m->activations + m->inputs;
}

/* ---- a row ---- */

/* FLOP_PER_PARAMETER: for each token, 2 forward and 4 backward. BYTES_PER_PARAMETER: of f32, once
 * each: the parameter is read by the products, its gradient written; the update reads both, and
 * reads and writes two moments, and writes the parameter. */
enum { GATE_TOKENS = 8, FLOP_PER_PARAMETER = 6, BYTES_PER_PARAMETER = 9 * sizeof(float) };
#define BOUND 1e-3

static tsr_status first_step(tsr_device *device, const char *model, double out[2]) {
    tsr_bench_training *t = NULL;
    tsr_status status =
        tsr_bench_training_create(model, device, 1, GATE_TOKENS, TSR_COMPUTE_F32, &t);
    if (status == TSR_OK)
        status = learn(t, &out[0], &out[1]);
    tsr_bench_training_destroy(&t);
    return status;
}

/* The relative error, against the reference, of the loss and of the gradients' norm of a short
 * first step: the larger of the two. */
static tsr_status pass_gate(const tsri_task_bench *b, const char *model, double *error) {
    const tsr_device_open_options plain = {.struct_size = sizeof plain};
    tsr_device *reference = NULL;
    double got[2] = {0}, want[2] = {0};
    tsr_status status = first_step(b->device, model, got);
    if (status == TSR_OK)
        status = tsr_device_open(b->engine, "reference", &plain, &reference);
    if (status == TSR_OK)
        status = first_step(reference, model, want);
    tsr_device_close(&reference);
    *error = 0;
    for (int i = 0; i < 2 && status == TSR_OK; i++) {
        const double off = fabs(got[i] - want[i]) / fabs(want[i]);
        *error = off > *error || isnan(off) ? off : *error;
    }
    return status;
}

static tsr_status once(void *data, double *seconds) {
    uint64_t ns = 0;
    TRY(tsr_bench_training_run(data, 1, NULL, &ns));
    *seconds = (double)(ns ? ns : 1) * 1e-9;
    return TSR_OK;
}

static tsr_status list_kernels(void *data, const tsri_run_plan *plan) {
    return tsri_task_draft_plan(data, plan);
}

/* The least work of a step of all `n` parameters, and the row's share of the roofline. */
static void share(const tsri_run_peaks *peaks, double n, tsr_bench_row *row) {
    const double tokens = (double)(row->batch * row->tokens),
                 flops[TSRI_RUN_COMPUTES] = {[TSR_COMPUTE_F32] = FLOP_PER_PARAMETER * n * tokens};
    row->flops = flops[TSR_COMPUTE_F32];
    row->bytes = BYTES_PER_PARAMETER * n;
    const double least = tsri_run_least_seconds(peaks, flops, row->bytes);
    if (least <= 0)
        return;
    row->roofline = least * row->median / tokens;
    row->bound_by = row->bytes / peaks->read > row->flops / peaks->fma_f32
                        ? TSR_BENCH_BOUND_MEMORY
                        : TSR_BENCH_BOUND_ARITHMETIC;
}

static tsr_status measure(tsri_task_bench *b, const char *name, tsri_task_identity *identity,
                          tsri_task_draft *draft) {
    tsr_bench_row *row = &draft->row;
    const double tokens = (double)(row->batch * row->tokens);
    tsr_bench_training *t = NULL;
    TRY(tsr_bench_training_create(name, b->device, (uint32_t)row->batch, row->tokens,
                                  TSR_COMPUTE_F32, &t));
    tsr_status status =
        draft->before ? TSR_OK : tsri_task_identify(t->model, name, TSR_F32, NULL, identity);
    if (status == TSR_OK)
        status = tsri_task_bench_time(b, draft, tokens, once, t);
    if (status == TSR_OK)
        status = tsri_training_each_plan(t->training, list_kernels, draft);
    if (status == TSR_OK) {
        row->device_bytes = bytes_of(&t->memory);
        share(&b->best, (double)tsr_bench_training_parameters(t), row);
    }
    tsr_bench_training_destroy(&t);
    return status;
}

tsr_status tsri_task_bench_train(tsri_task_bench *b, const char *model, const tsri_task_job *job) {
    tsri_task_identity identity = {.model = {.name = model, .dtype = "f32", .kept = "f32"}};
    tsri_task_draft draft;
    tsri_task_draft_begin(&draft, TSR_BENCH_TRAIN, "tokens/s", "train%lld", (long long)job->tokens);
    tsr_bench_row *row = &draft.row;
    row->tokens = job->tokens;
    row->batch = job->batch;
    row->scenario = TSR_BENCH_OFFLINE;
    row->model = &identity.model;
    tsr_status status = tsri_task_bench_tell(b->sink, draft.test);
    const bool wanted = tsri_task_bench_recall(b, &draft);
    if (status == TSR_OK && !draft.before)
        status = pass_gate(b, model, &row->error);
    if (!wanted) /* the row stays as it was */
        return tsri_task_bench_finish(b, &draft, status, "");
    row->bound = status == TSR_OK ? BOUND : 0;
    if (status == TSR_OK && row->error <= BOUND)
        status = measure(b, model, &identity, &draft);
    else if (status == TSR_OK)
        tsri_task_draft_void(&draft, TSR_BENCH_FAILED_ACCURACY,
                             "the loss or the gradients differ too much from the reference's: a "
                             "kernel is wrong on this device; tessera verify tells which");
    return tsri_task_bench_finish(b, &draft, status, "");
}

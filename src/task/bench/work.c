/* task/bench/work.c - computes the least work that a measured run has to do, and lists the
 * kernel variants that did it. */
#include "task/bench/bench.h"

#include "base/error.h"
#include "model/load/measure.h"

#include <string.h>

/* What the run of a row computes and reads, step by step, and by which kernel variants. */
typedef struct amounts {
    const tsri_run_peaks *peaks;
    tsri_task_amounts sums;
    tsri_task_least attention; /* of the whole run */
    double times;              /* how often the plan runs whose ops are being added */
    tsri_task_draft *draft;    /* gets the kernel variants of the plans */
} amounts;

static void add_op(void *data, const tsri_run_op_work *op) {
    amounts *all = data;
    tsri_task_least least = {.bytes = (double)op->weight_bytes + op->other_bytes,
                             .terms = op->terms};
    all->sums.flops[op->compute] += op->flops * all->times;
    all->sums.bytes += (double)op->weight_bytes * all->times;
    least.flops[op->compute] = op->flops;
    if (op->op == TSR_OP_ATTENTION)
        all->attention.bytes += op->other_bytes * all->times;
    else
        tsri_task_bench_predict(all->peaks, &least, all->times, all->sums.seconds);
}

/* Adds `times` runs of the plan. */
static tsr_status add(amounts *all, const tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                      int64_t times) {
    uint64_t launches = 0;
    TRY(tsri_task_draft_plan(all->draft, plan));
    TRY(tsri_run_launches(plan, &launches));
    all->times = (double)times;
    tsri_run_each_op(plan, sizes, add_op, all);
    all->sums.launches += launches * (uint64_t)times;
    return TSR_OK;
}

/* Adds attention, which is not in a plan's work: each of `seen` tokens by one that sees it. */
static void see(amounts *all, const tsri_model_stack *stack, double seen) {
    const double per_token = tsri_model_flops_per_seen(stack);
    all->sums.flops[TSR_COMPUTE_F32] += per_token * seen;
    all->attention.flops[TSR_COMPUTE_F32] += per_token * seen;
}

/* Adds the keys and values of so many tokens. */
static void read_kv(amounts *all, const tsri_model *m, double tokens) {
    tsri_model_measures figures;
    tsri_model_measure(m, &figures);
    all->sums.bytes += (double)figures.kv_bytes_per_token * tokens;
    all->attention.bytes += (double)figures.kv_bytes_per_token * tokens;
}

static tsr_status add_vectors(const tsri_model *m, tsri_session *session, const tsri_task_job *job,
                              amounts *all) {
    const int64_t B = job->batch, T = job->tokens, sizes[TSR_SYMBOLS] = {B, T, T, 1, B};
    float wanted;
    const tsri_model_results vectors = {.vectors = &wanted, .pooling = TSR_POOL_MEAN};
    tsri_run_plan *plan = NULL;
    TRY(tsri_session_encode_pass_plan(session, B, T, &vectors, &plan));
    TRY(add(all, plan, sizes, 1));
    see(all, &m->spec.encoder, (double)B * tsri_model_seen_text(&m->spec.encoder, T));
    return TSR_OK;
}

/* The plan of a step of B sequences of T tokens each, which finds the next one. */
static tsr_status step_plan(tsri_session *session, int64_t B, int64_t T, tsri_run_plan **out) {
    int32_t wanted;
    const tsri_model_results next = {.rows = TSRI_ROWS_LAST, .argmax = &wanted};
    return tsri_session_pass_plan(session, B, T, 1, false, &next, out);
}

/* A step of `B` sequences reads `tokens` of each behind `past`, and writes logits for the last. */
static tsr_status add_prompt(const tsri_model *m, tsri_session *session, int64_t B, int64_t past,
                             int64_t tokens, amounts *all) {
    const int64_t sizes[TSR_SYMBOLS] = {B, tokens, 1, 1, B};
    const tsri_model_stack *stack = &m->spec.decoder;
    tsri_run_plan *plan = NULL;
    TRY(step_plan(session, B, tokens, &plan));
    TRY(add(all, plan, sizes, 1));
    see(all, stack, (double)B * tsri_model_seen(stack, past, tokens));
    read_kv(all, m, (double)B * tsri_model_read(stack, past, tokens));
    return TSR_OK;
}

/* `steps` steps of `B` sequences, each of one token, the first behind `past`. */
static tsr_status add_steps(const tsri_model *m, tsri_session *session, int64_t B, int64_t past,
                            int64_t steps, amounts *all) {
    const int64_t sizes[TSR_SYMBOLS] = {B, 1, 1, 1, B};
    const tsri_model_stack *stack = &m->spec.decoder;
    const double seen = (double)B * tsri_model_seen(stack, past, steps);
    tsri_run_plan *plan = NULL;
    TRY(step_plan(session, B, 1, &plan));
    TRY(add(all, plan, sizes, steps));
    see(all, stack, seen);
    read_kv(all, m, seen);
    return TSR_OK;
}

/* Requests, as many at a time as there are places: their prompts, whose last step gives the first
 * token of each, and a step for each token after it. */
static tsr_status add_requests(const tsri_model *m, tsri_session *session, const tsri_task_job *job,
                               int64_t requests, amounts *all) {
    for (int64_t left = requests; left > 0; left -= job->batch) {
        const int64_t B = left < job->batch ? left : job->batch;
        TRY(add_prompt(m, session, B, 0, job->depth, all));
        TRY(add_steps(m, session, B, job->depth, job->tokens - 1, all));
    }
    return TSR_OK;
}

/* The encoder runs once. Then comes one token of each text, and after it one of each beam, of
 * which the search takes twice as many candidates as it has beams. Beams may share what they attend
 * to, so only the keys of one beam are counted as read. */
static tsr_status add_translation(const tsri_model *m, tsri_session *session,
                                  const tsri_task_job *job, amounts *all) {
    const int64_t B = job->batch, S = job->depth, rows = B * TSRI_TASK_BENCH_BEAMS;
    const int64_t source[TSR_SYMBOLS] = {B, S, S, 1, B}, first[TSR_SYMBOLS] = {B, 1, 1, 1, B},
                  next[TSR_SYMBOLS] = {rows, 1, 1, 1, rows};
    const int32_t wanted = 2 * TSRI_TASK_BENCH_BEAMS, V = m->spec.vocab;
    const tsri_model_stack *encoder = &m->spec.encoder, *decoder = &m->spec.decoder;
    const double seen = tsri_model_seen(decoder, 0, job->tokens);
    const tsri_model_results nothing = {0}, candidates = {.rows = TSRI_ROWS_LAST,
                                                          .top_k = wanted < V ? wanted : V};
    tsri_run_plan *plan = NULL;
    TRY(tsri_session_encode_pass_plan(session, B, S, &nothing, &plan));
    TRY(add(all, plan, source, 1));
    TRY(tsri_session_pass_plan(session, rows, 1, S, true, &candidates, &plan));
    TRY(add(all, plan, first, 1));
    TRY(add(all, plan, next, job->tokens - 1));
    see(all, encoder, (double)B * tsri_model_seen_text(encoder, S));
    see(all, decoder, (double)rows * seen + (double)((rows * (job->tokens - 1) + B) * S));
    read_kv(all, m, (double)B * (seen + (double)(job->tokens * S)));
    return TSR_OK;
}

static tsr_status add_job(const tsri_model *m, tsri_session *session, const tsri_task_job *job,
                          int64_t requests, amounts *all) {
    switch (job->kind) {
    case TSR_BENCH_EMBED:
        return add_vectors(m, session, job, all);
    case TSR_BENCH_TRANSLATE:
        return add_translation(m, session, job, all);
    case TSR_BENCH_PROMPT:
        return add_prompt(m, session, job->batch, job->depth, job->tokens, all);
    default:
        return requests ? add_requests(m, session, job, requests, all)
                        : add_steps(m, session, job->batch, job->depth, job->tokens, all);
    }
}

/* A session of the size that the job's own has, with room for as many tokens: its plans have the
 * same kernels. */
static tsr_status create_session(tsri_model *m, const tsri_task_job *job, tsri_session **out) {
    const int64_t all = job->depth + job->tokens,
                  pages = (all + TSRI_MODEL_PAGE - 1) / TSRI_MODEL_PAGE;
    tsri_session_sizes sizes = {.slots = (int32_t)job->batch, .context = all};
    if (job->kind == TSR_BENCH_EMBED) {
        sizes = (tsri_session_sizes){.slots = 1};
    } else if (job->kind == TSR_BENCH_TRANSLATE) {
        sizes.slots *= TSRI_TASK_BENCH_BEAMS;
        sizes.context = job->tokens + 1;
        sizes.sources = (int32_t)job->batch;
        sizes.source_context = job->depth;
    } else if (job->kind == TSR_BENCH_SERVE) {
        sizes.pages = (int32_t)(job->batch * pages);
    }
    TRY(tsri_session_create_sized(m, &sizes, out));
    const tsr_status status = tsri_session_reserve(*out, sizes.context);
    if (status != TSR_OK)
        tsri_session_destroy(out);
    return status;
}

static tsr_status add_all(tsri_model *m, const tsri_task_job *job, int64_t requests, amounts *all) {
    tsri_session *session = NULL;
    TRY(create_session(m, job, &session));
    const tsr_status status = add_job(m, session, job, requests, all);
    tsri_session_destroy(&session);
    return status;
}

tsr_status tsri_task_bench_work(tsr_model *model, const tsri_run_peaks *peaks,
                                const tsri_task_job *job, int64_t requests,
                                tsri_task_draft *draft) {
    tsr_bench_row *row = &draft->row;
    amounts all = {.peaks = peaks, .draft = draft};
    TRY(add_all(tsri_model_of(model), job, requests, &all));
    tsri_task_bench_predict(peaks, &all.attention, 1, all.sums.seconds);
    all.sums.seconds[TSR_BENCH_BOUND_LAUNCHES] = (double)all.sums.launches * peaks->launch;
    const int64_t texts = requests ? requests : job->batch;
    tsri_task_bench_share(peaks, &all.sums,
                          (double)(job->kind == TSR_BENCH_EMBED ? texts : texts * job->tokens),
                          row);
    return TSR_OK;
}

tsr_status tsri_task_bench_kernels(tsr_model *model, const tsri_task_job *job,
                                   tsri_task_draft *draft) {
    const tsri_run_peaks unused = {0};
    amounts all = {.peaks = &unused, .draft = draft};
    /* Of requests to a scheduler: full places, and one request alone */
    const int64_t requests = job->kind == TSR_BENCH_SERVE ? job->batch + 1 : job->request;
    return add_all(tsri_model_of(model), job, requests, &all);
}

void tsri_task_bench_share(const tsri_run_peaks *peaks, const tsri_task_amounts *amounts,
                           double work, tsr_bench_row *row) {
    const bool seconds = !strcmp(row->unit, "s");
    const double least = tsri_run_least_seconds(peaks, amounts->flops, amounts->bytes),
                 took = seconds ? row->median : work / row->median;
    double all = 0, most = 0;
    row->flops = 0;
    for (int i = 0; i < TSRI_RUN_COMPUTES; i++)
        row->flops += amounts->flops[i];
    row->bytes = amounts->bytes;
    row->launches = amounts->launches;
    if (least <= 0)
        return;
    row->roofline = least / took;
    for (uint32_t i = 0; i < TSRI_TASK_BENCH_BOUNDS; i++) {
        const double part = amounts->seconds[i];
        all += part;
        row->bound_by = part > most ? i : row->bound_by;
        most = part > most ? part : most;
    }
    if (peaks->launch > 0) {
        row->predicted = seconds ? all : work / all;
        memcpy(row->predicted_seconds, amounts->seconds, sizeof amounts->seconds);
    }
}

uint64_t tsri_task_bench_device_bytes(const tsr_model *model) {
    tsr_model_memory m = {.struct_size = sizeof m};
    return tsr_model_memory_get(model, &m) == TSR_OK
               ? m.weights + m.states + m.activations + m.inputs
               : 0;
}

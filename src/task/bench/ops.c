/* task/bench/ops.c - makes rows of single ops, in the shapes of three models: a Llama of 135 million
 * parameters, one of a billion, and BERT. Times are those of the device's events. */
#include "task/bench/bench.h"

#include "backend/opened.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "run/timing.h"
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMOKE = 1, LONGER = 6, EVERY = 7 };

typedef struct shape {
    int classes; /* bit i: the suite's class i */
    tsr_op_id op;
    tsr_dtype dtype; /* of the weight */
    /* linear: rows, outputs, inputs. attention: queries, keys, heads, key heads. norms: rows,
     * columns */
    int64_t a, b, c, d;
} shape;

static const shape shapes[] = {{EVERY, TSR_OP_LINEAR, TSR_F32, 512, 1536, 576, 0},
                               {EVERY, TSR_OP_LINEAR, TSR_F32, 1, 1536, 576, 0},
                               {EVERY, TSR_OP_LINEAR, TSR_GGML_Q8_0, 512, 1536, 576, 0},
                               {LONGER, TSR_OP_LINEAR, TSR_GGML_Q8_0, 1, 1536, 576, 0},
                               {EVERY, TSR_OP_LINEAR, TSR_F32, 512, 3072, 768, 0},
                               {LONGER, TSR_OP_LINEAR, TSR_GGML_Q8_0, 512, 3072, 768, 0},
                               {LONGER, TSR_OP_LINEAR, TSR_F32, 512, 8192, 2048, 0},
                               {LONGER, TSR_OP_LINEAR, TSR_GGML_Q8_0, 512, 8192, 2048, 0},
                               {EVERY, TSR_OP_LINEAR, TSR_F32, 1, 8192, 2048, 0},
                               {LONGER, TSR_OP_LINEAR, TSR_GGML_Q8_0, 1, 8192, 2048, 0},
                               {EVERY, TSR_OP_ATTENTION, TSR_F32, 512, 512, 9, 3},
                               {LONGER, TSR_OP_ATTENTION, TSR_F32, 1, 4096, 9, 3},
                               {LONGER, TSR_OP_ATTENTION, TSR_F32, 512, 512, 32, 8},
                               {EVERY, TSR_OP_ATTENTION, TSR_F32, 1, 4096, 32, 8},
                               {LONGER, TSR_OP_ATTENTION, TSR_F32, 512, 512, 12, 12},
                               {LONGER, TSR_OP_RMS_NORM, TSR_F32, 512, 576, 0, 0},
                               {EVERY, TSR_OP_RMS_NORM, TSR_F32, 512, 2048, 0, 0},
                               {EVERY, TSR_OP_LAYER_NORM, TSR_F32, 512, 768, 0, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes, HEAD = 64, CHECKED = 16 };

/* ---- cases ---- */

static void add_linear(tsri_case_list *list, const shape *s) {
    tsri_case *c = tsri_case_add(list, s->op, "linear %lldx%lldx%lld", (long long)s->a,
                                 (long long)s->b, (long long)s->c);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(s->c));
    tsri_case_in(c, 1, TSR_KIND_WEIGHT, s->dtype, 2, TSRI_CASE_K(s->b), TSRI_CASE_K(s->c));
    c->sizes[0] = 1;
    c->sizes[1] = s->a;
    c->attrs.linear =
        (tsr_linear_attrs){.struct_size = sizeof c->attrs.linear,
                           .trans_w = true,
                           .compute = s->dtype == TSR_F32 ? TSR_COMPUTE_F32 : TSR_COMPUTE_INT8};
}

/* Keys and values lie in slots of [heads, capacity, D], as a decoder keeps them. */
static void add_attention(tsri_case_list *list, const shape *s) {
    const int32_t past[] = {(int32_t)(s->b - s->a)}, len[] = {(int32_t)s->b};
    tsri_case *c = tsri_case_add(list, s->op, "attention %lldx%lld %lld/%lld", (long long)s->a,
                                 (long long)s->b, (long long)s->c, (long long)s->d);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(s->c),
                 TSRI_CASE_K(HEAD));
    for (int i = 1; i < 3; i++)
        tsri_case_in(c, i, TSR_KIND_STATE, TSR_F32, 4, TSRI_CASE_K(1), TSRI_CASE_K(s->b),
                     TSRI_CASE_K(s->d), TSRI_CASE_K(HEAD))
            ->view = TSRI_CASE_SWAPPED;
    tsri_case_ints(c, 3, TSRI_CASE_B, 1, past);
    tsri_case_ints(c, 4, TSRI_CASE_B, 1, len);
    c->sizes[0] = 1;
    c->sizes[1] = s->a;
    c->sizes[2] = s->b;
    c->attrs.attention = (tsr_attention_attrs){
        .struct_size = sizeof c->attrs.attention, .causal = true, .scale = (float)(1 / sqrt(HEAD))};
}

static void add_norm(tsri_case_list *list, const shape *s) {
    const bool layer = s->op == TSR_OP_LAYER_NORM;
    tsri_case *c = tsri_case_add(list, s->op, "%s %lldx%lld", layer ? "layer_norm" : "rms_norm",
                                 (long long)s->a, (long long)s->b);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(s->b));
    for (int i = 1; i < 2 + layer; i++)
        tsri_case_in(c, i, TSR_KIND_WEIGHT, TSR_F32, 1, TSRI_CASE_K(s->b));
    c->sizes[0] = 1;
    c->sizes[1] = s->a;
    c->attrs.rms_norm = (tsr_norm_attrs){.struct_size = sizeof c->attrs.rms_norm, .eps = 1e-5f};
}

static tsr_status make_case(const shape *s, tsri_case_list *list) {
    if (s->op == TSR_OP_LINEAR)
        add_linear(list, s);
    else if (s->op == TSR_OP_ATTENTION)
        add_attention(list, s);
    else
        add_norm(list, s);
    return list->status;
}

/* The device, and the one that its results are compared with. */
typedef struct places {
    const tsri_backend_opened_device *device, *reference;
} places;

static tsr_status once(void *data, double *seconds) {
    uint64_t ns = 0;
    TRY(tsri_run_time(data, &ns));
    *seconds = (double)ns * 1e-9;
    return ns ? TSR_OK
              : tsri_base_fail(TSR_E_UNSUPPORTED, "the device measures no launch by its events");
}

/* ---- the gate ---- */

static tsr_status answer(const tsri_verify_place *place, const tsri_case *c,
                         tsri_case_values *values) {
    tsri_verify_opened opened;
    TRY(tsri_verify_open(c, &c->attrs, place, values, &opened));
    const tsr_status status = tsri_verify_answer(&opened, values);
    tsri_verify_close(&opened);
    return status;
}

/* Of the CHECKED rows at most, from the first to the last. */
static int64_t row_at(const shape *s, int64_t i) {
    return s->a > CHECKED ? i * (s->a - 1) / (CHECKED - 1) : i;
}

/* Has the reference compute rows number `first` to first + n - 1 of those that are checked, and keeps
 * the largest error of a row. All operands but the first are those of the whole op. */
static tsr_status check_rows(const tsri_verify_place *reference, const shape *s,
                             const tsri_case_values *all, int64_t first, int64_t n, double *worst) {
    const size_t row_bytes = all->in_bytes[0] / (size_t)s->a,
                 width = all->out_count[0] / (size_t)s->a;
    int32_t past = (int32_t)(s->b - s->a + row_at(s, first)), len = past + 1;
    shape few = *s;
    tsri_case_list list = {0};
    tsri_case_values some = {0};
    few.a = n;
    memcpy(some.in, all->in, sizeof some.in);
    memcpy(some.in_bytes, all->in_bytes, sizeof some.in_bytes);
    some.in_bytes[0] = (size_t)n * row_bytes;
    TRY(tsri_base_new_aligned(some.in_bytes[0], &some.in[0]));
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)some.in[0] + (size_t)i * row_bytes,
               (const char *)all->in[0] + (size_t)row_at(s, first + i) * row_bytes, row_bytes);
    if (s->op == TSR_OP_ATTENTION) {
        some.in[3] = &past;
        some.in[4] = &len;
    }
    tsr_status status = make_case(&few, &list);
    if (status == TSR_OK)
        status = answer(reference, &list.cases[0], &some);
    for (int64_t i = 0; i < n && status == TSR_OK; i++) {
        const float *got = (const float *)all->out[0] + (size_t)row_at(s, first + i) * width,
                    *want = (const float *)some.out[0] + (size_t)i * width;
        const double error = tsri_task_gate_error(got, want, (int32_t)width);
        *worst = error > *worst ? error : *worst;
    }
    for (int i = 0; i < TSRI_CASE_MAX_OUT; i++)
        tsri_system_free_aligned(some.out[i]);
    tsri_system_free_aligned(some.in[0]);
    free(list.cases);
    return status;
}

/* Sets the row's error, the largest of a row of results by that row's largest, and its bound. f32:
 * (K + 4) roundings of 2^-24 of sums of up to 2048 terms, whose magnitudes are at most some dozen times
 * the largest result. int8: an input that lies between two steps may be rounded to either, 1/127 of
 * a block's largest away, and one term of a sum moves by that. */
static tsr_status check(tsri_task_bench *b, const tsri_backend_opened_device *reference,
                        const shape *s, const tsri_case_values *all, tsr_bench_row *row) {
    const tsri_verify_place place = {.set = reference->set, .device = reference->devices[0]};
    const int64_t n = s->a < CHECKED ? s->a : CHECKED,
                  at_once = s->op == TSR_OP_ATTENTION ? 1 : n; /* rows see as many keys each */
    double worst = 0;
    TRY(tsri_task_bench_tell(b->sink, "the reference, for the accuracy gate"));
    for (int64_t i = 0; i < n; i += at_once)
        TRY(check_rows(&place, s, all, i, at_once, &worst));
    row->error = worst;
    row->bound = s->dtype == TSR_F32 ? 1e-3 : 1e-2;
    return TSR_OK;
}

/* ---- times ---- */

/* Names the kernel variant that runs: the device's choice, or the one that was forced. Only results
 * that pass the gate are timed. */
static tsr_status time_case(tsri_task_bench *b, const places *at, const shape *s,
                            const tsri_case *c, double work, tsri_task_draft *draft) {
    const tsri_verify_place place = {
        .set = at->device->set, .device = at->device->devices[0], .kernels = at->device->kernels};
    tsri_case_values values = {0};
    tsri_run_binding in[TSRI_CASE_MAX_IN];
    tsri_verify_opened ready;
    TRY(tsri_case_values_fill(c, false, &values));
    tsr_status status = tsri_verify_open(c, &c->attrs, &place, &values, &ready);
    if (status == TSR_OK) {
        tsri_run_timed timed = {.context = ready.context,
                                .plan = ready.plan,
                                .sizes = c->sizes,
                                .in = in,
                                .n_in = tsri_verify_bind(c, &values, in)};
        status = tsri_verify_answer(&ready, &values);
        if (status == TSR_OK)
            status = tsri_task_draft_plan(draft, ready.plan);
        if (status == TSR_OK && !draft->before)
            status = check(b, at->reference, s, &values, &draft->row);
        if (status == TSR_OK && draft->row.error <= draft->row.bound)
            status = tsri_task_bench_time(b, draft, work, once, &timed);
        tsri_verify_close(&ready);
    }
    tsri_case_values_clear(&values);
    return status;
}

/* Voids the row where its results are wrong, and says which kernel gave them. */
static void judge(const char *op, tsri_task_draft *draft) {
    char why[320];
    const char *variant = "";
    const tsr_bench_row *row = &draft->row;
    if (row->error <= row->bound)
        return;
    for (uint32_t i = 0; i < row->n_kernels; i++)
        if (!strcmp(draft->kernels[i].op, op))
            variant = draft->kernels[i].variant;
    snprintf(why, sizeof why,
             "results are off by %.3g of the largest of a row; at most %.3g is allowed: the "
             "kernel %s/%s is wrong on this device; tessera verify --op %s tells more",
             row->error, row->bound, op, variant, op);
    tsri_task_draft_void(draft, TSR_BENCH_FAILED_ACCURACY, why);
}

static tsr_status measure(tsri_task_bench *b, const places *at, const shape *s, const tsri_case *c,
                          tsri_task_draft *draft) {
    tsri_verify_variants *known = NULL;
    tsri_task_least least = {0};
    bool any = false;
    TRY(tsri_base_new(1, sizeof *known, &known));
    tsr_status status = tsri_verify_ask(at->device->devices[0], c, known, &any);
    tsr_bench_row *row = &draft->row;
    if (status == TSR_OK && !any)
        status = tsri_base_fail(TSR_E_UNSUPPORTED, "the device has no kernel for it");
    row->flops = known->cost.flops;
    row->bytes = known->cost.bytes;
    least.flops[known->compute] = row->flops;
    least.bytes = row->bytes;
    const double work = strcmp(row->unit, "B/s") ? row->flops : row->bytes;
    if (status == TSR_OK)
        status = time_case(b, at, s, c, work, draft);
    if (status == TSR_OK)
        judge(tsri_graph_op_find(s->op)->name, draft);
    tsri_run_peaks peaks = b->best;
    /* Operands stay in caches from run to run, if these hold them. */
    if (row->bytes <= 1 << TSRI_TASK_BENCH_CACHED && b->cached > peaks.read) {
        peaks.read = b->cached;
        draft->held_by = TSR_BENCH_BOUND_ARITHMETIC;
    }
    if (status == TSR_OK && row->status == TSR_BENCH_OK) {
        tsri_task_amounts amounts = {.bytes = least.bytes};
        memcpy(amounts.flops, least.flops, sizeof amounts.flops);
        tsri_task_bench_predict(&peaks, &least, 1, amounts.seconds);
        tsri_task_bench_share(&peaks, &amounts, work, row);
    }
    free(known);
    return status;
}

/* ---- rows ---- */

static tsr_status make_row(tsri_task_bench *b, const places *at, const shape *s) {
    const bool norm = s->op == TSR_OP_RMS_NORM || s->op == TSR_OP_LAYER_NORM;
    tsri_case_list list = {0};
    tsri_task_draft draft;
    TRY(make_case(s, &list));
    tsri_task_draft_begin(&draft, TSR_BENCH_OP, norm ? "B/s" : "FLOP/s", "%s", list.cases[0].name);
    draft.row.storage = s->dtype == TSR_F32 ? "f32" : "q8";
    tsr_status status = TSR_OK;
    if (tsri_task_bench_recall(b, &draft))
        status = measure(b, at, s, &list.cases[0], &draft);
    free(list.cases);
    return tsri_task_bench_finish(b, &draft, status, "");
}

uint32_t tsri_task_bench_op_count(int class_at) {
    uint32_t n = 0;
    for (size_t i = 0; i < SHAPES; i++)
        n += shapes[i].classes >> class_at & 1;
    return n;
}

tsr_status tsri_task_bench_ops(tsri_task_bench *b, int class_at) {
    const tsri_backend_opened_device *opened = tsri_backend_opened(b->device);
    /* The same device, with a profile. */
    const tsr_device_open_options options = {.struct_size = sizeof options,
                                             .threads = opened->threads,
                                             .kernels = opened->kernels,
                                             .bundle = opened->bundle,
                                             .profile = 1},
                                  plain = {.struct_size = sizeof plain};
    char number[24];
    tsr_device *device = NULL, *reference = NULL;
    snprintf(number, sizeof number, "%zu", opened->devices[0]->entry);
    TRY(tsr_device_open(b->engine, number, &options, &device));
    tsr_status status = tsr_device_open(b->engine, "reference", &plain, &reference);
    for (size_t i = 0; i < SHAPES && status == TSR_OK; i++) {
        const places at = {tsri_backend_opened(device), tsri_backend_opened(reference)};
        if (shapes[i].classes >> class_at & 1)
            status = make_row(b, &at, &shapes[i]);
    }
    tsr_device_close(&reference);
    tsr_device_close(&device);
    return status;
}

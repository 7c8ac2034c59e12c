/* The benchmark's arithmetic: when times are steady, percentiles and outliers, doubtful shares, the least
 * work of a job, and what Linux's files say. */
#include "task/bench/bench.h"
#include "task/bench/host.h"
#include "task/fixture.h"

#include "backend/opened.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "model/load/measure.h"
#include "task/bench/runs/arrivals.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static tsri_task_draft doubted(const tsri_task_bench *b, uint32_t held_by, double share,
                               double fma0, double fma1, double read0, double read1) {
    tsri_task_draft draft;
    tsri_task_draft_begin(&draft, TSR_BENCH_PROMPT, "tokens/s", "pp%d", 1);
    draft.held_by = held_by;
    draft.row.roofline = share;
    draft.row.peak_fma[0] = fma0;
    draft.row.peak_fma[1] = fma1;
    draft.row.peak_read[0] = read0;
    draft.row.peak_read[1] = read1;
    tsri_task_bench_doubt(b, &draft);
    return draft;
}

Test(bench, doubtful_shares_are_told) {
    const tsri_task_bench b = {.best = {.fma_f32 = 100, .read = 20}}, none = {0};
    const uint32_t memory = TSR_BENCH_BOUND_MEMORY, arithmetic = TSR_BENCH_BOUND_ARITHMETIC;
    tsri_task_draft d = doubted(&b, arithmetic, 0.86, 100, 95, 20, 19);
    cr_expect(d.row.status == TSR_BENCH_OK && !*d.reason, "%s", d.reason);
    d = doubted(&b, memory, 1.0, 95, 100, 19, 20);
    cr_expect(d.row.status == TSR_BENCH_OK && !*d.reason, "%s", d.reason);
    d = doubted(&b, arithmetic, 0.46, 54, 100, 20, 20);
    cr_expect(d.row.status == TSR_BENCH_THROTTLED &&
                  strstr(d.reason, "peak of multiply-adds was up to 46 % lower"),
              "%s", d.reason);
    d = doubted(&b, memory, 0.5, 100, 98, 20, 12);
    cr_expect(d.row.status == TSR_BENCH_THROTTLED &&
                  strstr(d.reason, "peak of reads was up to 40 % lower"),
              "%s", d.reason);
    d = doubted(&b, arithmetic, 1.2, 100, 100, 20, 20);
    cr_expect(d.row.status == TSR_BENCH_OK && strstr(d.reason, "120 % of the roofline"), "%s",
              d.reason);
    d = doubted(&b, arithmetic, 1.2, 54, 54, 20, 20);
    cr_expect(strstr(d.reason, "46 % lower") && strstr(d.reason, "of the roofline"), "%s",
              d.reason);
    d = doubted(&none, arithmetic, 0, 0, 0, 0, 0);
    cr_expect(d.row.status == TSR_BENCH_OK && !*d.reason, "%s", d.reason);
}

/* The peak that does not hold a row back may move. */
Test(bench, only_the_peak_that_holds_a_row_back_counts) {
    const tsri_task_bench b = {.best = {.fma_f32 = 100, .read = 90}};
    static const struct {
        uint32_t held_by;
        double fma, read;
        uint32_t status;
    } cases[] = {{TSR_BENCH_BOUND_ARITHMETIC, 100, 50, TSR_BENCH_OK},
                 {TSR_BENCH_BOUND_ARITHMETIC, 50, 90, TSR_BENCH_THROTTLED},
                 {TSR_BENCH_BOUND_MEMORY, 50, 90, TSR_BENCH_OK},
                 {TSR_BENCH_BOUND_MEMORY, 100, 50, TSR_BENCH_THROTTLED},
                 {TSR_BENCH_BOUND_LAUNCHES, 100, 50, TSR_BENCH_OK},
                 {TSR_BENCH_BOUND_LAUNCHES, 50, 90, TSR_BENCH_THROTTLED},
                 {TSR_BENCH_BOUND_UNKNOWN, 100, 50, TSR_BENCH_OK},
                 {TSR_BENCH_BOUND_UNKNOWN, 50, 90, TSR_BENCH_THROTTLED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tsri_task_draft d =
            doubted(&b, cases[i].held_by, 0.5, 100, cases[i].fma, 90, cases[i].read);
        cr_expect_eq(d.row.status, cases[i].status, "case %zu: %s", i, d.reason);
    }
}

Test(bench, other_programs_are_told) {
    tsri_task_draft d;
    tsri_task_draft_begin(&d, TSR_BENCH_PEAK, "B/s", "read");
    d.conditions = (tsr_bench_conditions){.load = {0, 1}, .steal = 0.04};
    tsri_task_draft_company(&d, true);
    cr_expect(!d.row.noisy && !*d.reason, "%s", d.reason);
    d.conditions = (tsr_bench_conditions){.load = {3, 1}, .steal = 0.25};
    tsri_task_draft_company(&d, false);
    cr_expect(!d.row.noisy, "a card has its own processor");
    tsri_task_draft_company(&d, true);
    cr_expect(d.row.noisy && strstr(d.reason, "2 threads of other programs") &&
                  strstr(d.reason, "took 25 % of the time"),
              "%s", d.reason);
    tsri_task_draft_begin(&d, TSR_BENCH_PEAK, "B/s", "read");
    d.others = 0.34;
    tsri_task_draft_company(&d, false);
    cr_expect(!d.row.noisy, "%s", d.reason);
    tsri_task_draft_company(&d, true);
    cr_expect(d.row.noisy && !strcmp(d.reason, "other programs used 0.3 cores meanwhile"), "%s",
              d.reason);
    tsri_task_draft_begin(&d, TSR_BENCH_PEAK, "B/s", "read");
    d.conditions = (tsr_bench_conditions){.load = {NAN, NAN}, .steal = NAN};
    tsri_task_draft_company(&d, true);
    cr_expect(!d.row.noisy, "not measured");
}

/* Two cores for two seconds, of which this process used three and a half; less than 50 ms or a
 * tenth of a core is not told. */
Test(bench, work_of_others_between_two_readings) {
    static const struct {
        double seconds, busy, own, others;
    } cases[] = {{2, 4, 3.5, 0.25},     {2, 4, 3.9, 0}, {0.2, 0.24, 0.2, 0},
                 {0.2, 0.26, 0.2, 0.3}, {2, 3.5, 4, 0}, {0, 1, 0, 0},
                 {2, NAN, 1, 0},        {2, 4, NAN, 0}, {2, 2.5, 0.1, 1.2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tsri_task_reading before = {.seconds = 10, .busy = 100, .own = 7},
                                after = {.seconds = 10 + cases[i].seconds,
                                         .busy = 100 + cases[i].busy,
                                         .own = 7 + cases[i].own};
        const double got = tsri_task_others_between(&before, &after);
        cr_expect(fabs(got - cases[i].others) < 1e-9, "case %zu: %g", i, got);
    }
}

Test(bench, the_best_of_each_peak_counts) {
    tsri_run_peaks best = {.fma_f32 = 100, .fma_f16 = 1, .fma_bf16 = 7, .dot_int8 = 5, .read = 20};
    const tsri_run_peaks other = {
        .fma_f32 = 90, .fma_f16 = 2, .fma_bf16 = 9, .dot_int8 = 4, .read = 21};
    tsri_task_bench_best(&best, &other);
    cr_expect(best.fma_f32 == 100 && best.fma_f16 == 2 && best.fma_bf16 == 9 &&
              best.dot_int8 == 5 && best.read == 21);
}

/* ---- the model of a device ---- */

/* The longest of memory, products and chain counts, and to the account of what it is. */
Test(bench, a_launch_takes_the_longest_of_its_times) {
    const tsri_run_peaks peaks = {.fma_f32 = 100, .dot_int8 = 400, .read = 10, .term = 0.5};
    static const struct {
        double f32, int8, bytes, terms, memory, arithmetic;
    } cases[] = {{0, 0, 0, 0, 0, 0},      {100, 0, 20, 0, 2, 0},   {300, 0, 20, 0, 0, 3},
                 {300, 400, 20, 0, 0, 4}, {100, 0, 20, 9, 0, 4.5}, {100, 0, 60, 9, 6, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tsri_task_least least = {
            .flops = {[TSR_COMPUTE_F32] = cases[i].f32, [TSR_COMPUTE_INT8] = cases[i].int8},
            .bytes = cases[i].bytes,
            .terms = cases[i].terms};
        double seconds[TSRI_TASK_BENCH_BOUNDS] = {0, 1, 1, 1};
        tsri_task_bench_predict(&peaks, &least, 3, seconds);
        cr_expect(seconds[TSR_BENCH_BOUND_MEMORY] == 1 + 3 * cases[i].memory &&
                      seconds[TSR_BENCH_BOUND_ARITHMETIC] == 1 + 3 * cases[i].arithmetic &&
                      seconds[TSR_BENCH_BOUND_LAUNCHES] == 1,
                  "case %zu: %g %g", i, seconds[1], seconds[2]);
    }
}

/* Without a peak there is no prediction. */
Test(bench, what_is_predicted_adds_up) {
    tsri_run_peaks peaks = {.fma_f32 = 100, .read = 10, .launch = 0.5};
    tsri_task_amounts amounts = {.flops = {[TSR_COMPUTE_F32] = 300},
                                 .bytes = 20,
                                 .launches = 3,
                                 .seconds = {[TSR_BENCH_BOUND_MEMORY] = 1,
                                             [TSR_BENCH_BOUND_ARITHMETIC] = 2.5,
                                             [TSR_BENCH_BOUND_LAUNCHES] = 1.5}};
    tsr_bench_row row = {.unit = "tokens/s", .median = 4}, none = row;
    tsri_task_bench_share(&peaks, &amounts, 20, &row);
    cr_expect(row.predicted == 4 && row.roofline == 3.0 / 5 && row.launches == 3 &&
                  row.bound_by == TSR_BENCH_BOUND_ARITHMETIC && row.predicted_seconds[1] == 1 &&
                  row.predicted_seconds[2] == 2.5 && row.predicted_seconds[3] == 1.5,
              "%g %g", row.predicted, row.roofline);
    amounts.seconds[TSR_BENCH_BOUND_LAUNCHES] = 3;
    tsri_task_bench_share(&peaks, &amounts, 20, &row);
    cr_expect_eq(row.bound_by, TSR_BENCH_BOUND_LAUNCHES);
    peaks.launch = 0;
    tsri_task_bench_share(&peaks, &amounts, 20, &none);
    cr_expect(none.predicted == 0 && none.predicted_seconds[1] == 0 && none.roofline > 0);
}

/* ---- the least work ---- */

enum { LAYERS = 4, WINDOW = 4 };
static const uint8_t windowed[LAYERS] = {1, 0, 1, 1};

/* Whether op.h's attention lets query t see key s in this layer. */
static bool visible(int layer, int64_t t, int64_t s) {
    return !windowed[layer] || llabs(t - s) < WINDOW;
}

/* Pair by pair. Sums are divided by 4 layers, which is exact. */
static void check_seen(const tsri_model_stack *stack, int64_t past, int64_t n) {
    double seen = 0, text = 0, read = 0;
    for (int i = 0; i < LAYERS; i++)
        for (int64_t s = 0; s < past + n; s++) {
            bool needed = false;
            for (int64_t t = past; t < past + n; t++) {
                needed |= s <= t && visible(i, t, s);
                seen += s < t && visible(i, t, s);
                text += visible(i, t, s);
            }
            read += needed;
        }
    cr_expect(tsri_model_seen(stack, past, n) == seen / LAYERS &&
                  tsri_model_read(stack, past, n) == read / LAYERS,
              "%d behind %d: %g of %g, %g of %g", (int)n, (int)past,
              tsri_model_seen(stack, past, n), seen / LAYERS, tsri_model_read(stack, past, n),
              read / LAYERS);
    cr_expect(past || tsri_model_seen_text(stack, n) == text / LAYERS, "%d: %g of %g", (int)n,
              tsri_model_seen_text(stack, n), text / LAYERS);
}

Test(bench, what_windows_see_is_counted_pair_by_pair) {
    const tsri_model_stack stack = {.layers = LAYERS, .window = WINDOW, .windowed = windowed};
    for (int64_t past = 0; past < 8; past++)
        for (int64_t n = 1; n < 10; n++)
            check_seen(&stack, past, n);
    cr_expect_eq(tsri_model_seen(&stack, 5, 0), 0);
}

static void open_golden(const char *name, tsr_model **model) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/models/%s", TESSERA_SOURCE_DIR, name);
    OK(tsr_model_open(path, device, NULL, model));
}

/* What a job of a golden model computes and reads at least. */
static tsr_bench_row least(const char *name, tsr_bench_kind kind, int64_t tokens, int64_t depth) {
    const tsri_run_peaks none = {0};
    const tsri_task_job job = {.kind = kind, .tokens = tokens, .depth = depth, .batch = 1};
    tsri_task_draft draft;
    tsr_model *model = NULL;
    open_reference();
    open_golden(name, &model);
    tsri_task_draft_begin(&draft, kind, "tokens/s", "work");
    OK(tsri_task_bench_work(model, &none, &job, 0, &draft));
    const tsr_bench_row row = draft.row;
    tsri_task_draft_clear(&draft);
    tsr_model_close(&model);
    close_reference();
    return row;
}

/* A key and its value, and the products of a pair, are 96 bytes and 96 FLOP in each layer of all three:
 * 4 heads, 2 of keys, of 6 numbers. */
Test(bench, rows_count_what_windows_see) {
    static const struct {
        const char *model;
        tsr_bench_kind kind;
        int64_t tokens, depth[2];
        double seen, read; /* how much more at the second depth, summed over the layers */
    } cases[] = {
        /* windows of 6 in both layers: five earlier tokens are seen, however many there are */
        {"phi3", TSR_BENCH_GENERATE, 1, {0, 20}, 2 * 5, 2 * 5},
        {"phi3", TSR_BENCH_GENERATE, 1, {20, 30}, 0, 0},
        {"phi3", TSR_BENCH_GENERATE, 3, {3, 20}, 2 * (15 - 3 - 4 - 5), 2 * (15 - 3 - 4 - 5)},
        /* of eight tokens behind none, the first five see 0 to 4, the others 5 */
        {"phi3", TSR_BENCH_PROMPT, 8, {0, 20}, 2 * (40 - 25), 2 * 5},
        /* a window of 5 in one layer of two */
        {"qwen2-window", TSR_BENCH_GENERATE, 1, {20, 30}, 10, 10},
        {"qwen2-window", TSR_BENCH_PROMPT, 4, {20, 30}, 40, 10},
        /* no window */
        {"llama-tiny", TSR_BENCH_GENERATE, 1, {20, 30}, 20, 20},
        {"llama-tiny", TSR_BENCH_PROMPT, 4, {20, 30}, 80, 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tsr_bench_row a = least(cases[i].model, cases[i].kind, cases[i].tokens,
                                      cases[i].depth[0]),
                            b = least(cases[i].model, cases[i].kind, cases[i].tokens,
                                      cases[i].depth[1]);
        cr_expect(b.flops - a.flops == 96 * cases[i].seen &&
                      b.bytes - a.bytes == 96 * cases[i].read,
                  "case %zu: %g FLOP, %g bytes", i, b.flops - a.flops, b.bytes - a.bytes);
    }
}

/* All else grows evenly with a text. So do the 7 T - 12 pairs of two layers with a window of 4 to each
 * side; the T * T pairs of the other two grow by 200 more from 20 to 30 tokens than from 10 to 20. */
Test(bench, rows_of_vectors_count_what_windows_see) {
    const char *const model = "modernbert/cls";
    const double f10 = least(model, TSR_BENCH_EMBED, 10, 0).flops,
                 f20 = least(model, TSR_BENCH_EMBED, 20, 0).flops,
                 f30 = least(model, TSR_BENCH_EMBED, 30, 0).flops;
    cr_expect_eq(f30 - 2 * f20 + f10, 96 * 2 * 200, "%g", f30 - 2 * f20 + f10);
}

/* ---- kernels ---- */

static tsri_task_draft kernels_of(tsr_model *model, const tsri_task_job *job) {
    tsri_task_draft draft;
    tsri_task_draft_begin(&draft, job->kind, "tokens/s", "kernels");
    OK(tsri_task_bench_kernels(model, job, &draft));
    cr_expect(draft.row.n_kernels > 0);
    return draft;
}

static bool has_kernel(const tsri_task_draft *draft, const char *op, const char *variant) {
    for (uint32_t i = 0; i < draft->row.n_kernels; i++)
        if (!strcmp(draft->kernels[i].op, op) &&
            (!variant || !strcmp(draft->kernels[i].variant, variant)))
            return true;
    return false;
}

/* How many kernels of `some` are in `all`, and whether one of them is tuned. */
static uint32_t common(const tsri_task_draft *some, const tsri_task_draft *all, bool *tuned) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < some->row.n_kernels; i++)
        for (uint32_t k = 0; k < all->row.n_kernels; k++) {
            const tsr_bench_kernel *a = &some->kernels[i], *b = &all->kernels[k];
            n += !strcmp(a->op, b->op) && !strcmp(a->variant, b->variant) &&
                 !strcmp(a->tuning, b->tuning);
            *tuned |= strchr(a->tuning, '=') != NULL;
        }
    return n;
}

/* Those of a prompt and those of the tokens after it differ on a device. All three have room for
 * as many tokens. */
Test(bench, requests_list_the_kernels_of_prompts_and_tokens) {
    tsr_model *model = NULL;
    bool tuned = false;
    OK(tsr_engine_create(NULL, &engine));
    if (tsr_device_open(engine, NULL, NULL, &device) != TSR_OK)
        cr_skip_test("no device: %s", tsr_error_last());
    open_golden("llama", &model);
    static const tsri_task_job
        prompts = {.kind = TSR_BENCH_PROMPT, .tokens = 32, .depth = 4, .batch = 1},
        steps = {.kind = TSR_BENCH_GENERATE, .tokens = 4, .depth = 32, .batch = 1},
        request = {
            .kind = TSR_BENCH_GENERATE, .tokens = 4, .depth = 32, .batch = 1, .request = true};
    tsri_task_draft prompt = kernels_of(model, &prompts), tokens = kernels_of(model, &steps),
                    both = kernels_of(model, &request);
    cr_expect_eq(common(&prompt, &both, &tuned), prompt.row.n_kernels);
    cr_expect_eq(common(&tokens, &both, &tuned), tokens.row.n_kernels);
    tsri_task_draft_clear(&both);
    if (strcmp(tsri_backend_opened(device)->devices[0]->backend->name, "reference") != 0) {
        cr_expect_lt(common(&prompt, &tokens, &tuned), prompt.row.n_kernels);
        cr_expect(tuned, "no tuning is listed");
    }
    tsri_task_draft_clear(&prompt);
    tsri_task_draft_clear(&tokens);
    tsr_model_close(&model);
    close_reference();
}

/* What requests in full places run, a batch of as many does. */
static void serves_batches(tsr_model *model, const tsri_task_job *served) {
    const tsri_task_job full = {.kind = TSR_BENCH_GENERATE, .tokens = 4, .batch = served->batch};
    tsri_task_draft batch = kernels_of(model, &full), requests = kernels_of(model, served);
    for (size_t k = 0; k < batch.row.n_kernels; k++)
        cr_expect(has_kernel(&requests, batch.kernels[k].op, batch.kernels[k].variant), "%s/%s",
                  batch.kernels[k].op, batch.kernels[k].variant);
    tsri_task_draft_clear(&batch);
    tsri_task_draft_clear(&requests);
}

/* A batch's kernels are those that its own steps run: one for a single row is not among them. */
Test(bench, batches_list_the_kernels_of_batches) {
    static const tsri_task_job one = {.kind = TSR_BENCH_GENERATE, .tokens = 4, .batch = 1},
                               many = {.kind = TSR_BENCH_GENERATE, .tokens = 4, .batch = 32},
                               served = {
                                   .kind = TSR_BENCH_SERVE, .tokens = 4, .depth = 8, .batch = 32};
    tsr_model *model = NULL;
    OK(tsr_engine_create(NULL, &engine));
    if (tsr_device_open(engine, NULL, NULL, &device) != TSR_OK)
        cr_skip_test("no device: %s", tsr_error_last());
    open_golden("llama", &model);
    const tsri_task_job *const jobs[] = {&one, &many, &served};
    for (int i = 0; i < 3; i++) {
        tsri_task_draft draft = kernels_of(model, jobs[i]);
        cr_expect(has_kernel(&draft, "linear", NULL), "%d", i);
        cr_expect(i != 1 || !has_kernel(&draft, "linear", "packed_one"));
        tsri_task_draft_clear(&draft);
    }
    serves_batches(model, &served);
    tsr_model_close(&model);
    close_reference();
}

/* An encoder has ops that its decoder lacks: here, what pools hidden states. The search takes
 * the best candidates, not one. */
Test(bench, translations_list_the_kernels_of_encoders) {
    static const tsri_task_job job = {
        .kind = TSR_BENCH_TRANSLATE, .tokens = 4, .depth = 8, .batch = 1};
    tsr_model *model = NULL;
    open_reference();
    open_golden("bahdanau", &model);
    tsri_task_draft draft = kernels_of(model, &job);
    cr_expect(has_kernel(&draft, "pool", NULL) && has_kernel(&draft, "topk", NULL) &&
              !has_kernel(&draft, "argmax", NULL));
    tsri_task_draft_clear(&draft);
    tsr_model_close(&model);
    close_reference();
}

/* One variant may run with two tunings. */
Test(bench, kernels_are_listed_once_for_each_tuning) {
    tsri_task_draft draft;
    tsri_task_draft_begin(&draft, TSR_BENCH_OP, "FLOP/s", "linear");
    OK(tsri_task_draft_kernel(&draft, "linear", "linear/packed:MR=6", "MR=6 (default)"));
    OK(tsri_task_draft_kernel(&draft, "linear", "linear/packed:MR=6", "MR=6 (default)"));
    OK(tsri_task_draft_kernel(&draft, "linear", "linear/packed:MR=4", "MR=4 (tuned)"));
    cr_assert_eq(draft.row.n_kernels, 2);
    cr_expect_str_eq(draft.kernels[1].variant, "packed");
    cr_expect_str_eq(draft.kernels[1].tuning, "MR=4 (tuned)");
    tsri_task_draft_clear(&draft);
}

/* ---- steady times ---- */

Test(bench, a_trend_is_not_steady) {
    const double rising[] = {1, 1.01, 1.02, 1.03, 1.04}, falling[] = {5, 4, 3, 2, 1},
                 even[] = {9, 9, 1, 1.02, 0.99, 1.01, 1}, spike[] = {1, 1.3, 0.99, 1, 1.01};
    cr_expect_eq(tsri_task_trend(rising, 5), 1);
    cr_expect_eq(tsri_task_trend(falling, 5), -1);
    cr_expect_float_eq(tsri_task_trend(even + 2, 5), -0.1, 1e-12);
    cr_expect(!tsri_task_steady(rising, 5) && !tsri_task_steady(falling, 5));
    cr_expect(tsri_task_steady(even, 7), "only the last five count");
    cr_expect(!tsri_task_steady(spike, 5), "one of them is 30 %% above");
    cr_expect(!tsri_task_steady(even + 2, 4), "four are too few");
}

/* Gives the times of a list, one after the other, and then the last for ever. */
typedef struct script {
    const double *times;
    uint32_t n, at;
} script;

static tsr_status next(void *data, double *seconds) {
    script *s = data;
    *seconds = s->times[s->at < s->n ? s->at : s->n - 1];
    s->at++;
    return TSR_OK;
}

Test(bench, warm_up_ends_where_times_are_steady) {
    static const double times[] = {9, 5, 3, 2, 1.01, 1, 1.01, 1, 1.01, 1};
    const tsri_task_rule rule = {.least = 5, .most = 100, .least_seconds = 1, .most_seconds = 600};
    script s = {.times = times, .n = 10};
    tsri_task_samples out = {0};
    cr_assert_eq(tsri_task_sample(&rule, next, &s, &out), TSR_OK);
    cr_expect(out.warmup == 9 && out.n == 5 && !tsri_task_is_noisy(&out.noise), "%u %u", out.warmup,
              out.n);
    cr_expect_eq(out.values[0], 1);
    free(out.values);
}

/* Samples of two speeds, in the order of time: many of them make the interval of the median narrow,
 * though another run may have the other speed all the time. */
Test(bench, a_speed_that_changes_is_noisy) {
    enum { N = 1000 };
    static double values[N];
    tsri_task_noise noise = {0};
    for (uint32_t i = 0; i < N; i++)
        values[i] = (i % 7 ? 1.0 : 1.02) * (i < 600 ? 1 : 1.2);
    cr_assert_eq(tsri_task_noise_of(values, N, &noise), TSR_OK);
    cr_expect(fabs(noise.apart - 0.2) < 1e-9 && noise.interval == 0,
              "one speed, then another: %g, %g", noise.apart, noise.interval);
    for (uint32_t i = 0; i < N; i++)
        values[i] = i % 2 ? 1.0 : 1.2;
    cr_assert_eq(tsri_task_noise_of(values, N, &noise), TSR_OK);
    cr_expect(!tsri_task_is_noisy(&noise), "two speeds in turn have one median");
    for (uint32_t i = 0; i < N; i++)
        values[i] = i % 7 ? 1.0 : 1.02;
    cr_assert_eq(tsri_task_noise_of(values, N, &noise), TSR_OK);
    cr_expect(!tsri_task_is_noisy(&noise), "one speed");
}

/* 1.57 times the distance of the quartiles, 0.4, over the root of eight. */
Test(bench, a_wide_interval_is_noisy) {
    static const double values[] = {1, 0.8, 1.2, 1, 0.8, 1.2, 1, 1.2};
    tsri_task_noise noise = {0};
    cr_assert_eq(tsri_task_noise_of(values, 8, &noise), TSR_OK);
    cr_expect(fabs(noise.interval - 1.57 * 0.4 / sqrt(8)) < 1e-9 && noise.apart == 0, "%g, %g",
              noise.interval, noise.apart);
}

/* A row that is noisy says why, with the figure; one without a rate is not noisy. */
Test(bench, noise_is_told_with_its_cause) {
    static const double values[] = {1, 2, 3};
    static const struct {
        tsri_task_noise noise;
        const char *said;
    } cases[] = {
        {{0}, ""},
        {{.unsteady = 27}, "its times never became steady in 27 runs"},
        {{.interval = 0.072}, "the 95 % interval of the median extends 7.2 % to either side"},
        {{.apart = 0.204}, "the medians of five consecutive parts differ by 20.4 %"},
        {{.passes = 0.28, .medians = {1224, 956}},
         "the medians of its two passes differ by 28.0 %: 1224 and 956 tokens/s"},
        {{.unsteady = 9, .apart = 0.3},
         "its times never became steady in 9 runs; the medians of five consecutive parts differ by "
         "30.0 %"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsri_task_draft draft;
        tsri_task_draft_begin(&draft, TSR_BENCH_PROMPT, "tokens/s", "pp1");
        tsri_task_samples *samples = &draft.samples;
        cr_assert_eq(tsri_base_grow(&samples->values, &samples->room, 3, sizeof *values), TSR_OK);
        memcpy(samples->values, values, sizeof values);
        samples->n = 3;
        samples->noise = cases[i].noise;
        cr_assert_eq(tsri_task_draft_figures(&draft), TSR_OK);
        cr_expect_eq(draft.row.noisy, i > 0, "case %zu", i);
        cr_expect_str_eq(draft.reason, cases[i].said);
        tsri_task_draft_void(&draft, TSR_BENCH_ERROR, "lost");
        cr_expect(!draft.row.noisy && !strcmp(draft.reason, "lost"), "%s", draft.reason);
        tsri_task_draft_clear(&draft);
    }
}

/* ---- two passes ---- */

/* What the sink of a suite was given. */
typedef struct given {
    uint32_t rows, unfinished, noisy, n, first_pass, warmup, status;
    double median, highest, samples[16], first_token;
    char reason[1024], model[64];
    bool stop;
} given;

static int take(void *data, const tsr_bench_row *row) {
    given *g = data;
    g->rows += !row->unfinished;
    g->unfinished += row->unfinished;
    g->noisy = row->noisy;
    g->n = row->n_samples;
    g->first_pass = row->first_pass;
    g->warmup = row->warmup;
    g->status = row->status;
    g->median = row->median;
    g->highest = row->highest;
    g->first_token = row->first_token;
    memcpy(g->samples, row->samples ? row->samples : g->samples,
           (row->n_samples < 16 ? row->n_samples : 16) * sizeof *g->samples);
    snprintf(g->reason, sizeof g->reason, "%s", row->reason);
    snprintf(g->model, sizeof g->model, "%s", row->model ? row->model->name : "");
    return g->stop;
}

/* A suite of one row whose runs take as long as a list says. */
typedef struct passes_run {
    given given;
    tsr_bench_summary summary;
    tsri_task_sink sink;
    tsri_task_passes passes;
    tsri_task_bench b;
} passes_run;

static void begin_passes(passes_run *r) {
    *r = (passes_run){.sink = {.row = take, .data = &r->given, .summary = &r->summary}};
    r->b = (tsri_task_bench){.sink = &r->sink,
                             .passes = &r->passes,
                             .rule = {.least = 5, .most = 5, .most_seconds = 60}};
}

/* One pass of the row; its model lives no longer than that. */
static tsr_status one_pass(passes_run *r, const double *times, uint32_t n) {
    char name[] = "shape:tiny";
    const tsr_bench_model model = {.name = name, .kept = "f32"};
    script s = {.times = times, .n = n};
    tsri_task_draft draft;
    tsri_task_draft_begin(&draft, TSR_BENCH_PROMPT, "s", "pp1");
    draft.row.model = &model;
    const tsr_status status = tsri_task_bench_recall(&r->b, &draft)
                                  ? tsri_task_bench_time(&r->b, &draft, 1, next, &s)
                                  : TSR_OK;
    const tsr_status ended =
        tsri_task_bench_finish(&r->b, &draft, status, r->passes.second ? "" : "as it was told");
    memset(name, 'x', sizeof name - 1);
    return ended;
}

/* Each pass of its own is steady; what tells the machine's other speed is the other pass. */
Test(bench, passes_that_differ_are_noisy) {
    static const struct {
        double second;
        bool noisy;
    } cases[] = {{1e-3, false}, {1.04e-3, false}, {1.06e-3, true}, {0.94e-3, true}};
    static const double first = 1e-3;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        passes_run r;
        begin_passes(&r);
        OK(one_pass(&r, &first, 1));
        cr_expect(r.given.rows == 0 && r.given.unfinished == 0);
        r.passes.second = true;
        OK(one_pass(&r, &cases[i].second, 1));
        tsri_task_passes_end(&r.passes, &r.sink);
        const given *g = &r.given;
        cr_expect(g->rows == 1 && r.summary.ok == 1 && g->n == 10 && g->first_pass == 5 &&
                      g->warmup == 10,
                  "case %zu: %u rows, %u of %u", i, g->rows, g->first_pass, g->n);
        cr_expect_str_eq(g->model, "shape:tiny");
        for (int k = 0; k < 10; k++)
            cr_expect_eq(g->samples[k], k < 5 ? first : cases[i].second);
        cr_expect_eq(g->noisy, cases[i].noisy, "case %zu: %s", i, g->reason);
        cr_expect(strstr(g->reason, "as it was told"), "%s", g->reason);
        cr_expect(!strstr(g->reason, "of its two passes") == !cases[i].noisy, "%s", g->reason);
    }
}

Test(bench, passes_that_differ_are_told_with_both_medians) {
    static const double first = 2e-3, second = 1e-3;
    passes_run r;
    begin_passes(&r);
    OK(one_pass(&r, &first, 1));
    r.passes.second = true;
    OK(one_pass(&r, &second, 1));
    cr_expect(strstr(r.given.reason,
                     "the medians of its two passes differ by 100.0 %: 0.002 and 0.001 s"),
              "%s", r.given.reason);
    tsri_task_passes_end(&r.passes, &r.sink);
    cr_expect_eq(r.given.rows, 1, "it comes once");
}

static void one_peak(passes_run *r, double value) {
    tsri_task_draft draft;
    tsri_task_samples *s = &draft.samples;
    r->b.now = (tsri_run_peaks){0};
    tsri_task_draft_begin(&draft, TSR_BENCH_PEAK, "B/s", "read");
    cr_expect(tsri_task_bench_recall(&r->b, &draft));
    OK(tsri_base_grow(&s->values, &s->room, 2, sizeof *s->values));
    s->values[0] = value;
    s->values[1] = value * 1.01;
    s->n = 2;
    OK(tsri_task_bench_peak(&r->b, TSR_PEAK_READ, &draft, TSR_OK));
}

/* The best of both is the peak. */
Test(bench, peaks_of_passes_that_differ_are_noisy) {
    static const struct {
        double first, second;
        bool noisy;
    } cases[] = {{40, 40, false}, {40, 41.5, false}, {40, 42.5, true}, {42.5, 40, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        passes_run r;
        begin_passes(&r);
        one_peak(&r, cases[i].first);
        r.passes.second = true;
        one_peak(&r, cases[i].second);
        const given *g = &r.given;
        cr_expect_eq(g->noisy, cases[i].noisy, "case %zu: %s", i, g->reason);
        cr_expect(!strstr(g->reason, "of its two passes") == !cases[i].noisy, "%s", g->reason);
        cr_expect(g->n == 4 && g->first_pass == 2 && g->status == TSR_BENCH_OK);
        cr_expect_eq(g->highest, 1.01 * fmax(cases[i].first, cases[i].second));
        cr_expect_eq(r.b.now.read, 1.01 * cases[i].second, "the latest");
        tsri_task_passes_end(&r.passes, &r.sink);
    }
}

/* What the first pass measured is kept, and says that it is one of two. */
Test(bench, a_run_that_is_stopped_keeps_its_first_pass) {
    static const double first = 1e-3;
    for (int stopped = 0; stopped < 2; stopped++) {
        passes_run r;
        begin_passes(&r);
        r.sink.unfinished = true;
        OK(one_pass(&r, &first, 1));
        cr_expect(r.given.rows == 0 && r.given.unfinished == 1 && r.given.n == 5);
        r.passes.second = stopped;
        if (stopped) { /* within the row's second pass */
            tsri_task_draft draft;
            tsri_task_draft_begin(&draft, TSR_BENCH_PROMPT, "s", "pp1");
            cr_expect(tsri_task_bench_recall(&r.b, &draft));
            cr_expect_eq(tsri_task_bench_finish(&r.b, &draft, TSR_E_CANCELLED, ""),
                         TSR_E_CANCELLED);
        }
        r.given.stop = true;
        tsri_task_passes_end(&r.passes, &r.sink);
        const given *g = &r.given;
        cr_expect(g->rows == 1 && g->n == 5 && g->first_pass == 0 && r.summary.ok == 1);
        cr_expect(strstr(g->reason, "it had one pass of two"), "%s", g->reason);
    }
}

/* A row without a rate stays as it was. */
Test(bench, a_row_without_a_rate_has_no_second_pass) {
    passes_run r;
    begin_passes(&r);
    for (int second = 0; second < 2; second++) {
        tsri_task_draft draft;
        r.passes.second = second;
        tsri_task_draft_begin(&draft, TSR_BENCH_PROMPT, "s", "pp1");
        cr_expect_eq(tsri_task_bench_recall(&r.b, &draft), !second);
        if (!second)
            tsri_task_draft_void(&draft, TSR_BENCH_FAILED_ACCURACY, "it is wrong");
        OK(tsri_task_bench_finish(&r.b, &draft, TSR_OK, ""));
        cr_expect_eq(r.given.rows, second);
    }
    cr_expect(r.given.status == TSR_BENCH_FAILED_ACCURACY && r.summary.failed_accuracy == 1 &&
              !strcmp(r.given.reason, "it is wrong"));
    tsri_task_passes_end(&r.passes, &r.sink);
    cr_expect_eq(r.given.rows, 1);
}

/* The machine beside a row is that of its worse pass, from the begin of one to the end of the other. */
Test(bench, conditions_of_two_passes) {
    tsri_task_kept first = {0};
    tsri_task_draft draft;
    tsri_task_draft_begin(&first.draft, TSR_BENCH_PROMPT, "s", "pp1");
    tsri_task_draft_begin(&draft, TSR_BENCH_PROMPT, "s", "pp1");
    first.draft.conditions =
        (tsr_bench_conditions){{1, 2}, {30, 40}, {1, 2}, .steal = 0.2, .energy = 5};
    draft.conditions = (tsr_bench_conditions){{3, 4}, {50, 60}, {0, 1}, .steal = NAN, .energy = 6};
    first.draft.others = 0.5;
    first.draft.row.peak_fma[0] = 7;
    first.draft.row.peak_fma[1] = 9;
    draft.row.peak_fma[0] = draft.row.peak_fma[1] = 8;
    first.draft.row.host_bytes = 10;
    draft.before = &first;
    OK(tsri_task_draft_join(&draft));
    const tsr_bench_conditions *c = &draft.conditions;
    cr_expect(c->clock[0] == 1 && c->clock[1] == 4 && c->temperature[0] == 30 &&
              c->temperature[1] == 60 && c->load[0] == 1 && c->load[1] == 2 && c->steal == 0.2 &&
              c->energy == 11);
    cr_expect(draft.others == 0.5 && draft.row.peak_fma[0] == 7 && draft.row.peak_fma[1] == 8 &&
              draft.row.host_bytes == 10);
}

/* The times of requests are those of both passes, each without its warm-up. */
Test(bench, requests_of_two_passes) {
    static const double first[] = {9, 1, 2}, second[] = {9, 9, 3}, each[] = {1, 1, 1};
    tsri_task_kept kept = {0};
    tsri_task_draft draft;
    tsri_task_draft_begin(&kept.draft, TSR_BENCH_GENERATE, "s", "request");
    tsri_task_draft_begin(&draft, TSR_BENCH_GENERATE, "s", "request");
    kept.draft.samples.n = 2;
    OK(tsri_task_draft_latencies(&kept.draft, first, each, 3, 1));
    cr_expect_eq(kept.draft.row.first_token, 1.5);
    draft.before = &kept;
    draft.samples.n = 3;
    draft.samples.earlier = 2;
    OK(tsri_task_draft_latencies(&draft, second, each, 3, 1));
    cr_expect(draft.row.first_token == 2 && draft.n_requests == 3, "%g", draft.row.first_token);
    tsri_task_draft_clear(&draft);
    tsri_task_draft_clear(&kept.draft);
}

Test(bench, what_never_becomes_steady_is_noisy) {
    static const double times[] = {1, 2, 1, 3, 1, 2, 4, 1, 2, 1, 3, 1, 5, 1, 2, 1,
                                   3, 1, 2, 1, 3, 1, 2, 1, 4, 1, 2, 1, 1, 3, 1, 2};
    const tsri_task_rule rule = {.least = 7, .most = 100, .least_seconds = 0, .most_seconds = 600};
    script s = {.times = times, .n = 32};
    tsri_task_samples out = {0};
    cr_assert_eq(tsri_task_sample(&rule, next, &s, &out), TSR_OK);
    cr_expect(out.warmup == 20 && out.n == 7 && out.noise.unsteady == 27, "%u %u", out.warmup,
              out.n);
    free(out.values);
}

Test(bench, time_bounds_what_is_measured) {
    static const double slow[] = {10}, quick[] = {1e-3};
    tsri_task_rule rule = {.least = 5, .most = 1000, .least_seconds = 0.1, .most_seconds = 25};
    script s = {.times = slow, .n = 1};
    tsri_task_samples out = {0};
    cr_assert_eq(tsri_task_sample(&rule, next, &s, &out), TSR_OK);
    cr_expect(out.warmup == 1 && out.n == 3, "a third of 25 s, and then 25 s: %u %u", out.warmup,
              out.n);
    s = (script){.times = quick, .n = 1};
    cr_assert_eq(tsri_task_sample(&rule, next, &s, &out), TSR_OK);
    cr_expect(out.n >= 99 && out.n <= 101 && !tsri_task_is_noisy(&out.noise),
              "a tenth of a second: %u", out.n);
    rule.most = 7;
    cr_assert_eq(tsri_task_sample(&rule, next, &s, &out), TSR_OK);
    cr_expect_eq(out.n, 7);
    free(out.values);
}

Test(bench, percentiles_are_samples_and_outliers_are_counted) {
    const double values[] = {10, 12, 11, 13, 9, 10, 11, 12, 10, 90};
    double sorted[10];
    const tsri_task_spread s = tsri_task_spread_of(values, 10, sorted);
    cr_expect(s.lowest == 9 && s.p10 == 9 && s.median == 11 && s.p90 == 13 && s.highest == 90,
              "%g %g %g", s.p10, s.median, s.p90);
    cr_expect(s.p1 == 9 && s.p99 == 90, "%g %g", s.p1, s.p99);
    cr_expect_eq(s.outliers, 1);
    const tsri_task_spread one = tsri_task_spread_of(values, 1, sorted);
    cr_expect(one.p10 == 10 && one.p90 == 10 && one.outliers == 0);
}

/* What was held before the row's runs, for the gates or the peaks, is not the row's. */
Test(bench, memory_is_what_the_row_s_runs_reached) {
    enum { BIG = 256 << 20 };
    static const double times[] = {1e-3};
    static const tsri_task_sink sink = {0};
    tsri_task_bench b = {.sink = &sink, .rule = {.least = 1, .most = 1, .cold = true}};
    script s = {.times = times, .n = 1};
    tsri_task_draft draft;
    if (access("/proc/self/clear_refs", W_OK) != 0)
        cr_skip_test("this system can't count the peak of memory anew");
    char *big = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(big != MAP_FAILED);
    memset(big, 1, BIG);
    const uint64_t most = tsri_system_resident_peak();
    munmap(big, BIG);
    tsri_task_draft_begin(&draft, TSR_BENCH_PROMPT, "s", "row");
    OK(tsri_task_bench_time(&b, &draft, 1, next, &s));
    cr_expect(draft.row.host_bytes > 0 && draft.row.host_bytes + BIG / 2 < most, "%llu of %llu",
              (unsigned long long)draft.row.host_bytes, (unsigned long long)most);
    tsri_task_draft_clear(&draft);
}

/* ---- arrivals ---- */

/* Of an exponential distribution: as far from its mean on average as 2/e of it, and independent. */
Test(bench, gaps_between_arrivals_are_exponential) {
    enum { N = 4000 };
    static double due[N], again[N], other[N];
    tsri_task_arrivals_draw(7, 50, N, due);
    tsri_task_arrivals_draw(7, 50, N, again);
    tsri_task_arrivals_draw(8, 50, N, other);
    cr_expect(!memcmp(due, again, sizeof due) && memcmp(due, other, sizeof due));
    cr_expect(fabs(due[N - 1] - N / 50.0) < 1e-6, "the mean gap is a 50th of a second: %g",
              due[N - 1]);
    double away = 0, along = 0, before = 0;
    for (int i = 0; i < N; i++) {
        const double gap = (due[i] - (i ? due[i - 1] : 0)) * 50;
        cr_assert(gap >= 0);
        away += fabs(gap - 1) / N;
        along += (gap - 1) * (before - 1) / N;
        before = gap;
    }
    cr_expect(fabs(away - 2 / 2.718281828) < 0.03, "%g", away);
    cr_expect(fabs(along) < 0.06, "%g", along);
}

/* ---- the machine ---- */

static char root[64];

static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *c = path + strlen(root) + 1; (c = strchr(c, '/')); *c++ = '/') {
        *c = 0;
        mkdir(path, 0777);
    }
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0, "%s", path);
    fclose(file);
}

static void begin(void) {
    strcpy(root, "/tmp/tessera-conditions-XXXXXX");
    cr_assert(mkdtemp(root));
}

static void end(void) {
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", root);
    cr_assert_eq(system(command), 0);
}

Test(bench, conditions_of_a_processor, .init = begin, .fini = end) {
    put("proc/stat", "cpu  100 0 50 800 0 0 0 50 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
    put("proc/loadavg", "1.50 0.7 0.3 3/200 4711\n");
    put("proc/self/stat", "7 (a b) c) R 1 2 3 4 5 6 7 8 9 10 700 250 30 20 20 0 1 0\n");
    put("proc/8/stat", "8 (child) R 7 2 3 4 5 6 7 8 9 10 100 50 0 0 20 0 1 0\n");
    put("proc/9/stat", "9 (stranger) R 1 2 3 4 5 6 7 8 9 10 400 0 0 0 20 0 1 0\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2100000\n");
    put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3400000\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n");
    put("sys/class/hwmon/hwmon0/name", "nvme\n");
    put("sys/class/hwmon/hwmon0/temp1_input", "99000\n");
    put("sys/class/hwmon/hwmon1/name", "coretemp\n");
    put("sys/class/hwmon/hwmon1/temp1_input", "61000\n");
    put("sys/class/hwmon/hwmon1/temp2_input", "64000\n");
    put("sys/class/powercap/intel-rapl:0/energy_uj", "99000000\n");
    put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "100000000\n");
    const tsri_task_reading before = tsri_task_read_conditions(root, true, 0);
    put("proc/stat", "cpu  150 0 50 800 0 0 0 100 0 0\n");
    put("proc/loadavg", "1.50 0.7 0.3 1/200 4711\n");
    put("proc/self/stat", "nonsense\n");
    put("sys/class/powercap/intel-rapl:0/energy_uj", "4000000\n");
    const tsri_task_reading after = tsri_task_read_conditions(root, true, 0);
    const tsr_bench_conditions c = tsri_task_conditions_between(&before, &after);
    char governor[32];
    tsri_task_read_governor(root, governor, sizeof governor);
    cr_expect_str_eq(governor, "schedutil");
    cr_expect(c.clock[0] == 3.4e9 && c.temperature[1] == 64, "%g %g", c.clock[0], c.temperature[1]);
    cr_expect(c.load[0] == 2 && c.load[1] == 0 && before.load_minute == 1.5, "%g", c.load[0]);
    cr_expect_float_eq(c.steal, 0.5, 1e-9);
    cr_expect_float_eq(after.busy - before.busy, 0.5, 1e-9, "%g", after.busy);
    cr_expect_float_eq(before.own, 11.5, 1e-9, "with its child: %g", before.own);
    cr_expect(isnan(after.own) && tsri_task_others_between(&before, &after) == 0, "%g", after.own);
    cr_expect_float_eq(c.energy, 5, 1e-6, "the counter began anew: %g", c.energy);
}

/* Two generations of processors with one name are two; ARM's have numbers alone. */
Test(bench, processors_are_told_apart, .init = begin, .fini = end) {
    static const struct {
        const char *info, *cpu;
    } cases[] = {
        {"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n"
         "model name\t: AMD EPYC\nstepping\t: 1\nmicrocode\t: 0x1000065\n\nmodel\t\t: 9\n",
         "AMD EPYC (family 26, model 2, stepping 1)"},
        {"processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
         "CPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
         "implementer 0x41, part 0xd0c, variant 0x3, revision 1"},
        {"model name\t: A\n", "A"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsri_task_host host;
        put("proc/cpuinfo", cases[i].info);
        tsri_task_read_host(root, &host);
        cr_expect_str_eq(host.cpu, cases[i].cpu, "case %zu", i);
    }
}

/* Two packages; psys counts them once more. */
Test(bench, energy_of_packages, .init = begin, .fini = end) {
    static const char *const names[] = {"package-0\n", "psys\n", "package-1\n"};
    static const char *const energies[] = {"5000000\n", "900000000\n", "7000000\n"};
    char path[96];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "sys/class/powercap/intel-rapl:%d/name", i);
        put(path, names[i]);
        snprintf(path, sizeof path, "sys/class/powercap/intel-rapl:%d/energy_uj", i);
        put(path, energies[i]);
    }
    const tsri_task_reading r = tsri_task_read_conditions(root, true, 0);
    cr_expect_float_eq(r.energy, 12, 1e-9, "%g", r.energy);
}

/* The schema has no share below 0. */
Test(bench, stolen_time_that_falls_is_none, .init = begin, .fini = end) {
    put("proc/stat", "cpu  100 0 50 800 0 0 0 50 0 0\n");
    const tsri_task_reading before = tsri_task_read_conditions(root, true, 0);
    put("proc/stat", "cpu  300 0 50 900 0 0 0 20 0 0\n");
    const tsri_task_reading after = tsri_task_read_conditions(root, true, 0);
    cr_expect_eq(tsri_task_conditions_between(&before, &after).steal, 0);
}

Test(bench, what_the_system_does_not_say_is_not_measured, .init = begin, .fini = end) {
    const tsri_task_reading r = tsri_task_read_conditions(root, true, 0),
                            card = tsri_task_read_conditions(root, false, 0);
    const tsr_bench_conditions c = tsri_task_conditions_between(&r, &card);
    char governor[32];
    tsri_task_read_governor(root, governor, sizeof governor);
    cr_expect_str_empty(governor);
    cr_expect(isnan(c.clock[0]) && isnan(c.temperature[0]) && isnan(c.load[0]) && isnan(c.steal) &&
              isnan(c.energy));
    put("proc/cpuinfo", "model name\t: A\ncpu MHz\t\t: 2600.125\n");
    put("sys/class/thermal/thermal_zone0/temp", "45000\n");
    put("proc/loadavg", "nonsense\n");
    const tsri_task_reading two = tsri_task_read_conditions(root, true, 0);
    cr_expect_float_eq(two.clock, 2600.125e6, 1);
    cr_expect(two.temperature == 45 && isnan(two.load), "%g", two.temperature);
}

Test(bench, conditions_of_a_card, .init = begin, .fini = end) {
    put("sys/class/drm/card0/device/hwmon/hwmon2/freq1_input", "1800000000\n");
    put("sys/class/drm/card0/device/hwmon/hwmon2/temp1_input", "70000\n");
    put("sys/class/drm/card0/device/hwmon/hwmon2/energy1_input", "3000000\n");
    tsri_task_reading r = tsri_task_read_conditions(root, false, 0);
    cr_expect(r.clock == 1.8e9 && r.temperature == 70 && r.energy == 3);
    put("sys/class/drm/card1/device/hwmon/hwmon3/temp1_input", "30000\n");
    r = tsri_task_read_conditions(root, false, 0);
    cr_expect(isnan(r.clock) && isnan(r.temperature), "which of two cards runs is not known");
}

/* Graphics of a processor beside a card whose driver has no sensors: theirs are not the card's. */
Test(bench, conditions_of_a_card_beside_another_vendor_s, .init = begin, .fini = end) {
    enum { INTEL = 0x8086, NVIDIA = 0x10de };
    put("sys/class/drm/card0/device/vendor", "0x8086\n");
    put("sys/class/drm/card0/gt_act_freq_mhz", "1150\n");
    put("sys/class/drm/card1/device/vendor", "0x10de\n");
    cr_expect(isnan(tsri_task_read_conditions(root, false, NVIDIA).clock));
    cr_expect(tsri_task_read_conditions(root, false, INTEL).clock == 1.15e9);
    put("sys/class/drm/card1/device/hwmon/hwmon3/temp1_input", "61000\n");
    const tsri_task_reading r = tsri_task_read_conditions(root, false, NVIDIA);
    cr_expect(r.temperature == 61 && isnan(r.clock), "%g %g", r.temperature, r.clock);
    cr_expect(isnan(tsri_task_read_conditions(root, false, 0).clock), "which runs is not known");
}

/* No counter of energy: 180 W at the end of four seconds. */
Test(bench, conditions_of_a_card_of_amdgpu, .init = begin, .fini = end) {
    put("sys/class/drm/card0/device/hwmon/hwmon2/freq1_input", "2400000000\n");
    put("sys/class/drm/card0/device/hwmon/hwmon2/freq2_input", "96000000\n");
    put("sys/class/drm/card0/device/hwmon/hwmon2/temp1_input", "52000\n");
    put("sys/class/drm/card0/device/hwmon/hwmon2/temp2_input", "58000\n");
    put("sys/class/drm/card0/device/hwmon/hwmon2/power1_average", "100000000\n");
    put("sys/class/drm/card0/device/hwmon/hwmon2/power1_input", "999000000\n");
    tsri_task_reading before = tsri_task_read_conditions(root, false, 0);
    put("sys/class/drm/card0/device/hwmon/hwmon2/power1_average", "180000000\n");
    tsri_task_reading after = tsri_task_read_conditions(root, false, 0);
    cr_expect(after.seconds > before.seconds, "%g", after.seconds - before.seconds);
    before.seconds = 10;
    after.seconds = 14;
    const tsr_bench_conditions c = tsri_task_conditions_between(&before, &after);
    cr_expect(c.clock[0] == 2.4e9 && c.temperature[1] == 58, "%g %g", c.clock[0], c.temperature[1]);
    cr_expect_float_eq(c.energy, 720, 1e-6, "%g", c.energy);
    put("sys/class/drm/card0/device/hwmon/hwmon2/power1_average", "none\n");
    before = tsri_task_read_conditions(root, false, 0);
    cr_expect_float_eq(before.power, 999, 1e-6, "%g", before.power);
}

/* A part of the processor: a clock in MHz, and nothing in hwmon. It is 0 while the part sleeps. */
Test(bench, conditions_of_a_card_of_i915, .init = begin, .fini = end) {
    put("sys/class/drm/card0/gt_act_freq_mhz", "0\n");
    tsri_task_reading r = tsri_task_read_conditions(root, false, 0);
    cr_expect(isnan(r.clock), "%g", r.clock);
    put("sys/class/drm/card0/gt_act_freq_mhz", "1150\n");
    r = tsri_task_read_conditions(root, false, 0);
    cr_expect(r.clock == 1.15e9 && isnan(r.temperature) && isnan(r.energy) && isnan(r.power), "%g",
              r.clock);
    put("sys/class/drm/card0/gt/gt0/rps_act_freq_mhz", "1200\n");
    put("sys/class/drm/card0/gt/gt1/rps_act_freq_mhz", "900\n");
    cr_expect_eq(tsri_task_read_conditions(root, false, 0).clock, 1.2e9);
    put("sys/class/drm/card1/device/hwmon/hwmon3/freq1_input", "1800000000\n");
    r = tsri_task_read_conditions(root, false, 0);
    cr_expect(isnan(r.clock), "which of two cards runs is not known: %g", r.clock);
}

Test(bench, conditions_of_a_card_of_xe, .init = begin, .fini = end) {
    put("sys/class/drm/card0/device/tile0/gt0/freq0/act_freq", "2050\n");
    put("sys/class/drm/card0/device/hwmon/hwmon1/energy1_input", "7000000\n");
    const tsri_task_reading r = tsri_task_read_conditions(root, false, 0);
    cr_expect(r.clock == 2.05e9 && r.energy == 7, "%g %g", r.clock, r.energy);
}

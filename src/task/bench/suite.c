/* task/bench/suite.c - tsr_bench_suite: the fixed sets of rows. A change of what is in them needs
 * another TSR_BENCH_SUITE_VERSION. */
#include "task/bench/bench.h"
#include "task/bench/peer.h"
#include "task/bench/quality.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"

#include <stdio.h>
#include <string.h>

enum { SMOKE = 1, LAPTOP = 2, FULL = 4, LONGER = LAPTOP | FULL, EVERY = SMOKE | LAPTOP | FULL };
enum { F32 = 1, F16 = 2, Q8 = 4, Q4 = 8, F32_Q8 = F32 | Q8, ALL = F32 | F16 | Q8 | Q4 };
enum { DTYPES = 4, MOST_JOBS = 32 };

static const uint32_t dtypes[DTYPES] = {TSR_F32, TSR_F16, TSR_GGML_Q8_0, TSR_GGML_Q4_0};

/* What is measured in which classes and dtypes. */
typedef struct planned {
    int classes, dtypes;
    tsri_task_job job;
} planned;

#define PROMPT(n, past, b) \
    { .kind = TSR_BENCH_PROMPT, .tokens = n, .depth = past, .batch = b }
#define TOKENS(n, past, b) \
    { .kind = TSR_BENCH_GENERATE, .tokens = n, .depth = past, .batch = b }
#define REQUEST(read, n) \
    { .kind = TSR_BENCH_GENERATE, .tokens = n, .depth = read, .batch = 1, .request = true }
#define EMBED(n, b) \
    { .kind = TSR_BENCH_EMBED, .tokens = n, .batch = b }
#define TRANSLATE(read, n, b) \
    { .kind = TSR_BENCH_TRANSLATE, .tokens = n, .depth = read, .batch = b }
#define SERVE(read, n, slots) \
    { .kind = TSR_BENCH_SERVE, .tokens = n, .depth = read, .batch = slots }
#define TRAIN(n, b) \
    { .kind = TSR_BENCH_TRAIN, .tokens = n, .batch = b }

static const planned decoding[] = {
    {EVERY, ALL, PROMPT(512, 0, 1)},    {SMOKE, F32, PROMPT(2048, 0, 1)},
    {LONGER, ALL, PROMPT(2048, 0, 1)},  {LONGER, ALL, PROMPT(512, 4096, 1)},
    {LONGER, ALL, PROMPT(128, 0, 8)},   {SMOKE, ALL, TOKENS(32, 0, 1)},
    {LONGER, ALL, TOKENS(64, 0, 1)},    {SMOKE, F32, TOKENS(32, 512, 1)},
    {LONGER, ALL, TOKENS(64, 512, 1)},  {SMOKE, F32, TOKENS(32, 4096, 1)},
    {LONGER, ALL, TOKENS(64, 4096, 1)}, {SMOKE, F32_Q8, TOKENS(16, 0, 8)},
    {LONGER, ALL, TOKENS(16, 0, 8)},    {SMOKE, F32_Q8, TOKENS(8, 0, 32)},
    {LONGER, ALL, TOKENS(16, 0, 32)},   {SMOKE, F32, REQUEST(512, 32)},
    {LONGER, ALL, REQUEST(512, 64)},    {SMOKE, F32, SERVE(64, 16, 8)},
    {LONGER, F32_Q8, SERVE(128, 32, 8)}};
/* A real model, so that the quality gate is a perplexity. */
static const planned bundled[] = {{EVERY, F32_Q8, PROMPT(128, 0, 1)},
                                  {EVERY, F32_Q8, TOKENS(64, 0, 1)},
                                  {LONGER, F16 | Q4, PROMPT(128, 0, 1)},
                                  {LONGER, F16 | Q4, TOKENS(64, 0, 1)}};
static const planned embedding[] = {
    {EVERY, F32_Q8, EMBED(16, 1)},  {LONGER, F16 | Q4, EMBED(16, 1)},
    {LONGER, ALL, EMBED(64, 1)},    {LONGER, ALL, EMBED(256, 1)},
    {EVERY, F32_Q8, EMBED(16, 32)}, {LONGER, F16 | Q4, EMBED(16, 32)},
    {LONGER, ALL, EMBED(64, 32)}};
static const planned translating[] = {{EVERY, F32_Q8, TRANSLATE(16, 24, 1)},
                                      {EVERY, F32, TRANSLATE(16, 24, 8)},
                                      {LONGER, F16 | Q4, TRANSLATE(16, 24, 1)},
                                      {LONGER, F32_Q8, TRANSLATE(16, 24, 32)}};
static const planned learning[] = {{EVERY, F32, TRAIN(64, 8)}};
static const planned learning_more[] = {{LONGER, F32, TRAIN(256, 4)}};

/* The models of a part, by class. */
typedef struct part {
    const char *name;
    const char *models[3]; /* of smoke, laptop, full; NULL: none */
    const planned *jobs;
    size_t n;
    const char *kind; /* what -m must be to take the model's place; NULL: nothing does */
    bool trains;
} part;

#define JOBS(list) list, sizeof(list) / sizeof *(list)
static const part parts[] = {
    {"decoder",
     {"shape:llama-15m", "shape:smollm2-135m", "shape:llama-1b"},
     JOBS(decoding),
     "decoder",
     false},
    {"bundled", {"shakespeare", "shakespeare", "shakespeare"}, JOBS(bundled), NULL, false},
    {"encoder",
     {"shape:minilm", "shape:minilm", "shape:bert-base"},
     JOBS(embedding),
     "encoder",
     false},
    {"translation",
     {"translate-de-en", "shape:transformer-base", "shape:transformer-base"},
     JOBS(translating),
     "encoder-decoder",
     false},
    {"training",
     {"shape:char-gpt", "shape:char-gpt", "shape:char-gpt"},
     JOBS(learning),
     NULL,
     true},
    {"training", {NULL, "shape:gpt-10m", "shape:gpt2-124m"}, JOBS(learning_more), NULL, true}};
enum { PARTS = sizeof parts / sizeof *parts };

static const struct {
    const char *name;
    tsri_task_rule rule;
} classes[] = {{"smoke", {.least = 3, .most = 1000, .least_seconds = 0.2, .most_seconds = 3}},
               {"laptop", {.least = 5, .most = 1000, .least_seconds = 1, .most_seconds = 6}},
               {"full", {.least = 5, .most = 1000, .least_seconds = 1, .most_seconds = 60}}};
enum { CLASSES = sizeof classes / sizeof *classes };

typedef struct suite {
    tsri_task_bench b;
    tsri_task_memo memo;
    tsri_task_passes passes;
    const tsr_bench_suite_options *options;
    int class_at;
    const char *model, *kind; /* of -m */
    uint32_t rows, given;
    int (*row)(void *data, const tsr_bench_row *row);
    void *data;
} suite;

/* ---- what is asked for ---- */

/* Whether the comma-separated list has the name; NULL has all. */
static bool has(const char *list, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ','))
            return true;
    return !list;
}

static tsr_status check_parts(const char *list) {
    static const char *const more[] = {"peaks", "ops", "start"};
    char one[32];
    for (const char *at = list; at && *at; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        bool known = false;
        snprintf(one, sizeof one, "%.*s", (int)n, at);
        for (size_t i = 0; i < PARTS; i++)
            known = known || !strcmp(one, parts[i].name);
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            known = known || !strcmp(one, more[i]);
        if (!known)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "the suite has no part \"%s\": give some of peaks, ops, "
                                  "decoder, bundled, encoder, translation, training, start",
                                  one);
        at += n;
    }
    return TSR_OK;
}

/* The jobs of a part in a dtype. */
static size_t list_jobs(const suite *s, const part *p, int dtype, tsri_task_job *jobs) {
    size_t n = 0;
    for (size_t i = 0; i < p->n && n < MOST_JOBS; i++)
        if (p->jobs[i].classes >> s->class_at & 1 && p->jobs[i].dtypes >> dtype & 1)
            jobs[n++] = p->jobs[i].job;
    return n;
}

/* The model of a part; NULL: the part has none. */
static const char *model_of(const suite *s, const part *p) {
    if (!has(s->options->parts, p->name))
        return NULL;
    return s->kind && p->kind && !strcmp(s->kind, p->kind) ? s->model : p->models[s->class_at];
}

/* Rows of a part in a dtype, with those of the peer. */
static uint32_t count_jobs(const suite *s, const part *p, int dtype) {
    tsri_task_job jobs[MOST_JOBS];
    const size_t n = list_jobs(s, p, dtype, jobs);
    return tsri_task_bench_row_count(jobs, n, s->options->peer != NULL);
}

static uint32_t count_rows(const suite *s) {
    uint32_t n = tsri_task_bench_peak_count();
    if (has(s->options->parts, "ops"))
        n += tsri_task_bench_op_count(s->class_at);
    for (size_t i = 0; i < PARTS; i++)
        for (int d = 0; d < DTYPES && model_of(s, &parts[i]); d++)
            n += count_jobs(s, &parts[i], d);
    if (s->options->start && has(s->options->parts, "start"))
        n += TSRI_TASK_BENCH_STARTS;
    return n;
}

/* ---- running ---- */

static int pass_row(void *data, const tsr_bench_row *row) {
    suite *s = data;
    s->given += !row->unfinished;
    return s->row(s->data, row);
}

static int pass_progress(void *data, const char *what) {
    const suite *s = data;
    const tsr_bench_suite_options *o = s->options;
    const uint32_t done = (uint32_t)s->passes.n + s->given;
    return o->progress ? o->progress(o->progress_data, what, done, 2 * s->rows) : 0;
}

static tsr_status run_part(suite *s, const part *p) {
    tsri_task_job jobs[MOST_JOBS];
    const char *model = model_of(s, p);
    for (int d = 0; d < DTYPES && model; d++) {
        const size_t n = list_jobs(s, p, d, jobs);
        const tsr_model_options options = {.struct_size = sizeof options, .dtype = dtypes[d]};
        for (size_t i = 0; i < n && p->trains; i++)
            TRY(tsri_task_bench_train(&s->b, model, &jobs[i]));
        if (n && !p->trains)
            TRY(tsri_task_bench_model(&s->b, model, &options, jobs, n));
    }
    return TSR_OK;
}

static tsr_status run_pass(suite *s) {
    const tsr_bench_suite_options *o = s->options;
    TRY(tsri_task_bench_peaks(&s->b));
    if (has(o->parts, "ops"))
        TRY(tsri_task_bench_ops(&s->b, s->class_at));
    for (size_t i = 0; i < PARTS; i++)
        TRY(run_part(s, &parts[i]));
    if (o->start && has(o->parts, "start"))
        TRY(tsri_task_bench_starts(&s->b, o->start, o->n_start, o->start_model));
    return TSR_OK;
}

static tsr_status run_all(suite *s) {
    s->rows = count_rows(s);
    TRY(run_pass(s));
    s->passes.second = true;
    return run_pass(s);
}

/* Of a pass: half of a row's samples and time. */
static tsri_task_rule half(const tsri_task_rule *whole) {
    return (tsri_task_rule){.least = (whole->least + 1) / 2,
                            .most = (whole->most + 1) / 2,
                            .least_seconds = whole->least_seconds / 2,
                            .most_seconds = whole->most_seconds / 2};
}

/* Examined before anything is measured. */
static tsr_status find_kind(suite *s) {
    tsr_model_info info = {.struct_size = sizeof info};
    tsr_model *model = NULL;
    s->model = s->options->model;
    if (!s->model)
        return TSR_OK;
    TRY(tsr_model_open(s->model, NULL, NULL, &model));
    const tsr_status status = tsr_model_info_get(model, &info);
    s->kind = info.kind; /* a constant */
    tsr_model_close(&model);
    return status;
}

static tsr_status find_class(suite *s) {
    const char *name = s->options->class_name ? s->options->class_name : "smoke";
    while (s->class_at < CLASSES && strcmp(name, classes[s->class_at].name) != 0)
        s->class_at++;
    return s->class_at < CLASSES
               ? TSR_OK
               : tsri_base_fail(TSR_E_ARGUMENT,
                                "the suite has no class \"%s\": give smoke, laptop or full", name);
}

tsr_status tsr_bench_suite(tsr_engine *engine, tsr_device *device,
                           const tsr_bench_suite_options *options,
                           int (*row)(void *data, const tsr_bench_row *row), void *data,
                           tsr_bench_summary *summary) {
    tsr_bench_suite_options known;
    TRY(NEED(engine));
    TRY(NEED(device));
    TRY(NEED(row));
    TRY(tsri_base_adopt("tsr_bench_suite_options", options, &known, sizeof known));
    TRY(tsri_base_check_out("tsr_bench_summary", summary));
    tsr_bench_summary counted = {.struct_size = sizeof counted};
    suite s = {.options = &known, .row = row, .data = data};
    const tsri_task_sink sink = {.row = pass_row,
                                 .data = &s,
                                 .unfinished = known.unfinished,
                                 .summary = &counted,
                                 .progress = pass_progress,
                                 .progress_data = &s};
    TRY(find_class(&s));
    TRY(check_parts(known.parts));
    TRY(find_kind(&s));
    s.b = (tsri_task_bench){.engine = engine,
                            .device = device,
                            .sink = &sink,
                            .rule = half(&classes[s.class_at].rule),
                            .cpu = tsri_task_bench_is_cpu(device),
                            .vendor = tsri_task_bench_vendor(device),
                            .memo = &s.memo,
                            .passes = &s.passes};
    if (known.peer)
        TRY(tsri_task_peer_start(known.peer, known.n_peer, &s.b.peer));
    const tsr_status status = run_all(&s);
    tsri_task_passes_end(&s.passes, &sink);
    tsri_task_peer_end(&s.b.peer);
    tsri_task_memo_clear(&s.memo);
    tsri_base_give(&counted, sizeof counted, summary);
    return status;
}

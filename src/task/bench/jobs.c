/* task/bench/jobs.c - makes the rows of what a model does: prompts, generation, requests, vectors,
 * translations; first come the gates that the rows must pass. */
#include "task/bench/bench.h"
#include "task/bench/peer.h"
#include "task/bench/quality.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "task/generate/beams.h"
#include "tessera/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEAMS = TSRI_TASK_BENCH_BEAMS, MOST_REQUESTS = TSRI_TASK_BENCH_MOST_REQUESTS };

/* A model on the device, and what its rows have in common. */
typedef struct subject {
    tsri_task_bench *b;
    tsr_model *model;
    const char *name; /* of its rows: "model + adapter" */
    tsri_task_identity identity;
    tsr_bench_quality quality;
    bool has_quality;
    double prompt_error, next_error, bound;
    char failed[512]; /* why rows have no rate: a gate was missed, or the model can't run */
    uint32_t status;  /* TSR_BENCH_OK, or that of all rows */
    uint32_t held_by; /* what holds the last row back */
    char note[512];
} subject;

/* A row that is being measured. */
typedef struct run {
    subject *s;
    const tsri_task_job *job;
    tsr_session *session;
    int32_t *ids;
    double *first, *each; /* seconds to the first token of a request, and of each one after it */
    uint32_t requests;
    tsri_session *inner; /* of an encoder */
    tsri_model_sequence *texts;
    float *vectors;
    tsri_task_beams *beams;
    tsri_task_text *sources;
    uint32_t given;
} run;

static double seconds_since(uint64_t begun) {
    const uint64_t ns = tsri_base_now_ns() - begun;
    return (double)(ns ? ns : 1) * 1e-9;
}

/* ---- decoders ---- */

static tsr_status once_prompt_or_tokens(void *data, double *seconds) {
    run *r = data;
    const tsri_task_job *job = r->job;
    const size_t n = (size_t)job->tokens;
    for (uint32_t i = 0; i < job->batch; i++)
        TRY(tsr_session_rewind(r->session, i, job->depth));
    const uint64_t begun = tsri_base_now_ns();
    if (job->kind == TSR_BENCH_PROMPT)
        TRY(tsr_session_step(r->session, r->ids, n, NULL, NULL));
    else
        TRY(tsr_session_greedy(r->session, r->ids, n, r->ids + n * (size_t)job->batch));
    *seconds = seconds_since(begun);
    return TSR_OK;
}

/* A prompt of `depth` tokens, and then `tokens` that follow. */
static tsr_status once_request(void *data, double *seconds) {
    run *r = data;
    const tsri_task_job *job = r->job;
    const size_t n = (size_t)job->tokens;
    int32_t *const out = r->ids + (job->depth > job->tokens ? job->depth : job->tokens);
    TRY(tsr_session_rewind(r->session, 0, 0));
    const uint64_t begun = tsri_base_now_ns();
    TRY(tsr_session_prefill(r->session, 0, r->ids, (size_t)job->depth, NULL, out));
    const double first = seconds_since(begun);
    if (n > 1)
        TRY(tsr_session_greedy(r->session, out, n - 1, out + 1));
    *seconds = seconds_since(begun);
    if (r->requests < MOST_REQUESTS) {
        r->first[r->requests] = first;
        r->each[r->requests++] = n > 1 ? (*seconds - first) / (double)(n - 1) : 0;
    }
    return TSR_OK;
}

/* Runs the tokens before in pieces of the size to be measured, so that no other plan is built. */
static tsr_status fill(run *r) {
    const tsri_task_job *job = r->job;
    for (int64_t past = 0; past < job->depth; past += job->tokens) {
        const int64_t left = job->depth - past, n = left < job->tokens ? left : job->tokens;
        TRY(tsri_task_bench_tell(r->s->b->sink, "the context"));
        TRY(tsr_session_step(r->session, r->ids, (size_t)n, NULL, NULL));
    }
    return TSR_OK;
}

static tsr_status begin_decoder(run *r) {
    const tsri_task_job *job = r->job;
    tsr_model *model = r->s->model;
    const int64_t all = job->depth + job->tokens;
    size_t n = 0;
    TRY(tsri_task_bench_reads(model, job));
    if (__builtin_mul_overflow((size_t)job->batch, (size_t)all, &n))
        n = SIZE_MAX / 2;
    TRY(tsri_base_new(n, 2 * sizeof *r->ids, &r->ids));
    tsri_task_bench_ids(r->ids, (int64_t)n, tsri_model_of(model)->spec.vocab);
    const tsr_session_options options = {.struct_size = sizeof options,
                                         .sequences = (uint32_t)job->batch,
                                         .context = all,
                                         .reserve = all};
    TRY(tsr_session_create(model, &options, &r->session));
    if (!job->request)
        return fill(r);
    TRY(tsri_base_new(MOST_REQUESTS, sizeof *r->first, &r->first));
    return tsri_base_new(MOST_REQUESTS, sizeof *r->each, &r->each);
}

/* ---- encoders ---- */

static tsr_status once_vectors(void *data, double *seconds) {
    run *r = data;
    const tsri_model_results results = {.vectors = r->vectors, .pooling = TSR_POOL_MEAN};
    const uint64_t begun = tsri_base_now_ns();
    TRY(tsri_session_encode(r->inner, r->texts, (int32_t)r->job->batch, &results));
    *seconds = seconds_since(begun);
    return TSR_OK;
}

static tsr_status begin_encoder(run *r) {
    const tsri_task_job *job = r->job;
    tsri_model *m = tsri_model_of(r->s->model);
    const size_t B = (size_t)job->batch, T = (size_t)job->tokens;
    if (m->spec.decoder.layers)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s has a decoder: it makes no vectors", m->path);
    TRY(tsri_task_bench_reads(r->s->model, job));
    TRY(tsri_base_new(B * T, sizeof *r->ids, &r->ids));
    TRY(tsri_base_new(B, sizeof *r->texts, &r->texts));
    TRY(tsri_base_new(B * (size_t)m->spec.width, sizeof *r->vectors, &r->vectors));
    tsri_task_bench_ids(r->ids, (int64_t)(B * T), m->spec.source_vocab);
    for (size_t i = 0; i < B; i++)
        r->texts[i] = (tsri_model_sequence){.ids = r->ids + i * T, .n = job->tokens};
    return tsri_session_create(m, 1, 0, &r->inner);
}

/* ---- encoder-decoders ---- */

static tsr_status next_source(void *data, const tsri_task_text **text) {
    run *r = data;
    *text = r->given < r->job->batch ? &r->sources[r->given++] : NULL;
    return TSR_OK;
}

static tsr_status found(void *data, const tsri_task_text *text, const tsri_task_beam *beam) {
    (void)data;
    (void)text;
    (void)beam;
    return TSR_OK;
}

static tsr_status once_translation(void *data, double *seconds) {
    run *r = data;
    const tsri_task_beams_ends ends = {.next = next_source, .found = found, .data = r};
    r->given = 0;
    const uint64_t begun = tsri_base_now_ns();
    TRY(tsri_task_beams_run(r->beams, &ends));
    *seconds = seconds_since(begun);
    return TSR_OK;
}

/* No token ends a text, so each has `tokens` tokens, whatever the weights are. */
static tsr_status begin_translation(run *r, tsri_task_token_rules *rules) {
    static const int32_t start[] = {1};
    const tsri_task_job *job = r->job;
    tsri_model *m = tsri_model_of(r->s->model);
    const size_t B = (size_t)job->batch, S = (size_t)job->depth;
    if (!m->spec.encoder.layers || !m->spec.decoder.layers)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s is not an encoder-decoder", m->path);
    TRY(tsri_base_new(B * S, sizeof *r->ids, &r->ids));
    TRY(tsri_base_new(B, sizeof *r->sources, &r->sources));
    tsri_task_bench_ids(r->ids, (int64_t)(B * S), m->spec.source_vocab);
    for (size_t i = 0; i < B; i++)
        r->sources[i] = (tsri_task_text){.source = r->ids + i * S,
                                         .n_source = job->depth,
                                         .prompt = start,
                                         .n_prompt = 1,
                                         .most = job->tokens};
    unsigned char *flags = NULL;
    TRY(tsri_base_new((size_t)m->spec.vocab, 1, &flags));
    *rules = (tsri_task_token_rules){.V = m->spec.vocab,
                                     .beams = BEAMS,
                                     .length_penalty = 1,
                                     .repetition_penalty = 1,
                                     .is = flags,
                                     .forced_first = -1,
                                     .forced_last = -1};
    const tsri_task_beams_options options = {.rules = rules,
                                             .texts = (int32_t)job->batch,
                                             .context = job->tokens + 1,
                                             .source_context = job->depth,
                                             .scores = true};
    return tsri_task_beams_create(m, &options, &r->beams);
}

/* ---- rows ---- */

static tsr_status time_job(run *r, tsri_task_draft *draft) {
    const tsri_task_job *job = r->job;
    tsri_task_bench *b = r->s->b;
    tsri_task_token_rules rules = {0};
    const double tokens = (double)(job->tokens * job->batch);
    tsr_status status;
    switch (job->kind) {
    case TSR_BENCH_EMBED:
        status = begin_encoder(r);
        if (status == TSR_OK)
            status = tsri_task_bench_time(b, draft, (double)job->batch, once_vectors, r);
        break;
    case TSR_BENCH_TRANSLATE:
        status = begin_translation(r, &rules);
        if (status == TSR_OK)
            status = tsri_task_bench_time(b, draft, tokens, once_translation, r);
        break;
    default:
        status = begin_decoder(r);
        if (status == TSR_OK)
            status = tsri_task_bench_time(b, draft, tokens,
                                          job->request ? once_request : once_prompt_or_tokens, r);
        if (status == TSR_OK && job->request)
            status = tsri_task_draft_latencies(draft, r->first, r->each, r->requests, 1);
        break;
    }
    draft->row.device_bytes = tsri_task_bench_device_bytes(r->s->model);
    tsri_task_beams_destroy(&r->beams);
    tsri_task_token_rules_clear(&rules);
    return status;
}

static void clear(run *r) {
    tsr_session_destroy(&r->session);
    tsri_session_destroy(&r->inner);
    free(r->ids);
    free(r->first);
    free(r->each);
    free(r->texts);
    free(r->vectors);
    free(r->sources);
}

/* What the row has beside its times. */
static tsr_status describe(const subject *s, const tsri_task_job *job, tsri_task_draft *draft) {
    return tsri_task_bench_work(s->model, &s->b->best, job, job->request ? 1 : 0, draft);
}

/* What the gates have shown. */
static void pass_on(const subject *s, const tsri_task_job *job, tsr_bench_row *row) {
    const bool one = job->kind == TSR_BENCH_GENERATE || job->kind == TSR_BENCH_SERVE;
    row->model = &s->identity.model;
    row->quality = s->has_quality ? &s->quality : NULL;
    row->error = one ? s->next_error : s->prompt_error;
    row->bound = s->bound;
}

static tsr_status make_serving_rows(subject *s, const tsri_task_job *job) {
    tsr_bench_row common = {.status = s->status};
    pass_on(s, job, &common);
    return tsri_task_bench_serve(s->b, s->model, job, &common, s->failed, s->note);
}

/* Only what stops the benchmark is a failure; the rest is told by the row. */
static tsr_status make_row(subject *s, const tsri_task_job *job) {
    tsri_task_draft draft;
    run r = {.s = s, .job = job};
    tsr_status status = TSR_OK;
    tsri_task_bench_name_row(job, &draft);
    tsr_bench_row *row = &draft.row;
    pass_on(s, job, row);
    const bool wanted = tsri_task_bench_recall(s->b, &draft), runs = s->status == TSR_BENCH_OK;
    if (!runs)
        tsri_task_draft_void(&draft, s->status, s->failed);
    else if (wanted)
        status = time_job(&r, &draft);
    clear(&r); /* its session is kept, and serves for the description */
    if (status == TSR_OK && runs && wanted)
        status = describe(s, job, &draft);
    s->held_by = row->bound_by;
    return tsri_task_bench_finish(s->b, &draft, status, s->note);
}

/* ---- the gates ---- */

__attribute__((format(PRINTF, 3, 4))) static void fail_all(subject *s, uint32_t status,
                                                           const char *format, ...) {
    va_list args;
    s->status = status;
    va_start(args, format);
    vsnprintf(s->failed, sizeof s->failed, format, args);
    va_end(args);
}

/* Keeps a failure for the rows, unless it stops the benchmark. */
static tsr_status excuse(subject *s, tsr_status status) {
    if (status == TSR_OK || status == TSR_E_CANCELLED)
        return status;
    fail_all(s, status == TSR_E_UNSUPPORTED ? TSR_BENCH_UNSUPPORTED : TSR_BENCH_ERROR, "%s",
             tsr_error_last());
    return TSR_OK;
}

static tsr_status run_reference(subject *s, const char *name, const tsr_model_options *options,
                                tsri_task_gate *want) {
    const tsr_device_open_options plain = {.struct_size = sizeof plain};
    tsr_device *device = NULL;
    tsr_model *model = NULL;
    TRY(tsri_task_bench_tell(s->b->sink, "the reference, for the accuracy gate"));
    tsr_status status = tsr_device_open(s->b->engine, "reference", &plain, &device);
    if (status == TSR_OK)
        status = tsr_model_open(name, device, options, &model);
    if (status == TSR_OK)
        status = tsri_task_gate_run(model, false, want);
    tsr_model_close(&model);
    tsr_device_close(&device);
    return status;
}

static void judge(subject *s, const tsri_task_gate *got, const tsri_task_gate *want) {
    s->bound = tsri_task_gate_bound(got);
    s->prompt_error = tsri_task_gate_error(got->prompt, want->prompt, want->width);
    s->next_error = tsri_task_gate_error(tsri_task_gate_last(got), want->prompt, want->width);
    const double worst = s->prompt_error > s->next_error ? s->prompt_error : s->next_error;
    if (!(worst <= s->bound))
        fail_all(s, TSR_BENCH_FAILED_ACCURACY,
                 "%s are off by %.3g of the largest; at most %.3g is allowed: a kernel is wrong on "
                 "this device; tessera verify tells which",
                 got->encoder ? "vectors" : "logits", worst, s->bound);
}

/* The same model in f32, on the same device, before that in its own dtype. */
static tsr_status measure_f32(subject *s, const char *name, const tsr_model_options *options,
                              tsri_task_quality *out) {
    tsr_model_options f32 = *options;
    tsri_task_gate gate = {0};
    tsr_model *model = NULL;
    f32.dtype = TSR_F32;
    f32.kv_dtype = TSR_F32;
    f32.compute = TSR_MODEL_COMPUTE_F32;
    TRY(tsri_task_bench_tell(s->b->sink, "the model in f32, for the quality gate"));
    tsr_status status = tsr_model_open(name, s->b->device, &f32, &model);
    if (status == TSR_OK)
        status = tsri_task_gate_run(model, true, &gate);
    if (status == TSR_OK)
        status = tsri_task_quality_measure(model, &gate, out);
    tsri_task_gate_clear(&gate);
    tsr_model_close(&model);
    return status;
}

static bool is_f32(const char *dtype) {
    return !dtype || !strcmp(dtype, "f32");
}

static void judge_quality(subject *s, const tsri_task_quality *f32, const tsri_task_quality *got) {
    const tsr_bench_model *m = &s->identity.model;
    s->quality = tsri_task_quality_compare(f32, got, m->kept);
    s->has_quality = true;
    if (!(s->quality.kept >= s->quality.least))
        fail_all(s, TSR_BENCH_FAILED_ACCURACY,
                 "weights in %s%s%s, products in %s, keep %.2f %% of f32's quality; at least "
                 "%.0f %% is asked for",
                 m->kept, m->kv_dtype ? ", keys and values in " : "",
                 m->kv_dtype ? m->kv_dtype : "", m->compute, 100 * s->quality.kept,
                 100 * s->quality.least);
}

/* Compares with f32, or keeps what f32 gave for the dtypes that follow. A failure of the measurement
 * is told, and does not cost the rows their rates: the model may fit the device in its dtype
 * alone. */
static tsr_status pass_quality(subject *s, tsr_status known, const tsri_task_quality *f32,
                               tsri_task_gate *got) {
    tsri_task_memo *memo = s->b->memo;
    tsri_task_quality mine = {0};
    const tsr_bench_model *m = &s->identity.model;
    const bool reduced = !is_f32(m->kept) || !is_f32(m->kv_dtype) || !is_f32(m->compute);
    tsr_status status = known;
    if (s->status != TSR_BENCH_OK || (!reduced && !memo))
        return TSR_OK;
    if (status == TSR_OK)
        status = tsri_task_quality_measure(s->model, got, &mine);
    if (status == TSR_OK && reduced)
        judge_quality(s, f32, &mine);
    else if (status == TSR_OK && !memo->has_f32) {
        memo->f32 = mine;
        memo->has_f32 = true;
        mine = (tsri_task_quality){0};
    } else if (status != TSR_OK && status != TSR_E_CANCELLED)
        snprintf(s->note, sizeof s->note, "its quality was not compared with f32's: %s",
                 tsr_error_last());
    tsri_task_quality_clear(&mine);
    return status == TSR_E_CANCELLED ? status : TSR_OK;
}

/* Whether weights, keys, values or products may be in something else than f32; a model that can't be
 * opened is told later. */
static bool is_reduced(const char *name, const tsr_model_options *options) {
    tsr_model *model = NULL;
    tsr_model_info info = {.struct_size = sizeof info};
    bool reduced = (options->dtype && options->dtype != TSR_F32) ||
                   (options->kv_dtype && options->kv_dtype != TSR_F32) ||
                   options->compute > TSR_MODEL_COMPUTE_F32;
    if (!reduced && !options->dtype && tsr_model_open(name, NULL, options, &model) == TSR_OK &&
        tsr_model_info_get(model, &info) == TSR_OK)
        reduced = strcmp(info.kept, "f32") != 0;
    tsr_model_close(&model);
    return reduced;
}

/* Opens the model on the device and says what it is. */
static tsr_status open_model(subject *s, const char *name, const tsr_model_options *options) {
    tsri_task_memo *memo = s->b->memo;
    TRY(tsri_task_bench_tell(s->b->sink, name));
    TRY(tsr_model_open(name, s->b->device, options, &s->model));
    TRY(tsri_task_identify(s->model, s->name, options->dtype,
                           memo && *memo->hash ? memo->hash : NULL, &s->identity));
    if (memo)
        memcpy(memo->hash, s->identity.hash, sizeof memo->hash);
    return TSR_OK;
}

static tsr_status pass_gates(subject *s, const char *name, const tsr_model_options *options) {
    tsri_task_memo *memo = s->b->memo;
    tsri_task_gate got = {0}, want = {0};
    tsri_task_quality own = {0};
    tsr_status known = TSR_OK;
    if (memo)
        tsri_task_memo_begin(memo, name);
    tsr_status status = run_reference(s, name, options, &want);
    if (status == TSR_OK && !(memo && memo->has_f32) && is_reduced(name, options))
        known = measure_f32(s, name, options, &own);
    if (known == TSR_E_CANCELLED)
        status = known;
    if (status == TSR_OK)
        status = open_model(s, name, options);
    if (status == TSR_OK)
        status = tsri_task_gate_run(s->model, true, &got);
    if (status == TSR_OK)
        judge(s, &got, &want);
    if (status == TSR_OK)
        status = pass_quality(s, known, memo && memo->has_f32 ? &memo->f32 : &own, &got);
    tsri_task_gate_clear(&got);
    tsri_task_gate_clear(&want);
    tsri_task_quality_clear(&own);
    return status;
}

/* In a second pass, rows have the model's identity and its gates from the first one. */
static tsr_status open_again(subject *s, const char *name, const tsr_model_options *options,
                             uint32_t rows) {
    const tsri_task_draft *first = tsri_task_bench_first(s->b);
    if (!tsri_task_bench_wants(s->b, rows, false) && !tsri_task_bench_wants(s->b, rows, true))
        return TSR_OK;
    s->identity.model = *first->row.model; /* it was opened, or there would be no rate */
    TRY(tsri_task_bench_tell(s->b->sink, name));
    return tsr_model_open(name, s->b->device, options, &s->model);
}

/* The peer's logits are compared with those of f32, which are known in a suite. */
static tsr_status open_peer(subject *s, const tsri_task_job *jobs, size_t n) {
    const tsri_task_memo *memo = s->b->memo;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any = any || tsri_task_peer_serves(&jobs[i]);
    if (tsri_task_bench_first(s->b))
        any = tsri_task_bench_wants(s->b, tsri_task_bench_row_count(jobs, n, true), true);
    if (!s->b->peer || !any)
        return TSR_OK;
    const float *f32 = memo && memo->has_f32 ? tsri_task_gate_last(&memo->f32.gate) : NULL;
    return tsri_task_peer_open(s->b, s->model, &s->identity, f32, s->failed);
}

/* A row, and right after it the peer's. */
static tsr_status make_rows(subject *s, const tsri_task_job *job) {
    if (job->kind == TSR_BENCH_SERVE)
        return make_serving_rows(s, job);
    TRY(make_row(s, job));
    return s->b->peer && tsri_task_peer_serves(job)
               ? tsri_task_peer_row(s->b, s->model, &s->identity, job, s->held_by)
               : TSR_OK;
}

/* "model + adapter + adapter" */
static tsr_status name_subject(const char *name, const tsr_model_options *options,
                               tsri_bytes *out) {
    tsr_status status = tsri_base_bytes_append(out, name, strlen(name));
    for (uint32_t i = 0; i < options->n_lora && status == TSR_OK; i++)
        status = tsri_base_bytes_printf(out, " + %s", options->lora[i]);
    return status;
}

uint32_t tsri_task_bench_row_count(const tsri_task_job *jobs, size_t n, bool peer) {
    uint32_t rows = 0;
    for (size_t i = 0; i < n; i++) {
        rows += jobs[i].kind == TSR_BENCH_SERVE ? TSRI_TASK_BENCH_SERVES : 1;
        rows += peer && tsri_task_peer_serves(&jobs[i]);
    }
    return rows;
}

tsr_status tsri_task_bench_model(tsri_task_bench *b, const char *name,
                                 const tsr_model_options *options, const tsri_task_job *jobs,
                                 size_t n) {
    const uint32_t rows = tsri_task_bench_row_count(jobs, n, b->peer != NULL);
    subject s = {.b = b};
    tsri_bytes full = {0};
    tsr_status status = name_subject(name, options, &full);
    s.name = full.data;
    s.identity = (tsri_task_identity){.model = {.name = s.name, .kept = ""}};
    if (status == TSR_OK)
        status = excuse(&s, tsri_task_bench_first(b) ? open_again(&s, name, options, rows)
                                                     : pass_gates(&s, name, options));
    if (status == TSR_OK)
        status = open_peer(&s, jobs, n);
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = make_rows(&s, &jobs[i]);
    tsr_model_close(&s.model);
    tsri_base_bytes_clear(&full);
    return status;
}

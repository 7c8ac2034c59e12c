/* task/bench/peer.c - rows that another engine runs: it gets the weights that Tessera has, must have
 * the quality that Tessera's dtypes must have, and is timed by the same rule. */
#include "task/bench/peer.h"

#include "backend/opened.h"
#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "io/save.h"
#include "model/load/shapes.h"
#include "task/bench/quality.h"
#include "text/base/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Threads of other engines' pools wait busily for up to 0.2 s after their work. */
#define REST 0.3

enum { PIECE = 1 << 20 };

bool tsri_task_peer_serves(const tsri_task_job *job) {
    return job->kind == TSR_BENCH_PROMPT || job->kind == TSR_BENCH_GENERATE ||
           job->kind == TSR_BENCH_EMBED;
}

/* ---- weights ---- */

static tsr_status write_array(void *data, const tsri_io_entry *entry, tsri_io_saver *saver) {
    const tsri_io_archive *archive = data;
    const tsri_io_array *array = entry->data;
    unsigned char *piece = NULL;
    TRY(tsri_base_new(PIECE, 1, &piece));
    tsr_status status = TSR_OK;
    for (uint64_t at = 0; at < array->bytes && status == TSR_OK; at += PIECE) {
        const uint64_t left = array->bytes - at, n = left < PIECE ? left : PIECE;
        status = tsri_io_read(archive, array, at, (size_t)n, piece);
        if (status == TSR_OK)
            status = tsri_io_save_write(saver, piece, (size_t)n);
    }
    free(piece);
    return status;
}

static tsr_status write_weights(const tsri_io_archive *archive, const char *path) {
    static const char *const metadata[] = {"format", "pt"};
    tsri_io_entry *entries = NULL;
    TRY(tsri_base_new(archive->n_arrays, sizeof *entries, &entries));
    for (size_t i = 0; i < archive->n_arrays; i++) {
        const tsri_io_array *array = &archive->arrays[i];
        entries[i] = (tsri_io_entry){
            .name = array->name, .dtype = array->dtype, .rank = array->rank, .data = array};
        memcpy(entries[i].dims, array->dims, sizeof entries[i].dims);
    }
    const tsr_status status = tsri_io_save_each(path, entries, archive->n_arrays, metadata, 1,
                                                write_array, (void *)archive);
    free(entries);
    return status;
}

/* Weights that are drawn from a seed become files, in f32, in Hugging Face's layout. */
static tsr_status write_shape(const char *folder, const tsri_model *m, const char *name) {
    json_t *config = NULL;
    char *weights = tsri_base_join(folder, "model.safetensors"),
         *settings = tsri_base_join(folder, "config.json");
    tsr_status status = weights && settings ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = write_weights(m->archive, weights);
    if (status == TSR_OK)
        status = tsri_model_shape_config(name, &config);
    if (status == TSR_OK)
        status = tsri_base_json_save(settings, config, JSON_INDENT(1));
    json_decref(config);
    free(weights);
    free(settings);
    return status;
}

/* The folder with the model's files. What is in the peer's folder stays from one dtype to the
 * next. */
static tsr_status place_model(tsri_task_bench *b, const tsri_model *m, const char *name,
                              const char **folder) {
    tsri_task_peer *peer = b->peer;
    const bool shape = tsri_model_is_shape(name);
    *folder = shape ? peer->folder : m->path;
    if (!shape && !tsri_base_is_folder(m->path))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is not a folder in Hugging Face's layout: peers read no other",
                              m->path);
    if (!tsri_text_utf8_valid(*folder, strlen(*folder)))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: a peer is told the folder as JSON, so its path must be UTF-8",
                              *folder);
    if (!strcmp(peer->wrote, name))
        return TSR_OK;
    *peer->wrote = 0;
    TRY(tsri_task_bench_tell(b->sink, "the peer's weights"));
    TRY(tsri_base_folder_anew(peer->folder));
    if (shape)
        TRY(write_shape(peer->folder, m, name));
    snprintf(peer->wrote, sizeof peer->wrote, "%s", name);
    return TSR_OK;
}

/* ---- the gate ---- */

/* What a model's results are called, and their size: logits of the last token, or a vector. */
typedef struct results {
    const char *name;
    int32_t width, vocab;
} results;

static bool is_encoder(const tsri_model *m) {
    return m->spec.encoder.layers && !m->spec.decoder.layers;
}

static results results_of(const tsri_model *m) {
    return is_encoder(m) ? (results){"vector", (int32_t)m->spec.width, m->spec.source_vocab}
                         : (results){"logits", m->spec.vocab, m->spec.vocab};
}

static tsr_status read_results(const json_t *answer, const char *engine, const results *r,
                               float *out) {
    const json_t *list = json_object_get(answer, r->name);
    if (json_array_size(list) != (size_t)r->width)
        return tsri_base_fail(
            TSR_E_DEVICE, "%s gave %zu %s; the model has %d", engine, json_array_size(list),
            strcmp(r->name, "vector") ? r->name : "numbers of a vector", (int)r->width);
    for (size_t i = 0; i < (size_t)r->width; i++)
        out[i] = json_is_number(json_array_get(list, i))
                     ? (float)json_number_value(json_array_get(list, i))
                     : NAN;
    return TSR_OK;
}

static tsr_status ask_results(tsri_task_peer *peer, const results *r, float *out) {
    int32_t ids[TSRI_TASK_GATE_TOKENS];
    json_t *list = json_array(), *answer = NULL;
    tsri_task_bench_ids(ids, TSRI_TASK_GATE_TOKENS, r->vocab);
    for (int i = 0; i < TSRI_TASK_GATE_TOKENS; i++)
        tsri_base_json_append(list, json_integer(ids[i]));
    TRY(tsri_task_peer_ask(peer, json_pack("{s:s,s:o}", "do", r->name, "ids", list), &answer));
    const tsr_status status = read_results(answer, peer->engine, r, out);
    json_decref(answer);
    return status;
}

/* By the cosine of its results with those of Tessera in f32, on the same weights. */
static tsr_status pass_gate(tsri_task_peer *peer, const tsri_task_identity *identity,
                            const float *f32, const results *r) {
    float *got = NULL;
    if (!f32)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s can't be compared: the model's results in f32 are not known",
                              peer->engine);
    TRY(tsri_base_new((size_t)r->width, sizeof *got, &got));
    const tsr_status status = ask_results(peer, r, got);
    if (status == TSR_OK) {
        const double cosine = tsri_task_quality_cosine(f32, got, (size_t)r->width);
        peer->quality = tsri_task_quality_of_cosine(cosine, identity->model.kept);
        peer->has_quality = true;
    }
    free(got);
    return status;
}

static void fail_all(tsri_task_peer *peer, uint32_t status, const char *why) {
    peer->status = status;
    snprintf(peer->failed, sizeof peer->failed, "%s", why);
}

static tsr_status open(tsri_task_bench *b, const tsri_model *m, const tsri_task_identity *identity,
                       const float *f32) {
    const bool gpu = tsri_backend_opened(b->device)->devices[0]->facts.type == TSR_DEVICE_GPU;
    const char *folder = NULL, *note = "";
    json_t *answer = NULL;
    TRY(place_model(b, m, identity->model.name, &folder));
    TRY(tsri_task_bench_tell(b->sink, b->peer->engine));
    TRY(tsri_task_peer_revive(b->peer));
    TRY(tsri_task_peer_ask(b->peer,
                           json_pack("{s:s,s:s,s:s,s:s,s:b,s:b}", "do", "open", "model", folder,
                                     "work", b->peer->folder, "dtype", identity->model.kept, "gpu",
                                     gpu, "encoder", is_encoder(m)),
                           &answer));
    const tsr_status status = tsri_base_json_text(answer, b->peer->engine, "note", &note);
    snprintf(b->peer->note, sizeof b->peer->note, "%s", note);
    json_decref(answer);
    TRY(status);
    const results expected = results_of(m);
    if (tsri_task_bench_first(b)) /* it was passed, or no row is measured again */
        return TSR_OK;
    return pass_gate(b->peer, identity, f32, &expected);
}

tsr_status tsri_task_peer_open(tsri_task_bench *b, tsr_model *model,
                               const tsri_task_identity *identity, const float *f32,
                               const char *why) {
    tsri_task_peer *peer = b->peer;
    char said[512];
    fail_all(peer, TSR_BENCH_OK, "");
    peer->has_quality = false;
    *peer->note = 0;
    if (!model) {
        fail_all(peer, TSR_BENCH_ERROR, why);
        return TSR_OK;
    }
    const tsr_status status = open(b, tsri_model_of(model), identity, f32);
    const tsr_bench_quality *q = &peer->quality;
    if (status == TSR_E_CANCELLED)
        return status;
    if (status != TSR_OK)
        fail_all(peer, status == TSR_E_UNSUPPORTED ? TSR_BENCH_UNSUPPORTED : TSR_BENCH_ERROR,
                 tsr_error_last());
    else if (!(q->kept >= q->least)) {
        snprintf(said, sizeof said,
                 "its %s a cosine of %.4f with those of f32; at least %.2f is asked for",
                 is_encoder(tsri_model_of(model)) ? "vector has" : "logits have", q->value,
                 q->least);
        fail_all(peer, TSR_BENCH_FAILED_ACCURACY, said);
    }
    return TSR_OK;
}

/* ---- rows ---- */

static tsr_status once(void *data, double *seconds) {
    tsri_task_peer *peer = data;
    int64_t memory = 0;
    double first = 0;
    json_t *answer = NULL;
    *seconds = 0;
    TRY(tsri_task_peer_ask(peer, json_pack("{s:s}", "do", "run"), &answer));
    tsr_status status = tsri_base_json_real(answer, peer->engine, "seconds", 1e-9, 1e9, seconds);
    if (status == TSR_OK)
        status = tsri_base_json_int(answer, peer->engine, "memory", 0, INT64_MAX, &memory);
    if (status == TSR_OK)
        status = tsri_base_json_real(answer, peer->engine, "first", 0, *seconds, &first);
    json_decref(answer);
    peer->memory = (uint64_t)memory;
    if (first > 0 && peer->requests < TSRI_TASK_BENCH_MOST_REQUESTS) {
        peer->first[peer->requests] = first;
        peer->each[peer->requests++] =
            peer->tokens > 1 ? (*seconds - first) / (double)(peer->tokens - 1) : 0;
    }
    return status != TSR_OK || *seconds > 0
               ? status
               : tsri_base_fail(TSR_E_DEVICE, "%s does not say how long it took", peer->engine);
}

static const char *kind_of(const tsri_task_job *job) {
    return job->request                    ? "request"
           : job->kind == TSR_BENCH_PROMPT ? "prompt"
           : job->kind == TSR_BENCH_EMBED  ? "embed"
                                           : "generate";
}

static tsr_status time_job(tsri_task_bench *b, tsr_model *model, const tsri_task_job *job,
                           tsri_task_draft *draft) {
    tsri_task_bench other = *b;
    json_t *answer = NULL;
    TRY(tsri_task_bench_reads(model, job));
    TRY(tsri_task_bench_tell(b->sink, b->peer->engine));
    TRY(tsri_task_peer_ask(b->peer,
                           json_pack("{s:s,s:s,s:I,s:I,s:I}", "do", "begin", "kind", kind_of(job),
                                     "tokens", (json_int_t)job->tokens, "depth",
                                     (json_int_t)job->depth, "batch", (json_int_t)job->batch),
                           &answer));
    json_decref(answer);
    other.rest = REST;
    const int64_t work = job->kind == TSR_BENCH_EMBED ? job->batch : job->tokens * job->batch;
    b->peer->tokens = job->tokens;
    b->peer->requests = 0;
    tsr_status status = tsri_task_bench_time(&other, draft, (double)work, once, b->peer);
    if (status == TSR_OK && job->request)
        status =
            tsri_task_draft_latencies(draft, b->peer->first, b->peer->each, b->peer->requests, 1);
    b->now = other.now;
    b->best = other.best;
    draft->row.host_bytes = b->peer->memory;
    return status;
}

tsr_status tsri_task_peer_row(tsri_task_bench *b, tsr_model *model,
                              const tsri_task_identity *identity, const tsri_task_job *job,
                              uint32_t held_by) {
    tsri_task_peer *peer = b->peer;
    tsri_task_draft draft;
    tsr_status status = TSR_OK;
    tsri_task_bench_name_row(job, &draft);
    draft.held_by = held_by;
    draft.row.model = &identity->model;
    draft.row.peer = peer->engine;
    draft.row.quality = peer->has_quality ? &peer->quality : NULL;
    const bool wanted = tsri_task_bench_recall(b, &draft);
    if (peer->status != TSR_BENCH_OK)
        tsri_task_draft_void(&draft, peer->status, peer->failed);
    else if (wanted)
        status = time_job(b, model, job, &draft);
    return tsri_task_bench_finish(b, &draft, status, peer->note);
}

/* train/run/ranks.c - what the ranks of a run agree on: that they were asked for the same, what rank 0
 * has prepared, that they write to one folder, and when to stop. */
#include "transport/ranks.h"
#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/system/files.h"
#include "base/system/system.h"
#include "model/load/fingerprint.h"
#include "model/load/model_path.h"
#include "model/model.h"
#include "train/run/job.h"
#include "transport/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 160 }; /* bytes of a value in a message */

bool tsri_train_is_first(const tsri_train_job *job) {
    return tsri_ranks_rank(job->ranks) == 0;
}

/* ---- how many ---- */

enum { ADVICE = 160 };

/* Writes what lets n ranks share an update. */
static void advise(const tsri_train_job *job, int64_t n, char text[ADVICE]) {
    const tsri_train_settings *s = &job->settings;
    int64_t power = 1;
    if (n <= tsri_train_settings_shards(s)) {
        snprintf(text, ADVICE, "deal the shards by speed (--balance)");
        return;
    }
    while (power < n)
        power *= 2;
    const int64_t shards = tsri_train_settings_shards_for(s, power),
                  batches = (s->gradient_accumulation_steps + power - 1) / power * power;
    char more[64] = "";
    if (!shards)
        snprintf(more, sizeof more, " --set gradient_accumulation_steps=%" PRId64, batches);
    snprintf(text, ADVICE,
             "give --set shards=%" PRId64 "%s to all runs that should give the same bytes%s",
             shards ? shards : power, more,
             n == power || job->options->balance ? "" : ", and --balance");
}

tsr_status tsri_train_ranks_check(const tsri_train_job *job) {
    const int64_t shards = tsri_train_settings_shards(&job->settings),
                  n = tsri_ranks_size(job->ranks);
    tsri_bytes serve = {0};
    char advice[ADVICE];
    if (job->options->balance ? n <= shards : shards % n == 0)
        return TSR_OK;
    advise(job, n, advice);
    if (job->options->balance)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%" PRId64 " ranks: this run has shards=%" PRId64
                              ", and each rank needs at least one; start fewer ranks, or %s",
                              n, shards, advice);
    for (int64_t i = 2; i <= shards; i *= 2)
        TRY(tsri_base_bytes_printf(&serve, "%s%" PRId64, i < shards ? ", " : " or ", i));
    const tsr_status status =
        tsri_base_fail(TSR_E_ARGUMENT,
                       "%" PRId64 " ranks: this run has shards=%" PRId64
                       ", which must be a multiple of the number of ranks; start 1%s, or %s",
                       n, shards, serve.size ? serve.data : "", advice);
    tsri_base_bytes_clear(&serve);
    return status;
}

/* ---- the same for all ---- */

static tsr_status add_model(tsri_bytes *list, const char *name) {
    char *folder = NULL, *config = NULL;
    if (!name)
        return tsri_ranks_list_add(list, "--model", NULL);
    tsr_status status = tsri_model_locate(name, &folder);
    if (status == TSR_OK && !(config = tsri_base_join(folder, "config.json")))
        status = TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_ranks_list_file(list, "--model", name, config);
    free(config);
    free(folder);
    return status;
}

static tsr_status add_object(tsri_bytes *list, json_t *object) {
    const char *key;
    json_t *value;
    tsr_status status = object ? TSR_OK : tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory");
    json_object_foreach(object, key, value) {
        char *text = status == TSR_OK ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        if (text)
            status = tsri_ranks_list_add(list, key, text);
        free(text);
    }
    json_decref(object);
    return status;
}

static tsr_status add_run(const tsri_train_job *job, tsri_bytes *list) {
    const char *const lists[] = {"data", "validation", "architecture"};
    const bool head_only = tsri_train_run_json_head_only(job);
    TRY(tsri_ranks_list_add(list, "the version", tsr_version()));
    TRY(tsri_ranks_list_file(list, "--recipe", tsri_train_run_json_text(job, "recipe"),
                             job->recipe ? job->recipe->path : NULL));
    TRY(add_model(list, tsri_train_run_json_text(job, "model")));
    TRY(tsri_ranks_list_add(list, "the folder -o", job->options->output));
    TRY(tsri_ranks_list_add(list, "--resume", job->options->resume ? "given" : "none"));
    TRY(tsri_ranks_list_add(list, "--balance", job->options->balance ? "given" : "none"));
    TRY(tsri_ranks_list_add(list, "--head-only", head_only ? "given" : "none"));
    TRY(tsri_ranks_list_add(list, "task", tsri_train_task_name(job->objective)));
    TRY(add_object(list, tsri_train_key_object(tsri_train_settings_keys(), &job->settings)));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char *text = json_dumps(json_object_get(job->run, lists[i]), JSON_COMPACT);
        const tsr_status status = tsri_ranks_list_add(list, lists[i], text);
        free(text);
        TRY(status);
    }
    return TSR_OK;
}

tsr_status tsri_train_ranks_compare(const tsri_train_job *job) {
    tsri_bytes list = {0};
    if (!job->ranks)
        return TSR_OK;
    tsr_status status = add_run(job, &list);
    if (status == TSR_OK)
        status = tsr_ranks_compare(job->ranks, list.data);
    tsri_base_bytes_clear(&list);
    return status;
}

/* The SHA-256 of the parameters as this rank has them. */
static tsr_status add_parameters(const tsri_train_job *job, tsri_bytes *list) {
    char hex[65];
    tsri_hash *hash = NULL;
    TRY(tsri_base_hash_begin(&hash));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < tsri_training_array_count(job->training) && status == TSR_OK; i++) {
        tsri_training_array array;
        float *values = NULL;
        if (tsri_training_array_moment(job->training, i))
            continue;
        tsri_training_array_at(job->training, i, &array);
        const size_t n = (size_t)(array.dims[0] * (array.rank > 1 ? array.dims[1] : 1));
        status = tsri_base_new(n, sizeof *values, &values);
        if (status == TSR_OK)
            status = tsri_training_array_read(job->training, i, values);
        if (status == TSR_OK)
            tsri_base_hash_add(hash, values, n * sizeof *values);
        free(values);
    }
    tsri_base_hash_end_hex(&hash, hex);
    return status == TSR_OK ? tsri_ranks_list_add(list, "the SHA-256 of the weights", hex) : status;
}

typedef struct listing {
    const char *of; /* which model */
    tsri_bytes *list;
} listing;

static tsr_status add_setting(void *data, const char *name, const char *path) {
    const listing *l = data;
    char what[SHOWN];
    snprintf(what, sizeof what, "%s of %s", name, l->of);
    return tsri_ranks_list_file(l->list, what, path && tsri_base_is_file(path) ? name : NULL, path);
}

/* What says how a model is run: a line for each file, so that the one that differs is named. */
static tsr_status add_settings(const tsr_model *model, const char *of, tsri_bytes *list) {
    const tsri_model *m = tsri_model_of(model);
    listing l = {.of = of, .list = list};
    char what[SHOWN], hex[65];
    TRY(tsri_model_visit_settings(m, add_setting, &l));
    TRY(tsri_model_hash_metadata(m, hex));
    snprintf(what, sizeof what, "the hash of the metadata of %s", of);
    return tsri_ranks_list_add(list, what, *hex ? hex : NULL);
}

/* All of the files' weights, also of what is frozen, as a fine-tuned copy may differ anywhere in them. It costs
 * another reading of files that were just loaded, and SHA-256 of 0.3 to 2 GB/s on one core. `known`: the hash, or "". */
static tsr_status add_weights(const tsr_model *model, const char *of, const char *known,
                              tsri_bytes *list) {
    char what[SHOWN], hex[65];
    snprintf(hex, sizeof hex, "%s", known);
    if (!*hex)
        TRY(tsri_model_hash_weights(tsri_model_of(model), UINT64_MAX, hex));
    snprintf(what, sizeof what, "the hash of the stored weights of %s", of);
    return tsri_ranks_list_add(list, what, hex);
}

/* The first difference is told, so what names a file comes before what is made of several. */
static tsr_status add_state(const tsri_train_job *job, tsri_bytes *list) {
    const char *teachers =
        *job->settings.distill_from ? "the model in distill_from" : "the model in kl_to";
    const tsr_model *teacher = job->teacher ? tsri_train_teacher_model(job->teacher) : NULL;
    TRY(add_settings(job->model, "the model", list));
    if (teacher)
        TRY(add_settings(teacher, teachers, list));
    TRY(tsri_ranks_list_add(list, "the identity of the data", tsri_train_data_identity(job->data)));
    TRY(add_parameters(job, list));
    TRY(add_weights(job->model, "the model", job->frozen.base, list));
    return teacher ? add_weights(teacher, teachers, job->frozen.teacher, list) : TSR_OK;
}

tsr_status tsri_train_ranks_compare_state(const tsri_train_job *job) {
    tsri_bytes list = {0};
    if (!job->ranks)
        return TSR_OK;
    tsr_status status = add_state(job, &list);
    if (status == TSR_OK)
        status = tsr_ranks_compare(job->ranks, list.data);
    tsri_base_bytes_clear(&list);
    return status;
}

/* Says once that the ranks' devices are of different kinds. */
tsr_status tsri_train_ranks_devices(tsri_train_job *job) {
    char own[SHOWN] = "", *all = NULL;
    const uint32_t n = tsri_ranks_size(job->ranks);
    snprintf(own, sizeof own, "%s", tsr_device_describe(job->device));
    TRY(tsri_base_new(n, sizeof own, &all));
    const tsr_status status = tsri_ranks_gather_equal(job->ranks, own, all, sizeof own);
    for (uint32_t r = 1; r < n && status == TSR_OK; r++)
        if (strcmp(all, all + r * sizeof own) != 0) {
            tsri_train_say(job, TSR_TRAIN_WARNING,
                           "rank 0 has the device %s, rank %u has %s: the result may depend on "
                           "the number of ranks",
                           all, r, all + r * sizeof own);
            break;
        }
    free(all);
    return status;
}

/* ---- what rank 0 has prepared ---- */

/* Gives every rank rank 0's text, which may be NULL. */
static tsr_status share_text(const tsri_train_job *job, char **text) {
    const bool first = tsri_train_is_first(job);
    int64_t n = first && *text ? (int64_t)strlen(*text) : -1;
    TRY(tsri_ranks_broadcast(job->ranks, 0, &n, sizeof n));
    if (n < 0)
        return TSR_OK;
    if (!first)
        TRY(tsri_base_new((size_t)n + 1, 1, text));
    return tsri_ranks_broadcast(job->ranks, 0, *text, (uint64_t)n);
}

static tsr_status not_shared(const tsri_train_job *job, const char *path) {
    return tsri_base_fail(
        TSR_E_IO,
        "rank %u on %s does not see %s, which rank 0 on %s has written: OUT must lie in a file "
        "system that all hosts share",
        tsri_ranks_rank(job->ranks), tsri_ranks_host(job->ranks, tsri_ranks_rank(job->ranks)), path,
        tsri_ranks_host(job->ranks, 0));
}

/* The name of a file in OUT that no other run can have made, the same for all ranks. */
static tsr_status name_trial(const tsri_train_job *job, char **path) {
    uint64_t number = 0;
    tsri_bytes name = {0};
    if (tsri_train_is_first(job) && !tsri_system_random(&number, sizeof number))
        return tsri_base_fail(TSR_E_IO, "the system gives no random numbers");
    TRY(tsri_ranks_broadcast(job->ranks, 0, &number, sizeof number));
    TRY(tsri_base_bytes_printf(&name, ".ranks-%016" PRIx64 ".tmp", number));
    *path = tsri_base_join(job->out, name.data);
    tsri_base_bytes_clear(&name);
    return *path ? TSR_OK : TSR_E_HOST_MEMORY;
}

/* This rank's byte of the file becomes 1. */
static tsr_status write_mark(const tsri_train_job *job, const char *path) {
    const uint32_t rank = tsri_ranks_rank(job->ranks);
    tsri_file_writer *writer = NULL;
    if (!tsri_base_is_file(path))
        return not_shared(job, path);
    tsr_status status = tsri_base_writer_join(path, &writer);
    if (status == TSR_OK)
        status = tsri_base_writer_patch(writer, rank, "\1", 1);
    if (status == TSR_OK)
        status = tsri_base_writer_commit(&writer);
    tsri_base_writer_abandon(&writer);
    return status == TSR_OK
               ? TSR_OK
               : tsri_base_fail_within(status,
                                       "rank %u on %s can't write to OUT, where every rank writes "
                                       "its slice of a checkpoint",
                                       rank, tsri_ranks_host(job->ranks, rank));
}

static tsr_status check_marks(const tsri_train_job *job, const char *path) {
    tsri_bytes held = {0};
    TRY(tsri_base_read_whole(path, tsri_ranks_size(job->ranks), &held));
    tsr_status status = TSR_OK;
    for (uint32_t r = 1; r < held.size && status == TSR_OK; r++)
        if (held.data[r] != 1)
            status = tsri_base_fail(TSR_E_IO,
                                    "what rank %u on %s writes to %s does not arrive at rank 0 on "
                                    "%s: OUT must lie in a file system that all hosts share",
                                    r, tsri_ranks_host(job->ranks, r), path,
                                    tsri_ranks_host(job->ranks, 0));
    tsri_base_bytes_clear(&held);
    return status;
}

/* Whether all ranks write to one folder: each writes a byte of a file that rank 0 makes and then reads, as
 * they write checkpoints. */
static tsr_status try_folder(const tsri_train_job *job) {
    const bool first = tsri_train_is_first(job);
    const uint32_t size = tsri_ranks_size(job->ranks);
    char *path = NULL, *nothing = NULL;
    TRY(name_trial(job, &path));
    tsr_status status = tsri_base_new(size, 1, &nothing);
    if (status == TSR_OK && first)
        status = tsri_base_write_whole(path, nothing, size);
    if (status == TSR_OK)
        status = tsri_ranks_barrier(job->ranks);
    if (status == TSR_OK && !first)
        status = write_mark(job, path);
    if (status == TSR_OK)
        status = tsri_ranks_barrier(job->ranks);
    if (status == TSR_OK && first)
        status = check_marks(job, path);
    if (first)
        (void)unlink(path);
    free(nothing);
    free(path);
    return status;
}

tsr_status tsri_train_ranks_start(tsri_train_job *job) {
    if (!job->ranks)
        return TSR_OK;
    unsigned char started = job->started;
    TRY(share_text(job, &job->start));
    TRY(share_text(job, &job->checkpoint));
    TRY(tsri_ranks_broadcast(job->ranks, 0, &started, 1));
    job->started = started;
    TRY(try_folder(job));
    return tsri_base_is_folder(job->start) ? TSR_OK : not_shared(job, job->start);
}

/* ---- dealing the shards ---- */

enum { TOLD = 16 }; /* ranks in a sentence; the log has all */

/* Says and logs what each rank has, and where it was measured, how long it takes. */
static tsr_status tell_dealt(tsri_train_job *job, const double *seconds) {
    const tsri_training_deal *deal = tsri_training_dealt(job->training);
    tsri_bytes shards = {0}, times = {0};
    json_t *counts = json_array(), *took = json_array();
    tsr_status status = TSR_OK;
    for (uint32_t r = 0; r < deal->ranks && status == TSR_OK; r++) {
        const uint32_t n = tsri_training_deal_shards(deal, r);
        const char *comma = r ? ", " : "";
        tsri_base_json_append(counts, json_integer(n));
        if (r < TOLD)
            status = tsri_base_bytes_printf(&shards, "%s%" PRIu32, comma, n);
        if (!seconds)
            continue;
        tsri_base_json_append(took, json_real(seconds[r]));
        if (r < TOLD && status == TSR_OK)
            status = tsri_base_bytes_printf(&times, "%s%.3g", comma, 1000 * seconds[r]);
    }
    const char *more = deal->ranks > TOLD ? ", ..." : "";
    if (status == TSR_OK)
        tsri_train_say(job, TSR_TRAIN_NOTE, "shards of a step, rank by rank: %s%s%s%s%s%s",
                       shards.data, more, seconds ? "; a shard takes " : "",
                       seconds ? times.data : "", seconds ? more : "", seconds ? " ms" : "");
    json_t *line = json_pack("{s:I,s:O}", "step", (json_int_t)job->at.step, "dealt", counts);
    if (seconds)
        tsri_base_json_put(line, "shard_seconds", json_incref(took));
    if (status == TSR_OK)
        status = tsri_train_log_write(job->log, json_incref(line));
    json_decref(line);
    json_decref(counts);
    json_decref(took);
    tsri_base_bytes_clear(&shards);
    tsri_base_bytes_clear(&times);
    return status;
}

tsr_status tsri_train_ranks_dealt(tsri_train_job *job) {
    return job->balance ? tell_dealt(job, NULL) : TSR_OK;
}

tsr_status tsri_train_ranks_balance(tsri_train_job *job) {
    const uint32_t *counts = NULL;
    if (!job->balance ||
        !tsri_train_balance_step(job->balance, tsri_training_dealt(job->training), &counts))
        return TSR_OK;
    TRY(tsri_training_deal_anew(job->training, counts));
    return job->log ? tell_dealt(job, tsri_train_balance_seconds(job->balance)) : TSR_OK;
}

/* ---- stopping ---- */

tsr_status tsri_train_ranks_agree(tsri_train_job *job) {
    const uint32_t n = tsri_ranks_size(job->ranks);
    const int own = job->asked;
    int *all = NULL;
    TRY(tsri_base_new(n, sizeof *all, &all));
    const tsr_status status = tsri_ranks_gather_equal(job->ranks, &own, all, sizeof own);
    for (uint32_t r = n; r-- > 0 && status == TSR_OK;)
        job->asked = all[r] ? all[r] : job->asked;
    job->stop |= job->asked != 0;
    job->stopping = job->stop;
    free(all);
    return status;
}

/* train/train.c - implements tessera/train.h: sets a run up, runs it, and makes OUT the finished
 * model. */
#include "tessera/train.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/structs.h"
#include "base/system/files.h"
#include "train/run/job.h"
#include "transport/ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder of the best checkpoint, where it is to become the model; NULL: the last one is. */
static char *best_of(tsri_train_job *job) {
    if (!tsri_train_settings_keep_best(&job->settings) || job->at.best_step == 0)
        return NULL;
    char *path = tsri_train_checkpoint_path(job->out, job->at.best_step);
    if (path && tsri_train_checkpoint_check(path) == TSR_OK)
        return path;
    tsri_train_say(job, TSR_TRAIN_WARNING, "%s: the last checkpoint is used in place of the best",
                   tsri_base_reported());
    free(path);
    return NULL;
}

static void remove_in_out(const tsri_train_job *job, const char *name) {
    char *path = tsri_base_join(job->out, name);
    if (path)
        (void)tsri_base_folder_remove(path, NULL);
    free(path);
}

/* Makes OUT the model, and removes what only the training needed. */
static tsr_status finish(tsri_train_job *job) {
    char *folder = best_of(job);
    if (!folder)
        folder = tsri_train_checkpoint_path(job->out, job->saved);
    tsr_status status =
        folder ? tsri_train_checkpoint_publish(folder, job->out) : TSR_E_HOST_MEMORY;
    free(folder);
    if (status != TSR_OK)
        return status;
    remove_in_out(job, "start");
    remove_in_out(job, "data");
    char *lock = tsri_base_join(job->out, ".lock");
    if (lock)
        unlink(lock);
    free(lock);
    (void)tsri_train_tell(job, (tsr_train_event){.kind = TSR_TRAIN_SAVED,
                                                 .step = (uint64_t)job->at.step,
                                                 .steps = (uint64_t)job->steps,
                                                 .text = job->out});
    return TSR_OK;
}

static tsr_status check_call(const tsr_device *device, const tsr_train_options *options) {
    TRY(NEED(device));
    if (!options->output && !options->dry_run)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "-o OUT is missing: give the folder for the new model");
    if (options->task > TSR_TRAIN_CLASSIFY_TOKENS)
        return tsri_base_fail(TSR_E_ARGUMENT, "tsr_train: task %u is unknown", options->task);
    return TSR_OK;
}

tsr_status tsr_train(tsr_device *device, const tsr_train_options *given, tsr_train_result *out) {
    tsr_train_options known;
    TRY(NEED(given));
    TRY(tsri_base_adopt("tsr_train_options", given, &known, sizeof known));
    TRY(tsri_base_check_out("tsr_train_result", out));
    TRY(check_call(device, &known));
    const tsr_train_options *options = &known;
    tsri_train_job job = {.options = options,
                          .device = device,
                          .ranks = options->dry_run ? NULL : options->ranks,
                          .lock = -1};
    tsr_status status = tsri_train_set_up(&job);
    const bool steps = status == TSR_OK && !options->dry_run;
    if (steps)
        status = tsri_train_loop(&job);
    if (steps && status == TSR_OK && tsri_train_is_first(&job))
        status = finish(&job);
    if (steps && status == TSR_OK)
        status = tsri_ranks_barrier(job.ranks);
    if (status != TSR_OK && !job.together)
        tsr_ranks_leave(job.ranks, status, tsri_base_reported());
    const tsr_train_result result = {.struct_size = sizeof result,
                                     .finished = steps && status == TSR_OK,
                                     .step = (uint64_t)job.at.step,
                                     .steps = (uint64_t)job.steps,
                                     .tokens = (uint64_t)job.at.tokens,
                                     .loss = job.at.loss,
                                     .eval_loss = job.at.eval_loss,
                                     .best_step = (uint64_t)job.at.best_step,
                                     .best = job.at.best,
                                     .stopped = job.together ? job.asked : 0};
    tsri_base_give(&result, sizeof result, out);
    if (steps && options->profile && job.training && status == TSR_OK)
        status = tsri_training_profile(job.training, options->profile, options->profile_data);
    job.made |= options->dry_run;
    job.failed = status != TSR_OK && status != TSR_E_CANCELLED && !job.goes_on && job.at.step == 0;
    tsri_train_job_clear(&job);
    return status;
}

static void values_of(const tsri_train_key *key, char *text, size_t size) {
    static const char *const kinds[] = {"whole number", "number", "true|false", "", "text"};
    if (key->kind == TSRI_TRAIN_VALUE_WORD)
        snprintf(text, size, "%s", key->words);
    else
        snprintf(text, size, "%s", kinds[key->kind]);
}

tsr_status tsr_train_recipes(void (*visit)(void *data, const char *name, const char *path),
                             void *data) {
    TRY(NEED(visit));
    return tsri_train_recipe_visit(visit, data);
}

void tsr_train_keys(void (*visit)(void *data, const char *name, const char *values,
                                  const char *initial, const char *help),
                    void *data) {
    const tsri_train_keys *const tables[] = {tsri_train_settings_keys(), tsri_train_recipe_keys()};
    char values[128];
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            const tsri_train_key *key = &tables[t]->keys[i];
            values_of(key, values, sizeof values);
            visit(data, key->name, values, key->initial, key->help);
        }
}

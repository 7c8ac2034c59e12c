/* train/run/setup.c - does everything before the first step: model, data, teacher, memory plan,
 * checkpoint. */
#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/system/files.h"
#include "base/system/system.h"
#include "model/load/fingerprint.h"
#include "model/model.h"
#include "train/data/entities.h"
#include "train/run/job.h"
#include "transport/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- model, training, data ---- */

static void pass_over(void *data, const char *sentence) {
    tsri_train_say(data, TSR_TRAIN_WARNING, "%s: this checkpoint is skipped", sentence);
}

static void warn(void *data, const char *sentence) {
    tsri_train_say(data, TSR_TRAIN_WARNING, "%s", sentence);
}

static int told_load(void *data, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return ((tsri_train_job *)data)->stop;
}

static tsr_status open_model(tsri_train_job *job) {
    const tsr_model_options options = {.struct_size = sizeof options,
                                       .dtype = job->settings.lora_rank > 0 ? 0 : TSR_F32,
                                       .progress = told_load,
                                       .progress_data = job};
    TRY(tsr_model_open(job->start, NULL, &options, &job->model));
    if (job->settings.lora_rank > 0)
        return TSR_OK;
    return tsri_train_companions_read(job->start, job->started, warn, job, &job->companions);
}

static tsr_status make_training(tsri_train_job *job) {
    tsri_training_options options;
    tsri_train_settings_training(&job->settings, job->objective, tsri_train_run_json_head_only(job),
                                 &options);
    options.shards = (uint32_t)tsri_train_settings_shards(&job->settings);
    options.ranks = job->ranks;
    TRY(tsri_training_create(job->model, job->device, &options, &job->training));
    if (job->options->balance && job->ranks)
        TRY(tsri_train_balance_create(tsri_ranks_size(job->ranks), &job->balance));
    bool faster = true;
    if (options.compute != TSR_COMPUTE_F32)
        TRY(tsri_training_products(job->training, &faster));
    if (!faster)
        tsri_train_say(job, TSR_TRAIN_WARNING,
                       "compute=bf16: %s has no instructions for products of bf16 that are faster "
                       "than those of f32, so products are formed in f32",
                       tsri_backend_opened(job->device)->devices[0]->facts.name);
    return TSR_OK;
}

/* Opens the data, and its view for validation, whose batches may have another size. */
static tsr_status open_data(tsri_train_job *job) {
    const int64_t size = job->settings.per_device_eval_batch_size;
    tsri_train_data_options asked;
    tsr_status status = tsri_train_data_asked(job, &asked);
    if (status == TSR_OK)
        status = tsri_train_data_open(job->model, &asked, &job->data);
    if (status == TSR_OK && size > 0 && size != asked.batch) {
        asked.batch = (int32_t)size;
        status = tsri_train_data_open(job->model, &asked, &job->evaluated);
    }
    if (status == TSR_OK)
        status = tsri_train_data_validation(job->evaluated ? job->evaluated : job->data,
                                            &job->validation);
    tsri_train_data_asked_free(&asked);
    return status;
}

/* Whether the data allow what the settings ask of validations. */
static tsr_status check_validation(const tsri_train_job *job) {
    const tsri_train_settings *s = &job->settings;
    const tsri_model_spec *spec = &tsri_model_of(job->model)->spec;
    if (tsri_train_settings_keep_best(s) && !job->validation)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s needs data to validate on, and validation_split=%g holds nothing "
                              "back: give --validation FILE, or a larger validation_split",
                              s->early_stopping_patience > 0 ? "early_stopping_patience"
                                                             : "load_best_model_at_end",
                              s->validation_split);
    if (s->metric_for_best_model == TSRI_METRIC_F1 &&
        !tsri_train_entities_are_named(spec->label_of, spec->labels))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "metric_for_best_model=f1: no label begins an entity, "
                              "as \"B-PER\" does; use accuracy or loss");
    return TSR_OK;
}

/* What a run leaves out of its data. */
static void tell_left_out(tsri_train_job *job) {
    const uint64_t most = (uint64_t)job->settings.eval_batches,
                   all = job->validation ? tsri_train_data_batches(job->validation) : 0;
    tsri_train_data_summary summary;
    tsri_train_data_summarize(job->data, &summary);
    if (summary.cut)
        tsri_train_say(job, TSR_TRAIN_NOTE,
                       "texts that are too long for %s, and lose their end: %" PRIu64,
                       job->plan.S ? "block_size or target_block_size" : "block_size", summary.cut);
    if (most && most < all)
        tsri_train_say(job, TSR_TRAIN_NOTE,
                       "a validation measures %" PRIu64 " of %" PRIu64 " batches, drawn from all "
                       "of them; eval_batches=0 measures all",
                       most, all);
}

/* ---- the plan ---- */

static int64_t steps_of(const tsri_train_settings *s, uint64_t batches) {
    const double epoch = (double)batches / (double)s->gradient_accumulation_steps;
    return s->max_steps > 0 ? s->max_steps : (int64_t)ceil(s->num_train_epochs * epoch);
}

static void larger(int32_t *held, int32_t other) {
    *held = other > *held ? other : *held;
}

static tsr_status make_plan(tsri_train_job *job) {
    tsr_train_plan *p = &job->plan;
    tsr_model_info info = {.struct_size = sizeof info};
    tsri_train_data_summary summary;
    tsri_training_memory memory;
    int32_t B, T, S;
    TRY(tsr_model_info_get(job->model, &info));
    tsri_train_data_summarize(job->data, &summary);
    *p = (tsr_train_plan){.struct_size = sizeof *p,
                          .family = info.family,
                          .task = tsri_train_task_name(job->objective),
                          .learns = job->settings.lora_rank > 0          ? "LoRA"
                                    : tsri_train_run_json_head_only(job) ? "the head"
                                                                         : "all weights",
                          .parameters = info.parameters,
                          .learning = (uint64_t)tsri_training_parameter_count(job->training),
                          .batches = tsri_train_data_batches(job->data),
                          .examples = summary.examples,
                          .tokens = summary.tokens,
                          .accumulation = (uint64_t)job->settings.gradient_accumulation_steps};
    const int64_t shards = tsri_train_settings_shards(&job->settings),
                  most = tsri_train_settings_shards_for(&job->settings, 1);
    p->shards = (uint32_t)shards;
    p->most_shards = (uint32_t)(most > shards ? most : shards);
    job->steps = steps_of(&job->settings, p->batches);
    p->steps = (uint64_t)job->steps;
    tsri_train_data_sizes(job->data, &p->B, &p->T, &p->S);
    if (job->validation) {
        tsri_train_data_sizes(job->validation, &B, &T, &S);
        larger(&p->T, T);
        larger(&p->S, S);
    }
    const int32_t rows = tsri_train_rows(job);
    TRY(tsri_training_announce(job->training, rows, p->T, p->S,
                               job->validation ? (const int32_t[]){B, T, S} : NULL));
    TRY(tsri_training_reserve(job->training, rows, p->T, p->S));
    if (job->validation)
        TRY(tsri_training_reserve_validation(job->training, B, T, S));
    tsri_training_memory_of(job->training, &memory);
    p->weight_bytes = memory.weights;
    p->parameter_bytes = memory.parameters;
    p->gradient_bytes = memory.gradients;
    p->optimizer_bytes = memory.optimizer;
    p->activation_bytes = memory.activations;
    p->input_bytes = memory.inputs;
    p->total_bytes = memory.weights + memory.parameters + memory.gradients + memory.optimizer +
                     memory.activations + memory.inputs;
    /* Everything but the activations has been written to memory by now. */
    if (tsri_backend_opened(job->device)->devices[0]->facts.unified_memory)
        p->process_bytes = tsri_system_resident() + memory.activations;
    return TSR_OK;
}

static tsr_status open_teacher(tsri_train_job *job) {
    const char *kl_to = job->settings.kl_to, *from = job->settings.distill_from;
    const char *name = *from ? from : *kl_to && strcmp(kl_to, "uniform") != 0 ? kl_to : NULL;
    const tsr_train_plan *p = &job->plan;
    return name ? tsri_train_teacher_open(name, job->device, job->model, job->objective, p->B, p->T,
                                          p->S, &job->teacher)
                : TSR_OK;
}

/* Whole files are hashed, as another copy may differ anywhere in them; ranks.c says what it costs. */
static tsr_status hash_frozen(tsri_train_job *job) {
    if (job->options->dry_run)
        return TSR_OK;
    if (job->settings.lora_rank > 0)
        TRY(tsri_model_hash_weights(tsri_model_of(job->model), UINT64_MAX, job->frozen.base));
    return job->teacher
               ? tsri_model_hash_weights(tsri_model_of(tsri_train_teacher_model(job->teacher)),
                                         UINT64_MAX, job->frozen.teacher)
               : TSR_OK;
}

/* ---- going on ---- */

static tsr_status find_checkpoint(tsri_train_job *job) {
    if (!job->goes_on)
        return TSR_OK;
    TRY(tsri_train_checkpoint_newest(job->out, pass_over, job, &job->checkpoint));
    tsri_train_say(job, TSR_TRAIN_NOTE, "continues from %s",
                   job->checkpoint ? job->checkpoint : "the beginning: there is no checkpoint");
    return TSR_OK;
}

static tsr_status check_weights(const tsr_model *model, const char *then, const char *now,
                                const char *why) {
    if (!*then || !strcmp(then, now))
        return TSR_OK;
    return tsri_base_fail(
        TSR_E_FORMAT,
        "the weights of %s have changed since the checkpoint (their SHA-256 began "
        "with %.12s, and now begins with %.12s); resuming needs the old ones, %s",
        tsri_model_of(model)->path, then, now, why);
}

static tsr_status check_frozen(const tsri_train_job *job) {
    tsri_train_frozen then;
    TRY(tsri_train_checkpoint_frozen(job->checkpoint, &then));
    TRY(check_weights(job->model, then.base, job->frozen.base,
                      "which the adapters were trained beside"));
    return job->teacher ? check_weights(tsri_train_teacher_model(job->teacher), then.teacher,
                                        job->frozen.teacher, "which the model learns from")
                        : TSR_OK;
}

static tsr_status restore(tsri_train_job *job) {
    char *identity = NULL;
    job->at = (tsri_train_position){.loss = NAN, .eval_loss = NAN, .best = NAN};
    if (!job->checkpoint)
        return TSR_OK;
    tsr_status status = tsri_train_checkpoint_position(job->checkpoint, &job->at, &identity);
    if (status == TSR_OK)
        status = tsri_train_data_check(job->data, identity);
    if (status == TSR_OK)
        status = check_frozen(job);
    if (status == TSR_OK)
        status = tsri_train_checkpoint_restore(job->checkpoint, job->training);
    job->saved = job->at.step;
    free(identity);
    return status;
}

static tsr_status open_log(tsri_train_job *job) {
    char *path = tsri_base_join(job->out, "log.jsonl");
    tsr_status status =
        path ? tsri_train_log_open(path, job->at.step, &job->log) : TSR_E_HOST_MEMORY;
    free(path);
    if (status != TSR_OK || tsri_train_log_has_begun(job->log))
        return status;
    const char *name = tsri_train_run_json_text(job, "recipe");
    return tsri_train_log_write(
        job->log,
        json_pack("{s:{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:o}}", "run", "name",
                  name ? name : tsri_train_run_json_text(job, "model"), "family", job->plan.family,
                  "task", job->plan.task, "learns", job->plan.learns, "parameters",
                  (json_int_t)job->plan.parameters, "learning", (json_int_t)job->plan.learning,
                  "steps", (json_int_t)job->steps, "settings",
                  tsri_train_key_object(tsri_train_settings_keys(), &job->settings)));
}

/* What the run was asked for, and whether it can be done. Nothing is written. */
static tsr_status take_options(tsri_train_job *job) {
    const bool dry = job->options->dry_run;
    if (dry && job->options->resume)
        return tsri_base_fail(TSR_E_ARGUMENT, "--dry-run plans a new run; leave out --resume");
    if (tsri_train_is_first(job) && (!dry || job->options->output))
        TRY(tsri_train_output_check(job));
    if (!dry)
        TRY(tsri_train_output_choose(job));
    TRY(tsri_train_run_json(job));
    TRY(tsri_train_objective(job));
    TRY(tsri_train_settings_check(&job->settings, job->objective,
                                  tsri_train_run_json_head_only(job)));
    TRY(tsri_train_ranks_check(job));
    return tsri_train_ranks_compare(job);
}

/* OUT and the folder of the model that the run begins with; rank 0 alone makes them. */
static tsr_status make_folders(tsri_train_job *job) {
    if (!tsri_train_is_first(job))
        return TSR_OK;
    if (job->options->dry_run)
        TRY(tsri_train_output_choose(job));
    TRY(tsri_train_output_take(job));
    TRY(find_checkpoint(job));
    if (!job->goes_on)
        TRY(tsri_train_run_json_save(job));
    return tsri_train_start_folder(job);
}

/* Rank 0 makes files of the texts, which the others then find. */
static tsr_status open_data_in_turn(tsri_train_job *job) {
    const bool first = tsri_train_is_first(job);
    if (first)
        TRY(open_data(job));
    TRY(tsri_ranks_barrier(job->ranks));
    return first ? TSR_OK : open_data(job);
}

tsr_status tsri_train_set_up(tsri_train_job *job) {
    TRY(take_options(job));
    TRY(make_folders(job));
    TRY(tsri_train_ranks_start(job));
    TRY(tsri_train_ranks_devices(job));
    TRY(open_model(job));
    TRY(make_training(job));
    TRY(open_data_in_turn(job));
    TRY(check_validation(job));
    TRY(tsri_train_check_prompt(job));
    TRY(make_plan(job));
    TRY(open_teacher(job));
    TRY(hash_frozen(job));
    TRY(restore(job));
    TRY(tsri_train_ranks_compare_state(job));
    (void)tsri_train_tell(job, (tsr_train_event){.kind = TSR_TRAIN_PLANNED,
                                                 .step = (uint64_t)job->at.step,
                                                 .steps = (uint64_t)job->steps,
                                                 .plan = &job->plan});
    tell_left_out(job);
    if (job->options->dry_run || !tsri_train_is_first(job))
        return TSR_OK;
    if (job->goes_on) /* only now is it known that the run can be resumed like this */
        TRY(tsri_train_run_json_save(job));
    TRY(open_log(job));
    return tsri_train_ranks_dealt(job);
}

void tsri_train_job_clear(tsri_train_job *job) {
    tsri_train_log_close(&job->log);
    tsri_train_balance_destroy(&job->balance);
    tsri_train_teacher_close(&job->teacher);
    tsri_train_data_close(&job->evaluated);
    tsri_train_data_close(&job->data);
    tsri_training_destroy(&job->training);
    tsr_model_close(&job->model);
    tsri_train_companions_clear(&job->companions);
    tsri_train_recipe_close(&job->recipe);
    json_decref(job->run);
    if (job->out && (job->options->dry_run || (job->failed && job->lock >= 0)))
        tsri_train_output_undo(job);
    if (job->lock >= 0)
        close(job->lock);
    free(job->out);
    free(job->start);
    free(job->checkpoint);
}

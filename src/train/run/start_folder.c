/* train/run/start_folder.c - makes the folder that training begins with, and trains its
 * tokenizer where the recipe asks for one. */
#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "model/load/model_path.h"
#include "model/model.h"
#include "text/train/train.h"
#include "train/run/job.h"
#include "train/start/init.h"

#include <stdlib.h>
#include <string.h>

static int told_progress(void *data, uint64_t done, uint64_t total, uint64_t tokens) {
    tsri_train_job *job = data;
    return tsri_train_tell(
        job, (tsr_train_event){
                 .kind = TSR_TRAIN_PREPARING, .done = done, .total = total, .tokens = tokens});
}

static const char *or_null(const char *text) {
    return *text ? text : NULL;
}

/* Whether texts are joined into one stream, in which a source can't be told from its target. */
static bool packs(const tsri_train_job *job, const tsri_train_data_options *o) {
    const bool next = job->objective == TSRI_OBJECTIVE_NEXT;
    if (!next && job->objective != TSRI_OBJECTIVE_MASKED)
        return false;
    return job->settings.pack == TSRI_PACK_AUTO ? !next || !tsri_train_data_has_pairs(o)
                                                : job->settings.pack == TSRI_PACK_TRUE;
}

tsr_status tsri_train_data_asked(tsri_train_job *job, tsri_train_data_options *o) {
    const tsri_train_settings *s = &job->settings;
    const char **data = NULL, **validation = NULL;
    *o = (tsri_train_data_options){.validation = s->validation_split,
                                   .objective = job->objective,
                                   .batch = (int32_t)s->per_device_train_batch_size,
                                   .block = (int32_t)s->block_size,
                                   .target_block = (int32_t)s->target_block_size,
                                   .seed = (uint64_t)s->seed,
                                   .mask_probability = s->mlm_probability,
                                   .bpe_dropout = s->bpe_dropout,
                                   .text_field = or_null(s->text_field),
                                   .label_field = or_null(s->label_field),
                                   .source_field = or_null(s->source_field),
                                   .target_field = or_null(s->target_field),
                                   .progress = told_progress,
                                   .progress_data = job};
    tsr_status status = tsri_train_run_json_list(job, "data", &data, &o->n_paths);
    if (status == TSR_OK)
        status = tsri_train_run_json_list(job, "validation", &validation, &o->n_validation_paths);
    o->paths = data;
    o->validation_paths = validation;
    o->pack = status == TSR_OK && packs(job, o);
    if (status == TSR_OK && !(o->workspace = tsri_base_join(job->out, "data")))
        status = TSR_E_HOST_MEMORY;
    return status;
}

void tsri_train_data_asked_free(tsri_train_data_options *o) {
    free((void *)o->paths);
    free((void *)o->validation_paths);
    free((void *)o->workspace);
    *o = (tsri_train_data_options){0};
}

/* ---- what is learned ---- */

static tsri_training_objective of_kind(int32_t kind) {
    static const tsri_training_objective kinds[] = {
        [TSRI_KIND_DECODER] = TSRI_OBJECTIVE_NEXT,
        [TSRI_KIND_ENCODER] = TSRI_OBJECTIVE_MASKED,
        [TSRI_KIND_ENCODER_DECODER] = TSRI_OBJECTIVE_TRANSLATE,
        [TSRI_KIND_RECURRENT] = TSRI_OBJECTIVE_TRANSLATE};
    return kinds[kind];
}

static tsr_status of_model(const char *name, tsri_training_objective *out) {
    const tsr_model_options options = {.struct_size = sizeof options};
    tsr_model *model = NULL;
    TRY(tsr_model_open(name, NULL, &options, &model));
    *out = tsri_training_objective_of(tsri_model_of(model));
    const bool answers = tsri_model_of(model)->spec.label_spans;
    tsr_model_close(&model);
    return answers ? tsri_base_fail(TSR_E_UNSUPPORTED,
                                    "%s answers questions, which Tessera does not train; name what "
                                    "it is to learn: --task classify, classify-tokens or fill-mask",
                                    name)
                   : TSR_OK;
}

tsr_status tsri_train_objective(tsri_train_job *job) {
    static const tsri_training_objective all[] = {TSRI_OBJECTIVE_NEXT, TSRI_OBJECTIVE_MASKED,
                                                  TSRI_OBJECTIVE_TRANSLATE, TSRI_OBJECTIVE_CLASSIFY,
                                                  TSRI_OBJECTIVE_TOKENS};
    const char *task = tsri_train_run_json_text(job, "task");
    for (size_t i = 0; task && i < sizeof all / sizeof *all; i++)
        if (!strcmp(task, tsri_train_task_name(all[i]))) {
            job->objective = all[i];
            return TSR_OK;
        }
    if (job->recipe) {
        job->objective = of_kind(job->recipe->model.kind);
        return TSR_OK;
    }
    return of_model(tsri_train_run_json_text(job, "model"), &job->objective);
}

/* ---- a tokenizer trained on the data ---- */

static tsr_status feed(void *data, const char *text, size_t n) {
    return tsri_text_trainer_feed(data, text, n);
}

static tsr_status train_tokenizer(tsri_train_job *job, tsr_tokenizer_type type,
                                  const char *folder) {
    const tsri_train_specials *specials = tsri_train_recipe_specials(job->recipe);
    const bool limited =
        type == TSR_TOKENIZER_BPE || job->recipe->vocab_size != TSRI_TRAIN_BY_DEFAULT;
    tsr_tokenizer_training options = {.struct_size = sizeof options,
                                      .type = type,
                                      .specials = specials->names,
                                      .unknown = type == TSR_TOKENIZER_CHAR ? specials->unk : NULL,
                                      .begin = specials->before,
                                      .end = specials->behind,
                                      .vocab_size = limited ? job->recipe->model.vocab_size : 0};
    tsr_tokenizer_trained made = {.struct_size = sizeof made};
    tsri_train_data_options asked;
    tsri_text_trainer *trainer = NULL;
    tsri_bytes json = {0};
    while (specials->names[options.n_specials])
        options.n_specials++;
    char *path = tsri_base_join(folder, "tokenizer.json");
    tsr_status status = path ? tsri_train_data_asked(job, &asked) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_text_trainer_new(&options, &trainer);
    if (status == TSR_OK)
        status = tsri_train_data_texts(&asked, feed, trainer);
    if (status == TSR_OK)
        status = tsri_text_trainer_finish(trainer, &json, &made);
    if (status == TSR_OK)
        status = tsri_base_write_whole(path, json.data, json.size);
    if (status == TSR_OK)
        tsri_train_say(job, TSR_TRAIN_NOTE, "the tokenizer has %lld tokens",
                       (long long)made.vocab_size);
    tsri_text_trainer_destroy(&trainer);
    tsri_base_bytes_clear(&json);
    if (path)
        tsri_train_data_asked_free(&asked);
    free(path);
    return status;
}

/* ---- the folder ---- */

typedef struct found_labels {
    char **texts;
    size_t n;
} found_labels;

static tsr_status scan_labels(tsri_train_job *job, found_labels *found) {
    tsri_train_data_options asked;
    tsr_status status = tsri_train_data_asked(job, &asked);
    if (status == TSR_OK)
        status = tsri_train_labels_scan(&asked, &found->texts, &found->n);
    tsri_train_data_asked_free(&asked);
    return status;
}

/* Whether the model's classifier is meant for these labels: it knows at least one of them. Then a
 * label that it does not know is a mistake in the data. */
static bool knows_one(const tsri_model *model, const found_labels *found) {
    for (size_t i = 0; i < found->n && model->spec.label_of; i++)
        if (tsri_train_label_number(&model->spec, found->texts[i], strlen(found->texts[i])) >= 0)
            return true;
    return false;
}

/* Why the model's classifier can't learn this; NULL: it can, or the model has none. */
static const char *unfit_classifier(const tsri_model *model, tsri_training_objective objective,
                                    const found_labels *found) {
    const tsri_model_spec *spec = &model->spec;
    if (!tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL))
        return NULL;
    if (spec->label_spans)
        return "answers questions";
    if (spec->label_tokens != (objective == TSRI_OBJECTIVE_TOKENS))
        return spec->label_tokens ? "labels words" : "labels texts";
    return knows_one(model, found) ? NULL : "knows none of the labels in the data";
}

static tsr_status make_from_recipe(tsri_train_job *job, const char *folder,
                                   tsri_train_init_options *options, tsri_train_made *made) {
    const char *tokenizer = job->recipe->tokenizer;
    if (!strcmp(tokenizer, "char"))
        TRY(train_tokenizer(job, TSR_TOKENIZER_CHAR, folder));
    else if (!strcmp(tokenizer, "bpe"))
        TRY(train_tokenizer(job, TSR_TOKENIZER_BPE, folder));
    else
        options->tokenizer = tokenizer;
    TRY(tsri_train_init(job->recipe, options, made));
    if (!made->class[0])
        tsri_train_say(job, TSR_TRAIN_NOTE,
                       "model_type is %s: transformers has no class that computes this model, so "
                       "only Tessera runs it",
                       made->family);
    return TSR_OK;
}

static tsr_status make_folder(tsri_train_job *job, const char *model, const found_labels *labels) {
    char *folder = tsri_base_join(job->out, "start.tmp");
    tsri_train_init_options options = {.folder = folder,
                                       .seed = (uint64_t)job->settings.seed,
                                       .objective = job->objective,
                                       .labels = (const char *const *)labels->texts,
                                       .n_labels = labels->n,
                                       .dropout = job->settings.dropout,
                                       .no_new_head = job->settings.lora_rank > 0};
    tsri_train_made made;
    tsr_status status = folder ? tsri_base_folder_anew(folder) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = model ? tsri_train_init_from(model, &options, &made)
                       : make_from_recipe(job, folder, &options, &made);
    if (status == TSR_OK)
        status = tsri_base_folder_rename(folder, job->start);
    free(folder);
    return status;
}

/* The result keeps the other files of the model's folder, so the model must be a folder. */
static tsr_status check_layout(const tsri_model *model) {
    const bool arrays =
        model->archive->format == TSRI_IO_SAFETENSORS || model->archive->format == TSRI_IO_INDEX;
    if (!arrays || !tsri_base_is_folder(model->path))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is %s; training needs a folder with config.json and safetensors, "
                              "because its result is one",
                              model->path, model->format);
    TRY(tsri_model_need_no_tasks(model));
    if (model->quantized || model->joined)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is quantised, and can't learn; give the model that it was made "
                              "from",
                              model->path);
    return TSR_OK;
}

/* The start of training a model: its own folder where it has the head that the objective needs,
 * else a copy with such a head. */
static tsr_status start_of_model(tsri_train_job *job, const found_labels *labels) {
    const bool labelled = job->objective >= TSRI_OBJECTIVE_CLASSIFY;
    const tsri_model_options options = {0};
    tsri_model *model = NULL;
    char *path = NULL;
    TRY(tsri_model_locate(tsri_train_run_json_text(job, "model"), &path));
    tsr_status status = tsri_model_open(path, &options, &model);
    if (status == TSR_OK)
        status = check_layout(model);
    const char *why =
        status == TSR_OK && labelled ? unfit_classifier(model, job->objective, labels) : NULL;
    const bool own =
        job->objective == TSRI_OBJECTIVE_MASKED || why ||
        (labelled && status == TSR_OK && !tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL));
    if (status == TSR_OK && !own) {
        free(job->start);
        job->start = path;
        job->started = false;
        path = NULL;
    } else if (status == TSR_OK) {
        status = make_folder(job, path, labels);
    }
    if (status == TSR_OK && why)
        tsri_train_say(job, TSR_TRAIN_NOTE, "the classifier of %s %s: a new one takes its place",
                       model->path, why);
    tsri_model_close(&model);
    free(path);
    return status;
}

tsr_status tsri_train_start_folder(tsri_train_job *job) {
    found_labels labels = {0};
    if (job->checkpoint && job->settings.lora_rank == 0) {
        job->start = tsri_base_copy_text(job->checkpoint, strlen(job->checkpoint));
        job->started = true;
        return job->start ? TSR_OK : TSR_E_HOST_MEMORY;
    }
    if (!(job->start = tsri_base_join(job->out, "start")))
        return TSR_E_HOST_MEMORY;
    job->started = true;
    if (tsri_base_is_folder(job->start))
        return TSR_OK;
    tsr_status status = TSR_OK;
    if (job->objective >= TSRI_OBJECTIVE_CLASSIFY)
        status = scan_labels(job, &labels);
    if (status == TSR_OK)
        status = tsri_train_run_json_recipe(job);
    if (status == TSR_OK)
        status = job->recipe ? make_folder(job, NULL, &labels) : start_of_model(job, &labels);
    tsri_train_labels_free(&labels.texts, labels.n);
    return status;
}

/* model/weights/tasks.h - the LoRA adapters that a model's own files have, one for each task: those of
 * jina-embeddings-v3. A model is opened with one of them, or with none.
 *
 * A matrix W is the array NAME.parametrizations.weight.original; beside it stand lora_A and lora_B, whose first axis
 * is the task t:
 *
 *     linear layer  W + scale B[t] A[t]      A [tasks, r, inputs], B [tasks, outputs, r]
 *     embedding     W + scale A[t] B[t]      A [tasks, rows, r], B [tasks, r, columns]
 *
 * with scale = lora_alpha / r.
 *
 * source  Sturua et al. 2024, arXiv:2409.10173; XLMRobertaLoRA of the code that the model's card names */
#ifndef TSRI_MODEL_WEIGHTS_TASKS_H
#define TSRI_MODEL_WEIGHTS_TASKS_H

#include "base/json.h"
#include "io/archive.h"

typedef struct tsri_model_task {
    char *name;
    char *instruction; /* what the config puts before a text of this task; "": nothing */
} tsri_model_task;

/* What the adapters add to one matrix. The archive does not list their arrays any more. */
typedef struct tsri_model_task_pair {
    char *matrix; /* the name of W in the archive */
    tsri_io_array a, b;
    bool embedding;
} tsri_model_task_pair;

typedef struct tsri_model_tasks {
    tsri_model_task *items;
    size_t n; /* 0: the files have no such adapters */
    tsri_model_task_pair *pairs;
    size_t n_pairs, room;
    int64_t rank;
    float scale;
    int32_t chosen; /* -1: none */
} tsri_model_tasks;

/* Where the files have such adapters: gives each W the name NAME.weight, takes the others out of the archive, and reads
 * from config.json what the tasks are. `chosen` is -1 then.
 *
 * owner  the caller: tsri_model_tasks_clear, also after an error
 * error  TSR_E_FORMAT  the config lacks the tasks, or arrays don't fit it or one another */
tsr_status tsri_model_tasks_adopt(const json_t *config, const char *what, tsri_io_archive *archive,
                                  tsri_model_tasks *out);
void tsri_model_tasks_clear(tsri_model_tasks *tasks);

/* Chooses a task by its name; `otherwise` is the failure where `path` has none of this name. The sentence lists those
 * that it has. */
tsr_status tsri_model_tasks_choose(tsri_model_tasks *tasks, const char *path, const char *name,
                                   tsr_status otherwise);
/* Writes "a, b, c", the names of all tasks. */
tsr_status tsri_model_tasks_list(const tsri_model_tasks *tasks, tsri_bytes *out);

#endif

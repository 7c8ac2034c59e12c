/* model/weights/tasks.c - finds the adapters by task in a model's files, and chooses one. */
#include "model/weights/tasks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 256, MOST_TASKS = 1024, MOST_RANK = 1 << 16 };

static const char of_matrix[] = ".parametrizations.weight.original",
                  of_a[] = ".parametrizations.weight.0.lora_A",
                  of_b[] = ".parametrizations.weight.0.lora_B";

/* ---- config.json ---- */

static tsr_status add_task(tsri_model_tasks *tasks, const char *what, const json_t *name,
                           const json_t *instructions) {
    tsri_model_task *task = &tasks->items[tasks->n];
    const char *text = json_string_value(name);
    const json_t *instruction = text ? json_object_get(instructions, text) : NULL;
    const char *before = json_is_string(instruction) ? json_string_value(instruction) : "";
    if (!text || !*text)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"lora_adaptations\": number %zu is not a task's name", what,
                              tasks->n + 1);
    for (size_t i = 0; i < tasks->n; i++)
        if (!strcmp(tasks->items[i].name, text))
            return tsri_base_fail(TSR_E_FORMAT, "%s: \"lora_adaptations\" names %s twice", what,
                                  text);
    tasks->n++;
    task->name = tsri_base_copy_text(text, strlen(text));
    task->instruction = tsri_base_copy_text(before, strlen(before));
    return task->name && task->instruction ? TSR_OK : TSR_E_HOST_MEMORY;
}

/* Every instruction is that of a task. */
static tsr_status check_instructions(const tsri_model_tasks *tasks, const char *what,
                                     const json_t *instructions) {
    const char *name;
    json_t *text;
    if (instructions && !json_is_null(instructions) && !json_is_object(instructions))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"task_instructions\" must be an object", what);
    json_object_foreach((json_t *)(uintptr_t)instructions, name, text) {
        bool known = false;
        for (size_t i = 0; i < tasks->n; i++)
            known = known || !strcmp(tasks->items[i].name, name);
        if (!known || !json_is_string(text))
            return tsri_base_fail(TSR_E_FORMAT, "%s: \"task_instructions\": \"%s\" %s", what, name,
                                  known ? "is not a text"
                                        : "is not one of the tasks in \"lora_adaptations\"");
    }
    return TSR_OK;
}

static tsr_status read_tasks(const json_t *config, const char *what, tsri_model_tasks *tasks) {
    const json_t *list = json_object_get(config, "lora_adaptations"),
                 *instructions = json_object_get(config, "task_instructions");
    const size_t n = json_array_size(list);
    double alpha = 1;
    tasks->rank = 4; /* the defaults of the published code */
    TRY(tsri_base_json_int(config, what, "lora_rank", 1, MOST_RANK, &tasks->rank));
    TRY(tsri_base_json_real(config, what, "lora_alpha", -1e9, 1e9, &alpha));
    tasks->scale = (float)(alpha / (double)tasks->rank);
    if (!n || n > MOST_TASKS)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: the weights have adapters by task, so \"lora_adaptations\" must "
                              "list 1 to %d tasks",
                              what, MOST_TASKS);
    TRY(tsri_base_new(n, sizeof *tasks->items, &tasks->items));
    for (size_t i = 0; i < n; i++)
        TRY(add_task(tasks, what, json_array_get(list, i), instructions));
    return check_instructions(tasks, what, instructions);
}

/* ---- arrays ---- */

/* Copies an array, with a name that stays when it is taken out of the archive. */
static tsr_status copy_array(const tsri_io_array *array, tsri_io_array *out) {
    *out = *array;
    out->name = tsri_base_copy_text(array->name, strlen(array->name));
    return out->name ? TSR_OK : TSR_E_HOST_MEMORY;
}

static bool has_shape(const tsri_io_array *array, size_t n, int64_t rows, int64_t columns) {
    return array->rank == 3 && array->dims[0] == (int64_t)n && array->dims[1] == rows &&
           array->dims[2] == columns;
}

/* Tells by their shapes whether A and B are those of a linear layer or of an embedding. */
static tsr_status check_pair(const tsri_model_tasks *tasks, const tsri_io_archive *archive,
                             const tsri_io_array *matrix, tsri_model_task_pair *pair) {
    const int64_t r = tasks->rank, rows = matrix->dims[0], columns = matrix->dims[1];
    const size_t n = tasks->n;
    const bool linear =
        matrix->rank == 2 && has_shape(&pair->a, n, r, columns) && has_shape(&pair->b, n, rows, r);
    pair->embedding = matrix->rank == 2 && !linear && has_shape(&pair->a, n, rows, r) &&
                      has_shape(&pair->b, n, r, columns);
    if (linear || pair->embedding)
        return TSR_OK;
    return tsri_base_fail(
        TSR_E_FORMAT,
        "%s: the adapters of tensor \"%s\" don't fit it: for %zu tasks "
        "(lora_adaptations) of rank %" PRId64
        " (lora_rank) lora_A and lora_B are [tasks, rank, inputs] and [tasks, "
        "outputs, rank], or of an embedding [tasks, rows, rank] and [tasks, rank, "
        "columns]",
        archive->files[matrix->file]->path, matrix->name, n, r);
}

/* Takes the matrix at `index`, whose name has `n` characters before what follows them, and its adapters. */
static tsr_status take(tsri_io_archive *archive, size_t index, size_t n, bool *gone,
                       tsri_model_tasks *tasks) {
    tsri_io_array *matrix = &archive->arrays[index];
    tsri_model_task_pair *pair;
    char a_name[NAME], b_name[NAME];
    snprintf(a_name, sizeof a_name, "%.*s%s", (int)n, matrix->name, of_a);
    snprintf(b_name, sizeof b_name, "%.*s%s", (int)n, matrix->name, of_b);
    const tsri_io_array *a = tsri_io_find(archive, a_name), *b = tsri_io_find(archive, b_name);
    if (!a || !b)
        return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" is there without \"%s\"",
                              archive->files[matrix->file]->path, matrix->name,
                              a ? b_name : a_name);
    TRY(tsri_base_grow(&tasks->pairs, &tasks->room, tasks->n_pairs + 1, sizeof *tasks->pairs));
    pair = &tasks->pairs[tasks->n_pairs++];
    *pair = (tsri_model_task_pair){0};
    TRY(copy_array(a, &pair->a));
    TRY(copy_array(b, &pair->b));
    gone[a - archive->arrays] = gone[b - archive->arrays] = true;
    TRY(check_pair(tasks, archive, matrix, pair));
    snprintf(a_name, sizeof a_name, "%.*s.weight", (int)n, matrix->name);
    pair->matrix = tsri_base_copy_text(a_name, strlen(a_name));
    return pair->matrix ? TSR_OK : TSR_E_HOST_MEMORY;
}

/* The length of the name before what says that the array is a matrix with adapters; 0: it isn't. */
static size_t stem_of(const char *name) {
    const size_t n = strlen(name), end = sizeof of_matrix - 1;
    return n > end && n < NAME - sizeof of_a && tsri_base_ends_with(name, of_matrix) ? n - end : 0;
}

static tsr_status take_all(tsri_io_archive *archive, bool *gone, tsri_model_tasks *tasks) {
    for (size_t i = 0; i < archive->n_arrays; i++) {
        const size_t n = stem_of(archive->arrays[i].name);
        if (n)
            TRY(take(archive, i, n, gone, tasks));
    }
    /* Names are changed when none is looked for any more: the archive finds them by their order. */
    for (size_t i = 0, k = 0; i < archive->n_arrays; i++)
        if (stem_of(archive->arrays[i].name)) {
            const char *name = tasks->pairs[k++].matrix;
            TRY(tsri_io_rename(archive, i, name, strlen(name)));
        }
    return tsri_io_remove(archive, gone);
}

tsr_status tsri_model_tasks_adopt(const json_t *config, const char *what, tsri_io_archive *archive,
                                  tsri_model_tasks *out) {
    bool *gone = NULL, any = false;
    *out = (tsri_model_tasks){.chosen = -1};
    for (size_t i = 0; i < archive->n_arrays && !any; i++)
        any = stem_of(archive->arrays[i].name) != 0;
    if (!any)
        return TSR_OK;
    TRY(read_tasks(config, what, out));
    TRY(tsri_base_new(archive->n_arrays, sizeof *gone, &gone));
    const tsr_status status = take_all(archive, gone, out);
    free(gone);
    return status;
}

void tsri_model_tasks_clear(tsri_model_tasks *tasks) {
    for (size_t i = 0; i < tasks->n; i++) {
        free(tasks->items[i].name);
        free(tasks->items[i].instruction);
    }
    for (size_t i = 0; i < tasks->n_pairs; i++) {
        free(tasks->pairs[i].matrix);
        free((char *)(uintptr_t)tasks->pairs[i].a.name);
        free((char *)(uintptr_t)tasks->pairs[i].b.name);
    }
    free(tasks->items);
    free(tasks->pairs);
    *tasks = (tsri_model_tasks){.chosen = -1};
}

/* ---- choosing ---- */

tsr_status tsri_model_tasks_list(const tsri_model_tasks *tasks, tsri_bytes *out) {
    for (size_t i = 0; i < tasks->n; i++)
        TRY(tsri_base_bytes_printf(out, i ? ", %s" : "%s", tasks->items[i].name));
    return tsri_base_bytes_append(out, "", 0);
}

tsr_status tsri_model_tasks_choose(tsri_model_tasks *tasks, const char *path, const char *name,
                                   tsr_status otherwise) {
    tsri_bytes list = {0};
    for (size_t i = 0; i < tasks->n; i++)
        if (!strcmp(tasks->items[i].name, name)) {
            tasks->chosen = (int32_t)i;
            return TSR_OK;
        }
    TRY(tsri_model_tasks_list(tasks, &list));
    const tsr_status status = tsri_base_fail(
        otherwise, "%s has no adapter for the task \"%s\"; %s%s", path, name,
        tasks->n ? "it has those for " : "its files hold no adapters by task", list.data);
    tsri_base_bytes_clear(&list);
    return status;
}

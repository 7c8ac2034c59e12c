/* train/step/save.c - writes the arrays of the model's files, with the learned values in their
 * places. */
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/system/paths.h"
#include "base/system/system.h"
#include "tensor/convert.h"
#include "train/step/ranks.h"
#include "train/step/slices.h"
#include "transport/ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One array of the file that is written. */
typedef struct item {
    char name[256];
    const tsri_io_array *array; /* NULL: it is an adapter's */
    int64_t dims[2];
    /* for an adapter: the parameter, and which of its arrays */
    size_t parameter;
    int64_t first_row, rows;
    uint32_t weight;
    bool is_B;
} item;

typedef struct saving {
    tsri_training *training;
    tsri_training_part part; /* values or gradients */
    item *items;
    size_t n, room;
} saving;

/* Copies the rows of a part, each of `columns`, into the array's values. */
static void place_rows(const tsri_model_part *part, int64_t columns, const float *from, float add,
                       float *array) {
    for (int64_t i = 0; i < part->rows; i++) {
        const int64_t row = part->first + i / part->group * part->stride + i % part->group;
        for (int64_t k = 0; k < columns; k++)
            array[tsri_model_part_element(part, columns, row, k)] = from[i * columns + k] - add;
    }
}

/* The weight that learns and is made from this array, and its parameter; NULL: there is none. */
static const tsri_model_weight *learned_from(const tsri_training *t, const tsri_io_array *array,
                                             size_t *from, const tsri_training_parameter **out) {
    for (; *from < t->n_parameters; ++*from) {
        const tsri_training_parameter *p = &t->parameters[*from];
        const tsri_model_weight *w = tsri_model_weight_at(t->model->weights, p->number);
        if (p->number >= t->model->weights->count || !tsri_model_weight_part(w, array))
            continue;
        *out = p;
        ++*from;
        return w;
    }
    return NULL;
}

static bool is_learned(const tsri_training *t, const tsri_io_array *array) {
    const tsri_training_parameter *p;
    size_t from = 0;
    return learned_from(t, array, &from, &p) != NULL;
}

/* Replaces the file's values of the array by those that were learned. */
static tsr_status overlay(const saving *s, const tsri_io_array *array, float *values) {
    const tsri_training_parameter *p;
    const tsri_model_weight *w;
    size_t from = 0;
    while ((w = learned_from(s->training, array, &from, &p))) {
        const int64_t columns = w->rank == 2 ? w->dims[1] : 1;
        float *state = NULL;
        TRY(tsri_base_new((size_t)p->elements, sizeof *state, &state));
        const tsr_status status = tsri_training_state_read(s->training, p, s->part, state);
        int64_t row = 0;
        for (int i = 0; i < w->n_parts && status == TSR_OK; row += w->parts[i++].rows)
            if (w->parts[i].array == array)
                place_rows(&w->parts[i], columns, state + row * columns,
                           s->part == TSRI_PART_VALUE ? w->add : 0.0f, values);
        free(state);
        TRY(status);
    }
    return TSR_OK;
}

/* What the file has of an array, in new memory that tsri_system_free_aligned frees. */
static tsr_status make_array(const saving *s, const tsri_io_array *array, void **values) {
    const bool learned = is_learned(s->training, array);
    const tsr_dtype dtype = learned ? TSR_F32 : array->dtype;
    uint64_t bytes = 0;
    tsri_tensor_bytes(dtype, array->elements, &bytes);
    TRY(tsri_base_new_aligned((size_t)bytes, values));
    if (learned && s->part == TSRI_PART_GRADIENT)
        memset(*values, 0, (size_t)bytes);
    else
        TRY(tsri_io_read_as(s->training->model->archive, array, dtype, 0, array->elements,
                            *values));
    return learned ? overlay(s, array, *values) : TSR_OK;
}

/* An array's A: its rows of the stacked matrix. Its B: its rows, in the array's order. */
static tsr_status make_adapter(const saving *s, const item *it, void **values) {
    const tsri_training *t = s->training;
    const tsri_training_parameter *p = &t->parameters[it->parameter];
    const tsri_model_weight *w = tsri_model_weight_at(t->model->weights, it->weight);
    float *state = NULL;
    const size_t bytes = (size_t)(it->dims[0] * it->dims[1]) * sizeof *state;
    TRY(tsri_base_new_aligned(bytes, values));
    memset(*values, 0, bytes);
    TRY(tsri_base_new((size_t)p->elements, sizeof *state, &state));
    const tsr_status status = tsri_training_state_read(t, p, s->part, state);
    if (status == TSR_OK && !it->is_B)
        memcpy(*values, state + it->first_row * it->dims[1], bytes);
    int64_t row = 0;
    for (int i = 0; i < w->n_parts && status == TSR_OK && it->is_B; i++) {
        tsri_model_part part = w->parts[i];
        if (part.array != it->array)
            continue;
        part.across = 0;
        place_rows(&part, it->dims[1], state + row * it->dims[1], 0, *values);
        row += part.rows;
    }
    free(state);
    return status;
}

/* ---- what the file has ---- */

static tsr_status add_item(saving *s, const item *it) {
    TRY(tsri_base_grow(&s->items, &s->room, s->n + 1, sizeof *s->items));
    s->items[s->n++] = *it;
    return TSR_OK;
}

/* Whether it is a second copy of a tied matrix, which would no longer be equal. */
static bool is_stale_copy(const tsri_training *t, const tsri_io_array *array) {
    static const char *const ends[] = {"lm_head.weight", "embed_out.weight", "decoder.weight",
                                       "decoder.bias", "embed_tokens.weight"};
    bool read = false;
    for (uint32_t id = 0; id < t->model->weights->count && !read; id++) {
        const tsri_model_weight *w = tsri_model_weight_at(t->model->weights, id);
        read = w && tsri_model_weight_part(w, array);
    }
    const size_t n = strlen(array->name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !read && t->model->spec.tied; i++)
        if (n >= strlen(ends[i]) && !strcmp(array->name + n - strlen(ends[i]), ends[i]))
            return true;
    return false;
}

/* Weights that don't learn are copied from the model's files, which must not have changed since. */
static tsr_status check_unchanged(const saving *s) {
    const tsri_io_archive *archive = s->training->model->archive;
    bool copies = false;
    for (size_t i = 0; i < s->n; i++)
        copies |= !is_learned(s->training, s->items[i].array);
    for (size_t i = 0; i < archive->n_files && copies; i++)
        if (tsri_base_file_changed(archive->files[i]))
            return tsri_base_fail(TSR_E_IO,
                                  "%s was changed since the training began, so the weights that "
                                  "don't learn can't be copied from it; begin again from a copy "
                                  "that nobody changes",
                                  archive->files[i]->path);
    return TSR_OK;
}

static tsr_status list_arrays(saving *s) {
    const tsri_io_archive *archive = s->training->model->archive;
    for (size_t i = 0; i < archive->n_arrays; i++) {
        const tsri_io_array *array = &archive->arrays[i];
        item it = {.array = array};
        if (is_stale_copy(s->training, array) ||
            (s->part == TSRI_PART_GRADIENT && !is_learned(s->training, array)))
            continue;
        snprintf(it.name, sizeof it.name, "%s", array->name);
        TRY(add_item(s, &it));
    }
    return check_unchanged(s);
}

static const char base_model[] = "base_model.model.";

/* "base_model.model.<module>.lora_A.weight" of the array "<module>.weight"; where the family's modules have another
 * prefix than its arrays, they are named by that. */
static void name_adapter(const tsri_training *t, const tsri_io_array *array, bool is_B, char *out,
                         size_t room) {
    const tsri_model_names *names = t->model->arch->names;
    const bool other = names && names->other_in_adapters &&
                       !strncmp(array->name, names->prefix, strlen(names->prefix));
    const char *module = array->name + (other ? strlen(names->prefix) : 0),
               *end = strstr(module, ".weight");
    const int n = end ? (int)(end - module) : (int)strlen(module);
    snprintf(out, room, "%s%s%.*s.lora_%c.weight", base_model, other ? names->other_prefix : "", n,
             module, is_B ? 'B' : 'A');
}

static tsr_status list_adapters(saving *s) {
    const tsri_training *t = s->training;
    const tsri_model_weights *weights = t->model->weights;
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        const uint32_t behind = p->number - weights->count, id = behind / TSRI_ADAPTER_PARTS,
                       part = behind % TSRI_ADAPTER_PARTS;
        tsri_training_adapted runs[TSRI_TRAINING_RUNS] = {{0}};
        const int n = tsri_training_adapted_runs(weights, id, runs);
        const int64_t rank = t->options.lora_rank;
        for (int r = 0; r < n; r++) {
            item it = {.array = runs[r].array, .parameter = i, .weight = id, .is_B = part > 0};
            if (it.is_B && r != (int)part - 1)
                continue;
            it.first_row = it.is_B ? 0 : r * rank;
            it.dims[0] = it.is_B ? runs[r].rows : rank;
            it.dims[1] = it.is_B ? rank : p->dims[1];
            name_adapter(t, it.array, it.is_B, it.name, sizeof it.name);
            TRY(add_item(s, &it));
        }
    }
    return TSR_OK;
}

/* PEFT's word for what a model does, or null: it has none for filling masks, and takes any model then. */
static json_t *task_type(tsri_training_objective objective) {
    static const char *const names[] = {[TSRI_OBJECTIVE_NEXT] = "CAUSAL_LM",
                                        [TSRI_OBJECTIVE_TRANSLATE] = "SEQ_2_SEQ_LM",
                                        [TSRI_OBJECTIVE_CLASSIFY] = "SEQ_CLS",
                                        [TSRI_OBJECTIVE_TOKENS] = "TOKEN_CLS"};
    return names[objective] ? json_string(names[objective]) : json_null();
}

static tsr_status write_config(const saving *s, const char *path) {
    const tsri_training *t = s->training;
    char *folder = tsri_base_parent(path),
         *file = folder ? tsri_base_join(folder, "adapter_config.json") : NULL;
    json_t *targets = json_array();
    for (size_t i = 0; i < s->n; i++) {
        const char *module = s->items[i].name + strlen(base_model);
        if (!s->items[i].is_B)
            tsri_base_json_append(
                targets, json_stringn(module, (size_t)(strstr(module, ".lora_") - module)));
    }
    json_t *config =
        json_pack("{s:s,s:o,s:i,s:f,s:f,s:s,s:b,s:o}", "peft_type", "LORA", "task_type",
                  task_type(t->options.objective), "r", (int)t->options.lora_rank, "lora_alpha",
                  (double)t->options.lora_alpha, "lora_dropout", 0.0, "bias", "none",
                  "fan_in_fan_out", 0, "target_modules", targets);
    const tsr_status status =
        file ? tsri_base_json_save(file, config, JSON_INDENT(2)) : TSR_E_HOST_MEMORY;
    json_decref(config);
    free(file);
    free(folder);
    return status;
}

/* Whether the file has the bytes of the model's file. */
static bool is_copied(const saving *s, const item *it) {
    return !it->dims[0] && !it->array->n_divisors && !is_learned(s->training, it->array);
}

/* Copies bytes of an array from the model's file, a piece at a time. */
static tsr_status copy_bytes(const saving *s, const item *it, size_t i, uint64_t first,
                             uint64_t bytes, tsri_io_slices *slices) {
    enum { PIECE = 4 << 20 };
    void *piece = NULL;
    TRY(tsri_base_new_aligned(bytes < PIECE ? (size_t)bytes : PIECE, &piece));
    tsr_status status = TSR_OK;
    for (uint64_t done = 0; done < bytes && status == TSR_OK; done += PIECE) {
        const uint64_t left = bytes - done, n = left < PIECE ? left : PIECE;
        status =
            tsri_io_read(s->training->model->archive, it->array, first + done, (size_t)n, piece);
        if (status == TSR_OK)
            status = tsri_io_slices_write(slices, i, first + done, piece, n);
    }
    tsri_system_free_aligned(piece);
    return status;
}

/* Ranks have equal shares of the file, whichever arrays these are of. A rank reads no more of an array that it
 * copies than it writes; what is learned it makes whole. */
static tsr_status write_item(void *data, const tsri_io_entry *entry, size_t i,
                             tsri_io_slices *slices) {
    const saving *s = data;
    const item *it = entry->data;
    const tsr_ranks *ranks = s->training->options.ranks;
    void *values = NULL;
    uint64_t first;
    const uint64_t bytes =
        tsri_io_slices_share(slices, i, tsri_ranks_rank(ranks), tsri_ranks_size(ranks), &first);
    if (!bytes)
        return TSR_OK;
    if (is_copied(s, it))
        return copy_bytes(s, it, i, first, bytes, slices);
    tsr_status status =
        it->dims[0] ? make_adapter(s, it, &values) : make_array(s, it->array, &values);
    if (status == TSR_OK)
        status = tsri_io_slices_write(slices, i, first, (char *)values + first, bytes);
    tsri_system_free_aligned(values);
    return status;
}

static tsr_status write_all(saving *s, const char *path) {
    static const char *const metadata[] = {"format", "pt"};
    tsri_io_entry *entries = NULL;
    TRY(tsri_base_new(s->n + 1, sizeof *entries, &entries));
    for (size_t i = 0; i < s->n; i++) {
        const item *it = &s->items[i];
        const bool whole = !it->dims[0];
        entries[i] = (tsri_io_entry){.name = it->name,
                                     .dtype = TSR_F32,
                                     .rank = 2,
                                     .dims = {it->dims[0], it->dims[1]},
                                     .data = it};
        if (whole) {
            entries[i].dtype = is_learned(s->training, it->array) ? TSR_F32 : it->array->dtype;
            entries[i].rank = it->array->rank;
            for (int d = 0; d < it->array->rank; d++)
                entries[i].dims[d] = it->array->dims[d];
        }
    }
    const tsr_status status = tsri_training_write_file(s->training->options.ranks, path, entries,
                                                       s->n, metadata, 1, write_item, s);
    free(entries);
    return status;
}

static tsr_status save(tsri_training *t, tsri_training_part part, const char *path) {
    saving s = {.training = t, .part = part};
    const bool lora = t->options.learns == TSRI_LEARNS_LORA;
    tsr_status status = lora ? list_adapters(&s) : list_arrays(&s);
    if (status == TSR_OK)
        status = write_all(&s, path);
    if (status == TSR_OK && lora && part == TSRI_PART_VALUE &&
        tsri_ranks_rank(t->options.ranks) == 0)
        status = write_config(&s, path);
    free(s.items);
    return status;
}

tsr_status tsri_training_save(tsri_training *t, const char *path) {
    return save(t, TSRI_PART_VALUE, path);
}

tsr_status tsri_training_save_gradients(tsri_training *t, const char *path) {
    return save(t, TSRI_PART_GRADIENT, path);
}

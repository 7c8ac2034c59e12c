/* model/weights/adapter.c - reads LoRA adapters, and adds them to rows. */
#include "model/weights/adapter.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/weights/adapter_config.h"
#include "model/weights/adapter_place.h"
#include "model/weights/weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 512 };

/* What the adapters change in one array of the model. */
typedef struct adapter {
    const tsri_io_array *array;
    int64_t outputs, inputs, rank;
    float scale;
    float *a, *b;                     /* [rank, inputs], [outputs, rank]; NULL: replaced */
    const tsri_io_array *replacement; /* the array that replaces it */
    const tsri_io_archive *archive;   /* the file of the replacement */
} adapter;

struct tsri_model_adapters {
    adapter *items;
    size_t n, room;
    tsri_io_archive **archives;
    size_t n_archives;
    const tsri_io_array *left_out; /* one for a part of the model that is not computed; or NULL */
};

/* "base_model.model.<module>.lora_A.weight" */
static const char prefix[] = "base_model.model.", of_A[] = ".lora_A.weight",
                  of_B[] = ".lora_B.weight";

typedef struct reading {
    tsri_model_adapters *all;
    tsri_model_adapter_search search;
    const tsri_io_archive *archive;
    tsri_model_adapter_config config;
} reading;

/* ---- one array of an adapter's file ---- */

static tsr_status add(tsri_model_adapters *all, const adapter *item) {
    TRY(tsri_base_grow(&all->items, &all->room, all->n + 1, sizeof *all->items));
    all->items[all->n++] = *item;
    return TSR_OK;
}

static tsr_status leave_out(const reading *r, const tsri_io_array *array) {
    r->all->left_out = array;
    return TSR_OK;
}

static tsr_status refuse_shape(const reading *r, const tsri_io_array *array, const char *wanted) {
    char has[96];
    size_t n = 0;
    has[0] = 0;
    for (int i = 0; i < array->rank && n < 70; i++)
        n += (size_t)snprintf(has + n, sizeof has - n, "%s%" PRId64, i ? ", " : "", array->dims[i]);
    return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" has shape [%s]; %s", r->archive->path,
                          array->name, has, wanted);
}

/* Reads n elements from element `first` on. */
static tsr_status read_matrix(const reading *r, const tsri_io_array *array, uint64_t first,
                              uint64_t n, float **out) {
    TRY(tsri_base_new((size_t)n + 1, sizeof **out, out));
    TRY(tsri_io_read_as(r->archive, array, TSR_F32, first, (size_t)n, *out));
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite((*out)[i]))
            return tsri_base_fail(
                TSR_E_FORMAT, "%s: tensor \"%s\" holds a NaN or an infinity at element %" PRIu64,
                r->archive->path, array->name, first + i);
    return TSR_OK;
}

/* Checks the shapes of A and of the B that belongs to it. */
static tsr_status check_pair(const reading *r, const tsri_io_array *a, const tsri_io_array *b,
                             const adapter *item) {
    char wanted[256];
    const bool fits_a = a->rank == 2 && a->dims[1] == item->inputs,
               fits_b = b->rank == 2 && b->dims[0] == item->outputs && a->rank == 2 &&
                        b->dims[1] == a->dims[0];
    snprintf(wanted, sizeof wanted,
             "\"%.80s\" of the model has %" PRId64 " outputs and %" PRId64
             " inputs, so A is [r, %" PRId64 "] and B [%" PRId64 ", r]",
             item->array->name, item->outputs, item->inputs, item->inputs, item->outputs);
    if (!fits_a || !fits_b)
        return refuse_shape(r, fits_a ? b : a, wanted);
    if (a->dims[0] == r->config.rank || r->config.ranks_vary)
        return TSR_OK;
    snprintf(wanted, sizeof wanted, "r is %" PRId64 " in adapter_config.json", r->config.rank);
    return refuse_shape(r, a, wanted);
}

/* Moves the rows of B, of `rank` numbers, to where the model's file has them. */
static tsr_status pair_rows(const tsri_model_adapter_place *at, const adapter *item) {
    const size_t bytes = (size_t)(item->outputs * item->rank) * sizeof(float);
    const int64_t D = at->paired, half = D / 2;
    float *old = NULL;
    if (!D)
        return TSR_OK;
    TRY(tsri_base_new((size_t)(item->outputs * item->rank) + 1, sizeof *old, &old));
    memcpy(old, item->b, bytes);
    for (int64_t n = 0; n < item->outputs; n++)
        memcpy(item->b + n * item->rank, old + (n / D * D + n % 2 * half + n % D / 2) * item->rank,
               (size_t)item->rank * sizeof(float));
    free(old);
    return TSR_OK;
}

static tsr_status read_pair(const reading *r, const tsri_io_array *a) {
    const size_t n = strlen(a->name) - strlen(of_A) - strlen(prefix);
    const char *module = a->name + strlen(prefix);
    tsri_model_adapter_place at;
    char name[NAME], other[NAME];
    snprintf(name, sizeof name, "%.*s.weight", (int)n, module);
    snprintf(other, sizeof other, "%s%.*s%s", prefix, (int)n, module, of_B);
    const tsri_io_array *b = tsri_io_find(r->archive, other);
    if (!b)
        return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" is there without \"%s\"",
                              r->archive->path, a->name, other);
    TRY(tsri_model_adapter_find(&r->search, a->name, name, &at));
    if (!at.part)
        return leave_out(r, a);
    const tsri_io_array *array = at.part->array;
    if (array->rank != 2 || at.weight->rank != 2)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" belongs to \"%s\", which is not a matrix",
                              r->archive->path, a->name, array->name);
    adapter item = {.array = array,
                    .outputs = array->dims[at.part->across ? 1 : 0],
                    .inputs = array->dims[at.part->across ? 0 : 1]};
    TRY(check_pair(r, a, b, &item));
    item.rank = a->dims[0];
    const double root = r->config.by_root ? sqrt((double)item.rank) : (double)item.rank;
    item.scale = (float)(r->config.alpha / root);
    tsr_status status = read_matrix(r, a, 0, a->elements, &item.a);
    if (status == TSR_OK)
        status = read_matrix(r, b, 0, b->elements, &item.b);
    if (status == TSR_OK)
        status = pair_rows(&at, &item);
    if (status == TSR_OK)
        status = add(r->all, &item);
    if (status != TSR_OK)
        free(item.a), free(item.b);
    return status;
}

static tsr_status check_whole(const reading *r, const tsri_io_array *array,
                              const tsri_io_array *old) {
    bool same = array->rank == old->rank;
    for (int i = 0; i < array->rank && same; i++)
        same = array->dims[i] == old->dims[i];
    if (!same)
        return refuse_shape(r, array, "the model's tensor has another shape");
    return array->dtype == TSR_F32 || array->dtype == TSR_F16 || array->dtype == TSR_BF16
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s: tensor \"%s\" is stored as %s; f32, f16 or bf16 is needed",
                                r->archive->path, array->name, array->type_name);
}

/* The model's name of an array that is not LoRA's. PEFT puts a module that it adapts into another one, as base_layer;
 * under this name it saves trained biases, and the output matrix where target_modules names it. */
static void name_of_whole(const tsri_io_array *array, char out[NAME]) {
    static const char base[] = ".base_layer.";
    const char *name = array->name + strlen(prefix), *at = strstr(name, base);
    if (at)
        snprintf(out, NAME, "%.*s.%s", (int)(at - name), name, at + strlen(base));
    else
        snprintf(out, NAME, "%s", name);
}

/* Reads an array that is not LoRA's: it replaces the model's array of that name. */
static tsr_status read_whole(const reading *r, const tsri_io_array *array) {
    char name[NAME];
    tsri_model_adapter_place at;
    name_of_whole(array, name);
    if (strstr(name, ".lora_"))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: tensor \"%s\" is of a kind that is not served; LoRA adapters "
                              "have lora_A.weight and lora_B.weight",
                              r->archive->path, array->name);
    TRY(tsri_model_adapter_find(&r->search, array->name, name, &at));
    if (!at.part)
        return leave_out(r, array);
    if (r->search.names->count &&
        (at.paired || (r->search.arch->gguf_norm_added && array->rank == 1)))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: tensor \"%s\" replaces one that %s holds in another form; use "
                              "the adapter with the model's safetensors",
                              r->archive->path, array->name, r->search.weights->archive->path);
    TRY(check_whole(r, array, at.part->array));
    adapter item = {.array = at.part->array, .replacement = array, .archive = r->archive};
    TRY(add(r->all, &item));
    if (at.weight != tsri_model_weight_at(r->search.weights, TSRI_WEIGHT_EMBED))
        return TSR_OK;
    if (!r->config.tying)
        return tsri_model_adapter_untie(&r->search);
    item.array = tsri_model_adapter_copy(&r->search);
    return item.array ? add(r->all, &item) : TSR_OK;
}

static tsr_status read_array(const reading *r, const tsri_io_array *array) {
    if (strncmp(array->name, prefix, strlen(prefix)) != 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\": names in PEFT's adapters begin with \"%s\"",
                              r->archive->path, array->name, prefix);
    if (tsri_base_ends_with(array->name, of_A))
        return read_pair(r, array);
    if (!tsri_base_ends_with(array->name, of_B))
        return read_whole(r, array);
    char other[NAME];
    const size_t n = strlen(array->name) - strlen(of_B);
    snprintf(other, sizeof other, "%.*s%s", (int)n, array->name, of_A);
    if (!tsri_io_find(r->archive, other))
        return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" is there without \"%s\"",
                              r->archive->path, array->name, other);
    return TSR_OK;
}

static tsr_status read_folder(reading *r, const char *folder) {
    char *path = tsri_base_join(folder, "adapter_model.safetensors");
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_model_adapter_config_read(folder, &r->config);
    if (status == TSR_OK && !tsri_base_is_file(path))
        status = tsri_base_fail(TSR_E_IO, "%s: no such file; a LoRA adapter has its matrices there",
                                path);
    if (status == TSR_OK)
        status = tsri_io_open(path, &r->all->archives[r->all->n_archives]);
    free(path);
    TRY(status);
    r->archive = r->all->archives[r->all->n_archives++];
    r->search.path = r->archive->path;
    if (!r->archive->n_arrays)
        return tsri_base_fail(TSR_E_FORMAT, "%s: the file holds no tensor", r->archive->path);
    const size_t before = r->all->n;
    for (size_t i = 0; i < r->archive->n_arrays; i++)
        TRY(read_array(r, &r->archive->arrays[i]));
    return r->all->n > before
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s: all its tensors, such as \"%s\", belong to parts of the model "
                                "that are not served",
                                r->archive->path, r->archive->arrays[0].name);
}

/* ---- the adapter of a task ---- */

/* What the chosen task's adapter adds to one matrix. Of an embedding it is A B, so these change places. */
static tsr_status read_task_pair(reading *r, const tsri_model_tasks *tasks,
                                 const tsri_model_task_pair *pair) {
    const tsri_io_array *matrix = tsri_io_find(r->archive, pair->matrix);
    const tsri_io_array *stored[] = {&pair->a, &pair->b};
    if (!matrix)
        return tsri_base_fail(TSR_E_INTERNAL, "tensor \"%s\" is gone", pair->matrix);
    float *read[2] = {0};
    tsr_status status = TSR_OK;
    for (int i = 0; i < 2 && status == TSR_OK; i++) {
        const uint64_t n = stored[i]->elements / tasks->n;
        status = read_matrix(r, stored[i], n * (uint64_t)tasks->chosen, n, &read[i]);
    }
    const adapter item = {.array = matrix,
                          .outputs = matrix->dims[0],
                          .inputs = matrix->dims[1],
                          .rank = tasks->rank,
                          .scale = tasks->scale,
                          .a = read[pair->embedding],
                          .b = read[!pair->embedding]};
    if (status == TSR_OK)
        status = add(r->all, &item);
    if (status != TSR_OK)
        free(read[0]), free(read[1]);
    return status;
}

static tsr_status read_task(reading *r, const tsri_model_tasks *tasks) {
    r->archive = r->search.weights->archive;
    for (size_t i = 0; i < tasks->n_pairs && tasks->chosen >= 0; i++)
        TRY(read_task_pair(r, tasks, &tasks->pairs[i]));
    return TSR_OK;
}

tsr_status tsri_model_adapters_open(const char *const *folders, size_t n,
                                    const tsri_model_arch *arch, tsri_model_weights *weights,
                                    const tsri_model_wanted *names, const tsri_model_tasks *tasks,
                                    tsri_model_adapters **out) {
    tsri_model_adapters *all = NULL;
    reading r = {.search = {.arch = arch, .weights = weights, .names = names}};
    *out = NULL;
    if (!n && tasks->chosen < 0)
        return TSR_OK;
    TRY(tsri_base_new(1, sizeof *all, &all));
    r.all = all;
    tsr_status status = tsri_base_new(n, sizeof(tsri_io_archive *), &all->archives);
    if (status == TSR_OK)
        status = read_task(&r, tasks);
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = read_folder(&r, folders[i]);
    if (status != TSR_OK)
        tsri_model_adapters_destroy(&all);
    *out = all;
    return status;
}

void tsri_model_adapters_destroy(tsri_model_adapters **adapters) {
    tsri_model_adapters *all = *adapters;
    if (!all)
        return;
    for (size_t i = 0; i < all->n; i++)
        free(all->items[i].a), free(all->items[i].b);
    for (size_t i = 0; i < all->n_archives; i++)
        tsri_io_close(&all->archives[i]);
    free(all->items);
    free(all->archives);
    free(all);
    *adapters = NULL;
}

/* ---- rows ---- */

bool tsri_model_adapters_replace(const tsri_model_adapters *adapters, const tsri_io_array *array) {
    for (size_t i = 0; adapters && i < adapters->n; i++)
        if (adapters->items[i].array == array && adapters->items[i].replacement)
            return true;
    return false;
}

bool tsri_model_adapters_add_to(const tsri_model_adapters *adapters, const tsri_io_array *array) {
    tsri_model_low_rank first;
    return tsri_model_adapters_low_rank(adapters, array, 0, &first);
}

bool tsri_model_adapters_change(const tsri_model_adapters *adapters, const tsri_io_array *array) {
    return tsri_model_adapters_replace(adapters, array) ||
           tsri_model_adapters_add_to(adapters, array);
}

bool tsri_model_adapters_low_rank(const tsri_model_adapters *adapters, const tsri_io_array *array,
                                  size_t number, tsri_model_low_rank *out) {
    for (size_t i = 0; adapters && i < adapters->n; i++) {
        const adapter *item = &adapters->items[i];
        if (item->array != array || !item->a || number--)
            continue;
        *out = (tsri_model_low_rank){item->rank, item->scale, item->a, item->b};
        return true;
    }
    return false;
}

void tsri_model_adapters_forget(tsri_model_adapters *adapters, const tsri_io_array *array) {
    for (size_t i = 0; adapters && i < adapters->n; i++) {
        adapter *item = &adapters->items[i];
        if (item->array != array)
            continue;
        free(item->a), free(item->b);
        item->a = item->b = NULL;
    }
}

/* Adds row `output` of scale * B A to `row`. */
static void add_output(const adapter *item, int64_t output, float *row) {
    enum { RUN = 512 };
    for (int64_t first = 0; first < item->inputs; first += RUN) {
        const int64_t n = item->inputs - first < RUN ? item->inputs - first : RUN;
        float sums[RUN] = {0};
        for (int64_t j = 0; j < item->rank; j++)
            for (int64_t k = 0; k < n; k++)
                sums[k] += item->b[output * item->rank + j] * item->a[j * item->inputs + first + k];
        for (int64_t k = 0; k < n; k++)
            row[first + k] += item->scale * sums[k];
    }
}

/* Adds column `input` of scale * B A, with the same sums. */
static void add_input(const adapter *item, int64_t input, float *row) {
    for (int64_t n = 0; n < item->outputs; n++) {
        float sum = 0;
        for (int64_t j = 0; j < item->rank; j++)
            sum += item->b[n * item->rank + j] * item->a[j * item->inputs + input];
        row[n] += item->scale * sum;
    }
}

void tsri_model_adapters_add(const tsri_model_adapters *adapters, const tsri_io_array *array,
                             bool inputs_first, int64_t first, int64_t n, float *rows) {
    for (size_t i = 0; adapters && i < adapters->n; i++) {
        const adapter *item = &adapters->items[i];
        if (item->array != array || !item->a)
            continue;
        for (int64_t r = 0; r < n; r++)
            if (inputs_first)
                add_input(item, first + r, rows + r * item->outputs);
            else
                add_output(item, first + r, rows + r * item->inputs);
    }
}

const tsri_io_array *tsri_model_adapters_instead(const tsri_model_adapters *adapters,
                                                 const tsri_io_array *array,
                                                 const tsri_io_archive **archive) {
    const tsri_io_array *found = array;
    for (size_t i = 0; adapters && i < adapters->n; i++)
        if (adapters->items[i].array == array && adapters->items[i].replacement) {
            found = adapters->items[i].replacement; /* the last folder's counts */
            *archive = adapters->items[i].archive;
        }
    return found;
}

/* ---- what tells models apart ---- */

const tsri_io_array *tsri_model_adapters_left_out(const tsri_model_adapters *adapters) {
    return adapters ? adapters->left_out : NULL;
}

const tsri_io_archive *tsri_model_adapters_file(const tsri_model_adapters *adapters, size_t i) {
    return adapters && i < adapters->n_archives ? adapters->archives[i] : NULL;
}

void tsri_model_adapters_hash(const tsri_model_adapters *adapters, tsri_hash *hash) {
    for (size_t i = 0; adapters && i < adapters->n; i++) {
        tsri_base_hash_text(hash, adapters->items[i].array->name);
        tsri_base_hash_add(hash, &adapters->items[i].scale, sizeof adapters->items[i].scale);
    }
}

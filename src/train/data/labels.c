/* train/data/labels.c - collects the labels in files of data, with or without a model. */
#include "base/error.h"
#include "base/memory.h"
#include "train/data/data_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* By binary search: while labels are added, the set is kept in the order of their bytes. */
static size_t place_of(const tsri_train_label_set *set, const char *label, size_t n, bool *found) {
    size_t low = 0, high = set->n;
    *found = false;
    while (low < high && !*found) {
        const size_t middle = (low + high) / 2;
        const int order = strncmp(set->items[middle], label, n);
        const int sign = order ? order : set->items[middle][n] != 0;
        *found = sign == 0;
        if (sign < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

tsr_status tsri_train_label_set_add(tsri_train_label_set *set, const char *label, size_t n) {
    bool found;
    const size_t at = place_of(set, label, n, &found);
    if (found)
        return TSR_OK;
    TRY(tsri_base_grow(&set->items, &set->room, set->n + 1, sizeof *set->items));
    char *copy = tsri_base_copy_text(label, n);
    if (!copy)
        return TSR_E_HOST_MEMORY;
    memmove(set->items + at + 1, set->items + at, (set->n - at) * sizeof *set->items);
    set->items[at] = copy;
    set->n++;
    return TSR_OK;
}

static bool is_whole_number(const char *text, long long *value) {
    char *end, back[32];
    *value = strtoll(text, &end, 10);
    snprintf(back, sizeof back, "%lld", *value);
    return !strcmp(back, text);
}

static int by_number(const void *a, const void *b) {
    const long long x = strtoll(*(char *const *)a, NULL, 10),
                    y = strtoll(*(char *const *)b, NULL, 10);
    return x < y ? -1 : x > y;
}

void tsri_train_label_set_sort(tsri_train_label_set *set) {
    long long value;
    for (size_t i = 0; i < set->n; i++)
        if (!is_whole_number(set->items[i], &value))
            return;
    if (set->n)
        qsort(set->items, set->n, sizeof *set->items, by_number);
}

void tsri_train_labels_free(char ***labels, size_t n) {
    for (size_t i = 0; *labels && i < n; i++)
        free((*labels)[i]);
    free(*labels);
    *labels = NULL;
}

/* ---- of files, without a model ---- */

static tsr_status scan(const char *path, const tsri_train_data_options *o,
                       tsri_train_label_set *set) {
    tsri_train_records *records = NULL;
    tsri_train_record record;
    TRY(tsri_train_records_open(path, o, tsri_train_wants_of(o), &records));
    tsr_status status;
    do {
        status = tsri_train_records_next(records, &record);
        if (status != TSR_OK || !record.text.data)
            break;
        const tsri_train_span *labels = record.n_words ? record.labels : &record.second;
        for (size_t i = 0; i < (record.n_words ? record.n_words : 1) && status == TSR_OK; i++)
            status = labels[i].n
                         ? tsri_train_label_set_add(set, labels[i].data, labels[i].n)
                         : tsri_base_fail(TSR_E_FORMAT, "%s: line %" PRIu64 ": the label is empty",
                                          path, record.line);
    } while (status == TSR_OK);
    tsri_train_records_close(&records);
    return status;
}

tsr_status tsri_train_labels_scan(const tsri_train_data_options *o, char ***labels, size_t *n) {
    tsri_train_label_set set = {0};
    tsr_status status = TSR_OK;
    *labels = NULL;
    *n = 0;
    for (size_t i = 0; i < o->n_paths && status == TSR_OK; i++)
        status = scan(o->paths[i], o, &set);
    for (size_t i = 0; i < o->n_validation_paths && status == TSR_OK; i++)
        status = scan(o->validation_paths[i], o, &set);
    if (status == TSR_OK && !set.n)
        status = tsri_base_fail(TSR_E_FORMAT, "%s holds no labels",
                                o->n_paths ? o->paths[0] : "no file");
    if (status != TSR_OK) {
        tsri_train_labels_free(&set.items, set.n);
        return status;
    }
    tsri_train_label_set_sort(&set);
    *labels = set.items;
    *n = set.n;
    return TSR_OK;
}

/* ---- of token files ---- */

/* Whether config.json has default names: then a label of the data may be the class's number. */
static bool unnamed(const tsri_model_spec *spec) {
    for (int32_t i = 0; i < spec->labels; i++)
        if (strncmp(spec->label_of[i], "LABEL_", 6))
            return false;
    return true;
}

static int32_t number_of(const tsri_model_spec *spec, const char *label) {
    long long number;
    return spec->labels && unnamed(spec) && is_whole_number(label, &number) && number >= 0 &&
                   number < spec->labels
               ? (int32_t)number
               : -1;
}

int32_t tsri_train_label_number(const tsri_model_spec *spec, const char *label, size_t n) {
    char digits[24];
    for (int32_t i = 0; i < spec->labels; i++)
        if (strlen(spec->label_of[i]) == n && !memcmp(spec->label_of[i], label, n))
            return i;
    snprintf(digits, sizeof digits, "%.*s", n < sizeof digits ? (int)n : 0, label);
    return number_of(spec, digits);
}

static int32_t target_of(const tsri_model_spec *spec, const tsri_train_label_set *set,
                         const char *label) {
    for (size_t i = 0; i < set->n; i++)
        if (!strcmp(set->items[i], label))
            return (int32_t)i;
    return number_of(spec, label);
}

static tsr_status outside(const tsri_model *model, const tsri_train_token_file *file, size_t i) {
    const tsri_model_spec *spec = &model->spec;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: line %" PRIu64 ": the label \"%.60s\" is not one of the model's %d "
                          "(\"%.60s\", \"%.60s\"%s)",
                          file->path, file->label_lines[i], file->labels[i], (int)spec->labels,
                          spec->label_of[0], spec->label_of[spec->labels - 1],
                          spec->labels > 2 ? ", ..." : "");
}

static tsr_status map_file(const tsri_model *model, const tsri_train_label_set *set,
                           const tsri_train_token_file *file, int32_t **out) {
    TRY(tsri_base_new(file->n_labels, sizeof **out, out));
    for (size_t i = 0; i < file->n_labels; i++) {
        (*out)[i] = target_of(&model->spec, set, file->labels[i]);
        if ((*out)[i] < 0)
            return outside(model, file, i);
    }
    return TSR_OK;
}

static tsr_status gather(const tsri_model *model, tsri_train_corpus *const *corpora, size_t n,
                         tsri_train_label_set *set) {
    const tsri_model_spec *spec = &model->spec;
    if (spec->labels) { /* in the model's order */
        TRY(tsri_base_new((size_t)spec->labels, sizeof *set->items, &set->items));
        for (; set->n < (size_t)spec->labels; set->n++) {
            const char *label = spec->label_of[set->n];
            set->items[set->n] = tsri_base_copy_text(label, strlen(label));
            if (!set->items[set->n])
                return TSR_E_HOST_MEMORY;
        }
        return TSR_OK;
    }
    for (size_t c = 0; c < n; c++)
        for (size_t f = 0; f < corpora[c]->n; f++)
            for (size_t i = 0; i < corpora[c]->files[f]->n_labels; i++) {
                const char *label = corpora[c]->files[f]->labels[i];
                TRY(tsri_train_label_set_add(set, label, strlen(label)));
            }
    tsri_train_label_set_sort(set);
    return TSR_OK;
}

tsr_status tsri_train_corpus_labels(const tsri_model *model, tsri_train_corpus *const *corpora,
                                    size_t n, char ***labels, size_t *n_labels) {
    tsri_train_label_set set = {0};
    tsr_status status = gather(model, corpora, n, &set);
    for (size_t c = 0; c < n && status == TSR_OK; c++) {
        status = tsri_base_new(corpora[c]->n, sizeof *corpora[c]->label_of, &corpora[c]->label_of);
        for (size_t f = 0; f < corpora[c]->n && status == TSR_OK; f++)
            status = map_file(model, &set, corpora[c]->files[f], &corpora[c]->label_of[f]);
    }
    *labels = set.items;
    *n_labels = set.n;
    return status;
}

/* train/checkpoint/state.c - writes and reads state.safetensors, one array at a time. */
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "io/archive.h"
#include "train/checkpoint/checkpoint.h"
#include "train/step/slices.h"

#include <stdlib.h>

/* The arrays that are written or read, and room for the values of the largest. */
typedef struct state {
    tsri_training *training;
    size_t n;
    tsri_training_array *arrays;
    tsri_io_entry *entries;
    float *values;
} state;

static size_t numbers_of(const tsri_training_array *array) {
    size_t n = 1;
    for (int d = 0; d < array->rank; d++)
        n *= (size_t)array->dims[d];
    return n;
}

static void clear(state *s) {
    free(s->values);
    free(s->entries);
    free(s->arrays);
}

static tsr_status list(tsri_training *training, state *s) {
    size_t most = 0;
    s->training = training;
    s->n = tsri_training_array_count(training);
    TRY(tsri_base_new(s->n, sizeof *s->arrays, &s->arrays));
    TRY(tsri_base_new(s->n, sizeof *s->entries, &s->entries));
    for (size_t i = 0; i < s->n; i++) {
        tsri_training_array *array = &s->arrays[i];
        tsri_training_array_at(training, i, array);
        s->entries[i] = (tsri_io_entry){
            .name = array->name, .dtype = TSR_F32, .rank = array->rank, .data = array};
        for (int d = 0; d < array->rank; d++)
            s->entries[i].dims[d] = array->dims[d];
        most = numbers_of(array) > most ? numbers_of(array) : most;
    }
    return tsri_base_new(most, sizeof *s->values, &s->values);
}

/* A rank writes what it owns: its slice of every array. */
static tsr_status write_slice(void *data, const tsri_io_entry *entry, size_t i,
                              tsri_io_slices *slices) {
    const state *s = data;
    const size_t at = (size_t)((const tsri_training_array *)entry->data - s->arrays);
    const tsri_training_range own = tsri_training_array_slice(s->training, at);
    TRY(tsri_training_array_read_slice(s->training, at, s->values));
    return tsri_io_slices_write(slices, i, (uint64_t)own.first * sizeof *s->values, s->values,
                                (uint64_t)own.count * sizeof *s->values);
}

tsr_status tsri_train_state_write(tsri_training *training, tsr_ranks *ranks, const char *path) {
    state s = {0};
    tsr_status status = list(training, &s);
    if (status == TSR_OK)
        status = tsri_training_write_file(ranks, path, s.entries, s.n, NULL, 0, write_slice, &s);
    clear(&s);
    return status;
}

static bool same_shape(const tsri_training_array *array, const tsri_io_array *held) {
    bool same = held->dtype == TSR_F32 && held->rank == array->rank;
    for (int d = 0; same && d < array->rank; d++)
        same = held->dims[d] == array->dims[d];
    return same;
}

tsr_status tsri_train_checkpoint_restore(const char *folder, tsri_training *training) {
    state s = {0};
    tsri_io_archive *archive = NULL;
    char *path = tsri_base_join(folder, "state.safetensors");
    tsr_status status = path ? tsri_io_open(path, &archive) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = list(training, &s);
    if (status == TSR_OK && archive->n_arrays != s.n)
        status = tsri_base_fail(TSR_E_FORMAT, "%s has %zu arrays; this training has %zu", path,
                                archive->n_arrays, s.n);
    for (size_t i = 0; i < s.n && status == TSR_OK; i++) {
        const tsri_io_array *held = tsri_io_find(archive, s.arrays[i].name);
        if (!held || !same_shape(&s.arrays[i], held))
            status = tsri_base_fail(TSR_E_FORMAT,
                                    "%s: array \"%s\" is missing, or its shape is not that of "
                                    "this training",
                                    path, s.arrays[i].name);
        const tsri_training_range own = tsri_training_array_held(training, i);
        if (status == TSR_OK)
            status = tsri_io_read(archive, held, (uint64_t)own.first * sizeof *s.values,
                                  (size_t)own.count * sizeof *s.values, s.values);
        if (status == TSR_OK)
            status = tsri_training_array_write(training, i, s.values);
    }
    tsri_io_close(&archive);
    clear(&s);
    free(path);
    return status;
}

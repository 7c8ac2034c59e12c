/* task/show/dump_file.c - puts the results of sequences without padding back in their padded
 * places, and writes them. */
#include "task/show/dump.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tsr_status add(tsri_task_dump_file *file, const char *name, int rank, const int64_t *dims,
                      float **data) {
    size_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    TRY(tsri_base_grow(&file->entries, &file->entries_room, file->n + 1, sizeof *file->entries));
    TRY(tsri_base_grow(&file->names, &file->names_room, file->n + 1, sizeof *file->names));
    TRY(tsri_base_grow(&file->arrays, &file->arrays_room, file->n + 1, sizeof *file->arrays));
    TRY(tsri_base_new(n, sizeof **data, data));
    tsri_io_entry *e = &file->entries[file->n];
    snprintf(file->names[file->n], sizeof *file->names, "%s", name);
    *e = (tsri_io_entry){.dtype = TSR_F32, .rank = rank, .data = *data};
    memcpy(e->dims, dims, (size_t)rank * sizeof *dims);
    file->arrays[file->n++] = *data;
    return TSR_OK;
}

tsr_status tsri_task_dump_rows(tsri_task_dump_file *file, const tsri_task_dump_side *side,
                               const char *name, int64_t width, const float *rows) {
    const int64_t dims[] = {side->B, side->T, width};
    float *out;
    int64_t at = 0;
    TRY(add(file, name, 3, dims, &out));
    for (int64_t b = 0; b < side->B; b++)
        for (int64_t i = 0; i < side->sequences[b].n; i++, at++)
            memcpy(out + (b * side->T + side->place[at]) * width, rows + at * width,
                   (size_t)width * sizeof *rows);
    return TSR_OK;
}

tsr_status tsri_task_dump_shares(tsri_task_dump_file *file, const tsri_task_dump_side *queries,
                                 const tsri_task_dump_side *keys, const char *name, int64_t H,
                                 const float *shares) {
    const int64_t T = queries->T, S = keys->T, dims[] = {queries->B, H, T, S};
    const int64_t *row = queries->place, *column = keys->place;
    float *out;
    TRY(add(file, name, 4, dims, &out));
    for (int64_t b = 0; b < queries->B; b++) {
        const int64_t n = queries->sequences[b].n, m = keys->sequences[b].n;
        for (int64_t h = 0; h < H; h++)
            for (int64_t t = 0; t < n; t++)
                for (int64_t s = 0; s < m; s++)
                    out[((b * H + h) * T + row[t]) * S + column[s]] = *shares++;
        row += n;
        column += m;
    }
    return TSR_OK;
}

tsr_status tsri_task_dump_matrix(tsri_task_dump_file *file, const char *name, int64_t B,
                                 int64_t width, const float *rows) {
    const int64_t dims[] = {B, width};
    float *out;
    TRY(add(file, name, 2, dims, &out));
    memcpy(out, rows, (size_t)(B * width) * sizeof *rows);
    return TSR_OK;
}

tsr_status tsri_task_dump_write(tsri_task_dump_file *file, const char *path) {
    for (size_t i = 0; i < file->n; i++)
        file->entries[i].name = file->names[i]; /* only now, because `names` moved when it grew */
    return tsri_io_save(path, file->entries, file->n, NULL, 0);
}

void tsri_task_dump_file_clear(tsri_task_dump_file *file) {
    for (size_t i = 0; i < file->n; i++)
        free(file->arrays[i]);
    free(file->entries);
    free(file->names);
    free(file->arrays);
}

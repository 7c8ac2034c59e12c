/* tests/train/data_fixture.c - makes a folder of data, and opens models and data from it. */
#include "data_fixture.h"

#include "tessera/model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/tessera-data-XXXXXX";
static char paths[8][128], work[128];
static int n_paths;

void data_begin(void) {
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    cr_assert(mkdtemp(folder));
    snprintf(work, sizeof work, "%s/work", folder);
    n_paths = 0;
}

void data_end(void) {
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

const char *data_file(const char *name, const char *text, size_t n) {
    char *path = paths[n_paths++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    cr_assert(f && fwrite(text, 1, n, f) == n && fclose(f) == 0);
    return path;
}

tsr_model *data_model(const char *path) {
    tsr_model *model = NULL;
    cr_assert_eq(tsr_model_open(path, NULL, NULL, &model), TSR_OK, "%s", tsr_error_last());
    return model;
}

tsri_train_data *data_open(tsr_model *model, tsri_train_data_options o) {
    tsri_train_data *data = NULL;
    o.workspace = o.workspace ? o.workspace : work;
    cr_assert_eq(tsri_train_data_open(model, &o, &data), TSR_OK, "%s", tsr_error_last());
    return data;
}

tsri_training_batch data_batch(tsri_train_data *data, uint64_t index) {
    tsri_training_batch batch;
    cr_assert_eq(tsri_train_data_batch(data, index, &batch), TSR_OK, "%s", tsr_error_last());
    return batch;
}

uint64_t data_sum(const tsri_training_batch *b) {
    const size_t cells = (size_t)b->B * (size_t)b->T, source = (size_t)b->B * (size_t)b->S;
    uint64_t h = (uint64_t)b->B << 40 ^ (uint64_t)b->T << 20 ^ (uint64_t)b->S;
    for (size_t i = 0; i < cells; i++)
        h = (h ^ (uint32_t)b->ids[i]) * 1099511628211u;
    for (size_t i = 0; i < cells; i++)
        h = (h ^ (uint32_t)b->targets[i]) * 1099511628211u;
    for (size_t i = 0; i < source; i++)
        h = (h ^ (uint32_t)b->source[i]) * 1099511628211u;
    for (int32_t i = 0; i < b->B; i++)
        h = (h ^ (uint32_t)b->len[i]) * 1099511628211u;
    return h;
}

char *data_words(int n, size_t *size) {
    char *text = malloc((size_t)n * 8 + 1);
    *size = 0;
    for (int i = 0; i < n; i++)
        *size += (size_t)sprintf(text + *size, "%c%d%c", 'a' + i % 26, i % 997,
                                 i % 12 == 11 ? '\n' : ' ');
    return text;
}

const char *data_work(void) {
    return work;
}

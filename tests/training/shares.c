/* Of a model's file, a rank reads no more than it writes. */
#include "model/model.h"
#include "support/folder.h"
#include "train/step/training.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())
#define MODEL TESSERA_SOURCE_DIR "/tests/golden/encoders/classify"

/* The bytes that this process has read so far, in all; 0: the system does not tell. */
static unsigned long long bytes_read(void) {
    unsigned long long n = 0;
    FILE *file = fopen("/proc/self/io", "r");
    if (file && fscanf(file, "rchar: %llu", &n) != 1)
        n = 0;
    if (file)
        fclose(file);
    return n;
}

/* A classifier whose head alone learns, by rank 0 of 2: the first half of the file is copied, and its last array is
 * cut within. */
Test(shares, are_all_that_a_rank_reads) {
    char folder[512], path[64], file[128];
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    tsr_model *model = NULL;
    tsr_ranks *ranks = NULL;
    tsri_training *training = NULL;
    uint64_t all = 0;
    bool cut = false;
    if (!bytes_read())
        cr_skip_test("the system does not tell how many bytes a process has read");
    snprintf(folder, sizeof folder, "%s/tests/ranks", getenv("TESSERA_BUILD"));
    setenv("TESSERA_TRANSPORT_PATH", folder, 1);
    OK(tsr_ranks_open(
        &(tsr_ranks_options){.struct_size = sizeof(tsr_ranks_options), .transport = "twin"},
        &ranks));
    const tsri_training_options options = {.objective = TSRI_OBJECTIVE_CLASSIFY,
                                           .learns = TSRI_LEARNS_HEAD,
                                           .shards = 2,
                                           .ranks = ranks};
    OK(tsr_engine_create(NULL, &engine));
    OK(tsr_device_open(engine, "reference", NULL, &device));
    OK(tsr_model_open(MODEL, NULL, NULL, &model));
    OK(tsri_training_create(model, device, &options, &training));
    OK(tsri_training_reserve(training, 1, 4, 1));
    const tsri_io_archive *archive = tsri_model_of(model)->archive;
    for (size_t i = 0; i < archive->n_arrays; i++)
        all += archive->arrays[i].bytes;
    for (uint64_t i = 0, at = 0; i < archive->n_arrays; at += archive->arrays[i++].bytes)
        cut |= at < all / 2 && all / 2 < at + archive->arrays[i].bytes;
    cr_assert(cut, "the halves end with an array, so that this tests nothing");
    folder_make(path);
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    const unsigned long long before = bytes_read(), itself = bytes_read() - before,
                             begin = bytes_read();
    OK(tsri_training_save(training, file));
    const unsigned long long n = bytes_read() - begin - itself;
    cr_expect_leq(n, all / 2 + 16, "%llu bytes were read for %llu", n, (unsigned long long)all / 2);
    cr_expect_geq(n, all / 2 - 16);
    folder_drop(path);
    tsri_training_destroy(&training);
    tsr_model_close(&model);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    tsr_ranks_close(&ranks);
}

/* The gradients of shards are added by a binary tree, to the last bit. */
#include "model/model.h"
#include "train/step/training.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

enum { T = 6, MOST = 8 };

typedef struct subject {
    tsr_engine *engine;
    tsr_device *device;
    tsr_model *model;
    tsri_training *training;
} subject;

static void begin(subject *s, const char *device, int32_t levels) {
    const tsri_training_options options = {
        .objective = TSRI_OBJECTIVE_NEXT, .dropout = 0.1f, .shards = 1u << levels};
    *s = (subject){0};
    OK(tsr_engine_create(NULL, &s->engine));
    OK(tsr_device_open(s->engine, device, NULL, &s->device));
    OK(tsr_model_open(TESSERA_SOURCE_DIR "/tests/golden/training/gpt2/init", NULL, NULL,
                      &s->model));
    OK(tsri_training_create(s->model, s->device, &options, &s->training));
}

static void end(subject *s) {
    tsri_training_destroy(&s->training);
    tsr_model_close(&s->model);
    tsr_device_close(&s->device);
    tsr_engine_destroy(&s->engine);
}

/* Micro-batch number `m`: two of them are a shard. */
static void run(subject *s, int m, bool first) {
    int32_t ids[T], targets[T];
    const int32_t len = T;
    tsri_training_loss loss;
    for (int i = 0; i < T; i++) {
        ids[i] = (m * 5 + i * 3) % 11;
        targets[i] = (m * 7 + i) % 11;
    }
    const tsri_training_batch batch = {
        .B = 1, .T = T, .S = 1, .ids = ids, .len = &len, .targets = targets};
    OK(tsri_training_gradients(s->training, &batch, first, 0.1, (uint64_t)m, &loss));
}

static size_t elements(const subject *s, size_t i) {
    tsri_training_array a;
    tsri_training_array_at(s->training, i, &a);
    return (size_t)(a.dims[0] * (a.rank > 1 ? a.dims[1] : 1));
}

/* All gradients, one behind the other. */
static float *gradients(const subject *s, size_t *n) {
    const size_t arrays = tsri_training_array_count(s->training);
    float *out = NULL;
    *n = 0;
    for (size_t i = 0; i < arrays; i++)
        *n += tsri_training_array_moment(s->training, i) ? 0 : elements(s, i);
    out = calloc(*n, sizeof *out);
    cr_assert_not_null(out);
    for (size_t i = 0, at = 0; i < arrays; i++)
        if (!tsri_training_array_moment(s->training, i)) {
            OK(tsri_training_gradient_read(s->training, i, out + at));
            at += elements(s, i);
        }
    return out;
}

static void check(const char *device, int32_t levels) {
    const int shards = 1 << levels;
    float *of[MOST];
    size_t n = 0;
    subject alone, all;
    begin(&alone, device, 0);
    begin(&all, device, levels);
    for (int i = 0; i < shards; i++) {
        run(&alone, 2 * i, true);
        run(&alone, 2 * i + 1, false);
        of[i] = gradients(&alone, &n);
    }
    for (int apart = 1; apart < shards; apart *= 2)
        for (int i = 0; i < shards; i += 2 * apart)
            for (size_t k = 0; k < n; k++)
                of[i][k] += of[i + apart][k];
    for (int again = 0; again < 2; again++) { /* what an earlier step left changes nothing */
        for (int i = 0; i < shards; i++) {
            run(&all, 2 * i, true);
            run(&all, 2 * i + 1, false);
            OK(tsri_training_end_shard(all.training, (uint32_t)i));
        }
        float *got = gradients(&all, &n);
        size_t other = 0;
        for (size_t k = 0; k < n; k++)
            other += memcmp(&got[k], &of[0][k], sizeof *got) != 0;
        cr_expect_eq(other, 0, "%d shards: %zu of %zu gradients differ from the tree's", shards,
                     other, n);
        free(got);
    }
    for (int i = 0; i < shards; i++)
        free(of[i]);
    end(&alone);
    end(&all);
}

Test(shards, are_added_by_a_binary_tree) {
    for (int32_t levels = 0; levels <= 3; levels++)
        check("reference", levels);
}

Test(shards, are_added_by_a_binary_tree_on_the_default_device) {
    check(NULL, 3);
}

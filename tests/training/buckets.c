/* With several ranks, gradients go out while the pass backward still runs. */
#include "model/model.h"
#include "train/step/ranks.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

enum { T = 6, MOST = 64 };

typedef struct subject {
    tsr_engine *engine;
    tsr_device *device;
    tsr_model *model;
    tsr_ranks *ranks;
    tsri_training *training;
    size_t parameters[MOST], n; /* arrays that are parameters */
    float *before[MOST];        /* their gradients before the pass */
    size_t begun, whole[MOST];  /* exchanges; how many gradients were new when each began */
} subject;

static size_t elements(const subject *s, size_t i) {
    tsri_training_array a;
    tsri_training_array_at(s->training, s->parameters[i], &a);
    return (size_t)(a.dims[0] * (a.rank > 1 ? a.dims[1] : 1));
}

static bool is_new(const subject *s, size_t i) {
    float *now = calloc(elements(s, i), sizeof *now);
    cr_assert_not_null(now);
    OK(tsri_training_gradient_read(s->training, s->parameters[i], now));
    const bool differs = memcmp(now, s->before[i], elements(s, i) * sizeof *now) != 0;
    free(now);
    return differs;
}

static void exchange_begins(void *data) {
    subject *s = data;
    cr_assert_lt(s->begun, MOST);
    for (size_t i = 0; i < s->n; i++)
        s->whole[s->begun] += is_new(s, i);
    s->begun++;
}

/* Loads the transport by its file, as the library does later, to be told of its exchanges. */
static void watch(subject *s, const char *folder) {
    char path[1024];
    void (*twin_watch)(void (*)(void *), void *);
    snprintf(path, sizeof path, "%s/twin.so", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(library, "%s", dlerror());
    void *symbol = dlsym(library, "twin_watch");
    memcpy(&twin_watch, &symbol, sizeof twin_watch);
    twin_watch(exchange_begins, s);
}

static void begin(subject *s, uint32_t shards) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s/tests/ranks", getenv("TESSERA_BUILD"));
    setenv("TESSERA_TRANSPORT_PATH", folder, 1);
    *s = (subject){0};
    watch(s, folder);
    OK(tsr_ranks_open(
        &(tsr_ranks_options){.struct_size = sizeof(tsr_ranks_options), .transport = "twin"},
        &s->ranks));
    const tsri_training_options options = {
        .objective = TSRI_OBJECTIVE_NEXT, .shards = shards, .ranks = s->ranks};
    OK(tsr_engine_create(NULL, &s->engine));
    OK(tsr_device_open(s->engine, "reference", NULL, &s->device));
    OK(tsr_model_open(TESSERA_SOURCE_DIR "/tests/golden/training/gpt2/init", NULL, NULL,
                      &s->model));
    OK(tsri_training_create(s->model, s->device, &options, &s->training));
    for (size_t i = 0; i < tsri_training_array_count(s->training); i++)
        if (!tsri_training_array_moment(s->training, i))
            s->parameters[s->n++] = i;
    OK(tsri_training_reserve(s->training, 1, T, 1));
    for (size_t i = 0; i < s->n; i++) {
        s->before[i] = calloc(elements(s, i), sizeof(float));
        cr_assert_not_null(s->before[i]);
    }
}

static void end(subject *s) {
    tsri_training_destroy(&s->training);
    tsr_model_close(&s->model);
    tsr_device_close(&s->device);
    tsr_engine_destroy(&s->engine);
    tsr_ranks_close(&s->ranks);
    for (size_t i = 0; i < s->n; i++)
        free(s->before[i]);
}

static void run(subject *s, int shift) {
    int32_t ids[T], targets[T];
    const int32_t len = T;
    tsri_training_loss loss;
    for (int i = 0; i < T; i++) {
        ids[i] = (shift + i * 3) % 11;
        targets[i] = (shift * 7 + i) % 11;
    }
    const tsri_training_batch batch = {
        .B = 1, .T = T, .S = 1, .ids = ids, .len = &len, .targets = targets};
    OK(tsri_training_gradients(s->training, &batch, true, 0.1, 0, &loss));
}

Test(buckets, go_out_while_the_pass_backward_still_runs) {
    subject s;
    begin(&s, 4);
    run(&s, 1);
    OK(tsri_training_end_shard(s.training, 0));
    for (size_t i = 0; i < s.n; i++)
        OK(tsri_training_gradient_read(s.training, s.parameters[i], s.before[i]));
    cr_expect_eq(s.begun, 0, "the first shard's gradients are not the step's");
    OK(tsri_training_send_ahead(s.training));
    run(&s, 2);
    const size_t during = s.begun;
    cr_assert_geq(during, 2, "%zu exchanges began while the pass ran", during);
    OK(tsri_training_end_shard(s.training, 1));
    OK(tsri_training_send_rest(s.training));
    cr_expect_eq(s.begun, during + 1, "one bucket is whole only at the end, not %zu",
                 s.begun - during);
    for (size_t i = 1; i < s.begun; i++)
        cr_expect_geq(s.whole[i], s.whole[i - 1]);
    cr_expect_lt(s.whole[0], s.n / 2, "%zu of %zu gradients were there when the first went out",
                 s.whole[0], s.n);
    cr_expect_eq(s.whole[s.begun - 1], s.n);
    OK(tsri_training_join(s.training));
    end(&s);
}

Test(buckets, a_step_that_is_given_up_sends_as_many) {
    subject s;
    begin(&s, 4);
    run(&s, 1);
    OK(tsri_training_send_ahead(s.training));
    run(&s, 2);
    OK(tsri_training_send_rest(s.training));
    const size_t whole = s.begun;
    OK(tsri_training_discard(s.training));
    run(&s, 3);
    OK(tsri_training_send_rest(s.training));
    cr_expect_eq(s.begun, 2 * whole, "%zu exchanges, then %zu", whole, s.begun - whole);
    OK(tsri_training_discard(s.training));
    end(&s);
}

/* Appends the gradients of all parameters as they are on the device now. */
static float *gradients(const subject *s, size_t *n) {
    float *out = NULL;
    *n = 0;
    for (size_t i = 0; i < s->n; i++)
        *n += elements(s, i);
    out = calloc(*n, sizeof *out);
    cr_assert_not_null(out);
    for (size_t i = 0, at = 0; i < s->n; at += elements(s, i++))
        OK(tsri_training_gradient_read(s->training, s->parameters[i], out + at));
    return out;
}

/* Rank 0 has shards 0 and 1, and 2; rank 1, which does as rank 0 does in each exchange, gives shard 2 for 3. */
Test(buckets, a_rank_s_nodes_are_added_by_the_tree) {
    static const uint32_t counts[] = {3, 1};
    subject s;
    begin(&s, 4);
    OK(tsri_training_deal_anew(s.training, counts));
    float *of[3];
    size_t n = 0;
    for (uint32_t again = 0; again < 2; again++) {
        for (uint32_t shard = 0; shard < 3; shard++) {
            if (shard == 2)
                OK(tsri_training_send_ahead(s.training));
            run(&s, (int)shard + 1);
            of[shard] = gradients(&s, &n);
            OK(tsri_training_end_shard(s.training, shard));
        }
        OK(tsri_training_send_rest(s.training));
        OK(tsri_training_join(s.training));
        size_t checked = 0, other = 0;
        for (size_t i = 0, at = 0; i < s.n; at += elements(&s, i++)) {
            const tsri_training_parameter *p = &s.training->parameters[i];
            float *own = calloc(elements(&s, i), sizeof *own);
            cr_assert_not_null(own);
            OK(tsri_training_read_piece(s.training, p, TSRI_PART_OWN_GRADIENT, own));
            for (int64_t k = 0; k < p->piece.count; k++, checked++) {
                const size_t e = at + (size_t)(p->piece.first + k);
                const float sum = (of[0][e] + of[1][e]) + (of[2][e] + of[2][e]);
                other += memcmp(&sum, &own[k], sizeof sum) != 0;
            }
            free(own);
        }
        cr_expect_gt(checked, n / 4);
        cr_expect_eq(other, 0, "%zu of %zu sums differ from the tree's", other, checked);
        for (int i = 0; i < 3; i++)
            free(of[i]);
    }
    end(&s);
}

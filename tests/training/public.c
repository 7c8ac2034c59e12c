/* tessera/training.h: a caller's own loop of batches, gradients and steps. */
#include "support/folder.h"
#include "tessera/quantize.h"
#include "tessera/session.h"
#include "tessera/training.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())
#define MODEL TESSERA_SOURCE_DIR "/tests/golden/models/gpt2-tiny"
#define MASKED TESSERA_SOURCE_DIR "/tests/golden/models/bert/mlm"
#define PLAY TESSERA_SOURCE_DIR "/models/shakespeare"

enum { B = 2, T = 6 };

static tsr_engine *engine;
static tsr_device *device;
static const int32_t ids[B * T] = {5, 9, 3, 7, 1, 2, 8, 4, 6, 5, 0, 0};
static const int32_t targets[B * T] = {9, 3, 7, 1, 2, 8, 4, 6, 5, 9, -100, -100};
static const int32_t len[B] = {6, 4};
static const tsr_training_batch batch = {
    .struct_size = sizeof batch, .B = B, .T = T, .ids = ids, .len = len, .targets = targets};

static void begin(void) {
    const tsr_engine_options alone = {.struct_size = sizeof alone, .device = "reference"};
    OK(tsr_engine_create(&alone, &engine));
    OK(tsr_device_open(engine, "reference", NULL, &device));
}

static void end(void) {
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
}

TestSuite(public_training, .init = begin, .fini = end);

static tsr_training *make(const char *model, const char *const *set, size_t n, uint64_t steps) {
    const tsr_training_options options = {
        .struct_size = sizeof options, .set = set, .n_set = n, .steps = steps};
    tsr_training *t = NULL;
    OK(tsr_training_create(model, device, &options, &t));
    return t;
}

static double loss_of(tsr_training *t) {
    tsr_training_loss loss = {.struct_size = sizeof loss};
    OK(tsr_training_evaluate(t, &batch, &loss));
    cr_assert_eq(loss.counted, 10);
    return loss.loss;
}

static void step(tsr_training *t, double rate) {
    tsr_training_loss loss = {.struct_size = sizeof loss};
    double norm = 0;
    OK(tsr_training_gradients(t, &batch, 1, &loss));
    OK(tsr_training_norm(t, &norm));
    cr_assert(norm > 0 && isfinite(norm) && loss.counted == 10);
    OK(tsr_training_step(t, rate, norm > 1 ? 1 / norm : 1));
}

static float *read_array(tsr_training *t, size_t i, int64_t *n) {
    tsr_training_array array = {.struct_size = sizeof array};
    OK(tsr_training_array_get(t, i, &array));
    float *data = malloc((size_t)array.elements * sizeof *data);
    cr_assert_not_null(data);
    OK(tsr_training_array_read(t, i, data));
    *n = array.elements;
    return data;
}

static char folder[64], out[80];

static void begin_with_folder(void) {
    begin();
    folder_make(folder);
    snprintf(out, sizeof out, "%s/saved", folder);
}

static void end_with_folder(void) {
    folder_drop(folder);
    end();
}

TestSuite(saved_training, .init = begin_with_folder, .fini = end_with_folder);

/* The model after some steps, which is saved at `out`; its loss falls below `share` of what it
 * was. */
static tsr_training *learn_and_save(const char *model, const char *const *set, int steps,
                                    double rate, double share) {
    tsr_training *t = make(model, set, 2, 0);
    const double before = loss_of(t);
    for (int i = 0; i < steps; i++)
        step(t, rate);
    const double after = loss_of(t);
    cr_assert(after < share * before, "%g to %g", before, after);
    OK(tsr_training_save(t, out));
    return t;
}

Test(saved_training, is_a_model_like_any_other) {
    static const char *const set[] = {"weight_decay=0", "dropout=0"};
    tsr_training *t = learn_and_save(MODEL, set, 20, 0.01, 0.7);
    const double after = loss_of(t);
    cr_assert_eq(tsr_training_save(t, out), TSR_E_IO);
    tsr_training_destroy(&t);
    cr_assert_null(t);

    t = make(out, NULL, 0, 0);
    const double again = loss_of(t);
    cr_assert(fabs(again - after) < 1e-6 * after, "%.9g, wanted %.9g", again, after);
    tsr_training_destroy(&t);
    tsr_model *model = NULL; /* as any other model */
    tsr_session *session = NULL;
    OK(tsr_model_open(out, device, NULL, &model));
    OK(tsr_session_create(model, NULL, &session));
    OK(tsr_session_prefill(session, 0, ids, 3, NULL, NULL));
    tsr_session_destroy(&session);
    tsr_model_close(&model);
}

/* The largest few elements of each parameter's gradient, by central differences. */
Test(public_training, gradients_are_those_of_the_loss) {
    static const char *const set[] = {"dropout=0"};
    tsr_training *t = make(MODEL, set, 1, 0);
    int checked = 0;
    OK(tsr_training_gradients(t, &batch, 1, NULL));
    for (size_t i = 0; i < tsr_training_array_count(t); i++) {
        tsr_training_array array = {.struct_size = sizeof array};
        int64_t n = 0, largest = 0;
        OK(tsr_training_array_get(t, i, &array));
        if (array.moment)
            continue;
        float *values = read_array(t, i, &n), *gradient = malloc((size_t)n * sizeof *gradient);
        OK(tsr_training_gradient_read(t, i, gradient));
        for (int64_t k = 1; k < n; k++)
            largest = fabsf(gradient[k]) > fabsf(gradient[largest]) ? k : largest;
        const float kept = values[largest], h = 1e-2f;
        double losses[2];
        for (int side = 0; side < 2; side++) {
            values[largest] = kept + (side ? h : -h);
            OK(tsr_training_array_write(t, i, values));
            losses[side] = loss_of(t);
        }
        values[largest] = kept;
        OK(tsr_training_array_write(t, i, values));
        const double slope = (losses[1] - losses[0]) / (2 * (double)h),
                     got = (double)gradient[largest];
        cr_expect(fabs(got - slope) < 0.02 * fabs(slope) + 2e-4, "%s[%lld]: %g, wanted %g",
                  array.name, (long long)largest, got, slope);
        checked++;
        free(values);
        free(gradient);
    }
    cr_assert(checked > 10, "%d", checked);
    tsr_training_destroy(&t);
}

Test(public_training, batches_add_up_by_their_shares) {
    static const char *const set[] = {"dropout=0"};
    tsr_training *t = make(MODEL, set, 1, 0);
    double whole = 0, parts = 0, twice = 0;
    OK(tsr_training_gradients(t, &batch, 1, NULL));
    OK(tsr_training_norm(t, &whole));
    OK(tsr_training_step(t, 0, 1)); /* changes nothing, and begins anew */
    OK(tsr_training_gradients(t, &batch, 0.25, NULL));
    OK(tsr_training_gradients(t, &batch, 0.75, NULL));
    OK(tsr_training_norm(t, &parts));
    OK(tsr_training_gradients(t, &batch, 1, NULL));
    OK(tsr_training_norm(t, &twice));
    cr_assert(fabs(parts - whole) < 1e-5 * whole && fabs(twice - 2 * whole) < 1e-5 * whole,
              "%g %g %g", whole, parts, twice);
    tsr_training_destroy(&t);
}

/* Three steps, or two, all arrays carried over, and one: the same bytes. */
Test(public_training, arrays_carry_a_training_on) {
    tsr_training *whole = make(MODEL, NULL, 0, 0), *first = make(MODEL, NULL, 0, 0);
    for (int i = 0; i < 3; i++)
        step(whole, 0.01);
    for (int i = 0; i < 2; i++)
        step(first, 0.01);
    tsr_training *second = make(MODEL, NULL, 0, 2);
    const size_t n = tsr_training_array_count(first);
    cr_assert_eq(tsr_training_array_count(second), n);
    for (size_t i = 0; i < n; i++) {
        int64_t elements;
        float *data = read_array(first, i, &elements);
        OK(tsr_training_array_write(second, i, data));
        free(data);
    }
    step(second, 0.01);
    for (size_t i = 0; i < n; i++) {
        int64_t a_n, b_n;
        float *a = read_array(whole, i, &a_n), *b = read_array(second, i, &b_n);
        cr_expect(a_n == b_n && memcmp(a, b, (size_t)a_n * sizeof *a) == 0, "array %zu", i);
        free(a);
        free(b);
    }
    tsr_training_destroy(&whole);
    tsr_training_destroy(&first);
    tsr_training_destroy(&second);
}

/* Too large a batch fails, as the first one or later, and the smaller one that the sentence advises runs. */
Test(public_training, a_smaller_batch_follows_one_that_did_not_fit) {
    enum { MANY = 512, LONG = 48 };
    static const int32_t zeros[MANY * LONG] = {0};
    const tsr_device_open_options limited = {.struct_size = sizeof limited, .memory = 8 << 20};
    const tsr_training_batch large = {
        .struct_size = sizeof large, .B = MANY, .T = LONG, .ids = zeros, .targets = zeros};
    tsr_training_loss loss = {.struct_size = sizeof loss};
    tsr_training *t = NULL, *ample = make(MODEL, NULL, 0, 0);
    tsr_device *small = NULL;
    OK(tsr_device_open(engine, "reference", &limited, &small));
    OK(tsr_training_create(MODEL, small, NULL, &t));
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(tsr_training_gradients(t, &large, 1, NULL), TSR_E_DEVICE_MEMORY);
        cr_expect(strstr(tsr_error_last(), "use smaller batches"), "%s", tsr_error_last());
        OK(tsr_training_gradients(t, &batch, 1, NULL));
        cr_expect_eq(tsr_training_evaluate(t, &large, &loss), TSR_E_DEVICE_MEMORY);
        OK(tsr_training_evaluate(t, &batch, &loss));
    }
    cr_expect_eq(loss.loss, loss_of(ample));
    tsr_training_destroy(&t);
    tsr_training_destroy(&ample);
    tsr_device_close(&small);
}

/* A step runs no other model: batches carry a teacher's logits, and the weight of these is a share. */
Test(public_training, teachers) {
    static const struct {
        const char *set;
        uint32_t teacher;
        const char *refusal;
    } rows[] = {{"kl_weight=2", 1, "kl_weight=2: with a teacher it must be from 0 to 1"},
                {"kl_to=uniform", 1, "kl_to and tsr_training_options.teacher"},
                {"distill_from=" MODEL, 0, "runs no other model"},
                {"distill_from=" MODEL, 1, "runs no other model"},
                {"kl_to=" MODEL, 0, "runs no other model"},
                {"kl_weight=1", 1, NULL},
                {"kl_weight=2", 0, NULL},
                {"kl_to=uniform", 0, NULL}};
    tsr_training *t = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tsr_training_options options = {.struct_size = sizeof options,
                                              .set = &rows[i].set,
                                              .n_set = 1,
                                              .teacher = rows[i].teacher};
        tsr_training_destroy(&t);
        cr_expect_eq(tsr_training_create(MODEL, device, &options, &t),
                     rows[i].refusal ? TSR_E_ARGUMENT : TSR_OK, "row %zu: %s", i, tsr_error_last());
        cr_expect(!rows[i].refusal || strstr(tsr_error_last(), rows[i].refusal), "row %zu: %s", i,
                  tsr_error_last());
    }
    cr_assert_not_null(t); /* toward the uniform distribution */
    tsr_training_loss loss = {.struct_size = sizeof loss};
    OK(tsr_training_gradients(t, &batch, 1, &loss));
    cr_expect(loss.kl > 0 && fabs(loss.loss - loss.hard - 0.5 * loss.kl) < 1e-6 * loss.loss,
              "%g of %g and %g", loss.loss, loss.hard, loss.kl);
    tsr_training_destroy(&t);
}

/* Its teacher's logits, [0,V], end where they begin. */
Test(public_training, a_masked_batch_may_have_no_target) {
    static const char *const set[] = {"dropout=0"};
    const tsr_training_options options = {.struct_size = sizeof options,
                                          .task = TSR_TRAIN_FILL_MASK,
                                          .set = set,
                                          .n_set = 1,
                                          .teacher = 1};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *unreadable = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(unreadable, MAP_FAILED);
    int32_t none[B * T];
    for (int i = 0; i < B * T; i++)
        none[i] = TSR_TRAINING_IGNORE;
    tsr_training_batch empty = batch;
    empty.targets = none;
    empty.teacher = unreadable;
    tsr_training_loss loss = {.struct_size = sizeof loss};
    tsr_training *t = NULL;
    double norm = -1;
    OK(tsr_training_create(MASKED, device, &options, &t));
    OK(tsr_training_gradients(t, &empty, 1, &loss));
    OK(tsr_training_norm(t, &norm));
    cr_expect(loss.counted == 0 && loss.loss == 0 && norm == 0, "%g of %lld targets, norm %g",
              loss.loss, (long long)loss.counted, norm);
    OK(tsr_training_evaluate(t, &empty, &loss));
    cr_expect(loss.counted == 0 && loss.loss == 0, "%g", loss.loss);
    tsr_training_destroy(&t);
    cr_assert_eq(munmap(unreadable, page), 0);
}

Test(public_training, segments_are_those_of_the_model) {
    enum { N = 4 };
    static const int32_t some[2 * N] = {1, 2, 3, 4, 5, 6, 7, 8}, labels[2] = {5, 6};
    static const struct {
        int32_t types[2 * N];
        const char *refusal;
    } rows[] = {{{0, 0, 0, 0, 0, 1, 2, 1}, "sequence 1 of a batch has the segment 2 at position 2"},
                {{0, 0, 0, -1, 0, 0, 0, 0}, "sequence 0 of a batch has the segment -1"},
                {{0, 0, 1, 1, 0, 1, 1, 1}, NULL}};
    tsr_training *t = make(TESSERA_SOURCE_DIR "/models/intents", NULL, 0, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tsr_training_batch pairs = {.struct_size = sizeof pairs,
                                          .B = 2,
                                          .T = N,
                                          .ids = some,
                                          .targets = labels,
                                          .types = rows[i].types};
        cr_expect_eq(tsr_training_gradients(t, &pairs, 1, NULL),
                     rows[i].refusal ? TSR_E_ARGUMENT : TSR_OK, "row %zu: %s", i, tsr_error_last());
        cr_expect(!rows[i].refusal || (strstr(tsr_error_last(), rows[i].refusal) &&
                                       strstr(tsr_error_last(), "the model has 2 segments")),
                  "row %zu: %s", i, tsr_error_last());
    }
    tsr_training_destroy(&t);
}

Test(saved_training, adapters_are_saved_alone) {
    static const char *const set[] = {"lora_rank=2", "lora_alpha=4"};
    tsr_training *t = learn_and_save(MODEL, set, 10, 0.05, 1);
    tsr_training_destroy(&t);
    const char *const lora[] = {out};
    const tsr_model_options options = {.struct_size = sizeof options, .n_lora = 1, .lora = lora};
    tsr_model *model = NULL;
    OK(tsr_model_open(MODEL, NULL, &options, &model));
    tsr_model_close(&model);
}

static void logits_of(tsr_model *model, float logits[4096]) {
    tsr_session *session = NULL;
    tsr_model_info info = {.struct_size = sizeof info};
    OK(tsr_model_info_get(model, &info));
    cr_assert(info.vocab <= 4096);
    OK(tsr_session_create(model, NULL, &session));
    OK(tsr_session_prefill(session, 0, ids, 3, logits, NULL));
    tsr_session_destroy(&session);
}

static uint64_t weights_of(const tsr_model *model) {
    tsr_model_memory memory = {.struct_size = sizeof memory};
    OK(tsr_model_memory_get(model, &memory));
    return memory.weights;
}

/* A base, its adapter, and both once more beside it: each gives what it gives alone, and stores what no other
 * one has. Returns the bytes of that. */
static uint64_t check_sharing(const char *name) {
    const char *const lora[] = {out};
    static float alone[2][4096], shared[3][4096];
    tsr_model_options options = {.struct_size = sizeof options};
    tsr_model *base = NULL, *adapted = NULL, *models[3] = {0}, *wrong = NULL;
    OK(tsr_model_open(name, device, &options, &base));
    options.n_lora = 1;
    options.lora = lora;
    OK(tsr_model_open(name, device, &options, &adapted));
    logits_of(base, alone[0]);
    logits_of(adapted, alone[1]);
    cr_assert(memcmp(alone[0], alone[1], sizeof alone[0]) != 0);

    options.base = base;
    OK(tsr_model_open(name, device, &options, &models[0]));
    OK(tsr_model_open(name, device, &options, &models[1]));
    options.base = adapted;
    options.n_lora = 0;
    OK(tsr_model_open(name, device, &options, &models[2])); /* the base, beside an adapter */
    const uint64_t own = weights_of(models[0]);
    cr_expect(own > 0 && own < weights_of(adapted) && own == weights_of(models[1]), "%llu of %llu",
              (unsigned long long)own, (unsigned long long)weights_of(adapted));
    cr_expect_leq(weights_of(models[2]), own);
    for (int i = 2; i >= 0; i--) { /* closing one leaves the others as they are */
        logits_of(models[i], shared[i]);
        cr_expect(memcmp(shared[i], alone[i < 2], sizeof alone[0]) == 0, "model %d", i);
        tsr_model_close(&models[i]);
    }
    logits_of(base, shared[0]);
    cr_expect(memcmp(shared[0], alone[0], sizeof alone[0]) == 0);

    options.base = base;
    cr_expect(tsr_model_open(name, NULL, &options, &wrong) == TSR_E_ARGUMENT && !wrong);
    cr_expect(tsr_model_open(TESSERA_SOURCE_DIR "/models/intents", device, &options, &wrong) ==
              TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "another model"), "%s", tsr_error_last());
    tsr_model_close(&adapted);
    tsr_model_close(&base);
    return own;
}

static const char *const of_rank_2[] = {"lora_rank=2", "lora_alpha=4"};

Test(saved_training, adapters_share_the_weights_of_a_base) {
    tsr_training *t = learn_and_save(MODEL, of_rank_2, 10, 0.05, 1);
    tsr_training_destroy(&t);
    (void)check_sharing(MODEL);
}

/* Beside matrices in blocks an adapter has its own, A and B of four matrices in each layer and of nothing
 * else; tables that are computed are not shared. */
Test(saved_training, adapters_share_the_blocks_of_a_base) {
    enum { LAYERS = 6, C = 192, RANK = 2 };
    char blocks[sizeof out + 8];
    tsr_training *t = learn_and_save(PLAY, of_rank_2, 10, 0.05, 1);
    tsr_training_destroy(&t);
    snprintf(blocks, sizeof blocks, "%s.q8", out);
    OK(tsr_quantize(PLAY, blocks, NULL));
    cr_expect_eq(check_sharing(blocks),
                 (uint64_t)LAYERS * RANK * 4 * (4 * C + 2 * C + 5 * C + 5 * C));
}

Test(public_training, wrong_calls_are_refused) {
    static const char *const unknown[] = {"learning_speed=1"}, *const wild[] = {"dropout=2"};
    static const int32_t past[B * T] = {1 << 28};
    tsr_training *t = NULL;
    tsr_training_batch wrong = batch;
    tsr_training_options options = {.struct_size = sizeof options, .set = unknown, .n_set = 1};
    float data[1];
    double norm;
    cr_expect_eq(tsr_training_create(MODEL, device, &options, &t), TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "learning_speed"), "%s", tsr_error_last());
    options.set = wild;
    cr_expect_eq(tsr_training_create(MODEL, device, &options, &t), TSR_E_ARGUMENT);
    options.set = of_rank_2;
    options.head_only = 1;
    cr_expect_eq(tsr_training_create(MODEL, device, &options, &t), TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "head_only and lora_rank"), "%s", tsr_error_last());
    options = (tsr_training_options){.struct_size = sizeof options, .task = TSR_TRAIN_CLASSIFY};
    cr_expect_eq(tsr_training_create(MODEL, device, &options, &t), TSR_E_STATE);
    cr_assert_null(t);
    t = make(MODEL, NULL, 0, 0);
    cr_expect_eq(tsr_training_step(t, 0.1, 1), TSR_E_STATE);
    cr_expect_eq(tsr_training_norm(t, &norm), TSR_E_STATE);
    cr_expect_eq(tsr_training_gradient_read(t, 0, data), TSR_E_STATE);
    wrong.ids = past;
    cr_expect_eq(tsr_training_gradients(t, &wrong, 1, NULL), TSR_E_ARGUMENT);
    wrong.ids = ids;
    wrong.targets = past;
    cr_expect_eq(tsr_training_gradients(t, &wrong, 1, NULL), TSR_E_ARGUMENT);
    wrong = batch;
    wrong.B = 0;
    cr_expect_eq(tsr_training_gradients(t, &wrong, 1, NULL), TSR_E_ARGUMENT);
    OK(tsr_training_gradients(t, &batch, 1, NULL));
    cr_expect_eq(tsr_training_gradient_read(t, 1, data), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_training_array_read(t, tsr_training_array_count(t), data), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_training_step(t, -1, 1), TSR_E_ARGUMENT);
    cr_expect_eq(tsr_training_step(t, NAN, 1), TSR_E_ARGUMENT);
    tsr_training_destroy(&t);
    tsr_training_destroy(&t);
}

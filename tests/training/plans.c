/* What a training needs from its graphs and from the machine, before the first step. */
#include "backend/host.h"
#include "backend/opened.h"
#include "base/error.h"
#include "model/model.h"
#include "train/step/forward.h"
#include "train/step/training_state.h"

#include <criterion/criterion.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

typedef struct subject {
    tsr_engine *engine;
    tsr_device *device;
    tsr_model *model;
    tsri_training *training;
} subject;

static void begin(subject *s, const char *folder, const tsri_training_options *options) {
    char path[512];
    snprintf(path, sizeof path, TESSERA_SOURCE_DIR "/tests/golden/training/%s/init", folder);
    *s = (subject){0};
    OK(tsr_engine_create(NULL, &s->engine));
    OK(tsr_device_open(s->engine, "reference", NULL, &s->device));
    OK(tsr_model_open(path, NULL, NULL, &s->model));
    OK(tsri_training_create(s->model, s->device, options, &s->training));
}

static void end(subject *s) {
    tsri_training_destroy(&s->training);
    tsr_model_close(&s->model);
    tsr_device_close(&s->device);
    tsr_engine_destroy(&s->engine);
}

Test(plans, too_large_a_batch_is_refused_with_what_helps_in_training) {
    subject s;
    begin(&s, "gpt2", &(tsri_training_options){.objective = TSRI_OBJECTIVE_NEXT});
    const tsr_status status = tsri_training_reserve(s.training, 1 << 25, 8, 1);
    cr_assert(status == TSR_E_DEVICE_MEMORY || status == TSR_E_HOST_MEMORY, "%s", tsr_error_last());
    cr_expect_not_null(strstr(tsr_error_last(), "parameters and gradients"), "%s",
                       tsr_error_last());
    cr_expect_not_null(strstr(tsr_error_last(), "per_device_train_batch_size"), "%s",
                       tsr_error_last());
    cr_expect_null(strstr(tsr_error_last(), "shorter context"), "%s", tsr_error_last());
    end(&s);
}

static tsr_backend forgetful;
static const tsr_backend *sound;
static bool writes;

static tsr_status transfer_if(tsr_dev *dev, const tsr_transfer *transfer, const tsr_waits *waits,
                              tsr_event **done) {
    if (transfer->kind == TSR_TRANSFER_WRITE && !writes)
        return tsri_base_fail(TSR_E_DEVICE, "nothing is written");
    return sound->transfer(dev, transfer, waits, done);
}

static double first_loss(subject *s) {
    static const int32_t ids[] = {1, 2, 3, 4}, targets[] = {2, 3, 4, 5}, len[] = {4};
    const tsri_training_batch batch = {
        .B = 1, .T = 4, .S = 1, .ids = ids, .len = len, .targets = targets};
    tsri_training_loss loss;
    OK(tsri_training_evaluate(s->training, &batch, &loss));
    return loss.loss;
}

Test(plans, parameters_that_were_not_written_are_written_by_the_next_batch) {
    const tsri_training_options options = {.objective = TSRI_OBJECTIVE_NEXT};
    subject s, other;
    begin(&other, "gpt2", &options);
    begin(&s, "gpt2", &options);
    tsri_backend_device *device = tsri_backend_opened(s.device)->devices[0];
    sound = device->backend;
    forgetful = *sound;
    forgetful.transfer = transfer_if;
    device->backend = &forgetful;
    writes = false;
    cr_expect_eq(tsri_training_reserve(s.training, 1, 4, 1), TSR_E_DEVICE);
    writes = true;
    cr_expect_eq(first_loss(&s), first_loss(&other));
    end(&s);
    end(&other);
}

enum { MOST_SITES = 256 };

/* Lists the dropouts of a pass; those of the backward pass repeat the forward ones. */
static size_t sites_of(const tsri_training *t, tsri_training_pass pass,
                       uint32_t sites[MOST_SITES]) {
    tsri_graph *graph = NULL;
    size_t n = 0;
    OK(tsri_training_graph(t, pass, 0, &graph));
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        if (node->id != TSR_OP_DROPOUT)
            continue;
        cr_assert_lt(n, MOST_SITES);
        sites[n++] = ((const tsr_dropout_attrs *)node->attrs)->site;
    }
    tsri_graph_destroy(&graph);
    return n;
}

Test(plans, each_place_of_dropout_draws_its_own_mask) {
    static const struct {
        const char *folder;
        tsri_training_objective objective;
        size_t least; /* the embeddings', and in each layer two parts', each with an inner one */
    } rows[] = {{"gpt2", TSRI_OBJECTIVE_NEXT, 4},
                {"bert", TSRI_OBJECTIVE_MASKED, 4},
                {"marian", TSRI_OBJECTIVE_TRANSLATE, 9}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const tsri_training_options options = {
            .objective = rows[r].objective, .dropout = 0.1f, .activation_dropout = 0.1f};
        uint32_t sites[MOST_SITES];
        subject s;
        begin(&s, rows[r].folder, &options);
        const size_t n = sites_of(s.training, TSRI_PASS_LEARN, sites);
        cr_expect_geq(n, rows[r].least, "%s: %zu", rows[r].folder, n);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++)
                cr_expect_neq(sites[i], sites[j], "%s: dropouts %zu and %zu draw the same mask",
                              rows[r].folder, j, i);
        cr_expect_eq(sites_of(s.training, TSRI_PASS_EVALUATE, sites), 0);
        cr_expect_eq(sites_of(s.training, TSRI_PASS_LOGITS, sites), 0);
        end(&s);
    }
}

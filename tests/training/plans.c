/* What a training needs from its graphs and from the machine, before the first step. */
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

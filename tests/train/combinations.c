/* Models of every kind of positions, with norms before and after, causal and bidirectional, made by
 * a recipe and trained on the reference: the gradient must be that of the loss, and the loss must
 * fall. */
#include "model/model.h"
#include "tessera/model.h"
#include "train/start/init.h"
#include "train/step/training.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s: %s", title, tsr_error_last())
#define SOURCE TESSERA_SOURCE_DIR

enum { B = 3, T = 7, S = 5, LABELS = 3, STEPS = 12 };

typedef struct combination {
    char recipe[32], sets[160];
    tsri_training_objective objective;
} combination;

/* One batch of random tokens, in sequences of different lengths. */
typedef struct example {
    int32_t ids[B * T], source[B * S], targets[B * T], len[B], source_len[B];
    tsri_training_batch batch;
} example;

static void fill(example *e, tsri_training_objective objective) {
    uint32_t state = 12345;
    for (int b = 0; b < B; b++) {
        e->len[b] = T - 2 * b;
        e->source_len[b] = S - b;
    }
    for (int i = 0; i < B * T; i++) {
        state = state * 1664525u + 1013904223u;
        e->ids[i] = 5 + (int32_t)(state >> 20) % 90;
        state = state * 1664525u + 1013904223u;
        const bool counts =
            i % T < e->len[i / T] && (objective != TSRI_OBJECTIVE_MASKED || i % 3 == 0);
        e->targets[i] = counts ? 5 + (int32_t)(state >> 20) % 90 : TSRI_TRAINING_IGNORE;
    }
    for (int i = 0; i < B * S; i++)
        e->source[i] = 5 + (int32_t)((state = state * 1664525u + 1013904223u) >> 20) % 90;
    for (int b = 0; b < B && objective == TSRI_OBJECTIVE_CLASSIFY; b++)
        e->targets[b] = b % LABELS;
    e->batch = (tsri_training_batch){
        .B = B, .T = T, .S = S, .ids = e->ids, .len = e->len, .targets = e->targets};
    if (objective == TSRI_OBJECTIVE_TRANSLATE) {
        e->batch.source = e->source;
        e->batch.source_len = e->source_len;
    }
}

static void make(const combination *c, const char *folder) {
    static const char *const labels[] = {"a", "b", "c"};
    const char *title = c->sets;
    const tsri_train_init_options options = {.folder = folder,
                                             .seed = 3,
                                             .objective = c->objective,
                                             .labels = labels,
                                             .n_labels = LABELS,
                                             .tokenizer = c->objective == TSRI_OBJECTIVE_TRANSLATE
                                                              ? SOURCE "/models/translate-de-en"
                                                              : SOURCE "/models/shakespeare"};
    tsri_train_recipe *recipe = NULL;
    tsri_train_made made;
    char copy[200], *rest = NULL;
    setenv("TESSERA_RECIPES", SOURCE "/recipes", 1);
    snprintf(copy, sizeof copy, "hidden_size=16 %s %s",
             strcmp(c->recipe, "bahdanau") ? "layers=2 heads=2 ffn=24" : "", c->sets);
    OK(tsri_train_recipe_open(c->recipe, &recipe));
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        bool own;
        *value = 0;
        OK(tsri_train_recipe_set(recipe, word, value + 1, &own));
    }
    OK(tsri_train_recipe_finish(recipe, 16));
    OK(tsri_train_init(recipe, &options, &made));
    tsri_train_recipe_close(&recipe);
}

static double loss_of(tsri_training *training, const example *e, const char *title) {
    tsri_training_loss loss;
    OK(tsri_training_evaluate(training, &e->batch, &loss));
    cr_assert(isfinite(loss.loss) && loss.counted > 0, "%s: loss %g", title, loss.loss);
    return loss.loss;
}

/* Along its own direction, a gradient g changes the loss by |g|^2 per step; this is checked by
 * central differences. */
static void check_gradient(tsr_model *model, tsr_device *device, const example *e,
                           const combination *c) {
    const char *title = c->sets, *culprit = NULL;
    const tsri_training_options options = {.objective = c->objective,
                                           .optimizer = TSRI_OPTIMIZER_SGD};
    tsri_training *training = NULL;
    tsri_training_loss loss;
    double norm = 0;
    OK(tsri_training_create(model, device, &options, &training));
    OK(tsri_training_gradients(training, &e->batch, true, 1, 0, &loss));
    OK(tsri_training_norm(training, &norm, &culprit));
    cr_assert(norm > 1e-3 && !culprit, "%s: norm %g", title, norm);
    cr_expect(fabs(loss.loss - loss_of(training, e, title)) < 1e-5 * loss.loss, "%s", title);
    const double step = 3e-3 / norm;
    OK(tsri_training_update(training, 0, step, 1));
    const double below = loss_of(training, e, title);
    OK(tsri_training_update(training, 1, step, -2));
    const double above = loss_of(training, e, title);
    const double slope = (above - below) / (2 * step);
    cr_expect(fabs(slope / (norm * norm) - 1) < 0.01,
              "%s: the loss changes by %.6g a step, its gradient says %.6g", title, slope,
              norm * norm);
    tsri_training_destroy(&training);
}

static void check_learning(tsr_model *model, tsr_device *device, const example *e,
                           const combination *c) {
    const char *title = c->sets;
    const tsri_training_options options = {.objective = c->objective,
                                           .optimizer = TSRI_OPTIMIZER_ADAMW,
                                           .beta1 = 0.9f,
                                           .beta2 = 0.99f,
                                           .eps = 1e-8f};
    tsri_training *training = NULL;
    tsri_training_loss loss;
    OK(tsri_training_create(model, device, &options, &training));
    const double before = loss_of(training, e, title);
    for (uint64_t step = 0; step < STEPS; step++) {
        OK(tsri_training_gradients(training, &e->batch, true, 1, step, &loss));
        OK(tsri_training_update(training, step, 1e-2, 1));
    }
    const double after = loss_of(training, e, title);
    cr_expect(after < 0.9 * before, "%s: loss %g, then %g", title, before, after);
    tsri_training_destroy(&training);
}

static void train(const combination *c) {
    const char *title = c->sets;
    char folder[] = "/tmp/tessera-combination-XXXXXX", command[128];
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    tsr_model *model = NULL;
    static example e;
    cr_assert(mkdtemp(folder));
    make(c, folder);
    fill(&e, c->objective);
    OK(tsr_engine_create(NULL, &engine));
    OK(tsr_device_open(engine, "reference", NULL, &device));
    OK(tsr_model_open(folder, NULL, NULL, &model));
    check_gradient(model, device, &e, c);
    check_learning(model, device, &e, c);
    tsr_model_close(&model);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(system(command) == 0);
}

static const struct kind {
    const char *title, *recipe, *sets;
    tsri_training_objective objective;
} kinds[] = {
    {"decoder", "char-gpt", "", TSRI_OBJECTIVE_NEXT},
    {"encoder", "bert-mini", "", TSRI_OBJECTIVE_MASKED},
    {"classifier", "bert-mini", "", TSRI_OBJECTIVE_CLASSIFY},
    {"translator", "transformer-base", "encoder_layers=1", TSRI_OBJECTIVE_TRANSLATE},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void train_positions(const char *positions) {
    static const char *const norms[] = {"pre", "post"}, *const types[] = {"layer", "rms"};
    for (int k = 0; k < KINDS; k++)
        for (int norm = 0; norm < 2; norm++) {
            combination c = {.objective = kinds[k].objective};
            snprintf(c.recipe, sizeof c.recipe, "%s", kinds[k].recipe);
            snprintf(c.sets, sizeof c.sets, "positions=%s norm=%s norm_type=%s %s", positions,
                     norms[norm], types[(k + norm) % 2], kinds[k].sets);
            train(&c);
        }
}

Test(combinations, none) {
    train_positions("none");
}

Test(combinations, learned) {
    train_positions("learned");
}

Test(combinations, sinusoidal) {
    train_positions("sinusoidal");
}

Test(combinations, rotary) {
    train_positions("rotary");
}

Test(combinations, alibi) {
    train_positions("alibi");
}

Test(combinations, families_besides) {
    static const combination rows[] = {
        {"char-gpt",
         "positions=rotary norm_type=rms gated=true activation=silu bias=false "
         "kv_heads=1 tied=false",
         TSRI_OBJECTIVE_NEXT},
        {"char-gpt", "positions=rotary", TSRI_OBJECTIVE_NEXT},
        {"char-gpt", "positions=rotary bias=false kv_heads=1", TSRI_OBJECTIVE_NEXT},
        {"char-gpt", "positions=alibi activation=gelu_tanh ffn=64", TSRI_OBJECTIVE_NEXT},
        {"char-gpt", "positions=learned norm=post activation=relu", TSRI_OBJECTIVE_NEXT},
        {"char-gpt", "tied=false activation=tanh", TSRI_OBJECTIVE_NEXT},
        {"bert-mini", "attention=causal gated=true tied=false", TSRI_OBJECTIVE_MASKED},
        {"bert-mini", "norm=post positions=learned", TSRI_OBJECTIVE_MASKED},
        {"bert-mini", "norm=post positions=learned", TSRI_OBJECTIVE_CLASSIFY},
        {"transformer-base", "norm=post encoder_layers=1", TSRI_OBJECTIVE_TRANSLATE},
        {"transformer-base", "positions=learned norm=post", TSRI_OBJECTIVE_TRANSLATE},
        {"bahdanau", "embed_size=12 attention_size=10", TSRI_OBJECTIVE_TRANSLATE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        train(&rows[i]);
}

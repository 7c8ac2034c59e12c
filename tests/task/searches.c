/* Generated texts, compared with the official implementation: the golden models' greedy and beam
 * results, alone and as one batch, and every setting of a search (tests/golden/search). */
#include "support/cases.h"
#include "support/folder.h"
#include "support/larger.h"
#include "task/fixture.h"
#include "tessera/translate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROMPTS = 9, BEST = 5, STEPS = 24 };

typedef struct results {
    hypothesis of[PROMPTS][BEST];
} results;

static int take(void *data, const tsr_generated *g) {
    results *r = data;
    cr_assert(g->prompt < PROMPTS && g->hypothesis < BEST);
    hypothesis_add(&r->of[g->prompt][g->hypothesis], g);
    return 0;
}

static size_t read_ids(const json_t *list, int32_t *out, size_t most) {
    const size_t n = json_array_size(list);
    cr_assert(n <= most);
    for (size_t i = 0; i < n; i++)
        out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return n;
}

static void compare(const char *name, const hypothesis *got, const json_t *wanted) {
    int32_t ids[STEPS];
    const size_t n = read_ids(json_object_get(wanted, "ids"), ids, STEPS);
    const json_t *score = json_object_get(wanted, "score");
    cr_assert(got->finished, "%s: not found", name);
    cr_assert(got->n == n && !memcmp(got->ids, ids, n * sizeof *ids), "%s: other ids", name);
    if (score)
        cr_assert(hypothesis_scores(got, score), "%s: score %g, wanted %g", name,
                  (double)got->score, json_number_value(score));
}

static void compare_all(const char *name, const hypothesis *got, const json_t *wanted) {
    const json_t *one;
    size_t i;
    json_array_foreach(wanted, i, one) compare(name, &got[i], one);
    for (; i < BEST; i++)
        cr_assert(got[i].n == 0, "%s: a result too many", name);
}

/* Searches several cases as one batch; they share their settings. */
static void run(tsr_model *model, const json_t *const *cases, uint32_t n,
                const tsr_generate_options *options, results *out) {
    static int32_t ids[PROMPTS][64];
    tsr_prompt prompts[PROMPTS];
    const tsr_prompt *pointers[PROMPTS];
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        const json_t *given = json_object_get(cases[i], "input_ids");
        prompts[i] = (tsr_prompt){.struct_size = sizeof *prompts,
                                  .ids = ids[i],
                                  .n_ids = (uint32_t)read_ids(given, ids[i], 64)};
        pointers[i] = &prompts[i];
    }
    OK(tsr_generate(model, pointers, n, options, take, out, NULL));
}

/* ---- golden models ---- */

static void folder_of(const char *name, char out[1024]) {
    snprintf(out, 1024, "%s/tests/golden/models/%s", TESSERA_SOURCE_DIR, name);
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* The cases of one mode and length penalty. */
static uint32_t select_cases(const json_t *all, const char *mode, double penalty,
                             const json_t **out) {
    const json_t *one;
    uint32_t n = 0;
    size_t i;
    json_array_foreach(all, i, one) {
        const json_t *given = json_object_get(one, "length_penalty");
        if (!strcmp(text_of(one, "mode"), mode) && (!given || json_number_value(given) == penalty))
            out[n++] = one;
        cr_assert(n < PROMPTS);
    }
    return n;
}

static void check_group(tsr_model *model, const json_t *const *cases, uint32_t n,
                        const tsr_generate_options *options, bool beams) {
    static results together, alone;
    run(model, cases, n, options, &together);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = text_of(cases[i], "name");
        if (beams)
            compare_all(name, together.of[i], json_object_get(cases[i], "hypotheses"));
        else
            compare(name, together.of[i], cases[i]);
        run(model, cases + i, 1, options, &alone);
        for (int k = 0; k < BEST; k++) /* to the byte */
            cr_assert(!memcmp(&alone.of[0][k], &together.of[i][k], sizeof(hypothesis)),
                      "%s: other results in a batch", name);
    }
}

static void check_folder(const char *folder, const char *selector, tsr_early_stopping stopping) {
    const json_t *cases[PROMPTS];
    static const double penalties[] = {1, 0.6};
    tsr_generate_options options = {.struct_size = sizeof options};
    tsr_model *model;
    OK(tsr_engine_create(NULL, &engine));
    if (tsr_device_open(engine, selector, NULL, &device) != TSR_OK)
        cr_skip_test("no device: %s", tsr_error_last());
    OK(tsr_model_open(folder, device, NULL, &model));
    json_t *root = read_json(folder, "cases.json");
    const json_t *all = json_object_get(root, "generate");
    OK(tsr_generate_defaults(model, &options));
    options.temperature = 0;
    options.max_new_tokens = STEPS;
    options.early_stopping = stopping;
    check_group(model, cases, select_cases(all, "greedy", 1, cases), &options, false);
    for (int i = 0; i < 2; i++) {
        options.num_beams = options.n_best = 4;
        options.length_penalty = (float)penalties[i];
        const uint32_t n = select_cases(all, "beam", penalties[i], cases);
        check_group(model, cases, n, &options, true);
    }
    json_decref(root);
    tsr_model_close(&model);
    close_reference();
}

static void check_golden(const char *name, const char *selector, tsr_early_stopping stopping) {
    char folder[1024], golden[128];
    folder_of(name, folder);
    check_folder(folder, selector, stopping);
    snprintf(golden, sizeof golden, "golden/%s", name);
    char *larger = larger_path(golden);
    if (larger)
        check_folder(larger, selector, stopping);
    free(larger);
}

#define REFERENCE(title, name, stopping)           \
    Test(searches_reference, title) {              \
        check_golden(name, "reference", stopping); \
    }
#define GOLDEN(title, name, stopping)       \
    REFERENCE(title, name, stopping)        \
    Test(searches_device, title) {          \
        check_golden(name, NULL, stopping); \
    }
/* On the device, only with ci/test --all. */
#define GOLDEN_OF_ALL(title, name, stopping)                                                     \
    REFERENCE(title, name, stopping)                                                             \
    Test(searches_device, title) {                                                               \
        if (cases_wanted() != TEST_ALL)                                                          \
            cr_skip_test("this lane takes one golden model of a kind; ci/test --all takes all"); \
        check_golden(name, NULL, stopping);                                                      \
    }

GOLDEN(gpt2, "gpt2", TSR_EARLY_HEURISTIC)
GOLDEN_OF_ALL(llama, "llama", TSR_EARLY_HEURISTIC)
REFERENCE(llama3, "llama3", TSR_EARLY_HEURISTIC)
REFERENCE(qwen2, "qwen2", TSR_EARLY_HEURISTIC)
GOLDEN_OF_ALL(mistral, "mistral", TSR_EARLY_HEURISTIC)
GOLDEN_OF_ALL(bart, "bart", TSR_EARLY_HEURISTIC)
GOLDEN(marian, "marian", TSR_EARLY_HEURISTIC)
GOLDEN(t5, "t5", TSR_EARLY_HEURISTIC)
GOLDEN(t5_gated, "t5-v1.1", TSR_EARLY_HEURISTIC)
GOLDEN_OF_ALL(transformer_base, "transformer-base", TSR_EARLY_NEVER)
GOLDEN_OF_ALL(bahdanau, "bahdanau", TSR_EARLY_NEVER)

/* ---- settings ---- */

/* Makes a folder with the model's weights, and the settings as its generation_config.json. Where
 * these have an end token, config.json gets another one, which must be ignored. */
static void write_model(const char *from, const char *to, json_t *settings, int64_t other_end) {
    char path[1100], target[1100];
    snprintf(path, sizeof path, "%s/model.safetensors", from);
    snprintf(target, sizeof target, "%s/model.safetensors", to);
    if (access(target, F_OK))
        cr_assert(symlink(path, target) == 0);
    json_t *config = read_json(from, "config.json");
    if (json_is_number(json_object_get(settings, "eos_token_id")) ||
        json_is_array(json_object_get(settings, "eos_token_id")))
        json_object_set_new(config, "eos_token_id", json_integer(other_end));
    else
        json_object_del(config, "eos_token_id");
    snprintf(path, sizeof path, "%s/config.json", to);
    cr_assert(json_dump_file(config, path, 0) == 0);
    json_decref(config);
    snprintf(path, sizeof path, "%s/generation_config.json", to);
    cr_assert(json_dump_file(settings, path, 0) == 0);
}

static void check_settings(const char *name) {
    char folder[1024], to[64], file[64];
    static results got;
    tsr_model *model;
    json_t *one;
    size_t i;
    folder_of(name, folder);
    snprintf(file, sizeof file, "%s.json", name);
    json_t *root = read_json(TESSERA_SOURCE_DIR "/tests/golden/search", file);
    folder_make(to);
    open_reference();
    json_array_foreach(json_object_get(root, "cases"), i, one) {
        const json_t *wanted = json_object_get(one, "hypotheses");
        tsr_generate_options options = {.struct_size = sizeof options};
        const json_t *ids = json_object_get(json_array_get(wanted, 0), "ids");
        write_model(folder, to, json_object_get(one, "generation_config"),
                    json_integer_value(json_array_get(ids, 0)));
        OK(tsr_model_open(to, device, NULL, &model));
        OK(tsr_generate_defaults(model, &options));
        options.n_best = options.num_beams > 1 ? options.num_beams : 0;
        options.temperature = 0;
        run(model, (const json_t *const *)&one, 1, &options, &got);
        compare_all(text_of(one, "name"), got.of[0], wanted);
        tsr_model_close(&model);
    }
    cr_assert(i > 40);
    json_decref(root);
    close_reference();
    folder_drop(to);
}

Test(searches_settings, gpt2_tiny) {
    check_settings("gpt2-tiny");
}
Test(searches_settings, llama_tiny) {
    check_settings("llama-tiny");
}
Test(searches_settings, marian) {
    check_settings("marian");
}
Test(searches_settings, bart) {
    check_settings("bart");
}
Test(searches_settings, t5) {
    check_settings("t5");
}

/* ---- what a search refuses ---- */

Test(searches, log_probabilities_of_tokens_need_one_beam) {
    static const struct {
        uint32_t beams, logprobs, return_logprob;
        tsr_status wanted;
    } rows[] = {
        {2, 3, 0, TSR_E_ARGUMENT}, {2, 0, 1, TSR_E_ARGUMENT}, {1, 3, 1, TSR_OK}, {2, 0, 0, TSR_OK}};
    static const int32_t ids[] = {5};
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = ids, .n_ids = 1};
    const tsr_prompt *const prompts[] = {&prompt};
    char folder[1024];
    tsr_model *model = NULL;
    folder_of("gpt2-tiny", folder);
    open_reference();
    OK(tsr_model_open(folder, device, NULL, &model));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsr_generate_options o = {.struct_size = sizeof o};
        collected got = {0};
        OK(tsr_generate_defaults(model, &o));
        o.max_new_tokens = 2;
        o.num_beams = rows[i].beams;
        o.logprobs = rows[i].logprobs;
        o.return_logprob = rows[i].return_logprob;
        const tsr_status status = tsr_generate(model, prompts, 1, &o, collect, &got, NULL);
        cr_expect(status == rows[i].wanted &&
                      (!status || strstr(tsr_error_last(), "num_beams is 2; it must be at most 1 "
                                                           "with log-probabilities of tokens")),
                  "row %zu: %d, %s", i, (int)status, tsr_error_last());
    }
    tsr_model_close(&model);
    close_reference();
}

/* ---- translations ---- */

static const char translator[] = TESSERA_SOURCE_DIR "/tests/golden/translate";

static tsr_status translate(tsr_model *model, const tsr_generate_options *search) {
    const tsr_translate_options options = {.struct_size = sizeof options, .search = search};
    char *text = NULL;
    const tsr_status status = tsr_translate_text(model, &options, "one", 3, &text, NULL);
    tsr_text_free(text);
    return status;
}

Test(searches, translations_refuse_what_they_do_not_read) {
    static const tsr_logit_bias bias = {.id = 3, .bias = 5};
    static const struct {
        const char *name;
        tsr_generate_options given;
    } rows[] = {{"presence_penalty", {.presence_penalty = 1}},
                {"frequency_penalty", {.frequency_penalty = -1}},
                {"logit_bias", {.logit_bias = &bias, .n_logit_bias = 1}},
                {"grammar", {.grammar = "root ::= \"a\""}},
                {"json_schema", {.json_schema = "{}"}}};
    tsr_model *model = NULL;
    open_reference();
    OK(tsr_model_open(translator, device, NULL, &model));
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        tsr_generate_options o = {.struct_size = sizeof o};
        const tsr_generate_options *given = &rows[i / 2].given;
        OK(tsr_translate_defaults(model, &o));
        o.num_beams = 1 + i % 2;
        o.presence_penalty = given->presence_penalty;
        o.frequency_penalty = given->frequency_penalty;
        o.logit_bias = given->logit_bias;
        o.n_logit_bias = given->n_logit_bias;
        o.grammar = given->grammar;
        o.json_schema = given->json_schema;
        cr_expect(translate(model, &o) == TSR_E_ARGUMENT &&
                      !strncmp(tsr_error_last(), rows[i / 2].name, strlen(rows[i / 2].name)),
                  "%s: %s", rows[i / 2].name, tsr_error_last());
    }
    tsr_generate_options o = {.struct_size = sizeof o};
    OK(tsr_translate_defaults(model, &o));
    o.logprobs = 3;
    o.return_logprob = 1;
    o.num_beams = 2;
    OK(translate(model, &o)); /* it does not read these */
    tsr_model_close(&model);
    close_reference();
}

Test(searches, a_translation_of_damaged_weights_is_an_error) {
    static const float values[] = {3e38f, -3e38f}; /* they overflow */
    open_reference();
    for (size_t i = 0; i < 3 * sizeof values / sizeof *values; i++) {
        char folder[64];
        tsr_model *model = NULL;
        tsr_generate_options o = {.struct_size = sizeof o};
        make_damaged_folder(translator, "model.decoder.layers.0.final_layer_norm.weight",
                            values[i / 3], folder);
        OK(tsr_model_open(folder, device, NULL, &model));
        OK(tsr_translate_defaults(model, &o));
        o.num_beams = i % 3 == 1 ? 2 : 1;
        o.n_best = i % 3 == 2;
        cr_expect(translate(model, &o) == TSR_E_DEVICE &&
                      strstr(tsr_error_last(), "are not numbers"),
                  "%g, way %zu: %s", (double)values[i / 3], i % 3, tsr_error_last());
        tsr_model_close(&model);
        folder_drop(folder);
    }
    close_reference();
}

/* Which goldens are tested, and how their models are opened. */
#include "model/fixture.h"

#include "base/files.h"
#include "model/compare.h"
#include "support/cases.h"
#include "support/larger.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *golden_folder(const char *name, int which) {
    char path[1024];
    if (which > 1)
        return NULL;
    snprintf(path, sizeof path, "%s%s",
             which ? "golden/" : TESSERA_SOURCE_DIR "/tests/golden/models/", name);
    return which ? larger_path(path) : strdup(path);
}

void fixture_few(const char *name) {
    enum { FEWEST = 6 };
    static const char *const few[] = {
        /* the fewest cases */
        "gpt2-tiny", "llama-tiny", "bert-tiny/pre", "t5-tiny", "bahdanau", "tessera-translate",
        /* more cases */
        "qwen2-window", "opt-post", "bloom", "gpt_neox", "gemma2", "gemma3_text", "olmo2",
        "cohere2", "deepseek_v3", "albert/mlm", "deberta_v2/mlm", "tessera-encoder/mlm", "m2m_100"};
    const test_cases wanted = cases_wanted();
    const size_t n = wanted == TEST_SMOKE ? FEWEST : sizeof few / sizeof *few;
    bool chosen = wanted == TEST_ALL;
    for (size_t i = 0; i < n && !chosen; i++)
        chosen = strcmp(few[i], name) == 0;
    if (!chosen)
        cr_skip_test("this run takes one golden model of each kind; ci/test --all takes all");
}

/* Every op of every architecture has a kernel: the reference backend takes a hundred times as long. */
static void expect_kernels(void *data, tsr_log_level level, const char *line) {
    (void)data, (void)level;
    cr_expect_null(strstr(line, "runs on the reference backend"), "%s", line);
}

void fixture_device(fixture *fixture, const char *selector) {
    const tsri_backend_options options = {0};
    const tsr_device_options device_options = {.struct_size = sizeof device_options};
    size_t device = 0;
    *fixture = (struct fixture){0};
    OK(tsri_backend_set_open(&options, &fixture->set));
    OK(tsri_backend_select(fixture->set, selector, 0, &device));
    if (!selector &&
        strcmp(tsri_backend_at(fixture->set, device)->backend->name, "reference") == 0) {
        tsri_backend_set_close(&fixture->set);
        cr_skip_test("the reference is the only device");
    }
    OK(tsri_backend_device_open(fixture->set, device, &device_options, &fixture->device));
    tsri_run_options run = {
        .devices = &fixture->device, .n_devices = 1, .set = fixture->set, .log = expect_kernels};
    OK(tsri_run_create(&run, &fixture->run));
}

void fixture_model(fixture *fixture, const char *path, const tsri_model_options *options) {
    const tsri_model_options none = {0};
    OK(tsri_model_open(path, options ? options : &none, &fixture->model));
    OK(tsri_model_store(fixture->model, fixture->run, options ? options : &none));
}

void fixture_close(fixture *fixture) {
    tsri_model_close(&fixture->model);
    tsri_run_destroy(&fixture->run);
    tsri_backend_device_close(&fixture->device);
    tsri_backend_set_close(&fixture->set);
}

/* ---- golden cases ---- */

static void compare_case(tsri_model *model, const tsri_io_archive *archive, const json_t *object) {
    static batch batch;
    const tsri_model_spec *spec = &model->spec;
    const int32_t L = spec->decoder.layers, H = spec->decoder.heads;
    const char *title = json_string_value(json_object_get(object, "name"));
    tsri_session *session = NULL;
    char name[128];
    read_batch(object, "input_ids", "attention_mask", &batch);
    float *logits = calloc((size_t)(batch.tokens * spec->vocab), sizeof *logits), *hidden[64],
          *attention[64];
    for (int32_t i = 0; i <= L; i++)
        hidden[i] = calloc((size_t)(batch.tokens * spec->width), sizeof **hidden);
    for (int32_t i = 0; i < L; i++)
        attention[i] = calloc((size_t)(batch.B * H * batch.T * batch.T), sizeof **attention);
    /* transformers chooses longrope's factors by the length of the text */
    OK(tsri_session_create(model, batch.B, batch.T, &session));
    const bool writes = tsri_model_has_output(model->weights);
    tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = writes ? logits : NULL};
    snprintf(name, sizeof name, "%s.logits", title);
    for (int pass = 0; pass < 2; pass++) {
        OK(tsri_session_forward(session, batch.sequences, batch.B, &results));
        if (writes)
            compare_tokens(archive, name, &batch, logits, spec->vocab);
        results.hidden = hidden;
        results.attention = attention;
    }
    for (int32_t i = 0; i <= L; i++) {
        snprintf(name, sizeof name, "%s.hidden.%d", title, i);
        compare_tokens(archive, name, &batch, hidden[i], spec->width);
        free(hidden[i]);
    }
    for (int32_t i = 0; i < L; i++) {
        snprintf(name, sizeof name, "%s.attn.%d", title, i);
        compare_attention(archive, name, &batch, &batch, attention[i], H);
        free(attention[i]);
    }
    tsri_session_destroy(&session);
    free(logits);
}

/* Greedy continuations of all prompts, as one batch of unequal lengths, token by token: ids are
 * exact, logits within the tolerance. */
static void compare_greedy(tsri_model *model, const tsri_io_archive *archive,
                           const json_t *generate) {
    static int32_t ids[MOST_BATCH][MOST_TOKENS];
    const int32_t V = model->spec.vocab;
    const json_t *wanted_ids[MOST_BATCH], *object;
    tsri_model_sequence sequences[MOST_BATCH];
    expected want[MOST_BATCH];
    int32_t argmax[MOST_BATCH], n = 0;
    size_t i;
    json_array_foreach(generate, i, object) {
        const json_t *prompt = json_array_get(json_object_get(object, "input_ids"), 0);
        char name[64];
        if (strcmp(json_string_value(json_object_get(object, "mode")), "greedy") != 0)
            continue;
        cr_assert(n < MOST_BATCH);
        prompt = json_is_array(prompt) ? prompt : json_object_get(object, "input_ids");
        const int64_t length = (int64_t)json_array_size(prompt);
        for (int64_t t = 0; t < length; t++)
            ids[n][t] = (int32_t)json_integer_value(json_array_get(prompt, (size_t)t));
        sequences[n] = (tsri_model_sequence){.ids = ids[n], .n = length, .slot = n};
        wanted_ids[n] = json_object_get(object, "ids_without_eos_stop");
        snprintf(name, sizeof name, "%s.logits",
                 json_string_value(json_object_get(object, "name")));
        cr_assert(read_expected(archive, name, &want[n]), "%s is not in the golden file", name);
        n++;
    }
    if (n == 0)
        return;
    tsri_session *session = NULL;
    float *logits = calloc((size_t)(n * V), sizeof *logits);
    OK(tsri_session_create(model, n, 0, &session));
    for (int64_t step = 0; step < 24; step++) {
        const tsri_model_results results = {
            .rows = TSRI_ROWS_LAST, .logits = logits, .argmax = argmax};
        OK(tsri_session_forward(session, sequences, n, &results));
        for (int32_t b = 0; b < n; b++) {
            compare_row("greedy logits", &want[b], (uint64_t)(step * V), logits + b * V, V);
            cr_assert(argmax[b] == json_integer_value(json_array_get(wanted_ids[b], (size_t)step)),
                      "prompt %d, token %d: %d", b, (int)step, argmax[b]);
            sequences[b].past += sequences[b].n;
            sequences[b].n = 1;
            ids[b][0] = argmax[b];
        }
    }
    for (int32_t b = 0; b < n; b++)
        free(want[b].data);
    tsri_session_destroy(&session);
    free(logits);
}

/* Products are of f32: int8, which weights in blocks get elsewhere, is not within the tolerance. */
static void compare_folder(const char *folder, const char *file, const char *selector) {
    const tsri_model_options options = {.compute = TSR_MODEL_COMPUTE_F32};
    char path[1100];
    fixture fixture;
    tsri_io_archive *archive = NULL;
    json_t *cases = NULL, *object;
    size_t i;
    fixture_device(&fixture, selector);
    snprintf(path, sizeof path, "%s%s%s", folder, file ? "/" : "", file ? file : "");
    fixture_model(&fixture, path, &options);
    snprintf(path, sizeof path, "%s/expected.safetensors", folder);
    OK(tsri_io_open(path, &archive));
    snprintf(path, sizeof path, "%s/cases.json", folder);
    OK(tsri_base_json_load(path, 1 << 24, 64, &cases));
    cr_assert(json_array_size(json_object_get(cases, "cases")) > 0);
    json_array_foreach(json_object_get(cases, "cases"), i, object)
        compare_case(fixture.model, archive, object);
    if (tsri_model_has_output(fixture.model->weights))
        compare_greedy(fixture.model, archive, json_object_get(cases, "generate"));
    json_decref(cases);
    tsri_io_close(&archive);
    fixture_close(&fixture);
}

void compare_golden(const char *name, const char *file, const char *selector) {
    char *folder;
    for (int which = 0; (folder = golden_folder(name, which)) && !(which && file); which++) {
        compare_folder(folder, file, selector);
        free(folder);
    }
}

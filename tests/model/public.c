/* The public model: opened on a device or only for inspection, described, explained, cancelled. */
#include "base/json.h"
#include "support/folder.h"
#include "tessera/generate.h"
#include "tessera/run.h"
#include "tessera/tokenizer.h"
#include "tessera/translate.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

static const char shakespeare[] = TESSERA_SOURCE_DIR "/models/shakespeare";

static tsr_engine *engine;
static tsr_device *device;

static void open_device(void) {
    OK(tsr_engine_create(NULL, &engine));
    OK(tsr_device_open(engine, "reference", NULL, &device));
}

static void close_device(void) {
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
}

TestSuite(public_model, .init = open_device, .fini = close_device);

static void pass_op(void *data, const tsr_explained *op) {
    (void)data, (void)op;
}

static void count_line(void *data, const char *name, const char *value) {
    cr_assert(*name && value);
    ++*(int *)data;
}

Test(public_model, looked_at) {
    tsr_model *model = NULL;
    tsr_model_info info = {.struct_size = sizeof info};
    int lines = 0;
    OK(tsr_model_open(shakespeare, NULL, NULL, &model));
    OK(tsr_model_info_get(model, &info));
    cr_expect(strcmp(info.family, "gpt2") == 0 && strcmp(info.format, "safetensors") == 0 &&
              strcmp(info.stored, "f16") == 0);
    cr_expect(info.layers == 6 && info.width == 192 && info.heads == 6 && info.head_size == 32 &&
              info.ffn == 768);
    cr_expect(info.vocab == 1024 && info.context == 512 && info.has_tokenizer == 1 &&
              *info.tokenizer_why == 0);
    /* Each layer has 12 C^2 and 13 C; embeddings V C and T C; the last norm 2 C. */
    const uint64_t matrices = 6 * 12 * 192 * 192,
                   parameters = matrices + 6 * 13 * 192 + (1024 + 512) * 192 + 2 * 192;
    cr_expect(info.parameters == parameters, "%llu, wanted %llu",
              (unsigned long long)info.parameters, (unsigned long long)parameters);
    cr_expect(info.flops_per_token == 2.0 * (double)(matrices + 1024 * 192));
    cr_expect(info.flops_per_past_token == 2.0 * 6 * 6 * 64);
    cr_expect(info.kv_bytes_per_token == 6 * 6 * 64 * 4);
    OK(tsr_model_describe(model, count_line, &lines));
    cr_expect(lines > 6);
    cr_expect(tsr_explain(model, 1, pass_op, NULL) == TSR_E_STATE);
    cr_expect(tsr_explain(model, 1, NULL, NULL) == TSR_E_ARGUMENT);
    cr_expect(tsr_profile(model, NULL, NULL) == TSR_E_ARGUMENT);
    tsr_model_close(&model);
    cr_expect(model == NULL);
}

/* Blocks of q8 lie within one head; an encoder keeps no keys, so it has nothing to refuse. */
Test(public_model, keys_and_values_as_bytes) {
    static const struct {
        const char *name;
        uint32_t dtype;
        tsr_status wanted;
        const char *why;
    } rows[] = {
        {"models/shakespeare", TSR_GGML_Q8_0, TSR_OK, ""},
        {"tests/golden/models/bert", TSR_GGML_Q8_0, TSR_OK, ""},
        {"tests/golden/models/llama-tiny", TSR_GGML_Q8_0, TSR_E_UNSUPPORTED,
         "llama-tiny: keys of 6 numbers and values of 6 can't be kept as q8"},
        {"tests/golden/models/bahdanau", TSR_GGML_Q8_0, TSR_E_UNSUPPORTED, "can't be kept as q8"},
        {"models/shakespeare", TSR_GGML_Q4_0, TSR_E_ARGUMENT, "as f32, f16 or q8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tsr_model_options options = {.struct_size = sizeof options,
                                           .kv_dtype = rows[i].dtype};
        tsr_model_info info = {.struct_size = sizeof info};
        tsr_model *model = NULL;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", TESSERA_SOURCE_DIR, rows[i].name);
        const tsr_status status = tsr_model_open(path, NULL, &options, &model);
        cr_expect(status == rows[i].wanted &&
                      (status == TSR_OK || strstr(tsr_error_last(), rows[i].why)),
                  "%s: %d, %s", rows[i].name, (int)status, tsr_error_last());
        if (i == 0 && status == TSR_OK) {
            OK(tsr_model_info_get(model, &info));
            cr_expect(info.kv_bytes_per_token == 6 * 6 * 2 * 34 &&
                      strcmp(info.kv_dtype, "q8_0") == 0);
        }
        tsr_model_close(&model);
    }
}

static void keep_positions(void *data, const char *name, const char *value) {
    if (strcmp(name, "positions") == 0)
        snprintf(data, 128, "%s", value);
}

Test(public_model, tells_the_scaling_of_positions) {
    tsr_model *model = NULL;
    char positions[128] = "";
    OK(tsr_model_open(TESSERA_SOURCE_DIR "/tests/golden/models/gte-odd/new", NULL, NULL, &model));
    OK(tsr_model_describe(model, keep_positions, positions));
    cr_expect_str_eq(positions, "rotary: 6 of 6 dimensions, theta 11.1111, ntk scaling");
    tsr_model_close(&model);
}

Test(public_model, tokens) {
    static const char text[] = "ROMEO:\nWhat light";
    tsr_model *model = NULL;
    int32_t *ids = NULL;
    size_t n = 0, size = 0;
    char *back = NULL;
    OK(tsr_model_open(shakespeare, NULL, NULL, &model));
    OK(tsr_encode(model, text, strlen(text), 0, &ids, &n));
    cr_expect(n > 0 && n < strlen(text));
    OK(tsr_decode(model, ids, n, 0, &back, &size));
    cr_expect(size == strlen(text) && strcmp(back, text) == 0, "\"%s\"", back);
    tsr_text_free(back);
    cr_expect(tsr_piece(model, ids[0], &size) != NULL && size > 0);
    cr_expect(tsr_token_bytes(model, 1024, &back, &size) == TSR_E_ARGUMENT);
    ids[0] = 1024;
    cr_expect(tsr_decode(model, ids, n, 0, &back, &size) == TSR_E_ARGUMENT);
    cr_expect(tsr_encode(model, text, strlen(text), 8, &ids, &n) == TSR_E_ARGUMENT);
    tsr_ids_free(ids);
    tsr_model_close(&model);
}

/* ---- fingerprints ---- */

static void fingerprint_of(const char *path, char hex[65]) {
    tsr_model *model = NULL;
    OK(tsr_model_open(path, NULL, NULL, &model));
    OK(tsr_model_fingerprint(model, hex));
    tsr_model_close(&model);
}

static void write_file(const char *folder, const char *name, const void *data, size_t n) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(data, 1, n, file) == n && fclose(file) == 0, "%s", path);
}

/* The metadata of a GGUF file is its config: the arrays of the two files are the same. */
Test(public_model, another_rope_base_is_another_fingerprint) {
    static const char of[] = TESSERA_SOURCE_DIR "/tests/golden/models/llama-tiny/model.gguf",
                      key[] = "llama.rope.freq_base";
    char folder[64], path[1024], first[65], second[65];
    static char data[1 << 17];
    folder_make(folder);
    FILE *file = fopen(of, "rb");
    cr_assert(file);
    const size_t n = fread(data, 1, sizeof data, file);
    cr_assert(fclose(file) == 0 && n < sizeof data);
    size_t at = 0;
    while (at + 64 < n && memcmp(data + at, key, sizeof key - 1) != 0)
        at++;
    cr_assert(at + 64 < n);
    snprintf(path, sizeof path, "%s/m.gguf", folder);
    write_file(folder, "m.gguf", data, n);
    fingerprint_of(of, first);
    fingerprint_of(path, second);
    cr_expect_str_eq(first, second);
    data[at + sizeof key - 1 + 4 + 2] ^= 1; /* behind the type: a bit of the f32 */
    write_file(folder, "m.gguf", data, n);
    fingerprint_of(path, second);
    cr_expect(strcmp(first, second) != 0);
    folder_drop(folder);
}

/* Each of these files may say how a model is run or how its texts are cut. */
Test(public_model, another_file_beside_the_weights_is_another_fingerprint) {
    static const char *const names[] = {"generation_config.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "chat_template.jinja",
                                        "tokenizer.model",
                                        "tekken.json",
                                        "tiktoken.model",
                                        "spiece.model",
                                        "spm.model",
                                        "sentencepiece.bpe.model",
                                        "source.spm",
                                        "target.spm",
                                        "target_vocab.json",
                                        "vocab.json",
                                        "vocab.txt",
                                        "sentence_roberta_config.json",
                                        "config_sentence_transformers.json"};
    static const char *const links[] = {"config.json", "model.safetensors", "tokenizer.json"};
    char folder[64], from[1024], path[1024], first[65], second[65];
    folder_make(folder);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        snprintf(from, sizeof from, "%s/%s", shakespeare, links[i]);
        snprintf(path, sizeof path, "%s/%s", folder, links[i]);
        cr_assert(symlink(from, path) == 0);
    }
    fingerprint_of(folder, first);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_file(folder, names[i], "{}", 2);
        fingerprint_of(folder, second);
        cr_expect(strcmp(first, second) != 0, "%s", names[i]);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        cr_assert(unlink(path) == 0);
    }
    write_file(folder, "README.md", "{}", 2);
    fingerprint_of(folder, second);
    cr_expect_str_eq(first, second);
    folder_drop(folder);
}

Test(public_model, a_tokenizer_alone_has_no_fingerprint) {
    static const char of[] = TESSERA_SOURCE_DIR "/models/shakespeare/tokenizer.json";
    const tsr_model_options options = {.struct_size = sizeof options, .tokenizer_only = 1};
    char folder[64], path[1024], hex[65];
    folder_make(folder);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    cr_assert(symlink(of, path) == 0);
    const char *const given[] = {folder, of};
    for (int i = 0; i < 2; i++) {
        tsr_model *model = NULL;
        OK(tsr_model_open(given[i], NULL, &options, &model));
        cr_expect(tsr_model_fingerprint(model, hex) == TSR_E_STATE);
        cr_expect(strstr(tsr_error_last(), given[i]) &&
                      strstr(tsr_error_last(), "has no weights to hash"),
                  "%s", tsr_error_last());
        tsr_model_close(&model);
    }
    folder_drop(folder);
}

static int no_line(void *data, int wait, const char **text, size_t *size) {
    (void)data, (void)wait, (void)text, (void)size;
    cr_assert(false, "a tokenizer translates nothing");
    return 0;
}

static int no_translation(void *data, const tsr_translated *translation) {
    (void)data, (void)translation;
    return 0;
}

/* It is described, and asked to write it says what it lacks. */
Test(public_model, a_tokenizer_alone_serves_as_far_as_it_can) {
    const tsr_model_options options = {.struct_size = sizeof options, .tokenizer_only = 1};
    tsr_generate_options search = {.struct_size = sizeof search};
    tsr_model *model = NULL;
    int lines = 0;
    OK(tsr_model_open(TESSERA_SOURCE_DIR "/models/shakespeare/tokenizer.json", NULL, &options,
                      &model));
    OK(tsr_model_describe(model, count_line, &lines));
    cr_expect(lines > 0);
    OK(tsr_generate_defaults(model, &search));
    cr_expect(search.num_beams == 1);
    OK(tsr_translate_defaults(model, &search));
    cr_expect(search.num_beams > 1);
    cr_expect(tsr_translate(model, NULL, no_line, no_translation, NULL, NULL) == TSR_E_UNSUPPORTED);
    tsr_model_close(&model);
}

static int stop_at_half(void *data, uint64_t done, uint64_t total) {
    ++*(int *)data;
    return done * 2 >= total;
}

Test(public_model, a_load_is_cancelled) {
    int calls = 0;
    tsr_model *model = NULL;
    const tsr_model_options options = {
        .struct_size = sizeof options, .progress = stop_at_half, .progress_data = &calls};
    cr_expect(tsr_model_open(shakespeare, device, &options, &model) == TSR_E_CANCELLED);
    cr_expect(model == NULL && calls > 1, "%d calls", calls);
}

Test(public_model, options_are_checked) {
    tsr_model *model = NULL;
    tsr_model_options options = {.struct_size = sizeof options, .dtype = TSR_I8};
    cr_expect(tsr_model_open(shakespeare, device, &options, &model) == TSR_E_ARGUMENT);
    options = (tsr_model_options){.struct_size = sizeof options, .context = 513};
    cr_expect(tsr_model_open(shakespeare, device, &options, &model) == TSR_E_ARGUMENT &&
                  strstr(tsr_error_last(), "reads at most 512"),
              "%s", tsr_error_last());
    options.context = -1;
    cr_expect(tsr_model_open(shakespeare, device, &options, &model) == TSR_E_ARGUMENT);
}

static void check_step(void *data, const tsr_explained *op) {
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < op->n_rows; i++)
        chosen += op->variants[i].chosen;
    cr_expect(chosen == 1, "%s: %u kernel variants are chosen", op->label, chosen);
    cr_expect(*op->label && *op->op && *op->device);
    ++*(int *)data;
}

Test(public_model, every_op_is_explained) {
    int prefill = 0, decode = 0;
    tsr_model *model = NULL;
    tsr_model_memory memory = {.struct_size = sizeof memory};
    OK(tsr_model_open(shakespeare, device, NULL, &model));
    OK(tsr_explain(model, 64, check_step, &prefill));
    OK(tsr_explain(model, 1, check_step, &decode));
    cr_expect(prefill > 6 * 8 && decode > 6 * 8, "%d, %d", prefill, decode);
    OK(tsr_model_memory_get(model, &memory));
    cr_expect(memory.weights > 5000000 && memory.states > 0);
    tsr_model_close(&model);
}

static void find_shakespeare(void *data, const char *name, const char *path) {
    *(int *)data += strcmp(name, "shakespeare") == 0 && strstr(path, "/shakespeare") != NULL;
}

Test(public_model, bundled) {
    int found = 0;
    tsr_model *model = NULL;
    setenv("TESSERA_MODELS", "/nowhere:" TESSERA_SOURCE_DIR "/models", 1);
    OK(tsr_model_bundled(find_shakespeare, &found));
    cr_expect(found >= 1);
    OK(tsr_model_open(NULL, NULL, NULL, &model));
    tsr_model_close(&model);
    OK(tsr_model_open("shakespeare", NULL, NULL, &model));
    tsr_model_close(&model);
}

typedef struct warnings {
    char last[512];
    int n;
} warnings;

static void take_warning(void *data, tsr_log_level level, const char *line) {
    warnings *w = data;
    if (level == TSR_LOG_WARNING) {
        w->n++;
        snprintf(w->last, sizeof w->last, "%s", line);
    }
}

/* A head that is not computed is not left out silently. */
Test(public_model, unserved_head) {
    static const char of[] = TESSERA_SOURCE_DIR "/tests/golden/models/electra/";
    warnings w = {.n = 0};
    const tsr_engine_options options = {
        .struct_size = sizeof options, .log = take_warning, .log_data = &w};
    char path[1024];
    tsr_model *model = NULL;
    close_device();
    OK(tsr_engine_create(&options, &engine));
    OK(tsr_device_open(engine, "reference", NULL, &device));
    snprintf(path, sizeof path, "%scls", of);
    OK(tsr_model_open(path, device, NULL, &model));
    tsr_model_close(&model);
    cr_assert(w.n == 0, "%s", w.last);
    snprintf(path, sizeof path, "%sdisc", of);
    OK(tsr_model_open(path, device, NULL, &model));
    tsr_model_close(&model);
    cr_assert(w.n == 1 && strstr(w.last, "electra/disc: no part that is served reads the tensors "
                                         "of discriminator_predictions; what is computed"),
              "%d: %s", w.n, w.last);
}

/* Of a file that has both, the output matrix is its own, whatever the config says. */
Test(public_model, untied) {
    warnings w = {.n = 0};
    const tsr_engine_options options = {
        .struct_size = sizeof options, .log = take_warning, .log_data = &w};
    static const char of[] = TESSERA_SOURCE_DIR "/tests/golden/models/gpt2-odd";
    char folder[64], path[1024], from[1024];
    tsr_model *model = NULL;
    json_t *config;
    close_device();
    folder_make(folder);
    snprintf(path, sizeof path, "%s/config.json", of);
    config = json_load_file(path, 0, NULL);
    cr_assert(config && json_object_set_new(config, "tie_word_embeddings", json_true()) == 0);
    snprintf(path, sizeof path, "%s/config.json", folder);
    cr_assert(json_dump_file(config, path, 0) == 0);
    snprintf(from, sizeof from, "%s/model.safetensors", of);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    cr_assert(symlink(from, path) == 0);
    OK(tsr_engine_create(&options, &engine));
    OK(tsr_device_open(engine, "reference", NULL, &device));
    OK(tsr_model_open(folder, device, NULL, &model));
    tsr_model_close(&model);
    cr_assert(w.n == 1 && strstr(w.last, "tensor \"lm_head.weight\" holds other numbers"), "%d: %s",
              w.n, w.last);
    json_decref(config);
    folder_drop(folder);
}

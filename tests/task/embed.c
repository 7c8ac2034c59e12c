/* Vectors of texts: the same bytes one by one and in a batch, refusals, and all-MiniLM-L6-v2
 * compared with the official implementation. */
#include "task/fixture.h"

#include "base/files.h"
#include "base/json.h"
#include "io/archive.h"
#include "support/larger.h"
#include "tessera/embed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char tiny[] = TESSERA_SOURCE_DIR "/tests/golden/encoders/sentence";
static tsr_model *model;
static tsr_embedder *embedder;

static void open_tiny(void) {
    const tsr_embed_options options = {.struct_size = sizeof options};
    open_reference();
    OK(tsr_model_open(tiny, device, NULL, &model));
    OK(tsr_embedder_create(model, &options, &embedder));
}

static void close_all(void) {
    tsr_embedder_destroy(&embedder);
    tsr_model_close(&model);
    close_reference();
}

TestSuite(embed, .init = open_tiny, .fini = close_all);

#define TEXT(text) \
    { text, sizeof text - 1 }

static const tsr_string texts[] = {
    TEXT("the cat sat on the mat"),
    TEXT(""),
    TEXT("a"),
    TEXT("nul \0 here"),
    TEXT("\xff\xfe"),
    TEXT("anna lives in london bob lives in paris the dog is big red green"),
    TEXT("how are you?")};
enum { N = sizeof texts / sizeof *texts };

Test(embed, alone_and_in_a_batch) {
    tsr_embedder_info info = {.struct_size = sizeof info};
    tsr_embed_stats stats = {.struct_size = sizeof stats};
    OK(tsr_embedder_info_get(embedder, &info));
    cr_assert(info.width == 6 && info.model_width == 16 && info.layers == 2 && info.normalized);
    cr_assert(info.has_modules && info.max_tokens == 24);
    cr_assert_str_eq(info.pooling, "mean");
    cr_assert_str_eq(info.prompt_names, "query, document");
    float all[N * 6], one[6];
    OK(tsr_embed(embedder, texts, N, all, &stats));
    cr_assert(stats.cut == 0 && stats.tokens > 3 * N);
    for (int i = 0; i < N; i++) {
        OK(tsr_embed(embedder, &texts[i], 1, one, NULL));
        cr_assert(memcmp(one, all + 6 * i, sizeof one) == 0, "text %d", i);
    }
    OK(tsr_embed(embedder, texts, 0, one, NULL));
}

static int cancel(void *data, uint64_t done, uint64_t total) {
    cr_assert(done <= total && total == N);
    return ++*(int *)data;
}

static tsr_status again(const tsr_embed_options *options) {
    tsr_embedder_destroy(&embedder);
    return tsr_embedder_create(model, options, &embedder);
}

Test(embed, options) {
    int calls = 0;
    float rows[N * 6];
    tsr_embed_options options = {.struct_size = sizeof options, .max_tokens = 33};
    cr_assert(again(&options) == TSR_E_ARGUMENT && strstr(tsr_error_last(), "32"));
    options.max_tokens = -1;
    cr_assert(again(&options) == TSR_E_ARGUMENT && !embedder);
    options = (tsr_embed_options){.struct_size = sizeof options, .prompt = "quer"};
    cr_assert(again(&options) == TSR_E_ARGUMENT && strstr(tsr_error_last(), "query, document"));
    for (int i = 0; i < 3; i++) {
        static const char *const fine[] = {"query", "document", ""};
        options.prompt = fine[i];
        OK(again(&options));
    }
    options = (tsr_embed_options){.struct_size = sizeof options,
                                  .max_tokens = 4,
                                  .progress = cancel,
                                  .progress_data = &calls};
    tsr_embed_stats stats = {.struct_size = sizeof stats};
    OK(again(&options));
    cr_assert(tsr_embed(embedder, texts, N, rows, &stats) == TSR_E_CANCELLED);
    cr_assert(calls == 1 && stats.cut >= 4, "%d", (int)stats.cut);
}

static int count_tokens(void *data, const tsr_token_vectors *t) {
    size_t *n = data;
    cr_assert(t->text == n[0]++ && t->width == 16);
    n[1] += t->n;
    return 0;
}

Test(embed, tokens) {
    size_t n[2] = {0};
    tsr_embed_stats stats = {.struct_size = sizeof stats};
    for (uint32_t layer = 0; layer <= 2; layer++) {
        n[0] = n[1] = 0;
        OK(tsr_embed_tokens(embedder, texts, N, layer, count_tokens, n, &stats));
        cr_assert(n[0] == N && n[1] == stats.tokens);
    }
    cr_assert(tsr_embed_tokens(embedder, texts, N, 3, count_tokens, n, &stats) == TSR_E_ARGUMENT);
}

Test(embed, wants_an_encoder) {
    tsr_model *other = NULL;
    tsr_embedder *none = NULL;
    const tsr_embed_options options = {.struct_size = sizeof options};
    OK(tsr_model_open(TESSERA_SOURCE_DIR "/models/shakespeare", device, NULL, &other));
    cr_assert(tsr_embedder_create(other, &options, &none) == TSR_E_STATE && !none);
    tsr_model_close(&other);
    OK(tsr_model_open(tiny, NULL, NULL, &other));
    cr_assert(tsr_embedder_create(other, &options, &none) == TSR_E_STATE && !none);
    cr_assert(strstr(tsr_error_last(), "without a device"));
    tsr_model_close(&other);
}

/* ---- the real model ---- */

static void path_of(const char *base, const char *rest, char out[512]) {
    char *path = tsri_base_join(base, rest);
    cr_assert(path && strlen(path) < 512);
    strcpy(out, path);
    free(path);
}

static void find_minilm(char out[512]) {
    const char *given = getenv("TESSERA_MINILM"), *home = getenv("HOME");
    if (given)
        snprintf(out, 512, "%s", given);
    else
        path_of(home ? home : "/", ".local/share/tessera/models/all-MiniLM-L6-v2", out);
    if (!tsri_base_is_folder(out))
        cr_skip_test("all-MiniLM-L6-v2 is not here: tools/get-minilm gets it");
}

static float *read_golden(const char *folder, size_t *n, size_t *C) {
    char path[512];
    tsri_io_archive *archive = NULL;
    path_of(folder, "embeddings.safetensors", path);
    OK(tsri_io_open(path, &archive));
    const tsri_io_array *a = tsri_io_find(archive, "float32");
    cr_assert(a && a->rank == 2);
    *n = (size_t)a->dims[0];
    *C = (size_t)a->dims[1];
    float *out = malloc(a->elements * sizeof *out);
    OK(tsri_io_read_as(archive, a, TSR_F32, 0, a->elements, out));
    tsri_io_close(&archive);
    return out;
}

static void compare(const float *got, const float *want, size_t C, size_t text) {
    double dot = 0, gg = 0, ww = 0, worst = 0;
    for (size_t c = 0; c < C; c++) {
        dot += (double)got[c] * want[c];
        gg += (double)got[c] * got[c];
        ww += (double)want[c] * want[c];
        worst = fmax(worst, fabs((double)got[c] - want[c]));
    }
    cr_assert(worst <= 2e-6, "text %zu: %g", text, worst); /* golden/tolerances: minilm */
    cr_assert(dot / sqrt(gg * ww) >= 0.999999, "text %zu", text);
}

LARGER_TEST(minilm, golden, "golden/minilm/embeddings.safetensors") {
    const char *shared = getenv("TESSERA_SHARED");
    const tsr_embed_options options = {.struct_size = sizeof options};
    char folder[512], name[512], path[512];
    size_t n, C;
    json_t *json = NULL;
    find_minilm(name);
    path_of(shared, "golden/minilm", folder);
    float *want = read_golden(folder, &n, &C), *got = malloc(n * C * sizeof *got),
          *alone = malloc(C * sizeof *alone);
    OK(tsr_engine_create(NULL, &engine));
    if (tsr_device_open(engine, NULL, NULL, &device) != TSR_OK ||
        strstr(tsr_device_describe(device), "/ reference"))
        cr_skip_test("only the reference backend is here, which would take minutes");
    OK(tsr_model_open(name, device, NULL, &model));
    OK(tsr_embedder_create(model, &options, &embedder));
    path_of(folder, "sentences.json", path);
    json = json_load_file(path, JSON_ALLOW_NUL, NULL); /* one of the sentences holds a NUL */
    const json_t *list = json_object_get(json, "sentences");
    tsr_string *sentences = calloc(n, sizeof *sentences);
    cr_assert(json_array_size(list) == n);
    for (size_t i = 0; i < n; i++) {
        const json_t *text = json_object_get(json_array_get(list, i), "text");
        sentences[i] = (tsr_string){json_string_value(text), json_string_length(text)};
    }
    OK(tsr_embed(embedder, sentences, n, got, NULL));
    for (size_t i = 0; i < n; i++) {
        compare(got + i * C, want + i * C, C, i);
        OK(tsr_embed(embedder, &sentences[i], 1, alone, NULL));
        cr_assert(memcmp(alone, got + i * C, C * sizeof *alone) == 0, "text %zu alone", i);
    }
    close_all();
    json_decref(json);
    free(sentences);
    free(want);
    free(got);
    free(alone);
}

/* Decoders that are opened for vectors: the encoder that one becomes has the states that the same file has when it
 * is opened for text. */
#include "model/compare.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 12, MOST_WIDTH = 64, MOST_LAYERS = 8 };

typedef struct states {
    float rows[MOST_LAYERS + 1][TOKENS * MOST_WIDTH];
    int32_t layers, width;
} states;

/* The states after every layer, which a file of a golden model has for one text, with an adapter (NULL: none). */
static void states_of(const char *file, const char *adapter, bool vectors, states *out) {
    const tsri_model_options options = {
        .lora = &adapter, .n_lora = adapter ? 1 : 0, .vectors = vectors};
    int32_t ids[TOKENS];
    float *hidden[MOST_LAYERS + 1];
    tsri_session *session = NULL;
    fixture f;
    char *path = golden_folder(file, 0);
    fixture_device(&f, "reference");
    fixture_model(&f, path, &options);
    const tsri_model_spec *spec = &f.model->spec;
    out->layers = tsri_model_main_stack(spec)->layers;
    out->width = spec->width;
    cr_assert(out->layers <= MOST_LAYERS && out->width <= MOST_WIDTH, "%s", file);
    cr_assert((spec->encoder.layers > 0) == vectors, "%s", file);
    for (int32_t t = 0; t < TOKENS; t++)
        ids[t] = (3 + 7 * t) % spec->vocab;
    for (int32_t i = 0; i <= out->layers; i++)
        hidden[i] = out->rows[i];
    const tsri_model_sequence sequence = {.ids = ids, .n = TOKENS};
    const tsri_model_results results = {.hidden = hidden};
    OK(tsri_session_create(f.model, 1, 0, &session));
    OK((vectors ? tsri_session_encode : tsri_session_forward)(session, &sequence, 1, &results));
    tsri_session_destroy(&session);
    fixture_close(&f);
    free(path);
}

/* By how much states differ at most, as a share of the largest one. */
static double distance(const states *a, const states *b) {
    double most = 0, largest = 0;
    for (int32_t i = 0; i <= a->layers; i++)
        for (int32_t k = 0; k < TOKENS * a->width; k++) {
            most = fmax(most, fabs((double)a->rows[i][k] - (double)b->rows[i][k]));
            largest = fmax(largest, fabs((double)b->rows[i][k]));
        }
    return most / largest;
}

static void expect_same(const char *file, const char *adapter, states *vectors) {
    static states text;
    states_of(file, adapter, true, vectors);
    states_of(file, adapter, false, &text);
    cr_assert(vectors->layers == text.layers && vectors->width == text.width, "%s", file);
    const double off = distance(vectors, &text);
    cr_expect(off <= 1e-5, "%s: the states for vectors differ by %g of the largest", file, off);
}

/* GGUF and llama2.c files have rows of queries and keys in pairs, and GGUF files the factors of Llama 3. */
Test(vectors_of_decoders, states) {
    static const char *const files[] = {"llama-tiny",
                                        "llama-tiny/model.gguf",
                                        "llama/model.bin",
                                        "llama-llama3",
                                        "llama-llama3/model.gguf",
                                        "granite-odd/model.gguf",
                                        "granitemoe-odd/model.gguf",
                                        "mixtral/model.gguf",
                                        "minicpm/model.gguf"};
    static states vectors;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        expect_same(files[i], NULL, &vectors);
}

/* Writes an adapter for the queries of llama-tiny's first layer: 24 outputs of 24 inputs. */
static void write_adapter(const char *folder) {
    enum { RANK = 2, OUTPUTS = 24, INPUTS = 24, NUMBERS = RANK * (INPUTS + OUTPUTS) };
    static const char config[] = "{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 4}";
    static const char module[] = "base_model.model.model.layers.0.self_attn.q_proj";
    char header[512], path[128];
    float numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (float)(i * 7 % 13 - 6) / 10;
    const uint64_t n = (uint64_t)snprintf(
        header, sizeof header,
        "{\"%s.lora_A.weight\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[0,%d]},"
        "\"%s.lora_B.weight\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[%d,%d]}}",
        module, RANK, INPUTS, 4 * RANK * INPUTS, module, OUTPUTS, RANK, 4 * RANK * INPUTS,
        4 * NUMBERS);
    snprintf(path, sizeof path, "%s/adapter_config.json", folder);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fputs(config, file) >= 0 && fclose(file) == 0);
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", folder);
    file = fopen(path, "wb");
    cr_assert(file && fwrite(&n, sizeof n, 1, file) == 1 && fwrite(header, n, 1, file) == 1 &&
              fwrite(numbers, sizeof numbers, 1, file) == 1 && fclose(file) == 0);
}

/* An adapter's rows of queries become pairs, too. */
Test(vectors_of_decoders, adapter) {
    static states plain, with, folder_with;
    char folder[64];
    folder_make(folder);
    write_adapter(folder);
    expect_same("llama-tiny/model.gguf", folder, &with);
    expect_same("llama-tiny", folder, &folder_with);
    states_of("llama-tiny/model.gguf", NULL, true, &plain);
    const double off = distance(&with, &folder_with);
    cr_expect(off <= 1e-4, "the file's states differ from the folder's by %g of the largest", off);
    cr_expect(distance(&with, &plain) > 1e-2, "the adapter changes too little to be tested");
    folder_drop(folder);
}

/* bank.c - one word in two sentences: its embedding is the same, but its vectors differ after each
 * layer.
 *
 *     bank [MODEL]
 *
 * MODEL is an encoder (without it, the one that tools/get-minilm unpacks); TESSERA_DEVICE names the
 * device. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

#define WORD "bank"
static const char *const sentences[] = {"she put her money in the bank",
                                        "he sat on the bank of the river"};
enum { SENTENCES = sizeof sentences / sizeof *sentences };

typedef struct finding {
    const tsr_model *model;
    float *vector[SENTENCES]; /* the word's vector in each sentence */
    uint32_t width;
} finding;

/* True if the token is the word: its piece ends with the word, and may begin with a sign for the
 * space before it. */
static int is_word(const tsr_model *model, int32_t id) {
    size_t n = 0;
    const char *piece = tsr_piece(model, id, &n);
    const size_t size = strlen(WORD);
    return piece && n >= size && n <= size + 3 && !memcmp(piece + n - size, WORD, size);
}

static int take_word(void *data, const tsr_token_vectors *tokens) {
    finding *found = data;
    for (size_t i = 0; i < tokens->n; i++) {
        if (!is_word(found->model, tokens->ids[i]))
            continue;
        const size_t bytes = tokens->width * sizeof(float);
        float *vector = realloc(found->vector[tokens->text], bytes);
        if (!vector)
            return 1;
        found->vector[tokens->text] = memcpy(vector, tokens->vectors + i * tokens->width, bytes);
        found->width = tokens->width;
        return 0;
    }
    fprintf(stderr, "bank: \"%s\" is not a token of: %s\n", WORD, sentences[tokens->text]);
    return 1;
}

static double cosine(const float *a, const float *b, uint32_t n) {
    double ab = 0, aa = 0, bb = 0;
    for (uint32_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

static tsr_status compare(tsr_model *model, tsr_embedder *embedder) {
    tsr_embedder_info info = {.struct_size = sizeof info};
    finding found = {.model = model};
    tsr_string texts[SENTENCES];
    for (int i = 0; i < SENTENCES; i++)
        texts[i] = (tsr_string){.data = sentences[i], .size = strlen(sentences[i])};
    tsr_status status = tsr_embedder_info_get(embedder, &info);
    for (uint32_t layer = 0; layer <= info.layers && status == TSR_OK; layer++) {
        status = tsr_embed_tokens(embedder, texts, SENTENCES, layer, take_word, &found, NULL);
        if (status != TSR_OK)
            break;
        const int same = !memcmp(found.vector[0], found.vector[1], found.width * sizeof(float));
        printf("layer %2u: cosine %.4f%s\n", layer,
               cosine(found.vector[0], found.vector[1], found.width),
               same ? ", the same numbers" : "");
    }
    for (int i = 0; i < SENTENCES; i++)
        free(found.vector[i]);
    return status;
}

int main(int argc, char **argv) {
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    tsr_model *model = NULL;
    tsr_embedder *embedder = NULL;
    tsr_status status = tsr_engine_create(NULL, &engine);
    if (status == TSR_OK)
        status = tsr_device_open(engine, NULL, NULL, &device);
    if (status == TSR_OK)
        status = tsr_model_open(argc > 1 ? argv[1] : "all-MiniLM-L6-v2", device, NULL, &model);
    if (status == TSR_OK)
        status = tsr_embedder_create(model, NULL, &embedder);
    if (status == TSR_OK) {
        printf("\"%s\" in \"%s\" and in \"%s\"\n", WORD, sentences[0], sentences[1]);
        status = compare(model, embedder);
    }
    if (status != TSR_OK && status != TSR_E_CANCELLED)
        fprintf(stderr, "bank: %s\n", tsr_error_last());
    tsr_embedder_destroy(&embedder);
    tsr_model_close(&model);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    return status != TSR_OK;
}

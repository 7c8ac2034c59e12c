/* embed_search.c - finds the lines of a file that are nearest in meaning to a question.
 *
 *     embed_search MODEL FILE QUESTION
 *
 * MODEL is an encoder of sentences, such as the one that tools/get-minilm unpacks; TESSERA_DEVICE
 * names the device. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

enum { MOST_LINES = 10000, LINE_BYTES = 4096, SHOWN = 3 };

static float cosine(const float *a, const float *b, uint32_t n) {
    double ab = 0, aa = 0, bb = 0;
    for (uint32_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return aa > 0 && bb > 0 ? (float)(ab / sqrt(aa * bb)) : 0;
}

/* texts[0] is the question, the others are lines. */
static tsr_status search(tsr_embedder *embedder, const tsr_string *texts, size_t n) {
    tsr_embedder_info info = {.struct_size = sizeof info};
    tsr_status status = tsr_embedder_info_get(embedder, &info);
    float *vectors = malloc(n * (info.width + 1) * sizeof *vectors),
          *near = vectors + n * info.width;
    if (!vectors)
        return TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsr_embed(embedder, texts, n, vectors, NULL);
    for (size_t i = 1; i < n && status == TSR_OK; i++)
        near[i] = cosine(vectors, vectors + i * info.width, info.width);
    for (int shown = 0; shown < SHOWN && status == TSR_OK; shown++) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (near[i] >= -1 && (!best || near[i] > near[best]))
                best = i;
        if (!best)
            break;
        printf("%.4f  %.*s\n", (double)near[best], (int)texts[best].size, texts[best].data);
        near[best] = -2;
    }
    free(vectors);
    return status;
}

static size_t read_lines(FILE *file, tsr_string *texts, size_t n) {
    char line[LINE_BYTES];
    while (n <= MOST_LINES && fgets(line, sizeof line, file)) {
        const size_t size = strcspn(line, "\r\n");
        char *text = malloc(size + 1);
        if (!text)
            break;
        texts[n++] = (tsr_string){.data = memcpy(text, line, size), .size = size};
    }
    return n;
}

int main(int argc, char **argv) {
    static tsr_string texts[MOST_LINES + 1];
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    tsr_model *model = NULL;
    tsr_embedder *embedder = NULL;
    FILE *file = argc == 4 ? fopen(argv[2], "r") : NULL;
    if (!file) {
        fprintf(stderr,
                "usage: embed_search MODEL FILE QUESTION, where FILE has one text per line\n");
        return 2;
    }
    texts[0] = (tsr_string){.data = argv[3], .size = strlen(argv[3])};
    const size_t n = read_lines(file, texts, 1);
    fclose(file);
    tsr_status status = tsr_engine_create(NULL, &engine);
    if (status == TSR_OK)
        status = tsr_device_open(engine, NULL, NULL, &device);
    if (status == TSR_OK)
        status = tsr_model_open(argv[1], device, NULL, &model);
    if (status == TSR_OK)
        status = tsr_embedder_create(model, NULL, &embedder);
    if (status == TSR_OK)
        status = search(embedder, texts, n);
    if (status != TSR_OK)
        fprintf(stderr, "embed_search: %s\n", tsr_error_last());
    for (size_t i = 1; i < n; i++)
        free((char *)texts[i].data);
    tsr_embedder_destroy(&embedder);
    tsr_model_close(&model);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    return status != TSR_OK;
}

/* cli/serve/embeddings.c - vectors of texts, as lists of numbers or in base64. */
#include "cli/serve/fields.h"
#include "cli/serve/models.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXTS = 2048 };

typedef struct wanted {
    tsr_string texts[MOST_TEXTS];
    size_t n;
    bool base64;
} wanted;

static bool take_texts(const json_t *input, wanted *w, tsri_serve_failure *f) {
    w->n = json_is_string(input) ? 1 : json_array_size(input);
    if (!w->n || w->n > MOST_TEXTS)
        return tsri_serve_fail(f, 400, "input",
                               "input: a text, or a list of 1 to %d texts, is wanted", MOST_TEXTS);
    for (size_t i = 0; i < w->n; i++) {
        const json_t *one = json_is_string(input) ? input : json_array_get(input, i);
        if (!json_is_string(one) || !json_string_length(one))
            return tsri_serve_fail(f, 400, "input",
                                   "input: number %zu is not a text of at least one character",
                                   i + 1);
        w->texts[i] = (tsr_string){json_string_value(one), json_string_length(one)};
    }
    return true;
}

static bool read_wanted(const json_t *body, uint32_t width, wanted *w, tsri_serve_failure *f) {
    static const char *const known[] = {"model", "input", "encoding_format", "dimensions", "user"};
    const json_t *format = json_object_get(body, "encoding_format"),
                 *dimensions = json_object_get(body, "dimensions");
    if (!tsri_serve_only(body, known, sizeof known / sizeof *known, f))
        return false;
    const char *name = format && !json_is_null(format) ? json_string_value(format) : "float";
    if (!name || (strcmp(name, "float") && strcmp(name, "base64")))
        return tsri_serve_fail(f, 400, "encoding_format",
                               "encoding_format: \"float\" or \"base64\" is wanted");
    if (dimensions && !json_is_null(dimensions) && json_integer_value(dimensions) != width)
        return tsri_serve_fail(f, 400, "dimensions",
                               "dimensions: the model's vectors have %u numbers, "
                               "and are not cut",
                               width);
    w->base64 = !strcmp(name, "base64");
    return take_texts(json_object_get(body, "input"), w, f);
}

/* The bytes of the numbers, the lowest first. */
static json_t *base64(const float *vector, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = (const unsigned char *)vector;
    const size_t size = n * sizeof *vector, room = (size + 2) / 3 * 4;
    char *text = malloc(room + 1), *to = text;
    for (size_t i = 0; text && i < size; i += 3) {
        const unsigned b = i + 1 < size ? bytes[i + 1] : 0, c = i + 2 < size ? bytes[i + 2] : 0,
                       all = (unsigned)bytes[i] << 16 | b << 8 | c;
        *to++ = digits[all >> 18];
        *to++ = digits[all >> 12 & 63];
        *to++ = i + 1 < size ? digits[all >> 6 & 63] : '=';
        *to++ = i + 2 < size ? digits[all & 63] : '=';
    }
    json_t *json = text ? json_stringn(text, room) : NULL;
    free(text);
    return json;
}

static json_t *numbers(const float *vector, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_real((double)vector[i]));
    return list;
}

static json_t *vectors_json(const tsri_serve_model *m, const wanted *w, const float *vectors,
                            uint32_t width, uint64_t tokens) {
    json_t *data = json_array();
    for (size_t i = 0; i < w->n; i++) {
        const float *own = vectors + i * width;
        json_array_append_new(
            data, json_pack("{s:s,s:I,s:o}", "object", "embedding", "index", (json_int_t)i,
                            "embedding", w->base64 ? base64(own, width) : numbers(own, width)));
    }
    return json_pack("{s:s,s:o,s:s,s:{s:I,s:I}}", "object", "list", "data", data, "model", m->name,
                     "usage", "prompt_tokens", (json_int_t)tokens, "total_tokens",
                     (json_int_t)tokens);
}

static json_t *embed(tsri_serve_exchange *x, const json_t *body, void *memory,
                     tsri_serve_failure *f) {
    tsri_serve_server *s = x->server;
    wanted *w = memory;
    tsr_embedder_info info = {.struct_size = sizeof info};
    tsr_embed_stats stats = {.struct_size = sizeof stats};
    tsri_serve_model *m = tsri_serve_choose(s, body, TSRI_SERVE_VECTORS, f);
    if (!m)
        return NULL;
    x->model = m;
    tsr_status status = tsr_embedder_info_get(m->embedder, &info);
    if (status == TSR_OK && !read_wanted(body, info.width, w, f))
        return NULL;
    float *vectors = calloc(w->n * info.width, sizeof *vectors);
    if (status == TSR_OK && vectors)
        status = tsr_embed(m->embedder, w->texts, w->n, vectors, &stats);
    json_t *json = NULL;
    if (!vectors)
        tsri_serve_fail(f, 503, NULL, "out of memory");
    else if (status != TSR_OK)
        tsri_serve_fail_status(f, status);
    else
        json = vectors_json(m, w, vectors, info.width, stats.tokens);
    free(vectors);
    pthread_mutex_lock(&s->lock);
    m->metrics.embedded += json ? w->n : 0;
    pthread_mutex_unlock(&s->lock);
    return json;
}

void tsri_serve_embeddings(tsri_serve_exchange *x) {
    tsri_serve_run_whole(x, sizeof(wanted), embed);
}

/* cli/serve/embeddings.c - vectors of texts, as lists of numbers or in base64. */
#include "cli/serve/embedders.h"
#include "cli/serve/texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROMPT = 16 << 10 }; /* bytes; they are read with each text */

typedef struct wanted {
    tsri_serve_texts all;
    size_t dimensions; /* of what is given of each vector: its first ones, at most all.width */
    bool base64;
    const char *prompt_name, *prompt; /* of the body; NULL: not given */
} wanted;

static bool take_texts(const json_t *input, tsri_serve_texts *w, tsri_serve_failure *f) {
    w->n = json_is_string(input) ? 1 : json_array_size(input);
    if (!w->n || w->n > TSRI_SERVE_TEXTS)
        return tsri_serve_fail(f, 400, "input",
                               "input: a text, or a list of 1 to %d texts, is wanted",
                               TSRI_SERVE_TEXTS);
    const json_t *first = json_array_get(input, 0);
    if (json_is_integer(json_is_array(first) ? json_array_get(first, 0) : first))
        return tsri_serve_fail(
            f, 400, "input",
            "input: token ids were given, and texts are wanted; in LangChain, set "
            "check_embedding_ctx_length=False on OpenAIEmbeddings");
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

static bool take_dimensions(const json_t *given, uint32_t width, size_t *out,
                            tsri_serve_failure *f) {
    const bool any = given && !json_is_null(given);
    const json_int_t n = json_integer_value(given);
    *out = any ? (size_t)n : width;
    return !any || (n >= 1 && n <= width) ||
           tsri_serve_fail(f, 400, "dimensions",
                           "dimensions: the model's vectors have %u numbers: a whole number from 1 "
                           "to %u is wanted",
                           width, width);
}

static bool take_text(const json_t *body, const char *field, const char **out,
                      tsri_serve_failure *f) {
    const json_t *value = json_object_get(body, field);
    const char *text = json_string_value(value);
    const bool any = value && !json_is_null(value);
    *out = any ? text : NULL;
    return !any || (text && strlen(text) == json_string_length(value)) ||
           tsri_serve_fail(f, 400, field, "%s: a text without a byte 0 is wanted", field);
}

/* Makes the embedder that has the prompt; *info is what it says. */
static bool take_prompt(tsri_serve_texts *w, tsr_embedder_info *info, tsri_serve_failure *f) {
    wanted *own = (wanted *)w;
    tsr_embedder *embedder;
    if (!take_text(w->errand.body, "prompt_name", &own->prompt_name, f) ||
        !take_text(w->errand.body, "prompt", &own->prompt, f))
        return false;
    if (own->prompt_name && own->prompt)
        return tsri_serve_fail(f, 400, "prompt",
                               "prompt and prompt_name were given: give one of them");
    if (own->prompt && strlen(own->prompt) > MOST_PROMPT)
        return tsri_serve_fail(f, 400, "prompt", "prompt: at most %d bytes are read", MOST_PROMPT);
    if (!tsri_serve_embedder(w->errand.x->server, w->model, own->prompt_name, own->prompt,
                             &embedder, f))
        return false;
    const tsr_status status = tsr_embedder_info_get(embedder, info);
    return status == TSR_OK || tsri_serve_fail_status(f, status, "prompt");
}

static bool begin(tsri_serve_texts *w, tsri_serve_failure *f) {
    static const char *const known[] = {"model", "input",  "encoding_format", "dimensions",
                                        "task",  "prompt", "prompt_name",     "user"};
    const json_t *format = json_object_get(w->errand.body, "encoding_format"),
                 *dimensions = json_object_get(w->errand.body, "dimensions");
    tsr_embedder_info info = {.struct_size = sizeof info};
    if (!tsri_serve_only(w->errand.body, known, sizeof known / sizeof *known, f) ||
        !take_prompt(w, &info, f))
        return false;
    const char *name = format && !json_is_null(format) ? json_string_value(format) : "float";
    if (!name || (strcmp(name, "float") && strcmp(name, "base64")))
        return tsri_serve_fail(f, 400, "encoding_format",
                               "encoding_format: \"float\" or \"base64\" is wanted");
    if (!take_dimensions(dimensions, info.width, &((wanted *)w)->dimensions, f))
        return false;
    ((wanted *)w)->base64 = !strcmp(name, "base64");
    w->width = info.width;
    w->beside = strlen(info.prompt);
    return take_texts(json_object_get(w->errand.body, "input"), w, f);
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

static bool run(tsri_serve_texts *w, const tsr_string *texts, size_t n, float *rows,
                tsri_serve_failure *f) {
    const wanted *own = (const wanted *)w;
    tsr_embed_stats stats = {.struct_size = sizeof stats};
    tsr_embedder *embedder;
    if (!tsri_serve_embedder(w->errand.x->server, w->model, own->prompt_name, own->prompt,
                             &embedder, f))
        return false;
    const tsr_status status = tsr_embed(embedder, texts, n, rows, &stats);
    w->tokens += stats.tokens;
    return status == TSR_OK || tsri_serve_fail_status(f, status, "input");
}

/* The first n numbers as a vector of length 1, which is what models are trained for whose vectors may be cut
 * (Kusupati et al. 2022, arXiv:2205.13147). */
static void cut(float *vector, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)vector[i] * (double)vector[i];
    for (size_t i = 0; i < n && sum > 0; i++)
        vector[i] = (float)((double)vector[i] / sqrt(sum));
}

static json_t *answer(tsri_serve_texts *w) {
    tsri_serve_server *s = w->errand.x->server;
    const size_t n = ((wanted *)w)->dimensions;
    json_t *data = json_array();
    for (size_t i = 0; i < w->n; i++) {
        float *own = w->numbers + i * w->width;
        if (n < w->width)
            cut(own, n);
        json_array_append_new(
            data, json_pack("{s:s,s:I,s:o}", "object", "embedding", "index", (json_int_t)i,
                            "embedding", ((wanted *)w)->base64 ? base64(own, n) : numbers(own, n)));
    }
    pthread_mutex_lock(&s->lock);
    w->model->metrics.embedded += w->n;
    pthread_mutex_unlock(&s->lock);
    return json_pack("{s:s,s:o,s:s,s:{s:I,s:I}}", "object", "list", "data", data, "model",
                     w->model->name, "usage", "prompt_tokens", (json_int_t)w->tokens,
                     "total_tokens", (json_int_t)w->tokens);
}

void tsri_serve_embeddings(tsri_serve_exchange *x) {
    static const tsri_serve_texts_kind kind = {TSRI_SERVE_VECTORS, sizeof(wanted), begin, run,
                                               answer};
    tsri_serve_take_texts(x, &kind);
}

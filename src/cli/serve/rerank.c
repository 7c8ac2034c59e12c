/* cli/serve/rerank.c - documents by how well they answer a query, as Cohere's and Jina's interfaces have
 * it, by a model that ranks. */
#include "cli/serve/texts.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MOST_DOCUMENTS = 1024 };

typedef struct wanted {
    tsri_serve_texts all; /* the documents */
    tsr_string query;
    size_t top;
    bool with_texts;
} wanted;

static bool take_documents(const json_t *documents, tsri_serve_texts *w, tsri_serve_failure *f) {
    w->n = json_array_size(documents);
    if (!w->n || w->n > MOST_DOCUMENTS)
        return tsri_serve_fail(f, 400, "documents", "documents: a list of 1 to %d texts is wanted",
                               MOST_DOCUMENTS);
    for (size_t i = 0; i < w->n; i++) {
        const json_t *given = json_array_get(documents, i),
                     *text = json_is_object(given) ? json_object_get(given, "text") : given;
        if (!json_is_string(text))
            return tsri_serve_fail(f, 400, "documents",
                                   "documents: number %zu is not a text, or an object with "
                                   "\"text\"",
                                   i + 1);
        w->texts[i] = (tsr_string){json_string_value(text), json_string_length(text)};
    }
    return true;
}

static bool take_top(const json_t *top, wanted *w, tsri_serve_failure *f) {
    w->top = w->all.n;
    if (!top || json_is_null(top))
        return true;
    if (!json_is_integer(top) || json_integer_value(top) < 1)
        return tsri_serve_fail(f, 400, "top_n", "top_n: a whole number from 1 on is wanted");
    if ((uint64_t)json_integer_value(top) < w->top)
        w->top = (size_t)json_integer_value(top);
    return true;
}

static bool begin(tsri_serve_texts *w, tsri_serve_failure *f) {
    static const char *const known[] = {"model", "query", "documents", "top_n", "return_documents",
                                        "user"};
    const json_t *query = json_object_get(w->errand.body, "query"),
                 *texts = json_object_get(w->errand.body, "return_documents");
    if (!tsri_serve_only(w->errand.body, known, sizeof known / sizeof *known, f))
        return false;
    if (!json_is_string(query))
        return tsri_serve_fail(f, 400, "query", "query: a text is wanted");
    if (texts && !json_is_null(texts) && !json_is_boolean(texts))
        return tsri_serve_fail(f, 400, "return_documents",
                               "return_documents: true or false is wanted");
    ((wanted *)w)->with_texts = json_is_true(texts);
    w->width = 1;
    w->beside = json_string_length(query);
    ((wanted *)w)->query = (tsr_string){json_string_value(query), json_string_length(query)};
    return take_documents(json_object_get(w->errand.body, "documents"), w, f) &&
           take_top(json_object_get(w->errand.body, "top_n"), (wanted *)w, f);
}

static bool run(tsri_serve_texts *w, const tsr_string *texts, size_t n, float *scores,
                tsri_serve_failure *f) {
    tsr_classify_stats stats = {.struct_size = sizeof stats};
    const tsr_status status =
        tsr_rank(w->model->ranker, ((wanted *)w)->query, texts, n, scores, &stats);
    w->tokens += stats.tokens;
    return status == TSR_OK || tsri_serve_fail_status(f, status, "documents");
}

typedef struct ranked {
    size_t index;
    float score;
} ranked;

static int by_score(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score) - (x->score > y->score)
                                : (x->index > y->index) - (x->index < y->index);
}

static json_t *result_json(const tsri_serve_texts *w, const ranked *r) {
    json_t *result =
        json_pack("{s:I,s:f}", "index", (json_int_t)r->index, "relevance_score", (double)r->score);
    const tsr_string *text = &w->texts[r->index];
    if (((const wanted *)w)->with_texts)
        json_object_set_new(result, "document",
                            json_pack("{s:o}", "text", json_stringn(text->data, text->size)));
    return result;
}

static json_t *answer(tsri_serve_texts *w) {
    tsri_serve_server *s = w->errand.x->server;
    ranked order[MOST_DOCUMENTS];
    char id[48];
    json_t *results = json_array();
    for (size_t i = 0; i < w->n; i++)
        order[i] = (ranked){.index = i, .score = w->numbers[i]};
    qsort(order, w->n, sizeof *order, by_score);
    for (size_t i = 0; i < ((wanted *)w)->top; i++)
        json_array_append_new(results, result_json(w, &order[i]));
    pthread_mutex_lock(&s->lock);
    w->model->metrics.ranked += w->n;
    pthread_mutex_unlock(&s->lock);
    snprintf(id, sizeof id, "rerank-%" PRIu64, ++s->numbers);
    return json_pack("{s:s,s:s,s:s,s:o,s:{s:I,s:I}}", "id", id, "object", "list", "model",
                     w->model->name, "results", results, "usage", "prompt_tokens",
                     (json_int_t)w->tokens, "total_tokens", (json_int_t)w->tokens);
}

void tsri_serve_rerank(tsri_serve_exchange *x) {
    static const tsri_serve_texts_kind kind = {TSRI_SERVE_RANKS, sizeof(wanted), begin, run,
                                               answer};
    tsri_serve_take_texts(x, &kind);
}

/* cli/serve/rerank.c - documents by how well they answer a query, as Cohere's and Jina's interfaces have
 * it, by a cross-encoder. */
#include "cli/serve/fields.h"
#include "cli/serve/models.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_DOCUMENTS = 1024 };

typedef struct ranked {
    size_t index;
    float score;
} ranked;

typedef struct wanted {
    tsr_string queries[MOST_DOCUMENTS], documents[MOST_DOCUMENTS]; /* the same query for each */
    float scores[MOST_DOCUMENTS];
    ranked order[MOST_DOCUMENTS];
    size_t n, top;
    bool with_texts;
} wanted;

static bool take_documents(const json_t *query, const json_t *documents, wanted *w,
                           tsri_serve_failure *f) {
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
        w->documents[i] = (tsr_string){json_string_value(text), json_string_length(text)};
        w->queries[i] = (tsr_string){json_string_value(query), json_string_length(query)};
    }
    return true;
}

static bool read_wanted(const json_t *body, wanted *w, tsri_serve_failure *f) {
    static const char *const known[] = {"model", "query", "documents", "top_n", "return_documents",
                                        "user"};
    const json_t *query = json_object_get(body, "query"), *top = json_object_get(body, "top_n"),
                 *texts = json_object_get(body, "return_documents");
    if (!tsri_serve_only(body, known, sizeof known / sizeof *known, f))
        return false;
    if (!json_is_string(query))
        return tsri_serve_fail(f, 400, "query", "query: a text is wanted");
    if (!take_documents(query, json_object_get(body, "documents"), w, f))
        return false;
    w->top = w->n;
    if (top && !json_is_null(top)) {
        if (!json_is_integer(top) || json_integer_value(top) < 1)
            return tsri_serve_fail(f, 400, "top_n", "top_n: a whole number from 1 on is wanted");
        if ((uint64_t)json_integer_value(top) < w->n)
            w->top = (size_t)json_integer_value(top);
    }
    if (texts && !json_is_null(texts) && !json_is_boolean(texts))
        return tsri_serve_fail(f, 400, "return_documents",
                               "return_documents: true or false is wanted");
    w->with_texts = json_is_true(texts);
    return true;
}

static int by_score(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score) - (x->score > y->score)
                                : (x->index > y->index) - (x->index < y->index);
}

/* From 0 to 1. The plain number of a regression goes through a sigmoid, as its training had it. */
static float relevance(const tsr_classifier *reranker, float score) {
    return tsr_classifier_kind_of(reranker) == TSR_CLASSIFIER_REGRESSION
               ? (float)(1 / (1 + exp(-(double)score)))
               : score;
}

static json_t *result_json(const wanted *w, const ranked *r) {
    json_t *result =
        json_pack("{s:I,s:f}", "index", (json_int_t)r->index, "relevance_score", (double)r->score);
    const tsr_string *text = &w->documents[r->index];
    if (w->with_texts)
        json_object_set_new(result, "document",
                            json_pack("{s:o}", "text", json_stringn(text->data, text->size)));
    return result;
}

static json_t *results_json(tsri_serve_server *s, const tsri_serve_model *m, wanted *w,
                            uint64_t tokens) {
    char id[48];
    json_t *results = json_array();
    for (size_t i = 0; i < w->n; i++)
        w->order[i] = (ranked){.index = i, .score = relevance(m->reranker, w->scores[i])};
    qsort(w->order, w->n, sizeof *w->order, by_score);
    for (size_t i = 0; i < w->top; i++)
        json_array_append_new(results, result_json(w, &w->order[i]));
    snprintf(id, sizeof id, "rerank-%" PRIu64, ++s->numbers);
    return json_pack("{s:s,s:s,s:s,s:o,s:{s:I,s:I}}", "id", id, "object", "list", "model", m->name,
                     "results", results, "usage", "prompt_tokens", (json_int_t)tokens,
                     "total_tokens", (json_int_t)tokens);
}

static json_t *rank(tsri_serve_exchange *x, const json_t *body, void *memory,
                    tsri_serve_failure *f) {
    tsri_serve_server *s = x->server;
    wanted *w = memory;
    tsr_classify_stats stats = {.struct_size = sizeof stats};
    tsri_serve_model *m = tsri_serve_choose(s, body, TSRI_SERVE_RANKS, f);
    if (!m || !read_wanted(body, w, f))
        return NULL;
    x->model = m;
    const tsr_status status =
        tsr_classify(m->reranker, w->queries, w->documents, w->n, w->scores, &stats);
    if (status != TSR_OK) {
        tsri_serve_fail_status(f, status);
        return NULL;
    }
    pthread_mutex_lock(&s->lock);
    m->metrics.ranked += w->n;
    pthread_mutex_unlock(&s->lock);
    return results_json(s, m, w, stats.tokens);
}

void tsri_serve_rerank(tsri_serve_exchange *x) {
    tsri_serve_run_whole(x, sizeof(wanted), rank);
}

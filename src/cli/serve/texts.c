/* cli/serve/texts.c - runs requests for a result of each of many texts, a piece at a time. */
#include "cli/serve/texts.h"
#include "cli/serve/choose.h"
#include "cli/serve/metrics.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a piece where nobody waits for text, and where somebody does, unless --step-tokens says it */
enum { PIECE = 32 << 10, SMALL_PIECE = 2 << 10, BYTES_A_TOKEN = 4 };

static void clear(tsri_serve_errand *errand) {
    tsri_serve_texts *w = (tsri_serve_texts *)errand;
    errand->x->record.prompt_tokens = w->tokens;
    free(w->numbers);
}

/* ---- from a request to its answer ---- */

static int by_size(const void *a, const void *b) {
    const tsri_serve_length *x = a, *y = b;
    return x->size != y->size ? (x->size > y->size) - (x->size < y->size)
                              : (x->text > y->text) - (x->text < y->text);
}

static bool begin(tsri_serve_texts *w, tsri_serve_failure *f) {
    w->model = tsri_serve_choose(w->errand.x, w->errand.body, w->kind->use, f);
    if (!w->model || !w->kind->begin(w, f))
        return false;
    for (size_t i = 0; i < w->n; i++)
        w->order[i] = (tsri_serve_length){w->texts[i].size + w->beside, i};
    qsort(w->order, w->n, sizeof *w->order, by_size);
    w->numbers = calloc(w->n * w->width, sizeof *w->numbers);
    return w->numbers || tsri_serve_fail(f, 503, NULL, "out of memory");
}

void tsri_serve_take_texts(tsri_serve_exchange *x, const tsri_serve_texts_kind *kind) {
    tsri_serve_failure f = {.status = 503, .message = "out of memory"};
    tsri_serve_texts *w = (tsri_serve_texts *)tsri_serve_errand_create(x, kind->size, clear);
    if (!w)
        return;
    w->kind = kind;
    if (begin(w, &f))
        tsri_serve_errand_append(&x->server->texts, &w->errand);
    else
        tsri_serve_errand_fail(&w->errand, &f);
}

/* How many of the next texts have `bytes` together; at least one. */
static size_t piece_of(const tsri_serve_texts *w, size_t bytes) {
    size_t n = 0, sum = 0;
    while (w->done + n < w->n && (!n || sum + w->order[w->done + n].size <= bytes))
        sum += w->order[w->done + n++].size;
    return n;
}

static bool run(tsri_serve_texts *w, size_t n, tsr_string *texts, float *rows,
                tsri_serve_failure *f) {
    for (size_t i = 0; i < n; i++)
        texts[i] = w->texts[w->order[w->done + i].text];
    if (!w->kind->run(w, texts, n, rows, f))
        return false;
    for (size_t i = 0; i < n; i++)
        memcpy(w->numbers + w->order[w->done + i].text * w->width, rows + i * w->width,
               w->width * sizeof *rows);
    w->done += n;
    return true;
}

static bool run_piece(tsri_serve_texts *w, size_t bytes, tsri_serve_failure *f) {
    const size_t n = piece_of(w, bytes);
    tsr_string *texts = calloc(n, sizeof *texts);
    float *rows = calloc(n * w->width, sizeof *rows);
    const bool fine =
        texts && rows ? run(w, n, texts, rows, f) : tsri_serve_fail(f, 503, NULL, "out of memory");
    free(texts);
    free(rows);
    return fine;
}

/* Counts a request that has ended, before its client has the answer. */
static void count(tsri_serve_texts *w, bool fine) {
    tsri_serve_server *s = w->errand.x->server;
    tsri_serve_metrics *m = &w->model->metrics;
    tsri_serve_errand_stops(&w->errand);
    pthread_mutex_lock(&s->lock);
    m->errands.tokens += w->tokens;
    m->errands.finished += fine;
    m->errands.failed += !fine;
    if (fine)
        tsri_serve_observe(m, TSRI_SERVE_WHOLE, tsri_cli_now_ns() - w->errand.x->began_ns);
    pthread_mutex_unlock(&s->lock);
}

void tsri_serve_texts_step(tsri_serve_server *s, bool small) {
    tsri_serve_texts *w = (tsri_serve_texts *)s->texts;
    tsri_serve_failure f;
    if (!w)
        return;
    const size_t asked = (size_t)s->limits.step_tokens * BYTES_A_TOKEN;
    tsri_serve_errand_take_out(&s->texts, &w->errand);
    if (!run_piece(w, !small ? PIECE : asked ? asked : SMALL_PIECE, &f)) {
        count(w, false);
        tsri_serve_errand_fail(&w->errand, &f);
    } else if (w->done < w->n) {
        tsri_serve_errand_append(&s->texts, &w->errand);
    } else {
        json_t *answer = w->kind->answer(w);
        count(w, true);
        tsri_serve_answer(w->errand.x, 200, answer);
        tsri_serve_errand_end(&w->errand);
    }
}

/* task/texts/spans.c - labels tokens, words made up of tokens, and spans of words that belong
 * together. */
#include "task/texts/classify.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/texts/offsets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct guess {
    int32_t label;
    float score;
} guess;

typedef struct labelling {
    tsr_classifier *c;
    guess *guesses; /* for all tokens of the call */
    tsri_task_offset *offsets;
    tsri_text_ids whole; /* scratch: the tokens of a text that lost its beginning */
    tsr_span *spans;
    size_t offsets_room, spans_room;
} labelling;

/* ---- tokens ---- */

static tsr_status guess_tokens(const labelling *l, float *numbers, size_t n, guess *out) {
    const int32_t labels = l->c->labels;
    for (size_t i = 0; i < n; i++, numbers += labels) {
        tsri_task_scores(TSR_CLASSIFIER_SINGLE, numbers, labels);
        out[i] = (guess){.score = numbers[0]};
        for (int32_t k = 1; k < labels; k++)
            if (numbers[k] > out[i].score)
                out[i] = (guess){.label = k, .score = numbers[k]};
        if (!isfinite(out[i].score))
            return tsri_base_fail(TSR_E_DEVICE, "the scores of a token are not finite: the weights "
                                                "are damaged, or they overflow in this dtype");
    }
    return TSR_OK;
}

static tsr_status run(void *data, const tsri_model_sequence *sequences, const size_t *which,
                      int32_t n) {
    labelling *l = data;
    tsr_classifier *c = l->c;
    size_t tokens = 0;
    for (int32_t i = 0; i < n; i++)
        tokens += (size_t)sequences[i].n;
    TRY(tsri_base_grow(&c->raw, &c->raw_room, tokens * (size_t)c->labels, sizeof *c->raw));
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .labels = c->raw};
    TRY(tsri_session_encode(c->session, sequences, n, &results));
    float *numbers = c->raw;
    for (int32_t i = 0; i < n; i++) {
        const size_t count = (size_t)sequences[i].n;
        TRY(guess_tokens(l, numbers, count, l->guesses + c->passages.starts[which[i]]));
        numbers += count * (size_t)c->labels;
    }
    return TSR_OK;
}

static tsr_status tell(void *data, size_t done) {
    return tsri_task_classify_tell(((labelling *)data)->c, done);
}

/* ---- words and spans ---- */

/* The tag of a label, by which words join a span: "B-PER" is PER, and begins a span; "E-PER" is a tag itself. */
static const char *tag_of(const char *label, bool *begins) {
    const bool prefixed = (label[0] == 'B' || label[0] == 'I') && label[1] == '-';
    *begins = prefixed && label[0] == 'B';
    return prefixed ? label + 2 : label;
}

/* What a span is called: the label of its first word without anything up to the first "-". */
static const char *name_of(const char *label) {
    const char *dash = strchr(label, '-');
    return dash ? dash + 1 : label;
}

/* Adds a word: to the span before it, or as a span of its own. `open`: the tag of that span before it, or
 * NULL. */
static tsr_status add_word(labelling *l, const guess *g, size_t begin, size_t end, size_t *n,
                           const char **open) {
    bool begins;
    const char *label = l->c->model->spec.label_of[g->label], *tag = tag_of(label, &begins);
    if (!strcmp(label, "O")) {
        *open = NULL;
        return TSR_OK;
    }
    if (*open && !begins && !strcmp(*open, tag)) {
        tsr_span *last = &l->spans[*n - 1];
        last->end = end;
        last->score += g->score;
        last->words++;
        return TSR_OK;
    }
    TRY(tsri_base_grow(&l->spans, &l->spans_room, *n + 1, sizeof *l->spans));
    l->spans[(*n)++] = (tsr_span){
        .begin = begin, .end = end, .label = name_of(label), .score = g->score, .words = 1};
    *open = tag;
    return TSR_OK;
}

/* Finds the places of the n tokens of a text, which are its last ones where it lost its beginning:
 * *places. */
static tsr_status find_places(labelling *l, const tsr_string *text, const int32_t *ids, size_t n,
                              const tsri_task_offset **places) {
    const tsri_task_reader *r = &l->c->reader;
    size_t lost = 0;
    if (r->cut_left) {
        l->whole.count = 0;
        TRY(tsri_text_encode(r->tokenizer, text->data, text->size,
                             r->flags | TSRI_TEXT_PARSE_SPECIAL, &l->whole));
        ids = l->whole.data + r->before;
        lost = l->whole.count - r->around - n;
    }
    TRY(tsri_base_grow(&l->offsets, &l->offsets_room, lost + n, sizeof *l->offsets));
    *places = l->offsets + lost;
    return tsri_task_offsets(r->tokenizer, text->data, text->size, ids, lost + n, l->offsets);
}

static tsr_status find_spans(labelling *l, size_t number, const tsr_string *text, size_t *n) {
    const tsri_task_reader *r = &l->c->reader;
    const tsri_task_passages *p = &l->c->passages;
    const size_t from = p->starts[number] + r->before, all = p->starts[number + 1],
                 to = all - (r->around - r->before);
    const tsri_task_offset *places;
    const char *open = NULL;
    *n = 0;
    if (to <= from || to > all)
        return TSR_OK;
    TRY(find_places(l, text, p->ids.data + from, to - from, &places));
    for (size_t i = 0; i < to - from;) {
        const size_t first = i;
        size_t end = places[i++].end;
        for (; i < to - from && places[i].continues; i++)
            if (places[i].end > places[i].begin)
                end = places[i].end;
        if (end > places[first].begin)
            TRY(add_word(l, &l->guesses[from + first], places[first].begin, end, n, &open));
    }
    for (size_t i = 0; i < *n; i++)
        l->spans[i].score /= (float)l->spans[i].words;
    return TSR_OK;
}

static tsr_status label_all(labelling *l, const tsr_string *texts, size_t n,
                            int (*visit)(void *data, size_t text, const tsr_span *spans,
                                         size_t n_spans),
                            void *data) {
    tsr_classifier *c = l->c;
    size_t found;
    for (size_t i = 0; i < n; i++)
        TRY(tsri_task_passages_add(&c->reader, &c->passages, "", &texts[i], NULL));
    TRY(tsri_base_new(c->passages.ids.count, sizeof *l->guesses, &l->guesses));
    TRY(tsri_task_passages_run(&c->passages, run, tell, l));
    for (size_t i = 0; i < n; i++) {
        TRY(find_spans(l, i, &texts[i], &found));
        if (visit(data, i, l->spans, found))
            return tsri_base_fail(TSR_E_CANCELLED, "classifying was cancelled");
    }
    return TSR_OK;
}

tsr_status tsr_classify_tokens(tsr_classifier *c, const tsr_string *texts, size_t n,
                               int (*visit)(void *data, size_t text, const tsr_span *spans,
                                            size_t n_spans),
                               void *data, tsr_classify_stats *stats) {
    TRY(NEED(c));
    TRY(NEED_ARRAY(texts, n));
    TRY(NEED(visit));
    TRY(tsri_base_check_out("tsr_classify_stats", stats));
    labelling l = {.c = c};
    if (c->kind != TSR_CLASSIFIER_TOKENS)
        return tsri_base_fail(
            TSR_E_STATE, "%s does not name what is in a text: use %s", c->model->path,
            c->kind == TSR_CLASSIFIER_SPANS ? "tsr_answer_questions" : "tsr_classify");
    tsri_task_passages_reset(&c->passages);
    c->n = n;
    const tsr_status status = label_all(&l, texts, n, visit, data);
    const tsr_classify_stats counted = {.tokens = c->passages.ids.count, .cut = c->passages.cut};
    tsri_base_give(&counted, sizeof counted, stats);
    free(l.guesses);
    free(l.offsets);
    tsri_text_ids_clear(&l.whole);
    free(l.spans);
    return status;
}

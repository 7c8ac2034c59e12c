/* Encoding: batches of any lengths and order, refused batches, sources that are encoded again. */
#include "model/compare.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V = 61, C = 24, MOST = 40, LONGEST = 48 };

static void open_golden(fixture *f, const char *name, const char *part, const char *selector) {
    char *folder = golden_folder(name, 0), path[1100];
    snprintf(path, sizeof path, "%s/%s", folder, part);
    fixture_device(f, selector);
    fixture_model(f, path, NULL);
    free(folder);
}

/* MOST sequences of lengths 1 .. LONGEST, in no particular order. */
static void fill(int32_t ids[MOST][LONGEST], tsri_model_sequence sequences[MOST]) {
    uint32_t seed = 7;
    for (int i = 0; i < MOST; i++) {
        const int64_t n = 1 + (i * 29) % LONGEST;
        for (int64_t t = 0; t < n; t++)
            ids[i][t] = (int32_t)((seed = seed * 1664525u + 1013904223u) >> 8) % V;
        sequences[i] = (tsri_model_sequence){.ids = ids[i], .n = n};
    }
}

static void batch_gives_what_each_gives_alone(const char *selector) {
    static int32_t ids[MOST][LONGEST], argmax[MOST];
    static float vectors[MOST][C], next[MOST][2], one[C], one_next[2];
    static tsri_model_sequence sequences[MOST];
    int32_t one_argmax;
    tsri_session *session = NULL;
    fixture f;
    open_golden(&f, "bert-tiny", "pre", selector);
    fill(ids, sequences);
    OK(tsri_session_create(f.model, 1, 0, &session));
    const tsri_model_results all = {.rows = TSRI_ROWS_FIRST,
                                    .argmax = argmax,
                                    .vectors = &vectors[0][0],
                                    .next = &next[0][0]},
                             single = {.rows = TSRI_ROWS_FIRST,
                                       .argmax = &one_argmax,
                                       .vectors = one,
                                       .next = one_next};
    OK(tsri_session_encode(session, sequences, MOST, &all));
    for (int i = 0; i < MOST; i++) {
        OK(tsri_session_encode(session, &sequences[i], 1, &single));
        cr_assert(!memcmp(vectors[i], one, sizeof one), "vector %d", i);
        cr_assert(!memcmp(next[i], one_next, sizeof one_next), "next %d", i);
        cr_assert(argmax[i] == one_argmax, "argmax %d", i);
    }
    tsri_session_destroy(&session);
    fixture_close(&f);
}

Test(encode, batch_reference) {
    batch_gives_what_each_gives_alone("reference");
}

Test(encode, batch_device) {
    batch_gives_what_each_gives_alone(NULL);
}

/* Listed rows equal the same rows of all. */
Test(encode, listed_rows) {
    static int32_t ids[MOST][LONGEST];
    static tsri_model_sequence sequences[MOST];
    enum { N = 6 };
    tsri_session *session = NULL;
    int64_t tokens = 0, listed[] = {0, 3, 4, 31, 40, 55};
    fixture f;
    open_golden(&f, "bert-tiny", "pre", "reference");
    fill(ids, sequences);
    for (int i = 0; i < N; i++)
        tokens += sequences[i].n;
    float *all = calloc((size_t)(tokens * V), sizeof *all), some[6][V];
    OK(tsri_session_create(f.model, 1, 0, &session));
    tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = all};
    OK(tsri_session_encode(session, sequences, N, &results));
    results = (tsri_model_results){
        .rows = TSRI_ROWS_LISTED, .listed = listed, .n_listed = 6, .logits = &some[0][0]};
    OK(tsri_session_encode(session, sequences, N, &results));
    for (int i = 0; i < 6; i++)
        cr_assert(!memcmp(some[i], all + listed[i] * V, sizeof some[i]), "row %d", i);
    listed[2] = 3;
    cr_assert(tsri_session_encode(session, sequences, N, &results) == TSR_E_ARGUMENT);
    cr_assert(strstr(tsr_error_last(), "in ascending order"));
    free(all);
    tsri_session_destroy(&session);
    fixture_close(&f);
}

Test(encode, refusals) {
    int32_t ids[] = {5, 6, 7}, types[] = {0, 1, 2}, long_ids[LONGEST + 1] = {0};
    float to[256];
    const tsri_model_results vectors = {.vectors = to}, labels = {.labels = to}, none = {0};
    const struct {
        tsri_model_sequence sequence;
        const tsri_model_results *results;
        tsr_status status;
        const char *fragment;
    } cases[] = {
        {{.ids = ids, .n = 0}, &vectors, TSR_E_ARGUMENT, "at least one token"},
        {{.ids = ids, .n = 3, .past = 1}, &vectors, TSR_E_ARGUMENT, "reads whole texts"},
        {{.ids = long_ids, .n = LONGEST + 1}, &vectors, TSR_E_ARGUMENT, "reads at most 48"},
        {{.ids = ids, .n = 3, .types = types}, &vectors, TSR_E_ARGUMENT, "segment 2"},
        {{.ids = (int32_t[]){V}, .n = 1}, &vectors, TSR_E_ARGUMENT, "ids from 0 to 60"},
        {{.ids = ids, .n = 3}, &labels, TSR_E_STATE, "has no classifier"},
    };
    tsri_session *session = NULL;
    fixture f;
    open_golden(&f, "bert-tiny", "pre", "reference");
    OK(tsri_session_create(f.model, 1, 0, &session));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert(tsri_session_encode(session, &cases[i].sequence, 1, cases[i].results) ==
                      cases[i].status,
                  "case %zu", i);
        cr_assert(strstr(tsr_error_last(), cases[i].fragment), "case %zu: %s", i, tsr_error_last());
    }
    const tsri_model_sequence sequence = {.ids = ids, .n = 3};
    OK(tsri_session_encode(session, &sequence, 1, &none));
    cr_assert(tsri_session_forward(session, &sequence, 1, &none) == TSR_E_STATE);
    cr_assert(strstr(tsr_error_last(), "is an encoder"));
    tsri_session_destroy(&session);
    fixture_close(&f);
}

/* A decoder reads the source that its slot was last given; without one it is refused. Slots of a
 * longer text keep their contents. */
Test(encode, sources) {
    int32_t ids[] = {5, 6, 7, 8}, start = 0, longer[30] = {0};
    float first[V], again[V], other[V];
    tsri_session *session = NULL;
    fixture f;
    open_golden(&f, "marian-apart", "", "reference");
    const int64_t target = f.model->spec.vocab;
    OK(tsri_session_create_sized(f.model, &(tsri_session_sizes){.slots = 2, .sources = 3},
                                 &session));
    const tsri_model_results none = {0};
    tsri_model_results logits = {.logits = first};
    tsri_model_sequence text = {.ids = ids, .n = 4, .slot = 2},
                        step = {.ids = &start, .n = 1, .slot = 1, .source = 2};
    cr_assert(tsri_session_forward(session, &step, 1, &logits) == TSR_E_STATE);
    cr_assert(strstr(tsr_error_last(), "no encoded text yet"));
    OK(tsri_session_encode(session, &text, 1, &none));
    OK(tsri_session_forward(session, &step, 1, &logits));
    text = (tsri_model_sequence){.ids = longer, .n = 30, .slot = 0};
    OK(tsri_session_encode(session, &text, 1, &none));
    logits.logits = again;
    OK(tsri_session_forward(session, &step, 1, &logits));
    cr_assert(!memcmp(first, again, (size_t)target * sizeof *first));
    step.source = 0;
    logits.logits = other;
    OK(tsri_session_forward(session, &step, 1, &logits));
    cr_assert(memcmp(first, other, (size_t)target * sizeof *first) != 0);
    step.source = 3;
    cr_assert(tsri_session_forward(session, &step, 1, &logits) == TSR_E_ARGUMENT);
    tsri_session_destroy(&session);
    fixture_close(&f);
}

/* Hypotheses that exchange their past only through `keys` give what each gives with its own
 * past. */
static void keys_are_read_where_they_lie(const char *model, const char *selector) {
    enum { STEPS = 5 };
    int32_t said[2][STEPS + 1] = {{0, 9, 11, 13, 17, 4}, {0, 8, 30, 31, 40, 5}};
    int32_t own[2][STEPS], ids[] = {5, 6, 7};
    float want[2][V], got[2][V];
    tsri_session *session = NULL;
    fixture f;
    open_golden(&f, model, "", selector);
    OK(tsri_session_create_sized(f.model, &(tsri_session_sizes){.slots = 2, .sources = 1},
                                 &session));
    const tsri_model_sequence text = {.ids = ids, .n = 3};
    const tsri_model_results none = {0};
    tsri_model_results logits = {.logits = &want[0][0]};
    tsri_model_sequence both[2];
    const int64_t target = f.model->spec.vocab;
    OK(tsri_session_encode(session, &text, 1, &none));
    for (int b = 0; b < 2; b++) {
        for (int s = 0; s <= STEPS; s++)
            said[b][s] %= (int32_t)target;
        both[b] = (tsri_model_sequence){.ids = said[b], .n = STEPS, .slot = b};
    }
    OK(tsri_session_forward(session, both, 2, &none));
    for (int b = 0; b < 2; b++) { /* each continues with the other's past */
        for (int s = 0; s < STEPS; s++)
            own[b][s] = 1 - b;
        both[b] = (tsri_model_sequence){
            .ids = &said[b][STEPS], .n = 1, .past = STEPS, .slot = b, .keys = own[b]};
    }
    logits.logits = &got[0][0];
    OK(tsri_session_forward(session, both, 2, &logits));
    logits.logits = &want[0][0];
    for (int b = 0; b < 2; b++) {
        int32_t whole[STEPS + 1];
        memcpy(whole, said[1 - b], STEPS * sizeof *whole);
        whole[STEPS] = said[b][STEPS];
        const tsri_model_sequence one = {.ids = whole, .n = STEPS + 1, .slot = b};
        logits.logits = (float *)want + b * target;
        OK(tsri_session_forward(session, &one, 1, &logits));
    }
    cr_assert(!memcmp(want, got, (size_t)(2 * target) * sizeof(float)));
    tsri_session_destroy(&session);
    fixture_close(&f);
}

Test(encode, keys_reference) {
    keys_are_read_where_they_lie("marian-apart", "reference");
    keys_are_read_where_they_lie("bahdanau-wide", "reference");
}

Test(encode, keys_device) {
    keys_are_read_where_they_lie("marian-apart", NULL);
    keys_are_read_where_they_lie("bahdanau-wide", NULL);
}

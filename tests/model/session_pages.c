/* Sessions whose keys and values lie in pages: the bytes are those of slots, wherever the pages are and whoever
 * shares them. */
#include "model/session_runs.h"

#include "base/random.h"

#include <string.h>

static fixture fix;

enum { WORDS = 1024, ALL = 110, PAGE = TSRI_MODEL_PAGE };

static void open_shakespeare(const char *selector, tsr_dtype kv_dtype, int32_t *ids) {
    const tsri_model_options options = {.kv_dtype = kv_dtype};
    char path[1024];
    snprintf(path, sizeof path, "%s/models/shakespeare", TESSERA_SOURCE_DIR);
    fixture_device(&fix, selector);
    fixture_model(&fix, path, &options);
    for (int64_t i = 0; i < ALL; i++)
        ids[i] = (int32_t)(tsri_base_uniform(5, 0, (uint64_t)i) * WORDS);
}

/* Sequences in pages, and the tokens that they are given after those that the pages hold. */
typedef struct part {
    tsri_model_pages *pages;
    int64_t past, n;
} part;

static void expect_whole(tsri_session *session, const int32_t *ids, const part *parts, int32_t n,
                         const float *whole) {
    static float got[2 * ALL * WORDS];
    tsri_model_sequence sequences[2];
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = got};
    for (int32_t i = 0; i < n; i++)
        sequences[i] = (tsri_model_sequence){.ids = ids + parts[i].past,
                                             .n = parts[i].n,
                                             .past = parts[i].past,
                                             .slot = n - 1 - i,
                                             .pages = parts[i].pages};
    OK(tsri_session_forward(session, sequences, n, &results));
    const float *at = got;
    for (int32_t i = 0; i < n; at += parts[i++].n * WORDS)
        cr_expect(memcmp(at, whole + parts[i].past * WORDS,
                         (size_t)(parts[i].n * WORDS) * sizeof *at) == 0,
                  "%lld tokens after %lld others have other logits", (long long)parts[i].n,
                  (long long)parts[i].past);
}

static void in_pages(const char *selector, tsr_dtype kv_dtype) {
    static float whole[ALL * WORDS];
    int32_t ids[ALL], one[] = {7, 2, 5, 0}, two[] = {7, 2, 8, 6}, three[] = {7, 2, 4, 3};
    tsri_model_pages a = {one, 4}, b = {two, 4}, c = {three, 4};
    const tsri_session_sizes sizes = {.slots = 2, .context = ALL, .pages = 9};
    tsri_session *session = NULL;
    open_shakespeare(selector, kv_dtype, ids);
    const tsri_model_sequence sequence = {.ids = ids, .n = ALL};
    session_run_all(&fix, 1, &sequence, 1, whole);
    OK(tsri_session_create_sized(fix.model, &sizes, &session));
    expect_whole(session, ids, &(part){&a, 0, 31}, 1, whole);
    expect_whole(session, ids, &(part){&a, 31, 1}, 1, whole);
    expect_whole(session, ids, &(part){&a, 32, 1}, 1, whole);
    expect_whole(session, ids, &(part){&a, 33, 40}, 1, whole);
    /* b begins with two pages of a, c also with rows of the third page of b */
    expect_whole(session, ids, (part[]){{&a, 73, 1}, {&b, 64, 30}}, 2, whole);
    OK(tsri_session_copy(session, two[2], three[2], 10));
    expect_whole(session, ids, (part[]){{&b, 94, 3}, {&c, 74, 3}}, 2, whole);
    expect_whole(session, ids, (part[]){{&c, 77, ALL - 77}, {&a, 74, ALL - 74}}, 2, whole);
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

Test(session, pages_give_the_bytes_of_slots_reference) {
    in_pages("reference", TSR_F32);
    in_pages("reference", TSR_GGML_Q8_0);
}

Test(session, pages_give_the_bytes_of_slots_device) {
    in_pages(NULL, TSR_F32);
    in_pages(NULL, TSR_F16);
    in_pages(NULL, TSR_GGML_Q8_0);
}

/* Runs that start before the last one's ids are known: as long as there are pages, and again when there are
 * more. */
static void ahead(const char *selector) {
    enum { PROMPT = 3 * PAGE - 5, STEPS = 9, ROOM = 5 };
    int32_t ids[ALL], want[STEPS + 1], got[STEPS + 1], pages[] = {1, 4, 2, 0};
    tsri_model_pages list = {pages, 4};
    tsri_session *session = NULL;
    open_shakespeare(selector, TSR_F32, ids);
    const bool apart = fix.device->facts.type != TSR_DEVICE_CPU;
    for (int paged = 0; paged < 2; paged++) {
        const tsri_session_sizes sizes = {.slots = 1, .context = ALL, .pages = paged ? 5 : 0};
        int32_t *to = paged ? got : want;
        bool started = true;
        OK(tsri_session_create_sized(fix.model, &sizes, &session));
        OK(tsri_session_reserve(session, ALL));
        list.n = 3;
        for (int step = 0; step <= STEPS; step++) {
            const tsri_model_sequence next = {.ids = step ? to + step - 1 : ids,
                                              .n = step ? 1 : PROMPT,
                                              .past = step ? PROMPT + step - 1 : 0,
                                              .pages = &list};
            const tsri_model_results results = {.argmax = to + step};
            started = false;
            if (paged && step > 1) {
                OK(tsri_session_follow(session, NULL, to + step, &started));
                cr_expect(started == (apart && step <= ROOM), "step %d", step);
                list.n = step > ROOM ? 4 : 3;
                if (!started && apart)
                    OK(tsri_session_follow(session, NULL, to + step, &started));
                OK(tsri_session_finish(session));
            }
            if (!started)
                OK(tsri_session_forward(session, &next, 1, &results));
            if (step > ROOM)
                list.n = 3; /* too few for the next one */
        }
        tsri_session_destroy(&session);
    }
    cr_expect_arr_eq(got, want, sizeof want);
    fixture_close(&fix);
}

Test(session, steps_ahead_take_the_pages_that_come_reference) {
    ahead("reference");
}

Test(session, steps_ahead_take_the_pages_that_come_device) {
    ahead(NULL);
}

Test(session, refusals_of_pages) {
    int32_t ids[ALL], argmax, pages[] = {0, 4}, wrong[] = {0, 5};
    const tsri_session_sizes sizes = {.slots = 1, .pages = 5}, none = {.slots = 1, .pages = -1};
    tsri_model_pages list = {pages, 2}, bad = {wrong, 2};
    tsri_session *session = NULL;
    open_shakespeare("reference", TSR_F32, ids);
    const tsri_model_results results = {.argmax = &argmax};
    const struct {
        tsri_model_sequence sequence;
        const char *fragment;
    } rows[] = {
        {{.ids = ids, .n = 3}, "has 0 pages of 32 tokens; 3 tokens were given"},
        {{.ids = ids, .n = 4, .past = 61, .pages = &list}, "has 2 pages of 32 tokens; 65 tokens"},
        {{.ids = ids, .n = 33, .pages = &bad}, "page 1 is 5; the session has 5 pages"},
    };
    cr_expect(tsri_session_create_sized(fix.model, &none, &session) == TSR_E_ARGUMENT);
    OK(tsri_session_create_sized(fix.model, &sizes, &session));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_expect(tsri_session_forward(session, &rows[i].sequence, 1, &results) == TSR_E_ARGUMENT);
        cr_expect(strstr(tsr_error_last(), rows[i].fragment), "row %zu: %s", i, tsr_error_last());
    }
    tsri_session_destroy(&session);
    fixture_close(&fix);
}

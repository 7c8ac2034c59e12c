/* Pages of keys and values: who has them, what they hold, and which of them are given away first. */
#include "task/generate/pages.h"

#include "base/random.h"

#include <criterion/criterion.h>
#include <string.h>

enum { PAGE = TSRI_MODEL_PAGE, LONGEST = 6 * PAGE };

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

/* A text: its tokens are `first`, first + 1, .. */
static const int32_t *text(int32_t first, int32_t *ids) {
    for (int32_t i = 0; i < LONGEST; i++)
        ids[i] = first + i;
    return ids;
}

/* Finds the beginning of a text and takes pages for `tokens` of it; gives the tokens that need not be
 * computed. */
static int64_t begin(tsri_task_pages *p, const int32_t *ids, int64_t tokens,
                     tsri_task_page_list *list, int32_t *copy) {
    const tsri_task_beginning found = tsri_task_pages_find(p, ids, tokens - 1);
    cr_assert(tsri_task_pages_begin(p, ids, &found, tokens, list, copy));
    return found.tokens + found.rows;
}

Test(pages, they_are_taken_as_a_sequence_grows) {
    tsri_task_pages *p = NULL;
    tsri_task_page_list a = {0}, b = {0};
    int32_t ids[LONGEST];
    text(0, ids);
    OK(tsri_task_pages_create(5, &p));
    cr_expect(tsri_task_pages_grow(p, &a, 1) && a.pages.n == 1);
    cr_expect(tsri_task_pages_grow(p, &a, PAGE) && a.pages.n == 1);
    cr_expect(tsri_task_pages_grow(p, &a, PAGE + 1) && a.pages.n == 2);
    cr_expect(tsri_task_pages_grow(p, &b, 2 * PAGE) && tsri_task_pages_used(p) == 4);
    cr_expect(!tsri_task_pages_grow(p, &b, 5 * PAGE) && b.pages.n == 2 &&
              tsri_task_pages_used(p) == 4);
    cr_expect(tsri_task_pages_grow(p, &b, 3 * PAGE) && tsri_task_pages_used(p) == 5);
    tsri_task_pages_release(p, &a, ids, 0);
    cr_expect(tsri_task_pages_used(p) == 3 && !a.pages.n);
    cr_expect(tsri_task_pages_grow(p, &b, 5 * PAGE) && tsri_task_pages_used(p) == 5);
    for (int32_t i = 0; i < 5; i++)
        for (int32_t j = 0; j < i; j++)
            cr_expect(b.pages.ids[i] != b.pages.ids[j]);
    tsri_task_pages_release(p, &b, ids, 0);
    tsri_task_pages_destroy(&p);
}

Test(pages, a_beginning_is_shared_or_copied) {
    tsri_task_pages *p = NULL;
    tsri_task_page_list a = {0}, b = {0}, c = {0};
    int32_t ids[LONGEST], other[LONGEST], copy;
    text(0, ids);
    OK(tsri_task_pages_create(12, &p));
    cr_expect(begin(p, ids, 2 * PAGE + 20, &a, &copy) == 0 && copy < 0);
    cr_expect(begin(p, ids, 2 * PAGE + 20, &b, &copy) == 0, "nothing was computed yet");
    tsri_task_pages_release(p, &b, ids, 0);
    tsri_task_pages_note(p, &a, ids, PAGE + 31);
    cr_expect(begin(p, ids, 2 * PAGE + 20, &b, &copy) == PAGE && copy < 0, "one page is whole");
    cr_expect(b.pages.ids[0] == a.pages.ids[0] && tsri_task_pages_used(p) == 5);
    tsri_task_pages_release(p, &b, ids, PAGE);
    tsri_task_pages_note(p, &a, ids, 2 * PAGE + 20);
    cr_expect(begin(p, ids, 2 * PAGE, &b, &copy) == 2 * PAGE - 1, "the last token is computed");
    cr_expect(copy == b.pages.ids[1] && copy != a.pages.ids[1]);
    memcpy(other, ids, sizeof ids);
    other[PAGE + 7] = -1;
    cr_expect(begin(p, other, 2 * PAGE, &c, &copy) == PAGE && copy < 0, "7 rows are not copied");
    tsri_task_pages_release(p, &c, other, PAGE);
    other[PAGE + 7] = ids[PAGE + 7], other[PAGE + 8] = -1;
    cr_expect(begin(p, other, 2 * PAGE, &c, &copy) == PAGE + 8 && copy == c.pages.ids[1]);
    tsri_task_pages_release(p, &c, other, 2 * PAGE);
    tsri_task_pages_release(p, &b, ids, 2 * PAGE - 1);
    const int32_t last = a.pages.ids[2];
    tsri_task_pages_release(p, &a, ids, 2 * PAGE + 20);
    cr_expect(tsri_task_pages_used(p) == 0);
    cr_expect(begin(p, ids, LONGEST, &a, &copy) == 2 * PAGE + 20 && copy < 0,
              "a page that nobody has, and whose rows are all wanted, is taken over");
    cr_expect(a.pages.ids[2] == last && tsri_task_pages_used(p) == 6);
    cr_expect(begin(p, ids, 3 * PAGE, &b, &copy) == 2 * PAGE, "it is written to");
    tsri_task_pages_release(p, &a, ids, 0);
    tsri_task_pages_release(p, &b, ids, 0);
    tsri_task_pages_forget(p);
    cr_expect(begin(p, ids, 3 * PAGE, &a, &copy) == 0);
    tsri_task_pages_release(p, &a, ids, 0);
    tsri_task_pages_destroy(&p);
}

/* The text that was used the longest ago loses its pages first, the last one before those before it. */
Test(pages, what_was_used_the_longest_ago_goes_first) {
    tsri_task_pages *p = NULL;
    tsri_task_page_list list = {0};
    int32_t one[LONGEST], two[LONGEST], three[LONGEST], copy;
    OK(tsri_task_pages_create(6, &p));
    begin(p, text(0, one), 2 * PAGE, &list, &copy);
    tsri_task_pages_release(p, &list, one, 2 * PAGE);
    begin(p, text(1000, two), 2 * PAGE, &list, &copy);
    tsri_task_pages_release(p, &list, two, 2 * PAGE);
    begin(p, one, 2 * PAGE, &list, &copy); /* now `two` is older */
    tsri_task_pages_release(p, &list, one, 2 * PAGE);
    begin(p, text(2000, three), 3 * PAGE, &list, &copy);
    cr_expect(tsri_task_pages_find(p, two, LONGEST).tokens == PAGE);
    cr_expect(tsri_task_pages_find(p, one, LONGEST).tokens == 2 * PAGE);
    cr_expect(tsri_task_pages_grow(p, &list, 4 * PAGE));
    cr_expect(tsri_task_pages_find(p, two, LONGEST).tokens == 0);
    cr_expect(tsri_task_pages_find(p, one, LONGEST).tokens == 2 * PAGE);
    cr_expect(tsri_task_pages_grow(p, &list, 5 * PAGE));
    cr_expect(tsri_task_pages_find(p, one, LONGEST).tokens == PAGE);
    tsri_task_pages_release(p, &list, three, 5 * PAGE);
    tsri_task_pages_destroy(&p);
}

/* Two sequences compute the same page, and the one whose page is found leaves. When other tokens have its
 * memory, what the other sequence wrote behind it is not found behind those. */
Test(pages, what_lies_behind_a_page_that_is_gone_is_not_found) {
    tsri_task_pages *p = NULL;
    tsri_task_page_list a = {0}, b = {0}, c = {0};
    int32_t ids[LONGEST], other[LONGEST], copy;
    text(0, ids);
    text(1000, other);
    OK(tsri_task_pages_create(4, &p));
    begin(p, ids, PAGE, &a, &copy);
    begin(p, ids, 2 * PAGE, &b, &copy);
    const int32_t gone = a.pages.ids[0];
    tsri_task_pages_note(p, &a, ids, PAGE);
    tsri_task_pages_note(p, &b, ids, 2 * PAGE);
    tsri_task_pages_release(p, &a, ids, PAGE);
    cr_expect(tsri_task_pages_find(p, ids, LONGEST).tokens == 2 * PAGE);
    begin(p, other, 2 * PAGE, &c, &copy);
    tsri_task_pages_note(p, &c, other, 2 * PAGE);
    cr_assert(c.pages.ids[1] == gone);
    memcpy(other + 2 * PAGE, ids + PAGE, PAGE * sizeof *ids);
    cr_expect(tsri_task_pages_find(p, other, LONGEST).tokens == 2 * PAGE);
    tsri_task_pages_release(p, &b, ids, 2 * PAGE);
    tsri_task_pages_release(p, &c, other, 2 * PAGE);
    tsri_task_pages_destroy(&p);
}

/* ---- any order of what sequences do ---- */

enum { PAGES = 10, SEQUENCES = 4, STEPS = 20000 };

typedef struct sequence {
    tsri_task_page_list list;
    int32_t ids[LONGEST];
    int64_t n, past;
    bool runs;
} sequence;

/* What a page holds in truth: in row i, the token there and all before it, as one number. */
static uint64_t held[PAGES][PAGE];

static int64_t draw(uint64_t *count, int64_t n) {
    return (int64_t)(tsri_base_uniform(3, 0, ++*count) * (double)n);
}

static uint64_t after(uint64_t before, int32_t id) {
    return (before ^ (uint64_t)id) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static void compute(sequence *q, int64_t to) {
    uint64_t all = 0;
    for (int64_t i = 0; i < to; i++) {
        all = after(all, q->ids[i]);
        if (i >= q->past)
            held[q->list.pages.ids[i / PAGE]][i % PAGE] = all;
    }
    q->past = to;
}

static void expect_held(const sequence *q, int step) {
    uint64_t all = 0;
    for (int64_t i = 0; i < q->past; i++) {
        all = after(all, q->ids[i]);
        cr_assert(held[q->list.pages.ids[i / PAGE]][i % PAGE] == all,
                  "step %d: token %lld of %lld has another key", step, (long long)i,
                  (long long)q->past);
    }
}

static void start(tsri_task_pages *p, sequence *q, uint64_t *count) {
    int32_t copy;
    q->n = 1 + draw(count, LONGEST);
    for (int64_t i = 0; i < q->n; i++) /* texts that part somewhere */
        q->ids[i] = draw(count, 40) ? 0 : 1;
    const tsri_task_beginning found = tsri_task_pages_find(p, q->ids, q->n - 1);
    if (!tsri_task_pages_begin(p, q->ids, &found, q->n, &q->list, &copy)) {
        cr_assert(!q->list.pages.n);
        return;
    }
    if (copy >= 0 && copy != found.copied)
        memcpy(held[copy], held[found.copied], (size_t)found.rows * sizeof held[0][0]);
    q->past = found.tokens + found.rows;
    q->runs = true;
}

static void go_on(tsri_task_pages *p, sequence *q, uint64_t *count) {
    if (q->past < q->n)
        compute(q, q->past + 1 + draw(count, q->n - q->past));
    else if (q->n < LONGEST && tsri_task_pages_grow(p, &q->list, q->n + 1))
        q->ids[q->n++] = (int32_t)draw(count, 2);
    if (draw(count, 2))
        tsri_task_pages_note(p, &q->list, q->ids, q->past);
}

Test(pages, every_sequence_has_its_own_tokens_whatever_the_others_do) {
    static sequence all[SEQUENCES];
    tsri_task_pages *p = NULL;
    uint64_t count = 0;
    OK(tsri_task_pages_create(PAGES, &p));
    for (int step = 0; step < STEPS; step++) {
        sequence *q = &all[draw(&count, SEQUENCES)];
        if (!q->runs) {
            start(p, q, &count);
        } else if (draw(&count, 12)) {
            go_on(p, q, &count);
        } else {
            tsri_task_pages_release(p, &q->list, q->ids, q->past);
            *q = (sequence){0};
        }
        for (int i = 0; i < SEQUENCES; i++)
            if (all[i].runs)
                expect_held(&all[i], step);
    }
    for (int i = 0; i < SEQUENCES; i++)
        tsri_task_pages_release(p, &all[i].list, all[i].ids, all[i].past);
    cr_expect(tsri_task_pages_used(p) == 0);
    tsri_task_pages_destroy(&p);
}

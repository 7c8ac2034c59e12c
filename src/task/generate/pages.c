/* task/generate/pages.c - pages are found by the content before them and their own tokens. Both are compared
 * as they are, so no two contents are ever taken for the same. */
#include "task/generate/pages.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = TSRI_MODEL_PAGE, NONE = -1 };
enum { WORTH = 8 }; /* rows that are copied rather than computed again */

/* What a page holds is its tokens and all before them: a content. Each that becomes known gets a number of its
 * own, so a page that follows one whose memory was given to others is not found any more. */
typedef struct page {
    int32_t users;      /* sequences that have it */
    int32_t n;          /* tokens that it is known to hold; 0: none, and it has no content */
    uint64_t content;   /* its number */
    uint64_t before;    /* that of the page before it; 0: it is the first of its sequence */
    int32_t alike;      /* the next page whose `before` lies in the same bucket */
    int32_t last, next; /* its neighbours among those without a user */
} page;

struct tsri_task_pages {
    page *
        all; /* [n], and one more: the ends of the list of those without a user, the next to be taken first */
    int32_t *ids;     /* [n, PAGE] */
    int32_t *buckets; /* [n_buckets] by content before */
    int32_t n, used;
    uint32_t n_buckets; /* a power of two */
    uint64_t contents;
};

tsr_status tsri_task_pages_create(int32_t n, tsri_task_pages **out) {
    tsri_task_pages *p = NULL;
    TRY(tsri_base_new(1, sizeof *p, &p));
    p->n = n;
    p->n_buckets = 1;
    while (p->n_buckets < (uint32_t)n)
        p->n_buckets *= 2;
    tsr_status status = tsri_base_new((size_t)n + 1, sizeof *p->all, &p->all);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)n * PAGE, sizeof *p->ids, &p->ids);
    if (status == TSR_OK)
        status = tsri_base_new(p->n_buckets, sizeof *p->buckets, &p->buckets);
    for (uint32_t i = 0; i < p->n_buckets && status == TSR_OK; i++)
        p->buckets[i] = NONE;
    for (int32_t i = 0; i <= n && status == TSR_OK; i++) /* a ring, in their order */
        p->all[i].last = i ? i - 1 : n, p->all[i].next = i < n ? i + 1 : 0;
    if (status != TSR_OK)
        tsri_task_pages_destroy(&p);
    *out = p;
    return status;
}

void tsri_task_pages_destroy(tsri_task_pages **pages) {
    tsri_task_pages *p = *pages;
    if (!p)
        return;
    free(p->all);
    free(p->ids);
    free(p->buckets);
    free(p);
    *pages = NULL;
}

int32_t tsri_task_pages_count(const tsri_task_pages *pages) {
    return pages->n;
}

int32_t tsri_task_pages_used(const tsri_task_pages *pages) {
    return pages->used;
}

/* ---- by content ---- */

static int32_t *bucket_of(const tsri_task_pages *p, uint64_t before) {
    return &p->buckets[(before * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (p->n_buckets - 1)];
}

static void forget(tsri_task_pages *p, int32_t number) {
    page *own = &p->all[number];
    if (!own->n)
        return;
    int32_t *at = bucket_of(p, own->before);
    while (*at != number)
        at = &p->all[*at].alike;
    *at = own->alike;
    own->n = 0;
}

static void know(tsri_task_pages *p, int32_t number, uint64_t before, const int32_t *ids,
                 int32_t n) {
    page *own = &p->all[number];
    int32_t *first = bucket_of(p, before);
    memcpy(p->ids + (size_t)number * PAGE, ids, (size_t)n * sizeof *ids);
    own->n = n;
    own->before = before;
    own->content = ++p->contents;
    own->alike = *first;
    *first = number;
}

/* The page behind `before` that has the most of the first `most` ids, of equal ones one that holds nothing
 * else; *has: how many. */
static int32_t find_best(const tsri_task_pages *p, uint64_t before, const int32_t *ids,
                         int64_t most, int32_t *has) {
    int32_t best = NONE;
    *has = 0;
    for (int32_t i = *bucket_of(p, before); i != NONE; i = p->all[i].alike) {
        const page *own = &p->all[i];
        const int32_t *theirs = p->ids + (size_t)i * PAGE;
        int32_t n = 0;
        if (own->before != before)
            continue;
        while (n < own->n && n < most && theirs[n] == ids[n])
            n++;
        if (n > *has || (n && n == *has && own->n < p->all[best].n)) {
            best = i;
            *has = n;
        }
    }
    return best;
}

tsri_task_beginning tsri_task_pages_find(const tsri_task_pages *pages, const int32_t *ids,
                                         int64_t most) {
    tsri_task_beginning found = {.copied = NONE};
    uint64_t before = 0;
    for (;;) {
        int32_t n;
        const int32_t best = find_best(pages, before, ids + found.tokens, most - found.tokens, &n);
        if (n == PAGE) {
            before = pages->all[best].content;
            found.tokens += n;
            continue;
        }
        const bool whole = n && n == pages->all[best].n && !pages->all[best].users;
        if (whole || n >= WORTH) {
            found.copied = best;
            found.rows = n;
        }
        return found;
    }
}

/* ---- who has them ---- */

static void unlink_unused(tsri_task_pages *p, int32_t number) {
    page *own = &p->all[number];
    p->all[own->last].next = own->next;
    p->all[own->next].last = own->last;
}

/* Before page `next` of the ring; the ends are page n. */
static void link_unused(tsri_task_pages *p, int32_t number, int32_t next) {
    page *own = &p->all[number];
    own->next = next;
    own->last = p->all[next].last;
    p->all[own->last].next = p->all[next].last = number;
}

/* Adds a page to a list, which has room for it. */
static void give(tsri_task_pages *p, tsri_task_page_list *list, int32_t number) {
    if (!p->all[number].users++) {
        unlink_unused(p, number);
        p->used++;
    }
    list->pages.ids[list->pages.n++] = number;
}

static bool reserve(tsri_task_page_list *list, int64_t n) {
    return tsri_base_grow(&list->pages.ids, &list->room, (size_t)n, sizeof *list->pages.ids) ==
           TSR_OK;
}

static int64_t pages_for(int64_t tokens) {
    return (tokens + PAGE - 1) / PAGE;
}

bool tsri_task_pages_grow(tsri_task_pages *pages, tsri_task_page_list *list, int64_t tokens) {
    const int64_t n = pages_for(tokens);
    if (n <= list->pages.n)
        return true;
    if (n - list->pages.n > pages->n - pages->used || !reserve(list, n))
        return false;
    while (list->pages.n < n) {
        const int32_t first = pages->all[pages->n].next;
        forget(pages, first);
        give(pages, list, first);
    }
    return true;
}

bool tsri_task_pages_begin(tsri_task_pages *pages, const int32_t *ids,
                           const tsri_task_beginning *found, int64_t tokens,
                           tsri_task_page_list *list, int32_t *copy) {
    uint64_t before = 0;
    int32_t n;
    *copy = NONE;
    if (!reserve(list, pages_for(tokens)))
        return false;
    for (int64_t at = 0; at < found->tokens; at += PAGE) {
        const int32_t shared = find_best(pages, before, ids + at, PAGE, &n);
        before = pages->all[shared].content;
        give(pages, list, shared);
    }
    list->known = list->pages.n;
    list->before = before;
    const page *last = found->rows ? &pages->all[found->copied] : NULL;
    const bool own = last && !last->users && last->n == found->rows;
    if (own) {
        forget(pages, found->copied);
        give(pages, list, found->copied);
    } else if (last && !last->users) { /* it must last until it has been copied */
        unlink_unused(pages, found->copied);
        link_unused(pages, found->copied, pages->n);
    }
    const int32_t had = list->pages.n;
    if (!tsri_task_pages_grow(pages, list, tokens)) {
        tsri_task_pages_release(pages, list, ids, found->tokens + (own ? found->rows : 0));
        return false;
    }
    if (last && !own && list->pages.n > had)
        *copy = list->pages.ids[had];
    return true;
}

void tsri_task_pages_note(tsri_task_pages *pages, tsri_task_page_list *list, const int32_t *ids,
                          int64_t past) {
    while ((int64_t)(list->known + 1) * PAGE <= past) {
        const int32_t *own = ids + (int64_t)list->known * PAGE;
        const int32_t number = list->pages.ids[list->known++];
        int32_t n;
        const int32_t same = find_best(pages, list->before, own, PAGE, &n);
        if (n < PAGE)
            know(pages, number, list->before, own, PAGE);
        list->before = pages->all[n < PAGE ? number : same].content;
    }
}

/* The last page, which is not full, may be found, too. */
static void note_rest(tsri_task_pages *p, const tsri_task_page_list *list, const int32_t *ids,
                      int64_t past) {
    const int32_t *own = ids + (int64_t)list->known * PAGE;
    const int32_t rest = (int32_t)(past - (int64_t)list->known * PAGE);
    int32_t n;
    if (rest < 1)
        return;
    (void)find_best(p, list->before, own, rest, &n);
    if (n < rest)
        know(p, list->pages.ids[list->known], list->before, own, rest);
}

void tsri_task_pages_release(tsri_task_pages *pages, tsri_task_page_list *list, const int32_t *ids,
                             int64_t past) {
    tsri_task_pages_note(pages, list, ids, past);
    note_rest(pages, list, ids, past);
    while (list->pages.n) {
        const int32_t number = list->pages.ids[--list->pages.n];
        page *own = &pages->all[number];
        if (--own->users)
            continue;
        pages->used--;
        link_unused(pages, number, own->n ? pages->n : pages->all[pages->n].next);
    }
    free(list->pages.ids);
    *list = (tsri_task_page_list){0};
}

void tsri_task_pages_forget(tsri_task_pages *pages) {
    for (int32_t i = 0; i < pages->n; i++)
        forget(pages, i);
}

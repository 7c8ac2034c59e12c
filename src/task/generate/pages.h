/* task/generate/pages.h - the pages of keys and values that sequences share, counted, and found again by what
 * they hold. It knows token ids and numbers of pages, and nothing of devices. */
#ifndef TSRI_TASK_GENERATE_PAGES_H
#define TSRI_TASK_GENERATE_PAGES_H

#include "model/session/session.h"

typedef struct tsri_task_pages tsri_task_pages;

/* The pages of one sequence. All 0: none. */
typedef struct tsri_task_page_list {
    tsri_model_pages pages;
    size_t room;
    int32_t known;   /* of them, so many from the first on can be found by what they hold */
    uint64_t before; /* the content of the last of these; 0: there is none */
} tsri_task_page_list;

/* Where the beginning of a prompt is. */
typedef struct tsri_task_beginning {
    int64_t tokens;       /* how many of its tokens are in pages that it can have */
    int32_t copied, rows; /* rows > 0: so many more are the first ones of this page */
} tsri_task_beginning;

/* n pages of TSRI_MODEL_PAGE tokens each, none in use. */
tsr_status tsri_task_pages_create(int32_t n, tsri_task_pages **out);
void tsri_task_pages_destroy(tsri_task_pages **pages);

/* How many of the first `most` tokens of a prompt are in pages: whole ones; then the page that continues them
 * best. */
tsri_task_beginning tsri_task_pages_find(const tsri_task_pages *pages, const int32_t *ids,
                                         int64_t most);
/* Gives a list without pages those that hold the beginning of a prompt, and for what is left of it further
 * ones: so many that `tokens` fit. `found` is what tsri_task_pages_find gave. Where it has rows to copy,
 * *copy is the page to copy them to; -1 where the list has that page itself, because no other one does and
 * its rows are all that it holds. false: so many are not free, and nothing has changed. */
bool tsri_task_pages_begin(tsri_task_pages *pages, const int32_t *ids,
                           const tsri_task_beginning *found, int64_t tokens,
                           tsri_task_page_list *list, int32_t *copy);
/* Makes room for `tokens`, with pages that nobody uses: those that hold nothing, then those that were used the
 * longest ago. false: so many are not free, and nothing has changed. */
bool tsri_task_pages_grow(tsri_task_pages *pages, tsri_task_page_list *list, int64_t tokens);
/* Others may find the whole pages of the first `past` tokens from now on. They are not written to any more. */
void tsri_task_pages_note(tsri_task_pages *pages, tsri_task_page_list *list, const int32_t *ids,
                          int64_t past);
/* Gives all pages of a sequence back. They are found by the `past` tokens that they hold until they are
 * needed; the last ones go first. */
void tsri_task_pages_release(tsri_task_pages *pages, tsri_task_page_list *list, const int32_t *ids,
                             int64_t past);
/* Nobody knows any more what the pages hold. */
void tsri_task_pages_forget(tsri_task_pages *pages);

int32_t tsri_task_pages_count(const tsri_task_pages *pages);
int32_t tsri_task_pages_used(const tsri_task_pages *pages); /* by sequences */

#endif

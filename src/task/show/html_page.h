/* task/show/html_page.h - puts data into the pages of src/task, each of which is a single file for a
 * browser. */
#ifndef TSRI_TASK_SHOW_HTML_PAGE_H
#define TSRI_TASK_SHOW_HTML_PAGE_H

#include "base/bytes.h"

/* The pages, by their paths below src/task, which the build embeds; after the last comes an entry
 * of NULL. */
typedef struct tsri_task_html_page {
    const char *path, *text;
    size_t size;
} tsri_task_html_page;
extern const tsri_task_html_page tsri_task_html_pages[];
extern const size_t tsri_task_html_page_count;

const tsri_task_html_page *tsri_task_html_page_find(const char *path); /* must be one of them */
/* Appends the page, with `json` in place of @DATA@, escaped for a script element. */
tsr_status tsri_task_html_page_append(const tsri_task_html_page *page, const char *json,
                                      tsri_bytes *out);

#endif

/* task/show/html_page.c - puts JSON into a page of HTML that is embedded in the library. */
#include "task/show/html_page.h"

#include "base/error.h"

#include <assert.h>
#include <string.h>

static const char marker[] = "@DATA@";

const tsri_task_html_page *tsri_task_html_page_find(const char *path) {
    const tsri_task_html_page *page = tsri_task_html_pages;
    while (page->path && strcmp(page->path, path) != 0)
        page++;
    assert(page->path);
    return page;
}

/* Escapes "<", which JSON in a script element must not contain; only JSON strings can have it. */
static tsr_status append_escaped(tsri_bytes *bytes, const char *text) {
    for (;;) {
        const size_t n = strcspn(text, "<");
        TRY(tsri_base_bytes_append(bytes, text, n));
        if (!text[n])
            return TSR_OK;
        TRY(tsri_base_bytes_append(bytes, "\\u003c", 6));
        text += n + 1;
    }
}

tsr_status tsri_task_html_page_append(const tsri_task_html_page *page, const char *json,
                                      tsri_bytes *out) {
    const char *at = strstr(page->text, marker);
    assert(at);
    TRY(tsri_base_bytes_append(out, page->text, (size_t)(at - page->text)));
    TRY(append_escaped(out, json));
    at += sizeof marker - 1;
    return tsri_base_bytes_append(out, at, strlen(at));
}

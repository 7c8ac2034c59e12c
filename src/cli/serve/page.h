/* cli/serve/page.h - what is served as it is: the page at "/", a chat in the browser, one file that asks nothing
 * of other hosts; and docs/openapi.json, the description of what is served. */
#ifndef TESSERA_CLI_SERVE_PAGE_H
#define TESSERA_CLI_SERVE_PAGE_H

#include <stddef.h>

typedef struct tsri_serve_page {
    const char *path, *text;
    size_t size;
} tsri_serve_page;

enum { TSRI_SERVE_PAGE, TSRI_SERVE_DESCRIPTION };

/* The two in this order, and an entry of NULL; made by cmake/embed.cmake. */
extern const tsri_serve_page tsri_serve_pages[];
extern const size_t tsri_serve_page_count;

#endif

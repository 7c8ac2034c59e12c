/* cli/serve/marks.c - special tokens in the texts of calls. */
#include "cli/serve/marks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The name of a special token, in new memory; NULL: the token is not special. */
static char *special_name(const tsr_model *model, int32_t id) {
    char *shown = NULL, *name = NULL;
    size_t n = 0;
    const bool special = tsr_decode(model, &id, 1, 1, &shown, &n) == TSR_OK && !n &&
                         tsr_decode(model, &id, 1, 0, &name, &n) == TSR_OK && n;
    tsr_text_free(shown);
    if (!special) {
        tsr_text_free(name);
        name = NULL;
    }
    return name;
}

static size_t write_mark(int32_t id, char mark[TSRI_SERVE_MARK_ROOM]) {
    return (size_t)snprintf(mark, TSRI_SERVE_MARK_ROOM, "%c%" PRId32 "%c", TSRI_SERVE_MARK, id,
                            TSRI_SERVE_MARK);
}

size_t tsri_serve_mark_of(const tsr_model *model, int32_t id, char mark[TSRI_SERVE_MARK_ROOM]) {
    char *name = special_name(model, id);
    const size_t n = name ? write_mark(id, mark) : 0;
    tsr_text_free(name);
    return n;
}

char *tsri_serve_with_marks(const tsr_model *model, const char *text) {
    tsri_serve_buffer marked = {0};
    int32_t *ids = NULL;
    size_t n = 0;
    if (tsr_encode(model, text, strlen(text), TSR_ENCODE_PARSE_SPECIAL, &ids, &n) != TSR_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        char mark[TSRI_SERVE_MARK_ROOM], *name = special_name(model, ids[i]);
        const char *at = name ? strstr(text, name) : NULL;
        if (at) {
            tsri_serve_put(&marked, text, (size_t)(at - text));
            tsri_serve_put(&marked, mark, write_mark(ids[i], mark));
            text = at + strlen(name);
        }
        tsr_text_free(name);
    }
    tsri_serve_put(&marked, text, strlen(text));
    tsr_ids_free(ids);
    if (marked.lost)
        tsri_serve_clear(&marked);
    return marked.data;
}

int32_t tsri_serve_mark_read(const char *mark, const char **behind) {
    char *end;
    const int32_t id = (int32_t)strtol(mark + 1, &end, 10);
    *behind = end + (*end == TSRI_SERVE_MARK);
    return id;
}

/* cli/serve/embedders.c - the embedders of a model that gives vectors. Each has a session of its own, so
 * only a few are kept. */
#include "cli/serve/embedders.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PROMPTS = 8 };

struct tsri_serve_prompted {
    tsri_serve_prompted *next; /* used before this one */
    char *name, *text;         /* one of them is NULL */
    tsr_embedder *embedder;
};

static tsr_status create(const tsri_serve_server *s, const tsri_serve_model *m, const char *name,
                         const char *text, tsr_embedder **out) {
    const tsr_embed_options options = {.struct_size = sizeof options,
                                       .pooling = s->limits.pooling,
                                       .prompt = name,
                                       .prompt_text = text};
    return tsr_embedder_create(m->model, &options, out);
}

static void drop(tsri_serve_prompted *p) {
    tsr_embedder_destroy(&p->embedder);
    free(p->name);
    free(p->text);
    free(p);
}

static tsr_status make(const tsri_serve_server *s, const tsri_serve_model *m, const char *name,
                       const char *text, tsri_serve_prompted **out) {
    tsri_serve_prompted *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p)
        return TSR_E_HOST_MEMORY;
    p->name = name ? strdup(name) : NULL;
    p->text = text ? strdup(text) : NULL;
    const tsr_status status = (name && !p->name) || (text && !p->text)
                                  ? TSR_E_HOST_MEMORY
                                  : create(s, m, p->name, p->text, &p->embedder);
    if (status == TSR_OK)
        *out = p;
    else
        drop(p);
    return status;
}

static bool same(const char *a, const char *b) {
    return a && b ? !strcmp(a, b) : a == b;
}

tsr_status tsri_serve_embedders_begin(const tsri_serve_server *s, tsri_serve_model *m) {
    return create(s, m, NULL, NULL, &m->embedder);
}

tsr_status tsri_serve_embedder(const tsri_serve_server *s, tsri_serve_model *m, const char *name,
                               const char *text, tsr_embedder **out) {
    tsri_serve_prompted **at = &m->prompted, *found;
    size_t n = 1;
    *out = m->embedder;
    if (!name && !text)
        return TSR_OK;
    while (*at && !(same((*at)->name, name) && same((*at)->text, text)))
        at = &(*at)->next;
    found = *at;
    if (found) {
        *at = found->next;
    } else {
        const tsr_status status = make(s, m, name, text, &found);
        if (status != TSR_OK)
            return status;
    }
    found->next = m->prompted;
    m->prompted = found;
    *out = found->embedder;
    for (at = &found->next; *at;) {
        tsri_serve_prompted *last = *at;
        if (n++ < MOST_PROMPTS) {
            at = &last->next;
        } else {
            *at = last->next;
            drop(last);
        }
    }
    return TSR_OK;
}

void tsri_serve_embedders_end(tsri_serve_model *m) {
    while (m->prompted) {
        tsri_serve_prompted *p = m->prompted;
        m->prompted = p->next;
        drop(p);
    }
    tsr_embedder_destroy(&m->embedder);
}

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

/* An embedder is made by the model's files, which may have changed since the server started. */
static bool is_of_the_same_files(tsr_embedder *a, tsr_embedder *b) {
    tsr_embedder_info x = {.struct_size = sizeof x}, y = x;
    return tsr_embedder_info_get(a, &x) == TSR_OK && tsr_embedder_info_get(b, &y) == TSR_OK &&
           x.width == y.width && x.normalized == y.normalized && x.has_modules == y.has_modules &&
           !strcmp(x.pooling, y.pooling);
}

static bool fill(tsri_serve_prompted *p, const tsri_serve_server *s, const tsri_serve_model *m,
                 const char *name, const char *text, tsri_serve_failure *f) {
    tsr_embedder_info info = {.struct_size = sizeof info};
    p->name = name ? strdup(name) : NULL;
    p->text = text ? strdup(text) : NULL;
    if ((name && !p->name) || (text && !p->text))
        return tsri_serve_fail(f, 503, NULL, "out of memory");
    const tsr_status status = create(s, m, p->name, p->text, &p->embedder);
    if (status == TSR_E_ARGUMENT && name && tsr_embedder_info_get(m->embedder, &info) == TSR_OK)
        return tsri_serve_fail(f, 400, "prompt_name",
                               "prompt_name: the model \"%s\" has no prompt \"%.200s\"; it has %s",
                               m->name, name, *info.prompt_names ? info.prompt_names : "none");
    if (status != TSR_OK)
        return tsri_serve_fail_status(f, status, "prompt");
    return is_of_the_same_files(m->embedder, p->embedder) ||
           tsri_serve_fail(f, 503, NULL,
                           "the files of the model \"%s\" have changed since the server started: "
                           "start it again",
                           m->name);
}

static tsri_serve_prompted *make(const tsri_serve_server *s, const tsri_serve_model *m,
                                 const char *name, const char *text, tsri_serve_failure *f) {
    tsri_serve_prompted *p = calloc(1, sizeof *p);
    if (!p)
        tsri_serve_fail(f, 503, NULL, "out of memory");
    else if (fill(p, s, m, name, text, f))
        return p;
    else
        drop(p);
    return NULL;
}

static bool same(const char *a, const char *b) {
    return a && b ? !strcmp(a, b) : a == b;
}

tsr_status tsri_serve_embedders_begin(const tsri_serve_server *s, tsri_serve_model *m) {
    return create(s, m, NULL, NULL, &m->embedder);
}

bool tsri_serve_embedder(const tsri_serve_server *s, tsri_serve_model *m, const char *name,
                         const char *text, tsr_embedder **out, tsri_serve_failure *f) {
    tsri_serve_prompted **at = &m->prompted, *found;
    size_t n = 1;
    *out = m->embedder;
    if (!name && !text)
        return true;
    while (*at && !(same((*at)->name, name) && same((*at)->text, text)))
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    else if (!(found = make(s, m, name, text, f)))
        return false;
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
    return true;
}

void tsri_serve_embedders_end(tsri_serve_model *m) {
    while (m->prompted) {
        tsri_serve_prompted *p = m->prompted;
        m->prompted = p->next;
        drop(p);
    }
    tsr_embedder_destroy(&m->embedder);
}

/* cli/commands/models.c - tessera models: lists the models on this machine, and opens each, without
 * its weights, to tell whether it can be used. */
#include "cli/base/app.h"
#include "cli/base/json.h"
#include "cli/commands/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    char *name, *path, *place;
    char *get; /* the command that downloads it; NULL: there is none */
    uint64_t bytes;
} row;

typedef struct job {
    tsri_cli_app app;
    row *rows;
    size_t n;
    bool lost; /* there was too little memory */
    json_t *out;
} job;

static void keep(void *data, const tsr_model_found *found) {
    job *j = data;
    row *grown = realloc(j->rows, (j->n + 1) * sizeof *grown);
    if (!grown) {
        j->lost = true;
        return;
    }
    j->rows = grown;
    j->rows[j->n] = (row){strdup(found->name), strdup(found->path), strdup(found->place),
                          found->get ? strdup(found->get) : NULL, found->bytes};
    j->lost |= !j->rows[j->n].name || !j->rows[j->n].path || !j->rows[j->n].place ||
               (found->get && !j->rows[j->n].get);
    j->n++;
}

/* The reason in new memory, with the command that downloads what is missing. */
static char *reason(const char *why, const char *get) {
    char *text = NULL;
    const int n =
        get ? asprintf(&text, "%s; get it with \"%s\"", why, get) : asprintf(&text, "%s", why);
    return n < 0 ? NULL : text;
}

/* Why the model can't be used, in new memory; NULL: it can. */
static char *why_not(job *j, const row *r, char *kind, size_t room) {
    tsr_model *model = NULL;
    tsr_model_info info = {.struct_size = sizeof info};
    char *why = NULL;
    *kind = 0;
    tsr_status status = tsr_model_open(r->path, NULL, NULL, &model);
    if (status == TSR_OK)
        status = tsr_model_info_get(model, &info);
    if (status != TSR_OK)
        why = reason(tsr_error_last(), status == TSR_E_IO ? r->get : NULL);
    else if (!info.layers)
        why = reason("it has a tokenizer, but no weights", r->get);
    else
        snprintf(kind, room, "%s, %s", info.family, info.stored);
    tsr_model_close(&model);
    j->lost |= why == NULL && !*kind;
    return why;
}

static void print_row(job *j, const row *r, int width) {
    char kind[96];
    char *why = why_not(j, r, kind, sizeof kind);
    if (j->app.json) {
        json_t *one = json_pack("{s:o,s:o,s:s,s:I,s:b}", "name", tsri_cli_json_string(r->name),
                                "path", tsri_cli_json_string(r->path), "place", r->place, "bytes",
                                (json_int_t)r->bytes, "served", why == NULL);
        if (why)
            tsri_cli_json_put(one, "why", tsri_cli_json_string(why));
        tsri_cli_json_append(j->out, one);
    } else {
        tsri_cli_print(&j->app, "%-*s %9.1f MiB  %-13s %s%s\n", width, r->name,
                       (double)r->bytes / (1 << 20), r->place, why ? "no: " : "", why ? why : kind);
    }
    free(why);
}

static int print_all(job *j) {
    int width = 0;
    for (size_t i = 0; i < j->n; i++)
        width = (int)strlen(j->rows[i].name) > width ? (int)strlen(j->rows[i].name) : width;
    for (size_t i = 0; i < j->n && !j->lost; i++)
        print_row(j, &j->rows[i], width);
    if (j->lost)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    if (j->app.json)
        tsri_cli_json_print(&j->app, j->out, JSON_INDENT(1));
    return CLI_OK;
}

int tsri_cli_models(int argc, char **argv) {
    job j = {0};
    const tsri_cli_option *tables[] = {tsri_cli_json_option(&j.app),
                                       tsri_cli_common_options(&j.app), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera models [options]",
        "Lists the models that -m finds by name: bundled ones, and those that other programs have "
        "downloaded into\nthe caches of Hugging Face, llama.cpp and Ollama. For each: its name, "
        "the "
        "size of its files, where it is, and\nits architecture and dtype; or why it can't be used.",
        tables, NULL);
    if (code == CLI_OK) {
        j.out = j.app.json ? json_array() : NULL;
        code = tsri_cli_status(tsr_model_list(keep, &j));
    }
    if (code == CLI_OK)
        code = print_all(&j);
    for (size_t i = 0; i < j.n; i++) {
        free(j.rows[i].name);
        free(j.rows[i].path);
        free(j.rows[i].place);
        free(j.rows[i].get);
    }
    free(j.rows);
    return tsri_cli_close(&j.app, code);
}

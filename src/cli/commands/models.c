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
    char *why; /* why its name can't be opened; NULL: that is not known yet */
    uint64_t bytes;
} row;

/* What opening a model tells. */
typedef struct facts {
    char *why; /* why it can't be used, in new memory; NULL: it can */
    char *
        tokenizer_why; /* why its tokenizer can't be used, in new memory; NULL: it can, or there is none */
    char kind[96];
    bool has_tokenizer;
} facts;

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
    row *r = &j->rows[j->n];
    *r = (row){.name = strdup(found->name),
               .path = strdup(found->path),
               .place = strdup(found->place),
               .get = found->get ? strdup(found->get) : NULL,
               .why = found->why ? strdup(found->why) : NULL,
               .bytes = found->bytes};
    j->lost |=
        !r->name || !r->path || !r->place || (found->get && !r->get) || (found->why && !r->why);
    j->n++;
}

/* The reason in new memory, with the command that downloads what is missing. */
static char *reason(const char *why, const char *get) {
    char *text = NULL;
    const int n =
        get ? asprintf(&text, "%s; get it with \"%s\"", why, get) : asprintf(&text, "%s", why);
    return n < 0 ? NULL : text;
}

static void find_facts(job *j, const row *r, facts *f) {
    tsr_model *model = NULL;
    tsr_model_info info = {.struct_size = sizeof info};
    *f = (facts){0};
    tsr_status status = TSR_OK;
    if (!r->why)
        status = tsr_model_open(r->path, NULL, NULL, &model);
    if (!r->why && status == TSR_OK)
        status = tsr_model_info_get(model, &info);
    if (r->why)
        f->why = reason(r->why, NULL);
    else if (status != TSR_OK)
        f->why = reason(tsr_error_last(), status == TSR_E_IO ? r->get : NULL);
    else if (!info.layers)
        f->why = reason("it has a tokenizer, but no weights", r->get);
    else
        snprintf(f->kind, sizeof f->kind, "%s, %s", info.family, info.stored);
    f->has_tokenizer = info.has_tokenizer;
    if (*f->kind && *info.tokenizer_why)
        f->tokenizer_why = reason(info.tokenizer_why, NULL);
    j->lost |= (!f->why && !*f->kind) || (*f->kind && *info.tokenizer_why && !f->tokenizer_why);
    tsr_model_close(&model);
}

static void print_line(job *j, const row *r, int width, const facts *f) {
    const bool ids_only = !f->why && !f->has_tokenizer;
    tsri_cli_print(&j->app, "%-*s %9.1f MiB  %-13s %s%s%s%s\n", width, r->name,
                   (double)r->bytes / (1 << 20), r->place, f->why ? "no: " : "",
                   f->why ? f->why : f->kind, ids_only ? "; ids only: " : "",
                   !ids_only          ? ""
                   : f->tokenizer_why ? f->tokenizer_why
                                      : "it has no tokenizer");
}

static void print_row(job *j, const row *r, int width) {
    facts f;
    find_facts(j, r, &f);
    if (j->app.json) {
        json_t *one = json_pack("{s:o,s:o,s:s,s:I,s:b}", "name", tsri_cli_json_string(r->name),
                                "path", tsri_cli_json_string(r->path), "place", r->place, "bytes",
                                (json_int_t)r->bytes, "served", f.why == NULL);
        if (f.why)
            tsri_cli_json_put(one, "why", tsri_cli_json_string(f.why));
        else
            tsri_cli_json_put(one, "has_tokenizer", json_boolean(f.has_tokenizer));
        if (f.tokenizer_why)
            tsri_cli_json_put(one, "tokenizer_unsupported", tsri_cli_json_string(f.tokenizer_why));
        tsri_cli_json_append(j->out, one);
    } else {
        print_line(j, r, width, &f);
    }
    free(f.why);
    free(f.tokenizer_why);
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
        "Lists the models that -m finds by name: bundled ones, your own (in the folders of "
        "TESSERA_MODELS, and in\n~/.local/share/tessera/models), and those that other programs "
        "have downloaded into the caches of Hugging Face,\nllama.cpp and Ollama. For each: its "
        "name, the size of its files, where it is, and its architecture and dtype;\nor why it "
        "can't be used. A model with \"ids only\" has no tokenizer that can be used: it takes "
        "token ids, but\nno texts.",
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
        free(j.rows[i].why);
    }
    free(j.rows);
    return tsri_cli_close(&j.app, code);
}

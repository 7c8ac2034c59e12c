/* cli/commands/explain.c - tessera explain: shows the kernel variants of each op of a model's
 * prefill and decode plans. */
#include "cli/base/app.h"
#include "cli/base/json.h"
#include "cli/commands/commands.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
    tsri_cli_app app;
    json_t *ops;
    const char *phase;
    int64_t asked, tokens; /* of a prompt; and those of them that a run takes, 0: not known yet */
} job;

/* Above the first op: how many tokens a run of the plan takes. */
static void head(job *j) {
    tsri_cli_print(&j->app, "%s, %lld token%s a run\n", j->phase, (long long)j->tokens,
                   j->tokens == 1 ? "" : "s");
    if (j->asked > j->tokens)
        tsri_cli_print(&j->app, "a prompt of %lld tokens is read %lld at a time\n",
                       (long long)j->asked, (long long)j->tokens);
}

static void show(void *data, const tsr_explained *op) {
    job *j = data;
    if (!j->tokens) {
        j->tokens = op->tokens;
        head(j);
    }
    tsri_cli_print(&j->app, "%-36s %-12s %s\n", op->label, op->op, op->device);
    if (*op->note)
        tsri_cli_print(&j->app, "    %s\n", op->note);
    for (uint32_t i = 0; i < op->n_rows; i++) {
        const tsr_explained_variant *r = &op->variants[i];
        tsri_cli_print(&j->app, "    %s %-44s %s%s%s%s\n", r->chosen ? "->" : "  ", r->name,
                       r->batch_variant ? "[a batch may give other bytes than its sequences alone] "
                                        : "",
                       r->tunables, *r->tunables && *r->why ? "; " : "", r->why);
    }
}

static void collect(void *data, const tsr_explained *op) {
    job *j = data;
    json_t *rows = json_array();
    j->tokens = op->tokens;
    for (uint32_t i = 0; i < op->n_rows; i++) {
        const tsr_explained_variant *r = &op->variants[i];
        tsri_cli_json_append(rows,
                             json_pack("{s:s,s:b,s:b,s:b,s:i,s:s,s:s}", "name", r->name, "chosen",
                                       (int)r->chosen, "fits", (int)r->fits, "batch_invariant",
                                       (int)!r->batch_variant, "score", (int)r->score, "why",
                                       r->why, "tunables", r->tunables));
    }
    tsri_cli_json_append(j->ops, json_pack("{s:s,s:s,s:o,s:s,s:o}", "label", op->label, "op",
                                           op->op, "device", tsri_cli_json_string(op->device),
                                           "note", op->note, "variants", rows));
}

/* Of all that describes a model, prints how its weights are stored and its products computed. */
static void keeping(void *data, const char *name, const char *value) {
    static const char *const told[][2] = {{"matrices kept as", "dtype"}, {"products", "compute"}};
    job *j = data;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        if (strcmp(name, told[i][0]))
            continue;
        if (j->app.json)
            tsri_cli_json_put(j->ops, told[i][1], json_string(value));
        else
            tsri_cli_print(&j->app, "%s: %s\n", name, value);
    }
}

static int explain(job *j, json_t *all, const char *phase, int64_t tokens) {
    tsr_status (*const ask)(tsr_model *, int64_t, void (*)(void *, const tsr_explained *), void *) =
        strcmp(phase, "encode") ? tsr_explain : tsr_explain_encoder;
    j->phase = phase;
    j->asked = tokens;
    j->tokens = 0;
    if (!j->app.json)
        return tsri_cli_status(ask(j->app.model, tokens, show, j));
    j->ops = json_array();
    const int code = tsri_cli_status(ask(j->app.model, tokens, collect, j));
    tsri_cli_json_put(all, phase,
                      json_pack("{s:I,s:I,s:o}", "tokens", (json_int_t)j->tokens, "asked",
                                (json_int_t)tokens, "ops", j->ops));
    return code;
}

static int both(job *j, int64_t prompt) {
    json_t *all = json_object();
    tsr_model_info info = {.struct_size = sizeof info};
    int code = tsri_cli_status(tsr_model_info_get(j->app.model, &info));
    j->ops = all;
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_model_describe(j->app.model, keeping, j));
    if (code == CLI_OK)
        tsri_cli_json_put(all, "kv_dtype", json_string(info.kv_dtype));
    const bool decoder = strcmp(info.kind, "encoder") != 0;
    if (code == CLI_OK && !j->app.json && decoder)
        tsri_cli_print(&j->app, "keys and values are kept as %s\n", info.kv_dtype);
    if (code == CLI_OK && info.encoder_layers)
        code =
            explain(j, all, "encode", prompt < info.source_context ? prompt : info.source_context);
    if (code == CLI_OK && decoder)
        code = explain(j, all, "prefill", prompt < info.context ? prompt : info.context);
    if (code == CLI_OK && decoder)
        code = explain(j, all, "decode", 1);
    if (j->app.json && code == CLI_OK)
        tsri_cli_json_print(&j->app, all, JSON_INDENT(1));
    else
        json_decref(all);
    return code;
}

int tsri_cli_explain(int argc, char **argv) {
    job j = {0};
    tsri_cli_list operands = {0};
    int64_t prompt = 64;
    const tsri_cli_option own[] = {{"prompt-tokens", 0, CLI_INT, &prompt, "N",
                                    "explain the prefill of N tokens (default: 64)", 2, 1 << 20,
                                    NULL},
                                   {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_running_options(&j.app, true), NULL};
    int code = tsri_cli_parse(argc, argv, "tessera explain [MODEL] [options]",
                              "Shows which kernel variant runs each op of a model (in encode, "
                              "prefill and decode), and why the\nother variants do not. "
                              "Without MODEL, the bundled model shakespeare is used. A long "
                              "prompt is\nread in pieces: the plan is that of a piece. In JSON "
                              "\"tokens\" is its length, and \"asked\"\nthat of the prompt.",
                              tables, &operands);
    if (code == CLI_OK)
        code = tsri_cli_take_model(&j.app, &operands, 0);
    if (code == CLI_OK)
        code = tsri_cli_open_model(&j.app);
    if (code == CLI_OK)
        code = both(&j, prompt);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}

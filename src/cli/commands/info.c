/* cli/commands/info.c - tessera info: describes a model and the memory it needs; without a model,
 * lists the bundled ones. */
#include "cli/base/app.h"
#include "cli/base/json.h"
#include "cli/commands/commands.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
    tsri_cli_app app;
    json_t *out;
} job;

static void bundled_line(void *data, const char *name, const char *path) {
    job *j = data;
    if (j->app.json)
        tsri_cli_json_append(j->out, json_pack("{s:o,s:o}", "name", tsri_cli_json_string(name),
                                               "path", tsri_cli_json_string(path)));
    else
        tsri_cli_print(&j->app, "%-20s %s\n", name, path);
}

static void setting(void *data, const char *name, const char *value) {
    job *j = data;
    if (j->app.json)
        tsri_cli_json_put(j->out, name, tsri_cli_json_string(value));
    else
        tsri_cli_print(&j->app, "%-22s %s\n", name, value);
}

static void figures(job *j, const tsr_model_info *i) {
    tsri_cli_app *app = &j->app;
    tsri_cli_print(app, "%-22s %s (%s, %s)\n", "model", i->path, i->format, i->stored);
    tsri_cli_print(app, "%-22s %s (%s)\n", "architecture", i->family, i->kind);
    tsri_cli_print(
        app,
        "%-22s %lld layers, width %lld, %lld heads of %lld (%lld key/value), feed-forward %lld\n",
        "sizes", (long long)i->layers, (long long)i->width, (long long)i->heads,
        (long long)i->head_size, (long long)i->kv_heads, (long long)i->ffn);
    tsri_cli_print(app, "%-22s %lld tokens, context %lld\n", "vocabulary", (long long)i->vocab,
                   (long long)i->context);
    tsri_cli_print(app, "%-22s %.3f million", "parameters", (double)i->parameters * 1e-6);
    if (i->experts)
        tsri_cli_print(app, ", %.3f million for a token (%lld of %lld experts)",
                       (double)i->active_parameters * 1e-6, (long long)i->experts_used,
                       (long long)i->experts);
    tsri_cli_print(app, "\n");
    const bool keeps = i->kv_bytes_per_token;
    tsri_cli_print(app, "%-22s weights %.1f MiB as %s (%.1f MiB stored)%s", "memory",
                   (double)i->weight_bytes / (1 << 20), i->kept,
                   (double)i->stored_bytes / (1 << 20), keeps ? "" : "\n");
    if (keeps)
        tsri_cli_print(app, ", keys and values %.1f KiB a token (%.1f MiB at %lld)\n",
                       (double)i->kv_bytes_per_token / 1024,
                       (double)i->kv_bytes_per_token * (double)i->context / (1 << 20),
                       (long long)i->context);
    tsri_cli_print(app,
                   "%-22s %.2f MFLOP a token, and %.4f MFLOP for each token %s (attention: "
                   "%.2f at %lld)\n",
                   "work", i->flops_per_token * 1e-6, i->flops_per_past_token * 1e-6,
                   keeps ? "before it" : "of its text", i->flops_at_context * 1e-6,
                   (long long)i->context);
    if (*i->tokenizer_why)
        tsri_cli_print(app, "%-22s unsupported: %s\n", "tokenizer", i->tokenizer_why);
    else if (!i->has_tokenizer)
        tsri_cli_print(app, "%-22s none: use --ids and --print-ids\n", "tokenizer");
}

static void figures_json(job *j, const tsr_model_info *i) {
    j->out = json_pack(
        "{s:o,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "path", tsri_cli_json_string(i->path),
        "format", i->format, "architecture", i->family, "stored", i->stored, "layers",
        (json_int_t)i->layers, "width", (json_int_t)i->width, "heads", (json_int_t)i->heads,
        "kv_heads", (json_int_t)i->kv_heads, "head_size", (json_int_t)i->head_size, "ffn",
        (json_int_t)i->ffn, "vocab", (json_int_t)i->vocab, "context", (json_int_t)i->context);
    json_t *more = json_pack("{s:I,s:I,s:I,s:f,s:f,s:b,s:s,s:s,s:s,s:I}", "parameters",
                             (json_int_t)i->parameters, "weight_bytes", (json_int_t)i->weight_bytes,
                             "kv_bytes_per_token", (json_int_t)i->kv_bytes_per_token,
                             "flops_per_token", i->flops_per_token, "flops_per_past_token",
                             i->flops_per_past_token, "has_tokenizer", (int)i->has_tokenizer,
                             "tokenizer_unsupported", i->tokenizer_why, "kept", i->kept, "compute",
                             i->compute, "stored_bytes", (json_int_t)i->stored_bytes);
    if (json_object_update(j->out, more) != 0) {
        json_decref(j->out);
        j->out = NULL;
    }
    tsri_cli_json_put(j->out, "kind", json_string(i->kind));
    tsri_cli_json_put(j->out, "encoder_layers", json_integer(i->encoder_layers));
    tsri_cli_json_put(j->out, "source_vocab", json_integer(i->source_vocab));
    tsri_cli_json_put(j->out, "source_context", json_integer(i->source_context));
    tsri_cli_json_put(j->out, "labels", json_integer(i->labels));
    tsri_cli_json_put(j->out, "experts", json_integer(i->experts));
    tsri_cli_json_put(j->out, "experts_used", json_integer(i->experts_used));
    tsri_cli_json_put(j->out, "active_parameters", json_integer((json_int_t)i->active_parameters));
    tsri_cli_json_put(j->out, "flops_at_context", json_real(i->flops_at_context));
    json_decref(more);
}

static int about_model(job *j) {
    tsr_model_info info = {.struct_size = sizeof info};
    tsr_model_options options;
    int code = tsri_cli_model_settings(&j->app, &options);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_model_open(j->app.model_name, NULL, &options, &j->app.model));
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_model_info_get(j->app.model, &info));
    if (code != CLI_OK)
        return code;
    if (j->app.json)
        figures_json(j, &info);
    else
        figures(j, &info);
    return tsri_cli_status(tsr_model_describe(j->app.model, setting, j));
}

int tsri_cli_info(int argc, char **argv) {
    job j = {0};
    tsri_cli_list operands = {0};
    const tsri_cli_option *tables[] = {tsri_cli_model_options(&j.app), tsri_cli_json_option(&j.app),
                                       tsri_cli_common_options(&j.app), NULL};
    int code = tsri_cli_parse(argc, argv, "tessera info [MODEL]",
                              "Describes a model: its architecture, size, memory and tokenizer. "
                              "Without MODEL, lists the bundled models.",
                              tables, &operands);
    if (code == CLI_OK)
        code = tsri_cli_take_model(&j.app, &operands, 0);
    if (code == CLI_OK && j.app.model_name) {
        code = about_model(&j);
    } else if (code == CLI_OK) {
        j.out = j.app.json ? json_array() : NULL;
        code = tsri_cli_status(tsr_model_bundled(bundled_line, &j));
    }
    if (code == CLI_OK && j.app.json)
        tsri_cli_json_print(&j.app, j.out, JSON_INDENT(1));
    else
        json_decref(j.out);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}

/* cli/commands/fill_mask.c - tessera fill-mask: shows the most likely tokens in place of [MASK]. */
#include "cli/base/json.h"
#include "cli/base/progress.h"
#include "cli/commands/commands.h"
#include "cli/reading/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    tsri_cli_app app;
    tsri_cli_source source;
    int64_t top_k;
    tsri_cli_lines *lines;
    tsri_cli_window window;
    tsri_cli_pace pace;
    json_t *masks; /* of the current text */
    bool begun;    /* a block was printed */
} job;

/* A candidate as plain text, in new memory; its piece where it decodes to nothing. */
static char *text_of(const job *j, int32_t id, size_t *size) {
    char *text = NULL;
    if (tsr_decode(j->app.model, &id, 1, 0, &text, size) != TSR_OK)
        return NULL;
    size_t begin = 0;
    while (begin < *size && text[begin] == ' ')
        begin++;
    *size -= begin;
    memmove(text, text + begin, *size + 1);
    if (*size)
        return text;
    const char *piece = tsr_piece(j->app.model, id, size);
    tsr_text_free(text);
    text = malloc(*size + 1);
    if (text && piece)
        memcpy(text, piece, *size);
    return text;
}

static void not_filled(job *j, const tsr_fill *fill) {
    const uint64_t number = j->window.first + fill->text;
    const char *unit = tsri_cli_lines_unit(j->lines);
    j->window.n_wrong += !j->window.wrong[fill->text];
    if (fill->lost)
        tsri_cli_note(&j->app,
                      "%s %" PRIu64 ": it has %zu tokens, and one of its masks lies past the %zu "
                      "that the model reads; shorten it",
                      unit, number, fill->tokens, fill->reads);
    else if (!j->window.wrong[fill->text])
        tsri_cli_note(&j->app, "%s %" PRIu64 ": it has no [MASK]", unit, number);
    if (j->app.json)
        tsri_cli_print(&j->app, "{\"line\":%" PRIu64 ",\"masks\":[]}\n", number);
}

static void print_block(job *j, const tsr_fill *fill) {
    if (j->begun)
        tsri_cli_write(&j->app, "\n", 1);
    j->begun = true;
    for (uint32_t i = 0; i < fill->n && !j->app.stopped; i++) {
        size_t size = 0;
        char *text = text_of(j, fill->candidates[i].id, &size);
        tsri_cli_write_line(&j->app, text ? text : "", size);
        tsri_cli_print(&j->app, "\t%.6g\n", (double)fill->candidates[i].probability);
        free(text);
    }
}

static void add_json(job *j, const tsr_fill *fill) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < fill->n; i++) {
        size_t size = 0;
        char *text = text_of(j, fill->candidates[i].id, &size);
        tsri_cli_json_append(
            list, json_pack("{s:o,s:i,s:o}", "token", tsri_cli_json_text(text ? text : "", size),
                            "id", (int)fill->candidates[i].id, "probability",
                            tsri_cli_json_number((double)fill->candidates[i].probability)));
        free(text);
    }
    if (!j->masks)
        j->masks = json_array();
    tsri_cli_json_append(j->masks, list);
    if (fill->mask + 1 < fill->masks)
        return;
    json_t *all = json_pack("{s:I,s:o}", "line", (json_int_t)(j->window.first + fill->text),
                            "masks", j->masks);
    tsri_cli_json_print(&j->app, all, JSON_COMPACT | JSON_REAL_PRECISION(9));
    j->masks = NULL;
}

static int visit(void *data, const tsr_fill *fill) {
    job *j = data;
    if (fill->masks == 0)
        not_filled(j, fill);
    else
        (j->app.json ? add_json : print_block)(j, fill);
    return j->app.stopped || tsri_cli_signal();
}

static int each_window(job *j) {
    int code = tsri_cli_lines_open(&j->app, &j->source, &j->lines);
    while (code == CLI_OK && !j->app.stopped) {
        const size_t most = tsri_cli_pace_next(&j->pace, j->window.n);
        code = tsri_cli_window_fill(&j->app, j->lines, most, SIZE_MAX, &j->window);
        if (code != CLI_OK || j->window.n == 0)
            break;
        tsri_cli_pace_begin(&j->pace);
        const tsr_status status =
            tsr_fill_mask(j->app.model, j->window.texts, j->window.n, (uint32_t)j->top_k, visit, j);
        if (status != TSR_E_CANCELLED || !j->app.stopped || tsri_cli_signal())
            code = tsri_cli_window_status(&j->window, tsri_cli_lines_unit(j->lines), status);
        tsri_cli_flush(&j->app);
        tsri_cli_pace_end(&j->pace);
    }
    return code == CLI_OK ? tsri_cli_window_end(&j->app, j->lines, &j->window) : code;
}

static int check(const job *j, const tsri_cli_list *operands) {
    if (!j->app.model_name)
        return tsri_cli_fail(CLI_USAGE, "fill-mask needs -m MODEL, a masked language model");
    if (j->app.context)
        return tsri_cli_fail(CLI_USAGE,
                             "--context %" PRId64
                             ": fill-mask cuts no text; leave --context out, and shorten texts",
                             j->app.context);
    if (operands->n && j->source.path)
        return tsri_cli_fail(CLI_USAGE, "%s: give texts or -f FILE, not both", operands->items[0]);
    return CLI_OK;
}

int tsri_cli_fill_mask(int argc, char **argv) {
    job j = {.top_k = 5};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {{"file", 'f', CLI_TEXT, &j.source.path, "FILE",
                                    "one text per line; - is standard input, the default", 0, 0,
                                    NULL},
                                   {"top-k", 'k', CLI_INT, &j.top_k, "K",
                                    "show K tokens for each mask (default: 5)", 1, 1 << 24, NULL},
                                   {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_lines_options(&j.source),
                                       tsri_cli_running_options(&j.app, true), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera fill-mask -m MODEL [--top-k K] [TEXT... | -f FILE|-]",
        "Shows the most likely tokens in place of [MASK] (or the model's own mask token) "
        "as\n\"token<TAB>probability\", the most likely first, with an empty line between masks. A "
        "text with a mask\npast what the model reads is named, and none of its masks is filled.",
        tables, &operands);
    if (code == CLI_OK)
        code = check(&j, &operands);
    j.source.texts = &operands;
    if (code == CLI_OK)
        code = tsri_cli_open_model(&j.app);
    if (code == CLI_OK)
        code = each_window(&j);
    json_decref(j.masks);
    tsri_cli_window_clear(&j.window);
    tsri_cli_lines_close(&j.lines);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}

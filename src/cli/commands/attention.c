/* cli/commands/attention.c - tessera attention: draws which words a model attends to, as an HTML
 * page or as tables. */
#include "cli/base/watch.h"
#include "cli/commands/commands.h"
#include "cli/reading/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    tsri_cli_app app;
    tsri_cli_list operands;
    const char *encoding, *target, *layers, *heads, *format, *path;
    tsr_attention_options options;
} job;

/* Reads "2" or "2-5", counted from 0. */
static int take_range(const char *name, const char *text, int32_t *first, int32_t *count) {
    char *end = NULL;
    if (!text)
        return CLI_OK;
    errno = 0;
    const long from = strtol(text, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
    if (errno || *text < '0' || *text > '9' || *end || to < from || to > 1 << 20)
        return tsri_cli_fail(
            CLI_USAGE, "--%s %s: give A or A-B, counted from 0, where A is at most B", name, text);
    *first = (int32_t)from;
    *count = (int32_t)(to - from + 1);
    return CLI_OK;
}

/* ---- tables ---- */

/* Counts characters, not bytes. Leaves out white space before the word; a word of white space alone
 * is shown as a sign. */
static void print_word(tsri_cli_app *app, const char *text, int width, bool right) {
    char shown[256];
    size_t n = 0;
    int columns = 0;
    text += strspn(text, " \t\n\r");
    text = *text ? text : "\xe2\x90\xa3";
    for (; *text && n < sizeof shown - 8; text++) {
        const bool begins = ((unsigned char)*text & 0xc0) != 0x80;
        if (begins && columns == width)
            break;
        columns += begins;
        shown[n++] = (unsigned char)*text < 0x20 ? ' ' : *text;
    }
    shown[n] = 0;
    const int fill = width - columns;
    tsri_cli_print(app, "%*s%s%*s", right ? fill : 0, "", shown, right ? 0 : fill, "");
}

enum { CELL = 7, ROW_NAME = 16 };

static void print_numbers(tsri_cli_app *app, const char *what, int32_t first, int32_t count) {
    if (count == 1)
        tsri_cli_print(app, "%s %d", what, (int)first);
    else
        tsri_cli_print(app, "%ss %d to %d", what, (int)first, (int)(first + count - 1));
}

/* Prints the mean over the selected layers and heads, in percent. */
static void print_map(tsri_cli_app *app, const tsr_attention_map *map) {
    const int64_t size = map->T * map->S, n = (int64_t)map->layers * map->heads;
    tsri_cli_print(app, "%s to %s, percent; ", map->queries,
                   map->kind == TSR_ATTENTION_CROSS    ? map->keys
                   : map->kind == TSR_ATTENTION_CAUSAL ? "what came before"
                                                       : "itself");
    print_numbers(app, n == 1 ? "layer" : "mean of layer", map->first_layer, map->layers);
    print_numbers(app, ", head", map->first_head, map->heads);
    tsri_cli_print(app, "\n");
    tsri_cli_print(app, "%*s", ROW_NAME, "");
    for (int64_t s = 0; s < map->S; s++) {
        tsri_cli_print(app, " ");
        print_word(app, map->key[s].text, CELL, true);
    }
    tsri_cli_print(app, "\n");
    for (int64_t t = 0; t < map->T; t++) {
        print_word(app, map->query[t].text, ROW_NAME, false);
        for (int64_t s = 0; s < map->S; s++) {
            double sum = 0;
            for (int64_t i = 0; i < n; i++)
                sum += (double)map->weights[i * size + t * map->S + s];
            if (map->kind == TSR_ATTENTION_CAUSAL && s > t)
                tsri_cli_print(app, " %*s", CELL, "");
            else
                tsri_cli_print(app, " %*.1f", CELL, 100 * sum / (double)n);
        }
        tsri_cli_print(app, "\n");
    }
}

static int print_maps(job *j, const tsr_attention *attention) {
    for (size_t i = 0; i < tsr_attention_map_count(attention); i++) {
        tsr_attention_map map = {.struct_size = sizeof map};
        const int code = tsri_cli_status(tsr_attention_map_get(attention, i, &map));
        if (code != CLI_OK)
            return code;
        if (i)
            tsri_cli_print(&j->app, "\n");
        print_map(&j->app, &map);
    }
    tsri_cli_flush(&j->app);
    return CLI_OK;
}

/* ---- the command ---- */

static int run(job *j, bool page) {
    char *given = NULL;
    size_t size = 0;
    tsr_attention *attention = NULL;
    int code = CLI_OK;
    const bool operand = j->operands.n && strcmp(j->operands.items[0], "-");
    if (!operand)
        code = tsri_cli_read_input(&j->app, NULL, j->encoding, &given, &size);
    size = given ? tsri_cli_line_size(given, size) : 0;
    const char *text = operand ? j->operands.items[0] : given;
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_attention_create(
            j->app.model, text, operand ? strlen(text) : size, &j->options, &attention));
    if (code == CLI_OK)
        code = page ? tsri_cli_status(tsr_attention_write_page(attention, j->path))
                    : print_maps(j, attention);
    tsr_attention_destroy(&attention);
    free(given);
    return code;
}

int tsri_cli_attention(int argc, char **argv) {
    job j = {.format = "html", .options.struct_size = sizeof j.options};
    const tsri_cli_option own[] = {
        {"target-text", 0, CLI_TEXT, &j.target, "TEXT",
         "the text that a translator's decoder reads (default: what the model generates)", 0, 0,
         NULL},
        {"from|source-lang", 0, CLI_TEXT, &j.options.source_language, "LANGUAGE",
         "the language of TEXT, for a model that reads several", 0, 0, NULL},
        {"to|target-lang", 0, CLI_TEXT, &j.options.target_language, "LANGUAGE",
         "the language of the target, for a model that writes several", 0, 0, NULL},
        {"layers", 0, CLI_TEXT, &j.layers, "A-B", "show only these layers, counted from 0", 0, 0,
         NULL},
        {"heads", 0, CLI_TEXT, &j.heads, "A-B", "show only these heads, counted from 0", 0, 0,
         NULL},
        {"max-new-tokens", 'n', CLI_INT, &j.options.max_new_tokens, "N",
         "generate a target of at most N tokens (default: 256)", 1, 1 << 20, NULL},
        {"format", 0, CLI_WORD, &j.format, "html|text",
         "an HTML page, or tables of the mean over layers and heads (default: html)", 0, 0, NULL},
        {"output", 'o', CLI_TEXT, &j.path, "FILE.html", "the page to write", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_encoding_option(&j.encoding),
                                       tsri_cli_running_options(&j.app, false), NULL};
    int code = tsri_cli_parse(argc, argv,
                              "tessera attention [options] [TEXT|-] (-o FILE.html | --format text)",
                              "Shows how much each word attends to each other word in a model. "
                              "Without TEXT, standard input is "
                              "read.",
                              tables, &j.operands);
    tsri_cli_watch_output(j.path);
    const bool page = !strcmp(j.format, "html");
    if (code == CLI_OK && j.operands.n > 1)
        code = tsri_cli_fail(CLI_USAGE, "attention takes one text; see tessera help attention");
    if (code == CLI_OK && page == !j.path)
        code =
            tsri_cli_fail(CLI_USAGE, page ? "attention writes an HTML page: give -o FILE.html, or "
                                            "--format text for tables"
                                          : "--format text prints its tables: -o is for the page");
    if (code == CLI_OK)
        code = take_range("layers", j.layers, &j.options.first_layer, &j.options.layers);
    if (code == CLI_OK)
        code = take_range("heads", j.heads, &j.options.first_head, &j.options.heads);
    j.options.target = j.target;
    j.options.target_size = j.target ? strlen(j.target) : 0;
    if (code == CLI_OK)
        code = tsri_cli_open_model(&j.app);
    if (code == CLI_OK)
        code = run(&j, page);
    free(j.operands.items);
    return tsri_cli_close(&j.app, code);
}

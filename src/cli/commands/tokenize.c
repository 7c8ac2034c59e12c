/* cli/commands/tokenize.c - tessera tokenize: turns each line into a line of token ids, and back.
 */
#include "cli/commands/commands.h"
#include "cli/reading/input.h"
#include "cli/reading/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int encode_line(tsri_cli_app *app, const char *line, size_t n, uint32_t flags) {
    int32_t *ids;
    size_t count;
    const int code = tsri_cli_status(tsr_encode(app->model, line, n, flags, &ids, &count));
    if (code != CLI_OK)
        return code;
    for (size_t i = 0; i < count; i++)
        tsri_cli_print(app, i ? " %d" : "%d", (int)ids[i]);
    tsri_cli_write(app, "\n", 1);
    tsr_ids_free(ids);
    return CLI_OK;
}

static int decode_line(tsri_cli_app *app, const tsri_cli_line *line, bool special) {
    int32_t *ids;
    size_t count, size;
    char *text;
    if (strlen(line->text) != line->size)
        return tsri_cli_fail(CLI_MISS, "it has a 0 byte; give token ids separated by ','");
    int code = tsri_cli_parse_ids("", line->text, &ids, &count);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_decode(app->model, ids, count, !special, &text, &size));
    free(ids);
    if (code != CLI_OK)
        return code;
    tsri_cli_write(app, text, size);
    tsri_cli_write(app, "\n", 1);
    tsr_text_free(text);
    return CLI_OK;
}

/* A line that fails leaves an empty line in its place; the following lines are still read. */
static int each_line(tsri_cli_app *app, tsri_cli_lines *lines, bool decode, uint32_t flags) {
    tsri_cli_line line;
    uint64_t failed = 0, number = 0;
    int code = CLI_OK;
    while (!app->stopped && !tsri_cli_signal()) {
        if (tsri_cli_lines_would_wait(lines)) /* the writer may be waiting for these answers */
            tsri_cli_flush(app);
        if ((code = tsri_cli_lines_next(lines, &line)) != CLI_OK || !line.text)
            break;
        number = line.number;
        const int read = line.cut ? CLI_MISS
                         : decode ? decode_line(app, &line, flags & TSR_ENCODE_ADD_SPECIAL)
                                  : encode_line(app, line.text, line.size, flags);
        if (read == CLI_OK)
            continue;
        if (read == CLI_OTHER)
            return read; /* out of memory: the line is not the cause */
        tsri_cli_fail(CLI_MISS, "line %" PRIu64 " could not be read%s", number,
                      line.cut ? ": it is too long" : "");
        tsri_cli_write(app, "\n", 1);
        failed++;
    }
    if (code == CLI_OK && failed)
        code = tsri_cli_fail(CLI_MISS, "%" PRIu64 " of %" PRIu64 " lines failed", failed, number);
    return code == CLI_OK ? tsri_cli_lines_end(lines) : code;
}

/* Says it once, not for every line. */
static int check_tokenizer(const tsri_cli_app *app) {
    int32_t *ids = NULL;
    size_t n;
    const int code = tsri_cli_status(tsr_encode(app->model, "", 0, 0, &ids, &n));
    tsr_ids_free(ids);
    return code;
}

int tsri_cli_tokenize(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list operands = {0};
    tsri_cli_source source = {0};
    tsri_cli_lines *lines = NULL;
    bool decode = false, plain = false, unparsed = false;
    const tsri_cli_option own[] = {
        {"model", 'm', CLI_TEXT, &app.model_name, "MODEL",
         "the folder or file of a model or of a tokenizer, or the name of a bundled model", 0, 0,
         NULL},
        {"decode", 0, CLI_FLAG, &decode, NULL, "turn lines of ids into text", 0, 0, NULL},
        {"no-special", 0, CLI_FLAG, &plain, NULL,
         "add no special tokens around a text; with --decode, print none", 0, 0, NULL},
        {"no-parse-special", 0, CLI_FLAG, &unparsed, NULL,
         "treat the name of a special token in the input (such as </s>) as ordinary text", 0, 0,
         NULL},
        {0}};
    const tsr_model_options options = {.struct_size = sizeof options, .tokenizer_only = 1};
    const tsri_cli_option *tables[] = {own, tsri_cli_encoding_option(&source.encoding),
                                       tsri_cli_common_options(&app), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera tokenize [-m MODEL] [--decode] [FILE|-]",
        "Turns each line of text into a line of token ids; with --decode, lines of ids into text.",
        tables, &operands);
    if (code == CLI_OK && operands.n > 1)
        code = tsri_cli_fail(CLI_USAGE, "%s: give one file, or none to read standard input",
                             operands.items[1]);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_model_open(app.model_name, NULL, &options, &app.model));
    if (code == CLI_OK)
        code = check_tokenizer(&app);
    if (code == CLI_OK) {
        source.path = operands.n ? operands.items[0] : NULL;
        code = tsri_cli_lines_open(&app, &source, &lines);
    }
    if (code == CLI_OK)
        code = each_line(&app, lines, decode,
                         (plain ? 0u : TSR_ENCODE_ADD_SPECIAL) |
                             (unparsed ? 0u : TSR_ENCODE_PARSE_SPECIAL));
    tsri_cli_lines_close(&lines);
    free(operands.items);
    return tsri_cli_close(&app, code);
}

/* cli/reading/texts.c - reads all texts of a file into memory. */
#include "cli/reading/texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int tsri_cli_texts_add(tsri_cli_texts *t, const char *text, size_t n) {
    if (t->n == t->room) {
        const size_t room = t->room ? 2 * t->room : 256;
        tsr_string *grown = reallocarray(t->items, room, sizeof *grown);
        if (!grown)
            return tsri_cli_fail(CLI_OTHER, "out of memory");
        t->items = grown;
        t->room = room;
    }
    char *copy = malloc(n + 1);
    if (!copy)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    memcpy(copy, text, n);
    copy[n] = 0;
    t->items[t->n++] = (tsr_string){.data = copy, .size = n};
    return CLI_OK;
}

int tsri_cli_texts_read(tsri_cli_app *app, tsri_cli_texts *t, const tsri_cli_source *source) {
    tsri_cli_lines *lines;
    tsri_cli_line line;
    int code = tsri_cli_lines_open(app, source, &lines);
    while (code == CLI_OK && (code = tsri_cli_lines_next(lines, &line)) == CLI_OK && line.text) {
        if (line.wrong || line.cut)
            code = tsri_cli_fail(CLI_FILE, "%s: %s %" PRIu64 ": %s", source->path,
                                 tsri_cli_lines_unit(lines), line.number,
                                 line.wrong ? line.wrong : "it is too long");
        else if (line.not_utf8 && !source->encoding)
            code = CLI_FILE; /* the error was printed */
        else
            code = tsri_cli_texts_add(t, line.text, line.size);
    }
    tsri_cli_lines_close(&lines);
    return code;
}

void tsri_cli_texts_clear(tsri_cli_texts *t) {
    for (size_t i = 0; i < t->n; i++)
        free((char *)t->items[i].data);
    free(t->items);
    *t = (tsri_cli_texts){0};
}

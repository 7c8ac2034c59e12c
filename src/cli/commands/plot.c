/* cli/commands/plot.c - tessera plot: draws training logs as an HTML page. */
#include "base/system/paths.h"
#include "base/text.h"
#include "cli/base/app.h"
#include "cli/commands/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The last parts of the path, as many as distinguish it from the others: "run1/log.jsonl". */
static const char *name_of(const tsri_cli_list *logs, size_t which) {
    const char *path = logs->items[which];
    for (const char *name = path + strlen(path); name > path;) {
        for (name--; name > path && !tsri_system_is_slash(name[-1]);)
            name--;
        size_t alike = 0;
        for (size_t i = 0; i < logs->n; i++)
            alike += tsri_base_ends_with(logs->items[i], name);
        if (alike == 1)
            return name;
    }
    return path;
}

static int add(tsri_cli_app *app, tsr_plot *plot, const tsri_cli_list *logs, size_t i) {
    tsr_plot_log log = {.struct_size = sizeof log};
    const int code = tsri_cli_status(tsr_plot_add(plot, logs->items[i], name_of(logs, i), &log));
    if (code != CLI_OK)
        return code;
    if (log.cut)
        tsri_cli_note(app, "%s: the last line is damaged and was left out", logs->items[i]);
    if (log.skipped)
        tsri_cli_note(app,
                      "%s: %" PRIu64
                      " lines are not JSON objects and were left out; the first is line %" PRIu64,
                      logs->items[i], log.skipped, log.first_skipped);
    return CLI_OK;
}

int tsri_cli_plot(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list logs = {0};
    const char *path = NULL;
    tsr_plot *plot = NULL;
    const tsri_cli_option own[] = {
        {"output", 'o', CLI_TEXT, &path, "FILE.html", "the page to write", 0, 0, NULL}, {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_common_options(&app), NULL};
    int code = tsri_cli_parse(argc, argv, "tessera plot LOG... -o FILE.html",
                              "Draws the logs of training runs (OUT/log.jsonl of tessera train) as "
                              "a page for a browser: loss and\nvalidation loss, learning rate, "
                              "gradient norm and speed. All runs share one picture.",
                              tables, &logs);
    if (code == CLI_OK && !logs.n)
        code = tsri_cli_fail(CLI_USAGE, "plot needs LOG, a file of JSON lines that tessera train "
                                        "wrote");
    if (code == CLI_OK && !path)
        code = tsri_cli_fail(CLI_USAGE, "plot needs -o FILE.html, the page to write");
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_plot_create(&plot));
    for (size_t i = 0; i < logs.n && code == CLI_OK; i++)
        code = add(&app, plot, &logs, i);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_plot_write_page(plot, path));
    if (code == CLI_OK)
        tsri_cli_note(&app, "%s: %zu run%s", path, logs.n, logs.n == 1 ? "" : "s");
    if (plot)
        tsr_plot_destroy(&plot);
    free(logs.items);
    return tsri_cli_close(&app, code);
}

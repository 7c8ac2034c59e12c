/* cli/commands/bench/report.c - tessera bench report: shows files of results. */
#include "cli/base/output.h"
#include "cli/commands/bench/results.h"
#include "cli/commands/commands.h"

#include <stdlib.h>
#include <string.h>

int tsri_cli_bench_open(const tsri_cli_list *paths, tsr_results ***out) {
    int code = CLI_OK;
    *out = calloc(paths->n ? paths->n : 1, sizeof **out);
    if (!*out)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    for (size_t i = 0; i < paths->n && code == CLI_OK; i++)
        code = tsri_cli_status(tsr_results_open(paths->items[i], &(*out)[i]));
    return code;
}

void tsri_cli_bench_close(tsr_results **results, size_t n) {
    for (size_t i = 0; i < n && results; i++)
        tsr_results_close(&results[i]);
    free(results);
}

static int write_report(tsri_cli_app *app, const tsri_cli_list *paths, const char *format,
                        const char *path) {
    tsr_results **results = NULL;
    tsri_cli_output output = {0};
    char *text = NULL;
    size_t n = 0;
    int code = tsri_cli_bench_open(paths, &results);
    if (code == CLI_OK)
        code = tsri_cli_status(
            tsr_results_report((const tsr_results *const *)results, paths->n, format, &text, &n));
    if (code == CLI_OK)
        code = tsri_cli_output_begin(app, path, &output);
    /* Of standard output the end of the command tells what failed. */
    if (code == CLI_OK && !tsri_cli_output_write(&output, text, n) && path)
        code = CLI_FILE;
    code = tsri_cli_output_end(&output, code);
    tsr_text_free(text);
    tsri_cli_bench_close(results, paths->n);
    return code;
}

int tsri_cli_bench_report(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list paths = {0};
    const char *format = NULL, *path = NULL;
    const tsri_cli_option own[] = {
        {"format", 0, CLI_WORD, &format, "html|md|csv|junit|llama-bench|badge",
         "a page for a browser, tables, a line for each row, test cases, llama-bench's fields, or "
         "a "
         "badge (default: html where -o FILE ends in .html, else md)",
         0, 0, NULL},
        {"output", 'o', CLI_TEXT, &path, "FILE", "write the report to this file", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_common_options(&app), NULL};
    int code = tsri_cli_parse(argc, argv, "tessera bench report FILE... [--format NAME] [-o FILE]",
                              "Shows results that tessera bench wrote to files. A file that was "
                              "changed afterwards is refused:\nits last line is the hash of the "
                              "others (docs/benchmark.md).",
                              tables, &paths);
    if (code == CLI_OK && !paths.n)
        code =
            tsri_cli_fail(CLI_USAGE, "bench report needs FILE, which tessera bench suite -o FILE "
                                     "writes");
    const char *end = path ? strrchr(path, '.') : NULL;
    if (!format)
        format = end && (!strcmp(end, ".html") || !strcmp(end, ".htm")) ? "html" : "md";
    if (code == CLI_OK)
        code = write_report(&app, &paths, format, path);
    free(paths.items);
    return tsri_cli_close(&app, code);
}

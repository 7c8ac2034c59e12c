/* cli/commands/tune.c - tessera tune: searches for the best values of the kernel variants' tunables
 * on a device. */
#include "base/system/files.h"
#include "cli/base/app.h"
#include "cli/base/json.h"
#include "cli/base/output.h"
#include "cli/base/watch.h"
#include "cli/commands/commands.h"

#include <stdlib.h>

typedef struct job {
    tsri_cli_app app;
    json_t *rows;
    size_t kept, n;
} job;

static void show(void *data, const tsr_tune_result *r) {
    job *j = data;
    char name[192];
    j->n++;
    j->kept += r->kept;
    if (j->app.json) {
        tsri_cli_json_append(j->rows,
                             json_pack("{s:s,s:s,s:s,s:s,s:s,s:f,s:f,s:i,s:i,s:b}", "op", r->op,
                                       "variant", r->variant, "condition", r->condition, "before",
                                       r->before, "after", r->after, "before_ns", r->before_ns,
                                       "after_ns", r->after_ns, "tried", (int)r->tried, "wrong",
                                       (int)r->wrong, "kept", (int)r->kept));
        return;
    }
    if (j->n == 1)
        tsri_cli_print(&j->app, "%-58s %-16s %-16s %9s %9s  %s\n", "variant", "old", "new",
                       "old ms", "new ms", "gain");
    snprintf(name, sizeof name, "%s/%s %s", r->op, r->variant, r->condition);
    tsri_cli_print(&j->app, "%-58s %-16s %-16s %9.3f %9.3f  ", name, r->before,
                   r->kept ? r->after : "-", r->before_ns / 1e6,
                   (r->kept ? r->after_ns : r->before_ns) / 1e6);
    if (r->kept)
        tsri_cli_print(&j->app, "%.1f %%", 100 * (r->before_ns / r->after_ns - 1));
    else
        tsri_cli_print(&j->app, "none in %u", r->tried);
    tsri_cli_print(&j->app, r->wrong ? ", %u gave other results\n" : "\n", r->wrong);
    tsri_cli_flush(&j->app);
}

static uint32_t stop(void *data) {
    const job *j = data;
    return tsri_cli_signal() != 0 || j->app.stopped;
}

/* After a signal: says what is kept, and returns the exit code. */
static int stopped(const job *j) {
    tsri_cli_note(&j->app, "stopped; new values were kept for %zu of %zu variants", j->kept, j->n);
    return 128 + tsri_cli_signal();
}

/* Whether an environment variable of this VALUE counts: an empty one does not. */
static bool is_set(const char *value) {
    return value && *value;
}

/* Options of other commands that run a model, which tune alone can't heed. */
static int refuse_unused(const tsri_cli_app *app, bool shapes) {
    const struct {
        bool given;
        const char *why;
    } unused[] = {
        {app->kernels, "--kernels: tune searches all kernel variants that can run an op; leave it "
                       "out"},
        {app->bundle, "--bundle: tune builds kernels with other values than a bundle has; leave it "
                      "out"},
        {is_set(getenv("TESSERA_BUNDLE")),
         "TESSERA_BUNDLE is set, and tune builds kernels with other "
         "values than a bundle has; unset it"},
        {app->profile, "--profile: tune shows the times of the kernels itself; leave it out"},
        {shapes && app->dtype_name, "--dtype: a shape names its own dtype; give --shapes "
                                    "M,N,K,DTYPE"},
        {shapes && app->compute_name, "--compute: shapes in q8 and q4 are computed in int8, others "
                                      "in f32; leave it out"},
        {shapes && app->kv_dtype_name, "--kv-dtype: the ops of --shapes have no keys and values; "
                                       "leave it out"},
        {shapes && app->context, "-c: the ops of --shapes have no context; leave it out"},
        {shapes && app->loras.n, "--lora: the weights of --shapes are made up; leave it out"},
    };
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        if (unused[i].given)
            return tsri_cli_fail(CLI_USAGE, "%s", unused[i].why);
    return CLI_OK;
}

/* Whether the table can be written at the end: found out before anything is searched. */
static int check_table(tsri_cli_app *app, const char *path) {
    struct stat facts;
    tsri_cli_output table;
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode))
        return tsri_cli_fail(
            CLI_FILE, "--write %s: this is not a regular file; give the name of a table", path);
    const int code = tsri_cli_output_begin(app, path, &table);
    tsri_cli_output_end(&table, CLI_OTHER);
    return code;
}

static int tune(job *j, const char *shapes, const char *write, int64_t budget) {
    const tsr_tune_options options = {.struct_size = sizeof options,
                                      .seconds = (double)budget,
                                      .write = write,
                                      .visit = show,
                                      .stop = stop,
                                      .data = j};
    int code = shapes ? tsri_cli_open_device(&j->app) : tsri_cli_open_model(&j->app);
    if (code != CLI_OK)
        return tsri_cli_signal() ? stopped(j) : code;
    const tsr_status status = shapes ? tsr_tune_shapes(j->app.device, shapes, &options)
                                     : tsr_tune_model(j->app.model, &options);
    if (j->app.json && (status == TSR_OK || status == TSR_E_CANCELLED))
        tsri_cli_json_print(&j->app, json_incref(j->rows), JSON_INDENT(1));
    if (status == TSR_E_CANCELLED && tsri_cli_signal())
        return stopped(j);
    if (status == TSR_OK && !j->app.json)
        tsri_cli_print(&j->app, "%zu of %zu variants have better values now; %s\n", j->kept, j->n,
                       is_set(getenv("TESSERA_KERNEL_PATH"))
                           ? "runs with TESSERA_KERNEL_PATH don't read them"
                           : "tessera explain shows them as \"tuned here\"");
    return tsri_cli_status(status);
}

int tsri_cli_tune(int argc, char **argv) {
    job j = {.rows = json_array()};
    tsri_cli_list operands = {0};
    const char *shapes = NULL, *write = NULL;
    int64_t budget = 60;
    const tsri_cli_option own[] = {{"shapes", 0, CLI_TEXT, &shapes, "M,N,K[,DTYPE];..",
                                    "tune linear ops of these shapes, without a model", 0, 0, NULL},
                                   {"budget", 0, CLI_INT, &budget, "SECONDS",
                                    "search for this long (default: 60)", 1, 86400, NULL},
                                   {"write", 0, CLI_TEXT, &write, "FILE.tsv",
                                    "also add the best values to this table (see cl/tuned/)", 0, 0,
                                    NULL},
                                   {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_running_options(&j.app, true), NULL};
    j.app.measure = j.app.no_self_test = true; /* the search itself compares every candidate */
    tsri_cli_watch_patience(CLI_END_MS);
    int code = tsri_cli_parse(
        argc, argv, "tessera tune [MODEL | --shapes M,N,K[,DTYPE];..] [--budget SECONDS] [options]",
        "Searches for the fastest values of the tunables of all kernel variants that a model's ops "
        "can use,\nand keeps them for this device and driver.",
        tables, &operands);
    if (code == CLI_OK && operands.n > (j.app.model_name || shapes ? 0u : 1u))
        code = tsri_cli_fail(CLI_USAGE, "%s: give one model, or --shapes",
                             operands.items[operands.n - 1]);
    if (code == CLI_OK && shapes && j.app.model_name)
        code = tsri_cli_fail(CLI_USAGE, "give one model, or --shapes, not both");
    if (code == CLI_OK && operands.n)
        j.app.model_name = operands.items[0];
    if (code == CLI_OK)
        code = refuse_unused(&j.app, shapes != NULL);
    if (code == CLI_OK && write)
        code = check_table(&j.app, write);
    if (code == CLI_OK)
        code = tune(&j, shapes, write, budget);
    json_decref(j.rows);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}

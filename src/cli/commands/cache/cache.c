/* cli/commands/cache/cache.c - tessera cache: lists, removes or makes what backends cache on disk.
 * Removing it costs time, but never changes results. What tessera tune found took longer to find
 * than any kernel takes to build: it is removed only on request.
 */
#include "base/system/files.h"
#include "cli/base/app.h"
#include "cli/base/json.h"
#include "cli/commands/cache/warm.h"
#include "cli/commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BUILT, TUNED, KINDS };

/* The folders in the cache folder whose files are cached. The user may have other files there. */
static const struct room {
    const char *name;
    int kind;
} rooms[] = {{"opencl", BUILT}, {"pocl", BUILT}, {"tuned", TUNED}};

typedef struct tally {
    json_t *files; /* NULL: not asked for */
    unsigned long long count, bytes;
    bool clear;
} tally;

/* nftw passes no argument on to its visitor */
static struct visit {
    tsri_cli_app *app;
    tally *tally;
    bool list; /* as lines of text */
    int code;
} visiting;

static int visit(const char *path, const struct stat *info, int kind, struct FTW *place) {
    tally *t = visiting.tally;
    (void)place;
    if (kind != FTW_F)
        return 0;
    if (t->clear && remove(path) != 0) {
        visiting.code = tsri_cli_fail(CLI_FILE, "%s: %s", path, strerror(errno));
        return 0;
    }
    t->count++;
    t->bytes += (unsigned long long)info->st_size;
    if (t->files)
        tsri_cli_json_append(t->files, json_pack("{s:o,s:I}", "path", tsri_cli_json_string(path),
                                                 "bytes", (json_int_t)info->st_size));
    else if (visiting.list)
        tsri_cli_print(visiting.app, "%10lld  %s\n", (long long)info->st_size, path);
    return 0;
}

static void visit_kind(const char *folder, int kind, tally *t) {
    visiting.tally = t;
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        char *path = NULL;
        if (rooms[i].kind != kind)
            continue;
        if (asprintf(&path, "%s/%s", folder, rooms[i].name) < 0) {
            visiting.code = tsri_cli_fail(CLI_OTHER, "out of host memory");
            return;
        }
        if (nftw(path, visit, 16, FTW_PHYS) != 0 && errno != ENOENT)
            visiting.code = tsri_cli_fail(CLI_FILE, "%s: %s", path, strerror(errno));
        free(path);
    }
}

static void say(const char *folder, bool clear, int kind, const tally *t) {
    const char *s = t->count == 1 ? "" : "s";
    if (kind == BUILT)
        tsri_cli_print(visiting.app, "%llu file%s, %.1f MiB %s %s\n", t->count, s,
                       (double)t->bytes / (1 << 20), clear ? "removed from" : "in", folder);
    else if (t->count)
        tsri_cli_print(visiting.app, "%llu file%s of tuned values %s %s/tuned%s\n", t->count, s,
                       t->clear ? "removed from"
                       : clear  ? "left in"
                                : "in",
                       folder,
                       clear && !t->clear ? "; tessera cache clear --tuned removes them, too" : "");
}

static int show(tsri_cli_app *app, bool clear, bool tuned) {
    tally tallies[KINDS] = {{.clear = clear}, {.clear = tuned}};
    const char *folder = tsr_engine_cache_folder(app->engine);
    if (!folder)
        return tsri_cli_fail(CLI_FILE, "there is no cache folder that can be written: set "
                                       "TESSERA_CACHE, XDG_CACHE_HOME or HOME");
    visiting = (struct visit){.app = app, .list = !clear && !app->json};
    for (int kind = 0; kind < KINDS; kind++) {
        tally *t = &tallies[kind];
        t->files = app->json ? json_array() : NULL;
        visit_kind(folder, kind, t);
        if (!app->json)
            say(folder, clear, kind, t);
    }
    if (app->json) {
        const tally *b = &tallies[BUILT], *t = &tallies[TUNED];
        tsri_cli_json_print(app,
                            json_pack("{s:o,s:I,s:b,s:o,s:{s:I,s:b,s:o}}", "folder",
                                      tsri_cli_json_string(folder), "bytes", (json_int_t)b->bytes,
                                      "cleared", (int)clear, "files", b->files, "tuned", "bytes",
                                      (json_int_t)t->bytes, "cleared", (int)tuned, "files",
                                      t->files),
                            JSON_INDENT(1));
    }
    return visiting.code;
}

/* `verb` is list or clear. No driver is loaded: this works even where one crashes. */
static int show_files(tsri_cli_app *app, const tsri_cli_list *operands, const char *verb,
                      bool tuned) {
    const void *const texts[] = {app->model_name,    app->device_name,  app->dtype_name,
                                 app->kv_dtype_name, app->compute_name, app->kernels,
                                 app->bundle,        app->profile};
    bool used = operands->n > 1 || app->backends.n || app->loras.n || app->threads || app->context;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        used |= texts[i] != NULL;
    if (used)
        return tsri_cli_fail(CLI_USAGE,
                             "cache %s takes no model, no device and no option of them; cache warm "
                             "does",
                             verb);
    app->device_name = "reference";
    const int code = tsri_cli_open_engine(app);
    return code == CLI_OK ? show(app, !strcmp(verb, "clear"), tuned) : code;
}

int tsri_cli_cache(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list operands = {0};
    bool tuned = false;
    const tsri_cli_option own[] = {
        {"tuned", 0, CLI_FLAG, &tuned, NULL,
         "of cache clear: also remove the values that tessera tune found", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_running_options(&app, true), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera cache [list|clear [--tuned]] | warm [MODEL]... [options]",
        "Lists or removes the built kernels and self-test results that are cached on disk. They "
        "are "
        "made\nagain when they are needed. clear leaves the values that tessera tune found, unless "
        "it is given\n--tuned. warm makes the kernels now, for each MODEL or all bundled ones on "
        "the "
        "device, so that the\nfirst command of a user doesn't wait for them.",
        tables, &operands);
    const char *verb = operands.n ? operands.items[0] : "list";
    if (code == CLI_OK && tuned && strcmp(verb, "clear") != 0)
        code = tsri_cli_fail(CLI_USAGE, "--tuned is an option of cache clear; cache %s was given",
                             verb);
    if (code == CLI_OK && !strcmp(verb, "warm"))
        code = tsri_cli_warm(&app, &operands);
    else if (code == CLI_OK && (!strcmp(verb, "list") || !strcmp(verb, "clear")))
        code = show_files(&app, &operands, verb, tuned);
    else if (code == CLI_OK)
        code = tsri_cli_fail(CLI_USAGE, "%s: give list, clear or warm", verb);
    free(operands.items);
    return tsri_cli_close(&app, code);
}

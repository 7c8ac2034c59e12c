/* cli/commands/cache/cache.c - tessera cache: lists, removes or makes what backends cache on disk.
 * Removing it costs time, but never changes results.
 */
#include "base/system/files.h"
#include "cli/base/app.h"
#include "cli/base/json.h"
#include "cli/commands/cache/warm.h"
#include "cli/commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* nftw passes no argument on to its visitor */
static struct visit {
    tsri_cli_app *app;
    json_t *files;
    unsigned long long count, bytes;
    bool clear;
    int code;
} visiting;

static int visit(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)place;
    if (kind != FTW_F)
        return 0;
    if (visiting.clear && remove(path) != 0) {
        visiting.code = tsri_cli_fail(CLI_FILE, "%s: %s", path, strerror(errno));
        return 0;
    }
    visiting.count++;
    visiting.bytes += (unsigned long long)info->st_size;
    if (visiting.files)
        tsri_cli_json_append(visiting.files,
                             json_pack("{s:o,s:I}", "path", tsri_cli_json_text(path, strlen(path)),
                                       "bytes", (json_int_t)info->st_size));
    else if (!visiting.clear)
        tsri_cli_print(visiting.app, "%10lld  %s\n", (long long)info->st_size, path);
    return 0;
}

static int show(tsri_cli_app *app, bool clear) {
    const char *folder = tsr_engine_cache_folder(app->engine);
    if (!folder)
        return tsri_cli_fail(CLI_FILE, "there is no cache folder that can be written: set "
                                       "TESSERA_CACHE, XDG_CACHE_HOME or HOME");
    visiting = (struct visit){.app = app, .clear = clear, .files = app->json ? json_array() : NULL};
    if (nftw(folder, visit, 16, FTW_PHYS) != 0)
        visiting.code = tsri_cli_fail(CLI_FILE, "%s: %s", folder, strerror(errno));
    if (visiting.files) {
        json_t *all = json_pack(
            "{s:o,s:I,s:b,s:o}", "folder", tsri_cli_json_text(folder, strlen(folder)), "bytes",
            (json_int_t)visiting.bytes, "cleared", (int)clear, "files", visiting.files);
        tsri_cli_json_print(app, all, JSON_INDENT(1));
    } else {
        tsri_cli_print(app, "%llu file%s, %.1f MiB %s %s\n", visiting.count,
                       visiting.count == 1 ? "" : "s", (double)visiting.bytes / (1 << 20),
                       clear ? "removed from" : "in", folder);
    }
    return visiting.code;
}

/* `verb` is list or clear. No driver is loaded: this works even where one crashes. */
static int show_files(tsri_cli_app *app, const tsri_cli_list *operands, const char *verb) {
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
    return code == CLI_OK ? show(app, !strcmp(verb, "clear")) : code;
}

int tsri_cli_cache(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list operands = {0};
    const tsri_cli_option *tables[] = {tsri_cli_running_options(&app, true), NULL};
    int code =
        tsri_cli_parse(argc, argv, "tessera cache [list|clear] | warm [MODEL]... [options]",
                       "Lists or removes the built kernels and self-test results that are cached "
                       "on disk. They are "
                       "made\nagain when they are needed. warm makes them now, for each MODEL or "
                       "all bundled ones on "
                       "the device,\nso that the first command of a user doesn't wait for them.",
                       tables, &operands);
    const char *verb = operands.n ? operands.items[0] : "list";
    if (code == CLI_OK && !strcmp(verb, "warm"))
        code = tsri_cli_warm(&app, &operands);
    else if (code == CLI_OK && (!strcmp(verb, "list") || !strcmp(verb, "clear")))
        code = show_files(&app, &operands, verb);
    else if (code == CLI_OK)
        code = tsri_cli_fail(CLI_USAGE, "%s: give list, clear or warm", verb);
    free(operands.items);
    return tsri_cli_close(&app, code);
}

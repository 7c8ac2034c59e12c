/* cli/base/shown.c - in which form a command shows how far it has come. */
#include "cli/base/shown.h"

#include <string.h>

bool tsri_cli_shown_never(const tsri_cli_app *app) {
    return app->quiet || (app->progress && !strcmp(app->progress, "none"));
}

tsri_cli_shown tsri_cli_shown_as(const tsri_cli_app *app) {
    if (tsri_cli_shown_never(app))
        return CLI_SHOWN_NOT;
    if (app->progress && !strcmp(app->progress, "plain"))
        return CLI_SHOWN_LINES;
    return tsri_cli_is_terminal(2) ? CLI_SHOWN_LINE
           : app->n_ranks > 1      ? CLI_SHOWN_LINES
                                   : CLI_SHOWN_NOT;
}

void tsri_cli_show(tsri_cli_app *app, const char *text) {
    enum { PAUSE_S = 5 };
    const tsri_cli_shown form = tsri_cli_shown_as(app);
    const uint64_t now = tsri_cli_now_ns();
    if (form == CLI_SHOWN_LINE) {
        fprintf(stderr, "\r\033[K%s", text);
        app->progress_shown = true;
    } else if (form == CLI_SHOWN_LINES &&
               (!app->progress_told ||
                now - app->progress_told >= PAUSE_S * UINT64_C(1000000000))) {
        fprintf(stderr, "tessera: %s\n", text);
        app->progress_told = now;
    }
}

/* cli/base/shown.h - in which form a command shows how far it has come (--progress). */
#ifndef TESSERA_CLI_BASE_SHOWN_H
#define TESSERA_CLI_BASE_SHOWN_H

#include "cli/base/app.h"

typedef enum tsri_cli_shown {
    CLI_SHOWN_NOT, /* --progress none, --quiet; auto of one process whose stderr is not a terminal */
    CLI_SHOWN_LINE, /* auto on a terminal: one line, which is drawn again */
    CLI_SHOWN_LINES /* plain; auto of rank 0 of several, to which the launcher gives a pipe: lines
                     * one after the other, without control characters */
} tsri_cli_shown;

tsri_cli_shown tsri_cli_shown_as(const tsri_cli_app *app);
/* Whether the user wants nothing shown, wherever stderr goes: --progress none or --quiet. */
bool tsri_cli_shown_never(const tsri_cli_app *app);
/* Shows a text in that form on stderr: in place of the last one, or as a line of its own, of which there
 * is at most one in 5 seconds. */
void tsri_cli_show(tsri_cli_app *app, const char *text);

#endif

/* cli/shared/chatting.h - the options of chat templates, which generate and chat share. */
#ifndef TESSERA_CLI_SHARED_CHATTING_H
#define TESSERA_CLI_SHARED_CHATTING_H

#include "cli/base/app.h"

typedef struct tsri_cli_chatting {
    const char *system, *template_file, *tools_file, *variables;
    char *template_text, *tools; /* what is in the files */
} tsri_cli_chatting;

const tsri_cli_option *tsri_cli_chatting_options(tsri_cli_chatting *chatting);
/* The first option that was given, "--system"; NULL: none. */
const char *tsri_cli_chatting_given(const tsri_cli_chatting *chatting);
/* Reads the files; `options` borrows from `chatting` until that is cleared. */
int tsri_cli_chatting_apply(tsri_cli_app *app, tsri_cli_chatting *chatting,
                            tsr_chat_options *options);
/* Reads a chat template, which is not blank, into new memory. */
int tsri_cli_read_template(tsri_cli_app *app, const char *path, char **text);
void tsri_cli_chatting_clear(tsri_cli_chatting *chatting);

#endif

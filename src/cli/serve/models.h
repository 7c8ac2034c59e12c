/* cli/serve/models.h - the models of a server, opened in order. */
#ifndef TESSERA_CLI_SERVE_MODELS_H
#define TESSERA_CLI_SERVE_MODELS_H

#include "cli/serve/server.h"

/* Opens models, each given as [NAME=]MODEL[+ADAPTER]..[+task:TASK]; none: the command's own. first_name: NULL, or the
 * first one's name; template_text: NULL, or the chat template of the first that writes. Returns an exit
 * code, and prints what went wrong. */
int tsri_serve_open_models(tsri_serve_server *s, const tsri_cli_list *given, const char *first_name,
                           const char *template_text);
void tsri_serve_close_models(tsri_serve_server *s);

#endif

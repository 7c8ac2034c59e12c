/* cli/shared/chatting.c - the options of chat templates, which generate and chat share. */
#include "cli/shared/chatting.h"
#include "cli/reading/input.h"

#include <stdlib.h>
#include <string.h>

const tsri_cli_option *tsri_cli_chatting_options(tsri_cli_chatting *c) {
    static tsri_cli_option rows[4];
    const tsri_cli_option all[] = {
        {"system", 0, CLI_TEXT, &c->system, "TEXT",
         "the system prompt: what the model is told before the first turn", 0, 0, NULL},
        {"chat-template", 0, CLI_TEXT, &c->template_file, "FILE",
         "write turns with this Jinja template (default: the model's own)", 0, 0, NULL},
        {"tools", 0, CLI_TEXT, &c->tools_file, "FILE",
         "tell the model of these tools: a JSON list, as its template reads it", 0, 0, NULL},
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

const char *tsri_cli_chatting_given(const tsri_cli_chatting *c) {
    return c->system          ? "--system"
           : c->template_file ? "--chat-template"
           : c->tools_file    ? "--tools"
                              : NULL;
}

/* A file without a 0 byte in it, because the library takes it as a string. */
static int read_text(tsri_cli_app *app, const char *path, char **text) {
    size_t n = 0;
    if (!path)
        return CLI_OK;
    const int code = tsri_cli_read_input(app, path, NULL, text, &n);
    return code != CLI_OK || strlen(*text) == n
               ? code
               : tsri_cli_fail(CLI_FILE, "%s: has a 0 byte, so it is not a text", path);
}

int tsri_cli_chatting_apply(tsri_cli_app *app, tsri_cli_chatting *c, tsr_chat_options *options) {
    int code = read_text(app, c->template_file, &c->template_text);
    if (code == CLI_OK)
        code = read_text(app, c->tools_file, &c->tools);
    *options = (tsr_chat_options){.struct_size = sizeof *options,
                                  .template_text = c->template_text,
                                  .system = c->system,
                                  .tools = c->tools};
    return code;
}

void tsri_cli_chatting_clear(tsri_cli_chatting *c) {
    free(c->template_text);
    free(c->tools);
}

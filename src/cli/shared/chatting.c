/* cli/shared/chatting.c - the options of chat templates, which generate and chat share. */
#include "cli/shared/chatting.h"
#include "cli/reading/input.h"

#include <stdlib.h>
#include <string.h>

const tsri_cli_option *tsri_cli_chatting_options(tsri_cli_chatting *c) {
    static tsri_cli_option rows[5];
    const tsri_cli_option all[] = {
        {"system", 0, CLI_TEXT, &c->system, "TEXT",
         "the system prompt: what the model is told before the first turn", 0, 0, NULL},
        {"chat-template", 0, CLI_TEXT, &c->template_file, "FILE",
         "write turns with this Jinja template (default: the model's own)", 0, 0, NULL},
        {"tools", 0, CLI_TEXT, &c->tools_file, "FILE",
         "tell the model of these tools: a JSON list, as its template reads it", 0, 0, NULL},
        {"chat-template-kwargs", 0, CLI_TEXT, &c->variables, "JSON",
         "an object with variables of the template, such as '{\"enable_thinking\": false}'", 0, 0,
         NULL},
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

const char *tsri_cli_chatting_given(const tsri_cli_chatting *c) {
    return c->system          ? "--system"
           : c->template_file ? "--chat-template"
           : c->tools_file    ? "--tools"
           : c->variables     ? "--chat-template-kwargs"
                              : NULL;
}

int tsri_cli_read_template(tsri_cli_app *app, const char *path, char **text) {
    const int code = tsri_cli_read_text(app, path, NULL, text);
    if (code != CLI_OK || (*text)[strspn(*text, " \t\r\n")])
        return code;
    free(*text);
    *text = NULL;
    return tsri_cli_fail(CLI_FILE,
                         "--chat-template %s: it is blank, so the model would not be told what is "
                         "said: give a template in Jinja",
                         path);
}

int tsri_cli_chatting_apply(tsri_cli_app *app, tsri_cli_chatting *c, tsr_chat_options *options) {
    int code = CLI_OK;
    if (c->template_file)
        code = tsri_cli_read_template(app, c->template_file, &c->template_text);
    if (code == CLI_OK && c->tools_file)
        code = tsri_cli_read_text(app, c->tools_file, NULL, &c->tools);
    *options = (tsr_chat_options){.struct_size = sizeof *options,
                                  .template_text = c->template_text,
                                  .system = c->system,
                                  .tools = c->tools,
                                  .template_kwargs = c->variables};
    return code;
}

void tsri_cli_chatting_clear(tsri_cli_chatting *c) {
    free(c->template_text);
    free(c->tools);
}

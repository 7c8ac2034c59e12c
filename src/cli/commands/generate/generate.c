/* cli/commands/generate/generate.c - tessera generate: streams the continuation of one prompt, or
 * prints the continuations of several. */
#include "cli/commands/generate/generate.h"
#include "cli/commands/commands.h"
#include "cli/reading/input.h"

#include <stdlib.h>
#include <string.h>

/* Reads a file or standard input. The end of the last line of standard input is not part of the
 * prompt. */
static int take_input(tsri_cli_generation *j, const char *path, tsr_prompt *prompt) {
    char **input = &j->inputs[prompt - j->prompts];
    const int code = tsri_cli_read_input(&j->app, path, j->encoding, input, &prompt->text_size);
    prompt->text = *input;
    if (code == CLI_OK && (!path || !strcmp(path, "-")))
        prompt->text_size = tsri_cli_without_line_end(prompt->text, prompt->text_size);
    return code;
}

/* A prompt from the command line; "-" is standard input. */
static int take_text(tsri_cli_generation *j, const char *text, tsr_prompt *prompt) {
    *prompt = (tsr_prompt){.text = text, .text_size = strlen(text)};
    tsri_cli_tell_if_file(text);
    return strcmp(text, "-") ? CLI_OK : take_input(j, NULL, prompt);
}

/* --lines */
static int take_lines(tsri_cli_generation *j) {
    const tsri_cli_source source = {.path = j->file, .encoding = j->encoding};
    const char *given = j->prompt ? j->prompt : j->operands.n ? j->operands.items[0] : NULL;
    if (given || j->ids.n)
        return tsri_cli_fail(CLI_USAGE,
                             "%s: --lines reads all prompts from -f FILE or standard input",
                             given ? given : "--ids");
    const int code = tsri_cli_texts_read(&j->app, &j->read, &source);
    if (code != CLI_OK)
        return code;
    if (!j->read.n)
        return tsri_cli_fail(CLI_FILE, "%s is empty; it needs a prompt in each line",
                             j->file ? j->file : "standard input");
    j->n = (uint32_t)j->read.n;
    j->prompts = calloc(j->n, sizeof *j->prompts);
    for (uint32_t i = 0; j->prompts && i < j->n; i++)
        j->prompts[i] = (tsr_prompt){.struct_size = sizeof *j->prompts,
                                     .text = j->read.items[i].data,
                                     .text_size = j->read.items[i].size};
    return j->prompts ? CLI_OK : tsri_cli_fail(CLI_OTHER, "out of memory");
}

static int take_prompts(tsri_cli_generation *j) {
    const size_t texts = j->operands.n + (j->prompt != NULL) + (j->file != NULL);
    const bool from_stdin = !texts && !j->ids.n;
    int code = CLI_OK;
    j->n = (uint32_t)(texts + j->ids.n + from_stdin);
    j->prompts = calloc(j->n, sizeof *j->prompts);
    j->pointers = calloc(j->n, sizeof *j->pointers);
    j->inputs = calloc(j->n, sizeof *j->inputs);
    j->n_inputs = j->n;
    if (!j->prompts || !j->pointers || !j->inputs)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    uint32_t at = 0;
    for (size_t i = 0; code == CLI_OK && i < j->ids.n; i++, at++) {
        int32_t *ids;
        size_t n;
        code = tsri_cli_parse_ids("--ids ", j->ids.items[i], &ids, &n);
        j->prompts[at].ids = ids;
        j->prompts[at].n_ids = (uint32_t)n;
    }
    if (code == CLI_OK && j->prompt)
        code = take_text(j, j->prompt, &j->prompts[at++]);
    for (size_t i = 0; code == CLI_OK && i < j->operands.n; i++)
        code = take_text(j, j->operands.items[i], &j->prompts[at++]);
    if (code == CLI_OK && (j->file || from_stdin))
        code = take_input(j, j->file, &j->prompts[at]);
    for (uint32_t i = 0; i < j->n; i++) {
        j->prompts[i].struct_size = sizeof *j->prompts;
        j->pointers[i] = &j->prompts[i];
    }
    return code;
}

/* ---- the whole ---- */

static void tell_if_instructed(const tsri_cli_generation *j) {
    char *template = NULL;
    if (tsr_chat_template_of(j->app.model, &template, NULL) != TSR_OK || template)
        tsri_cli_note(&j->app, "this is an instruction-tuned model, and its prompt is continued as "
                               "plain text: --chat makes it a message, and tessera chat talks");
    tsr_text_free(template);
}

static int check_chat(tsri_cli_generation *j) {
    const char *given = tsri_cli_chatting_given(&j->chatting);
    if (!j->chat && given)
        return tsri_cli_fail(
            CLI_USAGE, "%s is for messages: give --chat too, which makes each prompt one", given);
    if (j->chat && j->ids.n)
        return tsri_cli_fail(CLI_USAGE, "--ids %s: with --chat a prompt is a message, as text",
                             j->ids.items[0]);
    return j->chat ? tsri_cli_chatting_apply(&j->app, &j->chatting, &j->how) : CLI_OK;
}

static int compare_files(tsri_cli_generation *j) {
    const tsri_cli_compared files[] = {{"--grammar", j->sampling.grammar},
                                       {"--json-schema", j->sampling.schema},
                                       {"--chat-template", j->chatting.template_text},
                                       {"--tools", j->chatting.tools}};
    return tsri_cli_compare_files(&j->app, files, sizeof files / sizeof *files);
}

/* All prompts at once. */
static int run_batch(tsri_cli_generation *j) {
    tsr_generate_stats stats = {.struct_size = sizeof stats};
    j->streams = tsri_cli_results_count(j) == 1 && !j->app.json;
    int code = tsri_cli_results_make(j);
    if (code == CLI_OK)
        code = tsri_cli_results_echo(j);
    if (code != CLI_OK)
        return code;
    const tsr_status status = tsr_generate(j->app.model, j->pointers, j->n, j->options,
                                           tsri_cli_results_token, j, &stats);
    code = status == TSR_E_ARGUMENT && stats.refused && j->n > 1
               ? tsri_cli_prompt_refused(j, status, stats.refused)
               : tsri_cli_generated(status, &stats);
    if (code != CLI_OK)
        return code;
    for (uint32_t i = 0; i < tsri_cli_results_count(j); i++)
        tsri_cli_results_print(j, i, tsri_cli_results_count(j), &j->results[i]);
    tsri_cli_results_end(j);
    tsri_cli_print_stats(&j->app, &stats);
    return CLI_OK;
}

static int run(tsri_cli_generation *j) {
    tsr_generate_options options = {.struct_size = sizeof options};
    int code = tsri_cli_sampling_apply(&j->app, &j->sampling, &options);
    if (code != CLI_OK)
        return code;
    code = tsri_cli_searching_apply(&j->searching, &options);
    if (code != CLI_OK)
        return code;
    j->beams = options.num_beams > 1;
    j->best = j->beams && options.n_best ? options.n_best : 1;
    tsri_cli_sampling_tell(&j->app, &j->sampling, &options);
    options.logprobs = j->logprobs > 0 ? (uint32_t)j->logprobs : 0;
    options.return_logprob = j->logprobs >= 0;
    options.chat = j->chat ? &j->how : NULL;
    j->options = &options;
    if (!j->chat)
        tell_if_instructed(j);
    if (!j->app.ranks && !j->lines)
        return run_batch(j);
    j->all = j->prompts;
    j->n_all = j->n;
    j->prompts = NULL;
    free(j->pointers);
    j->pointers = NULL;
    return tsri_cli_generate_windows(j);
}

int tsri_cli_generate(int argc, char **argv) {
    tsri_cli_generation j = {.logprobs = -1};
    const tsri_cli_option own[] = {
        {"prompt", 'p', CLI_TEXT, &j.prompt, "TEXT",
         "the text to continue, also as operands (several make one batch); - is standard input", 0,
         0, NULL},
        {"file", 'f', CLI_TEXT, &j.file, "FILE",
         "the file with the text to continue; - is standard input", 0, 0, NULL},
        {"lines", 0, CLI_FLAG, &j.lines, NULL,
         "each line of FILE, or of standard input, is a prompt of its own; a line that is too long "
         "gets an empty answer, and the exit code is 1",
         0, 0, NULL},
        {"ids", 0, CLI_LIST, &j.ids, "1,2,3", "a prompt as token ids; may be given several times",
         0, 0, NULL},
        {"chat", 0, CLI_FLAG, &j.chat, NULL,
         "answer: the prompt is a user's message, which the model's chat template writes", 0, 0,
         NULL},
        {"print-ids", 0, CLI_FLAG, &j.print_ids, NULL, "print token ids instead of text", 0, 0,
         NULL},
        {"echo", 0, CLI_FLAG, &j.echo, NULL, "print the prompt before its continuation", 0, 0,
         NULL},
        {"logprobs", 0, CLI_INT, &j.logprobs, "K",
         "print a line per token: id, log-probability, piece; below it the K most likely tokens "
         "(for one beam)",
         0, 100000, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own,
                                       tsri_cli_chatting_options(&j.chatting),
                                       tsri_cli_encoding_option(&j.encoding),
                                       tsri_cli_sampling_options(&j.sampling),
                                       tsri_cli_searching_options(&j.searching),
                                       tsri_cli_split_options(&j.app),
                                       tsri_cli_running_options(&j.app, true),
                                       NULL};
    int code = tsri_cli_parse(argc, argv, "tessera generate [options] [PROMPT...|-]",
                              "Continues a text with a model. Without a prompt, standard input is "
                              "read; without -m, the bundled model shakespeare is used.",
                              tables, &j.operands);
    if (code == CLI_OK)
        code = check_chat(&j);
    if (code == CLI_OK)
        code = tsri_cli_sampling_read(&j.app, &j.sampling);
    if (code == CLI_OK)
        code = tsri_cli_open_ranks(&j.app, argv[0], tables);
    if (code == CLI_OK)
        code = compare_files(&j);
    if (code == CLI_OK && j.app.rank == 0) /* which deals the prompts out */
        code = (j.lines ? take_lines : take_prompts)(&j);
    if (code == CLI_OK)
        code = tsri_cli_open_model(&j.app);
    if (code == CLI_OK)
        code = run(&j);
    code = tsri_cli_close(&j.app, code);
    tsri_cli_results_clear(&j);
    tsri_cli_prompts_clear(j.prompts, j.n);
    tsri_cli_prompts_clear(j.all, j.n_all);
    for (uint32_t i = 0; j.inputs && i < j.n_inputs; i++)
        free(j.inputs[i]);
    free(j.inputs);
    free(j.pointers);
    json_decref(j.printed);
    tsri_cli_texts_clear(&j.read);
    tsri_cli_windows_clear(&j.windows);
    tsri_cli_searching_clear(&j.searching);
    tsri_cli_chatting_clear(&j.chatting);
    free(j.ids.items);
    free(j.operands.items);
    tsri_cli_sampling_clear(&j.sampling);
    return code;
}

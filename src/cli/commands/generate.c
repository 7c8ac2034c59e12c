/* cli/commands/generate.c - tessera generate: streams the continuation of one prompt, or prints the
 * continuations of several. */
#include "cli/base/json.h"
#include "cli/commands/commands.h"
#include "cli/reading/input.h"
#include "cli/shared/chatting.h"
#include "cli/shared/sampling.h"
#include "cli/shared/searching.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
    tsri_cli_app app;
    tsri_cli_sampling sampling;
    tsri_cli_searching searching;
    tsri_cli_chatting chatting;
    tsr_chat_options how; /* of --chat */
    const char *prompt, *file, *encoding;
    tsri_cli_list ids, operands;
    bool echo, print_ids, chat;
    int64_t logprobs;
    tsr_prompt *prompts;
    const tsr_prompt **pointers;
    char **texts; /* [results] the text of each so far; printed at the end, in order */
    size_t *sizes;
    uint32_t *finishes;
    float *scores;
    json_t **tokens; /* --json */
    uint32_t n;      /* prompts */
    uint32_t best;   /* results per prompt; the results of one prompt follow each other */
    uint32_t results;
    bool beams;
    char **inputs; /* [n] the text that was read for each prompt */
} job;

static bool add_text(job *j, uint32_t result, const char *text, size_t n) {
    char *grown = realloc(j->texts[result], j->sizes[result] + n + 1);
    if (!grown)
        return false;
    j->texts[result] = grown;
    memcpy(grown + j->sizes[result], text, n);
    j->sizes[result] += n;
    grown[j->sizes[result]] = 0;
    return true;
}

static bool put(job *j, uint32_t result, const char *text, size_t n) {
    if (j->results == 1 && !j->app.json)
        return tsri_cli_write(&j->app, text, n);
    return add_text(j, result, text, n);
}

static uint32_t result_of(const job *j, const tsr_generated *g) {
    return g->prompt * j->best + g->hypothesis;
}

static void put_piece(job *j, char *line, size_t room, int32_t id) {
    size_t size = 0;
    const char *piece = tsr_piece(j->app.model, id, &size);
    size_t used = 0;
    for (size_t i = 0; piece && i < size && used + 5 < room; i++) {
        const unsigned char c = (unsigned char)piece[i];
        used +=
            (size_t)snprintf(line + used, room - used, c < 0x20 || c == 0x7f ? "\\x%02x" : "%c", c);
    }
    line[used] = 0;
}

/* One line per token: id, log-probability, piece; below it the most likely tokens. */
static bool put_logprobs(job *j, const tsr_generated *g) {
    char line[512], piece[256];
    put_piece(j, piece, sizeof piece, g->id);
    int n = snprintf(line, sizeof line, "%d\t%.6f\t%s\n", (int)g->id, (double)g->logprob, piece);
    bool going = put(j, result_of(j, g), line, (size_t)n);
    for (uint32_t i = 0; going && i < g->n_candidates; i++) {
        put_piece(j, piece, sizeof piece, g->candidates[i].id);
        n = snprintf(line, sizeof line, "\t%d\t%.6f\t%s\n", (int)g->candidates[i].id,
                     (double)g->candidates[i].logprob, piece);
        going = put(j, result_of(j, g), line, (size_t)n);
    }
    return going;
}

static void add_json(job *j, const tsr_generated *g) {
    json_t *token = json_pack("{s:i}", "id", (int)g->id),
           *best = g->n_candidates ? json_array() : NULL;
    if (j->logprobs >= 0)
        tsri_cli_json_put(token, "logprob", json_real(g->logprob));
    for (uint32_t i = 0; i < g->n_candidates; i++)
        tsri_cli_json_append(best, json_pack("{s:i,s:f}", "id", (int)g->candidates[i].id, "logprob",
                                             (double)g->candidates[i].logprob));
    if (best)
        tsri_cli_json_put(token, "best", best);
    tsri_cli_json_append(j->tokens[result_of(j, g)], token);
}

static int on_token(void *data, const tsr_generated *g) {
    job *j = data;
    bool going = true;
    if (g->id >= 0 && j->app.json)
        add_json(j, g);
    if (g->id >= 0 && j->logprobs >= 0 && !j->app.json) {
        going = put_logprobs(j, g);
    } else if (g->id >= 0 && j->print_ids && !j->app.json) {
        char number[16];
        const int n = snprintf(number, sizeof number, "%d ", (int)g->id);
        going = put(j, result_of(j, g), number, (size_t)n);
    } else if (g->text_size) {
        going = put(j, result_of(j, g), g->text, g->text_size);
    }
    if (g->finish) {
        j->finishes[result_of(j, g)] = g->finish;
        j->scores[result_of(j, g)] = g->score;
    }
    going = going && (j->results > 1 || j->app.json || tsri_cli_flush(&j->app));
    return !going || tsri_cli_signal();
}

/* Reads a file or standard input. The end of the last line of standard input is not part of the
 * prompt. */
static int take_input(job *j, const char *path, tsr_prompt *prompt) {
    char **input = &j->inputs[prompt - j->prompts];
    const int code = tsri_cli_read_input(&j->app, path, j->encoding, input, &prompt->text_size);
    prompt->text = *input;
    if (code == CLI_OK && !path && prompt->text_size && prompt->text[prompt->text_size - 1] == '\n')
        prompt->text_size--;
    return code;
}

/* A prompt from the command line; "-" is standard input. */
static int take_text(job *j, const char *text, tsr_prompt *prompt) {
    *prompt = (tsr_prompt){.text = text, .text_size = strlen(text)};
    tsri_cli_tell_if_file(text);
    return strcmp(text, "-") ? CLI_OK : take_input(j, NULL, prompt);
}

static int take_prompts(job *j) {
    const size_t texts = j->operands.n + (j->prompt != NULL) + (j->file != NULL);
    const bool from_stdin = !texts && !j->ids.n;
    int code = CLI_OK;
    j->n = (uint32_t)(texts + j->ids.n + from_stdin);
    j->prompts = calloc(j->n, sizeof *j->prompts);
    j->pointers = calloc(j->n, sizeof *j->pointers);
    j->inputs = calloc(j->n, sizeof *j->inputs);
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

static int make_results(job *j, const tsr_generate_options *options) {
    j->beams = options->num_beams > 1;
    j->best = j->beams && options->n_best ? options->n_best : 1;
    j->results = j->n * j->best;
    j->texts = calloc(j->results, sizeof *j->texts);
    j->sizes = calloc(j->results, sizeof *j->sizes);
    j->finishes = calloc(j->results, sizeof *j->finishes);
    j->scores = calloc(j->results, sizeof *j->scores);
    j->tokens = calloc(j->results, sizeof *j->tokens);
    if (!j->texts || !j->sizes || !j->finishes || !j->scores || !j->tokens)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    for (uint32_t i = 0; i < j->results; i++)
        j->tokens[i] = json_array();
    return CLI_OK;
}

static int echo_prompts(job *j) {
    for (uint32_t i = 0; j->echo && i < j->results; i++) {
        const tsr_prompt *p = &j->prompts[i / j->best];
        char *text = NULL;
        size_t size = p->text_size;
        if (p->ids && j->print_ids) {
            for (uint32_t k = 0; k < p->n_ids; k++) {
                char number[16];
                put(j, i, number, (size_t)snprintf(number, sizeof number, "%d ", (int)p->ids[k]));
            }
            continue;
        }
        if (p->ids) {
            const int code =
                tsri_cli_status(tsr_decode(j->app.model, p->ids, p->n_ids, 1, &text, &size));
            if (code != CLI_OK)
                return code;
        }
        put(j, i, text ? text : p->text, size);
        tsr_text_free(text);
    }
    return CLI_OK;
}

static json_t *result_json(job *j, uint32_t i) {
    json_t *text = tsri_cli_json_text(j->texts[i] ? j->texts[i] : "", j->sizes[i]);
    json_t *result = json_pack("{s:o,s:s,s:O}", "text", text, "finish",
                               tsri_cli_finish_name(j->finishes[i]), "tokens", j->tokens[i]);
    if (j->beams) {
        tsri_cli_json_put(result, "prompt", json_integer(i / j->best));
        tsri_cli_json_put(result, "score", json_real(j->scores[i]));
    }
    return result;
}

/* Where a search found fewer results than asked for, the missing ones have no finish and are left
 * out. */
static void print_results(job *j) {
    if (j->app.json) {
        json_t *all = json_array();
        for (uint32_t i = 0; i < j->results; i++)
            if (i % j->best == 0 || j->finishes[i])
                tsri_cli_json_append(all, result_json(j, i));
        tsri_cli_json_print(&j->app, all, JSON_INDENT(1));
        return;
    }
    for (uint32_t i = 0; j->results > 1 && i < j->results; i++) {
        if (i % j->best && !j->finishes[i])
            continue;
        const char *gap = i ? "\n" : "";
        if (j->best > 1)
            tsri_cli_print(&j->app, "%s--- %u.%u  score %.6f ---\n", gap, i / j->best + 1,
                           i % j->best + 1, (double)j->scores[i]);
        else
            tsri_cli_print(&j->app, "%s--- %u ---\n", gap, i + 1);
        if (j->texts[i])
            tsri_cli_write(&j->app, j->texts[i], j->sizes[i]);
    }
    if (j->logprobs < 0)
        tsri_cli_write(&j->app, "\n", 1);
}

static void tell_if_instructed(const job *j) {
    char *template = NULL;
    if (tsr_chat_template_of(j->app.model, &template, NULL) != TSR_OK || template)
        tsri_cli_note(&j->app, "this is an instruction-tuned model, and its prompt is continued as "
                               "plain text: --chat makes it a message, and tessera chat talks");
    tsr_text_free(template);
}

static int check_chat(job *j) {
    const char *given = tsri_cli_chatting_given(&j->chatting);
    if (!j->chat && given)
        return tsri_cli_fail(
            CLI_USAGE, "%s is for messages: give --chat too, which makes each prompt one", given);
    if (j->chat && j->ids.n)
        return tsri_cli_fail(CLI_USAGE, "--ids %s: with --chat a prompt is a message, as text",
                             j->ids.items[0]);
    return j->chat ? tsri_cli_chatting_apply(&j->app, &j->chatting, &j->how) : CLI_OK;
}

static int run(job *j) {
    tsr_generate_options options = {.struct_size = sizeof options};
    tsr_generate_stats stats = {.struct_size = sizeof stats};
    int code = tsri_cli_sampling_apply(&j->app, &j->sampling, &options);
    if (code != CLI_OK)
        return code;
    code = tsri_cli_searching_apply(&j->searching, &options);
    if (code == CLI_OK)
        code = make_results(j, &options);
    if (code != CLI_OK)
        return code;
    tsri_cli_sampling_tell(&j->app, &options);
    options.logprobs = j->logprobs > 0 ? (uint32_t)j->logprobs : 0;
    options.return_logprob = j->logprobs >= 0;
    options.chat = j->chat ? &j->how : NULL;
    if (!j->chat)
        tell_if_instructed(j);
    code = echo_prompts(j);
    if (code != CLI_OK)
        return code;
    const tsr_status status =
        tsr_generate(j->app.model, j->pointers, j->n, &options, on_token, j, &stats);
    code = tsri_cli_generated(status, &stats);
    if (code != CLI_OK)
        return code;
    print_results(j);
    for (uint32_t i = 0; i < j->results; i++)
        if (j->finishes[i] == TSR_FINISH_CONTEXT) {
            tsri_cli_note(&j->app, "the context is full: generation stopped there");
            break;
        }
    tsri_cli_flush(&j->app);
    tsri_cli_print_stats(&j->app, &stats);
    return CLI_OK;
}

int tsri_cli_generate(int argc, char **argv) {
    job j = {.logprobs = -1};
    const tsri_cli_option own[] = {
        {"prompt", 'p', CLI_TEXT, &j.prompt, "TEXT",
         "the text to continue, also as operands (several make one batch); - is standard input", 0,
         0, NULL},
        {"file", 'f', CLI_TEXT, &j.file, "FILE",
         "the file with the text to continue; - is standard input", 0, 0, NULL},
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
         "print a line per token: id, log-probability, piece; below it the K most likely tokens", 0,
         100000, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own,
                                       tsri_cli_chatting_options(&j.chatting),
                                       tsri_cli_encoding_option(&j.encoding),
                                       tsri_cli_sampling_options(&j.sampling),
                                       tsri_cli_searching_options(&j.searching),
                                       tsri_cli_running_options(&j.app, true),
                                       NULL};
    int code = tsri_cli_parse(argc, argv, "tessera generate [options] [PROMPT...|-]",
                              "Continues a text with a model. Without a prompt, standard input is "
                              "read; without -m, the bundled model shakespeare is used.",
                              tables, &j.operands);
    if (code == CLI_OK)
        code = check_chat(&j);
    if (code == CLI_OK)
        code = take_prompts(&j);
    if (code == CLI_OK)
        code = tsri_cli_open_model(&j.app);
    if (code == CLI_OK)
        code = run(&j);
    code = tsri_cli_close(&j.app, code);
    for (uint32_t i = 0; j.prompts && i < j.n; i++)
        free((void *)j.prompts[i].ids);
    for (uint32_t i = 0; j.inputs && i < j.n; i++)
        free(j.inputs[i]);
    free(j.inputs);
    for (uint32_t i = 0; i < j.results; i++) {
        free(j.texts ? j.texts[i] : NULL);
        json_decref(j.tokens ? j.tokens[i] : NULL);
    }
    free(j.prompts);
    free(j.pointers);
    free(j.texts);
    free(j.sizes);
    free(j.finishes);
    free(j.scores);
    tsri_cli_searching_clear(&j.searching);
    tsri_cli_chatting_clear(&j.chatting);
    free(j.tokens);
    free(j.ids.items);
    free(j.operands.items);
    tsri_cli_sampling_clear(&j.sampling);
    return code;
}

/* cli/commands/generate/generate.h - what the parts of tessera generate share. */
#ifndef TESSERA_CLI_COMMANDS_GENERATE_GENERATE_H
#define TESSERA_CLI_COMMANDS_GENERATE_GENERATE_H

#include "cli/reading/texts.h"
#include "cli/shared/chatting.h"
#include "cli/shared/sampling.h"
#include "cli/shared/searching.h"
#include "cli/shared/windows.h"

#include <jansson.h>

/* One continuation of a prompt. */
typedef struct tsri_cli_result {
    tsri_cli_bytes text; /* so far */
    uint32_t finish;
    float score;
    json_t *tokens; /* --json */
} tsri_cli_result;

typedef struct tsri_cli_generation {
    tsri_cli_app app;
    tsri_cli_sampling sampling;
    tsri_cli_searching searching;
    tsri_cli_chatting chatting;
    tsr_chat_options how; /* of --chat */
    const char *prompt, *file, *encoding;
    tsri_cli_list ids, operands;
    bool echo, print_ids, chat, lines;
    int64_t logprobs;
    tsr_prompt *prompts;
    const tsr_prompt **pointers;
    tsri_cli_result *results; /* [n, best], printed in order */
    uint32_t n;               /* prompts */
    uint32_t best;            /* results per prompt; the results of one prompt follow each other */
    bool beams, streams;      /* streams: the only text is printed as it comes */
    char **inputs;            /* [n_inputs] the text that was read for each prompt */
    uint32_t n_inputs;
    tsri_cli_texts read; /* --lines */
    /* where there are several ranks, or --lines: */
    tsri_cli_windows windows;
    tsr_generate_options *options;
    tsr_prompt *all;            /* [n_all] */
    size_t n_all, given, taken; /* prompts in all, and of those given out and taken */
    uint32_t windows_done;      /* prompts of the window */
    json_t *printed;            /* --json: the results so far */
    bool full;                  /* one ended because the context was full */
} tsri_cli_generation;

/* ---- results of the current prompts ---- */

uint32_t tsri_cli_results_count(const tsri_cli_generation *j);
/* Each returns an exit code, and prints what went wrong. */
int tsri_cli_results_make(tsri_cli_generation *j);
int tsri_cli_results_echo(tsri_cli_generation *j); /* --echo: the prompts */
void tsri_cli_results_clear(tsri_cli_generation *j);
/* Adds a token to its result; a callback of tsr_generate. */
int tsri_cli_results_token(void *generation, const tsr_generated *g);
/* Prints result number i, of `of` in all. Where a search found fewer results than asked for, the
 * missing ones have no finish and are left out. */
void tsri_cli_results_print(tsri_cli_generation *j, size_t i, size_t of, const tsri_cli_result *r);
void tsri_cli_results_end(tsri_cli_generation *j); /* prints what follows the last result */

/* The exit code of a call that one of several prompts, counted from 1, made fail; prints which, and
 * why. */
int tsri_cli_prompt_refused(const tsri_cli_generation *j, tsr_status status, uint64_t number);

/* ---- many prompts ---- */

/* Continues `all`, some prompts at a time, on all ranks. Returns an exit code. */
int tsri_cli_generate_windows(tsri_cli_generation *j);
void tsri_cli_prompts_clear(tsr_prompt *prompts, size_t n);

#endif

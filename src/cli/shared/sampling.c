/* cli/shared/sampling.c - the options of sampling, which generate and chat share. */
#include "cli/shared/sampling.h"
#include "base/system/system.h"
#include "cli/base/process.h"
#include "cli/reading/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tsri_cli_option *tsri_cli_sampling_options(tsri_cli_sampling *s) {
    static tsri_cli_option rows[16];
    const tsri_cli_option all[] = {
        {"max-new-tokens|n-predict", 'n', CLI_INT, &s->n, "N",
         "generate at most N tokens (default: until the context is full)", 0, 1 << 30, &s->has_n},
        {"temperature|temp", 0, CLI_REAL, &s->temperature, "T",
         "0: always take the most likely token; higher values give more varied text (default: what "
         "the model's files say, else 0.8; of encoder-decoders and CTranslate2 folders 0)",
         0, 1e6, &s->has_temperature},
        {"top-k", 0, CLI_INT, &s->top_k, "K",
         "choose among the K most likely tokens; 0: among all (default: what the model's "
         "files say, else 40)",
         0, 1 << 24, &s->has_top_k},
        {"top-p", 0, CLI_REAL, &s->top_p, "P",
         "choose among the most likely tokens whose probabilities add up to P (default: what the "
         "model's files say, else 0.95)",
         1e-9, 1, &s->has_top_p},
        {"min-p", 0, CLI_REAL, &s->min_p, "P",
         "drop tokens that are less likely than P times the most likely one (default: what the "
         "model's files say, else 0.05)",
         0, 1, &s->has_min_p},
        {"repeat-penalty|repetition-penalty", 0, CLI_REAL, &s->repeat_penalty, "R",
         "above 1: avoid tokens that the text already has (default: what the model's files say, "
         "else 1)",
         1e-3, 1e3, &s->has_repeat_penalty},
        {"presence-penalty", 0, CLI_REAL, &s->presence_penalty, "R",
         "subtract R from the logit of each token that was generated already (default: 0)", -1e3,
         1e3, NULL},
        {"frequency-penalty", 0, CLI_REAL, &s->frequency_penalty, "R",
         "subtract R from a token's logit for each time it was generated (default: 0)", -1e3, 1e3,
         NULL},
        {"logit-bias", 0, CLI_LIST, &s->logit_bias, "ID=BIAS",
         "add BIAS to the logit of this token; may be given several times", 0, 0, NULL},
        {"seed", 's', CLI_SEED, &s->seed, "S",
         "the same seed gives the same text (default: one is drawn and printed)", 0, 0,
         &s->has_seed},
        {"stop", 0, CLI_LIST, &s->stop, "TEXT", "stop before this text; may be given several times",
         0, 0, NULL},
        {"grammar", 0, CLI_TEXT, &s->grammar_file, "FILE",
         "write only what this grammar allows (GBNF, as llama.cpp reads it)", 0, 0, NULL},
        {"json-schema", 0, CLI_TEXT, &s->schema_file, "FILE",
         "write only JSON that this JSON schema allows", 0, 0, NULL},
        {"ignore-eos", 0, CLI_FLAG, &s->ignore_eos, NULL, "continue past end tokens", 0, 0, NULL},
        {"speculate", 0, CLI_INT, &s->speculate, "N",
         "guess up to N tokens of a step from the text so far, which saves time where it repeats "
         "itself "
         "and changes no result; 0: none (default: up to 7, where it gains)",
         0, 7, &s->has_speculate},
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

static int read_biases(tsri_cli_sampling *s) {
    const size_t n = s->logit_bias.n;
    s->biases = calloc(n ? n : 1, sizeof *s->biases);
    if (!s->biases)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    for (size_t i = 0; i < n; i++) {
        int id, end = 0;
        if (sscanf(s->logit_bias.items[i], "%d=%f%n", &id, &s->biases[i].bias, &end) != 2 ||
            s->logit_bias.items[i][end])
            return tsri_cli_fail(CLI_USAGE,
                                 "--logit-bias %s: give a token id, = and a number, as in 13=-1.5; "
                                 "tessera tokenize prints ids",
                                 s->logit_bias.items[i]);
        s->biases[i].id = id;
    }
    return CLI_OK;
}

static int read_checked(tsri_cli_app *app, const char *file, tsr_status (*check)(const char *),
                        char **text) {
    const int code = file ? tsri_cli_read_text(app, file, NULL, text) : CLI_OK;
    if (!*text || check(*text) == TSR_OK)
        return code;
    return tsri_cli_fail(CLI_FILE, "%s: %s", file, tsr_error_last());
}

int tsri_cli_sampling_read(tsri_cli_app *app, tsri_cli_sampling *s) {
    if (s->grammar_file && s->schema_file)
        return tsri_cli_fail(CLI_USAGE, "--grammar and --json-schema: give one of them");
    const int code = read_checked(app, s->grammar_file, tsr_grammar_check, &s->grammar);
    return code == CLI_OK ? read_checked(app, s->schema_file, tsr_json_schema_check, &s->schema)
                          : code;
}

int tsri_cli_sampling_apply(const tsri_cli_app *app, tsri_cli_sampling *s,
                            tsr_generate_options *o) {
    int code = tsri_cli_status(tsr_generate_defaults(app->model, o));
    if (code == CLI_OK)
        code = read_biases(s);
    if (code != CLI_OK)
        return code;
    if (s->has_temperature) {
        o->temperature = s->temperature;
        o->num_beams = s->temperature > 0 ? 1 : o->num_beams; /* sampling does not use beams */
    }
    if (s->has_top_k)
        o->top_k = (int32_t)s->top_k;
    if (s->has_top_p)
        o->top_p = s->top_p;
    if (s->has_min_p)
        o->min_p = s->min_p;
    if (s->has_repeat_penalty)
        o->repeat_penalty = s->repeat_penalty;
    o->presence_penalty = s->presence_penalty;
    o->frequency_penalty = s->frequency_penalty;
    o->logit_bias = s->biases;
    o->n_logit_bias = (uint32_t)s->logit_bias.n;
    if (s->has_n)
        o->max_new_tokens = s->n;
    if (s->has_seed)
        o->seed = s->seed;
    else if (!tsri_system_random(&o->seed, sizeof o->seed))
        return tsri_cli_fail(CLI_OTHER, "the system gave no random seed; give one with --seed");
    if (!s->has_seed)
        o->seed &= UINT32_MAX; /* keep it short enough to type again */
    if (s->has_speculate)
        o->speculate = s->speculate ? (int32_t)s->speculate : -1;
    o->ignore_eos = s->ignore_eos;
    o->context = app->context;
    o->grammar = s->grammar;
    o->json_schema = s->schema;
    o->stop = s->stop.items;
    o->n_stop = (uint32_t)s->stop.n;
    return CLI_OK;
}

void tsri_cli_sampling_clear(tsri_cli_sampling *s) {
    free(s->stop.items);
    free(s->logit_bias.items);
    free(s->biases);
    free(s->grammar);
    free(s->schema);
}

/* An option that says how tokens are drawn, where none is drawn though --temperature 0 was not given;
 * NULL: no such option was given. */
static const char *without_effect(const tsri_cli_sampling *s, const tsr_generate_options *o) {
    const bool beams = o->num_beams > 1;
    if (s->has_temperature && !(beams && s->temperature > 0))
        return NULL;
    return s->has_temperature ? "--temperature"
           : s->has_top_k     ? "--top-k"
           : s->has_top_p     ? "--top-p"
           : s->has_min_p     ? "--min-p"
                              : NULL;
}

void tsri_cli_sampling_tell(const tsri_cli_app *app, const tsri_cli_sampling *s,
                            const tsr_generate_options *o) {
    if (o->temperature > 0 && o->num_beams <= 1) {
        tsri_cli_note(app, "seed: %llu", (unsigned long long)o->seed);
        return;
    }
    const char *option = without_effect(s, o);
    if (option && o->num_beams > 1)
        tsri_cli_note(app, "%s has no effect: a search with %u beams draws nothing", option,
                      o->num_beams);
    else if (option)
        tsri_cli_note(app,
                      "%s has no effect: the likeliest token is always taken, unless --temperature "
                      "is given",
                      option);
}

int tsri_cli_generated(tsr_status status, const tsr_generate_stats *stats) {
    const bool nothing = status == TSR_E_CANCELLED && !stats->first_token_ns && tsri_cli_signal();
    return status == TSR_E_CANCELLED && !nothing ? CLI_OK : tsri_cli_status(status);
}

void tsri_cli_print_stats(const tsri_cli_app *app, const tsr_generate_stats *stats) {
    const double prefill = (double)stats->prefill_ns * 1e-9,
                 decode = (double)stats->decode_ns * 1e-9;
    char guesses[80] = "";
    if (stats->drafted_tokens)
        snprintf(guesses, sizeof guesses, "; %llu of %llu guessed tokens were right",
                 (unsigned long long)stats->accepted_tokens,
                 (unsigned long long)stats->drafted_tokens);
    tsri_cli_note(app,
                  "first token after %.3f s; prefill %llu tokens, %.1f tokens/s; decode %llu "
                  "tokens, %.1f tokens/s%s",
                  (double)stats->first_token_ns * 1e-9, (unsigned long long)stats->prompt_tokens,
                  prefill > 0 ? (double)stats->prompt_tokens / prefill : 0.0,
                  (unsigned long long)stats->decode_tokens,
                  decode > 0 ? (double)stats->decode_tokens / decode : 0.0, guesses);
}

const char *tsri_cli_finish_name(uint32_t finish) {
    static const char *const names[] = {"", "end", "stop", "length", "context"};
    return finish < sizeof names / sizeof *names ? names[finish] : "";
}

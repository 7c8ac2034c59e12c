/* cli/shared/searching.c - the options of beam search, which generate, translate and evaluate
 * share. */
#include "cli/shared/searching.h"

#include <stdlib.h>
#include <string.h>

const tsri_cli_option *tsri_cli_searching_options(tsri_cli_searching *s) {
    static tsri_cli_option rows[9];
    const tsri_cli_option all[] = {
        {"num-beams|beam-size", 0, CLI_INT, &s->num_beams, "K",
         "beam search with K beams; 1: no beam search (default: what the model's files say; else 4 "
         "to translate, or 2 for CTranslate2 folders, as CTranslate2 does; else 1)",
         1, 1024, &s->has_num_beams},
        {"n-best", 0, CLI_INT, &s->n_best, "N",
         "print the N best results of each search with their scores (at most one per beam)", 1,
         1024, &s->has_n_best},
        {"length-penalty", 0, CLI_REAL, &s->length_penalty, "A",
         "a result's score is the sum of its log-probabilities / length^A", -1e6, 1e6,
         &s->has_length_penalty},
        {"early-stopping", 0, CLI_WORD, &s->early_stopping, "true|false|never",
         "stop after K results: at once (true), when no beam scores better now (false), or when "
         "none can (never) (default: what the model's files say, else false, or true for "
         "CTranslate2 folders, as CTranslate2 does)",
         0, 0, NULL},
        {"coverage-penalty", 0, CLI_REAL, &s->coverage_penalty, "B",
         "lower the score of translations that leave out parts of the source", 0, 1e6,
         &s->has_coverage_penalty},
        {"no-repeat-ngram-size", 0, CLI_INT, &s->no_repeat_ngram, "N",
         "repeat no sequence of N tokens; 0: any may be repeated", 0, 1 << 30,
         &s->has_no_repeat_ngram},
        {"min-new-tokens|min-length", 0, CLI_INT, &s->min_new_tokens, "N",
         "generate at least N tokens (default: what the model's files say, else 0, or 1 for "
         "CTranslate2 folders that translate)",
         0, 1 << 30, &s->has_min_new_tokens},
        {"suppress", 0, CLI_TEXT, &s->suppress, "1,2,3", "ids of tokens that are never generated",
         0, 0, NULL},
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

static void set_early_stopping(const char *word, uint32_t *out) {
    if (word)
        *out = !strcmp(word, "true")    ? TSR_EARLY_FIRST
               : !strcmp(word, "never") ? TSR_EARLY_NEVER
                                        : TSR_EARLY_HEURISTIC;
}

int tsri_cli_searching_apply(tsri_cli_searching *s, tsr_generate_options *o) {
    size_t n = 0;
    if (s->has_num_beams)
        o->num_beams = (uint32_t)s->num_beams;
    if (s->has_n_best)
        o->n_best = (uint32_t)s->n_best;
    if (s->has_length_penalty)
        o->length_penalty = s->length_penalty;
    if (s->has_coverage_penalty)
        o->coverage_penalty = s->coverage_penalty;
    if (s->has_no_repeat_ngram)
        o->no_repeat_ngram = (uint32_t)s->no_repeat_ngram;
    if (s->has_min_new_tokens)
        o->min_new_tokens = s->min_new_tokens;
    if (o->n_best > (o->num_beams > 1 ? o->num_beams : 1))
        return tsri_cli_fail(CLI_USAGE, "--n-best %u: there are only %u beams; raise --num-beams",
                             o->n_best, o->num_beams ? o->num_beams : 1);
    int code = CLI_OK;
    set_early_stopping(s->early_stopping, &o->early_stopping);
    if (s->suppress) {
        code = tsri_cli_parse_ids("--suppress ", s->suppress, &s->suppressed, &n);
        o->suppress = s->suppressed;
        o->n_suppress = (uint32_t)n;
    }
    return code;
}

int tsri_cli_searching_translation(tsri_cli_searching *searching, tsr_model *model,
                                   tsr_generate_options *options) {
    const int code = tsri_cli_status(tsr_translate_defaults(model, options));
    return code == CLI_OK ? tsri_cli_searching_apply(searching, options) : code;
}

void tsri_cli_searching_clear(tsri_cli_searching *s) {
    free(s->suppressed);
    s->suppressed = NULL;
}

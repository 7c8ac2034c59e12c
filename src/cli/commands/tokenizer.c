/* cli/commands/tokenizer.c - tessera tokenizer train: trains a tokenizer.json on text. */
#include "cli/base/progress.h"
#include "cli/commands/commands.h"

#include <stdlib.h>
#include <string.h>

typedef struct training {
    tsri_cli_app app;
    const char *type, *out;
    tsr_tokenizer_training options;
    tsri_cli_list specials, files;
    tsri_cli_progress progress;
} training;

static int progress(void *data, uint64_t done, uint64_t total) {
    training *t = data;
    if (done < t->progress.done) /* the texts are read; the merges begin */
        t->progress = (tsri_cli_progress){.app = &t->app, .doing = "merging", .unit = "tokens"};
    return tsri_cli_progress_show(&t->progress, done, total ? (double)done / (double)total : -1);
}

static int check(training *t) {
    if (!t->files.n)
        return tsri_cli_fail(CLI_USAGE, "no text file was given; see tessera help tokenizer");
    if (!t->out)
        return tsri_cli_fail(CLI_USAGE, "the output file is missing; give -o tokenizer.json");
    t->options.type = t->type && !strcmp(t->type, "char") ? TSR_TOKENIZER_CHAR : TSR_TOKENIZER_BPE;
    t->options.specials = t->specials.items;
    t->options.n_specials = t->specials.n;
    return CLI_OK;
}

static int train(training *t) {
    tsr_tokenizer_trained done = {.struct_size = sizeof done};
    t->progress = (tsri_cli_progress){.app = &t->app, .doing = "reading", .unit = "bytes"};
    const tsr_status status =
        tsr_tokenizer_train(&t->options, t->files.items, t->files.n, t->out, &done);
    tsri_cli_progress_end(&t->progress, false);
    if (status != TSR_OK)
        return tsri_cli_status(status);
    const double seconds = (double)done.nanoseconds / 1e9;
    const bool bpe = t->options.type == TSR_TOKENIZER_BPE;
    tsri_cli_note(&t->app, "%s: %lld tokens of %.1f MB of text, %llu different %s, in %.2f s",
                  t->out, (long long)done.vocab_size, (double)done.bytes / 1e6,
                  (unsigned long long)done.words, bpe ? "words" : "characters", seconds);
    if (done.pruned)
        tsri_cli_note(&t->app, "%llu rare words were dropped while reading, to keep memory bounded",
                      (unsigned long long)done.pruned);
    if (bpe && done.vocab_size < t->options.vocab_size)
        tsri_cli_note(&t->app, "the text has no more pairs to merge; %lld tokens were asked for",
                      (long long)t->options.vocab_size);
    return CLI_OK;
}

static int run_train(int argc, char **argv) {
    training t = {.options = {.struct_size = sizeof t.options, .progress = progress}};
    t.options.progress_data = &t;
    const tsri_cli_option own[] = {
        {"type", 0, CLI_WORD, &t.type, "bpe|char",
         "bpe: byte-level byte-pair encoding; char: one token per character (default: bpe)", 0, 0,
         NULL},
        {"vocab-size", 0, CLI_INT, &t.options.vocab_size, "N",
         "the size of the vocabulary, with the special tokens (default: 32000; for char: every "
         "character)",
         1, 1 << 24, NULL},
        {"special", 0, CLI_LIST, &t.specials, "TOKEN",
         "a special token; the first gets id 0, the next 1, and so on; may be given several times",
         0, 0, NULL},
        {"unknown", 0, CLI_TEXT, &t.options.unknown, "TOKEN",
         "for char: the special token for characters not in the text (default: they are refused)",
         0, 0, NULL},
        {"begin", 0, CLI_TEXT, &t.options.begin, "TOKEN", "put this special token before each text",
         0, 0, NULL},
        {"end", 0, CLI_TEXT, &t.options.end, "TOKEN", "put this special token after each text", 0,
         0, NULL},
        {"min-frequency", 0, CLI_INT, &t.options.min_frequency, "N",
         "for bpe: merge no pair that occurs fewer than N times (default: 0)", 0, 1e15, NULL},
        {"output", 'o', CLI_TEXT, &t.out, "FILE", "the tokenizer.json to write", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_common_options(&t.app), NULL};
    int code = tsri_cli_parse(
        argc, argv,
        "tessera tokenizer train [--type bpe|char] [--vocab-size N] [--special TOKEN]... -o "
        "tokenizer.json FILE...",
        "Trains a tokenizer on text files; the result is the one that Hugging Face's trainer "
        "makes.",
        tables, &t.files);
    if (code == CLI_OK)
        code = check(&t);
    if (code == CLI_OK)
        code = train(&t);
    free(t.specials.items);
    free(t.files.items);
    return tsri_cli_close(&t.app, code);
}

int tsri_cli_tokenizer(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "train") && strcmp(verb, "--help") && strcmp(verb, "-h"))
        return tsri_cli_fail(CLI_USAGE,
                             *verb ? "tokenizer %s: unknown; tessera tokenizer train makes a "
                                     "tokenizer, tessera tokenize turns text into ids"
                                   : "tokenizer%s: give what to do: tessera tokenizer train",
                             verb);
    if (strcmp(verb, "train"))
        return run_train(argc, argv);
    argv[1] = (char *)tsri_cli_find_verb("tokenizer", verb)->name;
    return run_train(argc - 1, argv + 1);
}

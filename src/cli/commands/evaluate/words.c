/* cli/commands/evaluate/words.c - tessera evaluate --words: measures how often a classifier of words is right. */
#include "cli/base/json.h"
#include "cli/base/shown.h"
#include "cli/commands/evaluate/evaluate.h"
#include "cli/reading/input.h"

#include <math.h>
#include <string.h>

static int show_progress(void *data, uint64_t texts) {
    tsri_cli_evaluation *j = data;
    char text[64];
    snprintf(text, sizeof text, "classifying  %llu texts", (unsigned long long)texts);
    tsri_cli_show(&j->app, text);
    return tsri_cli_signal();
}

static void show(tsri_cli_evaluation *j, const tsr_word_scores *s) {
    tsri_cli_print(&j->app, "%-14s %.4f, %llu of %llu words\n", "accuracy", s->accuracy,
                   (unsigned long long)s->right, (unsigned long long)s->words);
    if (isfinite(s->f1))
        tsri_cli_print(
            &j->app,
            "%-14s %.4f, precision %.4f, recall %.4f; %llu entities, %llu given, %llu right\n",
            "F1", s->f1, s->precision, s->recall, (unsigned long long)s->entities_wanted,
            (unsigned long long)s->entities_given, (unsigned long long)s->entities_right);
}

static void show_json(tsri_cli_evaluation *j, const tsr_word_scores *s) {
    json_t *entities = isfinite(s->f1) ? json_pack("{s:I,s:I,s:I,s:f,s:f,s:f}", "wanted",
                                                   (json_int_t)s->entities_wanted, "given",
                                                   (json_int_t)s->entities_given, "right",
                                                   (json_int_t)s->entities_right, "precision",
                                                   s->precision, "recall", s->recall, "f1", s->f1)
                                       : json_null();
    tsri_cli_json_print(&j->app,
                        json_pack("{s:i,s:o,s:I,s:I,s:I,s:I,s:o,s:o}", "schema", 1, "file",
                                  tsri_cli_json_string(j->words), "texts", (json_int_t)s->texts,
                                  "words", (json_int_t)s->words, "right", (json_int_t)s->right,
                                  "left_out", (json_int_t)s->left_out, "accuracy",
                                  tsri_cli_json_number(s->accuracy), "entities", entities),
                        JSON_INDENT(1));
}

static int open_model(tsri_cli_evaluation *j) {
    if (j->encoding)
        return tsri_cli_fail(CLI_USAGE,
                             "--encoding %s: evaluate --words reads UTF-8 alone; convert the file "
                             "(iconv does it), and leave --encoding out",
                             j->encoding);
    return j->app.model_name
               ? tsri_cli_open_model(&j->app)
               : tsri_cli_fail(CLI_USAGE,
                               "evaluate --words needs -m MODEL, a model that labels words");
}

int tsri_cli_evaluate_words(tsri_cli_evaluation *j) {
    const tsr_evaluate_words_options options = {.struct_size = sizeof options,
                                                .words_field = j->text_field,
                                                .labels_field = j->label_field,
                                                .progress = show_progress,
                                                .progress_data = j,
                                                .max_tokens = j->app.context,
                                                .ranks = j->app.ranks};
    tsr_word_scores scores = {.struct_size = sizeof scores};
    int code = open_model(j);
    if (code == CLI_OK)
        code = tsri_cli_run_status(tsr_evaluate_words(j->app.model, j->words, &options, &scores));
    tsri_cli_clear_progress(&j->app);
    if (code != CLI_OK || j->app.rank != 0)
        return code;
    (j->app.json ? show_json : show)(j, &scores);
    if (scores.left_out)
        tsri_cli_note(
            &j->app,
            "%llu words were not judged, because the model reads no more of their texts, or "
            "because they have no tokens",
            (unsigned long long)scores.left_out);
    return code;
}

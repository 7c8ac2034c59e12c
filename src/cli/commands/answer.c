/* cli/commands/answer.c - tessera answer: finds the answers to questions in texts. */
#include "cli/base/json.h"
#include "cli/commands/commands.h"
#include "cli/reading/input.h"
#include "cli/shared/windows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CUT, WINDOWS }; /* of counts */

typedef struct job {
    tsri_cli_app app;
    tsri_cli_source source; /* of JSON lines */
    bool no_answer, given;  /* given: the one question that is an operand was taken */
    int64_t top_k, longest, stride;
    tsr_string question, text; /* where they are an operand and a file */
    tsr_answerer *answerer;
    tsri_cli_windows windows;
    json_t **objects;              /* [TSRI_CLI_WINDOW] of the window's lines */
    tsr_string *questions, *texts; /* [TSRI_CLI_WINDOW] */
} job;

static int show_progress(void *data, uint64_t done, uint64_t total) {
    job *j = data;
    return tsri_cli_windows_progress(&j->windows, done, total);
}

/* ---- questions ---- */

static bool take_field(const json_t *object, const char *key, tsr_string *out) {
    const json_t *value = json_object_get(object, key);
    *out = (tsr_string){.data = json_string_value(value), .size = json_string_length(value)};
    return json_is_string(value);
}

/* Takes the question and the text of a line; where it has none, both are empty. */
static void take_line(job *j, size_t i) {
    tsri_cli_window *w = &j->windows.window;
    const tsr_string *line = &w->texts[i];
    json_error_t error;
    json_decref(j->objects[i]);
    j->objects[i] =
        w->wrong[i] ? NULL : tsri_cli_json_load(line->data, line->size, JSON_ALLOW_NUL, &error);
    if (take_field(j->objects[i], "question", &j->questions[i]) &&
        take_field(j->objects[i], "context", &j->texts[i]))
        return;
    j->questions[i] = j->texts[i] = (tsr_string){"", 0};
    if (w->wrong[i])
        return;
    w->wrong[i] = true;
    w->n_wrong++;
    tsri_cli_note(&j->app,
                  "line %" PRIu64 ": it is not a JSON object with the texts \"question\" and "
                  "\"context\"",
                  w->first + i);
}

/* The one question that is an operand. */
static int fill_given(void *data, size_t most, tsri_cli_window *window) {
    job *j = data;
    const tsri_cli_line line = {.text = j->text.data, .size = j->text.size, .number = 1};
    if (j->given || !most)
        return CLI_OK;
    j->given = true;
    return tsri_cli_window_add(window, &line);
}

/* ---- answers ---- */

static void print_json(job *j, size_t question, const tsr_answer_span *answers, size_t n) {
    const tsri_cli_window *w = &j->windows.window;
    json_t *list = w->wrong[question] ? json_null() : json_array();
    for (size_t i = 0; i < n && !w->wrong[question]; i++)
        tsri_cli_json_append(
            list, json_pack("{s:o,s:o,s:I,s:I}", "text",
                            tsri_cli_json_text(j->texts[question].data + answers[i].begin,
                                               answers[i].end - answers[i].begin),
                            "score", tsri_cli_json_number((double)answers[i].score), "begin",
                            (json_int_t)answers[i].begin, "end", (json_int_t)answers[i].end));
    tsri_cli_json_print(
        &j->app, json_pack("{s:I,s:o}", "line", (json_int_t)(w->first + question), "answers", list),
        JSON_COMPACT | JSON_REAL_PRECISION(9));
}

static int visit(void *data, size_t question, const tsr_answer_span *answers, size_t n) {
    job *j = data;
    if (j->app.json) {
        print_json(j, question, answers, n);
        return j->app.stopped || tsri_cli_signal();
    }
    for (size_t i = 0; i < n && !j->windows.window.wrong[question]; i++) {
        tsri_cli_write_line(&j->app, j->texts[question].data + answers[i].begin,
                            answers[i].end - answers[i].begin);
        tsri_cli_print(&j->app, "\t%.6g\t%zu\t%zu\n", (double)answers[i].score, answers[i].begin,
                       answers[i].end);
    }
    if (!j->question.data)
        tsri_cli_write(&j->app, "\n", 1);
    return j->app.stopped || tsri_cli_signal();
}

static int answer_window(void *data) {
    job *j = data;
    const size_t n = j->windows.window.n;
    tsr_answerer_stats stats = {.struct_size = sizeof stats};
    for (size_t i = 0; i < n; i++) {
        if (j->question.data) {
            j->questions[i] = j->question;
            j->texts[i] = j->windows.window.texts[i];
        } else {
            take_line(j, i);
        }
    }
    const tsr_status status =
        tsr_answer_questions(j->answerer, j->questions, j->texts, n, visit, j, &stats);
    j->windows.counts[CUT] += stats.cut;
    j->windows.counts[WINDOWS] += stats.windows;
    tsri_cli_flush(&j->app);
    return tsri_cli_windows_status(&j->windows, status);
}

static int each_window(job *j) {
    tsri_cli_windows *w = &j->windows;
    w->progress = (tsri_cli_progress){.app = &j->app, .doing = "answering", .unit = "questions"};
    w->source = &j->source;
    w->fill = j->question.data ? fill_given : NULL;
    w->work = answer_window;
    w->data = j;
    const int code = tsri_cli_windows_run(w);
    if ((code == CLI_OK || code == CLI_MISS) && w->sums[CUT])
        tsri_cli_note(&j->app,
                      "%" PRIu64 " of %" PRIu64
                      " questions took more than three quarters of a window, and were "
                      "cut",
                      w->sums[CUT], w->done);
    return code;
}

static int open_answerer(job *j) {
    int code = tsri_cli_open_model(&j->app);
    if (code != CLI_OK)
        return code;
    const tsr_answerer_options options = {.struct_size = sizeof options,
                                          .no_answer = j->no_answer,
                                          .top_k = (uint32_t)j->top_k,
                                          .longest = (uint32_t)j->longest,
                                          .window = j->app.context,
                                          .stride = j->stride,
                                          .progress = show_progress,
                                          .progress_data = j};
    code = tsri_cli_status(tsr_answerer_create(j->app.model, &options, &j->answerer));
    j->objects = calloc(TSRI_CLI_WINDOW, sizeof *j->objects);
    j->questions = calloc(TSRI_CLI_WINDOW, sizeof *j->questions);
    j->texts = calloc(TSRI_CLI_WINDOW, sizeof *j->texts);
    return code != CLI_OK || (j->objects && j->questions && j->texts)
               ? code
               : tsri_cli_fail(CLI_OTHER, "out of memory");
}

/* The operands: none, where questions are JSON lines; or a question and a file. */
static int take_operands(job *j, const tsri_cli_list *operands, char **text) {
    const char *path = operands->n > 1 ? operands->items[1] : NULL;
    if (!operands->n)
        return CLI_OK;
    if (j->source.path)
        return tsri_cli_fail(CLI_USAGE, "%s: give a question and a file, or -f FILE, not both",
                             operands->items[0]);
    if (operands->n > 2)
        return tsri_cli_fail(CLI_USAGE, "%s: give one question and one file; -f reads more",
                             operands->items[2]);
    if (!*operands->items[0] || !strcmp(operands->items[0], "-"))
        return tsri_cli_fail(CLI_USAGE, "answer: the question must be a text");
    j->question = (tsr_string){operands->items[0], strlen(operands->items[0])};
    return tsri_cli_read_input(&j->app, path, j->source.encoding, text, &j->text.size);
}

static void clear(job *j) {
    tsri_cli_windows_clear(&j->windows);
    tsr_answerer_destroy(&j->answerer);
    for (size_t i = 0; j->objects && i < TSRI_CLI_WINDOW; i++)
        json_decref(j->objects[i]);
    free(j->objects);
    free(j->questions);
    free(j->texts);
}

int tsri_cli_answer(int argc, char **argv) {
    job j = {.top_k = 1, .longest = 15};
    tsri_cli_list operands = {0};
    char *text = NULL;
    const tsri_cli_option own[] = {
        {"file", 'f', CLI_TEXT, &j.source.path, "FILE|-",
         "JSON lines, each with the texts \"question\" and \"context\"; - is standard input", 0, 0,
         NULL},
        {"top-k", 'k', CLI_INT, &j.top_k, "K", "print the K best answers (default: 1)", 1, 1 << 16,
         NULL},
        {"no-answer", 0, CLI_FLAG, &j.no_answer, NULL,
         "the text may have no answer: an empty one, with a score of its own", 0, 0, NULL},
        {"longest", 0, CLI_INT, &j.longest, "N", "answers of at most N tokens (default: 15)", 1,
         1 << 16, NULL},
        {"stride", 0, CLI_INT, &j.stride, "N",
         "tokens that neighbouring windows of a long text share (default: 128)", 1, 1 << 20, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_encoding_option(&j.source.encoding),
                                       tsri_cli_split_options(&j.app),
                                       tsri_cli_running_options(&j.app, true), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera answer -m MODEL QUESTION [FILE|-] | -m MODEL -f FILE|-",
        "Finds the answer to a question in a text, and prints "
        "\"answer<TAB>score<TAB>begin<TAB>end\" (begin\nand end in bytes of the text). The text is "
        "a file's, or standard input. With -f each line of a file\nhas a question and a text, and "
        "an empty line follows its answers. The model is of class\n...ForQuestionAnswering. A long "
        "text is read in windows of 384 tokens, or as --context says.",
        tables, &operands);
    if (code == CLI_OK && !j.app.model_name)
        code = tsri_cli_fail(CLI_USAGE, "answer needs -m MODEL, a model that answers questions");
    if (code == CLI_OK)
        code = take_operands(&j, &operands, &text);
    j.text.data = text;
    if (code == CLI_OK)
        code = tsri_cli_open_ranks(&j.app, argv[0], tables);
    if (code == CLI_OK)
        code = open_answerer(&j);
    if (code == CLI_OK)
        code = each_window(&j);
    clear(&j);
    free(text);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}

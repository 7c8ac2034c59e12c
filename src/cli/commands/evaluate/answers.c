/* cli/commands/evaluate/answers.c - tessera evaluate --answers: exact match and F1 of a model that
 * answers questions. */
#include "cli/base/json.h"
#include "cli/commands/evaluate/evaluate.h"
#include "cli/commands/evaluate/questions.h"
#include "cli/shared/windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    tsri_cli_evaluation *job;
    tsri_cli_questions data;
    tsri_cli_texts given; /* [questions] */
    tsr_answerer *answerer;
    tsr_string *questions, *contexts; /* [TSRI_CLI_WINDOW] of the window */
    tsri_cli_windows windows;         /* counts[0]: questions that were cut */
    size_t taken;                     /* questions */
} work;

static int show_progress(void *data, uint64_t done, uint64_t total) {
    work *w = data;
    return tsri_cli_windows_progress(&w->windows, done, total);
}

static int open_model(work *w) {
    const int code = tsri_cli_open_model(&w->job->app);
    w->questions = calloc(TSRI_CLI_WINDOW, sizeof *w->questions);
    w->contexts = calloc(TSRI_CLI_WINDOW, sizeof *w->contexts);
    return code != CLI_OK || (w->questions && w->contexts)
               ? code
               : tsri_cli_fail(CLI_OTHER, "out of memory");
}

/* ---- answering ---- */

static int fill(void *data, size_t most, tsri_cli_window *window) {
    work *w = data;
    return tsri_cli_windows_add(&w->windows, w->data.asked.items, w->data.asked.n, &w->taken, most,
                                window);
}

/* Captures the size of an answer, and then the answer. */
static int give_answer(void *data, size_t question, const tsr_answer_span *answers, size_t n) {
    work *w = data;
    tsri_cli_app *app = &w->job->app;
    const uint64_t size = n ? answers[0].end - answers[0].begin : 0;
    return !tsri_cli_write(app, &size, sizeof size) ||
           !tsri_cli_write(app, size ? w->contexts[question].data + answers[0].begin : "", size) ||
           tsri_cli_signal();
}

/* The first window says whether "no answer" is an answer, which only rank 0 has read. */
static tsr_status make_answerer(work *w, bool no_answer) {
    const tsr_answerer_options options = {.struct_size = sizeof options,
                                          .no_answer = no_answer,
                                          .longest = (uint32_t)w->job->longest,
                                          .window = w->job->app.context,
                                          .progress = show_progress,
                                          .progress_data = w};
    return w->answerer ? TSR_OK : tsr_answerer_create(w->job->app.model, &options, &w->answerer);
}

static int answer_window(void *data) {
    work *w = data;
    const tsri_cli_window *window = &w->windows.window;
    tsr_answerer_stats stats = {.struct_size = sizeof stats};
    tsri_cli_question one = {0};
    for (size_t i = 0; i < window->n; i++) {
        tsri_cli_question_parts(&window->texts[i], &one);
        w->questions[i] = one.question;
        w->contexts[i] = one.text;
    }
    tsr_status status = make_answerer(w, one.unanswerable);
    if (status == TSR_OK)
        status = tsr_answer_questions(w->answerer, w->questions, w->contexts, window->n,
                                      give_answer, w, &stats);
    w->windows.counts[0] += stats.cut;
    return tsri_cli_windows_status(&w->windows, status);
}

static int take_answers(void *data, const char *bytes, size_t n) {
    work *w = data;
    int code = CLI_OK;
    for (const char *end = bytes + n; bytes < end && code == CLI_OK;) {
        uint64_t size;
        memcpy(&size, bytes, sizeof size);
        code = tsri_cli_texts_add(&w->given, bytes + sizeof size, size);
        bytes += sizeof size + size;
    }
    return code;
}

static int answer(work *w) {
    w->windows.progress =
        (tsri_cli_progress){.app = &w->job->app, .doing = "answering", .unit = "questions"};
    w->windows.fill = fill;
    w->windows.work = answer_window;
    w->windows.take = take_answers;
    w->windows.data = w;
    w->windows.total = w->data.asked.n;
    w->windows.always = w->windows.no_summary = true;
    return tsri_cli_windows_run(&w->windows);
}

/* ---- what is printed ---- */

static void show(work *w, const tsr_answer_scores *s) {
    tsri_cli_app *app = &w->job->app;
    tsri_cli_print(app, "%-14s %.2f, %llu of %llu questions\n%-14s %.2f\n", "exact match",
                   s->exact_match, (unsigned long long)s->exact, (unsigned long long)s->questions,
                   "F1", s->f1);
    if (isfinite(s->unanswerable_exact_match) && isfinite(s->answerable_f1))
        tsri_cli_print(app, "%-14s exact match %.2f, F1 %.2f; %llu questions\n", "with answers",
                       s->answerable_exact_match, s->answerable_f1,
                       (unsigned long long)s->answerable);
    if (isfinite(s->unanswerable_exact_match))
        tsri_cli_print(app, "%-14s exact match %.2f; %llu questions\n", "without",
                       s->unanswerable_exact_match,
                       (unsigned long long)(s->questions - s->answerable));
}

static void show_json(work *w, const tsr_answer_scores *s) {
    json_t *answerable = json_pack("{s:I,s:o,s:o}", "questions", (json_int_t)s->answerable,
                                   "exact_match", tsri_cli_json_number(s->answerable_exact_match),
                                   "f1", tsri_cli_json_number(s->answerable_f1)),
           *unanswerable =
               json_pack("{s:I,s:o,s:o}", "questions", (json_int_t)(s->questions - s->answerable),
                         "exact_match", tsri_cli_json_number(s->unanswerable_exact_match), "f1",
                         tsri_cli_json_number(s->unanswerable_exact_match));
    tsri_cli_json_print(&w->job->app,
                        json_pack("{s:i,s:o,s:I,s:I,s:o,s:o,s:o,s:o}", "schema", 1, "file",
                                  tsri_cli_json_string(w->job->answers), "questions",
                                  (json_int_t)s->questions, "exact", (json_int_t)s->exact,
                                  "exact_match", tsri_cli_json_number(s->exact_match), "f1",
                                  tsri_cli_json_number(s->f1), "answerable", answerable,
                                  "unanswerable", unanswerable),
                        JSON_INDENT(1));
}

static int score(work *w) {
    tsri_cli_app *app = &w->job->app;
    tsr_answer_scores scores = {.struct_size = sizeof scores};
    const int code = tsri_cli_status(tsr_evaluate_answers(
        w->given.items, w->data.answers.items, w->data.counts, w->given.n, NULL, &scores));
    if (code != CLI_OK)
        return code;
    (app->json ? show_json : show)(w, &scores);
    if (w->windows.sums[0])
        tsri_cli_note(app, "%llu questions took more than three quarters of a window, and were cut",
                      (unsigned long long)w->windows.sums[0]);
    return CLI_OK;
}

int tsri_cli_evaluate_answers(tsri_cli_evaluation *job) {
    work w = {.job = job};
    const bool first = job->app.rank == 0;
    int code =
        job->app.model_name
            ? CLI_OK
            : tsri_cli_fail(CLI_USAGE, "evaluate --answers needs -m MODEL, a model that answers "
                                       "questions");
    if (code == CLI_OK && first)
        code = tsri_cli_questions_read(&job->app, job->answers, job->encoding, &w.data);
    if (code == CLI_OK)
        code = open_model(&w);
    if (code == CLI_OK)
        code = answer(&w);
    if (code == CLI_OK && first)
        code = score(&w);
    tsri_cli_windows_clear(&w.windows);
    tsr_answerer_destroy(&w.answerer);
    tsri_cli_questions_clear(&w.data);
    tsri_cli_texts_clear(&w.given);
    free(w.questions);
    free(w.contexts);
    return code;
}

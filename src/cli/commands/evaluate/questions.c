/* cli/commands/evaluate/questions.c - reads questions with texts and right answers. */
#include "cli/commands/evaluate/questions.h"
#include "cli/base/json.h"
#include "cli/reading/input.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Before the question and its text. */
typedef struct head {
    uint64_t size; /* of the question */
    uint64_t unanswerable;
} head;

typedef struct reading {
    const char *path, *unit; /* unit: what messages call a question's place */
    size_t number;           /* of the question, or of its line */
    tsri_cli_questions *out;
    tsri_cli_bytes asked; /* scratch */
} reading;

static const json_t *text_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? value : NULL;
}

/* ---- one question ---- */

void tsri_cli_question_parts(const tsr_string *asked, tsri_cli_question *out) {
    head head;
    memcpy(&head, asked->data, sizeof head);
    const char *question = asked->data + sizeof head;
    out->question = (tsr_string){question, head.size};
    out->text = (tsr_string){question + head.size, asked->size - sizeof head - head.size};
    out->unanswerable = head.unanswerable != 0;
}

static int add_asked(reading *r, const json_t *question, const json_t *context) {
    const head head = {.size = json_string_length(question)};
    r->asked.size = 0;
    int code = tsri_cli_bytes_append(&r->asked, &head, sizeof head);
    if (code == CLI_OK)
        code = tsri_cli_bytes_append(&r->asked, json_string_value(question), head.size);
    if (code == CLI_OK)
        code = tsri_cli_bytes_append(&r->asked, json_string_value(context),
                                     json_string_length(context));
    return code == CLI_OK ? tsri_cli_texts_add(&r->out->asked, r->asked.data, r->asked.size) : code;
}

static int no_answers(const reading *r) {
    return tsri_cli_fail(CLI_FILE,
                         "%s: %s %zu: \"answers\" must be a list of texts, or SQuAD's {\"text\": "
                         "[...], \"answer_start\": [...]}; an empty list says that the text has no "
                         "answer",
                         r->path, r->unit, r->number);
}

static int add_answers(reading *r, const json_t *answers, uint32_t *n) {
    const json_t *list = json_is_object(answers) ? json_object_get(answers, "text") : answers,
                 *item;
    size_t i;
    if (!json_is_array(list))
        return no_answers(r);
    json_array_foreach(list, i, item) {
        const json_t *text = json_is_object(item) ? json_object_get(item, "text") : item;
        if (!json_is_string(text))
            return no_answers(r);
        const int code =
            tsri_cli_texts_add(&r->out->answers, json_string_value(text), json_string_length(text));
        if (code != CLI_OK)
            return code;
    }
    *n = (uint32_t)json_array_size(list);
    return CLI_OK;
}

static int add_count(tsri_cli_questions *q, uint32_t n) {
    if (q->asked.n > q->room) {
        const size_t room = q->room ? 2 * q->room : 256;
        uint32_t *counts = realloc(q->counts, room * sizeof *counts);
        if (!counts)
            return tsri_cli_fail(CLI_OTHER, "out of memory");
        q->counts = counts;
        q->room = room;
    }
    q->counts[q->asked.n - 1] = n;
    return CLI_OK;
}

/* Adds the question of an object, whose text is its own or that of its paragraph. */
static int add_question(reading *r, const json_t *object, const json_t *context) {
    const json_t *question = text_of(object, "question");
    uint32_t n = 0;
    if (!context)
        context = text_of(object, "context");
    if (!question || !context)
        return tsri_cli_fail(CLI_FILE,
                             "%s: %s %zu is not a JSON object with the texts \"question\" and "
                             "\"context\"",
                             r->path, r->unit, r->number);
    int code = add_asked(r, question, context);
    if (code == CLI_OK)
        code = add_answers(r, json_object_get(object, "answers"), &n);
    return code == CLI_OK ? add_count(r->out, n) : code;
}

/* ---- the file ---- */

/* Adds what an object of "data" has: an article's paragraphs with their questions, or a question. */
static int add_item(reading *r, const json_t *item) {
    const json_t *paragraphs = json_object_get(item, "paragraphs"), *paragraph, *object;
    size_t i, k;
    int code = CLI_OK;
    if (!paragraphs) {
        r->number++;
        return add_question(r, item, NULL);
    }
    json_array_foreach(paragraphs, i, paragraph) {
        const json_t *context = text_of(paragraph, "context"),
                     *list = json_object_get(paragraph, "qas");
        json_array_foreach(list, k, object) {
            r->number++;
            code = add_question(r, object, context);
            if (code != CLI_OK)
                return code;
        }
    }
    return code;
}

static int read_whole(reading *r, const json_t *data) {
    const json_t *item;
    size_t i;
    r->unit = "question";
    json_array_foreach(data, i, item) {
        const int code = add_item(r, item);
        if (code != CLI_OK)
            return code;
    }
    return CLI_OK;
}

static int read_lines(reading *r, const char *text, size_t n) {
    int code = CLI_OK;
    r->unit = "line";
    for (const char *end = text + n; text < end && code == CLI_OK;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const size_t size = (size_t)((stop ? stop : end) - text);
        json_error_t error;
        r->number++;
        if (strspn(text, " \t\r") < size) {
            json_t *object = tsri_cli_json_load(text, size, JSON_ALLOW_NUL, &error);
            code = add_question(r, object, NULL);
            json_decref(object);
        }
        text += size + (stop != NULL);
    }
    return code;
}

/* Writes into each question whether some have no answer: what is asked may go to another rank. */
static void mark(tsri_cli_questions *q) {
    uint64_t unanswerable = 0;
    for (size_t i = 0; i < q->asked.n; i++)
        unanswerable |= q->counts[i] == 0;
    for (size_t i = 0; i < q->asked.n; i++)
        memcpy((char *)q->asked.items[i].data + offsetof(head, unanswerable), &unanswerable,
               sizeof unanswerable);
}

int tsri_cli_questions_read(tsri_cli_app *app, const char *path, const char *encoding,
                            tsri_cli_questions *out) {
    reading r = {.path = path, .out = out};
    json_error_t error;
    char *text = NULL;
    size_t n = 0;
    int code = tsri_cli_read_input(app, path, encoding, &text, &n);
    if (code != CLI_OK)
        return code;
    json_t *root = tsri_cli_json_load(text, n, JSON_ALLOW_NUL, &error);
    const json_t *data = json_is_object(root) ? json_object_get(root, "data") : root;
    code = json_is_array(data) ? read_whole(&r, data) : read_lines(&r, text, n);
    if (code == CLI_OK && !out->asked.n)
        code = tsri_cli_fail(CLI_FILE, "%s has no questions", path);
    if (code == CLI_OK)
        mark(out);
    json_decref(root);
    free(r.asked.data);
    free(text);
    return code;
}

void tsri_cli_questions_clear(tsri_cli_questions *questions) {
    tsri_cli_texts_clear(&questions->asked);
    tsri_cli_texts_clear(&questions->answers);
    free(questions->counts);
}

/* cli/serve/call_form.c - learns how a model writes calls from its chat template: renders a conversation with
 * an ordinary answer, and the same with calls in its place, and compares the texts. */
#include "cli/serve/call_form.h"

#include <stdlib.h>
#include <string.h>

#define NAME "zq_function"
#define KEY "\"zq_key\""
#define VALUE "\"zq_value\""
#define ANSWER "zq answer"
#define CALL                                                                                  \
    "{\"id\": \"" TSRI_SERVE_CALL_ID                                                          \
    "\", \"type\": \"function\", \"function\": {\"name\": \"" NAME "\", \"arguments\": {" KEY \
    ": " VALUE "}}}"
#define USER(words) "{\"role\": \"user\", \"content\": \"" words "\"}"
#define TALK(answer, more) "[" USER("a") ", {\"role\": \"assistant\", " answer "}" more "]"
#define CALLS(calls) "\"content\": \"\", \"tool_calls\": [" calls "]"

/* What the template is told, so that it takes its part for tools. */
static const char tools[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"zq_tool\", \"description\": \"x\", "
    "\"parameters\": {\"type\": \"object\", \"properties\": {}}}}]";

/* With an answer, a call, and two calls. A question follows them, because some templates write the last answer
 * in another way; but others want the function's result there. */
static const char *const talks[][3] = {
    {TALK("\"content\": \"" ANSWER "\"", ", " USER("b")), TALK(CALLS(CALL), ", " USER("b")),
     TALK(CALLS(CALL ", " CALL), ", " USER("b"))},
    {TALK("\"content\": \"" ANSWER "\"", ""), TALK(CALLS(CALL), ""),
     TALK(CALLS(CALL ", " CALL), "")},
};

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *over_blanks(const char *at) {
    while (is_blank(*at))
        at++;
    return at;
}

/* ---- where a call stands ---- */

typedef struct place {
    const char *name, *name_end, *arguments, *end;
} place;

/* Behind `sign` and the blanks before it; NULL: something else is there. */
static const char *over(const char *at, const char *sign) {
    at = at ? over_blanks(at) : NULL;
    return at && !strncmp(at, sign, strlen(sign)) ? at + strlen(sign) : NULL;
}

/* The next call whose arguments are written as JSON, behind the name. */
static bool find_call(const char *text, place *p) {
    p->name = strstr(text, NAME);
    const char *key = p->name ? strstr(p->name, KEY) : NULL;
    if (!key)
        return false;
    p->name_end = p->name + strlen(NAME);
    p->arguments = key - 1;
    while (p->arguments > p->name_end && is_blank(*p->arguments))
        p->arguments--;
    p->end = over(over(over(key + strlen(KEY), ":"), VALUE), "}");
    return *p->arguments == '{' && p->end;
}

static size_t common_start(const char *a, size_t n, const char *b) {
    size_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

static size_t common_end(const char *a, const char *b) {
    const size_t n = strlen(a), m = strlen(b);
    size_t i = 0;
    while (i < n && i < m && a[n - 1 - i] == b[m - 1 - i])
        i++;
    return i;
}

/* A text in new memory, without the blanks at its beginning (before) and end (behind). */
static char *cut(const char *from, const char *to, bool before, bool behind) {
    while (before && from < to && is_blank(*from))
        from++;
    while (behind && to > from && is_blank(to[-1]))
        to--;
    return strndup(from, (size_t)(to - from));
}

/* ---- from texts to the form ---- */

/* Takes what stands around the name and the arguments, but for what stands around the ordinary answer, too. */
static bool take_one(tsri_serve_call_form *f, const char *plain, const char *text) {
    const char *answer = strstr(plain, ANSWER);
    place p;
    if (!answer || !find_call(text, &p))
        return false;
    const size_t start = common_start(plain, (size_t)(answer - plain), text),
                 end = common_end(p.end, answer + strlen(ANSWER));
    if (text + start > p.name)
        return false;
    f->before = cut(text + start, p.name, true, false);
    f->between = strndup(p.name_end, (size_t)(p.arguments - p.name_end));
    f->after = cut(p.end, p.end + strlen(p.end) - end, false, true);
    return true;
}

/* Takes what stands between two calls, where the rest is as with one. */
static void take_next(tsri_serve_call_form *f, const char *text) {
    const size_t before = strlen(f->before), after = strlen(f->after);
    place a, b;
    if (find_call(text, &a) && find_call(a.end, &b) && (size_t)(a.name - text) >= before &&
        !memcmp(a.name - before, f->before, before) && !strncmp(b.end, f->after, after))
        f->next = strndup(a.end, (size_t)(b.name - a.end));
}

/* The marker is a tag at the beginning, or else what comes before the first blank. */
static size_t marker_of(const char *before) {
    size_t n = 0;
    while (n < TSRI_SERVE_CALL_MARKER && before[n] && !is_blank(before[n]))
        if (strchr(">]", before[n++]))
            break;
    while (((unsigned char)before[n] & 0xC0) == 0x80) /* whole characters */
        n--;
    return n;
}

static bool has_special(const tsr_model *model, const char *text) {
    int32_t *ids = NULL;
    size_t n = 0, all = 0, plain = 0;
    char *with = NULL, *without = NULL;
    const bool fine =
        tsr_encode(model, text, strlen(text), TSR_ENCODE_PARSE_SPECIAL, &ids, &n) == TSR_OK &&
        tsr_decode(model, ids, n, 0, &with, &all) == TSR_OK &&
        tsr_decode(model, ids, n, 1, &without, &plain) == TSR_OK;
    tsr_ids_free(ids);
    tsr_text_free(with);
    tsr_text_free(without);
    return fine && all != plain;
}

static void clear(tsri_serve_call_form *f) {
    free(f->before);
    free(f->between);
    free(f->next);
    free(f->after);
    *f = (tsri_serve_call_form){0};
}

static bool learn(const tsri_serve_model *m, const char *const *talk, tsri_serve_call_form *f) {
    const tsr_chat_options chat = {
        .struct_size = sizeof chat, .template_text = m->template_text, .tools = tools};
    char *text[3] = {NULL, NULL, NULL};
    for (size_t i = 0; i < 3; i++)
        if (tsr_chat_render(m->model, &chat, talk[i], 0, &text[i], NULL) != TSR_OK)
            break;
    bool fine =
        text[0] && text[1] && take_one(f, text[0], text[1]) && f->before && f->between && f->after;
    f->marker = fine ? marker_of(f->before) : 0;
    if (fine && text[2])
        take_next(f, text[2]);
    for (size_t i = 0; i < 3; i++)
        tsr_text_free(text[i]);
    if (!f->marker)
        clear(f);
    return f->marker;
}

static bool take_plain(tsri_serve_call_form *f) {
    f->before = strdup("{\"name\": \"");
    f->between = strdup("\", \"arguments\": ");
    f->after = strdup("}");
    return f->before && f->between && f->after;
}

const tsri_serve_call_form *tsri_serve_call_form_of(tsri_serve_model *m) {
    if (m->call_form)
        return m->call_form;
    tsri_serve_call_form *f = calloc(1, sizeof *f);
    bool found = false;
    for (size_t i = 0; f && i < sizeof talks / sizeof *talks && !found; i++)
        found = learn(m, talks[i], f);
    const bool special =
        found && (has_special(m->model, f->before) || has_special(m->model, f->between) ||
                  (f->next && has_special(m->model, f->next)) || has_special(m->model, f->after));
    if (special)
        clear(f);
    if (!f || ((!found || special) && !take_plain(f))) {
        tsri_serve_call_form_free(f);
        return NULL;
    }
    f->special = special;
    f->marker = marker_of(f->before);
    f->anywhere = !memchr(f->before, '{', f->marker);
    m->call_form = f;
    return f;
}

void tsri_serve_call_form_free(tsri_serve_call_form *form) {
    if (form)
        clear(form);
    free(form);
}

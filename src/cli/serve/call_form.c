/* cli/serve/call_form.c - learns how a model writes calls from its chat template: renders a conversation with
 * an ordinary answer, and the same with calls in its place, and compares the texts. */
#include "cli/serve/call_form.h"
#include "cli/serve/marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "zq_function"
#define KEY "\"zq_key\""
#define VALUE "\"zq_value\""
#define ANSWER "zq answer"

/* What the template is told, so that it takes its part for tools. */
static const char tools[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"zq_tool\", \"description\": \"x\", "
    "\"parameters\": {\"type\": \"object\", \"properties\": {}}}}]";

/* What templates want of a message with calls, and of what follows it. A question comes first, because some
 * templates write the last answer in another way; but others want the function's result there. */
static const char *const contents[] = {"\"\"", "null"},
                         *const arguments[] = {"{" KEY ": " VALUE "}",
                                               "\"{\\\"zq_key\\\": \\\"zq_value\\\"}\""},
                         *const ends[] = {", {\"role\": \"user\", \"content\": \"b\"}", ""};
enum { FORMS = 2 * 2 * 2 };

static const char *over_blanks(const char *at) {
    while (tsri_serve_is_blank(*at))
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
    while (p->arguments > p->name_end && tsri_serve_is_blank(*p->arguments))
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

/* The mark that `at` is within; else `at`. */
static const char *mark_around(const char *text, const char *at) {
    const char *begin = at;
    for (const char *c = text; (c = strchr(c, TSRI_SERVE_MARK)) && c < at;) {
        const char *end = strchr(c + 1, TSRI_SERVE_MARK);
        begin = end && end >= at ? c : at;
        c = end ? end + 1 : at;
    }
    return begin;
}

/* The mark or the tag <...> that `at` is within; else `at`. */
static const char *tag_around(const char *text, const char *at) {
    const char *mark = mark_around(text, at);
    if (mark < at)
        return mark;
    for (const char *c = at; c > text && c[-1] != '>' && !tsri_serve_is_blank(c[-1]); c--)
        if (c[-1] == '<')
            return c - 1;
    return at;
}

static const char *behind_tag(const char *text, const char *at) {
    const bool mark = mark_around(text, at) < at;
    const char *end = tag_around(text, at) < at ? strchr(at, mark ? TSRI_SERVE_MARK : '>') : NULL;
    return end ? end + 1 : at;
}

/* A text in new memory, without the blanks at its beginning (before) and end (behind). */
static char *cut(const char *from, const char *to, bool before, bool behind) {
    while (before && from < to && tsri_serve_is_blank(*from))
        from++;
    while (behind && to > from && tsri_serve_is_blank(to[-1]))
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
    const char *from = tag_around(text, text + common_start(plain, (size_t)(answer - plain), text)),
               *to = p.end + strlen(p.end) - common_end(p.end, answer + strlen(ANSWER));
    if (from > p.name)
        return false;
    f->before = cut(from, p.name, true, false);
    f->between = strndup(p.name_end, (size_t)(p.arguments - p.name_end));
    const char *behind = behind_tag(p.end, to);
    f->after = cut(p.end, behind, false, true);
    f->text_before = cut(plain + (from - text), answer, true, true);
    f->text_after =
        cut(answer + strlen(ANSWER), plain + strlen(plain) - strlen(behind), true, true);
    return f->before && f->between && f->after && f->text_before && f->text_after;
}

/* Takes what stands between two calls, where the rest is as with one. */
static void take_next(tsri_serve_call_form *f, const char *text) {
    const size_t before = strlen(f->before), after = strlen(f->after);
    place a, b;
    if (find_call(text, &a) && find_call(a.end, &b) && (size_t)(a.name - text) >= before &&
        !memcmp(a.name - before, f->before, before) && !strncmp(b.end, f->after, after))
        f->next = strndup(a.end, (size_t)(b.name - a.end));
}

/* The end of the word that begins at n: it is a tag, or blanks or JSON follow. */
static size_t word_end(const char *text, size_t n, bool *tag) {
    *tag = false;
    while (text[n] && !tsri_serve_is_blank(text[n]) && text[n] != '{' && !*tag)
        *tag = strchr(">]", text[n++]);
    return n;
}

/* The marker is a special token or a tag at the beginning, or else two words: one alone may stand in any text. Where
 * JSON begins at once, it is the JSON up to the first blank. */
static size_t marker_of(const char *before) {
    bool tag;
    size_t n = strcspn(before, " \t\r\n");
    const char *behind;
    if (*before == TSRI_SERVE_MARK) {
        (void)tsri_serve_mark_read(before, &behind);
        return (size_t)(behind - before);
    }
    if (before[strspn(before, "[")] != '{') {
        n = word_end(before, 0, &tag);
        const size_t second = (size_t)(over_blanks(before + n) - before);
        if (!tag && word_end(before, second, &tag) > second)
            n = word_end(before, second, &tag);
    }
    n = n < TSRI_SERVE_CALL_MARKER ? n : TSRI_SERVE_CALL_MARKER;
    while (((unsigned char)before[n] & 0xC0) == 0x80) /* whole characters */
        n--;
    return n;
}

/* The first mark of a token that ends an answer; NULL: there is none. */
static const char *find_end(const tsr_model_info *info, const char *text) {
    for (const char *at = text; at && (at = strchr(at, TSRI_SERVE_MARK));) {
        const char *behind;
        const int32_t id = tsri_serve_mark_read(at, &behind);
        for (uint32_t i = 0; i < info->n_eos; i++)
            if (info->eos[i] == id)
                return at;
        at = behind;
    }
    return NULL;
}

/* Whether grammars and answers can have the form's special tokens: they begin it, if it has any before the name, so that
 * they show where a call begins, and none of them ends the answer. Behind the last call, one that does is left out. */
static bool fits(const tsr_model *model, tsri_serve_call_form *f) {
    tsr_model_info info = {.struct_size = sizeof info};
    if (tsr_model_info_get(model, &info) != TSR_OK)
        return false;
    char *end = (char *)find_end(&info, f->after);
    if (end)
        *end = 0;
    return (!strchr(f->before, TSRI_SERVE_MARK) || *f->before == TSRI_SERVE_MARK) &&
           !find_end(&info, f->before) && !find_end(&info, f->between) &&
           !(f->next && find_end(&info, f->next));
}

bool tsri_serve_call_form_has(const tsri_serve_call_form *f, const char *mark) {
    return strstr(f->before, mark) || strstr(f->between, mark) || strstr(f->after, mark) ||
           (f->next && strstr(f->next, mark));
}

/* Whether a text is special tokens alone, none of which calls have, or which ends an answer. */
static bool is_frame(const tsr_model_info *info, const tsri_serve_call_form *f, const char *text) {
    bool fits = !find_end(info, text);
    while (*text && fits) {
        const char *behind = text;
        char mark[TSRI_SERVE_MARK_ROOM];
        fits = *text == TSRI_SERVE_MARK;
        if (fits)
            (void)tsri_serve_mark_read(text, &behind);
        snprintf(mark, sizeof mark, "%.*s", (int)(behind - text), text);
        fits = fits && !tsri_serve_call_form_has(f, mark);
        text = over_blanks(behind);
    }
    return fits;
}

/* Special tokens around ordinary answers are told from those of calls, or, if these have any, calls alone are served. */
static void take_frame(const tsr_model *model, tsri_serve_call_form *f) {
    static const char mark[] = {TSRI_SERVE_MARK, 0};
    tsr_model_info info = {.struct_size = sizeof info};
    const bool framed = strchr(f->text_before, *mark) || strchr(f->text_after, *mark);
    if (*f->before == TSRI_SERVE_MARK && tsr_model_info_get(model, &info) == TSR_OK &&
        is_frame(&info, f, f->text_before) && is_frame(&info, f, f->text_after))
        return;
    f->only_calls = framed && tsri_serve_call_form_has(f, mark);
    *f->text_before = *f->text_after = 0;
}

static void clear(tsri_serve_call_form *f) {
    free(f->before);
    free(f->between);
    free(f->next);
    free(f->after);
    free(f->text_before);
    free(f->text_after);
    f->before = f->between = f->next = f->after = f->text_before = f->text_after = NULL;
}

/* The text of a question, and an answer or calls: 0 to 2, with marks. NULL: the template refuses them. */
static char *render(const tsri_serve_model *m, size_t form, int calls) {
    const tsr_chat_options chat = {
        .struct_size = sizeof chat, .template_text = m->template_text, .tools = tools};
    char call[256], message[640], talk[896], *text = NULL;
    snprintf(call, sizeof call,
             "{\"id\": \"%s\", \"type\": \"function\", \"function\": {\"name\": \"" NAME
             "\", \"arguments\": %s}}",
             TSRI_SERVE_CALL_ID, arguments[form / 4]);
    if (calls)
        snprintf(message, sizeof message, "%s, \"tool_calls\": [%s%s%s]", contents[form / 2 % 2],
                 call, calls > 1 ? ", " : "", calls > 1 ? call : "");
    snprintf(talk, sizeof talk,
             "[{\"role\": \"user\", \"content\": \"a\"}, "
             "{\"role\": \"assistant\", \"content\": %s}%s]",
             calls ? message : "\"" ANSWER "\"", ends[form % 2]);
    if (tsr_chat_render(m->model, &chat, talk, 0, &text, NULL) != TSR_OK)
        return NULL;
    char *marked = tsri_serve_with_marks(m->model, text);
    tsr_text_free(text);
    return marked;
}

static bool learn(const tsri_serve_model *m, size_t form, tsri_serve_call_form *f) {
    char *plain = render(m, form, 0), *one = plain ? render(m, form, 1) : NULL,
         *two = one ? render(m, form, 2) : NULL;
    f->marker = one && take_one(f, plain, one) ? marker_of(f->before) : 0;
    if (f->marker && two)
        take_next(f, two);
    free(plain);
    free(one);
    free(two);
    if (!f->marker)
        clear(f);
    return f->marker;
}

static bool take_plain(tsri_serve_call_form *f) {
    f->before = strdup("{\"name\": \"");
    f->between = strdup("\", \"arguments\": ");
    f->after = strdup("}");
    f->text_before = strdup("");
    f->text_after = strdup("");
    return f->before && f->between && f->after && f->text_before && f->text_after;
}

const tsri_serve_call_form *tsri_serve_call_form_of(tsri_serve_model *m) {
    if (m->call_form)
        return m->call_form;
    tsri_serve_call_form *f = calloc(1, sizeof *f);
    bool found = false;
    size_t form = 0;
    while (f && form < FORMS && !found)
        found = learn(m, form++, f);
    if (found) {
        f->text_arguments = (form - 1) / 4;
        f->no_content = (form - 1) / 2 % 2;
    }
    const bool special = found && !fits(m->model, f);
    if (special)
        clear(f);
    else if (found)
        take_frame(m->model, f);
    if (!f || ((!found || special) && !take_plain(f))) {
        tsri_serve_call_form_free(f);
        return NULL;
    }
    f->only_calls |= special;
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

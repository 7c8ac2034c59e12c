/* cli/serve/calls.c - calls of functions: from "tools" to a grammar. */
#include "cli/serve/calls.h"
#include "cli/serve/call_form.h"
#include "cli/serve/marks.h"
#include "cli/serve/messages.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOOLS = 128, MOST_NAME = 64 };

static __attribute__((format(PRINTF, 2, 3))) void say(tsri_serve_buffer *to, const char *format,
                                                      ...) {
    char words[160];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    tsri_serve_put(to, words, (size_t)n);
}

/* ---- the grammar ---- */

/* n bytes of a text of the form as a part of a rule. A call's number may be any. */
static void say_literal(tsri_serve_buffer *to, const char *words, size_t n) {
    say(to, " \"");
    for (size_t i = 0; i < n; i++) {
        if (!strncmp(words + i, TSRI_SERVE_CALL_ID, TSRI_SERVE_CALL_ID_SIZE)) {
            say(to, "\" [a-zA-Z0-9]{%d} \"", (int)TSRI_SERVE_CALL_ID_SIZE);
            i += TSRI_SERVE_CALL_ID_SIZE - 1;
        } else if (words[i] == TSRI_SERVE_MARK) {
            const char *behind;
            say(to, "\" <[%" PRId32 "]> \"", tsri_serve_mark_read(words + i, &behind));
            i = (size_t)(behind - words) - 1;
        } else if (words[i] == '"' || words[i] == '\\' || (unsigned char)words[i] < 0x20) {
            say(to, "\\x%02x", (unsigned)words[i]);
        } else {
            tsri_serve_put(to, words + i, 1);
        }
    }
    say(to, "\"");
}

static void say_text(tsri_serve_buffer *to, const char *words) {
    say_literal(to, words, strlen(words));
}

/* Alternatives for the tags around thoughts that are special tokens of the model, each with what follows it; tags of letters
 * are text. */
static tsri_serve_buffer say_tags(const tsri_serve_model *m, const char *behind_open,
                                  const char *behind_close) {
#define TAG(open, close) {open, close},
    static const char *const tags[][2] = {TSR_THOUGHT_TAGS(TAG)};
#undef TAG
    tsri_serve_buffer all = {0};
    for (size_t i = 0; i < 2 * sizeof tags / sizeof *tags; i++) {
        char *marked = tsri_serve_with_marks(m->model, tags[i / 2][i % 2]);
        const char *behind = marked;
        all.lost |= !marked;
        const int32_t id =
            marked && *marked == TSRI_SERVE_MARK ? tsri_serve_mark_read(marked, &behind) : -1;
        if (id >= 0 && !*behind)
            say(&all, " | <[%" PRId32 "]> %s", id, i % 2 ? behind_close : behind_open);
        free(marked);
    }
    return all;
}

static void say_part(tsri_serve_buffer *to, const tsri_serve_buffer *part) {
    tsri_serve_put(to, part->data, part->size);
    to->lost |= part->lost;
}

/* The characters of the marker. */
typedef struct letters {
    const char *at[TSRI_SERVE_CALL_MARKER];
    size_t size[TSRI_SERVE_CALL_MARKER], n;
} letters;

static letters letters_of(const tsri_serve_call_form *form) {
    letters l = {.n = 0};
    for (size_t i = 0; i < form->marker; i++) {
        if (((unsigned char)form->before[i] & 0xC0) != 0x80)
            l.at[l.n++] = form->before + i;
        l.size[l.n - 1]++;
    }
    return l;
}

static bool same(const letters *l, size_t a, size_t b) {
    return l->size[a] == l->size[b] && !memcmp(l->at[a], l->at[b], l->size[a]);
}

static void say_letter(tsri_serve_buffer *to, const letters *l, size_t i) {
    if (l->size[i] == 1)
        say(to, "\\x%02x", (unsigned)*l->at[i]);
    else
        tsri_serve_put(to, l->at[i], l->size[i]);
}

/* Behind i characters of the marker stands its character c: how many at its beginning stand there now. */
static size_t step(const letters *l, size_t i, size_t c) {
    for (size_t n = i + 1; n > 0; n--) {
        bool fits = same(l, n - 1, c);
        for (size_t k = 0; k + 1 < n && fits; k++)
            fits = same(l, k, i + 1 - n + k);
        if (fits)
            return n;
    }
    return 0;
}

static void say_step(tsri_serve_buffer *to, const letters *l, size_t i, size_t c) {
    const size_t next = step(l, i, c);
    say(to, " | [");
    say_letter(to, l, c);
    say(to, next == l->n ? "] call" : "] t%zu", next);
}

/* Text without the marker; t<i> goes on behind i characters of it, and where it is whole, a call does. */
static void say_text_anywhere(tsri_serve_buffer *to, const letters *l, const tsri_serve_model *m) {
    tsri_serve_buffer others = {0}, tags = say_tags(m, "t0", "t0");
    for (size_t i = 0; i < l->n; i++) {
        others.size = 0;
        say(to, "t%zu ::= \"\"", i);
        for (size_t c = 0; c < l->n; c++) {
            bool known = false;
            for (size_t k = 0; k < c && !known; k++)
                known = same(l, k, c);
            if (known)
                continue;
            say_step(to, l, i, c);
            say_letter(&others, l, c);
        }
        say(to, " | [^");
        tsri_serve_put(to, others.data, others.size);
        say(to, "] t0");
        say_part(to, &tags);
        say(to, "\n");
    }
    to->lost |= others.lost;
    tsri_serve_clear(&others);
    tsri_serve_clear(&tags);
}

/* Text that does not begin with the marker, nor with blanks and the marker; nor does what follows thoughts. */
static void say_text_behind(tsri_serve_buffer *to, const letters *l, const tsri_serve_model *m) {
    static const char blanks[] = " \\t\\n\\r";
    tsri_serve_buffer tags = say_tags(m, "any", "t0");
    for (size_t i = 0; i < l->n; i++) {
        say(to, "t%zu ::= \"\"", i);
        if (!i)
            say(to, " | [%s] t0", blanks);
        say_step(to, l, i, i);
        say(to, " | [^%s", i ? "" : blanks);
        say_letter(to, l, i);
        say(to, "] any");
        say_part(to, &tags);
        say(to, "\n");
    }
    say(to, "any ::= \"\" | . any");
    say_part(to, &tags);
    say(to, "\n");
    tsri_serve_clear(&tags);
}

/* What a function's arguments are held to, in new memory: they are an object, unless the parameters name other types. */
static char *schema_of(const json_t *function) {
    static const char *const types[] = {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"};
    const json_t *parameters = json_object_get(function, "parameters");
    json_t *schema = json_is_object(parameters) ? json_copy((json_t *)parameters) : json_object();
    bool named = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        named |= json_object_get(schema, types[i]) != NULL;
    const bool lost = !named && json_object_set_new(schema, "type", json_string("object"));
    char *text = lost ? NULL : json_dumps(schema, JSON_COMPACT);
    json_decref(schema);
    return text;
}

/* A function's arguments, and the end of its rule. */
static void say_arguments(tsri_serve_buffer *to, const json_t *function) {
    char *schema = schema_of(function);
    say(to, " %%json ");
    tsri_serve_put(to, schema ? schema : "", schema ? strlen(schema) : 0);
    say(to, "\n");
    to->lost |= !schema;
    free(schema);
}

static void say_function(tsri_serve_buffer *to, const tsri_serve_call_form *form,
                         const json_t *function) {
    say_text(to, json_string_value(json_object_get(function, "name")));
    say_text(to, form->between);
    say_arguments(to, function);
}

/* Special tokens around an ordinary answer, which may be missing. */
static void say_frame(tsri_serve_buffer *to, const char *words) {
    if (!*words)
        return;
    say(to, " (");
    say_text(to, words);
    say(to, ")?");
}

/* What a model with special tokens for tags thinks before an ordinary answer or a call. */
static void say_thoughts(tsri_serve_buffer *to, const tsri_serve_model *m) {
    tsri_serve_buffer tags = say_tags(m, "", "");
    if (tags.size) {
        say(to, " (.");
        say_part(to, &tags);
        say(to, ")*");
    }
    to->lost |= tags.lost;
    tsri_serve_clear(&tags);
}

/* What the answer begins with: a call, or what else it may be. */
static void say_root(tsri_serve_buffer *to, const tsri_serve_model *m, const tsri_serve_ask *ask) {
    const tsri_serve_call_form *form = ask->call_form;
    const bool special = *form->before == TSRI_SERVE_MARK, json = ask->schema && !ask->must_call;
    if (json) {
        say(to, "root ::=");
        say_frame(to, form->text_before);
        say(to, " %%json ");
        tsri_serve_put(to, ask->schema, strlen(ask->schema));
        say_frame(to, form->text_after);
        say(to, " |");
        say_literal(to, form->before, form->marker);
        say(to, " call\n");
        return;
    }
    if (!ask->must_call && !special) {
        const letters l = letters_of(form);
        say(to, "root ::= t0\n");
        (form->anywhere ? say_text_anywhere : say_text_behind)(to, &l, m);
        return;
    }
    say(to, "root ::=");
    if (!ask->must_call) {
        say_thoughts(to, m);
        say_frame(to, form->text_before);
        say(to, " .*");
        say_frame(to, form->text_after);
        say(to, " (");
    }
    say_literal(to, form->before, form->marker);
    say(to, ask->must_call ? " call\n" : " call)?\n");
}

/* A text with the names of special tokens. */
static void say_special(tsri_serve_buffer *to, const tsri_serve_model *m, const char *words) {
    char *marked = tsri_serve_with_marks(m->model, words);
    if (marked)
        say_text(to, marked);
    to->lost |= !marked;
    free(marked);
}

/* A call in channels: the function's name stands in the channel, as the model writes it, or in the role, as the template
 * does. */
static void say_channel_function(tsri_serve_buffer *to, const json_t *function) {
    char words[MOST_NAME + 32];
    snprintf(words, sizeof words, " to=functions.%s",
             json_string_value(json_object_get(function, "name")));
    say(to, " (channel");
    say_text(to, words);
    say(to, " |");
    say_text(to, words);
    say(to, " channel) typed");
    say_arguments(to, function);
}

/* The rule f, which is one of the functions' rules f0, f1, ...; form NULL: in channels. */
static void say_functions(tsri_serve_buffer *to, const tsri_serve_call_form *form,
                          const json_t *functions) {
    say(to, "f ::=");
    for (size_t i = 0; i < json_array_size(functions); i++)
        say(to, i ? " | f%zu" : " f%zu", i);
    say(to, "\n");
    for (size_t i = 0; i < json_array_size(functions); i++) {
        const json_t *function = json_array_get(functions, i);
        say(to, "f%zu ::=", i);
        if (form)
            say_function(to, form, function);
        else
            say_channel_function(to, function);
    }
}

/* The grammar of an answer in channels: thoughts and remarks, then a text or a call. */
static char *make_channels(const tsri_serve_model *m, const tsri_serve_ask *ask,
                           const json_t *functions) {
    tsri_serve_buffer all = {0};
    say(&all, ask->must_call ? "root ::= f\n" : "root ::= before* (final");
    if (!ask->must_call)
        say(&all, ask->calls ? " | f)\n" : ")\n");
    say(&all, "before ::= channel");
    say_special(&all, m, "<|message|>");
    say(&all, " .*");
    say_special(&all, m, "<|end|><|start|>assistant");
    say(&all, "\nfinal ::=");
    say_special(&all, m, "<|channel|>final<|message|>");
    say(&all, ask->schema ? " %%json " : " .*");
    if (ask->schema)
        tsri_serve_put(&all, ask->schema, strlen(ask->schema));
    say(&all, "\nchannel ::=");
    say_special(&all, m, "<|channel|>");
    say(&all, " (\"analysis\" | \"commentary\")\ntyped ::= \" \"? (");
    say_special(&all, m, "<|constrain|>");
    say(&all, "? \"json\")?");
    say_special(&all, m, "<|message|>");
    say(&all, "\n");
    if (ask->calls)
        say_functions(&all, NULL, functions);
    if (all.lost)
        tsri_serve_clear(&all);
    return all.data;
}

/* functions: a list. several: of calls. */
static char *make_grammar(const tsri_serve_model *m, const tsri_serve_ask *ask,
                          const json_t *functions, bool several) {
    const tsri_serve_call_form *form = ask->call_form;
    tsri_serve_buffer all = {0};
    say_root(&all, m, ask);
    say(&all, "call ::=");
    say_text(&all, form->before + form->marker);
    say(&all, " f");
    if (several) {
        say(&all, " (");
        say_text(&all, form->next);
        say(&all, " f)*");
    }
    say_text(&all, form->after);
    say(&all, "\n");
    say_functions(&all, form, functions);
    if (all.lost)
        tsri_serve_clear(&all);
    return all.data;
}

/* ---- what is asked for ---- */

static bool is_name(const char *name) {
    const size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i]))
            return false;
    return n && n <= MOST_NAME;
}

static const json_t *function_of(const json_t *tool) {
    const char *type = json_string_value(json_object_get(tool, "type"));
    const json_t *function = json_object_get(tool, "function");
    const char *name = json_string_value(json_object_get(function, "name"));
    return type && !strcmp(type, "function") && name && is_name(name) ? function : NULL;
}

/* Also where none of them may be called. */
static bool check_tools(const json_t *tools, tsri_serve_failure *f) {
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *function = function_of(json_array_get(tools, i));
        if (!function)
            return tsri_serve_fail(f, 400, "tools",
                                   "tools: objects with \"type\": \"function\" and a \"function\" "
                                   "with a \"name\" (up to "
                                   "%d letters, digits, _, - and .) are wanted",
                                   MOST_NAME);
        const json_t *parameters = json_object_get(function, "parameters");
        if (parameters && !json_is_object(parameters) && !json_is_null(parameters))
            return tsri_serve_fail(f, 400, "tools",
                                   "tools: the \"parameters\" of \"%s\" must be a JSON schema: an "
                                   "object is wanted",
                                   json_string_value(json_object_get(function, "name")));
    }
    return true;
}

static bool add_functions(const json_t *tools, const char *name, json_t *functions,
                          tsri_serve_failure *f) {
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *function = function_of(json_array_get(tools, i));
        if (!name || !strcmp(name, json_string_value(json_object_get(function, "name"))))
            json_array_append(functions, (json_t *)function);
    }
    return json_array_size(functions) ||
           tsri_serve_fail(f, 400, "tool_choice", "tool_choice: there is no function \"%.60s\"",
                           name);
}

/* The tools as the template reads them, in new memory: it asks whether a function has a field. */
static char *tools_text(const json_t *tools) {
    json_t *own = json_deep_copy(tools), *tool;
    size_t i;
    json_array_foreach(own, i, tool) {
        tsri_serve_drop_nulls(tool);
        tsri_serve_drop_nulls(json_object_get(tool, "function"));
    }
    char *text = own ? json_dumps(own, JSON_COMPACT) : NULL;
    json_decref(own);
    return text;
}

/* Says which function's parameters are at fault, if one's are. */
static bool fail_grammar(const json_t *functions, tsri_serve_failure *f) {
    tsri_serve_fail(f, 400, "tools", "tools: %s", tsr_error_last());
    for (size_t i = 0; i < json_array_size(functions); i++) {
        const json_t *function = json_array_get(functions, i);
        char *schema = schema_of(function);
        const bool fine = !schema || tsr_json_schema_check(schema) == TSR_OK;
        free(schema);
        if (!fine)
            return tsri_serve_fail(f, 400, "tools", "tools: the parameters of \"%s\": %s",
                                   json_string_value(json_object_get(function, "name")),
                                   tsr_error_last());
    }
    return false;
}

/* name: of the only function that may be called; NULL: any. */
static bool make(const tsri_serve_model *m, tsri_serve_ask *ask, const char *name,
                 tsri_serve_failure *f) {
    json_t *functions = json_array();
    bool fine = add_functions(ask->tools, name, functions, f);
    if (fine) {
        ask->call_grammar =
            ask->channels ? make_channels(m, ask, functions)
                          : make_grammar(m, ask, functions,
                                         ask->parallel_calls && !name && ask->call_form->next);
        ask->tools_text = tools_text(ask->tools);
        fine = (ask->call_grammar && ask->tools_text) ||
               tsri_serve_fail(f, 503, NULL, "out of memory");
    }
    fine = fine && (tsr_grammar_check(ask->call_grammar) == TSR_OK || fail_grammar(functions, f));
    ask->options.grammar = ask->call_grammar;
    ask->functions = functions;
    return fine;
}

/* The words that tool_choice may be. */
static const struct {
    const char *word;
    bool calls, must_call;
} choices[] = {{"none", false, false}, {"auto", true, false}, {"required", true, true}};

/* name: of the one function that is to be called; NULL: any. */
static bool read_choice(tsri_serve_ask *ask, const char **name, tsri_serve_failure *f) {
    const char *word = ask->tool_choice ? json_string_value(ask->tool_choice) : "auto";
    *name =
        json_string_value(json_object_get(json_object_get(ask->tool_choice, "function"), "name"));
    ask->calls = ask->must_call = *name != NULL;
    for (size_t i = 0; word && i < sizeof choices / sizeof *choices; i++)
        if (!strcmp(choices[i].word, word)) {
            ask->calls = choices[i].calls;
            ask->must_call = choices[i].must_call;
            return true;
        }
    return *name || tsri_serve_fail(f, 400, "tool_choice",
                                    "tool_choice: \"auto\", \"required\", \"none\" or a named "
                                    "function is wanted");
}

bool tsri_serve_calls_ask(tsri_serve_model *model, tsri_serve_ask *ask, tsri_serve_failure *f) {
    const char *name;
    if (ask->tools && (!json_is_array(ask->tools) || json_array_size(ask->tools) > MOST_TOOLS))
        return tsri_serve_fail(f, 400, "tools", "tools: a list of at most %d functions is wanted",
                               MOST_TOOLS);
    if (!check_tools(ask->tools, f) || !read_choice(ask, &name, f))
        return false;
    if (!json_array_size(ask->tools)) {
        ask->calls = false;
        return !ask->must_call ||
               tsri_serve_fail(f, 400, "tool_choice", "tool_choice: there are no tools");
    }
    if (!ask->calls)
        return true;
    if (ask->options.grammar)
        return tsri_serve_fail(f, 400, "tools",
                               "tools: beside \"grammar\", tool_choice \"none\" is wanted");
    if (ask->channels)
        return make(model, ask, name, f);
    ask->call_form = tsri_serve_call_form_of(model);
    if (!ask->call_form)
        return tsri_serve_fail(f, 503, NULL, "out of memory");
    if (ask->call_form->only_calls && !ask->must_call)
        return tsri_serve_fail(
            f, 400, "tool_choice",
            "tool_choice: \"auto\" is not served for this model, whose chat "
            "template writes words and special tokens before calls or answers: ask "
            "for \"required\", \"none\" or a named function");
    return make(model, ask, name, f);
}

bool tsri_serve_calls_schema(const tsri_serve_model *model, tsri_serve_ask *ask,
                             tsri_serve_failure *f) {
    ask->call_grammar = make_channels(model, ask, NULL);
    ask->options.grammar = ask->call_grammar;
    return ask->call_grammar || tsri_serve_fail(f, 503, NULL, "out of memory");
}

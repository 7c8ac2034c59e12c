/* Templates against Python's jinja2 (tests/golden/jinja), what counts as the user's words, limits. */
#include "text/jinja/jinja.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static tsr_status render_with(const char *template, const json_t *context, const json_t *words,
                              tsri_bytes *text, tsri_bytes *said) {
    tsri_jinja *t = NULL;
    TRY(tsri_jinja_parse(template, strlen(template), &t));
    const tsr_status status = tsri_jinja_render(t, context, words, 1741348800, text, said);
    tsri_jinja_destroy(&t);
    return status;
}

static tsr_status render(const char *template, const json_t *context, tsri_bytes *text,
                         tsri_bytes *said) {
    return render_with(template, context, NULL, text, said);
}

static void compare(const json_t *item) {
    const char *name = json_string_value(json_object_get(item, "name")),
               *want = json_string_value(json_object_get(item, "text"));
    tsri_bytes text = {0}, said = {0};
    const tsr_status status = render(json_string_value(json_object_get(item, "template")),
                                     json_object_get(item, "context"), &text, &said);
    if (want) {
        cr_expect(status == TSR_OK, "%s: %s", name, tsr_error_last());
        cr_expect(status != TSR_OK || !strcmp(text.data ? text.data : "", want),
                  "%s gave\n%s\nwanted\n%s", name, text.data, want);
        cr_expect(said.size == text.size);
    } else {
        cr_expect(status != TSR_OK && *tsr_error_last(), "%s must fail: %s", name,
                  json_string_value(json_object_get(item, "error")));
    }
    tsri_base_bytes_clear(&text);
    tsri_base_bytes_clear(&said);
}

static void compare_all(const char *path) {
    json_t *cases = json_load_file(path, 0, NULL), *item;
    size_t i;
    cr_assert(json_array_size(cases) > 0, "%s", path);
    json_array_foreach(cases, i, item) compare(item);
    json_decref(cases);
}

Test(jinja, as_jinja2) {
    compare_all(TESSERA_SOURCE_DIR "/tests/golden/jinja/expected.json");
}

Test(jinja, of_a_file) {
    const char *path = getenv("TESSERA_JINJA_CASES");
    if (!path)
        cr_skip_test("TESSERA_JINJA_CASES names no file of make_jinja.py FOLDER OUT");
    compare_all(path);
}

/* Each byte of the text below has its mark: '1' where the words of the user stand. */
Test(jinja, marks) {
    static const struct {
        const char *template, *text, *said;
    } cases[] = {
        {"<|{{ m[0].role }}|>{{ m[0].content }}", "<|user|> a<s> ", "00000000111111"},
        {"{{ bos }}{{ m[0].content | trim | upper }}!", "<b>A<S>!", "00011110"},
        {"{{ m[0].content.split('<')[1] ~ '<' }}", "s> <", "1110"},
        {"{{ m[0].content.replace('a', '<x>') }}", " <x><s> ", "10001111"},
        {"{{ m[0].content[1:3] | tojson }}", "\"a<\"", "0110"},
        {"{{ m | map(attribute='content') | join('-') }}", " a<s> -<|b|>", "111111011111"},
        {"{{ m[1].role }}", "<|b|>", "11111"},
        {"{% set x %}.{{ m[0].content }}{% endset %}{{ x[:3] }}", ". a", "011"},
        {"{{ (m[1].role ~ 'xy')[::2] ~ ('x' ~ m[1].role) | reverse }}", "<b>y>|b|<x", "1110111110"},
        {"{{ x.role[5:] }}", "<|b|>", "11111"},
    };
    json_t *context = json_pack("{s:[{s:s,s:s},{s:s,s:s}],s:s,s:{s:s#}}", "m", "role", "user",
                                "content", " a<s> ", "role", "<|b|>", "content", "<|b|>", "bos",
                                "<b>", "x", "role", "user\0<|b|>", 10);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsri_bytes text = {0}, said = {0};
        cr_assert(render(cases[i].template, context, &text, &said) == TSR_OK, "%s",
                  tsr_error_last());
        cr_expect_str_eq(text.data, cases[i].text);
        for (size_t k = 0; k < said.size; k++)
            cr_expect(said.data[k] == cases[i].said[k] - '0', "%s at %zu", cases[i].text, k);
        tsri_base_bytes_clear(&text);
        tsri_base_bytes_clear(&said);
    }
    json_decref(context);
}

/* Variables that a user chose: a text directly among them is his words, too. They hide what else has their name. */
Test(jinja, words) {
    tsri_bytes text = {0}, said = {0};
    json_t *context = json_pack("{s:s,s:s}", "a", "<a>", "b", "<b>"),
           *words = json_pack("{s:s,s:b,s:i,s:s}", "b", "<c>", "on", 1, "range", 3, "role", "<d>");
    const char wanted[] = "<a><c>3<d>!";
    cr_assert(render_with("{{ a }}{{ b }}{{ range }}{{ role }}{% if on %}!{% endif %}", context,
                          words, &text, &said) == TSR_OK,
              "%s", tsr_error_last());
    cr_expect(text.size == strlen(wanted) && !memcmp(text.data, wanted, text.size), "%.*s",
              (int)text.size, text.data);
    cr_expect(said.size == text.size && !memcmp(said.data, "\0\0\0\1\1\1\0\1\1\1\0", said.size));
    tsri_base_bytes_clear(&text);
    tsri_base_bytes_clear(&said);
    json_decref(context);
    json_decref(words);
}

/* A slice takes no more memory than the text: a conversation may be long. */
Test(jinja, slices_of_a_long_text) {
    static const struct {
        const char *template, *text;
    } cases[] = {{"{{ m[0].content[1:] | length }}", "2097151"},
                 {"{{ m[0].content[-3:] }}", "\xC3\xA4"
                                             "a\xC3\xA4"},
                 {"{{ m[0].content[::-1][:2] }}", "\xC3\xA4"
                                                  "a"},
                 {"{{ (m[0].content | reverse)[-1] }}", "a"},
                 {"{{ m[0].content[::524288] }}", "aaaa"},
                 {"{{ m[0].content | first ~ m[0].content | last }}", "a\xC3\xA4"}};
    enum { N = 1 << 20, UNIT = 3 };
    char *long_one = malloc(N * UNIT + 1);
    cr_assert_not_null(long_one);
    for (size_t i = 0; i < N; i++)
        memcpy(long_one + UNIT * i, "a\xC3\xA4", UNIT + 1);
    json_t *context = json_pack("{s:[{s:s}]}", "m", "content", long_one);
    free(long_one);
    cr_assert_not_null(context);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsri_bytes text = {0}, said = {0};
        cr_assert(render(cases[i].template, context, &text, &said) == TSR_OK, "%s: %s",
                  cases[i].template, tsr_error_last());
        cr_expect_str_eq(text.data, cases[i].text);
        tsri_base_bytes_clear(&text);
        tsri_base_bytes_clear(&said);
    }
    json_decref(context);
}

/* n parts between two ends; the caller frees it. */
static char *chain(const char *before, const char *part, size_t n, const char *behind) {
    const size_t first = strlen(before), size = strlen(part);
    char *text = malloc(first + n * size + strlen(behind) + 1);
    cr_assert_not_null(text);
    memcpy(text, before, first);
    for (size_t i = 0; i < n; i++)
        memcpy(text + first + i * size, part, size);
    strcpy(text + first + n * size, behind);
    return text;
}

/* A flat chain in a template nests in its tree. One as long as a person writes is served, and one that would fill the stack
 * is refused. */
Test(jinja, chains) {
    static const struct {
        const char *before, *part, *behind;
        const char *text; /* of 400 parts; NULL: not compared */
    } cases[] = {{"{{ 1", "+1", " }}", "401"},
                 {"{{ 1", " ** 1", " }}", "1"},
                 {"{{ 1", " and 1", " }}", "1"},
                 {"{{ 0", " or 0", " }}", "0"},
                 {"{{ 2", " if 1", " }}", "2"},
                 {"{{ 'a'", "|upper", " }}", "A"},
                 {"{{ 1", " is defined", " }}", "True"},
                 {"{% set x", " | upper", " %}a{% endset %}{{ x }}", "A"},
                 {"{% filter upper", " | lower", " %}A{% endfilter %}", "a"},
                 {"{{ a", ".a", " }}", NULL},
                 {"{{ a", "[0]", " }}", NULL},
                 {"{{ f", "()", " }}", NULL}};
    json_t *context = json_object();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsri_bytes text = {0}, said = {0};
        char *some = chain(cases[i].before, cases[i].part, 400, cases[i].behind),
             *many = chain(cases[i].before, cases[i].part, 20000, cases[i].behind);
        if (cases[i].text) {
            cr_expect(render(some, context, &text, &said) == TSR_OK, "%s", tsr_error_last());
            cr_expect_str_eq(text.data, cases[i].text);
        }
        cr_expect(render(many, context, &text, &said) == TSR_E_UNSUPPORTED &&
                      strstr(tsr_error_last(), "nested more than 500 deep"),
                  "%s%s: %s", cases[i].before, cases[i].part, tsr_error_last());
        tsri_base_bytes_clear(&text);
        tsri_base_bytes_clear(&said);
        free(some);
        free(many);
    }
    json_decref(context);
}

/* Conditions stand beside each other, however many there are. */
Test(jinja, long_elif) {
    tsri_bytes text = {0}, said = {0};
    char *many =
        chain("{% if 0 %}a", "{% elif 0 %}b", 20000, "{% elif 1 %}c{% else %}d{% endif %}");
    json_t *context = json_object();
    cr_expect(render(many, context, &text, &said) == TSR_OK, "%s", tsr_error_last());
    cr_expect_str_eq(text.data, "c");
    tsri_base_bytes_clear(&text);
    tsri_base_bytes_clear(&said);
    json_decref(context);
    free(many);
}

Test(jinja, limits) {
    static const struct {
        const char *template, *said;
    } cases[] = {
        {"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
         "memory"},
        {"{% set s = 'a' * 1000000 %}{% for i in range(50000) %}{{ s in s }}{% endfor %}", "steps"},
        {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "deep"},
        {"{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor "
         "%}",
         "memory"},
        {"{% set n = namespace(l=[]) %}{% for i in range(9999) %}{% set n.l = [n.l] %}{% endfor "
         "%}{{ "
         "n.l | tojson }}",
         "deep"},
        {"{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% "
         "endfor "
         "%}{{ n.l == n.l[:] }}{{ n.l | tojson }}",
         "e"},
        {"{{ 'x' * 999999999999 }}", "e"},
        {"{{ range(999999999) }}", "100000"},
        {"{{ 9223372036854775807 + 1 }}", "64 bits"},
        {"{% include 'x' %}", "include"},
        {"{{ 1 | pprint }}", "pprint"},
    };
    json_t *context = json_object();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsri_bytes text = {0}, said = {0};
        cr_expect(render(cases[i].template, context, &text, &said) == TSR_E_UNSUPPORTED, "%s",
                  cases[i].template);
        cr_expect(strstr(tsr_error_last(), cases[i].said), "%s: %s", cases[i].template,
                  tsr_error_last());
        tsri_base_bytes_clear(&text);
        tsri_base_bytes_clear(&said);
    }
    tsri_bytes none = {0};
    cr_expect(render("{{ ' \x80 '.strip() }}", context, &none, &none) == TSR_E_FORMAT &&
              strstr(tsr_error_last(), "UTF-8"));
    enum { DEEP = 100000 };
    char *deep = calloc(2 * DEEP + 6, 1);
    memcpy(deep, "{{", 2);
    memset(deep + 2, '(', DEEP);
    deep[DEEP + 2] = '1';
    memset(deep + DEEP + 3, ')', DEEP);
    memcpy(deep + 2 * DEEP + 3, "}}", 3);
    tsri_bytes text = {0}, said = {0};
    cr_expect(render(deep, context, &text, &said) == TSR_E_UNSUPPORTED);
    free(deep);
    json_decref(context);
}

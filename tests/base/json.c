/* JSON texts, good and bad, and the sentence that each bad one gets. */
#include "base/json.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bad_text {
    const char *text;
    size_t size;
    const char *fragment;
} bad_text;

#define BAD(text, fragment) \
    { text, sizeof text - 1, fragment }

Test(base, json_refuses_each_bad_text_with_a_reason) {
    static const bad_text rows[] = {
        BAD("", "empty"),
        BAD("   ", "expected"),
        BAD("3", "expected"),
        BAD("{} x", "end of file expected"),
        BAD("{\"a\": 1,}", "string or '}' expected"),
        BAD("{\"a\": 1", "'}' expected"),
        BAD("{\"a\": 1, \"a\": 2}", "duplicate object key"),
        BAD("{\"a\": 1, \"\\u0061\": 2}", "duplicate object key"),
        BAD("{\"a\xff\": 1}", "unable to decode byte 0xff"),
        BAD("{\"\xed\xa0\x80\": 1}", "unable to decode"),
        BAD("[\"\\ud800\"]", "invalid Unicode"),
        BAD("{\0}", "NUL at byte 1"),
        BAD("[\"\\u0000\"]", "a text has \\u0000, which is not read here"),
        BAD("[1e999]", "real number overflow"),
        BAD("[99999999999999999999, 1e999]", "too big integer"),
        BAD("[[[[1]]]]", "is nested 4 levels deep; at most 3"),
        BAD("[NaN]", "invalid token"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *value = NULL;
        cr_expect_eq(tsri_base_json_parse(rows[i].text, rows[i].size, 3, "x.json", &value),
                     TSR_E_FORMAT, "row %zu", i);
        cr_expect_null(value);
        cr_expect_not_null(strstr(tsri_base_reported(), rows[i].fragment), "row %zu: %s", i,
                           tsri_base_reported());
        cr_expect_eq(strncmp(tsri_base_reported(), "x.json", 6), 0, "row %zu: %s", i,
                     tsri_base_reported());
    }
}

Test(base, json_of_what_is_said_may_have_a_nul) {
    static const char text[] = "[{\"a\": \"b\\u0000c\", \"d\": 99999999999999999999}]",
                      key[] = "[{\"a\\u0000\": 1}]", twice[] = "[{\"a\": 1, \"a\": 2}]";
    json_t *value = NULL;
    cr_assert_eq(tsri_base_json_parse_said(text, sizeof text - 1, 3, "x", &value), TSR_OK, "%s",
                 tsri_base_reported());
    const json_t *object = json_array_get(value, 0), *said = json_object_get(object, "a");
    cr_expect_eq(json_string_length(said), 3);
    cr_expect_arr_eq(json_string_value(said), "b\0c", 4);
    cr_expect(json_is_real(json_object_get(object, "d")));
    json_decref(value);
    cr_expect_eq(tsri_base_json_parse_said(key, sizeof key - 1, 3, "x", &value), TSR_E_FORMAT);
    cr_expect_not_null(strstr(tsri_base_reported(), "a name has \\u0000"), "%s",
                       tsri_base_reported());
    cr_expect_eq(tsri_base_json_parse_said(twice, sizeof twice - 1, 3, "x", &value), TSR_E_FORMAT);
}

/* The parser's own number before each text has another length for each power of two. */
Test(base, json_of_tokens_of_each_length_is_read_as_it_is) {
    char text[2000], word[600];
    for (size_t n = 1; n < sizeof word; n++) {
        json_t *value = NULL;
        memset(word, 'x', n);
        const int size = snprintf(text, sizeof text, "{\"%.*s\": [0.%0*d, true, \"\\\"%.*s\"]}",
                                  (int)n, word, (int)n, 5, (int)n, word);
        cr_assert_eq(tsri_base_json_parse(text, (size_t)size, 2, "x.json", &value), TSR_OK, "%zu",
                     n);
        const char *key = json_object_iter_key(json_object_iter(value));
        const json_t *list = json_object_get(value, key);
        cr_expect_eq(strlen(key), n);
        cr_expect_eq(json_real_value(json_array_get(list, 0)), strtod(strchr(text, '.') - 1, NULL));
        cr_expect(json_is_true(json_array_get(list, 1)));
        cr_expect_eq(json_string_length(json_array_get(list, 2)), n + 1);
        json_decref(value);
    }
}

Test(base, json_is_one_value) {
    static const char *const rows[] = {"{}, {}", "[1], 2", "1], [2", "[1]]", "{} {}", "[], []"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *value = NULL;
        cr_expect_eq(tsri_base_json_parse(rows[i], strlen(rows[i]), 3, "x.json", &value),
                     TSR_E_FORMAT, "%s", rows[i]);
        cr_expect_null(value);
    }
}

/* NULL is what jansson makes where memory is out. */
Test(base, json_that_lacks_something_is_not_given_out) {
    json_t *object = json_object(), *list = json_array();
    tsri_base_json_put(object, "a", json_integer(1));
    cr_expect_eq(tsri_base_json_made(object, "x.json"), TSR_OK);
    tsri_base_json_put(object, "b", NULL);
    cr_expect_eq(tsri_base_json_made(object, "x.json"), TSR_E_HOST_MEMORY);
    cr_expect_eq(tsri_base_json_made(object, "x.json"), TSR_OK);
    tsri_base_json_append(list, NULL);
    cr_expect_null(tsri_base_json_print(list, JSON_COMPACT));
    tsri_base_json_append(NULL, json_true());
    cr_expect_eq(tsri_base_json_save("/nonexistent/x.json", list, JSON_COMPACT), TSR_E_HOST_MEMORY);
    tsri_base_json_append(list, object);
    char *text = tsri_base_json_print(list, JSON_COMPACT);
    cr_expect_str_eq(text, "[{\"a\":1}]");
    free(text);
    json_decref(list);
}

Test(base, json_does_not_count_brackets_in_strings) {
    json_t *value = NULL;
    const char text[] = "{\"[[[[\": \"\\\"[[[[\\\\\"}";
    cr_assert_eq(tsri_base_json_parse(text, sizeof text - 1, 1, "x.json", &value), TSR_OK);
    json_decref(value);
}

Test(base, json_whole_numbers_past_64_bits_are_reals) {
    json_t *object = NULL;
    const char text[] = "{\"a\": 1000000000000000019884624838656, \"b\": 9223372036854775807, "
                        "\"c\": [-9223372036854775809,3], \"d\": \"\\\"99999999999999999999\"}";
    double a = 0;
    int64_t b = 0;
    cr_assert_eq(tsri_base_json_parse(text, sizeof text - 1, 2, "x.json", &object), TSR_OK);
    cr_expect_eq(tsri_base_json_real(object, "x.json", "a", 0, 1e40, &a), TSR_OK);
    cr_expect_eq(a, 1e30);
    cr_expect_eq(tsri_base_json_int(object, "x.json", "a", 0, INT64_MAX, &b), TSR_E_FORMAT);
    cr_expect_eq(tsri_base_json_int(object, "x.json", "b", 0, INT64_MAX, &b), TSR_OK);
    cr_expect_eq(b, INT64_MAX);
    const json_t *c = json_object_get(object, "c");
    cr_expect(json_real_value(json_array_get(c, 0)) < -9e18);
    cr_expect_eq(json_integer_value(json_array_get(c, 1)), 3);
    cr_expect_str_eq(json_string_value(json_object_get(object, "d")), "\"99999999999999999999");
    json_decref(object);
}

Test(base, json_fields_are_typed_and_bounded) {
    const char text[] = "{\"n\": 5, \"r\": 0.5, \"b\": true, \"t\": \"x\", \"none\": null}";
    json_t *object = NULL;
    cr_assert_eq(tsri_base_json_parse(text, sizeof text - 1, 3, "c.json", &object), TSR_OK);
    int64_t n = -1;
    double r = -1;
    bool b = false;
    const char *t = "";
    cr_expect_eq(tsri_base_json_int(object, "c.json", "n", 0, 5, &n), TSR_OK);
    cr_expect_eq(tsri_base_json_real(object, "c.json", "r", 0, 1, &r), TSR_OK);
    cr_expect_eq(tsri_base_json_bool(object, "c.json", "b", &b), TSR_OK);
    cr_expect_eq(tsri_base_json_text(object, "c.json", "t", &t), TSR_OK);
    cr_expect(n == 5 && r == 0.5 && b && strcmp(t, "x") == 0);

    cr_expect_eq(tsri_base_json_real(object, "c.json", "n", 0, 9, &r),
                 TSR_OK); /* a whole number is a number */
    cr_expect_eq(r, 5.0);
    cr_expect_eq(tsri_base_json_int(object, "c.json", "missing", 0, 9, &n), TSR_OK);
    cr_expect_eq(tsri_base_json_int(object, "c.json", "none", 0, 9, &n), TSR_OK);
    cr_expect_eq(n, 5, "a field that is not there leaves the default");

    cr_expect_eq(tsri_base_json_int(object, "c.json", "n", 0, 4, &n), TSR_E_FORMAT);
    cr_expect_str_eq(tsri_base_reported(), "c.json: \"n\" is 5; it must be from 0 to 4");
    cr_expect_eq(tsri_base_json_int(object, "c.json", "r", 0, 4, &n), TSR_E_FORMAT);
    cr_expect_eq(tsri_base_json_real(object, "c.json", "t", 0, 4, &r), TSR_E_FORMAT);
    cr_expect_eq(tsri_base_json_bool(object, "c.json", "n", &b), TSR_E_FORMAT);
    cr_expect_eq(tsri_base_json_text(object, "c.json", "b", &t), TSR_E_FORMAT);
    cr_expect_str_eq(tsri_base_reported(), "c.json: \"b\" is true; a text is needed");
    json_decref(object);
}

static int until_none; /* allocations that are still served */

static void *scarce(size_t n) {
    if (until_none-- > 0)
        return malloc(n);
    errno = ENOMEM;
    return NULL;
}

Test(base, json_without_memory_is_not_a_bad_file) {
    static const char text[] =
        "{\"a\": [1, 2.5, \"long enough to be a text of its own\", {\"b\": null}], "
        "\"c\": \"\\u00e9\", \"d\": 100000000000000000000000000000}";
    json_t *json = NULL;
    tsr_status status = TSR_E_HOST_MEMORY;
    json_set_alloc_funcs(scarce, free);
    for (int n = 0; n < 200 && status != TSR_OK; n++) {
        until_none = n;
        status = tsri_base_json_parse(text, sizeof text - 1, 8, "x.json", &json);
        cr_expect(status == TSR_OK || status == TSR_E_HOST_MEMORY, "after %d allocations: %s", n,
                  tsri_base_reported());
        cr_expect(status == TSR_OK || strstr(tsri_base_reported(), "memory"), "after %d: %s", n,
                  tsri_base_reported());
    }
    cr_expect_eq(status, TSR_OK);
    json_decref(json);
    json_set_alloc_funcs(malloc, free);
}

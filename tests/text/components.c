/* Every component of tokenizer.json, and every value of its fields:
 * tests/golden/tokenizers/components.json has what the tokenizers library gives. */
#include "golden.h"

#include "base/error.h"
#include "text/load/load.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL };

static void put_ids(const tsri_text_ids *ids, tsri_bytes *out) {
    for (size_t i = 0; i < ids->count; i++)
        cr_assert_eq(tsri_base_bytes_printf(out, "%s%" PRId32, i ? " " : "", ids->data[i]), TSR_OK);
}

/* The texts of ids without and with special tokens; a stream gives the same. */
static void put_texts(const tsri_text_tokenizer *t, const tsri_text_ids *ids, tsri_bytes *out) {
    for (int all = 0; all < 2; all++) {
        const unsigned flags = all ? 0 : TSRI_TEXT_SKIP_SPECIAL;
        tsri_bytes whole = {0}, parts = {0};
        tsri_text_stream *stream = NULL;
        cr_assert_eq(tsri_text_decode(t, ids->data, ids->count, flags, &whole), TSR_OK, "%s",
                     tsri_base_reported());
        cr_assert_eq(tsri_text_stream_new(t, flags, &stream), TSR_OK);
        for (size_t i = 0; i < ids->count; i++)
            cr_assert_eq(tsri_text_stream_push(stream, ids->data[i], &parts), TSR_OK);
        cr_assert_eq(tsri_text_stream_finish(stream, &parts), TSR_OK);
        cr_expect(whole.size == parts.size &&
                  (!whole.size || !memcmp(whole.data, parts.data, whole.size)));
        cr_assert_eq(tsri_base_bytes_append(out, "\n", 1), TSR_OK);
        cr_assert_eq(tsri_base_bytes_append(out, whole.data, whole.size), TSR_OK);
        tsri_text_stream_destroy(&stream);
        tsri_base_bytes_clear(&whole);
        tsri_base_bytes_clear(&parts);
    }
}

static const char *text_at(const json_t *list, size_t i, size_t *n) {
    const json_t *text = json_array_get(list, i % json_array_size(list));
    *n = json_string_length(text);
    return json_string_value(text);
}

static void put_pair(const tsri_text_tokenizer *t, const json_t *texts, size_t i, tsri_bytes *out) {
    tsri_text_ids ids = {0}, types = {0};
    size_t na, nb;
    const char *a = text_at(texts, i, &na), *b = text_at(texts, i + 1, &nb);
    cr_assert_eq(tsri_text_encode_pair(t, a, na, b, nb, ALL, &ids, &types), TSR_OK);
    cr_assert_eq(tsri_base_bytes_append(out, "\n", 1), TSR_OK);
    put_ids(&ids, out);
    cr_assert_eq(tsri_base_bytes_append(out, "\n", 1), TSR_OK);
    put_ids(&types, out);
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&types);
}

static uint32_t fnv(const tsri_bytes *bytes) {
    uint32_t value = 0x811C9DC5;
    for (size_t i = 0; i < bytes->size; i++)
        value = (value ^ (unsigned char)bytes->data[i]) * 0x01000193;
    return value;
}

static void compare(const json_t *hash, const tsri_bytes *got, const char *what, const char *text) {
    if (!json_is_null(hash)) /* the library panics */
        cr_expect_eq(fnv(got), (uint32_t)json_integer_value(hash),
                     "%s\n  \"%s\" gives\n  %s\n  (make_components.py --show says what is wanted)",
                     what, text, got->data ? got->data : "");
}

/* "plain": the names of special tokens are text. */
static void check_texts(const tsri_text_tokenizer *t, const json_t *one, const json_t *texts,
                        const char *what) {
    const unsigned flags =
        json_is_true(json_object_get(one, "plain")) ? TSRI_TEXT_ADD_SPECIAL : ALL;
    const bool pairs = json_is_true(json_object_get(one, "pairs"));
    const json_t *hashes = json_object_get(one, "hashes");
    cr_assert_eq(json_array_size(hashes), json_array_size(texts));
    for (size_t i = 0; i < json_array_size(texts); i++) {
        tsri_text_ids ids = {0};
        tsri_bytes out = {0};
        size_t n;
        const char *text = text_at(texts, i, &n);
        cr_assert_eq(tsri_text_encode(t, text, n, flags, &ids), TSR_OK, "%s: %s", what,
                     tsri_base_reported());
        put_ids(&ids, &out);
        put_texts(t, &ids, &out);
        if (pairs)
            put_pair(t, texts, i, &out);
        compare(json_array_get(hashes, i), &out, what, text);
        tsri_text_ids_clear(&ids);
        tsri_base_bytes_clear(&out);
    }
}

static void check_ids(const tsri_text_tokenizer *t, const json_t *one, const json_t *rows,
                      const char *what) {
    const json_t *hashes = json_object_get(one, "hashes");
    cr_assert_eq(json_array_size(hashes), json_array_size(rows));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        tsri_text_ids ids = {0};
        tsri_bytes out = {0};
        for (size_t k = 0; k < json_array_size(row); k++) {
            const int32_t id = (int32_t)json_integer_value(json_array_get(row, k));
            cr_assert_eq(tsri_text_ids_append(&ids, &id, 1), TSR_OK);
        }
        put_texts(t, &ids, &out);
        compare(json_array_get(hashes, i), &out, what, "ids");
        tsri_text_ids_clear(&ids);
        tsri_base_bytes_clear(&out);
    }
}

static void refused(const char *file, const char *name, const char *what) {
    tsri_text_tokenizer *t = NULL;
    cr_expect_neq(tsri_text_from_json_text(file, strlen(file), "tokenizer.json", &t), TSR_OK,
                  "%s is served", what);
    cr_expect_not_null(strstr(tsri_base_reported(), name), "%s\n  wanted \"%s\" in: %s", what, name,
                       tsri_base_reported());
    tsri_text_tokenizer_destroy(&t);
}

static void check(const json_t *golden, const json_t *one) {
    const json_t *bases = json_object_get(golden, "bases"),
                 *base = json_object_get(bases, json_string_value(json_object_get(one, "base"))),
                 *texts = json_object_get(one, "texts");
    json_t *file = golden_with_parts(base, json_object_get(one, "with"));
    char *what = json_dumps(json_object_get(one, "with"), 0), *text = json_dumps(file, 0);
    const char *name = json_string_value(json_object_get(one, "refused"));
    what[strlen(what) < 900 ? strlen(what) : 900] = 0;
    if (name) {
        refused(text, name, what);
    } else {
        tsri_text_tokenizer *t = golden_from_json(file);
        const char *of = texts ? json_string_value(texts) : "all";
        if (json_is_true(json_object_get(one, "decodes")))
            check_ids(t, one, json_object_get(golden, "ids"), what);
        else
            check_texts(t, one, json_object_get(json_object_get(golden, "texts"), of), what);
        tsri_text_tokenizer_destroy(&t);
    }
    free(what);
    free(text);
    json_decref(file);
}

Test(components, are_served_as_the_library_does_or_refused_by_name) {
    json_t *golden = golden_own_json("components.json");
    const json_t *cases = json_object_get(golden, "cases");
    cr_assert_gt(json_array_size(cases), 500);
    for (size_t i = 0; i < json_array_size(cases); i++)
        check(golden, json_array_get(cases, i));
    json_decref(golden);
}

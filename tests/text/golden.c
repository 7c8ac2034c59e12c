/* Ids and texts of the goldens of tokenizers. */
#include "golden.h"

#include "base/error.h"
#include "base/files.h"
#include "text/base/unicode.h"
#include "text/load/load.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static tsri_bytes read_file(const char *folder, const char *name) {
    tsri_bytes bytes = {0};
    char *path = tsri_base_join(folder, name);
    cr_assert_not_null(path);
    cr_assert_eq(tsri_base_read_whole(path, 1u << 30, &bytes), TSR_OK, "%s", tsri_base_reported());
    free(path);
    return bytes;
}

tsri_bytes golden_own(const char *name) {
    return read_file(TESSERA_SOURCE_DIR "/tests/golden/tokenizers", name);
}

tsri_bytes golden_shared(const char *name) {
    return read_file(getenv("TESSERA_SHARED"), name);
}

json_t *golden_json(const tsri_bytes *bytes) {
    json_error_t error;
    json_t *json = json_loadb(bytes->data, bytes->size, JSON_ALLOW_NUL, &error);
    cr_assert_not_null(json, "line %d: %s", error.line, error.text);
    return json;
}

tsri_text_tokenizer *golden_from_json(const json_t *json) {
    tsri_text_tokenizer *t = NULL;
    char *text = json_dumps(json, 0);
    cr_assert_not_null(text);
    cr_assert_eq(tsri_text_from_json_text(text, strlen(text), "tokenizer.json", &t), TSR_OK, "%s",
                 tsri_base_reported());
    free(text);
    return t;
}

static tsri_text_ids ids_from(const json_t *json) {
    tsri_text_ids ids = {0};
    for (size_t i = 0; i < json_array_size(json); i++) {
        const int32_t id = (int32_t)json_integer_value(json_array_get(json, i));
        cr_assert_eq(tsri_text_ids_append(&ids, &id, 1), TSR_OK);
    }
    return ids;
}

static tsri_bytes shown(const tsri_text_ids *ids) {
    tsri_bytes out = {0};
    for (size_t i = 0; i < ids->count && i < 60; i++)
        cr_assert_eq(tsri_base_bytes_printf(&out, "%d ", ids->data[i]), TSR_OK);
    cr_assert_eq(tsri_base_bytes_append(&out, "", 0), TSR_OK);
    return out;
}

void golden_is(const json_t *wanted, const tsri_text_ids *got, const char *what) {
    tsri_text_ids want = ids_from(wanted);
    const bool same =
        want.count == got->count &&
        (want.count == 0 || memcmp(want.data, got->data, want.count * sizeof *want.data) == 0);
    if (!same) {
        tsri_bytes a = shown(got), b = shown(&want);
        cr_expect(same, "%s:\n  got    %s\n  wanted %s", what, a.data ? a.data : "",
                  b.data ? b.data : "");
        tsri_base_bytes_clear(&a);
        tsri_base_bytes_clear(&b);
    }
    tsri_text_ids_clear(&want);
}

void golden_encodes(const tsri_text_tokenizer *t, const char *text, size_t n, unsigned flags,
                    const json_t *ids) {
    tsri_text_ids got = {0};
    cr_assert_eq(tsri_text_encode(t, text, n, flags, &got), TSR_OK, "%s", tsri_base_reported());
    golden_is(ids, &got, text);
    tsri_text_ids_clear(&got);
}

void golden_decodes(const tsri_text_tokenizer *t, const json_t *ids, bool skip_special,
                    const json_t *text) {
    tsri_text_ids list = ids_from(ids);
    tsri_bytes whole = {0}, parts = {0};
    tsri_text_stream *stream = NULL;
    cr_assert_eq(tsri_text_decode(t, list.data, list.count, skip_special, &whole), TSR_OK, "%s",
                 tsri_base_reported());
    const char *want = json_string_value(text);
    const size_t n = json_string_length(text);
    cr_expect(whole.size == n && (n == 0 || memcmp(whole.data, want, n) == 0),
              "decoded \"%s\", wanted \"%s\"", whole.data ? whole.data : "", want);
    cr_assert_eq(tsri_text_stream_new(t, skip_special, &stream), TSR_OK);
    for (int round = 0; round < 2; round++) { /* a finished stream is as new */
        parts.size = 0;
        for (size_t i = 0; i < list.count; i++) {
            const size_t before = parts.size;
            cr_assert_eq(tsri_text_stream_push(stream, list.data[i], &parts), TSR_OK);
            cr_expect(parts.size == before ||
                          tsri_text_utf8_valid(parts.data + before, parts.size - before),
                      "half a character after id %zu", i);
        }
        cr_assert_eq(tsri_text_stream_finish(stream, &parts), TSR_OK);
        cr_expect(parts.size == n && (n == 0 || memcmp(parts.data, want, n) == 0),
                  "streamed \"%s\", wanted \"%s\"", parts.data ? parts.data : "", want);
    }
    tsri_text_stream_destroy(&stream);
    tsri_text_ids_clear(&list);
    tsri_base_bytes_clear(&whole);
    tsri_base_bytes_clear(&parts);
}

json_t *golden_own_json(const char *name) {
    tsri_bytes bytes = golden_own(name);
    json_t *json = golden_json(&bytes);
    tsri_base_bytes_clear(&bytes);
    return json;
}

json_t *golden_with_parts(const json_t *base, const json_t *parts) {
    json_t *json = json_deep_copy(base);
    const char *key;
    json_t *part;
    json_object_foreach((json_t *)parts, key, part) {
        if (strcmp(key, "model+") == 0)
            json_object_update(json_object_get(json, "model"), part);
        else
            json_object_set(json, key, part);
    }
    return json;
}

void golden_lines(const tsri_text_tokenizer *t, const json_t *lines, const json_t *rows,
                  unsigned flags) {
    const json_t *ids = json_object_get(rows, "ids"), *decoded = json_object_get(rows, "decoded");
    cr_assert_eq(json_array_size(ids), json_array_size(lines));
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        golden_encodes(t, json_string_value(line), json_string_length(line), flags,
                       json_array_get(ids, i));
        golden_decodes(t, json_array_get(ids, i), true, json_array_get(decoded, i));
    }
}

void golden_pairs(const tsri_text_tokenizer *t, const json_t *rows, unsigned flags) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *text = json_object_get(row, "text"),
                     *a = json_array_get(text, 0), *b = json_array_get(text, 1);
        tsri_text_ids ids = {0}, types = {0};
        cr_assert_eq(tsri_text_encode_pair(t, json_string_value(a), json_string_length(a),
                                           json_string_value(b), json_string_length(b), flags, &ids,
                                           &types),
                     TSR_OK);
        golden_is(json_object_get(row, "ids"), &ids, "pair");
        golden_is(json_object_get(row, "type_ids"), &types, "segments");
        tsri_text_ids_clear(&ids);
        tsri_text_ids_clear(&types);
    }
}

void golden_broken(const tsri_text_tokenizer *t, const json_t *rows) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *hex = json_string_value(json_object_get(row, "hex"));
        char bytes[64];
        const size_t n = strlen(hex) / 2;
        cr_assert_leq(n, sizeof bytes);
        for (size_t k = 0; k < n; k++) {
            const char pair[3] = {hex[2 * k], hex[2 * k + 1], 0};
            bytes[k] = (char)strtol(pair, NULL, 16);
        }
        golden_encodes(t, bytes, n, 0, json_object_get(row, "ids"));
        golden_decodes(t, json_object_get(row, "ids"), true, json_object_get(row, "decoded"));
    }
}

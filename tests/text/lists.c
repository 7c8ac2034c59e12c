/* The long lists of a tokenizer.json, which are read from its text: whatever the text is, the outcome
 * is that of parsing all of it. */
#include "base/error.h"
#include "text/base/entries.h"
#include "text/load/load.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define BPE(vocab, merges) \
    "{\"model\":{\"type\":\"BPE\",\"vocab\":" vocab ",\"merges\":" merges "}}"
#define UNIGRAM(vocab) "{\"model\":{\"type\":\"Unigram\",\"vocab\":" vocab "}}"
#define AB "{\"a\":0,\"b\":1,\"ab\":2}"

/* direct: its lists are read from the text; otherwise the JSON library reads the whole text. */
static const struct {
    bool direct;
    const char *text;
} files[] = {
    {true, BPE(AB, "[]")},
    {true, BPE(AB, "[\"a b\"]")},
    {true, BPE(AB, "[[\"a\",\"b\"]]")},
    {true, " \n{ \"model\" :\t{ \"merges\" : [ [ \"a\" , \"b\" ] ] , \"type\" : \"BPE\" ,\r\n"
           "\"vocab\" : { \"a\" : 0 , \"b\" : 1 , \"ab\" : 2 } } } \n"},
    {true, "{\"model\":{\"vocab\":" AB ",\"merges\":[\"a b\"]}}"}, /* older files have no type */
    {true,
     "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":3,\"content\":\"<x>\",\"special\":true}],"
     "\"model\":{\"type\":\"BPE\",\"vocab\":" AB ",\"merges\":[]},\"decoder\":null}"},
    {true, "{\"a\":{\"vocab\":[\"}\",\"\\\"]\"]},\"model\":{\"type\":\"BPE\",\"vocab\":" AB
           ",\"merges\":[],\"b\":\"{\\\\\"}}"},
    {true, BPE("{\"\\u0061\":0,\"\\\"\":1,\"\\u0061\\\"\":2,\"\\\\\":3,\"\\/\":4,\"\\n\\t\":5,"
               "\"\\uD83d\\uDE00\":6,\"\\u00e9\":7,\"\xc3\xa9\xc3\xa9\":8}",
               "[[\"a\",\"\\\"\"],\"\xc3\xa9 \\u00e9\"]")},
    {true, BPE("{\"\xf0\x9f\x98\x80\":0,\"a\":1,\"\xf0\x9f\x98\x80\\u0061\":2}",
               "[[\"\\ud83d\\ude00\",\"a\"]]")},
    {true, BPE("{\"x\\u0061bc\":0,\"b\":1,\"\\\"d\":2}", "[]")}, /* text behind an escape */
    {true,
     "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a b\":0,\"c\":9},\"unk_token\":\"c\"}}"},
    {true, "{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2}}}"},
    {true, UNIGRAM("[[\"a\",0],[\"b\",-1.5],[\"ab\",-12.345678329467773],[\"\",-0.0],[\"c\",-3]]")},
    {true, UNIGRAM("[[\"a\",0.0],[\"a\",-2.25],[\"b\",-0.001]]")}, /* a piece that is given twice */
    {true, UNIGRAM("[]")},
    {true, BPE("{}", "[]")},
    {true, BPE("[]", "{}")},
    {true, BPE(AB, "[\"ab\"]")},
    {true, BPE(AB, "[\"a c\"]")},
    {true, BPE("{\"a\":0,\"b\":0}", "[]")},
    {true, BPE("{\"a\":-1}", "[]")},
    {true, BPE("{\"a\":0.0}", "[]")},
    {true, BPE("{\"a\":9000000000000000000}", "[]")},
    {true, BPE("{\"\":0}", "[]")},
    {true, BPE("{\"a\":0,\"\\u0061\":1}", "[]")}, /* a key that is given twice */
    {false, BPE("{\"a\":99999999999999999999}", "[]")},
    {false, BPE("{\"a\":1e0}", "[]")},
    {false, BPE("{\"a\":00}", "[]")},
    {false, BPE("{\"a\":-}", "[]")},
    {false, BPE("{\"a\":.5}", "[]")},
    {false, BPE("{\"a\":5.}", "[]")},
    {false, BPE("{\"a\":true}", "[]")},
    {false, BPE("{\"a\":[0]}", "[]")},
    {false, BPE("{\"a\":0,}", "[]")},
    {false, BPE("{,\"a\":0}", "[]")},
    {false, BPE("{\"a\" 0}", "[]")},
    {false, BPE("{\"a\":0 \"b\":1}", "[]")},
    {false, BPE("{\"a\":0]", "[]")},
    {false, BPE("{\"a\":0,\"\\ud83d\":1}", "[]")},
    {false, BPE("{\"a\":0,\"\\ude00\":1}", "[]")},
    {false, BPE("{\"a\":0,\"\\x\":1}", "[]")},
    {false, BPE("{\"a\":0,\"\\u12g4\":1}", "[]")},
    {false, BPE("{\"a\":0,\"\n\":1}", "[]")},
    {false, BPE(AB, "[[\"a\",\"b\",\"ab\"]]")},
    {false, BPE(AB, "[[\"a\",[\"b\"]]]")},
    {false, BPE(AB, "[1]")},
    {false, BPE(AB, "[\"a b\",]")},
    {false, BPE(AB, "[\"a b\"")},
    {true, BPE(AB, "7")},
    {true, BPE("\"a\"", "[]")},
    {true, BPE("null", "[]")},
    {false, UNIGRAM("[[\"a\",-1e-3]]")},
    {false, UNIGRAM("[[\"a\",-1.00000000000000000000000000001]]")},
    {false, UNIGRAM("[[\"a\",0]")},
    {false, UNIGRAM("[\"a\",0]")},
    {true, UNIGRAM("[[\"a\",\"b\"]]")},
    {true, UNIGRAM("[\"a\"]")},
    {false, "{\"model\":{\"type\":\"BPE\",\"vocab\":" AB ",\"vocab\":" AB ",\"merges\":[]}}"},
    {false, "{\"model\":{\"type\":\"BPE\",\"vocab\":" AB ",\"merges\":[]},\"model\":{}}"},
    {false, "{\"model\":{\"type\":\"BPE\",\"vocab\":" AB ",\"merges\":[]}"},
    {true, "{\"model\":{\"type\":\"BPE\",\"vocab\":" AB ",\"merges\":[]}} x"},
    {true, "{\"model\":{\"type\":\"BPE\",\"vocab\":" AB ",\"merges\":[]},\"mod\\u0065l\":{}}"},
    {true, "{\"model\":{\"type\":\"BPE\",\"voca\\u0062\":" AB ",\"merges\":[]}}"},
    {true, "{\"model\":3}"},
    {false, "[]"},
    {false, ""},
    {false, "{\"model\""},
    {false, "{\"model"},
    {false, "{\"model\":{\"vocab\":{\"a\":0"},
};

static tsr_status see(void *data, size_t number, const tsri_text_item *item) {
    (void)data, (void)number, (void)item;
    return TSR_OK;
}

/* Whether the lists can be read from the text, apart from what the tokenizer makes of them. */
static bool is_direct(const char *text) {
    tsri_text_model_file file = {0};
    tsri_bytes rest = {0};
    const bool direct = tsri_text_cut_lists(text, strlen(text), &file, &rest) == TSR_OK &&
                        tsri_text_each_entry(&file, "vocab", see, NULL) == TSR_OK &&
                        tsri_text_each_entry(&file, "merges", see, NULL) == TSR_OK;
    tsri_base_bytes_clear(&rest);
    return direct;
}

static void alike(const char *text, const tsri_text_tokenizer *a, const tsri_text_tokenizer *b) {
    static const char *const lines[] = {"abab", "a b c", "\xc3\xa9\xc3\xa9", "\"a\\\n\t/",
                                        "\xf0\x9f\x98\x80 a"};
    const int64_t size = tsri_text_vocabulary_size(a);
    cr_assert_eq(size, tsri_text_vocabulary_size(b), "%s", text);
    for (int64_t id = 0; id < size; id++) {
        size_t n[2];
        const char *one = tsri_text_piece_of(a, (int32_t)id, &n[0]),
                   *other = tsri_text_piece_of(b, (int32_t)id, &n[1]);
        cr_expect(n[0] == n[1] && (!one || memcmp(one, other, n[0]) == 0), "%s: id %lld", text,
                  (long long)id);
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        tsri_text_ids ids[2] = {{0}};
        const tsr_status one = tsri_text_encode(a, lines[i], strlen(lines[i]), 0, &ids[0]),
                         other = tsri_text_encode(b, lines[i], strlen(lines[i]), 0, &ids[1]);
        cr_expect_eq(one, other);
        cr_expect_eq(ids[0].count, ids[1].count, "%s: %s", text, lines[i]);
        for (size_t k = 0; k < ids[0].count && k < ids[1].count; k++)
            cr_expect_eq(ids[0].data[k], ids[1].data[k], "%s: %s", text, lines[i]);
        tsri_text_ids_clear(&ids[0]);
        tsri_text_ids_clear(&ids[1]);
    }
}

Test(text, lists_of_a_tokenizer_json_are_what_the_whole_text_gives) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *text = files[i].text;
        const size_t n = strlen(text);
        tsri_text_tokenizer *direct = NULL, *parsed = NULL;
        json_t *json = NULL;
        cr_expect_eq(is_direct(text), files[i].direct, "%s", text);
        tsr_status whole = tsri_base_json_parse(text, n, 64, "tokenizer.json", &json);
        if (whole == TSR_OK)
            whole = tsri_text_from_json(json, &parsed);
        const tsr_status status = tsri_text_from_json_text(text, n, "tokenizer.json", &direct);
        cr_expect_eq(status, whole, "%s: %s", text, tsri_base_reported());
        cr_expect_eq(direct != NULL, status == TSR_OK);
        if (direct && parsed)
            alike(text, direct, parsed);
        tsri_text_tokenizer_destroy(&direct);
        tsri_text_tokenizer_destroy(&parsed);
        json_decref(json);
    }
}

/* The JSON library takes no such key, Hugging Face's does. */
Test(text, a_piece_may_be_the_character_nul_or_have_0_bytes) {
    static const char json[] = "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"\\u0000\":1,"
                               "\"\":2},\"merges\":[]},\"decoder\":{\"type\":\"Fuse\"}}";
    static const int32_t last = 2;
    tsri_text_tokenizer *t = NULL;
    tsri_text_ids ids = {0};
    tsri_bytes text = {0};
    cr_assert_eq(tsri_text_from_json_text(json, sizeof json - 1, "tokenizer.json", &t), TSR_OK,
                 "%s", tsri_base_reported());
    cr_assert_eq(tsri_text_vocabulary_size(t), 3);
    cr_assert_eq(tsri_text_encode(t, "a\0a", 3, 0, &ids), TSR_OK);
    cr_assert_eq(ids.count, 3);
    cr_expect_eq(ids.data[1], 1);
    cr_assert_eq(tsri_text_decode(t, ids.data, ids.count, false, &text), TSR_OK);
    cr_expect(text.size == 3 && !memcmp(text.data, "a\0a", 3));
    text.size = 0;
    cr_assert_eq(tsri_text_decode(t, &last, 1, false, &text), TSR_OK);
    cr_expect_eq(text.size, 0);
    tsri_text_ids_clear(&ids);
    tsri_base_bytes_clear(&text);
    tsri_text_tokenizer_destroy(&t);
}

/* Grammars: what they match, which tokens they allow (against every token tried by itself), what is
 * refused. */
#include "text/grammar/grammar.h"
#include "text/grammar/read.h"

#include "base/error.h"
#include "model/tokens/tokens.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tsri_text_grammar *grammar_in(const char *text, const tsri_text_tokenizer *tokenizer,
                                     const tsri_text_trie *trie) {
    tsri_text_tree tree = {0};
    tsri_text_grammar *g = NULL;
    tsr_status status = tsri_text_gbnf_read(text, strlen(text), tokenizer, &tree);
    if (status == TSR_OK)
        status = tsri_text_grammar_create(&tree, trie, &g);
    tsri_text_tree_clear(&tree);
    return g;
}

static tsri_text_grammar *grammar_of(const char *text, const tsri_text_trie *trie) {
    return grammar_in(text, NULL, trie);
}

static bool matches(tsri_text_grammar *g, const char *text) {
    tsri_text_matcher *m = NULL;
    cr_assert(tsri_text_matcher_create(g, &m) == TSR_OK, "%s", tsr_error_last());
    cr_assert(tsri_text_matcher_take(m, text, strlen(text)) == TSR_OK, "%s", tsr_error_last());
    const bool ends = tsri_text_matcher_may_end(m);
    tsri_text_matcher_destroy(&m);
    return ends;
}

/* yes and no are separated by '/'. */
static const struct {
    const char *grammar, *yes, *no;
} cases[] = {
    {"root ::= \"a\" \"b\"?", "a/ab", "/b/abb"},
    {"root ::= [a-c]+ # letters\n", "a/abc", "/d/abd"},
    {"root ::= [^a\\n] .", "bc/\xC3\xA4\xE4\xBD\xA0/b\xF0\x9F\x98\x80", "ab/b"},
    {"root ::= x | y\nx ::= \"1\" |\n  \"2\"\ny ::= (\n\"3\" z)\nz ::= \"\" | \"4\" z",
     "1/2/3/3444", "/4/14"},
    {"root ::= [\\x41-\\u00e4\\U0001F600]{2,3}", "AB/A\xC3\xA4Z/\xF0\x9F\x98\x80\x41", "A/ABCD/A!"},
    {"root ::= \"\\\"\\\\\\t\\[\" [\\]a-]", "\"\\\t[]/\"\\\t[-", "\"\\\t["},
    {"root ::= \"a\"{2} \"b\"{1,} \"c\"{0}", "aab/aabb", "aa/ab/aabc"},
    {"root ::= \"(\" root? \")\"", "()/(((())))", "(/(()/())"},
    {"root ::= e (\"+\" e)*\ne ::= [0-9] | \"[\" root \"]\"", "1/1+2/[1+[2]]+3", "1+/[1/+1"},
    {"root ::= [a-]* [^\\]]", "a-b/x", "]/a-]"},
    {"root ::= \"<\" %json {\"enum\": [\"}\", \"\\\"\"]} \">\" x\nx ::= %json\n"
     "{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"type\": \"array\", \"items\": {\"$ref\": "
     "\"#\"}}}}{1,2}",
     "<\"}\">[]/<\"\\\"\">[[], []][]", "<\"}\">/<\"a\">[]/<\"}\">[][][]/<\"}\">[\"}\"]"},
};

static void try_all(tsri_text_grammar *g, const char *texts, bool want, const char *grammar) {
    char text[64];
    for (const char *at = texts;; at++) {
        const size_t n = strcspn(at, "/");
        memcpy(text, at, n);
        text[n] = 0;
        cr_expect(matches(g, text) == want, "%s: \"%s\" must%s match", grammar, text,
                  want ? "" : " not");
        at += n;
        if (!*at)
            return;
    }
}

Test(grammar, gbnf) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsri_text_grammar *g = grammar_of(cases[i].grammar, NULL);
        cr_assert(g, "%s: %s", cases[i].grammar, tsr_error_last());
        try_all(g, cases[i].yes, true, cases[i].grammar);
        try_all(g, cases[i].no, false, cases[i].grammar);
        tsri_text_grammar_release(&g);
    }
}

static const struct {
    const char *grammar, *fragment;
} refused[] = {
    {"", "no rule \"root\""},
    {"root := \"a\"", "line 1: ::= behind the name of a rule is wanted before \":= \"a\"\""},
    {"root ::= \"a", "line 1: a character, and the end of its text or class, is wanted"},
    {"root ::= [a", "is wanted before the end"},
    {"root ::= (\"a\"", "a ) is wanted before the end"},
    {"root ::= \"a\" )", "line 1: the end of the line, a name,"},
    {"root ::= \"\\q\"", "which may follow a \\, is wanted before \"q\"\""},
    {"root ::= \"\\ud800\"", "no surrogate"},
    {"root ::= [b-a]", "a range of characters ends before it begins"},
    {"root ::= \"a\"{x}", "a number of repetitions"},
    {"root ::= \"a\"{3,2}", "at most 2, but at least 3"},
    {"root ::= \"a\"{99999}", "more than 65536 repetitions"},
    {"root ::= a", "rule \"a\" is used but not defined"},
    {"root ::= root \"a\" | \"b\"", "rule \"root\" begins with itself"},
    {"root ::= a\na ::= \"\"? b a\nb ::= \"c\"*", "rule \"a\" begins with itself"},
    {"root ::= !<think>", "line 1: any token but one (!<...>) is not served"},
    {"root ::= <think", "line 1: the name of a token, in <>, is wanted before \"<think\""},
    {"root ::= %json {\"const\": \"}", "line 1: a whole JSON schema (%json {...}) is wanted"},
    {"root ::= %json [1]", "line 1: a whole JSON schema"},
    {"root ::= \"a\" |\n%json {\"not\": {}}", "line 2, the schema of %json: \"not\" is not served"},
    {"root ::= ((((\"a\"{9999}){9999}){9999}){9999}){9999}", "more than 262144 states"},
    {"root ::= ((((\"a\"{0}){9999}){9999}){9999}){9999}\nb ::= c", "rule \"c\" is used but not"},
    {"root ::= \"\xFF\"", "not UTF-8"},
};

Test(grammar, refused) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tsri_text_grammar *g = grammar_of(refused[i].grammar, NULL);
        cr_expect(!g && strstr(tsr_error_last(), refused[i].fragment), "%s: %s", refused[i].grammar,
                  tsr_error_last());
        tsri_text_grammar_release(&g);
    }
}

/* Text of n times `what`, between two other texts. */
static char *times(const char *before, const char *what, size_t n, const char *after) {
    const size_t size = strlen(what);
    char *text = malloc(strlen(before) + n * size + strlen(after) + 1);
    strcpy(text, before);
    for (size_t i = 0; i < n; i++)
        memcpy(text + strlen(before) + i * size, what, size);
    strcpy(text + strlen(before) + n * size, after);
    return text;
}

Test(grammar, limits) {
    char *groups = times("root ::= ", "(", 300, ""), *signs = times("root ::= \"a\"", "*", 600, ""),
         *deep = times("", "(", 100000, "");
    tsri_text_grammar *g = grammar_of(groups, NULL);
    cr_expect(!g && strstr(tsr_error_last(), "more than 256 groups are open"));
    g = grammar_of(signs, NULL);
    cr_expect(!g && strstr(tsr_error_last(), "nested more than 512 levels"));
    g = grammar_of("root ::= \"(\" root \")\" | \"\"", NULL);
    cr_assert(g);
    cr_expect(!matches(g, deep));
    tsri_text_grammar_release(&g);
    /* Each a may be read in very many ways. */
    g = grammar_of("root ::= (\"a\" root \"b\"? | \"a\" root \"c\"? | \"a\"{1,2000} root)?", NULL);
    cr_assert(g);
    tsri_text_matcher *m = NULL;
    cr_assert(tsri_text_matcher_create(g, &m) == TSR_OK);
    char *many = times("", "a", 4000, "");
    cr_expect(tsri_text_matcher_take(m, many, 4000) == TSR_E_ARGUMENT &&
              strstr(tsr_error_last(), "too ambiguous"));
    tsri_text_matcher_destroy(&m);
    tsri_text_grammar_release(&g);
    free(groups);
    free(signs);
    free(deep);
    free(many);
}

/* ---- masks ---- */

static bool allowed(const uint32_t *mask, int32_t id) {
    return mask[id / 32] >> (id % 32) & 1;
}

/* Compares a mask with every token taken by itself, then takes one of the allowed tokens. False: none is. */
static bool compare_and_go_on(const tsri_text_tokenizer *t, const tsri_text_trie *trie,
                              tsri_text_grammar *g, tsri_bytes *text, uint32_t random) {
    tsri_text_matcher *m = NULL, *own = NULL;
    const uint32_t *mask;
    tsri_bytes chosen = {0}, bytes = {0};
    uint32_t n = 0;
    cr_assert(tsri_text_matcher_create(g, &m) == TSR_OK);
    cr_assert(tsri_text_matcher_take(m, text->data, text->size) == TSR_OK);
    for (int32_t id = 0; id < trie->V; id++) {
        bytes.size = 0;
        if (tsri_text_is_special(t, id)) {
            char mark[TSRI_TEXT_MARK_ROOM];
            cr_assert(tsri_base_bytes_append(&bytes, mark, tsri_text_token_mark(id, mark)) ==
                      TSR_OK);
        } else {
            cr_assert(tsri_text_token_bytes(t, id, &bytes) == TSR_OK);
            if (bytes.size && memchr(bytes.data, 0xFF, bytes.size)) /* it may not make a mark */
                bytes.size = 0;
        }
        cr_assert(tsri_text_matcher_create(g, &own) == TSR_OK);
        cr_assert(tsri_text_matcher_take(own, text->data, text->size) == TSR_OK);
        cr_assert(tsri_text_matcher_take(own, bytes.data, bytes.size) == TSR_OK);
        const bool want = bytes.size && !tsri_text_matcher_dead(own);
        tsri_text_matcher_destroy(&own);
        cr_assert(tsri_text_matcher_mask(m, &mask) == TSR_OK);
        cr_assert(allowed(mask, id) == want, "token %d after \"%s\"", (int)id, text->data);
        if (want && random % ++n == 0) {
            chosen.size = 0;
            cr_assert(tsri_base_bytes_append(&chosen, bytes.data, bytes.size) == TSR_OK);
        }
    }
    cr_assert(tsri_base_bytes_append(text, chosen.data ? chosen.data : "", chosen.size) == TSR_OK);
    tsri_base_bytes_clear(&bytes);
    tsri_base_bytes_clear(&chosen);
    tsri_text_matcher_destroy(&m);
    return n > 0;
}

static const char *const walked[] = {
    "root ::= [a-z ]+ (\", \" root)?",
    "root ::= \"{\" (pair (\",\" pair)*)? \"}\"\npair ::= text \":\" value\n"
    "text ::= \"\\\"\" char* \"\\\"\"\nchar ::= [^\"\\\\] | \"\\\\\" [nt\"]\n"
    "value ::= text | root | [0-9]+ | \"[\" (value (\",\" value)*)? \"]\"",
    "root ::= [\xC3\xA0-\xE4\xBD\xA0]* \"x\"{2,9} | [^a-z]{3}",
    "root ::= .{0,3} (<[0]> | \"x\" <s>) root | \"!\"",
};

/* Grammars that name tokens, with a vocabulary whose token 0, <s>, is special, and 1 is "!". */
static const struct {
    const char *grammar, *text;
    int32_t special; /* behind the text; -1: none */
    bool ends;
    const char *fragment; /* NULL: it is read */
} with_tokens[] = {
    {"root ::= \"a\" <s>", "a", 0, true, NULL},
    {"root ::= \"a\" <[0]>", "a", 0, true, NULL},
    {"root ::= \"a\" <s>", "a<s>", -1, false, NULL},
    {"root ::= .*", "a", 0, true, NULL}, /* a forced token: no part of the text */
    {"root ::= \"a\" <[1]>", "a!", -1, true, NULL},
    {"root ::= <pad>", "", -1, false, "line 1: the model has no token <pad>"},
    {"root ::= \"a\" |\n<[320]>", "", -1, false, "line 2: the model has no token <[320]>"},
    {"root ::= <[99999999999]>", "", -1, false, "the model has no token <[99999999999]>"},
};

Test(grammar, names_tokens) {
    tsri_text_tokenizer *t = NULL;
    tsri_text_trie *trie = NULL;
    const char *path = TESSERA_SOURCE_DIR "/tests/golden/tokenizers/byte.json";
    cr_assert(tsri_model_tokenizer_at(path, &t) == TSR_OK, "%s", tsr_error_last());
    cr_assert(tsri_text_trie_create(t, &trie) == TSR_OK);
    for (size_t i = 0; i < sizeof with_tokens / sizeof *with_tokens; i++) {
        const char *text = with_tokens[i].text, *fragment = with_tokens[i].fragment;
        tsri_text_grammar *g = grammar_in(with_tokens[i].grammar, t, trie);
        tsri_text_matcher *m = NULL;
        if (fragment) {
            cr_expect(!g && strstr(tsr_error_last(), fragment), "%s", tsr_error_last());
            continue;
        }
        cr_assert(g && tsri_text_matcher_create(g, &m) == TSR_OK, "%s", tsr_error_last());
        cr_assert(tsri_text_matcher_take(m, text, strlen(text)) == TSR_OK);
        if (with_tokens[i].special >= 0)
            cr_assert(tsri_text_matcher_take_special(m, with_tokens[i].special) == TSR_OK);
        cr_expect(tsri_text_matcher_may_end(m) == with_tokens[i].ends, "%s: %s",
                  with_tokens[i].grammar, text);
        tsri_text_matcher_destroy(&m);
        tsri_text_grammar_release(&g);
    }
    tsri_text_trie_destroy(&trie);
    tsri_text_tokenizer_destroy(&t);
}

Test(grammar, masks) {
    static const char *const files[] = {"byte.json", "small.model"};
    for (size_t f = 0; f < 2; f++) {
        char path[512];
        tsri_text_tokenizer *t = NULL;
        tsri_text_trie *trie = NULL;
        snprintf(path, sizeof path, TESSERA_SOURCE_DIR "/tests/golden/tokenizers/%s", files[f]);
        cr_assert(tsri_model_tokenizer_at(path, &t) == TSR_OK, "%s", tsr_error_last());
        cr_assert(tsri_text_trie_create(t, &trie) == TSR_OK);
        for (size_t i = 0; i < sizeof walked / sizeof *walked; i++) {
            tsri_text_grammar *g = grammar_of(walked[i], trie);
            cr_assert(g, "%s", tsr_error_last());
            tsri_bytes text = {0};
            cr_assert(tsri_base_bytes_append(&text, "", 0) == TSR_OK);
            for (uint32_t step = 0;
                 step < 12 && compare_and_go_on(t, trie, g, &text, step * 7919 + 13); step++)
                ;
            tsri_base_bytes_clear(&text);
            tsri_text_grammar_release(&g);
        }
        tsri_text_trie_destroy(&trie);
        tsri_text_tokenizer_destroy(&t);
    }
}

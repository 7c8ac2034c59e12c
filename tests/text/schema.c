/* JSON schemas: which texts they allow, and what is refused. */
#include "text/grammar/grammars.h"
#include "text/grammar/read.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <string.h>

/* Texts are separated by line ends of their own. */
static const struct {
    const char *schema, *yes, *no;
} cases[] = {
    {"{\"type\": \"object\"}",
     "{}\r{ \"a\": [1, -2.5e3, {\"b\": null}], \"\": \"\\u00e4\\ud83d\\ude00\\n\"}\r{\n  \"a\": "
     "true\n}",
     "\r[]\r{\"a\":}\r{\"a\" :1}\r{\"a\":01}\r{\"a\":\"\\ud83d\"}\r{\"a\":\"\n\"}\r{} \r{\n\n\n}"},
    {"{}", "1\r\"a\"\rnull\r[[]]\r{\"a\":{}}", "nul\r\r[1,]"},
    {"{\"properties\": {\"a\": {\"type\": \"integer\"}, \"b\": {\"type\": \"boolean\"}, \"c\": "
     "{\"type\": \"null\"}}, \"required\": [\"b\"]}",
     "{\"a\":1,\"b\":true,\"c\":null}\r{\"b\":false}\r{ \"a\": -30, \"b\": true "
     "}\r{\"b\":true,\"c\":null}",
     "{}\r{\"a\":1}\r{\"b\":true,\"a\":1}\r{\"b\":true,}\r{,\"b\":true}\r{\"b\":true,\"d\":1}\r{"
     "\"a\":1 ,\"b\":true}"},
    {"{\"properties\": {\"a\": {\"type\": \"string\"}, \"ab\": {}}, \"additionalProperties\": "
     "{\"type\": \"integer\"}}",
     "{}\r{\"a\":\"x\"}\r{\"ac\":1,\"b\":2}\r{\"ab\":[],\"abc\":3,\"\":4}",
     "{\"a\":1}\r{\"b\":\"x\"}\r{\"ac\":1,\"a\":\"x\"}\r{\"\\u0061\":1}"},
    {"{\"patternProperties\": {\"^n_\": {\"type\": \"integer\"}}}",
     "{}\r{\"n_\":1}\r{\"n_a\":1,\"n_b\":2}",
     "{\"a\":1}\r{\"n_a\":\"x\"}\r{\"an_\":1}\r{\"n_\\u0061\":1}"},
    {"{\"properties\": {\"a\": {\"type\": \"string\"}, \"n_x\": {\"minimum\": 3}}, \"required\": "
     "[\"n_x\"], \"patternProperties\": {\"^n_\": {\"type\": \"integer\"}}, "
     "\"additionalProperties\": false}",
     "{\"n_x\":3}\r{\"a\":\"\",\"n_x\":4,\"n_y\":0}",
     "{\"n_x\":2}\r{\"n_x\":\"a\"}\r{\"n_x\":3,\"n_x\":0}\r{\"n_x\":3,\"b\":1}\r{}"},
    {"{\"patternProperties\": {\"^a\": {\"type\": \"integer\"}, \"z$\": {\"maximum\": 9}}, "
     "\"additionalProperties\": {\"type\": \"boolean\"}}",
     "{\"a\":10,\"z\":1.5,\"az\":9,\"b\":true}\r{\"z\":9,\"xz\":-1}",
     "{\"az\":10}\r{\"z\":10}\r{\"a\":true}\r{\"b\":1}"},
    {"{\"patternProperties\": {\"^a\": false, \"b\": {\"type\": \"integer\"}}, \"required\": "
     "[\"b1\"]}",
     "{\"b1\":1,\"cb\":2}", "{\"b1\":1,\"ab\":2}\r{\"cb\":2}\r{\"b1\":1,\"a\":1}"},
    {"{\"propertyNames\": {\"pattern\": \"^[a-z]+$\", \"maxLength\": 3}, \"additionalProperties\": "
     "{\"type\": \"integer\"}}",
     "{}\r{\"a\":1,\"xyz\":2}", "{\"A\":1}\r{\"abcd\":1}\r{\"\":1}\r{\"a\":\"\"}"},
    {"{\"propertyNames\": {\"enum\": [\"a\", \"b\"]}, \"properties\": {\"a\": {\"type\": "
     "\"string\"}, \"c\": {\"type\": \"string\"}}, \"additionalProperties\": {\"type\": "
     "\"integer\"}}",
     "{\"a\":\"x\",\"b\":1}\r{\"b\":1}\r{}", "{\"c\":\"\"}\r{\"c\":1}\r{\"a\":1}"},
    {"{\"propertyNames\": {\"$ref\": \"#/$defs/n\"}, \"$defs\": {\"n\": {\"minLength\": 2}}, "
     "\"minProperties\": 2}",
     "{\"aa\":1,\"bb\":null}", "{\"aa\":1}\r{\"a\":1,\"bb\":1}"},
    {"{\"type\": \"object\", \"additionalProperties\": {\"type\": \"integer\"}, \"minProperties\": "
     "1, \"maxProperties\": 2, \"required\": []}",
     "{\"a\":1}\r{\"a\":1,\"b\":2}", "{}\r{\"a\":1,\"b\":2,\"c\":3}"},
    {"{\"type\": \"array\", \"items\": {\"enum\": [\"x\", 1, 0.1, null, {\"k\": [true]}]}, "
     "\"minItems\": 1, \"maxItems\": 3}",
     "[\"x\"]\r[1, 0.1, null]\r[{\"k\":[true]}]", "[]\r[\"x\",\"x\",\"x\",\"x\"]\r[2]"},
    {"{\"prefixItems\": [{\"type\": \"integer\"}, {\"const\": \"b\"}], \"items\": {\"type\": "
     "\"boolean\"}, \"minItems\": 3}",
     "[1,\"b\",true]\r[1, \"b\", true, false]", "[1,\"b\"]\r[\"b\",1,true]\r[1,\"b\",2]"},
    {"{\"prefixItems\": [{\"type\": \"integer\"}]}", "[1]", "[]\r[1,2]"},
    {"{\"enum\": [\"a\\u0000b\", {\"x\": 0.1, \"y\": \"\\u0000\"}]}",
     "\"a\\u0000b\"\r{\"x\":0.1,\"y\":\"\\u0000\"}", "\"a\"\r\"a\\u0000\""},
    {"{\"type\": [\"string\", \"null\"], \"minLength\": 2, \"maxLength\": 3}",
     "\"ab\"\r\"\xC3\xA4\\n\\u0041\"\rnull", "\"a\"\r\"abcd\"\r1"},
    {"{\"type\": \"integer\", \"minimum\": -12, \"exclusiveMaximum\": 105}",
     "-12\r-9\r-1\r0\r7\r99\r100\r104", "-13\r105\r-0\r00\r1000\r1.0\r-100"},
    {"{\"type\": \"integer\", \"minimum\": 38.5}", "39\r40\r99\r100\r9999999999999999",
     "38\r4\r0\r-39\r10000000000000000"},
    {"{\"type\": \"integer\", \"maximum\": -1}", "-1\r-10", "0\r1\r-"},
    {"{\"type\": \"number\", \"minimum\": 0, \"maximum\": 1}", "0\r1\r0.5\r1.00\r0.0",
     "1.01\r-0.5\r2\r1e0\r.5"},
    {"{\"type\": \"number\", \"exclusiveMinimum\": -2, \"exclusiveMaximum\": 3}",
     "-1.99\r-0.5\r0\r2.9\r-1", "-2\r-2.0\r3\r3.0\r-2.1"},
    {"{\"type\": \"string\", \"pattern\": \"^[A-C]{2}-\\\\d+(x|y)?$|^\\\\s\\\"$\"}",
     "\"AB-12x\"\r\"CC-0\"\r\" \\\"\"\r\"\\t\\\"\"", "\"AB-\"\r\"xAB-1\"\r\"AB-1z\""},
    {"{\"type\": \"string\", \"pattern\": \"b[^a\\\\n]\"}",
     "\"bc\"\r\"aabxx\"\r\"b\\\\\"\r\"b\\t\"", "\"ba\"\r\"b\"\r\"b\\n\""},
    {"{\"type\": \"string\", \"format\": \"date\"}",
     "\"2024-02-29\"\r\"2000-02-29\"\r\"1999-12-31\"",
     "\"2023-02-29\"\r\"1900-02-29\"\r\"2023-04-31\"\r\"0000-01-01\""},
    {"{\"type\": \"string\", \"format\": \"date-time\"}",
     "\"2024-02-29T23:59:59Z\"\r\"2023-01-01T00:00:00.5+01:30\"",
     "\"2024-02-29 23:59:59Z\"\r\"2023-01-01T24:00:00Z\""},
    {"{\"type\": \"string\", \"format\": \"email\"}", "\"a.b@c.de\"", "\"a@b\"\r\"@b.c\""},
    {"{\"type\": \"string\", \"format\": \"duration\"}",
     "\"P3Y6M4DT12H30M5S\"\r\"P2W\"\r\"PT36H\"\r\"P1D\"\r\"P1MT1M\"",
     "\"P\"\r\"PT\"\r\"P1Y2W\"\r\"1D\"\r\"P1H\"\r\"PT1D\"\r\"P1S\"\r\"P1DT\""},
    {"{\"type\": \"string\", \"format\": \"hostname\"}",
     "\"localhost\"\r\"www.example-site.org\"\r\"3com.net\"",
     "\"\"\r\"-a.b\"\r\"a-.b\"\r\"a..b\"\r\"a_b\"\r\"xn--a\"\r\"a.\""},
    {"{\"format\": \"ipv4\"}", "\"0.0.0.0\"\r\"192.168.1.255\"",
     "\"256.1.1.1\"\r\"1.1.1\"\r\"01.1.1.1\"\r\"1.1.1.1.1\""},
    {"{\"format\": \"ipv6\"}",
     "\"::\"\r\"::1\"\r\"1::\"\r\"fe80::1:2\"\r\"1:2:3:4:5:6:7:8\"\r\"2001:db8::ff00:42:8329\"\r"
     "\"1:2:3:4:5:6:7::\"\r\"::2:3:4:5:6:7:8\"",
     "\"\"\r\":\"\r\"1\"\r\"1:2:3:4:5:6:7\"\r\"1::2::3\"\r\":::\"\r\"12345::\"\r\"1:2:3:4:5:6:7:8:"
     "9\""
     "\r\"1:2:3:4::5:6:7:8\"\r\"g::\""},
    {"{\"format\": \"uri\"}",
     "\"https://example.org/a/b%20c?q=1&r=/?#top\"\r\"http://localhost:8080\"\r\"ftp://[::1]/x\"\r"
     "\"mailto:a@b.de\"\r\"urn:isbn:0451450523\"\r\"http://a//b/\"",
     "\"\"\r\"//a/b\"\r\"/a\"\r\"1a:b\"\r\"http:// "
     "a\"\r\"http://a/%2\"\r\"http://a/\xC3\xA4\"\r\"http://"
     "a/#b#c\"\r\"a\"\r\"http://a:x/\""},
    {"{\"pattern\": \"^[a-c]+$\", \"minLength\": 2, \"maxLength\": 3}", "\"ab\"\r\"cba\"",
     "\"a\"\r\"abca\"\r\"ad\"\r\"\""},
    {"{\"pattern\": \"\xC3\xA4\", \"maxLength\": 2}",
     "\"\xC3\xA4\"\r\"\\n\xC3\xA4\"\r\"\xC3\xA4\xF0\x9F\x98\x80\"\r\"\\u0041\xC3\xA4\"",
     "\"a\"\r\"\"\r\"\xC3\xA4\xC3\xA4\xC3\xA4\""},
    {"{\"pattern\": \"^(a|b)*$\", \"minLength\": 3}", "\"aba\"\r\"bbbbbb\"", "\"ab\"\r\"abc\""},
    {"{\"format\": \"date\", \"pattern\": \"^2024-0[12]-\", \"maxLength\": 10}",
     "\"2024-02-29\"\r\"2024-01-31\"", "\"2024-02-30\"\r\"2024-03-01\"\r\"2024-\""},
    {"{\"type\": [\"integer\", \"string\"], \"pattern\": \"^x|y$\", \"maxLength\": 2}",
     "3\r\"x\"\r\"xa\"\r\"ay\"", "\"a\"\r\"xab\"\r\"aay\""},
    {"{\"$defs\": {\"n\": {\"properties\": {\"v\": {\"type\": \"integer\"}, \"next\": {\"anyOf\": "
     "[{\"$ref\": \"#/$defs/n\"}, {\"type\": \"null\"}]}},"
     "\"required\": [\"v\", \"next\"], \"additionalProperties\": false}}, \"$ref\": \"#/$defs/n\"}",
     "{\"v\":1,\"next\":null}\r{\"v\":1,\"next\":{\"v\":2,\"next\":null}}",
     "{\"v\":1}\r{\"v\":1,\"next\":{}}"},
    {"{\"type\": \"array\", \"items\": {\"$ref\": \"#\"}}", "[]\r[[],[[]]]", "[1]\r[,]"},
    {"{\"$ref\": \"#/$defs/n\", \"$defs\": {\"n\": {\"type\": \"object\", \"properties\": "
     "{\"next\": "
     "{\"allOf\": [{\"$ref\": \"#/$defs/n\"}], \"nullable\": true}}}}}",
     "{}\r{\"next\":null}\r{\"next\":{\"next\":null}}\r{\"next\":{\"next\":{}}}",
     "null\r{\"next\":1}\r{\"next\":[]}\r{\"next\":{\"next\":1}}"},
    {"{\"properties\": {\"v\": {\"type\": \"integer\"}, \"next\": {\"$ref\": \"#\", \"nullable\": "
     "true, "
     "\"description\": \"x\"}, \"other\": {\"$ref\": \"#\", \"required\": [\"next\"]}}, "
     "\"required\": "
     "[\"v\"]}",
     "{\"v\":1}\r{\"v\":1,\"next\":null}\r{\"v\":1,\"next\":{\"v\":2,\"next\":null}}\r{\"v\":1,"
     "\"other\":{\"v\":2,\"next\":null}}",
     "null\r{\"v\":1,\"next\":{}}\r{\"v\":1,\"next\":1}\r{\"v\":1,\"other\":null}\r{\"v\":1,"
     "\"other\":"
     "{\"v\":2}}"},
    {"{\"allOf\": [{\"properties\": {\"a\": {\"type\": \"number\"}}, \"required\": [\"a\"]}, "
     "{\"$ref\": \"#/$defs/b\"}], \"properties\": {\"a\": {\"type\": \"integer\"}},"
     "\"$defs\": {\"b\": {\"properties\": {\"b\": {\"type\": \"string\"}}, \"required\": "
     "[\"b\"]}}}",
     "{\"a\":1,\"b\":\"\"}", "{\"a\":1}\r{\"a\":1.5,\"b\":\"\"}"},
    {"{\"oneOf\": [{\"$ref\": \"#/$defs/a\"}, {\"$ref\": \"#/$defs/b\"}, {\"type\": \"null\"}, "
     "{\"enum\": [1, \"x\"]}], \"$defs\": {\"a\": {\"type\": \"object\", \"properties\": {\"k\": "
     "{\"const\": \"a\"}, \"n\": {\"type\": \"integer\"}}, \"required\": [\"k\"]}, \"b\": "
     "{\"allOf\": [{\"type\": \"object\", \"properties\": {\"k\": {\"const\": \"b\"}, \"n\": "
     "{\"type\": \"string\"}}, \"required\": [\"k\"]}]}}}",
     "{\"k\":\"a\",\"n\":1}\r{\"k\":\"b\",\"n\":\"x\"}\rnull\r1\r\"x\"",
     "{\"k\":\"a\",\"n\":\"x\"}\r{\"n\":1}\r2"},
    {"{\"properties\": {\"a\": {\"type\": \"integer\"}, \"b\": {\"type\": \"integer\"}, \"c\": "
     "{\"type\": \"integer\"}}, \"oneOf\": [{\"required\": [\"a\"]}, {\"required\": [\"b\"]}]}",
     "{\"a\":1}\r{\"b\":1}\r{\"a\":1,\"c\":2}", "{\"a\":1,\"b\":1}\r{\"c\":1}\r{}"},
    {"{\"oneOf\": [{\"type\": \"array\", \"items\": {\"oneOf\": [{\"type\": \"string\"}, "
     "{\"type\": \"integer\"}]}}, {\"type\": \"string\"}]}",
     "[\"a\",1]\r\"x\"", "1\r[null]"},
    {"{\"oneOf\": [{\"properties\": {\"a\": {\"type\": \"integer\"}}, \"required\": [\"a\"]}, "
     "{\"properties\": {\"b\": {\"type\": \"integer\"}}, \"required\": [\"b\"]}]}",
     "{\"a\":1}\r{\"b\":1}", "{}\r{\"a\":1,\"b\":1}"},
    {"{\"oneOf\": [{\"type\": \"object\", \"properties\": {\"o\": {\"anyOf\": [{\"const\": 1}, "
     "{\"const\": 2}]}}, \"required\": [\"o\"]}, {\"type\": \"object\", \"properties\": {\"o\": "
     "{\"enum\": [3, \"1\"]}}, \"additionalProperties\": false}]}",
     "{\"o\":1}\r{\"o\":3}\r{}", "{\"o\":4}"},
    {"{\"type\": \"object\", \"properties\": {\"k\": {\"type\": \"string\"}}, \"required\": "
     "[\"k\"], \"oneOf\": [{\"properties\": {\"k\": {\"const\": \"a\"}}},"
     "{\"properties\": {\"k\": {\"const\": \"b\"}, \"n\": {\"type\": \"integer\", \"nullable\": "
     "true}}, \"required\": [\"n\"]}]}",
     "{\"k\":\"a\"}\r{\"k\":\"b\",\"n\":null}",
     "{\"k\":\"b\"}\r{\"k\":\"c\"}\r{\"k\":\"a\",\"n\":1}"},
};

static tsri_text_grammar *grammar_of(const char *schema) {
    tsri_text_tree tree = {0};
    tsri_text_grammar *g = NULL;
    if (tsri_text_schema_read_text(schema, strlen(schema), &tree) == TSR_OK)
        (void)tsri_text_grammar_create(&tree, NULL, &g);
    tsri_text_tree_clear(&tree);
    return g;
}

static bool matches(tsri_text_grammar *g, const char *text, size_t n) {
    tsri_text_matcher *m = NULL;
    cr_assert(tsri_text_matcher_create(g, &m) == TSR_OK, "%s", tsr_error_last());
    cr_assert(tsri_text_matcher_take(m, text, n) == TSR_OK, "%s", tsr_error_last());
    const bool ends = tsri_text_matcher_may_end(m);
    tsri_text_matcher_destroy(&m);
    return ends;
}

static void try_all(tsri_text_grammar *g, const char *texts, bool want, const char *schema) {
    for (const char *at = texts;; at++) {
        const size_t n = strcspn(at, "\r");
        cr_expect(matches(g, at, n) == want, "%s: %.*s must%s match", schema, (int)n, at,
                  want ? "" : " not");
        at += n;
        if (!*at)
            return;
    }
}

Test(schema, allows) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsri_text_grammar *g = grammar_of(cases[i].schema);
        cr_assert(g, "%s: %s", cases[i].schema, tsr_error_last());
        try_all(g, cases[i].yes, true, cases[i].schema);
        try_all(g, cases[i].no, false, cases[i].schema);
        tsri_text_grammar_release(&g);
    }
}

static const struct {
    const char *schema, *fragment;
} refused[] = {
    {"{", "its text"},
    {"[]", "a schema is an object, or true"},
    {"{\"anyOf\": [false]}", "at /anyOf: it is false: nothing is allowed"},
    {"{\"type\": \"text\"}", "\"type\" is text: object, array,"},
    {"{\"properties\": {\"a\": {\"items\": {\"not\": {}}}}}",
     "at /properties/a/items: \"not\" is not served"},
    {"{\"patternProperties\": []}", "\"patternProperties\" is an object"},
    {"{\"patternProperties\": {\"(\": {}}}", "the pattern \"(\", character 2: a ) is wanted"},
    {"{\"patternProperties\": {\"a\": {}, \"b\": {}, \"c\": {}, \"d\": {}, \"e\": {}}}",
     "more than 4 patterns"},
    {"{\"patternProperties\": {\"a\": {\"not\": 1}}}",
     "at /patternProperties: \"not\" is not served"},
    {"{\"required\": [\"a\"], \"propertyNames\": {\"maxLength\": 0}}",
     "\"a\" is required, but its name may not be written"},
    {"{\"propertyNames\": {\"const\": 1}}", "none of the values"},
    {"{\"allOf\": [{\"additionalProperties\": {\"type\": \"string\"}}, {\"properties\": "
     "{\"b\": {}}}]}",
     "the other one has more properties"},
    {"{\"type\": \"array\", \"uniqueItems\": true}",
     "\"uniqueItems\" is served with the value false alone"},
    {"{\"type\": \"string\", \"format\": \"regex\"}", "the format \"regex\" is not served"},
    {"{\"type\": \"string\", \"pattern\": \"^a{3}$\", \"minLength\": 4}", "no text has its"},
    {"{\"properties\": {\"n\": {\"pattern\": \"^a\", \"format\": \"ipv4\"}}}",
     "at /properties/n: no text has its"},
    {"{\"pattern\": \"^([a-z]{9} ?)*$\", \"maxLength\": 60000}", "more than 32768 states"},
    {"{\"pattern\": \"(a\", \"maxLength\": 6}", "a ) is wanted"},
    {"{\"pattern\": \"(?=a)\"}", "character 2: of groups with a ?"},
    {"{\"pattern\": \"a\\\\b\"}", "\\b is not served"},
    {"{\"pattern\": \"(a\"}", "a ) is wanted"},
    {"{\"pattern\": \"a)\"}", "a ( is missing"},
    {"{\"pattern\": \"**\"}", "nothing to be repeated"},
    {"{\"pattern\": \"[b-a]\"}", "a range ends before it begins"},
    {"{\"pattern\": \"(a$)\"}", "at the two ends alone"},
    {"{\"type\": \"number\", \"multipleOf\": 0.5}",
     "\"multipleOf\" is served with the value 1 alone"},
    {"{\"type\": \"number\", \"minimum\": 0.5}", "if they are whole numbers"},
    {"{\"type\": \"integer\", \"minimum\": 2, \"maximum\": 1}", "no number is between its bounds"},
    {"{\"enum\": []}", "a list of values is wanted"},
    {"{\"enum\": [1], \"minimum\": 0}", "\"minimum\" beside \"enum\""},
    {"{\"type\": \"string\", \"enum\": [1]}", "none of the values"},
    {"{\"oneOf\": [{\"type\": \"integer\"}, {\"type\": \"number\"}]}",
     "parts 1 and 2 of \"oneOf\" may hold at the same time"},
    {"{\"oneOf\": [{\"type\": \"string\"}, {\"const\": 1}, {\"minLength\": 2}]}",
     "parts 1 and 3 of \"oneOf\""},
    {"{\"oneOf\": [{\"type\": \"object\", \"properties\": {\"k\": {\"const\": \"a\"}}, "
     "\"required\": [\"k\"]}, {\"type\": \"object\", \"properties\": {\"k\": {\"enum\": [\"b\", "
     "\"a\"]}}, \"required\": [\"k\"]}]}",
     "parts 1 and 2 of"},
    {"{\"properties\": {\"p\": {\"oneOf\": [{\"type\": \"object\"}, {\"type\": \"object\", "
     "\"required\": [\"a\"]}]}}}",
     "at /properties/p: parts 1 and 2"},
    {"{\"oneOf\": [{\"$ref\": \"#/$defs/a\"}, {\"type\": \"integer\"}], \"$defs\": {\"a\": "
     "{\"oneOf\": [{\"$ref\": \"#/$defs/a\"}, {\"type\": \"string\"}]}}}",
     "of \"oneOf\" may hold at the same time"},
    {"{\"$ref\": \"other.json\"}", "there is nothing at this place"},
    {"{\"$ref\": \"#/$defs/a\"}", "there is nothing at this place"},
    {"{\"$ref\": \"#\", \"nullable\": true}",
     "the schema at \"#\" refers to itself (\"$ref\") before a value"},
    {"{\"$ref\": \"#\"}", "the schema at \"#\" refers to itself (\"$ref\") before a value"},
    {"{\"anyOf\": [{\"type\": \"null\"}, {\"$ref\": \"#/$defs/a\"}], \"$defs\": {\"a\": {\"$ref\": "
     "\"#/$defs/b\"}, \"b\": {\"anyOf\": [{\"type\": \"integer\"}, {\"$ref\": \"#/$defs/a\"}]}}}",
     "the schema at \"#/$defs/a\" refers to itself"},
    {"{\"$ref\": \"#\\u0000/x\"}", "\"$ref\": a text without a 0 byte is wanted"},
    {"{\"type\": \"object\\u0000\"}", "\"type\" is not a text without a 0 byte"},
    {"{\"format\": \"date\\u0000\"}", "\"format\" are texts without a 0 byte"},
    {"{\"pattern\": \"a\\u0000b\"}", "which a pattern writes as \\x00"},
    {"{\"required\": [\"a\\u0000b\"]}", "\"required\" a list of texts without a 0 byte"},
    {"{\"properties\": {\"a\\u0000b\": {}}}", "a name has \\u0000, which is not read"},
    {"{\"$defs\": {\"a\": {\"allOf\": [{\"$ref\": \"#/$defs/a\"}, {\"type\": \"string\"}]}}, "
     "\"$ref\": \"#/$defs/a\"}",
     "within each other"},
    {"{\"allOf\": [{\"pattern\": \"a\"}, {\"pattern\": \"b\"}]}",
     "\"pattern\" stands in two schemas"},
    {"{\"allOf\": [{\"properties\": {\"a\": {}}, \"additionalProperties\": false}, "
     "{\"properties\": {\"b\": {}}}]}",
     "the other one has more properties"},
    {"{\"allOf\": [{\"type\": \"string\"}, {\"type\": \"object\"}]}",
     "no type is allowed by all of its parts"},
    {"{\"required\": [\"a\"], \"properties\": {}, \"additionalProperties\": false}",
     "\"a\" is required, but"},
    {"{\"required\": \"a\"}", "\"required\" a list of texts"},
    {"{\"prefixItems\": [{}], \"items\": false, \"minItems\": 2}", "fewer items"},
    {"{\"type\": \"string\", \"maxLength\": 1e9}", "\"maxLength\": a whole number from 0 to 65536"},
    {"{\"type\": \"array\", \"maxItems\": 60000, \"items\": {\"type\": \"array\", \"maxItems\": "
     "60000, \"items\": {\"type\": \"string\", \"maxLength\": 60000}}}",
     "more than 262144 states"},
};

Test(schema, refused) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tsri_text_grammar *g = grammar_of(refused[i].schema);
        cr_expect(!g && strstr(tsr_error_last(), refused[i].fragment), "%s: %s", refused[i].schema,
                  tsr_error_last());
        tsri_text_grammar_release(&g);
    }
}

/* "before", n times `part`, in which a %zu is the number, with commas, and "after". */
static tsri_text_grammar *grammar_of_many(const char *before, const char *part, size_t n,
                                          const char *after) {
    tsri_bytes text = {0};
    const char *number = strstr(part, "%zu"), *behind = number ? number + 3 : "";
    const int size = (int)(number ? (size_t)(number - part) : strlen(part));
    cr_assert(tsri_base_bytes_printf(&text, "%s", before) == TSR_OK);
    for (size_t i = 0; i < n; i++) {
        cr_assert(tsri_base_bytes_printf(&text, "%s%.*s", i ? ", " : "", size, part) == TSR_OK);
        if (number)
            cr_assert(tsri_base_bytes_printf(&text, "%zu%s", i, behind) == TSR_OK);
    }
    cr_assert(tsri_base_bytes_printf(&text, "%s", after) == TSR_OK);
    tsri_text_grammar *g = grammar_of(text.data);
    tsri_base_bytes_clear(&text);
    return g;
}

/* What takes too long to find out is refused before it does. */
Test(schema, too_much_work) {
    static const struct {
        const char *before, *part, *after, *fragment;
        size_t n;
    } large[] = {
        {"{\"oneOf\": [", "{\"const\": %zu}", "]}", "\"oneOf\" has more than 256 parts", 257},
        {"{\"anyOf\": [",
         "{\"patternProperties\": {\"^(a|b)*a(a|b){12}$\": {\"const\": %zu}}, \"propertyNames\": "
         "{\"pattern\": \"c$\"}}",
         "]}", "need more than 262144 states", 60},
    };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        tsri_text_grammar *g =
            grammar_of_many(large[i].before, large[i].part, large[i].n, large[i].after);
        cr_expect(!g && strstr(tsr_error_last(), large[i].fragment), "%s: %s", large[i].part,
                  tsr_error_last());
        tsri_text_grammar_release(&g);
    }
    /* 60 parts of 20 parts each, which are apart: too many pairs. */
    tsri_bytes text = {0};
    cr_assert(tsri_base_bytes_printf(&text, "{\"oneOf\": [") == TSR_OK);
    for (size_t i = 0; i < 60; i++) {
        cr_assert(tsri_base_bytes_printf(&text, "%s{\"anyOf\": [", i ? ", " : "") == TSR_OK);
        for (size_t k = 0; k < 20; k++)
            cr_assert(tsri_base_bytes_printf(&text, "%s{\"const\": %zu}", k ? ", " : "",
                                             i * 100 + k) == TSR_OK);
        cr_assert(tsri_base_bytes_printf(&text, "]}") == TSR_OK);
    }
    cr_assert(tsri_base_bytes_printf(&text, "]}") == TSR_OK);
    cr_expect(!grammar_of(text.data) && strstr(tsr_error_last(), "more than 131072 pairs"), "%s",
              tsr_error_last());
    tsri_base_bytes_clear(&text);
}

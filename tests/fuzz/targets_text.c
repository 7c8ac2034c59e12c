/* Tokenizers: one is loaded, then a few texts are encoded and ids decoded. */
#include "fuzz.h"

#include "model/tokens/tokens.h"
#include "text/base/reader.h"
#include "text/base/unicode.h"
#include "text/grammar/grammar.h"
#include "text/grammar/read.h"
#include "text/jinja/jinja.h"
#include "text/load/load.h"

#include <string.h>

static const char sample[] =
    "Hello, w\xC3\xB6rld's 12345  tokens\n\t<s>[MASK]\xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x98\x80"
    "e\xCC\x81\xEF\xB7\xBA \xFF\xC3 aaaaaaaaaaaaaaaaaaaaaaaa ab ba don't </s>";

static void decode(const tsri_text_tokenizer *t, const int32_t *ids, size_t n) {
    for (int skip = 0; skip < 2; skip++) {
        tsri_bytes whole = {0}, streamed = {0};
        tsri_text_stream *stream = NULL;
        bool fine = fuzz_is_ok(tsri_text_decode(t, ids, n, skip, &whole)) &&
                    fuzz_is_ok(tsri_text_stream_new(t, skip, &stream));
        for (size_t i = 0; i < n && fine; i++)
            fine = fuzz_is_ok(tsri_text_stream_push(stream, ids[i], &streamed));
        fine = fine && fuzz_is_ok(tsri_text_stream_finish(stream, &streamed));
        if (fine)
            fuzz_must(whole.size == streamed.size &&
                          (!whole.size || !memcmp(whole.data, streamed.data, whole.size)),
                      "a stream decodes as the whole");
        tsri_text_stream_destroy(&stream);
        tsri_base_bytes_clear(&whole);
        tsri_base_bytes_clear(&streamed);
    }
}

static void encode(const tsri_text_tokenizer *t, const char *text, size_t n, unsigned flags) {
    tsri_text_ids ids = {0}, types = {0};
    if (fuzz_is_ok(tsri_text_encode(t, text, n, flags, &ids))) {
        for (size_t i = 0; i < ids.count; i++)
            fuzz_must(ids.data[i] >= 0 && ids.data[i] < tsri_text_vocabulary_size(t),
                      "an id is in the vocabulary");
        decode(t, ids.data, ids.count);
    }
    ids.count = 0;
    if (fuzz_is_ok(
            tsri_text_encode_pair(t, text, n / 2, text + n / 2, n - n / 2, flags, &ids, &types)))
        fuzz_must(ids.count == types.count, "each id has a segment");
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&types);
}

static void use(tsri_text_tokenizer *t, const char *text, size_t n) {
    enum { FIRST = 40 };
    const int32_t V = tsri_text_vocabulary_size(t);
    int32_t ids[FIRST + 3] = {-1, V, INT32_MAX};
    tsri_bytes described = {0};
    size_t count = 3, size;
    (void)fuzz_is_ok(tsri_text_describe(t, &described));
    for (unsigned flags = 0; flags < 4; flags++)
        encode(t, text, n, flags);
    for (int32_t id = 0; id < V && id < FIRST; id++) {
        const char *piece = tsri_text_piece_of(t, id, &size);
        if (piece && size)
            encode(t, piece, size, TSRI_TEXT_PARSE_SPECIAL);
        ids[count++] = id;
    }
    decode(t, ids, count);
    tsri_base_bytes_clear(&described);
}

/* The second part, if there is one, is a text. */
static void use_on(tsri_text_tokenizer *t, const fuzz_part *parts, size_t n) {
    if (n > 1)
        use(t, parts[1].data, parts[1].size < 4096 ? parts[1].size : 4096);
    else
        use(t, sample, sizeof sample - 1);
    tsri_text_tokenizer_destroy(&t);
}

static void tokenizer_json(const fuzz_part *parts, size_t n) {
    tsri_text_tokenizer *t = NULL;
    if (fuzz_is_ok(tsri_text_from_json_text(parts[0].data, parts[0].size, "tokenizer.json", &t)))
        use_on(t, parts, n);
}

static void sentencepiece(const fuzz_part *parts, size_t n) {
    tsri_text_tokenizer *t = NULL;
    if (fuzz_is_ok(tsri_text_from_sentencepiece(parts[0].data, parts[0].size, &t)))
        use_on(t, parts, n);
}

static void llama2c_tokenizer(const fuzz_part *parts, size_t n) {
    static const int64_t sizes[] = {320, 1, 3, 259, 32000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tsri_text_tokenizer *t = NULL;
        if (fuzz_is_ok(tsri_text_from_llama2c(parts[0].data, parts[0].size, sizes[i], &t)))
            use_on(t, parts, n);
    }
}

static void vocab_txt(const fuzz_part *parts, size_t n) {
    const tsri_text_bert options = {.lowercase = true, .strip_accents = true, .chinese = true};
    tsri_text_tokenizer *t = NULL;
    if (fuzz_is_ok(tsri_text_from_bert_vocabulary(parts[0].data, parts[0].size, &options, &t)))
        use_on(t, parts, n);
}

static void tiktoken(const fuzz_part *parts, size_t n) {
    static const char *const names[] = {"cl100k_base", "kimi.tiktoken", "other"};
    const bool known = tsri_text_is_tiktoken(parts[0].data, parts[0].size);
    for (size_t i = 0; i < sizeof names / sizeof *names && (known || i == 0); i++) {
        const tsri_text_tiktoken options = {.file = names[i]};
        tsri_text_tokenizer *t = NULL;
        if (fuzz_is_ok(tsri_text_from_tiktoken(parts[0].data, parts[0].size, &options, &t)))
            use_on(t, parts, n);
    }
}

static void tekken(const fuzz_part *parts, size_t n) {
    tsri_text_tokenizer *t = NULL;
    (void)tsri_text_is_tekken(parts[0].data, parts[0].size);
    if (fuzz_is_ok(tsri_text_from_tekken(parts[0].data, parts[0].size, &t)))
        use_on(t, parts, n);
}

/* vocab.json, merges.txt, tokenizer_config.json, special_tokens_map.json, of GPT-2 or of Marian. */
static void vocab_and_merges(const fuzz_part *parts, size_t n) {
    static const char *const families[] = {"gpt2", "marian", "m2m_100", "bert", "xlm-roberta"};
    fuzz_write_part("vocab.json", parts, n, 0);
    fuzz_write_part("merges.txt", parts, n, 1);
    fuzz_write_part("tokenizer_config.json", parts, n, 2);
    fuzz_write_part("special_tokens_map.json", parts, n, 3);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        tsri_model_spec spec;
        tsri_text_tokenizer *t = NULL;
        tsri_model_spec_defaults(&spec);
        strcpy(spec.family, families[i]);
        spec.vocab = 64;
        if (fuzz_is_ok(tsri_model_folder_tokenizer(".", &spec, &t)) && t)
            use_on(t, NULL, 0);
    }
}

static void begin_text(void) {
    fuzz_copy_golden("tokenizers/byte.json", "byte.json");
    fuzz_copy_golden("tokenizers/char.json", "char.json");
    fuzz_copy_golden("tokenizers/small.model", "small.model");
    fuzz_copy_golden("tokenizers/unigram_map.model", "unigram_map.model");
}

/* A text file, read by pieces and by lines; then its text goes through four tokenizers. */
static void text(const fuzz_part *parts, size_t n) {
    static tsri_text_tokenizer *tokenizers[4];
    static const char *const files[] = {"byte.json", "char.json", "small.model",
                                        "unigram_map.model"};
    (void)n;
    fuzz_write("x.txt", parts[0].data, parts[0].size);
    for (int lines = 0; lines < 3; lines++) {
        tsri_text_reader *reader = NULL;
        char *at = "";
        size_t size = 1;
        bool fine = fuzz_is_ok(tsri_text_reader_open("x.txt", &reader));
        while (fine && at && size) {
            fine = fuzz_is_ok(lines == 2 ? tsri_text_reader_line(reader, &at, &size)
                                         : tsri_text_reader_piece(reader, lines, &at, &size));
            size += lines == 2; /* a line may be empty */
        }
        tsri_text_reader_close(&reader);
    }
    for (int form = TSRI_TEXT_NFC; form <= (int)TSRI_TEXT_NFKD; form++) {
        tsri_bytes once = {0}, twice = {0};
        if (tsri_text_utf8_valid(parts[0].data, parts[0].size) &&
            fuzz_is_ok(tsri_text_normal_form(form, parts[0].data, parts[0].size, &once)) &&
            fuzz_is_ok(tsri_text_normal_form(form, once.data, once.size, &twice)))
            fuzz_must(once.size == twice.size && !memcmp(once.data, twice.data, once.size),
                      "a normal form is its own normal form");
        tsri_base_bytes_clear(&once);
        tsri_base_bytes_clear(&twice);
    }
    for (size_t i = 0; i < 4; i++) {
        if (!tokenizers[i])
            fuzz_must(tsri_model_tokenizer_at(files[i], &tokenizers[i]) == TSR_OK, files[i]);
        for (unsigned flags = 0; flags < 4; flags++)
            encode(tokenizers[i], parts[0].data, parts[0].size, flags);
    }
}

/* A chat template, rendered with one conversation. */
static void chat_template(const fuzz_part *parts, size_t n) {
    static const char context[] =
        "{\"messages\": [{\"role\": \"system\", \"content\": \"brief\"}, {\"role\": \"user\", "
        "\"content\": \" w\u00f6rds <|im_end|> \"}], \"tools\": [{\"name\": \"t\", \"n\": [1, 2.5, "
        "null, true]}], \"bos_token\": \"<s>\", \"add_generation_prompt\": true}";
    tsri_jinja *t = NULL;
    json_t *json = NULL;
    tsri_bytes text = {0}, said = {0};
    (void)n;
    fuzz_must(tsri_base_json_parse(context, sizeof context - 1, 16, "context", &json) == TSR_OK,
              "the context");
    if (fuzz_is_ok(tsri_jinja_parse(parts[0].data, parts[0].size, &t)) &&
        fuzz_is_ok(tsri_jinja_render(t, json, NULL, 1, &text, &said)))
        fuzz_must(text.size == said.size, "each byte has its mark");
    tsri_jinja_destroy(&t);
    json_decref(json);
    tsri_base_bytes_clear(&text);
    tsri_base_bytes_clear(&said);
}

/* Takes a text in a grammar: all of it, or what of it is allowed, and compares the mask with the tokens. */
static void follow(tsri_text_matcher *m, const tsri_text_tokenizer *t, const tsri_text_trie *trie,
                   const char *text, size_t n) {
    const uint32_t *mask;
    for (size_t i = 0; i < n && !tsri_text_matcher_dead(m); i++) {
        if (!fuzz_is_ok(tsri_text_matcher_mask(m, &mask)))
            return;
        tsri_bytes bytes = {0};
        const int32_t id = (unsigned char)text[i] % trie->V;
        const bool fits = mask[id / 32] >> (id % 32) & 1;
        fuzz_must(tsri_text_token_bytes(t, id, &bytes) == TSR_OK, "bytes of a token");
        const bool special = tsri_text_is_special(t, id),
                   other = !special && bytes.size && !memchr(bytes.data, 0xFF, bytes.size);
        const bool taken = fuzz_is_ok(special ? tsri_text_matcher_take_special(m, id)
                                              : tsri_text_matcher_take(m, bytes.data, bytes.size));
        if (taken && other)
            fuzz_must(fits == !tsri_text_matcher_dead(m), "a mask has the tokens that fit");
        tsri_base_bytes_clear(&bytes);
        if (!taken)
            return;
    }
}

/* A grammar, and a text whose bytes choose tokens. */
typedef tsr_status read_fn(const char *text, size_t n, const tsri_text_tokenizer *tokenizer,
                           tsri_text_tree *tree);

static void constrain(read_fn *read, const fuzz_part *parts, size_t n) {
    static tsri_text_tokenizer *tokenizer;
    static tsri_text_trie *trie;
    tsri_text_tree tree = {0};
    tsri_text_grammar *g = NULL;
    tsri_text_matcher *m = NULL;
    if (!tokenizer)
        fuzz_must(tsri_model_tokenizer_at("byte.json", &tokenizer) == TSR_OK &&
                      tsri_text_trie_create(tokenizer, &trie) == TSR_OK,
                  "the vocabulary");
    if (fuzz_is_ok(read(parts[0].data, parts[0].size, tokenizer, &tree)) &&
        fuzz_is_ok(tsri_text_grammar_create(&tree, trie, &g)) &&
        fuzz_is_ok(tsri_text_matcher_create(g, &m)) && n > 1)
        follow(m, tokenizer, trie, parts[1].data, parts[1].size);
    tsri_text_matcher_destroy(&m);
    tsri_text_grammar_release(&g);
    tsri_text_tree_clear(&tree);
}

static void grammar(const fuzz_part *parts, size_t n) {
    constrain(tsri_text_gbnf_read, parts, n);
}

static tsr_status read_schema(const char *text, size_t n, const tsri_text_tokenizer *tokenizer,
                              tsri_text_tree *tree) {
    (void)tokenizer;
    return tsri_text_schema_read_text(text, n, tree);
}

static void json_schema(const fuzz_part *parts, size_t n) {
    constrain(read_schema, parts, n);
}

const fuzz_target fuzz_text_targets[] = {
    {"tokenizer_json", NULL, tokenizer_json, 2},
    {"sentencepiece", NULL, sentencepiece, 2},
    {"llama2c_tokenizer", NULL, llama2c_tokenizer, 2},
    {"vocab_txt", NULL, vocab_txt, 2},
    {"tiktoken", NULL, tiktoken, 2},
    {"tekken", NULL, tekken, 2},
    {"vocab_and_merges", NULL, vocab_and_merges, 4},
    {"text", begin_text, text, 1},
    {"chat_template", NULL, chat_template, 1},
    {"grammar", begin_text, grammar, 2},
    {"json_schema", begin_text, json_schema, 2},
    {0},
};

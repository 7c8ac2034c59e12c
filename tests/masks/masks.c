/* masks TOKENIZER [gbnf|schema FILE] - for each line of token ids on standard input, the ids of the tokens that may
 * follow it in a grammar, and "end" where the text may end. Without a grammar: the bytes of each token, in
 * hexadecimal; nothing for a special one. */
#include "base/files.h"
#include "model/tokens/tokens.h"
#include "text/grammar/grammar.h"
#include "text/grammar/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(tsr_status status) {
    if (status == TSR_OK)
        return;
    fprintf(stderr, "%s\n", tsr_error_last());
    exit(1);
}

static void print_tokens(const tsri_text_tokenizer *t) {
    tsri_bytes bytes = {0};
    for (int32_t id = 0; id < tsri_text_vocabulary_size(t); id++) {
        bytes.size = 0;
        if (!tsri_text_is_special(t, id))
            must(tsri_text_token_bytes(t, id, &bytes));
        for (size_t i = 0; i < bytes.size; i++)
            printf("%02x", (unsigned char)bytes.data[i]);
        printf("\n");
    }
    tsri_base_bytes_clear(&bytes);
}

static void print_mask(const tsri_text_tokenizer *t, tsri_text_grammar *g, const char *ids) {
    tsri_text_matcher *m = NULL;
    tsri_bytes bytes = {0};
    const uint32_t *mask;
    char *end;
    must(tsri_text_matcher_create(g, &m));
    for (long id = strtol(ids, &end, 10); end != ids; id = strtol(ids = end, &end, 10)) {
        bytes.size = 0;
        must(tsri_text_token_bytes(t, (int32_t)id, &bytes));
        must(tsri_text_matcher_take(m, bytes.data, bytes.size));
    }
    must(tsri_text_matcher_mask(m, &mask));
    for (int32_t id = 0; id < tsri_text_matcher_vocabulary(m); id++)
        if (mask[id / 32] >> (id % 32) & 1)
            printf("%d ", (int)id);
    printf(tsri_text_matcher_may_end(m) ? "end\n" : "\n");
    fflush(stdout);
    tsri_base_bytes_clear(&bytes);
    tsri_text_matcher_destroy(&m);
}

int main(int argc, char **argv) {
    enum { MOST = 1 << 20 };
    tsri_text_tokenizer *t = NULL;
    tsri_text_trie *trie = NULL;
    tsri_text_tree tree = {0};
    tsri_text_grammar *g = NULL;
    tsri_bytes text = {0};
    char *line = NULL;
    size_t room = 0;
    must(tsri_model_tokenizer_at(argv[1], &t));
    if (argc < 4) {
        print_tokens(t);
    } else {
        must(tsri_text_trie_create(t, &trie));
        must(tsri_base_read_whole(argv[3], MOST, &text));
        if (strcmp(argv[2], "gbnf"))
            must(tsri_text_schema_read_text(text.data, text.size, &tree));
        else
            must(tsri_text_gbnf_read(text.data, text.size, t, &tree));
        must(tsri_text_grammar_create(&tree, trie, &g));
        while (getline(&line, &room, stdin) > 0)
            print_mask(t, g, line);
    }
    free(line);
    tsri_text_grammar_release(&g);
    tsri_text_tree_clear(&tree);
    tsri_base_bytes_clear(&text);
    tsri_text_trie_destroy(&trie);
    tsri_text_tokenizer_destroy(&t);
    return 0;
}

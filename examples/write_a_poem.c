/* write_a_poem.c - attention by hand: three words of two numbers each, on any device.
 *
 *     write_a_poem [DEVICE [DIGITS]]
 *
 * Attention mixes words: each word becomes a weighted mean of all words. Three steps show where the
 * weights come from: from the words themselves; from queries and keys, which are the words
 * multiplied by two matrices; and from several such views at once. Ops on the device compute every
 * number. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tessera/tessera.h>

enum { WORDS = 3, WIDTH = 2, HEADS = 2 };

static const char *const word[WORDS] = {"write", "a", "poem"};
static const float x_data[WORDS * WIDTH] = {1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f};
static const float wq_data[WIDTH * WIDTH] = {0.54f, -0.17f, 0.59f, 0.65f};
static const float wk_data[WIDTH * WIDTH] = {-0.15f, -0.34f, 0.14f, 0.42f};
static const float wv_data[WIDTH * WIDTH] = {0.62f, 0.61f, -0.52f, 0.13f};

/* The arrays that are read back from the device. */
static float similarities[WORDS][WORDS], by_words[WORDS][WORDS], mixed_words[WORDS][WIDTH];
static float q_data[WORDS][WIDTH], k_data[WORDS][WIDTH], v_data[WORDS][WIDTH];
static float scores[WORDS][WORDS], unscaled[WORDS][WORDS];
static float weights[2][WORDS][WORDS], mixed[2][WORDS][WIDTH], fused[2][WORDS][WIDTH];
static float head_weights[HEADS][WORDS][WORDS], head_mixed[WORDS][WIDTH];

/* ---- the graph ---- */

/* a b, or a bᵀ */
static tsr_value product(tsr_graph *g, tsr_value a, tsr_value b, int transposed) {
    const tsr_matmul_attrs attrs = {.struct_size = sizeof attrs, .trans_b = transposed != 0};
    return tsr_graph_op(g, TSR_OP_MATMUL, &attrs, (tsr_value[]){a, b}, 2);
}

/* Softmax of each row of scale x: shares that sum to 1. causal: only over the words up to the row's
 * own. */
static tsr_value softmax(tsr_graph *g, tsr_value x, float scale, int causal) {
    const tsr_softmax_attrs attrs = {
        .struct_size = sizeof attrs, .scale = scale, .causal = causal != 0};
    return tsr_graph_op(g, TSR_OP_SOFTMAX, &attrs, &x, 1);
}

static tsr_value seen_through(tsr_graph *g, tsr_value x, const char *name, const float *matrix) {
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs};
    const tsr_value w = tsr_graph_weight(g, name, TSR_F32, 2, (int64_t[]){WIDTH, WIDTH}, matrix);
    return tsr_graph_op(g, TSR_OP_LINEAR, &attrs, (tsr_value[]){x, w}, 2);
}

/* Uses the similarities of the words themselves as weights. */
static void without_parameters(tsr_graph *g, tsr_value x) {
    const tsr_value s = product(g, x, x, 1), p = softmax(g, s, 1, 0);
    tsr_graph_output(g, "similarities", s, similarities, sizeof similarities);
    tsr_graph_output(g, "weights", p, by_words, sizeof by_words);
    tsr_graph_output(g, "output", product(g, p, x, 0), mixed_words, sizeof mixed_words);
}

/* One head, step by step and as the single op that models use, which never stores a words x words
 * array. */
static void one_head(tsr_graph *g, tsr_value q, tsr_value k, tsr_value v) {
    const float scale = 1 / sqrtf(WIDTH);
    const tsr_value s = product(g, q, k, 1);
    tsr_graph_output(g, "scores", s, scores, sizeof scores);
    tsr_graph_output(g, "unscaled", softmax(g, s, 1, 0), unscaled, sizeof unscaled);
    for (int causal = 0; causal < 2; causal++) {
        const tsr_attention_attrs attrs = {
            .struct_size = sizeof attrs, .scale = scale, .causal = (uint32_t)causal};
        const int64_t dims[] = {1, WORDS, 1, WIDTH}; /* sequences, words, heads, width */
        const tsr_value p = softmax(g, s, scale, causal),
                        all = tsr_graph_op(g, TSR_OP_ATTENTION, &attrs,
                                           (tsr_value[]){tsr_graph_reshape(g, q, 4, dims),
                                                         tsr_graph_reshape(g, k, 4, dims),
                                                         tsr_graph_reshape(g, v, 4, dims)},
                                           3);
        tsr_graph_output(g, "weights", p, weights[causal], sizeof weights[causal]);
        tsr_graph_output(g, "output", product(g, p, v, 0), mixed[causal], sizeof mixed[causal]);
        tsr_graph_output(g, "fused", all, fused[causal], sizeof fused[causal]);
    }
}

/* [words, heads * width] as [heads, words, width] */
static tsr_value by_head(tsr_graph *g, tsr_value x) {
    const tsr_value split = tsr_graph_reshape(g, x, 3, (int64_t[]){WORDS, HEADS, WIDTH / HEADS});
    return tsr_graph_permute(g, split, (uint32_t[]){1, 0, 2});
}

/* Two heads of width 1: each column of q, k and v is a head of its own. */
static void two_heads(tsr_graph *g, tsr_value q, tsr_value k, tsr_value v) {
    const tsr_value p =
        softmax(g, product(g, by_head(g, q), by_head(g, k), 1), 1 / sqrtf((float)WIDTH / HEADS), 0);
    const tsr_value y = product(g, p, by_head(g, v), 0);
    tsr_graph_output(g, "weights", p, head_weights, sizeof head_weights);
    tsr_graph_output(g, "output", tsr_graph_permute(g, y, (uint32_t[]){1, 0, 2}), head_mixed,
                     sizeof head_mixed);
}

static tsr_status compute(tsr_device *device) {
    tsr_graph *g = NULL;
    tsr_status status = tsr_graph_create(device, &g);
    if (status != TSR_OK)
        return status;
    const tsr_value x = tsr_graph_input(g, "x", TSR_F32, 2, (int64_t[]){WORDS, WIDTH}, x_data);
    const tsr_value q = seen_through(g, x, "wq", wq_data), k = seen_through(g, x, "wk", wk_data),
                    v = seen_through(g, x, "wv", wv_data);
    tsr_graph_output(g, "q", q, q_data, sizeof q_data);
    tsr_graph_output(g, "k", k, k_data, sizeof k_data);
    tsr_graph_output(g, "v", v, v_data, sizeof v_data);
    without_parameters(g, x);
    one_head(g, q, k, v);
    two_heads(g, q, k, v);
    status = tsr_graph_run(g);
    tsr_graph_destroy(&g);
    return status;
}

/* ---- printing ---- */

static int digits = 4;

static void number(float value) {
    printf("  %*.*f", digits + 4, digits, (double)value);
}

static void table(const char *name, const float *values, int columns) {
    printf("\n%s\n", name);
    for (int i = 0; i < WORDS; i++) {
        printf("  %-5s", word[i]);
        for (int j = 0; j < columns; j++)
            number(values[i * columns + j]);
        puts("");
    }
}

static void tell_without_parameters(void) {
    float divided[WORDS][WORDS];
    puts("\n1. The words themselves\n\nHow alike two words are: the product of their numbers.");
    table("parameter_free.similarities", similarities[0], WORDS);
    for (int i = 0; i < WORDS; i++)
        for (int j = 0; j < WORDS; j++)
            divided[i][j] =
                similarities[i][j] / (similarities[i][0] + similarities[i][1] + similarities[i][2]);
    puts("\nDivided by its sum, a row sums to 1. But products may be negative: then \"a\" has a "
         "negative\nshare of \"poem\", and if a row's sum is near 0, its shares grow without "
         "bound.");
    table("parameter_free.divided_by_row_sum", divided[0], WORDS);
    puts("\nSoftmax takes exp first: every share is positive, and their order stays the same.");
    table("parameter_free.probabilities", by_words[0], WORDS);
    puts("\nEach word becomes the mean of all words, weighted by these shares.");
    table("parameter_free.output", mixed_words[0], WIDTH);
}

/* Prints the query of one word, and the key, weight and value of each word for it. */
static void tell_word(const char *name, int i, int causal) {
    const int wide = WIDTH * (digits + 6);
    printf("\n%s.%s\n  %-5s  %-*s%-*s%*s%*s  %s\n", name, word[i], "", wide, "  query", wide,
           "  key", digits + 6, "similarity", digits + 6, "weight", "  value");
    for (int j = 0; j < WORDS; j++) {
        printf("  %-5s", word[j]);
        for (int c = 0; c < WIDTH; c++)
            number(q_data[i][c]);
        for (int c = 0; c < WIDTH; c++)
            number(k_data[j][c]);
        number(scores[i][j] / sqrtf(WIDTH));
        number(weights[causal][i][j]);
        for (int c = 0; c < WIDTH; c++)
            number(v_data[j][c]);
        puts("");
    }
}

static void tell_one_head(void) {
    puts("\n2. Query, key and value\n\nThree matrices say what a word asks for, what it answers "
         "to, and what it gives.");
    table("q", q_data[0], WIDTH);
    table("k", k_data[0], WIDTH);
    table("v", v_data[0], WIDTH);
    puts("\nSimilarity is now the product of a query and a key. It grows with the width of the "
         "words, so it is\ndivided by the square root of the width; otherwise softmax would favour "
         "a single word.");
    table("unmasked.scores", scores[0], WORDS);
    table("unscaled.probabilities", unscaled[0], WORDS);
    for (int i = 0; i < WORDS; i++)
        tell_word("unmasked", i, 0);
    table("unmasked.output", mixed[0][0], WIDTH);
    table("unmasked.fused", fused[0][0], WIDTH);
    puts("\nMasked: a model that writes from left to right cannot see the words that come later.");
    for (int i = 0; i < WORDS; i++)
        tell_word("masked", i, 1);
    table("masked.output", mixed[1][0], WIDTH);
    table("masked.fused", fused[1][0], WIDTH);
}

int main(int argc, char **argv) {
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    digits = argc > 2 ? atoi(argv[2]) : digits;
    tsr_status status = tsr_engine_create(NULL, &engine);
    if (status == TSR_OK)
        status = tsr_device_open(engine, argc > 1 ? argv[1] : NULL, NULL, &device);
    if (status == TSR_OK)
        status = compute(device);
    if (status == TSR_OK) {
        printf("\"write a poem\" on %s\n", tsr_device_describe(device));
        table("x", x_data, WIDTH);
        tell_without_parameters();
        tell_one_head();
        puts("\n3. Two heads\n\nOne head takes the first number of q, k and v, the other head the "
             "second: two views of the same words.");
        table("two_heads.probabilities.0", head_weights[0][0], WORDS);
        table("two_heads.probabilities.1", head_weights[1][0], WORDS);
        table("two_heads.output", head_mixed[0], WIDTH);
    } else
        fprintf(stderr, "write_a_poem: %s\n", tsr_error_last());
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    return status != TSR_OK;
}

/* How the shards of an update are dealt to ranks, and when anew. */
#include "train/run/balance.h"

#include <criterion/criterion.h>
#include <string.h>

#define OK(call) cr_assert_eq(call, TSR_OK)

enum { MOST = 64 };

/* Every shard belongs to one rank, nodes are aligned, and each rank has as few as can be. */
static void check_deal(const tsri_training_deal *d, const uint32_t *counts) {
    uint32_t next = 0;
    size_t most = 0;
    for (size_t i = 0; i < d->n; i++) {
        cr_assert_eq(d->nodes[i].first, next);
        cr_assert_eq(next % (1u << d->nodes[i].level), 0, "node %zu is not aligned", i);
        next += 1u << d->nodes[i].level;
    }
    cr_assert_eq(next, d->shards);
    for (uint32_t r = 0; r < d->ranks; r++) {
        const size_t n = tsri_training_deal_count(d, r);
        cr_assert_eq(tsri_training_deal_shards(d, r), counts[r]);
        cr_assert_eq(n, (size_t)__builtin_popcount(counts[r]));
        most = n > most ? n : most;
        for (size_t i = 0; i < n; i++) {
            const size_t at = tsri_training_deal_index(d, r, i);
            cr_assert_eq(d->nodes[at].rank, r);
            cr_assert(!i || at > tsri_training_deal_index(d, r, i - 1));
        }
    }
    cr_assert_eq(d->most, most);
}

Test(deal, every_shard_belongs_to_one_rank) {
    static const struct {
        uint32_t shards, ranks, counts[4];
    } rows[] = {{1, 1, {1}},          {8, 1, {8}},        {8, 2, {4, 4}},
                {8, 2, {7, 1}},       {8, 2, {1, 7}},     {8, 2, {3, 5}},
                {8, 3, {3, 3, 2}},    {8, 3, {1, 6, 1}},  {8, 4, {2, 2, 2, 2}},
                {8, 4, {5, 1, 1, 1}}, {16, 3, {7, 7, 2}}, {1024, 3, {341, 342, 341}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_training_deal deal = {0};
        OK(tsri_training_deal_make(rows[i].shards, rows[i].counts, rows[i].ranks, &deal));
        check_deal(&deal, rows[i].counts);
        tsri_training_deal_clear(&deal);
    }
}

Test(deal, equal_ranks_have_one_node_each_in_their_order) {
    static const double same[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (uint32_t ranks = 1; ranks <= 8; ranks *= 2) {
        uint32_t counts[8];
        tsri_training_deal deal = {0};
        tsri_training_deal_by_speed(8, same, ranks, counts);
        OK(tsri_training_deal_make(8, counts, ranks, &deal));
        cr_expect_eq(deal.n, ranks);
        for (uint32_t r = 0; r < ranks; r++)
            cr_expect(deal.nodes[r].rank == r && deal.nodes[r].first == r * (8 / ranks));
        tsri_training_deal_clear(&deal);
    }
}

/* The least time of the slowest rank, by trying all deals. */
static double best_of(uint32_t left, const double *seconds, uint32_t ranks) {
    double best = 1e30;
    if (ranks == 1)
        return left * *seconds;
    for (uint32_t n = 1; n + ranks - 1 <= left; n++) {
        const double own = n * *seconds, others = best_of(left - n, seconds + 1, ranks - 1),
                     slowest = own > others ? own : others;
        best = slowest < best ? slowest : best;
    }
    return best;
}

Test(deal, the_slowest_rank_is_done_as_early_as_can_be) {
    static const double speeds[][4] = {{1, 1, 1, 1},       {1, 2, 1, 1},       {1, 1, 1, 100},
                                       {0.5, 0.7, 1, 1.3}, {3, 2.9, 2.8, 0.1}, {9, 1, 9, 1}};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        for (uint32_t ranks = 1; ranks <= 4; ranks++) {
            uint32_t counts[4], sum = 0;
            double slowest = 0;
            tsri_training_deal_by_speed(16, speeds[i], ranks, counts);
            for (uint32_t r = 0; r < ranks; r++) {
                cr_expect_geq(counts[r], 1);
                sum += counts[r];
                slowest = counts[r] * speeds[i][r] > slowest ? counts[r] * speeds[i][r] : slowest;
            }
            cr_expect_eq(sum, 16);
            cr_expect_leq(slowest, best_of(16, speeds[i], ranks) * (1 + 1e-12), "row %zu, %u ranks",
                          i, ranks);
        }
}

/* Numbers whose sum depends on the order. */
static float number(uint32_t i) {
    return (i % 3 ? 1e-3f : 1.0f) * (float)(i * 2654435761u % 1000003u);
}

static float whole(uint32_t first, uint32_t n) {
    return n == 1 ? number(first) : whole(first, n / 2) + whole(first + n / 2, n / 2);
}

Test(deal, nodes_are_added_as_the_tree_has_them) {
    for (uint32_t a = 1; a < MOST; a++) {
        const uint32_t b = (MOST - a) / 2, counts[] = {a, b, MOST - a - b};
        float sums[MOST][2];
        tsri_training_deal deal = {0};
        if (!b)
            continue;
        OK(tsri_training_deal_make(MOST, counts, 3, &deal));
        for (size_t i = 0; i < deal.n; i++) {
            sums[i][0] = whole(deal.nodes[i].first, 1u << deal.nodes[i].level);
            sums[i][1] = -sums[i][0];
        }
        tsri_training_deal_add(&deal, sums[0], 2);
        cr_expect(sums[0][0] == whole(0, MOST) && sums[0][1] == -whole(0, MOST), "%u %u %u", a, b,
                  MOST - a - b);
        tsri_training_deal_clear(&deal);
    }
}

/* Runs steps until the shards are dealt anew; returns their number, and 0 after `most` steps. */
static int steps_until(tsri_train_balance *b, tsri_training_deal *deal, const double *a_shard,
                       int most) {
    for (int i = 1; i <= most; i++) {
        const uint32_t *counts = NULL;
        for (uint32_t r = 0; r < deal->ranks; r++) {
            const double odd = i == 3 ? 50 : 1; /* a single slow step does not count */
            tsri_train_balance_took(b, r, odd * a_shard[r] * tsri_training_deal_shards(deal, r));
        }
        if (tsri_train_balance_step(b, deal, &counts)) {
            OK(tsri_training_deal_make(deal->shards, counts, deal->ranks, deal));
            return i;
        }
    }
    return 0;
}

Test(deal, anew_where_speeds_change_and_only_then) {
    static const double same[] = {0.1, 0.1, 0.1}, nearly[] = {0.1, 0.102, 0.1},
                        slow[] = {0.1, 0.1, 0.4};
    static const uint32_t equal[] = {3, 3, 2};
    tsri_train_balance *b = NULL;
    tsri_training_deal deal = {0};
    OK(tsri_train_balance_create(3, &b));
    OK(tsri_training_deal_make(8, equal, 3, &deal));
    cr_expect_eq(steps_until(b, &deal, same, 40), 0);
    cr_expect_eq(steps_until(b, &deal, nearly, 40), 0);
    cr_expect(steps_until(b, &deal, slow, 40) > 0);
    cr_expect(tsri_training_deal_shards(&deal, 2) == 1, "the slow rank has %u",
              tsri_training_deal_shards(&deal, 2));
    cr_expect_float_eq(tsri_train_balance_seconds(b)[2], 0.4, 1e-9);
    cr_expect_eq(steps_until(b, &deal, slow, 40), 0);
    const int steps = steps_until(b, &deal, same, 40);
    cr_expect(steps > 1 && steps <= 11, "after %d steps", steps);
    cr_expect_eq(tsri_training_deal_shards(&deal, 2), 2);
    tsri_training_deal_clear(&deal);
    tsri_train_balance_destroy(&b);
    cr_expect_null(b);
}

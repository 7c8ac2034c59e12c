/* share BLOCKS SIZE - one rank of a work that is shared in blocks, started by mpirun.
 * tests/cli/faults/ranks.py says what is expected.
 *
 * Rank 0 makes BLOCKS blocks of SIZE numbers, each rank adds 1 to the numbers of its blocks, and
 * rank 0 finds them in order. The last rank is slow. A block in seven is not there at once. Each
 * rank prints how many blocks it had. Ends with 0; with 5 where a call fails. */
#include "tessera/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct work {
    uint64_t blocks, size, made, taken;
    uint64_t *block;
    int late;
} work;

static void must(tsr_status status) {
    if (status == TSR_OK)
        return;
    fprintf(stderr, "failed: %s: %s\n", tsr_status_name(status), tsr_error_last());
    exit(5);
}

static int make(void *data, int wait, uint64_t most, const void **block, size_t *n) {
    work *w = data;
    if (w->made == w->blocks)
        return 0;
    w->late = w->made % 7 == 3 && !w->late;
    if (w->late && !wait)
        return -1;
    for (uint64_t i = 0; i < w->size; i++)
        w->block[i] = w->made * w->size + i;
    w->made++;
    *block = w->block;
    *n = w->size * sizeof *w->block;
    return most == 5 ? 1 : -2;
}

static int take(void *data, const void *result, size_t n) {
    work *w = data;
    const uint64_t *numbers = result;
    int right = n == (w->taken % 5 ? w->size * sizeof *numbers : 0); /* some results are empty */
    for (uint64_t i = 0; i < n / sizeof *numbers; i++)
        right &= numbers[i] == w->taken * w->size + i + 1;
    if (!right)
        fprintf(stderr, "failed: result %llu\n", (unsigned long long)w->taken);
    w->taken++;
    return !right;
}

int main(int argc, char **argv) {
    work w = {.blocks = argc > 2 ? strtoull(argv[1], NULL, 10) : 0,
              .size = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    tsr_ranks *ranks = NULL;
    tsr_share *share = NULL;
    tsr_ranks_info info = {.struct_size = sizeof info};
    const tsr_share_options options = {
        .struct_size = sizeof options, .make = make, .take = take, .data = &w};
    unsigned had = 0;
    w.block = calloc(w.size, sizeof *w.block);
    uint64_t *done = calloc(w.size, sizeof *done);
    must(tsr_ranks_open(NULL, &ranks));
    must(tsr_ranks_info_get(ranks, &info));
    must(tsr_share_begin(ranks, &options, &share));
    for (;; had++) {
        const void *block;
        size_t n;
        must(tsr_share_next(share, 5, &block, &n));
        if (!n)
            break;
        memcpy(done, block, n);
        const uint64_t number = done[0] / w.size;
        for (uint64_t i = 0; i < w.size; i++)
            done[i]++;
        for (int i = 0; i < 4; i++) {
            usleep(info.rank + 1 == info.size && info.size > 1 ? 2000 : 300);
            must(tsr_share_poll(share));
        }
        must(tsr_share_give(share, done, number % 5 ? n : 0));
    }
    tsr_share_end(&share);
    tsr_ranks_close(&ranks);
    printf("rank %u of %u had %u\n", info.rank, info.size, had);
    free(w.block);
    free(done);
    return info.rank || w.taken == w.blocks ? 0 : 5;
}

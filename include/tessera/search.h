/* tessera/search.h - the rows of a file of vectors that are nearest to a vector. */
#ifndef TESSERA_SEARCH_H
#define TESSERA_SEARCH_H

#include "tessera/vectors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_hit {
    uint64_t row; /**< from 0 */
    float cosine; /**< of the angle between row and query, -1 to 1; 0 where one of them is zero */
    uint32_t reserved;
} tsr_hit;

/**
 * Finds the k rows with the largest cosine to `query`, best first; of equal ones the lower row
 * first.
 *
 * shape   query: [width], as wide as the rows; hits: [k]. *n becomes k, or the number of rows where
 *         that is smaller
 * alloc   k hits and a chunk of rows: the file is read once, from the first row to the last
 * thread  any: the file is only read
 * error   TSR_E_ARGUMENT  width is not that of the rows (the sentence gives both); k is 0
 *         TSR_E_FORMAT    a number of the query or of a row is not finite: the sentence names the
 *                         row
 *         TSR_E_IO        the file cannot be read
 */
TSR_API tsr_status tsr_search(const tsr_vectors *index, const float *query, uint32_t width,
                              uint32_t k, tsr_hit *hits, uint32_t *n);

#ifdef __cplusplus
}
#endif
#endif

/* tessera/search.h - the rows of a file of vectors that are nearest to a vector. */
#ifndef TESSERA_SEARCH_H
#define TESSERA_SEARCH_H

#include "tessera/vectors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_hit {
    uint64_t row; /**< counted from 0 */
    float cosine; /**< of the angle between the row and the query, -1 to 1; 0 where one is zero */
    uint32_t reserved;
} tsr_hit;

/**
 * Finds the k rows with the largest cosine to `query`, best first, equal ones by their row.
 *
 * shape   query: [C], as wide as the rows; hits: [k]. *n is k, or the number of rows where it is
 *         smaller
 * alloc   k hits and a block of rows: the file is read once, from the first row to the last
 * error   TSR_E_ARGUMENT  width is not that of the rows (both said); k is 0
 *         TSR_E_FORMAT    a number of the query or of a row is not finite: the row is named
 *         TSR_E_IO        the file cannot be read
 */
TSR_API tsr_status tsr_search(const tsr_vectors *index, const float *query, uint32_t width,
                              uint32_t k, tsr_hit *hits, uint32_t *n);

#ifdef __cplusplus
}
#endif
#endif

/* base/random.h - counter-based random numbers (Philox 4x32-10): a value depends on key and counter
 * alone, so draws do not depend on order, batch row or device. Source: Salmon et al. 2011,
 * "Parallel random numbers: as easy as 1, 2, 3", SC11 */
#ifndef TSRI_BASE_RANDOM_H
#define TSRI_BASE_RANDOM_H

#include <stdint.h>

void tsri_base_philox(uint64_t key, uint64_t counter_high, uint64_t counter_low, uint32_t out[4]);
double tsri_base_uniform(uint64_t seed, uint64_t stream, uint64_t position); /* [0, 1), 53 bits */
/* Mean 0, standard deviation 1 */
float tsri_base_normal(uint64_t seed, uint64_t stream, uint64_t position);

#endif

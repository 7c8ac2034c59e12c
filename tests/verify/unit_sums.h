/* tests/verify/unit_sums.h - what matrix units of GPUs and instructions of CPUs give: sums of exact products, in an
 * order of their own, whatever the number of rows; of integers, the bytes of the plain variant. */
#ifndef TESTS_VERIFY_UNIT_SUMS_H
#define TESTS_VERIFY_UNIT_SUMS_H

#include "verify/same_bytes.h"

/* Matrix units of GPUs, and instructions of CPUs for products of bf16: what variants' names begin with. */
enum { UNITS = 6, OF_CPUS = 3, MOST_OF_UNIT = 8 };
extern const char *const units[UNITS], *const of_cpus[OF_CPUS];

/* Whether a case is one that a unit is tried on: weights of [outputs, inputs] stored as what the op
 * multiplies in, and exact integers. */
bool tried_on_unit(const tsri_case *c);
/* Integer sums are exact, so that a unit gives plain's bytes in every case whose blocks it reads. */
bool is_of_int8(const tsri_case *c);

/* Checks one variant on the cases of a kind that it takes: `most` of them (up to MOST_OF_UNIT), spread over all. */
void run_unit(tsri_verify_place place, const tsri_case_list *list, const char *op,
              const char *variant, bool (*of_kind)(const tsri_case *c), size_t most);

#endif

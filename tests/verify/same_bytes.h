/* tests/verify/same_bytes.h - runs kernel variants on cases, on the device of the tests, and compares the bytes
 * that they give. */
#ifndef TESTS_VERIFY_SAME_BYTES_H
#define TESTS_VERIFY_SAME_BYTES_H

#include "verify/verify.h"

/* The parameter of a test: an op, or what stands for one. */
typedef struct bytes_subject {
    char op[32];
} bytes_subject;

enum { MOST_CASES = 1024, MOST_PICKED = 4 };

/* The cases that fit a variant, as numbers of the list. */
typedef struct fitting {
    size_t cases[MOST_CASES], n;
} fitting;

/* Opens the device of the tests; false where that is not one of OpenCL. threads 0: as many as it has. */
bool open_selected(tsri_verify_place *place, uint32_t threads);
void close_selected(tsri_verify_place *place);

/* Runs a case by one variant of its op. The values are to be cleared, also where it fails. */
tsr_status run_variant(const tsri_case *c, tsri_verify_place place, const char *op,
                       const char *variant, tsri_case_values *values);
/* Equal numbers have equal bytes, but for 0 and -0, and for NaNs. */
void compare_bytes(const tsri_case *c, const char *variant, const tsri_case_values *plain,
                   const tsri_case_values *other);

/* The cases that a variant is tried on: so many of those that fit it, spread over all of them, other
 * ones each turn. Returns their number. */
size_t pick_cases(const tsri_case_list *list, const fitting *found, size_t most,
                  const tsri_case *picked[]);
/* Builds what the cases need as one program; what can't be built shows when the cases run. */
void build_ahead(tsri_verify_place place, const char *op, const char *variant,
                 const tsri_case *const *cases, size_t n);

bool has_norm(const tsri_case *c);
/* The variant whose bytes the others give: plain, which takes no norm of x; then one that serves any
 * number of rows. */
const char *model_variant(const tsri_case *c);

#endif

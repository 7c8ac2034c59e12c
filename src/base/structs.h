/* base/structs.h - public structs begin with their size, so that programs that were built against an
 * older or a newer Tessera stay right. */
#ifndef TSRI_BASE_STRUCTS_H
#define TSRI_BASE_STRUCTS_H

#include "tessera/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Copies what the caller gives, a struct that may be shorter or longer than the `known` bytes of
 * ours, to out; the rest of out is zero. NULL gives zeros. `name` is the struct's, for sentences.
 *
 * error   TSR_E_ARGUMENT     struct_size is smaller than itself
 *         TSR_E_UNSUPPORTED  a byte past those that we know is not zero: a newer field is set
 */
tsr_status tsri_base_adopt(const char *name, const void *given, void *out, size_t known);

/* Whether a result can be given in `out`: before the work is done for it. NULL is fine.
 *
 * error   TSR_E_ARGUMENT  struct_size is smaller than itself
 */
tsr_status tsri_base_check_out(const char *name, const void *out);

/* Gives the first bytes of `ours`, of `known` bytes, as many as the caller's struct has, but for the
 * size, which stays the caller's; what it has beyond `known` stays as it is. Nothing where out is
 * NULL. */
void tsri_base_give(const void *ours, size_t known, void *out);

/* TSR_E_ARGUMENT where an argument of a public function is NULL and may not be: TRY(NEED(model)). */
#define NEED(argument) tsri_base_need(__func__, #argument, (argument) != NULL)
/* The same of an array of n elements, which may be NULL where n is 0. */
#define NEED_ARRAY(argument, n)                                                                  \
    tsri_base_need(__func__, #argument, (argument) != NULL || (n) == 0)
tsr_status tsri_base_need(const char *function, const char *name, bool given);

#endif

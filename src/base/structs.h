/* base/structs.h - public structs begin with their size, so that programs that were built against
 * an older or a newer Tessera keep working. */
#ifndef TSRI_BASE_STRUCTS_H
#define TSRI_BASE_STRUCTS_H

#include "tessera/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Copies the caller's struct, which may be shorter or longer than the `known` bytes of ours, to
 * out; the rest of out becomes zero. NULL gives zeros. `name` is the struct's name, for error
 * sentences.
 *
 * error   TSR_E_ARGUMENT     struct_size is smaller than 4, its own size
 *         TSR_E_UNSUPPORTED  a byte beyond those that we know is not zero: a newer field is set
 */
tsr_status tsri_base_adopt(const char *name, const void *given, void *out, size_t known);

/* Checks, before the work is done, that a result can be given in `out`. NULL is allowed.
 *
 * error   TSR_E_ARGUMENT  struct_size is smaller than 4, its own size
 */
tsr_status tsri_base_check_out(const char *name, const void *out);

/* Copies the `known` bytes of `ours` to the caller's struct, as far as that reaches. Its
 * struct_size stays as it is, and what it has beyond `known` bytes becomes zero. Does nothing where
 * out is NULL. */
void tsri_base_give(const void *ours, size_t known, void *out);

/* TSR_E_ARGUMENT where an argument of a public function is NULL that must not be:
 * TRY(NEED(model)). */
#define NEED(argument) tsri_base_need(__func__, #argument, (argument) != NULL)
/* The same of an array of n elements, which may be NULL where n is 0. */
#define NEED_ARRAY(argument, n) tsri_base_need(__func__, #argument, (argument) != NULL || (n) == 0)
tsr_status tsri_base_need(const char *function, const char *name, bool given);

#endif

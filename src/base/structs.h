/* base/structs.h - public structs begin with their size, so that programs that were built against an
 * older or a newer Tessera stay right. */
#ifndef TSRI_BASE_STRUCTS_H
#define TSRI_BASE_STRUCTS_H

#include "tessera/status.h"

#include <stddef.h>

/* Copies what the caller gives, a struct that may be shorter or longer than the `known` bytes of
 * ours, to out; the rest of out is zero. NULL gives zeros. `name` is the struct's, for sentences.
 *
 * error   TSR_E_ARGUMENT     struct_size is smaller than itself
 *         TSR_E_UNSUPPORTED  a byte past those that we know is not zero: a newer field is set
 */
tsr_status tsri_base_adopt(const char *name, const void *given, void *out, size_t known);

#endif

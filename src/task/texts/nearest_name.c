/* task/texts/nearest_name.c - tsr_name_nearest: finds the name that was probably meant. */
#include "base/names.h"
#include "tessera/status.h"

const char *tsr_name_nearest(const char *typed, const char *const *names, size_t n) {
    const size_t nearest = typed && names ? tsri_base_name_nearest(typed, names, n) : n;
    return nearest < n ? names[nearest] : NULL;
}

/* base/numbers.h - fractions with a decimal point, whatever locale the program has set: for all that is
 * read, or written for other programs. */
#ifndef TSRI_BASE_NUMBERS_H
#define TSRI_BASE_NUMBERS_H

#include <stddef.h>

/* As strtod and snprintf in the C locale. */
double tsri_base_read_number(const char *text, char **end);
__attribute__((format(PRINTF, 3, 4))) int tsri_base_print(char *out, size_t room,
                                                          const char *format, ...);

#endif

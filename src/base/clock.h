/* base/clock.h - a monotonic clock. */
#ifndef TSRI_BASE_CLOCK_H
#define TSRI_BASE_CLOCK_H

#include <stdint.h>

uint64_t tsri_base_now_ns(void);

#endif

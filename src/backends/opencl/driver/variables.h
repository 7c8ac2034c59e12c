/* backends/opencl/driver/variables.h - variables of the environment that steer drivers. */
#ifndef TSRI_OPENCL_DRIVER_VARIABLES_H
#define TSRI_OPENCL_DRIVER_VARIABLES_H

#include "base/bytes.h"

#include <stdbool.h>

/* Appends "NAME=VALUE", with a 0 byte behind it, for each variable that changes what a driver does,
 * in alphabetical order. of_compilers: only for those that may change what a driver's compiler
 * makes of a kernel. Appends nothing where no such variable is set. */
tsr_status tsri_opencl_variables(bool of_compilers, tsri_bytes *out);

#endif

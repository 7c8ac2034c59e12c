/* backends/opencl/driver/helper/not_tried.h - the helper's exit code where it could not try
 * instructions, for it and for program/probe.c. */
#ifndef TSRI_OPENCL_DRIVER_HELPER_NOT_TRIED_H
#define TSRI_OPENCL_DRIVER_HELPER_NOT_TRIED_H

enum { TSRI_OPENCL_NOT_TRIED = 2 };

#endif

/* backends/opencl/driver/cl.h - the one include of OpenCL's headers. */
#ifndef TSRI_OPENCL_DRIVER_CL_H
#define TSRI_OPENCL_DRIVER_CL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#endif

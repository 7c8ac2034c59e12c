/* The example backend with one defect: a norm whose eps is 1e-5 too large. */
#include <math.h>

static float wrong_root(float x) {
    return sqrtf(x + 1e-5f);
}

#define sqrtf wrong_root
#include "../../../examples/backend_minimal/minimal.c"

/* probe/mfma.cl - whether the device's compiler and the device have the matrix unit of units/mfma.clh. Run in
 * a process of its own (helper/probe.c): out[0] becomes 0x600d if it multiplies f16, bf16 and int8 right.
 *
 *   grid    (UNIT_LANES), one work-group
 *   paid    not a kernel of an op: it is run once, before a variant of this unit is offered */
#define UNIT_MFMA 1
#include "probe/units.clh"

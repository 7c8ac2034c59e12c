/* peak/nothing.cl - stores one number, so that the time of a launch is its cost alone.
 *
 *   paid    not a kernel of an op: what it measures is the cost of a launch, which the times of
 *           kernels include */
__kernel GROUP void peak_nothing(__global int *out)
{
    out[0] = 1;
}

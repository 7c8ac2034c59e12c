/* embed_add/beta.cl - the stage before embed_add: state = beta * state. The state is not read where
 * beta is 0, nor touched where it is 1.
 *
 *   grid    (n / EACH), EACH contiguous elements for a work-item
 *   state   contiguous, n elements from state0 on
 *   needs   nothing beyond OpenCL C 1.1
 *   build   EACH
 *   paid    its time is part of the figures of embed_add, which it precedes where beta is not 1; it
 *           was not timed alone */

ENTRY KERNEL(PLACE __global float *state, int state0, __global const float *beta, int beta0, int n)
{
    const int first = ITEM(0) * EACH, end = min(n - EACH, first) + EACH;
    const float b = beta[beta0];
    if (first >= n || b == 1.0f)
        return;
    state += state0;
    for (int i = first; i < end; i++)
        state[i] = b == 0.0f ? 0.0f : b * state[i];
}

/* matmul/pack.cl - the stage before matmul/packed: b[k,n] of every matrix as panels of 64 columns in scratch, f32.
 *
 *   grid    (K/64, N/64, matrices), work-groups of one: 64 k of a panel
 *   b       at any strides, in elements for the last five dimensions; 0 repeats (broadcast)
 *   panels  scratch[((matrix * ceil(N/64) + n/64) * K + k) * 64 + n%64]; columns past N are zero
 *   needs   a CPU
 *   build   B_DTYPE; TRANS_B: b is [..,N,K] */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
KERNEL(__global const ELEMENT(B_DTYPE) *b, int b0, __global const int *dims, int8 size, int8 size_set, int8 b_step,
       int8 b_set, int K, int K_set, __global float *scratch)
{
    const int N = size.s7 * dims[size_set.s7], depth = SIZE(K), panels = (N + 63) / 64;
    const int first = (int)get_global_id(0) * 64, panel = (int)get_global_id(1), matrix = (int)get_global_id(2);
    const int inner = size.s5 * dims[size_set.s5], middle = size.s4 * dims[size_set.s4];
    const int outer = size.s3 * dims[size_set.s3];
    if (first >= depth || panel >= panels || matrix >= inner * middle * outer)
        return;
    const int above = matrix / inner, i = matrix - above * inner;
    const int l = above / middle, j = above - l * middle;
    const int b6 = b_step.s6 * dims[b_set.s6], b7 = b_step.s7 * dims[b_set.s7];
#if TRANS_B
    const int bn = b6, bk = b7;
#else
    const int bn = b7, bk = b6;
#endif
    const int n = panel * 64, columns = min(64, N - n), count = min(64, depth - first);
    b += b0 + i * b_step.s5 * dims[b_set.s5] + j * b_step.s4 * dims[b_set.s4] + l * b_step.s3 * dims[b_set.s3] + n * bn +
         first * bk;
    __global float *out = scratch + ((matrix * panels + panel) * depth + first) * 64;

    if (bn == 1 && columns == 64) {
        for (int k = 0; k < count; k++)
            for (int c = 0; c < 4; c++)
                ((__global float16 *)out)[k * 4 + c] = LOAD16_ANY(B_DTYPE, b + k * bk + c * 16);
        return;
    }
    if (columns < 64)
        for (int k = 0; k < count * 4; k++)
            ((__global float16 *)out)[k] = 0.0f;
    for (int c = 0; c < columns; c++)
        for (int k = 0; k < count; k++)
            out[k * 64 + c] = LOAD(B_DTYPE, b, c * bn + k * bk);
}

#undef B_DTYPE
#undef TRANS_B

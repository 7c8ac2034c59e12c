/* topk_grad/plain.cl - dx[r,v] = dvalues[r,i] where indices[r,i] = v, else 0.
 *
 *   grid    (V, R), one work-item each: an element, which looks for its number among the k of its row
 *   needs   nothing beyond OpenCL C 1.1; packed operands */

ENTRY KERNEL(PLACE __global const int *indices, int indices0, __global const float *dvalues, int dvalues0, __global float *dx,
             int dx0, __global const int *dims, int R, int R_set, int V, int k)
{
    const int v = ITEM(0), r = ITEM(1);
    if (v >= V || r >= SIZE(R))
        return;
    float d = 0.0f;
    for (int i = 0; i < k; i++)
        d = indices[indices0 + r * k + i] == v ? dvalues[dvalues0 + r * k + i] : d;
    dx[dx0 + r * V + v] = d;
}

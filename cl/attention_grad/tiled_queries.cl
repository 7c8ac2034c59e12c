/* attention_grad/tiled_queries.cl - the stage before attention_grad/tiled: dq, and <dy, y> of each
 * query.
 *
 *   grid    (64 * T/16, H, B) in work-groups of 64 x 1 x 1: 16 queries of a head; a work-item has
 *           every 64th element of their dq
 *   operands, gives, order as attention_grad/plain_queries: the same bytes
 *   adds    over plain_queries: pairs of a tile are formed once, in local memory
 *   needs   a work-group of 64; at most 5 KiB of local memory
 *   build   as attention_grad/plain; KEYS 4|8|16 keys at a time
 *   paid    its time is part of the figures of attention_grad/tiled, the variant that it precedes;
 *           it was not timed alone */
#include "attention/order.clh"
#include "attention_grad/pair.clh"
#define OWN_OF(h, t, row) \
    LOCAL_NAME(dot_values)(dy_rows + (t) * d_step, y + y0 + b * AT(yb) + (h) * AT(yh) + (t) * AT(yt))
#include "attention_grad/tile.clh"
#define COLUMNS ((HEAD + GROUP - 1) / GROUP)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void KERNEL(
#include "attention_grad/operands.clh"
    , __global float *scratch)
{
    const int lane = (int)get_local_id(0), t0 = (int)get_global_id(0) / GROUP * QUERIES;
    const int h = (int)get_global_id(1), b = (int)get_global_id(2), g = h / group, queries = AT(T), keys = AT(S);
    const int q_step = AT(qt), d_step = SIZE(dt), k_step = AT(ks), v_step = AT(vs);
    __global const float *q_rows = q + q0 + b * AT(qb) + h * AT(qh), *dy_rows = dy + dy0 + b * SIZE(db) + h * SIZE(dh);
    __global const float *k_rows = k + k0 + b * AT(kj) + g * AT(kg), *v_rows = v + v0 + b * AT(vj) + g * AT(vg);
    TILE_LOCALS
    TILE_QUERIES(h, t0)
    if (lane < QUERIES && t0 + lane < queries)
        scratch[(b * H + h) * queries + t0 + lane] = owns[lane];
    int first = keys, end = 0; /* the keys that some query sees */
    for (int r = 0; r < QUERIES; r++)
        if (firsts[r] < ends[r]) {
            first = min(first, firsts[r]);
            end = max(end, ends[r]);
        }
    float sum[QUERIES][COLUMNS];
#pragma unroll
    for (int r = 0; r < QUERIES; r++)
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            sum[r][c] = 0.0f;
    for (int s0 = first; s0 < end; s0 += KEYS) {
        TILE_PAIRS(h, t0, s0, q_rows, q_step, dy_rows, d_step, k_rows, k_step, v_rows, v_step)
#pragma unroll 1
        for (int i = 0; i < KEYS && s0 + i < end; i++)
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                const float key = k_rows[(s0 + i) * k_step + min(c * GROUP + lane, HEAD - 1)];
#pragma unroll
                for (int r = 0; r < QUERIES; r++)
                    sum[r][c] = fma(key, ds_tile[i * QUERIES + r], sum[r][c]);
            }
    }
    const int rows = min(QUERIES, queries - t0);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
#pragma unroll
        for (int r = 0; r < QUERIES; r++)
            if (r < rows && c * GROUP + lane < HEAD)
                dq[dq0 + ((b * queries + t0 + r) * H + h) * HEAD + c * GROUP + lane] = sum[r][c];
}

#include "attention_grad/forget_tile.clh"

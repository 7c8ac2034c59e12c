/* attention_grad/tiled.cl - attention_grad/plain by work-groups: a tile of keys, pairs in local
 * memory.
 *
 *   grid    (64 * S/KEYS, G, B) in work-groups of 64 x 1 x 1: KEYS keys of a key head; a work-item
 *           has every 64th element of their dk and dv, so that each element of q and dy is read
 *           once for all of them
 *   adds    over attention_grad/plain: the pairs of a tile are formed once for all elements of dk
 *           and dv
 *   masked  tiles of 16 queries that see none of the keys are skipped, and queries that see no key
 *           at all
 *   operands, reads, order as attention_grad/plain: the same bytes
 *   needs   a work-group of 64; at most 5 KiB of local memory
 *   build   as attention_grad/plain; KEYS 4|8|16: fewer for large heads, whose sums are private; no
 *           HAS_DRELATIVE
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain. The figures include the stage before
 *           it. Meant for GPUs, where it was not measured.
 *
 *                                   pocl             Intel
 *           variant           us   ratio        us   ratio
 *           B=4 T=128 S=128 H=12/12 D=64/64 causal
 *           plain          39778    1.00     39168    1.00
 *           tiled          26284    1.51     31984    1.22
 *
 *           B=1 T=512 S=512 H=12/12 D=64/64 causal
 *           plain         204041    1.00    161980    1.00
 *           tiled         110731    1.84    111838    1.45
 *           GPUs: compiled, never run. Registers and waves of a SIMD (quarter of an SM), 16 keys, heads of
 *           32; loops that are not unrolled over the private sums left 128 to 196 bytes in memory on
 *           AMD and NVIDIA: gfx906 173 and 1, gfx1100 163 and 9, sm_90 128 and 4; the stage 162 and 1,
 *           155 and 9, 80 and 6
 *   source  Dao et al. 2022, arXiv:2205.14135 */
#include "attention/order.clh"
#include "attention_grad/pair.clh"
#define OWN_OF(h, t, row) scratch[row]
#include "attention_grad/tile.clh"
#define COLUMNS ((HEAD + GROUP - 1) / GROUP)
#define VALUE_COLUMNS ((VALUE + GROUP - 1) / GROUP)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void KERNEL(
#include "attention_grad/operands.clh"
    , __global const float *scratch)
{
    const int lane = (int)get_local_id(0), s0 = (int)get_global_id(0) / GROUP * KEYS;
    const int g = (int)get_global_id(1), b = (int)get_global_id(2), queries = AT(T), keys = AT(S), heads = H / group;
    const int q_step = AT(qt), d_step = SIZE(dt), k_step = AT(ks), v_step = AT(vs);
    __global const float *k_rows = k + k0 + b * AT(kj) + g * AT(kg), *v_rows = v + v0 + b * AT(vj) + g * AT(vg);
    TILE_LOCALS
    float dkey[KEYS][COLUMNS], dvalue[KEYS][VALUE_COLUMNS];
#pragma unroll
    for (int i = 0; i < KEYS; i++) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            dkey[i][c] = 0.0f;
#pragma unroll
        for (int c = 0; c < VALUE_COLUMNS; c++)
            dvalue[i][c] = 0.0f;
    }
    for (int h = g * group; h < (g + 1) * group; h++) {
        __global const float *q_rows = q + q0 + b * AT(qb) + h * AT(qh), *dy_rows = dy + dy0 + b * SIZE(db) + h * SIZE(dh);
        for (int t0 = 0; t0 < queries; t0 += QUERIES) {
            int some = 0;
            TILE_QUERIES(h, t0)
            for (int r = 0; r < QUERIES; r++)
                some |= (firsts[r] < min(ends[r], s0 + KEYS)) & (ends[r] > s0);
            if (!some)
                continue;
            TILE_PAIRS(h, t0, s0, q_rows, q_step, dy_rows, d_step, k_rows, k_step, v_rows, v_step)
#pragma unroll 1
            for (int r = 0; r < QUERIES; r++) {
                if (firsts[r] >= ends[r])
                    continue;
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) {
                    const float query = q_rows[(t0 + r) * q_step + min(c * GROUP + lane, HEAD - 1)];
#pragma unroll
                    for (int i = 0; i < KEYS; i++)
                        dkey[i][c] = fma(query, ds_tile[i * QUERIES + r], dkey[i][c]);
                }
#pragma unroll
                for (int c = 0; c < VALUE_COLUMNS; c++) {
                    const float gradient = dy_rows[(t0 + r) * d_step + min(c * GROUP + lane, VALUE - 1)];
#pragma unroll
                    for (int i = 0; i < KEYS; i++)
                        dvalue[i][c] = fma(gradient, p_tile[i * QUERIES + r], dvalue[i][c]);
                }
            }
        }
    }
    const int rows = min(KEYS, keys - s0);
    dk += dk0 + ((b * keys + s0) * heads + g) * HEAD + lane;
    dv += dv0 + ((b * keys + s0) * heads + g) * VALUE + lane;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
#pragma unroll
        for (int i = 0; i < KEYS; i++)
            if (i < rows && c * GROUP + lane < HEAD)
                dk[i * heads * HEAD + c * GROUP] = dkey[i][c];
#pragma unroll
    for (int c = 0; c < VALUE_COLUMNS; c++)
#pragma unroll
        for (int i = 0; i < KEYS; i++)
            if (i < rows && c * GROUP + lane < VALUE)
                dv[i * heads * VALUE + c * GROUP] = dvalue[i][c];
}

#undef VALUE_COLUMNS
#include "attention_grad/forget_tile.clh"

/* attention_grad/flash.cl - attention_grad/plain for CPUs: a work-item has all queries of a key
 * head, 32 of them at a time in lanes.
 *
 *   grid    (G, B), work-groups of one work-item
 *   operands as attention_grad/plain
 *   adds    over attention_grad/plain: dq, dk and dv of a key head belong to one work-item, so they
 *           are summed where they lie, and scores are formed once: five products of each pair,
 *           where two kernels form seven. For 32 queries and 32 keys: scores and dy v with queries
 *           in the lanes, keys broadcast; their p and ds stay in private memory; then dv, dk and dq
 *           with the elements of a head in the lanes, 8 rows by 2 vectors (products.clh). Queries,
 *           dy, keys and values are copied to private memory as padded rows, so that all strides
 *           there are constants
 *   masked  tiles of keys that no query of a tile sees are not read. Rows of queries that see no
 *           key are zeros, so that their dy, whatever it holds, reaches nothing. An infinite key
 *           that one query of a tile sees makes NaN of those that don't see it
 *   order   as pair.clh says: the bytes of attention_grad/plain
 *   needs   float16 in registers (a CPU)
 *   build   as attention_grad/plain; no HAS_DRELATIVE
 *   paid    pocl, 2 Zen 4 cores, causal, GFLOP/s of visible pairs (7 products each) of 236; "both"
 *           includes attention/flash with lse, beside PyTorch's scaled_dot_product_attention with
 *           its gradient:
 *
 *           B x T x H x D        ms      backward   both    PyTorch
 *           12 x 64 x 4 x 32     0.516   100.7      86.8    23.6
 *           16 x 256 x 6 x 64    20.7    145.5      136.7   45.7
 *           4 x 64 x 12 x 64     0.894   109.9      100.1   32.3 */
#include "attention/order.clh"
#include "attention/vectors.clh"
#include "attention_grad/products.clh"
#if HAS_SOFT_CAP
#include "elementwise/math16.clh"
#endif
#define QUERIES 32
#define KEYS 32
#if HAS_SOFT_CAP
#define SLOPE(at) slope[i][at]
#else
#define SLOPE(at) scale
#endif
#define HEAD_ROW ((HEAD + 15) / 16 * 16)
#define VALUE_ROW ((VALUE + 15) / 16 * 16)

#if HAS_RELATIVE
#include "attention/relative16.clh"
#endif

ENTRY_OF_ONE KERNEL(PLACE
#include "attention_grad/operands.clh"
)
{
    const int g = ITEM(0), b = ITEM(1), heads = H / group;
    if (g >= heads || b >= AT(B))
        return;
    const int queries = AT(T), keys = AT(S), q_step = AT(qt), d_step = SIZE(dt), y_step = AT(yt), k_step = AT(ks), v_step = AT(vs);
    int before = 0, stop = keys, length = INT_MAX; /* keys before the first query, and keys of the sequence */
#if HAS_PAST
    before = past[past0 + b];
#endif
#if HAS_LEN
    length = len[len0 + b];
    stop = min(stop, length);
#endif
    const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const float to_powers = STRETCH;
    k += k0 + b * AT(kj) + g * AT(kg);
    v += v0 + b * AT(vj) + g * AT(vg);
    dk += dk0 + (b * keys * heads + g) * HEAD;
    dv += dv0 + (b * keys * heads + g) * VALUE;
    for (int s = 0; s < keys; s++) {
        for (int d = 0; d < HEAD; d++)
            dk[s * heads * HEAD + d] = 0.0f;
        for (int d = 0; d < VALUE; d++)
            dv[s * heads * VALUE + d] = 0.0f;
    }

    float q_rows[QUERIES * HEAD_ROW] __attribute__((aligned(64))), dy_rows[QUERIES * VALUE_ROW] __attribute__((aligned(64)));
    float k_rows[KEYS * HEAD_ROW] __attribute__((aligned(64))), v_rows[KEYS * VALUE_ROW] __attribute__((aligned(64)));
    float16 q_turned[HEAD_ROW][2], dy_turned[VALUE_ROW][2], p[KEYS][2], ds[KEYS][2];

    for (int h = g * group; h < (g + 1) * group; h++)
        for (int t0 = 0; t0 < queries; t0 += QUERIES) {
            const int many = min(QUERIES, queries - t0), row = (b * H + h) * queries + t0;
            __global const float *const q_here = q + q0 + b * AT(qb) + h * AT(qh) + t0 * q_step;
            __global const float *const y_here = y + y0 + b * AT(yb) + h * AT(yh) + t0 * y_step;
            __global const float *const dy_here = dy + dy0 + b * SIZE(db) + h * SIZE(dh) + t0 * d_step;
            __global float *const dq_here = dq + dq0 + ((b * queries + t0) * H + h) * HEAD;

            int16 from[2], last[2]; /* the keys that each query sees */
            float all[QUERIES] __attribute__((aligned(64)));
            int alive = 0; /* rows up to the last query that sees a key */
            for (int i = 0; i < QUERIES; i++)
                all[i] = i < many ? lse[lse0 + row + i] : -INFINITY;
            for (int i = 0; i < 2; i++) {
                const int16 here = lane + (before + t0 + i * 16);
                from[i] = 0;
                last[i] = stop - 1;
#if CAUSAL
                last[i] = here < length ? min(last[i], here) : (int16)(-1);
#endif
#if WINDOW > 0
                from[i] = max(here - (WINDOW - 1), 0);
#if !CAUSAL
                last[i] = min(last[i], here + (WINDOW - 1));
#endif
#endif
                last[i] = *(float16 *)(all + i * 16) == -INFINITY ? (int16)(-1) : last[i];
            }
            int first = 0, end = stop; /* keys that some query sees */
#if CAUSAL
            end = min(stop, before + t0 + many);
#endif
#if WINDOW > 0
            first = max(0, before + t0 - WINDOW + 1);
#if !CAUSAL
            end = min(stop, before + t0 + many - 1 + WINDOW);
#endif
#endif
            for (int i = 0; i < many; i++) {
                const bool sees = ((int *)last)[i] >= ((int *)from)[i];
                alive = sees ? i + 1 : alive;
                for (int d = 0; d < HEAD; d++)
                    dq_here[i * H * HEAD + d] = 0.0f;
                if (!sees)
                    all[i] = 0.0f;
            }
            if (alive == 0 || first >= end)
                continue;

            float16 own[2];
            for (int i = 0; i < QUERIES; i++) {
                const bool sees = i < many && ((int *)last)[i] >= ((int *)from)[i];
                TSR_COPY_ROW(q_rows + i * HEAD_ROW, q_here + i * q_step, HEAD, sees)
                TSR_COPY_ROW(dy_rows + i * VALUE_ROW, y_here + i * y_step, VALUE, sees)
            }
            for (int i = 0; i < 2; i++) {
                tsr_turn_rows(q_turned, i, q_rows, HEAD_ROW);
                tsr_turn_rows(dy_turned, i, dy_rows, VALUE_ROW); /* y here, dy below */
            }
            for (int i = 0; i < QUERIES; i++) {
                const bool sees = i < many && ((int *)last)[i] >= ((int *)from)[i];
                TSR_COPY_ROW(dy_rows + i * VALUE_ROW, dy_here + i * d_step, VALUE, sees)
            }
            for (int i = 0; i < 2; i++) {
                float16 sum = 0.0f;
                for (int d = 0; d < VALUE_ROW; d += 16) {
                    float16 r[16];
#pragma unroll
                    for (int j = 0; j < 16; j++)
                        r[j] = *(float16 *)(dy_rows + (i * 16 + j) * VALUE_ROW + d);
                    tsr_turn16(r);
#pragma unroll
                    for (int j = 0; j < 16; j++) {
                        sum = fma(r[j], dy_turned[d + j][i], sum);
                        dy_turned[d + j][i] = r[j];
                    }
                }
                own[i] = sum;
            }
            const float16 all0 = *(float16 *)all * LOG2_E, all1 = *(float16 *)(all + 16) * LOG2_E;

            for (int block = first / KEYS * KEYS; block < end; block += KEYS) {
                const int n = min(KEYS, end - block);
                for (int i = 0; i < KEYS; i++) {
                    TSR_COPY_ROW(k_rows + i * HEAD_ROW, k + (block + i) * k_step, HEAD, i < n)
                    TSR_COPY_ROW(v_rows + i * VALUE_ROW, v + (block + i) * v_step, VALUE, i < n)
                }
#pragma unroll 1
                for (int j = 0; j < n; j += 8) {
                    float16 dot[8][2];
#if HAS_SOFT_CAP
                    float16 slope[8][2];
#endif
#pragma unroll
                    for (int i = 0; i < 8; i++)
                        dot[i][0] = dot[i][1] = 0.0f;
#pragma unroll 1
                    for (int d = 0; d < HEAD; d++) {
                        const float16 left0 = q_turned[d][0], left1 = q_turned[d][1];
#pragma unroll
                        for (int i = 0; i < 8; i++) {
                            const float16 right = k_rows[(j + i) * HEAD_ROW + d];
                            dot[i][0] = fma(right, left0, dot[i][0]);
                            dot[i][1] = fma(right, left1, dot[i][1]);
                        }
                    }
#pragma unroll
                    for (int i = 0; i < 8; i++) {
                        dot[i][0] *= to_powers;
                        dot[i][1] *= to_powers;
#if HAS_SOFT_CAP
                        for (int at = 0; at < 2; at++) {
                            const float16 bent = tsr_tanh_float16(dot[i][at]);
                            slope[i][at] = fma(-bent, bent, (float16)(1.0f)) * (scale * soft_cap);
                            dot[i][at] = bent * (soft_cap * LOG2_E);
                        }
#endif
#if HAS_BIAS
                        const int place = bias0 + b * BIAS_STEP(0) + h * BIAS_STEP(1) + min(block + j + i, end - 1) * BIAS_STEP(3);
                        for (int at = 0; at < 2; at++) {
                            float16 addend;
                            for (int l = 0; l < 16; l++)
                                ((float *)&addend)[l] = bias[place + (t0 + min(at * 16 + l, many - 1)) * BIAS_STEP(2)];
                            dot[i][at] = fma(addend, LOG2_E, dot[i][at]);
                        }
#endif
#if HAS_RELATIVE
                        for (int at = 0; at < 2; at++)
                            dot[i][at] = fma(LOCAL_NAME(relative16)(relative + relative0 + h * (2 * reach + 1), reach,
                                                                    block + j + i - before - t0 - at * 16), LOG2_E, dot[i][at]);
#endif
                        const int16 s = block + j + i;
                        const float16 p0 = tsr_exp2_down_float16(dot[i][0] - all0), p1 = tsr_exp2_down_float16(dot[i][1] - all1);
                        p[j + i][0] = s >= from[0] && s <= last[0] && dot[i][0] != -INFINITY ? p0 : (float16)(0.0f);
                        p[j + i][1] = s >= from[1] && s <= last[1] && dot[i][1] != -INFINITY ? p1 : (float16)(0.0f);
                    }
#pragma unroll
                    for (int i = 0; i < 8; i++)
                        dot[i][0] = dot[i][1] = 0.0f;
#pragma unroll 1
                    for (int d = 0; d < VALUE; d++) {
                        const float16 left0 = dy_turned[d][0], left1 = dy_turned[d][1];
#pragma unroll
                        for (int i = 0; i < 8; i++) {
                            const float16 right = v_rows[(j + i) * VALUE_ROW + d];
                            dot[i][0] = fma(right, left0, dot[i][0]);
                            dot[i][1] = fma(right, left1, dot[i][1]);
                        }
                    }
#pragma unroll
                    for (int i = 0; i < 8; i++) {
                        const float16 d0 = p[j + i][0] * (dot[i][0] - own[0]) * SLOPE(0), d1 = p[j + i][1] * (dot[i][1] - own[1]) * SLOPE(1);
                        ds[j + i][0] = p[j + i][0] == 0.0f ? (float16)(0.0f) : d0;
                        ds[j + i][1] = p[j + i][1] == 0.0f ? (float16)(0.0f) : d1;
                    }
                }

                for (int j = 0; j < n; j += 8) { /* keys j .. j + 7, from the queries that see one of them */
                    int low = 0, high = alive;
#if CAUSAL
                    low = max(low, block + j - before - t0);
#endif
#if WINDOW > 0
                    high = min(high, block + j + 7 + WINDOW - before - t0);
#if !CAUSAL
                    low = max(low, block + j - WINDOW + 1 - before - t0);
#endif
#endif
                    const int rows = min(8, n - j);
                    __global float *const dk_here = dk + (block + j) * heads * HEAD;
                    __global float *const dv_here = dv + (block + j) * heads * VALUE;
                    const float *const left_p = (const float *)p + j * QUERIES, *const left_ds = (const float *)ds + j * QUERIES;
                    TSR_ADD_PRODUCTS(VALUE, dv_here, heads * VALUE, rows, left_p, QUERIES, 1, dy_rows, VALUE_ROW, low, high)
                    TSR_ADD_PRODUCTS(HEAD, dk_here, heads * HEAD, rows, left_ds, QUERIES, 1, q_rows, HEAD_ROW, low, high)
                }
                for (int t = 0; t < alive; t += 8) {
                    int low = 0, high = n;
#if CAUSAL
                    high = min(high, before + t0 + t + 8 - block);
#endif
#if WINDOW > 0
                    low = max(low, before + t0 + t - WINDOW + 1 - block);
#if !CAUSAL
                    high = min(high, before + t0 + t + 7 + WINDOW - block);
#endif
#endif
                    const int rows = min(8, many - t);
                    __global float *const dq_rows = dq_here + t * H * HEAD;
                    const float *const left_ds = (const float *)ds + t;
                    TSR_ADD_PRODUCTS(HEAD, dq_rows, H * HEAD, rows, left_ds, 1, QUERIES, k_rows, HEAD_ROW, low, high)
                }
            }
        }
}

#undef QUERIES
#undef KEYS
#undef SLOPE
#undef HEAD_ROW
#undef VALUE_ROW
#undef BLOCK

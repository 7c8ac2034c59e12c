/* attention/units.cl - attention with products in f16 or bf16 by the device's matrix unit.
 *
 *   grid    (ITEMS * rows/QUERIES, G, B) in work-groups of SM x SN sub-groups. Rows are those of tiled.cl;
 *           a sub-group has UNIT_M of them, and 1/SN of the keys of a tile, then of a value's elements.
 *           SPLIT: (ITEMS * S/CHUNK, G, B); a work-group has all rows of a key head and one chunk of keys,
 *           and leaves in `parts` what split.cl merges, as chunks.cl does
 *   operands as attention/tiled; SPLIT: then parts
 *   adds    over attention/tiled: 8 to 32 times its multiply-adds a cycle, and half its local memory
 *   steps   tiles of 32 keys (units_tile.clh): scores by the unit, in f32 to local memory; two work-items
 *           for each row, with 16 keys each, make exponentials of them, as pairs of PRODUCT in the same
 *           memory; the unit adds the values that they weigh. Exponentials are multiplied by 2^15, and
 *           the sums by 2^-15, so that those of half down to 2^-29 keep all digits. The next DEPTH tiles of keys and of values
 *           are on their way from global memory meanwhile
 *   order   a sum of the unit's own over d and over the 32 keys of a tile; tiles and chunks as order.clh
 *           says. Each sum is formed by one sub-group, of a tile's exponentials in two halves by one
 *           work-item each; so SPLIT or not, alone or in a batch, a device gives the same bytes, but not
 *           those of plain
 *   masked  as attention/tiled
 *   needs   a unit whose probe passed; heads of up to 128 elements
 *   build   as attention/tiled, without HAS_LSE; the unit and PRODUCT as linear/units; SPLIT; SM, SN;
 *           QUERIES = SM * UNIT_M. All rows of a key head fit into one tile where they are few; the
 *           sub-groups then lie along the keys
 *   tune    DEPTH 1..4 tiles of keys and of values that are on their way; 1 without SPLIT
 *   claims  loads 128; ahead 64; matrix; ldmatrix
 *   paid    never run on a device. Compiled for four, prompts with keys and values of f16; registers of a
 *           work-item, and waves of a SIMD (a quarter of a NVIDIA multiprocessor); these do not spill:
 *
 *                   gfx90a     gfx1100    gfx1201    sm_90
 *           D 64    184 (1)    157 (4)    149 (4)    160 (3)
 *           D 128   272 (1)    243 (2)    212 (2)    255 (2)
 *
 *           dg2 does not spill with keys of f16 and D 128; with keys of f32, SPLIT spills 16 bytes of it.
 *           pvc was compiled with heads of 64 only, which do not spill.
 *           With the loop over d unrolled and each half's scores in registers: gfx1100 spills 388 bytes
 *           and dg2 184 at D 128, sm_90 has 220 registers at D 64
 *   source  Dao 2023, "FlashAttention-2", arXiv:2307.08691; the heads of the units' files */
#include "attention/order.clh"
#include "matmul/pieces.clh"
#include "attention/units_tile.clh"
/* Where the exponential of a key lies in its row: those of a half take the first words of its scores. Inputs that the unit takes
 * at once are of one half. */
#define PAIR_PLACE(key) ((key) + (key) / (BLOCK / 2) * (BLOCK / 2))
#define UP 32768.0f
#define DOWN (1.0f / 32768.0f)
/* The loops around the unit, which the emulated one fills with barriers. */
#ifdef TSR_EMULATED_UNITS
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif

UNIT_GROUP __kernel __attribute__((reqd_work_group_size(SM * SN * UNIT_LANES, 1, 1))) void KERNEL(
#include "attention/operands.clh"
#if SPLIT
    , __global float *parts
#endif
)
{
    /* Unsigned, and the range of `item` is seen: divisions are shifts then, without a `freeze` (REST). */
    const int item = (int)((uint)get_local_id(0) % ITEMS), lane = REST(item, UNIT_LANES);
    const int own_m = item / UNIT_LANES / SN, own_n = REST(item / UNIT_LANES, SN);
    const int g = (int)get_global_id(1), b = (int)get_global_id(2), rows = AT(T) * group, keys = AT(S);
    const int part = (int)((uint)get_global_id(0) / ITEMS);
#if SPLIT
    const int tile = 0, least = part * CHUNK, most = min(least + CHUNK, keys);
#else
    const int tile = part * QUERIES, least = 0, most = keys;
#endif
    __local uint queries[QUERIES * QUERY_PITCH] __attribute__((aligned(16)));
    __local uint keys_in[BLOCK * QUERY_PITCH] __attribute__((aligned(16)));
    __local uint values[VALUE_WORDS] __attribute__((aligned(16)));
    __local uint weights[QUERIES * SCORE_PITCH] __attribute__((aligned(16))); /* scores, then pairs of exponentials */
    __local float *scores = (__local float *)weights;
    __local float halves[2 * QUERIES], factors[QUERIES]; /* a number for each half of a row; for each row */
    __local int firsts[QUERIES], ends[QUERIES];
#ifdef TSR_EMULATED_UNITS
    __local uint shares[SM * SN * UNIT_SHARE_WORDS];
#define UNIT_SHARE (shares + item / UNIT_LANES * UNIT_SHARE_WORDS)
#endif
    const int owner = item;
#include "attention/rows_visible.clh"
#if SPLIT
    if (first >= end)
        return;
#endif
#include "attention/place.clh"
    const int chunk0 = first / CHUNK * CHUNK, start0 = first / BLOCK * BLOCK;
    uint next_keys[DEPTH][NEXT_KEYS], next_values[DEPTH][NEXT_VALUES];
#pragma unroll
    for (int a = 0; a < DEPTH; a++) {
        ASK_KEYS(next_keys[a], start0 + a * BLOCK)
        ASK_VALUES(next_values[a], start0 + a * BLOCK)
    }
    for (int i = item; i < QUERIES * (DEEP / 2); i += ITEMS) {
        const int r = i / (DEEP / 2), d = REST(i, DEEP / 2) * 2;
        const int t = (tile + r) / group, h = g * group + (tile + r) - t * group;
        const int from = q0 + b * AT(qb) + t * AT(qt) + h * AT(qh) + d, n = tile + r < rows ? HEAD - d : 0;
        const float one = n > 0 ? q[from] : 0.0f, two = n > 1 ? q[from + 1] : 0.0f;
        queries[r * QUERY_PITCH + d / 2] = PAIR(one, two);
    }

    UNIT_SUMS_T sums[COLUMNS];
    float largest, total;
    const bool scorer = item < 2 * QUERIES; /* of a row's half */
    const int own_row = scorer ? REST(item, QUERIES) : 0, own_half = scorer ? item / QUERIES : 0;
    __local float *own_scores = scores + own_row * SCORE_PITCH + own_half * (BLOCK / 2);
#if !SPLIT
    float all_largest = -INFINITY, all_total = 0.0f; /* of row number `item` */
    y += y0 + b * AT(yb);
#endif

    for (int chunk = chunk0; chunk == chunk0 || chunk < end; chunk += CHUNK) {
        const int start = max(chunk, start0), stop = min(chunk + CHUNK, end);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            sums[c] = (UNIT_SUMS_T)(0.0f);
        largest = -INFINITY;
        total = 0.0f;
        for (int tiles = start; tiles < stop; tiles += DEPTH * BLOCK) {
UNROLL
            for (int a = 0; a < DEPTH; a++) { /* past `stop` every key is masked, and changes nothing */
                const int block = tiles + a * BLOCK;
                PUT_KEYS(next_keys[a])
                barrier(CLK_LOCAL_MEM_FENCE);
                ASK_KEYS(next_keys[a], block + DEPTH * BLOCK)
                {
                    UNIT_SUMS_T dots[KEY_COLUMNS];
#pragma unroll
                    for (int c = 0; c < KEY_COLUMNS; c++)
                        dots[c] = (UNIT_SUMS_T)(0.0f);
#pragma unroll 1
                    for (int at = 0; at < DEEP; at += UNIT_K) {
                        UNIT_LEFT_T left[UNIT_LEFT_PARTS];
                        UNIT_READ_LEFT(left, queries, QUERY_PITCH, own_m * UNIT_M, at)
UNROLL
                        for (int c = 0; c < KEY_COLUMNS; c += UNIT_RIGHTS) {
                            uint right[UNIT_RIGHTS][UNIT_RIGHT_PARTS];
                            UNIT_READ_RIGHT(min(UNIT_RIGHTS, KEY_COLUMNS - c), right, keys_in, QUERY_PITCH, (c * SN + own_n) * UNIT_N, SN * UNIT_N, at)
UNROLL
                            for (int j = 0; j < UNIT_RIGHTS && c + j < KEY_COLUMNS; j++)
                                UNIT_MAD(dots[c + j], left, right[j]);
                        }
                    }
#pragma unroll
                    for (int c = 0; c < KEY_COLUMNS; c++)
#pragma unroll
                        for (int i = 0; i < UNIT_ROWS; i++)
#pragma unroll
                            for (int j = 0; j < UNIT_COLUMNS; j++) {
                                const int row = own_m * UNIT_M + UNIT_ROW(lane, i);
                                const int column = (c * SN + own_n) * UNIT_N + UNIT_COLUMN(lane, j), s = block + column;
                                float x = -INFINITY;
                                if (s >= firsts[row] && s < ends[row]) {
                                    x = NUMBER(dots[c], i, j);
#include "attention/score.clh"
                                }
                                scores[row * SCORE_PITCH + column] = x;
                            }
                }
                PUT_VALUES(next_values[a])
                ASK_VALUES(next_values[a], block + DEPTH * BLOCK)
                barrier(CLK_LOCAL_MEM_FENCE);
                if (scorer) {
                    float top = -INFINITY;
#pragma unroll 4
                    for (int j = 0; j < BLOCK / 2; j++)
                        top = fmax(top, own_scores[j]);
                    halves[item] = top;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (scorer) {
                    const float top = fmax(largest, fmax(halves[own_row], halves[QUERIES + own_row]));
                    const float shrink = top == -INFINITY ? 1.0f : LOCAL_NAME(exp2)(largest - top);
                    largest = top;
                    total *= shrink;
                    if (own_half == 0)
                        factors[own_row] = shrink;
#pragma unroll 4
                    for (int j = 0; j < BLOCK / 4; j++) { /* a bias of -inf masks a key too */
                        const float one = own_scores[2 * j], two = own_scores[2 * j + 1];
                        const float p = one == -INFINITY ? 0.0f : LOCAL_NAME(exp2)(one - top);
                        const float p2 = two == -INFINITY ? 0.0f : LOCAL_NAME(exp2)(two - top);
                        total = ORDERED_ADD(p2, ORDERED_ADD(p, total));
                        ((__local uint *)own_scores)[j] = PAIR(p * UP, p2 * UP);
                    }
                }
                barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
                for (int i = 0; i < UNIT_ROWS; i++) {
                    const float shrink = factors[own_m * UNIT_M + UNIT_ROW(lane, i)];
#pragma unroll
                    for (int c = 0; c < COLUMNS; c++)
#pragma unroll
                        for (int j = 0; j < UNIT_COLUMNS; j++)
                            NUMBER(sums[c], i, j) *= shrink;
                }
#pragma unroll 1
                for (int at = 0; at < BLOCK; at += UNIT_K) {
                    UNIT_LEFT_T left[UNIT_LEFT_PARTS];
                    UNIT_READ_LEFT(left, weights, SCORE_PITCH, own_m * UNIT_M, PAIR_PLACE(at))
UNROLL
                    for (int c = 0; c < COLUMNS; c += UNIT_RIGHTS) {
                        uint right[UNIT_RIGHTS][UNIT_RIGHT_PARTS];
                        READ_VALUES(min(UNIT_RIGHTS, COLUMNS - c), right, values, VALUE_PITCH, (c * SN + own_n) * UNIT_N, SN * UNIT_N, at)
UNROLL
                        for (int j = 0; j < UNIT_RIGHTS && c + j < COLUMNS; j++)
                            UNIT_MAD(sums[c + j], left, right[j]);
                    }
                }
            }
        }

        /* What the chunk gave: each row's largest score and total, then the sums. */
        if (scorer)
            halves[item] = total;
        barrier(CLK_LOCAL_MEM_FENCE);
#if SPLIT
        parts += PARTS_OF_CHUNK(chunk / CHUNK);
        if (item < QUERIES && item < rows) {
            parts[QUERIES * VALUE + item] = largest;
            parts[QUERIES * (VALUE + 1) + item] = halves[item] + halves[QUERIES + item];
        }
#else
        if (item < QUERIES) { /* nobody else reads its halves before the next barrier */
            const float chunk_total = halves[item] + halves[QUERIES + item];
            float keep, add;
            MERGE_TOTALS(float, LOCAL_NAME(exp2), all_largest, all_total, largest, chunk_total, keep, add)
            factors[item] = keep;
            halves[item] = add;
            float share = 1.0f;
            if (chunk + CHUNK >= end)
                SHARE_OF_TOTAL(float, LOCAL_NAME(exp2), HEAD_OF(item), all_largest, all_total, share)
            halves[QUERIES + item] = share;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
#pragma unroll
        for (int i = 0; i < UNIT_ROWS; i++) {
            const int row = own_m * UNIT_M + UNIT_ROW(lane, i);
#if SPLIT
            __global float *out = parts + row * VALUE;
#else
            const int t = (tile + row) / group, h = g * group + (tile + row) - t * group;
            __global float *out = y + t * AT(yt) + h * AT(yh);
            const float keep = factors[row], add = halves[row], share = halves[QUERIES + row];
#endif
#pragma unroll
            for (int c = 0; c < COLUMNS; c++)
#pragma unroll
                for (int j = 0; j < UNIT_COLUMNS; j++) {
                    const int d = (c * SN + own_n) * UNIT_N + UNIT_COLUMN(lane, j);
                    if (tile + row < rows && d < VALUE) {
#if SPLIT
                        out[d] = NUMBER(sums[c], i, j) * DOWN;
#else
                        const float before = chunk > chunk0 ? out[d] : 0.0f;
                        out[d] = MERGED(before, keep, NUMBER(sums[c], i, j) * DOWN, add) * share;
#endif
                    }
                }
        }
    }
}

#undef ITEMS
#undef DEEP
#undef COLUMNS
#undef WIDE
#undef KEY_COLUMNS
#undef QUERY_PITCH
#undef VALUE_PITCH
#undef SCORE_PITCH
#undef NUMBER
#undef PAIR
#undef PAIRS
#undef EIGHT
#undef EIGHT_1_4
#undef EIGHT_2_8
#undef EIGHT_3_8
#undef EIGHT_PIECE
#undef EIGHT_1_1
#undef EIGHT_2_1
#undef EIGHT_3_1
#undef EIGHT_ALONE
#undef ASK_ROWS
#undef PUT_ROWS
#undef ROW_EIGHTS
#undef ROW_LOADS
#undef NEXT_KEYS
#undef ASK_KEYS
#undef PUT_KEYS
#undef VALUE_WORDS
#undef READ_VALUES
#ifdef VALUE_EIGHTS
#undef VALUE_EIGHTS
#undef VALUE_LOADS
#undef VALUE_D
#undef VALUE_PAIR
#endif
#undef NEXT_VALUES
#undef ASK_VALUES
#undef PUT_VALUES
#undef UNROLL
#undef PAIR_PLACE
#undef UP
#undef DOWN
#undef HOME
#undef BLOCK
#ifdef UNIT_SHARE
#undef UNIT_SHARE
#endif
#include "units/end.clh"

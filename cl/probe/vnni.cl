/* probe/vnni.cl - every function of weighted/vnni.clh on two blocks and three rows, compared with
 * plain loops. Run in a process of its own (helper/probe.c): out[0] becomes 0x600d if all agree.
 *
 *   grid    (1)
 *   paid    not a kernel of an op: it is run once, before a variant of weighted/vnni.clh is offered */
#include "weighted/vnni.clh"

#define PROBE_K 64

/* sum[lane] of a row, by the definition. */
static void probe_expect(const uchar *panel, const uchar *row, int bits, float *sum)
{
    const int groups = bits, bytes = groups * 256;
    for (int lane = 0; lane < 64; lane++) {
        sum[lane] = 1.0f;
        for (int b = 0; b < PROBE_K / 32; b++) {
            const uchar *w = panel + b * (bytes + 128);
            int part = 0;
            for (int k = 0; k < 32; k++) {
                const int byte = w[(k / 4 % groups * 64 + lane) * 4 + k % 4];
                const int whole = bits == 8 ? byte - 128 : (byte >> k / 16 * 4 & 15) - 8;
                part += whole * (char)row[b * VNNI_ROW_BLOCK + 12 + k];
            }
            sum[lane] = fma((float)part * *(const float *)(row + b * VNNI_ROW_BLOCK + 4), vload_half(lane, (const half *)(w + bytes)), sum[lane]);
        }
    }
}

static int probe_differs(const float *a, const float *b, int n)
{
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += as_uint(a[i]) != as_uint(b[i]);
    return wrong;
}

static void probe_reset(float *sum)
{
    for (int i = 0; i < 192; i++)
        sum[i] = 1.0f;
}

#define PROBE_TILES(bits)                                                                                          \
    {                                                                                                              \
        const ulong w = (ulong)panel, to = (ulong)got, a = (ulong)rows[0], b = (ulong)rows[1], c = (ulong)rows[2]; \
        for (int r = 0; r < 3; r++)                                                                                \
            probe_expect(panel, rows[r], bits, want + r * 64);                                                     \
        probe_reset(got);                                                                                          \
        tsr_vnni_one_##bits(w, to, 2, a);                                                                          \
        wrong += probe_differs(got, want, 64);                                                                     \
        probe_reset(got);                                                                                          \
        tsr_vnni_two_##bits(w, to, 2, w, a, b);                                                                    \
        wrong += probe_differs(got, want, 128);                                                                    \
        probe_reset(got);                                                                                          \
        tsr_vnni_two_ahead_##bits(w, to, 2, w, a, b);                                                              \
        wrong += probe_differs(got, want, 128);                                                                    \
        probe_reset(got);                                                                                          \
        tsr_vnni_three_##bits(w, to, 2, w, a, b, c);                                                               \
        wrong += probe_differs(got, want, 192);                                                                    \
        probe_reset(got);                                                                                          \
        tsr_vnni_three_ahead_##bits(w, to, 2, w, a, b, c);                                                         \
        wrong += probe_differs(got, want, 192);                                                                    \
    }

/* Compares the quantising of a row with plain loops. */
static int probe_row(__global const float *x, int offset, uchar *row)
{
    int wrong = 0;
    tsr_vnni_quantise(x, PROBE_K / 32, (ulong)row, offset);
    for (int b = 0; b < PROBE_K / 32; b++) {
        float down, up = tsr_int8_scale(x + b * 32, &down);
        int sum = 0;
        for (int k = 0; k < 32; k++) {
            const int whole = convert_int_rte(x[b * 32 + k] * up);
            wrong += (char)row[b * VNNI_ROW_BLOCK + 12 + k] != whole;
            sum += whole;
        }
        wrong += *(const int *)(row + b * VNNI_ROW_BLOCK) != offset * sum + VNNI_BIAS || *(const float *)(row + b * VNNI_ROW_BLOCK + 4) != down;
    }
    return wrong;
}

__kernel void KERNEL(__global int *out)
{
    uchar panel[2 * 2176] __attribute__((aligned(64))), rows[3][128] __attribute__((aligned(64)));
    float got[192] __attribute__((aligned(64))), want[192];
    __global float *x = (__global float *)(out + 16);
    uint seed = 1;
    int wrong = 0;
    for (int i = 0; i < 3 * PROBE_K; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int)seed * 0x1p-31f;
    }
    for (int bits = 8; bits >= 4; bits -= 4) {
        const int bytes = bits * 256;
        for (int i = 0; i < 2 * (bytes + 128); i++) {
            seed = seed * 1664525u + 1013904223u;
            panel[i] = (uchar)(seed >> 24);
        }
        for (int i = 0; i < 128; i++) /* scales about 2^-7 */
            panel[i / 64 * (bytes + 128) + bytes + i % 64 * 2 + 1] = (uchar)(0x20 | (i & 3));
        for (int r = 0; r < 3; r++)
            wrong += probe_row(x + r * PROBE_K, bits == 8 ? -128 : -8, rows[r]);
        if (bits == 8)
            PROBE_TILES(8)
        else
            PROBE_TILES(4)
    }
    tsr_vnni_expect((ulong)out);
    out[0] = wrong ? wrong : 0x600d;
}

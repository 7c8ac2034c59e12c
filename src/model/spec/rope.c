/* model/spec/rope.c - the inverse frequencies of rotary positions for each kind of scaling, in
 * double until they are stored.
 *
 * source  Su et al. 2021, arXiv:2104.09864; dynamic and yarn: Peng et al. 2023, arXiv:2309.00071;
 *         llama3: Llama 3.1's reference code; ntk: https://kexue.fm/archives/9706;
 *         longrope: Ding et al. 2024, arXiv:2402.13753 */
#include "model/spec/spec.h"

#include <math.h>

static const double TWO_PI = 6.283185307179586476925286766559;

const char *const tsri_model_rope_factors_gguf[2] = {"rope_factors_short.weight",
                                                     "rope_factors_long.weight"};

double tsri_model_yarn_magnitude(double factor, double mscale) {
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

/* Wavelengths that fit many times into the original context stay, long ones are stretched, and
 * those in between follow a ramp. */
static double llama3(const tsri_model_rope *rope, double frequency) {
    const double wavelength = TWO_PI / frequency, original = (double)rope->original_positions;
    if (wavelength < original / rope->high_freq_factor)
        return frequency;
    if (wavelength > original / rope->low_freq_factor)
        return frequency / rope->factor;
    const double smooth = (original / wavelength - rope->low_freq_factor) /
                          (rope->high_freq_factor - rope->low_freq_factor);
    return (1 - smooth) * frequency / rope->factor + smooth * frequency;
}

/* The dimension whose wavelength fits `turns` times into the original context. */
static double yarn_dimension(const tsri_model_rope *rope, double turns) {
    return rope->rotary * log((double)rope->original_positions / (turns * TWO_PI)) /
           (2 * log(rope->theta));
}

static double yarn(const tsri_model_rope *rope, double frequency, int32_t pair) {
    double low = yarn_dimension(rope, rope->beta_fast),
           high = yarn_dimension(rope, rope->beta_slow);
    if (!rope->untruncated) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, rope->rotary - 1);
    if (low == high)
        high += 0.001;
    const double ramp = fmin(fmax((pair - low) / (high - low), 0), 1);
    return frequency / rope->factor * ramp + frequency * (1 - ramp);
}

bool tsri_model_rope_is_given(const tsri_model_rope *rope) {
    return rope->scaling == TSRI_SCALING_DYNAMIC || rope->scaling == TSRI_SCALING_LONGROPE;
}

void tsri_model_rope_frequencies(const tsri_model_rope *rope, int64_t max_positions, int64_t length,
                                 float *out) {
    double theta = rope->theta;
    if (rope->scaling == TSRI_SCALING_DYNAMIC && length > max_positions)
        theta *= pow(rope->factor * (double)length / (double)max_positions - (rope->factor - 1),
                     rope->rotary / (rope->rotary - 2.0));
    if (rope->scaling == TSRI_SCALING_NTK)
        theta *= rope->factor;
    const float *factors =
        length > rope->original_positions ? rope->long_factors : rope->short_factors;
    for (int32_t pair = 0; pair < rope->rotary / 2; pair++) {
        double frequency = pow(theta, -2.0 * pair / rope->rotary);
        if (rope->scaling == TSRI_SCALING_LINEAR)
            frequency /= rope->factor;
        else if (rope->scaling == TSRI_SCALING_LLAMA3)
            frequency = llama3(rope, frequency);
        else if (rope->scaling == TSRI_SCALING_YARN)
            frequency = yarn(rope, frequency, pair);
        else if (rope->scaling == TSRI_SCALING_NTK)
            frequency /= pow(rope->factor, 2.0 / rope->rotary);
        else if (rope->scaling == TSRI_SCALING_LONGROPE)
            frequency /= factors[pair];
        out[pair] = (float)frequency;
    }
}

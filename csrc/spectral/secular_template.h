/* The loops of secular.h for one instruction set: NAME(x) makes names, TARGET is the attribute of
 * the set, BYTES the size of a vector, REAL double. */
#include "kernel/vector_type.h"

TARGET static inline double NAME(sum_lanes)(NAME(vector) x)
{
    double lane[NAME(lanes)];
    NAME(store)(lane, x);
    for (int step = NAME(lanes) / 2; step; step /= 2)
        for (int l = 0; l < step; l++) lane[l] += lane[l + step];
    return lane[0];
}

/* The function and its slope at base + shift, and the poles around the root.
 *   before, after            the sums over the poles up to the root and behind it, without the 1
 *   before_slope, ...        their derivatives
 *   left, right              p - x for the two poles around the root */
typedef struct {
    double before, before_slope, after, after_slope;
    double left, right;
} NAME(place);

/* Returns p - x for the pole d. */
TARGET static inline double NAME(distance)(const hs__secular *x, double d, double base,
                                           double shift)
{
    const double difference = (d - base) - shift;
    return x->squares ? difference * ((d + base) + shift) : difference;
}

/* Adds the terms of the poles from .. to - 1 and of their derivatives. */
TARGET static inline void NAME(add_terms)(const hs__secular *x, int64_t from, int64_t to,
                                          double base, double shift, double *sum, double *slope)
{
    const double *pole = x->pole;
    const double *weight = x->weight;
    NAME(vector) sums = {0};
    NAME(vector) slopes = {0};
    int64_t i = from;
    for (; i + NAME(lanes) <= to; i += NAME(lanes)) {
        const NAME(vector) d = NAME(load)(pole + i);
        const NAME(vector) w = NAME(load)(weight + i);
        NAME(vector) difference = (d - base) - shift;
        if (x->squares) difference *= (d + base) + shift;
        const NAME(vector) ratio = w / difference;
        sums += w * ratio;
        slopes += ratio * ratio;
    }
    *sum = NAME(sum_lanes)(sums);
    *slope = NAME(sum_lanes)(slopes);
    for (; i < to; i++) {
        const double ratio = weight[i] / NAME(distance)(x, pole[i], base, shift);
        *sum += weight[i] * ratio;
        *slope += ratio * ratio;
    }
}

/* Evaluates the function between the poles `left` and left + 1. */
TARGET static NAME(place)
    NAME(evaluate)(const hs__secular *x, int64_t left, double base, double shift)
{
    const double *pole = x->pole;
    NAME(place) at;
    NAME(add_terms)(x, 0, left + 1, base, shift, &at.before, &at.before_slope);
    NAME(add_terms)(x, left + 1, x->count, base, shift, &at.after, &at.after_slope);
    at.left = NAME(distance)(x, pole[left], base, shift);
    at.right = NAME(distance)(x, pole[left + 1], base, shift);
    return at;
}

/* Returns the shift whose x is that of `shift` plus `step`. */
TARGET static inline double NAME(advance)(const hs__secular *x, double base, double shift,
                                          double step)
{
    if (!x->squares) return shift + step;
    const double root = base + shift;
    const double square = root * root + step;
    return shift + step / (root + sqrt(square > 0 ? square : 0));
}

/* Returns the root of c t^2 - a t + b = 0 that is the step to the root between the poles, or behind
 * both of them (`last`), without cancellation. */
TARGET static inline double NAME(solve_model)(double a, double b, double c, int last)
{
    const double square = a * a - 4 * b * c;
    const double root = sqrt(square < 0 ? -square : square);
    if (last) return a >= 0 ? (a + root) / (2 * c) : 2 * b / (a - root);
    return a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
}

/* Returns a step by a model with the two poles around the root: c + s / (left - t) +
 * r / (right - t). The middle way (Li, LAPACK Working Note 89) takes the terms on each side of the
 * root together, so that c, s and r fit their values and slopes; `fixed` keeps the weight of the
 * pole that is the base and gives the other pole all the rest, which is better if one term on a
 * side is much larger than its neighbours. */
TARGET static double NAME(step)(const hs__secular *x, const NAME(place) * at, double f,
                                int64_t left, int last, int fixed, int base_is_left)
{
    const double *weight = x->weight;
    const double slope = at->before_slope + at->after_slope;
    double c = f - at->left * at->before_slope - at->right * at->after_slope;
    if (fixed && base_is_left) {
        const double ratio = weight[left] / at->left;
        c = f - at->right * slope - (at->left - at->right) * ratio * ratio;
    } else if (fixed) {
        const double ratio = weight[left + 1] / at->right;
        c = f - at->left * slope - (at->right - at->left) * ratio * ratio;
    }
    const double a = (at->left + at->right) * f - at->left * at->right * slope;
    const double b = at->left * at->right * f;
    if (last && c < 0) c = -c;
    double step = c == 0 ? b / a : NAME(solve_model)(a, b, c, last);
    /* a step in the wrong direction comes from rounding: Newton's has the right one */
    if (!(f * step < 0)) step = -f / slope;
    return step;
}

/* Returns a number between low and high that halves their distance, or the distance of their
 * logarithms if one is much nearer to 0. */
TARGET static inline double NAME(halve)(double low, double high)
{
    const double small = fabs(low) < fabs(high) ? low : high;
    const double large = small == low ? high : low;
    if (small == 0) return large / 16;
    if (large / small > 16) return small * sqrt(large / small);
    return low + (high - low) / 2;
}

/* Finds the root between low and high, behind pole `left` (or behind left + 1: `last`), from the
 * shift given. Steps by models nearly always converge at once. After two that have not halved the
 * least value of the function so far, the distance of low and high is halved instead, so that it
 * ends in any case. */
TARGET static double NAME(iterate)(const hs__secular *x, int64_t left, int last, double base,
                                   int base_is_left, double low, double high, double shift)
{
    enum { MOST = 250 }; /* a third of them halve the distance */
    double previous = HUGE_VAL;
    double least = HUGE_VAL;
    int slow = 0;
    int fixed = !last;
    if (!(shift > low && shift < high)) shift = (low + high) / 2;
    for (int count = 0; count < MOST; count++) {
        if (slow == 2 || !(shift > low && shift < high)) {
            slow = 0;
            shift = NAME(halve)(low, high);
            if (!(shift > low && shift < high)) return low == 0 ? high : low;
        }
        const NAME(place) at = NAME(evaluate)(x, left, base, shift);
        const double f = 1 + at.before + at.after;
        const double size = 1 + fabs(at.before) + fabs(at.after);
        const double slope = at.before_slope + at.after_slope;
        const double moved = (x->squares ? 2 * (base + shift) : 1) * fabs(shift);
        const double error = fabs(f);
        if (f < 0) low = shift;
        else high = shift;
        if (!last && error > previous / 10) fixed = !fixed;
        previous = error;
        slow = error > least / 2 ? slow + 1 : 0;
        least = fmin(least, error);
        const double step = NAME(step)(x, &at, f, left, last, fixed, base_is_left);
        const double next = NAME(advance)(x, base, shift, step);
        /* The function is known no better; the step from here costs nothing. */
        if (error <= ROUNDING * (16 * size + moved * slope))
            return next > low && next < high ? next : shift;
        if (next == shift) return shift;
        shift = next;
    }
    return shift;
}

/* The root behind the last pole: at most the sum of the squared weights away. */
TARGET static double NAME(last_shift)(const hs__secular *x)
{
    const double *pole = x->pole;
    const double *weight = x->weight;
    const int64_t j = x->count - 1;
    double most = 0;
    for (int64_t i = 0; i <= j; i++) most += weight[i] * weight[i];
    const double base = pole[j];
    if (j == 0) return NAME(advance)(x, base, 0, most);
    most *= 1 + (4 * x->count) * ROUNDING;
    const double high = NAME(advance)(x, base, 0, most);
    const double middle = NAME(advance)(x, base, 0, most / 2);
    const NAME(place) at = NAME(evaluate)(x, j - 1, base, middle);
    const double f = 1 + at.before + at.after;
    const double near = weight[j - 1] * weight[j - 1];
    const double own = weight[j] * weight[j];
    const double gap = -NAME(distance)(x, pole[j - 1], base, 0);
    const double rest = f - near / at.left - own / at.right;
    const double a = near + own - rest * gap;
    const double b = -own * gap;
    double guess = rest > 0 ? NAME(solve_model)(a, b, rest, 1) : most;
    guess = NAME(advance)(x, base, 0, guess);
    return NAME(iterate)(x, j - 1, 1, base, 0, f < 0 ? middle : 0, f < 0 ? high : middle, guess);
}

TARGET static void NAME(root)(const hs__secular *x, int64_t j, double *base, double *shift)
{
    const double *pole = x->pole;
    const double *weight = x->weight;
    if (j == x->count - 1) {
        base[j] = pole[j];
        shift[j] = NAME(last_shift)(x);
        return;
    }
    /* The sign in the middle tells the nearer pole, and the other terms there are nearly those at
     * the root. */
    const double half = (pole[j + 1] - pole[j]) / 2;
    const NAME(place) at = NAME(evaluate)(x, j, pole[j], half);
    const double f = 1 + at.before + at.after;
    const int is_left = f >= 0;
    const double here = weight[j] * weight[j];
    const double there = weight[j + 1] * weight[j + 1];
    const double rest = f - here / at.left - there / at.right;
    const double own = pole[is_left ? j : j + 1];
    const double gap = NAME(distance)(x, pole[is_left ? j + 1 : j], own, 0);
    /* rest + here / -t + there / (gap - t) = 0, or with the poles exchanged */
    const double a = here + there + rest * gap;
    const double b = (is_left ? here : there) * gap;
    double guess = rest == 0 ? b / a : NAME(solve_model)(a, b, rest, 0);
    guess = NAME(advance)(x, own, 0, guess);
    base[j] = own;
    shift[j] = is_left ? NAME(iterate)(x, j, 0, own, 1, 0, half, guess)
                       : NAME(iterate)(x, j, 0, own, 0, -half, 0, guess);
}

/* Multiplies (root_j - p) / (pole_j+ahead - p) for j = from .. to - 1: all are between 0 and 1. */
TARGET static inline double NAME(multiply_ratios)(const hs__secular *x, double d, int64_t from,
                                                  int64_t to, int64_t ahead, const double *base,
                                                  const double *shift)
{
    const double *pole = x->pole + ahead;
    NAME(vector) products = (NAME(vector)){0} + 1;
    int64_t j = from;
    for (; j + NAME(lanes) <= to; j += NAME(lanes)) {
        const NAME(vector) b = NAME(load)(base + j);
        const NAME(vector) s = NAME(load)(shift + j);
        const NAME(vector) p = NAME(load)(pole + j);
        NAME(vector) above = (b - d) + s;
        NAME(vector) below = p - d;
        if (x->squares) {
            above *= (b + d) + s;
            below *= p + d;
        }
        products *= above / below;
    }
    double lane[NAME(lanes)];
    NAME(store)(lane, products);
    double product = 1;
    for (int l = 0; l < NAME(lanes); l++) product *= lane[l];
    for (; j < to; j++) {
        double above = (base[j] - d) + shift[j];
        double below = pole[j] - d;
        if (x->squares) {
            above *= (base[j] + d) + shift[j];
            below *= pole[j] + d;
        }
        product *= above / below;
    }
    return product;
}

TARGET static double NAME(weight)(const hs__secular *x, int64_t i, const double *base,
                                  const double *shift)
{
    const double d = x->pole[i];
    const int64_t last = x->count - 1;
    double square = (base[last] - d) + shift[last];
    if (x->squares) square *= (base[last] + d) + shift[last];
    square *= NAME(multiply_ratios)(x, d, 0, i, 0, base, shift);
    square *= NAME(multiply_ratios)(x, d, i, last, 1, base, shift);
    const double size = sqrt(square < 0 ? -square : square);
    return x->weight[i] < 0 ? -size : size;
}

TARGET static double NAME(vector_of)(hs__vector_kind kind, int64_t count, const double *pole,
                                     const double *weight, int64_t zero, double base, double shift,
                                     double *restrict out)
{
    if (kind == HS__EIGENVECTOR)
        for (int64_t i = 0; i < count; i++) out[i] = weight[i] / ((pole[i] - base) - shift);
    else if (kind == HS__RIGHT_VECTOR)
        for (int64_t i = 0; i < count; i++)
            out[i] = weight[i] / (((pole[i] - base) - shift) * ((pole[i] + base) + shift));
    else
        for (int64_t i = 0; i < count; i++)
            out[i] =
                pole[i] * weight[i] / (((pole[i] - base) - shift) * ((pole[i] + base) + shift));
    if (kind == HS__LEFT_VECTOR) out[zero] = -1;
    NAME(vector) squares = {0};
    int64_t i = 0;
    for (; i + NAME(lanes) <= count; i += NAME(lanes)) {
        const NAME(vector) part = NAME(load)(out + i);
        squares += part * part;
    }
    double sum = NAME(sum_lanes)(squares);
    for (; i < count; i++) sum += out[i] * out[i];
    return 1 / sqrt(sum);
}

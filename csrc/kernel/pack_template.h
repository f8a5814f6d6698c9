/* Packing for one real type; see each_real.h for the parameters. */

/* ---- one full micro-panel of real elements --------------------------------------------------- */

/* Packs element by element; the compiler uses vector moves if the elements are adjacent. */
static inline __attribute__((always_inline)) void
NAME(pack_micro_panel_plain)(int tile, int negative, int64_t depth, const REAL *source,
                             int64_t stride, int64_t depth_stride, REAL *target)
{
    for (int64_t l = 0; l < depth; l++)
        for (int i = 0; i < tile; i++) {
            const REAL x = source[i * stride + l * depth_stride];
            target[l * tile + i] = negative ? -x : x;
        }
}

/* also a complex element, which is only moved */
typedef REAL NAME(any) __attribute__((may_alias));

/* hs__transpose_reals for this type. */
static void NAME(transpose_plain)(int64_t rows, int64_t cols, const NAME(any) * from,
                                  int64_t from_stride, NAME(any) * to, int64_t to_stride)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) to[i * to_stride + j] = from[j * from_stride + i];
}

#if defined(__x86_64__)

typedef REAL NAME(vector) __attribute__((vector_size(32), may_alias));
typedef REAL NAME(unaligned) __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias));
enum { NAME(lanes) = 32 / sizeof(REAL) };

/* Packs a micro-panel with contiguous depth: squares of lanes x lanes are transposed in
 * registers. */
AVX2 static inline __attribute__((always_inline)) void
NAME(pack_micro_panel_avx2)(int tile, int negative, int64_t depth, const REAL *source,
                            int64_t stride, int64_t depth_stride, REAL *target)
{
    int64_t l = 0;
    /* whole rows of the micro-panel are copied */
    if (stride == 1 && !negative) {
        /* each row is in another page, which the hardware does not prefetch */
        for (; l < depth; l++) {
            const REAL *from = source + l * depth_stride;
            const REAL *ahead = from + 12 * depth_stride;
            REAL *to = target + l * tile;
            for (int i = 0; i < tile; i += 64 / (int)sizeof(REAL)) __builtin_prefetch(ahead + i);
            if (tile * sizeof(REAL) > 64) __builtin_prefetch(ahead + tile - 1);
            int i = 0;
            for (; i + NAME(lanes) <= tile; i += NAME(lanes))
                *(NAME(unaligned) *)(to + i) = *(const NAME(unaligned) *)(from + i);
            memcpy(to + i, from + i, (size_t)(tile - i) * sizeof(REAL));
        }
        return;
    }
    if (depth_stride == 1)
        for (; l + NAME(lanes) <= depth; l += NAME(lanes))
            for (int i0 = 0; i0 < tile; i0 += NAME(lanes)) {
                const int have = tile - i0 < NAME(lanes) ? tile - i0 : NAME(lanes);
                NAME(vector) square[NAME(lanes)] = {{0}};
                for (int u = 0; u < have; u++)
                    square[u] = *(const NAME(unaligned) *)(source + (i0 + u) * stride + l);
                NAME(transpose_square)(square);
                for (int u = 0; u < NAME(lanes); u++) {
                    if (negative) square[u] = -square[u];
                    if (have == NAME(lanes))
                        *(NAME(unaligned) *)(target + (l + u) * tile + i0) = square[u];
                    else
                        memcpy(target + (l + u) * tile + i0, &square[u],
                               (size_t)have * sizeof(REAL));
                }
            }
    NAME(pack_micro_panel_plain)(tile, negative, depth - l, source + l * depth_stride, stride,
                                 depth_stride, target + l * tile);
}

/* Transposes in squares of registers, one cache line of `from` after the other. */
AVX2 static void NAME(transpose_avx2)(int64_t rows, int64_t cols, const REAL *from,
                                      int64_t from_stride, REAL *to, int64_t to_stride)
{
    enum { LINE = 64 / sizeof(REAL) };
    const int64_t whole = cols / NAME(lanes) * NAME(lanes);
    int64_t i = 0;
    for (; i + LINE <= rows; i += LINE)
        for (int64_t j = 0; j < whole; j += NAME(lanes))
            for (int64_t h = i; h < i + LINE; h += NAME(lanes)) {
                NAME(vector) square[NAME(lanes)];
                for (int u = 0; u < NAME(lanes); u++)
                    square[u] = *(const NAME(unaligned) *)(from + (j + u) * from_stride + h);
                NAME(transpose_square)(square);
                for (int u = 0; u < NAME(lanes); u++)
                    *(NAME(unaligned) *)(to + (h + u) * to_stride + j) = square[u];
            }
    NAME(transpose_plain)(i, cols - whole, from + whole * from_stride, from_stride, to + whole,
                          to_stride);
    NAME(transpose_plain)(rows - i, cols, from + i, from_stride, to + i * to_stride, to_stride);
}

/* Packs a full micro-panel, with the usual tiles as constants, so that all loops above unroll. */
AVX2 static void NAME(pack_full_micro_panel_avx2)(int tile, int negative, int64_t depth,
                                                  const REAL *source, int64_t stride,
                                                  int64_t depth_stride, REAL *target)
{
#define PACK_CASE(TILE)                                                                         \
    case TILE:                                                                                  \
        if (negative)                                                                           \
            NAME(pack_micro_panel_avx2)(TILE, 1, depth, source, stride, depth_stride, target);  \
        else NAME(pack_micro_panel_avx2)(TILE, 0, depth, source, stride, depth_stride, target); \
        break
    switch (tile) {
        PACK_CASE(4);
        PACK_CASE(6);
        PACK_CASE(8);
        PACK_CASE(12);
        PACK_CASE(14);
        PACK_CASE(16);
        PACK_CASE(24);
        PACK_CASE(32);
        PACK_CASE(48);
    default:
        NAME(pack_micro_panel_avx2)(tile, negative, depth, source, stride, depth_stride, target);
    }
#undef PACK_CASE
}

#endif

/* ---- all micro-panels ------------------------------------------------------------------------ */

/* hs__pack_micro_panels for this type. */
static void NAME(pack_micro_panels)(const hs__pack *how, int64_t count, int64_t depth,
                                    const REAL *source, int64_t stride, int64_t depth_stride,
                                    REAL *target)
{
    void (*const pack_full)(int, int, int64_t, const REAL *, int64_t, int64_t, REAL *) = PACK_FULL;
    const int tile = how->tile;
    const REAL sign = how->negative ? -1 : 1;
    const REAL im_sign = how->conjugate ? -sign : sign;
    const int64_t steps = how->form == HS__REAL ? depth : 2 * depth;
    /* source elements per micro-panel */
    const int across = how->form == HS__EXPANDED ? tile / 2 : tile;
    if (how->form == HS__REAL && stride == 1 && !how->negative) {
        const int64_t whole = count / tile * tile;
        for (int64_t l = 0; l < depth; l += BAND)
            for (int64_t i = 0; i < whole; i += tile)
                pack_full(tile, 0, depth - l < BAND ? depth - l : BAND,
                          source + i + l * depth_stride, 1, depth_stride,
                          target + i * depth + l * tile);
        source += whole;
        target += whole * depth;
        count -= whole;
    }
    for (int64_t i0 = 0; i0 < count; i0 += across, target += steps * tile) {
        const int have = count - i0 < across ? (int)(count - i0) : across;
        if (have < across) memset(target, 0, (size_t)(steps * tile) * sizeof(REAL));
        if (how->form == HS__REAL) {
            const REAL *from = source + i0 * stride;
            if (have == tile)
                pack_full(tile, how->negative, depth, from, stride, depth_stride, target);
            else
                for (int64_t l = 0; l < depth; l++)
                    for (int i = 0; i < have; i++)
                        target[l * tile + i] = sign * from[i * stride + l * depth_stride];
            continue;
        }
        for (int64_t l = 0; l < depth; l++) {
            REAL *first = target + 2 * l * tile;
            REAL *second = first + tile;
            for (int i = 0; i < have; i++) {
                const REAL *from = source + 2 * ((i0 + i) * stride + l * depth_stride);
                const REAL x = sign * from[0];
                const REAL y = im_sign * from[1];
                if (how->form == HS__SPLIT) {
                    first[i] = x;
                    second[i] = y;
                } else {
                    first[2 * i] = x;
                    first[2 * i + 1] = y;
                    second[2 * i] = -y;
                    second[2 * i + 1] = x;
                }
            }
        }
    }
}

/* hs__scale_micro_panels for this type. A real factor does not multiply by its imaginary zero. */
static void NAME(scale_micro_panels)(const hs__pack *how, int64_t count, int64_t depth, REAL re,
                                     REAL im, REAL *x)
{
    const int tile = how->tile;
    const int across = how->form == HS__EXPANDED ? tile / 2 : tile;
    /* number of steps in all micro-panels */
    const int64_t elements = (count + across - 1) / across * depth;
    if (how->form == HS__REAL || im == 0) {
        for (int64_t i = 0; i < elements * tile * (how->form == HS__REAL ? 1 : 2); i++) x[i] *= re;
        return;
    }
    for (int64_t l = 0; l < elements; l++, x += 2 * tile) {
        REAL *second = x + tile;
        for (int i = 0; i < across; i++) {
            const int at = how->form == HS__SPLIT ? i : 2 * i;
            const REAL u = x[at];
            const REAL v = how->form == HS__SPLIT ? second[i] : x[at + 1];
            const REAL real = re * u - im * v;
            const REAL imaginary = re * v + im * u;
            x[at] = real;
            if (how->form == HS__SPLIT) second[i] = imaginary;
            else {
                x[at + 1] = imaginary;
                second[at] = -imaginary;
                second[at + 1] = real;
            }
        }
    }
}

static void NAME(transpose_reals)(int64_t rows, int64_t cols, const REAL *from, int64_t from_stride,
                                  REAL *to, int64_t to_stride)
{
    TRANSPOSE(rows, cols, from, from_stride, to, to_stride);
}

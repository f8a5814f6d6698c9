/* Products of a small matrix with rows of vectors, against their definition, for each instruction
 * set: all strides, conjugates, edges of tiles and vectors; nothing beside the result is written;
 * an element does not depend on its place. */
#include <string.h>

#include "check.h"
#include "kernel/rows.h"
#include "matrices.h"
#include "sets.h"

enum { GUARD = 40 }; /* elements behind each row that must stay as they are */

/* The small matrix has element (i, l) at `at`; the definition of a stride is repeated here. */
static double complex factor_at(const hs__factors *a, int dtype, int64_t i, int64_t l)
{
    const double complex value = get(a->data, dtype, i * a->row_step + l * a->depth_step);
    return a->conjugate ? conj(value) : value;
}

static void *random_elements(int dtype, int64_t count)
{
    void *x = malloc((size_t)(count + 1) * size_of[dtype]);
    for (int64_t i = 0; i <= count; i++) set(x, dtype, i, small_integer(dtype));
    return x;
}

static void check_product(int dtype, int64_t rows, int64_t depth, int64_t length, int by_rows)
{
    const int64_t x_step = length + 64, c_step = length + GUARD;
    const hs__rows_how how = (hs__rows_how)check_random(3);
    void *a = random_elements(dtype, (rows + 3) * (depth + 3));
    void *x = random_elements(dtype, (depth + 1) * x_step);
    void *c = random_elements(dtype, (rows + 1) * c_step);
    void *old = malloc((size_t)((rows + 1) * c_step + 1) * size_of[dtype]);
    memcpy(old, c, (size_t)((rows + 1) * c_step + 1) * size_of[dtype]);
    const hs__factors factors = {.data = a,
                                 .row_step = by_rows ? depth + 2 : 1,
                                 .depth_step = by_rows ? 1 : rows + 2,
                                 .conjugate = check_random(2) != 0};
    hs__rows_product_for(dtype)(rows, depth, length, &factors, x, x_step, c, c_step, how);
    int wrong = 0;
    for (int64_t i = 0; i <= rows; i++)
        for (int64_t j = 0; j < c_step; j++) {
            double complex expected = get(old, dtype, i * c_step + j);
            if (i < rows && j < length) {
                double complex sum = 0;
                for (int64_t l = 0; l < depth; l++)
                    sum += factor_at(&factors, dtype, i, l) * get(x, dtype, l * x_step + j);
                expected = how == HS__ROWS_SET   ? sum
                           : how == HS__ROWS_ADD ? expected + sum
                                                 : expected - sum;
            }
            wrong += get(c, dtype, i * c_step + j) != expected;
        }
    CHECK(wrong == 0);
    free(a);
    free(x);
    free(c);
    free(old);
}

static void check_products(void)
{
    static const int64_t depths[] = {0, 1, 2, 17, 127, 128, 129, 300};
    for (int dtype = 0; dtype < 4; dtype++) {
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
            for (int64_t rows = 0; rows < 14; rows += CHECK_MANY(1, 3))
                check_product(dtype, rows, depths[d], check_random(90), (int)check_random(2));
        for (int64_t length = 0; length < 150; length += CHECK_MANY(1, 7))
            check_product(dtype, 6 + check_random(8), 1 + check_random(20), length,
                          (int)check_random(2));
    }
}

/* The terms of each sum are added in the same order: equal rows and columns give equal bits. */
static void check_places(void)
{
    enum { ROWS = 23, DEPTH = 200, LENGTH = 77 };
    static float a[DEPTH], x[DEPTH * (LENGTH + 64)], c[ROWS * LENGTH];
    for (int l = 0; l < DEPTH; l++) a[l] = 1.0f / (float)(3 + l);
    for (int l = 0; l < DEPTH; l++)
        for (int j = 0; j < LENGTH + 64; j++) x[l * (LENGTH + 64) + j] = 1.0f / (float)(7 + l);
    const hs__factors factors = {a, 0, 1, 0};
    hs__rows_product_for(HS_FLOAT32)(ROWS, DEPTH, LENGTH, &factors, x, LENGTH + 64, c, LENGTH,
                                     HS__ROWS_SET);
    for (int i = 0; i < ROWS * LENGTH; i++) CHECK(c[i] == c[0]);
}

int main(void)
{
    WITH_EACH_SET(check_products());
    WITH_EACH_SET(check_places());
    return check_result();
}

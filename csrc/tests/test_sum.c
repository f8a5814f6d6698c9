/* hs__sum: its error for many numbers. hs__exact: rounding to nearest and up, products with counts,
 * denormal numbers, and any order of the numbers. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "core/exact_sum.h"
#include "core/sum.h"

enum { MAX = 16 };

static double sum_of(int32_t count, const double *numbers, bool up)
{
    hs__exact sum = {{0}};
    for (int32_t i = 0; i < count; i++) hs__exact_add(&sum, numbers[i], 1);
    return hs__exact_rounded(&sum, up);
}

static void roundings(void)
{
    CHECK(sum_of(0, NULL, false) == 0.0 && sum_of(0, NULL, true) == 0.0);
    CHECK(sum_of(1, (const double[]){0.1}, true) == 0.1);
    /* half of the last bit goes to even, unless there is a little more than half */
    CHECK(sum_of(2, (const double[]){1, 0x1p-53}, false) == 1.0);
    CHECK(sum_of(3, (const double[]){1, 0x1p-53, 0x1p-53}, false) == 1 + 0x1p-52);
    CHECK(sum_of(3, (const double[]){1, 0x1p-53, 0x1p-120}, false) == 1 + 0x1p-52);
    CHECK(sum_of(3, (const double[]){0x1p-120, 1 + 0x1p-52, 0x1p-53}, false) == 1 + 0x1p-51);
    CHECK(sum_of(2, (const double[]){1, 0x1p-1074}, false) == 1.0);
    CHECK(sum_of(2, (const double[]){1, 0x1p-1074}, true) == 1 + 0x1p-52);
    CHECK(sum_of(2, (const double[]){3 * 0x1p-1074, 0x1p-1074}, false) == 0x1p-1072);
    CHECK(sum_of(2, (const double[]){0x1p1023, 0x1p1023}, false) == INFINITY);
    for (int round = 0; round < 200; round++) {
        double numbers[MAX];
        for (int i = 0; i < MAX; i++)
            numbers[i] = ldexp(1 + check_random(1000), (int)check_random(200) - 100);
        const double sum = sum_of(MAX, numbers, false);
        for (int i = 0; i < MAX / 2; i++) {
            const double kept = numbers[i];
            numbers[i] = numbers[MAX - 1 - i];
            numbers[MAX - 1 - i] = kept;
        }
        CHECK(sum_of(MAX, numbers, false) == sum);
    }
}

static void products(void)
{
    hs__exact some = {{0}};
    hs__exact more = {{0}};
    hs__exact_add(&some, 0.1, (UINT64_C(1) << 53) - 1);
    hs__exact_add(&more, 0.1, UINT64_C(1) << 53);
    CHECK(hs__exact_less(&some, &more) && !hs__exact_less(&more, &some));
    hs__exact_add(&some, 0.1, 1);
    CHECK(!hs__exact_less(&some, &more) && !hs__exact_less(&more, &some));
    CHECK(hs__exact_rounded(&some, false) == 0.1 * 0x1p53);
}

static void long_sums(void)
{
    enum { COUNT = 100003 };
    double *numbers = malloc(COUNT * sizeof *numbers);
    if (!CHECK(numbers != NULL)) return;
    for (int i = 0; i < COUNT; i++) numbers[i] = 1.0 / (1 + check_random(1000));
    for (int32_t count = 0; count < COUNT; count = 3 * count + 1) {
        const double exact = sum_of(count, numbers, false);
        CHECK(fabs(hs__sum(count, numbers) - exact) <= 40 * 0x1p-53 * exact);
    }
    free(numbers);
}

int main(void)
{
    roundings();
    products();
    long_sums();
    return check_result();
}

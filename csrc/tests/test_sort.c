/* hs__sort_positive and hs__sort, against insertion sort: few and many keys, ties, extreme doubles,
 * failing allocations. */
#include <float.h>
#include <math.h>

#include "core/sort.h"
#include "check.h"
#include "scarce.h"
#include "zones.h"

enum { MAX = 3000 };

static double random_key(int kind)
{
    switch (kind) {
    case 0: return check_random(5);
    case 1: return check_random(1u << 30) * 0x1p-30;
    case 2: return pow(2, (int)check_random(2000) - 1000);
    case 3:
        return (const double[]){
            0.0, -0.0, DBL_TRUE_MIN, DBL_MIN, 1.0, DBL_MAX, INFINITY}[check_random(7)];
    default: return 7.0;
    }
}

static void as_by_insertion(void)
{
    static double keys[MAX];
    static int32_t order[MAX], wanted[MAX];
    for (int round = 0; round < 300; round++) {
        const int32_t p = 1 + (int32_t)check_random(round % 10 == 0 ? MAX : round % 2 ? 63 : 140);
        for (int32_t i = 0; i < p; i++) {
            keys[i] = random_key(round % 5);
            order[i] = -7;
        }
        const int32_t count = zones_sorted(p, keys, wanted);
        int32_t size = -7;
        CHECK(hs__sort_positive(p, keys, order, &size) == HS_OK);
        if (!CHECK(size == count)) continue;
        CHECK(memcmp(order, wanted, (size_t)size * sizeof *order) == 0);
        for (int32_t k = size; k < p; k++) CHECK(order[k] == -7);
        CHECK(hs__sort(p, keys, order) == HS_OK);
        for (int32_t k = 1; k < p; k++)
            CHECK(keys[order[k - 1]] < keys[order[k]] ||
                  (keys[order[k - 1]] == keys[order[k]] && order[k - 1] < order[k]));
    }
}

static void none_positive(void)
{
    static const double zeros[100] = {0};
    int32_t order[100];
    int32_t size = -7;
    CHECK(hs__sort_positive(100, zeros, order, &size) == HS_OK && size == 0);
    CHECK(hs__sort_positive(1, zeros, order, &size) == HS_OK && size == 0);
}

static void no_memory(void)
{
    double keys[100];
    int32_t order[100] = {-7};
    int32_t size = -7;
    for (int i = 0; i < 100; i++) keys[i] = 100 - i;
    CHECK_SCARCE(hs__sort_positive(100, keys, order, &size), size == -7 && order[0] == -7);
    CHECK(size == 100 && order[0] == 99);
}

int main(void)
{
    as_by_insertion();
    none_positive();
    no_memory();
    return check_result();
}

/* Block sizes by the model: equal to BLIS's own configurations where the two agree, what each cache
 * must hold, and edge cases. */
#include <limits.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"

/* Configurations of BLIS 0.9 in double precision. Sandy Bridge: 8 x 4 tiles, k_c 256, m_c 96;
 * Haswell 6 x 8, k_c 256; Penryn 4 x 4, k_c 384; each with 32 KiB of L1 in 8 ways. */
static void test_of_blis(void)
{
    const hs_caches sandy_bridge = {{32768, 262144, 0}, {8, 8, 0}, {1, 1, 1}};
    int32_t blocks[3];
    CHECK(hs_blocking(&sandy_bridge, 8, 4, 8, blocks) == HS_OK && blocks[0] == 256 &&
          blocks[1] == 96 && blocks[2] == 0);
    CHECK(hs_blocking(&sandy_bridge, 6, 8, 8, blocks) == HS_OK && blocks[0] == 256);
    CHECK(hs_blocking(&sandy_bridge, 4, 4, 8, blocks) == HS_OK && blocks[0] == 384);
}

static int32_t any_below(int32_t below) { return (int32_t)check_random((unsigned)below); }

/* Random caches in which everything fits: no more ways are used than there are. */
static void test_what_fits(void)
{
    for (int turn = 0; turn < 2000; turn++) {
        const int32_t mu = 1 + any_below(48);
        const int32_t nu = 1 + any_below(16);
        const int32_t bytes = 4 << any_below(2);
        const int32_t workers = 1 + any_below(8);
        const hs_caches x = {{(int64_t)(16 + any_below(112)) << 10,
                              (int64_t)(256 + any_below(2000)) << 10,
                              (int64_t)(16 + any_below(200)) << 20},
                             {4 + any_below(12), 4 + any_below(12), 8 + any_below(12)},
                             {1, 1, workers}};
        int32_t b[3];
        if (!CHECK(hs_blocking(&x, mu, nu, bytes, b) == HS_OK)) return;
        CHECK(b[0] >= 16 && b[0] % 8 == 0 && b[1] >= mu && b[1] % mu == 0 && b[2] >= nu &&
              b[2] % nu == 0);
        CHECK(b[0] == 16 || (int64_t)b[0] * (mu + nu) * bytes <= x.bytes[0]);
        CHECK(b[1] == mu || (int64_t)b[0] * b[1] * bytes <= x.bytes[1]);
        CHECK((int64_t)b[0] * b[2] * bytes <= x.bytes[2]);
    }
}

static void test_unknown_caches(void)
{
    int32_t b[3];
    for (int known = 0; known < 3; known++) {
        hs_caches x = {{32768, 1 << 20, 32 << 20}, {8, 16, 11}, {1, 1, 4}};
        x.bytes[known] = 0;
        CHECK(hs_blocking(&x, 8, 6, 8, b) == HS_OK);
        for (int i = 0; i < 3; i++) CHECK((b[i] > 0) == (i < known));
    }
}

/* More workers in a cache have less of it each. Zero ways and zero workers mean 8 and 1. */
static void test_sharing(void)
{
    const hs_caches one = {{32768, 1 << 20, 32 << 20}, {8, 8, 8}, {1, 1, 1}};
    const hs_caches none = {{32768, 1 << 20, 32 << 20}, {0}, {0}};
    int32_t a[3], b[3];
    CHECK(hs_blocking(&one, 8, 6, 8, a) == HS_OK && hs_blocking(&none, 8, 6, 8, b) == HS_OK &&
          !memcmp(a, b, sizeof a));
    hs_caches cluster = one;
    cluster.sharing[1] = 4;
    CHECK(hs_blocking(&cluster, 8, 6, 8, b) == HS_OK && b[0] == a[0] && b[1] <= a[1] / 4 &&
          b[1] >= a[1] / 8);
    hs_caches socket = one;
    socket.sharing[2] = 16;
    CHECK(hs_blocking(&socket, 8, 6, 8, b) == HS_OK && b[1] == a[1] && b[2] < a[2] &&
          b[2] >= a[2] / 2);
}

static void test_edges(void)
{
    const hs_caches x = {{32768, 1 << 20, 32 << 20}, {8, 8, 8}, {1, 1, 1}};
    const hs_caches direct = {{1, 1, 1}, {1, 1, 1}, {1 << 16, 1 << 16, 1 << 16}};
    const hs_caches large = {{INT64_C(1) << 40, INT64_C(1) << 40, INT64_C(1) << 40},
                             {INT_MAX, INT_MAX, INT_MAX},
                             {1, 1, 1}};
    int32_t b[3] = {7, 7, 7};
    const int32_t bad[][3] = {{0, 4, 8},    {1025, 4, 8}, {8, 0, 8},
                              {8, 1025, 8}, {8, 4, 0},    {8, 4, 65}};
    for (int i = 0; i < 6; i++)
        CHECK(hs_blocking(&x, bad[i][0], bad[i][1], bad[i][2], b) == HS_ERROR_VALUE);
    hs_caches wrong = x;
    wrong.bytes[1] = -1;
    CHECK(hs_blocking(&wrong, 8, 4, 8, b) == HS_ERROR_VALUE);
    wrong = x;
    wrong.ways[0] = -1;
    CHECK(hs_blocking(&wrong, 8, 4, 8, b) == HS_ERROR_VALUE);
    wrong = x;
    wrong.sharing[2] = -1;
    CHECK(hs_blocking(&wrong, 8, 4, 8, b) == HS_ERROR_VALUE && b[0] == 7 && b[2] == 7);
    CHECK(hs_blocking(&direct, 1024, 1024, 64, b) == HS_OK && b[0] == 16 && b[1] == 1024 &&
          b[2] == 1024);
    CHECK(hs_blocking(&large, 1, 1, 1, b) == HS_OK && b[0] == 1 << 20 && b[1] >= 1 &&
          b[1] <= 1 << 20 && b[2] >= 1 && b[2] <= 1 << 20);
}

static void test_sizes(void)
{
    int32_t tile[2] = {7, 7};
    int32_t blocks[3] = {7, 7, 7};
    CHECK(hs_kernel_sizes("plain", HS_COMPLEX64, tile, blocks) == HS_ERROR_VALUE &&
          hs_kernel_sizes(NULL, -1, tile, blocks) == HS_ERROR_VALUE);
    CHECK(hs_kernel_select("c") == HS_OK);
    hs_kernel_info info;
    CHECK(hs_kernel_describe(&info) == HS_OK);
    for (int32_t dtype = 0; dtype < 2; dtype++) {
        CHECK(hs_kernel_sizes("", dtype, tile, blocks) == HS_ERROR_UNSUPPORTED &&
              hs_kernel_sizes("skx", dtype, tile, blocks) == HS_ERROR_UNSUPPORTED);
        CHECK(hs_kernel_sizes("plain", dtype, tile, blocks) == HS_OK && tile[0] > 0 && tile[1] > 0);
        CHECK(blocks[0] > 0 && blocks[1] % tile[0] == 0 && blocks[2] % tile[1] == 0);
        int32_t own_tile[2], own_blocks[3];
        CHECK(hs_kernel_sizes(info.set, dtype, tile, blocks) == HS_OK &&
              hs_kernel_sizes(NULL, dtype, own_tile, own_blocks) == HS_OK);
        CHECK(tile[0] == info.tile_rows[dtype] && tile[1] == info.tile_cols[dtype]);
        CHECK(!memcmp(tile, own_tile, sizeof tile) && !memcmp(blocks, own_blocks, sizeof blocks));
    }
}

int main(void)
{
    test_of_blis();
    test_what_fits();
    test_unknown_caches();
    test_sharing();
    test_edges();
    test_sizes();
    return check_result();
}

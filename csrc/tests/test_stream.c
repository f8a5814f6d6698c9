/* Streams: pieces of every size, written to every place within a cache line and compared byte by
 * byte; nothing is written before and behind them. */
#include "kernel/stream.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { LINE = 64, MOST = 20000 };

/* Writes pieces of `size` bytes, or of changing sizes if that is 0, `total` bytes in all from
 * `offset` on. */
static void write_pieces(int64_t offset, int64_t size, int64_t total)
{
    static _Alignas(LINE) char buffer[HS__STREAM_BYTES], memory[MOST + 2 * LINE],
        wanted[MOST + 2 * LINE];
    memset(memory, 1, sizeof memory);
    memset(wanted, 1, sizeof wanted);
    for (int64_t i = 0; i < total; i++) wanted[offset + i] = (char)check_random(256);
    hs__stream stream = hs__stream_start(memory + offset, buffer);
    for (int64_t at = 0, some; at < total; at += some) {
        some = size ? size : 1 + (int64_t)check_random(HS__STREAM_PUT);
        if (some > total - at) some = total - at;
        memcpy(hs__stream_place(&stream), wanted + offset + at, (size_t)some);
        hs__stream_put(&stream, some);
    }
    hs__stream_end(&stream);
    if (!CHECK(!memcmp(memory, wanted, sizeof memory)))
        fprintf(stderr, "  offset %d, pieces of %d, %d in all\n", (int)offset, (int)size,
                (int)total);
}

int main(void)
{
    static const int64_t sizes[] = {0, 4, 60, 64, 68, 512, 2000, HS__STREAM_PUT};
    static const int64_t totals[] = {0, 1, 63, 64, 65, 130, 4095, 4096, 4160, 6143, MOST};
    if (hs__stream_can())
        for (int64_t offset = 0; offset < LINE; offset += 1 + offset / 4)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                for (size_t k = 0; k < sizeof totals / sizeof *totals; k++)
                    write_pieces(offset, sizes[i], totals[k]);
    return check_result();
}

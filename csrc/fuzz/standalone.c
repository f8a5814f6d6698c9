/* Runs a harness without libFuzzer: on N pseudo-random inputs ("fuzz_x N SEED"), or on a file that
 * a campaign has found ("fuzz_x FILE"). HS_TEST_FEW in the environment makes N an eighth. */
#include "bytes.h"

int main(int argc, char **argv)
{
    uint8_t data[512];
    if (argc == 2) {
        FILE *file = fopen(argv[1], "rb");
        if (!file) {
            perror(argv[1]);
            return 1;
        }
        const size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        return LLVMFuzzerTestOneInput(data, size);
    }
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    long count = argc > 1 ? atol(argv[1]) : 20000;
    if (getenv("HS_TEST_FEW")) count = (count + 7) / 8;
    for (long k = count; k > 0; k--) {
        const size_t size = 32 + (size_t)(k % 8) * 48;
        for (size_t i = 0; i < size; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            data[i] = (uint8_t)(state >> 56);
        }
        LLVMFuzzerTestOneInput(data, size);
    }
    return 0;
}

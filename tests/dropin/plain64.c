/* Plain names for the functions of a library that has them with a prefix and a suffix: LIBRARY is
 * opened, and each function below jumps into it. */
#include <dlfcn.h>
#include <stdlib.h>

#if defined __x86_64__
#define JUMP(WHERE) "movq " #WHERE "@GOTPCREL(%rip), %rax\njmp *(%rax)\n"
#elif defined __aarch64__
#define JUMP(WHERE)                                                                               \
    "adrp x16, :got:" #WHERE "\nldr x16, [x16, :got_lo12:" #WHERE "]\nldr x16, [x16]\nbr x16\n"
#endif

#define DECLARE(PLAIN, THERE)                                                                     \
    void *to_##PLAIN;                                                                             \
    __asm__(".text\n.globl " #PLAIN "\n.type " #PLAIN ", %function\n" #PLAIN ":\n" JUMP(to_##PLAIN));
FUNCTIONS(DECLARE)

__attribute__((constructor)) static void open_library(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) abort();
#define FIND(PLAIN, THERE)                                                                        \
    to_##PLAIN = dlsym(library, #THERE);                                                          \
    if (!to_##PLAIN) abort();
    FUNCTIONS(FIND)
}

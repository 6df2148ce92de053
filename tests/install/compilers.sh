# SPDX-License-Identifier: Apache-2.0
# Headers and library are C99 without a warning for every compiler of docs/building.md that is installed: gcc, clang, musl,
# MinGW and 32-bit x86; clang's targets for Android, iOS, macOS and Windows, as far as others' headers allow.
source "$(dirname "$0")/common.inc"
cd "$KEYBITS_SOURCE"
for header in include/keybits/*.h; do echo "#include <keybits/${header##*/}>"; done >"$scratch/headers.c"
flags=(-std=c99 -pedantic -Wall -Wextra -Wshadow -Wconversion -Werror -ffp-contract=off -fsyntax-only -DKB_BUILDING
       -Iinclude -Isrc)

# quiet NAME COMPILER OPTION...
quiet() {
    local name=$1
    shift
    command -v "$1" >/dev/null || { echo "$name: no $1"; return; }
    "$@" "${flags[@]}" "$scratch/headers.c" src/*/*.c >"$scratch/log" 2>&1 || { head -n 20 "$scratch/log"; exit 1; }
    echo "$name: no warning"
}
quiet gcc gcc
quiet "the oldest gcc" gcc-11
quiet clang clang
quiet "the oldest clang" clang-13
quiet musl musl-gcc
quiet Windows x86_64-w64-mingw32-gcc
quiet "32-bit x86" i686-linux-gnu-gcc -msse2 -mfpmath=sse
quiet aarch64 aarch64-linux-gnu-gcc

# musl's headers suit every 64-bit system with a long of 64 bits.
musl=/usr/include/x86_64-linux-musl
if [ -d $musl ]; then
    for target in aarch64-linux-android24 arm64-apple-ios13 arm64-apple-macos11; do
        quiet $target clang --target=$target -nostdlibinc -isystem $musl
    done
fi

# Windows without MinGW has no headers here, so what the library uses is declared.
mkdir "$scratch/libc"
cat >"$scratch/libc/stdlib.h" <<'C'
#include <stddef.h>
void *malloc(size_t), *calloc(size_t, size_t), *realloc(void *, size_t);
void *bsearch(const void *, const void *, size_t, size_t, int (*)(const void *, const void *));
void free(void *), qsort(void *, size_t, size_t, int (*)(const void *, const void *));
C
cat >"$scratch/libc/string.h" <<'C'
#include <stddef.h>
void *memcpy(void *, const void *, size_t), *memmove(void *, const void *, size_t), *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t), strcmp(const char *, const char *), strncmp(const char *, const char *, size_t);
size_t strlen(const char *), strcspn(const char *, const char *);
char *strchr(const char *, int), *strncat(char *, const char *, size_t), *strstr(const char *, const char *);
C
cat >"$scratch/libc/stdio.h" <<'C'
#include <stdarg.h>
#include <stddef.h>
int snprintf(char *, size_t, const char *, ...), vsnprintf(char *, size_t, const char *, va_list);
C
cat >"$scratch/libc/math.h" <<'C'
double sqrt(double), fabs(double), floor(double), ceil(double), ldexp(double, int), frexp(double, int *), fmin(double, double),
    fmax(double, double);
float sqrtf(float), fabsf(float), floorf(float), ceilf(float), fminf(float, float), fmaxf(float, float);
long lrintf(float), lrint(double);
#define isfinite __builtin_isfinite
#define isnan __builtin_isnan
#define INFINITY __builtin_inff()
#define HUGE_VAL __builtin_inf()
#define NAN __builtin_nanf("")
C
quiet clang-cl clang --target=x86_64-pc-windows-msvc -ffreestanding -nostdlibinc -isystem "$scratch/libc" -DKB_NO_THREADS

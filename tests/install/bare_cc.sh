# The library without any build system: one line, as the README gives it.
source "$(dirname "$0")/common.inc"
cd "$KEYBITS_SOURCE"
${CC:-cc} -O0 -ffp-contract=off -shared -fPIC -Iinclude -Isrc src/*/*.c -lm -lpthread -o "$scratch/libkeybits.so"
${CC:-cc} -Iinclude "$consumer" -L"$scratch" -lkeybits -o "$scratch/consumer"
LD_LIBRARY_PATH=$scratch check "$scratch/consumer"

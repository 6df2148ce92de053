# SPDX-License-Identifier: Apache-2.0
# scripts/setup installs what is missing, by an apt of our own: without the packages that Debian does not have for this
# processor, which it names. What apt refuses is a failure.
source "$(dirname "$0")/common.inc"
mkdir bin
cat >bin/apt-get <<'SH'
#!/bin/sh
echo "$@" >>calls.txt
case "$*" in *install*) exit $(cat code.txt) ;; esac
SH
cat >bin/apt-cache <<'SH'
#!/bin/sh
echo "$2:"
echo "  Installed: (none)"
case $2 in gcc-aarch64-linux-gnu) echo "  Candidate: (none)" ;; *) echo "  Candidate: 1.0" ;; esac
seq 100000
SH
printf '#!/bin/sh\necho arm64\n' >bin/dpkg
printf '#!/bin/sh\n' >bin/dpkg-query
printf '#!/bin/sh\necho 0\n' >bin/id
chmod +x bin/*
PATH=$scratch/bin:$PATH
unset SETUP

echo 0 >code.txt
run "$KEYBITS_SOURCE/scripts/setup" bench-instructions
says "setup: not in Debian for arm64: gcc-aarch64-linux-gnu"
says "setup: installing libc6-dev-arm64-cross qemu-user"
grep -q 'install --no-install-recommends libc6-dev-arm64-cross qemu-user$' calls.txt || fail "$(cat calls.txt)"
rm calls.txt
run env SETUP=no "$KEYBITS_SOURCE/scripts/setup" bench-instructions
[ ! -e calls.txt ] || fail "installed in spite of SETUP=no"
echo 1 >code.txt
ends 1 "$KEYBITS_SOURCE/scripts/setup" bench-instructions
says "could not install the packages above"

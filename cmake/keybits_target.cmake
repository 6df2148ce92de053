# SPDX-License-Identifier: Apache-2.0
# Flags that every target of the project shares.
#
# keybits_target(NAME [STRICT]): C11, hidden symbols, position independent (so that the static library can go into
# someone's shared one), no fused multiply-add (which would change bits), warnings. STRICT adds the warnings that the
# library itself keeps to. Inside a project that asks for no build type the code is optimised all the same.
set(KEYBITS_GNU_LIKE OFF)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND NOT MSVC) # clang-cl takes cl's options
    set(KEYBITS_GNU_LIKE ON)
endif()

function(keybits_target name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "STRICT" "" "")
    set_target_properties(${name} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON CXX_STANDARD 17
                          C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                          POSITION_INDEPENDENT_CODE ON)
    if(NOT KEYBITS_GNU_LIKE)
        return()
    endif()
    target_compile_options(${name} PRIVATE $<$<CONFIG:>:-O3> -ffp-contract=off -Wall -Wextra)
    if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(i.86|x86)$")
        target_compile_options(${name} PRIVATE -msse2 -mfpmath=sse) # floats evaluated as floats
    endif()
    if(arg_STRICT)
        target_compile_options(${name} PRIVATE -Wshadow -Wconversion)
    endif()
    if(KEYBITS_WERROR)
        target_compile_options(${name} PRIVATE -Werror)
    endif()
    if(KEYBITS_SANITIZE)
        # The checks that a sanitizer puts in make gcc guess wrongly about what is set: that warning is for plain builds.
        target_compile_options(${name} PRIVATE -fsanitize=${KEYBITS_SANITIZE} -fno-sanitize-recover=all
                               -fno-omit-frame-pointer -g1)
        if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${name} PRIVATE -Wno-maybe-uninitialized)
        endif()
    endif()
endfunction()

if(KEYBITS_SANITIZE)
    add_link_options(-fsanitize=${KEYBITS_SANITIZE})
endif()

# KEYBITS_BAD_ONLY: nothing calls what other descriptors need (KB_BAD_ONLY, src/model/model.h), so the linker drops it.
# Everything but the kernels that most CPUs run is compiled for size.
target_compile_definitions(keybits_objects PRIVATE KB_BAD_ONLY=1)
if(KEYBITS_GNU_LIKE)
    foreach(source IN LISTS library_sources)
        set(level -Os)
        if(source MATCHES "/kernels_(avx2|neon)\\.c$")
            set(level -O2)
        endif()
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS $<$<NOT:$<CONFIG:Debug>>:${level}>)
    endforeach()
    target_compile_options(keybits_objects PRIVATE -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables
                           -fno-math-errno)
    if(UNIX AND NOT APPLE)
        add_link_options(-Wl,--gc-sections -Wl,-z,noseparate-code)
    endif()
endif()

# SPDX-License-Identifier: Apache-2.0
# The trainer, the benchmarks and the program: libraries keybits-io, keybits-pipeline, keybits-collection, keybits-learn,
# keybits-eval, and the program keybits-cli, which is put at <build>/keybits. A part whose folder is empty is left out.
#
# OpenCV is only a peer to compare with: where it is found, the module keybits-peers.so (eval/peers_*.cpp), which the
# program loads when a benchmark asks for it, and bench/*.cpp are built, and only then is a C++ compiler asked for.
file(GLOB io_sources CONFIGURE_DEPENDS io/*.c)
file(GLOB pipeline_sources CONFIGURE_DEPENDS pipeline/*.c)
if(NOT KEYBITS_BUILD_LEARN) # patch sets, and patches of reconstructions, are for the trainer
    list(FILTER pipeline_sources EXCLUDE REGEX "/(patch_load|multiview|colmap_patches)[.]c$")
endif()
file(GLOB collection_sources CONFIGURE_DEPENDS collection/*.c)
file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS cli/*.c)
file(GLOB learn_sources CONFIGURE_DEPENDS learn/*.c)
file(GLOB eval_sources CONFIGURE_DEPENDS eval/*.c)
file(GLOB peer_sources CONFIGURE_DEPENDS eval/peers_*.cpp)
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
file(GLOB bench_peer_sources CONFIGURE_DEPENDS bench/*.cpp)

# keybits_need(FOUND-VARIABLE WHAT DEBIAN-PACKAGE): stops with a line that says what to install.
function(keybits_need found what package)
    if(NOT ${found})
        message(FATAL_ERROR "The program keybits needs ${what}. On Debian: apt-get install ${package}. "
                            "For the library alone: -DKEYBITS_EXTRAS=OFF.")
    endif()
endfunction()

# ------------------------------------------------------------------------------------------------- OpenCV, if there
set(have_peers OFF)
if((KEYBITS_BUILD_EVAL AND peer_sources) OR (KEYBITS_BUILD_BENCH AND bench_peer_sources))
    include(CheckLanguage)
    check_language(CXX)
    if(CMAKE_CXX_COMPILER)
        enable_language(CXX)
        find_package(OpenCV QUIET COMPONENTS core imgproc imgcodecs features2d calib3d OPTIONAL_COMPONENTS xfeatures2d)
        if(OpenCV_FOUND)
            set(have_peers ON)
            message(STATUS "keybits: comparing with OpenCV ${OpenCV_VERSION}")
        endif()
    endif()
endif()

# ------------------------------------------------------------------------------------------------------- io
if(io_sources AND (KEYBITS_BUILD_CLI OR KEYBITS_BUILD_EVAL))
    find_package(PNG QUIET)
    keybits_need(PNG_FOUND libpng libpng-dev)
    find_package(JPEG QUIET)
    keybits_need(JPEG_FOUND libjpeg libjpeg-dev)
    find_package(SQLite3 QUIET)
    keybits_need(SQLite3_FOUND SQLite libsqlite3-dev)
    find_path(JANSSON_INCLUDE_DIR jansson.h)
    find_library(JANSSON_LIBRARY jansson)
    keybits_need(JANSSON_LIBRARY jansson libjansson-dev)
    add_library(keybits-io STATIC ${io_sources})
    keybits_target(keybits-io)
    target_include_directories(keybits-io PUBLIC ${PROJECT_SOURCE_DIR} src) # src: io/bytes.h shows common/bytes.h
    target_link_libraries(keybits-io PUBLIC keybits_inside PNG::PNG JPEG::JPEG SQLite::SQLite3 ${JANSSON_LIBRARY})
    target_include_directories(keybits-io PRIVATE ${JANSSON_INCLUDE_DIR})

    # COLMAP's tables as a C string; the Python package takes the same file.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/io/colmap.sql)
    file(STRINGS io/colmap.sql lines REGEX "^[^-]")
    list(JOIN lines " " colmap_tables)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/io_colmap_tables.h
         CONTENT "#define IO_COLMAP_TABLES \"${colmap_tables}\"\n")
    target_include_directories(keybits-io PRIVATE ${PROJECT_BINARY_DIR}/generated)

    # Faster PNGs and further formats, where their libraries are.
    find_path(LIBDEFLATE_INCLUDE_DIR libdeflate.h)
    find_library(LIBDEFLATE_LIBRARY deflate)
    if(LIBDEFLATE_INCLUDE_DIR AND LIBDEFLATE_LIBRARY)
        target_compile_definitions(keybits-io PUBLIC KB_HAVE_LIBDEFLATE)
        target_include_directories(keybits-io PRIVATE ${LIBDEFLATE_INCLUDE_DIR})
        target_link_libraries(keybits-io PUBLIC ${LIBDEFLATE_LIBRARY})
    endif()
    find_package(TIFF QUIET)
    if(TIFF_FOUND)
        target_compile_definitions(keybits-io PUBLIC KB_HAVE_TIFF)
        target_link_libraries(keybits-io PUBLIC TIFF::TIFF)
    endif()
    find_package(PkgConfig QUIET)
    if(PKG_CONFIG_FOUND)
        pkg_check_modules(WEBP QUIET IMPORTED_TARGET libwebp)
        if(WEBP_FOUND)
            target_compile_definitions(keybits-io PUBLIC KB_HAVE_WEBP)
            target_link_libraries(keybits-io PUBLIC PkgConfig::WEBP)
        endif()
        pkg_check_modules(HEIF QUIET libheif)
        if(HEIF_FOUND) # its header; the library is loaded at run time
            set(heif_library libheif.so.1)
            if(APPLE) # where the loader does not look into the folders of packages
                set(heif_library ${HEIF_LIBDIR}/libheif.1.dylib)
            endif()
            target_compile_definitions(keybits-io PUBLIC KB_HAVE_HEIF PRIVATE KB_HEIF_LIBRARY="${heif_library}")
            target_include_directories(keybits-io SYSTEM PRIVATE ${HEIF_INCLUDE_DIRS})
            target_link_libraries(keybits-io PUBLIC ${CMAKE_DL_LIBS})
        endif()
    endif()
endif()

# ------------------------------------------------------------------------------------------------------- pipeline
if(pipeline_sources AND TARGET keybits-io)
    add_library(keybits-pipeline STATIC ${pipeline_sources})
    keybits_target(keybits-pipeline)
    target_include_directories(keybits-pipeline PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(keybits-pipeline PUBLIC keybits-io keybits_inside)
endif()

# ----------------------------------------------------------------------------------------------------- collection/
if(TARGET keybits-pipeline)
    # The small vocabularies in models/ are part of the library. The others are files, which it finds in share/keybits
    # beside itself or beside its folder.
    file(GLOB vocabularies CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/*-1k.kbv)
    file(GLOB large_vocabularies CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/*.kbv)
    list(REMOVE_ITEM large_vocabularies ${vocabularies})
    foreach(file IN LISTS large_vocabularies)
        get_filename_component(name ${file} NAME)
        configure_file(${file} ${PROJECT_BINARY_DIR}/share/keybits/${name} COPYONLY)
    endforeach()
    list(JOIN vocabularies "|" joined_vocabularies)
    set(builtin_vocabularies ${PROJECT_BINARY_DIR}/generated/vocabularies.c)
    add_custom_command(
        OUTPUT ${builtin_vocabularies}
        COMMAND ${CMAKE_COMMAND} "-DFILES=${joined_vocabularies}" "-DOUTPUT=${builtin_vocabularies}"
                -DHEADER=collection/photos.h -DTYPE=builtin_vocabulary -DLIST=photos_builtin_vocabularies
                -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${vocabularies} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        COMMENT "Turning vocabularies into tables"
        VERBATIM)
    add_library(keybits-collection STATIC ${collection_sources} ${builtin_vocabularies})
    keybits_target(keybits-collection)
    target_include_directories(keybits-collection PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(keybits-collection PUBLIC keybits-pipeline keybits-io keybits_inside ${CMAKE_DL_LIBS})
endif()

# ------------------------------------------------------------------------------------------------------- learn/
# A library of its own, which needs nothing but the library: OpenBLAS is loaded when learning needs it (learn/matrix.c).
# The tests use its internal functions, so with shared libraries there is a static one for them and for the program.
if(KEYBITS_BUILD_LEARN AND learn_sources)
    add_library(keybits-learn-objects OBJECT ${learn_sources})
    keybits_target(keybits-learn-objects STRICT)
    target_include_directories(keybits-learn-objects PRIVATE ${PROJECT_SOURCE_DIR} include src)
    if(BUILD_SHARED_LIBS)
        target_compile_definitions(keybits-learn-objects PRIVATE KB_BUILDING KB_SHARED)
        add_library(keybits-learn-public SHARED $<TARGET_OBJECTS:keybits-learn-objects>)
        target_link_libraries(keybits-learn-public PRIVATE keybits_inside ${CMAKE_DL_LIBS})
        # The library's own functions come from libkeybits, not from the copy inside.
        if(KEYBITS_GNU_LIKE AND NOT APPLE)
            target_link_options(keybits-learn-public PRIVATE -Wl,--exclude-libs,ALL)
        endif()
        set_target_properties(keybits-learn-public PROPERTIES OUTPUT_NAME keybits-learn VERSION ${PROJECT_VERSION}
                              SOVERSION ${PROJECT_VERSION_MAJOR}
                              LINKER_LANGUAGE C EXPORT_NAME learn)
        target_link_libraries(keybits-learn-public INTERFACE keybits)
    endif()
    add_library(keybits-learn STATIC $<TARGET_OBJECTS:keybits-learn-objects>)
    set_target_properties(keybits-learn PROPERTIES LINKER_LANGUAGE C EXPORT_NAME learn)
    if(BUILD_SHARED_LIBS)
        set_target_properties(keybits-learn PROPERTIES OUTPUT_NAME keybits-learn-inside)
    endif()
    # The headers of learn/ show types of the library's inside, which the trainer shares.
    target_include_directories(keybits-learn PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                               $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
    target_compile_definitions(keybits-learn INTERFACE $<BUILD_INTERFACE:KB_HAVE_LEARN>)
    if(BUILD_SHARED_LIBS)
        target_link_libraries(keybits-learn PUBLIC keybits_inside ${CMAKE_DL_LIBS})
    else()
        target_link_libraries(keybits-learn PUBLIC keybits ${CMAKE_DL_LIBS})
    endif()
    if(TARGET keybits-pipeline)
        target_link_libraries(keybits-pipeline PUBLIC keybits-learn)
    endif()
endif()

# -------------------------------------------------------------------------------------------------------- eval/
if(KEYBITS_BUILD_EVAL AND eval_sources AND TARGET keybits-io)
    if(NOT TARGET keybits-learn) # which has the metrics, and renders views
        list(APPEND eval_sources learn/metrics.c learn/warp.c)
    endif()
    add_library(keybits-eval STATIC ${eval_sources})
    keybits_target(keybits-eval)
    target_include_directories(keybits-eval PUBLIC ${PROJECT_SOURCE_DIR})
    target_compile_definitions(keybits-eval INTERFACE KB_HAVE_EVAL)
    target_link_libraries(keybits-eval PUBLIC keybits-pipeline keybits-io keybits_inside PRIVATE ${CMAKE_DL_LIBS})
    file(RELATIVE_PATH peers_folder ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/keybits)
    target_compile_definitions(keybits-eval PRIVATE KB_PEERS_FOLDER="${peers_folder}")
    if(have_peers)
        add_library(keybits-peers MODULE ${peer_sources})
        keybits_target(keybits-peers)
        set_target_properties(keybits-peers PROPERTIES PREFIX "" SUFFIX ".so"
                              LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
        target_include_directories(keybits-peers PRIVATE include ${PROJECT_SOURCE_DIR})
        target_include_directories(keybits-peers SYSTEM PRIVATE ${OpenCV_INCLUDE_DIRS})
        target_link_libraries(keybits-peers PRIVATE ${OpenCV_LIBS})
        add_dependencies(keybits-eval keybits-peers)
    endif()
endif()

# --------------------------------------------------------------------------------------------------- the program
# The commands that belong to the benchmarks and the trainer come and go with them (KB_HAVE_EVAL, KB_HAVE_LEARN).
if(NOT TARGET keybits-eval)
    list(FILTER cli_sources EXCLUDE REGEX "/cli/eval/")
endif()
if(NOT TARGET keybits-learn)
    list(FILTER cli_sources EXCLUDE REGEX "/cli/learn/")
endif()
if(KEYBITS_BUILD_CLI AND EXISTS ${PROJECT_SOURCE_DIR}/cli/main.c)
    add_executable(keybits-cli ${cli_sources})
    keybits_target(keybits-cli)
    set_target_properties(keybits-cli PROPERTIES OUTPUT_NAME keybits RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    target_link_libraries(keybits-cli PRIVATE keybits_inside)
    foreach(part IN ITEMS keybits-collection keybits-io keybits-pipeline keybits-eval keybits-learn)
        if(TARGET ${part})
            target_link_libraries(keybits-cli PRIVATE ${part})
        endif()
    endforeach()
endif()

# -------------------------------------------------------------------------------------- bench/: one program per file
if(KEYBITS_BUILD_BENCH)
    if(NOT have_peers)
        set(bench_peer_sources)
    endif()
    if(NOT TARGET keybits-learn)
        list(FILTER bench_sources EXCLUDE REGEX "/bench/render_scenes[.]")
    endif()
    set(faiss_found OFF) # another peer, of bench/retrieval.cpp and bench/match_rows.cpp
    if(have_peers)
        find_library(FAISS_LIBRARY faiss)
        find_path(FAISS_INCLUDE_DIR faiss/IndexBinaryIVF.h)
        find_package(OpenMP QUIET COMPONENTS CXX)
        find_package(LAPACK QUIET)
        if(FAISS_LIBRARY AND FAISS_INCLUDE_DIR AND OpenMP_CXX_FOUND AND LAPACK_FOUND)
            set(faiss_found ON)
        endif()
    endif()
    foreach(source IN LISTS bench_sources bench_peer_sources)
        get_filename_component(name ${source} NAME_WE)
        add_executable(bench-${name} ${source})
        keybits_target(bench-${name})
        set_target_properties(bench-${name} PROPERTIES OUTPUT_NAME ${name}
                              RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
        target_include_directories(bench-${name} PRIVATE src)
        target_link_libraries(bench-${name} PRIVATE keybits_inside)
        if(name STREQUAL render_scenes)
            target_link_libraries(bench-${name} PRIVATE keybits-learn keybits-io)
        endif()
        if(source IN_LIST bench_peer_sources)
            target_include_directories(bench-${name} SYSTEM PRIVATE ${OpenCV_INCLUDE_DIRS})
            target_link_libraries(bench-${name} PRIVATE ${OpenCV_LIBS})
            if(name STREQUAL track_points)
                target_link_libraries(bench-${name} PRIVATE opencv_video)
            endif()
        endif()
        if(name MATCHES "^(retrieval|match_rows)$" AND faiss_found)
            target_compile_definitions(bench-${name} PRIVATE KB_HAVE_FAISS)
            target_link_libraries(bench-${name} PRIVATE ${FAISS_LIBRARY} ${LAPACK_LIBRARIES} OpenMP::OpenMP_CXX)
        endif()
    endforeach()
endif()

# The library, its header, the program, and what lets others find them: a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS keybits EXPORT keybitsTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES include/keybits/keybits.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/keybits)
if(TARGET keybits-cli)
    install(TARGETS keybits-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET keybits-peers)
    install(TARGETS keybits-peers LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/keybits)
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/keybits)
install(EXPORT keybitsTargets NAMESPACE keybits:: DESTINATION ${package_folder})
configure_package_config_file(cmake/keybitsConfig.cmake.in ${PROJECT_BINARY_DIR}/keybitsConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
# Below 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/keybitsConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/keybitsConfig.cmake ${PROJECT_BINARY_DIR}/keybitsConfigVersion.cmake
        DESTINATION ${package_folder})

# A static library brings no list of what it needs, so there the needs belong to everyone's link line.
set(pc_needs "-lm")
if(KEYBITS_THREADS)
    string(APPEND pc_needs " -pthread")
endif()
set(pc_libs "-L\${libdir} -lkeybits")
set(pc_libs_private "")
if(BUILD_SHARED_LIBS)
    set(pc_libs_private "${pc_needs}")
else()
    string(APPEND pc_libs " ${pc_needs}")
endif()
# Found from where the file itself lies, so that an installed tree may be moved.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file(cmake/keybits.pc.in ${PROJECT_BINARY_DIR}/keybits.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/keybits.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

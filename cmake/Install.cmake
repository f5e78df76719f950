# What `cmake --install` ships: the program, the agent, the headers, a CMake package and a pkg-config file.
# All of it finds its parts relative to itself, so an installed tree can be moved.
include(CMakePackageConfigHelpers)

set(version_header ${PROJECT_SOURCE_DIR}/include/sample/version.h)
file(STRINGS ${version_header} header_version REGEX "define SAMPLE_VERSION \"")
if(NOT header_version MATCHES "\"${PROJECT_VERSION}\"")
    message(FATAL_ERROR "${version_header} and the project's VERSION ${PROJECT_VERSION} differ")
endif()

# The agent is built in no sanitizer build.
install(TARGETS sample RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET sample_agent)
    install(TARGETS sample_agent LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sample DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sample)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sampleConfig.cmake.in
    ${PROJECT_BINARY_DIR}/cmake/sampleConfig.cmake INSTALL_DESTINATION ${package_dir}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR
    NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/sampleConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/sampleConfig.cmake
    ${PROJECT_BINARY_DIR}/cmake/sampleConfigVersion.cmake DESTINATION ${package_dir})

# pkg-config finds the prefix from where the file lies: ${pcfiledir}/../.. with the usual library directory.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/sample.pc.in ${PROJECT_BINARY_DIR}/cmake/sample.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/sample.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${PROJECT_SOURCE_DIR}/docs/man/sample.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
set(completions ${PROJECT_SOURCE_DIR}/cli/completions)
install(FILES ${completions}/sample.bash RENAME sample
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completions}/sample.zsh RENAME _sample
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completions}/sample.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# As in the tree, so that the pages' links lead somewhere.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE)

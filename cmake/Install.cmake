# What `cmake --install` ships: the program, the agent, the libraries, the headers, a CMake package and a pkg-config file.
# All of it finds its parts relative to itself, so an installed tree can be moved.
include(CMakePackageConfigHelpers)

set(version_header ${PROJECT_SOURCE_DIR}/include/sample/version.h)
file(STRINGS ${version_header} header_version REGEX "define SAMPLE_VERSION \"")
if(NOT header_version MATCHES "\"${PROJECT_VERSION}\"")
    message(FATAL_ERROR "${version_header} and the project's VERSION ${PROJECT_VERSION} differ")
endif()

# The agent is built in no sanitizer build. The target "installed" builds what is installed and nothing else.
install(TARGETS sample RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(libraries sample_analysis_library)
if(TARGET sample_agent)
    list(APPEND libraries sample_agent sample_memory_agent sample_modules sample_itt sample_nvtx sample_ompt)
endif()
if(TARGET sample_unity_host)
    list(APPEND libraries sample_unity_host sample_unity_plugin)
endif()
install(TARGETS ${libraries} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
add_custom_target(installed DEPENDS sample ${libraries})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sample DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# Where Debian's Python looks below /usr and, by PYTHONPATH, from any prefix.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/sample_profiler DESTINATION lib/python3/dist-packages
    FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)

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
foreach(package sample sample-analysis)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/cmake/${package}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/cmake/${package}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

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
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/modules DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

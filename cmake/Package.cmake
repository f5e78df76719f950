# What users get: `cpack` in the build folder, or the target `package`, makes a .deb and a relocatable tarball of
# what cmake/Install.cmake installs, in one piece: program, agent, headers, CMake package, documentation.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
string(CONCAT CPACK_PACKAGE_DESCRIPTION
    "Takes the stacks of a program's threads 1,000 or 10,000 times a CPU second\n"
    "and shows where the time goes. The program needs no special options and no\n"
    "frame pointers. Reports as text, as a flame graph in one HTML page, and in\n"
    "the formats of other profilers.")
set(CPACK_PACKAGE_VENDOR ${PROJECT_NAME})
set(CPACK_PACKAGE_CONTACT "The ${PROJECT_NAME} project <${PROJECT_NAME}@project.invalid>")
set(CPACK_PACKAGE_FILE_NAME ${PROJECT_NAME}-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# The .deb goes below /usr and leaves libraries to Debian: dpkg-shlibdeps says which.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libdebuginfod1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# The tarball needs only glibc: it brings the other libraries, in lib/sample, where no other program finds them.
# DT_RPATH rather than DT_RUNPATH, because it also holds for the libraries that these need.
set_target_properties(sample PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/sample")
target_link_options(sample PRIVATE LINKER:--disable-new-dtags)
set_target_properties(sample_analysis_library PROPERTIES INSTALL_RPATH "$ORIGIN/sample")
target_link_options(sample_analysis_library PRIVATE LINKER:--disable-new-dtags)

# GNUInstallDirs' folders, for the script.
set(CPACK_SAMPLE_LIBDIR ${CMAKE_INSTALL_LIBDIR})
set(CPACK_SAMPLE_MANDIR ${CMAKE_INSTALL_MANDIR})
set(CPACK_SAMPLE_DATADIR ${CMAKE_INSTALL_DATADIR})
set(CPACK_SAMPLE_DOCDIR ${CMAKE_INSTALL_DOCDIR})
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/FinishPackage.cmake)
include(CPack)

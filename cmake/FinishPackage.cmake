# Run by cpack on the installed tree, before it becomes a package: what the .deb and the tarball do not share.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX})

if(CPACK_GENERATOR STREQUAL "DEB")
    # Debian Policy 12.1: manual pages are compressed. Debian's zsh looks for completions in a folder of its own.
    file(GLOB pages ${root}/${CPACK_SAMPLE_MANDIR}/man*/*.[1-9])
    execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
    set(zsh ${root}/${CPACK_SAMPLE_DATADIR}/zsh)
    file(RENAME ${zsh}/site-functions ${zsh}/vendor-completions)
else()
    # The libraries of the building machine, and the licences they come under.
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${root}/bin/sample
        LIBRARIES ${root}/${CPACK_SAMPLE_LIBDIR}/libsample-analysis.so RESOLVED_DEPENDENCIES_VAR libraries
        PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m)\\.so")
    set(private ${root}/${CPACK_SAMPLE_LIBDIR}/sample)
    foreach(library ${libraries})
        file(INSTALL ${library} DESTINATION ${private} FOLLOW_SYMLINK_CHAIN)
        # dpkg knows a file below /lib or below /usr/lib, as its package has it.
        file(REAL_PATH ${library} file)
        string(REGEX REPLACE ".*/lib/" "*/lib/" file ${file})
        execute_process(COMMAND dpkg-query --search ${file} OUTPUT_VARIABLE owner COMMAND_ERROR_IS_FATAL ANY)
        string(REGEX REPLACE ":.*" "" owner "${owner}")
        configure_file(/usr/share/doc/${owner}/copyright
            ${root}/${CPACK_SAMPLE_DOCDIR}/libraries/${owner}.copyright COPYONLY)
    endforeach()
endif()

# The code that runs in the signal handler, as one object: docs/handler-proof.md.

# sample_handler_object(NAME LIBS static-library...): a target NAME that links the libraries, whole, into
# one relocatable object. Its path is the target's property HANDLER_OBJECT.
function(sample_handler_object name)
    cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
    set(archives ${ARG_LIBS})
    list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>")
    add_custom_command(OUTPUT ${object}
        COMMAND ${CMAKE_COMMAND} -E env LD=${CMAKE_LINKER} NM=${CMAKE_NM} OBJCOPY=${CMAKE_OBJCOPY}
            ${PROJECT_SOURCE_DIR}/scripts/make-handler-object ${object} ${archives}
        DEPENDS ${ARG_LIBS} ${PROJECT_SOURCE_DIR}/scripts/make-handler-object
        COMMENT "Linking the handler object ${name}.o" VERBATIM)
    add_custom_target(${name} ALL DEPENDS ${object})
    set_target_properties(${name} PROPERTIES HANDLER_OBJECT ${object})
endfunction()

# sample_link_handler_object(TARGET NAME): links TARGET from that very object. Call it in the directory
# that called sample_handler_object: the rule that makes the object belongs to it.
function(sample_link_handler_object target name)
    get_target_property(object ${name} HANDLER_OBJECT)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    target_sources(${target} PRIVATE ${object})
    add_dependencies(${target} ${name})
endfunction()

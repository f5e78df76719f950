# Compile options that every target links: warnings, sanitizers, and the flags of code that runs in the
# signal handler.

add_library(sample_options INTERFACE)
add_library(sample::options ALIAS sample_options)
target_include_directories(sample_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(sample_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
    # GCC 12 warns of overlaps inside its own std::string operator+ (GCC bug 105329).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    # At -O3 it says so of std::variant and std::optional that hold nothing (GCC bug 80635).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-maybe-uninitialized>
    $<$<BOOL:${SAMPLE_WERROR}>:-Werror>
    # Functions and lines. Variables and types, which build type Debug has, would take a quarter of the time to compile.
    $<$<AND:$<CONFIG:RelWithDebInfo>,$<NOT:$<BOOL:$<TARGET_PROPERTY:SAMPLE_ALL_DEBUG_INFORMATION>>>>:-g1>)
if(SAMPLE_SANITIZE)
    target_compile_options(sample_options INTERFACE
        -fsanitize=${SAMPLE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
        # False alarms in instrumented code, as GCC's manual says of -fsanitize.
        $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(sample_options INTERFACE -fsanitize=${SAMPLE_SANITIZE})
    # What a test can't show in instrumented code asks for this: each compiler has a name of its own.
    target_compile_definitions(sample_options INTERFACE SAMPLE_SANITIZED)
endif()
if(SAMPLE_BUILD_FUZZERS)
    # What fuzzers watch is not the code of tests (sample_test), which would take a third longer to compile.
    target_compile_options(sample_options INTERFACE
        $<$<NOT:$<BOOL:$<TARGET_PROPERTY:SAMPLE_IS_TEST>>>:-fsanitize=fuzzer-no-link>)
endif()

# sample_unity(TARGET ON|OFF): whether several sources are compiled as one, or their headers would take most of the time
# to build. Names in a target's sources are unique, also those of unnamed namespaces.
function(sample_unity target is_wanted)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${is_wanted} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# sample_unity_library(TARGET): for what is built as a whole: presets release and asan, and CI. In preset dev a change
# compiles one source, and each has to include what it uses. Not for the agent and the handler, whose objects are proved.
function(sample_unity_library target)
    sample_unity(${target} ${SAMPLE_UNITY_LIBRARIES})
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 32)
endfunction()

# Code inside the profiled program: no C++ runtime, TLS without a call. Each variable has a section of its own, so that
# the linker can put small ones together (sample_agent). Not marked for shadow stacks: handlers are
# entered by rt_sigreturn(2), which finds no token there.
add_library(sample_agent_code INTERFACE)
add_library(sample::agent_code ALIAS sample_agent_code)
target_compile_options(sample_agent_code INTERFACE
    -O2 -fno-exceptions -fno-rtti -fno-threadsafe-statics -ftls-model=initial-exec -fno-lto
    -fno-stack-protector -fcf-protection=none -fvisibility=hidden -fdata-sections)

# Code that may run inside the signal handler: moreover a stated stack budget, and no jump tables, so that the
# closure proof sees every branch.
add_library(sample_signal_safe INTERFACE)
add_library(sample::signal_safe ALIAS sample_signal_safe)
target_link_libraries(sample_signal_safe INTERFACE sample::agent_code)
target_compile_options(sample_signal_safe INTERFACE -fno-jump-tables)
# The budget is for what ships: sanitizers make frames larger. Only gcc knows the warning.
if(NOT SAMPLE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(sample_signal_safe INTERFACE -Wstack-usage=1024)
endif()

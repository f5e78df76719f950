# libopcodes, binutils' disassembler, as the target sample_opcodes.
#
# The static library alone where that links: it needs one function of libbfd, which symbolize/code/disassembler.cpp then
# has. The shared one would bring libbfd along, and cost each start of `sample` some 2 ms of relocations.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

find_path(SAMPLE_DIS_ASM_H dis-asm.h)
find_library(SAMPLE_OPCODES_ARCHIVE NAMES libopcodes.a)
find_library(SAMPLE_OPCODES_SHARED NAMES opcodes)
find_library(SAMPLE_LIBIBERTY iberty REQUIRED)
if(NOT SAMPLE_DIS_ASM_H OR NOT (SAMPLE_OPCODES_ARCHIVE OR SAMPLE_OPCODES_SHARED))
    message(FATAL_ERROR "dis-asm.h or libopcodes is missing: install binutils-dev")
endif()

set(program "
    #define PACKAGE 1
    #include <dis-asm.h>
    static int plain(void*, const char*, ...) { return 0; }
    static int styled(void*, disassembler_style, const char*, ...) { return 0; }
    extern \"C\" void _bfd_error_handler(const char*, ...) {}
    int main() {
        disassemble_info info;
        init_disassemble_info(&info, nullptr, plain, styled);
        info.arch = bfd_arch_i386;
        disassemble_init_for_target(&info);
        return disassembler(bfd_arch_i386, false, bfd_mach_x86_64, nullptr) == nullptr;
    }")
string(REPLACE ", styled)" ")" program_of_238 "${program}")
string(REGEX REPLACE "static int styled[^\n]*" "" program_of_238 "${program_of_238}")

add_library(sample_opcodes INTERFACE)
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_LIBRARIES ${SAMPLE_OPCODES_ARCHIVE} ${SAMPLE_LIBIBERTY})
if(SAMPLE_OPCODES_ARCHIVE)
    check_cxx_source_compiles("${program}" SAMPLE_OPCODES_ALONE)
    if(NOT SAMPLE_OPCODES_ALONE)
        check_cxx_source_compiles("${program_of_238}" SAMPLE_OPCODES_ALONE_238)
    endif()
endif()
set(CMAKE_REQUIRED_LIBRARIES ${SAMPLE_OPCODES_SHARED} ${SAMPLE_LIBIBERTY})
if(NOT SAMPLE_OPCODES_ALONE AND NOT SAMPLE_OPCODES_ALONE_238)
    check_cxx_source_compiles("${program}" SAMPLE_OPCODES_WITH_BFD)
endif()
cmake_pop_check_state()

if(SAMPLE_OPCODES_ALONE OR SAMPLE_OPCODES_ALONE_238)
    target_link_libraries(sample_opcodes INTERFACE ${SAMPLE_OPCODES_ARCHIVE} ${SAMPLE_LIBIBERTY})
    target_compile_definitions(sample_opcodes INTERFACE SAMPLE_OPCODES_WITHOUT_BFD)
else()
    target_link_libraries(sample_opcodes INTERFACE ${SAMPLE_OPCODES_SHARED} ${SAMPLE_LIBIBERTY})
endif()
# binutils 2.39 and later hand over the style of each piece of text.
if(SAMPLE_OPCODES_ALONE OR SAMPLE_OPCODES_WITH_BFD)
    target_compile_definitions(sample_opcodes INTERFACE SAMPLE_OPCODES_STYLED)
endif()

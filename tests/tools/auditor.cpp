// For LD_AUDIT: sees each call between libraries, and each return. Source: rtld-audit(7).
#include <link.h>

#include <cstdint>

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved.
extern "C" {

unsigned la_version(unsigned version) {
    return version;
}

unsigned la_objopen(link_map* /*map*/, Lmid_t /*list*/, std::uintptr_t* /*cookie*/) {
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

Elf64_Addr la_x86_64_gnu_pltenter(Elf64_Sym* symbol, unsigned /*index*/, std::uintptr_t* /*caller*/,
                                  std::uintptr_t* /*callee*/, La_x86_64_regs* /*registers*/,
                                  unsigned* /*flags*/, const char* /*name*/, long* frame_size) {
    *frame_size = 256;  // of the caller's stack: only then are returns told
    return symbol->st_value;
}

unsigned la_x86_64_gnu_pltexit(Elf64_Sym* /*symbol*/, unsigned /*index*/,
                               std::uintptr_t* /*caller*/, std::uintptr_t* /*callee*/,
                               const La_x86_64_regs* /*in*/, La_x86_64_retval* /*out*/,
                               const char* /*name*/) {
    return 0;
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

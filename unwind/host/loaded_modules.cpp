// The contract is in the header.
#include "unwind/host/loaded_modules.h"

#include <link.h>

namespace sample::unwind {

std::vector<Module> loaded_modules() {
    std::vector<Module> modules;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            static_cast<std::vector<Module>*>(out)->push_back(
                describe_module(info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}));
            return 0;
        },
        &modules);
    modules.resize(sort_modules(modules));
    return modules;
}

}  // namespace sample::unwind

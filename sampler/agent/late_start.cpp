#include "sampler/agent/late_start.h"

#include "sampler/agent/wrap/next_definition.h"
#include "sampler/capture/raw_syscall.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/prctl.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace sample::agent {
namespace {

constinit bool g_is_late = false;

bool contains(const dl_phdr_info& info, const void* address) noexcept {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    for (const ElfW(Phdr)* header = info.dlpi_phdr; header != info.dlpi_phdr + info.dlpi_phnum;
         ++header) {
        const std::uint64_t start = info.dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && at >= start && at < start + header->p_memsz) {
            return true;
        }
    }
    return false;
}

/// Ends at libc, where `something_of_libc` is, or at the agent, whichever the loader has met first.
int find_first(dl_phdr_info* info, std::size_t /*size*/, void* something_of_libc) {
    g_is_late = contains(*info, something_of_libc);
    return g_is_late || contains(*info, &g_is_late) ? 1 : 0;
}

}  // namespace

void look_whether_late() noexcept {
    // Not by its name in C: a program may stand for the address of a function that it uses.
    dl_iterate_phdr(find_first, find_next("gnu_get_libc_version"));
}

bool is_loaded_late() noexcept {
    return g_is_late;
}

void keep_libraries() noexcept {
    // We are inside of dlopen, whose lock keeps the list as it is.
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
        if (map->l_name[0] != '\0') {
            // Its handle is never given back. It fails for the vDSO, which has no file.
            dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        }
    }
}

control::Invitation* find_invitation() noexcept {
    control::ThreadName name{};
    if (capture::raw_syscall(SYS_prctl, PR_GET_NAME, capture::as_argument(name.data())) != 0) {
        return nullptr;
    }
    const std::string_view text{name.data()};
    if (!text.starts_with(control::kInvitedThread)) {
        return nullptr;
    }
    std::uint64_t address = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] =
        std::from_chars(text.data() + control::kInvitedThread.size(), end, address, 16);
    return error == std::errc{} && rest == end ? reinterpret_cast<control::Invitation*>(address)
                                               : nullptr;
}

}  // namespace sample::agent

// The modules of this process, for whoever walks its stacks and may allocate: tests and benchmarks.
// (The agent keeps its own list, see sampler/agent/modules.h.) Header-only.
#pragma once

#include "core/regular_file.h"
#include "unwind/index/frame_index_builder.h"
#include "unwind/walk/module_table.h"

#include <link.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sample::unwind {
namespace loaded {

/// Indexes by path and bias, for as long as the process lives: a table may be read at any time.
class Indexes {
public:
    const cfi::FrameIndex* of(const dl_phdr_info& info, const Module& module) {
        const bool is_executable = info.dlpi_name == nullptr || info.dlpi_name[0] == 0;
        const std::string path = is_executable ? "/proc/self/exe" : info.dlpi_name;
        auto [place, is_new] = indexes_.try_emplace({path, info.dlpi_addr});
        if (is_new) {
            place->second = make(path, info, module);
        }
        return place->second.get();
    }

private:
    std::unique_ptr<cfi::FrameIndex> make(const std::string& path, const dl_phdr_info& info,
                                          const Module& module) {
        const Fd fd = open_regular(path);
        auto index = std::make_unique<cfi::FrameIndex>();
        const IndexSource source{module.span,
                                 info.dlpi_addr,
                                 module.local_tables(),
                                 {info.dlpi_phdr, info.dlpi_phnum},
                                 true};
        const bool built =
            fd.is_open() && build_index(fd.get(), source, budget_, *index) == IndexResult::built;
        return built ? std::move(index) : nullptr;
    }

    IndexBudget budget_;
    std::map<std::pair<std::string, std::uint64_t>, std::unique_ptr<cfi::FrameIndex>> indexes_;
};

struct Listing {
    Indexes& indexes;
    std::vector<Module> modules;
};

inline int list_module(dl_phdr_info* info, std::size_t /*size*/, void* out) {
    auto& listing = *static_cast<Listing*>(out);
    Module module = describe_module(info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum});
    if (may_need_index(module.local_tables(), module.code.end - module.code.begin)) {
        module.index = listing.indexes.of(*info, module);
    }
    listing.modules.push_back(module);
    return 0;
}

}  // namespace loaded

/// What dl_iterate_phdr lists now, ready for a ModuleTable; with an index where one is needed,
/// which is kept for good. Takes the loader's lock. Not async-signal-safe. Thread-safe.
[[nodiscard]] inline std::vector<Module> loaded_modules() {
    static std::mutex mutex;
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): never freed.
    static auto* indexes = new loaded::Indexes;
    const std::lock_guard lock{mutex};
    loaded::Listing listing{*indexes, {}};
    dl_iterate_phdr(loaded::list_module, &listing);
    listing.modules.resize(sort_modules(listing.modules));
    return std::move(listing.modules);
}

}  // namespace sample::unwind

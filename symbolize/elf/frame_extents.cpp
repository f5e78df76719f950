#include "symbolize/elf/frame_extents.h"

#include "unwind/cfi/fde.h"

namespace sample::symbolize {

std::optional<CodeExtent> FrameExtents::extent_of(std::uint64_t address) {
    if (!opened_) {
        opened_ = true;
        if (auto image = unwind::ElfImage::map(path_)) {
            image_.emplace(std::move(*image));
        }
    }
    if (!image_) {
        return std::nullopt;
    }
    const unwind::Module module = image_->module_at(0);
    unwind::cfi::Fde entry;
    if (module.header == 0 ||
        unwind::cfi::find_fde(module.local_tables(), address + module.image_delta, entry) !=
            unwind::cfi::Found::yes) {
        return std::nullopt;
    }
    return CodeExtent{entry.pc_begin - module.image_delta, entry.pc_end - module.image_delta};
}

std::optional<std::uint64_t> FrameExtents::start_of(std::uint64_t address) {
    const auto extent = extent_of(address);
    return extent ? std::optional{extent->start} : std::nullopt;
}

}  // namespace sample::symbolize

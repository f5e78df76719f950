#include "sampler/attach/code_map.h"

#include <algorithm>
#include <utility>

namespace sample::attach {
namespace {

std::uint64_t next_generation() {
    static std::uint64_t last = 0;
    return ++last;
}

}  // namespace

bool CodeMap::add(std::shared_ptr<const CodeImage> image, std::uint64_t bias) {
    const unwind::Module module = image->elf.module_at(bias);
    const bool is_known = std::any_of(loaded_.begin(), loaded_.end(), [&](const Loaded& other) {
        return other.image == image && other.module.span == module.span;
    });
    if (is_known) {
        return false;
    }
    std::erase_if(loaded_, [&module](const Loaded& other) {
        return other.module.span.begin < module.span.end &&
               module.span.begin < other.module.span.end;
    });
    const auto place = std::lower_bound(loaded_.begin(), loaded_.end(), module.span.begin,
                                        [](const Loaded& other, std::uint64_t address) {
                                            return other.module.span.begin < address;
                                        });
    loaded_.insert(place, Loaded{std::move(image), bias, module});
    table_.reset();
    return true;
}

const unwind::ModuleTable& CodeMap::table() {
    if (!table_) {
        storage_.clear();
        for (const Loaded& loaded : loaded_) {
            storage_.push_back(loaded.module);
        }
        table_.emplace(storage_, next_generation(), unwind::LoaderLookup::off);
    }
    return *table_;
}

}  // namespace sample::attach

// The contracts are in the header.
#include "tests/unwind/differential/process.h"

#include <algorithm>

namespace sample::unwind::differential {

namespace {

std::uint64_t next_generation() {
    static std::uint64_t last = 0;
    return ++last;
}

}  // namespace

void Process::map(const Image& image, std::uint64_t bias) {
    const Module module = image.elf().module_at(bias);
    std::erase_if(loaded_, [&module](const Loaded& other) {
        return other.module.span.begin < module.span.end &&
               module.span.begin < other.module.span.end;
    });
    const auto place = std::lower_bound(loaded_.begin(), loaded_.end(), module.span.begin,
                                        [](const Loaded& other, std::uint64_t address) {
                                            return other.module.span.begin < address;
                                        });
    loaded_.insert(place, Loaded{&image, bias, module});
    renew();
}

void Process::map_anonymous(AddressRange code) {
    if (std::find(anonymous_.begin(), anonymous_.end(), code) == anonymous_.end()) {
        anonymous_.push_back(code);
    }
}

void Process::clear() {
    anonymous_.clear();
    loaded_.clear();
    renew();
}

void Process::renew() {
    generation_ = next_generation();
    table_.reset();
}

const ModuleTable& Process::modules() {
    // A copy's table would speak of the original's storage.
    if (!table_ || table_->modules().data() != storage_.data()) {
        storage_.clear();
        for (const Loaded& loaded : loaded_) {
            storage_.push_back(loaded.module);
        }
        generation_ = next_generation();
        table_.emplace(storage_, generation_, LoaderLookup::off);
    }
    return *table_;
}

const Process::Loaded* Process::loaded_at(std::uint64_t address) const noexcept {
    const auto after = std::upper_bound(loaded_.begin(), loaded_.end(), address,
                                        [](std::uint64_t wanted, const Loaded& loaded) {
                                            return wanted < loaded.module.span.begin;
                                        });
    if (after == loaded_.begin() || !std::prev(after)->module.span.contains(address)) {
        return nullptr;
    }
    return &*std::prev(after);
}

bool Process::is_code(std::uint64_t address) const noexcept {
    if (const Loaded* loaded = loaded_at(address)) {
        return loaded->image->is_code(address - loaded->bias);
    }
    return std::any_of(anonymous_.begin(), anonymous_.end(),
                       [address](const AddressRange& code) { return code.contains(address); });
}

CodePlace Process::place_of(std::uint64_t address) const noexcept {
    const Loaded* loaded = loaded_at(address);
    return loaded == nullptr ? CodePlace{nullptr, address}
                             : CodePlace{loaded->image, address - loaded->bias};
}

const std::byte* Process::bytes_at(std::uint64_t address, std::size_t size) const noexcept {
    const Loaded* loaded = loaded_at(address);
    if (loaded == nullptr || loaded->module.span.end - address < size) {
        return nullptr;
    }
    return reinterpret_cast<const std::byte*>(address + loaded->module.image_delta);
}

}  // namespace sample::unwind::differential

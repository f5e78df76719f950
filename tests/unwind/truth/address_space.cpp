// Modules and stacks of the traced program; the contracts are in the header.
#include "tests/unwind/truth/address_space.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <sstream>
#include <utility>

namespace sample::unwind::truth {

namespace {

constexpr const char* kVdso = "[vdso]";
constexpr const char* kMainStack = "[stack]";

bool is_elf_file(const Mapping& mapping) noexcept {
    return mapping.offset == 0 && !mapping.path.empty() && mapping.path.front() == '/';
}

}  // namespace

AddressSpace::AddressSpace(const Tracee& tracee, std::string program, std::string symbol_file)
    : tracee_{tracee}, program_{std::move(program)}, symbol_file_{std::move(symbol_file)} {}

Result<void> AddressSpace::refresh() {
    mappings_ = tracee_.mappings();
    loaded_.clear();
    std::vector<Module> modules;
    for (const Mapping& mapping : mappings_) {
        const bool is_new = loaded_.empty() || loaded_.back().path != mapping.path;
        if (mapping.path == kVdso) {
            add_vdso(mapping, modules);
        } else if (is_elf_file(mapping) && is_new) {
            if (auto added = add_file(mapping, modules); !added) {
                return added;
            }
        }
    }
    modules_ = std::move(modules);
    modules_.resize(sort_modules(modules_));
    table_ = ModuleTable{modules_, ++generation_, LoaderLookup::off};
    return {};
}

Result<void> AddressSpace::add_file(const Mapping& first, std::vector<Module>& modules) {
    const bool is_mapped_code = std::any_of(
        mappings_.begin(), mappings_.end(),
        [&](const Mapping& mapping) { return mapping.executable && mapping.path == first.path; });
    if (!is_mapped_code) {
        return {};
    }
    auto image = images_.find(first.path);
    if (image == images_.end()) {
        auto mapped = ElfImage::map(first.path);
        if (!mapped) {
            return unexpected(mapped.error());
        }
        image = images_.emplace(first.path, std::move(*mapped)).first;
    }
    const std::uint64_t bias = first.range.begin - image->second.module_at(0).span.begin;
    modules.push_back(image->second.module_at(bias));
    loaded_.push_back({first.path, modules.back().span, bias});
    return {};
}

void AddressSpace::add_vdso(const Mapping& mapping, std::vector<Module>& modules) {
    if (vdso_.empty()) {
        vdso_.resize(mapping.range.end - mapping.range.begin);
        if (!tracee_.read(mapping.range.begin, vdso_)) {
            vdso_.clear();
            return;
        }
    }
    Elf64_Ehdr header;
    std::memcpy(&header, vdso_.data(), sizeof(header));
    const std::span programs{reinterpret_cast<const Elf64_Phdr*>(vdso_.data() + header.e_phoff),
                             header.e_phnum};
    const std::uint64_t delta = reinterpret_cast<std::uint64_t>(vdso_.data()) - mapping.range.begin;
    // Its only segment begins at virtual address 0.
    Module module = describe_module(mapping.range.begin, programs, delta);
    for (AddressRange* range : {&module.span, &module.tables, &module.code}) {
        range->end = std::min(range->end, mapping.range.end);
    }
    modules.push_back(module);
    loaded_.push_back({kVdso, module.span, mapping.range.begin});
}

const Mapping* AddressSpace::mapping_of(std::uint64_t address) const noexcept {
    const auto after = std::upper_bound(
        mappings_.begin(), mappings_.end(), address,
        [](std::uint64_t value, const Mapping& mapping) { return value < mapping.range.end; });
    return after == mappings_.end() ? nullptr : &*after;
}

Result<AddressRange> AddressSpace::stack_of(std::uint64_t sp) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        const Mapping* mapping = mapping_of(sp);
        const bool grows = attempt == 1 && mapping != nullptr && mapping->path == kMainStack;
        if (mapping != nullptr && (mapping->range.contains(sp) || grows)) {
            return mapping->range;
        }
        mappings_ = tracee_.mappings();
    }
    std::ostringstream text;
    text << "no stack at " << std::hex << sp;
    return unexpected(ErrorCode::corrupt, text.str());
}

bool AddressSpace::is_code(std::uint64_t address) const noexcept {
    const Mapping* mapping = mapping_of(address);
    return mapping != nullptr && mapping->executable && mapping->range.contains(address);
}

const AddressSpace::Loaded* AddressSpace::loaded_at(std::uint64_t pc) const noexcept {
    const auto found = std::find_if(loaded_.begin(), loaded_.end(),
                                    [pc](const Loaded& one) { return one.range.contains(pc); });
    return found == loaded_.end() ? nullptr : &*found;
}

bool AddressSpace::is_vdso(std::uint64_t address) const noexcept {
    const Loaded* loaded = loaded_at(address);
    return loaded != nullptr && loaded->path == kVdso;
}

std::string AddressSpace::name_of(const std::string& path) const {
    return path == program_ ? "program" : path.substr(path.rfind('/') + 1);
}

std::string AddressSpace::place_of(std::uint64_t pc) {
    const Loaded* loaded = loaded_at(pc);
    if (loaded == nullptr) {
        return "?";
    }
    auto symbols = symbols_.find(loaded->path);
    if (symbols == symbols_.end()) {
        const std::string& file = loaded->path == program_ ? symbol_file_ : loaded->path;
        symbols = symbols_
                      .emplace(loaded->path, loaded->path == kVdso ? Symbols::of_image(vdso_)
                                                                   : Symbols::of_file(file))
                      .first;
    }
    return name_of(loaded->path) + ":" + symbols->second.name_of(pc - loaded->bias);
}

std::string AddressSpace::offset_of(std::uint64_t pc) const {
    const Loaded* loaded = loaded_at(pc);
    std::ostringstream text;
    text << std::hex;
    if (loaded == nullptr) {
        text << "0x" << pc;
    } else {
        text << name_of(loaded->path) << "+0x" << pc - loaded->bias;
    }
    return text.str();
}

}  // namespace sample::unwind::truth

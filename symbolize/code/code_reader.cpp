#include "symbolize/code/code_reader.h"

#include "core/mapped_reading.h"
#include "symbolize/code/disassembler.h"
#include "symbolize/elf/module_image.h"
#include "symbolize/elf/plt.h"
#include "symbolize/elf/symbol_table.h"

#include <gelf.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sample::symbolize {
namespace {

using NameAddresses = std::function<Symbols(std::span<const std::uint64_t>)>;

/// Tables of hostile files claim any extent; no compiler makes a function this long.
constexpr std::uint64_t kLongestFunction = std::uint64_t{4} << 20;

/// Finds what a module has at an address.
class Extents {
public:
    explicit Extents(const ModuleImage& image)
        : image_{image}, symbols_{image.module()}, unwind_entries_{image.unwind_path()} {}

    std::optional<CodeExtent> around(std::uint64_t address) {
        const auto aliases = symbols_.find(address);
        std::optional<CodeExtent> extent;
        if (!aliases.empty()) {
            extent = CodeExtent{aliases.front().start, aliases.front().end};
        } else if (extent = stub_around(address); !extent) {
            extent = unwind_entries_.extent_of(address);
        }
        const bool is_sound = extent && extent->start <= address && address < extent->end &&
                              extent->end - extent->start <= kLongestFunction;
        return is_sound ? extent : std::nullopt;
    }

private:
    /// One unwind entry covers all stubs of a PLT.
    std::optional<CodeExtent> stub_around(std::uint64_t address) {
        if (!plt_) {
            plt_ = std::make_unique<PltTable>(image_.elf());
        }
        const auto stub = plt_->find(address);
        if (!stub) {
            return std::nullopt;
        }
        constexpr std::uint64_t kStubBytes = 16;
        const auto last = plt_->find(stub->start + kStubBytes - 1);
        const bool is_whole = last && last->start == stub->start;
        return CodeExtent{stub->start, stub->start + (is_whole ? kStubBytes : kStubBytes / 2)};
    }

    const ModuleImage& image_;
    std::unique_ptr<PltTable> plt_;
    SymbolTable symbols_;
    FrameExtents unwind_entries_;
};

/// The file's bytes of an extent that lies in one executable segment; empty if they are not there.
std::vector<std::byte> bytes_of(Elf* elf, const CodeExtent& extent) {
    std::size_t count = 0;
    const std::uint64_t size = extent.end - extent.start;
    for (std::size_t i = 0; elf_getphdrnum(elf, &count) == 0 && i < count; ++i) {
        GElf_Phdr segment{};
        if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr ||
            segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 ||
            extent.start < segment.p_vaddr) {
            continue;
        }
        const std::uint64_t in_segment = extent.start - segment.p_vaddr;
        if (in_segment >= segment.p_filesz || size > segment.p_filesz - in_segment) {
            continue;
        }
        const Elf_Data* const data = elf_getdata_rawchunk(
            elf, static_cast<std::int64_t>(segment.p_offset + in_segment), size, ELF_T_BYTE);
        if (data != nullptr) {
            const auto* const bytes = static_cast<const std::byte*>(data->d_buf);
            return {bytes, bytes + size};
        }
    }
    return {};
}

/// The extents that `budget` allows, by address; none overlaps another.
std::map<std::uint64_t, std::uint64_t> choose(Extents& extents,
                                              std::span<const std::uint64_t> addresses,
                                              std::size_t& budget, std::size_t& left_out) {
    std::map<std::uint64_t, std::uint64_t> chosen;
    const auto overlaps = [&](const CodeExtent& extent) {
        const auto after = chosen.lower_bound(extent.end);
        return after != chosen.begin() && std::prev(after)->second > extent.start;
    };
    for (const std::uint64_t address : addresses) {
        const auto extent = extents.around(address);
        if (!extent || overlaps(*extent)) {
            continue;
        }
        const std::uint64_t size = extent->end - extent->start;
        if (size > budget) {
            ++left_out;
            continue;
        }
        budget -= size;
        chosen.emplace(extent->start, extent->end);
    }
    return chosen;
}

/// Where instructions begin, or only blocks, and what they call elsewhere;
/// ascending.
std::vector<std::uint64_t> places_to_name(const ModuleCode& code, Disassembler& disassembler,
                                          NamedPlaces named) {
    std::set<std::uint64_t> targets;
    std::vector<std::uint64_t> places;
    for (const CodeBlock& block : code.blocks) {
        for (const Instruction& each : disassembler.outline(block.address, block.bytes)) {
            if (named == NamedPlaces::instructions || each.address == block.address) {
                places.push_back(each.address);
            }
            if (each.target != 0 && code.block_at(each.target) == nullptr) {
                targets.insert(each.target);
            }
        }
    }
    places.insert(places.end(), targets.begin(), targets.end());
    std::sort(places.begin(), places.end());
    return places;
}

/// Leaves out the places that say the same as the one before.
void name_places(ModuleCode& code, std::vector<std::uint64_t> places, Symbols symbols) {
    const auto is_same = [](FrameRun a, FrameRun b) {
        return a.first == b.first && a.count == b.count;
    };
    const CodeBlock* last_block = nullptr;
    std::vector<FrameRun> runs;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const CodeBlock* const block = code.block_at(places[i]);
        if (block == nullptr || block != last_block || !is_same(symbols.runs[i], runs.back())) {
            code.places.push_back(places[i]);
            runs.push_back(symbols.runs[i]);
        }
        last_block = block;
    }
    symbols.runs = std::move(runs);
    code.symbols = std::move(symbols);
}

CodeResult read_image(const ModuleImage& image, std::span<const std::uint64_t> addresses,
                      std::size_t& budget, NamedPlaces named, const NameAddresses& name) {
    CodeResult result;
    if (image.unwind_path().empty()) {
        result.problem = "only the debug file of " + image.path() +
                         " is here, which has no code: put the module back to see its instructions";
        return result;
    }
    ModuleCode& code = result.code;
    GElf_Ehdr header{};
    code.machine = gelf_getehdr(image.elf(), &header) != nullptr ? header.e_machine : EM_NONE;
    Extents extents{image};
    for (const auto& [start, end] : choose(extents, addresses, budget, result.left_out)) {
        CodeBlock& block = code.blocks.emplace_back();
        block.address = start;
        block.bytes = bytes_of(image.elf(), {start, end});
    }
    std::erase_if(code.blocks, [](const CodeBlock& block) { return block.bytes.empty(); });
    auto disassembler = Disassembler::create(code.machine);
    std::vector<std::uint64_t> places;
    if (disassembler) {
        places = places_to_name(code, *disassembler, named);
    } else {
        for (const CodeBlock& block : code.blocks) {
            places.push_back(block.address);
        }
    }
    Symbols symbols = name(places);
    name_places(code, std::move(places), std::move(symbols));
    result.problem = code.blocks.empty() ? image.cut_off_text() : "";
    return result;
}

}  // namespace

CodeResult read_code(const ModuleIdentity& module, std::span<const std::uint64_t> addresses,
                     std::size_t& budget, const Options& options, NamedPlaces named,
                     SymbolCache* cache) {
    if (module.kind != CodeKind::elf) {
        return {{},
                0,
                "the code of " + module.path +
                    " is in no file of its own: its instructions cannot be shown"};
    }
    const MappedReading reading;
    const auto image = ModuleImage::open(module, options);
    std::size_t left = budget;
    const NameAddresses name = [&](std::span<const std::uint64_t> unnamed) {
        return symbolize(cache, module, unnamed, options).symbols;
    };
    CodeResult result = image ? read_image(*image, addresses, left, named, name)
                              : CodeResult{{}, 0, image.error().message()};
    const std::string changed = changed_text(reading, image ? &*image : nullptr, module.path);
    if (!changed.empty()) {
        return {{}, 0, changed};
    }
    budget = left;
    return result;
}

}  // namespace sample::symbolize

#include "symbolize/elf/symbol_table.h"

#include "symbolize/elf/elf_file.h"
#include "symbolize/elf/go_functions.h"
#include "unwind/cfi/fde.h"

#include <gelf.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace sample::symbolize {
namespace {

struct Section {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    bool executable = false;
};

/// A symbol and what is needed to end it, if it has no size.
struct Candidate {
    ElfSymbol symbol;
    std::uint64_t section_start = 0;
    std::uint64_t section_end = 0;
};

/// What lies at `index`; nullopt if the file has no section headers.
std::optional<Section> section_at(Elf* elf, GElf_Addr bias, GElf_Word index) {
    std::size_t count = 0;
    if (elf == nullptr || elf_getshdrnum(elf, &count) != 0 || count <= 1) {
        return std::nullopt;
    }
    GElf_Shdr header{};
    if (index == 0 || index >= count || gelf_getshdr(elf_getscn(elf, index), &header) == nullptr) {
        return Section{};
    }
    const std::uint64_t start = header.sh_addr + bias;
    return Section{start, start + header.sh_size, (header.sh_flags & SHF_EXECINSTR) != 0};
}

std::uint8_t preference_of(unsigned char binding) {
    return binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

std::optional<Candidate> read_symbol(Dwfl_Module* module, int index) {
    GElf_Sym symbol{};
    GElf_Addr address = 0;
    GElf_Word section_index = 0;
    Elf* elf = nullptr;
    Dwarf_Addr bias = 0;
    const char* const name =
        dwfl_module_getsym_info(module, index, &symbol, &address, &section_index, &elf, &bias);
    const unsigned type = GELF_ST_TYPE(symbol.st_info);
    if (name == nullptr || *name == '\0' || section_index == SHN_UNDEF ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)) {
        return std::nullopt;
    }
    const std::optional<Section> section = section_at(elf, bias, section_index);
    // Without section headers only what calls itself a function, and says where it ends, counts.
    const bool is_code = section ? section->executable : type != STT_NOTYPE && symbol.st_size > 0;
    if (!is_code || address + symbol.st_size < address) {
        return std::nullopt;
    }
    return Candidate{{address, address + symbol.st_size, name,
                      preference_of(GELF_ST_BIND(symbol.st_info)), symbol.st_size > 0, false},
                     section ? section->start : 0,
                     section ? section->end : 0};
}

std::vector<Candidate> read_symbols(Dwfl_Module* module) {
    std::vector<Candidate> result;
    const int count = dwfl_module_getsymtab(module);
    for (int index = 1; index < count; ++index) {
        if (auto candidate = read_symbol(module, index)) {
            result.push_back(*candidate);
        }
    }
    std::sort(result.begin(), result.end(), [](const Candidate& a, const Candidate& b) {
        return std::tie(a.symbol.start, b.symbol.end) < std::tie(b.symbol.start, a.symbol.end);
    });
    return result;
}

/// Go's own table, where symbols were stripped: those of its functions that no symbol covers.
void add_go_functions(Dwfl_Module* module, std::vector<ElfSymbol>& symbols) {
    GElf_Addr bias = 0;
    Elf* const elf = dwfl_module_getelf(module, &bias);
    if (elf == nullptr || !has_own_byte_order(elf)) {
        return;
    }
    const std::vector<GoFunction> functions = go_functions(section_bytes(elf, ".gopclntab"));
    if (functions.empty()) {
        return;
    }
    IntervalIndex known;
    for (const ElfSymbol& symbol : symbols) {
        known.add(symbol.start, symbol.end, 0);
    }
    known.build();
    for (const GoFunction& function : functions) {
        const std::uint64_t start = function.start + bias;
        if (!known.find(start)) {
            symbols.push_back({start, function.end + bias, function.name, 0, true, false});
        }
    }
}

/// Gives the symbols without a size their ends; those inside sized symbols stay empty. `candidates`
/// are sorted by start, the longer first.
void end_unsized(std::vector<Candidate>& candidates) {
    std::uint64_t next_start = ~std::uint64_t{0};
    for (std::size_t i = candidates.size(); i-- > 0;) {
        Candidate& candidate = candidates[i];
        if (i + 1 < candidates.size() && candidates[i + 1].symbol.start != candidate.symbol.start) {
            next_start = candidates[i + 1].symbol.start;
        }
        if (!candidate.symbol.sized) {
            candidate.symbol.end = std::min(next_start, candidate.section_end);
        }
    }
    std::uint64_t covered_until = 0;
    for (Candidate& candidate : candidates) {
        ElfSymbol& symbol = candidate.symbol;
        if (symbol.sized) {
            covered_until = std::max(covered_until, symbol.end);
        } else if (symbol.start < covered_until) {
            symbol.end = symbol.start;
        }
    }
}

/// `candidates` are sorted by start.
void mark_alone(std::vector<Candidate>& candidates) {
    const auto same_section = [](const Candidate& a, const Candidate& b) {
        return a.section_start == b.section_start && a.section_end == b.section_end;
    };
    for (std::size_t first = 0, last = 0; first < candidates.size(); first = last) {
        bool one_start = true;
        for (last = first;
             last < candidates.size() && same_section(candidates[first], candidates[last]);
             ++last) {
            one_start =
                one_start && candidates[last].symbol.start == candidates[first].symbol.start;
        }
        for (std::size_t i = first; i < last; ++i) {
            candidates[i].symbol.alone = one_start && candidates[i].section_end != 0;
        }
    }
}

std::string_view without_version(const char* name) {
    const std::string_view whole{name};
    const std::size_t at = whole.find('@');
    return at == 0 ? whole : whole.substr(0, at);
}

auto rank(const ElfSymbol& symbol) {
    const std::string_view name = without_version(symbol.name);
    return std::tuple{symbol.preference, std::min(name.find_first_not_of('_'), name.size()), name};
}

}  // namespace

SymbolTable::SymbolTable(Dwfl_Module* module) {
    std::vector<Candidate> candidates = read_symbols(module);
    end_unsized(candidates);
    mark_alone(candidates);
    symbols_.reserve(candidates.size());
    for (const Candidate& candidate : candidates) {
        if (candidate.symbol.start < candidate.symbol.end) {
            symbols_.push_back(candidate.symbol);
        }
    }
    add_go_functions(module, symbols_);
    std::sort(symbols_.begin(), symbols_.end(), [](const ElfSymbol& a, const ElfSymbol& b) {
        return std::tie(a.start, a.end) < std::tie(b.start, b.end);
    });
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
        if (i == 0 || symbols_[i].start != symbols_[i - 1].start ||
            symbols_[i].end != symbols_[i - 1].end) {
            index_.add(symbols_[i].start, symbols_[i].end, static_cast<std::uint32_t>(i));
        }
    }
    index_.build();
}

std::span<const ElfSymbol> SymbolTable::find(std::uint64_t address) const {
    const auto first = index_.find(address);
    if (!first) {
        return {};
    }
    const ElfSymbol& symbol = symbols_[*first];
    std::size_t last = *first + 1;
    while (last < symbols_.size() && symbols_[last].start == symbol.start &&
           symbols_[last].end == symbol.end) {
        ++last;
    }
    return std::span{symbols_}.subspan(*first, last - *first);
}

std::string_view best_alias(std::span<const ElfSymbol> aliases, std::string_view hint) {
    if (hint.starts_with("_Z") || hint.starts_with("_R")) {
        for (const ElfSymbol& alias : aliases) {
            const std::string_view name = without_version(alias.name);
            // Also "hint.part.0": the debug information leaves such suffixes out.
            if (name.starts_with(hint) &&
                (name.size() == hint.size() || name[hint.size()] == '.')) {
                return name;
            }
        }
    }
    const auto best =
        std::min_element(aliases.begin(), aliases.end(),
                         [](const ElfSymbol& a, const ElfSymbol& b) { return rank(a) < rank(b); });
    return without_version(best->name);
}

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
    if (unwind::cfi::find_fde(module.local_tables(), address + module.image_delta, entry) !=
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

#include "analysis/kept_code.h"

#include "callgraph/key_weights.h"
#include "core/file_rights.h"
#include "symbolize/code/code_reader.h"
#include "symbolize/code/source_reader.h"
#include "trace/code_codec.h"
#include "trace/packed.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <set>
#include <utility>

namespace sample::analysis {
namespace {

/// A function with code, and the address of it that was sampled first.
struct CodeFunction {
    ModuleId module;
    std::uint64_t address = 0;
    bool has_lines = false;
    callgraph::KeyWeight weight = {};
};

/// The functions that have code, not those that were inlined, the heaviest first.
std::vector<CodeFunction> code_functions(const callgraph::Recording& recording,
                                         const Symbols& symbols) {
    constexpr std::uint32_t kNone = 0xffffffff;
    std::vector<std::uint32_t> key_of(symbols.functions.size(), kNone);  // of one module each
    std::vector<CodeFunction> functions;
    callgraph::AddressKeys keys{recording.addresses().size()};
    for (std::uint32_t i = 0; i < recording.addresses().size(); ++i) {
        const auto frames = symbols.frames_of(i);
        if (frames.empty()) {
            continue;
        }
        const callgraph::CodeAddress& place = recording.addresses()[i];
        std::uint32_t& key = key_of[frames.back().function];
        if (key == kNone) {
            key = static_cast<std::uint32_t>(functions.size());
            functions.push_back({place.module, place.address});
        }
        const FunctionSymbol& function = symbols.functions[frames.back().function];
        functions[key].has_lines |= frames.back().line != 0 || function.line != 0;
        keys.add(i, key, true);
    }
    const auto weights = callgraph::weights_by_key(recording, keys);
    for (std::size_t i = 0; i < functions.size(); ++i) {
        functions[i].weight = weights[i];
    }
    std::stable_sort(functions.begin(), functions.end(),
                     [](const CodeFunction& left, const CodeFunction& right) {
                         return std::pair{left.weight.self, left.weight.total} >
                                std::pair{right.weight.self, right.weight.total};
                     });
    return functions;
}

std::uint64_t weight_of_all(const callgraph::Recording& recording) {
    std::uint64_t sum = 0;
    for (const callgraph::StackWeight& weight : recording.weights()) {
        sum += weight.sampled + weight.booked;
    }
    return sum;
}

/// A function with less of all functions' own time is of no interest line by line,
constexpr std::uint64_t kOwnShare = 1000;
/// unless what it calls makes it hold so much of everything.
constexpr std::uint64_t kTotalShare = 100;

std::vector<CodeFunction> worth_keeping(std::vector<CodeFunction> functions, std::uint64_t all) {
    std::uint64_t self = 0;
    for (const CodeFunction& function : functions) {
        self += function.weight.self;
    }
    std::erase_if(functions, [&](const CodeFunction& function) {
        return function.weight.self <= self / kOwnShare &&
               function.weight.total < all / kTotalShare;
    });
    return functions;
}

struct ModuleShare {
    ModuleId module;
    std::vector<std::uint64_t> addresses;  ///< One a function, in the functions' order.
    bool has_lines = false;
    std::uint64_t weight = 1;  ///< Of its functions; one more, so that it is never nothing.
};

/// The heaviest first.
std::vector<ModuleShare> by_module(const std::vector<CodeFunction>& functions) {
    std::map<ModuleId, ModuleShare> modules;
    for (const CodeFunction& function : functions) {
        ModuleShare& share = modules[function.module];
        share.module = function.module;
        share.addresses.push_back(function.address);
        share.has_lines |= function.has_lines;
        share.weight += function.weight.self;
    }
    std::vector<ModuleShare> shares;
    shares.reserve(modules.size());
    for (auto& [module, share] : modules) {
        shares.push_back(std::move(share));
    }
    std::stable_sort(shares.begin(), shares.end(),
                     [](const ModuleShare& left, const ModuleShare& right) {
                         return left.weight > right.weight;
                     });
    return shares;
}

using Reader = std::shared_ptr<const FileRights>;

/// The lines that are wanted of each file. It is read as the user whose program names it: a
/// program's debug information may name any file, and what is read is handed on.
class WantedLines {
public:
    void add(const Symbols& symbols, std::time_t module_time, const Reader& reader) {
        for (const SymbolFrame& frame : symbols.frames) {
            add({reader, symbols.files[frame.file]}, frame.line, module_time);
        }
        for (const FunctionSymbol& function : symbols.functions) {
            if (files_.contains({reader, function.source})) {
                add({reader, function.source}, function.line, module_time);
            }
        }
    }

    [[nodiscard]] std::vector<SourceText> read(const CodeBudget& budget) const {
        std::vector<SourceText> texts;
        std::size_t left = budget.source_bytes;
        for (const auto& [file, wanted] : files_) {
            const auto& [reader, name] = file;
            const ActingAs acting{reader};
            const auto text = symbolize::read_source(
                {name, wanted.lines, budget.context_lines, wanted.module_time}, left);
            if (text && !text->pieces.empty()) {
                texts.push_back(*text);
            }
        }
        return texts;
    }

private:
    using File = std::pair<Reader, std::string>;
    struct Wanted {
        std::set<std::uint32_t> lines;
        std::time_t module_time = 0;
    };

    void add(const File& file, std::uint32_t line, std::time_t module_time) {
        if (!file.second.empty() && line != 0) {
            Wanted& wanted = files_[file];
            wanted.lines.insert(line);
            wanted.module_time = std::max(wanted.module_time, module_time);
        }
    }

    std::map<File, Wanted> files_;
};

}  // namespace

KeptCode gather_code(const callgraph::Recording& recording, const Symbols& symbols,
                     const NamingOptions& where, const CodeBudget& budget) {
    KeptCode kept;
    WantedLines lines;
    const symbolize::Options options = places_of(where);
    std::size_t left = budget.code_bytes;
    std::vector<ModuleShare> shares =
        by_module(worth_keeping(code_functions(recording, symbols), weight_of_all(recording)));
    std::uint64_t rest = 0;
    for (const ModuleShare& share : shares) {
        rest += share.weight;
    }
    for (const ModuleShare& share : shares) {
        // Each its part of what the ones before have left.
        const double part = static_cast<double>(share.weight) / static_cast<double>(rest);
        const auto granted = static_cast<std::size_t>(static_cast<double>(left) * part);
        std::size_t unused = granted;
        rest -= share.weight;
        const trace::Module* const module = recording.module_of({share.module, 0});
        if (module == nullptr) {
            continue;
        }
        const symbolize::ModuleIdentity file = module_identity(*module, where.files);
        const auto reader = where.reader_of(share.module);
        const ActingAs acting{reader};
        // Without lines the file itself says it as quickly as the cache.
        symbolize::CodeResult read =
            share.has_lines
                ? symbolize::read_code(file, share.addresses, unused, options,
                                       symbolize::NamedPlaces::instructions, where.cache)
                : symbolize::read_code(file, share.addresses, unused, options,
                                       symbolize::NamedPlaces::functions);
        left -= granted - unused;
        if (!read.code.blocks.empty()) {
            lines.add(read.code.symbols, symbolize::time_of_file(file.path), reader);
            kept.modules.emplace(share.module, std::move(read.code));
        }
    }
    kept.sources = lines.read(budget);
    return kept;
}

std::vector<trace::Attachment> attachments_of(const KeptCode& kept) {
    std::vector<trace::Attachment> attachments;
    for (const auto& [module, code] : kept.modules) {
        attachments.push_back(
            {trace::AttachmentKind::code, module, trace::pack(trace::encode_code(code))});
    }
    if (!kept.sources.empty()) {
        attachments.push_back({trace::AttachmentKind::source_text, ModuleId{},
                               trace::pack(trace::encode_sources(kept.sources))});
    }
    return attachments;
}

KeptCode kept_code_of(const callgraph::Recording& recording) {
    KeptCode kept;
    for (const trace::Attachment& attachment : recording.attachments()) {
        if (attachment.kind == trace::AttachmentKind::symbols) {
            continue;
        }
        const auto bytes = trace::unpack(attachment.packed);
        if (!bytes) {
            continue;
        }
        if (attachment.kind == trace::AttachmentKind::code) {
            if (auto code = trace::decode_code(*bytes)) {
                kept.modules.insert_or_assign(attachment.module, std::move(*code));
            }
        } else if (auto sources = trace::decode_sources(*bytes)) {
            kept.sources = std::move(*sources);
        }
    }
    return kept;
}

}  // namespace sample::analysis

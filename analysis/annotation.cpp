#include "analysis/annotation.h"

#include "callgraph/function_table.h"
#include "callgraph/label.h"
#include "callgraph/transforms.h"
#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace sample::analysis {
namespace {

struct Place {
    std::string file;
    std::uint32_t line = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): misread by clang-tidy 14
    auto operator<=>(const Place&) const = default;
};

/// An address of the recording at which the function is at work.
struct FunctionAddress {
    std::uint32_t index = 0;   ///< Into Recording::addresses().
    bool is_own = false;       ///< The function is its innermost one.
    std::vector<Place> lines;  ///< Of the function, innermost first.
};

/// Which function was asked for.
struct AnnotatedFunction {
    FunctionId id;
    callgraph::Function function;
    std::string module;  ///< The file's name.
    callgraph::KeyWeight weight;
    std::string choice;  ///< How it was chosen from several; empty: there was one.
};

/// What every function of the recording weighs, by FunctionId.
std::vector<callgraph::KeyWeight> weigh_functions(const callgraph::Recording& recording,
                                                  callgraph::FunctionTable& table) {
    const auto count = static_cast<std::uint32_t>(recording.addresses().size());
    callgraph::AddressKeys keys{count};
    for (std::uint32_t address = 0; address < count; ++address) {
        for (std::uint32_t frame = 0; frame < table.frames_at(address); ++frame) {
            keys.add(address, table.function({address, frame}).value, frame == 0);
        }
    }
    return callgraph::weights_by_key(recording, keys);
}

Unexpected no_code(std::string_view name, std::string_view meaning) {
    return unexpected(ErrorCode::unsupported,
                      fmt::format("{} has neither source nor instructions: it stands for {}", name,
                                  meaning.empty() ? "what is no code" : meaning));
}

/// "a, b, c, …"
std::string list_of(const std::vector<callgraph::Function>& functions,
                    std::span<const FunctionId> ids) {
    constexpr std::size_t kShown = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(ids.size(), kShown); ++i) {
        text += (i == 0 ? "" : ", ") + callgraph::label(functions[ids[i].value - 1]);
    }
    return ids.size() > kShown ? text + ", \u2026" : text;
}

/// Finds the function that is asked for among those of a recording.
class FunctionFinder {
public:
    /// `table` has been asked for every frame when this returns.
    FunctionFinder(const callgraph::Recording& recording, callgraph::FunctionTable& table)
        : weights_{weigh_functions(recording, table)},
          functions_{table.functions()},
          modules_{table.modules()} {}

    /// Of the functions that `name` names, by the rules of callgraph::focus(), the one with most
    /// time of its own. Errors: not_found; unsupported: it is no code.
    [[nodiscard]] Result<AnnotatedFunction> named(std::string_view name) const {
        if (const auto meaning = callgraph::meaning_of(name); !meaning.empty()) {
            return no_code(name, meaning);
        }
        std::vector<FunctionId> ids = callgraph::find_named(functions_, name);
        if (ids.empty()) {
            return unexpected(
                ErrorCode::not_found,
                fmt::format(
                    "no function is called '{}': sample report --view functions lists the names",
                    name));
        }
        sort(ids);
        AnnotatedFunction result = annotated(ids.front());
        if (result.module.empty()) {
            return no_code(result.function.name, callgraph::meaning_of(result.function.name));
        }
        if (ids.size() > 1) {
            result.choice = fmt::format(
                "{} match '{}'; this is the one with most time of its own. The others: {}",
                counted(ids.size(), "function"), name,
                list_of(functions_, std::span{ids}.subspan(1)));
        }
        return result;
    }

    /// Of the functions with time of their own that `has_source`, the one with most of it.
    /// Errors: not_found.
    [[nodiscard]] Result<AnnotatedFunction> hottest(
        const std::function<bool(FunctionId)>& has_source) const {
        std::vector<FunctionId> ids;
        for (std::uint32_t id = 1; id <= functions_.size(); ++id) {
            const bool is_code = functions_[id - 1].module != 0;
            if (is_code && weights_[id].self != 0) {
                ids.push_back(FunctionId{id});
            }
        }
        sort(ids);
        const auto found = std::find_if(ids.begin(), ids.end(), has_source);
        if (found == ids.end()) {
            return unexpected(ErrorCode::not_found,
                              "no function with time of its own has source here: name a FUNCTION "
                              "to see its instructions, or build with -g and record again");
        }
        AnnotatedFunction result = annotated(*found);
        result.choice =
            "no function was named: of those with source, this one took most time itself";
        if (found != ids.begin()) {
            result.choice += ". More took, without source: " +
                             list_of(functions_, std::span{ids.begin(), found});
        }
        return result;
    }

private:
    void sort(std::vector<FunctionId>& ids) const {
        std::stable_sort(ids.begin(), ids.end(), [&](FunctionId left, FunctionId right) {
            return std::pair{weights_[left.value].self, weights_[left.value].total} >
                   std::pair{weights_[right.value].self, weights_[right.value].total};
        });
    }

    [[nodiscard]] AnnotatedFunction annotated(FunctionId id) const {
        const callgraph::Function& function = functions_[id.value - 1];
        return {id, function, modules_[function.module].name, weights_[id.value], {}};
    }

    std::vector<callgraph::KeyWeight> weights_;
    std::vector<callgraph::Function> functions_;
    const std::vector<callgraph::CodeModule>& modules_;
};

/// Whether `symbol`, of code in `place`, is `function` of `module`; both are what modules are
/// called.
bool is_same_function(const callgraph::Function& function, std::string_view module,
                      const FunctionSymbol& symbol, std::string_view place) {
    const std::string_view source = symbol.source.empty() ? place : std::string_view{symbol.source};
    return callgraph::shown_name(symbol, place) == function.name && source == function.source &&
           place == module;
}

/// Puts an annotation together; lines and instructions get their keys as they are found.
class Annotator {
public:
    Annotator(const callgraph::Recording& recording, const Symbols& symbols,
              const AnnotationRequest& request, AnnotationSources& sources)
        : recording_{recording},
          symbols_{symbols},
          request_{request},
          sources_{sources},
          table_{recording, symbols} {}

    Result<Annotation> run() {
        SAMPLE_TRY(found, find_function());
        result_.function = std::move(found.function);
        result_.module = std::move(found.module);
        result_.weight = found.weight;
        result_.unit = recording_.start() ? recording_.start()->unit : "";
        if (!found.choice.empty()) {
            result_.notes.push_back(std::move(found.choice));
        }
        find_addresses(found.id);
        if (request_.want_code) {
            add_code();
        }
        weigh();
        sort_code();
        add_texts();
        note_missing_code();
        for (std::string& problem : sources_.problems()) {
            result_.notes.push_back(std::move(problem));
        }
        return std::move(result_);
    }

private:
    [[nodiscard]] std::string_view module_name(ModuleId module) const {
        const trace::Module* const known = recording_.module_of({module, 0});
        return known != nullptr ? recording_.name_of_file(known->path) : std::string_view{};
    }

    Result<AnnotatedFunction> find_function() {
        const FunctionFinder finder{recording_, table_};
        if (!request_.function.empty()) {
            return finder.named(request_.function);
        }
        std::map<FunctionId, Place> places;  // one where the function itself was
        const auto count = static_cast<std::uint32_t>(recording_.addresses().size());
        for (std::uint32_t index = 0; index < count; ++index) {
            const auto frames = symbols_.frames_of(index);
            if (!frames.empty() && frames[0].line != 0) {
                places.try_emplace(table_.function({index, 0}), place_of(symbols_, frames[0]));
            }
        }
        return finder.hottest([&](FunctionId function) {
            const auto place = places.find(function);
            return place != places.end() &&
                   sources_.has_text(place->second.file, place->second.line);
        });
    }

    void find_addresses(FunctionId function) {
        const auto count = static_cast<std::uint32_t>(recording_.addresses().size());
        for (std::uint32_t index = 0; index < count; ++index) {
            FunctionAddress address{index, false, {}};
            const auto frames = symbols_.frames_of(index);
            for (std::uint32_t frame = 0; frame < table_.frames_at(index); ++frame) {
                if (table_.function({index, frame}) != function) {
                    continue;
                }
                address.is_own = address.is_own || frame == 0;
                address.lines.push_back(frames.empty() ? Place{}
                                                       : place_of(symbols_, frames[frame]));
            }
            if (!address.lines.empty()) {
                addresses_.push_back(std::move(address));
            }
        }
        for (const FunctionAddress& address : addresses_) {
            for (const Place& line : address.lines) {
                lines_.try_emplace(line);
            }
        }
    }

    static Place place_of(const Symbols& symbols, const SymbolFrame& frame) {
        return frame.line == 0 ? Place{} : Place{symbols.files[frame.file], frame.line};
    }

    /// The function's addresses by module, those with most time of their own first.
    std::map<ModuleId, std::vector<std::uint64_t>> addresses_by_module() {
        callgraph::AddressKeys keys{recording_.addresses().size()};
        for (std::uint32_t i = 0; i < addresses_.size(); ++i) {
            keys.add(addresses_[i].index, i, true);
        }
        const auto weights = callgraph::weights_by_key(recording_, keys);
        std::vector<std::uint32_t> order(addresses_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
            return std::pair{weights[left].self, weights[left].total} >
                   std::pair{weights[right].self, weights[right].total};
        });
        std::map<ModuleId, std::vector<std::uint64_t>> by_module;
        for (const std::uint32_t i : order) {
            const callgraph::CodeAddress& place = recording_.addresses()[addresses_[i].index];
            by_module[place.module].push_back(place.address);
        }
        return by_module;
    }

    void add_code() {
        for (const auto& [module, addresses] : addresses_by_module()) {
            const ModuleCode* const code = sources_.code(module, addresses);
            if (code == nullptr) {
                continue;
            }
            auto disassembler = symbolize::Disassembler::create(code->machine, request_.syntax);
            if (!disassembler) {
                result_.notes.push_back(disassembler.error().message());
                return;
            }
            std::set<const CodeBlock*> blocks;
            for (const std::uint64_t address : addresses) {
                blocks.insert(code->block_at(address));
            }
            blocks.erase(nullptr);
            for (const CodeBlock* const block : blocks) {
                add_block(module, *code, *block, *disassembler);
            }
        }
    }

    void add_block(ModuleId module, const ModuleCode& code, const CodeBlock& block,
                   symbolize::Disassembler& disassembler) {
        AnnotatedCode added;
        added.module = module_name(module);
        const auto frames = code.frames_at(block.address);
        if (!frames.empty()) {
            added.function = code.symbols.functions[frames.back().function].name;
        }
        const auto namer = [&](std::uint64_t address) { return name_target(code, address); };
        for (symbolize::Instruction& each :
             disassembler.disassemble(block.address, block.bytes, namer)) {
            add_instruction(module, code, std::move(each), added);
        }
        if (!added.instructions.empty()) {
            result_.code.push_back(std::move(added));
        }
    }

    /// "<function+0x12>".
    [[nodiscard]] std::string name_target(const ModuleCode& code, std::uint64_t address) const {
        const auto frames = code.frames_at(address);
        if (frames.empty()) {
            return {};
        }
        const FunctionSymbol& function = code.symbols.functions[frames.back().function];
        if (function.origin == NameOrigin::none || function.start > address) {
            return {};
        }
        std::string name = "<";
        name += request_.shorten ? request_.shorten(function.name) : function.name;
        if (function.start != address) {
            name += fmt::format("+{:#x}", address - function.start);
        }
        return name + ">";
    }

    /// Adds it if the function is at work in it.
    void add_instruction(ModuleId module, const ModuleCode& code,
                         symbolize::Instruction instruction, AnnotatedCode& to) {
        const auto frames = code.frames_at(instruction.address);
        const auto own = std::find_if(frames.begin(), frames.end(), [&](const SymbolFrame& frame) {
            return is_same_function(result_.function, result_.module,
                                    code.symbols.functions[frame.function], module_name(module));
        });
        if (own == frames.end()) {
            return;
        }
        AnnotatedInstruction added;
        added.address = instruction.address;
        added.text = std::move(instruction.text);
        for (auto frame = frames.begin(); frame != own; ++frame) {
            const Place place = place_of(code.symbols, *frame);
            added.inlined.push_back(
                {code.symbols.functions[frame->function].name, place.file, place.line});
        }
        rows_.push_back({module, instruction.address, instruction.size,
                         lines_.try_emplace(place_of(code.symbols, *own)).first});
        to.instructions.push_back(std::move(added));
    }

    /// Key 0 is the whole function; the lines' and the instructions' keys follow.
    void weigh() {
        std::uint32_t next = 1;
        for (auto& [place, key] : lines_) {
            key = next++;
        }
        const std::uint32_t first_row = next;
        callgraph::AddressKeys keys{recording_.addresses().size(),
                                    first_row + static_cast<std::uint32_t>(rows_.size())};
        std::map<std::pair<ModuleId, std::uint64_t>, std::uint32_t> row_at;
        for (std::uint32_t i = 0; i < rows_.size(); ++i) {
            row_at.emplace(std::pair{rows_[i].module, rows_[i].address}, i);
        }
        for (const FunctionAddress& address : addresses_) {
            for (std::size_t i = 0; i < address.lines.size(); ++i) {
                keys.add(address.index, lines_[address.lines[i]], address.is_own && i == 0);
            }
            const callgraph::CodeAddress& place = recording_.addresses()[address.index];
            auto row = row_at.upper_bound({place.module, place.address});
            if (row != row_at.begin() && rows_[(--row)->second].holds(place)) {
                keys.add(address.index, first_row + row->second, address.is_own);
            }
        }
        const auto weights = callgraph::weights_by_key(recording_, keys);
        for (const auto& [place, key] : lines_) {
            result_.lines.push_back({place.file, place.line, weights[key]});
        }
        std::size_t row = 0;
        for (AnnotatedCode& code : result_.code) {
            for (AnnotatedInstruction& instruction : code.instructions) {
                instruction.weight = weights[first_row + row];
                instruction.line = rows_[row++].line->second - 1;
                shown_self_ns_ += instruction.weight.self;
            }
        }
    }

    void sort_code() {
        const auto self = [](const AnnotatedCode& code) {
            std::uint64_t sum = 0;
            for (const AnnotatedInstruction& instruction : code.instructions) {
                sum += instruction.weight.self;
            }
            return sum;
        };
        std::stable_sort(
            result_.code.begin(), result_.code.end(),
            [&](const auto& left, const auto& right) { return self(left) > self(right); });
    }

    void add_texts() {
        std::map<std::string, std::vector<std::uint32_t>> wanted;
        for (const AnnotatedLine& line : result_.lines) {
            if (line.line != 0) {
                wanted[line.file].push_back(line.line);
            }
        }
        if (const auto own = wanted.find(result_.function.source); own != wanted.end()) {
            own->second.push_back(result_.function.line);
        }
        for (const auto& [file, lines] : wanted) {
            SourceText text = sources_.text(file, lines);
            if (text.match == SourceMatch::newer) {
                result_.notes.push_back(file +
                                        " was changed after the program was built: its lines "
                                        "may not be those that ran");
            }
            result_.sources.push_back(std::move(text));
        }
    }

    void note_missing_code() {
        if (!request_.want_code || shown_self_ns_ >= result_.weight.self) {
            return;
        }
        const std::uint64_t missing = result_.weight.self - shown_self_ns_;
        const bool is_guessed = result_.function.name.ends_with(kGuessMark);
        result_.notes.push_back(
            (result_.unit.empty() ? short_duration(missing)
                                  : grouped(missing) + " " + printable(result_.unit)) +
            (is_guessed
                 ? " of its own time have no instructions: the name is guessed, and no symbol "
                   "says where the function ends"
                 : " of its own time lie in code that is neither in the recording nor on this "
                   "machine: annotate it where it was recorded"));
    }

    struct Row {
        ModuleId module;
        std::uint64_t address = 0;
        std::uint8_t size = 1;
        std::map<Place, std::uint32_t>::iterator line;

        [[nodiscard]] bool holds(const callgraph::CodeAddress& place) const {
            return place.module == module && place.address - address < size;
        }
    };

    const callgraph::Recording& recording_;
    const Symbols& symbols_;
    const AnnotationRequest& request_;
    AnnotationSources& sources_;
    callgraph::FunctionTable table_;
    Annotation result_;
    std::vector<FunctionAddress> addresses_;
    std::map<Place, std::uint32_t> lines_;  ///< With their keys, once weigh() has dealt them out.
    std::vector<Row> rows_;                 ///< One an instruction, in the order of result_.code.
    std::uint64_t shown_self_ns_ = 0;
};

}  // namespace

Result<Annotation> annotate(const callgraph::Recording& recording, const Symbols& symbols,
                            const AnnotationRequest& request, AnnotationSources& sources) {
    return Annotator{recording, symbols, request, sources}.run();
}

}  // namespace sample::analysis

#include "analysis/annotated_function.h"

#include "callgraph/label.h"
#include "core/text.h"

#include <algorithm>
#include <utility>

namespace sample::analysis {
namespace {

/// What every function of the recording weighs, by FunctionId.
std::vector<callgraph::KeyWeight> weigh_functions(const callgraph::Recording& recording,
                                                  callgraph::FunctionTable& table) {
    struct Use {
        std::uint32_t address;
        std::uint32_t function;
        bool is_own;
    };
    std::vector<Use> uses;
    std::uint32_t most = 0;
    const auto count = static_cast<std::uint32_t>(recording.addresses().size());
    for (std::uint32_t address = 0; address < count; ++address) {
        for (std::uint32_t frame = 0; frame < table.frames_at(address); ++frame) {
            const std::uint32_t function = table.function({address, frame}, 0).value;
            uses.push_back({address, function, frame == 0});
            most = std::max(most, function);
        }
    }
    callgraph::AddressKeys keys{count, most + 1};
    for (const Use& use : uses) {
        keys.add(use.address, use.function, use.is_own);
    }
    return callgraph::weights_by_key(recording, keys);
}

template <class Matches>
std::vector<std::uint32_t> matching(const std::vector<callgraph::Function>& functions,
                                    Matches matches) {
    std::vector<std::uint32_t> ids;
    for (std::uint32_t i = 0; i < functions.size(); ++i) {
        if (matches(functions[i])) {
            ids.push_back(i + 1);
        }
    }
    return ids;
}

}  // namespace

Result<AnnotatedFunction> find_annotated(const callgraph::Recording& recording,
                                         callgraph::FunctionTable& table, std::string_view name) {
    const std::vector<callgraph::KeyWeight> weights = weigh_functions(recording, table);
    const std::vector<callgraph::Function> functions = table.functions();
    std::vector<std::uint32_t> ids = matching(functions, [&](const callgraph::Function& each) {
        return callgraph::is_named(each, name);
    });
    if (ids.empty()) {
        ids = matching(functions, [&](const callgraph::Function& each) {
            return callgraph::label(each).find(name) != std::string::npos;
        });
    }
    if (ids.empty()) {
        std::string message = "no function is called '";
        message += name;
        message += "': sample report --view functions lists the names";
        return unexpected(ErrorCode::not_found, std::move(message));
    }
    std::stable_sort(ids.begin(), ids.end(), [&](std::uint32_t left, std::uint32_t right) {
        return std::pair{weights[left].self_ns, weights[left].total_ns} >
               std::pair{weights[right].self_ns, weights[right].total_ns};
    });
    AnnotatedFunction result;
    result.id = FunctionId{ids.front()};
    result.function = functions[ids.front() - 1];
    result.module = table.modules()[result.function.module].name;
    result.weight = weights[ids.front()];
    for (std::size_t i = 1; i < ids.size(); ++i) {
        result.others.push_back(callgraph::label(functions[ids[i] - 1]));
    }
    return result;
}

bool is_same_function(const callgraph::Function& function, std::string_view module,
                      const FunctionSymbol& symbol, std::string_view module_path) {
    const std::string_view source =
        symbol.source.empty() ? file_name(module_path) : std::string_view{symbol.source};
    return callgraph::shown_name(symbol) == function.name && source == function.source &&
           file_name(module_path) == module;
}

}  // namespace sample::analysis

// The fields of the script-profiler JSON that the reader knows: where they stand, what they hold,
// and whether they have to be there.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sample::imports {

/// What the parser is inside of.
enum class In : std::uint8_t {
    document,
    root,
    categories,
    category,
    nodes,
    node,
    function_ids,
    node_ids,
    functions,
    function,
    unknown,  ///< Of a field that this reader does not know.
};

enum class Type : std::uint8_t { integer, number, string, array };

enum class Field : std::uint8_t {
    unknown,
    version,
    start,
    end,
    gc,
    scale,
    event,
    unit,
    categories,
    nodes,
    functions,
    category_name,
    category_node,
    node_total,
    node_samples,
    node_inlined,
    node_call_line,
    function_ids,
    node_ids,
    function_total,
    function_samples,
    name,
    source,
    line,
    flags,
};

struct FieldRule {
    In in;
    std::string_view key;
    Type type;
    Field field;
    bool required;
};

inline constexpr std::array kFields{
    FieldRule{In::root, "Version", Type::integer, Field::version, true},
    FieldRule{In::root, "SessionStartTime", Type::integer, Field::start, false},
    FieldRule{In::root, "SessionEndTime", Type::integer, Field::end, false},
    FieldRule{In::root, "GCFuncId", Type::integer, Field::gc, false},
    FieldRule{In::root, "Scale", Type::number, Field::scale, false},
    FieldRule{In::root, "Event", Type::string, Field::event, false},
    FieldRule{In::root, "Unit", Type::string, Field::unit, false},
    FieldRule{In::root, "Categories", Type::array, Field::categories, true},
    FieldRule{In::root, "Nodes", Type::array, Field::nodes, true},
    FieldRule{In::root, "Functions", Type::array, Field::functions, true},
    FieldRule{In::category, "Name", Type::string, Field::category_name, true},
    FieldRule{In::category, "NodeId", Type::integer, Field::category_node, true},
    FieldRule{In::node, "TotalDuration", Type::integer, Field::node_total, true},
    FieldRule{In::node, "Samples", Type::integer, Field::node_samples, false},
    FieldRule{In::node, "Inlined", Type::integer, Field::node_inlined, false},
    FieldRule{In::node, "CallLine", Type::integer, Field::node_call_line, false},
    FieldRule{In::node, "FunctionIds", Type::array, Field::function_ids, false},
    FieldRule{In::node, "NodeIds", Type::array, Field::node_ids, false},
    FieldRule{In::function, "TotalDuration", Type::integer, Field::function_total, true},
    FieldRule{In::function, "Samples", Type::integer, Field::function_samples, false},
    FieldRule{In::function, "Name", Type::string, Field::name, false},
    FieldRule{In::function, "Source", Type::string, Field::source, false},
    FieldRule{In::function, "Line", Type::integer, Field::line, false},
    FieldRule{In::function, "Flags", Type::integer, Field::flags, false},
};

constexpr std::string_view describe(Type type) {
    switch (type) {
        case Type::integer:
            return "an integer from 0 to 2^64-1";
        case Type::number:
            return "a number";
        case Type::string:
            return "a string";
        case Type::array:
            return "an array";
    }
    return "";
}

}  // namespace sample::imports

// What a JIT compiler, or the kernel, has told of some addresses: names as they were told, and
// source lines where it gave any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sample::symbolize {

struct ToldCode {
    struct Function {
        std::string name;
        std::uint64_t start = 0;  ///< As addresses are counted.
        std::uint32_t file = 0;   ///< Where it begins; 0 if unknown, and so is the line.
        std::uint32_t line = 0;
    };
    struct Place {
        std::uint32_t function = 0;  ///< Index.
        std::uint32_t file = 0;      ///< Index: where `line` is.
        std::uint32_t line = 0;      ///< Of the address itself; 0 if unknown.
    };

    std::vector<std::string> files{std::string{}};  ///< files[0] is the unknown one.
    std::vector<Function> functions;
    std::vector<std::optional<Place>> places;  ///< By address, in the order of whoever asked.
};

}  // namespace sample::symbolize

// The table of mismatches that are known, with their reasons: expected.txt.
//
//     reason NAME TEXT…           a reason
//     VERDICT PLACE NAME          a class of mismatches, and its reason
//         MAXIMUM CONFIG…         at most that many instructions of these configurations
//
// Lines that begin with # are comments. PLACE is "module:function", as Report has it; a class of
// "module:*" stands for all functions of the module that have no class of their own, together.
#pragma once

#include "core/result.h"
#include "tests/unwind/truth/session.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sample::unwind::truth {

class Expectations {
public:
    /// Errors: system; corrupt, if a line is of no kind, or a class has no reason.
    [[nodiscard]] static Result<Expectations> read(const std::string& path,
                                                   const std::string& config);

    /// What `report` has and the table has not, or has less of, and what the table has and the
    /// report has not: one message each. Empty: all is as expected.
    [[nodiscard]] std::vector<std::string> check(const Report& report) const;

private:
    [[nodiscard]] std::optional<std::string> line_for(const std::string& key) const;

    std::map<std::string, std::uint64_t> maxima_;  ///< By "verdict place", of one configuration.
};

/// What table.py makes the table of: lines "CONFIG VERDICT PLACE MAXIMUM". Maxima leave a quarter
/// more room, as libraries choose their functions by processor. Many functions of one module that a
/// walk ends in become one line.
[[nodiscard]] std::string expected_lines(const std::string& config, const Report& report);

}  // namespace sample::unwind::truth

// What zones are called: places of one name and category are one, whatever their ids.
#pragma once

#include "trace/instrumentation.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sample::analysis {

class ZoneNames {
public:
    using Index = std::uint32_t;

    /// A second definition of an id replaces the first.
    void define(const trace::ZoneSpec& spec) {
        if (index_of_.size() <= spec.id.value) {
            index_of_.resize(std::size_t{spec.id.value} + 1, kUnknown);
        }
        const auto [found, is_new] =
            known_.try_emplace({spec.name, spec.category}, static_cast<Index>(specs_.size()));
        if (is_new) {
            specs_.push_back(spec);
        }
        index_of_[spec.id.value] = found->second;
    }
    /// Below specs().size(), also of an id that was never defined.
    [[nodiscard]] Index of(trace::ZoneId id) const noexcept {
        return id.value < index_of_.size() ? index_of_[id.value] : kUnknown;
    }
    /// The first of each name; [0] is of all zones that lack one.
    [[nodiscard]] const std::vector<trace::ZoneSpec>& specs() const noexcept { return specs_; }

private:
    static constexpr Index kUnknown = 0;

    std::map<std::pair<std::string, std::string>, Index> known_;
    std::vector<Index> index_of_;  ///< By id.
    std::vector<trace::ZoneSpec> specs_{{{}, "[zone without a name]"}};
};

}  // namespace sample::analysis

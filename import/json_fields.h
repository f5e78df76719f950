// Where the parser of a JSON document with known fields is: what the readers of such documents have
// in common.
//
// A table of rules says what a document has. Fields without a rule are skipped, with all that is in
// them; a field that comes twice or is missing is refused, and so is what nests deeper than any of
// these formats does.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::imports {

/// `Rule` has a field's `key`, what it is `in`, which `field` it is, and whether it is `required`.
/// The types of `in` and `field` are enumerations with at most 32 enumerators, each with `unknown`;
/// that of `in` has `document`, what is outside of everything.
template <class Rule>
class JsonFields {
public:
    using In = decltype(Rule::in);
    using Field = decltype(Rule::field);

    explicit JsonFields(std::span<const Rule> rules) : rules_{rules} {
        for (const Rule& rule : rules) {
            with_fields_ |= bit(rule.in);
        }
    }

    [[nodiscard]] In in() const { return inside_.back(); }
    /// All that in() is inside of; the outermost first.
    [[nodiscard]] const std::vector<In>& inside() const { return inside_; }
    /// Of the field that is read, or that the array or object which is read belongs to; nullptr: it
    /// has none.
    [[nodiscard]] const Rule* rule() const { return rule_; }
    /// The field that is read; unknown in what has no fields.
    [[nodiscard]] Field field() const {
        return rule_ != nullptr && has_fields() ? rule_->field : Field::unknown;
    }
    /// True for a value of, or inside, a field without a rule.
    [[nodiscard]] bool is_skipped() const {
        return in() == In::unknown || (has_fields() && rule_ == nullptr);
    }

    /// False: nested too deeply.
    [[nodiscard]] bool enter(In what) {
        if (inside_.size() >= kMaxNesting) {
            return false;
        }
        inside_.push_back(what);
        seen_[inside_.size()] = 0;
        return true;
    }
    void leave() { inside_.pop_back(); }

    /// Goes to the field `key`. False: the object has had it already.
    [[nodiscard]] bool go_to(std::string_view key) {
        if (in() == In::unknown) {
            return true;
        }
        const auto found = std::find_if(rules_.begin(), rules_.end(), [&](const Rule& each) {
            return each.in == in() && each.key == key;
        });
        rule_ = found == rules_.end() ? nullptr : &*found;
        if (rule_ == nullptr) {
            return true;
        }
        const bool is_new = !has(rule_->field);
        seen_[inside_.size()] |= bit(rule_->field);
        return is_new;
    }
    /// Whether the object that is read has had `field`.
    [[nodiscard]] bool has(Field field) const { return (seen_[inside_.size()] & bit(field)) != 0; }
    /// A field that the object must have, and has not had; empty: none.
    [[nodiscard]] std::string_view missing() const {
        const auto found = std::find_if(rules_.begin(), rules_.end(), [&](const Rule& each) {
            return each.in == in() && each.required && !has(each.field);
        });
        return found == rules_.end() ? std::string_view{} : found->key;
    }

private:
    static constexpr std::size_t kMaxNesting = 64;

    template <class Enumeration>
    static constexpr std::uint32_t bit(Enumeration value) {
        return std::uint32_t{1} << static_cast<std::uint32_t>(value);
    }
    [[nodiscard]] bool has_fields() const { return (with_fields_ & bit(in())) != 0; }

    std::span<const Rule> rules_;
    std::uint32_t with_fields_ = 0;
    std::vector<In> inside_{In::document};
    const Rule* rule_ = nullptr;
    std::array<std::uint32_t, kMaxNesting + 1> seen_{};  ///< Fields, by depth.
};

}  // namespace sample::imports

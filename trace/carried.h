// Definitions of one kind that a session has made, and which of them a part of its recording has.
//
// Ids are dense from 1 in the session, and made anew in each part, in the order of first use.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sample::trace {

/// `Definition` has an `id`. Not thread-safe.
template <class Definition>
class Carried {
public:
    using Id = decltype(Definition::id);

    /// The session's next definition; one that is out of order stays unknown.
    void learn(Definition definition) {
        if (definition.id.value == of_session_.size() + 1) {
            of_session_.push_back({std::move(definition), {}});
        }
    }
    [[nodiscard]] bool knows(Id id) const { return id.value - 1 < of_session_.size(); }
    /// By the session's id, which is known.
    [[nodiscard]] Definition& operator[](Id id) { return of_session_[id.value - 1].definition; }
    [[nodiscard]] const Definition& operator[](Id id) const {
        return of_session_[id.value - 1].definition;
    }
    /// What it is in this part; none: the part lacks it, or the session.
    [[nodiscard]] Id here(Id id) const { return knows(id) ? of_session_[id.value - 1].here : Id{}; }
    /// Gives a known one, which the part lacks, its id in the part.
    Id take_over(Id id) {
        in_part_.push_back(id);
        return of_session_[id.value - 1].here = Id{static_cast<std::uint32_t>(in_part_.size())};
    }
    /// The session's ids of those that the part has, by its own - 1.
    [[nodiscard]] std::span<const Id> in_part() const { return in_part_; }
    /// O(what the part before had).
    void begin_part() {
        for (const Id id : in_part_) {
            of_session_[id.value - 1].here = Id{};
        }
        in_part_.clear();
    }

private:
    struct Entry {
        Definition definition;
        Id here;
    };
    std::vector<Entry> of_session_;
    std::vector<Id> in_part_;
};

}  // namespace sample::trace

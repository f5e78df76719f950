// What code one watched process has mapped: the modules that a walk of its stacks may meet.
#pragma once

#include "sampler/attach/code_images.h"
#include "unwind/walk/module_table.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sample::attach {

/// Holds the images that it has. Copies share nothing else: a forked child starts as a copy. Not
/// thread-safe.
class CodeMap {
public:
    CodeMap() = default;
    CodeMap(const CodeMap& parent) : loaded_{parent.loaded_} {}
    CodeMap& operator=(const CodeMap&) = delete;
    ~CodeMap() = default;

    /// `image` is mapped at `bias`; what lay there before is gone. False: it was there already.
    bool add(std::shared_ptr<const CodeImage> image, std::uint64_t bias);

    struct Loaded {
        std::shared_ptr<const CodeImage> image;
        std::uint64_t bias;
        unwind::Module module;
    };
    /// By address, without overlaps.
    [[nodiscard]] const std::vector<Loaded>& loaded() const { return loaded_; }
    /// For walks, with a generation that no other table of this program has; valid until add().
    [[nodiscard]] const unwind::ModuleTable& table();

private:
    std::vector<Loaded> loaded_;
    std::vector<unwind::Module> storage_;
    std::optional<unwind::ModuleTable> table_;
};

}  // namespace sample::attach

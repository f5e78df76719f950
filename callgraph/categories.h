// Categories: the top-level nodes of a callgraph, and which of them each stack hangs under.
//
// By thread, the default, threads named alike but for their number ("worker-1", "worker-2") share a
// category ("worker"); a process's main thread that carries the program's own name is "main". By
// process, one category a pid and executable. By module, the module of the leaf. By label, what the
// samples were labelled with. Where more than
// one executable was seen, a thread group's name says whose it is: "git: main".
#pragma once

#include "callgraph/recording.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::callgraph {

enum class CategoryBy : std::uint8_t {
    thread,
    process,
    module,
    label,  ///< SampleLabel::category.
};

struct Categories {
    std::vector<std::string> names;        ///< All different.
    std::vector<std::uint32_t> of_weight;  ///< Index into names, for each weight.
};

/// Of weights of the recording.
[[nodiscard]] Categories categorize(const Recording& recording,
                                    std::span<const StackWeight> weights, CategoryBy by);

/// What is left of a numbered thread's name without its number and what joins the two: "worker" of
/// "worker-1", "pool #3" and "x264" give "pool" and "x". The name itself if it ends in no number or
/// consists of nothing else.
[[nodiscard]] std::string_view stem_of(std::string_view thread_name);

}  // namespace sample::callgraph

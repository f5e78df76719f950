// What --fold and --names do to a profile, and that everything behind them sees the names as shown.
#include "analysis/load_profile.h"
#include "callgraph/tree.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sample::cli {
namespace {

/// A stack of these functions, outermost first, of 1 ms; the last one's own.
callgraph::Profile stack_of(const std::vector<callgraph::Function>& functions) {
    constexpr std::uint64_t kMillisecond = 1'000'000;
    callgraph::Profile profile;
    profile.functions = functions;
    profile.nodes.resize(functions.size() + 2);
    profile.categories = {{"main", NodeId{1}}};
    for (std::uint32_t id = 0; id < profile.nodes.size(); ++id) {
        callgraph::Node& node = profile.nodes[id];
        node.parent = NodeId{id > 0 ? id - 1 : 0};
        node.function = FunctionId{id > 1 ? id - 1 : 0};
        node.total = kMillisecond;
        node.samples = 1;
    }
    profile.nodes.back().self = kMillisecond;
    profile.nodes.back().self_samples = 1;
    callgraph::link_children(profile.nodes);
    return profile;
}

callgraph::Function function(std::string name, std::uint32_t flags = callgraph::kNoFlags) {
    callgraph::Function function;
    function.name = std::move(name);
    function.flags = flags;
    return function;
}

/// The names on the stack, outermost first; the error's text instead, if there is one.
std::vector<std::string> names_on(const Result<callgraph::Profile>& profile) {
    if (!profile) {
        return {profile.error().message()};
    }
    std::vector<std::string> names;
    for (const callgraph::Node& node : profile->nodes) {
        if (!node.function.is_none()) {
            names.push_back(profile->function(node.function).name);
        }
    }
    return names;
}

using Names = std::vector<std::string>;

TEST(ProfileChoice, names_functions_in_the_form_asked_for) {
    const auto profile =
        stack_of({function("main"), function("void visit<int>(int)"),
                  function("std::vector<int, std::allocator<int> >::push_back(int const&)")});
    analysis::ProfileChoice choice;
    EXPECT_EQ(names_on(analysis::apply_choice(profile, choice)), names_on(profile));
    choice.names = symbolize::NameForm::no_arguments;
    EXPECT_EQ(names_on(analysis::apply_choice(profile, choice)),
              (Names{"main", "visit<int>", "std::vector<int, std::allocator<int> >::push_back"}));
    choice.names = symbolize::NameForm::brief;
    EXPECT_EQ(
        names_on(analysis::apply_choice(profile, choice)),
        (Names{"main", "visit\u2039\u2026\u203a", "std::vector\u2039\u2026\u203a::push_back"}));
}

TEST(ProfileChoice, leaves_the_names_of_code_made_at_run_time_alone) {
    const auto profile = stack_of({function("void visit<int>(int)", callgraph::kNative),
                                   function("visit.cold", callgraph::kNative)});
    analysis::ProfileChoice choice;
    choice.names = symbolize::NameForm::brief;
    choice.fold_parts = true;
    EXPECT_EQ(names_on(analysis::apply_choice(profile, choice)), names_on(profile));
}

TEST(ProfileChoice, folds_parts_with_their_functions) {
    const auto profile = stack_of({function("main.cold"), function("f(int) [clone .isra.0]"),
                                   function("f(int) [clone .isra.0] [clone .part.0]")});
    analysis::ProfileChoice choice;
    EXPECT_EQ(names_on(analysis::apply_choice(profile, choice)), names_on(profile));
    choice.fold_parts = true;
    EXPECT_EQ(names_on(analysis::apply_choice(profile, choice)), (Names{"main", "f(int)"}));
    choice.names = symbolize::NameForm::no_arguments;
    EXPECT_EQ(names_on(analysis::apply_choice(profile, choice)), (Names{"main", "f"}));
}

TEST(ProfileChoice, focuses_and_searches_the_names_shown) {
    const auto profile =
        stack_of({function("main"), function("pool<int>::run(long) [clone .cold]"), function("g")});
    analysis::ProfileChoice choice;
    choice.names = symbolize::NameForm::brief;
    choice.fold_parts = true;
    choice.focus = "pool\u2039\u2026\u203a::run";
    EXPECT_EQ(names_on(analysis::apply_choice(profile, choice)), (Names{choice.focus, "g"}));
    choice.focus = "pool<int>::run(long)";
    EXPECT_FALSE(analysis::apply_choice(profile, choice).has_value());
    choice.focus.clear();
    const callgraph::Profile shown = *analysis::apply_choice(profile, choice);
    EXPECT_TRUE(analysis::apply_search(shown, "::run").has_value());
    EXPECT_FALSE(analysis::apply_search(shown, "(long)").has_value());
}

TEST(ProfileChoice, focuses_on_all_code_of_a_module_that_is_no_file) {
    auto profile = stack_of({function("main"), function("vfs_read"), function("memcpy")});
    profile.modules.push_back({"[kernel]", "", ""});
    profile.functions[1].module = 1;
    analysis::ProfileChoice choice;
    choice.focus = "[kernel]";
    EXPECT_EQ(names_on(analysis::apply_choice(profile, choice)), (Names{"vfs_read", "memcpy"}));
    EXPECT_TRUE(analysis::check_focus(profile, choice.focus).has_value());
    EXPECT_EQ(analysis::check_focus(profile, "[jit]").error().message(),
              "there is no [jit] here: it stands for all code made at run time");
}

TEST(ProfileChoice, hides_memory_management_under_any_name) {
    auto profile =
        stack_of({function("main"), function("[memory]"), function("operator new(unsigned long)"),
                  function("refill<int>(int)")});
    profile.memory = FunctionId{2};
    for (const auto form : {symbolize::NameForm::full, symbolize::NameForm::no_arguments,
                            symbolize::NameForm::brief}) {
        analysis::ProfileChoice choice;
        choice.names = form;
        choice.hide_memory = true;
        EXPECT_EQ(names_on(analysis::apply_choice(profile, choice)), Names{});
        choice.hide_memory = false;
        const Result<callgraph::Profile> whole = analysis::apply_choice(profile, choice);
        ASSERT_TRUE(whole->memory.has_value());
        EXPECT_EQ(whole->function(*whole->memory).name, "[memory]");
    }
}

}  // namespace
}  // namespace sample::cli

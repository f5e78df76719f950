// `sample annotate` on a recording, code and sources made by hand: which weight goes to which line
// and instruction, and what people and programs are shown of it.
#include "analysis/annotation.h"

#include "cli/views/annotate.h"
#include "tests/callgraph/recording_fixture.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace sample::cli {
namespace {

using callgraph::RecordingMaker;

constexpr const char* kFile = "/src/app.cpp";

/// What a compiler and a linker would have made: compute(int) at 0x1000 with square(int) inlined
/// at 0x1002, and a call; main at 0x1010, into which compute(int) was inlined at 0x1011.
///
///   1000 nop           app.cpp:10
///   1001 nop           app.cpp:11
///   1002 nop           square(int) app.cpp:3, inlined at app.cpp:12
///   1003 call 0x2000   app.cpp:13
///   1008 ret           app.cpp:14
///   1010 nop           app.cpp:20
///   1011 nop           compute(int) app.cpp:11, inlined at app.cpp:21
class Program {
public:
    Program() {
        thread = maker_.main_thread();
        other_ = maker_.module("/usr/lib/libother.so");
        code_.machine = EM_X86_64;
        code_.blocks.push_back({0x1000, bytes({0x90, 0x90, 0x90, 0xe8, 0xf8, 0x0f, 0, 0, 0xc3})});
        code_.blocks.push_back({0x1010, bytes({0x90, 0x90})});
        maker_.symbols.files.emplace_back(kFile);
        add_function("compute(int)", 10, 0x1000);
        add_function("square(int)", 2, 0);
        add_function("main", 19, 0x1010);
        add_function("callee(int)", 30, 0x2000);
        add_place(0x1000, {{0, 10}});
        add_place(0x1001, {{0, 11}});
        add_place(0x1002, {{1, 3}, {0, 12}});
        add_place(0x1003, {{0, 13}});
        add_place(0x1008, {{0, 14}});
        add_place(0x1010, {{2, 20}});
        add_place(0x1011, {{0, 11}, {2, 21}});
        add_place(0x2000, {{3, 30}});
    }

    /// The node of an address in a module, app unless told otherwise.
    NodeId node(NodeId parent, std::uint64_t address) {
        trace::StackNode record{NodeId{++nodes_}, parent, maker_.app, address};
        maker_.recording.node(record);
        Symbols& symbols = maker_.symbols;
        while (symbols.runs.size() < maker_.recording.addresses().size()) {
            const auto frames = code_.frames_at(address);
            symbols.runs.push_back({static_cast<std::uint32_t>(symbols.frames.size()),
                                    static_cast<std::uint32_t>(frames.size())});
            symbols.frames.insert(symbols.frames.end(), frames.begin(), frames.end());
        }
        return record.id;
    }
    void sample(NodeId node, std::uint64_t weight) { maker_.sample(thread, node, weight); }

    /// 1 ms where main calls, in what compute(int) is at each of its addresses, and in main's copy.
    void record() {
        const NodeId main = node({}, 0x1010);
        sample(node(main, 0x1000), 1'000'000);
        sample(node(main, 0x1001), 20'000'000);
        sample(node(main, 0x1002), 300'000'000);
        const NodeId call = node(main, 0x1007);  // A return address, less one.
        sample(node(call, 0x2000), 4'000'000'000);
        sample(node({}, 0x1011), 50'000'000'000);
    }

    void guess_name(std::size_t function) {
        maker_.symbols.functions[function].origin = NameOrigin::guessed;
    }

    [[nodiscard]] const ModuleCode& code() const { return code_; }
    [[nodiscard]] const RecordingMaker& maker() const { return maker_; }

    ThreadId thread;

private:
    static std::vector<std::byte> bytes(const std::vector<int>& values) {
        std::vector<std::byte> result;
        result.reserve(values.size());
        for (const int value : values) {
            result.push_back(static_cast<std::byte>(value));
        }
        return result;
    }
    void add_function(const char* name, std::uint32_t line, std::uint64_t start) {
        FunctionSymbol function;
        function.name = function.linkage_name = name;
        function.source = kFile;
        function.line = line;
        function.start = start;
        function.origin = NameOrigin::known;
        code_.symbols.functions.push_back(function);
        maker_.symbols.functions.push_back(function);
    }
    struct Frame {
        std::uint32_t function;
        std::uint32_t line;
    };
    void add_place(std::uint64_t address, const std::vector<Frame>& frames) {
        if (code_.symbols.files.size() == 1) {
            code_.symbols.files.emplace_back(kFile);
        }
        code_.places.push_back(address);
        code_.symbols.runs.push_back({static_cast<std::uint32_t>(code_.symbols.frames.size()),
                                      static_cast<std::uint32_t>(frames.size())});
        for (const Frame& frame : frames) {
            code_.symbols.frames.push_back({frame.function, 1, frame.line});
        }
    }

    RecordingMaker maker_;
    ModuleId other_;
    ModuleCode code_;
    std::uint32_t nodes_ = 0;
};

class MadeUpSources final : public analysis::AnnotationSources {
public:
    explicit MadeUpSources(const Program& program, bool has_code = true)
        : code_{has_code ? &program.code() : nullptr} {}

    const ModuleCode* code(ModuleId /*module*/,
                           std::span<const std::uint64_t> /*addresses*/) override {
        return code_;
    }
    SourceText text(const std::string& file, const std::vector<std::uint32_t>& /*lines*/) override {
        return {file,
                SourceMatch::likely,
                {{9,
                  {"", "int compute(int n) {", "\tint i = n;", "    i += square(i);",
                   "    return callee(i);", "}"}}}};
    }
    bool has_text(const std::string& file, std::uint32_t line) override {
        return analysis::line_of(text(file, {line}), line) != nullptr;
    }
    std::vector<std::string> problems() override { return {}; }

private:
    const ModuleCode* code_;
};

class Annotate : public testing::Test {
protected:
    Annotate() { program_.record(); }

    [[nodiscard]] analysis::Annotation annotation(std::string_view function, bool has_code = true) {
        MadeUpSources sources{program_, has_code};
        analysis::AnnotationRequest request;
        request.function = function;
        auto made = analysis::annotate(program_.maker().recording, program_.maker().symbols,
                                       request, sources);
        EXPECT_TRUE(made) << made.error().message();
        return made ? std::move(*made) : analysis::Annotation{};
    }

    Program program_;
};

std::uint64_t self_of_lines(const analysis::Annotation& annotation) {
    return std::accumulate(annotation.lines.begin(), annotation.lines.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const analysis::AnnotatedLine& line) {
                               return sum + line.weight.self;
                           });
}

std::uint64_t self_of_instructions(const analysis::Annotation& annotation) {
    std::uint64_t sum = 0;
    for (const analysis::AnnotatedCode& code : annotation.code) {
        for (const analysis::AnnotatedInstruction& instruction : code.instructions) {
            sum += instruction.weight.self;
        }
    }
    return sum;
}

TEST_F(Annotate, selves_add_up_to_those_of_the_report) {
    const callgraph::Profile profile = program_.maker().profile();
    for (const char* const name : {"compute(int)", "square(int)", "main"}) {
        const analysis::Annotation made = annotation(name);
        const callgraph::Function function = callgraph::function_named(profile, name);
        EXPECT_EQ(made.weight.self, function.self) << name;
        EXPECT_EQ(made.weight.total, function.total) << name;
        EXPECT_EQ(self_of_lines(made), function.self) << name;
        EXPECT_EQ(self_of_instructions(made), function.self) << name;
    }
}

/// compute(int) has text and 50.021 s of its own; callee(int), with less, has none.
TEST_F(Annotate, takes_the_hottest_function_with_source_where_none_is_named) {
    analysis::Annotation made = annotation("");
    EXPECT_EQ(made.function.name, "compute(int)");
    EXPECT_EQ(made.notes.at(0),
              "no function was named: of those with source, this one took most time itself");
    program_.sample(NodeId{6}, 60'000'000'000);
    made = annotation("");
    EXPECT_EQ(made.function.name, "compute(int)");
    EXPECT_TRUE(made.notes.at(0).ends_with("More took, without source: callee(int)"))
        << made.notes.at(0);
}

TEST_F(Annotate, lines_have_what_was_inlined_and_called_there_in_their_total) {
    const analysis::Annotation made = annotation("compute(int)");
    ASSERT_EQ(made.lines.size(), 5U);
    EXPECT_EQ(made.lines[1].line, 11U);
    EXPECT_EQ(made.lines[1].weight.self, 50'020'000'000U) << "where it was inlined, too";
    EXPECT_EQ(made.lines[2].line, 12U);
    EXPECT_EQ(made.lines[2].weight.self, 0U) << "square(int)'s";
    EXPECT_EQ(made.lines[2].weight.total, 300'000'000U);
    EXPECT_EQ(made.lines[3].line, 13U);
    EXPECT_EQ(made.lines[3].weight.total, 4'000'000'000U);
    EXPECT_EQ(made.lines[4].weight.total, 0U) << "never sampled, but has an instruction";
}

TEST_F(Annotate, instructions_say_where_they_were_inlined_from) {
    const analysis::Annotation made = annotation("compute(int)");
    ASSERT_EQ(made.code.size(), 2U);
    EXPECT_EQ(made.code[0].function, "main") << "the heavier code first";
    ASSERT_EQ(made.code[0].instructions.size(), 1U) << "main's own are not compute(int)'s";
    EXPECT_EQ(made.code[0].instructions[0].address, 0x1011U);
    EXPECT_TRUE(made.code[0].instructions[0].inlined.empty());
    ASSERT_EQ(made.code[1].instructions.size(), 5U);
    const analysis::AnnotatedInstruction& square = made.code[1].instructions[2];
    EXPECT_EQ(square.inlined, (std::vector<analysis::InlinedPlace>{{"square(int)", kFile, 3}}));
    EXPECT_EQ(made.lines[square.line].line, 12U);
    EXPECT_EQ(square.weight.total, 300'000'000U);
    EXPECT_EQ(square.weight.self, 0U);
}

TEST_F(Annotate, a_call_has_the_time_below_it) {
    const analysis::Annotation made = annotation("compute(int)");
    const analysis::AnnotatedInstruction& call = made.code.at(1).instructions.at(3);
    EXPECT_EQ(call.text, "call   0x2000 <callee(int)>");
    EXPECT_EQ(call.weight.self, 0U);
    EXPECT_EQ(call.weight.total, 4'000'000'000U);
}

TEST_F(Annotate, functions_are_found_by_the_rules_of_focus) {
    EXPECT_EQ(annotation("compute").function.name, "compute(int)");
    EXPECT_EQ(annotation("quar").function.name, "square(int)");
    const analysis::Annotation any = annotation("(int)");
    EXPECT_EQ(any.function.name, "compute(int)") << "the one with most time of its own";
    ASSERT_EQ(any.notes.size(), 1U);
    EXPECT_EQ(any.notes[0],
              "3 functions match '(int)'; this is the one with most time of its own. The others: "
              "callee(int), square(int)");
    MadeUpSources sources{program_};
    analysis::AnnotationRequest request;
    request.function = "nothing";
    const auto made =
        analysis::annotate(program_.maker().recording, program_.maker().symbols, request, sources);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::not_found);
}

TEST_F(Annotate, code_that_is_not_to_be_had_is_said) {
    const analysis::Annotation made = annotation("compute(int)", false);
    EXPECT_TRUE(made.code.empty());
    EXPECT_EQ(self_of_lines(made), made.weight.self) << "lines need no code";
    ASSERT_EQ(made.notes.size(), 1U);
    EXPECT_EQ(made.notes[0],
              "50.021 s of its own time lie in code that is neither in the recording nor on this "
              "machine: annotate it where it was recorded");
}

TEST_F(Annotate, a_guessed_function_has_no_end) {
    program_.guess_name(3);
    const analysis::Annotation made = annotation("callee(int)");
    ASSERT_EQ(made.notes.size(), 1U);
    EXPECT_EQ(
        made.notes[0],
        "4.000 s of its own time have no instructions: the name is guessed, and no symbol says "
        "where the function ends");
}

constexpr Terminal kPlain{false, true, 0};

TEST_F(Annotate, view_of_lines_with_their_instructions) {
    EXPECT_EQ(annotate_view(annotation("compute(int)"), {kPlain, Unit::weight, {}, false}),
              R"(compute(int)  app.cpp:10  [app]
self 50.021 s, total 54.321 s, 5 samples

  total ms    self ms
     1.000      1.000  10  int compute(int n) {
                             in compute(int) [app]:
     1.000      1.000        1000:  nop
 50020.000  50020.000  11      int i = n;
                             in main [app]:
 50000.000  50000.000        1011:  nop
                             in compute(int) [app]:
    20.000     20.000        1001:  nop
   300.000             12      i += square(i);
                             in compute(int) [app]:
   300.000                   1002:  nop                                                    ; square app.cpp:3
  4000.000             13      return callee(i);
                             in compute(int) [app]:
  4000.000                   1003:  call   0x2000 <callee(int)>
                       14  }

Lines without samples are left out, except near sampled ones: --all shows them.
)");
}

TEST_F(Annotate, view_of_lines_in_per_cent_of_the_function) {
    EXPECT_EQ(annotate_view(annotation("compute(int)"),
                            {kPlain, Unit::percent, AnnotationLayout::source, true}),
              R"(compute(int)  app.cpp:10  [app]
self 50.021 s, total 54.321 s, 5 samples

   total %     self %
      0.00       0.00  10  int compute(int n) {
     92.08      92.08  11      int i = n;
      0.55             12      i += square(i);
      7.36             13      return callee(i);
                       14  }
)");
}

TEST_F(Annotate, view_of_instructions) {
    EXPECT_EQ(
        annotate_view(annotation("main"), {kPlain, Unit::weight, AnnotationLayout::assembly, true}),
        R"(main  app.cpp:19  [app]
self 0 ns, total 54.321 s, 5 samples

  total ms    self ms
                       in main [app]:
  4321.000             1010:  nop                                                    ; app.cpp:20
 50000.000             1011:  nop                                                    ; compute app.cpp:11 < app.cpp:21
)");
}

TEST_F(Annotate, view_fits_the_terminal) {
    constexpr std::size_t kWidth = 76;
    const std::string view =
        annotate_view(annotation("compute(int)"), {{false, false, kWidth}, Unit::weight, {}, true});
    std::istringstream lines{view};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), kWidth) << line;
    }
    EXPECT_NE(view.find("; square app...\n"), std::string::npos) << view;
}

TEST_F(Annotate, view_shows_heat) {
    const std::string view =
        annotate_view(annotation("compute(int)"), {{true, true, 0}, Unit::weight, {}, false});
    EXPECT_NE(view.find("\x1b[31m"), std::string::npos) << "the heavy line is red";
    EXPECT_EQ(
        annotate_view(annotation("compute(int)"), {kPlain, Unit::weight, {}, false}).find('\x1b'),
        std::string::npos);
}

TEST_F(Annotate, json_has_everything) {
    const auto json = nlohmann::json::parse(annotate_json(annotation("compute(int)")));
    EXPECT_EQ(json["function"], "compute(int)");
    EXPECT_EQ(json["self_us"], 50'021'000);
    ASSERT_EQ(json["lines"].size(), 5U);
    EXPECT_EQ(json["lines"][1]["line"], 11);
    EXPECT_EQ(json["lines"][1]["text"], "\tint i = n;");
    EXPECT_EQ(json["lines"][1]["self_samples"], 2);
    const auto& square = json["code"][1]["instructions"][2];
    EXPECT_EQ(square["address"], "0x1002");
    EXPECT_EQ(square["inlined"][0]["function"], "square(int)");
    EXPECT_EQ(square["inlined"][0]["line"], 3);
    EXPECT_EQ(square["line"], 12);
    EXPECT_EQ(square["total_us"], 300'000);
}

}  // namespace
}  // namespace sample::cli

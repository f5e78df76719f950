// A function's source lines and instructions as JSON.
#include "callgraph/label.h"
#include "cli/views/annotate.h"
#include "cli/views/json.h"
#include "cli/views/text.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace sample::cli {
namespace {

class JsonWriter {
public:
    explicit JsonWriter(const analysis::Annotation& annotation)
        : annotation_{annotation}, measure_{annotation.unit} {}

    [[nodiscard]] Json whole() const {
        const callgraph::Function& function = annotation_.function;
        Json out = {{"function", callgraph::label(function)},
                    {"source", function.source},
                    {"line", function.line},
                    {"module", annotation_.module}};
        if (!measure_.is_time()) {
            out["unit"] = annotation_.unit;
        }
        add_weight(out, annotation_.weight);
        out["lines"] = lines();
        out["code"] = code();
        out["notes"] = annotation_.notes;
        return out;
    }

private:
    void add_weight(Json& to, const callgraph::KeyWeight& weight) const {
        to[measure_.key("total")] = measure_.number(weight.total);
        to[measure_.key("self")] = measure_.number(weight.self);
        to["samples"] = weight.samples;
        to["self_samples"] = weight.self_samples;
    }

    [[nodiscard]] Json text_of(const analysis::AnnotatedLine& line) const {
        for (const SourceText& source : annotation_.sources) {
            const std::string* const text =
                source.file == line.file ? analysis::line_of(source, line.line) : nullptr;
            if (text != nullptr) {
                return *text;
            }
        }
        return {};
    }

    [[nodiscard]] Json lines() const {
        Json list = Json::array();
        for (const analysis::AnnotatedLine& line : annotation_.lines) {
            Json& added = list.emplace_back(
                Json{{"file", line.file}, {"line", line.line}, {"text", text_of(line)}});
            add_weight(added, line.weight);
        }
        return list;
    }

    [[nodiscard]] Json instruction(const analysis::AnnotatedInstruction& each) const {
        const analysis::AnnotatedLine& line = annotation_.lines[each.line];
        Json inlined = Json::array();
        for (const analysis::InlinedPlace& place : each.inlined) {
            inlined.push_back(
                {{"function", place.function}, {"file", place.file}, {"line", place.line}});
        }
        Json out = {{"address", fmt::format("{:#x}", each.address)},
                    {"text", each.text},
                    {"file", line.file},
                    {"line", line.line},
                    {"inlined", std::move(inlined)}};
        add_weight(out, each.weight);
        return out;
    }

    [[nodiscard]] Json code() const {
        Json list = Json::array();
        for (const analysis::AnnotatedCode& each : annotation_.code) {
            Json instructions = Json::array();
            for (const analysis::AnnotatedInstruction& one : each.instructions) {
                instructions.push_back(instruction(one));
            }
            list.push_back({{"function", each.function},
                            {"module", each.module},
                            {"instructions", std::move(instructions)}});
        }
        return list;
    }

    const analysis::Annotation& annotation_;
    Measure measure_;
};

}  // namespace

std::string annotate_json(const analysis::Annotation& annotation) {
    return dump(JsonWriter{annotation}.whole());
}

}  // namespace sample::cli

#include "cli/options/doctor.h"

#include "cli/options/option_words.h"

#include <utility>

namespace sample::cli {

Result<Parsed<DoctorOptions>> parse_doctor_options(const std::vector<std::string>& arguments) {
    DoctorOptions options;
    std::string color_word = "auto";
    OptionParser parser{"doctor [OPTIONS]",
                        "Says what this machine allows, which source --source auto takes, and what "
                        "would improve it.",
                        ""};
    parser.flag("--json", options.json, "JSON instead of text");
    parser.value("--color", "WHEN", color_word, "auto (default), always or never");
    return parse_options(parser, arguments, [&]() -> Result<DoctorOptions> {
        const Result<ColorMode> color = parse_color(color_word);
        if (!color) {
            return Unexpected{color.error()};
        }
        options.color = *color;
        return options;
    });
}

}  // namespace sample::cli

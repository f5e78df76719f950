#include "export/json_string.h"

#include <nlohmann/json.hpp>

namespace sample::exports {

std::string json_string(std::string_view text) {
    constexpr int kNoIndent = -1;
    return nlohmann::json(text).dump(kNoIndent, ' ', false,
                                     nlohmann::json::error_handler_t::replace);
}

}  // namespace sample::exports

// The page of the HTML export, made at build time of the files in export/html/.
#pragma once

#include <string_view>

namespace sample::exports {

/// The whole page, with "@DATA@" where its data belong.
[[nodiscard]] std::string_view html_page();

}  // namespace sample::exports

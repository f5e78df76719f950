#include "export/html.h"

#include "export/html_data.h"
#include "export/html_page.h"

#include <string_view>

namespace sample::exports {

Result<void> write_html(const callgraph::Profile& profile, const Sink& sink) {
    constexpr std::string_view kPlaceOfData = "@DATA@";
    const std::string_view page = html_page();
    const std::size_t at = page.find(kPlaceOfData);
    Writer out{sink};
    out.text(page.substr(0, at));
    Result<void> data = write_html_data(profile, out);
    out.text(page.substr(at + kPlaceOfData.size()));
    Result<void> written = out.finish();
    return written ? data : written;
}

}  // namespace sample::exports

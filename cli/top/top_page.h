// The page that `sample top` shows: a profile of what was spent until now as lines of text.
#pragma once

#include "analysis/live/live_recording.h"
#include "cli/top/top_state.h"
#include "cli/views/terminal.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace sample::cli {

struct PageSize {
    Terminal terminal;
    /// Lines that the page may have, the last one without a line break; 0: it is printed, with
    /// `list_rows` rows and no line for keys.
    std::size_t lines = 0;
    std::size_t list_rows = 0;
};

/// Rows of the list on a page of that size.
[[nodiscard]] std::size_t list_rows_of(const PageSize& size);

/// Lowers state.first_row to what there is. `live` may be empty still.
[[nodiscard]] std::string top_page(const analysis::LiveRecording& live, TopState& state,
                                   const PageSize& size);

}  // namespace sample::cli

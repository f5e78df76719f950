// Whether a message of pprof agrees with itself.
#pragma once

#include "core/result.h"
#include "import/pprof_message.h"

namespace sample::imports {

/// Fills location_of_id and replaces ids by indices. Errors: corrupt, with the place, as
/// read_pprof().
[[nodiscard]] Result<void> check_pprof_message(PprofMessage& message);

}  // namespace sample::imports

// The functions of a profile as JSON, for the formats that refer to them by their index.
#pragma once

#include "callgraph/profile.h"
#include "export/writer.h"

namespace sample::exports {

/// `{"name","file","line","module"}` for each function in the profile's order, with commas between;
/// what is not known is left out. Stops when the sink fails.
void write_function_objects(Writer& out, const callgraph::Profile& profile);

}  // namespace sample::exports

// Profiles of pprof (profile.proto), as Go, Parca and others write them.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "import/options.h"

#include <string_view>

namespace sample::imports {

/// Reads the unpacked message. Of several sample types the default one is kept (the last, where
/// none is named), beside a count of samples; a note names the others. Lines, inlined frames,
/// modules with build-ids, and threads and processes from the labels that are in use are kept;
/// other labels are not. The file has no times of samples. Errors: corrupt, with the sample,
/// location or function: what does not parse; an id that is 0, doubled or unknown; a string that
/// is not there; a sample with more or fewer values than types; a negative value; a line of more
/// than 32 bits; weights whose sum overflows. Source: profile.proto of google/pprof.
[[nodiscard]] Result<callgraph::Profile> read_pprof(std::string_view bytes, const Options& options);

/// Whether `bytes` begin like a CPU profile of gperftools, an older format of 64-bit words. Source:
/// cpuprofile-fileformat.html of gperftools.
[[nodiscard]] bool is_gperftools(std::string_view bytes);

/// Whether `bytes` are such a message, as far as its outermost fields tell: all known, with a
/// sample type and a string table that begins with the empty string.
[[nodiscard]] bool is_pprof(std::string_view bytes);

}  // namespace sample::imports

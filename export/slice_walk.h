// A track as formats write it that know only where frames begin and end.
#pragma once

#include "export/stack_changes.h"
#include "export/tracks.h"
#include "export/writer.h"

#include <cstdint>

namespace sample::exports {

/// Moves `changes` along `slice` and those that follow it in `slices`, until the last one or until
/// `out` fails. `write(time)` is called behind each move, with when it was; pauses have no stack,
/// and there is none in the end. `see(slice)` is called for each slice. Returns when the last
/// ended.
template <class Write, class See>
std::int64_t walk_slices(SliceReader& slices, Slice slice, StackChanges& changes, const Writer& out,
                         const Write& write, const See& see) {
    std::int64_t end = slice.start;
    do {
        if (slice.start != end) {
            changes.close_all();
            write(end);
        }
        changes.move_to(slice.node);
        write(slice.start);
        see(slice);
        end = slice.end;
    } while (out.is_good() && slices.next(slice));
    changes.close_all();
    write(end);
    return end;
}

}  // namespace sample::exports

// The plug-in that plugin_host loads: the same unit of work, in a module brought by dlopen.
#include "work.h"

extern "C" TARGET_KEEP std::uint64_t plugin_work(std::uint64_t state, unsigned units) {
    for (unsigned unit = 0; unit < units; ++unit) {
        state = targets::work_unit(state);
    }
    return state;
}

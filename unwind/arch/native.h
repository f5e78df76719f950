// The architecture that this code runs on, and the one for which a source is compiled.
//
// Whatever takes an architecture as its template parameter has an alias without one, which means
// Native: Registers are the registers of the machine. A source of the walker ends in the instances
// of its templates for Built. In the handler's archive that is the native architecture, and there
// is no other. A library for walks of foreign stacks compiles the same sources once more with a
// header SAMPLE_UNWIND_FOREIGN, which describes arch::Foreign (tests/unwind/aarch64/).
#pragma once

#include "unwind/arch/x86_64.h"

#ifdef SAMPLE_UNWIND_FOREIGN
#include SAMPLE_UNWIND_FOREIGN
#endif

namespace sample::unwind::arch {

#if defined(__x86_64__)
using Native = X64;
#else
using Native = Foreign;
#endif

#ifdef SAMPLE_UNWIND_FOREIGN
using Built = Foreign;
#else
using Built = Native;
#endif

}  // namespace sample::unwind::arch

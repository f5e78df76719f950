// The architecture that this code runs on.
//
// Whatever takes an architecture as its template parameter has an alias without one, which means
// this one: Registers are the registers of the machine.
#pragma once

#if defined(__x86_64__)
#include "unwind/arch/x86_64.h"
#elif defined(__aarch64__)
#include "unwind/arch/aarch64.h"
#else
#error "unwind/arch/ has no description of this architecture"
#endif

namespace sample::unwind::arch {

#if defined(__x86_64__)
using Native = X64;
#else
using Native = Aarch64;
#endif

}  // namespace sample::unwind::arch

// Native plug-ins: loaded, counted, unloaded.
#pragma once

namespace sample::unity {

/// Those of a list that is separated by colons.
void load_plugins(const char* list) noexcept;
/// All that are loaded, the last one first: when the program exits.
void unload_plugins() noexcept;

}  // namespace sample::unity

// What the host says of plug-ins that misbehave: a line on stderr.
#pragma once

namespace sample::unity {

/// "sample: unity: …". Each of at most a dozen; `arguments` as printf's. Not async-signal-safe.
[[gnu::format(printf, 1, 2)]] void complain(const char* format, ...) noexcept;

/// Of a callback, which is said once, unless another one throws in between.
void complain_of_exception(const void* callback) noexcept;
/// Of a registration that there was no room for.
void complain_of_number(const void* callback) noexcept;

}  // namespace sample::unity

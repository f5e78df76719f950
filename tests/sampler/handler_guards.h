// Linked in, malloc, the mutex and stdio abort when they are called inside the handler. They are
// defined in the program itself, so that every caller in the process meets them.
#pragma once

namespace sample::capture {

/// The calling thread is inside the handler while this lives. Async-signal-safe.
class InsideHandler {
public:
    InsideHandler() noexcept;
    InsideHandler(const InsideHandler&) = delete;
    InsideHandler& operator=(const InsideHandler&) = delete;
    ~InsideHandler();
};

}  // namespace sample::capture

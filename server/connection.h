// One client of the live data: its request, and the answer as far as it takes it.
//
//   reading ─▶ answering                  the index, a refusal
//           ─▶ waiting ─▶ answering       a snapshot: of the next publication
//           ─▶ streaming ─▶ answering     events, until the session's end
//
// Nothing blocks. A client holds one message at most, which it shares with others; if it takes
// nothing for a while, or its request does not come, it is over.
#pragma once

#include "core/fd.h"
#include "core/kernel_clock.h"
#include "server/access.h"
#include "server/live_feed.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace sample::server {

class Connection {
public:
    using Clock = KernelClock;

    /// `socket` does not block.
    explicit Connection(Fd socket);

    [[nodiscard]] int fd() const { return socket_.get(); }
    /// Has shown the token, and is not answered yet.
    [[nodiscard]] bool wants_data() const {
        return state_ == State::waiting || state_ == State::streaming;
    }
    /// Its request has not come yet.
    [[nodiscard]] bool is_unknown() const { return state_ == State::reading; }
    /// What to poll it for.
    [[nodiscard]] short events() const;
    /// When it is over if nothing happens.
    [[nodiscard]] Clock::time_point deadline() const;
    /// Reads and writes what can be without waiting. False: it is over.
    [[nodiscard]] bool go_on(const Access& access, LiveFeed& feed);

private:
    enum class State : std::uint8_t { reading, waiting, streaming, answering };

    [[nodiscard]] bool read(const Access& access, const LiveFeed& feed);
    void answer(const Verdict& verdict, const LiveFeed& feed);
    void answer(int status, const char* type, std::shared_ptr<const std::string> body);
    /// Makes ready what there is to be written next. False: nothing, for now.
    [[nodiscard]] bool fill(LiveFeed& feed);
    [[nodiscard]] bool write();
    void put(std::string text) { put(std::make_shared<const std::string>(std::move(text))); }
    void put(std::shared_ptr<const std::string> text);

    Fd socket_;
    State state_ = State::reading;
    std::string request_;
    std::uint64_t asked_at_ = 0;  ///< The publication that was the last one then.
    std::uint64_t has_ = 0;       ///< What was streamed: all up to this one.
    std::deque<std::shared_ptr<const std::string>> out_;
    std::size_t written_ = 0;  ///< Of the first one.
    Clock::time_point deadline_;
};

}  // namespace sample::server

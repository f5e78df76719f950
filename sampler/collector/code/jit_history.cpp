#include "sampler/collector/code/jit_history.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace sample::collector {
namespace {

// Some 20 MB, and what a search of the past may cost; node's largest programs have a fifth of it.
constexpr std::size_t kMaxPieces = std::size_t{1} << 18U;
constexpr std::size_t kMaxPast = 4096;

}  // namespace

JitHistory::Pieces::iterator JitHistory::at(std::uint64_t address) {
    const auto after = now_.upper_bound(address);
    if (after == now_.begin()) {
        return now_.end();
    }
    const auto piece = std::prev(after);
    return address < piece->second.end ? piece : now_.end();
}

void JitHistory::retire(std::uint64_t start, std::uint64_t end, std::uint64_t time_ns) {
    auto next = at(start);
    if (next == now_.end()) {
        next = now_.lower_bound(start);
    }
    while (next != now_.end() && next->first < end) {
        const std::uint64_t piece_start = next->first;
        const Piece piece = next->second;
        next = now_.erase(next);
        if (piece_start < start) {
            Piece head = piece;
            head.end = start;
            now_.emplace(piece_start, head);
        }
        if (piece.end > end) {
            Piece tail = piece;
            tail.code_offset += end - piece_start;
            next = now_.emplace(end, tail).first;
        }
        late_ += piece.asked_ns >= time_ns ? 1 : 0;
        past_.push_back({piece_start, piece, time_ns});
    }
    while (past_.size() > kMaxPast) {
        past_.pop_front();
    }
}

void JitHistory::load(std::uint64_t address, std::uint64_t size, std::uint64_t code_offset,
                      std::uint64_t time_ns) {
    if (size == 0) {
        return;
    }
    // The file's order counts: times that run backwards are nobody's.
    last_ns_ = std::max(last_ns_, time_ns);
    ++changes_;
    retire(address, address + size, last_ns_);
    // Cutting can make two of one.
    if (now_.size() + 2 > kMaxPieces) {
        full_ = true;
        return;
    }
    now_.emplace(address, Piece{address + size, code_offset, last_ns_, 0});
}

void JitHistory::move(std::uint64_t from, std::uint64_t to, std::uint64_t size,
                      std::uint64_t time_ns) {
    const auto piece = at(from);
    if (piece == now_.end()) {
        return;
    }
    const std::uint64_t moved = std::min(size, piece->second.end - from);
    const std::uint64_t code_offset = piece->second.code_offset + (from - piece->first);
    load(to, moved, code_offset, time_ns);
}

std::optional<JitHistory::Found> JitHistory::find(std::uint64_t address, std::uint64_t time_ns) {
    const auto piece = at(address);
    const auto offset_in = [&](std::uint64_t start, const Piece& found) {
        return found.code_offset + (address - start);
    };
    if (piece != now_.end() && piece->second.from_ns <= time_ns) {
        piece->second.asked_ns = std::max(piece->second.asked_ns, time_ns);
        return Found{offset_in(piece->first, piece->second), kForever};
    }
    for (auto past = past_.rbegin(); past != past_.rend(); ++past) {
        if (past->start <= address && address < past->piece.end && past->piece.from_ns <= time_ns &&
            time_ns < past->until_ns) {
            return Found{offset_in(past->start, past->piece), past->until_ns};
        }
    }
    if (piece != now_.end()) {
        return Found{offset_in(piece->first, piece->second), kForever};
    }
    return std::nullopt;
}

void JitHistory::forget_before(std::uint64_t time_ns) {
    while (!past_.empty() && past_.front().until_ns < time_ns) {
        past_.pop_front();
    }
}

}  // namespace sample::collector

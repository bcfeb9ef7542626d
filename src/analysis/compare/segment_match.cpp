#include "analysis/compare/segment_match.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <tuple>

namespace tidegauge::analysis {
namespace {

using model::Action;
using model::DriverMemory;

constexpr int64_t kClockSlackNs = 1'000'000;
constexpr int kMaxNeighbours = 64;

bool isExpandable(const model::Trace& trace, uint64_t piece) {
  model::SegmentId segment = trace.pieces.segment[piece];
  return segment.valid() && trace.segments.kind[segment.index()] == model::SegmentKind::kExpandable;
}

// A piece of a segment, and a time at which it surely existed.
struct Wanted {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  int64_t time_ns = 0;    // when it was allocated, or the first time at which the snapshot shows it
  bool is_begun = false;  // true if `time_ns` is its allocation
  int64_t latest_ns = model::kLiveAtEnd;  // its block in the recording was allocated by then
  bool expandable = false;
  bool is_final = false;  // the snapshot ends with it
};

// One life of a range of addresses: a block, or a mapping.
struct Life {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t row = 0;

  auto key() const { return std::tie(address, begin_ns); }
};

class Lives {
 public:
  template <class Rows>
  Lives(const Rows& rows, std::vector<bool>& taken) : taken_(taken) {
    taken.assign(rows.size(), false);
    for (uint32_t row = 0; row < rows.size(); ++row) {
      if (rows.address[row] == 0) continue;
      lives_.push_back(
          {rows.address[row], rows.size_bytes[row], rows.begin_ns[row], rows.end_ns[row], row});
    }
    std::sort(lives_.begin(), lives_.end(),
              [](const Life& a, const Life& b) { return a.key() < b.key(); });
  }

  // Calls f with the lives of each address in [begin, end): a range of them, by time.
  template <class F>
  void forEachAddress(uint64_t begin, uint64_t end, F&& f) const {
    auto at = std::partition_point(lives_.begin(), lives_.end(),
                                   [&](const Life& life) { return life.address < begin; });
    while (at != lives_.end() && at->address < end) {
      auto next = std::partition_point(
          at, lives_.end(), [&](const Life& life) { return life.address <= at->address; });
      f(std::span<const Life>(&*at, static_cast<size_t>(next - at)));
      at = next;
    }
  }

  // The life at one address that matches `wanted`; nullptr: none.
  const Life* nearest(std::span<const Life> lives, const Wanted& wanted, uint64_t most_bytes,
                      bool whole) const {
    auto fits = [&](const Life& life) {
      if (taken_[life.row] || life.begin_ns > wanted.latest_ns) return false;
      if (whole ? life.size_bytes != most_bytes : life.size_bytes > most_bytes) return false;
      if (wanted.is_begun) return std::llabs(wanted.time_ns - life.begin_ns) <= kMaxApartNs;
      return life.begin_ns <= wanted.time_ns + kClockSlackNs && life.end_ns > wanted.time_ns;
    };
    auto after = std::partition_point(lives.begin(), lives.end(), [&](const Life& life) {
      return life.begin_ns <= wanted.time_ns;
    });
    const Life* best = nullptr;
    auto look = [&](const Life& life) {
      if (!fits(life)) return;
      bool nearer = best == nullptr || std::llabs(wanted.time_ns - life.begin_ns) <
                                           std::llabs(wanted.time_ns - best->begin_ns);
      if (nearer) best = &life;
    };
    auto before = after;
    for (int i = 0; i < kMaxNeighbours && before != lives.begin(); ++i) look(*--before);
    for (int i = 0; i < kMaxNeighbours && after != lives.end(); ++i) look(*after++);
    return best;
  }

  void take(const Life& life) { taken_[life.row] = true; }
  const std::vector<Life>& all() const { return lives_; }

 private:
  std::vector<Life> lives_;
  std::vector<bool>& taken_;
};

class Matcher {
 public:
  Matcher(const AnalysedTrace& snapshot, const DriverMemory& driver)
      : snapshot_(snapshot),
        driver_(driver),
        blocks_(driver.blocks, match_.blocks),
        mappings_(driver.mappings, match_.mappings) {}

  SegmentMatch run() {
    bool timed = false;
    for (const auto& device : snapshot_.devices) {
      timed |= device->device.ordinal >= 0 && device->time.present();
    }
    timed ? matchByTime() : matchByContent();
    return std::move(match_);
  }

 private:
  void matchByTime() {
    std::vector<Wanted> wanted;
    for (const auto& device : snapshot_.devices) {
      if (device->device.ordinal >= 0) collect(*device, wanted);
    }
    // Pieces with a known beginning choose first, since their times are most exact.
    std::stable_sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) {
      return std::pair(!a.is_begun, a.time_ns) < std::pair(!b.is_begun, b.time_ns);
    });
    for (Wanted& piece : wanted) {
      bool is_older =
          driver_.first_call_ns == 0 || piece.time_ns + kClockSlackNs < driver_.first_call_ns;
      // A part of a recording knows what was live when it began, and since when.
      if (is_older) piece.latest_ns = driver_.first_call_ns;
      bool found = piece.expandable ? matchMapped(piece) : matchBlock(piece);
      if (is_older && !found) {
        ++match_.older;
        continue;
      }
      ++match_.pieces;
      match_.matched += found;
      if (!found) match_.elsewhen += isKnownPlace(piece);
    }
    setDifferences();
    std::vector<Wanted> pinned;
    if (const DeviceAnalysis* host = hostMemory()) collect(*host, pinned);
    for (const Wanted& piece : pinned) matchBlock(piece);
  }

  const DeviceAnalysis* hostMemory() const {
    for (const auto& device : snapshot_.devices) {
      if (device->device.ordinal < 0) return device.get();
    }
    return nullptr;
  }

  int64_t endOfSnapshotUs() const {
    int64_t end_us = 0;
    for (const auto& device : snapshot_.devices) {
      if (device->time.present()) end_us = std::max(end_us, device->time.lastUs());
    }
    return end_us;
  }

  void collect(const DeviceAnalysis& device, std::vector<Wanted>& wanted) {
    const model::Trace& trace = snapshot_.trace;
    for (uint64_t row = device.device.piece_begin; row < device.device.piece_end; ++row) {
      Wanted piece;
      piece.address = trace.pieces.address[row];
      piece.size_bytes = trace.pieces.size_bytes[row];
      piece.expandable = isExpandable(trace, row);
      piece.is_final = trace.pieces.last_step[row] >= device.device.steps();
      Step first = trace.pieces.first_step[row];
      // Without events, only the end of a device is known.
      int64_t time_us = device.time.present() ? device.time.timeOf(first) : endOfSnapshotUs();
      piece.time_ns = time_us * 1000;
      if (device.time.present() && first < device.totals.steps()) {
        uint64_t event = device.device.event_begin + first;
        Action action = trace.events.action[event];
        uint64_t at = trace.events.address[event];
        piece.is_begun = (action == Action::kSegmentAlloc || action == Action::kSegmentMap) &&
                         at <= piece.address && piece.address - at < trace.events.size_bytes[event];
      }
      if (piece.size_bytes > 0) wanted.push_back(piece);
    }
  }

  void keepUntil(const Wanted& piece, const Life& life) {
    if (piece.is_final) match_.until_ns = std::min(match_.until_ns, life.end_ns);
  }

  bool matchBlock(const Wanted& piece) {
    const Life* found = nullptr;
    blocks_.forEachAddress(piece.address, piece.address + 1, [&](std::span<const Life> lives) {
      found = blocks_.nearest(lives, piece, piece.size_bytes, true);
    });
    if (found == nullptr) return false;
    blocks_.take(*found);
    keepUntil(piece, *found);
    if (piece.is_begun) differences_.push_back(piece.time_ns - found->begin_ns);
    return true;
  }

  // The whole piece must be mapped, by adjacent pages. Mappings found so far stay marked in any
  // case.
  bool matchMapped(const Wanted& piece) {
    uint64_t covered = 0;
    uint64_t at = piece.address, end = piece.address + piece.size_bytes;
    std::optional<int64_t> last_ns;
    mappings_.forEachAddress(piece.address, end, [&](std::span<const Life> lives) {
      if (++looks_ > kMaxLooks || lives.front().address < at) return;
      const Life* found = mappings_.nearest(lives, piece, end - lives.front().address, false);
      if (found == nullptr) return;
      mappings_.take(*found);
      keepUntil(piece, *found);
      covered += found->size_bytes;
      at = found->address + found->size_bytes;
      last_ns = std::max(last_ns.value_or(found->begin_ns), found->begin_ns);
    });
    if (piece.is_begun && last_ns) differences_.push_back(piece.time_ns - *last_ns);
    return covered == piece.size_bytes;
  }

  bool isKnownPlace(const Wanted& piece) const {
    bool known = false;
    if (!piece.expandable) {
      blocks_.forEachAddress(piece.address, piece.address + 1, [&](std::span<const Life> lives) {
        for (const Life& life : lives.first(std::min<size_t>(lives.size(), 1000))) {
          known |= life.size_bytes == piece.size_bytes;
        }
      });
      return known;
    }
    mappings_.forEachAddress(piece.address, piece.address + 1,
                             [&](std::span<const Life>) { known = true; });
    return known;
  }

  void setDifferences() {
    if (differences_.empty()) return;
    auto smaller = [](int64_t a, int64_t b) { return std::llabs(a) < std::llabs(b); };
    match_.largest_difference_ns =
        *std::max_element(differences_.begin(), differences_.end(), smaller);
    auto middle = differences_.begin() + static_cast<std::ptrdiff_t>(differences_.size() / 2);
    std::nth_element(differences_.begin(), middle, differences_.end());
    match_.median_difference_ns = *middle;
    std::nth_element(differences_.begin(), middle, differences_.end(), smaller);
    match_.typical_difference_ns = std::llabs(*middle);
  }

  // ---- without times

  struct Change {
    int64_t time_ns = 0;
    int64_t bytes = 0;  // change of the final segments' bytes that are held from here on
  };

  // Calls f(lives, life) for every life that may be one of the final segments.
  template <class F>
  void forCandidates(F&& f) {
    const model::Trace& trace = snapshot_.trace;
    for (const auto& device : snapshot_.devices) {
      if (device->device.ordinal < 0) continue;
      for (uint64_t row = device->device.piece_begin; row < device->device.piece_end; ++row) {
        if (trace.pieces.last_step[row] < device->device.steps()) continue;
        uint64_t address = trace.pieces.address[row], bytes = trace.pieces.size_bytes[row];
        bool expandable = isExpandable(trace, row);
        Lives& lives = expandable ? mappings_ : blocks_;
        lives.forEachAddress(
            address, expandable ? address + bytes : address + 1, [&](std::span<const Life> at) {
              for (const Life& life : at) {
                if (++looks_ > kMaxLooks) return;
                uint64_t room = bytes - (life.address - address);
                bool fits = expandable ? life.size_bytes <= room : life.size_bytes == bytes;
                if (fits) f(lives, life, row);
              }
            });
      }
    }
  }

  void matchByContent() {
    match_.by_content = true;
    std::vector<Change> changes;
    forCandidates([&](Lives&, const Life& life, uint64_t) {
      changes.push_back({life.begin_ns, static_cast<int64_t>(life.size_bytes)});
      if (life.end_ns != model::kLiveAtEnd) {
        changes.push_back({life.end_ns, -static_cast<int64_t>(life.size_bytes)});
      }
    });
    // Memory that is freed and memory that is allocated at one moment were never held together.
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::pair(a.time_ns, a.bytes) < std::pair(b.time_ns, b.bytes);
    });
    int64_t held = 0, most = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      held += changes[i].bytes;
      if (held < most || held == 0) continue;
      most = held;
      bool is_last = i + 1 == changes.size();
      match_.begin_ns = changes[i].time_ns;
      match_.end_ns = is_last ? std::max(driver_.last_call_ns, changes[i].time_ns)
                              : std::max(changes[i].time_ns, changes[i + 1].time_ns - 1);
    }
    std::vector<uint64_t> covered(snapshot_.trace.pieces.size(), 0);
    forCandidates([&](Lives& lives, const Life& life, uint64_t row) {
      if (life.begin_ns > match_.end_ns || life.end_ns <= match_.end_ns) return;
      lives.take(life);
      covered[row] += life.size_bytes;
    });
    for (const auto& device : snapshot_.devices) {
      if (device->device.ordinal < 0) continue;
      for (uint64_t row = device->device.piece_begin; row < device->device.piece_end; ++row) {
        if (snapshot_.trace.pieces.last_step[row] < device->device.steps()) continue;
        ++match_.pieces;
        match_.matched += covered[row] == snapshot_.trace.pieces.size_bytes[row];
      }
    }
    takePinned();
  }

  void takePinned() {
    const DeviceAnalysis* host = hostMemory();
    if (host == nullptr) return;
    for (uint64_t row = host->device.piece_begin; row < host->device.piece_end; ++row) {
      uint64_t address = snapshot_.trace.pieces.address[row];
      uint64_t bytes = snapshot_.trace.pieces.size_bytes[row];
      blocks_.forEachAddress(address, address + 1, [&](std::span<const Life> lives) {
        for (const Life& life : lives) {
          bool is_live = life.begin_ns <= match_.end_ns && life.end_ns > match_.end_ns;
          if (life.size_bytes == bytes && is_live) blocks_.take(life);
        }
      });
    }
  }

  const AnalysedTrace& snapshot_;
  const DriverMemory& driver_;
  SegmentMatch match_;
  Lives blocks_;
  Lives mappings_;
  std::vector<int64_t> differences_;
  uint64_t looks_ = 0;
};

}  // namespace

SegmentMatch matchSegments(const AnalysedTrace& snapshot, const DriverMemory& driver) {
  return Matcher(snapshot, driver).run();
}

}  // namespace tidegauge::analysis

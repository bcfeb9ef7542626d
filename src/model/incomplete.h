// What a recording could not see, and which figures that affects. One notion for losses,
// unwatchable functions, times before a process was watched, and damaged tables:
//
//   incompleteOf(work).touches(Figures::kMemory)    live, peak, holders: incomplete
//   incompleteOf(work).words(Figures::kLaunches)    {"3 × no room for a launch"}
//
// Counts of launches and copies, and their sums, can then only be too low ("at least"). Memory may
// be too low or too high (an unseen free): "incomplete". Cost: O(losses + unwatched).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::model {

struct RecordedWork;

enum class Figures : uint8_t {
  kMemory,        // live, peak, allocations, holders
  kBlocks,        // of the framework
  kLaunches,      // counts
  kCopies,        // counts, bytes, times
  kCallSites,     // which call site
  kKernelNames,   //
  kLaunchEvents,  // single launches, if each was recorded
  kDeviceTimes,   // what the device measured, if it was asked for
};
inline constexpr size_t kFigures = static_cast<size_t>(Figures::kDeviceTimes) + 1;

std::string_view name(Figures figures);  // "memory", …, as in the file and in JSON

class FigureSet {
 public:
  constexpr FigureSet() = default;
  constexpr FigureSet(std::initializer_list<Figures> all) {
    for (Figures it : all) add(it);
  }
  static constexpr FigureSet all() {
    FigureSet set;
    set.bits_ = (1U << kFigures) - 1;
    return set;
  }
  constexpr void add(Figures it) { bits_ |= 1U << static_cast<unsigned>(it); }
  constexpr void add(FigureSet more) { bits_ |= more.bits_; }
  constexpr bool has(Figures it) const { return (bits_ >> static_cast<unsigned>(it) & 1U) != 0; }
  constexpr bool touches(FigureSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const FigureSet&) const = default;
  std::vector<std::string_view> names() const;

 private:
  uint32_t bits_ = 0;
};

// "memory,launches"; an unknown or empty list means all figures.
FigureSet figuresNamed(std::string_view list);
std::string listOf(FigureSet figures);

// The figures that a loss of this reason affects; for an unknown reason: all.
FigureSet figuresOfLoss(std::string_view reason);
// Whether allocations or frees between recorded ones are missing. Then a free without its
// allocation does not show memory older than the recording, and no figure of memory is a lower
// bound: a lost free makes it too high. (A return without its entry was entered before the
// recording.)
bool losesMemoryCalls(std::string_view reason);
// The figures that need a table of the recording.
FigureSet figuresOfTable(std::string_view table);

// Something that existed and was not watched: a function, a library, a process for some time.
struct Unwatched {
  std::optional<int64_t> begin_ns, end_ns;  // absent: from its beginning, to its end
  uint32_t pid = 0;
  std::string library;   // path; empty: the whole process
  std::string function;  // empty: the whole library
  FigureSet figures;
  std::string reason;
};
// "cuMemAlloc_v2 of libcuda.so.1: its first instruction cannot be probed"
std::string wordsOf(const Unwatched& unwatched);

struct Missing {
  FigureSet figures;
  std::string words;
  bool is_older = false;  // lacksTheBeginning(): figures can only be too low
};

class Incomplete {
 public:
  void add(FigureSet figures, std::string words, bool is_older = false);
  bool any() const { return !figures_.empty(); }
  FigureSet figures() const { return figures_; }
  bool touches(FigureSet figures) const { return figures_.touches(figures); }
  const std::vector<Missing>& missing() const { return missing_; }
  // These figures are lower bounds: only the time before watching is missing.
  bool isAtLeast(FigureSet figures) const;
  std::vector<std::string> words(FigureSet figures) const;  // why these figures are incomplete

  static constexpr size_t kMaxMissing = 50;  // kept; then "and more"

 private:
  FigureSet figures_;
  std::vector<Missing> missing_;
};

// For one process of a recording.
std::vector<Unwatched> unwatchedOf(const RecordedWork& work);
Incomplete incompleteOf(const RecordedWork& work);
// The same without the time before the process was watched. That is not a gap in the recorded time:
// its figures are lower bounds, see isOlder().
Incomplete gapsOf(const RecordedWork& work);
// The time from the start of the whole process until it was watched.
bool isOlder(const Unwatched& unwatched);
// That time, or the one from the moment it mapped a library until the library was watched. All
// later calls were recorded, so figures can only be too low.
bool lacksTheBeginning(const Unwatched& unwatched);

}  // namespace tidegauge::model

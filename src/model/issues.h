// Issues: everything unusual found while reading and joining a file, counted, with its first place
// and its effect on the totals. Nothing unusual is dropped silently.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::model {

enum class IssueKind : uint8_t {
  kFreeWithoutAlloc,      // the block is older than the recording
  kAllocOverLive,         // alloc at an address that is live: its free was not recorded
  kFreeAgain,             // free at an address whose recorded life had ended: its alloc was lost
  kGoneWithoutFree,       // alloc recorded, no free, and not in the final state
  kFinalBlockOverlaps,    // a final block overlaps recorded lives: its alloc was lost
  kSizeMismatch,          // alloc and free, or trace and final state, name different sizes
  kSegmentContradiction,  // segment events contradict each other or the final state
  kOutsideSegments,       // an allocation lies in no known segment
  kFinalTotalsDiffer,     // a segment's own totals differ from the sum of its blocks
  kFinalLiveDiffers,      // live at the end by the trace differs from the final blocks
  kUnorderedTime,         // times go backwards
  kUnknownAction,
  kUnknownKey,
  kMissingKey,
  kDuplicateKey,
  kBadValue,  // a value of the wrong type or out of range; replaced by "unknown"
  kCutText,   // a text that was longer or nested deeper than allowed
  kMissingAnnotationEnd,
  kUnmatchedAnnotationEnd,
  kTrailingBytes,     // after the end of the data; ignored
  kUnreadMember,      // of an archive: not a snapshot, or a broken one
  kRingOverflow,      // likely: the oldest events were overwritten
  kMissingActions,    // kinds of events are missing that happened (skip_actions): detail names them
  kReordered,         // runs of events whose times went back, put in order of time
  kRecordingGap,      // events are missing between two runs (a ring buffer that was made smaller)
  kNoTrace,           // history was never recorded: final state only
  kNoEventList,       // a list of segments alone: the file could not have events
  kOnlyState,         // history was on, but no event was kept
  kNoDeviceHistory,   // only pinned host memory has events (record_cuda=False)
  kNoStacks,          // no event has a stack (context=None)
  kSnapshotChecksum,  // a snapshot event's total differs from the lives
  kTensorWithoutBlock,  // a tensor was named where no known block was at that time
  kReplayed,            // not a recording: the result of a replay under other settings
  // In recordings (readers/recording):
  kIncompleteRecording,  // the recorder lost records: detail says which
  kOlderThanRecording,   // a free of memory older than the recording: bytes unknown
  kDeviceUnknown,        // its device is not recorded
  kNoAddress,            // physical memory that was never mapped
  kPromisedMemory,       // of a graph's node: backed only while the graph runs
  kContradictoryRow,     // a row that contradicts the rest of its file: skipped
};

struct Issue {
  IssueKind kind{};
  uint64_t count = 0;
  int32_t device = kNoDevice;  // ordinal, if it concerns one device
  uint64_t first_step = kNone;
  uint64_t first_offset = kNone;  // byte in the unpacked input
  uint64_t bytes = 0;             // bytes of memory concerned, if known
  std::string detail{};           // "key 'frobnicate'"

  static constexpr int32_t kNoDevice = std::numeric_limits<int32_t>::min();
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
};

inline constexpr size_t kIssueKinds = static_cast<size_t>(IssueKind::kContradictoryRow) + 1;

// Counts issues of one kind, device and detail together. A hostile file could contain a million
// devices or details: beyond 100 of a kind, the rest is counted under the detail "…", so add()
// costs at most 101 comparisons.
class Issues {
 public:
  static constexpr size_t kMaxOfAKind = 100;
  static constexpr std::string_view kRest = "…";

  void add(Issue issue);  // count 0 counts as 1; sums stop at 2^64 − 1
  const std::vector<Issue>& all() const { return all_; }
  uint64_t count(IssueKind kind) const;

 private:
  std::vector<Issue> all_;                                       // in order of first appearance
  std::array<std::vector<uint32_t>, kIssueKinds> rows_of_kind_;  // indices into all_
};

std::string_view name(IssueKind kind);     // "free_without_alloc"
std::string_view meaning(IssueKind kind);  // one sentence: its effect on the totals

}  // namespace tidegauge::model

#include "model/issues.h"

#include <algorithm>

namespace tidegauge::model {
namespace {

struct Text {
  IssueKind kind;
  std::string_view name;
  std::string_view meaning;
};

constexpr Text kTexts[] = {
    {IssueKind::kFreeWithoutAlloc, "free_without_alloc",
     "Freed in the recording but allocated before it: drawn from the start as older than the "
     "recording; the stack shown is that of the free."},
    {IssueKind::kAllocOverLive, "alloc_over_live",
     "Allocated at an address that was still live: the free in between is missing, so the older "
     "block is drawn until here at most."},
    {IssueKind::kFreeAgain, "free_again",
     "Freed although its last recorded life had ended: the alloc in between is missing; drawn "
     "from the end of that life."},
    {IssueKind::kGoneWithoutFree, "gone_without_free",
     "Allocated in the recording, never freed, and not in the final state: drawn to the end, so "
     "live bytes may be too high by this much."},
    {IssueKind::kFinalBlockOverlaps, "final_block_overlaps",
     "In the final state at an address that the recording saw freed: its alloc is missing; drawn "
     "from that free on."},
    {IssueKind::kSizeMismatch, "size_mismatch",
     "Two places name different sizes for one block: the alloc's size is used."},
    {IssueKind::kSegmentContradiction, "segment_contradiction",
     "Segment events contradict each other or the final "
     "segments: reserved bytes may be wrong by this much."},
    {IssueKind::kOutsideSegments, "outside_segments",
     "Allocations that lie in no known segment: counted as live, but not inside reserved bytes."},
    {IssueKind::kFinalTotalsDiffer, "final_totals_differ",
     "A segment's own totals differ from the sum of its blocks: the blocks are used."},
    {IssueKind::kFinalLiveDiffers, "final_live_differs",
     "Live bytes at the end of the trace differ from the final blocks: the file was written while "
     "other threads allocated, or it contradicts itself."},
    {IssueKind::kUnorderedTime, "unordered_time",
     "Times go backwards: steps are in file order, the time axis uses the latest time so far."},
    {IssueKind::kUnknownAction, "unknown_action",
     "An action that this version does not know: kept and counted, without effect on the totals."},
    {IssueKind::kUnknownKey, "unknown_key",
     "A key that this version does not know: ignored, without effect on the totals."},
    {IssueKind::kMissingKey, "missing_key", "A key that others of its kind have is missing."},
    {IssueKind::kDuplicateKey, "duplicate_key",
     "A key that is there more than once in one object: the last "
     "one counts, as in Python; what the others held is not shown."},
    {IssueKind::kBadValue, "bad_value",
     "A value of the wrong type or out of range: treated as unknown."},
    {IssueKind::kCutText, "cut_text",
     "A text nested deeper or longer than is kept: its "
     "rest is left out, without effect on the totals."},
    {IssueKind::kMissingAnnotationEnd, "missing_annotation_end",
     "An annotation has no END: it is drawn to the end of the recording."},
    {IssueKind::kUnmatchedAnnotationEnd, "unmatched_annotation_end",
     "An annotation's END has no START: it is drawn from the start of the recording."},
    {IssueKind::kTrailingBytes, "trailing_bytes", "Bytes after the end of the data: ignored."},
    {IssueKind::kUnreadMember, "unread_member",
     "An entry of the archive that is not a snapshot, or a broken one: skipped."},
    {IssueKind::kRingOverflow, "ring_overflow",
     "The recording's ring buffer was probably full: the oldest events were overwritten. Record "
     "with a larger max_entries to see them."},
    {IssueKind::kMissingActions, "missing_actions",
     "Events of these kinds happened and are not in the file, probably because of skip_actions of "
     "_record_memory_history(): totals that need them are bounds (at least, at most). The end "
     "comes from the final state."},
    {IssueKind::kReordered, "reordered",
     "Times go back in the file, as after a change of max_entries while it recorded: the events "
     "were put in order of time."},
    {IssueKind::kRecordingGap, "recording_gap",
     "Events are missing before this step, because a ring buffer that was made smaller overwrote "
     "them: blocks that changed in between change here."},
    {IssueKind::kOnlyState, "only_state",
     "Memory history was on, because blocks have stacks, but the file contains no event: it was "
     "recorded with enabled=\"state\" or with skip_actions. Record with enabled=\"all\" to see "
     "what led to this state."},
    {IssueKind::kNoDeviceHistory, "no_device_history",
     "Only pinned host memory has events, as with record_cuda=False of _record_memory_history(): "
     "of this device only the final state is known."},
    {IssueKind::kNoStacks, "no_stacks",
     "No event has a stack, as with context=None or context=\"state\" of "
     "_record_memory_history(). Memory is grouped by compiled region where the file names one. "
     "Record with context=\"all\" to see stacks."},
    {IssueKind::kTensorWithoutBlock, "tensor_without_block",
     "A tensor was named at an address where no known block was at that time: it is in the table "
     "tensors, and names no memory."},
    {IssueKind::kReplayed, "replayed",
     "Not what was recorded, but what PyTorch's allocator would have made of the "
     "same program under other settings; from the step that is named on, if one is, "
     "a forecast: the program would have met another out of memory than it did."},
    {IssueKind::kNoTrace, "no_trace",
     "No events: memory history was not switched on. Call "
     "torch.cuda.memory._record_memory_history() before the part you want to see."},
    {IssueKind::kNoEventList, "no_event_list",
     "The file has segments and no list of events, as memory_snapshot() returns it: whether memory "
     "history was on is not known. Write the file with torch.cuda.memory._dump_snapshot() to keep "
     "the events."},
    {IssueKind::kSnapshotChecksum, "snapshot_checksum",
     "A snapshot event's total of active bytes differs "
     "from ours by more than inferred block sizes explain."},
    {IssueKind::kIncompleteRecording, "incomplete_recording",
     "Something was lost, or was not watched: figures "
     "of this recording may be wrong by what is missing."},
    {IssueKind::kOlderThanRecording, "older_than_recording",
     "Handed out before the recording. What only a free shows is in no total, for its size is not "
     "known; what blocks in it show is counted as far as they reach: totals are lower bounds."},
    {IssueKind::kDeviceUnknown, "unknown_device",
     "Memory whose device is not recorded: counted on the device named here."},
    {IssueKind::kNoAddress, "no_address",
     "Physical memory that was handed out and never mapped: it is reserved, but has no place to be "
     "drawn at, so reserved bytes are too low by this much."},
    {IssueKind::kPromisedMemory, "promised_memory",
     "Memory of a graph's nodes: the device backs it while the graph runs; not in the totals."},
    {IssueKind::kContradictoryRow, "contradictory_row",
     "A row of the recording that contradicts the rest of the file: passed over."},
};

uint64_t saturatingSum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

const Text& textOf(IssueKind kind) {
  return *std::find_if(std::begin(kTexts), std::end(kTexts),
                       [&](const Text& text) { return text.kind == kind; });
}

}  // namespace

void Issues::add(Issue issue) {
  if (issue.count == 0) issue.count = 1;
  std::vector<uint32_t>& rows = rows_of_kind_[static_cast<size_t>(issue.kind)];
  auto find = [&] {
    return std::find_if(rows.begin(), rows.end(), [&](uint32_t row) {
      return all_[row].device == issue.device && all_[row].detail == issue.detail;
    });
  };
  auto known = find();
  if (known == rows.end() && rows.size() >= kMaxOfAKind) {
    issue.device = Issue::kNoDevice;
    issue.detail = kRest;
    known = find();
  }
  if (known == rows.end()) {
    rows.push_back(static_cast<uint32_t>(all_.size()));
    all_.push_back(std::move(issue));
    return;
  }
  Issue& sum = all_[*known];
  sum.count = saturatingSum(sum.count, issue.count);
  sum.bytes = saturatingSum(sum.bytes, issue.bytes);
  sum.first_step = std::min(sum.first_step, issue.first_step);
  sum.first_offset = std::min(sum.first_offset, issue.first_offset);
}

uint64_t Issues::count(IssueKind kind) const {
  uint64_t count = 0;
  for (uint32_t row : rows_of_kind_[static_cast<size_t>(kind)]) {
    count = saturatingSum(count, all_[row].count);
  }
  return count;
}

std::string_view name(IssueKind kind) { return textOf(kind).name; }
std::string_view meaning(IssueKind kind) { return textOf(kind).meaning; }

}  // namespace tidegauge::model

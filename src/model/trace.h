// Trace: what was recorded about one process's memory. Readers write it, all other code only reads
// it. Plain columns, 32-bit ids, no pointers.
//
//   events       one row per recorded action; rows of one device are contiguous
//                  device 0: [alloc a][alloc b][free_requested a][free_completed a][oom] …
//                  step         0        1            2                 3            4
//   allocations  one row per life of a block, in drawing order (bottom of the stack first)
//                  a ├────────────┤        first_step 0, last_step 3   (live after steps 0, 1, 2)
//                  b    ├──────────────►   first_step 1, last_step 5 = number of events: to the end
//   segments     one row per life of a driver allocation, cut into pieces for map and unmap
//   final_blocks the final state in the file: every block of every segment when it was written
//
// Three sizes, never mixed: *requested* (by the program), *block* (requested bytes rounded up by
// the allocator), *reserved* (from the driver).
//
// Cost: 29 bytes per event (21 without times), 2 or 4 more for each column of streams, pools,
// contexts or metadata whose rows differ, and about 19 for its allocations. Facts:
// docs/formats/snapshot.md.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/string_pool.h"
#include "model/columns/stacks.h"
#include "model/columns/uniform_column.h"
#include "model/issues.h"

namespace tidegauge::model {

using base::StringId;
using AllocationId = base::Id<struct AllocationTag>;
using SegmentId = base::Id<struct SegmentTag>;
using EventIndex = base::Id<struct EventTag>;  // index over all devices = event_begin + step
using StreamId = base::Id<struct StreamTag, uint16_t>;
using PoolId = base::Id<struct PoolTag, uint16_t>;

// Index of an event within its device; the state "at step s" is the state after event s.
using Step = uint32_t;
inline constexpr Step kNoStep = std::numeric_limits<Step>::max();
inline constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();
inline constexpr uint64_t kUnknownBytes = std::numeric_limits<uint64_t>::max();

// ---- events ------------------------------------------------------------------------------------

// What the allocator did. Values from kFirstUnknown on are actions this version does not know:
// their names are in Trace::unknown_actions[value − kFirstUnknown].
enum class Action : uint8_t {
  kAlloc,          // size = requested bytes
  kFreeRequested,  // the program freed it
  kFreeCompleted,  // the block can be reused
  kFree,           // both at once (only in files that a viewer rewrote)
  kSegmentAlloc,   // cudaMalloc
  kSegmentFree,    // cudaFree
  kSegmentMap,     // expandable segment: pages mapped
  kSegmentUnmap,
  // address = the driver's free bytes, size = request; each may be kUnknownBytes
  kOom,
  kSnapshot,  // size = total active bytes of the device (or kUnknownBytes): a checksum
  kAnnotate,  // text in metadata
  kUserDefined,
  kFirstUnknown,
};

class ActionSet {
 public:
  constexpr ActionSet() = default;
  constexpr ActionSet(std::initializer_list<Action> all) {
    for (Action it : all) add(it);
  }
  constexpr void add(Action it) { bits_ |= 1U << static_cast<unsigned>(it); }
  constexpr bool has(Action it) const {
    return it < Action::kFirstUnknown && (bits_ >> static_cast<unsigned>(it) & 1U) != 0;
  }
  constexpr bool touches(ActionSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const ActionSet&) const = default;

 private:
  uint32_t bits_ = 0;  // of the known actions
};
inline constexpr ActionSet kFrees{Action::kFreeRequested, Action::kFreeCompleted, Action::kFree};
inline constexpr ActionSet kSegmentBirths{Action::kSegmentAlloc, Action::kSegmentMap};
inline constexpr ActionSet kSegmentDeaths{Action::kSegmentFree, Action::kSegmentUnmap};

struct Events {
  std::vector<Action> action;
  std::vector<uint64_t> address;     // kOom: bytes free in the driver, maybe kUnknownBytes
  std::vector<uint64_t> size_bytes;  // see Action
  std::vector<StackId> stack;        // invalid: none recorded
  UniformColumn<StreamId> stream;
  // The AllocationId or SegmentId that the event concerns (by action), or kNone. Empty until
  // buildLives fills it.
  std::vector<uint32_t> subject;
  // These columns are empty if no event of the file has the field.
  std::vector<int64_t> time_us;  // since the epoch, 0 … 2^53; kNoTime where absent
  UniformColumn<PoolId> pool;
  UniformColumn<StringId> compile_context;
  UniformColumn<StringId> metadata;  // user_metadata
  UniformColumn<StringId> category;  // parameter, gradient, … (snapshots made from a profile)
  UniformColumn<StringId> internal_metadata;  // "mallocWithAddress": an allocator's helper event

  size_t size() const { return action.size(); }
};

// ---- stacks ------------------------------------------------------------------------------------

// kForward: of the forward pass's stack, which PyTorch records for memory of the backward pass.
// Such frames follow the stack's own ones (PyTorch's `forward_frames`).
enum class FrameKind : uint8_t { kPython, kCpp, kOther, kForward };

struct Frames {  // one row per distinct frame
  std::vector<StringId> function;
  std::vector<StringId> file;
  std::vector<uint64_t> line;  // up to 2^64 − 1 in real files
  std::vector<FrameKind> kind;
  std::vector<StringId> note;  // FX node and original code; the line's code; invalid if none

  size_t size() const { return function.size(); }
};

// ---- lives -------------------------------------------------------------------------------------

enum class Provenance : uint8_t {
  kTraced,           // born in the trace; its end is in the trace or in the final state
  kBeforeRecording,  // freed in the trace, born before it began
  kLost,             // one end is missing although it lies inside the recording
  kGhost,            // only the final state contains it: older than the recording
};
inline bool isOlder(Provenance provenance) {  // than the recording
  return provenance == Provenance::kBeforeRecording || provenance == Provenance::kGhost;
}

enum AllocationFlag : uint8_t {
  kAllocSeen = 1,          // first_step is the alloc event
  kFreeCompletedSeen = 2,  // last_step is the free_completed (or free) event
  kBlockInferred = 4,      // block_bytes is computed (rounding, layout), not read from the file
  kStackIsOfFree = 8,      // no alloc event: the stack is that of the free
  kInFinalState = 16,      // in the file's final state
  kPendingAtEnd = 32,      // … in state active_pending_free
  kBlockUncertain = 64,    // block_bytes is a lower bound: see blockSlackBytes
};

// Live after step s  ⇔  first_step ≤ s < last_step, where last_step may be the number of events
// (live to the end). Sorted by device, then by drawing order: ghosts, before_recording (longest
// life lowest), then by first_step.
struct Allocations {
  std::vector<uint64_t> address;
  std::vector<uint64_t> requested_bytes;
  std::vector<uint64_t> block_bytes;
  std::vector<SegmentId> segment;  // invalid: in no known segment
  std::vector<StackId> stack;
  std::vector<Step> first_step;           // 0 if older than the recording
  std::vector<Step> last_step;            // number of events if live at the end
  std::vector<Step> free_requested_step;  // kNoStep if never; first_step if before the life began
  std::vector<uint32_t> version;          // PyTorch's n in b7f…_n: nth life of this address
  std::vector<StreamId> stream;
  std::vector<PoolId> pool;
  std::vector<Provenance> provenance;
  std::vector<uint8_t> flags;      // AllocationFlag
  std::vector<StringId> category;  // as stated in the file; empty column if it states none

  size_t size() const { return address.size(); }
  bool has(size_t row, AllocationFlag flag) const { return (flags[row] & flag) != 0; }
};

enum class SegmentKind : uint8_t { kSmall, kLarge, kExpandable, kUnknown };

struct Segments {
  std::vector<uint64_t> address;
  std::vector<uint64_t> total_bytes;  // expandable: the most that was ever mapped at once
  std::vector<SegmentKind> kind;
  std::vector<StackId> stack;
  std::vector<Step> first_step;
  std::vector<Step> last_step;
  std::vector<StreamId> stream;
  std::vector<PoolId> pool;  // invalid: unknown (segment gone before the file was written)
  std::vector<Provenance> provenance;
  std::vector<bool> small_pool;  // expandable segments have a size class too

  size_t size() const { return address.size(); }
};

// Ranges of addresses that the process owned, exact in time. An ordinary segment is one piece; an
// expandable one has a piece per mapped range and is cut where part of it was unmapped.
struct Pieces {
  std::vector<SegmentId> segment;
  std::vector<uint64_t> address;
  std::vector<uint64_t> size_bytes;
  std::vector<Step> first_step;
  std::vector<Step> last_step;

  size_t size() const { return segment.size(); }
};

// ---- the final state, as in the file -----------------------------------------------------------

enum class BlockState : uint8_t { kActiveAllocated, kActivePendingFree, kInactive, kUnknown };

struct FinalSegments {
  std::vector<int32_t> device;  // ordinal
  std::vector<uint64_t> address;
  std::vector<uint64_t> total_bytes;
  std::vector<uint64_t> allocated_bytes;  // kUnknownBytes if the key is missing; same below
  std::vector<uint64_t> active_bytes;
  std::vector<uint64_t> requested_bytes;
  std::vector<SegmentKind> kind;
  std::vector<bool> small_pool;
  std::vector<StreamId> stream;
  std::vector<PoolId> pool;
  std::vector<StackId> stack;
  std::vector<uint64_t> block_begin;  // index of its first row in FinalBlocks
  std::vector<uint64_t> block_end;
  std::vector<SegmentId> segment;  // its life; set by buildLives

  size_t size() const { return address.size(); }
};

struct FinalBlocks {
  std::vector<uint64_t> address;
  std::vector<uint64_t> size_bytes;
  std::vector<uint64_t> requested_bytes;  // meaningful for active blocks only
  std::vector<BlockState> state;
  std::vector<StackId> stack;
  std::vector<AllocationId> allocation;  // its life; set by buildLives

  size_t size() const { return address.size(); }
};

// ---- the rest ----------------------------------------------------------------------------------

enum class DeviceKind : uint8_t { kGpu, kPinnedHost };
inline constexpr int32_t kHostOrdinal = -1;  // of pinned host memory

// For a recording: do its calls show that the memory drawn on a device is there? A thread that
// chose its device before it was watched does not: its memory is drawn on the first known device.
enum class Known : uint8_t { kAll, kInPart, kNothing };

// One device's share of the columns: half-open ranges of rows.
struct Device {
  int32_t ordinal = 0;  // −1 for pinned host memory
  DeviceKind kind = DeviceKind::kGpu;
  Known known = Known::kAll;  // kNothing: the ordinal is a mere number
  // False for a recording in which no allocator's blocks were seen inside driver memory.
  bool has_allocator = true;
  // False if the file states rounded sizes as requested: pinned host memory (pinned_requests.h).
  bool knows_requests = true;
  // Kinds of events that happened and were not recorded (lives/missing_actions.h). buildLives sets
  // it.
  ActionSet missing{};
  // Steps before which the reader joined runs of events that it put in order, and those of them
  // before which events are missing (lives/blocks/gaps.h). buildLives sets the latter.
  std::vector<Step> seams{}, gaps{};
  uint64_t total_bytes = kUnknownBytes;  // as reported by the driver
  uint64_t event_begin = 0, event_end = 0;
  uint64_t allocation_begin = 0, allocation_end = 0;
  uint64_t segment_begin = 0, segment_end = 0;
  uint64_t piece_begin = 0, piece_end = 0;
  uint64_t final_segment_begin = 0, final_segment_end = 0;

  Step steps() const { return static_cast<Step>(event_end - event_begin); }
};

struct Stream {
  uint64_t raw = 0;  // the pointer value in the file; 0 = default stream
};
struct Pool {
  uint64_t first = 0, second = 0;  // (0,0) default, (n,0) graph capture, (0,n) MemPool
};

// record_function ranges; process-wide.
struct Annotations {
  std::vector<StringId> name;
  std::vector<int32_t> device;  // current device of the thread, not the owner of any memory
  std::vector<int64_t> begin_us;
  std::vector<int64_t> end_us;  // kNoTime: END is missing
  std::vector<uint16_t> depth;  // nesting among the annotations of that device

  size_t size() const { return name.size(); }
};

// A setting that the conf string asks for.
struct AskedSetting {
  std::string key;
  std::string asked;      // "True"
  std::string in_effect;  // "False": what the file says is in effect; empty: it does not say
  bool differs = false;   // asked for, and the file says that something else is in effect
};

struct AllocatorSettings {
  bool present = false;
  std::string conf;                 // PYTORCH_CUDA_ALLOC_CONF as last parsed
  std::vector<AskedSetting> asked;  // the parts of conf, in its order
  bool expandable_segments = false;
  uint64_t max_split_bytes = kUnknownBytes;                // kUnknownBytes = unlimited
  std::array<uint32_t, 16> roundup_power2_divisions{};     // class i = [2^(20+i), 2^(21+i)) bytes
  uint64_t pinned_round_limit_bytes = kUnknownBytes;       // above: pinned memory is not rounded
  std::vector<std::pair<std::string, std::string>> items;  // all settings, as text, in file order

  // nullptr if conf does not contain the key. The last one counts, as in PyTorch.
  const AskedSetting* askedFor(std::string_view key) const;
  // Asked for, with any value, and not known to be ignored: PyTorch ignores a setting that the
  // platform does not support (expandable_segments on Windows) with a warning.
  bool isInEffect(std::string_view key) const;
  // Asked for, but the file says that something else is in effect.
  bool isIgnored(std::string_view key) const;
};

struct Source {
  std::string name;         // path or member name, for people
  std::string format;       // "pickle protocol 4", "JSON", …
  std::string container;    // "zstd", "gzip", "HTML in zip"; empty if plain
  uint64_t file_bytes = 0;  // size of the file
  uint64_t data_bytes = 0;  // unpacked
};

struct RecordedWork;  // recorded_work.h
struct Tensors;       // tensors/tensors.h

struct Trace {
  Source source;
  base::StringPool strings;
  Frames frames;
  Stacks stacks;
  std::vector<Device> devices;  // by ordinal; pinned host memory last
  std::vector<Stream> streams;  // by StreamId, in order of first appearance; 0 = default stream
  std::vector<Pool> pools;      // by PoolId; 0 = default pool
  std::vector<StringId> unknown_actions;
  Events events;
  Allocations allocations;
  Segments segments;
  Pieces pieces;
  FinalSegments final_segments;
  FinalBlocks final_blocks;
  Annotations annotations;
  AllocatorSettings settings;
  Issues issues;
  // kernels, copies, … of a recording; null for a snapshot
  std::shared_ptr<const RecordedWork> work;
  // names that the program gave to its memory; null: none
  std::shared_ptr<Tensors> tensors;

  // The device of an allocation or segment row; rows are grouped by device.
  const Device& deviceOfAllocation(AllocationId id) const;
  const Device& deviceOfSegment(SegmentId id) const;
  // nullptr if there is no such device.
  const Device* findDevice(int32_t ordinal) const;
  // Adds an issue of a device. Without a place if the device does not have that step.
  void note(const Device& device, IssueKind kind, Step step, uint64_t bytes);
  std::string_view actionName(Action action) const;
};

std::string_view name(Action known);           // "alloc", …: one that this version knows
std::string_view name(Provenance provenance);  // "traced", "before_recording", "lost", "ghost"
std::string_view name(SegmentKind kind);       // "small", "large", "expandable", "unknown"
std::string_view name(BlockState state);       // as in the file
std::string_view name(FrameKind kind);         // "python", "cpp", "other", "forward"

}  // namespace tidegauge::model

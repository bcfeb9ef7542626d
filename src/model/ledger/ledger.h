// Ledger: who holds which device memory, from a stream of memory calls. Pure logic: the same code
// runs live behind the recorder and when a recording is read.
//
//   Ledger ledger([](const Effect& effect) { … });
//   ledger.take(call);                       // in order of end_ns
//   ledger.endProcess(process, time_ns);     // what it did not free goes, as kImplicit
//   ledger.find(process)->sum(0, MemoryKind::kDevice).bytes
//
// What is charged: what the driver handed out, once. A runtime call gives names; it is charged
// itself only if the driver was not seen inside it. A failed call is a failure and never live. A
// pool's memory is *used* memory of the pool (what the pool has reserved is at least the most that
// was used since it was trimmed). Physical memory goes when its last mapping and its last handle
// are gone. Aliases (IPC, imports, multicast) are never added: someone else is charged. Memory of a
// graph's nodes is promised, not charged. Host memory (pinned, registered) is a sum of its own.
//
// Cost: O(log live) per call; a context's end O(log live) for each that ends with it. Memory: about
// 250 bytes per live block. Source: docs/formats/recording.md, "What follows from the calls".
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "model/ledger/contexts.h"
#include "model/ledger/effect.h"
#include "model/memory_call.h"

namespace tidegauge::model {

using EffectSink = std::function<void(const Effect&)>;

// More than this no process has, of calls of base::kMaxSizeBytes at most: so sums stay sums.
inline constexpr uint64_t kMaxProcessBytes = uint64_t{1} << 60;

// Of one kind of memory on one device.
struct MemorySum {
  uint64_t bytes = 0;  // live
  uint64_t peak_bytes = 0;
  uint64_t live = 0;  // blocks
  uint64_t allocations = 0;
  uint64_t frees = 0;           // by a call
  uint64_t implicit_frees = 0;  // by the end of a context or process
  uint64_t missed_frees = 0;    // something else shows that it was freed
  uint64_t failures = 0;
};

struct PoolSum {
  int32_t device = kUnknownDevice;
  uint64_t used_bytes = 0;
  uint64_t most_used_bytes = 0;  // since the last trim: the pool had reserved at least this much
  bool is_destroyed = false;
};

// What the stream shows about its own gaps.
struct LedgerCounts {
  uint64_t frees_of_older = 0;         // of device memory that was never handed out: older
  uint64_t host_frees_of_older = 0;    // of host memory, likewise
  uint64_t frees_again = 0;            // of an address that was freed already
  uint64_t block_frees_of_older = 0;   // the same of the framework's blocks
  uint64_t block_frees_again = 0;      //
  uint64_t without_address = 0;        // handed out, but where was not recorded
  uint64_t bytes_without_address = 0;  //
  uint64_t impossible = 0;             // sizes or addresses that no device has
  uint64_t charged_at_runtime = 0;     // the driver was not seen
  uint64_t aliases = 0;                // opened or imported
  uint64_t outside_blocks = 0;         // of the framework, in memory that is older
  uint64_t older_physical = 0;         // mapped, and made before

  // Device memory that is older than the recording: what is known of it is a lower bound.
  bool showOlder() const {
    return frees_of_older + block_frees_of_older + outside_blocks + older_physical > 0;
  }
};

struct HeldBy {  // what one stack holds
  uint32_t stack = kNoStackOfCall;
  int32_t device = kUnknownDevice;
  MemoryKind kind = MemoryKind::kDevice;
  uint64_t bytes = 0;
  uint64_t count = 0;
  int64_t oldest_ns = 0;  // when the first of them came
};

// What the driver handed out and is live.
struct Holding {
  uint64_t address = 0;  // or the handle of an array; 0: physical memory
  uint64_t size_bytes = 0;
  uint64_t stream = 0;
  uint64_t pool = 0;
  uint64_t context = 0;
  uint64_t place = 0;  // 0: the row is free
  int64_t since_ns = 0;
  uint64_t references = 0;    // physical memory: handles
  uint64_t mappings = 0;      // …
  uint64_t block_stream = 0;  // of the framework's first block
  uint32_t thread = 0;
  uint32_t stack = kNoStackOfCall;
  int32_t device = kUnknownDevice;
  uint16_t function = 0;
  MemoryKind kind = MemoryKind::kDevice;
  Plane plane = Plane::kDriver;
  bool of_framework = false;  // it has placed blocks here
  bool took_over = false;     // something was live here when it came
};

// A place that is taken now: what the driver handed out, or a block of the framework.
struct LiveRange {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  int32_t device = kUnknownDevice;
  bool of_framework = false;  // the framework has placed blocks in it, or it is one
};

// Takes device memory of its own; host memory, aliases and promises do not.
bool isDeviceMemory(MemoryKind kind);
bool isHostMemory(MemoryKind kind);

class ProcessLedger {
 public:
  ProcessLedger(uint32_t process, const EffectSink& sink) : process_(process), sink_(sink) {}

  void take(const MemoryCall& call);
  // One of carried(): nothing is counted as handed out.
  void takeCarried(const MemoryCall& call);
  // Everything goes: the process ended or became another program.
  void end(int64_t time_ns);
  // Calls that give a new ledger what this one has live (model/carried.cpp). `end_ns` and, where it
  // does not fit, `function` are the caller's. O(live).
  std::vector<MemoryCall> carried() const;

  // ---- what is known now
  const MemorySum& sum(int32_t device, MemoryKind kind) const;
  // All kinds that take device memory, together; its peak is that of the sum.
  const MemorySum& deviceSum(int32_t device) const;
  std::vector<int32_t> devices() const;  // with any sum, ascending; kUnknownDevice may be first
  const std::map<std::pair<uint64_t, int32_t>, PoolSum>& pools() const { return pools_; }
  const std::map<int32_t, uint64_t>& failuresByCode() const { return failures_by_code_; }
  const LedgerCounts& counts() const { return counts_; }
  // Live memory by stack, most bytes first. O(live).
  std::vector<HeldBy> heldByStack() const;
  std::vector<HeldBy> blocksByStack() const;  // the framework's blocks, likewise
  // What was live when the process ended; empty before.
  const std::vector<HeldBy>& unfreedAtExit() const { return unfreed_; }
  uint64_t unfreedBytes() const;  // of that, of devices
  // By address, what has one; pieces of an expandable segment that touch are one range. O(live).
  std::vector<LiveRange> liveRanges() const;
  std::vector<LiveRange> liveBlocks() const;  // of the framework, by address
  // The framework's live blocks in memory that was handed out before the first call. O(live).
  uint64_t outsideBytes() const;
  // Physical memory that no address leads to.
  uint64_t unmappedBytes() const;

 private:
  struct Mapping {
    uint64_t end = 0;
    uint32_t holding = 0;
    bool is_alias = false;
    uint64_t place = 0;
    int32_t device = kUnknownDevice;
    uint32_t stack = kNoStackOfCall;
  };
  struct Block {
    uint64_t size_bytes = 0;
    uint64_t stream = 0;
    uint64_t place = 0;
    int64_t since_ns = 0;
    int32_t device = kUnknownDevice;
    uint32_t stack = kNoStackOfCall;
    uint32_t thread = 0;
  };
  // Of physical memory; stale once its row has another place.
  struct Handle {
    uint32_t row = 0;
    uint64_t place = 0;
  };
  using Owner = std::tuple<int32_t, uint64_t, uint32_t>;  // device, context, row
  struct Reservation {
    uint64_t end = 0;
    uint64_t place = 0;
  };
  struct Promise {
    uint64_t size_bytes = 0;
    int32_t device = kUnknownDevice;
  };
  using Mappings = std::map<uint64_t, Mapping>;
  using Blocks = std::map<uint64_t, Block>;

  bool isPossible(const MemoryCall& call) const;
  void addWithoutAddress(uint64_t size_bytes);
  void takeRuntime(const MemoryCall& call);
  void apply(const MemoryCall& call);
  void fail(const MemoryCall& call);
  void tellAnswer(const MemoryCall& call);
  // One per kind.
  void onMemory(const MemoryCall& call);
  void onBlock(const MemoryCall& call);
  void onAlias(const MemoryCall& call);
  void onArray(const MemoryCall& call);
  void onPool(const MemoryCall& call);
  void onGraph(const MemoryCall& call);
  void endContext(const MemoryCall& call, const Ended& ended);
  void freeAddress(const MemoryCall& call);
  bool isOfBefore(uint32_t row, const MemoryCall& call);
  void countOlderFree(const MemoryCall& call);

  // src/model/ledger/physical_memory.cpp: handles and mappings.
  void onPhysical(const MemoryCall& call);
  void onAddressRange(const MemoryCall& call);
  const Handle* findPhysical(uint64_t handle);
  void clearRange(const MemoryCall& call);
  void addMapping(const MemoryCall& call, int32_t device, std::optional<uint32_t> row);
  // Takes away what is mapped in [begin, end).
  void unmap(uint64_t begin, uint64_t end, const MemoryCall& call, Cause cause);
  void tellOlderUnmap(uint64_t begin, uint64_t end, const MemoryCall& call);
  void dropPhysical(uint32_t row, const MemoryCall& call);
  void dropIfUnused(uint32_t row, const MemoryCall& call, Cause cause);

  // src/model/ledger/carried.cpp: what an earlier part of the recording has left.
  void carry(const MemoryCall& call);
  void carryPhysical(const MemoryCall& call);
  void carryMapping(const MemoryCall& call);
  void carryBlock(const MemoryCall& call);
  void addCarriedHoldings(std::vector<MemoryCall>& calls) const;
  void addCarriedMappings(std::vector<MemoryCall>& calls) const;

  // src/model/ledger/holdings.cpp: keeps the rows, sums and pools right and tells the sink.
  Owner ownerOf(uint32_t row) const;
  uint32_t addHolding(const MemoryCall& call, uint64_t address, Cause cause);
  void endHolding(uint32_t row, const MemoryCall& call, Cause cause);
  bool isLiveAt(uint64_t address) const { return by_address_.contains(address); }
  void endOverlapping(uint64_t begin, uint64_t end, const MemoryCall& call);
  void endBlocks(uint64_t begin, uint64_t end, const MemoryCall& call, Cause cause);
  Blocks::iterator endBlock(Blocks::iterator at, const MemoryCall& call, Cause cause);
  uint64_t placeOf(uint64_t address, int32_t device, const MemoryCall& call);
  void learnDevice(uint32_t row, int32_t device, const MemoryCall& call);
  void addTo(int32_t device, MemoryKind kind, uint64_t bytes);
  void takeFrom(int32_t device, MemoryKind kind, uint64_t bytes, Cause cause);
  template <class F>
  void forSums(int32_t device, MemoryKind kind, F&& f) {
    f(sums_[sumKey(device, static_cast<size_t>(kind))]);
    if (isDeviceMemory(kind)) f(sums_[sumKey(device, kAllDeviceKinds)]);
  }
  void tell(What what, Cause cause, const MemoryCall& call, const Effect& rest);

  static uint64_t sumKey(int32_t device, size_t kind) {
    return static_cast<uint64_t>(static_cast<uint32_t>(device)) << 8 | kind;
  }
  // In place of the context of what outlives contexts: pools and physical memory.
  static constexpr uint64_t kNoContext = UINT64_MAX;
  static constexpr size_t kAllDeviceKinds = kMemoryKinds;
  static constexpr size_t kMaxFreed = size_t{1} << 20;  // addresses that are remembered

  uint32_t process_;
  const EffectSink& sink_;
  Contexts contexts_;
  std::vector<Holding> holdings_;
  std::vector<uint32_t> free_rows_;
  uint64_t next_place_ = 1;
  bool is_carrying_ = false;   // what is taken was there before
  uint64_t live_bytes_ = 0;    // of all kinds and devices, so that no sum overflows
  uint64_t mapped_bytes_ = 0;  // likewise
  std::map<uint64_t, uint32_t> by_address_;
  boost::unordered_flat_map<uint64_t, uint32_t> arrays_;   // by handle
  boost::unordered_flat_map<uint64_t, Handle> physical_;   // by handle
  boost::unordered_flat_map<uint64_t, uint64_t> aliases_;  // by address or handle: how often open
  boost::unordered_flat_map<uint64_t, Promise> promises_;
  boost::unordered_flat_map<uint64_t, Handle> carried_physical_;  // by key
  // Mapped places in which the framework has placed blocks: stream of the first.
  boost::unordered_flat_map<uint64_t, uint64_t> framework_places_;
  std::map<uint64_t, Reservation> reservations_;
  Mappings mappings_;
  Blocks blocks_;
  std::set<Owner> by_owner_;                           // every row
  std::set<std::pair<uint32_t, uint64_t>> mapped_of_;  // row of physical memory, key of a mapping
  boost::unordered_flat_set<uint64_t> freed_;
  boost::unordered_flat_set<uint64_t> freed_blocks_;
  boost::unordered_flat_map<uint32_t, int64_t> last_failure_;  // by thread, of the driver
  boost::unordered_flat_map<uint64_t, MemorySum> sums_;
  std::map<std::pair<uint64_t, int32_t>, PoolSum> pools_;  // by handle, 0 = default, and device
  std::map<int32_t, uint64_t> failures_by_code_;
  LedgerCounts counts_;
  std::vector<HeldBy> unfreed_;
};

class Ledger {
 public:
  explicit Ledger(EffectSink sink = {}) : sink_(std::move(sink)) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  void take(const MemoryCall& call);
  void takeCarried(const MemoryCall& call);  // before all others
  void endProcess(uint32_t process, int64_t time_ns);
  // nullptr: it has made no call.
  const ProcessLedger* find(uint32_t process) const;
  std::vector<uint32_t> processes() const;  // ascending
  void forget(uint32_t process) { ledgers_.erase(process); }

  // The recorder lost something: from then on every figure says "incomplete".
  void addLosses(uint64_t count) { losses_ += count; }
  uint64_t losses() const { return losses_; }

 private:
  EffectSink sink_;
  std::map<uint32_t, std::unique_ptr<ProcessLedger>> ledgers_;
  uint64_t losses_ = 0;
};

}  // namespace tidegauge::model

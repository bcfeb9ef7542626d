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
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "model/ledger/contexts.h"
#include "model/ledger/device_handles.h"
#include "model/ledger/effect.h"
#include "model/ledger/holdings.h"
#include "model/ledger/ledger_sums.h"
#include "model/ledger/ledger_tables.h"
#include "model/ledger/overtaken.h"
#include "model/memory_call.h"

namespace tidegauge::model {

using EffectSink = std::function<void(const Effect&)>;

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

// A place that is taken now: what the driver handed out, or a block of the framework.
struct LiveRange {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  int32_t device = kUnknownDevice;
  bool of_framework = false;  // the framework has placed blocks in it, or it is one
};

// One state machine over the calls of a process. It has more members than most classes because it
// has one table per kind of thing that can be live; a call may change several of them at once.
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
  const MemorySum& sum(int32_t device, MemoryKind kind) const { return sums_.of(device, kind); }
  // All kinds that take device memory, together; its peak is that of the sum.
  const MemorySum& deviceSum(int32_t device) const { return sums_.ofDevice(device); }
  std::vector<int32_t> devices() const { return sums_.devices(); }
  const PoolSums& pools() const { return pools_; }
  const std::map<int32_t, uint64_t>& failuresByCode() const { return failures_.by_code; }
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
  // kUnknownDevice: it was made before the recording, or is a default stream.
  int32_t deviceOfStream(uint64_t stream) const { return handles_.ofStream(stream); }
  // Physical memory that no address leads to.
  uint64_t unmappedBytes() const;

 private:
  struct Failures {
    std::map<int32_t, uint64_t> by_code;
    boost::unordered_flat_map<uint32_t, int64_t> last;  // by thread, of the driver: when
  };

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
  void onStream(const MemoryCall& call);
  // By what the call names, else by its thread.
  Where where(const MemoryCall& call) const;
  void onGraph(const MemoryCall& call);
  void endContext(const MemoryCall& call, const Ended& ended);
  void freeAddress(const MemoryCall& call);
  bool isOfBefore(uint32_t row, uint64_t place, const MemoryCall& call);
  void countOlderFree(const MemoryCall& call);

  // src/model/ledger/physical_memory.cpp: handles and mappings.
  void onPhysical(const MemoryCall& call);
  void onAddressRange(const MemoryCall& call);
  const PhysicalHandle* findPhysical(uint64_t handle);
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
  void addCarriedHandles(std::vector<MemoryCall>& calls) const;
  void addCarriedHoldings(std::vector<MemoryCall>& calls) const;
  void addCarriedMappings(std::vector<MemoryCall>& calls) const;

  // src/model/ledger/ledger_holdings.cpp: keeps the rows, sums and pools right and calls the sink.
  uint32_t addHolding(const MemoryCall& call, uint64_t address, Cause cause);
  void endHolding(uint32_t row, const MemoryCall& call, Cause cause);
  bool freesOvertaken(uint64_t place, const MemoryCall& call);
  bool isLiveAt(uint64_t address) const { return by_address_.contains(address); }
  void endOverlapping(uint64_t begin, uint64_t end, const MemoryCall& call);
  void endBlocks(uint64_t begin, uint64_t end, const MemoryCall& call, Cause cause);
  FrameworkBlocks::iterator endBlock(FrameworkBlocks::iterator at, const MemoryCall& call,
                                     Cause cause);
  uint64_t placeOf(uint64_t address, int32_t device, const MemoryCall& call);
  void learnDevice(uint32_t row, int32_t device, const MemoryCall& call);
  void usePool(uint64_t handle, int32_t device, uint64_t bytes);
  void addTo(int32_t device, MemoryKind kind, uint64_t bytes);
  void tell(What what, Cause cause, const MemoryCall& call, const Effect& rest);

  uint32_t process_;
  const EffectSink& sink_;
  Contexts contexts_;
  DeviceHandles handles_;
  Holdings holdings_;
  std::map<uint64_t, uint32_t> by_address_;               // rows of holdings_
  boost::unordered_flat_map<uint64_t, uint32_t> arrays_;  // likewise, by handle
  PhysicalTables physical_;
  PoolSums pools_;
  FrameworkBlocks blocks_;
  boost::unordered_flat_map<uint64_t, uint64_t> aliases_;  // by address or handle: how often open
  boost::unordered_flat_map<uint64_t, Promise> promises_;  // by address
  LedgerSums sums_;
  FreedAddresses freed_, freed_blocks_;
  Overtaken overtaken_;
  Failures failures_;
  LedgerCounts counts_;
  std::vector<HeldBy> unfreed_;
  bool is_carrying_ = false;  // what is taken was there before
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

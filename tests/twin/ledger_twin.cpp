// The ledger against a driver that knows the truth: a random program calls a simulated driver; the
// calls go to the ledger, and the driver's own books are compared with it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "model/ledger/ledger.h"
#include "support/bytes.h"
#include "support/call_stream.h"

namespace tidegauge::model {
namespace {

using testing::CallStream;

// Slow and obvious: lists that are searched from the front.
struct Truth {
  struct Memory {
    uint64_t address, bytes;
    MemoryKind kind;
    int32_t device;
  };
  struct Physical {
    uint64_t bytes;
    int32_t device;
    uint64_t handles;
    std::vector<std::pair<uint64_t, uint64_t>> mapped;  // granules: [begin, end)
  };
  struct Block {
    uint64_t address, bytes;
    int32_t device;
  };
  std::vector<Memory> memory;
  std::map<uint64_t, Physical> physical;  // by handle
  std::vector<Block> blocks;
  std::map<int32_t, uint64_t> peak;
  uint64_t failures = 0;

  uint64_t bytesOf(int32_t device, MemoryKind kind) const {
    uint64_t bytes = 0;
    for (const Memory& one : memory) {
      if (one.device == device && one.kind == kind) bytes += one.bytes;
    }
    if (kind == MemoryKind::kPhysical) {
      for (const auto& [handle, one] : physical) bytes += one.device == device ? one.bytes : 0;
    }
    if (kind == MemoryKind::kBlock) {
      for (const Block& one : blocks) bytes += one.device == device ? one.bytes : 0;
    }
    return bytes;
  }
  uint64_t deviceBytes(int32_t device) const {
    uint64_t bytes = 0;
    for (MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kManaged, MemoryKind::kPool,
                            MemoryKind::kPhysical, MemoryKind::kArray}) {
      bytes += bytesOf(device, kind);
    }
    return bytes;
  }
};

class Program {
 public:
  explicit Program(const std::vector<uint32_t>& choices) : choices_(choices) {}

  void run() {
    while (next_ < choices_.size()) {
      step();
      for (int32_t device : {0, 1}) {
        truth.peak[device] = std::max(truth.peak[device], truth.deviceBytes(device));
      }
    }
  }

  Truth truth;
  CallStream calls;

 private:
  uint32_t choose(uint32_t below) {
    return next_ < choices_.size() ? choices_[next_++] % below : 0;
  }

  void step() {
    switch (choose(9)) {
      case 0:
      case 1:
        allocate();
        return;
      case 2:
        free();
        return;
      case 3:
        create();
        return;
      case 4:
        map();
        return;
      case 5:
        unmap();
        return;
      case 6:
        release();
        return;
      case 7:
        block();
        return;
      default:
        freeBlock();
    }
  }

  // The lowest place with `bytes` free: addresses are reused soon.
  uint64_t place(uint64_t bytes) const {
    uint64_t at = 16 * kMiB;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Truth::Memory& one : truth.memory) {
        if (one.address >= at + bytes || at >= one.address + one.bytes) continue;
        at = one.address + one.bytes;
        moved = true;
      }
    }
    return at;
  }

  void allocate() {
    constexpr MemoryKind kKinds[] = {MemoryKind::kDevice, MemoryKind::kManaged, MemoryKind::kPool,
                                     MemoryKind::kPinnedHost};
    MemoryKind kind = kKinds[choose(4)];
    auto device = static_cast<int32_t>(choose(2));
    uint64_t bytes = (choose(4) + 1) * kMiB;
    uint32_t how = choose(5);
    if (how == 0) {  // out of memory, reported by both planes
      calls.allocate(kind, 0, bytes).device(device).code(2);
      calls.allocate(kind, 0, bytes).device(device).code(2).around(1);
      ++truth.failures;
      return;
    }
    uint64_t address = place(bytes);
    truth.memory.push_back({address, bytes, kind, device});
    bool driver_is_seen = how != 1;
    if (driver_is_seen) calls.allocate(kind, address, bytes).device(device);
    if (how <= 2)
      calls.allocate(kind, address, bytes).device(device).around(driver_is_seen ? 1 : 0);
  }

  void free() {
    if (truth.memory.empty()) return;
    size_t which = choose(static_cast<uint32_t>(truth.memory.size()));
    Truth::Memory memory = truth.memory[which];
    uint32_t how = choose(3);
    // PyTorch's allocator only releases segments without blocks.
    for (const Truth::Block& block : truth.blocks) {
      if (block.address >= memory.address && block.address < memory.address + memory.bytes) return;
    }
    if (how != 1) calls.free(memory.kind, memory.address);
    if (how != 0) calls.free(memory.kind, memory.address).around(how == 1 ? 0 : 1);
    truth.memory.erase(truth.memory.begin() + static_cast<ptrdiff_t>(which));
  }

  void create() {
    uint64_t handle = ++last_handle_;
    auto device = static_cast<int32_t>(choose(2));
    uint64_t bytes = (choose(3) + 1) * 2 * kMiB;
    truth.physical[handle] = {bytes, device, 1, {}};
    calls.create(handle, bytes).device(device);
  }

  Truth::Physical* choosePhysical(uint64_t& handle) {
    if (truth.physical.empty()) return nullptr;
    auto at = truth.physical.begin();
    std::advance(at, choose(static_cast<uint32_t>(truth.physical.size())));
    handle = at->first;
    return &at->second;
  }

  void map() {
    uint64_t handle = 0;
    Truth::Physical* physical = choosePhysical(handle);
    if (physical == nullptr || physical->handles == 0) return;
    uint64_t at = next_mapped_;
    next_mapped_ += physical->bytes + (choose(2) == 0 ? 0 : kMiB);
    physical->mapped.emplace_back(at, at + physical->bytes);
    calls.map(at, physical->bytes, handle).device(physical->device);
  }

  void unmap() {
    uint64_t handle = 0;
    Truth::Physical* physical = choosePhysical(handle);
    if (physical == nullptr || physical->mapped.empty()) return;
    size_t which = choose(static_cast<uint32_t>(physical->mapped.size()));
    auto [begin, end] = physical->mapped[which];
    uint32_t part = choose(3);
    physical->mapped.erase(physical->mapped.begin() + static_cast<ptrdiff_t>(which));
    if (part > 0 && end - begin > kMiB) {
      uint64_t cut = begin + kMiB;
      physical->mapped.emplace_back(part == 1 ? cut : begin, part == 1 ? end : cut);
      (part == 1 ? end : begin) = cut;
    }
    calls.unmap(begin, end - begin);
    dropUnused(handle);
  }

  void release() {
    uint64_t handle = 0;
    Truth::Physical* physical = choosePhysical(handle);
    if (physical == nullptr || physical->handles == 0) return;
    if (choose(4) == 0) {
      ++physical->handles;
      calls.add(Verb::kRetain, MemoryKind::kPhysical).handle(handle);
      return;
    }
    --physical->handles;
    calls.release(handle);
    dropUnused(handle);
  }

  void dropUnused(uint64_t handle) {
    const Truth::Physical& physical = truth.physical[handle];
    if (physical.handles == 0 && physical.mapped.empty()) truth.physical.erase(handle);
  }

  void block() {
    if (truth.memory.empty()) return;
    const Truth::Memory& memory = truth.memory[choose(static_cast<uint32_t>(truth.memory.size()))];
    uint64_t address = memory.address + choose(8) * (kMiB / 8);
    uint64_t bytes = 512 * (choose(16) + 1);
    for (const Truth::Block& other : truth.blocks) {
      if (other.address < address + bytes && address < other.address + other.bytes) return;
    }
    truth.blocks.push_back({address, bytes, memory.device});
    calls.allocate(MemoryKind::kBlock, address, bytes).device(memory.device);
  }

  void freeBlock() {
    if (truth.blocks.empty()) return;
    size_t which = choose(static_cast<uint32_t>(truth.blocks.size()));
    calls.free(MemoryKind::kBlock, truth.blocks[which].address);
    truth.blocks.erase(truth.blocks.begin() + static_cast<ptrdiff_t>(which));
  }

  const std::vector<uint32_t>& choices_;
  size_t next_ = 0;
  uint64_t last_handle_ = 0;
  uint64_t next_mapped_ = uint64_t{1} << 40;
};

RC_GTEST_PROP(LedgerTwin, KnowsWhatTheDriverKnows, ()) {
  auto choices = *rc::gen::scale(8.0, rc::gen::arbitrary<std::vector<uint32_t>>());
  Program program(choices);
  program.run();
  // The sum of the effects must equal the ledger's own sums.
  std::map<int32_t, int64_t> by_effects;
  Ledger ledger([&](const Effect& effect) {
    if (!isDeviceMemory(effect.kind)) return;
    auto bytes = static_cast<int64_t>(effect.size_bytes);
    if (effect.what == What::kReserved) by_effects[effect.device] += bytes;
    if (effect.what == What::kReturned) by_effects[effect.device] -= bytes;
  });
  for (const MemoryCall& call : program.calls.all()) ledger.take(call);
  const ProcessLedger* process = ledger.find(0);
  if (process == nullptr) return;
  uint64_t failures = 0;
  for (int32_t device : {0, 1}) {
    for (size_t kind = 0; kind < kMemoryKinds; ++kind) {
      auto which = static_cast<MemoryKind>(kind);
      RC_ASSERT(process->sum(device, which).bytes == program.truth.bytesOf(device, which));
      failures += process->sum(device, which).failures;
    }
    RC_ASSERT(process->deviceSum(device).bytes == program.truth.deviceBytes(device));
    RC_ASSERT(process->deviceSum(device).peak_bytes == program.truth.peak[device]);
    RC_ASSERT(by_effects[device] == static_cast<int64_t>(program.truth.deviceBytes(device)));
  }
  RC_ASSERT(failures == program.truth.failures);
  RC_ASSERT(process->counts().frees_of_older == 0U);
  RC_ASSERT(process->counts().frees_again == 0U);
  uint64_t held = 0;
  for (const HeldBy& row : process->heldByStack()) held += row.bytes;
  RC_ASSERT(held == program.truth.deviceBytes(0) + program.truth.deviceBytes(1) +
                        program.truth.bytesOf(0, MemoryKind::kPinnedHost) +
                        program.truth.bytesOf(1, MemoryKind::kPinnedHost));
  ledger.endProcess(0, program.calls.nowNs() + 1);
  for (int32_t device : {0, 1}) RC_ASSERT(process->deviceSum(device).bytes == 0U);
}

// For any calls in any order: the ledger's sums equal the sums over its live memory.
RC_GTEST_PROP(LedgerTwin, KeepsItsSumsWhateverArrives,
              (const std::vector<std::array<uint8_t, 6>>& input)) {
  CallStream calls;
  for (const auto& [verb, kind, address, size, handle, rest] : input) {
    calls
        .allocate(static_cast<MemoryKind>(kind % kMemoryKinds), uint64_t{address} % 32 * kMiB,
                  uint64_t{size} % 8 * kMiB)
        .handle(handle % 8)
        .device(rest % 4 - 1)
        .thread(rest % 2)
        .plane(static_cast<Plane>(rest / 4 % 3))
        .code(rest % 16 == 0 ? 2 : 0);
  }
  std::vector<MemoryCall> stream = calls.all();
  for (size_t i = 0; i < stream.size(); ++i) {
    stream[i].verb = static_cast<Verb>(input[i][0] % 13);
    stream[i].inner = input[i][5] % 2;
  }
  std::map<std::pair<int32_t, MemoryKind>, int64_t> live;
  std::map<uint64_t, Effect> places;
  Ledger ledger([&](const Effect& effect) {
    auto bytes = static_cast<int64_t>(effect.size_bytes);
    bool comes = effect.what == What::kReserved || effect.what == What::kBlock;
    bool goes = effect.what == What::kReturned || effect.what == What::kBlockFreed;
    if (comes) live[{effect.device, effect.kind}] += bytes;
    if (goes) live[{effect.device, effect.kind}] -= bytes;
    if (effect.what == What::kReserved) places[effect.place] = effect;
    if (effect.what == What::kPlaced && places.contains(effect.place)) {
      Effect& known = places[effect.place];
      live[{known.device, known.kind}] -= static_cast<int64_t>(known.size_bytes);
      known.device = effect.device;
      live[{known.device, known.kind}] += static_cast<int64_t>(known.size_bytes);
    }
  });
  for (const MemoryCall& call : stream) {
    ledger.take(call);
    for (const auto& [key, bytes] : live) {
      RC_ASSERT(static_cast<int64_t>(ledger.find(0)->sum(key.first, key.second).bytes) == bytes);
    }
  }
  ledger.endProcess(0, calls.nowNs() + 1);
  for (const auto& [key, bytes] : live) RC_ASSERT(bytes == 0);
}

}  // namespace
}  // namespace tidegauge::model

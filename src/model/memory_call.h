// MemoryCall: one call that allocated, freed or mapped memory, as a recorder saw it. A recording is
// a stream of them; who holds what follows from it (model/ledger.h).
//
//   t 10 ns   runtime    cudaMalloc     out 0x7f00  bytes 2 MiB  code 0  inner 1  ← name, call site
//   t 11 ns   driver     cuMemAlloc_v2  out 0x7f00  bytes 2 MiB  code 0           ← this is charged
//   t 40 ns   framework  pytorch_malloc     0x7f00  bytes 4,000                   ← a block inside
//
// Layout: 88 bytes. Source: docs/formats/recording.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidegauge::model {

enum class Plane : uint8_t { kDriver, kRuntime, kFramework };

enum class Verb : uint8_t {
  kAllocate,
  kFree,
  kMap,  // gives physical memory an address
  kUnmap,
  kRetain,  // one more reference to a handle or context
  kCreate,  // of a pool or context
  kDestroy,
  kRelease,  // one reference less to a device's primary context
  kReset,    // frees everything of a device's primary context
  kTrim,
  kSet,  // the thread's device or context
  kPush,
  kPop,
  kAsk,  // nothing changes: the driver reports its free memory
};

enum class MemoryKind : uint8_t {
  kDevice,
  kManaged,
  kPinnedHost,
  kRegisteredHost,  // the program's own memory, locked for the device
  kPool,            // from a stream-ordered pool: uses the pool's reservation, not the device's
  kPoolItself,
  kPhysical,      // cuMemCreate: the charge of expandable segments
  kAddressRange,  // addresses only: never charged
  kArray,
  kAlias,  // memory charged elsewhere: IPC, imports, multicast
  kGraph,
  kContext,
  kBlock,   // of the framework's allocator, inside driver memory
  kAnswer,  // of the driver: `address` bytes of the device's `size_bytes` are free
  kStream,  // no memory: it names the device of what is allocated in it
};
inline constexpr size_t kMemoryKinds = static_cast<size_t>(MemoryKind::kStream) + 1;

inline constexpr uint32_t kNoStackOfCall = ~uint32_t{0};
inline constexpr int32_t kUnknownDevice = -1;

struct MemoryCall {
  int64_t start_ns = 0;  // since the epoch
  int64_t end_ns = 0;
  uint64_t address = 0;  // the result; for a free: the argument
  uint64_t size_bytes = 0;
  uint64_t handle = 0;  // cuMemCreate, pool, array, context, stream; kSet, kRelease: the device
  uint64_t stream = 0;
  uint64_t offset = 0;   // kMap: into the handle
  uint32_t process = 0;  // index into the recording's processes
  uint32_t thread = 0;
  int32_t device = kUnknownDevice;
  int32_t code = 0;  // 0 = success
  uint32_t stack = kNoStackOfCall;
  uint16_t function = 0;  // index into the recording's function names
  Plane plane = Plane::kDriver;
  Verb verb = Verb::kAllocate;
  MemoryKind kind = MemoryKind::kDevice;
  uint8_t inner = 0;        // kRuntime: number of driver calls recorded inside it
  bool in_runtime = false;  // kDriver: made by a runtime call
  // How long a call ran after end_ns, if it is taken when it begins (countAtItsStart).
  uint32_t longer_ns = 0;

  static constexpr uint32_t kMuchLonger = ~uint32_t{0};  // … or more
  int64_t returned_ns() const { return longer_ns == kMuchLonger ? INT64_MAX : end_ns + longer_ns; }
};

// Memory exists when the call that allocates it returns. Memory that a call frees may belong to
// another thread before that call has returned, so it ends when the call begins.
//
//   thread 1   |--- free 0x7f00 ----------|
//   thread 2          |- allocate → 0x7f00 -|     ordered by ends: allocated twice, freed once
//
// A runtime call with a recorded driver call inside counts when it returns, after that one.
bool countsFromItsStart(const MemoryCall& call);
// Moves such a call to its start: end_ns becomes start_ns, and longer_ns the time between.
void countAtItsStart(MemoryCall& call);

std::string_view name(Plane plane);      // "driver", "runtime", "framework"
std::string_view name(Verb verb);        // "allocate", "free", …
std::string_view name(MemoryKind kind);  // "device", "managed", "pinned host", …
// The reverse; absent if the name is unknown.
std::optional<Plane> planeNamed(std::string_view text);
std::optional<Verb> verbNamed(std::string_view text);
std::optional<MemoryKind> memoryKindNamed(std::string_view text);

}  // namespace tidegauge::model

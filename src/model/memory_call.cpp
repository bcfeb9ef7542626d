#include "model/memory_call.h"

#include <array>

namespace tidegauge::model {
namespace {

constexpr std::array<std::string_view, 3> kPlanes = {"driver", "runtime", "framework"};
constexpr std::array<std::string_view, 14> kVerbs = {
    "allocate", "free",  "map",  "unmap", "retain", "create", "destroy",
    "release",  "reset", "trim", "set",   "push",   "pop",    "ask"};
constexpr std::array<std::string_view, 15> kKinds = {
    "device",      "managed",  "pinned host",   "registered host", "pool",
    "pool itself", "physical", "address range", "array",           "alias",
    "graph",       "context",  "block",         "answer",          "stream"};
static_assert(kVerbs.size() == static_cast<size_t>(Verb::kAsk) + 1);
static_assert(kKinds.size() == kMemoryKinds);
static_assert(sizeof(MemoryCall) == 88);

template <class T, size_t kSize>
std::optional<T> valueOf(const std::array<std::string_view, kSize>& names, std::string_view text) {
  for (size_t i = 0; i < kSize; ++i) {
    if (names[i] == text) return static_cast<T>(i);
  }
  return std::nullopt;
}

}  // namespace

bool countsFromItsStart(const MemoryCall& call) {
  if (call.code != 0 || (call.plane == Plane::kRuntime && call.inner > 0)) return false;
  return call.verb == Verb::kFree || call.verb == Verb::kUnmap;
}

void countAtItsStart(MemoryCall& call) {
  if (!countsFromItsStart(call)) return;
  int64_t longer_ns = call.end_ns - call.start_ns;
  call.longer_ns = longer_ns < MemoryCall::kMuchLonger ? static_cast<uint32_t>(longer_ns)
                                                       : MemoryCall::kMuchLonger;
  call.end_ns = call.start_ns;
}

std::string_view name(Plane plane) { return kPlanes[static_cast<size_t>(plane)]; }
std::string_view name(Verb verb) { return kVerbs[static_cast<size_t>(verb)]; }
std::string_view name(MemoryKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::optional<Plane> planeNamed(std::string_view text) { return valueOf<Plane>(kPlanes, text); }
std::optional<Verb> verbNamed(std::string_view text) { return valueOf<Verb>(kVerbs, text); }
std::optional<MemoryKind> memoryKindNamed(std::string_view text) {
  return valueOf<MemoryKind>(kKinds, text);
}

}  // namespace tidegauge::model

#include "record/decode.h"

#include <algorithm>
#include <iterator>

#include "record/kernel/functions.h"

namespace tidegauge::record {
namespace {

// The BPF programs and the preloaded library identify verbs by number.
constexpr bool isSame(verb theirs, model::Verb ours) {
  return static_cast<int>(theirs) == static_cast<int>(ours);
}
static_assert(isSame(VERB_RETAIN, model::Verb::kRetain));
static_assert(isSame(VERB_CREATE, model::Verb::kCreate));
static_assert(isSame(VERB_DESTROY, model::Verb::kDestroy));
static_assert(isSame(VERB_RELEASE, model::Verb::kRelease));
static_assert(isSame(VERB_RESET, model::Verb::kReset));
static_assert(isSame(VERB_SET, model::Verb::kSet));
static_assert(isSame(VERB_PUSH, model::Verb::kPush));
static_assert(isSame(VERB_POP, model::Verb::kPop));

}  // namespace

model::MemoryCall decoded(const memory_record& record, bool from_start) {
  const WatchedFunction& function = watchedFunctions()[record.function];
  model::MemoryCall call;
  call.address = record.address;
  call.size_bytes = record.size_bytes;
  call.handle = record.handle;
  call.stream = record.stream;
  call.offset = record.offset;
  call.thread = record.tid;
  call.device = std::max(record.device, model::kUnknownDevice);
  // The device that a thread uses without having chosen one, if its whole life was recorded.
  bool by_runtime = function.isRuntime() || (record.flags & FLAG_IN_RUNTIME) != 0;
  if (record.device == DEVICE_NEVER_SET && by_runtime && from_start) call.device = 0;
  call.code = record.code;
  call.stack = record.stack < 0 ? model::kNoStackOfCall : static_cast<uint32_t>(record.stack);
  call.function = record.function;
  call.plane = function.library == Library::kDriver    ? model::Plane::kDriver
               : function.library == Library::kRuntime ? model::Plane::kRuntime
                                                       : model::Plane::kFramework;
  call.verb = function.verb;
  call.kind = function.kind;
  call.inner = record.inner;
  call.in_runtime = (record.flags & FLAG_IN_RUNTIME) != 0;
  return call;
}

Launch decoded(const launch_record& record) {
  Launch launch;
  launch.what.kernel = record.kernel;
  std::copy(std::begin(record.grid), std::end(record.grid), launch.what.grid);
  std::copy(std::begin(record.block), std::end(record.block), launch.what.block);
  launch.what.function = record.function;
  launch.what.launches = 1;
  launch.thread = record.tid;
  launch.shared_bytes = record.shared_bytes;
  launch.stream = record.stream;
  launch.device = std::max(record.device, model::kUnknownDevice);
  if (record.stack >= 0) launch.stack = static_cast<uint32_t>(record.stack);
  size_t words = std::min<size_t>(record.arguments, std::size(record.argument));
  launch.arguments.assign(record.argument, record.argument + words);
  return launch;
}

LaunchCount decoded(const launch_key& key) {
  LaunchCount count;
  count.kernel = key.kernel;
  std::copy(std::begin(key.grid), std::end(key.grid), count.grid);
  std::copy(std::begin(key.block), std::end(key.block), count.block);
  count.function = key.function;
  return count;
}

CopyCount decoded(const copy_key& key) {
  CopyCount count;
  count.direction = key.direction;
  count.submitted = key.submitted != 0;
  count.function = key.function;
  return count;
}

void add(CopyCount& count, const copy_sum& sum) {
  count.calls += sum.calls;
  count.bytes += sum.bytes;
  count.time_ns += sum.time_ns;
  count.failures += sum.failures;
}

}  // namespace tidegauge::record

#include "record/kernel/functions.h"

#include <array>

#include "bpf/functions.h"
#include "bpf/records.h"

namespace tidegauge::record {
namespace {

using model::MemoryKind;
using model::Verb;

constexpr uint64_t place(int where, int shift) { return static_cast<uint64_t>(where) << shift; }

constexpr WatchedFunction memory(std::string_view name, Library library, FunctionGroup group,
                                 Verb verb, MemoryKind kind, std::array<int, 6> at, int shape) {
  WatchedFunction function{name, library, group, verb, kind, 0, false, 0};
  function.cookie =
      place(at[0], COOKIE_OUT) | place(at[1], COOKIE_ADDRESS) | place(at[2], COOKIE_BYTES) |
      place(at[3], COOKIE_TIMES) | place(at[4], COOKIE_HANDLE) | place(at[5], COOKIE_STREAM) |
      place(shape, COOKIE_SHAPE) | place(library == Library::kRuntime ? 1 : 0, COOKIE_RUNTIME);
  return function;
}
constexpr WatchedFunction context(std::string_view name, Library library, Verb verb,
                                  MemoryKind kind, std::array<int, 6> at, int shape) {
  WatchedFunction function = memory(name, library, FunctionGroup::kContext, verb, kind, at, shape);
  function.cookie |= place(static_cast<int>(verb), COOKIE_VERB);
  return function;
}
constexpr WatchedFunction copy(std::string_view name, Library library, int direction, int bytes,
                               int times, int kind, int submitted, int element_bytes) {
  WatchedFunction function{name, library, FunctionGroup::kCopy};
  function.copy_direction = static_cast<uint8_t>(direction);
  function.cookie = place(bytes, COOKIE_BYTES) | place(times, COOKIE_TIMES) |
                    place(kind, COOKIE_HANDLE) | place(direction, COOKIE_DIRECTION) |
                    place(submitted, COOKIE_SUBMITTED) | place(element_bytes, COOKIE_ELEMENT) |
                    place(library == Library::kRuntime ? 1 : 0, COOKIE_RUNTIME);
  return function;
}
constexpr WatchedFunction launch(std::string_view name, int shape, int runtime) {
  WatchedFunction function{name, runtime != 0 ? Library::kRuntime : Library::kDriver,
                           FunctionGroup::kLaunch};
  function.cookie = place(shape, COOKIE_SHAPE) | place(runtime, COOKIE_RUNTIME);
  return function;
}
constexpr WatchedFunction naming(std::string_view name, int at_return, int handle, int text) {
  WatchedFunction function{name, name.starts_with("__cuda") ? Library::kRuntime : Library::kDriver,
                           FunctionGroup::kName};
  function.at_entry = at_return == 0;
  function.cookie = place(at_return != 0 ? handle : 0, COOKIE_OUT) |
                    place(at_return == 0 ? handle : 0, COOKIE_HANDLE) |
                    place(text, COOKIE_ADDRESS) |
                    place(at_return != 0 && text == 0 ? 2 : 0, COOKIE_BYTES);
  return function;
}

#define ROW_DRIVER(symbol, verb, kind, out, address, bytes, times, handle, stream, shape)       \
  memory(#symbol, Library::kDriver, FunctionGroup::kMemory, Verb::k##verb, MemoryKind::k##kind, \
         {out, address, bytes, times, handle, stream}, SHAPE_##shape),
#define ROW_RUNTIME(symbol, verb, kind, out, address, bytes, times, handle, stream, shape)       \
  memory(#symbol, Library::kRuntime, FunctionGroup::kMemory, Verb::k##verb, MemoryKind::k##kind, \
         {out, address, bytes, times, handle, stream}, SHAPE_##shape),
#define ROW_FRAMEWORK(symbol, verb, kind, out, address, bytes, times, handle, stream, shape)       \
  memory(#symbol, Library::kFramework, FunctionGroup::kMemory, Verb::k##verb, MemoryKind::k##kind, \
         {out, address, bytes, times, handle, stream}, SHAPE_##shape),
#define ROW_DRIVER_CONTEXT(symbol, verb, kind, out, address, bytes, times, handle, stream, shape) \
  context(#symbol, Library::kDriver, Verb::k##verb, MemoryKind::k##kind,                          \
          {out, address, bytes, times, handle, stream}, SHAPE_##shape),
#define ROW_RUNTIME_CONTEXT(symbol, verb, kind, out, address, bytes, times, handle, stream, shape) \
  context(#symbol, Library::kRuntime, Verb::k##verb, MemoryKind::k##kind,                          \
          {out, address, bytes, times, handle, stream}, SHAPE_##shape),
#define ROW_DRIVER_COPY(symbol, direction, bytes, times, kind, submitted, element) \
  copy(#symbol, Library::kDriver, COPY_##direction, bytes, times, kind, submitted, element),
#define ROW_RUNTIME_COPY(symbol, direction, bytes, times, kind, submitted, element) \
  copy(#symbol, Library::kRuntime, COPY_##direction, bytes, times, kind, submitted, element),
#define ROW_LAUNCH(symbol, shape, runtime) launch(#symbol, LAUNCH_##shape, runtime),
#define ROW_NAME(symbol, at, handle, text) naming(#symbol, at, handle, text),

constexpr auto withIds(auto rows) {
  for (size_t i = 0; i < rows.size(); ++i) rows[i].cookie |= i;
  return rows;
}

constexpr auto kFunctions = withIds(std::to_array<WatchedFunction>({
    TIDEGAUGE_DRIVER_MEMORY(ROW_DRIVER)             //
    TIDEGAUGE_DRIVER_CONTEXT(ROW_DRIVER_CONTEXT)    //
    TIDEGAUGE_RUNTIME_MEMORY(ROW_RUNTIME)           //
    TIDEGAUGE_RUNTIME_CONTEXT(ROW_RUNTIME_CONTEXT)  //
    TIDEGAUGE_DRIVER_COPIES(ROW_DRIVER_COPY)        //
    TIDEGAUGE_RUNTIME_COPIES(ROW_RUNTIME_COPY)      //
    TIDEGAUGE_LAUNCHES(ROW_LAUNCH)                  //
    TIDEGAUGE_NAMES(ROW_NAME)                       //
    TIDEGAUGE_FRAMEWORK(ROW_FRAMEWORK)              //
}));

}  // namespace

std::span<const WatchedFunction> watchedFunctions() { return kFunctions; }

model::Plane planeOf(const WatchedFunction& function) {
  return function.library == Library::kDriver    ? model::Plane::kDriver
         : function.library == Library::kRuntime ? model::Plane::kRuntime
                                                 : model::Plane::kFramework;
}

}  // namespace tidegauge::record

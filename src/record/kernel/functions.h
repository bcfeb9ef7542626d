// The watched functions as a table: what each does, and the cookie that describes its arguments to
// the BPF programs. Generated from bpf/functions.h, the one list for both sides.
//
//   functionNamed("cudaMalloc") → {plane runtime, verb allocate, kind device, cookie 0x1000…}
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/incomplete.h"
#include "model/memory_call.h"

namespace tidegauge::record {

enum class FunctionGroup : uint8_t { kMemory, kContext, kCopy, kLaunch, kName };

// Which file contains a function, by the start of its name.
enum class Library : uint8_t { kDriver, kRuntime, kFramework };

struct WatchedFunction {
  std::string_view name;
  Library library = Library::kDriver;
  FunctionGroup group = FunctionGroup::kMemory;
  model::Verb verb = model::Verb::kAllocate;            // kMemory and kContext only
  model::MemoryKind kind = model::MemoryKind::kDevice;  // same
  uint8_t copy_direction = 0;                           // kCopy: enum copy_direction
  // kName: the handle is an argument, not a result
  bool at_entry = false;
  uint64_t cookie = 0;

  bool isRuntime() const { return library == Library::kRuntime; }
  // The figures that would be wrong if it were not watched.
  model::Figures figures() const {
    switch (group) {
      case FunctionGroup::kCopy:
        return model::Figures::kCopies;
      case FunctionGroup::kLaunch:
        return model::Figures::kLaunches;
      case FunctionGroup::kName:
        return model::Figures::kKernelNames;
      default:
        return library == Library::kFramework ? model::Figures::kBlocks : model::Figures::kMemory;
    }
  }
};

// All of them; the index is the id in cookies and records.
std::span<const WatchedFunction> watchedFunctions();
model::Plane planeOf(const WatchedFunction& function);

}  // namespace tidegauge::record

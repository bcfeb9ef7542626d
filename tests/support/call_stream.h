// Memory calls for tests, as a recorder would have written them:
//
//   CallStream calls;
//   calls.allocate(MemoryKind::kDevice, 0x1000, 2 << 20).device(0).stack(3);
//   calls.free(MemoryKind::kDevice, 0x1000);
//   for (const MemoryCall& call : calls.all()) ledger.take(call);
//
// Every call ends 10 ns after the one before and takes 5 ns.
#pragma once

#include <vector>

#include "model/memory_call.h"

namespace tidegauge::testing {

class CallStream {
 public:
  // Sets a field of the call that was just added.
  class Last {
   public:
    explicit Last(model::MemoryCall& call) : call_(call) {}
    Last& device(int32_t device) { return set(call_.device, device); }
    Last& code(int32_t code) { return set(call_.code, code); }
    Last& stack(uint32_t stack) { return set(call_.stack, stack); }
    Last& handle(uint64_t handle) { return set(call_.handle, handle); }
    Last& stream(uint64_t stream) { return set(call_.stream, stream); }
    Last& thread(uint32_t thread) { return set(call_.thread, thread); }
    Last& process(uint32_t process) { return set(call_.process, process); }
    Last& bytes(uint64_t size_bytes) { return set(call_.size_bytes, size_bytes); }
    Last& offset(uint64_t offset) { return set(call_.offset, offset); }
    Last& plane(model::Plane plane) { return set(call_.plane, plane); }
    Last& began(int64_t ns_before_its_end) {
      call_.start_ns = call_.end_ns - ns_before_its_end;
      return *this;
    }
    // A runtime call around the `inner` calls before it.
    Last& around(uint8_t inner) {
      call_.start_ns -= 10 * inner;
      call_.inner = inner;
      return plane(model::Plane::kRuntime);
    }

   private:
    template <class T>
    Last& set(T& field, T value) {
      field = value;
      return *this;
    }
    model::MemoryCall& call_;
  };

  Last add(model::Verb verb, model::MemoryKind kind) {
    model::MemoryCall call;
    now_ns_ += 10;
    call.start_ns = now_ns_ - 5;
    call.end_ns = now_ns_;
    call.verb = verb;
    call.kind = kind;
    if (kind == model::MemoryKind::kBlock) call.plane = model::Plane::kFramework;
    calls_.push_back(call);
    return Last(calls_.back());
  }
  Last allocate(model::MemoryKind kind, uint64_t address, uint64_t bytes) {
    Last last = add(model::Verb::kAllocate, kind);
    calls_.back().address = address;
    calls_.back().size_bytes = bytes;
    return last;
  }
  Last free(model::MemoryKind kind, uint64_t address) {
    Last last = add(model::Verb::kFree, kind);
    calls_.back().address = address;
    return last;
  }
  Last create(uint64_t handle, uint64_t bytes) {  // cuMemCreate
    return add(model::Verb::kAllocate, model::MemoryKind::kPhysical).handle(handle).bytes(bytes);
  }
  Last release(uint64_t handle) {
    return add(model::Verb::kFree, model::MemoryKind::kPhysical).handle(handle);
  }
  Last map(uint64_t address, uint64_t bytes, uint64_t handle) {
    Last last = add(model::Verb::kMap, model::MemoryKind::kPhysical).handle(handle).bytes(bytes);
    calls_.back().address = address;
    return last;
  }
  Last unmap(uint64_t address, uint64_t bytes) {
    Last last = add(model::Verb::kUnmap, model::MemoryKind::kPhysical).bytes(bytes);
    calls_.back().address = address;
    return last;
  }

  // cuMemGetInfo: the driver's own figures.
  Last answer(uint64_t free_bytes, uint64_t total_bytes) {
    Last last = add(model::Verb::kAsk, model::MemoryKind::kAnswer).bytes(total_bytes);
    calls_.back().address = free_bytes;
    return last;
  }

  const std::vector<model::MemoryCall>& all() const { return calls_; }
  int64_t nowNs() const { return now_ns_; }

 private:
  std::vector<model::MemoryCall> calls_;
  int64_t now_ns_ = 1'000'000'000;
};

}  // namespace tidegauge::testing

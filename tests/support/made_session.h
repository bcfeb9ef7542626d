// A session that no kernel was needed for: processes and calls by hand.
//
//   MadeSession made;
//   uint32_t python = made.process(42, "python");
//   made.allocate(python, model::MemoryKind::kDevice, 0x7f00000000, 2 << 20);
#pragma once

#include <string>

#include "record/session/session.h"

namespace tidegauge::support {

struct MadeSession {
  record::Session session{std::nullopt};
  int64_t now_ns = 1'700'000'000'000'000'000;

  uint32_t process(uint32_t pid, const std::string& name) {
    record::SeenProcess seen;
    seen.index = static_cast<uint32_t>(session.processes().size());
    seen.pid = pid;
    seen.name = name;
    seen.first_ns = now_ns;
    session.processSeen(seen);
    return seen.index;
  }
  void allocate(uint32_t process, model::MemoryKind kind, uint64_t address, uint64_t bytes,
                int32_t device = 0, int32_t code = 0) {
    call(process, kind, model::Verb::kAllocate, address, bytes, device, code);
  }
  void free(uint32_t process, model::MemoryKind kind, uint64_t address) {
    call(process, kind, model::Verb::kFree, address, 0, 0, 0);
  }
  void launch(uint32_t process, uint64_t kernel, uint64_t times) {
    record::LaunchCount count;
    count.process = process;
    count.kernel = kernel;
    count.launches = times;
    launches.push_back(count);
  }
  void end(uint32_t process) { session.processEnded(process, now_ns, 0); }

  // Since the last time, for session.launchesSeen().
  std::vector<record::LaunchCount> launches;

 private:
  void call(uint32_t process, model::MemoryKind kind, model::Verb verb, uint64_t address,
            uint64_t bytes, int32_t device, int32_t code) {
    model::MemoryCall call;
    call.start_ns = call.end_ns = ++now_ns;
    call.process = process;
    call.thread = 1;
    call.plane =
        kind == model::MemoryKind::kBlock ? model::Plane::kFramework : model::Plane::kDriver;
    call.verb = verb;
    call.kind = kind;
    call.address = address;
    call.size_bytes = bytes;
    call.device = device;
    call.code = code;
    session.call(call);
  }
};

}  // namespace tidegauge::support

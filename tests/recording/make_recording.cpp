// make_recording OUT SEED CALLS: writes a recording of three invented processes and prints the
// truth about it, as JSON, from the programs' own books (not from the ledger or the reader):
//
//   pid 101 trainer   PyTorch's way: segments with blocks, pinned memory, an out-of-memory
//   pid 102 server    VMM: 2 MiB of physical memory mapped into one reservation, no framework
//   pid 103 leaker    blocks of the driver, one in ten never freed
//
// {"traces": [{"name": "pid 101 trainer", "devices": {"0": {"reserved": …, "reserved_peak": …}}}]}
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "store/recording_writer.h"

namespace {

using namespace tidegauge;
using model::MemoryKind;
using model::Plane;
using model::Verb;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr int64_t kBegin = 1'790'000'000'000'000'000;

template <class T>
T must(base::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "make_recording: %s\n", result.error().what.c_str());
  std::exit(3);
}

struct Books {
  uint64_t reserved = 0, reserved_peak = 0, requested = 0, ooms = 0;
  void reserve(uint64_t bytes) {
    reserved += bytes;
    reserved_peak = std::max(reserved_peak, reserved);
  }
};

class Maker {
 public:
  Maker(store::RecordingWriter& writer, uint64_t seed) : writer_(writer), random_(seed) {
    uint32_t module = must(writer.addModule("/opt/app/libapp.so", "c0ffee"));
    for (uint32_t i = 0; i < 20; ++i) {
      uint32_t frame = must(writer.addFrame(module, 0x1000 + i));
      must(writer.nameFrame(frame, "layer" + std::to_string(i), "model.py", i + 1));
      frames_.push_back(frame);
    }
    for (uint32_t i = 0; i + 1 < frames_.size(); ++i) {
      stacks_.push_back(must(writer.addStack(std::array{frames_[i], frames_.back()})));
    }
  }

  void startProcess(uint32_t pid, std::string_view name) {
    process_ = must(writer_.addProcess({{}, pid, std::nullopt, name, "", 0, now_ns_}));
    books_.clear();
  }

  model::MemoryCall call(Plane plane, Verb verb, MemoryKind kind) {
    model::MemoryCall call;
    now_ns_ += 2000;
    call.start_ns = now_ns_ - 700;
    call.end_ns = now_ns_;
    call.process = process_;
    call.thread = 1;
    call.plane = plane;
    call.verb = verb;
    call.kind = kind;
    call.stack = stacks_[pick(stacks_.size())];
    auto [at, is_new] = functions_.try_emplace({plane, verb, kind}, uint16_t{0});
    if (is_new) {
      std::string label = fmt::format("{} {} {}", name(plane), name(verb), name(kind));
      at->second = must(writer_.addFunction({label, plane, verb, kind}));
    }
    call.function = at->second;
    return call;
  }
  void send(const model::MemoryCall& call) {
    must(writer_.addCall(call));
    if (++sent_ % 10000 == 0) must(writer_.commit());
  }
  uint64_t pick(uint64_t below) { return random_() % below; }

  // A driver call and the runtime call around it.
  void driver(Verb verb, MemoryKind kind, uint64_t address, uint64_t bytes, int32_t device,
              int32_t code = 0) {
    model::MemoryCall inner = call(Plane::kDriver, verb, kind);
    inner.address = address;
    inner.size_bytes = bytes;
    inner.device = device;
    inner.code = code;
    inner.in_runtime = true;
    model::MemoryCall outer = call(Plane::kRuntime, verb, kind);
    outer.start_ns = inner.start_ns - 100;
    outer.address = address;
    outer.size_bytes = bytes;
    outer.device = device;
    outer.code = code;
    outer.inner = 1;
    send(inner);
    send(outer);
  }

  void trainer(size_t calls);
  void server(size_t calls);
  void leaker(size_t calls);

  std::string truth(std::string_view name) const {
    std::string devices;
    for (const auto& [device, books] : books_) {
      devices += fmt::format(
          R"({}"{}": {{"reserved": {}, "reserved_peak": {}, "requested": {}, "ooms": {}}})",
          devices.empty() ? "" : ", ", device, books.reserved, books.reserved_peak, books.requested,
          books.ooms);
    }
    return fmt::format(R"({{"name": "{}", "devices": {{{}}}}})", name, devices);
  }

 private:
  store::RecordingWriter& writer_;
  std::mt19937_64 random_;
  std::vector<uint32_t> frames_, stacks_;
  std::map<std::tuple<Plane, Verb, MemoryKind>, uint16_t> functions_;
  std::map<int32_t, Books> books_;
  uint32_t process_ = 0;
  int64_t now_ns_ = kBegin;
  uint64_t sent_ = 0;
};

void Maker::trainer(size_t calls) {
  constexpr uint64_t kSegment = 20 * kMiB, kSlot = 2 * kMiB;
  struct Slot {
    uint64_t address, requested;
  };
  std::vector<Slot> free_slots, used;
  uint64_t next = 0x7f0000000000;
  driver(Verb::kAllocate, MemoryKind::kPinnedHost, 0x7e0000000000, 64 * kMiB, 0);
  books_[-1].reserve(64 * kMiB);
  books_[-1].requested = 64 * kMiB;
  for (size_t i = 0; i < calls; ++i) {
    bool frees = !used.empty() && pick(100) < 48;
    if (frees) {
      size_t which = pick(used.size());
      model::MemoryCall freed = call(Plane::kFramework, Verb::kFree, MemoryKind::kBlock);
      freed.address = used[which].address;
      send(freed);
      books_[0].requested -= used[which].requested;
      free_slots.push_back(used[which]);
      used[which] = used.back();
      used.pop_back();
      continue;
    }
    if (free_slots.empty()) {
      if (pick(10) == 0) {
        // A larger request than the next: a refusal that the same request survives is not an
        // out-of-memory.
        driver(Verb::kAllocate, MemoryKind::kDevice, 0, 8 * kSegment, 0, 2);
        ++books_[0].ooms;
      }
      driver(Verb::kAllocate, MemoryKind::kDevice, next, kSegment, 0);
      books_[0].reserve(kSegment);
      for (uint64_t at = 0; at < kSegment; at += kSlot) free_slots.push_back({next + at, 0});
      next += kSegment;
    }
    Slot slot = free_slots.back();
    free_slots.pop_back();
    slot.requested = kMiB + 1 + pick(kMiB - 1);
    model::MemoryCall block = call(Plane::kFramework, Verb::kAllocate, MemoryKind::kBlock);
    block.address = slot.address;
    block.size_bytes = slot.requested;
    block.device = 0;
    send(block);
    books_[0].requested += slot.requested;
    used.push_back(slot);
  }
}

void Maker::server(size_t calls) {
  constexpr uint64_t kPage = 2 * kMiB, kPages = 4096, kBase = 0x600000000000;
  model::MemoryCall reserve = call(Plane::kDriver, Verb::kAllocate, MemoryKind::kAddressRange);
  reserve.address = kBase;
  reserve.size_bytes = kPages * kPage;
  send(reserve);
  std::map<uint64_t, bool> mapped;
  for (size_t i = 0; i < calls; ++i) {
    uint64_t page = pick(kPages), address = kBase + page * kPage;
    bool unmaps = mapped[page];
    if (!unmaps) {
      model::MemoryCall create = call(Plane::kDriver, Verb::kAllocate, MemoryKind::kPhysical);
      create.handle = i + 1;
      create.size_bytes = kPage;
      create.device = 1;
      send(create);
      books_[1].reserve(kPage);
      books_[1].requested += kPage;
    }
    model::MemoryCall map =
        call(Plane::kDriver, unmaps ? Verb::kUnmap : Verb::kMap, MemoryKind::kPhysical);
    map.address = address;
    map.size_bytes = kPage;
    map.handle = unmaps ? 0 : i + 1;
    map.device = 1;
    send(map);
    if (!unmaps) {  // the mapping alone holds it
      model::MemoryCall release = call(Plane::kDriver, Verb::kFree, MemoryKind::kPhysical);
      release.handle = i + 1;
      send(release);
    } else {
      books_[1].reserved -= kPage;
      books_[1].requested -= kPage;
    }
    mapped[page] = !unmaps;
  }
}

void Maker::leaker(size_t calls) {
  uint64_t next = 0x500000000000;
  for (size_t i = 0; i < calls; ++i) {
    uint64_t bytes = 1 + pick(4 * kMiB);
    driver(Verb::kAllocate, MemoryKind::kDevice, next, bytes, 0);
    books_[0].reserve(bytes);
    books_[0].requested += bytes;
    if (i % 10 != 0) {
      driver(Verb::kFree, MemoryKind::kDevice, next, 0, 0);
      books_[0].reserved -= bytes;
      books_[0].requested -= bytes;
    }
    next += 8 * kMiB;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: make_recording OUT SEED CALLS\n");
    return 2;
  }
  auto writer = must(store::RecordingWriter::create(argv[1], {.replace = true, .recorder = ""}));
  Maker maker(writer, std::strtoull(argv[2], nullptr, 10));
  size_t calls = std::strtoull(argv[3], nullptr, 10);
  std::string truth;
  maker.startProcess(101, "trainer");
  maker.trainer(calls);
  truth = maker.truth("pid 101 trainer");
  maker.startProcess(102, "server");
  maker.server(calls);
  truth += ", " + maker.truth("pid 102 server");
  maker.startProcess(103, "leaker");
  maker.leaker(calls);
  truth += ", " + maker.truth("pid 103 leaker");
  must(writer.finish());
  std::printf("{\"traces\": [%s]}\n", truth.c_str());
  return 0;
}

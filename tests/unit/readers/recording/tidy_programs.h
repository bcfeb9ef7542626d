// Programs that contradict themselves nowhere, for recordings that grow: an allocator's blocks,
// driver memory, pinned memory, several devices, and refusals.
//
//   TidyPrograms programs(seed);
//   programs.add(100); read programs.path() …      calls, at random
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "model/call_words.h"
#include "model/memory_call.h"
#include "store/recording_writer.h"
#include "support/temp_folder.h"

namespace tidegauge::testing {

class TidyPrograms {
  using MemoryCall = model::MemoryCall;
  using MemoryKind = model::MemoryKind;
  using Plane = model::Plane;
  using Verb = model::Verb;
  static constexpr uint64_t kMiB = uint64_t{1} << 20;

 public:
  explicit TidyPrograms(uint32_t seed) : random_(seed) {
    auto made = store::RecordingWriter::create(path(), {.replace = true, .recorder = ""});
    EXPECT_TRUE(made.ok());
    writer_.emplace(std::move(made).value());
    module_ = writer_->addModule("/opt/app/libapp.so", "b1d").value();
    programs_.resize(1 + pick(2));
    for (size_t i = 0; i < programs_.size(); ++i) {
      Program& program = programs_[i];
      program.id =
          writer_->addProcess({{}, 41 + static_cast<uint32_t>(i), std::nullopt, "app", "", 0, 1})
              .value();
      program.devices = static_cast<int32_t>(1 + pick(2));
      program.has_host = pick(2) == 0;
      program.has_direct = pick(3) != 0;
      program.has_blocks = pick(4) != 0;
    }
    // Some overlap: a free that returns after the next call began.
    overlaps_ = pick(3) == 0;
    step_ns_ = pick(3) == 0 ? 2'000'000 : 100'000'000;
    // Sometimes something that is not continued: then the lives are built anew.
    maps_ = pick(6) == 0;
  }

  void add(uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) addCall(programs_[pick(programs_.size())]);
    EXPECT_TRUE(writer_->commit().ok());
  }
  // Memory of the first program that it never returns. Follows with the next add().
  void leak(uint64_t stack, uint64_t bytes) {
    MemoryCall call =
        callOf(Verb::kAllocate, MemoryKind::kDevice, 0x650000000000 + next_++ * 64 * kMiB, bytes);
    call.device = 0;
    call.stack = stackOf(stack);
    send(programs_[0], call);
  }
  // A block that stays for a while. What is left of its segment is too little for another one, so
  // the block has it.
  void hold() {
    uint64_t address = 0x660000000000 + next_++ * 64 * kMiB;
    send(programs_[0], callOfHeld(Verb::kAllocate, MemoryKind::kDevice, address, 4 * kMiB));
    send(programs_[0],
         callOfHeld(Verb::kAllocate, MemoryKind::kBlock, address, 3 * kMiB + 1 + pick(kMiB / 2)));
    held_.push_back(address);
  }
  // The one held longest gets a neighbour nevertheless, so it is smaller; at the next time, both
  // are freed.
  void release() {
    if (held_.empty()) return;
    uint64_t address = held_.front(), neighbour = address + 4 * kMiB - 512;
    if (!has_neighbour_) {
      send(programs_[0], callOfHeld(Verb::kAllocate, MemoryKind::kBlock, neighbour, 500));
    } else {
      send(programs_[0], callOfHeld(Verb::kFree, MemoryKind::kBlock, neighbour, 0));
      send(programs_[0], callOfHeld(Verb::kFree, MemoryKind::kBlock, address, 0));
      held_.erase(held_.begin());
    }
    has_neighbour_ = !has_neighbour_;
  }
  // From now on, memory of the driver lies where some was before, as in programs that have run for
  // a while.
  void settle() { is_settled_ = true; }
  void finish() { EXPECT_TRUE(writer_->finish().ok()); }
  std::string path() const { return folder_.file("run.sqlite"); }
  uint64_t pick(uint64_t below) { return random_() % below; }

 private:
  struct Segment {
    uint64_t address = 0, bytes = 0;
    int32_t device = 0;
    bool is_direct = false;
    std::map<uint64_t, uint64_t> blocks;  // with their sizes
  };
  struct Program {
    uint32_t id = 0;
    int32_t devices = 1;
    bool has_host = false, has_direct = false, has_blocks = false;
    std::vector<Segment> segments;
    std::vector<uint64_t> gone;  // addresses of segments that were returned
  };

  void addCall(Program& program) {
    switch (pick(12)) {
      case 0:
        takeSegment(program);
        return;
      case 1:
      case 2:
        returnSegment(program);
        return;
      case 3:
        if (pick(4) == 0) refuse(program);
        return;
      case 4:
        if (maps_ && pick(40) == 0) map(program);
        return;
      case 5:
      case 6:
      case 7:
        freeBlock(program);
        return;
      default:
        takeBlock(program);
        return;
    }
  }

  MemoryCall callOf(Verb verb, MemoryKind kind, uint64_t address, uint64_t bytes) {
    MemoryCall call;
    call.verb = verb;
    call.kind = kind;
    call.plane = kind == MemoryKind::kBlock ? Plane::kFramework : Plane::kDriver;
    call.thread = 1 + static_cast<uint32_t>(pick(2));
    call.address = address;
    call.size_bytes = bytes;
    call.device = model::kUnknownDevice;
    call.stream = pick(3);
    call.stack = stackOf(pick(20));
    return call;
  }

  MemoryCall callOfHeld(Verb verb, MemoryKind kind, uint64_t address, uint64_t bytes) {
    MemoryCall call = callOf(verb, kind, address, bytes);
    if (kind == MemoryKind::kDevice) call.device = 0;
    return call;
  }

  void takeSegment(Program& program) {
    if (program.segments.size() > 12 || (is_settled_ && program.gone.empty())) return;
    Segment segment;
    bool of_host = program.has_host && pick(4) == 0;
    segment.device =
        of_host ? -1 : static_cast<int32_t>(pick(static_cast<uint64_t>(program.devices)));
    segment.is_direct = of_host || !program.has_blocks || (program.has_direct && pick(3) == 0);
    segment.bytes = pick(3) == 0 ? 2 * kMiB : (2 + pick(10)) * kMiB;
    if (segment.is_direct && pick(2) == 0) segment.bytes = 512 * (1 + pick(100));
    segment.address = 0x7f0000000000 + (next_++) * 64 * kMiB;
    if (!program.gone.empty() && (is_settled_ || pick(2) == 0)) {
      segment.address = program.gone.back();
      program.gone.pop_back();
    }
    uint64_t& widest = widest_[segment.address];
    if (is_settled_) segment.bytes = std::min(segment.bytes, widest);
    widest = std::max(widest, segment.bytes);
    MemoryCall call =
        callOf(Verb::kAllocate, of_host ? MemoryKind::kPinnedHost : MemoryKind::kDevice,
               segment.address, segment.bytes);
    if (!of_host) call.device = segment.device;
    send(program, call);
    program.segments.push_back(segment);
    // The block for which it was taken.
    if (!segment.is_direct && pick(10) != 0) takeBlockIn(program, program.segments.back());
  }

  void returnSegment(Program& program) {
    if (program.segments.empty()) return;
    size_t which = pick(program.segments.size());
    Segment segment = program.segments[which];
    while (!program.segments[which].blocks.empty() && pick(8) == 0) freeBlock(program);
    if (!program.segments[which].blocks.empty()) return;
    bool of_host = segment.device < 0;
    send(program, callOf(Verb::kFree, of_host ? MemoryKind::kPinnedHost : MemoryKind::kDevice,
                         segment.address, 0));
    program.gone.push_back(segment.address);
    program.segments.erase(program.segments.begin() + static_cast<ptrdiff_t>(which));
  }

  void takeBlock(Program& program) {
    if (program.segments.empty()) return;
    Segment& segment = program.segments[pick(program.segments.size())];
    if (!segment.is_direct) takeBlockIn(program, segment);
  }

  void takeBlockIn(Program& program, Segment& segment) {
    uint64_t at = segment.address;
    for (const auto& [begin, bytes] : segment.blocks) at = std::max(at, begin + bytes);
    if (pick(3) == 0) at = segment.address;  // or where the first one was
    auto next = segment.blocks.lower_bound(at);
    uint64_t end = next == segment.blocks.end() ? segment.address + segment.bytes : next->first;
    if (next != segment.blocks.end() && next->first == at) return;
    if (end <= at) return;
    uint64_t bytes = std::min<uint64_t>(end - at, 512 * (1 + pick(6000)));
    if (pick(6) == 0) bytes = end - at;
    bytes = std::max<uint64_t>(bytes - pick(200), 1);
    uint64_t rounded = std::min((bytes + 511) / 512 * 512, end - at);
    segment.blocks[at] = rounded;
    send(program, callOf(Verb::kAllocate, MemoryKind::kBlock, at, bytes));
  }

  void freeBlock(Program& program) {
    if (program.segments.empty()) return;
    Segment& segment = program.segments[pick(program.segments.size())];
    if (segment.blocks.empty()) return;
    auto block = segment.blocks.begin();
    std::advance(block, static_cast<ptrdiff_t>(pick(segment.blocks.size())));
    send(program, callOf(Verb::kFree, MemoryKind::kBlock, block->first, 0));
    segment.blocks.erase(block);
  }

  void refuse(Program& program) {
    MemoryCall call = callOf(Verb::kAllocate, MemoryKind::kDevice, 0, 100 * kMiB);
    call.device = 0;
    call.code = model::kOutOfMemoryCode;
    send(program, call);
    if (pick(2) == 0) return;
    MemoryCall ask = callOf(Verb::kAsk, MemoryKind::kAnswer, 0x5000, 0x100000);
    ask.device = 0;
    send(program, ask);
  }

  void map(Program& program) {
    MemoryCall call =
        callOf(Verb::kMap, MemoryKind::kPhysical, 0x600000000000 + next_++ * kMiB, kMiB);
    call.handle = 7;
    send(program, call);
  }

  void send(const Program& program, MemoryCall call) {
    now_ns_ += static_cast<int64_t>(pick(step_ns_)) + 1000;
    call.end_ns = now_ns_;
    call.start_ns = now_ns_ - 500;
    if (overlaps_ && call.plane == Plane::kDriver && pick(3) == 0) call.start_ns -= 2000;
    call.process = program.id;
    auto [at, is_new] = functions_.try_emplace({call.plane, call.verb, call.kind}, uint16_t{0});
    if (is_new) {
      std::string name = fmt::format("{} {} {}", model::name(call.plane), model::name(call.verb),
                                     model::name(call.kind));
      at->second = writer_->addFunction({name, call.plane, call.verb, call.kind}).value();
    }
    call.function = at->second;
    EXPECT_TRUE(writer_->addCall(call).ok());
  }

  uint32_t stackOf(uint64_t stack) {
    auto [at, is_new] = stacks_.try_emplace(stack, 0U);
    if (is_new) {
      std::vector<uint32_t> frames{writer_->addFrame(module_, 16 * stack + 1).value()};
      at->second = writer_->addStack(frames).value();
    }
    return at->second;
  }

  std::mt19937 random_;
  TempFolder folder_;
  std::optional<store::RecordingWriter> writer_;
  std::vector<Program> programs_;
  std::vector<uint64_t> held_;
  bool has_neighbour_ = false;
  std::map<uint64_t, uint64_t> widest_;  // bytes of a segment, by address
  bool overlaps_ = false, maps_ = false, is_settled_ = false;
  uint64_t step_ns_ = 0, next_ = 0;
  int64_t now_ns_ = 1'000'000'000'000;
  uint32_t module_ = 0;
  std::map<std::tuple<Plane, Verb, MemoryKind>, uint16_t> functions_;
  std::map<uint64_t, uint32_t> stacks_;
};

}  // namespace tidegauge::testing

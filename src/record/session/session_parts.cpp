// A session whose recording is a ring of files (part_ring.h): each part gets what its rows name,
// when they first name it, and begins with what is live (model/carried.cpp), what runs, and what
// was lost or not watched until then. So it can be read alone.
#include <fmt/format.h>

#include <algorithm>

#include "record/code/elf_file.h"
#include "record/kernel/even_clock.h"
#include "record/session/session.h"

namespace tidegauge::record {
namespace {

// Somebody is reading. Who comes then waits, but not for ever: who reads may be none of ours, or
// take long.
constexpr int64_t kTryAgain_ns = 500'000'000;
constexpr int64_t kReadersWait_ns = 2'000'000'000;
constexpr int64_t kReadersGoOn_ns = 4'000'000'000;

// The function that the ledger's carried call is named by: its own, or the first that does the
// same.
uint16_t functionFor(const model::MemoryCall& call) {
  auto fits = [&](const WatchedFunction& function) {
    bool moves =
        function.group == FunctionGroup::kMemory || function.group == FunctionGroup::kContext;
    return moves && function.verb == call.verb && function.kind == call.kind &&
           planeOf(function) == call.plane;
  };
  auto all = watchedFunctions();
  if (call.function < all.size() && fits(all[call.function])) return call.function;
  auto found = std::find_if(all.begin(), all.end(), fits);
  return found == all.end() ? uint16_t{0} : static_cast<uint16_t>(found - all.begin());
}

}  // namespace

void Session::writeFunctions() {
  for (const WatchedFunction& function : watchedFunctions()) {
    store::FunctionRow row;
    row.name = function.name;
    row.plane = planeOf(function);
    if (function.group == FunctionGroup::kMemory || function.group == FunctionGroup::kContext) {
      row.verb = function.verb;
      row.kind = function.kind;
    }
    write([&](auto& file) { return file.addFunction(row); });
  }
}

uint32_t Session::fileProcess(uint32_t process) {
  if (process_ids_.find(process)) return process;
  const SessionProcess& it = processes_[process];
  writeProcess(it.seen);
  (void)process_ids_.add(process);
  if (it.ended_ns)
    write([&](auto& file) {
      return file.endProcess(process, *it.ended_ns, it.status, it.end_reason);
    });
  return process;
}

uint32_t Session::fileModule(uint32_t module) {
  if (auto known = module_ids_.find(module)) return *known;
  writeModule(module);
  return module_ids_.add(module);
}

void Session::writeModule(uint32_t module) {
  const Module& it = spaces_.modules()[module];
  auto elf = ElfFile::open(fmt::format("/proc/self/fd/{}", it.descriptor));
  std::string build_id = elf.ok() ? elf.value().buildId() : std::string();
  write([&](auto& file) { return file.addModule(it.path, build_id); });
}

uint32_t Session::fileFrame(uint32_t frame) {
  if (auto known = frame_ids_of_file_.find(frame)) return *known;
  const Frame& it = frames_[frame];
  std::optional<uint32_t> module;
  if (it.place.module != kNoModule) module = fileModule(it.place.module);
  write([&](auto& file) { return file.addFrame(module, it.place.offset); });
  uint32_t id = frame_ids_of_file_.add(frame);
  if (!it.name.function.empty() || !it.name.file.empty())
    write([&](auto& file) {
      return file.nameFrame(id, it.name.function, it.name.file, it.name.line);
    });
  return id;
}

uint32_t Session::fileStack(uint32_t stack) {
  if (stack == model::kNoStackOfCall) return stack;
  if (auto known = stack_ids_of_file_.find(stack)) return *known;
  if (!stacks_.contains(stack)) return model::kNoStackOfCall;
  std::vector<uint32_t> frames;
  for (uint32_t frame : stacks_[stack]) frames.push_back(fileFrame(frame));
  write([&](auto& file) { return file.addStack(frames); });
  return stack_ids_of_file_.add(stack);
}

void Session::continueInParts() {
  process_ids_ = module_ids_ = frame_ids_of_file_ = stack_ids_of_file_ = kernel_ids_ =
      FileIds(true);
}

void Session::lookAtSize() {
  if (!ring_ || !writer_ || error_ || finishing_) return;
  ring_->makeRoom(writer_->fileBytes() + writer_->journalBytes());
  int64_t now_ns = evenClock().now_ns();
  bool is_ending = ending_since_ns_ != 0;
  if (now_ns < next_part_ns_ || (!is_ending && writer_->journalBytes() < ring_->foldBytes()))
    return;
  if (!is_ending) {
    writer_->fold();
    if (writer_->fileBytes() < ring_->partBytes()) {
      if (writer_->journalBytes() >= ring_->foldBytes()) next_part_ns_ = now_ns + kTryAgain_ns;
      return;
    }
    ending_since_ns_ = now_ns;
    writer_->letReadersWait(true);
  }
  write([&](auto& file) { return file.setMeta("stacks_cut", std::to_string(stack_counts_.cut)); });
  write(
      [&](auto& file) { return file.setMeta("stacks_deep", std::to_string(stack_counts_.deep)); });
  if (error_) return;
  auto is_alone = writer_->finishAlone(evenClock().now_ns());
  if (!is_alone.ok()) {
    error_ = std::move(is_alone.error());
  } else if (is_alone.value()) {
    ending_since_ns_ = 0;
    beginPart();
  } else if (now_ns - ending_since_ns_ > kReadersWait_ns) {
    ending_since_ns_ = 0;
    writer_->letReadersWait(false);
    next_part_ns_ = now_ns + kReadersGoOn_ns;
  }
}

void Session::beginPart() {
  std::string before = partName(ring_->path(), ring_->number());
  int64_t began_ns = evenClock().now_ns();
  uint64_t before_bytes = writer_->fileBytes();
  if (auto kept = ring_->keep(began_ns); !kept.ok()) {
    error_ = std::move(kept.error());
    return;
  }
  ring_->makeRoom(before_bytes);  // no more than that can have been live
  auto next = store::RecordingWriter::create(
      ring_->path(), {.recorder = "tidegauge",
                      .readers_wait = true,
                      .follows = partName(ring_->path(), ring_->number() - 1)});
  if (!next.ok()) {
    error_ = std::move(next.error());
    error_->kind = base::ErrorKind::kUnreadable;  // whoever put a file there: it cannot go on
    return;
  }
  writer_ = std::move(next.value());
  part_calls_ = 0;
  continueInParts();
  write([&](auto& file) { return file.setMeta("part", std::to_string(ring_->number())); });
  write([&](auto& file) { return file.setMeta("began_ns", std::to_string(began_ns)); });
  write([&](auto& file) {
    return file.setMeta("continues", before.substr(before.find_last_of('/') + 1));
  });
  writeFunctions();
  for (const SessionProcess& process : processes_)
    if (!process.ended_ns) (void)fileProcess(process.seen.index);
  writeCarried();
  writeOldGaps();
  written_devices_.clear();
  if (devices_) devicesSeen(*devices_);
  // One transaction: nobody sees a part that has begun by half.
  write([](auto& file) { return file.commit(); });
  writer_->letReadersWait(false);
  if (error_) return;
  ring_->makeRoom(writer_->fileBytes() + writer_->journalBytes());
  writer_->fold();
  ring_->setCarried(writer_->fileBytes());
}

void Session::writeCarried() {
  uint64_t carried = 0;
  for (uint32_t process : ledger_.processes()) {
    if (!processes_.contains(process) || processes_[process].ended_ns) continue;
    for (model::MemoryCall& call : ledger_.find(process)->carried()) {
      call.end_ns = newest_call_ns_;
      call.start_ns = call.start_ns == 0 ? call.end_ns : std::min(call.start_ns, call.end_ns);
      call.function = functionFor(call);
      call.process = fileProcess(process);
      call.stack = fileStack(call.stack);
      write([&](auto& file) { return file.addCall(call); });
      ++carried;
    }
  }
  write([&](auto& file) { return file.setMeta("carried_calls", std::to_string(carried)); });
}

// A part after a loss is as incomplete as the one in which it was.
void Session::writeOldGaps() {
  for (size_t i = 0; i < LOSS_KINDS; ++i)
    if (losses_[i] != 0)
      write([&](auto& file) {
        return file.addLoss(evenClock().now_ns(), lossReason(i), losses_[i]);
      });
  for (const model::Unwatched& what : unwatched_of_none_)
    write([&](auto& file) { return file.addUnwatched(what, std::nullopt); });
  for (const SessionProcess& process : processes_) {
    if (process.ended_ns) continue;
    uint32_t id = fileProcess(process.seen.index);
    for (const model::Unwatched& what : process.unwatched_rows)
      write([&](auto& file) { return file.addUnwatched(what, id); });
  }
}

}  // namespace tidegauge::record

#include "record/session/session_file.h"

#include <fmt/format.h>

#include "base/format.h"
#include "record/kernel/even_clock.h"

namespace tidegauge::record {
namespace {

// What a full disk may cost when a slow machine drains a full ring at once: about 200 KiB.
constexpr uint64_t kMaxRowsOpen = 4096;
// While a part has readers it cannot end. New readers are then made to wait, but not for ever: the
// present ones may be other programs, or slow.
constexpr int64_t kTryAgain_ns = 500'000'000;
constexpr int64_t kReadersWait_ns = 2'000'000'000;
constexpr int64_t kReadersGoOn_ns = 4'000'000'000;

int64_t fileNow() { return evenClock().now_ns(); }

}  // namespace

SessionFile::SessionFile(std::optional<store::RecordingWriter> writer, std::optional<PartRing> ring)
    : writer_(std::move(writer)), ring_(std::move(ring)), numbers_(ring_.has_value()) {
  if (ring_ && ring_->saysItsNumber()) setMeta("part", std::to_string(ring_->number()));
}

void SessionFile::setMeta(const std::string& key, const std::string& value) {
  write([&](auto& file) { return file.setMeta(key, value); });
}

void SessionFile::addCall(const model::MemoryCall& call) {
  part_calls_ += 1;
  write([&](auto& file) { return file.addCall(call); });
}

bool SessionFile::mustCommit() const {
  return writer_ && !error_ && writer_->rowsInTransaction() >= kMaxRowsOpen;
}

void SessionFile::commit() {
  write([](auto& file) { return file.commit(); });
}

void SessionFile::writeStackCounts(const StackCounts& stacks) {
  setMeta("stacks_cut", std::to_string(stacks.cut));
  setMeta("stacks_deep", std::to_string(stacks.deep));
}

void SessionFile::finish(const StackCounts& stacks) {
  writeStackCounts(stacks);
  write([](auto& file) { return file.finish(fileNow()); });
}

void SessionFile::endIfDiskIsLow(const StackCounts& stacks) {
  if (!writer_ || error_ || keep_free_bytes_ == 0) return;
  std::optional<uint64_t> free_bytes = writer_->freeBytes();
  if (!free_bytes || *free_bytes >= keep_free_bytes_) return;
  finish(stacks);
  if (error_) return;
  error_ = base::Error{base::ErrorKind::kUnreadable,
                       fmt::format("the disk has {} left, so the recording ends; it is complete "
                                   "until here",
                                   base::humanBytes(*free_bytes)),
                       std::nullopt, "--keep-free sets how much must stay free"};
}

// Folds the journal of a part that may be full, and looks at what its file has then.
bool SessionFile::isFull(int64_t now_ns) {
  if (writer_->journalBytes() < ring_->foldBytes()) return false;
  writer_->fold();
  if (writer_->fileBytes() >= ring_->partBytes()) return true;
  // The journal stays as long as somebody reads.
  if (writer_->journalBytes() >= ring_->foldBytes()) next_part_ns_ = now_ns + kTryAgain_ns;
  return false;
}

void SessionFile::endPartIfFull(const StackCounts& stacks, const std::function<void()>& beginning) {
  if (!ring_ || !writer_ || error_) return;
  ring_->makeRoom(writer_->fileBytes() + writer_->journalBytes());
  int64_t now_ns = fileNow();
  if (now_ns < next_part_ns_) return;
  if (ending_since_ns_ == 0) {
    if (!isFull(now_ns)) return;
    ending_since_ns_ = now_ns;
    writer_->letReadersWait(true);
  }
  setMeta("part", std::to_string(ring_->number()));
  writeStackCounts(stacks);
  if (error_) return;
  auto is_alone = writer_->finishAlone(fileNow());
  if (!is_alone.ok()) {
    error_ = std::move(is_alone.error());
  } else if (is_alone.value()) {
    ending_since_ns_ = 0;
    beginPart(beginning);
  } else if (now_ns - ending_since_ns_ > kReadersWait_ns) {
    ending_since_ns_ = 0;
    writer_->letReadersWait(false);
    next_part_ns_ = now_ns + kReadersGoOn_ns;
  }
}

void SessionFile::beginPart(const std::function<void()>& beginning) {
  std::string before = partName(ring_->path(), ring_->number());
  int64_t began_ns = fileNow();
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
    error_->kind = base::ErrorKind::kUnreadable;  // another program's file is in the way
    return;
  }
  writer_ = std::move(next.value());
  part_calls_ = 0;
  numbers_ = FileNumbers(true);
  setMeta("part", std::to_string(ring_->number()));
  setMeta("began_ns", std::to_string(began_ns));
  setMeta("continues", before.substr(before.find_last_of('/') + 1));
  beginning();
  commit();  // one transaction: no reader sees half of a beginning
  writer_->letReadersWait(false);
  if (error_) return;
  ring_->makeRoom(writer_->fileBytes() + writer_->journalBytes());
  writer_->fold();
  ring_->setCarried(writer_->fileBytes());
}

}  // namespace tidegauge::record

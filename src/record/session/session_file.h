// SessionFile: the file that a session writes, if there is one: a recording, or the newest part of
// a ring of them (part_ring.h). The first error ends the writing; what was written stays.
//
//   file.write([&](auto& rows) { return rows.addCall(call); });   nothing without a file
//   file.endPartIfFull(stacks, [&](auto& part) { … });            what the next part begins with
//
//   run.sqlite grows ──fold the journal──► full? ──wait for readers──► closed, the next begins
//
// Cost: that of the writer; a part's end looks at two sizes per commit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "record/session/file_ids.h"
#include "record/session/part_ring.h"
#include "record/source.h"
#include "store/recording_writer.h"

namespace tidegauge::record {

class SessionFile {
 public:
  // With a ring, the writer's file is its first part.
  SessionFile(std::optional<store::RecordingWriter> writer, std::optional<PartRing> ring);

  bool isOpen() const { return writer_.has_value(); }
  bool hasParts() const { return ring_.has_value(); }
  const PartRing* ring() const { return ring_ ? &*ring_ : nullptr; }
  uint64_t bytes() const { return writer_ ? writer_->fileBytes() : 0; }
  const std::optional<base::Error>& error() const { return error_; }
  FileNumbers& numbers() { return numbers_; }  // of the part that is being written

  // Runs on the writer and keeps its first error. Both sides number rows from 0 in the order in
  // which they are added, so no answer is needed.
  template <class Do>
  void write(const Do& action) {
    if (!writer_ || error_) return;
    if (auto result = action(*writer_); !result.ok()) error_ = std::move(result.error());
  }
  void setMeta(const std::string& key, const std::string& value);
  void addCall(const model::MemoryCall& call);
  uint64_t partCalls() const { return part_calls_; }  // of the part that is being written

  // Whether the open transaction has as many rows as it may.
  bool mustCommit() const;
  void commit();
  // Ends a full part, once nobody reads it, and begins the next with what `beginning` writes.
  void endPartIfFull(const StackCounts& stacks, const std::function<void()>& beginning);
  void finish(const StackCounts& stacks);
  // Completes the file and writes nothing more once the disk has less than this left; 0: never.
  void keepFree(uint64_t bytes) { keep_free_bytes_ = bytes; }
  void endIfDiskIsLow(const StackCounts& stacks);

 private:
  void beginPart(const std::function<void()>& beginning);
  void writeStackCounts(const StackCounts& stacks);
  bool isFull(int64_t now_ns);

  std::optional<store::RecordingWriter> writer_;
  std::optional<PartRing> ring_;
  std::optional<base::Error> error_;
  FileNumbers numbers_;
  uint64_t part_calls_ = 0;
  uint64_t keep_free_bytes_ = 0;
  int64_t next_part_ns_ = 0;     // not before
  int64_t ending_since_ns_ = 0;  // new readers wait for the end of this part; 0: they do not
};

}  // namespace tidegauge::record

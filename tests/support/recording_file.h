// A recording in a temporary folder, written from memory calls:
//
//   RecordingFile file;
//   file.write(calls.all());   // commits
//   auto traces = openRecording(file.path(), {});
//
// Stack n of a call has the frames fn (innermost), main; every call is made by pid 41 + process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/memory_call.h"
#include "store/recording_writer.h"
#include "support/temp_folder.h"

namespace tidegauge::testing {

class RecordingFile {
 public:
  RecordingFile();
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  void add(const std::vector<model::MemoryCall>& calls);  // does not commit
  void write(const std::vector<model::MemoryCall>& calls);
  void finish();
  // Statements of another program on the finished file.
  void change(const std::string& sql);
  store::RecordingWriter& writer() { return *writer_; }
  uint32_t stackOf(uint32_t stack);  // the file's number of it
  std::string path() const { return folder_.file("run.tgr"); }
  const std::string& folder() const { return folder_.path(); }

 private:
  uint16_t functionOf(const model::MemoryCall& call);

  TempFolder folder_;
  std::optional<store::RecordingWriter> writer_;
  std::map<std::tuple<model::Plane, model::Verb, model::MemoryKind>, uint16_t> functions_;
  std::map<uint32_t, uint32_t> stacks_;
  std::map<uint32_t, uint32_t> processes_;
  uint32_t main_frame_ = 0;
};

}  // namespace tidegauge::testing

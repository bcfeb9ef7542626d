#include "support/recording_file.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>

namespace tidegauge::testing {

RecordingFile::RecordingFile() {
  auto writer = store::RecordingWriter::create(path(), {});
  EXPECT_TRUE(writer.ok()) << writer.error().what;
  writer_.emplace(std::move(writer).value());
  uint32_t module = writer_->addModule("/usr/bin/python3", "b1d").value();
  main_frame_ = writer_->addFrame(module, 0x10).value();
  EXPECT_TRUE(writer_->nameFrame(main_frame_, "main", "train.py", 3).ok());
}

uint16_t RecordingFile::functionOf(const model::MemoryCall& call) {
  auto [at, is_new] = functions_.try_emplace({call.plane, call.verb, call.kind}, uint16_t{0});
  if (is_new) {
    std::string name = std::string(model::name(call.plane)) + "_" +
                       std::string(model::name(call.verb)) + "_" +
                       std::string(model::name(call.kind));
    at->second = writer_->addFunction({name, call.plane, call.verb, call.kind}).value();
  }
  return at->second;
}

uint32_t RecordingFile::stackOf(uint32_t stack) {
  auto [at, is_new] = stacks_.try_emplace(stack, 0U);
  if (is_new) {
    uint32_t frame = writer_->addFrame(std::nullopt, stack).value();
    EXPECT_TRUE(writer_->nameFrame(frame, "f" + std::to_string(stack), "model.py", stack).ok());
    at->second = writer_->addStack(std::array{frame, main_frame_}).value();
  }
  return at->second;
}

void RecordingFile::add(const std::vector<model::MemoryCall>& calls) {
  for (model::MemoryCall call : calls) {
    auto [process, is_new] = processes_.try_emplace(call.process, 0U);
    if (is_new) {
      store::ProcessRow row;
      row.pid = 41 + call.process;
      row.name = "python";
      row.began_ns = call.start_ns;
      process->second = writer_->addProcess(row).value();
    }
    call.process = process->second;
    call.function = functionOf(call);
    if (call.stack != model::kNoStackOfCall) call.stack = stackOf(call.stack);
    EXPECT_TRUE(writer_->addCall(call).ok());
  }
}

void RecordingFile::write(const std::vector<model::MemoryCall>& calls) {
  add(calls);
  EXPECT_TRUE(writer_->commit().ok());
}

void RecordingFile::finish() { EXPECT_TRUE(writer_->finish().ok()); }

void RecordingFile::change(const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK)
      << (error != nullptr ? error : "");
  sqlite3_free(error);
  sqlite3_close(db);
}

}  // namespace tidegauge::testing

// Hostile files: cut in the middle of the fast path, or referring to one part from everywhere.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "readers/torch/snapshot_reader.h"
#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

base::Result<model::Trace> read(const std::string& bytes) {
  std::vector<uint8_t> input(bytes.begin(), bytes.end());  // exactly as long, for the sanitizers
  return readSnapshot(input, "hostile", {});
}

// Two events as Python writes them; the second repeats the first's shape and ends in a list of
// frames.
std::string twoEvents() {
  auto text = [](std::string_view t) {
    return std::string("\x8c") + static_cast<char>(t.size()) + std::string(t) + "\x94";
  };
  std::string out = "\x80\x04}\x94(" + text("device_traces") + "]\x94(]\x94(";
  out += "}\x94(" + text("action") + text("alloc") + text("addr") + "K\x01" + text("size") +
         std::string("M\x00\x02", 3) + text("stream") + std::string("K\x00", 2) + text("frames");
  out += "]\x94(}\x94(" + text("filename") + text("a.py") + text("line") + "K\x01" + text("name") +
         text("f") + "ueu";
  for (int i = 0; i < 40; ++i) {
    out += std::string("}\x94(h\x05h\x06h\x07K\x02h\x08M\x00\x02h\x09K\x00h\x0a]\x94(", 25);
    for (int frame = 0; frame < 20; ++frame) out += "h\x0c";
    out += "eu";
  }
  return out + "eeu.";
}

TEST(Hostile, AFileCutAnywhereIsAnErrorWithItsPlace) {
  std::string whole = twoEvents();
  auto complete = read(whole);
  ASSERT_TRUE(complete.ok()) << complete.error().what;
  EXPECT_EQ(complete.value().events.size(), 41U);
  for (size_t length = 0; length < whole.size(); ++length) {
    auto cut = read(whole.substr(0, length));
    ASSERT_FALSE(cut.ok()) << length;
    ASSERT_TRUE(cut.error().byte_offset.has_value()) << length;
    ASSERT_LE(*cut.error().byte_offset, length);
  }
}

// One dict of n keys in a list n times: n² visits if all were read.
TEST(Hostile, OneDictNamedFromEverywhereIsRefused) {
  constexpr int kTimes = 20000;
  PickleWriter writer;
  writer.proto(2).dict().mark().str("segments").list().mark().dict().put(1).mark();
  for (int i = 0; i < kTimes; ++i) writer.str("k").number(i);
  writer.setItems();
  for (int i = 0; i < kTimes; ++i) writer.get(1);
  writer.appends().setItems().stop();
  auto result = readSnapshot(writer.bytes(), "hostile", {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, base::ErrorKind::kLimit);
}

uint64_t textBytes(const model::Trace& trace) {
  uint64_t bytes = 0;
  for (uint32_t id = 0; id < trace.strings.size(); ++id) {
    bytes += trace.strings.text(model::StringId(id)).size();
  }
  for (const auto& [key, value] : trace.settings.items) bytes += key.size() + value.size();
  return bytes;
}

// The justified size of the result for a file of that size: its texts, plus twice as much made of
// them.
uint64_t justifiedBytes(size_t file_bytes) { return 3 * file_bytes + (uint64_t{1} << 20); }

// Frames of a few bytes that combine two of sixteen long texts each: 16 KiB per frame, were they
// all written out.
TEST(Hostile, NotesOfFramesStayWithinTheFilesSize) {
  PickleWriter writer;
  writer.proto(2);
  for (uint8_t i = 0; i < 32; ++i) {
    writer.str(std::string(8000, static_cast<char>('A' + i))).put(i).op('0');
  }
  writer.dict().mark().str("segments").list().str("device_traces").list().mark().list().mark();
  writer.dict().mark().str("action").str("alloc").str("addr").number(1).str("size").number(1);
  writer.str("frames").list().mark();
  constexpr uint64_t kFrames = 32 * 32;
  for (uint64_t i = 0; i < kFrames; ++i) {
    writer.dict().mark().str("filename").str("").str("name").str("").str("fx_node_name");
    writer.get(static_cast<uint8_t>(i / 32)).str("fx_original_trace");
    writer.get(static_cast<uint8_t>(i % 32)).setItems();
  }
  writer.appends().setItems().appends().appends().setItems().stop();
  auto trace = readSnapshot(writer.bytes(), "hostile", {});
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_LE(textBytes(trace.value()), justifiedBytes(writer.size()));
  EXPECT_GT(trace.value().issues.count(model::IssueKind::kCutText), 0u);
  EXPECT_EQ(trace.value().stacks.totalFrames(), kFrames);
}

// Dicts of references to one text of 256 bytes, as metadata of events and as settings: a hundred
// times the file if all were written out.
TEST(Hostile, DescribedDictsStayWithinTheFilesSize) {
  PickleWriter writer;
  writer.proto(2).str(std::string(256, 'x')).put(0).op('0');
  auto dict = [&] {
    writer.dict().mark();
    for (int i = 0; i < 64; ++i) writer.get(0).get(0);
    writer.setItems();
  };
  writer.dict().mark().str("segments").list().str("allocator_settings").dict().mark();
  for (int i = 0; i < 200; ++i) {
    writer.str("k");
    dict();
  }
  writer.setItems().str("device_traces").list().mark().list().mark();
  for (int i = 0; i < 200; ++i) {
    writer.dict().mark().str("action").str("alloc").str("addr").number(1).str("size").number(1);
    writer.str("user_metadata");
    dict();
    writer.setItems();
  }
  writer.appends().appends().setItems().stop();
  auto trace = readSnapshot(writer.bytes(), "hostile", {});
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_LE(textBytes(trace.value()), justifiedBytes(writer.size()));
  EXPECT_GT(trace.value().issues.count(model::IssueKind::kCutText), 0u);
}

// One long text as the value of every setting.
TEST(Hostile, SettingsStayWithinTheFilesSize) {
  PickleWriter writer;
  writer.proto(2).str(std::string(100'000, 'x')).put(0).op('0');
  writer.dict().mark().str("segments").list().str("allocator_settings").dict().mark();
  for (int i = 0; i < 1000; ++i) writer.str("k").get(0);
  writer.setItems().setItems().stop();
  auto trace = readSnapshot(writer.bytes(), "hostile", {});
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_LE(textBytes(trace.value()), justifiedBytes(writer.size()));
}

// One list of events as the trace of many devices.
TEST(Hostile, OneListOfEventsForManyDevicesIsRefused) {
  PickleWriter writer;
  writer.proto(2).dict().mark().str("segments").list().str("device_traces").list().mark();
  writer.list().put(1).mark();
  for (int i = 0; i < 2000; ++i) writer.event("alloc", 4096 + i, 512);
  writer.appends();
  for (int i = 0; i < 1000; ++i) writer.get(1);
  writer.appends().setItems().stop();
  auto result = readSnapshot(writer.bytes(), "hostile", {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, base::ErrorKind::kLimit);
}

}  // namespace
}  // namespace tidegauge::readers::torch

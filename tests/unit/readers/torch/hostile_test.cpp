// Files made to hurt: cut in the middle of what is read fast, or naming one part from everywhere.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pickle_writer.h"
#include "readers/torch/snapshot_reader.h"

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

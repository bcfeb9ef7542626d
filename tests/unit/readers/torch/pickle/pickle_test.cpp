#include "readers/torch/pickle/pickle.h"

#include <gtest/gtest.h>

#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

// The address of the only event of a trace whose "addr" is written by `write`.
template <class Write>
uint64_t addressWritten(Write&& write) {
  PickleWriter pickle;
  pickle.beginTrace().dict().mark().str("action").str("alloc").str("addr");
  write(pickle);
  auto trace = read(pickle.str("size").number(8).setItems().endTrace());
  EXPECT_TRUE(trace.ok()) << trace.error().what;
  return trace.ok() && trace.value().events.size() == 1 ? trace.value().events.address[0] : 0;
}

TEST(Pickle, ReadsIntegersOfEveryWidth) {
  EXPECT_EQ(addressWritten([](auto& p) { p.raw("K\xff"); }), 255u);
  EXPECT_EQ(addressWritten([](auto& p) { p.raw("M\x01\x80"); }), 0x8001u);
  EXPECT_EQ(addressWritten([](auto& p) { p.op('J').little(0x7fffffff, 4); }), 0x7fffffffu);
  EXPECT_EQ(addressWritten([](auto& p) { p.op('J').little(0xffffffff, 4); }), ~uint64_t{0});
  EXPECT_EQ(addressWritten([](auto& p) { p.op(0x8a).op(0); }), 0u);
  EXPECT_EQ(addressWritten([](auto& p) { p.op(0x8a).op(6).little(0x7f0586000000, 6); }),
            0x7f0586000000u);
  EXPECT_EQ(addressWritten([](auto& p) { p.op(0x8a).op(9).little(~0ull - 7, 8).op(0); }),
            ~uint64_t{0} - 7);
  EXPECT_EQ(addressWritten([](auto& p) { p.op(0x8b).little(10, 4).little(5, 8).op(0).op(0); }), 5u);
}

TEST(Pickle, NumbersBeyond64BitsBecomeAnIssue) {
  PickleWriter pickle;
  pickle.beginTrace().dict().mark().str("action").str("alloc").str("size");
  pickle.op(0x8a).op(10).little(~0ull, 8).op(1).op(1).setItems().endTrace();
  auto trace = read(pickle);
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(trace.value().events.size_bytes[0], 0u);
  EXPECT_EQ(trace.value().issues.count(model::IssueKind::kBadValue), 1u);
}

TEST(Pickle, RefusesWhatWouldExecuteCode) {
  for (char code : std::string("cRbioPQ\x93\x81\x92\x82\x83\x84")) {
    PickleWriter pickle;
    pickle.proto().dict().op(static_cast<uint8_t>(code)).stop();
    auto trace = read(pickle);
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.error().byte_offset, 3u);
    EXPECT_NE(trace.error().what.find("would execute code"), std::string::npos);
  }
}

TEST(Pickle, NamesOldProtocolsAndUnknownOpcodes) {
  auto old_opcode = read(PickleWriter().proto(2).dict().op('I').raw("1\n"));
  ASSERT_FALSE(old_opcode.ok());
  EXPECT_NE(old_opcode.error().what.find("protocol 0 or 1"), std::string::npos);
  auto protocol_nine = read(PickleWriter().proto(5).op(0x80).op(9));
  ASSERT_FALSE(protocol_nine.ok());
  EXPECT_EQ(protocol_nine.error().byte_offset, 2u);
  auto nonsense = read(PickleWriter().proto().op(0xff));
  ASSERT_FALSE(nonsense.ok());
  EXPECT_NE(nonsense.error().what.find("0xff"), std::string::npos);
}

TEST(Pickle, EveryCutIsAnErrorWithAnOffset) {
  PickleWriter pickle;
  pickle.beginTrace().event("alloc", 4096, 100).event("free_requested", 4096, 100);
  pickle.dict().mark().str("action").str("oom").str("frames").list().mark();
  pickle.frame("a.py", 3, "f").frame("b.py", 4, "g").appends().setItems().endTrace();
  ASSERT_TRUE(read(pickle).ok());
  for (size_t size = 2; size < pickle.size(); ++size) {
    auto trace = readSnapshot(pickle.bytes().first(size), "cut", {});
    ASSERT_FALSE(trace.ok()) << size;
    ASSERT_TRUE(trace.error().byte_offset.has_value()) << size;
    ASSERT_LE(*trace.error().byte_offset, size) << size;
  }
}

TEST(Pickle, RefusesABrokenStackAndMemo) {
  const std::string broken[] = {"u",         "e",  "s",   "a",       "0",
                                "1",         "2",  "t",   "\x86",    "h\x07",
                                "q\x05",     "(u", "((u", "K\x01(u", "]K\x01K\x02(u.",
                                "}(K\x01u.", "."};
  for (const std::string& opcodes : broken) {
    auto trace = read(PickleWriter().proto().raw(opcodes));
    ASSERT_FALSE(trace.ok()) << opcodes;
    EXPECT_TRUE(trace.error().byte_offset.has_value()) << opcodes;
  }
  auto far = read(PickleWriter().proto().dict().op('r').little(0xfffffff0, 4).stop());
  ASSERT_FALSE(far.ok());
  EXPECT_NE(far.error().what.find("memo slot"), std::string::npos);
}

TEST(Pickle, LengthsThatCannotBeAreNamed) {
  const std::pair<PickleWriter, std::string_view> cases[] = {
      {PickleWriter().proto().op(0x95).little(~uint64_t{0}, 8).list().stop(),
       "a length of 18446744073709551615 bytes"},
      {PickleWriter().proto().op(0x95).little(99, 8).list().stop(), "ends in the middle"},
      {PickleWriter().proto().op(0x8d).little(uint64_t{1} << 62, 8).stop(), "a length of"},
      {PickleWriter().proto().op(0x8b).little(0xffffffff, 4).stop(), "negative length"},
      {PickleWriter().proto(9).list().stop(), "protocol 9 is not supported"},
      {PickleWriter().op(0x80), "ends in the middle"},
  };
  for (const auto& [pickle, expected] : cases) {
    auto trace = read(pickle);
    ASSERT_FALSE(trace.ok()) << expected;
    EXPECT_NE(trace.error().what.find(expected), std::string::npos) << trace.error().what;
    EXPECT_TRUE(trace.error().byte_offset.has_value()) << expected;
  }
  EXPECT_TRUE(read(PickleWriter().proto().op(0x95).little(2, 8).list().stop()).ok());
}

TEST(Pickle, DeepNestingIsFine) {
  PickleWriter pickle;
  pickle.proto().dict().mark().str("segments").list().str("deep");
  constexpr int kDepth = 200'000;
  for (int i = 0; i < kDepth; ++i) pickle.list().mark();
  for (int i = 0; i < kDepth; ++i) pickle.appends();
  auto trace = read(pickle.setItems().stop());
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(trace.value().issues.count(model::IssueKind::kUnknownKey), 1u);
}

TEST(Pickle, StopsAtStop) {
  PickleWriter padded;
  padded.beginTrace().event("alloc", 1, 2).endTrace().raw(std::string(3, '\0'));
  auto trace = read(padded);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().issues.count(model::IssueKind::kTrailingBytes), 0u);
  trace = read(padded.raw("abc"));
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().issues.count(model::IssueKind::kTrailingBytes), 6u);
}

TEST(Pickle, ReportsProgressToTheEnd) {
  PickleWriter pickle;
  pickle.beginTrace();
  for (int i = 0; i < 150'000; ++i) pickle.event("alloc", i, 8);
  pickle.endTrace();
  uint64_t last = 0, calls = 0, total = 0;
  ReadOptions options;
  options.progress = [&](uint64_t done, uint64_t bytes_total) {
    EXPECT_GE(done, last);
    last = done;
    total = bytes_total;
    ++calls;
  };
  auto trace = readSnapshot(pickle.bytes(), "test", options);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().events.size(), 150'000u);
  EXPECT_EQ(last, pickle.size());
  EXPECT_EQ(total, pickle.size());
  EXPECT_GE(calls, 3u);
}

}  // namespace
}  // namespace tidegauge::readers::torch

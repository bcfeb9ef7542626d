#include "readers/torch/snapshot_reader.h"

#include <gtest/gtest.h>

#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

using model::IssueKind;

model::Trace mustRead(std::string_view json) {
  auto trace = readText(json);
  EXPECT_TRUE(trace.ok()) << trace.error().what;
  return trace.ok() ? std::move(trace).value() : model::Trace();
}

TEST(SnapshotReader, ReadsAnEvent) {
  model::Trace trace = mustRead(R"({"segments": [], "device_traces": [[], [{
      "action": "free_requested", "addr": 4096, "size": 700, "stream": 77, "time_us": 5,
      "compile_context": "N/A", "user_metadata": "batch 3", "pool_id": [0, 2],
      "frames": [{"filename": "a.py", "line": 12, "name": "f"},
                 {"filename": "??", "line": 0, "name": "at::add"}]}]]})");
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events.action[0], model::Action::kFreeRequested);
  EXPECT_EQ(trace.events.address[0], 4096u);
  EXPECT_EQ(trace.events.size_bytes[0], 700u);
  EXPECT_EQ(trace.streams[trace.events.stream[0].index()].raw, 77u);
  EXPECT_EQ(trace.events.time_us[0], 5);
  EXPECT_EQ(trace.strings.text(trace.events.compile_context[0]), "N/A");
  EXPECT_EQ(trace.strings.text(trace.events.metadata[0]), "batch 3");
  EXPECT_EQ(trace.pools[trace.events.pool[0].index()].second, 2u);
  EXPECT_TRUE(trace.events.category.empty());
  model::StackId stack = trace.events.stack[0];
  ASSERT_EQ(trace.stacks.depth(stack), 2u);
  size_t inner = trace.stacks.framesOf(stack)[0].index();
  size_t outer = trace.stacks.framesOf(stack)[1].index();
  EXPECT_EQ(trace.strings.text(trace.frames.file[inner]), "a.py");
  EXPECT_EQ(trace.frames.line[inner], 12u);
  EXPECT_EQ(trace.frames.kind[inner], model::FrameKind::kPython);
  EXPECT_EQ(trace.frames.kind[outer], model::FrameKind::kCpp);
  ASSERT_EQ(trace.devices.size(), 1u);
  EXPECT_EQ(trace.devices[0].ordinal, 1);
  EXPECT_TRUE(trace.issues.all().empty());
}

TEST(SnapshotReader, OomKeepsWhatTheDriverHadFree) {
  model::Trace trace = mustRead(
      R"({"segments": [], "device_traces": [[{"action": "oom", "device_free": 99, "size": 5}]]})");
  EXPECT_EQ(trace.events.action[0], model::Action::kOom);
  EXPECT_EQ(trace.events.address[0], 99u);
  EXPECT_TRUE(trace.issues.all().empty());
}

TEST(SnapshotReader, ReadsSegmentsAndRecomputesAddresses) {
  model::Trace trace = mustRead(R"([
    {"device": 1, "address": 8192, "total_size": 1024, "segment_type": "small", "stream": 3,
     "blocks": [{"size": 512, "state": "active_pending_free", "requested_size": 500},
                {"size": 512, "state": "inactive", "requested_size": 77}]},
    {"device": 0, "address": 4096, "total_size": 512, "segment_type": "large",
     "is_expandable": true, "segment_pool_id": [0, 4], "allocated_size": 1,
     "blocks": [{"size": 512, "state": "active_allocated",
                 "history": [{"addr": 1, "real_size": 321}, {"addr": 1, "real_size": 9}]}]}])");
  ASSERT_EQ(trace.final_segments.size(), 2u);
  EXPECT_EQ(trace.final_segments.device, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(trace.final_segments.kind[0], model::SegmentKind::kExpandable);
  EXPECT_EQ(trace.final_segments.kind[1], model::SegmentKind::kSmall);
  EXPECT_TRUE(trace.final_segments.small_pool[1]);
  EXPECT_EQ(trace.final_segments.allocated_bytes[0], 1u);
  EXPECT_EQ(trace.final_segments.active_bytes[0], model::kUnknownBytes);
  EXPECT_EQ(trace.pools[trace.final_segments.pool[0].index()].second, 4u);
  uint64_t block = trace.final_segments.block_begin[0];
  EXPECT_EQ(trace.final_blocks.requested_bytes[block], 321u);
  block = trace.final_segments.block_begin[1];
  EXPECT_EQ(trace.final_blocks.address[block], 8192u);
  EXPECT_EQ(trace.final_blocks.address[block + 1], 8704u);
  EXPECT_EQ(trace.final_blocks.state[block], model::BlockState::kActivePendingFree);
  ASSERT_EQ(trace.devices.size(), 2u);
  EXPECT_EQ(trace.devices[1].final_segment_begin, 1u);
  EXPECT_EQ(trace.issues.count(IssueKind::kNoTrace), 0u);
  EXPECT_EQ(trace.issues.count(IssueKind::kNoEventList), 1u);
}

TEST(SnapshotReader, SegmentsWithoutAListOfEventsSayNothingAboutHistory) {
  const std::string segments =
      R"([{"address": 8192, "total_size": 1024, "segment_type": "large", "device": 0, "stream": 0,
         "blocks": [{"size": 1024, "state": "active_allocated", "requested_size": 1000}]}])";
  for (const std::string& text : {segments, R"({"segments": )" + segments + "}"}) {
    model::Trace trace = mustRead(text);
    EXPECT_EQ(trace.issues.count(IssueKind::kNoEventList), 1u) << text;
    EXPECT_EQ(trace.issues.count(IssueKind::kNoTrace), 0u) << text;
  }
  model::Trace empty = mustRead(R"({"device_traces": [[]], "segments": )" + segments + "}");
  EXPECT_EQ(empty.issues.count(IssueKind::kNoEventList), 0u);
  EXPECT_EQ(empty.issues.count(IssueKind::kNoTrace), 1u);
}

TEST(SnapshotReader, PinnedHostMemoryIsTheLastDevice) {
  model::Trace trace = mustRead(R"({"host_segments": [{"device": -1, "address": 4096,
      "total_size": 512, "segment_type": "small", "blocks": []}],
      "host_traces": [{"action": "alloc", "addr": 4096, "size": 512, "stream": 0}],
      "segments": [{"device": 0, "address": 1, "total_size": 2, "blocks": []}]})");
  ASSERT_EQ(trace.devices.size(), 2u);
  EXPECT_EQ(trace.devices[0].ordinal, 0);
  EXPECT_EQ(trace.devices[1].ordinal, -1);
  EXPECT_EQ(trace.devices[1].kind, model::DeviceKind::kPinnedHost);
  EXPECT_EQ(trace.devices[1].steps(), 1u);
}

TEST(SnapshotReader, KeepsAndCountsWhatItDoesNotKnow) {
  model::Trace trace = mustRead(R"({"segments": [], "new": 1, "device_traces": [[
      {"action": "teleport", "addr": 1, "size": 2, "warp": 9},
      {"action": "teleport", "addr": 1, "size": -2, "warp": 9},
      {"addr": 1}, 17]]})");
  ASSERT_EQ(trace.events.size(), 3u);
  EXPECT_EQ(trace.actionName(trace.events.action[1]), "teleport");
  EXPECT_EQ(trace.issues.count(IssueKind::kUnknownKey), 3u);
  EXPECT_EQ(trace.issues.count(IssueKind::kUnknownAction), 3u);
  EXPECT_EQ(trace.issues.count(IssueKind::kBadValue), 2u);  // the size, the 17
  EXPECT_EQ(trace.issues.count(IssueKind::kMissingKey), 1u);
}

TEST(SnapshotReader, AnEventWithoutWhatItNeedsIsAnIssue) {
  model::Trace trace = mustRead(R"({"segments": [], "device_traces": [[
      {"action": "alloc", "addr": 1}, {"action": "free_completed", "size": 1},
      {"action": "oom", "size": 7, "addr": 5}, {"action": "alloc", "addr": 1, "size": 1,
      "device_free": 2}, {"action": "user_defined"}]]})");
  EXPECT_EQ(trace.issues.count(IssueKind::kMissingKey), 3u);
  EXPECT_EQ(trace.issues.count(IssueKind::kBadValue), 2u);
  EXPECT_EQ(trace.events.address, (std::vector<uint64_t>{1, 0, model::kUnknownBytes, 1, 0}));
}

// "0 B were asked for" would be wrong.
TEST(SnapshotReader, ARequestOrAChecksumOfNoUsableSizeIsUnknown) {
  for (std::string_view size : {"-5", "1e300", "null", "\"7\""}) {
    model::Trace trace = mustRead(R"({"segments": [], "device_traces": [[
        {"action": "oom", "device_free": 1, "size": )" +
                                  std::string(size) + R"(}, {"action": "snapshot", "addr": 0,
        "size": -1}, {"action": "alloc", "addr": 1, "size": -1}]]})");
    EXPECT_EQ(trace.events.size_bytes,
              (std::vector<uint64_t>{model::kUnknownBytes, model::kUnknownBytes, 0}))
        << size;
    EXPECT_EQ(trace.issues.count(IssueKind::kBadValue), 3u) << size;
  }
}

// Once read as an address, −5 bytes became 2^64 − 5.
TEST(SnapshotReader, AnOomWithoutAUsableNumberOfFreeBytesLeavesItUnknown) {
  for (std::string_view free : {"-5", "NaN", "1e300", "1125899906842625", "null", "\"7\"", "-1"}) {
    model::Trace trace = mustRead(R"({"segments": [], "device_traces": [[{"action": "oom",
        "size": 5, "device_free": )" +
                                  std::string(free) + "}]]}");
    EXPECT_EQ(trace.events.address[0], model::kUnknownBytes) << free;
    EXPECT_EQ(trace.issues.count(IssueKind::kBadValue), 1u) << free;
  }
  // The scanner of usual events leaves it to the others.
  PickleWriter pickle;
  pickle.proto(2).str("action").put(0).str("size").put(1).str("oom").put(2).str("device_free");
  pickle.put(3).op('0').op('0').op('0').op('0').dict().mark().str("segments").list();
  pickle.str("device_traces").list().mark().list().mark();
  for (int64_t free : {int64_t{-5}, int64_t{9}}) {
    pickle.dict().mark().get(0).get(2).get(1).number(8).get(3).number(free).setItems();
  }
  auto trace = read(pickle.appends().appends().setItems().stop().raw(std::string(64, '\0')));
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(trace.value().events.address, (std::vector<uint64_t>{model::kUnknownBytes, 9}));
  EXPECT_EQ(trace.value().issues.count(IssueKind::kBadValue), 1u);
}

TEST(SnapshotReader, TimesThatCannotBeAreUnknown) {
  for (std::string_view time : {"-1", "9007199254740993", "9223372036854775807", "NaN", "1.5"}) {
    model::Trace trace = mustRead(R"({"segments": [], "device_traces": [[{"action": "alloc",
        "addr": 1, "size": 1, "time_us": 7}, {"action": "alloc", "addr": 2, "size": 1, "time_us": )" +
                                  std::string(time) + R"(}]], "external_annotations": [
        {"name": "a", "stage": "START", "device": 0, "time_us": )" +
                                  std::string(time) + "}]}");
    EXPECT_EQ(trace.events.time_us, (std::vector<int64_t>{7, model::kNoTime})) << time;
    EXPECT_EQ(trace.annotations.size(), 0u);
    EXPECT_EQ(trace.issues.count(IssueKind::kBadValue), 2u) << time;
    EXPECT_EQ(trace.issues.count(IssueKind::kUnorderedTime), 0u) << time;
  }
}

TEST(SnapshotReader, ADuplicateKeyIsAnIssueAndTheLastOneCounts) {
  constexpr std::string_view kFiles[] = {
      R"({"segments": [{"device": 0, "address": 1, "total_size": 8, "blocks": []}],
          "segments": []})",
      R"({"segments": [{"device": 0, "address": 1, "total_size": 8, "total_size": 4,
          "blocks": []}]})",
      R"({"segments": [{"device": 0, "address": 1, "total_size": 4, "blocks": [
          {"size": 2, "size": 4, "state": "inactive"}]}]})",
      R"({"segments": [], "device_traces": [[
          {"action": "alloc", "addr": 1, "size": 8, "size": 4}]]})",
      R"({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 4,
          "frames": [{"filename": "a", "line": 1, "name": "f", "line": 2}]}]]})",
      R"({"segments": [], "external_annotations": [{"name": "a", "stage": "START", "device": 0,
          "time_us": 8, "time_us": 4}]})",
  };
  for (std::string_view file : kFiles) {
    model::Trace trace = mustRead(file);
    EXPECT_EQ(trace.issues.count(IssueKind::kDuplicateKey), 1u) << file;
    for (uint64_t bytes : trace.final_segments.total_bytes) EXPECT_EQ(bytes, 4u);
    for (uint64_t bytes : trace.final_blocks.size_bytes) EXPECT_EQ(bytes, 4u);
    for (uint64_t bytes : trace.events.size_bytes) EXPECT_EQ(bytes, 4u);
    for (uint64_t line : trace.frames.line) EXPECT_EQ(line, 2u);
    for (int64_t begin_us : trace.annotations.begin_us) EXPECT_EQ(begin_us, 4);
  }
  // The scanner of usual events sees it, too.
  PickleWriter pickle;
  pickle.proto(2).str("action").put(0).str("size").put(1).str("alloc").put(2).str("addr").put(3);
  pickle.op('0').op('0').op('0').op('0').dict().mark().str("segments").list();
  pickle.str("device_traces").list().mark().list().mark();
  pickle.dict().mark().get(0).get(2).get(3).number(1).get(1).number(8).get(1).number(4).setItems();
  auto trace = read(pickle.appends().appends().setItems().stop().raw(std::string(64, '\0')));
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(trace.value().events.size_bytes, (std::vector<uint64_t>{4}));
  EXPECT_EQ(trace.value().issues.count(IssueKind::kDuplicateKey), 1u);
}

TEST(SnapshotReader, MemoryOfAnImpossibleDeviceIsLeftOutAloud) {
  for (std::string_view device :
       {"-7", "-1", "1024", "2147483648", "1099511627776", "4294967296", "null", "1.5"}) {
    model::Trace trace = mustRead(R"({"segments": [
        {"device": 0, "address": 4096, "total_size": 512, "blocks": []},
        {"address": 8192, "total_size": 1024, "blocks": [{"size": 1024, "state": "inactive"}],
         "device": )" + std::string(device) +
                                  "}]}");
    ASSERT_EQ(trace.devices.size(), 1u) << device;
    EXPECT_EQ(trace.final_segments.total_bytes, (std::vector<uint64_t>{512})) << device;
    EXPECT_EQ(trace.final_blocks.size(), 0u);
    ASSERT_EQ(trace.issues.count(IssueKind::kBadValue), 1u) << device;
    for (const model::Issue& issue : trace.issues.all()) {
      EXPECT_EQ(issue.bytes, issue.kind == IssueKind::kBadValue ? 1024u : 0u);
    }
  }
}

TEST(SnapshotReader, SumsThatCannotBeAreUnknown) {
  for (std::string_view sum : {"-1", "NaN", "1e300", "\"x\"", "99999999999999999999"}) {
    std::string text(sum);
    model::Trace trace = mustRead(R"({"segments": [{"device": 0, "address": 4096, "total_size": )" +
                                  text + R"(, "allocated_size": )" + text + R"(, "active_size": )" +
                                  text + R"(, "requested_size": )" + text + R"(, "blocks": [
        {"size": 512, "state": "active_allocated", "requested_size": )" +
                                  text + R"(}, {"size": 512, "state": "inactive"}]}]})");
    EXPECT_EQ(trace.issues.count(IssueKind::kBadValue), 5u) << sum;
    EXPECT_EQ(trace.final_segments.total_bytes[0], 1024u) << sum;  // of its blocks
    EXPECT_EQ(trace.final_segments.allocated_bytes[0], model::kUnknownBytes) << sum;
    EXPECT_EQ(trace.final_segments.active_bytes[0], model::kUnknownBytes) << sum;
    EXPECT_EQ(trace.final_segments.requested_bytes[0], model::kUnknownBytes) << sum;
    EXPECT_EQ(trace.final_blocks.requested_bytes[0], 512u) << sum;
  }
}

TEST(SnapshotReader, TextThatIsCutIsAnIssue) {
  auto cuts = [](std::string metadata) {
    model::Trace trace = mustRead(R"({"segments": [], "device_traces": [[{"action": "alloc",
        "addr": 1, "size": 1, "user_metadata": )" +
                                  metadata + "}]]}");
    return trace.issues.count(IssueKind::kCutText);
  };
  EXPECT_EQ(cuts(R"({"rank": 3, "of": [], "flat": {}})"), 0u);
  EXPECT_EQ(cuts(R"({"rank": 3, "deep": {"a": 1}})"), 1u);
  EXPECT_EQ(cuts(R"({"long": ")" + std::string(300, 'x') + R"("})"), 1u);
  std::string many = "0";
  for (int i = 1; i < 65; ++i) many += ", 0";
  EXPECT_EQ(cuts("[" + many + "]"), 1u);
}

TEST(SnapshotReader, CountsTimesThatGoBackwards) {
  model::Trace trace = mustRead(R"({"segments": [], "device_traces": [[
      {"action": "alloc", "time_us": 10}, {"action": "alloc", "time_us": 9},
      {"action": "alloc"}, {"action": "alloc", "time_us": 8}, {"action": "alloc", "time_us": 11}]]})");
  EXPECT_EQ(trace.issues.count(IssueKind::kUnorderedTime), 2u);
  EXPECT_EQ(trace.events.time_us[2], model::kNoTime);
}

TEST(SnapshotReader, MatchesAnnotationsAsAStack) {
  model::Trace trace = mustRead(R"({"segments": [], "external_annotations": [
      {"name": "step", "stage": "START", "device": 0, "time_us": 1},
      {"name": "forward", "stage": "START", "device": 0, "time_us": 2},
      {"name": "forward", "stage": "END", "device": 0, "time_us": 3},
      {"name": "lost", "stage": "END", "device": 0, "time_us": 4},
      {"name": "step", "stage": "END", "device": 0, "time_us": 5},
      {"name": "open", "stage": "START", "device": 0, "time_us": 6}]})");
  const model::Annotations& rows = trace.annotations;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows.begin_us, (std::vector<int64_t>{1, 2, 1, 6}));
  EXPECT_EQ(rows.end_us, (std::vector<int64_t>{5, 3, 4, model::kNoTime}));
  EXPECT_EQ(rows.depth, (std::vector<uint16_t>{0, 1, 0, 0}));
  EXPECT_EQ(trace.issues.count(IssueKind::kUnmatchedAnnotationEnd), 1u);
  EXPECT_EQ(trace.issues.count(IssueKind::kMissingAnnotationEnd), 1u);
}

TEST(SnapshotReader, ReadsSettings) {
  model::Trace trace = mustRead(R"({"segments": [], "allocator_settings": {
      "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "max_split_size": -1,
      "expandable_segments": true, "garbage_collection_threshold": 0.8,
      "roundup_power2_divisions": {"1": 2, "4": 8, "32768": 1}, "trace_alloc_overflowed": true}})");
  EXPECT_TRUE(trace.settings.present);
  EXPECT_EQ(trace.settings.conf, "expandable_segments:True");
  EXPECT_TRUE(trace.settings.expandable_segments);
  EXPECT_EQ(trace.settings.max_split_bytes, model::kUnknownBytes);
  EXPECT_EQ(trace.settings.roundup_power2_divisions[0], 2u);
  EXPECT_EQ(trace.settings.roundup_power2_divisions[2], 8u);
  EXPECT_EQ(trace.settings.roundup_power2_divisions[15], 1u);
  ASSERT_EQ(trace.settings.items.size(), 6u);
  EXPECT_EQ(trace.settings.items[3].second, "0.8");
  EXPECT_EQ(trace.settings.items[4].second, "{1: 2, 4: 8, 32768: 1}");
  EXPECT_EQ(trace.issues.count(IssueKind::kRingOverflow), 1u);
}

TEST(SnapshotReader, SharesEqualFramesAndStacks) {
  constexpr std::string_view kFrame = R"({"filename": "a.py", "line": 1, "name": "f"})";
  std::string event =
      R"({"action": "alloc", "frames": [)" + std::string(kFrame) + "," + std::string(kFrame) + "]}";
  model::Trace trace =
      mustRead(R"({"segments": [], "device_traces": [[)" + event + "," + event + "]]}");
  EXPECT_EQ(trace.frames.size(), 1u);
  EXPECT_EQ(trace.stacks.size(), 1u);
  EXPECT_EQ(trace.events.stack[0], trace.events.stack[1]);
}

TEST(SnapshotReader, RepairsInvalidUtf8) {
  model::Trace trace = mustRead(
      "{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", "
      "\"user_metadata\": \"a\xff\"}]]}");
  EXPECT_EQ(trace.strings.text(trace.events.metadata[0]), "a\xef\xbf\xbd");
  EXPECT_EQ(trace.issues.count(IssueKind::kBadValue), 1u);
}

TEST(SnapshotReader, ReportsFilesThatAreNotSnapshots) {
  std::string tar = std::string(257, 'x') + "ustar";
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "empty"},
      {"42", "this is not a PyTorch memory snapshot, because it is neither a pickle nor JSON"},
      {"\x04\x22\x4d\x18", "packed with lz4"},
      {"7z\xbc\xaf", "packed with 7z"},
      {tar, "packed with tar"},
      {"hello", "this is not a PyTorch memory snapshot, because it is neither a pickle nor JSON"},
      {"(dp0\n.", "protocol 0 or 1"},
      {"{\"a\": 1}", "a dict without the keys 'segments' and 'device_traces'"},
      {"{}", "an empty dict without the keys 'segments' and 'device_traces'"},
      {"[1, 2]", "a list of something else, not a dict with 'segments' or a list of segments"},
      {"[1, 2, 3]", "a list of something else, not a dict"},
      {"\"segments\"",
       "this is not a PyTorch memory snapshot, because it is neither a pickle nor JSON"},
      {std::string_view("{\0\"\0", 4), "JSON in UTF-16"},
      {"\xff\xfe[", "JSON in UTF-16"},
  };
  for (auto [text, expected] : cases) {
    auto trace = readText(text);
    ASSERT_FALSE(trace.ok()) << text;
    EXPECT_NE(trace.error().what.find(expected), std::string::npos) << trace.error().what;
    EXPECT_EQ(trace.error().byte_offset, 0u) << text;
  }
}

TEST(SnapshotReader, AnEmptyListIsAStateWithoutSegments) {
  model::Trace trace = mustRead("[]");  // torch.cuda.memory_snapshot() before the first allocation
  EXPECT_TRUE(trace.devices.empty());
  EXPECT_EQ(trace.issues.count(IssueKind::kNoTrace), 1u);
}

TEST(SnapshotReader, BoundsWhatAFileCanName) {
  std::string lists = "[]";
  for (int i = 0; i < 1024; ++i) lists += ",[]";
  auto devices = readText(R"({"segments": [], "device_traces": [)" + lists + "]}");
  ASSERT_FALSE(devices.ok());
  EXPECT_NE(devices.error().what.find("1025 devices"), std::string::npos);

  // One list of 100 events, named by 1,000 devices: 100,000 events in 8 kB.
  PickleWriter pickle;
  pickle.proto().list().mark().event("alloc", 1, 2).put(1);
  for (int i = 1; i < 100; ++i) pickle.get(1);
  pickle.appends().put(0).op('0').dict().mark().str("segments").list().str("device_traces");
  pickle.list().mark();
  for (int i = 0; i < 1000; ++i) pickle.get(0);
  auto trace = read(pickle.appends().setItems().stop());
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().kind, base::ErrorKind::kLimit);
}

TEST(SnapshotReader, ManyUnknownKeysStayBounded) {
  std::string events;
  for (int i = 0; i < 1000; ++i) {
    events += (i > 0 ? "," : "") + std::string(R"({"action": "alloc", "k)") + std::to_string(i) +
              R"(": 1})";
  }
  model::Trace trace = mustRead(R"({"segments": [], "device_traces": [[)" + events + "]]}");
  EXPECT_EQ(trace.issues.count(IssueKind::kUnknownKey), 1000u);
  EXPECT_LE(trace.issues.all().size(), 70u);
}

}  // namespace
}  // namespace tidegauge::readers::torch

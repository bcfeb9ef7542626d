#include "readers/torch/unpack/unpack.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "readers/torch/unpack/open_snapshots.h"
#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

const std::string kSnapshot = R"({"segments": [], "device_traces": [[{"action": "alloc"}]]})";

std::string deflated(std::string_view text, int window_bits) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}
std::string gzip(std::string_view text) { return deflated(text, MAX_WBITS + 16); }

std::string zstd(std::string_view text, bool with_size = true, bool with_checksum = false) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, with_size ? 1 : 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, with_checksum ? 1 : 0);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return packed;
}

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value);
  return text;
}

struct Member {
  std::string name;
  uint16_t method;
  std::string packed;
  uint16_t flags = 0;
  std::optional<std::string> content = std::nullopt;  // if it is not kSnapshot or stored
};

uint32_t crc32Of(std::string_view text) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

std::string zip(const std::vector<Member>& members) {
  std::string file, directory;
  for (const Member& member : members) {
    uint32_t crc = crc32Of(member.content.value_or(member.method == 0 ? member.packed : kSnapshot));
    directory += little(0x02014b50, 4) + little(0, 4) + little(member.flags, 2) +
                 little(member.method, 2) + little(0, 4) + little(crc, 4) +
                 little(member.packed.size(), 4) + little(1, 4) + little(member.name.size(), 2) +
                 little(0, 12) + little(file.size(), 4) + member.name;
    file += little(0x04034b50, 4) + little(0, 4) + little(member.method, 2) + little(0, 8) +
            little(member.packed.size(), 4) + little(1, 4) + little(member.name.size(), 2) +
            little(0, 2) + member.name + member.packed;
  }
  std::string end = little(0x06054b50, 4) + little(0, 4) + little(members.size(), 2) +
                    little(members.size(), 2) + little(directory.size(), 4) +
                    little(file.size(), 4) + little(0, 2);
  return file + directory + end;
}

base::Result<std::vector<model::Trace>> open(std::string_view bytes) {
  return openSnapshots(asBytes(bytes), "test", {});
}

std::string containerOf(std::string_view bytes) {
  auto traces = open(bytes);
  return traces.ok() ? traces.value()[0].source.container : "error: " + traces.error().what;
}

TEST(Unpack, KnowsEveryContainer) {
  EXPECT_EQ(containerOf(kSnapshot), "");
  EXPECT_EQ(containerOf(gzip(kSnapshot)), "gzip");
  EXPECT_EQ(containerOf(zstd(kSnapshot)), "zstd");
  EXPECT_EQ(containerOf(zstd(kSnapshot, false)), "zstd");
  EXPECT_EQ(containerOf(zip({{"a.json", 0, kSnapshot}})), "zip");
  EXPECT_EQ(containerOf(zip({{"a.json", 8, deflated(kSnapshot, -MAX_WBITS)}})), "zip");
  EXPECT_EQ(containerOf(zip({{"a.json", 93, zstd(kSnapshot)}})), "zip");
  EXPECT_EQ(containerOf(gzip(zip({{"a.json", 0, zstd(kSnapshot)}}))), "zstd in zip in gzip");
}

TEST(Unpack, JoinsMembersAndFrames) {
  size_t half = kSnapshot.size() / 2;
  std::string first = kSnapshot.substr(0, half), second = kSnapshot.substr(half);
  EXPECT_EQ(containerOf(gzip(first) + gzip(second)), "gzip");
  EXPECT_EQ(containerOf(zstd(first) + zstd(second)), "zstd");
}

TEST(Unpack, ReadsPagesWithSeveralSnapshots) {
  // base64 of {"segments": []}, and of the same followed by two NULs
  std::string page =
      "<!DOCTYPE html><script>let local_files; const local_files = [\n"
      R"({"name": "rank0", "base64": "eyJzZWdtZW50cyI6IFtdfQ=="},)"
      R"({"name": "rank1", "base64": "eyJzZWdtZW50cyI6IFtdfQAA"}];</script>)";
  auto traces = open(page);
  ASSERT_TRUE(traces.ok()) << traces.error().what;
  ASSERT_EQ(traces.value().size(), 2u);
  EXPECT_EQ(traces.value()[1].source.name, "rank1");
  EXPECT_EQ(traces.value()[1].source.container, "HTML");
  EXPECT_EQ(traces.value()[1].issues.count(model::IssueKind::kTrailingBytes), 0u);
  EXPECT_FALSE(open("<html><body>nothing</body></html>").ok());
  EXPECT_FALSE(open("<script>local_files = [{\"base64\": \"%%\"}]").ok());
  EXPECT_FALSE(open("<script>local_files = [{\"base64\": \"ab").ok());
}

TEST(Unpack, ArchivesMayHoldOtherThings) {
  auto traces = open(zip({{"README", 0, "hello"}, {"a.json", 0, kSnapshot}, {"dir/", 0, ""}}));
  ASSERT_TRUE(traces.ok()) << traces.error().what;
  EXPECT_EQ(traces.value().size(), 1u);
  auto nothing = open(zip({{"README", 0, "hello"}}));
  ASSERT_FALSE(nothing.ok());
  EXPECT_NE(nothing.error().what.find("README"), std::string::npos);
  // A damaged snapshot does not hide the others, as with files: it is reported beside them.
  auto damaged = open(zip({{"a.json", 0, kSnapshot}, {"b.json", 0, "{\"segments\": ["}}));
  ASSERT_TRUE(damaged.ok()) << damaged.error().what;
  ASSERT_EQ(damaged.value().size(), 1u);
  EXPECT_EQ(damaged.value()[0].issues.count(model::IssueKind::kUnreadMember), 1u);
  bool names_it = false;
  for (const model::Issue& issue : damaged.value()[0].issues.all()) {
    names_it |= issue.detail.starts_with("b.json: ");
  }
  EXPECT_TRUE(names_it);
  EXPECT_FALSE(open(zip({{"a.json", 0, kSnapshot, 1}})).ok());
  EXPECT_FALSE(open(zip({{"a.json", 12, kSnapshot}})).ok());
}

uint64_t unreadMembers(const model::Trace& trace) {
  return trace.issues.count(model::IssueKind::kUnreadMember);
}

TEST(Unpack, SkippedMembersAreAnIssueOfEveryTrace) {
  auto traces = open(zip({{"README", 0, "hello"},
                          {"a.json", 0, kSnapshot},
                          {"config.json", 0, "{\"lr\": 1}"},
                          {"empty", 0, ""},
                          {"b.json", 8, deflated(kSnapshot, -MAX_WBITS)},
                          {"dir/", 0, ""}}));
  ASSERT_TRUE(traces.ok()) << traces.error().what;
  ASSERT_EQ(traces.value().size(), 2u);
  for (const model::Trace& trace : traces.value()) {
    EXPECT_EQ(unreadMembers(trace), 3u);
    bool named = false;
    for (const model::Issue& issue : trace.issues.all()) {
      named |= issue.detail.starts_with("config.json: this is not a memory snapshot");
    }
    EXPECT_TRUE(named);
  }
  auto page = open(R"(<script>local_files = [7, {"name": "x"},
      {"name": "a", "base64": "eyJzZWdtZW50cyI6IFtdfQ=="}]</script>)");
  ASSERT_TRUE(page.ok()) << page.error().what;
  EXPECT_EQ(unreadMembers(page.value()[0]), 2u);
}

TEST(Unpack, OneBadMemberDoesNotHideTheOthers) {
  std::string cut = kSnapshot;
  cut.resize(cut.size() - 1);
  auto traces = open(zip({{"cut.json", 0, cut}, {"good.json", 0, kSnapshot}}));
  ASSERT_TRUE(traces.ok()) << traces.error().what;
  ASSERT_EQ(traces.value().size(), 1u);
  EXPECT_EQ(unreadMembers(traces.value()[0]), 1u);
  EXPECT_FALSE(open(zip({{"cut.json", 0, cut}})).ok());
}

TEST(Unpack, ChecksTheChecksumsOfMembers) {
  for (const Member& member : {Member{"a.json", 0, kSnapshot, 0, "other"},
                               Member{"a.json", 8, deflated(kSnapshot, -MAX_WBITS), 0, "other"},
                               Member{"a.json", 93, zstd(kSnapshot), 0, "other"}}) {
    auto traces = open(zip({{"good.json", 0, kSnapshot}, member}));
    ASSERT_FALSE(traces.ok());
    EXPECT_NE(traces.error().what.find("'a.json' does not match its checksum"), std::string::npos)
        << traces.error().what;
    EXPECT_TRUE(traces.error().byte_offset.has_value());
  }
  std::string gz = gzip(kSnapshot);
  gz[gz.size() - 8] ^= 1;
  auto traces = open(gz);
  ASSERT_FALSE(traces.ok());
  EXPECT_NE(traces.error().what.find("incorrect data check"), std::string::npos);
}

TEST(Unpack, BoundsTheNumberOfMembers) {
  std::vector<Member> members(kMaxMembers + 1, Member{"a", 0, "x"});
  auto archive = open(zip(members));
  ASSERT_FALSE(archive.ok());
  EXPECT_EQ(archive.error().what, "it contains 4,097 files, and Tidegauge reads at most 4,096");
  std::string page = "<script>local_files = [0";
  for (uint64_t i = 0; i < kMaxMembers; ++i) page += ",0";
  auto entries = open(page + "]");
  ASSERT_FALSE(entries.ok());
  EXPECT_EQ(entries.error().what, archive.error().what);
}

TEST(Unpack, NothingInsideIsSaidSo) {
  for (const std::string& empty :
       {zip({}), zip({{"dir/", 0, ""}}), std::string("<script>local_files = []")}) {
    auto traces = open(empty);
    ASSERT_FALSE(traces.ok());
    EXPECT_NE(traces.error().what.find("contains no file"), std::string::npos)
        << traces.error().what;
  }
}

TEST(Unpack, SaysWhatIsWrongWithCompressedData) {
  std::string packed = zstd(kSnapshot);
  EXPECT_EQ(open(packed.substr(0, 4)).error().what, "the compressed data is cut off");
  EXPECT_EQ(open(gzip(kSnapshot).substr(0, 2)).error().what, "the compressed data is cut off");
  auto base64 = open("<script>local_files = [{\"base64\": \"ab%%\"}]");
  ASSERT_FALSE(base64.ok());
  EXPECT_EQ(base64.error().byte_offset, 37u);
  auto trailing = open(gzip(kSnapshot) + "tail");
  ASSERT_TRUE(trailing.ok()) << trailing.error().what;
  EXPECT_EQ(trailing.value()[0].issues.count(model::IssueKind::kTrailingBytes), 4u);
  auto padded = open(gzip(kSnapshot) + std::string(512, '\0'));  // as on tapes
  ASSERT_TRUE(padded.ok()) << padded.error().what;
  EXPECT_EQ(padded.value()[0].issues.count(model::IssueKind::kTrailingBytes), 0u);
}

// The place of a damage is not known, its frame is: the error names the frame's end, not byte 0.
TEST(Unpack, AWrongChecksumOfZstdIsPlacedAtTheFramesEnd) {
  for (bool with_size : {true, false}) {
    std::string packed = zstd(kSnapshot, with_size, true);
    packed.back() ^= 1;
    auto traces = open(packed);
    ASSERT_FALSE(traces.ok());
    EXPECT_EQ(traces.error().byte_offset, packed.size()) << traces.error().what;
  }
}

void expectOnlyItsStart(const base::Result<Decompressed>& part) {
  ASSERT_TRUE(part.ok()) << part.error().what;
  EXPECT_FALSE(part.value().is_whole);
  EXPECT_EQ(part.value().bytes.size(), kUnpackedStart);
}

TEST(Unpack, WhatCannotBeReadIsUnpackedNoFurtherThanItsStart) {
  UnpackBudget budget(1 << 20);
  std::string zeros(size_t{1} << 20, '\0');
  std::string opcodes = std::string("\x80\x02", 2) + zeros;  // 0x00 is no opcode
  std::string spaces(size_t{1} << 20, ' ');
  for (const std::string& content : {zeros, opcodes, spaces}) {
    std::string gz = gzip(content), with_size = zstd(content), streamed = zstd(content, false);
    expectOnlyItsStart(unpackGzip(asBytes(gz), budget));
    expectOnlyItsStart(unpackZstd(asBytes(with_size), budget));
    expectOnlyItsStart(unpackZstd(asBytes(streamed), budget));
  }
  // The error is that of the whole.
  auto refused = open(gzip(opcodes));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "0x00 is not a pickle opcode");
  EXPECT_EQ(refused.error().byte_offset, 2u);
}

// Wherever the start is cut, a file that can be read is read whole.
TEST(Unpack, WhatCanBeReadIsUnpackedWhole) {
  for (size_t shift = 0; shift < 40; ++shift) {
    std::string json = R"({"pad": ")" + std::string(kUnpackedStart - 60 + shift, 'x') +
                       R"(", "segments": [], "t": [true, -1.25e3, NaN, "\u00e4"]})";
    for (const std::string& packed : {gzip(json), zstd(json), zstd(json, false)}) {
      auto traces = open(packed);
      ASSERT_TRUE(traces.ok()) << shift << ": " << traces.error().what;
      ASSERT_EQ(traces.value()[0].source.data_bytes, json.size());
    }
    PickleWriter pickle;
    pickle.proto().op(0x95).little(kUnpackedStart + shift + 8, 8).dict().mark().str("pad");
    pickle.str(std::string(kUnpackedStart - 60 + shift, 'x')).str("segments").list().setItems();
    pickle.stop().raw(std::string(100, '\0'));
    std::string_view bytes(reinterpret_cast<const char*>(pickle.bytes().data()), pickle.size());
    auto traces = open(gzip(bytes));
    ASSERT_TRUE(traces.ok()) << shift << ": " << traces.error().what;
    ASSERT_EQ(traces.value()[0].source.data_bytes, pickle.size());
  }
}

TEST(Unpack, EveryCutIsAnError) {
  for (const std::string& packed :
       {gzip(kSnapshot), zstd(kSnapshot), zstd(kSnapshot, false), zip({{"a", 0, kSnapshot}})}) {
    ASSERT_TRUE(open(packed).ok());
    for (size_t size = 0; size < packed.size(); ++size) {
      ASSERT_FALSE(open(std::string_view(packed).substr(0, size)).ok()) << size;
    }
  }
}

TEST(Unpack, BombsFailEarly) {
  // Starts like a snapshot. Twice compressed, 80 MiB become a few hundred bytes.
  std::string spaces = kSnapshot + std::string(size_t{80} << 20, ' ');
  for (const std::string& bomb : {gzip(gzip(spaces)), zstd(zstd(spaces))}) {
    auto traces = open(bomb);
    ASSERT_FALSE(traces.ok());
    EXPECT_EQ(traces.error().kind, base::ErrorKind::kLimit) << traces.error().what;
  }
  std::string deep = kSnapshot;
  for (int level = 0; level < 6; ++level) deep = gzip(deep);
  auto traces = open(deep);
  ASSERT_FALSE(traces.ok());
  EXPECT_EQ(traces.error().kind, base::ErrorKind::kLimit);
}

TEST(OpenSnapshots, SaysWhyAPathCannotBeRead) {
  auto folder = std::filesystem::temp_directory_path() / "tidegauge_open_snapshots_test";
  std::filesystem::create_directories(folder);
  auto missing = openSnapshots((folder / "missing").string(), {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().what, "no such file");
  auto directory = openSnapshots(folder.string(), {});
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().what, "this is a folder");
  std::ofstream(folder / "empty").flush();
  auto empty = openSnapshots((folder / "empty").string(), {});
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().what, "the file is empty");
  std::ofstream(folder / "good") << gzip(kSnapshot);
  auto good = openSnapshots((folder / "good").string(), {});
  ASSERT_TRUE(good.ok()) << good.error().what;
  EXPECT_EQ(good.value()[0].source.name, (folder / "good").string());
  EXPECT_EQ(good.value()[0].source.data_bytes, kSnapshot.size());
  EXPECT_EQ(good.value()[0].source.file_bytes, gzip(kSnapshot).size());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tidegauge::readers::torch

#include "readers/torch/unpack.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "pickle_writer.h"
#include "readers/torch/open_snapshots.h"

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

std::string zstd(std::string_view text, bool with_size = true) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, with_size ? 1 : 0);
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
};

std::string zip(const std::vector<Member>& members) {
  std::string file, directory;
  for (const Member& member : members) {
    directory += little(0x02014b50, 4) + little(0, 4) + little(member.flags, 2) +
                 little(member.method, 2) + little(0, 8) + little(member.packed.size(), 4) +
                 little(1, 4) + little(member.name.size(), 2) + little(0, 12) +
                 little(file.size(), 4) + member.name;
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
  // base64 of {"segments": []} and of the same with two NULs behind it
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
  // A damaged snapshot is not one of the other things.
  auto damaged = open(zip({{"a.json", 0, kSnapshot}, {"b.json", 0, "{\"segments\": ["}}));
  ASSERT_FALSE(damaged.ok());
  EXPECT_NE(damaged.error().what.find("b.json"), std::string::npos);
  EXPECT_FALSE(open(zip({{"a.json", 0, kSnapshot, 1}})).ok());
  EXPECT_FALSE(open(zip({{"a.json", 12, kSnapshot}})).ok());
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
  std::string zeros(size_t{80} << 20, '\0');
  // Twice compressed, 80 MiB become a few hundred bytes.
  for (const std::string& bomb : {gzip(gzip(zeros)), zstd(zstd(zeros))}) {
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
  EXPECT_EQ(directory.error().what, "this is a directory");
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

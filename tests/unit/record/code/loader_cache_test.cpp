#include "record/code/loader_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tidegauge::record {
namespace {

bool all(std::string_view) { return true; }

// A cache of these paths, each named by its last part; `count` is what it claims to hold.
std::string cacheOf(const std::vector<std::string>& paths, uint32_t count) {
  std::string cache = "glibc-ld.so.cache1.1";
  auto add = [&](uint32_t number) {
    cache.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  std::string texts;
  auto begin = static_cast<uint32_t>(48 + 24 * paths.size());
  add(count);
  add(0);
  cache.resize(48);
  for (const std::string& path : paths) {
    auto at = static_cast<uint32_t>(begin + texts.size());
    add(3);
    add(at + static_cast<uint32_t>(path.rfind('/') + 1));
    add(at);
    for (int i = 0; i < 3; ++i) add(0);
    texts += path + '\0';
  }
  return cache + texts;
}

TEST(LoaderCache, ListsThePathsOfItsLibraries) {
  std::vector<std::string> paths = {"/usr/lib/libcuda.so.1", "/opt/cuda/libcudart.so.12"};
  EXPECT_EQ(pathsOfLoaderCache(cacheOf(paths, 2), all), paths);
  EXPECT_EQ(pathsOfLoaderCache("ld.so-1.7.0 and its old entries" + cacheOf(paths, 2), all), paths);
}

TEST(LoaderCache, TotalsAndPlacesAreNotTrusted) {
  std::vector<std::string> paths = {"/usr/lib/libcuda.so.1", "relative/libcudart.so.12"};
  std::string whole = cacheOf(paths, UINT32_MAX);
  EXPECT_EQ(pathsOfLoaderCache(whole, all).front(), paths[0]);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_LE(pathsOfLoaderCache(whole.substr(0, bytes), all).size(), 2U) << bytes;
  std::memset(whole.data() + 48, 0xff, 48);
  EXPECT_TRUE(pathsOfLoaderCache(whole, all).empty());
  EXPECT_TRUE(pathsOfLoaderCache("", all).empty());
}

TEST(LoaderCache, ManyEntriesOfOnePathAreOne) {
  std::string path = "/" + std::string(4000, 'x') + "/libcuda.so.1";
  std::string cache = cacheOf({path}, 200'000);
  std::string entry = cache.substr(48, 24);
  for (int i = 0; i < 100'000; ++i) cache += entry;
  EXPECT_LE(pathsOfLoaderCache(cache, all).size(), 1001U);
  EXPECT_TRUE(pathsOfLoaderCache(cache, [](std::string_view) { return false; }).empty());
}

TEST(LoaderCache, FilesOfALibraryPath) {
  std::string folder = ::testing::TempDir() + "library_path_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/libcuda.so.1") << "x";
  EXPECT_EQ(filesOfPath("/does/not/exist::relative:" + folder, all),
            std::vector<std::string>{folder + "/libcuda.so.1"});
  EXPECT_TRUE(filesOfPath("", all).empty());
  EXPECT_TRUE(filesOfPath(":", all).empty());
  std::filesystem::remove_all(folder);
}

TEST(LoaderCache, OfThisMachineHasTheCLibrary) {
  std::ifstream file("/etc/ld.so.cache", std::ios::binary);
  if (!file) GTEST_SKIP() << "this machine has no /etc/ld.so.cache (a C library other than glibc)";
  std::string cache((std::istreambuf_iterator<char>(file)), {});
  EXPECT_FALSE(pathsOfLoaderCache(cache, [](std::string_view path) {
                 return path.ends_with("/libc.so.6");
               }).empty());
}

}  // namespace
}  // namespace tidegauge::record

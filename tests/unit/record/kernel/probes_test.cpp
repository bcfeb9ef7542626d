// What the recorder reads from libraries and processes: names, maps, symbols, cookies.
#include "record/kernel/probes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "bpf/records.h"
#include "record/code/elf_file.h"
#include "record/code/symbols.h"
#include "record/kernel/functions.h"
#include "record/process/process_maps.h"

extern "C" __attribute__((noinline, used)) int d(int x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}

namespace tidegauge::record {
namespace {

TEST(LibraryKind, IsDecidedByTheNameOfTheFile) {
  EXPECT_EQ(libraryKind("/usr/lib/libcuda.so.1"), Library::kDriver);
  EXPECT_EQ(libraryKind("/x/libcudart.so.13"), Library::kRuntime);
  EXPECT_EQ(libraryKind("/x/libcudart-a1b2c3.so.12"), Library::kRuntime);
  EXPECT_EQ(libraryKind("libc10_cuda.so"), Library::kFramework);
  for (const char* other : {"/x/libcudadebugger.so.1", "libcudnn.so.9", "/usr/bin/libcudart", "",
                            "/", "/libcudart.so.13/x"})
    EXPECT_FALSE(libraryKind(other)) << other;
}

TEST(ProbeSkip, OnlyTheStubOfLibcuda) {
  std::vector<uint8_t> stub = {0x81, 0x3d, 1, 2, 3, 4, 5, 6, 7, 8, 0x74, 0x10};
  EXPECT_EQ(probeSkip(stub), 10U);
  for (size_t at : {size_t{0}, size_t{1}, size_t{10}}) {
    std::vector<uint8_t> other = stub;
    other[at] ^= 1;
    EXPECT_EQ(probeSkip(other), 0U);
  }
  stub.resize(10);  // the file ends there
  EXPECT_EQ(probeSkip(stub), 0U);
  EXPECT_EQ(probeSkip({}), 0U);
}

TEST(WatchedFunctions, CookiesNameTheirRow) {
  std::set<std::string_view> names;
  auto functions = watchedFunctions();
  for (size_t i = 0; i < functions.size(); ++i) {
    EXPECT_EQ(functions[i].cookie & 0xffff, i) << functions[i].name;
    EXPECT_TRUE(names.insert(functions[i].name).second) << functions[i].name << " stands twice";
  }
}

TEST(WatchedFunctions, PlacesOfArguments) {
  for (const WatchedFunction& function : watchedFunctions()) {
    if (function.name == "cuMemAllocFromPoolAsync_ptsz") {
      EXPECT_EQ(COOKIE_PLACE(function.cookie, COOKIE_OUT), 1U);
      EXPECT_EQ(COOKIE_PLACE(function.cookie, COOKIE_BYTES), 2U);
      EXPECT_EQ(COOKIE_PLACE(function.cookie, COOKIE_HANDLE), 3U);
      EXPECT_EQ(COOKIE_PLACE(function.cookie, COOKIE_STREAM), 4U);
      EXPECT_EQ(COOKIE_PLACE(function.cookie, COOKIE_RUNTIME), 0U);
    }
    if (function.name == "cudaMemcpy2D") {
      EXPECT_EQ(COOKIE_PLACE(function.cookie, COOKIE_BYTES), 5U);
      EXPECT_EQ(COOKIE_PLACE(function.cookie, COOKIE_TIMES), 6U);
      EXPECT_EQ(COOKIE_PLACE(function.cookie, COOKIE_HANDLE), 7U);  // the kind, on the stack
      EXPECT_EQ(COOKIE_PLACE(function.cookie, COOKIE_ELEMENT), 1U);
    }
    if (function.name == "cuMemsetD32Async_ptsz") {
      EXPECT_EQ(COOKIE_PLACE(function.cookie, COOKIE_ELEMENT), 4U);
    }
  }
}

TEST(ParseMappings, ReadsWhatTheKernelWrites) {
  auto mappings = parseMappings(
      "7f00-7f10 r-xp 00001000 fd:01 131 /usr/lib/libcuda.so.1\n"
      "7f10-7f20 r--p 00002000 fd:01 131 /usr/lib/libcuda.so.1\n"
      "7f20-7f30 r-xp 00000000 fd:01 132      /with space/a b.so (deleted)\n"
      "7f30-7f40 r-xp 00000000 00:00 0 \n"
      "7f40-7f50 r-xp 00000000 00:00 0 [vdso]");
  ASSERT_EQ(mappings.size(), 4U);
  EXPECT_EQ(mappings[0].start, 0x7f00U);
  EXPECT_EQ(mappings[0].offset, 0x1000U);
  EXPECT_EQ(mappings[0].file.inode, 131U);
  EXPECT_EQ(mappings[0].path, "/usr/lib/libcuda.so.1");
  EXPECT_EQ(mappings[1].path, "/with space/a b.so");
  EXPECT_TRUE(mappings[1].deleted);
  EXPECT_EQ(pathFromHere(42, mappings[0]), "/proc/42/root/usr/lib/libcuda.so.1");
  EXPECT_EQ(pathFromHere(42, mappings[1]), "/proc/42/map_files/7f20-7f30");
  EXPECT_EQ(mappings[2].file.inode, 0U);
}

TEST(ParseMappings, DamagedLinesArePassedOver) {
  for (const char* text :
       {"", "\n\n", "7f00", "7f00-", "7f00-7f10", "7f00-7f10 r-x", "x-y r-xp 0 0:0 0",
        "7f00-7f10 r-xp zz fd:01 1 /x", "7f00-7f10 r-xp 00001000 fd 131 /x"})
    EXPECT_TRUE(parseMappings(text).empty()) << text;
}

TEST(ElfFile, RefusesOtherFiles) {
  for (const char* path : {"/dev/null", "/proc/self/maps", "/nowhere", "/"})
    EXPECT_FALSE(ElfFile::open(path).ok()) << path;
}

TEST(ElfFile, KnowsItsOwnProgram) {
  auto file = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file.value().interpreter().empty());
  EXPECT_TRUE(file.value().functions({"main", "no_such_function"}).contains("main"));
  EXPECT_EQ(file.value().functions({"cuMemAlloc_v2"}).size(), 0U);
}

// A program may do this to its own library. If it were mapped, reading it would kill the reader
// (SIGBUS).
TEST(ElfFile, AFileThatIsCutShortMeanwhileSaysNothing) {
  std::string path = (std::filesystem::temp_directory_path() / "tidegauge-XXXXXX").string();
  int made = mkstemp(path.data());
  ASSERT_GE(made, 0);
  close(made);
  std::filesystem::copy_file("/proc/self/exe", path,
                             std::filesystem::copy_options::overwrite_existing);
  auto file = ElfFile::open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(path.c_str(), 4096), 0);
  EXPECT_EQ(file.value().functions({"main"}).size(), 0U);
  EXPECT_TRUE(file.value().allFunctions().empty());
  EXPECT_EQ(file.value().buildId(), "");
  std::filesystem::remove(path);
}

// A C function may be called `d`, which as a type is "double".
TEST(Symbols, NamesThatAreNotMangledStay) {
  auto file = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(file.ok());
  auto offset = file.value().functions({"d"}).at("d");
  int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  Symbols symbols;
  symbols.ask({7, descriptor, 0, offset + 1});
  auto answers = symbols.finish();
  close(descriptor);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].function, "d");
}

}  // namespace
}  // namespace tidegauge::record

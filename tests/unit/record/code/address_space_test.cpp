#include "record/code/address_space.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "record/code/elf_file.h"

namespace tidegauge::record {
namespace {

uint64_t addressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
__attribute__((noinline)) int someFunction() { return getpid(); }

TEST(AddressSpaces, APlaceInCodeIsModuleAndOffset) {
  AddressSpaces spaces;
  auto pid = static_cast<uint32_t>(getpid());
  auto place = spaces.place(pid, addressOf(reinterpret_cast<const void*>(&someFunction)));
  ASSERT_TRUE(place && place->module != kNoModule);
  auto file = ElfFile::open(spaces.modules()[place->module].path);
  ASSERT_TRUE(file.ok());
  bool found = false;  // the symbol table knows the same place by a name
  for (const FunctionSymbol& function : file.value().allFunctions())
    found |= function.name.find("someFunction") != std::string::npos &&
             file.value().offsetOfAddress(function.address) == place->offset;
  EXPECT_TRUE(found);
}

TEST(AddressSpaces, DataIsNotAPlace) {
  AddressSpaces spaces;
  auto pid = static_cast<uint32_t>(getpid());
  int local = 0;
  auto heap = std::make_unique<int>(0);
  for (int round = 0; round < 100; ++round) {  // more often than it reads the mappings again
    EXPECT_FALSE(spaces.place(pid, addressOf(&local)));
    EXPECT_FALSE(spaces.place(pid, addressOf(heap.get())));
    EXPECT_FALSE(spaces.place(pid, 0x200));
    EXPECT_FALSE(spaces.place(pid, ~uint64_t{0}));
  }
}

TEST(AddressSpaces, CodeMadeAtRunTimeHasNoModule) {
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(code, MAP_FAILED);
  AddressSpaces spaces;
  auto place = spaces.place(static_cast<uint32_t>(getpid()), addressOf(code) + 16);
  munmap(code, 4096);
  EXPECT_EQ(place, (CodePlace{kNoModule, addressOf(code) + 16}));
}

TEST(AddressSpaces, AProcessThatIsGoneKeepsItsAddresses) {
  AddressSpaces spaces;
  EXPECT_EQ(spaces.place(0x7fffffff, 0x1234), (CodePlace{kNoModule, 0x1234}));
}

}  // namespace
}  // namespace tidegauge::record

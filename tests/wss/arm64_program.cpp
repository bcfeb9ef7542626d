// The reader of page tables for arm64, run by the kernel of this x86-64 machine. Its verifier must
// accept the program, and the walk must reach a page of this process: both machines have the same
// bits on the way (valid, table, place). Touches differ; tests/unit/wss/page_entry_arm64_test.cpp
// tests them.
//
//     arm64_program build/dev/bpf/page_tables_arm64.bpf.o    0: it does, 77: this user may not look
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "wss/pages/own_page.h"
#include "wss/pte/page_tables.h"

namespace {

using namespace tidegauge::wss;

int failed(std::string_view what) {
  fmt::print("failed: {}\n", what);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return failed("which program?");
  std::ifstream file(words[1], std::ios::binary);
  std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  if (bytes.empty()) return failed("the program cannot be read");
  if (auto own = PageTables::open(); !own.ok()) {
    fmt::print("skipped: {}\n", own.error().what);
    return 77;
  }
  auto tables =
      PageTables::open({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
  if (!tables.ok()) return failed(tables.error().what);
  OwnPage page;
  constexpr uint64_t kFrameBits = (uint64_t{1} << 55) - 1;
  uint64_t place = (page.pagemapEntry().value_or(0) & kFrameBits) * kPage;
  uint64_t address = page.address();
  for (page_table_part part : {PAGE_TABLE_ALL, PAGE_TABLE_64, PAGE_TABLE_32, PAGE_TABLE_16}) {
    uint64_t entry = 0;
    auto visit = [&](uint64_t table, page_table_kind kind, Entries entries) {
      if (kind == PAGE_TABLE_OF_PAGES) entry = entries[(address - table) / kPage];
    };
    auto done = tables.value().read(getpid(), std::span(&address, 1), part, visit);
    if (!done.ok()) return failed(done.error().what);
    if (place == 0 ||
        (entry & (kEntryPlace | kEntryPresent | kEntrySpecial)) != (place | kEntryPresent))
      return failed(fmt::format("part {}: {:#x} is not the entry of {:#x}", static_cast<int>(part),
                                entry, place));
  }
  fmt::print("ok\n");
  return 0;
}

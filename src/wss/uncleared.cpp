#include "wss/uncleared.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <bit>

#include "wss/pagemap.h"
#include "wss/wide_flush.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kMostPages = 64;  // of a piece: its bits

}  // namespace

void Uncleared::look(uint64_t table, page_table_kind kind, Entries entries, size_t from, size_t to,
                     double bytes_of_page) {
  bool is_whole = kind != PAGE_TABLE_OF_PAGES;
  Piece piece{table / kPage + from, 0,
              is_whole ? bytes_of_page * static_cast<double>(to - from) : bytes_of_page};
  size_t pages = is_whole ? 1 : std::min(to - from, kMostPages);
  for (size_t i = 0; i < pages; ++i)
    if (isTouched(entries[is_whole ? 0 : from + i])) piece.touched |= uint64_t{1} << i;
  if (piece.touched != 0) pieces_.push_back(piece);
}

double Uncleared::bytes(const Process& process) const {
  if (pieces_.empty()) return 0;
  auto file = process.openFile("pagemap", O_RDONLY);
  if (!file.ok()) return 0;
  WordFile pagemap(file.value());
  std::array<uint64_t, kMostPages> words{};
  double all = 0;
  for (const Piece& piece : pieces_) {
    auto pages = static_cast<size_t>(std::bit_width(piece.touched));
    ssize_t got = pagemap.read(std::span(words).first(pages), piece.page);
    for (size_t i = 0; got > 0 && i < static_cast<size_t>(got); ++i) {
      bool is_touched = (piece.touched >> i & 1) != 0;
      bool is_shared = (words[i] & kPagemapPresent) != 0 && (words[i] & kPagemapExclusive) == 0;
      if (is_touched && is_shared) all += piece.bytes_of_page;
    }
  }
  return all;
}

}  // namespace tidegauge::wss

#include "wss/uncleared.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>

#include "wss/pagemap.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kMostPages = 64;  // of a piece: its bits
constexpr size_t kMostAsked = 128;

// Pages [from, to) of a piece that begins at page 0.
uint64_t bitsOf(uint64_t from, uint64_t to) {
  to = std::min<uint64_t>(to, kMostPages);
  if (from >= to) return 0;
  return (~uint64_t{0} >> (kMostPages - (to - from))) << from;
}

}  // namespace

void Uncleared::begin() { pieces_.clear(); }

void Uncleared::look(uint64_t table, page_table_kind kind, Entries entries, size_t from,
                     size_t to) {
  Piece piece{table / kPage + from, 0, kind != PAGE_TABLE_OF_PAGES, 1};
  if (piece.is_huge) {
    piece.pages = isTouched(entries[0]) ? 1 : 0;
  } else {
    for (size_t i = 0; i < std::min(to - from, kMostPages); ++i)
      if (isTouched(entries[from + i])) piece.pages |= uint64_t{1} << i;
  }
  if (piece.pages != 0) pieces_.push_back(piece);
}

void Uncleared::keep(const Process& process, std::span<const AddressRange> locked) {
  std::vector<Piece> found;
  // Both are in order of addresses.
  size_t first_locked = 0;
  for (Piece& piece : pieces_) {
    uint64_t there = piece.page + (piece.is_huge ? PAGE_TABLE_ENTRIES : kMostPages);
    while (first_locked < locked.size() && locked[first_locked].end <= piece.page * kPage)
      ++first_locked;
    for (const AddressRange& range : locked.subspan(first_locked)) {
      uint64_t first = range.begin / kPage, last = (range.end + kPage - 1) / kPage;
      if (first >= there) break;
      uint64_t bits = piece.is_huge
                          ? 1
                          : bitsOf(first > piece.page ? first - piece.page : 0, last - piece.page);
      if ((piece.pages & bits) == 0) continue;
      found.push_back({piece.page, piece.pages & bits, piece.is_huge, 1});
      piece.pages &= ~bits;
    }
  }
  size_t every = (pieces_.size() + kMostAsked - 1) / kMostAsked;
  if (auto file = process.openFile("pagemap", O_RDONLY); file.ok() && every > 0) {
    WordFile pagemap(file.value());
    std::array<uint64_t, kMostPages> words{};
    for (size_t at = every / 2; at < pieces_.size(); at += every) {
      Piece piece = pieces_[at];
      auto pages = static_cast<size_t>(std::bit_width(piece.pages));
      if (pages == 0) continue;
      ssize_t got = pagemap.read(std::span(words).first(pages), piece.page);
      for (size_t i = 0; i < pages; ++i) {
        bool is_told = got > 0 && i < static_cast<size_t>(got);
        bool is_shared =
            is_told && (words[i] & kPagemapPresent) != 0 && (words[i] & kPagemapExclusive) == 0;
        if (!is_shared) piece.pages &= ~(uint64_t{1} << i);
      }
      piece.stands_for = static_cast<uint32_t>(every);
      if (piece.pages != 0) found.push_back(piece);
    }
  }
  std::ranges::stable_sort(found, {}, &Piece::page);
  pieces_ = std::move(found);
}

double Uncleared::bytesOf(uint64_t table, page_table_kind kind, Entries entries, size_t from,
                          size_t to, double bytes_of_page) const {
  double bytes = 0;
  uint64_t begin = table / kPage;
  bool is_huge = kind != PAGE_TABLE_OF_PAGES;
  for (auto piece = std::ranges::lower_bound(pieces_, begin, {}, &Piece::page);
       piece != pieces_.end() && piece->page < begin + PAGE_TABLE_ENTRIES; ++piece)
    for (size_t i = from; i < to; ++i) {
      bool was_kept = piece->is_huge;
      if (uint64_t page = begin + i; !was_kept && page >= piece->page)
        was_kept =
            page - piece->page < kMostPages && (piece->pages >> (page - piece->page) & 1) != 0;
      if (was_kept && isTouched(entries[is_huge ? 0 : i]))
        bytes += bytes_of_page * piece->stands_for;
    }
  return bytes;
}

}  // namespace tidegauge::wss

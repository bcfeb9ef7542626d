#include "wss/pte/uncleared.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include "wss/pages/pagemap.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kMaxPages = 64;  // of a piece: its bits
constexpr size_t kMaxAsked = 128;

// Bits of pages [from, to) of a piece that begins at page 0.
uint64_t bitsOf(uint64_t from, uint64_t to) {
  to = std::min<uint64_t>(to, kMaxPages);
  if (from >= to) return 0;
  return (~uint64_t{0} >> (kMaxPages - (to - from))) << from;
}

}  // namespace

void Uncleared::begin() { pieces_.clear(); }

void Uncleared::look(uint64_t table, page_table_kind kind, Entries entries, size_t from,
                     size_t to) {
  Piece piece{.page = table / kPage + from, .is_huge = kind != PAGE_TABLE_OF_PAGES};
  size_t first = piece.is_huge ? 0 : from, count = piece.is_huge ? 1 : to - from;
  for (size_t i = 0; i < std::min(count, kMaxPages); ++i)
    if (isTouched(entries[first + i])) piece.pages |= uint64_t{1} << i;
  piece.asked = piece.pages;
  if (piece.pages != 0) pieces_.push_back(piece);
}

void Uncleared::lookAgain(uint64_t table, page_table_kind kind, Entries entries) {
  auto piece = std::ranges::lower_bound(pieces_, table / kPage, {}, &Piece::page);
  if (piece == pieces_.end() || piece->page >= table / kPage + PAGE_TABLE_ENTRIES) return;
  if (piece->is_huge) {
    bool is_whole = kind == PAGE_TABLE_HUGE || kind == PAGE_TABLE_GIANT;
    if (is_whole && isOwn(entries[0])) piece->asked = 0;
  } else if (kind == PAGE_TABLE_OF_PAGES) {
    size_t first = piece->page % PAGE_TABLE_ENTRIES;
    for (size_t i = 0; i < std::min(kMaxPages, PAGE_TABLE_ENTRIES - first); ++i)
      if (isOwn(entries[first + i])) piece->asked &= ~(uint64_t{1} << i);
  }
}

void Uncleared::keep(const Process& process, std::span<const AddressRange> locked) {
  std::vector<Piece> found;
  // Both are in the order of addresses.
  size_t first_locked = 0;
  for (Piece& piece : pieces_) {
    uint64_t there = piece.page + (piece.is_huge ? PAGE_TABLE_ENTRIES : kMaxPages);
    while (first_locked < locked.size() && locked[first_locked].end <= piece.page * kPage)
      ++first_locked;
    for (const AddressRange& range : locked.subspan(first_locked)) {
      uint64_t first = range.begin / kPage, last = (range.end + kPage - 1) / kPage;
      if (first >= there) break;
      uint64_t bits = piece.is_huge
                          ? 1
                          : bitsOf(first > piece.page ? first - piece.page : 0, last - piece.page);
      if ((piece.pages & bits) == 0) continue;
      found.push_back({.page = piece.page, .pages = piece.pages & bits, .is_huge = piece.is_huge});
      piece.pages &= ~bits;
    }
    piece.pages &= piece.asked;
  }
  std::erase_if(pieces_, [](const Piece& piece) { return piece.pages == 0; });
  std::ranges::move(sharedOnes(process), std::back_inserter(found));
  std::ranges::stable_sort(found, {}, &Piece::page);
  pieces_ = std::move(found);
}

// Some of the pieces are checked, and stand for all.
std::vector<Uncleared::Piece> Uncleared::sharedOnes(const Process& process) const {
  std::vector<Piece> shared;
  if (pieces_.empty()) return shared;
  auto file = process.openFile("pagemap", O_RDONLY);
  if (!file.ok()) return shared;
  WordFile pagemap(file.value());
  std::array<uint64_t, kMaxPages> words{};
  size_t every = (pieces_.size() + kMaxAsked - 1) / kMaxAsked;
  for (size_t at = every / 2; at < pieces_.size(); at += every) {
    Piece piece = pieces_[at];
    auto pages = static_cast<size_t>(std::bit_width(piece.pages));
    ssize_t got = pagemap.read(std::span(words).first(pages), piece.page);
    for (size_t i = 0; i < pages; ++i) {
      bool is_known = got > 0 && i < static_cast<size_t>(got);
      bool is_shared =
          is_known && (words[i] & kPagemapPresent) != 0 && (words[i] & kPagemapExclusive) == 0;
      if (!is_shared) piece.pages &= ~(uint64_t{1} << i);
    }
    piece.stands_for = static_cast<uint32_t>(every);
    if (piece.pages != 0) shared.push_back(piece);
  }
  return shared;
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
            page - piece->page < kMaxPages && (piece->pages >> (page - piece->page) & 1) != 0;
      if (was_kept && isTouched(entries[is_huge ? 0 : i]))
        bytes += bytes_of_page * piece->stands_for;
    }
  return bytes;
}

}  // namespace tidegauge::wss

#include "wss/measure/heat_map.h"

#include <gtest/gtest.h>

#include <random>

#include "wss/pages/page_sums.h"
#include "wss/words/heat_text.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kCell = 16 * kPage;

// All of it there; touched are the pages [from, to).
PageBits tableOf(uint64_t table, size_t from, size_t to) {
  PageBits bits{.table = table};
  bits.there.fill(~uint64_t{0});
  for (size_t page = from; page < to; ++page) bits.touched[page / 64] |= uint64_t{1} << page % 64;
  return bits;
}

uint64_t touchedPages(const HeatMap& map) {
  uint64_t pages = 0;
  for (const HeatMap::Column& column : map.columns())
    for (const HeatMap::Cell& cell : column.cells) pages += cell.touched;
  return pages;
}

TEST(HeatMap, ACellIs64KiBOfOneWindow) {
  HeatMap map;
  map.add(0, 0.1, {{tableOf(kTable, 0, 20)}});
  ASSERT_EQ(map.columns().size(), 1U);
  const auto& cells = map.columns()[0].cells;
  ASSERT_EQ(cells.size(), 32U);
  EXPECT_EQ(cells[0].address, kTable);
  EXPECT_EQ(cells[0].touched, 16U);
  EXPECT_EQ(cells[1].address, kTable + kCell);
  EXPECT_EQ(cells[1].touched, 4U);
  EXPECT_EQ(cells[1].there, 16U);
  EXPECT_EQ(cells[2].touched, 0U);
}

TEST(HeatMap, WhatIsNotThereHasNoCell) {
  PageBits bits{.table = 0};
  bits.there[7] = 0x8000'0000'0000'0000;  // its last page
  HeatMap map;
  map.add(0, 1, {{bits}});
  ASSERT_EQ(map.columns()[0].cells.size(), 1U);
  EXPECT_EQ(map.columns()[0].cells[0].address, kTable - kCell);
  EXPECT_EQ(map.columns()[0].cells[0].there, 1U);
  EXPECT_TRUE(pictureOf(HeatMap(), 10, 10).rows.empty());
}

TEST(HeatMap, IsBoundedAndLosesNoTouch) {
  HeatMap map;
  std::mt19937 random(1);
  uint64_t touched = 0;
  for (int window = 0; window < 3000; ++window) {
    std::vector<PageBits> tables;
    for (uint64_t table = 0; table < 4; ++table) {
      size_t from = random() % 512, to = from + random() % (513 - from);
      tables.push_back(tableOf(table * kTable, from, to));
      touched += to - from;
    }
    map.add(window, window + 1, tables);
    ASSERT_LE(map.columns().size(), HeatMap::kMaxColumns + 1);
    ASSERT_EQ(map.columns().back().end_s, window + 1);
  }
  EXPECT_EQ(touchedPages(map), touched);
  double end_s = 0;
  for (const HeatMap::Column& column : map.columns()) {
    EXPECT_EQ(column.begin_s, end_s);  // one after the other, without a gap
    end_s = column.end_s;
  }
}

TEST(HeatMap, TooManyCellsBecomeLarger) {
  HeatMap map;
  std::vector<PageBits> tables;
  for (uint64_t table = 0; table < 1024; ++table) tables.push_back(tableOf(table * kTable, 0, 3));
  map.add(0, 1, {tables.data(), 1});
  EXPECT_EQ(map.cellBytes(), kCell);
  map.add(1, 2, tables);  // 32,768 cells of 64 KiB
  EXPECT_EQ(map.cellBytes(), 2 * kCell);
  EXPECT_EQ(map.columns()[0].cells.size(), 16U);  // the old ones too
  EXPECT_EQ(map.columns()[1].cells.size(), HeatMap::kMaxCells);
  EXPECT_EQ(touchedPages(map), 3U * 1025);
}

// A process that maps anew all the time: two columns that become one have the cells of both.
TEST(HeatMap, StaysBoundedWhereAddressesChange) {
  HeatMap map;
  for (uint64_t window = 0; window < 600; ++window) {
    std::vector<HeatMap::Cell> cells;
    for (uint64_t cell = 0; cell < 9000; ++cell)
      cells.push_back({(window * 9000 + cell) * kCell, 1, window % 2 == 0 ? 1U : 0U});
    map.addCells(static_cast<double>(window), static_cast<double>(window + 1), cells);
  }
  for (const HeatMap::Column& column : map.columns())
    ASSERT_LE(column.cells.size(), HeatMap::kMaxCells);
  EXPECT_EQ(touchedPages(map), 300U * 9000);
}

TEST(HeatPicture, ARowIsTheShareOfItsPages) {
  HeatMap map;
  map.add(0, 1, {{tableOf(0, 0, 512), tableOf(1000 * kTable, 0, 128)}});
  map.add(1, 2, {{tableOf(1000 * kTable, 0, 0)}});
  HeatPicture picture = pictureOf(map, 2, 100);
  ASSERT_EQ(picture.rows.size(), 2U);
  ASSERT_EQ(picture.ends_s, (std::vector<double>{1, 2}));
  EXPECT_EQ(picture.rows[0].begin, 0U);
  EXPECT_EQ(picture.rows[0].end, kTable);
  EXPECT_EQ(picture.rows[1].begin, 1000 * kTable);  // the hole between is left out
  EXPECT_FLOAT_EQ(picture.at(0, 0), 1);
  EXPECT_FLOAT_EQ(picture.at(1, 0), 0.25);
  EXPECT_LT(picture.at(0, 1), 0);  // unmapped
  EXPECT_FLOAT_EQ(picture.at(1, 1), 0);
  HeatPicture small = pictureOf(map, 1, 1);
  EXPECT_FLOAT_EQ(small.at(0, 0), 640.0F / (512 * 3));
}

MappingUse namedUse(uint64_t start, uint64_t end, const char* path) {
  MappingUse one;
  one.mapping = {.start = start, .end = end, .path = path};
  one.sums.rss = kPage;
  return one;
}

TEST(HeatText, NamesTheMappingsOnce) {
  HeatMap map;
  map.add(0, 1, {{tableOf(0, 0, 512), tableOf(kTable, 0, 0)}});
  std::string text = heatText(
      map, {namedUse(0, kTable, "/lib/liba.so"), namedUse(kTable, 2 * kTable, "")}, 60, false);
  EXPECT_EQ(text.find("liba.so"), text.rfind("liba.so"));
  EXPECT_NE(text.find("anonymous          ·\n"), std::string::npos);
  EXPECT_NE(text.find("liba.so            █\n"), std::string::npos);
  EXPECT_LT(text.find("anonymous"), text.find("liba.so"));  // highest addresses first
  EXPECT_NE(text.find("0 to 1 s"), std::string::npos);
}

TEST(HeatText, NoLineIsWiderThanThePage) {
  HeatMap map;
  for (int window = 0; window < 300; ++window)
    map.add(window, window + 1, {{tableOf(0, 0, 100), tableOf(kTable, 0, 500)}});
  for (size_t columns : {40U, 80U, 100U}) {
    std::string text = heatText(
        map, {namedUse(0, kTable, "\xff\x1b[31m a very long name of a mapping")}, columns, false);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    size_t width = 0;
    for (char c : text) {
      if (c == '\n')
        width = 0;
      else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80)
        width += 1;
      EXPECT_LE(width, columns);
    }
  }
}

TEST(HeatColours, AreOneScale) {
  EXPECT_NEAR(heatColour(0.001F).b, 150, 1);
  EXPECT_EQ(heatColour(1).r, 226);
  EXPECT_EQ(heatColour(2).r, 226);
}

}  // namespace
}  // namespace tidegauge::wss

#include "wss/words/heat_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/measure/grouping.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kNames = 18, kLines = 24;

std::string_view shade(float heat) {
  if (heat < 0) return " ";
  if (heat == 0) return "·";
  if (heat <= 0.25F) return "░";
  if (heat <= 0.5F) return "▒";
  return heat <= 0.75F ? "▓" : "█";
}

// The upper half in one colour, the lower in the other; below 0 the terminal's own.
std::string halves(float upper, float lower) {
  auto paint = [](char ground, float heat) {
    HeatColour c = heatColour(heat);
    return fmt::format("\x1b[{}8;2;{};{};{}m", ground, c.r, c.g, c.b);
  };
  if (upper < 0 && lower < 0) return " ";
  if (upper < 0) return paint('3', lower) + "▄\x1b[0m";
  if (lower < 0) return paint('3', upper) + "▀\x1b[0m";
  return paint('3', upper) + paint('4', lower) + "▀\x1b[0m";
}

std::string shortNameOf(const Mapping& mapping) {
  std::string named = nameOf(mapping);
  std::string_view path = named;
  if (path.front() == '/') path.remove_prefix(path.rfind('/') + 1);
  return base::printable(path);
}

}  // namespace

HeatColour heatColour(float heat) {
  struct Stop {
    float at;
    HeatColour colour;
  };
  constexpr std::array<Stop, 4> kStops{{{0.0F, {32, 120, 150}},
                                        {0.35F, {70, 178, 130}},
                                        {0.7F, {236, 180, 60}},
                                        {1.0F, {226, 70, 50}}}};
  if (heat <= 0) return {128, 140, 146};
  size_t i = 1;
  while (i + 1 < kStops.size() && heat > kStops[i].at) ++i;
  const Stop &from = kStops[i - 1], &to = kStops[i];
  float share = std::min(1.0F, (heat - from.at) / (to.at - from.at));
  auto mix = [share](uint8_t a, uint8_t b) {
    return static_cast<uint8_t>(static_cast<float>(a) +
                                (static_cast<float>(b) - static_cast<float>(a)) * share);
  };
  return {mix(from.colour.r, to.colour.r), mix(from.colour.g, to.colour.g),
          mix(from.colour.b, to.colour.b)};
}

std::vector<std::string> rowNames(const HeatPicture& picture,
                                  const std::vector<MappingUse>& mappings) {
  std::vector<std::string> names;
  size_t first = 0;
  for (const HeatPicture::Row& row : picture.rows) {
    while (first < mappings.size() && mappings[first].mapping.end <= row.begin) ++first;
    const Mapping* best = nullptr;
    uint64_t most = 0;
    for (size_t i = first; i < mappings.size() && mappings[i].mapping.start < row.end; ++i) {
      const Mapping& mapping = mappings[i].mapping;
      uint64_t bytes = mappings[i].sums.rss == 0
                           ? 0
                           : std::min(mapping.end, row.end) - std::max(mapping.start, row.begin);
      if (best == nullptr || bytes > most) best = &mapping, most = bytes;
    }
    names.push_back(best == nullptr ? "" : shortNameOf(*best));
  }
  return names;
}

std::string heatText(const HeatMap& map, const std::vector<MappingUse>& mappings, size_t columns,
                     bool colour) {
  size_t most_columns = columns > kNames + 10 ? columns - kNames - 1 : 10;
  size_t rows_of_line = colour ? 2 : 1;
  HeatPicture picture = pictureOf(map, kLines * rows_of_line, most_columns);
  if (picture.rows.empty()) return "No memory to draw.\n";
  std::vector<std::string> names = rowNames(picture, mappings);
  std::string text, before;
  size_t lines = (picture.rows.size() + rows_of_line - 1) / rows_of_line;
  for (size_t line = lines; line-- > 0;) {  // highest addresses first
    size_t lower = line * rows_of_line, upper = lower + rows_of_line - 1;
    std::string now = names[std::min(upper, names.size() - 1)];
    text += base::padRight(now == before ? "" : base::cutMiddle(now, kNames), kNames) + " ";
    before = now;
    for (size_t x = 0; x < picture.ends_s.size(); ++x) {
      float below = picture.at(lower, x);
      text += colour ? halves(upper < picture.rows.size() ? picture.at(upper, x) : -1.0F, below)
                     : std::string(shade(below));
    }
    text += "\n";
  }
  std::string end = fmt::format("{:.3g} s", picture.ends_s.back());
  size_t width = picture.ends_s.size();
  text += std::string(kNames + 1, ' ') + "0" +
          (width > end.size() + 2 ? base::padLeft(end, width - 1) : " to " + end) + "\n";
  std::string scale;
  if (colour)
    for (float heat : {0.0F, 0.1F, 0.35F, 0.7F, 1.0F}) scale += halves(heat, heat);
  else
    scale = "· ░ ▒ ▓ █";
  uint64_t row_bytes = map.cellBytes() * map.addresses().size() / picture.rows.size();
  text += fmt::format("{} untouched to all touched\nA row is {} of addresses.\n", scale,
                      base::humanBytes(row_bytes));
  return text;
}

}  // namespace tidegauge::wss

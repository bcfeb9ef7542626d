// The surface for a plot: rectangles, lines and text on a page of pixels. One drawing, two outputs.
//
//   auto canvas = svgCanvas(1200, 900, "title");     text, exact at every zoom
//   auto canvas = pngCanvas(1200, 900);              pixels; null where this build has no cairo
//   drawMap(*canvas, …);
//   std::string bytes = canvas->finish();
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tidegauge::exporting {

struct Colour {
  uint8_t r = 0, g = 0, b = 0;
  double opacity = 1;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

struct Point {
  double x = 0, y = 0;
};

struct Stroke {
  Colour colour;
  double width = 1;
  double dash = 0;  // length of dashes and gaps; 0: solid
};

enum class Align : uint8_t { kLeft, kMiddle, kRight };

struct TextStyle {
  Colour colour;
  double size = 12;
  Align align = Align::kLeft;
  bool strong = false;
};

class Canvas {
 public:
  virtual ~Canvas() = default;
  // All in one colour, as one mark: overlaps are not darker.
  virtual void boxes(std::span<const Box> boxes, const Colour& colour) = 0;
  virtual void line(std::span<const Point> points, const Stroke& stroke) = 0;
  virtual void area(std::span<const Point> points, const Colour& colour) = 0;
  // `at` is the left, middle or right end of the base line.
  virtual void text(Point at, std::string_view text, const TextStyle& style) = 0;
  // The file. Call it once; draw nothing afterwards.
  virtual std::string finish() = 0;

  void box(const Box& one, const Colour& colour) { boxes({&one, 1}, colour); }
  void rule(Point from, Point to, const Stroke& stroke) {
    const Point ends[] = {from, to};
    line(ends, stroke);
  }
};

// Screen readers read `title`.
std::unique_ptr<Canvas> svgCanvas(uint32_t width, uint32_t height, std::string_view title);
// nullptr: this build has no cairo; then hasPng() is false.
std::unique_ptr<Canvas> pngCanvas(uint32_t width, uint32_t height);
bool hasPng();

}  // namespace tidegauge::exporting

// SVG 1.1, written by hand: numbers with two decimals, no scripts, no outside resources.
#include <fmt/format.h>

#include "base/text_layout.h"
#include "export/plot/plot_canvas.h"

namespace tidegauge::exporting {
namespace {

std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

// Names in a file may contain anything: control characters are removed, then XML's special
// characters are escaped.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : base::printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string paint(std::string_view what, const Colour& colour) {
  std::string text = fmt::format(" {}=\"#{:02x}{:02x}{:02x}\"", what, colour.r, colour.g, colour.b);
  if (colour.opacity < 1) text += fmt::format(" {}-opacity=\"{}\"", what, number(colour.opacity));
  return text;
}

class SvgCanvas final : public Canvas {
 public:
  SvgCanvas(uint32_t width, uint32_t height, std::string_view title) {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
        "{1}\" role=\"img\" font-family=\"Inter, Liberation Sans, Arial, sans-serif\">\n"
        "<title>{2}</title>\n",
        width, height, escaped(title));
    box({0, 0, static_cast<double>(width), static_cast<double>(height)}, {255, 255, 255});
  }

  void boxes(std::span<const Box> boxes, const Colour& colour) override {
    if (boxes.empty()) return;
    out_ += "<path" + paint("fill", colour) + " d=\"";
    for (const Box& b : boxes) {
      out_ += fmt::format("M{} {}h{}v{}h-{}z", number(b.x), number(b.y), number(b.width),
                          number(b.height), number(b.width));
    }
    out_ += "\"/>\n";
  }

  void line(std::span<const Point> points, const Stroke& stroke) override {
    if (points.size() < 2) return;
    out_ += "<polyline fill=\"none\"" + paint("stroke", stroke.colour);
    if (stroke.width != 1) out_ += fmt::format(" stroke-width=\"{}\"", number(stroke.width));
    if (stroke.dash > 0) out_ += fmt::format(" stroke-dasharray=\"{}\"", number(stroke.dash));
    addPoints(points);
  }

  void area(std::span<const Point> points, const Colour& colour) override {
    if (points.size() < 3) return;
    out_ += "<polygon" + paint("fill", colour);
    addPoints(points);
  }

  void text(Point at, std::string_view text, const TextStyle& style) override {
    constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
    out_ += fmt::format(
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\"{}{}>{}</text>\n", number(at.x),
        number(at.y), number(style.size), kAnchors[static_cast<size_t>(style.align)],
        style.strong ? " font-weight=\"600\"" : "", paint("fill", style.colour), escaped(text));
  }

  std::string finish() override { return std::move(out_) + "</svg>\n"; }

 private:
  void addPoints(std::span<const Point> points) {
    out_ += " points=\"";
    for (const Point& p : points) out_ += number(p.x) + "," + number(p.y) + " ";
    out_.back() = '"';
    out_ += "/>\n";
  }

  std::string out_;
};

}  // namespace

std::unique_ptr<Canvas> svgCanvas(uint32_t width, uint32_t height, std::string_view title) {
  return std::make_unique<SvgCanvas>(width, height, title);
}

}  // namespace tidegauge::exporting

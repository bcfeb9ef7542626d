// PNG by cairo, if the build found it (docs/decisions/0010-plots-without-a-browser.md). The font is
// cairo's own, so pictures look the same on a machine without fonts.
#include "export/plot/plot_canvas.h"

#ifdef TIDEGAUGE_CAIRO
#include <cairo.h>
#endif

namespace tidegauge::exporting {

#ifdef TIDEGAUGE_CAIRO
namespace {

class PngCanvas final : public Canvas {
 public:
  PngCanvas(uint32_t width, uint32_t height)
      : surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width),
                                            static_cast<int>(height))),
        cairo_(cairo_create(surface_)) {
    cairo_select_font_face(cairo_, "@cairo:sans", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_NORMAL);
    box({0, 0, static_cast<double>(width), static_cast<double>(height)}, {255, 255, 255});
  }
  ~PngCanvas() override {
    cairo_destroy(cairo_);
    cairo_surface_destroy(surface_);
  }
  PngCanvas(const PngCanvas&) = delete;
  PngCanvas& operator=(const PngCanvas&) = delete;

  void boxes(std::span<const Box> boxes, const Colour& colour) override {
    if (boxes.empty()) return;
    use(colour);
    for (const Box& b : boxes) cairo_rectangle(cairo_, b.x, b.y, b.width, b.height);
    cairo_fill(cairo_);
  }

  void line(std::span<const Point> points, const Stroke& stroke) override {
    if (points.size() < 2) return;
    use(stroke.colour);
    trace(points);
    cairo_set_line_width(cairo_, stroke.width);
    cairo_set_dash(cairo_, &stroke.dash, stroke.dash > 0 ? 1 : 0, 0);
    cairo_stroke(cairo_);
  }

  void area(std::span<const Point> points, const Colour& colour) override {
    if (points.size() < 3) return;
    use(colour);
    trace(points);
    cairo_close_path(cairo_);
    cairo_fill(cairo_);
  }

  void text(Point at, std::string_view text, const TextStyle& style) override {
    std::string words(text);
    use(style.colour);
    cairo_select_font_face(cairo_, "@cairo:sans", CAIRO_FONT_SLANT_NORMAL,
                           style.strong ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo_, style.size);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo_, words.c_str(), &extents);
    double back = style.align == Align::kLeft     ? 0
                  : style.align == Align::kMiddle ? extents.x_advance / 2
                                                  : extents.x_advance;
    cairo_move_to(cairo_, at.x - back, at.y);
    cairo_show_text(cairo_, words.c_str());
  }

  std::string finish() override {
    std::string bytes;
    cairo_status_t status = cairo_surface_write_to_png_stream(
        surface_,
        [](void* out, const unsigned char* data, unsigned length) {
          static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(data), length);
          return CAIRO_STATUS_SUCCESS;
        },
        &bytes);
    if (status != CAIRO_STATUS_SUCCESS || cairo_status(cairo_) != CAIRO_STATUS_SUCCESS) return {};
    return bytes;
  }

 private:
  void use(const Colour& colour) {
    cairo_set_source_rgba(cairo_, colour.r / 255.0, colour.g / 255.0, colour.b / 255.0,
                          colour.opacity);
  }
  void trace(std::span<const Point> points) {
    cairo_new_path(cairo_);
    for (const Point& p : points) cairo_line_to(cairo_, p.x, p.y);
  }

  cairo_surface_t* surface_;
  cairo_t* cairo_;
};

}  // namespace

bool hasPng() { return true; }

std::unique_ptr<Canvas> pngCanvas(uint32_t width, uint32_t height) {
  return std::make_unique<PngCanvas>(width, height);
}
#else
bool hasPng() { return false; }

std::unique_ptr<Canvas> pngCanvas(uint32_t, uint32_t) { return nullptr; }
#endif

}  // namespace tidegauge::exporting

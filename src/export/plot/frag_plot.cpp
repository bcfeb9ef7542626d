#include "export/plot/frag_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/oom/oom.h"
#include "analysis/summary.h"
#include "base/format.h"
#include "report/words/pool_names.h"

namespace tidegauge::exporting {
namespace {

using analysis::FragmentationSample;

constexpr double kLeft = 92;
constexpr double kRight = 190;  // legends
constexpr size_t kMaxOomLines = 200;
constexpr char kNoScore[] = "none: no allocator cuts this memory up";
constexpr std::array<Colour, 6> kFeatureColours = {{{44, 73, 170},
                                                    {32, 166, 154},
                                                    {156, 123, 214},
                                                    {133, 63, 129},
                                                    {188, 138, 106},
                                                    {66, 72, 87}}};

class Drawing {
 public:
  Drawing(Canvas& canvas, const analysis::AnalysedTrace& analysed, const report::FragReport& report,
          const FragPlotOptions& options)
      : canvas_(canvas), analysed_(analysed), report_(report), options_(options) {
    first_ = report.series.samples.front().step;
    last_ = report.series.samples.back().step;
    for (const FragmentationSample& sample : report.series.samples) steps_.push_back(sample.step);
  }

  void draw() {
    title();
    StepScale map = panel(64, 500);
    drawMap(canvas_, analysed_, *report_.device, map, options_.plain_address);
    drawStepAxis(canvas_, map, map.panel.y + map.panel.height + 14, times());
    bytes(panel(620, 110));
    score(panel(776, 110));
    StepScale features = panel(932, 100);
    featureLines(features);
    drawStepAxis(canvas_, features, features.panel.y + features.panel.height + 14, times());
    ooms(map.panel.y, features.panel.y + features.panel.height);
  }

 private:
  // Since the device's first event, unsigned: times in a hostile file may overflow.
  TimeOf times() const {
    const analysis::TimeAxis& time = report_.device->time;
    if (!time.present()) return {};
    auto since = [&time](analysis::Step step) {
      return static_cast<uint64_t>(time.timeOf(step)) - static_cast<uint64_t>(time.firstUs());
    };
    uint64_t longest_us = since(last_);
    return [&time, since, longest_us](analysis::Step step) {
      return time.timeOf(step) == model::kNoTime ? std::string("–")
                                                 : timeLabel(since(step), longest_us);
    };
  }

  StepScale panel(double y, double height) const {
    return {first_, last_, {kLeft, y, kPlotWidth - kLeft - kRight, height}};
  }

  void title() {
    const analysis::FreeSums& free = report_.now.sample.sums.free;
    canvas_.text(
        {kLeft, 26},
        fmt::format("{}, {}: {} free inside segments after step {}, {} pinned, largest hole {}",
                    options_.name, analysis::deviceLabel(report_.device->device),
                    base::humanBytes(free.bytes), base::withCommas(last_),
                    base::humanBytes(free.pinned_bytes), base::humanBytes(free.largest_bytes)),
        {.colour = PlotColours::kInk, .size = 15, .strong = true});
  }

  LinePanel lines(const StepScale& x, std::string name, std::string note) const {
    LinePanel panel;
    panel.x = x;
    panel.title = std::move(name);
    panel.note = std::move(note);
    panel.steps = steps_;
    return panel;
  }

  template <class F>
  PlotLine line(std::string name, const Colour& colour, F&& value) const {
    PlotLine line{.title = std::move(name), .colour = colour, .values = {}};
    for (const FragmentationSample& sample : report_.series.samples) {
      line.values.push_back(static_cast<double>(value(sample)));
    }
    return line;
  }

  void bytes(const StepScale& x) {
    LinePanel panel = lines(x, "What could not be used", "free bytes inside segments");
    panel.lines = {
        line("free", PlotColours::kFaint, [](const auto& s) { return s.sums.free.bytes; }),
        line("pinned", PlotColours::kReserved,
             [](const auto& s) { return s.sums.free.pinned_bytes; }),
        line("largest hole", PlotColours::kAccent,
             [](const auto& s) { return s.sums.free.largest_bytes; }),
        line("stranded", {133, 63, 129}, [](const auto& s) { return s.sums.free.stranded_bytes; })};
    panel.lines.back().dash = 3;
    for (double value : panel.lines.front().values) panel.top = std::max(panel.top, value);
    double tick = tickOf(panel.top, true);
    auto ticks = static_cast<size_t>(std::floor(panel.top / tick));
    for (size_t i = 0; i <= ticks; ++i) panel.ticks.push_back(static_cast<double>(i) * tick);
    panel.label = [](double value) { return base::humanBytes(static_cast<uint64_t>(value)); };
    drawLines(canvas_, panel);
  }

  void score(const StepScale& x) {
    LinePanel panel =
        lines(x, "Layout score",
              report::poolName(analysed_.trace, report_.series.pool) + "; counts shape, not harm");
    panel.top = 100;
    panel.ticks = {0, 40, 60, 80, 100};
    panel.label = [](double value) { return fmt::format("{:.0f}", value); };
    if (!report_.hasScore()) {
      panel.note = kNoScore;
      return drawLines(canvas_, panel);
    }
    panel.lines = {
        line("reserved bytes", PlotColours::kInk, [](const auto& s) { return s.reserved.score; }),
        line("address space", PlotColours::kFaint, [](const auto& s) { return s.address.score; })};
    panel.lines.back().dash = 3;
    // The forecast is drawn in the place of the legends.
    panel.legend_above = true;
    panel.also = {forecastEntry()};
    drawLines(canvas_, panel);
    forecast(panel);
  }

  // The next three samples of the best model, right of the last sample, as wide as its past error.
  void forecast(const LinePanel& panel) {
    const analysis::Forecast& forecast = report_.forecast;
    const Box& box = panel.x.panel;
    if (!forecast.enough) return;
    const analysis::ModelForecast& best = forecast.of(forecast.best);
    constexpr double kStep = 24;
    std::vector<Point> middle = {{box.x + box.width, yOf(panel, forecast.score_now)}};
    std::vector<Point> upper = middle;
    std::vector<Point> lower = middle;
    for (size_t k = 0; k < best.predicted.size(); ++k) {
      double at = box.x + box.width + kStep * static_cast<double>(k + 1);
      double off = best.errors.mean[k];
      middle.push_back({at, yOf(panel, best.predicted[k])});
      upper.push_back({at, yOf(panel, best.predicted[k] + off)});
      lower.push_back({at, yOf(panel, best.predicted[k] - off)});
    }
    std::vector<Point> band = upper;
    band.insert(band.end(), lower.rbegin(), lower.rend());
    canvas_.area(band, {11, 100, 120, 0.2});
    canvas_.line(middle, {.colour = PlotColours::kAccent, .width = 1.5, .dash = 3});
  }

  PlotLine forecastEntry() const {
    const analysis::Forecast& forecast = report_.forecast;
    PlotLine entry{.title = "forecast", .colour = PlotColours::kAccent, .values = {}, .dash = 3};
    if (!forecast.enough) {
      entry.title = "no forecast: not enough data";
      entry.width = 0;
    } else if (forecast.beatsNoChange()) {
      entry.title = fmt::format("forecast by {}", name(forecast.best));
    } else {
      entry.title = "forecast, no better than no change";
    }
    return entry;
  }

  void featureLines(const StepScale& x) {
    LinePanel panel =
        lines(x, "Features",
              fmt::format("of the {} score; variation is cut at 1",
                          report_.arena == report::Arena::kReserved ? "reserved bytes'"
                                                                    : "address space's"));
    panel.top = 1;
    panel.ticks = {0, 0.5, 1};
    panel.label = [](double value) { return fmt::format("{:.1f}", value); };
    if (!report_.hasScore()) {
      panel.note = kNoScore;
      return drawLines(canvas_, panel);
    }
    for (size_t feature = 0; feature < kFeatureColours.size(); ++feature) {
      std::string title(analysis::kFeatureNames[feature]);
      std::replace(title.begin(), title.end(), '_', ' ');
      panel.lines.push_back(line(title, kFeatureColours[feature], [&](const auto& sample) {
        return analysis::featuresOf(report::scoreOf(sample, report_.arena))[feature];
      }));
    }
    drawLines(canvas_, panel);
  }

  void ooms(double top, double bottom) {
    const model::Device& device = report_.device->device;
    StepScale x = panel(top, bottom - top);
    size_t drawn = 0;
    for (analysis::Step step = first_; step <= last_ && device.steps() > 0; ++step) {
      if (analysed_.trace.events.action[device.event_begin + step] != model::Action::kOom) continue;
      if (++drawn > kMaxOomLines) continue;  // counted, not drawn
      double at = x.at(step + 0.5);
      canvas_.rule({at, top}, {at, bottom}, {.colour = PlotColours::kDanger, .width = 1.5});
      if (drawn == 1) {
        canvas_.text({at - 5, top - 10}, "out of memory",
                     {.colour = PlotColours::kDanger, .size = 11, .align = Align::kRight});
      }
    }
    if (drawn > kMaxOomLines) {
      canvas_.text({x.at(last_ + 1.0) - 5, top - 10},
                   fmt::format("the first {} of {} out-of-memory events", kMaxOomLines,
                               base::withCommas(drawn)),
                   {.colour = PlotColours::kDanger, .size = 11, .align = Align::kRight});
    }
  }

  Canvas& canvas_;
  const analysis::AnalysedTrace& analysed_;
  const report::FragReport& report_;
  const FragPlotOptions& options_;
  analysis::Step first_ = 0;
  analysis::Step last_ = 0;
  std::vector<analysis::Step> steps_;
};

}  // namespace

void drawFrag(Canvas& canvas, const analysis::AnalysedTrace& analysed,
              const report::FragReport& report, const FragPlotOptions& options) {
  Drawing(canvas, analysed, report, options).draw();
}

}  // namespace tidegauge::exporting

#include "report/diff/diff_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "report/diff/diff_words.h"
#include "report/words/text_table.h"

namespace tidegauge::report {
namespace {

using analysis::Diff;

class DiffPage {
 public:
  DiffPage(const Diff& diff, const DiffTextOptions& options)
      : diff_(diff), options_(options), page_(options.columns, options.colour) {}

  std::string write() {
    side("A", options_.name_a, diff_.a);
    side("B", options_.name_b, diff_.b);
    page_.blank();
    page_.heading(diffVerdict(diff_));
    for (const std::string& sentence : diffParticulars(diff_)) page_.bullet(sentence);
    page_.blank();
    totals();
    page_.blank();
    rows();
    return page_.take();
  }

 private:
  // The place is never cut; a long file name is, in its middle.
  void side(const char* which, const std::string& file, const analysis::DiffSide& of) {
    std::string place = ": " + placeText(of) + markOf(of);
    size_t room = options_.columns - std::min(options_.columns, 3 + base::displayWidth(place));
    constexpr size_t kMinName = 16;
    std::string name = base::cutMiddle(base::printable(file), std::max(room, kMinName));
    std::string text = fmt::format("{}  {}{}", which, name, place);
    base::displayWidth(text) <= options_.columns ? page_.line(text) : page_.paragraph(text, 0, 3);
  }

  void totals() {
    const analysis::Totals& a = diff_.a.totals;
    const analysis::Totals& b = diff_.b.totals;
    std::vector<TextRow> lines = {{{"A", "B", "B − A"}, ""}};
    auto add = [&](const char* name, uint64_t of_a, uint64_t of_b) {
      RowNumbers numbers = bytesNumbers(of_a, of_b);
      lines.push_back({{numbers.a, numbers.b, numbers.change}, name});
    };
    add("requested", a.requested_bytes, b.requested_bytes);
    add("active", a.active_bytes, b.active_bytes);
    add("reserved", a.reserved_bytes, b.reserved_bytes);
    printTable(page_, lines);
  }

  void rows() {
    DiffTable table = diffTable(diff_, options_.by, options_.top);
    uint64_t differing = table.sums.differing();
    std::string what = differing == 0 ? fmt::format("none of {} differs",
                                                    countedRows(table.by, table.sums.allRows()))
                                      : fmt::format("{} of {} {}", base::withCommas(differing),
                                                    countedRows(table.by, table.sums.allRows()),
                                                    differing == 1 ? "differs" : "differ");
    page_.heading(fmt::format("By {}: {}", name(table.by), what), 2);
    // Equal rows are shown only if there are few rows: by stack they would displace the rest.
    size_t most = options_.by == DiffBy::kStack ? differing : table.rows.size();
    size_t shown = std::min(options_.top, most);
    bool segments = table.by == DiffBy::kSegment;
    if (shown > 0) {
      std::vector<TextRow> lines = {{{"B − A", "A", "B", segments ? "segments" : "blocks"}, ""}};
      for (size_t i = 0; i < shown; ++i) lines.push_back(lineOf(table.rows[i]));
      printTable(page_, lines);
    }
    if (shown < differing) rest(table, shown, differing);
    check(table);
  }

  void rest(const DiffTable& table, size_t shown, size_t differing) {
    uint64_t more = 0, less = 0;
    for (size_t i = shown; i < differing; ++i) {
      const analysis::DiffRow& row = table.rows[i].row;
      (row.b.bytes > row.a.bytes ? more : less) += row.sizeOfChange();
    }
    std::string sums = more > 0 ? base::humanBytes(more) + " more" : std::string();
    if (less > 0) sums += (more > 0 ? ", " : "") + base::humanBytes(less) + " less";
    bool one = differing - shown == 1;
    page_.paragraph(fmt::format("{} {} ({}); --top {} shows {}",
                                base::counted(differing - shown, "more row"),
                                one ? "differs" : "differ", sums, differing, one ? "it" : "them"));
  }

  static TextRow lineOf(const ShownRow& shown) {
    RowNumbers numbers = rowNumbers(shown.row);
    std::string label = shown.label;
    if (shown.line_a) label += fmt::format(" (was :{})", *shown.line_a);
    std::string name = analysis::oneName({std::move(label), shown.caller});
    return {
        {numbers.change, numbers.a, numbers.b, signedCount(shown.row.a.blocks, shown.row.b.blocks)},
        name};
  }

  void check(const DiffTable& table) {
    RowNumbers totals = bytesNumbers(table.total_a_bytes, table.total_b_bytes);
    std::string sum = table.adds_up ? totals.change : base::humanDelta(table.sums.change_bytes);
    page_.paragraph(fmt::format("{}: the changes add up to {} = {} (B) − {} (A)",
                                table.adds_up ? "ok" : "DIFFERS", sum, totals.b, totals.a));
  }

  const Diff& diff_;
  const DiffTextOptions& options_;
  TextPage page_;
};

}  // namespace

std::string diffText(const Diff& diff, const DiffTextOptions& options) {
  return DiffPage(diff, options).write();
}

}  // namespace tidegauge::report

// The C data interface: what is exported is what SQL shows, and each release frees once (sanitizers
// look).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <string>

#include "python/arrow/result_rows.h"
#include "python/arrow/table_rows.h"
#include "python/engine/answers.h"
#include "support/trace_builder.h"

namespace tidegauge::python {
namespace {

using model::BlockState;
using testing::TraceBuilder;

std::shared_ptr<const OpenFile> smallFile() {
  TraceBuilder b;
  b.time(5'000'000);
  b.segmentAlloc(0x100000, 2 << 20);
  b.stack({"forward@model.py:7", "step@train.py:12"}).alloc(0x100000, 700);
  b.alloc(0x100400, 4096);
  b.free(0x100000, 700);
  b.oom(1000, 1 << 30);
  b.finalSegment(0x100000, 2 << 20)
      .block(1024, BlockState::kInactive, 0)
      .block(4096, BlockState::kActiveAllocated, 4096)
      .block((2 << 20) - 5120, BlockState::kInactive, 0);
  auto file = std::make_shared<OpenFile>();
  file->traces.push_back({std::make_unique<analysis::AnalysedTrace>(b.build()), nullptr});
  file->traces[0].database = std::make_unique<query::Database>(*file->traces[0].analysed);
  return file;
}

const query::Table& tableOf(const OpenFile& file, const std::string& name) {
  for (const query::Table& table : file.traces[0].database->tables())
    if (table.name == name) return table;
  throw std::runtime_error(name);
}

// The value as text, as a reader of the interface finds it.
std::string cellOf(const ArrowSchema& schema, const ArrowArray& array, int64_t row) {
  const auto* valid = static_cast<const uint8_t*>(array.buffers[0]);
  if (valid != nullptr && (valid[row / 8] >> (row % 8) & 1) == 0) return "NULL";
  switch (schema.format[0]) {
    case 'l':
      return std::to_string(static_cast<const int64_t*>(array.buffers[1])[row]);
    case 'I':
      return std::to_string(static_cast<const uint32_t*>(array.buffers[1])[row]);
    case 'g':
      return std::to_string(static_cast<const double*>(array.buffers[1])[row]);
    case 'i':
      return cellOf(*schema.dictionary, *array.dictionary,
                    static_cast<const int32_t*>(array.buffers[1])[row]);
    case 'U': {
      const auto* ends = static_cast<const int64_t*>(array.buffers[1]);
      return {static_cast<const char*>(array.buffers[2]) + ends[row],
              static_cast<size_t>(ends[row + 1] - ends[row])};
    }
    default: {
      const auto* ends = static_cast<const int32_t*>(array.buffers[1]);
      return {static_cast<const char*>(array.buffers[2]) + ends[row],
              static_cast<size_t>(ends[row + 1] - ends[row])};
    }
  }
}

std::string keyOf(const query::Column& column, int64_t key) {
  if (key == query::kNull) return "NULL";
  if (column.isReal()) return std::to_string(std::bit_cast<double>(key));
  std::string scratch;
  return column.isText() ? std::string(column.text(key, scratch)) : std::to_string(key);
}

TEST(Arrow, EveryCellOfEveryTableIsThatOfSql) {
  auto file = smallFile();
  size_t cells = 0;
  for (const query::Table& table : file->traces[0].database->tables()) {
    std::vector<size_t> all(table.columns.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    ArrowArrayStream stream{};
    exportStream(rowsOf(table, file), all, &stream);
    ArrowSchema schema{};
    ArrowArray batch{}, end{};
    ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
    ASSERT_EQ(stream.get_next(&stream, &batch), 0);
    ASSERT_EQ(stream.get_next(&stream, &end), 0);
    EXPECT_EQ(end.release, nullptr);
    stream.release(&stream);  // the batch outlives it
    ASSERT_EQ(batch.n_children, static_cast<int64_t>(all.size()));
    ASSERT_EQ(batch.length, static_cast<int64_t>(table.rows));
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(schema.children[i]->name, table.columns[i].name);
      for (query::Row row = 0; row < table.rows; ++row, ++cells)
        EXPECT_EQ(cellOf(*schema.children[i], *batch.children[i], static_cast<int64_t>(row)),
                  keyOf(table.columns[i], table.key(static_cast<int>(i), row)))
            << table.name << '.' << table.columns[i].name << ' ' << row;
    }
    schema.release(&schema);
    batch.release(&batch);
  }
  EXPECT_GT(cells, 300u);
}

// All cells of a stream, row by row, and the formats of its columns; "large" of a dictionary too.
struct Streamed {
  std::vector<std::string> cells, formats;
  std::vector<int64_t> batches;
};

Streamed streamed(const std::shared_ptr<const Rows>& rows, uint64_t batch_rows) {
  std::vector<size_t> all(rows->fields().size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  ArrowArrayStream stream{};
  exportStream(rows, all, &stream, batch_rows);
  ArrowSchema schema{};
  EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
  Streamed out;
  for (size_t i = 0; i < all.size(); ++i) {
    const ArrowSchema& child = *schema.children[i];
    out.formats.emplace_back(child.dictionary != nullptr ? child.dictionary->format : child.format);
  }
  for (;;) {
    ArrowArray batch{};
    EXPECT_EQ(stream.get_next(&stream, &batch), 0);
    if (batch.release == nullptr) break;
    out.batches.push_back(batch.length);
    std::vector<int64_t> nulls(all.size());
    for (int64_t row = 0; row < batch.length; ++row) {
      for (size_t i = 0; i < all.size(); ++i) {
        out.cells.push_back(cellOf(*schema.children[i], *batch.children[i], row));
        nulls[i] += out.cells.back() == "NULL" ? 1 : 0;
      }
    }
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(batch.children[i]->null_count, nulls[i]);
    batch.release(&batch);
  }
  schema.release(&schema);
  stream.release(&stream);
  return out;
}

TEST(Arrow, BatchesOfATableAreTheWhole) {
  TraceBuilder b;
  b.segmentAlloc(0x100000, 2 << 20);
  for (uint64_t i = 0; i < 20; ++i) {
    b.stack({fmt::format("f{}@model.py:{}", i, i)}).alloc(0x100000 + i * 512, 512);
    if (i % 3 == 0) b.free(0x100000 + i * 512, 512);
  }
  auto file = std::make_shared<OpenFile>();
  file->traces.push_back({std::make_unique<analysis::AnalysedTrace>(b.build()), nullptr});
  file->traces[0].database = std::make_unique<query::Database>(*file->traces[0].analysed);
  for (const query::Table& table : file->traces[0].database->tables()) {
    Streamed whole = streamed(rowsOf(table, file), kBatchRows);
    EXPECT_EQ(whole.batches, std::vector<int64_t>{static_cast<int64_t>(table.rows)}) << table.name;
    for (uint64_t rows : {8, 16, 64}) {
      Streamed parts = streamed(rowsOf(table, file), rows);
      EXPECT_EQ(parts.cells, whole.cells) << table.name << ' ' << rows;
      EXPECT_EQ(parts.formats, whole.formats) << table.name;
      EXPECT_EQ(parts.batches.size(), std::max<uint64_t>(1, (table.rows + rows - 1) / rows));
    }
  }
}

TEST(Arrow, TextsBeyondTheLimitHaveWideOffsets) {
  auto file = smallFile();
  size_t wide = 0;
  for (const query::Table& table : file->traces[0].database->tables()) {
    Streamed narrow = streamed(rowsOf(table, file), 8);
    Streamed large = streamed(rowsOf(table, file, 0), 8);
    EXPECT_EQ(large.cells, narrow.cells) << table.name;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (large.formats[i] == narrow.formats[i]) continue;
      EXPECT_EQ(narrow.formats[i] + large.formats[i], "uU") << table.columns[i].name;
      ++wide;
    }
  }
  EXPECT_GT(wide, 5u);
}

TEST(Arrow, TheLimitOfNarrowTextsIsTheirSumOfBytes) {
  for (uint64_t limit : {29, 30, 31}) {
    ResultCollector collector(limit);
    collector.onColumns({{"t", query::ColumnKind::kText, "", ""},
                         {"mixed", query::ColumnKind::kText, "", ""},
                         {"n", query::ColumnKind::kInteger, "", ""}});
    std::vector<std::string> expected;
    for (int64_t i = 0; i < 30; ++i) {
      std::string text(1, static_cast<char>('a' + i % 26));
      bool is_null = i % 7 == 0;
      query::CellView mixed = i % 2 == 0 ? query::CellView(i) : query::CellView("text");
      query::CellView cells[] = {std::string_view(text), mixed,
                                 is_null ? query::CellView() : query::CellView(i)};
      collector.onRow(cells);
      for (const std::string& cell : {text, i % 2 == 0 ? std::to_string(i) : std::string("text"),
                                      is_null ? std::string("NULL") : std::to_string(i)})
        expected.push_back(cell);
    }
    auto rows = std::move(collector).finish();
    for (uint64_t batch_rows : {8, 24, 64}) {
      Streamed found = streamed(rows, batch_rows);
      EXPECT_EQ(found.cells, expected) << limit << ' ' << batch_rows;
      EXPECT_EQ(found.formats, (std::vector<std::string>{limit < 30 ? "U" : "u", "U", "l"}));
    }
  }
}

TEST(Arrow, StoredColumnsAreTheTracesOwn) {
  auto file = smallFile();
  const model::Trace& trace = file->traces[0].analysed->trace;
  auto rows = rowsOf(tableOf(*file, "allocations"), file);
  auto dataOf = [&](const std::string& name) -> const void* {
    for (size_t i = 0; i < rows->fields().size(); ++i)
      if (rows->fields()[i].name == name) return rows->column(i, 0, rows->count()).data.data;
    return nullptr;
  };
  EXPECT_EQ(dataOf("address"), trace.allocations.address.data());
  EXPECT_EQ(dataOf("block_bytes"), trace.allocations.block_bytes.data());
  EXPECT_EQ(dataOf("first_step"), trace.allocations.first_step.data());
}

TEST(Arrow, AConsumerMayMoveAChildAway) {
  auto file = smallFile();
  ArrowArrayStream stream{};
  exportStream(rowsOf(tableOf(*file, "events"), file), {1, 2}, &stream);
  ArrowArray batch{};
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  ArrowArray child = *batch.children[1];  // as the interface defines a move
  batch.children[1]->release = nullptr;
  batch.release(&batch);
  stream.release(&stream);
  file.reset();
  EXPECT_NE(child.release, nullptr);
  EXPECT_EQ(child.length, 6);
  child.release(&child);
}

TEST(Arrow, PartsOfAResult) {
  ResultCollector collector;
  collector.onColumns({{"n", query::ColumnKind::kInteger, "", ""},
                       {"t", query::ColumnKind::kText, "", ""},
                       {"m", query::ColumnKind::kInteger, "", ""}});
  for (int64_t i = 0; i < 20; ++i) {
    std::string text(static_cast<size_t>(i % 3), 'x');
    query::CellView mixed = i % 2 == 0 ? query::CellView(i) : query::CellView(0.5);
    query::CellView cells[] = {i % 5 == 0 ? query::CellView() : query::CellView(i),
                               std::string_view(text), mixed};
    collector.onRow(cells);
  }
  auto rows = std::move(collector).finish();
  EXPECT_EQ(rows->fields()[2].type, ArrowType::kDouble);
  Column part = rows->column(0, 8, 12);
  EXPECT_EQ(part.nulls, 2u);  // 10 and 15
  EXPECT_EQ(static_cast<const int64_t*>(part.data.data)[1], 9);
  Column texts = rows->column(1, 16, 4);
  const auto* ends = static_cast<const int32_t*>(texts.data.data);
  EXPECT_EQ(ends[1] - ends[0], 1);  // 16 % 3
}

TEST(Answers, QuestionsAndWrongOptions) {
  auto file = smallFile();
  const OpenTrace& trace = file->traces[0];
  auto ask = [&](const char* question, const char* options) {
    return answer(trace, question, nlohmann::json::parse(options), {});
  };
  for (const char* question : {"report", "report_text", "frag", "frag_text", "frag_svg", "whatif",
                               "whatif_text", "curve", "schema"})
    EXPECT_TRUE(ask(question, "{}").ok()) << question;
  EXPECT_EQ(ask("nothing", "{}").error().kind, base::ErrorKind::kUsage);
  EXPECT_EQ(ask("report", R"({"device": 7})").error().kind, base::ErrorKind::kUsage);
  EXPECT_EQ(ask("whatif", R"({"settings": ["nothing:1"]})").error().kind, base::ErrorKind::kUsage);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(answer(trace, "whatif", nlohmann::json::object(), stop.get_token()).ok());
}

}  // namespace
}  // namespace tidegauge::python

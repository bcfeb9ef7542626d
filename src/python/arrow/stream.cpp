#include <algorithm>
#include <cerrno>
#include <exception>

#include "base/threads/parallel.h"
#include "python/arrow/rows.h"

namespace tidegauge::python {
namespace {

struct Stream {
  std::shared_ptr<const Rows> rows;
  std::vector<size_t> wanted;
  std::vector<Field> fields;
  uint64_t batch_rows = kBatchRows;
  uint64_t at = 0;
  bool is_done = false;
  std::string error;

  uint64_t batchRows() const { return std::min(batch_rows, rows->count() - at); }
  std::vector<Column> columnsAt(uint64_t begin, uint64_t length) const {
    std::vector<Column> columns(wanted.size());
    bool is_long = length * wanted.size() >= 100'000;
    base::eachAtOnce(wanted.size(), is_long ? 0 : 1,
                     [&](size_t i) { columns[i] = rows->column(wanted[i], begin, length); });
    return columns;
  }
};

// No exception may cross into C.
template <class Work>
int guarded(ArrowArrayStream* of, const Work& work) {
  auto* stream = static_cast<Stream*>(of->private_data);
  try {
    work(*stream);
    return 0;
  } catch (const std::bad_alloc&) {
    stream->error = "not enough memory for the columns";
    return ENOMEM;
  } catch (const std::exception& error) {
    stream->error = error.what();
    return EIO;
  }
}

bool isLarge(const Column& column) {
  return column.dictionary ? column.dictionary->is_large : column.is_large;
}

int getSchema(ArrowArrayStream* of, ArrowSchema* out) {
  return guarded(of, [&](Stream& stream) {
    std::vector<bool> large;
    bool has_text = std::ranges::any_of(stream.fields, [](const Field& field) {
      return field.type == ArrowType::kText || field.type == ArrowType::kDictionary;
    });
    if (has_text)
      for (const Column& column : stream.columnsAt(0, 0)) large.push_back(isLarge(column));
    exportSchema(stream.fields, large, out);
  });
}

int getNext(ArrowArrayStream* of, ArrowArray* out) {
  return guarded(of, [&](Stream& stream) {
    *out = {};
    if (stream.is_done) return;
    uint64_t length = stream.batchRows();
    exportColumns(stream.columnsAt(stream.at, length), length, out);
    stream.at += length;
    stream.is_done = stream.at >= stream.rows->count();
  });
}

const char* getLastError(ArrowArrayStream* of) {
  return static_cast<Stream*>(of->private_data)->error.c_str();
}

void release(ArrowArrayStream* of) {
  delete static_cast<Stream*>(of->private_data);
  of->release = nullptr;
}

}  // namespace

void exportStream(std::shared_ptr<const Rows> rows, std::vector<size_t> fields,
                  ArrowArrayStream* out, uint64_t batch_rows) {
  auto stream = std::make_unique<Stream>();
  stream->batch_rows = batch_rows;
  for (size_t field : fields) stream->fields.push_back(rows->fields()[field]);
  stream->rows = std::move(rows);
  stream->wanted = std::move(fields);
  *out = {getSchema, getNext, getLastError, release, stream.release()};
}

}  // namespace tidegauge::python

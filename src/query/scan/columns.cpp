#include "query/scan/columns.h"

#include "query/scan/like.h"

namespace tidegauge::query {

Column& add(Table& table, ColumnKind kind, std::string name, std::string doc, Filled fill) {
  Column column;
  column.name = std::move(name);
  column.kind = kind;
  column.doc = std::move(doc);
  column.fill = std::move(fill.fill);
  column.stored = fill.stored;
  return table.columns.emplace_back(std::move(column));
}

Column& addId(Table& table, std::string doc) {
  Column& column = add(table, ColumnKind::kInteger, "id", std::move(doc), rowNumber());
  column.sorted = Sorted::kRowNumber;
  column.distinct = table.rows;
  if (table.natural_order.empty()) {
    table.natural_order = {static_cast<int>(table.columns.size()) - 1};
  }
  return column;
}

Column& addDevice(Table& table) {
  table.device_column = static_cast<int>(table.columns.size());
  auto fill = [devices = table.devices](const Row* rows, size_t count, int64_t* keys) {
    DeviceFinder deviceOf(devices);
    for (size_t i = 0; i < count; ++i) keys[i] = devices[deviceOf(rows[i])].device;
  };
  Column& column =
      add(table, ColumnKind::kInteger, "device", "ordinal; -1 = pinned host memory", fill);
  column.distinct = table.devices.size();
  return column;
}

Column& addReference(Table& table, std::string name, std::string doc, Fill fill,
                     uint64_t distinct) {
  Column& column =
      add(table, ColumnKind::kInteger, std::move(name), std::move(doc), std::move(fill));
  column.distinct = distinct;
  return column;
}

Column& addPoolText(Table& table, std::string name, std::string doc, Fill fill,
                    const base::StringPool& strings) {
  Column& column = add(table, ColumnKind::kText, std::move(name), std::move(doc), std::move(fill));
  column.text = [&strings](int64_t key, std::string&) {
    return strings.text(base::StringId(static_cast<uint32_t>(key)));
  };
  column.encode = [&strings](std::string_view text) -> std::optional<int64_t> {
    base::StringId id = strings.find(text);
    return id.valid() ? std::optional<int64_t>(id.value) : std::nullopt;
  };
  column.like = [&strings](const std::string& pattern) {
    std::vector<bool> result(strings.size());
    for (uint32_t i = 0; i < result.size(); ++i) {
      result[i] = isLike(std::string(strings.text(base::StringId(i))), pattern);
    }
    return result;
  };
  return column;
}

Column& addEnum(Table& table, std::string name, std::string doc, Fill fill,
                std::vector<std::string> names) {
  Column& column = add(table, ColumnKind::kText, std::move(name), std::move(doc), std::move(fill));
  column.distinct = names.size();
  column.encode = [names](std::string_view text) -> std::optional<int64_t> {
    auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) return std::nullopt;
    return found - names.begin();
  };
  column.like = [names](const std::string& pattern) {
    std::vector<bool> result;
    result.reserve(names.size());
    for (const std::string& n : names) {
      result.push_back(isLike(n, pattern));
    }
    return result;
  };
  column.text = [names = std::move(names)](int64_t key, std::string&) -> std::string_view {
    return names[std::min(static_cast<size_t>(key), names.size() - 1)];
  };
  return column;
}

Column& addMadeText(Table& table, std::string name, std::string doc, Fill fill,
                    std::function<std::string(int64_t key)> make) {
  Column& column = add(table, ColumnKind::kText, std::move(name), std::move(doc), std::move(fill));
  column.text = [make = std::move(make)](int64_t key, std::string& scratch) -> std::string_view {
    scratch = make(key);
    return scratch;
  };
  return column;
}

void setRows(Table& table, Row rows) {
  table.rows = rows;
  table.devices = {{0, 0, rows}};
}

Table recordingTable(const char* name, const std::string& doc, Row rows, bool of_recording) {
  Table table;
  table.name = name;
  table.doc = doc + " Empty for snapshots.";
  table.only_recordings = true;
  table.of_recording = of_recording;
  setRows(table, rows);
  return table;
}

}  // namespace tidegauge::query

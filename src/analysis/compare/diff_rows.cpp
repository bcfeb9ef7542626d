#include "analysis/compare/diff_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "base/format.h"

namespace tidegauge::analysis {
namespace {

// Largest change first, then the larger row; ties keep their order.
template <class Row>
void sortRows(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) {
    if (x.sizeOfChange() != y.sizeOfChange()) return x.sizeOfChange() > y.sizeOfChange();
    return std::max(x.a.bytes, x.b.bytes) > std::max(y.a.bytes, y.b.bytes);
  });
}

// ---- by stack -----------------------------------------------------------------------------------

struct HeldStack {
  Held held;
  std::vector<StackId> stacks;  // equal texts, most bytes first
};
struct SideByStack {
  std::vector<HeldStack> stacks;
  Held without;        // a stack, allocated in the recording
  Held older_without;  // a stack, older than the recording
};

SideByStack heldByStack(StackKeys& keys, const DiffSide& side) {
  SideByStack held;
  const model::Allocations& a = side.analysed->trace.allocations;
  std::map<StackId, Held> by_id;
  for (uint32_t row : side.rows) {
    StackId stack = a.has(row, model::kStackIsOfFree) ? StackId() : a.stack[row];
    bool none = !stack.valid() || side.analysed->trace.stacks.depth(stack) == 0;
    Held& of = !none                               ? by_id[stack]
               : model::isOlder(a.provenance[row]) ? held.older_without
                                                   : held.without;
    of.add(a.block_bytes[row]);
  }
  std::map<StackKey, size_t> index_of;  // by exact key
  for (const auto& [stack, more] : by_id) {
    StackKey key = keys.keyOf(*side.analysed, stack, StackMatch::kExact);
    auto [found, fresh] = index_of.try_emplace(key, held.stacks.size());
    if (fresh) held.stacks.emplace_back();
    HeldStack& of = held.stacks[found->second];
    of.held.bytes += more.bytes;
    of.held.blocks += more.blocks;
    of.stacks.push_back(stack);
  }
  for (HeldStack& of : held.stacks) {
    std::stable_sort(of.stacks.begin(), of.stacks.end(),
                     [&](StackId x, StackId y) { return by_id[x].bytes > by_id[y].bytes; });
  }
  return held;
}

std::vector<StackOnSide> sideOf(const SideByStack& held) {
  std::vector<StackOnSide> side;
  for (const HeldStack& of : held.stacks) side.push_back({of.stacks.front(), of.held.bytes});
  return side;
}

// ---- by any key with a name ---------------------------------------------------------------------

// Rows by a key that sorts; `describe` names them.
template <class Key, class Describe>
std::vector<NamedRow> namedRows(const std::map<Key, DiffRow>& by_key, Describe&& describe) {
  std::vector<NamedRow> rows;
  for (const auto& [key, row] : by_key) {
    NamedRow named = describe(key);
    named.a = row.a;
    named.b = row.b;
    rows.push_back(std::move(named));
  }
  sortRows(rows);
  return rows;
}

// `key_of` a live row of a trace.
template <class Key, class KeyOf>
std::map<Key, DiffRow> blocksBy(const DiffSide& a, const DiffSide& b, KeyOf&& key_of) {
  std::map<Key, DiffRow> by_key;
  for (const DiffSide* side : {&a, &b}) {
    const std::vector<uint64_t>& bytes = side->analysed->trace.allocations.block_bytes;
    for (uint32_t row : side->rows) {
      DiffRow& of = by_key[key_of(*side->analysed, row)];
      (side == &a ? of.a : of.b).add(bytes[row]);
    }
  }
  return by_key;
}

// n for sizes in [2^n, 2^(n+1)); 0 bytes count as 1.
int sizeClass(uint64_t bytes) {
  return static_cast<int>(std::bit_width(std::max<uint64_t>(bytes, 1))) - 1;
}

std::string sizeClassLabel(int exponent) {
  std::string from = base::humanBytes(uint64_t{1} << exponent);
  return exponent == 63 ? "from " + from
                        : fmt::format("{} – {}", from, base::humanBytes(uint64_t{2} << exponent));
}

// ---- by segment ---------------------------------------------------------------------------------

enum class PoolKind : uint8_t { kDefault, kGraph, kOwn, kUnknown };

struct SegmentClass {
  model::SegmentKind kind;
  bool small_pool;
  int size;  // class of its total bytes; −1 for expandable ones, which grow
  bool default_stream;
  PoolKind pool;
  auto operator<=>(const SegmentClass&) const = default;
};

PoolKind poolKind(const model::Trace& trace, model::PoolId pool) {
  if (!pool.valid() || pool.index() >= trace.pools.size()) return PoolKind::kUnknown;
  const model::Pool& of = trace.pools[pool.index()];
  if (of.first != 0) return PoolKind::kGraph;
  return of.second != 0 ? PoolKind::kOwn : PoolKind::kDefault;
}

SegmentClass classOf(const model::Trace& trace, model::SegmentId id) {
  const model::Segments& s = trace.segments;
  size_t row = id.index();
  bool expandable = s.kind[row] == model::SegmentKind::kExpandable;
  model::StreamId stream = s.stream[row];
  bool default_stream =
      stream.index() < trace.streams.size() && trace.streams[stream.index()].raw == 0;
  return {s.kind[row], s.small_pool[row], expandable ? -1 : sizeClass(s.total_bytes[row]),
          default_stream, poolKind(trace, s.pool[row])};
}

NamedRow describeSegments(const SegmentClass& of) {
  constexpr const char* kPools[] = {"default pool", "graph pool", "own pool", "unknown pool"};
  std::string kind(model::name(of.kind));
  if (of.kind == model::SegmentKind::kExpandable) kind += of.small_pool ? ", small" : ", large";
  std::string size = of.size < 0 ? std::string() : ", " + sizeClassLabel(of.size);
  std::string rest = fmt::format(", {}, {}", of.default_stream ? "default stream" : "other stream",
                                 kPools[static_cast<size_t>(of.pool)]);
  std::string exact = of.size < 0 ? std::string() : fmt::format(", {}", uint64_t{1} << of.size);
  NamedRow row;
  row.key = kind + exact + rest;
  row.label = kind + size + rest;
  return row;
}

void addSegments(const DiffSide& side, bool is_a, std::map<SegmentClass, DiffRow>& by_class) {
  const model::Trace& trace = side.analysed->trace;
  for (const DiffPoint& point : side.points) {
    const model::Device& device = point.device->device;
    std::map<model::SegmentId, uint64_t> reserved;
    for (uint64_t row = device.piece_begin; row < device.piece_end; ++row) {
      bool there = device.steps() == 0 || isPieceAt(trace, device, row, point.place());
      if (there) reserved[trace.pieces.segment[row]] += trace.pieces.size_bytes[row];
    }
    for (const auto& [segment, bytes] : reserved) {
      DiffRow& of = by_class[classOf(trace, segment)];
      (is_a ? of.a : of.b).add(bytes);
    }
  }
}

}  // namespace

std::string_view name(Change change) {
  constexpr std::string_view kNames[] = {"same", "grew", "shrank", "new", "gone"};
  return kNames[static_cast<size_t>(change)];
}

Change DiffRow::change() const {
  if (a.blocks == 0 && b.blocks > 0) return Change::kNew;
  if (b.blocks == 0 && a.blocks > 0) return Change::kGone;
  if (a.bytes == b.bytes) return Change::kSame;
  return a.bytes < b.bytes ? Change::kGrew : Change::kShrank;
}

uint64_t DiffSums::moreBytes() const {
  return change_size[static_cast<size_t>(Change::kGrew)] +
         change_size[static_cast<size_t>(Change::kNew)];
}

uint64_t DiffSums::lessBytes() const {
  return change_size[static_cast<size_t>(Change::kShrank)] +
         change_size[static_cast<size_t>(Change::kGone)];
}

uint64_t DiffSums::grossBytes() const {
  uint64_t sum = moreBytes() + lessBytes();
  return sum < moreBytes() ? UINT64_MAX : sum;
}

std::vector<StackRow> diffByStack(const DiffSide& a, const DiffSide& b) {
  StackKeys keys;
  SideByStack of_a = heldByStack(keys, a);
  SideByStack of_b = heldByStack(keys, b);
  std::vector<StackRow> rows;
  std::vector<bool> paired_a(of_a.stacks.size()), paired_b(of_b.stacks.size());
  for (const StackPair& pair :
       matchStacks(keys, *a.analysed, sideOf(of_a), *b.analysed, sideOf(of_b))) {
    StackRow row{{of_a.stacks[pair.a].held, of_b.stacks[pair.b].held}};
    row.match = pair.match;
    row.stacks_a = of_a.stacks[pair.a].stacks;
    row.stacks_b = of_b.stacks[pair.b].stacks;
    rows.push_back(std::move(row));
    paired_a[pair.a] = paired_b[pair.b] = true;
  }
  for (size_t i = 0; i < of_a.stacks.size(); ++i) {
    if (paired_a[i]) continue;
    StackRow row{{of_a.stacks[i].held, {}}};
    row.stacks_a = of_a.stacks[i].stacks;
    rows.push_back(std::move(row));
  }
  for (size_t i = 0; i < of_b.stacks.size(); ++i) {
    if (paired_b[i]) continue;
    StackRow row{{{}, of_b.stacks[i].held}};
    row.stacks_b = of_b.stacks[i].stacks;
    rows.push_back(std::move(row));
  }
  for (bool older : {false, true}) {
    StackRow row{
        {older ? of_a.older_without : of_a.without, older ? of_b.older_without : of_b.without}};
    row.older = older;
    if (row.a.blocks + row.b.blocks > 0) rows.push_back(std::move(row));
  }
  sortRows(rows);
  return rows;
}

std::vector<NamedRow> diffByCategory(const DiffSide& a, const DiffSide& b) {
  return namedRows(
      blocksBy<Category>(
          a, b, [](const AnalysedTrace& of, uint32_t row) { return of.categories->of(row); }),
      [](Category category) {
        NamedRow row;
        row.key = name(category);
        row.label = title(category);
        return row;
      });
}

std::vector<NamedRow> diffBySize(const DiffSide& a, const DiffSide& b) {
  return namedRows(blocksBy<int>(a, b,
                                 [](const AnalysedTrace& of, uint32_t row) {
                                   return sizeClass(of.trace.allocations.block_bytes[row]);
                                 }),
                   [](int exponent) {
                     NamedRow row;
                     row.key = fmt::format("{}", uint64_t{1} << exponent);
                     row.label = sizeClassLabel(exponent);
                     return row;
                   });
}

std::vector<NamedRow> diffBySegment(const DiffSide& a, const DiffSide& b) {
  std::map<SegmentClass, DiffRow> by_class;
  addSegments(a, true, by_class);
  addSegments(b, false, by_class);
  return namedRows(by_class, describeSegments);
}

}  // namespace tidegauge::analysis

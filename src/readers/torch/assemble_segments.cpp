#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/sizes.h"
#include "readers/torch/assemble.h"

namespace tidegauge::readers::torch {
namespace {

using model::IssueKind;

struct SegmentRow {
  std::optional<int32_t> device;  // absent: the file contains an impossible one
  uint64_t address = 0;
  uint64_t total_bytes = model::kUnknownBytes;
  uint64_t allocated_bytes = model::kUnknownBytes;
  uint64_t active_bytes = model::kUnknownBytes;
  uint64_t requested_bytes = model::kUnknownBytes;
  bool expandable = false;
  bool small_pool = false;
  bool has_type = false;
  bool has_total = false;
  model::StreamId stream{0};
  model::PoolId pool{0};
  model::StackId stack;
  uint32_t forward = ForwardStacks::kNone;
  Value blocks;
};

struct BlockRow {
  uint64_t address = model::kUnknownBytes;
  uint64_t size_bytes = 0;
  uint64_t requested_bytes = model::kUnknownBytes;
  model::BlockState state = model::BlockState::kUnknown;
  model::StackId stack;
  uint32_t forward = ForwardStacks::kNone;
  Value history;
};

class SegmentReader {
 public:
  SegmentReader(model::Trace& trace, Columns& columns)
      : trace_(trace), columns_(columns), values_(columns.values()) {}

  base::Status readList(Value list, bool host);
  void sortByDevice();

 private:
  uint64_t sizeOf(Value value, Place place, std::string_view key);
  SegmentRow readSegment(Value dict, bool host);
  BlockRow readBlock(Value dict);
  void readHistory(BlockRow& block);
  model::BlockState stateOf(Value value);
  base::Status addBlocks(const SegmentRow& segment);
  void addSegment(const SegmentRow& row, uint64_t block_begin);
  void reportStray(const SegmentRow& segment);

  model::Trace& trace_;
  Columns& columns_;
  Values& values_;
};

uint64_t SegmentReader::sizeOf(Value value, Place place, std::string_view key) {
  auto size_bytes = values_.unsignedOf(value);
  if (size_bytes && *size_bytes <= base::kMaxSizeBytes) return *size_bytes;
  columns_.oddities().badValue(place, key);
  return model::kUnknownBytes;
}

SegmentRow SegmentReader::readSegment(Value dict, bool host) {
  SegmentRow row;
  row.device = host ? kHostOrdinal : 0;
  Oddities& odd = columns_.oddities();
  KeySet keys;
  values_.tree().forEachPair(dict.index(), [&](Value key, Value value) {
    if (!keys.meet(key.word())) odd.duplicateKey(Place::kSegment, key);
    switch (key.word()) {
      case Word::kDevice: {
        if (host) break;  // always −1
        auto ordinal = values_.signedOf(value);
        bool known = ordinal && *ordinal >= 0 && *ordinal < kMaxDevices;
        row.device = known ? std::optional(static_cast<int32_t>(*ordinal)) : std::nullopt;
        break;
      }
      case Word::kAddress: {
        auto address = values_.addressOf(value);
        if (!address) odd.badValue(Place::kSegment, "address");
        row.address = address.value_or(0);
        break;
      }
      case Word::kTotalSize:
        row.has_total = true;
        row.total_bytes = sizeOf(value, Place::kSegment, "total_size");
        break;
      case Word::kAllocatedSize:
        row.allocated_bytes = sizeOf(value, Place::kSegment, "allocated_size");
        break;
      case Word::kActiveSize:
        row.active_bytes = sizeOf(value, Place::kSegment, "active_size");
        break;
      case Word::kRequestedSize:
        row.requested_bytes = sizeOf(value, Place::kSegment, "requested_size");
        break;
      case Word::kStream:
        row.stream = columns_.streamOf(value, Place::kSegment);
        break;
      case Word::kSegmentType:
        row.small_pool = value.word() == Word::kSmall;
        row.has_type = row.small_pool || value.word() == Word::kLarge;
        if (!row.has_type) odd.badValue(Place::kSegment, "segment_type");
        break;
      case Word::kSegmentPoolId:
        row.pool = columns_.poolOf(value, Place::kSegment);
        break;
      case Word::kIsExpandable: {
        auto expandable = values_.boolOf(value);
        if (!expandable) odd.badValue(Place::kSegment, "is_expandable");
        row.expandable = expandable.value_or(false);
        break;
      }
      case Word::kFrames:
        row.stack = columns_.stackOf(value, Place::kSegment);
        break;
      case Word::kForwardFrames:
        row.forward = columns_.forwardOf(value, Place::kSegment);
        break;
      case Word::kBlocks:
        row.blocks = value;
        break;
      default:
        odd.unknownKey(Place::kSegment, key);
        break;
    }
  });
  return row;
}

model::BlockState SegmentReader::stateOf(Value value) {
  switch (value.word()) {
    case Word::kActiveAllocated:
      return model::BlockState::kActiveAllocated;
    case Word::kActivePendingFree:
    case Word::kActiveAwaitingFree:
      return model::BlockState::kActivePendingFree;
    case Word::kInactive:
      return model::BlockState::kInactive;
    default:
      columns_.oddities().badValue(Place::kBlock, "state");
      return model::BlockState::kUnknown;
  }
}

BlockRow SegmentReader::readBlock(Value dict) {
  BlockRow row;
  Oddities& odd = columns_.oddities();
  KeySet keys;
  values_.tree().forEachPair(dict.index(), [&](Value key, Value value) {
    if (!keys.meet(key.word())) odd.duplicateKey(Place::kBlock, key);
    switch (key.word()) {
      case Word::kAddress: {
        auto address = values_.addressOf(value);
        if (!address) odd.badValue(Place::kBlock, "address");
        row.address = address.value_or(model::kUnknownBytes);
        break;
      }
      case Word::kSize:
        row.size_bytes = sizeOf(value, Place::kBlock, "size");
        // Blocks are contiguous, so a size is needed.
        if (row.size_bytes == model::kUnknownBytes) row.size_bytes = 0;
        break;
      case Word::kRequestedSize:
        row.requested_bytes = sizeOf(value, Place::kBlock, "requested_size");
        break;
      case Word::kState:
        row.state = stateOf(value);
        break;
      case Word::kFrames:
        row.stack = columns_.stackOf(value, Place::kBlock);
        break;
      case Word::kForwardFrames:
        row.forward = columns_.forwardOf(value, Place::kBlock);
        break;
      case Word::kHistory:
        row.history = value;
        break;
      default:
        odd.unknownKey(Place::kBlock, key);
        break;
    }
  });
  return row;
}

// torch 2.0: the uses of the block, newest first. Only the newest entry is current.
void SegmentReader::readHistory(BlockRow& block) {
  if (!block.history.isSequence()) return;
  Value newest;
  values_.tree().forEachItem(block.history.index(), [&](Value entry) {
    if (newest.tag() == Tag::kNothing) newest = entry;
  });
  if (!isOtherDict(values_, newest)) return;
  values_.tree().forEachPair(newest.index(), [&](Value key, Value value) {
    if (key.word() == Word::kRealSize) {
      block.requested_bytes = sizeOf(value, Place::kBlock, "real_size");
    }
    if (key.word() == Word::kFrames) block.stack = columns_.stackOf(value, Place::kBlock);
  });
}

base::Status SegmentReader::addBlocks(const SegmentRow& segment) {
  if (!segment.blocks.isSequence()) {
    bool none = segment.blocks.tag() == Tag::kEmptyList || segment.blocks.tag() == Tag::kNothing;
    if (!none) columns_.oddities().badValue(Place::kSegment, "blocks");
    return base::okStatus();
  }
  model::FinalBlocks& blocks = trace_.final_blocks;
  // If many segments share one list, the blocks must not outgrow the input.
  uint64_t count = values_.tree().itemCount(segment.blocks.index());
  if (blocks.size() + count > values_.inputBytes()) {
    return base::Error{base::ErrorKind::kLimit, "the file claims more blocks than its size allows",
                       std::nullopt, "PyTorch does not write such files."};
  }
  uint64_t address = segment.address;
  values_.tree().forEachItem(segment.blocks.index(), [&](Value item) {
    if (!isOtherDict(values_, item)) {
      columns_.oddities().badValue(Place::kSegment, "blocks");
      return;
    }
    BlockRow block = readBlock(item);
    if (block.history.tag() != Tag::kNothing) readHistory(block);
    bool active = block.state == model::BlockState::kActiveAllocated ||
                  block.state == model::BlockState::kActivePendingFree;
    if (block.requested_bytes == model::kUnknownBytes) {
      if (active) columns_.oddities().missingKey(Place::kBlock, "requested_size");
      block.requested_bytes = active ? block.size_bytes : 0;
    }
    // torch 2.0 has no addresses; if there are some, blocks are contiguous.
    if (block.address != model::kUnknownBytes && block.address != address) {
      columns_.oddities().badValue(Place::kBlock, "address");
    }
    blocks.address.push_back(address);
    blocks.size_bytes.push_back(block.size_bytes);
    blocks.requested_bytes.push_back(block.requested_bytes);
    blocks.state.push_back(block.state);
    blocks.stack.push_back(columns_.withForward(block.stack, block.forward));
    address += block.size_bytes;
  });
  return base::okStatus();
}

// Memory of an impossible device must not count for another one.
void SegmentReader::reportStray(const SegmentRow& segment) {
  bool known = segment.total_bytes != model::kUnknownBytes;
  columns_.oddities().badValue(Place::kSegment, "device", known ? segment.total_bytes : 0);
}

void SegmentReader::addSegment(const SegmentRow& row, uint64_t block_begin) {
  uint64_t total_bytes = row.total_bytes;
  if (total_bytes == model::kUnknownBytes) {
    if (!row.has_total) columns_.oddities().missingKey(Place::kSegment, "total_size");
    const auto& sizes = trace_.final_blocks.size_bytes;
    total_bytes = std::accumulate(sizes.begin() + static_cast<ptrdiff_t>(block_begin), sizes.end(),
                                  uint64_t{0});
  }
  auto kind = model::SegmentKind::kUnknown;
  if (row.has_type) kind = row.small_pool ? model::SegmentKind::kSmall : model::SegmentKind::kLarge;
  if (row.expandable) kind = model::SegmentKind::kExpandable;
  model::FinalSegments& segments = trace_.final_segments;
  segments.device.push_back(*row.device);
  segments.address.push_back(row.address);
  segments.total_bytes.push_back(total_bytes);
  segments.allocated_bytes.push_back(row.allocated_bytes);
  segments.active_bytes.push_back(row.active_bytes);
  segments.requested_bytes.push_back(row.requested_bytes);
  segments.kind.push_back(kind);
  segments.small_pool.push_back(row.small_pool);
  segments.stream.push_back(row.stream);
  segments.pool.push_back(row.pool);
  segments.stack.push_back(columns_.withForward(row.stack, row.forward));
  segments.block_begin.push_back(block_begin);
  segments.block_end.push_back(trace_.final_blocks.size());
}

base::Status SegmentReader::readList(Value list, bool host) {
  if (!list.isSequence()) {
    bool none =
        list.tag() == Tag::kEmptyList || list.tag() == Tag::kNothing || list.tag() == Tag::kNone;
    if (!none) columns_.oddities().badValue(Place::kTopLevel, host ? "host_segments" : "segments");
    return base::okStatus();
  }
  std::vector<Value> items;
  values_.tree().forEachItem(list.index(), [&](Value item) { items.push_back(item); });
  for (Value item : items) {
    if (!isOtherDict(values_, item)) {
      columns_.oddities().badValue(Place::kTopLevel, host ? "host_segments" : "segments");
      continue;
    }
    uint64_t block_begin = trace_.final_blocks.size();
    SegmentRow segment = readSegment(item, host);
    if (!segment.device) {
      reportStray(segment);
      continue;
    }
    TG_RETURN_IF_ERROR(addBlocks(segment));
    addSegment(segment, block_begin);
  }
  return base::okStatus();
}

template <class Column>
void permute(Column& column, const std::vector<size_t>& order) {
  Column sorted;
  sorted.reserve(order.size());
  for (size_t from : order) sorted.push_back(column[from]);
  column = std::move(sorted);
}

// The segments of a device are one range of rows, by ascending address. torch writes them so.
void SegmentReader::sortByDevice() {
  model::FinalSegments& segments = trace_.final_segments;
  std::vector<size_t> order(segments.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto before = [&](size_t a, size_t b) {
    // Pinned host memory (−1) comes last, as in Trace::devices.
    auto device_a = static_cast<uint32_t>(segments.device[a]);
    auto device_b = static_cast<uint32_t>(segments.device[b]);
    if (device_a != device_b) return device_a < device_b;
    return segments.address[a] < segments.address[b];
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
    permute(segments.device, order);
    permute(segments.address, order);
    permute(segments.total_bytes, order);
    permute(segments.allocated_bytes, order);
    permute(segments.active_bytes, order);
    permute(segments.requested_bytes, order);
    permute(segments.kind, order);
    permute(segments.small_pool, order);
    permute(segments.stream, order);
    permute(segments.pool, order);
    permute(segments.stack, order);
    permute(segments.block_begin, order);
    permute(segments.block_end, order);
  }
  for (size_t begin = 0; begin < segments.size();) {
    size_t end = begin;
    while (end < segments.size() && segments.device[end] == segments.device[begin]) ++end;
    model::Device& device = deviceRow(trace_, segments.device[begin]);
    device.final_segment_begin = begin;
    device.final_segment_end = end;
    begin = end;
  }
}

}  // namespace

base::Status assembleSegments(model::Trace& trace, Columns& columns, Value segments,
                              Value host_segments) {
  SegmentReader reader(trace, columns);
  TG_RETURN_IF_ERROR(reader.readList(segments, false));
  TG_RETURN_IF_ERROR(reader.readList(host_segments, true));
  reader.sortByDevice();
  return base::okStatus();
}

}  // namespace tidegauge::readers::torch

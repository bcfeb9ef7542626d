// PickleWriter: pickles opcode by opcode, for tests that need bytes no pickler would write.
//
//   PickleWriter().proto().dict().mark().str("segments").list().setItems().stop().bytes()
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "readers/torch/snapshot_reader.h"

namespace tidegauge::readers::torch {

class PickleWriter {
 public:
  PickleWriter& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  PickleWriter& op(uint8_t code) {
    bytes_ += static_cast<char>(code);
    return *this;
  }
  PickleWriter& proto(uint8_t number = 4) { return op(0x80).op(number); }
  PickleWriter& dict() { return op('}'); }
  PickleWriter& list() { return op(']'); }
  PickleWriter& mark() { return op('('); }
  PickleWriter& setItems() { return op('u'); }
  PickleWriter& setItem() { return op('s'); }
  PickleWriter& append() { return op('a'); }
  PickleWriter& appends() { return op('e'); }
  PickleWriter& memoize() { return op(0x94); }
  PickleWriter& get(uint8_t slot) { return op('h').op(slot); }
  PickleWriter& put(uint8_t slot) { return op('q').op(slot); }
  PickleWriter& pair() { return op(0x86); }
  PickleWriter& stop() { return op('.'); }
  PickleWriter& number(int64_t value) {
    return op(0x8a).op(8).little(static_cast<uint64_t>(value), 8);
  }
  PickleWriter& str(std::string_view text) { return op('X').little(text.size(), 4).raw(text); }
  PickleWriter& little(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i, value >>= 8) op(static_cast<uint8_t>(value));
    return *this;
  }
  // A whole event dict, without a list of frames.
  PickleWriter& event(std::string_view action, int64_t address, int64_t size_bytes) {
    return dict()
        .mark()
        .str("action")
        .str(action)
        .str("addr")
        .number(address)
        .str("size")
        .number(size_bytes)
        .str("stream")
        .number(0)
        .setItems();
  }
  PickleWriter& frame(std::string_view file, int64_t line, std::string_view name) {
    return dict()
        .mark()
        .str("filename")
        .str(file)
        .str("line")
        .number(line)
        .str("name")
        .str(name)
        .setItems();
  }
  // The beginning of {"segments": [], "device_traces": [[ …
  PickleWriter& beginTrace() {
    return proto()
        .dict()
        .mark()
        .str("segments")
        .list()
        .str("device_traces")
        .list()
        .mark()
        .list()
        .mark();
  }
  // … ]]}
  PickleWriter& endTrace() { return appends().appends().setItems().stop(); }

  std::span<const uint8_t> bytes() const {
    return {reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()};
  }
  size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

inline std::span<const uint8_t> asBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

inline base::Result<model::Trace> read(const PickleWriter& pickle) {
  return readSnapshot(pickle.bytes(), "test", {});
}

inline base::Result<model::Trace> readText(std::string_view json) {
  return readSnapshot(asBytes(json), "test", {});
}

}  // namespace tidegauge::readers::torch

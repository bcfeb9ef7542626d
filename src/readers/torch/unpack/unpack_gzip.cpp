#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "readers/torch/unpack/unpack.h"

namespace tidegauge::readers::torch {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int kGzip = MAX_WBITS + 16;
constexpr int kRaw = -MAX_WBITS;

Error cutOff(uint64_t offset) {
  return {ErrorKind::kUnreadable, "the compressed data is cut off", offset, "Copy the file again."};
}

Error damaged(const char* zlibs_words, uint64_t offset) {
  const char* words = zlibs_words == nullptr ? "a preset dictionary" : zlibs_words;
  return {ErrorKind::kUnreadable, fmt::format("the compressed data is damaged ({})", words), offset,
          "Copy the file again."};
}

// zlib counts in 32 bits; larger buffers go through in steps.
uInt step(uint64_t bytes) {
  return static_cast<uInt>(std::min<uint64_t>(bytes, std::numeric_limits<uInt>::max()));
}

class Inflater {
 public:
  explicit Inflater(int window_bits) { ready_ = inflateInit2(&stream_, window_bits) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }

  base::Result<Decompressed> run(std::span<const uint8_t> input, bool members,
                                 UnpackBudget& budget);

 private:
  bool grow(base::ByteBuffer& buffer, uint64_t input_bytes, const UnpackBudget& budget) const {
    uint64_t wanted = std::max<uint64_t>({4096, input_bytes * 4, buffer.capacity() * 2});
    wanted = std::min(wanted, budget.leftBytes());
    if (wanted <= buffer.capacity()) return false;
    buffer.reserve(wanted);
    return true;
  }

  z_stream stream_{};
  bool ready_ = false;
};

base::Result<Decompressed> Inflater::run(std::span<const uint8_t> input, bool members,
                                         UnpackBudget& budget) {
  if (!ready_) return Error{ErrorKind::kLimit, "not enough memory to unpack", 0, ""};
  Decompressed result;
  base::ByteBuffer& output = result.bytes;
  uint64_t read = 0, written = 0;
  bool checked = false;  // its start
  for (;;) {
    if (written == output.capacity() && !grow(output, input.size(), budget)) return budget.error();
    uint64_t room = checked ? output.capacity() : std::min(output.capacity(), kUnpackedStart);
    uInt input_step = step(input.size() - read);
    uInt output_step = step(room - written);
    stream_.next_in = const_cast<Bytef*>(input.data() + read);
    stream_.avail_in = input_step;
    stream_.next_out = output.data() + written;
    stream_.avail_out = output_step;
    int status = inflate(&stream_, Z_NO_FLUSH);
    read += input_step - stream_.avail_in;
    written += output_step - stream_.avail_out;
    if (status == Z_STREAM_END) {
      // Several gzip files may follow each other in one file.
      if (!members || !isGzip(input.subspan(read))) break;
      if (inflateReset(&stream_) != Z_OK) return cutOff(read);
    } else if (status == Z_BUF_ERROR
                   ? stream_.avail_out != 0
                   : status == Z_OK && read == input.size() && stream_.avail_out != 0) {
      return cutOff(read);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      return damaged(stream_.msg, read);
    }
    if (!checked && written == kUnpackedStart) {
      checked = true;
      result.is_whole = mayBecomeReadable({output.data(), written});
      if (!result.is_whole) break;
    }
  }
  (void)budget.take(written);
  output.setSize(written);
  auto rest = input.subspan(read);
  bool padding = std::all_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte == 0; });
  if (members && result.is_whole && !padding) result.trailing_bytes = rest.size();
  return result;
}

}  // namespace

bool isGzip(std::span<const uint8_t> input) {
  return input.size() >= 2 && input[0] == 0x1f && input[1] == 0x8b;
}

base::Result<Decompressed> unpackGzip(std::span<const uint8_t> input, UnpackBudget& budget) {
  return Inflater(kGzip).run(input, true, budget);
}

base::Result<Decompressed> unpackDeflate(std::span<const uint8_t> input, UnpackBudget& budget) {
  return Inflater(kRaw).run(input, false, budget);
}

}  // namespace tidegauge::readers::torch

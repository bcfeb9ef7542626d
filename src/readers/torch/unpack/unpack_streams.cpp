// xz and bzip2: two decoders under one loop, with the same bounds as gzip.
#include <bzlib.h>
#include <fmt/format.h>
#include <lzma.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "readers/torch/unpack/unpack.h"

namespace tidegauge::readers::torch {
namespace {

using base::Error;
using base::ErrorKind;

// What one call of a decoder came to.
enum class Step : uint8_t { kMore, kEnd, kDamaged, kTooLarge };

struct Progress {
  Step step = Step::kMore;
  size_t read = 0, written = 0;
  const char* words = "";  // for kDamaged
};

class XzDecoder {
 public:
  // The dictionary is memory requested by the file: no more than its size can justify.
  bool begin(const UnpackBudget& budget) {
    constexpr uint64_t kUsualBytes = uint64_t{128} << 20;  // xz -9 needs 65 MiB
    uint64_t most_bytes = std::max(kUsualBytes, std::min(budget.leftBytes(), uint64_t{1} << 31));
    return lzma_stream_decoder(&stream_, most_bytes, 0) == LZMA_OK;
  }
  void end() { lzma_end(&stream_); }

  Progress run(std::span<const uint8_t> in, uint8_t* out, size_t room) {
    stream_.next_in = in.data();
    stream_.avail_in = in.size();
    stream_.next_out = out;
    stream_.avail_out = room;
    lzma_ret status = lzma_code(&stream_, LZMA_RUN);
    Progress progress{.read = in.size() - stream_.avail_in, .written = room - stream_.avail_out};
    if (status == LZMA_STREAM_END) {
      progress.step = Step::kEnd;
    } else if (status == LZMA_MEMLIMIT_ERROR || status == LZMA_MEM_ERROR) {
      progress.step = Step::kTooLarge;
    } else if (status != LZMA_OK && status != LZMA_BUF_ERROR) {
      progress.step = Step::kDamaged;
      progress.words = status == LZMA_DATA_ERROR     ? "it does not match its checksum"
                       : status == LZMA_FORMAT_ERROR ? "it is not xz"
                                                     : "an option is not supported";
    }
    return progress;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class Bzip2Decoder {
 public:
  bool begin(const UnpackBudget&) { return BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK; }
  void end() { BZ2_bzDecompressEnd(&stream_); }

  Progress run(std::span<const uint8_t> in, uint8_t* out, size_t room) {
    // bzip2 counts in 32 bits; larger buffers go through in steps.
    constexpr size_t kMost = std::numeric_limits<unsigned>::max();
    auto in_step = static_cast<unsigned>(std::min(in.size(), kMost));
    auto out_step = static_cast<unsigned>(std::min(room, kMost));
    stream_.next_in = const_cast<char*>(reinterpret_cast<const char*>(in.data()));
    stream_.avail_in = in_step;
    stream_.next_out = reinterpret_cast<char*>(out);
    stream_.avail_out = out_step;
    int status = BZ2_bzDecompress(&stream_);
    Progress progress{.read = in_step - stream_.avail_in, .written = out_step - stream_.avail_out};
    if (status == BZ_STREAM_END) {
      progress.step = Step::kEnd;
    } else if (status == BZ_MEM_ERROR) {
      progress.step = Step::kTooLarge;
    } else if (status != BZ_OK) {
      progress.step = Step::kDamaged;
      progress.words = status == BZ_DATA_ERROR ? "it does not match its checksum" : "not bzip2";
    }
    return progress;
  }

 private:
  bz_stream stream_{};
};

bool growOutput(base::ByteBuffer& buffer, uint64_t input_bytes, const UnpackBudget& budget) {
  uint64_t wanted = std::max<uint64_t>({kUnpackedStart, input_bytes * 4, buffer.capacity() * 2});
  wanted = std::min(wanted, budget.leftBytes());
  if (wanted <= buffer.capacity()) return false;
  buffer.reserve(wanted);
  return true;
}

// All streams that follow each other; `starts` recognises one.
template <class Decoder>
base::Result<Decompressed> decodeAll(std::span<const uint8_t> input, UnpackBudget& budget,
                                     bool (*starts)(std::span<const uint8_t>)) {
  Decoder decoder;
  Error no_memory{ErrorKind::kLimit, "not enough memory to unpack", 0, ""};
  if (!decoder.begin(budget)) return no_memory;
  Decompressed result;
  base::ByteBuffer& output = result.bytes;
  size_t read = 0, written = 0;
  bool checked = false;  // its start
  std::optional<Error> error;
  while (!error) {
    if (written == output.capacity() && !growOutput(output, input.size(), budget)) {
      error = budget.error();
      break;
    }
    size_t room = (checked ? output.capacity() : std::min(output.capacity(), kUnpackedStart));
    Progress step = decoder.run(input.subspan(read), output.data() + written, room - written);
    read += step.read;
    written += step.written;
    if (step.step == Step::kDamaged) {
      error = Error{ErrorKind::kUnreadable,
                    fmt::format("the compressed data is damaged ({})", step.words), read,
                    "Copy the file again."};
    } else if (step.step == Step::kTooLarge) {
      error = no_memory;
    } else if (step.step == Step::kEnd) {
      if (!starts(input.subspan(read))) break;
      decoder.end();
      decoder = Decoder();
      if (!decoder.begin(budget)) error = no_memory;
    } else if (read == input.size() && step.written == 0) {
      error = Error{ErrorKind::kUnreadable, "the compressed data is cut off", read,
                    "Copy the file again."};
    }
    if (!checked && written == kUnpackedStart) {
      checked = true;
      result.is_whole = mayBecomeReadable({output.data(), written});
      if (!result.is_whole) break;
    }
  }
  decoder.end();
  if (error) return std::move(*error);
  (void)budget.take(written);
  output.setSize(written);
  auto rest = input.subspan(read);
  bool padding = std::all_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte == 0; });
  if (result.is_whole && !padding) result.trailing_bytes = rest.size();
  return result;
}

bool startsWith(std::span<const uint8_t> input, std::string_view magic) {
  return input.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), input.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

}  // namespace

bool isXz(std::span<const uint8_t> input) {
  return startsWith(input, std::string_view("\xfd"
                                            "7zXZ\0",
                                            6));
}

base::Result<Decompressed> unpackXz(std::span<const uint8_t> input, UnpackBudget& budget) {
  return decodeAll<XzDecoder>(input, budget, isXz);
}

bool isBzip2(std::span<const uint8_t> input) {
  return startsWith(input, "BZh") && input.size() > 3 && input[3] >= '1' && input[3] <= '9';
}

base::Result<Decompressed> unpackBzip2(std::span<const uint8_t> input, UnpackBudget& budget) {
  return decodeAll<Bzip2Decoder>(input, budget, isBzip2);
}

}  // namespace tidegauge::readers::torch

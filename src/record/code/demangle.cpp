#include "record/code/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace tidegauge::record {
namespace {

constexpr size_t kMaxDemangled = 4096;
// Each level that doubles the text needs two, so the text is at most 2^16 times as long as the
// name.
constexpr size_t kMaxReferences = 32;
constexpr size_t kLongestWithReferences = 1024;

bool refersTooOften(std::string_view name) {
  size_t references = 0;
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    char next = name[i + 1];
    bool to_earlier = next == '_' || (next >= '0' && next <= '9') || (next >= 'A' && next <= 'Z');
    references += (name[i] == 'S' || name[i] == 'T') && to_earlier;
  }
  return references > kMaxReferences || (references > 0 && name.size() > kLongestWithReferences);
}

}  // namespace

std::string demangled(std::string_view name) {
  std::string plain(name.substr(0, kMaxDemangled));
  if (!name.starts_with("_Z") || name.size() > kMaxDemangled || refersTooOften(name)) return plain;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return plain;
  return std::string(std::string_view(text.get()).substr(0, kMaxDemangled));
}

}  // namespace tidegauge::record

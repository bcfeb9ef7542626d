// The loader's cache, /etc/ld.so.cache: which file each library's name stands for.
//
//   "glibc-ld.so.cache1.1", 2 libraries   {"libcuda.so.1", "/usr/lib/x86_64-linux/libcuda.so.1"}
//
// Source: glibc's sysdeps/generic/dl-cache.h (new format, also behind one of the old format). Input
// may be damaged or hostile: then what is readable, each path once. Cost: O(libraries).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::record {

using Wanted = std::function<bool(std::string_view path)>;

std::vector<std::string> pathsOfLoaderCache(std::string_view cache, const Wanted& wanted);
// The files in the folders of LD_LIBRARY_PATH, as far as they can be read.
std::vector<std::string> filesOfPath(std::string_view folders, const Wanted& wanted);

}  // namespace tidegauge::record

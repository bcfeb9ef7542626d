// The loader's cache, /etc/ld.so.cache: which file each library's name stands for.
//
//   "glibc-ld.so.cache1.1", 2 libraries   {"libcuda.so.1", "/usr/lib/x86_64-linux/libcuda.so.1"}
//
// Source: glibc's sysdeps/generic/dl-cache.h (new format, also behind one of the old format). Input
// may be damaged: then what is readable. Cost: O(libraries).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::record {

std::vector<std::string> pathsOfLoaderCache(std::string_view cache);
// The files in the folders of LD_LIBRARY_PATH, as far as they can be read.
std::vector<std::string> filesOfPath(std::string_view folders);

}  // namespace tidegauge::record

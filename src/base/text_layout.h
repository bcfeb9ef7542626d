// Text on a terminal: display width, cutting with "…", wrapping with an indent. Width counts code
// points; wide East Asian characters and emoji count as two, combining marks as none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tidegauge::base {

size_t displayWidth(std::string_view text);
// At most `columns` wide; "…" is the last character if something was cut.
std::string cutTo(std::string_view text, size_t columns);
// The same, keeping the end: "…d e f".
std::string cutFront(std::string_view text, size_t columns);
// The same, keeping both ends, a third of it for the last. Numbers are not cut but left out. "a
// b…f"
std::string cutMiddle(std::string_view text, size_t columns);
// The same for a path: leading folders are left out, "…/lib/libtorch.so"; the last name stays while
// it fits.
std::string cutFolders(std::string_view path, size_t columns);
std::string padLeft(std::string_view text, size_t columns);
std::string padRight(std::string_view text, size_t columns);
// Lines of at most `columns`, each beginning with `indent` spaces, all but the first with `hanging`
// more; ends with a newline.
std::string wrapped(std::string_view text, size_t columns, size_t indent, size_t hanging = 0);
// Untrusted text could control the terminal: control characters (also C1 and direction marks)
// become "·", bytes that are not UTF-8 become "�".
std::string printable(std::string_view text);

}  // namespace tidegauge::base

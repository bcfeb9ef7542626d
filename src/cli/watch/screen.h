// The whole terminal for a program that redraws itself; as it was when the object goes.
//
//   Screen screen;
//   screen.draw(lines, 3);                      // the fourth line stands out
//   while (auto key = screen.key()) …           // 'q', Key::kUp …; nothing if none was pressed
#pragma once

#include <termios.h>

#include <optional>
#include <string>
#include <vector>

namespace tidegauge::cli {

struct Key {
  enum Special : int { kUp = 1000, kDown, kEscape, kEnter, kErase };
};

class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  size_t columns() const;
  size_t rows() const;
  // Lines that do not fit below are left out. `bright`: the line that stands out, −1 for none.
  void draw(const std::vector<std::string>& lines, int bright);
  // A character, or one of Key. Does not wait.
  std::optional<int> key();

 private:
  void write(const std::string& text);
  termios before_{};
  std::string pressed_;
};

}  // namespace tidegauge::cli

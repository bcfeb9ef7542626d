#include "cli/watch/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace tidegauge::cli {
namespace {

winsize windowSize() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size = {24, 80, 0, 0};
  return size;
}

}  // namespace

Screen::Screen() {
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write("\x1b[?1049h\x1b[?25l");  // the other screen, no cursor
}

Screen::~Screen() {
  write("\x1b[?25h\x1b[?1049l");
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

size_t Screen::columns() const { return windowSize().ws_col; }
size_t Screen::rows() const { return windowSize().ws_row; }

void Screen::write(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t written = ::write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (written > 0)
      at += static_cast<size_t>(written);
    else if (errno != EINTR && errno != EAGAIN)
      return;
  }
}

void Screen::draw(const std::vector<std::string>& lines, int bright) {
  std::string text = "\x1b[H";
  size_t count = std::min(lines.size(), rows());
  for (size_t i = 0; i < count; ++i) {
    bool stands_out = static_cast<int>(i) == bright;
    text += (stands_out ? "\x1b[7m" : "") + lines[i] + (stands_out ? "\x1b[0m" : "") + "\x1b[K";
    if (i + 1 < count) text += "\r\n";
  }
  write(text + "\x1b[J");
}

std::optional<int> Screen::key() {
  std::array<char, 64> bytes{};
  ssize_t got = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (got > 0) pressed_.append(bytes.data(), static_cast<size_t>(got));
  if (pressed_.empty()) return std::nullopt;
  auto take = [&](size_t count, int key) {
    pressed_.erase(0, count);
    return key;
  };
  if (pressed_.starts_with("\x1b[A") || pressed_.starts_with("\x1bOA")) return take(3, Key::kUp);
  if (pressed_.starts_with("\x1b[B") || pressed_.starts_with("\x1bOB")) return take(3, Key::kDown);
  if (pressed_.starts_with("\x1b[") || pressed_.starts_with("\x1bO")) {  // another key: ignored
    take(pressed_.size(), 0);
    return std::nullopt;
  }
  char c = pressed_[0];
  if (c == '\x1b') return take(1, Key::kEscape);
  if (c == '\n' || c == '\r') return take(1, Key::kEnter);
  if (c == '\x7f' || c == '\b') return take(1, Key::kErase);
  return take(1, static_cast<unsigned char>(c));
}

}  // namespace tidegauge::cli

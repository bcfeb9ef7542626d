// The output of wss for given rows: an hour of them takes no time here.
#include "cli/wss/wss_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <type_traits>

#include "cli/wss/wss_file.h"
#include "support/bytes.h"
#include "support/temp_folder.h"
#include "wss/file/suggested_limit.h"

namespace tidegauge::cli {
namespace {

// Measures nothing.
class NoBackend final : public wss::Backend {
 public:
  explicit NoBackend(bool tells_writes) : Backend({.tells_writes = tells_writes}) {}
  std::string_view name() const override { return "none"; }
  std::string how() const override { return "nothing"; }
  std::vector<std::string> limits() const override { return {}; }
  base::Result<wss::Clearing> clear(const wss::Process&, wss::Clock&) override {
    return wss::Clearing{};
  }
  base::Result<wss::Reading> read(const wss::Process&, wss::Clock&) override {
    return wss::Reading{};
  }
};

template <class Group, class T>
WssOptions with(Group WssOptions::*group, T Group::*option, std::type_identity_t<T> value) {
  WssOptions options;
  options.*group.*option = std::move(value);
  return options;
}

// The whole output for that number of windows of a minute.
std::string printed(WssOptions options, int windows, bool tells_writes = false) {
  options.targets.pids = {getpid()};
  options.course.seconds = "60";
  wss::Plan plan{.course = wss::Course::kSnapshots, .duration_ns = 60'000'000'000};
  wss::Process process = wss::Process::open(getpid()).value();
  wss::Choice choice;
  choice.backend = std::make_unique<NoBackend>(tells_writes);
  std::FILE* file = std::tmpfile();
  {
    Output out(file);
    WssWriter writer(options, plan, process, choice, out);
    wss::Row row;
    row.window = {plan.duration_ns, plan.duration_ns, plan.duration_ns};
    row.sums = {.rss = 64 * kMiB, .referenced = 20 * kMiB};
    for (int i = 0; i < windows; ++i) EXPECT_TRUE(writer.row(row));
    EXPECT_EQ(writer.end(base::okStatus()), 0);
    EXPECT_EQ(out.finish(0), 0);
  }
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

bool suggests(const std::string& text) {
  return text.find("A memory limit of 22.0 MiB is enough") != std::string::npos;
}

TEST(WssWriter, ALongRunEndsWithTheLimitThatItSuggests) {
  EXPECT_TRUE(suggests(printed({}, 60))) << printed({}, 60);
  EXPECT_TRUE(suggests(printed(with(&WssOptions::form, &WssForm::by, "kind"), 60)));
}

TEST(WssWriter, AShortRunSaysNothingOfLimits) {
  EXPECT_EQ(printed({}, 59).find("memory limit"), std::string::npos);
}

TEST(WssWriter, WhatIsForProgramsOrOfWritesHasNone) {
  EXPECT_EQ(printed(with(&WssOptions::form, &WssForm::csv, true), 60).find("memory limit"),
            std::string::npos);
  EXPECT_EQ(printed(with(&WssOptions::form, &WssForm::jsonl, true), 60).find("memory limit"),
            std::string::npos);
  EXPECT_EQ(printed({}, 60, true).find("memory limit"), std::string::npos);
}

TEST(WssWriter, TheFileSaysTheSame) {
  testing::TempFolder folder;
  std::string path = folder.file("kept.jsonl");
  EXPECT_TRUE(suggests(printed(with(&WssOptions::files, &WssFiles::output, path), 60)));
  auto kept = wss::readMeasurementFile(path);
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_TRUE(suggests(wss::suggestedLimit(kept.value())->text()));
  EXPECT_TRUE(kept.value().samples[0].shortage);
}

TEST(WssWriter, TheFileOfWritesSaysThatTheyAre) {
  testing::TempFolder folder;
  std::string path = folder.file("kept.jsonl");
  printed(with(&WssOptions::files, &WssFiles::output, path), 2, true);
  auto kept = wss::readMeasurementFile(path);
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_TRUE(kept.value().head.tells_writes);
  EXPECT_EQ(kept.value().samples[0].row.sums.referenced, 20 * kMiB);
  EXPECT_EQ(kept.value().head.pressure_cgroup,
            wss::MemoryScope::of(wss::Process::open(getpid()).value()).cgroup());
}

TEST(WssFile, AWordThatIsNoNumberAndIsThereIsAFile) {
  testing::TempFolder folder;
  std::ofstream(folder.file("notes.txt")) << "hello\n";
  auto isFile = [](const std::string& word) {
    WssOptions options;
    options.words = {word};
    return isWssFile(options);
  };
  EXPECT_TRUE(isFile(folder.path()));
  EXPECT_TRUE(isFile(folder.file("notes.txt")));
  EXPECT_TRUE(isFile("/dev/zero"));
  EXPECT_FALSE(isFile("4711"));
  EXPECT_FALSE(isFile("0.1"));
  EXPECT_FALSE(isFile(folder.file("nothing")));
}

}  // namespace
}  // namespace tidegauge::cli

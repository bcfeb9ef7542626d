// Files of measurements that are older, newer, cut or from anybody.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/temp_folder.h"
#include "unit/wss/made_measurement.h"
#include "wss/file/measurement_page.h"
#include "wss/file/measurement_text.h"

namespace tidegauge::wss {
namespace {

TEST(Measurement, SaysWhatIsWrongAndWhere) {
  std::string good = file(head("rolling"), 1);
  auto but = [&](const std::string& what, const std::string& by) { return with(good, what, by); };
  EXPECT_EQ(errorOf(""), "line 1: the file is empty");
  EXPECT_EQ(errorOf("{}\n"), "line 1: this is not a file of `tidegauge wss -o`");
  EXPECT_EQ(errorOf(R"({"tidegauge_wss":1)"), "line 1: the file ends inside this line");
  EXPECT_EQ(errorOf(but("\"rolling\"", "\"waltz\"")),
            "line 1: this version does not know this \"course\"");
  EXPECT_EQ(errorOf(but("\"mysqld\"", "3")),
            "line 1: \"process\" is not text, or longer than 4096 bytes");
  EXPECT_EQ(errorOf(but("\"mysqld\"", fmt::format("\"{:a>5000}\"", ""))),
            "line 1: \"process\" is not text, or longer than 4096 bytes");
  EXPECT_EQ(errorOf(but("\"rss\":1048576", "\"rss\":0.5")),
            "line 2: \"rss\" is not a whole number");
  EXPECT_EQ(errorOf(but("\"one thing\"", "7")),
            "line 1: one of \"limits\" is not text, or too long");
  EXPECT_EQ(errorOf(but("\"exact\"", "\"guess\"")),
            "line 2: this version does not know this \"method\"");
  EXPECT_EQ(errorOf(but("\"shortage\":\"none\"", "\"shortage\":\"some\"")),
            "line 2: this version does not know this \"shortage\"");
  EXPECT_EQ(errorOf(but("\"windows\":2", "\"windows\":1")),
            "line 2: \"windows\" do not grow, or are longer than any clock counts");
  EXPECT_EQ(errorOf(but("\"rss\":1048576", "\"rss\":-1")),
            "line 2: \"rss\" is not from 0 to 9.0072e+15");
  EXPECT_EQ(errorOf(but("\"cost\"", "\"price\"")), "line 2: \"cost\" is not an object");
  EXPECT_EQ(errorOf(but(",16,8]", ",16,17]")), "line 2: a cell is out of order, or cannot be");
  EXPECT_EQ(errorOf(but(",16,8]", ",16]")),
            "line 2: a cell is not [address, pages, touched pages]");
  EXPECT_EQ(errorOf(but(fmt::format("\"end\":{}", kAddress + kMiB), "\"end\":3")),
            "line 2: a mapping ends before it begins");
  EXPECT_EQ(errorOf(but("\"time\"", "\"x\":" + std::string(100000, '[') + "],\"time\"")),
            "line 2: it is nested deeper than 16");
}

TEST(Measurement, BoundsALine) {
  std::string text = headLine(head("single")) + "\n" + std::string(kMaxLineBytes + 1, ' ');
  EXPECT_EQ(errorOf(text), fmt::format("line 2: longer than {} bytes", kMaxLineBytes));
}

TEST(MeasurementRead, KnowsOneVersionAlone) {
  std::string good = file(head("single"), 1);
  for (const char* version : {"0", "-1", "1.0", "1.5", "\"1\"", "null", "true", "[1]"}) {
    EXPECT_EQ(errorOf(with(good, "wss\":1", std::string("wss\":") + version)),
              "line 1: \"tidegauge_wss\" is not a version of the format; "
              "this tidegauge reads version 1")
        << version;
  }
  auto newer = read(with(good, "wss\":1,", "wss\":2,\"is_new\":true,"));
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().what,
            "line 1: the file has version 2 of the format, and this tidegauge reads version 1");
  EXPECT_EQ(newer.error().hint, "Use a newer tidegauge");
  // Whatever else a newer version contains, the error names the version.
  EXPECT_EQ(errorOf("{\"tidegauge_wss\":2}\n"), newer.error().what);
}

TEST(MeasurementRead, KnowsEveryKindAndNoOther) {
  for (const char* kind :
       {"heap", "stack", "anonymous", "file", "shared", "hugetlb", "device", "kernel", "pinned"}) {
    auto measurement = read(with(file(head("single"), 1), "\"kind\":\"anonymous\"",
                                 fmt::format("\"kind\":\"{}\"", kind)));
    ASSERT_TRUE(measurement.ok()) << kind << ": " << measurement.error().what;
    std::string kinds;
    for (const MappingUse& use : measurement.value().samples[0].row.uses)
      kinds += std::string(name(use.mapping.kind)) + " ";
    EXPECT_NE(kinds.find(kind), std::string::npos) << kinds;
  }
  std::string two = file(head("single"), 2);
  EXPECT_EQ(errorOf(two.substr(0, two.rfind("\"kind\":\"anonymous\"")) + "\"kind\":\"frozen\"" +
                    two.substr(two.rfind("\"kind\":\"anonymous\"") + 18)),
            "line 3: this version does not know the \"kind\" of a mapping: frozen");
}

TEST(MeasurementRead, TimeNeverRunsBackwards) {
  for (const char* course : {"rolling", "cumulative"}) {
    MeasurementHead of = head(course);
    Rolling last = rolling(4);
    std::string text = headLine(of) + "\n";
    double taken_s = 0;
    for (double unix_s : {1000.0, 1001.0, 400.0, 401.0, 402.0}) {
      Row one = row(20);
      taken_s += 0.5;
      one.taken_ns = of.course == "rolling" ? 500'000'000 : std::llround(taken_s * 1e9);
      text += rowLine(of, one, unix_s, of.course == "rolling" ? &last : nullptr) + "\n";
    }
    auto measurement = read(text);
    ASSERT_TRUE(measurement.ok()) << measurement.error().what;
    std::vector<double> times;
    for (const auto& sample : measurement.value().samples) times.push_back(sample.time_s);
    ASSERT_EQ(times.size(), 5U);
    for (size_t i = 0; i < times.size(); ++i)
      EXPECT_NEAR(times[i], (std::array{0.1, 1.1, 1.6, 2.6, 3.6}[i]), 1e-6) << course << i;
    double before_s = 0;
    for (const HeatMap::Column& column : measurement.value().heat.columns()) {
      EXPECT_GE(column.begin_s, before_s);
      EXPECT_GE(column.end_s, column.begin_s);
      before_s = column.end_s;
    }
    std::string told = measurementText(measurement.value(), 5, 200, false);
    EXPECT_NE(told.find("The clock was set back during the measurement"), std::string::npos);
  }
  EXPECT_FALSE(read(file(head("rolling"), 3)).value().is_clock_set_back);
}

TEST(MeasurementRead, WindowsThatOverlapHaveNoNegativeWidth) {
  MeasurementHead of = head("rolling");
  Rolling last = rolling(4);
  std::string text = headLine(of) + "\n";
  for (double unix_s : {1000.0, 1000.0, 1000.01})  // each of 0.1 s
    text += rowLine(of, row(20), unix_s, &last) + "\n";
  auto measurement = read(text);
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  double before_s = 0;
  for (const HeatMap::Column& column : measurement.value().heat.columns()) {
    EXPECT_GE(column.begin_s, before_s);
    EXPECT_GE(column.end_s, column.begin_s);
    before_s = column.end_s;
  }
}

TEST(MeasurementRead, MissingValuesOfAnOlderFileAreNotZero) {
  MeasurementHead of = head("single");
  of.knows_sharing = true;
  auto older = [](const std::string& line, std::initializer_list<const char*> without) {
    auto json = nlohmann::json::parse(line);
    json.erase("tidegauge_wss");
    for (const char* field : without) json.erase(field);
    auto strip = [](nlohmann::json& bytes) {
      for (const char* name : {"huge", "pss", "swap"}) bytes.erase(name);
    };
    if (json.contains("bytes")) strip(json["bytes"]);
    if (json.contains("groups"))
      for (nlohmann::json& group : json["groups"]) strip(group["bytes"]);
    if (json.contains("error")) json["error"].erase("unmapped_marks_bytes");
    return json.dump();
  };
  std::string text = "{\"tidegauge_wss\":1," +
                     older(headLine(of), {"tells_writes", "pressure_cgroup"}).substr(1) + "\n" +
                     older(rowLine(of, row(20), 1000, nullptr), {"pressure"}) + "\n";
  auto measurement = read(text);
  ASSERT_TRUE(measurement.ok()) << measurement.error().what << text;
  const Measurement& it = measurement.value();
  EXPECT_FALSE(it.tells(&MappingSums::huge));
  EXPECT_FALSE(it.tells(&MappingSums::pss));
  EXPECT_TRUE(it.tells(&MappingSums::rss));
  EXPECT_FALSE(it.samples[0].shortage);
  std::string told = measurementText(it, 5, 100, false);
  EXPECT_NE(told.find("This file does not contain: pss, huge, swap."), std::string::npos) << told;
  // PSS, what others touched, and the share of huge pages have a dash.
  EXPECT_NE(told.find("          -      20.00  31.2        -     - "), std::string::npos) << told;
  auto page = nlohmann::json::parse(measurementPage(it));
  EXPECT_TRUE(page["mappings"][0]["huge"].is_null());
  EXPECT_TRUE(page["windows"][0]["shortage"].is_null());
  EXPECT_EQ(page["careful"].back(), "This file does not contain: pss, huge, swap.");
  EXPECT_EQ(errorOf(with(file(of, 1), "\"rss\"", "\"old\"")), "line 2: \"rss\" is not a number");
}

TEST(MeasurementRead, OneMeasurementIsOneFile) {
  EXPECT_EQ(errorOf(file(head("single"), 1) + file(head("single"), 1)),
            "line 3: another measurement begins here, and each measurement needs its own file");
}

TEST(MeasurementRead, NumbersThatAreNoneAreErrors) {
  std::string good = file(head("single"), 1);
  for (const char* number : {"1e400", "-1e400", "NaN", "Infinity", "0x10"})
    EXPECT_EQ(errorOf(with(good, "\"slept_s\":0.0", std::string("\"slept_s\":") + number)),
              "line 2: it is not a JSON object")
        << number;
  EXPECT_EQ(errorOf(with(good, "\"slept_s\":0.0", "\"slept_s\":1e308")),
            "line 2: \"slept_s\" is not from 0 to 1e+09");
}

TEST(MeasurementRead, WhereverItIsCutTheRestIsReportedAndTheCut) {
  std::string text = file(head("rolling"), 3);
  size_t head_end = text.find('\n');
  for (size_t size = 0; size < text.size(); size += size < head_end ? 13 : 7) {
    auto measurement = read(text.substr(0, size));
    if (size < head_end) {
      EXPECT_FALSE(measurement.ok()) << size;
      continue;
    }
    ASSERT_TRUE(measurement.ok()) << size << measurement.error().what;
    size_t whole = 0;  // a line that lacks its end alone is whole
    for (size_t end = text.find('\n', head_end + 1); end <= size; end = text.find('\n', end + 1))
      ++whole;
    EXPECT_EQ(measurement.value().samples.size(), whole) << size;
    bool is_at_end = size == head_end || text[size] == '\n' || text[size - 1] == '\n';
    EXPECT_EQ(measurement.value().is_cut, !is_at_end) << size;
  }
  auto cut = read(text.substr(0, text.size() - 30));
  EXPECT_NE(measurementText(cut.value(), 5, 100, false).find("The file ends inside a line"),
            std::string::npos);
}

TEST(MeasurementRead, NestingIsBoundedAndBracketsInNamesAreNone) {
  std::string good = file(head("single"), 1);
  auto nested = [&](size_t deep) {
    return with(good, "\"taken_s\"",
                "\"x\":" + std::string(deep, '[') + std::string(deep, ']') + ",\"taken_s\"");
  };
  EXPECT_EQ(errorOf(nested(15)), "none");  // the row is one more
  EXPECT_EQ(errorOf(nested(16)), "line 2: it is nested deeper than 16");
  EXPECT_EQ(errorOf(with(good, "/lib/libc.so", R"(a\"[[[[[[[[[[[[[[[[[[[[{{{{{{\\)")), "none");
}

// A list of objects is read in time by their number, not by its square: that would be hours here.
TEST(MeasurementRead, AMillionObjectsAreReadAtOnce) {
  std::string objects = "{}";
  for (int i = 0; i < 1'000'000; ++i) objects += ",{}";
  EXPECT_EQ(
      errorOf(with(file(head("single"), 1), "\"taken_s\"", "\"x\":[" + objects + "],\"taken_s\"")),
      "none");
}

TEST(MeasurementRead, FiguresThatNoMachineHasOverflowNothing) {
  EXPECT_EQ(errorOf(with(file(head("rolling"), 1), "\"window_s\":0.1}", "\"window_s\":1e9}")),
            "line 2: \"windows\" do not grow, or are longer than any clock counts");
  Row fast = row(20, 1);
  fast.sums.referenced = uint64_t{1} << 53;
  EXPECT_EQ(writeRate(fast), 1e18);
}

// Every field of every line in turn, with invalid values: an error that names the line, or a valid
// measurement.
TEST(MeasurementRead, AnyValueInAnyFieldIsAnErrorOrShown) {
  const std::vector<nlohmann::json> values{nullptr,
                                           true,
                                           "",
                                           "x",
                                           -1,
                                           0,
                                           0.5,
                                           7,
                                           1e18,
                                           1e300,
                                           UINT64_MAX,
                                           INT64_MIN,
                                           nlohmann::json::array(),
                                           nlohmann::json::object(),
                                           {1, {2, {3}}}};
  for (const char* course : {"rolling", "profile", "snapshots"}) {
    std::istringstream lines(file(head(course), 2));
    std::vector<std::string> whole;
    for (std::string line; std::getline(lines, line);) whole.push_back(line);
    size_t told = 0, refused = 0;
    for (size_t at = 0; at < whole.size(); ++at) {
      const nlohmann::json sound = nlohmann::json::parse(whole[at]);
      const nlohmann::json fields = sound.flatten();
      for (const auto& [pointer, was] : fields.items()) {
        for (const nlohmann::json& value : values) {
          nlohmann::json spoilt = sound;
          spoilt[nlohmann::json::json_pointer(pointer)] = value;
          std::string line = spoilt.dump();
          if (at == 0) {  // the version comes first
            bool has_version = spoilt["tidegauge_wss"] == 1;
            spoilt.erase("tidegauge_wss");
            line = "{\"tidegauge_wss\":" + std::string(has_version ? "1" : "3") + "," +
                   spoilt.dump().substr(1);
          }
          std::string text;
          for (size_t i = 0; i < whole.size(); ++i) text += (i == at ? line : whole[i]) + "\n";
          auto measurement = read(text);
          if (!measurement.ok()) {
            ++refused;
            const std::string& what = measurement.error().what;
            bool contradicts_rows = at == 0 && what.starts_with("line 2: ");
            EXPECT_TRUE(what.starts_with(fmt::format("line {}: ", at + 1)) || contradicts_rows)
                << pointer << " " << value << ": " << what;
            continue;
          }
          ++told;
          EXPECT_FALSE(measurementText(measurement.value(), 5, 80, false).empty());
          EXPECT_FALSE(measurementPage(measurement.value()).empty());
        }
      }
    }
    EXPECT_GT(told, 100U);
    EXPECT_GT(refused, told);
  }
}

TEST(MeasurementRead, OpensNothingThatMayNeverEnd) {
  testing::TempFolder folder;
  std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, folder.path(), std::string("/dev/zero")}) {
    EXPECT_FALSE(isMeasurementFile(path)) << path;
    auto measurement = readMeasurementFile(path);
    ASSERT_FALSE(measurement.ok()) << path;
    EXPECT_EQ(measurement.error().what,
              "this is a folder, a pipe or a device, not a file of `tidegauge wss -o`");
  }
  EXPECT_EQ(readMeasurementFile(folder.file("none")).error().what, "it cannot be opened");
  std::ofstream(folder.file("sparse")) << headLine(head("single")) << '\n';
  std::filesystem::resize_file(folder.file("sparse"), uint64_t{8} << 30);  // a line of GBs
  EXPECT_EQ(readMeasurementFile(folder.file("sparse")).error().what,
            fmt::format("line 2: longer than {} bytes", kMaxLineBytes));
}

}  // namespace
}  // namespace tidegauge::wss

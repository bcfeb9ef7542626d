// A recording that grows while it is shown. The truth: the answers of a server that opened the file
// anew.
#include "server/follower.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "readers/recording/open_recording.h"
#include "server/http/json.h"
#include "support/call_stream.h"
#include "support/recording_file.h"
#include "support/worked_recording.h"

namespace tidegauge::server {
namespace {

using model::MemoryKind;
using testing::CallStream;
using testing::RecordingFile;

Session sessionOf(const std::string& path) {
  auto traces = readers::recording::openRecording(path, {});
  EXPECT_TRUE(traces.ok()) << traces.error().what;
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> analysed;
  for (model::Trace& trace : traces.value()) {
    trace.source.name = path + "/" + trace.source.name;
    analysed.push_back(std::make_unique<analysis::AnalysedTrace>(std::move(trace)));
  }
  Session session = openSession(std::move(analysed));
  for (auto& file : session.files) file->recording = path;
  return session;
}

Response ask(Application& app, const std::string& question, const std::string& body = "") {
  Request request;
  request.target = "/secret/api/" + question;
  request.hosts = {"127.0.0.1:8800"};
  if (!body.empty()) {
    request.method = Method::kPost;
    request.content_type = "application/json";
    request.body = body;
  }
  return app.answer(request, {});
}

json askJson(Application& app, const std::string& question, const std::string& body = "") {
  Response response = ask(app, question, body);
  EXPECT_EQ(response.status, 200) << question << ": " << response.body;
  return json::parse(response.body, nullptr, false);
}

class Growing : public ::testing::Test {
 protected:
  // Calls of pid 41 + process on device `process`; addresses and times continue from part to part.
  void grow(uint32_t process, int calls) {
    CallStream part;
    for (int i = 0; i < calls; ++i) {
      uint64_t address = 0x100000 * (++made_);
      part.allocate(MemoryKind::kDevice, address, 4096 * (i % 5 + 1))
          .device(static_cast<int32_t>(made_ % 2))
          .stack(static_cast<uint32_t>(made_ % 7))
          .process(process);
      if (i % 3 == 0) part.free(MemoryKind::kDevice, address).process(process);
    }
    std::vector<model::MemoryCall> all = part.all();
    for (model::MemoryCall& call : all) {
      call.start_ns += time_ns_;
      call.end_ns += time_ns_;
    }
    time_ns_ += 1'000'000;
    file_.write(all);
  }

  // Opens the current file.
  void start() {
    FollowedRecording followed{file_.path(), readers::recording::stampOf(file_.path()), 0, nullptr};
    Session session = sessionOf(file_.path());
    followRecordings(session, {followed});
    app_ = std::make_unique<Application>(std::move(session), Gate("secret", 8800));
    follower_ = std::make_unique<Follower>(*app_, std::vector{followed}, nullptr);
  }

  // Until it has been read again; the least wait between two readings is half a second.
  void follow() {
    for (int i = 0; i < 600 && !follower_->look(); ++i) {
      ask(*app_, "follow");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  // All questions of the page about a file, to both servers.
  void expectAsAfresh() {
    Application fresh(sessionOf(file_.path()), Gate("secret", 8800));
    size_t files = askJson(*app_, "session")["files"].size();
    ASSERT_EQ(askJson(fresh, "session")["files"].size(), files);
    size_t asked = 0;
    for (size_t file = 0; file < files; ++file) {
      json info = askJson(*app_, "session")["files"][file];
      json truth = askJson(fresh, "session")["files"][file];
      // a file whose process did nothing stays as it was read, and so does the size it was read at
      for (const char* mine : {"gen", "recording", "file_bytes", "data_bytes"}) {
        info.erase(mine);
        truth.erase(mine);
      }
      EXPECT_EQ(info, truth);
      for (const json& device : truth["devices"]) {
        std::string place = "file=" + std::to_string(file) + "&device=" + device["ordinal"].dump();
        std::string all = "&x0=0&x1=" + device["events"].dump() + "&columns=64";
        for (std::string question :
             {"overview?" + place, "at?axis=step&x=1e9&" + place, "legend?step=3&by=stack&" + place,
              "state?step=1000000&" + place, "events?limit=1000&" + place,
              "table?name=allocations&limit=1000&" + place, "table?name=stacks&" + place,
              "table?name=kernels&" + place, "flame?of=peak&" + place, "growth?" + place,
              "lines?axis=step&" + place + all, "ranges?" + place, "search?q=main&" + place}) {
          Response here = ask(*app_, question);
          Response there = ask(fresh, question);
          EXPECT_EQ(here.status, there.status) << question;
          std::string mine = here.body;
          std::string theirs = there.body;
          if (question.starts_with("search")) {  // numbers of marks differ between servers
            json a = json::parse(mine, nullptr, false), b = json::parse(theirs, nullptr, false);
            a.erase("mark");
            b.erase("mark");
            mine = a.dump();
            theirs = b.dump();
          }
          EXPECT_EQ(mine, theirs) << question;
          ++asked;
        }
      }
    }
    EXPECT_GT(asked, 10U);
  }

  RecordingFile file_;
  std::unique_ptr<Application> app_;
  std::unique_ptr<Follower> follower_;
  uint64_t made_ = 0;
  int64_t time_ns_ = 0;
};

TEST_F(Growing, IsAsIfOpenedAfresh) {
  grow(0, 40);
  start();
  expectAsAfresh();
  grow(0, 60);
  follow();
  expectAsAfresh();
  testing::RecordingFile other;  // another file does not matter
  grow(0, 10);
  follow();
  expectAsAfresh();
}

TEST_F(Growing, ATraceThatNobodyReadsAnyMoreIsContinued) {
  grow(0, 200);
  start();
  for (int i = 0; i < 7; ++i) {
    time_ns_ += 2'000'000'000;  // so what came before is settled
    grow(0, 300);
    follow();
    expectAsAfresh();
  }
  EXPECT_GT(follower_->continuedTraces(), 2U);
}

TEST_F(Growing, NewProcessesAreNewFilesAndOthersStay) {
  grow(0, 10);
  start();
  EXPECT_EQ(askJson(*app_, "follow")["gens"], json::array({0}));
  grow(1, 10);
  follow();
  // the processes table of the first has a row more
  EXPECT_EQ(askJson(*app_, "follow")["gens"], json::array({1, 1}));
  grow(1, 10);
  follow();
  EXPECT_EQ(askJson(*app_, "follow")["gens"], json::array({1, 2}));
  expectAsAfresh();
}

TEST_F(Growing, TheFirstProcessTakesThePlaceThatWasEmpty) {
  file_.write({});
  start();
  EXPECT_EQ(askJson(*app_, "session")["files"][0]["devices"].size(), 0U);
  grow(3, 10);
  follow();
  json files = askJson(*app_, "session")["files"];
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0]["name"], "pid 44 python");
  expectAsAfresh();
}

TEST_F(Growing, AnswersOfTwoReadingsAreNotMixed) {
  grow(0, 20);
  start();
  Response old_events = ask(*app_, "events?file=0&device=0&limit=1000&gen=0");
  grow(0, 20);
  follow();
  // a client that has not seen the new generation gets the old one
  EXPECT_EQ(ask(*app_, "events?file=0&device=0&limit=1000&gen=0").body, old_events.body);
  Response new_events = ask(*app_, "events?file=0&device=0&limit=1000&gen=1");
  EXPECT_EQ(new_events.status, 200);
  EXPECT_NE(new_events.body, old_events.body);
  EXPECT_EQ(ask(*app_, "events?file=0&device=0&limit=1000").body, new_events.body);
  json count = askJson(*app_, "sql?file=0&gen=0", R"({"sql": "SELECT count(*) FROM events"})");
  json now = askJson(*app_, "sql?file=0&gen=1", R"({"sql": "SELECT count(*) FROM events"})");
  EXPECT_LT(count["rows"][0][0], now["rows"][0][0]);
  grow(0, 20);
  follow();
  EXPECT_EQ(ask(*app_, "events?file=0&device=0&gen=0").status, 409);
  EXPECT_EQ(ask(*app_, "events?file=0&device=0&gen=7").status, 409);
  EXPECT_EQ(ask(*app_, "events?file=0&device=0&gen=x").status, 409);
}

TEST_F(Growing, AMarkIsNotTakenForOneOfAnotherReading) {
  grow(0, 20);
  start();
  json before = askJson(*app_, "search?file=0&device=0&gen=0&q=main");
  grow(0, 20);
  follow();
  json after = askJson(*app_, "search?file=0&device=0&gen=1&q=main");
  EXPECT_NE(before["mark"], after["mark"]);
  EXPECT_LT(before["count"], after["count"]);
  std::string hit = "hit?file=0&index=0&mark=" + before["mark"].dump();
  EXPECT_EQ(ask(*app_, hit + "&gen=1").status, 400);
  EXPECT_EQ(ask(*app_, hit + "&gen=0").status, 200);
}

TEST_F(Growing, WhatWasChosenIsFoundAgain) {
  grow(0, 20);
  start();
  // the last block of the second device: the rows of the first come before it
  json old_rows =
      askJson(*app_, "table?file=0&device=1&gen=0&name=allocations&sort=id&limit=1000")["rows"];
  json chosen = old_rows[0];  // by id, descending
  json segment =
      askJson(*app_, "table?file=0&device=1&gen=0&name=segments&sort=id&limit=1000")["rows"][0];
  grow(0, 20);
  follow();
  json moved = askJson(*app_, "moved?file=0&gen=1&from=0&allocation=" + chosen[0].dump() +
                                  "&segment=" + segment[0].dump());
  EXPECT_GT(moved["allocation"], chosen[0]);
  json rows =
      askJson(*app_, "table?file=0&device=1&gen=1&name=allocations&sort=id&limit=1000")["rows"];
  size_t found = 0;
  for (const json& row : rows) {
    if (row[0] != moved["allocation"]) continue;
    EXPECT_EQ(row[1], chosen[1]);  // address
    EXPECT_EQ(row[5], chosen[5]);  // first step
    ++found;
  }
  EXPECT_EQ(found, 1U);
  json allocation = askJson(*app_, "moved?file=0&gen=1&from=0&allocation=4000000");
  EXPECT_EQ(allocation["allocation"], nullptr);
  EXPECT_EQ(ask(*app_, "moved?file=0&gen=1&allocation=1").status, 400);
  EXPECT_EQ(askJson(*app_, "moved?file=0&gen=1&from=9&allocation=1")["allocation"], nullptr);
}

TEST_F(Growing, NothingIsReadWhileNobodyAsks) {
  grow(0, 20);
  start();
  // the page exists at the start; then it closes
  std::this_thread::sleep_for(std::chrono::milliseconds(5100));
  grow(0, 20);
  EXPECT_FALSE(follower_->look());
  json standing = askJson(*app_, "session")["recordings"][0];
  EXPECT_TRUE(standing["behind"].get<bool>());
  EXPECT_EQ(askJson(*app_, "follow")["gens"], json::array({0}));
  EXPECT_TRUE(follower_->look());  // there was a question
  EXPECT_EQ(askJson(*app_, "follow")["gens"], json::array({1}));
}

TEST_F(Growing, ReadingAgainTakesATenthOfTheTimeOrAQuarterIfItIsShort) {
  grow(0, 20);
  start();
  grow(0, 20);
  follow();
  json standing = askJson(*app_, "session")["recordings"][0];
  auto read_s = standing["read_s"].get<double>();
  EXPECT_GE(standing["wait_s"].get<double>(), (read_s <= 0.1 ? 3 : 9) * read_s);
  // Too early, whatever was written. A machine that stands still for longer decides nothing.
  bool decided = false;
  for (int tries = 0; tries < 50 && !decided; ++tries) {
    grow(0, 20);
    follow();
    auto read_at = std::chrono::steady_clock::now();
    double wait_s = askJson(*app_, "session")["recordings"][0]["wait_s"];
    grow(0, 20);
    ask(*app_, "follow");
    bool read = follower_->look();
    std::chrono::duration<double> since = std::chrono::steady_clock::now() - read_at;
    if (since.count() > 0.8 * wait_s) continue;
    EXPECT_FALSE(read);
    decided = true;
  }
  EXPECT_TRUE(decided);
}

TEST_F(Growing, TheEndIsSaid) {
  grow(0, 20);
  start();
  follower_->look();
  EXPECT_EQ(askJson(*app_, "session")["recordings"][0]["state"], "recording");
  file_.finish();
  follow();
  json session = askJson(*app_, "session");
  EXPECT_EQ(session["recordings"][0]["state"], "ended");
  EXPECT_EQ(session["recordings"][0]["events"], session["files"][0]["events"]);
  expectAsAfresh();
}

TEST_F(Growing, ARecordingThatVanishesStaysAsItWasRead) {
  grow(0, 20);
  start();
  Response before = ask(*app_, "events?file=0&device=0");
  std::filesystem::rename(file_.path(), file_.path() + ".away");
  EXPECT_FALSE(follower_->look());
  json standing = askJson(*app_, "session")["recordings"][0];
  EXPECT_EQ(standing["state"], "stopped");
  EXPECT_EQ(standing["error"], "the file no longer exists");
  EXPECT_EQ(ask(*app_, "events?file=0&device=0").body, before.body);
}

TEST_F(Growing, KernelsAndCopiesGrowToo) {
  grow(0, 5);
  start();
  json none = askJson(*app_, "table?file=0&name=kernels");
  EXPECT_EQ(none["total"], 0);
  store::RecordingWriter& writer = file_.writer();
  store::LaunchRow row;
  row.begin_ns = 1;
  row.end_ns = 2;
  row.kernel = writer.addKernel(0, 1, "axpy").value();
  row.grid = row.block = {1, 1, 1};
  row.count = 5;
  ASSERT_TRUE(writer.addLaunches(row).ok());
  ASSERT_TRUE(writer.commit().ok());
  follow();
  json one = askJson(*app_, "table?file=0&name=kernels&sort=launches");
  ASSERT_EQ(one["rows"].size(), 1U);
  EXPECT_EQ(one["rows"][0][0], "axpy");
  EXPECT_EQ(one["rows"][0][1], 5);
  EXPECT_EQ(one["columns"][2]["kind"], "rate");
}

// The driver's own figures for its GPUs grow without any call.
TEST_F(Growing, TablesOfTheWholeRecordingGrowWithoutACall) {
  grow(0, 5);
  start();
  const std::string question = R"({"sql": "SELECT device, used_bytes FROM gpu_processes"})";
  EXPECT_EQ(askJson(*app_, "sql?file=0", question)["rows"], json::array());
  store::RecordingWriter& writer = file_.writer();
  ASSERT_TRUE(writer.addDeviceMemory({testing::kSecond_ns * 2, 0, {}, 7 << 20}).ok());
  ASSERT_TRUE(writer.addDeviceMemory({testing::kSecond_ns * 2, 0, 41, 5 << 20}).ok());
  ASSERT_TRUE(writer.commit().ok());
  follow();
  EXPECT_EQ(askJson(*app_, "follow")["gens"], json::array({0}));
  EXPECT_EQ(askJson(*app_, "sql?file=0", question)["rows"],
            json::parse("[[0, 5242880]]", nullptr, false));
}

TEST(NotFollowed, ASnapshotHasNoRecording) {
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  traces.push_back(std::make_unique<analysis::AnalysedTrace>(model::Trace()));
  Application app(openSession(std::move(traces)), Gate("secret", 8800));
  json session = askJson(app, "session");
  EXPECT_EQ(session["recordings"], json::array());
  EXPECT_EQ(session["files"][0]["recording"], nullptr);
  Follower follower(app, {}, nullptr);
  follower.start();
  EXPECT_FALSE(follower.look());
}

}  // namespace
}  // namespace tidegauge::server

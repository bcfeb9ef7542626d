#include "doctor/doctor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text_layout.h"
#include "doctor/doctor_text.h"

namespace tidegauge::doctor {
namespace {

MachineFacts goodMachine() {
  MachineFacts facts;
  facts.kernel_release = "6.18.44";
  facts.has_type_information = true;
  facts.lockdown = "integrity";
  facts.capabilities = uint64_t{1} << 39 | uint64_t{1} << 38 | uint64_t{1} << 19;
  facts.programs.works = true;
  facts.probes = Trial{true, {}};
  facts.links_many = true;
  facts.has_semaphores = true;
  facts.cgroup_mount = "/sys/fs/cgroup";
  facts.nvml_devices = 1;
  return facts;
}

const Finding& of(const std::vector<Finding>& findings, std::string_view what) {
  for (const Finding& it : findings)
    if (it.what == what) return it;
  static const Finding none;
  ADD_FAILURE() << "no finding " << what;
  return none;
}

TEST(Doctor, FindsNothingWrongWithAGoodMachine) {
  for (const Finding& it : judge(goodMachine())) {
    EXPECT_EQ(it.verdict, Verdict::kOk) << it.what;
    EXPECT_TRUE(it.means.empty() && it.remedy.empty()) << it.what;
    EXPECT_FALSE(it.found.empty()) << it.what;
  }
  EXPECT_TRUE(canRecord(goodMachine()));
}

TEST(Doctor, SaysWhatEachLackMeansAndHowToMendIt) {
  MachineFacts facts;  // a machine that has nothing
  facts.kernel_release = "5.4.0-100-generic";
  facts.lockdown = "confidentiality";
  facts.programs.why_not = "the kernel does not let this user load BPF programs";
  facts.ring_buffers = false;
  facts.own_pid_namespace = true;
  facts.nvml_problem = "there is no libnvidia-ml.so.1";
  EXPECT_FALSE(canRecord(facts));
  for (const Finding& it : judge(facts)) {
    EXPECT_NE(it.verdict, Verdict::kOk) << it.what;
    EXPECT_FALSE(it.means.empty()) << it.what;
    EXPECT_FALSE(it.remedy.empty()) << it.what;
  }
  EXPECT_EQ(of(judge(facts), "tp_btf").found, "not tested; Linux 5.5 and newer have it");
  EXPECT_EQ(of(judge(facts), "tp_btf").verdict, Verdict::kLimited);
  EXPECT_EQ(of(judge(facts), "ring buffers").verdict, Verdict::kMissing);
  MachineFacts container = goodMachine();
  container.own_pid_namespace = true;
  EXPECT_FALSE(canRecord(container));
  EXPECT_EQ(of(judge(container), "process numbers").verdict, Verdict::kMissing);
}

TEST(Doctor, ReportsWhatIsKnownAboutUntriedFeaturesAndHowToFindOut) {
  MachineFacts facts = goodMachine();
  facts.programs = {false, "Operation not permitted"};
  facts.probes.reset();
  facts.links_many.reset();
  for (const char* what : {"uprobe_multi", "probes", "ring buffers", "tp_btf"}) {
    Finding it = of(judge(facts), what);
    EXPECT_EQ(it.verdict, Verdict::kLimited) << what;
    EXPECT_EQ(it.found.find("not tested; Linux "), 0U) << it.found;
    EXPECT_EQ(it.means, "on 6.18.44 it should work");
    EXPECT_NE(it.remedy.find("as root"), std::string::npos);
  }
  facts.kernel_release = "6.1.0-18-amd64";
  EXPECT_EQ(of(judge(facts), "uprobe_multi").means, "on 6.1.0-18-amd64 it is unlikely to work");
}

TEST(Doctor, JudgesKernelsByVersionUnlessTheTrialWorked) {
  MachineFacts facts = goodMachine();
  facts.kernel_release = "5.14.0-570.el9";  // with the new links brought back
  EXPECT_EQ(of(judge(facts), "kernel").verdict, Verdict::kOk);
  facts.links_many = false;
  EXPECT_EQ(of(judge(facts), "uprobe_multi").verdict, Verdict::kLimited);
  EXPECT_TRUE(canRecord(facts)) << "with a link for each function";
  facts.probes = Trial{false, "Invalid argument"};
  EXPECT_EQ(of(judge(facts), "kernel").verdict, Verdict::kMissing);
  EXPECT_EQ(of(judge(facts), "probes").found, "Invalid argument");
  EXPECT_FALSE(canRecord(facts));
  facts.kernel_release = "nonsense";
  EXPECT_EQ(of(judge(facts), "kernel").verdict, Verdict::kMissing);
}

TEST(Doctor, TakesTheOldCapabilityForTheNewOnes) {
  MachineFacts facts = goodMachine();
  facts.capabilities = uint64_t{1} << 21;  // CAP_SYS_ADMIN
  EXPECT_EQ(of(judge(facts), "CAP_BPF").verdict, Verdict::kOk);
  EXPECT_EQ(of(judge(facts), "CAP_PERFMON").verdict, Verdict::kOk);
  EXPECT_EQ(of(judge(facts), "CAP_SYS_PTRACE").verdict, Verdict::kLimited);
  facts.capabilities = 0;
  EXPECT_EQ(of(judge(facts), "CAP_BPF").verdict, Verdict::kMissing);
}

TEST(Doctor, ReadsTheLoadersList) {
  auto paths = librariesOfLoader(
      "3 libs found in cache `/etc/ld.so.cache'\n"
      "\tlibz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1\n"
      "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
      "\tlibcudart.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.12");
  EXPECT_EQ(paths, (std::vector<std::string>{"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                                             "/usr/local/cuda/lib64/libcudart.so.12"}));
  EXPECT_TRUE(librariesOfLoader("").empty());
  EXPECT_TRUE(librariesOfLoader(" => ").empty());
}

TEST(Doctor, JudgesLibraries) {
  ExaminedLibrary driver{"/x/libcuda.so.1", record::Library::kDriver, 61, 72, 61, 2, {}};
  EXPECT_EQ(judge(std::vector{driver})[0].verdict, Verdict::kOk);
  EXPECT_EQ(judge(std::vector{driver})[0].found,
            "driver: 61 of 72 functions, 61 probed behind the stub; in 2 processes");
  driver.after_stub = 0;
  EXPECT_EQ(judge(std::vector{driver})[0].verdict, Verdict::kLimited);
  ExaminedLibrary torch{"/x/libc10_cuda.so", record::Library::kFramework, 0, 2, 0, 0, {}};
  auto findings = judge(std::vector{torch});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].what, "libcuda.so.1") << "that there is no driver comes first";
  EXPECT_EQ(findings[1].verdict, Verdict::kMissing);
}

TEST(Doctor, LooksAtFilesAsTheyAre) {
  EXPECT_FALSE(examineLibrary("/bin/true", "/bin/true"));
  EXPECT_FALSE(examineLibrary("/bin/true", "/bin/true", true)) << "a program without CUDA in it";
  auto none = examineLibrary("/nowhere/libcuda.so.1", "libcuda.so.1");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->problem.empty());
}

TEST(Doctor, WritesTextThatFitsThePage) {
  Diagnosis diagnosis{goodMachine(), {}};
  diagnosis.facts.capabilities = 0;
  diagnosis.libraries.push_back(
      {"/a/very/long/path/of/a/wheel/" + std::string(80, 'x') + "/libcuda.so.1",
       record::Library::kDriver,
       61,
       72,
       61,
       2,
       {}});
  std::string text = diagnosisText(diagnosis, 80);
  EXPECT_NE(text.find("missing  CAP_BPF            not held: BPF programs cannot be loaded. Run"),
            std::string::npos)
      << text;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    std::string line = text.substr(at, end - at);
    bool is_path = line.find("/a/very") != std::string::npos;
    EXPECT_TRUE(is_path || base::displayWidth(line) <= 80) << line;
  }
  EXPECT_EQ(text.substr(0, 24), "This machine can record.");
  EXPECT_NE(text.find("missing  CAP_BPF"), std::string::npos);
  EXPECT_EQ(text.find("\x1b"), std::string::npos);
  nlohmann::json json = diagnosisJson(diagnosis);
  EXPECT_EQ(json["can_record"], true);
  EXPECT_EQ(json["libraries"][0]["functions"], 61);
  EXPECT_EQ(json["machine"].size(), judge(diagnosis.facts).size());
}

}  // namespace
}  // namespace tidegauge::doctor

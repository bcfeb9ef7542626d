// Who touches memory unseen, by what a process has open.
#include "wss/process/unseen_touches.h"

#include <gtest/gtest.h>

#include "unit/wss/fake_proc.h"
#include "wss/process/descriptors.h"

namespace tidegauge::wss {
namespace {

class Unseen : public testing::Test {
 protected:
  Unseen() { std::filesystem::create_directories(folder() / "fdinfo"); }
  std::filesystem::path folder() const { return std::filesystem::path(proc_.root()) / "423"; }
  void opens(int descriptor, const std::string& target) const {
    std::filesystem::create_directory(folder() / "fd");
    std::filesystem::create_symlink(target, folder() / "fd" / std::to_string(descriptor));
  }
  std::vector<Toucher> found() const {
    auto process = Process::open(423, proc_.root());
    EXPECT_TRUE(process.ok());
    return unseenTouchesOf(process.value()).list();
  }
  FakeProc proc_;
};

TEST_F(Unseen, NothingOfFilesSocketsAndDescriptorsThatCannotBeRead) {
  EXPECT_TRUE(found().empty());
  opens(0, "/dev/null");
  opens(1, "socket:[4711]");
  opens(2, "/srv/anon_inode:kvm-vm");
  opens(3, "anon_inode:kvm-vcpu:0");
  EXPECT_TRUE(found().empty());
  EXPECT_EQ(unseenSentence({}), "");
}

TEST_F(Unseen, GuestsAndDevicesEachOnce) {
  opens(7, "anon_inode:kvm-vm");
  opens(8, "anon_inode:kvm-vm");
  opens(9, "/dev/vhost-net");
  opens(10, "/dev/infiniband/uverbs0");
  opens(11, "/dev/vfio/17");
  EXPECT_EQ(found(), (std::vector{Toucher::kKvm, Toucher::kVhost, Toucher::kRdma, Toucher::kVfio}));
  UnseenTouches two;
  two.add(Toucher::kRdma);
  two.add(Toucher::kKvm);
  EXPECT_EQ(unseenSentence(two),
            "Not seen here: touches by a guest of KVM, through page tables of its own; by a "
            "network device (RDMA). Ref is a lower bound. For one process, --backend damon and "
            "--backend idle see those of a guest.");
  two.remove(Toucher::kKvm);
  EXPECT_EQ(two.list(), std::vector{Toucher::kRdma});
}

TEST_F(Unseen, RingsWithRegisteredBuffersOnly) {
  opens(5, "anon_inode:[io_uring]");
  proc_.write("fdinfo/5", "pos:\t0\nUserFiles:\t3\nUserBufs:\t0\n");
  EXPECT_TRUE(found().empty());
  proc_.write("fdinfo/5", "UserFiles:\t3\nUserBufs:\t2\n    0: <none>\n    1: <none>\nPollList:\n");
  EXPECT_TRUE(found().empty());
  opens(6, "anon_inode:[io_uring]");
  proc_.write("fdinfo/6", "pos:\t0\nUserBufs:\t3\n    1: 0x7f00/4096\nPollList:\n");
  EXPECT_EQ(found(), std::vector{Toucher::kIoUring});
}

TEST_F(Unseen, ARingThatIsBusyMayHaveBuffers) {
  opens(5, "anon_inode:[io_uring]");
  proc_.write("fdinfo/5", "pos:\t0\n");
  EXPECT_EQ(found(), std::vector{Toucher::kIoUring});
}

TEST_F(Unseen, DescriptorsThatAreTooManyAreNotExamined) {
  for (int i = 0; i < 2 * kMaxDescriptors; ++i) opens(i, "/dev/null");
  auto process = Process::open(423, proc_.root());
  ASSERT_TRUE(process.ok());
  int visited = 0;
  eachDescriptor(process.value(), [&](const Descriptor&) { ++visited; });
  EXPECT_EQ(visited, kMaxDescriptors);
}

}  // namespace
}  // namespace tidegauge::wss

"""A user who may call sudo, for tests alone: the account exists in a mount namespace, where files lie
over /etc/passwd, /etc/group, /etc/shadow and /etc/sudoers. Nothing of the machine changes.

    with Account() as gauge:
        gauge.run("id", "-un")            # as that user → CompletedProcess
        gauge.run("id", "-un", user=None)  # as root, where the account exists
"""
import os
import pathlib
import shutil
import subprocess
import tempfile

NAME, UID, GID, MORE_GID = "gauge", 61234, 61234, 61235
OVER = "for f in passwd group shadow sudoers; do mount --bind \"$0/$f\" /etc/$f || exit 99; done; exec \"$@\""
NEEDED = {"sudo": "sudo", "setpriv": "util-linux", "unshare": "util-linux", "setcap": "libcap2-bin"}


def why_not():
    """What is missing; empty if nothing is."""
    missing = [package for program, package in NEEDED.items() if shutil.which(program) is None]
    return f"needs {' '.join(missing)} (apt-get install), and root" if missing else ""


class Account:
    def __init__(self, sudoers=""):
        self.temporary = tempfile.TemporaryDirectory(prefix="tidegauge-")
        top = pathlib.Path(self.temporary.name)
        top.chmod(0o755)
        self.etc, self.home = top / "etc", top / "home"
        self.etc.mkdir()
        self.home.mkdir()
        os.chown(self.home, UID, GID)
        self.write("passwd", 0o644, f"{NAME}:x:{UID}:{GID}::{self.home}:/bin/sh\n")
        self.write("group", 0o644, f"{NAME}:x:{GID}:\ndivers:x:{MORE_GID}:{NAME}\n")
        self.write("shadow", 0o640, f"{NAME}:*:19000:0:99999:7:::\n")
        (self.etc / "sudoers").write_text(
            "Defaults env_reset, secure_path=/usr/sbin:/usr/bin:/sbin:/bin\n" + sudoers +
            f"root ALL=(ALL:ALL) ALL\n{NAME} ALL=(ALL:ALL) NOPASSWD: ALL\n")
        (self.etc / "sudoers").chmod(0o440)

    def write(self, name, mode, line):
        path = self.etc / name
        path.write_text(pathlib.Path("/etc", name).read_text() + line)
        path.chmod(mode)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def run(self, *words, user=NAME, env=None, umask=0o027, **more):
        """As that user, in the home folder, with nothing but `env` and what every log-in sets."""
        become = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups",
                                          "--inh-caps=-all", "--"]
        home = str(self.home) if user else "/root"
        variables = {"HOME": home, "USER": user or "root", "LOGNAME": user or "root", "SHELL": "/bin/sh",
                     "PATH": "/usr/local/bin:/usr/bin:/bin", **(env or {})}
        return subprocess.run(["unshare", "--mount", "sh", "-c", OVER, str(self.etc), *become, *map(str, words)],
                              env=variables, cwd=self.home, umask=umask, capture_output=True, text=True,
                              timeout=60, check=False, **more)

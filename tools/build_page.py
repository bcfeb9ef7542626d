#!/usr/bin/env python3
"""Builds the page: npm ci if the lock file changed since the last install, then npm run build.

    tools/build_page.py --web web --npm /usr/bin/npm [--install-only]

The stamp node_modules/.tidegauge-lock holds the hash of the lock file that was installed.
"""

import argparse
import hashlib
import os
import pathlib
import subprocess
import sys


def lock_hash(web):
    digest = hashlib.sha256()
    for name in ("package.json", "package-lock.json", ".npmrc"):
        path = web / name
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def run(command, web):
    print("+", *command, flush=True)
    environment = dict(os.environ, npm_config_update_notifier="false")
    code = subprocess.run(command, cwd=web, env=environment, stdin=subprocess.DEVNULL).returncode
    if code != 0:
        sys.exit(f"{' '.join(command)} failed with exit code {code}")


def install(web, npm):
    stamp = web / "node_modules" / ".tidegauge-lock"
    wanted = lock_hash(web)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    run([npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], web)
    stamp.write_text(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--web", type=pathlib.Path, required=True, help="the folder of the page")
    parser.add_argument("--npm", default="npm", help="the npm program")
    parser.add_argument("--install-only", action="store_true", help="npm ci only")
    args = parser.parse_args()
    install(args.web, args.npm)
    if not args.install_only:
        run([args.npm, "run", "--silent", "build"], args.web)


if __name__ == "__main__":
    main()

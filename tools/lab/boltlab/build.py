# SPDX-License-Identifier: GPL-2.0
"""Builds what a run needs, once: lab kernel, modules for it, guest program, tc plugin.

Outputs live in the lab's cache under a hash of the sources they came from, so
that an edit rebuilds and nothing else does.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
LAB = TREE / "tools" / "lab"
KERNEL = LAB / "kernel"
QEMU = LAB / "qemu"
SOURCES = ("Kbuild", "Makefile", "dkms.conf", "include", "tcp_bolt", "sch_sfc", "tools/Makefile", "tools/outdir.mk", "tools/tc", "tools/lab/link",
           "tools/lab/guest")
SOURCE_SUFFIXES = {".c", ".h", ".S", ".map", ".mk", ".conf", ""}
# what make would not take as one plain word (tools/outdir.mk)
ODD = re.compile(r"""[\s'"`\\$#%&()*:;<=>?\[\]{|}]""")
# a guest has its own
NOT_THERE = ("/run", "/proc", "/sys", "/dev")
# the tree's command, or the package's
COMMAND = "tools/lab/lab" if (TREE / "selftests").is_dir() else "subrtt-lab"


class BuildError(Exception):
    pass


class RunError(Exception):
    pass


@dataclass
class Built:
    kdir: Path
    kernel_release: str
    modules: Path           # a directory of .ko files to load
    tools: Path             # labguest, q_sfc.so
    sources: str            # the hash
    own: dict = field(default_factory=dict)     # --module: name and hash of each


def progress(text):
    sys.stderr.write(f"lab: {text}\n")        # one write: runs may be at it together


def version():
    """Of modules, tools and lab: dkms.conf's."""
    return re.search(r'^PACKAGE_VERSION="(.*)"$', (TREE / "dkms.conf").read_text(), re.M)[1]


def hidden(path):
    """The directory that a guest has its own of and that `path` is in; else None."""
    return next((top for top in NOT_THERE if Path(os.path.realpath(path)).is_relative_to(top)), None)


def check_visible(path, instead):
    top = hidden(path)
    if top:
        raise BuildError(f"{path}: the lab's kernels have a {top} of their own and do not see this: {instead}")


def cache():
    path = os.environ.get("BOLT_LAB_CACHE")
    if not path:
        path = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "bolt-lab")
    path = Path(path).absolute()
    for one in (TREE, path):
        if ODD.search(str(one)):
            raise BuildError(f"{one}: blanks and the like are not for make: use another tree or BOLT_LAB_CACHE")
    there = next(p for p in (path, *path.parents) if p.exists())
    if not there.is_dir():
        raise BuildError(f"{there}: is not a directory: use another BOLT_LAB_CACHE")
    if os.statvfs(there).f_flag & os.ST_NOEXEC:
        raise BuildError(f"{path}: is mounted noexec, and what is built runs there: use another BOLT_LAB_CACHE")
    return path


def source_hash(*extra):
    digest = hashlib.sha256()
    for item in SOURCES:
        top = TREE / item
        files = [top] if top.is_file() else sorted(top.rglob("*")) if top.is_dir() else []
        for path in files:
            if not path.is_file() or not (path.suffix in SOURCE_SUFFIXES or path.name in ("Kbuild", "Makefile")):
                continue
            digest.update(str(path.relative_to(TREE)).encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
    for item in extra:
        digest.update(item.encode() + b"\0")
    return digest.hexdigest()[:16]


def kernel(version):
    """The lab kernel's build directory; the builder says on stderr what it does."""
    build = KERNEL / "build"
    result = subprocess.run([build, "--flavour", "lab", "--version", version], stdout=subprocess.PIPE, text=True)
    if result.returncode:
        raise BuildError(f"the lab kernel {version} could not be built; `lab doctor` says what it needs")
    return Path(result.stdout.strip())


def stock_kernel(version):
    """Where the headers of Debian's kernel are; the kernel itself is in the cache then."""
    result = subprocess.run([QEMU / "fetch", version], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["no reason given"]
        raise BuildError(f"there is no stock kernel {version}: {lines[-1].removeprefix('lab qemu: ')}")
    return (Path(result.stdout.strip()) / "headers").resolve()


def running_kernel():
    """Where the headers of this machine's kernel are."""
    running = platform.release()
    for kdir in (Path(f"/lib/modules/{running}/build"), Path(f"/usr/src/linux-headers-{running}")):
        if (kdir / "Makefile").exists():
            return kdir.resolve()
    raise BuildError(f"there are no headers of this machine's kernel: install the package linux-headers-{running}")


def release(kdir):
    try:
        return (kdir / "include" / "config" / "kernel.release").read_text().strip()
    except OSError:
        return "unknown"


def configuration(kdir):
    """The file; headers of Debian 13 have it in a /usr of their own (tools/lab/debian13)."""
    elsewhere = kdir.parent / "usr" / "src" / f"linux-headers-{release(kdir)}" / ".config"
    return elsewhere if elsewhere.exists() else kdir / ".config"


def make(args, log):
    """The status of make, whose output goes to `log`, in English."""
    with open(log, "w") as out:
        return subprocess.run(["make", f"-j{min(2, os.cpu_count() or 1)}", *args], stdout=out, stderr=subprocess.STDOUT,
                              env=os.environ | {"LC_ALL": "C", "LC_MESSAGES": "C"}).returncode


def first_error(log):
    lines = Path(log).read_text(errors="replace").splitlines()
    errors = [line for line in lines if re.search(r"\b(error|fatal error|No rule|ERROR)\b", line)]
    errors += [line for line in lines if "Error" in line]
    return (errors or lines or ["no output"])[0].strip()


def modules_and_tools(kdir, arch):
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / "run.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        key = source_hash(str(kdir), release(kdir))
        out = cache() / f"run-{release(kdir)}-{key}"
        if not (out / "complete").exists():
            progress(f"building the modules and tools for {release(kdir)} (about half a minute)")
            # one place for each kernel and tree, so that an edit costs what it touches; another version
            # of the package is another tree, of whatever age its files are
            place = hashlib.sha256(f"{kdir} {TREE} {version()}".encode()).hexdigest()[:8]
            made = cache() / f"make-{release(kdir)}-{place}"
            made.mkdir(exist_ok=True)
            log = made / "make.log"
            if make(["-C", str(TREE), f"KDIR={kdir}", *([f"ARCH={arch}"] if arch else []), f"O={made}", "LAB=m", "KUNIT=n",
                     "modules", "lab-tools"], log):
                raise BuildError(f"make modules lab-tools failed: {first_error(log)} (all of it: {log})")
            if source_hash(str(kdir), release(kdir)) != key:
                raise BuildError("the sources have changed while they were built: run it again")
            _keep(made, out)
            forget_old("run-*-*", out)
        # in use: not among the oldest
        os.utime(out)
    return out, key


def _keep(made, out):
    """Copies what runs need, so that the next edit does not pull it from under them."""
    shutil.rmtree(out, ignore_errors=True)
    load, tools = out / "load", out / "tools"
    load.mkdir(parents=True)
    # what an earlier build of this place left is not of these sources
    built = {Path(line).stem for line in (made / "modules" / "modules.order").read_text().split()}
    for ko in sorted((made / "modules").rglob("*.ko")):
        # the tests are modules too, and would run at every boot
        if ko.stem in built and "selftests" not in ko.relative_to(made).parts:
            shutil.copy(ko, load)
    shutil.copytree(made / "tools", tools)
    (out / "complete").touch()


def forget_old(pattern, keep, count=12):
    """Every edit of a source leaves a directory; the newest few are enough."""
    ours = [p for p in cache().glob(pattern) if (p / "complete").exists() or (p / ".complete").exists()]
    dirs = sorted(ours, key=lambda p: p.stat().st_mtime, reverse=True)
    for old in dirs[count:]:
        if old != keep:
            shutil.rmtree(old, ignore_errors=True)


def everything(version, backend="uml"):
    """`version` is of kernels of the lab; native has this machine's."""
    kdir = {"uml": kernel, "qemu": stock_kernel, "native": lambda _: running_kernel()}[backend](version)
    out, key = modules_and_tools(kdir, "um" if backend == "uml" else None)
    return Built(kdir, release(kdir), out / "load", out / "tools", key)

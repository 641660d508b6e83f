"""What single programs can do beside what their name says, as tables that a test and a reader can go through.

`STARTERS` are programs whose work is to start other programs or to run what they read: an allowed one would allow
everything. `WRAPPERS` start the rest of their own words, and can be judged by it. `RULES` hold for programs that are
harmless but for some options. A program in none of the tables is known to whoever allowed it alone: it may have any
option, and its words are judged as paths.

Sources: the manuals of GNU coreutils 9.1, findutils 4.9, grep 3.8, sed 4.9, tar 1.34, gawk 5.2, ripgrep 13, git 2.39,
jq 1.6, diffutils 3.8; GTFOBins for what starts a shell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

MULTICALL = frozenset(["busybox", "toybox", "coreutils", "sbase-box", "box"])
"""Programs that are many: which one is said by the name they are called by, so the name is part of what they are."""

STARTERS = frozenset(
    """
    ack ag agetty alpine ansible ansible-playbook apt apt-cache apt-config apt-get aria2c ash at atop
    atrm autossh awk bash bat batcat batch bazel bc bpftool buildah bundle bundler bunzip2 busybox bwrap
    bzgrep bzless bzmore bzr c++ c89 c99 capsh cargo cc certbot chronic chroot chrt clang clang++ clisp
    cmake convert cpan cpio cpp cron crontab crun csh ctr cu curl dash dbclient dbus-launch
    dbus-run-session dc delta deno dnf doas docker dotnet dpkg dropbear dtrace ed elinks elixir elm
    emacs emacsclient entr eqn erl ex expect expectk fakechroot fakeroot faketime ffmpeg firejail fish
    flatpak flock ftp fusermount fzf g++ gawk gcc gdb gem getty gh ghc ghci gio gjs gnuplot go gpg
    gradle groff gs guile guix gvim gzexe hg htop iex ifne inetd ionice ip irb java joe journalctl
    jshell julia jupyter ksh ksh93 ksu kubectl latex ld ldd less lftp links login loginctl logrotate
    ltrace lua luajit luatex lxc lxc-attach lynx m4 machinectl magick mail mailx make man mawk mc
    minicom mksh mmc mogrify mono more most mutt mvn mysql nano nawk nc ncat neomutt nerdctl netcat
    newgrp nginx ninja nix nix-shell node nodejs npm npx nroff nsenter nu nvim ocaml octave openssl
    original-awk pager pandoc parallel pax pdflatex pdftex pdsh pee perf perl php picocom pine pip pip3
    pipx pkexec pnpm podman posh prename proot psql pssh pwsh pypy pypy3 python qemu R rake rbash rc
    rebar3 rename rlogin rlwrap rpm rscript rsh rsync ruby rubygems run-parts runas runc runcon runuser
    rustc rview rvim sbcl scala schroot scp screen script select-editor sendmail service setarch setpriv
    setsid sftp sg sh slirp4netns slsh socat sqlite sqlite3 ssh ssh-agent ssh-keygen ssh-keyscan sshfs
    sshpass stap start-stop-daemon strace su sudo sudoedit svn swift sysctl sysdig systemctl
    systemd-nspawn systemd-resolve systemd-run taskset tc tclsh tcpd tcsh telnet tex tftp tic tig tio
    tmux top toybox troff ts ts-node tsx unbuffer unshare unzip uv uvx valgrind vi view vigr vim vimdiff
    vipw virsh w3m watch wget wish xargs xdg-open xelatex xetex xinetd xon xonsh xterm xzgrep xzless
    xzmore yarn yash yum zdiff zforce zgrep zip zless zmore znew zsh
    """.split()  # noqa: SIM905 - words read best as words
)
"""Refused whatever is allowed, unless `unjudged_commands` names them."""

_VERSIONED = re.compile(
    r"(?:lib)?(?P<name>awk|bash|clang|clang\+\+|emacs|erl|expect|g\+\+|gcc|gdb|guile|ipython|jython|ksh|ld|lua|luajit|"
    r"nc|nodejs|node|ocaml|perl|php|pip|pypy|python|qemu|R|ruby|tclsh|vi|vim|wish|zsh|dash|sh|rscript|view|less)"
    r"(?:[-.]?[0-9][-.0-9a-z]*|[-.](?:basic|tiny|nox|gtk3|openbsd|traditional|linux.*|system.*|.*-static))"
)
"""The same with a version or a variant behind it: python3.11, vim.basic, nc.openbsd, ld-linux-x86-64.so.2."""


def starts_programs(name: str) -> bool:
    """Whether a program of this name starts others, or runs what it reads."""
    if name in STARTERS or name.lower() in STARTERS:
        return True
    return _VERSIONED.fullmatch(name) is not None


@attrs.frozen
class Wrapper:
    """A program that starts the rest of its words.

    Args:
        flags: options of one letter that it may have, without a value.
        values: options of one letter that it may have, with a value.
        options: long options that it may have, with a value or without, spelled out; a value stands behind `=`.
        operands: words of its own before the program it starts.
        numbers: whether `-5` is an option.
        starts: whether it stays, and starts what follows as a child.
    """

    flags: str = ""
    values: str = ""
    options: tuple[str, ...] = ()
    operands: int = 0
    numbers: bool = False
    starts: bool = False


WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper(flags="i", values="u", options=("--ignore-environment", "--unset")),
    "nice": Wrapper(values="n", options=("--adjustment",), numbers=True),
    "nohup": Wrapper(),
    "stdbuf": Wrapper(values="ioe", options=("--input", "--output", "--error")),
    "time": Wrapper(flags="pv", options=("--portability", "--verbose"), starts=True),
    "timeout": Wrapper(
        flags="v", values="ks", options=("--kill-after", "--signal", "--verbose"), operands=1, starts=True
    ),
}
"""The program they start is judged as if it stood alone, and both have to be allowed. What is not named here is
refused: `env -S`, `env NAME=VALUE`, `timeout --foreground`. xargs is in no table: it starts what a file tells it."""


def _words(values: Iterable[str]) -> frozenset[str]:
    return frozenset(values)


Operands = Literal["read", "write", "last", "second", "pairs", "none"]


@attrs.frozen
class Rule:
    """Which options of a program are refused, and which of its words are paths.

    Args:
        flags: options of one letter that are refused, alone or in a cluster as in `-uo`.
        options: long options that are refused, without their dashes; abbreviations of them too.
        words: whole words that are refused wherever they stand, for programs with long options of one dash.
        values: options of one letter that take a value, so that a cluster ends there.
        long_values: long options whose value may be the next word.
        free: options whose value is not a path, as they are written: `-e`, `--regexp`, `-name`.
        writes: options whose value is a path that is written to.
        pattern: how many operands in front are not paths.
        no_pattern: options that take the pattern's place.
        operands: what happens to the operands: all are read, all are written, the last or the second is written, they
            are pairs of which `of=` is written.
        insert: options that are put in front of all others.
        known: long options that are whole words, though a refused one begins like them.
        dashes: whether long options have one dash, as those of find.
        starts: whether it needs other programs, as tar needs gzip; the kernel forbids all others to start any.
    """

    flags: str = ""
    options: tuple[str, ...] = ()
    words: frozenset[str] = attrs.field(factory=frozenset, converter=_words)
    values: str = ""
    long_values: tuple[str, ...] = ()
    free: frozenset[str] = attrs.field(factory=frozenset, converter=_words)
    writes: frozenset[str] = attrs.field(factory=frozenset, converter=_words)
    pattern: int = 0
    no_pattern: frozenset[str] = attrs.field(factory=frozenset, converter=_words)
    operands: Operands = "read"
    insert: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    dashes: bool = False
    starts: bool = False


_FIND_PATTERNS = (
    "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname",
    "-printf", "-regextype", "-type", "-xtype", "-perm",
)  # fmt: skip
_GREP = Rule(
    values="efmABCdD",
    long_values=("regexp", "file", "max-count", "after-context", "before-context", "context", "directories", "devices",
                 "include", "exclude", "exclude-dir", "exclude-from", "label", "binary-files", "color", "colour"),
    free=("-e", "--regexp", "--include", "--exclude", "--exclude-dir", "--label"),
    pattern=1,
    no_pattern=("-e", "-f", "--regexp", "--file"),
)  # fmt: skip
_FD = Rule(
    flags="xX", options=("exec", "exec-batch"), values="tdeEcjS", pattern=1,
    long_values=("type", "max-depth", "min-depth", "exact-depth", "extension", "exclude", "ignore-file", "color",
                 "threads", "size", "changed-within", "changed-before", "base-directory", "search-path"),
    free=("-E", "--exclude"),
)  # fmt: skip
_SUMS = Rule(flags="c", options=("check",))
_COMPRESS = Rule(values="SbT", operands="write", options=("files", "files0"))

RULES: dict[str, Rule] = {
    "find": Rule(
        words=("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls",
               "-files0-from"),
        free=_FIND_PATTERNS,
        dashes=True,
    ),
    "fd": _FD,
    "fdfind": _FD,
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rgrep": _GREP,
    "rg": Rule(
        flags="z", options=("pre", "pre-glob", "hostname-bin", "search-zip"), values="efgtTABCmMjEdr",
        long_values=("regexp", "file", "glob", "iglob", "type", "type-not", "type-add", "max-count", "max-columns",
                     "after-context", "before-context", "context", "threads", "encoding", "max-depth", "replace",
                     "ignore-file", "sort", "sortr", "engine", "color", "colors", "max-filesize", "path-separator"),
        free=("-e", "-g", "-r", "--regexp", "--glob", "--iglob", "--replace", "--path-separator", "--type-add"),
        pattern=1, no_pattern=("-e", "-f", "--regexp", "--file", "--files", "--type-list"),
    ),
    "sort": Rule(
        flags="T", options=("compress-program", "files0-from", "temporary-directory"), values="koSt",
        long_values=("key", "output", "buffer-size", "field-separator", "random-source", "parallel", "batch-size",
                     "sort"),
        free=("-t", "-k", "--field-separator", "--key"),
        writes=("-o", "--output"),
    ),
    "sed": Rule(
        flags="i", options=("in-place",), values="efl", long_values=("expression", "file", "line-length"),
        free=("-e", "--expression"), pattern=1, no_pattern=("-e", "-f", "--expression", "--file"),
        insert=("--sandbox",),  # without it a script may run programs and write files: e, w, r, s///e
    ),
    "gawk": Rule(
        flags="ilDpodE", options=("include", "load", "debug", "profile", "pretty-print", "dump-variables", "exec"),
        values="Fvfe", long_values=("field-separator", "assign", "file", "source"),
        free=("-F", "-v", "-e", "--field-separator", "--assign", "--source"),
        pattern=1, no_pattern=("-f", "-e", "--file", "--source"), insert=("--sandbox",),
    ),
    "tar": Rule(
        flags="IFPTgMLVX", values="fCbKNH",
        options=("use-compress-program", "to-command", "checkpoint-action", "info-script", "new-volume-script",
                 "rsh-command", "rmt-command", "files-from", "absolute-names", "listed-incremental", "remove-files",
                 "delete", "index-file", "volno-file", "multi-volume", "exclude-from", "transform", "xform",
                 "one-top-level", "unlink-first", "recursive-unlink", "add-file", "append", "concatenate",
                 "catenate", "update"),
        long_values=("file", "directory", "blocking-factor", "format", "mode", "owner", "group", "mtime", "exclude",
                     "strip-components", "checkpoint"),
        free=("--exclude",),
        known=("list",),
        insert=("--force-local",),  # host:file would start rsh
        starts=True,  # gzip and its kin
    ),
    "jq": Rule(
        pattern=1, no_pattern=("-f", "--from-file"), values="fL",
        options=("slurpfile", "rawfile", "argfile"), long_values=("from-file", "arg", "argjson", "indent"),
    ),
    "uniq": Rule(values="fsw", operands="second"),
    "xxd": Rule(flags="r", words=("-revert",), operands="second", values="cglosRn"),
    "date": Rule(
        flags="s", options=("set",), values="dfr", long_values=("date", "file", "reference"),
        free=("-d", "--date"), operands="none",
    ),
    "hostname": Rule(flags="Fb", options=("file", "boot"), operands="none"),
    "file": Rule(
        flags="CzZS", options=("compile", "uncompress", "uncompress-noreport", "no-sandbox"), values="fFmPe",
        long_values=("files-from", "magic-file", "separator", "exclude", "parameter"), free=("-F", "--separator"),
    ),
    "tree": Rule(values="oLPIHT", writes=("-o",), free=("-P", "-I", "-H", "-T"), words=("-R", "--fromfile")),
    "wc": Rule(options=("files0-from",)),
    "du": Rule(options=("files0-from",), values="dtBX", long_values=("max-depth", "threshold", "block-size", "exclude"),
               free=("--exclude",)),
    "md5sum": _SUMS, "sha1sum": _SUMS, "sha224sum": _SUMS, "sha256sum": _SUMS, "sha384sum": _SUMS, "sha512sum": _SUMS,
    "b2sum": _SUMS, "cksum": _SUMS,
    "split": Rule(options=("filter",), values="abClntN", operands="last",
                  long_values=("suffix-length", "bytes", "line-bytes", "lines", "number", "separator")),
    "csplit": Rule(operands="write"),
    "sdiff": Rule(flags="o", options=("output", "diff-program"), starts=True),  # diff
    "diff": Rule(
        values="UCDFIWxXS", free=("-I", "-F", "-x", "-D"), flags="l", options=("paginate", "to-file", "from-file"),
        long_values=("exclude", "exclude-from", "starting-file", "ignore-matching-lines", "label", "width"),
    ),
    "diff3": Rule(options=("diff-program",), starts=True),  # diff
    "shuf": Rule(values="ion", long_values=("input-range", "output", "head-count", "random-source"),
                 writes=("-o", "--output"), free=("-i",)),
    "echo": Rule(operands="none", dashes=True),
    "printf": Rule(operands="none", dashes=True),
    "expr": Rule(operands="none", dashes=True),
    "seq": Rule(operands="none", values="fs", free=("-f", "-s")),
    "sleep": Rule(operands="none"),
    "cp": Rule(values="tS", operands="last", writes=("-t", "--target-directory"),
               long_values=("target-directory", "suffix")),
    "install": Rule(values="tSgmo", operands="last", writes=("-t", "--target-directory"), options=("strip-program",),
                    flags="s", long_values=("target-directory", "suffix", "group", "mode", "owner")),
    "ln": Rule(values="tS", operands="write", writes=("-t", "--target-directory"),
               long_values=("target-directory", "suffix")),
    "mv": Rule(values="tS", operands="write", writes=("-t", "--target-directory"),
               long_values=("target-directory", "suffix")),
    "dd": Rule(operands="pairs", dashes=True),
    "rm": Rule(operands="write", options=("no-preserve-root",)),
    "rmdir": Rule(operands="write"),
    "unlink": Rule(operands="write"),
    "shred": Rule(operands="write", values="ns", options=("random-source",)),
    "mkdir": Rule(operands="write", values="mZ", long_values=("mode",)),
    "mkfifo": Rule(operands="write", values="mZ", long_values=("mode",)),
    "mknod": Rule(operands="write", values="mZ", long_values=("mode",)),
    "touch": Rule(operands="write", values="drt", long_values=("date", "reference", "time"), free=("-d", "-t")),
    "tee": Rule(operands="write", values=""),
    "truncate": Rule(operands="write", values="rs", long_values=("reference", "size")),
    "chmod": Rule(operands="write", pattern=1),
    "chown": Rule(operands="write", pattern=1),
    "chgrp": Rule(operands="write", pattern=1),
    "xzcat": Rule(), "bzcat": Rule(), "zstdcat": Rule(), "lz4cat": Rule(),
    "gzip": _COMPRESS, "gunzip": _COMPRESS, "bzip2": _COMPRESS, "xz": _COMPRESS, "unxz": _COMPRESS, "zstd": _COMPRESS,
    "patch": Rule(operands="write", values="Bbdgiopr", options=("output",)),
}  # fmt: skip

GIT_GLOBALS = frozenset(["--no-pager", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs"])
"""What may stand before git's own command, beside `-C FOLDER`; `-c`, `--exec-path` and the like start programs."""

GIT_INSERT = ("--no-pager", "--no-optional-locks", *(
    word
    for setting in (
        "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.sshCommand=false",
        "core.askPass=false", "core.editor=false", "gpg.program=false", "gpg.ssh.program=false",
        "gpg.x509.program=false", "log.showSignature=false", "protocol.allow=never", "submodule.recurse=false",
        "status.submoduleSummary=false", "diff.submodule=short", "diff.ignoreSubmodules=dirty",
    )
    for word in ("-c", setting)
))  # fmt: skip
"""Settings that lie over a repository's own, so that git does not try what it could not do.

They hold nothing by themselves: a repository has settings that no `-c` reaches, such as `filter.NAME.clean`,
`diff.NAME.textconv` and `protocol.ext.allow`, and git has more of them with each version. What holds is that the
kernel lets git start no program, whatever a repository says and whoever changes it meanwhile: `program_of` of
`pegboard_confine.kernel`.
"""

GIT_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # beats protocol.NAME.allow, which beats protocol.allow
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
"""No settings but the repository's, and no transport."""

_GIT_TELLS = Rule(
    flags="O",
    options=("ext-diff", "textconv", "output", "show-signature", "no-index", "open-files-in-pager", "filters"),
    known=("text",),
)
_GIT_SHOWS = attrs.evolve(_GIT_TELLS, insert=("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"))

GIT: dict[str, Rule] = {
    "diff": _GIT_SHOWS, "log": _GIT_SHOWS, "show": _GIT_SHOWS,
    "blame": attrs.evolve(_GIT_TELLS, values="SL", insert=("--no-textconv",)),
    "cat-file": attrs.evolve(_GIT_TELLS, known=()),  # --text is --textconv there
    "describe": attrs.evolve(_GIT_TELLS, options=(*_GIT_TELLS.options, "broken")),  # which asks a git of its own
    "ls-files": attrs.evolve(_GIT_TELLS, values="xX", free=("-x",)),
    "ls-tree": _GIT_TELLS, "rev-list": _GIT_TELLS, "rev-parse": _GIT_TELLS, "shortlog": _GIT_TELLS,
    "status": attrs.evolve(_GIT_TELLS, insert=("--ignore-submodules=dirty",)),
    "grep": attrs.evolve(
        _GIT_TELLS, pattern=1, values="efmABC", free=("-e",), no_pattern=("-e", "-f"), insert=("--no-textconv",),
    ),
}  # fmt: skip
"""The commands of git that only read. Any other - add, commit, checkout, clone - runs hooks, filters or transports."""

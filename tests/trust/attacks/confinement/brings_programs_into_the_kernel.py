"""A server brings a program of its own into the kernel, watches it with counters, or stops it at a page: what most
exploits of it begin with, or are made dependable by.

Source: CVE-2021-3490 of bpf, CVE-2013-2094 of perf_event_open, CVE-2021-22555, made dependable by userfaultfd.
Seen: a filter refuses each.
"""

from escaping import HELD, Escaping, unfiltered


class Attack(Escaping):
    def escape(self):
        return unfiltered(
            bpf=((321, 280), 0, 0, 0),
            perf_event_open=((298, 241), 0, 0, -1, -1, 0),
            userfaultfd=((323, 282), 1),
            init_module=((175, 105), 0, 0, 0),
            finit_module=((313, 273), -1, 0, 0),
            kexec_load=((246, 104), 0, 0, 0, 0),
            kexec_file_load=((320, 294), -1, -1, 0, 0, 0),
        )


SEEN = HELD
